"""The blocks of untrusted CommonMark, parsed and written again with safe structure only, or in plain words on
one line for small print and notifications.

The result has no images, no links but the ones passed in, no raw HTML and no link definitions, and
every code block is closed. Where a platform shows no tables, a table becomes aligned code, or, if it
is wider than a phone's 36 characters or has links, one list for each row with a heading before each value.

The result is untrusted text like any other: it is made safe where it is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from bots.chat.markdown.inline import Terms, inline, prose, text_of
from bots.chat.markdown.safe import clean, line
from core.text.inline import without_tags

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
    """True if an item has no blank lines."""
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
    """A title or a sentence, read without lists, headings and tables."""
    from markdown_it.tree import SyntaxTreeNode

    paragraph = SyntaxTreeNode(_reader().parseInline(line(markdown)))
    return line(_HALF.sub("", "".join(_of_inline(node, code) for node in paragraph.children)))


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
