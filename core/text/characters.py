"""Text as a person sees it: without the characters that do not show.

Control characters, marks that turn the direction of writing, and Unicode tags could hide
words in a query that a person is asked to allow.

Lone surrogates: Python's strings can hold them, and no file, database or network can.
"""

from __future__ import annotations

import re
import unicodedata

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """The text with U+FFFD in the place of each; every other character keeps its offset."""
    return _LONE_SURROGATES.sub("\ufffd", text)


JOINERS = "\u200c\u200d"  # zero-width (non-)joiner: Persian, Indic scripts and emoji need them
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})  # Unicode general categories

#: What shapes the signs beside it and is nothing by itself; emoji's variation selectors are among it.
_SHAPING = re.compile("[\u200c\u200d\ufe00-\ufe0f]")
#: Signs that leave no trace: Default_Ignorable_Code_Point of Unicode 16, with what else is blank.
_BLANK = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    """The text with its line breaks and tabs, and nothing else that does not show."""
    return "".join(_shown(character) for character in text.replace("\r\n", "\n"))


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most ``limit`` characters, cut after a word where there is one."""
    line = " ".join(plain(text).split())
    if len(line) <= limit:
        return line
    return line[:limit] if " " not in line[: limit + 1] else line[: limit + 1].rpartition(" ")[0]


def as_query(text: str, limit: int) -> str:
    """One line of nothing but signs that show: whoever allows a query has seen all of it."""
    return one_line(_BLANK.sub("", text), limit)


def without_shaping(text: str) -> str:
    """What a search engine finds the same without: joiners, and the selectors of emoji."""
    return _SHAPING.sub("", text)


def hides_something(text: str) -> bool:
    """Whether a part of it does not show, but for white space."""
    return bool(_BLANK.search(text)) or any(unicodedata.category(sign) in HIDDEN for sign in text)


def _shown(character: str) -> str:
    if character in "\n\t" or character in JOINERS:
        return character
    category = unicodedata.category(character)
    if category not in HIDDEN:
        return character
    return "\n" if character in "\r\u2028\u2029" else " " if category == "Cc" else ""
