"""What may reach a channel, whoever wrote it.

Documents, web pages, models and people write text that a chat client would obey: addresses
become links by themselves, and invisible signs turn or hide what stands beside them. An address
that no citation names is shown as code, which can be read and copied but not followed by accident.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from urllib.parse import quote, urlsplit

URL_LIMIT = 2_000  # characters; a longer one is shown and not linked

_KEPT = frozenset("\n\t\u200c\u200d")  # the joiners carry meaning in Persian, in Indic scripts and in emoji
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_DROPPED = frozenset(("Cc", "Cf", "Cs", "Co"))  # unassigned signs stay: newer emoji are among them
_URL_SAFE = "%/:?#[]@!$&'()+,;=-._~"  # RFC 3986 without "*", which Markdown would take for its own
_DOTS = ".\u3002\uff0e\uff61"  # all of them separate the labels of a host, UTS 46

#: What a client makes into a link, a mail or a ping by itself; top-level domains of two letters and the
#: commonest of the others. Wider than any client: "README.md" is shown as code too.
ADDRESS = re.compile(
    rf"""
      (?:https?|ftp|steam|discord)://[^\s<>`]*
    | (?<![a-z])[a-z][a-z0-9+.-]{{1,30}}://[^\s<>`]*
    | (?<![a-z0-9])(?:mailto|tel|sms|slack|javascript|data|file):[^\s<>`]+
    | (?<!\w)www[{_DOTS}][^\s<>`]+
    | (?<![\w.+-])[\w.+-]+@(?:[\w-]+[{_DOTS}])+[a-z]{{2,24}}(?![\w-])
    | (?<![\w@/.-])(?:[\w-]+[{_DOTS}])+
      (?:[a-z]{{2}}|com|net|org|edu|gov|mil|int|info|biz|name|dev|app|xyz|online|site|tech|store|cloud|page
      |link|click|top|shop|blog|zip|mov|ninja|live|world|club|space|work|today|news|wiki|docs|email|chat)
      (?![\w-])(?:[:/?][^\s<>`]*)?
    | (?<![\w@])@(?:here|channel|everyone)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_TRAILING = ".,;:!?'\"*_~]}"  # marks that end a sentence rather than an address


def clean(text: str) -> str:
    """The text without control characters, bidirectional overrides and other invisibles."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", text)
    return "".join(sign for sign in text if sign in _KEPT or unicodedata.category(sign) not in _DROPPED)


def line(text: str) -> str:
    """The same on one line."""
    return " ".join(clean(text).split())


def addresses(text: str) -> list[tuple[int, int]]:
    """Where addresses begin and end."""
    return [(found.start(), found.start() + _length(found[0])) for found in ADDRESS.finditer(text)]


def _length(address: str) -> int:
    """Without what belongs to the sentence around it: "(see https://a.test/b)."."""
    end = len(address)
    while end > 1:
        last = address[end - 1]
        is_open = last == ")" and address.count("(", 0, end) < address.count(")", 0, end)
        if last not in _TRAILING and not is_open:
            break
        end -= 1
    return end


def web_link(address: str | None) -> str | None:
    """A URL that may be followed: http or https, with a host and no credentials; None for anything else."""
    if not address or len(address) > URL_LIMIT:
        return None
    try:
        parts = urlsplit(clean(address).strip())
        is_web = (
            parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        )
    except ValueError:
        return None
    return quote(line(address).replace(" ", "%20"), safe=_URL_SAFE) if is_web else None


def same_place(address: str, links: Collection[str]) -> str | None:
    """The link among ``links`` that an address stands for."""
    wanted = web_link(address)
    if wanted is None:
        return None
    return next((link for link in links if link.rstrip("/") == wanted.rstrip("/")), None)


def names_another_host(label: str, url: str) -> bool:
    """Whether the words of a link speak of an address that it does not lead to."""
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    return any(_host(label[start:end]) != host for start, end in addresses(label))


def _host(address: str) -> str:
    try:
        host = urlsplit(address if "://" in address else f"//{address}").hostname
    except ValueError:
        host = None
    return (host or "").removeprefix("www.")
