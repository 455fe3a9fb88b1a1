"""What one platform makes of Markdown, as far as it differs from another: data, and how signs are written.

The instances stand beside their adapters, each rule beside its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from core.values import value

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node


@value
class Dialect:
    """How structure that is known to be wanted is written, and how everything else is kept from being any."""

    #: Words as a reader sees them, and which of their signs stood escaped (by index) -> Markdown.
    plain: Callable[[str, Callable[[int], bool]], str]
    code: Callable[[str], str]  #: code within a line; not empty, on one line
    fence: Callable[[str, str], str]  #: lines, info string -> a code block that its content cannot close
    link: Callable[[str, str], str]  #: a given URL, and a label on one line that names no other host
    emphasis: Callable[[Node], str]  #: the mark on both sides; empty where it would reach too far
    heading: Callable[[int, str], str]  #: level, and the written title on one line
    marker: Callable[[int | None, str], str]  #: number or None, and the sign that stood -> an item's begin
    guarded: Callable[[str], str]  #: lines of a paragraph -> the same, none of which opens another block
    is_harmless: Callable[
        [str, Collection[str]], bool
    ]  #: whether it only shows, and leads to the links alone
    soft_break: str = "\n"  #: what stands where a writer only began a new line
    hard_break: str = "  \n"
    rule: str = "***"
    touching: Collection[str] = ("``",)  #: pairs of signs that would mean another thing, side by side
    between: str = " "  #: what keeps such a pair apart
    quoted_blank: str = ">"  #: an empty line of a quotation
    deepest_heading: int = 6  #: level; deeper ones are a line in bold
    table_rows: int | None = None  #: rows of one table; None where the platform shows no tables
    #: Whether quotations stand in each other, and headings, code blocks and empty lines in lists.
    nests: bool = True


@value
class Terms:
    """On what terms a text is shown."""

    dialect: Dialect
    links: Collection[str] = ()  #: the only ones that may be followed


def guarded_line(text: str, opener: re.Pattern[str]) -> str:
    """A backslash stands where ``opener`` ends, if the line would open a block."""
    text = text.lstrip(" \t")
    found = opener.match(text)
    return f"{text[: found.end()]}\\{text[found.end() :]}" if found else text
