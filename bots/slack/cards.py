"""The card that asks "May I search the web for this?", and what it becomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bots.delivery import deciding
from bots.delivery.markdown.safe import line
from bots.delivery.setting import Setting
from bots.messages import CLOSEST, FOOTNOTES_SHOWN, clipped, would_search
from bots.slack import blocks
from bots.slack.address import metadata_of
from bots.slack.blocks import Block
from bots.slack.footnotes import footnotes
from bots.slack.limits import SECTION_TEXT
from bots.slack.message import Message, message_of, note
from bots.slack.safe import escaped
from core.conversation import QUERY_LIMIT, Proposal
from core.messenger import Address

CALLBACK = "edit_query"  # by which the modal's submission is known
TRIED_SHOWN = 5  # earlier queries named on the card
NOT_ANSWERED = "Your documents don't answer this."
REASON_SHOWN = 500  # characters


def proposal_card(proposal: Proposal, setting: Setting) -> Message:
    """What was looked for, what is closest, the exact outgoing query and, while it is open, the buttons."""
    shown = FOOTNOTES_SHOWN
    while shown and not blocks.fits([*_card(proposal, setting, shown)]):
        shown -= 1
    return message_of([*_card(proposal, setting, shown)])


def decided_card(proposal: Proposal, setting: Setting) -> Message:
    """The same once a person decided: who and when, and nothing to press."""
    return proposal_card(proposal, setting)


def _card(proposal: Proposal, setting: Setting, shown: int) -> Iterator[Block]:
    yield blocks.section(
        escaped(clipped(proposal.reason, REASON_SHOWN)) or "Your documents don't answer this."
    )
    if proposal.tried:
        looked_for = ", ".join(f"“{clipped(line(query))}”" for query in proposal.tried[:TRIED_SHOWN])
        yield blocks.context(f"Looked for: {escaped(looked_for)}")
    if proposal.closest[:shown]:
        yield blocks.context(CLOSEST)
        yield from footnotes(proposal.closest[:shown])
    yield blocks.section(escaped(would_search(clipped(line(setting.engine)))))
    yield blocks.preformatted(_whole(line(proposal.query)))
    if not proposal.is_open:
        yield blocks.context(escaped(deciding.decision(proposal, setting)))
        return
    yield blocks.actions(
        blocks.button("Search the web", "approve", proposal.id, is_primary=True),
        blocks.button("Edit query", "edit", proposal.id),
        blocks.button("No thanks", "deny", proposal.id),
    )
    yield blocks.context(escaped(deciding.waiting(proposal, setting)))


def _whole(query: str) -> str:
    """The query, which is never longer than a block; one that were would be seen to go on."""
    return query if 0 < len(query) <= SECTION_TEXT else f"{query[:SECTION_TEXT]}…"


def refused(proposal: Proposal, setting: Setting) -> Message:
    """What a person is told, privately, who may not decide."""
    return note(deciding.refused(proposal, setting))


def settled(proposal: Proposal, setting: Setting) -> Message:
    """What a late press is told, privately."""
    return note(deciding.settled(proposal, setting))


def editor(proposal: Proposal, address: Address) -> dict[str, Any]:
    """A view for ``views.open``."""
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "title": blocks.plain("Edit the query"),
        "submit": blocks.plain("Search the web"),
        "close": blocks.plain("Cancel"),
        "private_metadata": metadata_of(proposal.id, address),
        "blocks": [
            {
                "type": "input",
                "block_id": "query",
                "label": blocks.plain("This is what leaves the workspace"),
                "element": {
                    "type": "plain_text_input",
                    "action_id": "query",
                    "initial_value": line(proposal.query)[:QUERY_LIMIT],
                    "max_length": QUERY_LIMIT,
                },
            }
        ],
    }
