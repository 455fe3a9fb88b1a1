"""What a notification says of an outcome, the reply to a command as messages, and the quotes of an answer, each within its
paragraph as the library has it now.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import assert_never

from bots.chat.markdown.blocks import plain_line, plain_words
from bots.chat.markdown.safe import is_blank, line
from bots.chat.platform import CardContext, CommandReply, Excerpt, Footnotes, Note, Renderer, Shown, Sources
from bots.chat.proposals import decision, in_utc, whole_query, would_search
from bots.chat.texts import clipped, say_in, text_of
from core.conversation import Citation, Outcome, Proposal
from core.graph.rights import collections_of, documents_in, outcome_within
from core.grounding.citations import by_place
from core.library.documents import Passage, Scope
from core.library.readers import ReaderSets
from core.library.store import DocumentStore
from core.text.blocks import split_blocks
from core.text.inline import without_markers
from core.text.sentences import split_sentences


def reply_messages(renderer: Renderer[Shown], reply: CommandReply) -> tuple[Shown, ...]:
    """The reply to a command; never empty."""
    match reply:
        case Note():
            return (renderer.note(reply.text),)
        case Sources():
            return renderer.sources(reply) or (renderer.note(say_in(reply.language)("no_documents")),)
        case Footnotes():
            language = reply.outcome.language
            return renderer.quotes(reply) or (renderer.note(say_in(language)("no_footnotes")),)
        case _:
            assert_never(reply)


NOTIFIED = 300  # characters; clients cut what they show, a phone at about 150


def notification(outcome: Outcome, card_context: CardContext) -> str:
    """The words for the message that shows this outcome; an answer's may go on with the query of a search."""
    said = "" if outcome.kind == "approval_needed" else first_sentence(text_of(outcome))
    asks = (
        of_search(outcome.proposal, card_context)
        if outcome.proposal and not card_context.is_forgotten
        else ""
    )
    return " ".join(filter(None, (said, asks))) or say_in(outcome.language)("unfinished")


def of_search(proposal: Proposal, card_context: CardContext) -> str:
    """The exact query, and who decided about it."""
    if proposal.is_open:
        return f"{would_search(proposal, card_context)} {whole_query(proposal.query)}"
    decided = decision(proposal, card_context, name=line, time=in_utc)
    return f"{whole_query(proposal.allowed or proposal.query)} · {decided}"


def first_sentence(markdown: str) -> str:
    """The first sentence in plain words, without footnotes."""
    words = plain_words(without_markers(markdown))
    for start, end in split_sentences(words):
        if not is_blank(words[start:end]):
            return clipped(words[start:end], NOTIFIED)
    return clipped(plain_line(markdown), NOTIFIED)


AROUND = 300  # characters shown on each side of a quote


def footnotes_of(outcome: Outcome, store: DocumentStore, collections: frozenset[str]) -> Footnotes:
    """The footnotes as they are numbered below the answer, else the closest passages, of what may be read now."""
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
    for row in lines:
        words = "".join(text for text, _ in row)
        if words.strip():
            yield words[: len(words) - len(words.lstrip())], [each for each in row if each[0].strip()]
