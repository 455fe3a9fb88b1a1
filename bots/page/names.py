"""Names of people and channels for the page: read from the store, and looked up by the bot where none is known."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from time import monotonic

from bots.page.threads import PLATFORM, collections_of
from bots.terminal.session import PLATFORM as TERMINAL
from core.conversation import Conversation, value
from core.errors import FootnoteError
from core.traces.names import KnownNames, ShownNames

logger = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds that a view waits for the platforms; then it shows ids, and names the next time
AGAIN = 3_600.0  # seconds after which a name is looked up again that the platform did not say
LOOKED_UP = 50  # people and channels at a time
REMEMBERED = 10_000  # that were looked up


@value
class Speaker:
    """Somebody who said something in a channel."""

    conversation: str
    author: str = ""  #: empty: nobody that is shown


@dataclass(slots=True)
class NameLookUps:
    """The names of people and channels. Raises StoreUnavailable when nothing can be read now."""

    stored: ShownNames
    look_up: Callable[[list[list[str]]], Awaitable[object]]  #: of conversations and authors; FootnoteError
    now: Callable[[], float] = monotonic
    _asked: dict[Speaker, float] = field(default_factory=dict)  #: when, by who and where
    _running: set[asyncio.Task[object]] = field(default_factory=set)

    async def of(self, speakers: Iterable[Speaker]) -> KnownNames:
        """The names of these; those that nobody knows yet are looked up on their platform."""
        speakers = dict.fromkeys(speakers)
        places = {each: Conversation.parse(each.conversation) for each in speakers}
        own = {place.channel_id: name for place in places.values() if (name := _own_name(place))}
        people = {each.author for each in speakers} - {""}
        channels = {place.channel_id for place in places.values()} - own.keys()
        known = await self.stored.known(people, channels)
        unknown = [
            each
            for each, place in places.items()
            if place.channel_id not in own
            and (each.author not in {"", *known.people} or place.channel_id not in known.channels)
        ]
        if await self._look_up(unknown):
            known = await self.stored.known(people, channels)
        return KnownNames(people=known.people, channels={**known.channels, **own})

    async def _look_up(self, unknown: Iterable[Speaker]) -> bool:
        """True if anything was looked up."""
        now = self.now()
        due = [each for each in unknown if now - self._asked.get(each, -AGAIN) >= AGAIN][:LOOKED_UP]
        if not due:
            return False
        if len(self._asked) > REMEMBERED:
            self._asked.clear()
        self._asked |= dict.fromkeys(due, now)
        said = [[each.conversation, each.author] for each in due]
        task: asyncio.Task[object] = asyncio.create_task(self._carry_out(said))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        await asyncio.wait([task], timeout=PATIENCE)
        return True

    async def _carry_out(self, said: list[list[str]]) -> None:
        try:
            await self.look_up(said)
        except FootnoteError as trouble:
            logger.info("names could not be looked up", extra={"reason": str(trouble)})


def speaker_in(channel: str) -> Speaker:
    """For the name of a channel alone."""
    return Speaker(conversation=f"{channel}/-")


def _own_name(place: Conversation) -> str:
    """The name of a channel that is on no platform."""
    if place.platform == TERMINAL:
        return "terminal"
    if place.platform != PLATFORM:
        return ""
    named = collections_of(place.channel)
    return "page" if named is None else f"page, {', '.join(sorted(named))} only"
