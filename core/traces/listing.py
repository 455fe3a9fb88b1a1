"""Questions of the log as an operator lists them: newest first, with the names of people and places and the ratings."""

from __future__ import annotations

from typing import get_args

from core.conversation import OutcomeKind, value
from core.storage.database import Database
from core.traces.log import COLUMNS, LoggedQuestion, logged

OUTCOMES: tuple[str, ...] = get_args(OutcomeKind)

_LISTED = f"""
SELECT {", ".join(f"q.{name}" for name in COLUMNS)}, coalesce(person.name, ''), coalesce(place.name, ''),
    (SELECT count(*) FROM ratings WHERE ratings.turn = q.turn AND is_positive = 1),
    (SELECT count(*) FROM ratings WHERE ratings.turn = q.turn AND is_positive = 0)
FROM questions AS q
LEFT JOIN shown_names AS person ON person.kind = 'person' AND person.id = q.author
LEFT JOIN shown_names AS place ON place.kind = 'channel' AND place.id = q.channel
WHERE q.asked_at >= ? AND (? = '' OR q.outcome = ?)
ORDER BY q.asked_at DESC, q.turn
"""


@value
class Listed:
    """A turn as it is listed."""

    question: LoggedQuestion
    author_name: str  #: empty: unknown
    channel_name: str  #: empty: unknown
    up: int  #: people who found it helpful
    down: int


def listed(database: Database, since: float, outcome: str = "") -> tuple[Listed, ...]:
    """From this moment on, in seconds since the epoch; with an outcome, only those that ended so."""
    rows = database.rows(_LISTED, (since, outcome, outcome))
    return tuple(
        Listed(question=logged(row[:-4]), author_name=row[-4], channel_name=row[-3], up=row[-2], down=row[-1])
        for row in rows
    )
