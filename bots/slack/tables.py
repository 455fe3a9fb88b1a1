"""A table as a block of its own, "Table block": its cells are rich text, which is never read as markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bots.chat.markdown.blocks import cells, document
from bots.slack.blocks import Block, Part
from bots.slack.limits import TABLE_COLUMNS, TABLE_ROWS, TABLE_TEXT

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node

Style = dict[str, bool]

_STYLES = {"strong": "bold", "em": "italic", "s": "strike", "code_inline": "code"}


def with_table(pieces: Sequence[str]) -> Iterator[Part]:
    """The pieces of an answer, its only table as a block. A message takes one; several stay Markdown, as does
    one that is too large."""
    tables = {piece: table for piece in pieces if (table := _table(piece))}
    for piece in pieces:
        is_alone = len(tables) == 1 and pieces.count(piece) == 1
        made = _block(tables[piece]) if is_alone and piece in tables else None
        yield made or piece


def table_words(block: Block) -> str:
    """Row by row, where there is no layout."""
    return "\n".join(" · ".join(_words_in(cell).strip() for cell in row) for row in block["rows"])


def _table(piece: str) -> Node | None:
    """The table that a piece of Markdown is."""
    tree = document(piece) if piece.startswith("|") else None
    is_table = tree is not None and [child.type for child in tree.children] == ["table"]
    return tree.children[0] if tree is not None and is_table else None


def _block(table: Node) -> Block | None:
    """None if it is too large for Slack."""
    heading, *below = cells(table)
    rows = [
        [_cell(cell, {"bold": True}) for cell in heading],
        *([_cell(cell, {}) for cell in row] for row in below),
    ]
    size = sum(len(_words_in(cell)) for row in rows for cell in row)
    if len(rows) > TABLE_ROWS or len(heading) > TABLE_COLUMNS or size > TABLE_TEXT:
        return None
    return {"type": "table", "rows": rows, "column_settings": [{"is_wrapped": True} for _ in heading]}


def _cell(cell: Node, style: Style) -> dict[str, Any]:
    # Slack refuses a cell without a character.
    elements = [*_elements(cell, style)] or [{"type": "text", "text": " "}]
    return {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}


def _elements(node: Node, style: Style, url: str = "") -> Iterator[dict[str, Any]]:
    for child in node.children:
        inner = style | ({_STYLES[child.type]: True} if child.type in _STYLES else {})
        if child.type == "inline" or child.children:
            yield from _elements(child, inner, str(child.attrs.get("href", "")) or url)
        elif words := " " if child.type in ("softbreak", "hardbreak") else child.content:
            link = {"type": "link", "url": url} if url else {"type": "text"}
            yield {**link, "text": words} | ({"style": inner} if inner else {})


def _words_in(cell: dict[str, Any]) -> str:
    return "".join(element["text"] for section in cell["elements"] for element in section["elements"])
