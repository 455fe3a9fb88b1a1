"""Makes untrusted text safe for a chat client.

Clients turn addresses into links by themselves, and invisible characters reverse or hide the text
beside them. An address that no citation names is shown as code, which can be read and copied but not
followed by accident. To compare addresses, text is reduced to what a reader sees: one alphabet,
nothing invisible, nothing encoded. The letters are those of Unicode's confusables (UTS 39) that look
like Latin ones and occur in host names.
"""

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from html import unescape
from itertools import groupby
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

#: Latin letters, each before those of other scripts that look like it.
_ALIKE = (
    "a\u0430\u03b1\u0251", "b\u044c\u0432\u03b2", "c\u0441\u03f2", "d\u0501", "e\u0435\u03b5\u0454", "f\u0192", "g\u0581\u0261",
    "h\u04bb\u043d\u0570", "i\u0456\u03b9\u0131", "j\u0458\u03f3", "k\u043a\u03ba", "l\u04cf\u217c\u01c0", "m\u043c",
    "n\u043f\u03b7\u0578", "o\u043e\u03bf\u0585\u1d0f", "p\u0440\u03c1", "q\u051b\u0566", "r\u0433\u1d26", "s\u0455\ua731",
    "t\u0442\u03c4", "u\u057d\u03c5\u1d1c", "v\u03bd\u0475\u1d20", "w\u051d\u03c9\u0461", "x\u0445\u03c7", "y\u0443\u03b3", "z\u1d22",
    ".\u3002\uff0e\uff61\u2024\u00b7\u2027\u22c5\u0387\ua4f8\u0701\u0702\u06d4\u2022\u2219\u2e31\ua78f\u30fb\uff65", "/\u2044\u2215\u29f8\u2571\\",
)  # fmt: skip
_LETTERS = str.maketrans({other: alike[0] for alike in _ALIKE for other in alike[1:]})
_UNSEEN = frozenset(("Cf", "Cc", "Mn", "Me"))
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800")  # letters without a glyph
_BETWEEN = re.compile(r"(?<![:/])//+|[|\u00a6,;()\[\]{}<>]+")  # what a reader takes for the end of an address
_ONE_SLASH = re.compile(r"(?<=http|ttps):/(?!/)")  # which browsers repair
_LEADING = re.compile(r"(?<!\S)[@/.]+(?=\w)")  # not read as part of the name


def read_as(text: str) -> str:
    """The text as a reader sees it, in lower case."""
    plain = unicodedata.normalize("NFKD", unquote(unescape(text)).translate(_LETTERS))
    shown = plain.casefold().translate(_LETTERS)
    seen = (sign for sign in shown if unicodedata.category(sign) not in _UNSEEN and sign not in _FILLERS)
    return _LEADING.sub(" ", _ONE_SLASH.sub("://", _BETWEEN.sub(" ", "".join(seen))))


URL_LIMIT = 2_000  # characters; a longer one is shown and not linked

_KEPT = frozenset("\n\t\u200c\u200d")  # the joiners carry meaning in Persian, in Indic scripts and in emoji
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_DROPPED = frozenset(("Cc", "Cf", "Cs", "Co"))  # unassigned characters stay: newer emoji are among them
_INVISIBLE = _DROPPED | {"Zs", "Zl", "Zp"}
_URL_SAFE = "%/:?#[]@!$&'()+,;=-._~"  # RFC 3986 without "*", which is a mark in Markdown
_DOTS = ".\u3002\uff0e\uff61"  # all of them separate the labels of a host, UTS 46

#: A host that a link may lead to: no character in it looks like the end of a host.
_HOST = re.compile(rf"[\w.{_DOTS}-]+|\[[0-9a-f:.]+\]", re.IGNORECASE)
#: Every top-level domain in Latin letters, so that an address is told from other words with dots. Source: the ICANN
#: section of the Public Suffix List, publicsuffix.org/list, version of 22 October 2026; those of two letters are all
#: countries and stand in no list.
_TOP_LEVEL = Path(__file__).with_name("top_level.txt")
#: Names that are reserved (RFC 2606, 6761, 6762, 7686): no site has one, and a reader takes them for hosts all the same.
_RESERVED = ("alt", "example", "home", "internal", "invalid", "lan", "local", "localhost", "onion", "test")
#: A host without a name: an IPv4 address, or an IPv6 one that is shortened, as a reader takes it.
_NUMBERED = re.compile(
    r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]*\w)|(?<![\w:])[0-9a-f:]*::[0-9a-f:]*(?![\w:])"
)
_NEEDED = re.compile(rf"[:@{_DOTS}]\S")  # in every address; looked for first, as most sentences have none
_TRAILING = ".,;:!?'\"*_~]}"  # marks that end a sentence rather than an address


def clean(text: str) -> str:
    """The text without control characters, bidirectional overrides and other invisible characters."""
    if text.replace("\n", "").isprintable():
        return text
    text = _LINE_ENDS.sub("\n", text)
    return "".join(sign for sign in text if sign in _KEPT or unicodedata.category(sign) not in _DROPPED)


def line(text: str) -> str:
    """The same on one line."""
    return " ".join(clean(text).split())


def is_blank(words: str) -> bool:
    """True if a reader would see nothing."""
    return all(unicodedata.category(sign) in _INVISIBLE for sign in words)


def addresses(text: str) -> list[tuple[int, int]]:
    """The start and end of each address."""
    if not _NEEDED.search(text):
        return []
    found = _looks_like_address().finditer(text)
    return [(each.start(), each.start() + _length(each[0])) for each in found]


@cache
def _looks_like_address() -> re.Pattern[str]:
    """Matches text that a client turns into a link, a mail or a ping by itself. It matches more than any client:
    "README.md" is shown as code too, since two letters are always a country.
    """
    known = sorted({*_TOP_LEVEL.read_text(encoding="ascii").split(), *_RESERVED})
    by_letter = groupby(known, key=lambda end: end[0])
    ends = "|".join(f"{first}(?:{'|'.join(end[1:] for end in group)})" for first, group in by_letter)
    address = rf"""
      (?:https?|ftp|steam|discord)://[^\s<>`]*
    | (?<![a-z])[a-z][a-z0-9+.-]{{1,30}}://[^\s<>`]*
    | (?<![a-z0-9])(?:mailto|tel|sms|slack|javascript|data|file):[^\s<>`]+
    | (?<!\w)www[{_DOTS}][^\s<>`]+
    | (?<![\w.+-])[\w.+-]+@(?:[\w-]+[{_DOTS}])+[a-z]{{2,24}}(?![^\W_]|-)
    | (?<![\w@/.-])(?:[\w-]+[{_DOTS}])+
      (?:[a-z]{{2}}|{ends}|xn--[a-z0-9-]+|(?<=\.)[^\W\d_\x00-\x7f]{{2,24}})
      (?![^\W_]|-)(?:[:/?][^\s<>`]*)?
    | (?<![\w@])@(?:here|channel|everyone)\b
    """
    return re.compile(address, re.VERBOSE | re.IGNORECASE)


def _length(address: str) -> int:
    """The length of an address without the punctuation behind it: "(see https://a.test/b)."."""
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
        # As it is written; an empty port is refused, and one that is no number is a ValueError.
        host = parts.netloc if parts.port is None else parts.netloc.rpartition(":")[0]
        is_web = parts.scheme.lower() in ("http", "https") and bool(_HOST.fullmatch(host))
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
    """True if a link's label names an address that it does not lead to, in any letters."""
    if label == url:
        return False
    host = (urlsplit(url).hostname or "").removeprefix("www.")
    seen = read_as(label)
    named = [_host(said[start:end]) for said in {label, seen} for start, end in addresses(said)]
    return any(each != host for each in (*named, *_NUMBERED.findall(seen)))


def _host(address: str) -> str | None:
    """The host of an address as a reader sees it; None if readers and clients may disagree."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host = parts.hostname or ""
    except ValueError:
        return None
    is_plain = "@" not in parts.netloc and _HOST.fullmatch(host)
    return host.removeprefix("www.") if is_plain else None
