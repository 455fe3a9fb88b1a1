"""What people said is wrong with answers, the newest first."""

from __future__ import annotations

from core.conversation import value
from core.storage.database import Database

LIMIT = 5_000  # answers, those rated down last


@value
class Remark:
    """One person's reason for rating an answer down."""

    author: str
    given_at: float  #: seconds since the epoch
    fault: str  #: empty: not said
    words: str  #: a line about it; empty: none, or not kept any more


@value
class RatedDown:
    """An answer that somebody rated down."""

    turn: str
    remarks: tuple[Remark, ...]  #: the newest first

    @property
    def given_at(self) -> float:
        return self.remarks[0].given_at


def rated_down(database: Database, limit: int = LIMIT) -> tuple[RatedDown, ...]:
    """Of the store of the log. Blocks."""
    remarks: dict[str, list[Remark]] = {}
    for turn, author, at, fault, words in database.rows(
        "SELECT turn, author, given_at, fault, remark FROM ratings WHERE is_positive = 0"
        " ORDER BY given_at DESC, turn, author LIMIT ?",
        (limit,),
    ):
        remarks.setdefault(turn, []).append(Remark(author=author, given_at=at, fault=fault, words=words))
    return tuple(RatedDown(turn=turn, remarks=tuple(own)) for turn, own in remarks.items())
