"""The blocks of untrusted CommonMark, parsed and written again with safe structure only.

The result has no images, no links but the ones passed in, no raw HTML and no link definitions, and
every code block is closed. Where a platform shows no tables, a table becomes aligned code, or, if it
is wider than a phone's 36 characters or has links, one list for each row with a heading before each value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from bots.chat.markdown.inline import Terms, inline, prose, text_of
from bots.chat.markdown.safe import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
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
        for row in cells(node)
    ]
    shown = [f"| {' | '.join(cells)} |" for cells in lines]
    return f"{shown[0]}\n|{'---|' * len(lines[0])}", shown[1:]


def cells(node: Node) -> list[list[Node]]:
    """The cells of a table, row by row, its heading first."""
    return [list(row.children) for part in node.children for row in part.children]


def aligned(node: Node) -> list[str]:
    """Heading, a line, and the rows, in columns; empty if that is too wide or would lose a link."""
    if any(each.type in ("link", "image") for each in node.walk()):
        return []
    lines = [[" ".join(text_of(cell).split()) for cell in row] for row in cells(node)]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=False)]
    if sum(widths) + len(GAP) * (len(widths) - 1) > LINE:
        return []
    heading, *below = [
        GAP.join(f"{cell}{' ' * (width - _width(cell))}" for cell, width in zip(row, widths, strict=False))
        for row in lines
    ]
    return [heading.rstrip(), GAP.join("-" * width for width in widths), *(row.rstrip() for row in below)]


def _width(text: str) -> int:
    """Columns in a monospaced font, UAX 11."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def records(node: Node, terms: Terms) -> Iterator[list[tuple[str, Node]]]:
    """Each row as pairs of a label and a cell; empty cells are left out."""
    heading, *below = cells(node)
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


NESTING = 40  # levels of lists and quotations; a deeper text is shown as its source
_FENCE = "```"


def document(text: str) -> Node | None:
    """The text as a tree of blocks; None if it is nested too deeply."""
    from markdown_it.tree import SyntaxTreeNode

    tokens = _reader().parse(clean(text))
    if any(token.level >= NESTING - 1 for token in tokens):
        return None
    return SyntaxTreeNode(tokens)


def inline_nodes(text: str) -> list[Node]:
    """The text as the content of one paragraph."""
    from markdown_it.tree import SyntaxTreeNode

    return SyntaxTreeNode(_reader().parseInline(clean(text))).children


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Escapes and entities stay separate tokens, so that they can be escaped again.
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING})
    return reader.enable(["table", "strikethrough"]).disable(["reference", "text_join", "autolink"])


def block(node: Node, terms: Terms) -> str:
    """One block, without a line end after it."""
    return _BLOCKS.get(node.type, content)(node, terms)


def content(node: Node, terms: Terms) -> str:
    """The blocks in a quotation or in an item of a list."""
    is_close = node.type == "list_item" and (is_tight(node) or not terms.dialect.nests)
    return ("\n" if is_close else "\n\n").join(block(child, terms) for child in node.children)


def is_tight(item: Node) -> bool:
    """Whether an item has no blank lines."""
    return all(child.hidden for child in item.children if child.type == "paragraph")


def _paragraph(node: Node, terms: Terms) -> str:
    return terms.dialect.guarded(inline(node.children[0], terms))


def _heading(node: Node, terms: Terms) -> str:
    level, title = int(node.tag[1]), " ".join(inline(node.children[0], terms).split())
    if level <= terms.dialect.deepest_heading and (terms.dialect.nests or not _is_within(node, "list_item")):
        return terms.dialect.heading(level, title)
    mark = terms.dialect.emphasis(node) if title else ""
    return terms.dialect.guarded(f"{mark}{title}{mark}")


def _is_within(node: Node, kind: str) -> bool:
    parent = node.parent
    return parent is not None and (parent.type == kind or _is_within(parent, kind))


def marked_items(node: Node, terms: Terms) -> Iterator[tuple[str, Node]]:
    """Each item of a list after its bullet or number."""
    first = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, start=first):
        yield terms.dialect.marker(number if node.type == "ordered_list" else None, item.markup), item


def indented(marker: str, lines: str, terms: Terms) -> str:
    """An item: its marker, and its lines below each other.

    Where lists hold no code, a code block stands below its item at the margin, which ends the list
    there: an empty line within it would have ended the list, and with it the code.
    """
    first, *others = lines.split("\n")
    if not terms.dialect.nests:
        return _hoisted(marker, first, others)
    below = (f"{' ' * len(marker)}{each}".rstrip() for each in others)
    return "\n".join([f"{marker}{first}".rstrip(), *below])


def _hoisted(marker: str, first: str, others: list[str]) -> str:
    if first.startswith(_FENCE):
        first, others = "", [first, *others]
    made, is_code = [f"{marker}{first}".rstrip()], False
    for each in others:
        is_fence = each.startswith(_FENCE)
        if is_fence and not is_code and made[-1]:
            made.append("")
        # The space after the ">" of an empty line belongs to the quotation.
        made.append(each if is_fence or is_code or not each else f"{' ' * len(marker)}{each}")
        is_code ^= is_fence
    return "\n".join(made)


def blank_lines(node: Node, terms: Terms) -> str:
    """The separator between the items of a list."""
    return "\n" if not terms.dialect.nests or all(is_tight(item) for item in node.children) else "\n\n"


def _list(node: Node, terms: Terms) -> str:
    return blank_lines(node, terms).join(
        indented(marker, content(item, terms), terms) for marker, item in marked_items(node, terms)
    )


def quoted(node: Node, lines: str, terms: Terms) -> str:
    """Lines of a quotation; where quotations do not nest, an inner one becomes part of the outer one."""
    if not terms.dialect.nests and _is_within(node, "blockquote"):
        return lines
    blank = terms.dialect.quoted_blank
    return "\n".join(f"> {each}".rstrip() if each.strip() else blank for each in lines.split("\n"))


_BLOCKS: Mapping[str, Callable[[Node, Terms], str]] = {
    "paragraph": _paragraph,
    "heading": _heading,
    "fence": lambda node, terms: terms.dialect.fence(node.content, node.info),
    "code_block": lambda node, terms: terms.dialect.fence(node.content, ""),
    "hr": lambda _node, terms: terms.dialect.rule,
    "bullet_list": _list,
    "ordered_list": _list,
    "blockquote": lambda node, terms: quoted(node, content(node, terms), terms),
    "table": table,
}
