"""Text as a person sees it: without the characters that do not show.

Control characters, marks that turn the direction of writing, and Unicode tags could hide
words in a query that a person is asked to allow.
"""

from __future__ import annotations

import unicodedata

SHAPING = "\u200c\u200d"  # zero-width (non-)joiner: Persian, Indic scripts and emoji need them
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})  # Unicode general categories


def plain(text: str) -> str:
    """The text with its line breaks and tabs, and nothing else that does not show."""
    return "".join(_shown(character) for character in text.replace("\r\n", "\n"))


def one_line(text: str, limit: int) -> str:
    """The text on one line of at most ``limit`` characters, cut after a word where there is one."""
    line = " ".join(plain(text).split())
    if len(line) <= limit:
        return line
    return line[:limit] if " " not in line[: limit + 1] else line[: limit + 1].rpartition(" ")[0]


def _shown(character: str) -> str:
    if character in "\n\t" or character in SHAPING:
        return character
    category = unicodedata.category(character)
    if category not in HIDDEN:
        return character
    return "\n" if character in "\r\u2028\u2029" else " " if category == "Cc" else ""
