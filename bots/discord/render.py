"""An outcome -> messages. Pure; whatever others wrote passes through :mod:`bots.discord.safe`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import dropwhile

from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import line, web_link
from bots.chat.setting import Setting
from bots.chat.texts import FOOTNOTES_SHOWN, answered_in, provenance, remarks, say_in, text_of
from bots.discord import components
from bots.discord.cards import editor, proposal_card, request_card
from bots.discord.components import Component, Part, is_blank
from bots.discord.dialect import DISCORD
from bots.discord.footnotes import QUOTE_SHOWN, footnotes
from bots.discord.message import Message, message_of, note, packed
from bots.discord.replies import reply
from core.conversation import Answer, Outcome, OutcomeKind, Proposal
from core.wording import Wording

__all__ = [
    "Message",
    "editor",
    "messages",
    "note",
    "reply",
]

PIECE = 3_500  # characters of one piece of an answer; the line above it fits in the same message
OPTIONS = 25  # buttons to choose from; the text above names any others
_STRUCTURE = re.compile("^[> ]*```.*$|[>#─-]", re.MULTILINE)  # what says nothing alone: no code, a line
#: Kept free beneath an answer: what a search that was proposed beside it needs, decided or not.
REQUEST = (
    components.container([components.text("x" * 300)] * 6, colour=0),
    components.row(*components.feedback("")),
)


def messages(outcome: Outcome, setting: Setting) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Discord takes."""
    if outcome.answer is not None:
        answer = packed(_answered(outcome, outcome.answer))
        return _with_request(answer, outcome.proposal, setting) if outcome.proposal else answer
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return (proposal_card(outcome.proposal, setting),)
    return packed(_ENDINGS[outcome.kind](outcome, setting))


def _with_request(answer: tuple[Message, ...], proposal: Proposal, setting: Setting) -> tuple[Message, ...]:
    """The search beneath the answer; in a message of its own where there is no room, however it is decided."""
    asked, (*others, last) = request_card(proposal, setting), answer
    if components.fits([*last.components, *REQUEST]):
        return (*others, message_of([*last.components, asked]))
    return (*answer, message_of([asked]))


def _answered(outcome: Outcome, given: Answer) -> Iterator[Part]:
    yield from components.small(provenance(outcome, given))
    links = [url for one in given.citations if (url := web_link(one.url))]
    yield from _said(given.text, outcome.language, links=links)
    if given.citations:
        yield dict(components.DIVIDER)
        # What was only quoted stands above already.
        yield from footnotes(given.citations[:FOOTNOTES_SHOWN], outcome.language, with_quotes=given.composed)
    # An answer in spite of trouble: the model could not be reached, for one.
    for remark in (outcome.reason or "", *remarks(outcome), answered_in(outcome)):
        yield from components.small(remark)
    more = _more(outcome.turn_id, given, say_in(outcome.language))
    yield components.row(*components.feedback(outcome.turn_id), *more)


def _said(markdown: str, language: str, *, links: Collection[str] = ()) -> tuple[str, ...]:
    """The text from its first words on."""
    made = pieces(markdown, links=links, limit=PIECE, dialect=DISCORD)
    return tuple(dropwhile(_is_mute, made)) or (say_in(language)("unfinished"),)


def _is_mute(piece: str) -> bool:
    return is_blank(_STRUCTURE.sub("", piece))


def _more(turn_id: str, given: Answer, say: Wording) -> Iterator[Component]:
    hidden = len(given.citations) - FOOTNOTES_SHOWN
    is_cut = given.composed and any(len(line(one.quote)) > QUOTE_SHOWN for one in given.citations)
    if hidden > 0 or is_cut or given.left_out:
        label = say("show_more", count=hidden) if hidden > 0 else say("show_all")
        yield components.button(label, "footnotes", turn_id)


def _no_answer(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    say = say_in(outcome.language)
    yield from _said(outcome.reason or say("not_found"), outcome.language)
    if outcome.closest:
        yield from components.small(say("closest"))
        yield from footnotes(outcome.closest, outcome.language)
    yield components.text(f"-# {say('what_else')} {say('how_to_add')}")
    yield components.row(*components.feedback(outcome.turn_id))


def _clarify(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    yield from _said(text_of(outcome), outcome.language)
    yield from components.rows(
        [
            components.button(option, f"choose:{number}", outcome.turn_id)
            for number, option in enumerate(outcome.options[:OPTIONS], start=1)
            if not is_blank(option)
        ]
    )


def _failed(outcome: Outcome, setting: Setting) -> Iterator[Part]:
    yield from _said(text_of(outcome), outcome.language)
    if setting.can_retry:
        label = say_in(outcome.language)("try_again")
        yield components.row(components.button(label, "again", outcome.turn_id))


_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, Setting], Iterator[Part]]] = {
    "answered": _failed,
    "approval_needed": _failed,
    "no_answer": _no_answer,
    "clarify": _clarify,
    "failed": _failed,
}
