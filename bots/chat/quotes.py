"""The quotes of an answer, each within its paragraph as the library has it now."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from bots.chat.platform import Excerpt, Footnotes
from core.conversation import Citation, Outcome
from core.graph.rights import collections_of, documents_in, outcome_within
from core.grounding.citations import by_place
from core.library.documents import Passage, Scope
from core.library.readers import ReaderSets
from core.library.store import DocumentStore
from core.text.blocks import split_blocks

AROUND = 300  # characters shown on each side of a quote


def footnotes_of(outcome: Outcome, store: DocumentStore, collections: frozenset[str]) -> Footnotes:
    """The footnotes as they are numbered below the answer; without an answer, the closest passages.

    Args:
        collections: what may be read now; what an outcome took from others is not shown any more
    """
    closed = ReaderSets(store.database).closed(documents_in(outcome), collections_of(outcome), collections)
    outcome = outcome_within(outcome, collections, closed)
    citations = by_place(outcome.answer).citations if outcome.answer else outcome.closest
    scope = Scope(collections=collections)
    return Footnotes(outcome=outcome, excerpts=tuple(_excerpt(one, store, scope) for one in citations))


def _excerpt(citation: Citation, store: DocumentStore, scope: Scope) -> Excerpt:
    if citation.origin == "web":  # its page is not kept
        return Excerpt(citation=citation)
    passage = store.quoted(citation.source, citation.quote, citation.start, scope)
    return excerpt_from(passage, citation) if passage else Excerpt(citation=citation, is_current=False)


def excerpt_from(passage: Passage, citation: Citation) -> Excerpt:
    """The quote in its paragraph, list item, code block or table; ``passage`` holds the quote."""
    text, quote = passage.text, citation.quote
    start = citation.start - passage.start
    if start < 0 or not text.startswith(quote, start):  # it has moved
        start = text.index(quote)
    end = start + len(quote)
    around = [block for block in split_blocks(text) if block.start < end and block.end > start]
    first = min((block.start for block in around), default=start)
    last = max((block.end for block in around), default=end)
    return Excerpt(
        citation=citation,
        before=_tail(text[min(first, start) : start]),
        after=_head(text[end : max(last, end)]),
    )


def _tail(text: str) -> str:
    """The end of a text, from the beginning of a word."""
    if len(text) <= AROUND:
        return text
    _, space, words = text[-AROUND:].partition(" ")
    return f"…{words}" if space else f"…{text[-AROUND:]}"


def _head(text: str) -> str:
    """The beginning of a text, to the end of a word."""
    if len(text) <= AROUND:
        return text
    words, space, _ = text[:AROUND].rpartition(" ")
    return f"{words}…" if space else f"{text[:AROUND]}…"


def places_in(footnotes: Footnotes) -> Iterator[tuple[Citation, list[Excerpt]]]:
    """The quotes by place: a citation that says where they stand, and its quotes."""
    for _, group in groupby(footnotes.excerpts, lambda each: (each.citation.number, each.citation.url)):
        excerpts = list(group)
        yield excerpts[0].citation, excerpts


def marked_lines(excerpt: Excerpt) -> Iterator[tuple[str, list[tuple[str, bool]]]]:
    """Each line that is not blank: its indentation, and its pieces, each with whether it is quoted."""
    lines: list[list[tuple[str, bool]]] = [[]]
    pieces = ((excerpt.before, False), (excerpt.citation.quote, True), (excerpt.after, False))
    for text, is_quote in pieces:
        first, *others = text.splitlines() or [""]
        lines[-1].append((first, is_quote))
        lines += [[(other, is_quote)] for other in others]
        if text.endswith(("\n", "\r")):
            lines.append([])
    for line in lines:
        words = "".join(text for text, _ in line)
        if words.strip():
            yield words[: len(words) - len(words.lstrip())], [each for each in line if each[0].strip()]
