"""The progress of a turn, shown by the sign of its work until the outcome takes its place."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, cast

from bots.chat.platform import Posts, ProgressNote, Refused, Shown
from bots.chat.texts import language_of_turn, progress_note
from core.conversation import Conversation, Decision, Progress, Proposal, Turn
from core.turns.messenger import ReplyRoute, Report, Unreachable
from core.turns.replicas import OWNERSHIP

logger = logging.getLogger(__name__)

BETWEEN = 1.0  # seconds between two edits; Slack and Discord take about one message a second in a channel


@dataclass(slots=True, kw_only=True)
class ThrottledProgress:
    """Shows the newest progress of a turn, at most about once a second, and again before it fades."""

    #: Shows it; the flag says whether it changed, or only the platform's sign of work fades.
    show: Callable[[Progress, bool], Awaitable[None]]
    refresh: float  #: seconds after which the platform's own sign of work fades, or nearly
    newest: Progress  #: at first what the message shows already
    is_ours: Callable[[], bool]  #: whether it is certain that the turn runs in this process alone
    is_late: bool = False  #: whether the last note may have come when another process had shown the outcome
    _is_fresh: asyncio.Event = field(default_factory=asyncio.Event)
    _is_closed: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        self._task = asyncio.create_task(self._run())

    def report(self, progress: Progress) -> None:
        self.newest = progress
        self._is_fresh.set()

    async def close(self) -> None:
        """No note comes after this. One that is being sent is waited for, or it could cover the answer."""
        self._is_closed.set()
        self._is_fresh.set()
        await asyncio.wait([self._task])

    def cancel(self) -> None:
        """No note comes after this, but one that is being sent may arrive."""
        self._task.cancel()

    async def _run(self) -> None:
        shown = self.newest
        while not self._is_closed.is_set():
            self._is_fresh.clear()
            newest = self.newest
            if self.is_ours():
                self.is_late = is_new = newest != shown
                try:
                    await self.show(newest, is_new)
                    shown = newest
                except (Unreachable, Refused):
                    logger.info("a progress note was left out")
                finally:  # it is late if this process slept meanwhile, or is cut off
                    self.is_late = is_new and not self.is_ours()
            if not await _happens(self._is_closed, BETWEEN):
                await _happens(self._is_fresh, self.refresh)


async def _happens(event: asyncio.Event, within: float) -> bool:
    try:
        return await asyncio.wait_for(event.wait(), within)
    except TimeoutError:
        return False


@dataclass(slots=True, kw_only=True)
class ProgressNotes(Generic[Shown]):
    """The notes of all turns that run, each in the language of its question."""

    posts: Posts[Shown]
    proposals: Callable[[Conversation], Awaitable[tuple[Proposal, ...]]]
    refresh: float  #: seconds after which the platform's own sign of work is shown again
    #: Shows the outcome of a turn that ran on in another process, which a late note may have covered.
    uncover: Callable[[Turn, ReplyRoute, str], Coroutine[Any, Any, None]]
    _running: dict[str, ThrottledProgress] = field(default_factory=dict)  #: by turn
    _languages: dict[str, str] = field(default_factory=dict)  #: by turn
    _uncovering: set[asyncio.Task[None]] = field(default_factory=set)

    async def begin(self, turn: Turn, route: ReplyRoute, proposal: Proposal | None, *, is_again: bool) -> str:
        """Show the first sign and return its handle. Raises Refused and Unreachable.

        Args:
            proposal: what the turn decides about
        """
        language = language_of_turn(turn, (proposal,) if proposal else ())
        self._languages[turn.id] = language
        first = _first_progress(turn)
        note = ProgressNote(stage=first.stage, sentence=progress_note(first, language))
        return await self.posts.begin(route, turn.id, note, is_again=is_again)

    def reporter(self, turn: Turn, route: ReplyRoute, handle: str) -> Report:
        throttled = ThrottledProgress(
            show=partial(self._show, turn, route, handle),
            refresh=self.refresh,
            newest=_first_progress(turn),
            is_ours=OWNERSHIP.get().is_certain,
        )
        self._running[turn.id] = throttled
        if (run := asyncio.current_task()) is not None:
            run.add_done_callback(lambda _: self._leave(throttled, turn, route, handle))
        loop = asyncio.get_running_loop()
        # Steps of the graph may run in other threads.
        return lambda progress: cast("None", loop.call_soon_threadsafe(throttled.report, progress))

    async def _show(
        self, turn: Turn, route: ReplyRoute, handle: str, progress: Progress, is_new: bool
    ) -> None:
        language = self._languages.get(turn.id)
        if language is None:  # the first sign was shown by an earlier process
            proposals = await self.proposals(turn.conversation) if isinstance(turn, Decision) else ()
            language = self._languages[turn.id] = language_of_turn(turn, proposals)
        note = ProgressNote(stage=progress.stage, sentence=progress_note(progress, language))
        await self.posts.progress(route, handle, turn.id, note, is_new=is_new)

    def _leave(self, throttled: ThrottledProgress, turn: Turn, route: ReplyRoute, handle: str) -> None:
        """Where a run ends without :meth:`end`, the turn runs on in another process, which shows its outcome."""
        if self._running.get(turn.id) is not throttled:
            return
        del self._running[turn.id]
        self._languages.pop(turn.id, None)
        throttled.cancel()
        if throttled.is_late and not throttled.is_ours():
            # In a context of its own: in that of the run, nothing is shown any more.
            uncovering = asyncio.create_task(self.uncover(turn, route, handle), context=Context())
            self._uncovering.add(uncovering)
            uncovering.add_done_callback(self._uncovering.discard)

    async def end(self, turn_id: str) -> None:
        """No note of the turn comes after this."""
        if throttled := self._running.pop(turn_id, None):
            await throttled.close()
        self._languages.pop(turn_id, None)


def _first_progress(turn: Turn) -> Progress:
    return Progress(stage="searching" if isinstance(turn, Decision) else "reading")
