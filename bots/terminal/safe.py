"""What may reach a person's screen, whoever wrote it.

Documents, web pages and questions are text that strangers wrote. A terminal obeys control
characters in text, so they end here: on the way into every layout, and once more on the way
out of the one console that prints.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote, urlsplit

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from bots.chat.markdown.safe import web_link

#: ECMA-48 sequences with what they carry: CSI, then OSC and other strings up to their end, then the rest.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_KEPT = frozenset("\n\t\u200c\u200d")  # the joiners carry meaning in Persian, in Indic scripts and in emoji
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_URL_SAFE = "%/:?#[]@!$&'()*+,;=-._~"  # RFC 3986: everything that a URL may hold unescaped


def plain(text: str) -> str:
    """The text without escape sequences, control characters, bidirectional overrides and other invisibles."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", _SEQUENCE.sub("", text))
    return "".join(sign for sign in text if sign in _KEPT or unicodedata.category(sign)[0] != "C")


def line(text: str) -> str:
    """The same on one line."""
    return " ".join(plain(text).split())


def link(address: str) -> str | None:
    """A URL that may stand behind a word: http, https or a file of this machine; None for anything else."""
    try:
        parts = urlsplit(plain(address))
        host = parts.hostname or ""
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    is_web = scheme in ("http", "https") and web_link(address) is not None
    # A file with a host would be asked of that host by some systems, with the name of who asks.
    return quote(line(address), safe=_URL_SAFE) if is_web or (scheme == "file" and not host) else None


class SafeConsole(Console):
    """Prints nothing that is not plain; styles and links are its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)
