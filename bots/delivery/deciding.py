"""Who a proposed search waits for, and who decided it, in the names that people know."""

from __future__ import annotations

from dataclasses import replace

from bots.delivery.setting import Setting
from bots.messages import NOTHING_SENT, decided
from core.consent import already_decided, refusal
from core.conversation import Proposal


def waiting(proposal: Proposal, setting: Setting) -> str:
    """Beneath the buttons."""
    asker = setting.name(proposal.asker)
    who = {"anyone": "anyone here", "approvers": "an approver"}.get(
        setting.approval, f"{asker} or an approver" if setting.has_approvers else asker
    )
    return f"Waiting for {who}. {NOTHING_SENT}"


def decision(proposal: Proposal, setting: Setting) -> str:
    """In place of the buttons."""
    return decided(_named(proposal, setting))


def refused(proposal: Proposal, setting: Setting) -> str:
    """What a person is told, privately, who may not decide."""
    return refusal(_named(proposal, setting), approval=setting.approval)


def settled(proposal: Proposal, setting: Setting) -> str:
    """What a late press is told, privately."""
    return already_decided(_named(proposal, setting))


def _named(proposal: Proposal, setting: Setting) -> Proposal:
    """With the names of people in place of their ids."""
    decider = setting.name(proposal.decided_by) if proposal.decided_by else None
    return replace(proposal, asker=setting.name(proposal.asker), decided_by=decider)
