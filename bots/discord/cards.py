"""The card that asks "May I search the web for this?", and what it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bots.chat import proposals
from bots.chat.markdown.safe import line
from bots.chat.setting import Setting
from bots.chat.texts import FOOTNOTES_SHOWN, clipped, say_in
from bots.discord import components
from bots.discord.components import Component, is_blank
from bots.discord.dialect import DISCORD
from bots.discord.footnotes import footnotes
from bots.discord.message import Message, message_of
from core.conversation import QUERY_LIMIT, Proposal, Verdict
from core.text.language import language_of
from core.turns.messenger import Address

TRIED_SHOWN = 5  # earlier queries named on the card
REASON_SHOWN = 500  # characters

#: The card's edge, 0xRRGGBB: amber while it waits, green and grey once it was decided.
_COLOURS: Mapping[Verdict | None, int] = {None: 0xF0B232, "approve": 0x23A55A, "deny": 0x80848E}


def proposal_card(proposal: Proposal, setting: Setting) -> Message:
    """What was looked for, what is closest, and the exact outgoing query; open or decided."""
    shown = FOOTNOTES_SHOWN
    while shown and not components.fits([_card(proposal, setting, shown)]):
        shown -= 1
    return message_of([_card(proposal, setting, shown)])


def request_card(proposal: Proposal, setting: Setting) -> Component:
    """The exact query and, while it is open, the buttons; then who decided and when."""
    return components.container([*_request(proposal, setting)], colour=_COLOURS[proposal.verdict])


def _card(proposal: Proposal, setting: Setting, shown: int) -> Component:
    parts = [*_reason(proposal, shown), *_request(proposal, setting)]
    return components.container(parts, colour=_COLOURS[proposal.verdict])


def _reason(proposal: Proposal, shown: int) -> Iterator[Component]:
    language = language_of(proposal.question)
    say, reason = say_in(language), clipped(line(proposal.reason), REASON_SHOWN)
    yield from components.lines([say("not_answered") if is_blank(reason) else reason])
    if tried := [clipped(line(query)) for query in proposal.tried[:TRIED_SHOWN]]:
        yield from components.small(say("looked_for", queries=", ".join(f"“{query}”" for query in tried)))
    if closest := proposal.closest[:shown]:
        yield from components.small(say("closest"))
        yield from footnotes(closest, language)


def _request(proposal: Proposal, setting: Setting) -> Iterator[Component]:
    say = say_in(language_of(proposal.question))
    yield from components.lines([say("would_search", engine=clipped(line(setting.engine)))])
    yield _exactly(proposal.query)
    if proposal.is_open:
        yield components.row(
            components.button(say("search"), "approve", proposal.id, is_primary=True),
            components.button(say("edit"), "edit", proposal.id),
            components.button(say("deny"), "deny", proposal.id),
        )
        yield from components.small(proposals.waiting(proposal, setting))
        return
    if proposal.allowed not in (None, proposal.query):
        yield from components.small(say("edited"))
        yield _exactly(proposal.allowed or "")
    yield from components.small(proposals.decision(proposal, setting))


def _exactly(query: str) -> Component:
    """The query as code, which is never longer than QUERY_LIMIT; one that were would be seen to go on."""
    whole = line(query)
    return components.text(
        DISCORD.fence(whole if 0 < len(whole) <= QUERY_LIMIT else f"{whole[:QUERY_LIMIT]}…", "")
    )


def editor(proposal: Proposal, _address: Address) -> dict[str, Any]:
    """The data of a modal, as an interaction is answered with."""
    say = say_in(language_of(proposal.question))
    field = {
        "type": components.TEXT_INPUT,
        "custom_id": "query",
        "style": components.PARAGRAPH,
        "value": line(proposal.query)[:QUERY_LIMIT],
        "min_length": 1,
        "max_length": QUERY_LIMIT,
        "required": True,
    }
    label = {"type": components.LABEL, "label": say("edit_label"), "component": field}
    return {
        "title": say("edit_title"),
        "custom_id": components.custom_id("edit", proposal.id),
        "components": [label],
    }
