"""A long answer as pieces that each stand alone: code closed, tables with their heading, lists with numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from bots.slack.inline import WORDS, code, leads_to, mark, runs, words
from bots.slack.limits import TABLE_ROWS
from bots.slack.markdown import (
    blank_lines,
    block,
    content,
    document,
    fence,
    guarded,
    indented,
    is_harmless,
    marked_items,
    quoted,
    rows,
)
from bots.slack.safe import clean

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node

SMALLEST = 200  # characters; what would have to be cut smaller is shown as its source

_WORD = re.compile(r"\s*\S+|\s+\Z")
_PIPE = re.compile(r"(?<!\\)\|")
_BETWEEN_LETTERS = re.compile(r"[^\W_](?=[^\W_])|[^\x00-\x7f]")


def pieces(text: str, *, links: Collection[str] = (), limit: int) -> tuple[str, ...]:
    """Safe Markdown in order, each at most ``limit`` characters (200 or more) and no block in two halves.

    All words of the text are in it; the heading of a table is repeated.
    """
    tree = document(text)
    if tree is None:
        return tuple(_fences(clean(text), limit))
    source = clean(text).split("\n")
    return tuple(
        piece for child in tree.children for piece in _faithful(child, source, links, limit) if piece.strip()
    )


def _faithful(node: Node, source: list[str], links: Collection[str], limit: int) -> Iterator[str]:
    """Cells beyond the last column would not be shown at all: then the table is shown as its source."""
    if node.type == "table" and node.map:
        columns = len(node.children[0].children[0].children)
        lines = source[slice(*node.map)]
        if any(len(_PIPE.split(line.strip().strip("|"))) > columns for line in lines):
            yield from _fences("\n".join(lines), limit)
            return
    yield from _harmless(node, links, limit)


def _harmless(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    made = list(cut(node, links, limit))
    if all(is_harmless(piece, links) for piece in made):
        yield from made
    else:
        yield from _fences(block(node, links), limit)


def cut(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    """One block, or as many as it takes."""
    whole = block(node, links)
    if len(whole) <= limit:
        yield whole
    elif limit < SMALLEST:
        yield from _fences(whole, limit)
    else:
        yield from _CUTS.get(node.type, _cut_children)(node, links, limit)


def joined(made: Collection[str], limit: int) -> Iterator[str]:
    """Neighbours in one, as long as they fit."""
    together = ""
    for piece in made:
        if together and len(together) + 2 + len(piece) > limit:
            yield together
            together = ""
        together += f"\n\n{piece}" if together else piece
    if together:
        yield together


def _fences(lines: str, limit: int, info: str = "") -> Iterator[str]:
    """Code blocks; cut at the end of a line where there is one."""
    whole = fence(lines, info)
    if len(whole) <= limit or len(lines) < 2:
        yield whole
        return
    at = _middle(lines)
    yield from _fences(lines[:at], limit, info)
    yield from _fences(lines[at:], limit, info)


def _middle(text: str) -> int:
    """Where to cut in two: at the end of a line, else of a word, else anywhere."""
    half = len(text) // 2
    for sign in ("\n", " "):
        if at := text.rfind(sign, 0, half) + 1 or text.find(sign, half, -1) + 1:
            return at
    return half


def _cut_children(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    for child in node.children:
        yield from cut(child, links, limit)


def _cut_paragraph(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    together = ""
    for atom in _atoms(node.children[0], links, limit // 2):
        # A line may need one escape at its beginning.
        if together and len(together) + together.count("\n") + len(atom) + 2 > limit:
            yield guarded(together.strip())
            together = ""
        together += f" {atom}" if together.endswith("`") and atom.startswith("`") else atom
    if together.strip():
        yield guarded(together.strip())


def _atoms(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    """Words, and code, links and emphasis that stay whole where they are short enough."""
    for run in runs(node):
        first = run[0]
        if first.type in WORDS:
            for word in _WORD.findall(words(run, links)):
                yield from _slices(word, limit)
        elif len(whole := mark(first, links)) <= limit:
            yield whole
        elif first.type == "code_inline":
            yield from _codes(clean(first.content), limit)
        elif first.type == "image":
            for word in _WORD.findall(whole):
                yield from _slices(word, limit)
        else:
            yield from _atoms(first, links, limit)
            if first.type == "link" and (shown := leads_to(first, links)):
                yield from _slices(f" ({shown})", limit)


def _slices(word: str, limit: int) -> Iterator[str]:
    """A word as it is, or cut between two letters; an address that is too long as several bits of code."""
    if len(word) <= limit:
        yield word
    elif "`" in word:
        yield from _codes(word.replace("`", ""), limit)
    else:
        at = next((found.end() for found in _BETWEEN_LETTERS.finditer(word, limit // 2, limit)), limit)
        yield word[:at]
        yield from _slices(word[at:], limit)


def _codes(said: str, limit: int) -> Iterator[str]:
    whole = code(said)
    if len(whole) <= limit or len(said) < 2:
        yield whole
        return
    at = _middle(said)
    yield from _codes(said[:at], limit)
    yield from _codes(said[at:], limit)


def _cut_list(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    """Between items where it can be; a new piece goes on with the next number."""
    together, between = "", blank_lines(node)
    for marker, item in marked_items(node):
        whole = indented(marker, content(item, links))
        if together and len(together) + len(between) + len(whole) > limit:
            yield together
            together = ""
        if len(whole) > limit:
            yield from _cut_item(marker, item, links, limit)
        else:
            together += between + whole if together else whole
    if together:
        yield together


def _cut_item(marker: str, item: Node, links: Collection[str], limit: int) -> Iterator[str]:
    """The marker stands before the first piece; the others are paragraphs below."""
    inner = limit
    while True:
        first, *others = list(_cut_children(item, links, inner)) or [""]
        if len(begun := indented(marker, first)) <= limit:
            yield begun
            yield from joined(others, limit)
            return
        inner //= 2


def _cut_quotation(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    inner = limit // 2  # a line of one sign is twice as long behind "> "
    for piece in joined(list(_cut_children(node, links, inner)), inner):
        yield quoted(piece)


def _cut_table(node: Node, links: Collection[str], limit: int) -> Iterator[str]:
    heading, below = rows(node, links)
    if any(len(heading) + 1 + len(row) > limit for row in below):
        yield from _fences("\n".join([heading, *below]), limit)
        return
    together, count = heading, 0
    for row in below:
        if count == TABLE_ROWS or len(together) + 1 + len(row) > limit:
            yield together
            together, count = heading, 0
        together += f"\n{row}"
        count += 1
    yield together


_CUTS: Mapping[str, Callable[[Node, Collection[str], int], Iterator[str]]] = {
    "paragraph": _cut_paragraph,
    "heading": _cut_paragraph,
    "fence": lambda node, _, limit: _fences(node.content, limit, node.info),
    "code_block": lambda node, _, limit: _fences(node.content, limit),
    "bullet_list": _cut_list,
    "ordered_list": _cut_list,
    "blockquote": _cut_quotation,
    "table": _cut_table,
}
