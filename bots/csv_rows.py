"""Questions and gaps as comma-separated values (RFC 4180), for spreadsheets and scripts.

A spreadsheet carries out a cell that begins like a formula, and what people asked may begin so. Such a text gets
an apostrophe before it, which spreadsheets read as "this is text" (OWASP, "CSV Injection"). Numbers stay numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TextIO

from bots.terminal.markdown import plain
from core.gaps.groups import GapGroup
from core.gaps.questions import GapQuestion
from core.traces.search import FoundQuestion

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
QUESTION_COLUMNS = (
    "time", "kind", "outcome", "sure", "grounding", "confidence", "channel", "channel_name", "author", "author_name",
    "language", "question", "seconds", "model", "calls", "round_trips", "input_tokens", "output_tokens", "cost",
    "up", "down", "turn", "about",
)  # fmt: skip
GAP_COLUMNS = (
    "group", "name", "words", "count", "people", "before", "state", "since_state", "time", "reason", "channel",
    "author", "language", "question", "missing", "closest", "turn",
)  # fmt: skip


def write_questions(stream: TextIO, turns: Iterable[FoundQuestion]) -> None:
    write_csv(stream, QUESTION_COLUMNS, map(_question_row, turns))


def write_gaps(stream: TextIO, groups: Iterable[GapGroup]) -> None:
    """A row for each question of each group."""
    write_csv(stream, GAP_COLUMNS, (_gap_row(group, each) for group in groups for each in group.questions))


def write_csv(stream: TextIO, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([cell(each) for each in row] for row in rows)


def cell(content: object) -> object:
    """A number as it is, nothing for None, and a text that no spreadsheet carries out or reorders."""
    if not isinstance(content, str):
        return "" if content is None else content
    text = plain(content)
    return f"'{text}" if text.lstrip().startswith(FORMULA) or text.startswith(FORMULA) else text


def _question_row(turn: FoundQuestion) -> tuple[object, ...]:
    """In the order of QUESTION_COLUMNS."""
    asked = turn.question
    return (
        _moment(asked.asked_at), asked.kind, asked.outcome, int(asked.is_sure), asked.grounding, asked.confidence,
        asked.channel, turn.channel_name, asked.author, turn.author_name, asked.language, asked.question, asked.seconds, asked.model,
        asked.calls, asked.round_trips, asked.input_tokens, asked.output_tokens, asked.cost, turn.up, turn.down,
        asked.turn, asked.about,
    )  # fmt: skip


def _gap_row(group: GapGroup, asked: GapQuestion) -> tuple[object, ...]:
    """A question of a group, in the order of GAP_COLUMNS."""
    return (
        group.id, group.name, ", ".join(group.words), group.count, group.people, group.before, group.state or "",
        group.since_state, _moment(asked.asked_at), asked.reason, asked.channel, asked.author, asked.language,
        asked.asked, asked.missing or asked.fault, "; ".join(each.source for each in asked.closest), asked.turn,
    )  # fmt: skip


def _moment(seconds: float) -> str:
    """UTC, as ISO 8601 has it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
