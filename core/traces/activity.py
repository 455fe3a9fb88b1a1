"""Who asked and how answers were rated, in a span of time and in the one before."""

from __future__ import annotations

from collections import Counter

from core.conversation import value
from core.storage.database import Database

_ASKED = (
    "EXISTS (SELECT 1 FROM questions q WHERE q.author = people.author AND q.asked_at >= ? AND q.asked_at < ?"
    " AND q.kind = 'question')"
)
#: DISTINCT would read every question of both spans. This goes from one person to the next in the index, a "loose index
#: scan" (wiki.postgresql.org), and asks for each whether there is a question.
_ASKERS = f"""
WITH RECURSIVE people(author) AS (
    SELECT min(author) FROM questions WHERE author > ''
    UNION ALL
    SELECT (SELECT min(author) FROM questions WHERE author > people.author) FROM people WHERE author IS NOT NULL
)
SELECT sum(CASE WHEN {_ASKED} THEN 1 ELSE 0 END), sum(CASE WHEN {_ASKED} THEN 1 ELSE 0 END)
FROM people WHERE author IS NOT NULL
"""


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
    ((askers_before, askers),) = database.rows(_ASKERS, (began, turned, turned, ends))
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
    return (
        Activity(askers=int(askers_before or 0), up=ratings[False, True], down=ratings[False, False]),
        Activity(askers=int(askers or 0), up=ratings[True, True], down=ratings[True, False]),
    )
