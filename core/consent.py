"""Who may decide about a web search, and what it is told."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from core.conversation import QUERY_LIMIT, Decision, Proposal
from core.model.plain import hides_something
from core.settings import WebApproval


def may_decide(
    proposal: Proposal, decision: Decision, *, approval: WebApproval, approvers: Iterable[str]
) -> bool:
    """The asker, anyone, or an approver (a person, or a group the person is in), as the operator chose.

    An approver may always decide; under ``never_ask`` nobody is refused.
    """
    if approval in ("anyone", "never_ask"):
        return True
    is_approver = bool({decision.author, *decision.groups} & set(approvers))
    return is_approver or (approval == "asker" and decision.author == proposal.asker)


def fault_of_query(query: str | None) -> str | None:
    """Why an edited query cannot go out, as a sentence; None when it can, or when nothing was edited."""
    if query is None:
        return None
    if not query.strip():
        return "The query is empty."
    if len(query) > QUERY_LIMIT:
        return f"The query is too long: {len(query):,} characters, {QUERY_LIMIT:,} at most."
    if hides_something(query):
        return "The query holds characters that cannot be seen."
    return None


def refusal(proposal: Proposal, *, approval: WebApproval) -> str:
    """What a person who may not decide is told."""
    who = f"{proposal.asker} or an approver" if approval == "asker" else "an approver"
    return f"Only {who} can decide this search."


def already_decided(proposal: Proposal) -> str:
    """What a late press is told."""
    when = datetime.fromtimestamp(proposal.decided_at or 0, UTC).astimezone().strftime("%H:%M")
    verb = "allowed" if proposal.verdict == "approve" else "said no to"
    return f"{proposal.decided_by} already {verb} this search at {when}."
