"""Whom the bot asks for an answer, and from whom it learns one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from core.conversation import Conversation

#: People, roles and user groups by the name of a collection or the id of a channel; "" is for all others.
Experts = Mapping[str, tuple[str, ...]]


def experts_for(experts: Experts, conversation: Conversation, reads: Collection[str]) -> tuple[str, ...]:
    """Who is asked there: those of the channel, else of the collections that it reads, else the general ones."""
    of_channel = experts.get(conversation.channel, ())
    of_collections = [one for name in sorted(reads) for one in experts.get(name, ())]
    return tuple(dict.fromkeys(of_channel or of_collections or experts.get("", ())))


def trusted_in(experts: Experts, conversation: Conversation, reads: Collection[str]) -> tuple[str, ...]:
    """Whose replies may be kept there: who is asked, and the general ones."""
    return tuple(dict.fromkeys((*experts_for(experts, conversation, reads), *experts.get("", ()))))
