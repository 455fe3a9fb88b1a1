"""Words in ``mrkdwn`` and in plain text, where Slack obeys what stands in angle brackets.

Sequences are disarmed by their "<"; nothing invisible is put into what others wrote.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from bots.chat.markdown.safe import addresses, clean, line, names_another_host


def escaped(text: str) -> str:
    """One line for ``mrkdwn``, always with ``verbatim``: there, addresses stay words."""
    return _escaped(line(text))


def escaped_link(url: str, label: str) -> str:
    """``<URL|label>``; ``url`` is a web_link. A label that names another host stands before the link instead."""
    words = line(label) or url
    if names_another_host(words, url):
        return f"{_escaped(words)} <{_escaped(url)}|{_escaped(urlsplit(url).hostname or url)}>"
    return f"<{_escaped(url)}|{_escaped(words).replace('|', '¦')}>"


def fallback(text: str) -> str:
    """For the ``text`` of a message, where nothing else keeps addresses from becoming links."""
    words, shown, end = clean(text), "", 0
    for start, stop in addresses(words):
        shown += f"{_escaped(words[end:start])}`{_escaped(words[start:stop])}`"
        end = stop
    return shown + _escaped(words[end:])


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
