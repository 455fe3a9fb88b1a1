"""Who may decide about a web search, and what it is told."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from core.conversation import Decision, Proposal
from core.settings import WebApproval


def may_decide(
    proposal: Proposal, decision: Decision, *, approval: WebApproval, approvers: Iterable[str]
) -> bool:
    """The asker, anyone, or an approver (a person, or a group the person is in), as the operator chose.

    An approver may always decide; ``never_ask`` leaves nothing to decide, so nobody is refused.
    """
    if approval in ("anyone", "never_ask"):
        return True
    is_approver = bool({decision.author, *decision.groups} & set(approvers))
    return is_approver or (approval == "asker" and decision.author == proposal.asker)


def refusal(proposal: Proposal, *, approval: WebApproval) -> str:
    """What a person who may not decide is told."""
    who = f"{proposal.asker} or an approver" if approval == "asker" else "an approver"
    return f"Only {who} can decide this search."


def already_decided(proposal: Proposal) -> str:
    """What a late press is told."""
    when = datetime.fromtimestamp(proposal.decided_at or 0, UTC).astimezone().strftime("%H:%M")
    verb = "allowed" if proposal.verdict == "approve" else "said no to"
    return f"{proposal.decided_by} already {verb} this search at {when}."
