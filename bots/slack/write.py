"""An outcome -> messages. Pure; whatever others wrote passes through :mod:`bots.slack.safe`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from bots.delivery.markdown.pieces import pieces
from bots.delivery.markdown.safe import line, web_link
from bots.delivery.setting import Setting
from bots.messages import (
    CLOSEST,
    FOOTNOTES_SHOWN,
    NOT_FOUND,
    TRY_AGAIN,
    UNSAID,
    WHAT_ELSE,
    answered_in,
    clipped,
    provenance,
    text_of,
)
from bots.slack import blocks, limits
from bots.slack.blocks import Part
from bots.slack.cards import decided_card, editor, proposal_card, refused, settled
from bots.slack.dialect import SLACK
from bots.slack.footnotes import QUOTE_SHOWN, footnotes
from bots.slack.message import Message, note, packed
from bots.slack.replies import reply
from bots.slack.safe import escaped
from core.conversation import Answer, Citation, Outcome, OutcomeKind

__all__ = [
    "Message",
    "decided_card",
    "editor",
    "messages",
    "note",
    "refused",
    "reply",
    "settled",
]

PIECE = 11_500  # characters of one piece of an answer, below the limit of a message's Markdown
LEARN = "Add one: `learn` with a file attached."


def messages(outcome: Outcome, setting: Setting) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Slack takes."""
    if outcome.answer is not None:
        return packed(_answered(outcome, outcome.answer))
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return (proposal_card(outcome.proposal, setting),)
    return packed(_ENDINGS[outcome.kind](outcome, setting))


def _answered(outcome: Outcome, given: Answer) -> Iterator[Part]:
    if lead := provenance(given):
        yield blocks.context(f"_{escaped(lead)}_")
    yield from pieces(given.text, links=_links(given.citations), limit=PIECE, dialect=SLACK)
    if given.citations:
        yield dict(blocks.DIVIDER)
        # What was only quoted stands above already.
        yield from footnotes(given.citations[:FOOTNOTES_SHOWN], with_quotes=given.composed)
        yield from _more(outcome.turn_id, given)
    # An answer in spite of trouble: the model could not be reached, for one.
    if trouble := clipped(line(outcome.reason or ""), blocks.LINE):
        yield blocks.context(escaped(trouble))
    yield blocks.context(escaped(answered_in(outcome)))
    yield blocks.feedback(outcome.turn_id)


def _more(turn_id: str, given: Answer) -> Iterator[Part]:
    hidden = len(given.citations) - FOOTNOTES_SHOWN
    is_cut = given.composed and any(len(line(one.quote)) > QUOTE_SHOWN for one in given.citations)
    if hidden > 0 or is_cut:
        label = f"{hidden} more: show all footnotes" if hidden > 0 else "Show all footnotes"
        yield blocks.actions(blocks.button(label, "footnotes", turn_id))


def _links(citations: Iterable[Citation]) -> tuple[str, ...]:
    return tuple(url for one in citations if (url := web_link(one.url)))


def _no_answer(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    yield from pieces(outcome.reason or NOT_FOUND, limit=PIECE, dialect=SLACK)
    if outcome.closest:
        yield blocks.context(CLOSEST)
        yield from footnotes(outcome.closest)
    yield blocks.context(f"{escaped(WHAT_ELSE)} {LEARN}")
    yield blocks.feedback(outcome.turn_id)


def _clarify(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    yield from pieces(text_of(outcome), limit=PIECE, dialect=SLACK)
    if options := [option for option in outcome.options if line(option)][: limits.ACTIONS]:
        yield blocks.actions(
            *(blocks.button(option, f"choose:{n}", line(option)) for n, option in enumerate(options, start=1))
        )


def _failed(outcome: Outcome, setting: Setting) -> Iterator[Part]:
    yield from blocks.lines([text_of(outcome), "" if line(text_of(outcome)) else UNSAID])
    if setting.can_retry:
        yield blocks.actions(blocks.button(TRY_AGAIN, "again", outcome.turn_id))


_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, Setting], Iterator[Part]]] = {
    "answered": _failed,
    "approval_needed": _failed,
    "no_answer": _no_answer,
    "clarify": _clarify,
    "failed": _failed,
}
