"""Where a text may be cut: between lines and words, never within a mark that it would leave open."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from bots.chat.markdown.dialect import Terms
from bots.chat.markdown.inline import WORDS, leads_to, mark, runs, separator, words
from bots.chat.markdown.safe import clean

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode as Node

_WORD = re.compile(r"\s*\S+|\s+\Z")
_BETWEEN_LETTERS = re.compile(r"[^\W_](?=[^\W_])|[^\x00-\x7f]")
_BACKSLASHES = re.compile(r"\\*\Z")


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


def fences(lines: str, terms: Terms, limit: int, info: str = "") -> Iterator[str]:
    """Code blocks; cut at the end of a line where there is one."""
    whole = terms.dialect.fence(lines, info)
    if len(whole) <= limit or len(lines) < 2:
        yield whole
        return
    at = _middle(lines)
    yield from fences(lines[:at], terms, limit, info)
    yield from fences(lines[at:], terms, limit, info)


def _middle(text: str) -> int:
    """Where to cut in two: at the end of a line, else of a word, else anywhere."""
    half = len(text) // 2
    for sign in ("\n", " "):
        if at := text.rfind(sign, 0, half) + 1 or text.find(sign, half, -1) + 1:
            return at
    return half


def paragraphs(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    """A line of words and marks as several."""
    together = ""
    for atom in _atoms(node, terms, limit // 2):
        # A line may need one escape at its beginning.
        if together and len(together) + together.count("\n") + len(atom) + 2 > limit:
            yield terms.dialect.guarded(together.strip())
            together = ""
        together += separator(together, atom, terms) + atom
    if together.strip():
        yield terms.dialect.guarded(together.strip())


def _atoms(node: Node, terms: Terms, limit: int) -> Iterator[str]:
    """Words, and code, links and emphasis that stay whole where they are short enough."""
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
    """A word as it is, or cut between two letters; an address that is too long as several bits of code."""
    if len(word) <= limit:
        yield word
    elif "`" in word:
        yield from _codes(word.replace("`", ""), terms, limit)
    else:
        at = next((found.end() for found in _BETWEEN_LETTERS.finditer(word, limit // 2, limit)), limit)
        at -= len(_BACKSLASHES.findall(word[:at])[0]) % 2  # a sign stays behind its backslash
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
