"""An outcome -> messages. Pure; whatever others wrote passes through :mod:`bots.discord.safe`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from itertools import dropwhile

from bots.delivery.markdown.pieces import pieces
from bots.delivery.markdown.safe import line, web_link
from bots.delivery.setting import Setting
from bots.discord import components
from bots.discord.cards import decided_card, editor, proposal_card, refused, settled
from bots.discord.components import Component, Part, is_blank
from bots.discord.dialect import DISCORD
from bots.discord.footnotes import QUOTE_SHOWN, footnotes
from bots.discord.message import Message, note, packed
from bots.discord.replies import reply
from bots.messages import (
    CLOSEST,
    FOOTNOTES_SHOWN,
    NOT_FOUND,
    TRY_AGAIN,
    UNSAID,
    WHAT_ELSE,
    answered_in,
    provenance,
    text_of,
)
from core.conversation import Answer, Outcome, OutcomeKind

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

PIECE = 3_500  # characters of one piece of an answer; the line above it fits in the same message
OPTIONS = 25  # buttons to choose from; the text above names any others
_STRUCTURE = re.compile("^[> ]*```.*$|[>#─-]", re.MULTILINE)  # what says nothing alone: no code, a line
LEARN = "To add one, mention me with `learn` and a file."


def messages(outcome: Outcome, setting: Setting) -> tuple[Message, ...]:
    """The outcome as one message, or as several in order where it is longer than Discord takes."""
    if outcome.answer is not None:
        return packed(_answered(outcome, outcome.answer))
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return (proposal_card(outcome.proposal, setting),)
    return packed(_ENDINGS[outcome.kind](outcome, setting))


def _answered(outcome: Outcome, given: Answer) -> Iterator[Part]:
    yield from components.small(provenance(given))
    yield from _said(given.text, links=[url for one in given.citations if (url := web_link(one.url))])
    if given.citations:
        yield dict(components.DIVIDER)
        # What was only quoted stands above already.
        yield from footnotes(given.citations[:FOOTNOTES_SHOWN], with_quotes=given.composed)
    # An answer in spite of trouble: the model could not be reached, for one.
    yield from components.small(outcome.reason or "")
    yield from components.small(answered_in(outcome))
    yield components.row(*components.feedback(outcome.turn_id), *_more(outcome.turn_id, given))


def _said(markdown: str, *, links: Collection[str] = ()) -> tuple[str, ...]:
    """The text from its first words on."""
    made = pieces(markdown, links=links, limit=PIECE, dialect=DISCORD)
    return tuple(dropwhile(_is_mute, made)) or (UNSAID,)


def _is_mute(piece: str) -> bool:
    return is_blank(_STRUCTURE.sub("", piece))


def _more(turn_id: str, given: Answer) -> Iterator[Component]:
    hidden = len(given.citations) - FOOTNOTES_SHOWN
    is_cut = given.composed and any(len(line(one.quote)) > QUOTE_SHOWN for one in given.citations)
    if hidden > 0 or is_cut:
        label = f"{hidden} more: show all footnotes" if hidden > 0 else "Show all footnotes"
        yield components.button(label, "footnotes", turn_id)


def _no_answer(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    yield from _said(outcome.reason or NOT_FOUND)
    if outcome.closest:
        yield from components.small(CLOSEST)
        yield from footnotes(outcome.closest)
    yield components.text(f"-# {WHAT_ELSE} {LEARN}")
    yield components.row(*components.feedback(outcome.turn_id))


def _clarify(outcome: Outcome, _setting: Setting) -> Iterator[Part]:
    yield from _said(text_of(replace(outcome, reason=outcome.reason or "")))
    yield from components.rows(
        [
            components.button(option, f"choose:{number}", outcome.turn_id)
            for number, option in enumerate(outcome.options[:OPTIONS], start=1)
            if not is_blank(option)
        ]
    )


def _failed(outcome: Outcome, setting: Setting) -> Iterator[Part]:
    yield from _said(text_of(outcome))
    if setting.can_retry:
        yield components.row(components.button(TRY_AGAIN, "again", outcome.turn_id))


_ENDINGS: Mapping[OutcomeKind, Callable[[Outcome, Setting], Iterator[Part]]] = {
    "answered": _failed,
    "approval_needed": _failed,
    "no_answer": _no_answer,
    "clarify": _clarify,
    "failed": _failed,
}
