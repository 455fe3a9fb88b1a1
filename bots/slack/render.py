"""An outcome -> messages. Pure; whatever others wrote passes through :mod:`bots.slack.safe`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import line, web_link
from bots.chat.setting import Setting
from bots.chat.texts import FOOTNOTES_SHOWN, answered_in, clipped, provenance, remarks, say_in, text_of
from bots.slack import blocks, limits
from bots.slack.blocks import Part
from bots.slack.cards import editor, proposal_card, request
from bots.slack.dialect import SLACK
from bots.slack.footnotes import QUOTE_SHOWN, footnotes
from bots.slack.message import Message, message_of, note, packed
from bots.slack.replies import reply
from bots.slack.safe import escaped
from core.conversation import Answer, Citation, Outcome, OutcomeKind, Proposal
from core.wording import Wording

__all__ = [
    "Message",
    "editor",
    "messages",
    "note",
    "reply",
]

PIECE = 11_500  # characters of one piece of an answer, below the limit of a message's Markdown
#: Kept free beneath an answer: what a search that was proposed beside it needs, decided or not.
REQUEST = ({"type": "divider"}, *([blocks.section("x" * 500)] * 6))


def messages(outcome: Outcome, setting: Setting) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Slack takes."""
    if outcome.answer is not None:
        answer = packed(_answered(outcome, outcome.answer))
        return _with_request(answer, outcome.proposal, setting) if outcome.proposal else answer
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return (proposal_card(outcome.proposal, setting),)
    return packed(_ENDINGS[outcome.kind](outcome, setting))


def _with_request(answer: tuple[Message, ...], proposal: Proposal, setting: Setting) -> tuple[Message, ...]:
    """The search beneath the answer; in a message of its own where there is no room, however it is decided."""
    asked, (*others, last) = [*request(proposal, setting)], answer
    if blocks.fits([*last.blocks, *REQUEST]):
        return (*others, message_of([*last.blocks, dict(blocks.DIVIDER), *asked]))
    return (*answer, message_of(asked))


def _answered(outcome: Outcome, given: Answer) -> Iterator[Part]:
    if lead := provenance(outcome, given):
        yield blocks.context(f"_{escaped(lead)}_")
    yield from pieces(given.text, links=_links(given.citations), limit=PIECE, dialect=SLACK)
    if given.citations:
        yield dict(blocks.DIVIDER)
        # What was only quoted stands above already.
        yield from footnotes(given.citations[:FOOTNOTES_SHOWN], outcome.language, with_quotes=given.composed)
    yield from _more(outcome.turn_id, given, say_in(outcome.language))
    # An answer in spite of trouble: the model could not be reached, for one.
    for remark in (outcome.reason or "", *remarks(outcome), answered_in(outcome)):
        if words := clipped(line(remark), blocks.LINE):
            yield blocks.context(escaped(words))
    yield blocks.feedback(outcome.turn_id, say_in(outcome.language))


def _more(turn_id: str, given: Answer, say: Wording) -> Iterator[Part]:
    hidden = len(given.citations) - FOOTNOTES_SHOWN
    is_cut = given.composed and any(len(line(one.quote)) > QUOTE_SHOWN for one in given.citations)
    if hidden > 0 or is_cut or given.left_out:
        label = say("show_more", count=hidden) if hidden > 0 else say("show_all")
        yield blocks.actions(blocks.button(label, "footnotes", turn_id))


def _links(citations: Iterable[Citation]) -> tuple[str, ...]:
    return tuple(url for one in citations if (url := web_link(one.url)))


def _no_answer(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from pieces(outcome.reason or say("not_found"), limit=PIECE, dialect=SLACK)
    if outcome.closest:
        yield blocks.context(escaped(say("closest")))
        yield from footnotes(outcome.closest, outcome.language)
    yield blocks.context(f"{say('what_else')} {say('how_to_add')}")
    yield blocks.feedback(outcome.turn_id, say)


def _clarify(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    yield from pieces(text_of(outcome), limit=PIECE, dialect=SLACK)
    if options := [option for option in outcome.options if line(option)][: limits.ACTIONS]:
        yield blocks.actions(
            *(blocks.button(option, f"choose:{n}", line(option)) for n, option in enumerate(options, start=1))
        )


def _failed(outcome: Outcome, setting: Setting) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from blocks.lines([text_of(outcome), "" if line(text_of(outcome)) else say("unfinished")])
    if setting.can_retry:
        yield blocks.actions(blocks.button(say("try_again"), "again", outcome.turn_id))


_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, Setting], Iterator[Part]]] = {
    "answered": _failed,
    "approval_needed": _failed,
    "no_answer": _no_answer,
    "clarify": _clarify,
    "failed": _failed,
}
