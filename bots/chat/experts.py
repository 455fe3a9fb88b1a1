"""Whom the bot asks about a question, for a press on its card or for an operator who asks about an old one; and from whom
it learns an answer.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from bots.chat.channels import ChannelStore
from bots.chat.incoming import ChatCommand, queued
from bots.chat.platform import Approver, People
from bots.chat.texts import language_of_turn
from core.bootstrap import Footnote
from core.conversation import Command, Conversation, Turn
from core.errors import FootnoteError, NotFound
from core.turns.archive import is_stored, turn_and_route
from core.turns.messenger import ReplyRoute, Unreachable

#: People, roles and user groups by the name of a collection or the id of a channel; "" is for all others.
Experts = Mapping[str, tuple[str, ...]]

ASKED = "/experts"  # ends the id of the command that asks experts about a turn: it runs once, however often it is pressed

NO_EXPERTS = "EXPERTS names nobody, so there is nobody to ask."
ASKED_ALREADY = "A person was asked about this already."
NOT_STORED = "The message of this question is not known any more, so nobody can be asked in its thread."
NOT_SERVED = "It was asked where no expert can be asked: on a platform that is not served, or by an operator."
IN_PRIVATE = "It was asked in a direct message, where no expert can be asked."
NOBODY_THERE = "Of EXPERTS, nobody but who asked could be asked in that channel."
OUT_OF_REACH = "The platform cannot be reached now. Try again in a while."


def experts_for(experts: Experts, conversation: Conversation, reads: Collection[str]) -> tuple[str, ...]:
    """Who is asked there: those of the channel, else of the collections that it reads, else the general ones."""
    of_channel = experts.get(conversation.channel, ())
    of_collections = [one for name in sorted(reads) for one in experts.get(name, ())]
    return tuple(dict.fromkeys(of_channel or of_collections or experts.get("", ())))


def trusted_in(experts: Experts, conversation: Conversation, reads: Collection[str]) -> tuple[str, ...]:
    """Whose replies may be kept there: who is asked, and the general ones."""
    return tuple(dict.fromkeys((*experts_for(experts, conversation, reads), *experts.get("", ()))))


def asking_once(turn_id: str) -> str:
    """The id under which experts are asked about a turn."""
    return f"{turn_id}{ASKED}"


async def experts_about(
    turn: Turn, route: ReplyRoute, *, presser: str, footnote: Footnote, channel_store: ChannelStore, people: People
) -> tuple[Approver, ...]:  # fmt: skip
    """Who is asked; never who asked the question. Raises Unreachable."""
    reads = await channel_store.reads(turn.conversation, presser, footnote.library)
    named = experts_for(footnote.settings.experts, turn.conversation, reads.collections)
    return tuple(one for one in await people.approvers(route, named) if one.id != turn.author)


async def request_about(
    turns: Sequence[str], footnote: Footnote, channel_store: ChannelStore
) -> tuple[Command, ReplyRoute]:
    """The command that asks experts about the newest of these turns for which that is possible, as a press does.

    FootnoteError with why nobody can be asked, or was asked already.
    """
    if not footnote.settings.experts:
        raise FootnoteError(NO_EXPERTS)
    for turn_id in turns:
        if await is_stored(asking_once(turn_id)):
            raise FootnoteError(ASKED_ALREADY)
    reason: FootnoteError | None = None
    for turn_id in turns:
        try:
            return await _request(turn_id, footnote, channel_store)
        except Unreachable:
            raise FootnoteError(OUT_OF_REACH) from None
        except NotFound as trouble:  # perhaps an older one can be asked about
            reason = reason or trouble
    raise reason or NotFound(NOT_STORED)


async def _request(
    turn_id: str, footnote: Footnote, channel_store: ChannelStore
) -> tuple[Command, ReplyRoute]:
    """NotFound with why nobody can be asked about this one. Raises Unreachable."""
    stored = await turn_and_route(turn_id)
    if stored is None:
        raise NotFound(NOT_STORED)
    turn, route = stored[0], _without_past(stored[1])
    people = channel_store.people.get(turn.conversation.platform)
    if people is None:
        raise NotFound(NOT_SERVED)
    if people.is_direct(route):
        raise NotFound(IN_PRIVATE)
    asked = await experts_about(
        turn, route, presser=turn.author, footnote=footnote, channel_store=channel_store, people=people
    )
    if not asked:
        raise NotFound(NOBODY_THERE)
    command = ChatCommand(
        name="consult", argument=turn.id, id=asking_once(turn.id), conversation=turn.conversation,
        author=turn.author, said_at=time.time(), language=language_of_turn(turn),
    )  # fmt: skip
    return queued(command), route


def _without_past(route: ReplyRoute) -> ReplyRoute:
    """Without what was valid for a moment, and what was posted then."""
    gone = {"interaction", "trigger"} if "opens" in route else {"interaction", "trigger", "says"}
    return {key: each for key, each in route.items() if key not in gone}
