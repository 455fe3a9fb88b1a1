"""Turns, questions and gaps for operators: in words, as JSON, and as comma-separated values (RFC 4180).

A spreadsheet carries out a cell that begins like a formula, and what people asked may begin so. Such a text gets
an apostrophe before it, which spreadsheets read as "this is text" (OWASP, "CSV Injection"). Numbers stay numbers.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TextIO

from bots.chat.texts import counted, reason_of, text_of
from bots.terminal.screen import plain
from core.conversation import Citation, Outcome, Proposal
from core.gaps.groups import GapGroup, GapReport
from core.gaps.questions import GROUPED_QUESTIONS, GapQuestion
from core.traces.figures import HALF, UNSURE, LoggedQuestion
from core.traces.search import FoundQuestion

#: What is shown of each value, in this order.
_CITATION = ("number", "title", "location", "source", "url", "quote", "start", "end")
_PROPOSAL = ("id", "query", "reason", "tried")
_MODEL = ("name", "calls", "round_trips", "input_tokens", "output_tokens")
_PASSAGE = ("source", "location", "score", "start", "end")


def record_of(outcome: Outcome, *, thread: str | None, engine: str, passages: bool = False) -> dict[str, Any]:
    """The JSON record of an outcome, in the key order that scripts rely on; ``passages`` adds retrieved ones."""
    answer, usage = outcome.answer, outcome.usage
    costs = {} if usage.cost is None else {"cost": usage.cost, "currency": usage.currency}
    record: dict[str, Any] = {
        "outcome": outcome.kind,
        "text": text_of(outcome, engine=engine),
        "grounding": answer.grounding if answer else "none",
        "citations": [_citation(each) for each in answer.citations] if answer else [],
        "proposal": _proposal(outcome.proposal) if outcome.proposal else None,
        "closest": [] if answer else [_citation(each) for each in outcome.closest],
        "reason": reason_of(outcome),
        "thread": thread,
        "turn": outcome.turn_id or None,
        "confidence": outcome.confidence,
        "steps": list(outcome.steps),
        "model": _fields(usage, _MODEL) | costs,
        "timing_ms": dict(outcome.timing_ms),
        "left_out": [_fields(each, ("text", "reason")) for each in answer.left_out] if answer else [],
        "missing": answer.missing if answer else "",
        "sure": answer.is_sure if answer else None,
    }
    if answer and answer.unsettled:
        record["unsettled"] = list(answer.unsettled)
    if passages:
        record["passages"] = [_fields(each, _PASSAGE) for each in outcome.ranked]
    return record


def failed(reason: str) -> Outcome:
    """A turn that never began, because its input is not valid."""
    return Outcome(kind="failed", turn_id="", reason=reason)


def _fields(of: object, names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields with lists in place of tuples, as JSON has them."""
    contents = ((name, getattr(of, name)) for name in names)
    return {name: list(content) if isinstance(content, tuple) else content for name, content in contents}


def _citation(citation: Citation) -> dict[str, Any]:
    moments = {"changed_at": iso(citation.changed_at), "unseen_since": iso(citation.unseen_since)}
    return _fields(citation, _CITATION) | moments


def iso(seconds: float | None) -> str | None:
    """ "2026-03-12T09:00:00Z" of seconds since the epoch."""
    written = moment(seconds)
    return written and written.replace("+00:00", "Z")


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
    """A CSV cell: a number, nothing for None, or a text that no spreadsheet runs as a formula."""
    if not isinstance(content, str):
        return "" if content is None else content
    text = plain(content)
    return f"'{text}" if text.lstrip().startswith(FORMULA) or text.startswith(FORMULA) else text


def _question_row(turn: FoundQuestion) -> tuple[object, ...]:
    """The row of a question, in the order of QUESTION_COLUMNS."""
    asked = turn.question
    return (
        moment(asked.asked_at), asked.kind, asked.outcome, int(asked.is_sure), asked.grounding, asked.confidence,
        asked.channel, turn.channel_name, asked.author, turn.author_name, asked.language, asked.question, asked.seconds, asked.model,
        asked.calls, asked.round_trips, asked.input_tokens, asked.output_tokens, asked.cost, turn.up, turn.down,
        asked.turn, asked.about,
    )  # fmt: skip


def _gap_row(group: GapGroup, asked: GapQuestion) -> tuple[object, ...]:
    """A question of a group, in the order of GAP_COLUMNS."""
    return (
        group.id, group.name, ", ".join(group.words), group.count, group.people, group.before, group.state or "",
        group.since_state, moment(asked.asked_at), asked.reason, asked.channel, asked.author, asked.language,
        asked.asked, asked.missing or asked.fault, "; ".join(each.source for each in asked.closest), asked.turn,
    )  # fmt: skip


def moment(seconds: float | None) -> str | None:
    """The time in UTC as ISO 8601."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


#: By :attr:`LoggedQuestion.ending`, in the order of tables and plots.
ENDINGS: Mapping[str, str] = {
    "answered": "answered",
    HALF: "half answered",
    UNSURE: "answered, unsure",
    "approval_needed": "search proposed",
    "no_answer": "not answered",
    "clarify": "asked back",
    "failed": "failed",
}
#: Why a question is a gap.
REASONS: dict[str, str] = {
    "unanswered": "not answered",
    "denied": "search denied",
    "undecided": "search not decided",
    "unsure": "unsure",
    "rated_down": "rated down",
}
#: What people say is wrong with an answer, as the buttons are called.
FAULTS: dict[str, str] = {
    "wrong": "it is wrong",
    "outdated": "it is outdated",
    "incomplete": "it is incomplete",
    "unrelated": "it is not what was asked",
}


def missing_in(group: GapGroup) -> str:
    """The faults that judges and people found: "no date; it is incomplete"."""
    return "; ".join(FAULTS.get(each, each) for each in group.missing)


def ended(question: LoggedQuestion) -> str:
    return ENDINGS.get(question.ending, question.ending)


def people_of(group: GapGroup) -> str:
    return "1 person" if group.people == 1 else f"{group.people:,} people"


def trend_of(group: GapGroup) -> str:
    """The change since the span before: "new", "3 more than before"."""
    if not group.before:
        return "new"
    more = group.count - group.before
    if not more:
        return "as many as before"
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'} than before"


def reasons_of(group: GapGroup) -> str:
    """ "3 not answered, 1 rated down"."""
    return ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in group.reasons.items())


def left_out(report: GapReport) -> tuple[str, ...]:
    """The questions that no group has, as sentences."""
    sentences = []
    if report.closed:
        sentences.append(f"{counted(report.closed, 'more question')} in channels that may not be read here.")
    if report.wordless:
        sentences.append(
            f"{counted(report.wordless, 'more question')} whose words are not kept any more (TRACE_DAYS)."
        )
    if report.is_cut:
        sentences.append(f"Only the newest {GROUPED_QUESTIONS:,} questions were grouped.")
    return tuple(sentences)


def _proposal(proposal: Proposal) -> dict[str, Any]:
    until = {"expires_at": iso(proposal.expires_at)} if proposal.expires_at else {}
    return _fields(proposal, _PROPOSAL) | until
