"""Who a proposed search waits for, and who decided it, in the names that people know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bots.chat.platform import Setting
from bots.chat.texts import decided, say_in
from core.conversation import Proposal
from core.graph.approval import already_decided, refusal
from core.settings import WebApproval
from core.text.language import language_of
from core.wording import in_language

_WAITING: Mapping[WebApproval, str] = {"anyone": "waiting_for_anyone", "approvers": "waiting_for_approver"}


def waiting(proposal: Proposal, setting: Setting) -> str:
    """Beneath the buttons."""
    by_asker = "waiting_for_asker_or_approver" if setting.has_approvers else "waiting_for_asker"
    named = _named(proposal, setting)
    return say_in(language_of(proposal.question))(_WAITING.get(setting.approval, by_asker), asker=named.asker)


def decision(proposal: Proposal, setting: Setting) -> str:
    """In place of the buttons."""
    return decided(_named(proposal, setting))


def refused(proposal: Proposal, setting: Setting) -> str:
    """What a person is told, privately, who may not decide."""
    sentence = refusal(_named(proposal, setting), approval=setting.approval)
    return in_language(sentence, language_of(proposal.question))


def settled(proposal: Proposal, setting: Setting) -> str:
    """What a late press is told, privately."""
    return in_language(already_decided(_named(proposal, setting)), language_of(proposal.question))


def _named(proposal: Proposal, setting: Setting) -> Proposal:
    """With the names of people in place of their ids."""
    nobody = say_in(language_of(proposal.question))("somebody")
    decider = proposal.decided_by and (setting.name(proposal.decided_by) or nobody)
    return replace(proposal, asker=setting.name(proposal.asker) or nobody, decided_by=decider)
