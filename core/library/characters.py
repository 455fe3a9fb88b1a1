"""Lone surrogates: Python's strings can hold them, and no file, database or network can."""

from __future__ import annotations

import re

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """The text with U+FFFD in the place of each; every other character keeps its offset."""
    return _LONE_SURROGATES.sub("\ufffd", text)
