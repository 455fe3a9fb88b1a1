"""Cuts a long answer into complete pieces: code closed, tables with headings, lists with their numbers.

Cuts are between lines and words, never within a mark. A block that the dialect does not find
harmless once it is written is shown as its source, in a code block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from bots.chat.markdown import blocks
from bots.chat.markdown.inline import WORDS, Dialect, Terms, leads_to, mark, runs, separator, words
from bots.chat.markdown.safe import clean

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node


_WORD = re.compile(r"\s*\S+|\s+\Z")
_BETWEEN_LETTERS = re.compile(r"[^\W_](?=[^\W_])|[^\x00-\x7f]")
_BACKSLASHES = re.compile(r"\\*\Z")


def joined(made: Iterable[str], limit: int, between: str = "\n\n") -> Iterator[str]:
    """Join neighbours as long as they fit."""
    together = ""
    for piece in made:
        if together and len(together) + len(between) + len(piece) > limit:
            yield together
            together = ""
        together += f"{between}{piece}" if together else piece
    if together:
        yield together


def fences(lines: str, terms: Terms, limit: int, info: str = "") -> Iterator[str]:
    """Code blocks, cut at the end of a line if possible."""
    whole = terms.dialect.fence(lines, info)
    if len(whole) <= limit or len(lines) < 2:
        yield whole
        return
    at = _middle(lines)
    yield from fences(lines[:at], terms, limit, info)
    yield from fences(lines[at:], terms, limit, info)


def _middle(text: str) -> int:
    """The offset to cut at: the end of a line, else of a word, else anywhere."""
    half = len(text) // 2
    for sign in ("\n", " "):
        if at := text.rfind(sign, 0, half) + 1 or text.find(sign, half, -1) + 1:
            return at
    return half


def paragraphs(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    """Cut a paragraph into several."""
    together = ""
    for atom in _atoms(node, terms, limit // 2):
        # A line may need an escape at its start.
        if together and len(together) + together.count("\n") + len(atom) + 2 > limit:
            yield terms.dialect.guarded(together.strip())
            together = ""
        together += separator(together, atom, terms) + atom
    if together.strip():
        yield terms.dialect.guarded(together.strip())


def _atoms(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    """Parts that stay whole if they are short enough: words, code, links and emphasis."""
    for run in runs(node):
        first = run[0]
        if first.type in WORDS:
            for word in _WORD.findall(words(run, terms)):
                yield from _slices(word, terms, limit)
        elif len(whole := mark(first, terms)) <= limit:
            yield whole
        elif first.type == "code_inline":
            yield from _codes(clean(first.content), terms, limit)
        elif first.type == "image":
            for word in _WORD.findall(whole):
                yield from _slices(word, terms, limit)
        else:
            yield from _atoms(first, terms, limit)
            if first.type == "link" and (shown := leads_to(first, terms)):
                yield from _slices(f" ({shown})", terms, limit)


def _slices(word: str, terms: Terms, limit: int) -> Iterator[str]:
    """A word, cut between letters if it is too long; a long address as several code spans."""
    if len(word) <= limit:
        yield word
    elif "`" in word:
        yield from _codes(word.replace("`", ""), terms, limit)
    else:
        at = next((found.end() for found in _BETWEEN_LETTERS.finditer(word, limit // 2, limit)), limit)
        at -= len(_BACKSLASHES.findall(word[:at])[0]) % 2  # a character stays with its backslash
        yield word[:at]
        yield from _slices(word[at:], terms, limit)


def _codes(said: str, terms: Terms, limit: int) -> Iterator[str]:
    whole = terms.dialect.code(said)
    if len(whole) <= limit or len(said) < 2:
        yield whole
        return
    at = _middle(said)
    yield from _codes(said[:at], terms, limit)
    yield from _codes(said[at:], terms, limit)


SMALLEST = 200  # characters; a block that needs smaller pieces is shown as its source

_PIPE = re.compile(r"(?<!\\)\|")


def pieces(text: str, *, links: Collection[str] = (), limit: int, dialect: Dialect) -> tuple[str, ...]:
    """Safe Markdown, all of it in pieces of ``limit`` characters (200 or more), and no block in two halves."""
    terms = Terms(dialect=dialect, links=links)
    tree = blocks.document(text)
    if tree is None:
        return tuple(fences(clean(text), terms, limit))
    source = clean(text).split("\n")
    return tuple(
        piece for child in tree.children for piece in _faithful(child, source, terms, limit) if piece.strip()
    )


def _faithful(node: Node, source: list[str], terms: Terms, limit: int) -> Iterator[str]:
    """The block; a table with too many cells, and unsafe structure, become source text."""
    if node.type == "table" and node.map:
        columns = len(node.children[0].children[0].children)
        lines = source[slice(*node.map)]
        if any(len(_PIPE.split(line.strip().strip("|"))) > columns for line in lines):
            yield from fences("\n".join(lines), terms, limit)
            return
    made = list(cut(node, terms, limit))
    is_harmless = all(terms.dialect.is_harmless(piece, terms.links) for piece in made)
    yield from made if is_harmless else fences(blocks.block(node, terms), terms, limit)


def cut(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    """One block, cut into as many as needed."""
    whole = blocks.block(node, terms)
    if len(whole) <= limit:
        yield whole
    elif limit < SMALLEST:
        yield from fences(whole, terms, limit)
    else:
        yield from _CUTS.get(node.type, _cut_children)(node, terms, limit)


def _cut_children(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    for child in node.children:
        yield from cut(child, terms, limit)


def _cut_paragraph(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    yield from paragraphs(node.children[0], terms, limit)


def _cut_list(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    """Cut between items if possible; a new piece continues with the next number."""
    together, between = "", blocks.blank_lines(node, terms)
    for marker, item in blocks.marked_items(node, terms):
        whole = blocks.indented(marker, blocks.content(item, terms), terms)
        if together and len(together) + len(between) + len(whole) > limit:
            yield together
            together = ""
        if len(whole) > limit:
            yield from _cut_item(marker, item, terms, limit)
        else:
            together += between + whole if together else whole
    if together:
        yield together


def _cut_item(marker: str, item: Node, terms: Terms, limit: int) -> Iterator[str]:
    """Cut an item: the marker stands before the first piece, the others are paragraphs."""
    inner = limit
    while True:
        first, *others = list(_cut_children(item, terms, inner)) or [""]
        if len(begun := blocks.indented(marker, first, terms)) <= limit:
            yield begun
            yield from joined(others, limit)
            return
        inner //= 2


def _cut_quotation(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    inner = limit // (1 + len(terms.dialect.quoted_blank))  # each empty line grows by as much
    for piece in joined(list(_cut_children(node, terms, inner)), inner):
        yield blocks.quoted(node, piece, terms)


def _cut_table(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    if terms.dialect.table_rows is None:
        yield from _cut_rows(node, terms, limit)
        return
    heading, below = blocks.rows(node, terms)
    if any(len(heading) + 1 + len(row) > limit for row in below):
        yield from fences("\n".join([heading, *below]), terms, limit)
        return
    together, count = heading, 0
    for row in below:
        if count == terms.dialect.table_rows or len(together) + 1 + len(row) > limit:
            yield together
            together, count = heading, 0
        together += f"\n{row}"
        count += 1
    yield together


def _cut_rows(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    """Cut a table that is shown as aligned code or as lists."""
    if lines := blocks.aligned(node):
        yield from _cut_aligned(lines, terms, limit)
    else:
        records = blocks.records(node, terms)
        yield from joined((piece for each in records for piece in _cut_record(each, terms, limit)), limit)


def _cut_aligned(lines: list[str], terms: Terms, limit: int) -> Iterator[str]:
    heading, below = "\n".join(lines[:2]), lines[2:]
    together = heading
    for row in below:
        if len(terms.dialect.fence(f"{together}\n{row}", "")) > limit and together != heading:
            yield from fences(together, terms, limit)
            together = heading
        together += f"\n{row}"
    yield from fences(together, terms, limit)


def _cut_record(record: list[tuple[str, Node]], terms: Terms, limit: int) -> Iterator[str]:
    together = ""
    for name, cell in record:
        line = blocks.value_line(name, cell, terms)
        if together and len(together) + 1 + len(line) > limit:
            yield together
            together = ""
        if len(line) > limit:
            yield from _cut_value(name, cell, terms, limit)
        else:
            together += f"\n{line}" if together else line
    if together:
        yield together


def _cut_value(name: str, cell: Node, terms: Terms, limit: int) -> Iterator[str]:
    begun = f"{terms.dialect.marker(None, '-')}{name}"
    if len(begun) > limit // 2:
        yield from fences(blocks.value_line(name, cell, terms), terms, limit)
        return
    first, *others = paragraphs(cell.children[0], terms, limit - len(begun))
    yield from (f"{begun}{first}", *others)


_CUTS: Mapping[str, Callable[[Node, Terms, int], Iterator[str]]] = {
    "paragraph": _cut_paragraph,
    "heading": _cut_paragraph,
    "fence": lambda node, terms, limit: fences(node.content, terms, limit, node.info),
    "code_block": lambda node, terms, limit: fences(node.content, terms, limit),
    "bullet_list": _cut_list,
    "ordered_list": _cut_list,
    "blockquote": _cut_quotation,
    "table": _cut_table,
}
