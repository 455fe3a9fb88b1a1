"""Markdown in plain words on one line, for small print and notifications: no marks, no pipes, no addresses.

The result is untrusted text like any other: it is made safe where it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bots.chat.markdown.blocks import cells, document, inline_nodes
from bots.chat.markdown.safe import clean, line
from core.text.inline import without_tags

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node

_BETWEEN_CELLS, _BETWEEN_ROWS = " · ", "; "
_ENDS = tuple(".,;:!?…。、！？")  # after which two blocks need no other separator
_PIPES = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")  # the line below a table's heading
_HALF = re.compile(r"\A\*\*(?=\S)|(?<=\S)\*\*\Z")  # of a bold text that goes on outside
_NAME = re.compile(r"\w+")


def plain_words(markdown: str, *, code: str = "") -> str:
    """A whole text; ``code`` is put around what is code within a line."""
    tree = document(markdown)
    if tree is None:
        return line(markdown)
    return line(_HALF.sub("", _joined(_of_block(node, code) for node in tree.children)))


def plain_quote(markdown: str, *, code: str = "") -> str:
    """A source's words: also without the tags of HTML that some documents are written in."""
    return plain_words(without_tags(markdown), code=code)


def plain_line(markdown: str, *, code: str = "") -> str:
    """A title or a sentence, in which nothing is a list, a heading or a table."""
    return line(_HALF.sub("", "".join(_of_inline(node, code) for node in inline_nodes(line(markdown)))))


def _joined(blocks: Iterable[str]) -> str:
    together = ""
    for words in filter(None, blocks):
        separator = " " if together.endswith(_ENDS) else _BETWEEN_ROWS
        together += f"{separator}{words}" if together else words
    return together


def _of_block(node: Node, code: str) -> str:
    if node.type == "inline":
        return _of_lines(_of_inline(node, code))
    if node.type == "table":
        rows = (_BETWEEN_CELLS.join(_of_inline(cell, code) for cell in row) for row in cells(node))
        return _BETWEEN_ROWS.join(rows)
    if node.type in ("fence", "code_block"):
        return line(node.content)
    if node.type == "ordered_list":
        return _joined(_numbered(node, code))
    return _joined(_of_block(child, code) for child in node.children)


def _numbered(node: Node, code: str) -> Iterator[str]:
    """A period after a number would end a sentence; "1986. A good year." is no list, but read as one."""
    sign = ")" if len(node.children) > 1 else "."
    for number, item in enumerate(node.children, start=int(node.attrs.get("start", 1))):
        yield f"{number}{sign} {_joined(_of_block(child, code) for child in item.children)}"


def _of_lines(words: str) -> str:
    """Lines of a paragraph; those of a table whose heading is missing are read cell by cell."""
    if not words.lstrip().startswith("|"):
        return words
    rows = (_PIPES.split(each) for each in words.split("\n") if not _RULE.fullmatch(each))
    return _joined(_BETWEEN_CELLS.join(filter(None, map(str.strip, row))) for row in rows)


def _of_inline(node: Node, code: str) -> str:
    if node.type in ("text", "text_special", "image"):
        return clean(node.content)
    if node.type == "code_inline":
        return f"{code}{clean(node.content)}{code}"
    if node.type == "softbreak":
        return "\n"
    if node.type == "hardbreak":
        return " "
    words = "".join(_of_inline(child, code) for child in node.children)
    # "__init__" is a name, and no word in bold.
    return f"__{words}__" if node.markup == "__" and _NAME.fullmatch(words) else words
