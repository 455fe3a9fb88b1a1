"""Removing what cannot be seen or stored from text.

Control characters, marks of writing direction and Unicode tags could hide words in a query that a
person is asked to allow.
"""

import re
import unicodedata

JOINERS = "\u200c\u200d"  # zero-width (non-)joiner: Persian, Indic scripts and emoji need them
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})  # Unicode general categories

#: Joiners and variation selectors, which only change how neighbouring characters look.
_SHAPING = re.compile("[\u200c\u200d\ufe00-\ufe0f]")
#: Default_Ignorable_Code_Point of Unicode 16, and other blank characters.
_BLANK = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for lone surrogates, which no file can hold, and NUL, which PostgreSQL cannot."""
    return _UNSTORABLE.sub("\ufffd", text)


def plain(text: str) -> str:
    """The text without invisible characters, except line breaks and tabs."""
    return "".join(_show(character) for character in text.replace("\r\n", "\n"))


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most ``limit`` characters, cut after a word if possible."""
    line = " ".join(plain(text).split())
    if len(line) <= limit:
        return line
    return line[:limit] if " " not in line[: limit + 1] else line[: limit + 1].rpartition(" ")[0]


def as_query(text: str, limit: int) -> str:
    """A query as one line of visible characters: whoever allows it has seen all of it."""
    return one_line(_BLANK.sub("", text), limit)


def without_shaping(text: str) -> str:
    """A text without joiners and variation selectors, which search engines ignore."""
    return _SHAPING.sub("", text)


def hides_something(text: str) -> bool:
    """True if the text has invisible characters, control characters among them."""
    return bool(_BLANK.search(text)) or any(unicodedata.category(sign) in HIDDEN for sign in text)


def _show(character: str) -> str:
    if character in "\n\t" or character in JOINERS:
        return character
    category = unicodedata.category(character)
    if category not in HIDDEN:
        return character
    return "\n" if character in "\r\u2028\u2029" else " " if category == "Cc" else ""
