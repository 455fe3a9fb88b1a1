"""The card that asks "May I search the web for this?", and what it becomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bots.delivery import deciding
from bots.delivery.markdown.safe import line
from bots.delivery.setting import Setting
from bots.discord import components
from bots.discord.components import Component, is_blank
from bots.discord.dialect import DISCORD
from bots.discord.footnotes import footnotes
from bots.discord.message import Message, message_of, note
from bots.messages import CLOSEST, FOOTNOTES_SHOWN, clipped, would_search
from core.conversation import QUERY_LIMIT, Proposal, Verdict
from core.messenger import Address

TRIED_SHOWN = 5  # earlier queries named on the card
NOT_ANSWERED = "Your documents don't answer this."
REASON_SHOWN = 500  # characters

#: The card's edge, 0xRRGGBB: amber while it waits, green and grey once it was decided.
_COLOURS: Mapping[Verdict | None, int] = {None: 0xF0B232, "approve": 0x23A55A, "deny": 0x80848E}


def proposal_card(proposal: Proposal, setting: Setting) -> Message:
    """What was looked for, what is closest, the exact outgoing query and, while it is open, the buttons."""
    shown = FOOTNOTES_SHOWN
    while shown and not components.fits([_card(proposal, setting, shown)]):
        shown -= 1
    return message_of([_card(proposal, setting, shown)])


def decided_card(proposal: Proposal, setting: Setting) -> Message:
    """The same once a person decided: who and when, and nothing to press."""
    return proposal_card(proposal, setting)


def _card(proposal: Proposal, setting: Setting, shown: int) -> Component:
    parts = [*_request(proposal, setting, shown), *_ending(proposal, setting)]
    return components.container(parts, colour=_COLOURS[proposal.verdict])


def _request(proposal: Proposal, setting: Setting, shown: int) -> Iterator[Component]:
    reason = clipped(line(proposal.reason), REASON_SHOWN)
    yield from components.lines([NOT_ANSWERED if is_blank(reason) else reason])
    if tried := [clipped(line(query)) for query in proposal.tried[:TRIED_SHOWN]]:
        yield from components.small(f"Looked for: {', '.join(f'“{query}”' for query in tried)}")
    if closest := proposal.closest[:shown]:
        yield from components.small(CLOSEST)
        yield from footnotes(closest)
    yield from components.lines([would_search(clipped(line(setting.engine)))])
    yield _exactly(proposal.query)


def _ending(proposal: Proposal, setting: Setting) -> Iterator[Component]:
    if proposal.is_open:
        yield components.row(
            components.button("Search the web", "approve", proposal.id, is_primary=True),
            components.button("Edit query", "edit", proposal.id),
            components.button("No thanks", "deny", proposal.id),
        )
        yield from components.small(deciding.waiting(proposal, setting))
        return
    if proposal.allowed not in (None, proposal.query):
        yield from components.small("Changed before it was allowed:")
        yield _exactly(proposal.allowed or "")
    yield from components.small(deciding.decision(proposal, setting))


def _exactly(query: str) -> Component:
    """The query as code, which is never longer than QUERY_LIMIT; one that were would be seen to go on."""
    whole = line(query)
    return components.text(
        DISCORD.fence(whole if 0 < len(whole) <= QUERY_LIMIT else f"{whole[:QUERY_LIMIT]}…", "")
    )


def refused(proposal: Proposal, setting: Setting) -> Message:
    """What a person is told, privately, who may not decide."""
    return note(deciding.refused(proposal, setting))


def settled(proposal: Proposal, setting: Setting) -> Message:
    """What a late press is told, privately."""
    return note(deciding.settled(proposal, setting))


def editor(proposal: Proposal, _address: Address) -> dict[str, Any]:
    """The data of a modal, as an interaction is answered with."""
    field = {
        "type": components.TEXT_INPUT,
        "custom_id": "query",
        "style": components.PARAGRAPH,
        "value": line(proposal.query)[:QUERY_LIMIT],
        "min_length": 1,
        "max_length": QUERY_LIMIT,
        "required": True,
    }
    label = {"type": components.LABEL, "label": "This is what leaves the server", "component": field}
    return {
        "title": "Edit the query",
        "custom_id": components.custom_id("edit", proposal.id),
        "components": [label],
    }
