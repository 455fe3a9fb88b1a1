"""The sentences about a proposed search: who may decide and who decided, with their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bots.chat.markdown.safe import is_blank, line
from bots.chat.platform import CardContext
from bots.chat.texts import clipped, decided, say_in
from core.conversation import QUERY_LIMIT, Proposal
from core.graph.approval import already_decided, refusal
from core.settings import WebApproval
from core.text.language import language_of
from core.wording import in_language

TRIED_SHOWN = 5  # earlier queries named on the card
REASON_SHOWN = 500  # characters

_WAITING: Mapping[WebApproval, str] = {"anyone": "waiting_for_anyone", "approvers": "waiting_for_approver"}


def reason(proposal: Proposal) -> str:
    """Why the documents were not enough."""
    sentence = clipped(line(proposal.reason), REASON_SHOWN)
    return say_in(language_of(proposal.question))("not_answered") if is_blank(sentence) else sentence


def looked_for(proposal: Proposal) -> str:
    """The queries that were tried; empty where there was none."""
    queries = ", ".join(f"“{clipped(line(query))}”" for query in proposal.tried[:TRIED_SHOWN])
    return say_in(language_of(proposal.question))("looked_for", queries=queries) if queries else ""


def would_search(proposal: Proposal, card_context: CardContext) -> str:
    """Above the query."""
    engine = clipped(line(card_context.engine))
    return say_in(language_of(proposal.question))("would_search", engine=engine)


def whole_query(query: str) -> str:
    """The query on one line. It is never longer than QUERY_LIMIT; if it were, "…" would show that."""
    words = line(query)
    return words if 0 < len(words) <= QUERY_LIMIT else f"{words[:QUERY_LIMIT]}…"


def waiting(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence below the buttons."""
    by_asker = "waiting_for_asker_or_approver" if card_context.has_approvers else "waiting_for_asker"
    named = _named(proposal, card_context)
    return say_in(language_of(proposal.question))(
        _WAITING.get(card_context.approval, by_asker), asker=named.asker
    )


def decision(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence that replaces the buttons."""
    return decided(_named(proposal, card_context))


def refused(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence for a person who may not decide: who may."""
    sentence = refusal(_named(proposal, card_context), approval=card_context.approval)
    return in_language(sentence, language_of(proposal.question))


def decided_already(proposal: Proposal, card_context: CardContext) -> str:
    """The sentence for a person who decides too late: who decided."""
    return in_language(already_decided(_named(proposal, card_context)), language_of(proposal.question))


def _named(proposal: Proposal, card_context: CardContext) -> Proposal:
    """The proposal with the names of people in place of their ids."""
    unknown = say_in(language_of(proposal.question))("somebody")
    decider = proposal.decided_by and (card_context.name(proposal.decided_by) or unknown)
    return replace(proposal, asker=card_context.name(proposal.asker) or unknown, decided_by=decider)
