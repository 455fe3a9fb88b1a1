"""Who asked and how answers were rated in a span of time."""

from __future__ import annotations

from core.conversation import value
from core.storage.database import Database


@value
class Activity:
    askers: int  #: different people
    up: int  #: ratings
    down: int


def activity(database: Database, since: float, until: float) -> Activity:
    """From ``since`` to before ``until``, in seconds since the epoch."""
    ((askers,),) = database.rows(
        "SELECT count(DISTINCT author) FROM questions"
        " WHERE asked_at >= ? AND asked_at < ? AND kind = 'question' AND author <> ''",
        (since, until),
    )
    ((up, rated),) = database.rows(
        "SELECT coalesce(sum(is_positive), 0), count(*) FROM ratings WHERE given_at >= ? AND given_at < ?",
        (since, until),
    )
    return Activity(askers=int(askers), up=int(up), down=int(rated) - int(up))
