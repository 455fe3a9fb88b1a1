"""Tables: as they are where a platform shows tables, else as aligned code, or row by row.

A phone shows about 36 characters of code before it breaks the line, and then columns are lost.
A wider table, or one with links, is a list for each row, in which every value has its heading.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bots.chat.markdown.dialect import Terms
from bots.chat.markdown.inline import inline, prose, text_of

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node

LINE = 36  # columns of code; an estimate for type of 14 points on a screen of 390, beside an avatar
GAP = "  "


def table(node: Node, terms: Terms) -> str:
    if terms.dialect.table_rows is not None:
        heading, below = rows(node, terms)
        return "\n".join([heading, *below])
    if lines := aligned(node):
        return terms.dialect.fence("\n".join(lines), "")
    return "\n\n".join(
        "\n".join(value_line(name, cell, terms) for name, cell in record) for record in records(node, terms)
    )


def rows(node: Node, terms: Terms) -> tuple[str, list[str]]:
    """A table's heading with the line below it, and its rows."""
    lines = [
        [" ".join(inline(cell.children[0], terms).replace("|", "\\|").split()) for cell in row]
        for row in _cells(node)
    ]
    shown = [f"| {' | '.join(cells)} |" for cells in lines]
    return f"{shown[0]}\n|{'---|' * len(lines[0])}", shown[1:]


def _cells(node: Node) -> list[list[Node]]:
    return [list(row.children) for part in node.children for row in part.children]


def aligned(node: Node) -> list[str]:
    """Heading, a line, and the rows, in columns; nothing where that is too wide or would lose a link."""
    if any(each.type in ("link", "image") for each in node.walk()):
        return []
    lines = [[" ".join(text_of(cell).split()) for cell in row] for row in _cells(node)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=False)]
    if sum(widths) + len(GAP) * (len(widths) - 1) > LINE:
        return []
    heading, *below = [
        GAP.join(f"{cell}{' ' * (width - _width(cell))}" for cell, width in zip(row, widths, strict=False))
        for row in lines
    ]
    return [heading.rstrip(), GAP.join("-" * width for width in widths), *(row.rstrip() for row in below)]


def _width(text: str) -> int:
    """Columns in type of one width, UAX 11."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def records(node: Node, terms: Terms) -> Iterator[list[tuple[str, Node]]]:
    """Each row as what stands before each of its values, and the cell; empty cells are left out."""
    heading, *below = _cells(node)
    names = [_name(cell, terms) for cell in heading] if below else ["" for _ in heading]
    for row in below or [heading]:
        if record := [
            (name, cell) for name, cell in zip(names, row, strict=False) if cell.children[0].content
        ]:
            yield record


def value_line(name: str, cell: Node, terms: Terms) -> str:
    marker = terms.dialect.marker(None, "-")
    return f"{marker}{name}{terms.dialect.guarded(' '.join(inline(cell.children[0], terms).split()))}"


def _name(cell: Node, terms: Terms) -> str:
    said = prose(" ".join(text_of(cell).split()), terms)
    return f"**{said}**: " if said and "*" not in said else f"{said}: " if said else ""
