"""Who asked and how answers were rated, in a span of time and in the one before."""

from __future__ import annotations

from collections import Counter

from core.conversation import value
from core.storage.database import Database


@value
class Activity:
    askers: int  #: different people
    up: int  #: ratings
    down: int

    @property
    def helpful(self) -> float | None:
        """Per cent of the ratings; None where nobody rated."""
        rated = self.up + self.down
        return 100 * self.up / rated if rated else None


def activities(database: Database, began: float, turned: float, ends: float) -> tuple[Activity, Activity]:
    """From ``began`` to before ``turned``, and from then to before ``ends``, in seconds since the epoch."""
    askers = Counter(
        bool(is_later)
        for _, is_later in database.rows(
            "SELECT DISTINCT author, asked_at >= ? FROM questions"
            " WHERE asked_at >= ? AND asked_at < ? AND kind = 'question' AND author <> ''",
            (turned, began, ends),
        )
    )
    ratings = Counter(
        {
            (bool(is_later), bool(is_positive)): int(number)
            for is_later, is_positive, number in database.rows(
                "SELECT given_at >= ?, is_positive, count(*) FROM ratings"
                " WHERE given_at >= ? AND given_at < ? GROUP BY 1, 2",
                (turned, began, ends),
            )
        }
    )
    before, now = (
        Activity(askers=askers[later], up=ratings[later, True], down=ratings[later, False])
        for later in (False, True)
    )
    return before, now
