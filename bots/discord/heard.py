"""How far everything that was said has been taken in: where the next start begins to look."""

from __future__ import annotations

from dataclasses import dataclass, field

from bots.chat.channels import Rooms
from bots.discord.address import PLATFORM


@dataclass(slots=True)
class Heard:
    """A mark that moves up as messages are stored, and never past one that is not stored yet."""

    rooms: Rooms
    _newest: int = 0  #: of the messages that were stored
    _untaken: list[int] = field(default_factory=list)  #: from which messages on something may be missing

    @property
    def last(self) -> int | None:
        """The newest message of which nothing before is missing; None when nothing was ever heard."""
        return self.rooms.last_heard(PLATFORM)

    def begin(self, newest: int) -> None:
        """The very first time: nothing up to this message is looked for."""
        self.rooms.note_heard(PLATFORM, max(newest, 1))

    def hold(self, first: int) -> None:
        """From this message on something may be missing, until it is released."""
        if self.last is None:
            self.begin(first - 1)
        self._untaken.append(first)

    def release(self, first: int, *, newest: int = 0) -> None:
        """What was held is taken in, up to ``newest``."""
        self._untaken.remove(first)
        self._newest = max(self._newest, newest)
        if mark := min([self._newest, *(held - 1 for held in self._untaken)]):
            self.rooms.note_heard(PLATFORM, mark)
