"""The layout that messages of both platforms share: what they show, in which of them it stands, and what a
notification says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, assert_never

from bots.chat.markdown.blocks import plain_line, plain_words
from bots.chat.markdown.safe import is_blank, line
from bots.chat.platform import CardContext, CommandReply, Footnotes, Note, Renderer, Shown, Sources
from bots.chat.proposals import decision, in_utc, whole_query, would_search
from bots.chat.texts import clipped, say_in, text_of
from core.conversation import Outcome, Proposal
from core.text.inline import without_markers
from core.text.sentences import split_sentences

T = TypeVar("T")


def card_of(outcome: Outcome, card_context: CardContext) -> Proposal | Literal["files", "forgotten"] | None:
    """The proposal that goes with the outcome: to search the web, or to read the attached files."""
    if card_context.is_forgotten:
        return "forgotten"
    if outcome.proposal is not None:
        return outcome.proposal
    # A failed turn is asked again first.
    return "files" if outcome.unread and outcome.kind != "failed" else None


def offers_person(outcome: Outcome, card_context: CardContext) -> bool:
    """True if the outcome says so little that a person may be asked; with a proposed search, its card offers
    that.
    """
    is_unsure = outcome.answer is not None and not outcome.answer.is_sure
    is_little = outcome.kind == "no_answer" or is_unsure
    return card_context.can_consult and is_little and outcome.proposal is None


def with_card(
    messages: Sequence[list[T]],
    card: Sequence[T],
    *,
    room: Sequence[T],
    fits: Callable[[list[T]], bool],
    divider: Sequence[T] = (),
) -> list[list[T]]:
    """The messages with the card at the end of the last one, or in one of its own.

    Args:
        room: as large as a card may become: open and decided, it stands in the same message
        divider: parts the card from what stands above it
    """
    if not card:
        return [*messages]
    *others, last = messages
    if fits([*last, *room]):
        return [*others, [*last, *divider, *card]]
    return [*messages, [*card]]


def as_many_as_fit(card: Callable[[int], list[T]], most: int, *, fits: Callable[[list[T]], bool]) -> list[T]:
    """The card with the largest number of passages, up to ``most``, with which it fits; else with none."""
    cards = map(card, range(most, 0, -1))
    return next(filter(fits, cards), None) or card(0)


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
