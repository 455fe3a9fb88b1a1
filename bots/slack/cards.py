"""The card that asks "May I search the web for this?", and what it becomes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bots.chat import proposals
from bots.chat.markdown.safe import line
from bots.chat.setting import Setting
from bots.chat.texts import FOOTNOTES_SHOWN, clipped, say_in
from bots.slack import blocks
from bots.slack.address import metadata_of
from bots.slack.blocks import Block
from bots.slack.footnotes import footnotes
from bots.slack.limits import SECTION_TEXT
from bots.slack.message import Message, message_of
from bots.slack.safe import escaped
from core.conversation import QUERY_LIMIT, Proposal
from core.text.language import language_of
from core.turns.messenger import Address

CALLBACK = "edit_query"  # by which the modal's submission is known
TRIED_SHOWN = 5  # earlier queries named on the card
REASON_SHOWN = 500  # characters


def proposal_card(proposal: Proposal, setting: Setting) -> Message:
    """What was looked for, what is closest, and the exact outgoing query; open or decided."""
    shown = FOOTNOTES_SHOWN
    while shown and not blocks.fits([*_card(proposal, setting, shown)]):
        shown -= 1
    return message_of([*_card(proposal, setting, shown)])


def _card(proposal: Proposal, setting: Setting, shown: int) -> Iterator[Block]:
    language = language_of(proposal.question)
    say = say_in(language)
    yield blocks.section(escaped(clipped(proposal.reason, REASON_SHOWN)) or escaped(say("not_answered")))
    if proposal.tried:
        looked_for = ", ".join(f"“{clipped(line(query))}”" for query in proposal.tried[:TRIED_SHOWN])
        yield blocks.context(escaped(say("looked_for", queries=looked_for)))
    if proposal.closest[:shown]:
        yield blocks.context(escaped(say("closest")))
        yield from footnotes(proposal.closest[:shown], language)
    yield from request(proposal, setting)


def request(proposal: Proposal, setting: Setting) -> Iterator[Block]:
    """The exact query and, while it is open, the buttons; then who decided and when."""
    say = say_in(language_of(proposal.question))
    yield blocks.section(escaped(say("would_search", engine=clipped(line(setting.engine)))))
    yield blocks.preformatted(_whole_query(line(proposal.query)))
    if not proposal.is_open:
        if proposal.allowed not in (None, proposal.query):
            yield blocks.context(escaped(say("edited")))
            yield blocks.preformatted(_whole_query(line(proposal.allowed or "")))
        yield blocks.context(escaped(proposals.decision(proposal, setting)))
        return
    yield blocks.actions(
        blocks.button(say("search"), "approve", proposal.id, is_primary=True),
        blocks.button(say("edit"), "edit", proposal.id),
        blocks.button(say("deny"), "deny", proposal.id),
    )
    yield blocks.context(escaped(proposals.waiting(proposal, setting)))


def _whole_query(query: str) -> str:
    """The query, which is never longer than a block; one that were would be seen to go on."""
    return query if 0 < len(query) <= SECTION_TEXT else f"{query[:SECTION_TEXT]}…"


def editor(proposal: Proposal, address: Address) -> dict[str, Any]:
    """A view for ``views.open``."""
    say = say_in(language_of(proposal.question))
    return {
        "type": "modal",
        "callback_id": CALLBACK,
        "title": blocks.plain(say("edit_title")),
        "submit": blocks.plain(say("search")),
        "close": blocks.plain(say("cancel")),
        "private_metadata": metadata_of(proposal.id, address),
        "blocks": [
            {
                "type": "input",
                "block_id": "query",
                "label": blocks.plain(say("edit_label")),
                "element": {
                    "type": "plain_text_input",
                    "action_id": "query",
                    "initial_value": line(proposal.query)[:QUERY_LIMIT],
                    "max_length": QUERY_LIMIT,
                },
            }
        ],
    }
