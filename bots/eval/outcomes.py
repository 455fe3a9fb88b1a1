"""The sections of the report: how the questions ended, the confidence, the worst cases, the costs, and what has changed
since the last run of the same questions, which is kept in the data folder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bots.chat.texts import clipped, counted, text_of
from bots.eval.questions import BAD, GOOD, EvalQuestion, Judgement
from bots.eval.report import (
    Cell,
    Prediction,
    Section,
    Table,
    bins,
    bootstrap,
    brier,
    percentile,
    shown,
    sign_test,
    with_interval,
)
from core.conversation import Outcome, value
from core.errors import FootnoteError
from core.reasoning.limits import Price

WORST_SHOWN = 25  # cases; report.json has all
TEXT_SHOWN = 280  # characters of the answer in one of them


def answers(judgements: Sequence[Judgement], note: str = "") -> Section:
    """How the questions ended: by kind, and in shares."""
    hits: dict[str, list[bool]] = {name: [] for name in _SHARES}
    for name, found in (hit for judgement in judgements for hit in _hits(judgement)):
        hits[name] += found
    shares = [(name, label, hits[name]) for name, label in _SHARES.items() if hits[name]]
    unchecked = sum(each is None for judgement in judgements for each in judgement.verbatim)
    return Section(
        name="answers",
        title="Answers",
        what=(
            "Every question went through the real assistant as `footnote ask --batch` does; right means answered "
            "from an acceptable file with the expected words, or held back where the documents give no answer."
        ),
        tables=(
            _by_kind(judgements),
            Table(
                title="Shares, with 95% intervals",
                columns=("of", "number", "share"),
                rows=tuple((label, len(own), with_interval(sum(own), len(own))) for _, label, own in shares),
                note=f"{counted(unchecked, 'quote')} of web pages could not be checked against a file."
                if unchecked
                else "",
            ),
        ),
        figures={name: fmean(own) for name, _, own in shares},
        note=note,
    )  # fmt: skip


#: The label of each share, by its figure.
_SHARES: Mapping[str, str] = {
    "right": "answerable: answered right",
    "right_file": "answerable: with a footnote in an acceptable file",
    "right_file_of_answered": "answerable and answered: with such a footnote",
    "wrongly_held_back": "answerable: held back",
    "held_back": "unanswerable: held back",
    "falsely_answered": "unanswerable: answered all the same",
    "words_found": "expected words: found",
    "gold_quoted": "gold sentences: one of them quoted",
    "verbatim": "quotes: word for word in their file",
}


def _hits(judgement: Judgement) -> Iterator[tuple[str, Sequence[bool]]]:
    """One question's share of each figure."""
    yield "words_found", judgement.words_found
    yield "verbatim", [hit for hit in judgement.verbatim if hit is not None]
    if judgement.gold_quoted is not None:
        yield "gold_quoted", [judgement.gold_quoted]
    if judgement.question.answerable:
        yield "right", [judgement.verdict == "right"]
        yield "wrongly_held_back", [judgement.verdict == "held back"]
        if judgement.right_source is not None:
            yield "right_file", [judgement.right_source]
            yield "right_file_of_answered", [judgement.right_source] if judgement.is_answered else []
    elif judgement.question.answerable is False:
        yield "held_back", [judgement.verdict == "rightly held back"]
        yield "falsely_answered", [judgement.verdict == "falsely answered"]


def kind_of(question: EvalQuestion) -> str:
    """The kind that the file gives, else whether the documents answer it."""
    labels = {None: "not judged", True: "answerable", False: "unanswerable"}
    return question.kind or labels[question.answerable]


def _by_kind(judgements: Sequence[Judgement]) -> Table:
    groups: dict[str, list[Judgement]] = {}
    for each in judgements:
        groups.setdefault(kind_of(each.question), []).append(each)
    if len(groups) > 1:
        groups["all"] = list(judgements)
    rows: list[tuple[Cell, ...]] = []
    for name, group in groups.items():
        kinds = [each.outcome.kind for each in group]
        answered, failed = kinds.count("answered"), kinds.count("failed")
        # The share that is right, of those that can be judged.
        good = [each.verdict in GOOD for each in group if each.question.answerable is not None]
        held_back, share = len(group) - answered - failed, with_interval(sum(good), len(good))
        rows.append((name, len(group), answered, held_back, failed, share))
    columns = ("kind", "questions", "answered", "held back", "failed", "right, 95% interval")
    return Table(title="By kind", columns=columns, rows=tuple(rows))


def confidence(judgements: Sequence[Judgement]) -> Section | None:
    """The confidence beside what the file says; None where all questions are answerable, or none."""
    predictions = [
        (each.outcome.confidence, each.question.answerable)
        for each in judgements
        if each.question.answerable is not None and each.outcome.kind != "failed"
    ]
    answerable = sum(came_true for _, came_true in predictions)
    if answerable in (0, len(predictions)):
        return None
    return Section(
        name="confidence",
        title="Confidence",
        what=(
            "How sure the library is, before it answers, that the documents answer the question, "
            "beside whether they do."
        ),
        tables=(_brier_table(predictions, answerable / len(predictions)), _reliability(predictions)),
        figures={"brier": brier(predictions)},
    )


def _brier_table(predictions: Sequence[Prediction], base: float) -> Table:
    """``base``: the share of answerable questions."""
    low, high = bootstrap([(probability - came_true) ** 2 for probability, came_true in predictions])
    return Table(
        title="Brier score",
        columns=("of", "score", "95% interval"),
        rows=(
            ("the confidence", brier(predictions), f"{low:.3f} to {high:.3f}"),
            ("the share of answerable questions, each time", base * (1 - base), "–"),
        ),
        note="The mean squared error of a probability: 0 is best.",
    )


def _reliability(predictions: Sequence[Prediction]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for first, last, those in bins(predictions):
        probabilities, came_true = zip(*those, strict=True)
        share = with_interval(sum(came_true), len(those))
        rows.append((f"{first:.1f} to {last:.1f}", len(those), fmean(probabilities), share))
    columns = ("confidence", "questions", "on average", "were answerable")
    return Table(title="Reliability", columns=columns, rows=tuple(rows))


def worst_cases(judgements: Sequence[Judgement]) -> Section:
    """The cases to read first, with their answers."""
    bad = sorted(
        (each for each in judgements if each.is_bad),
        key=lambda each: (BAD.index(each.verdict), -each.outcome.confidence),
    )
    table = Table(
        title=f"The first {WORST_SHOWN}" if len(bad) > WORST_SHOWN else "All of them",
        columns=("id", "question", "verdict", "confidence", "answer", "footnotes"),
        rows=tuple(map(_case, bad[:WORST_SHOWN])),
    )
    return Section(
        name="worst",
        title="Worst cases",
        what=f"{len(bad)} of {len(judgements)} questions ended badly; false answers first, the most confident of them on top.",
        tables=(table,) if bad else (),
    )


def _case(judgement: Judgement) -> tuple[Cell, ...]:
    outcome = judgement.outcome
    citations = outcome.answer.citations if outcome.answer else outcome.closest
    return (
        judgement.question.id,
        judgement.question.question,
        judgement.verdict,
        round(outcome.confidence, 3),
        clipped(outcome.answer.text if outcome.answer else text_of(outcome), TEXT_SHOWN),
        ", ".join(dict.fromkeys(citation.source for citation in citations)) or "none",
    )


def costs(outcomes: Sequence[Outcome], price: Price | None, concurrency: int) -> Section:
    """Time, calls of the model, tokens and money."""
    times = [each.timing_ms["total"] for each in outcomes if "total" in each.timing_ms] or [math.nan]
    figures = {"median_ms": median(times), "p95_ms": percentile(times, 0.95)}
    is_model_used = any(each.usage.calls for each in outcomes)
    usage = [each.usage for each in outcomes]
    cost = sum(price.cost(each.input_tokens, each.output_tokens) for each in usage) if price else None
    if cost is not None:
        figures["cost"] = cost
    tables = [_latency(times, note="" if is_model_used else "No model was called.")]
    if is_model_used:
        figures |= {name: sum(counts) for name, (_, counts) in _usage(outcomes).items()}
        tables.append(_model(outcomes, cost))
    how = "one at a time" if concurrency == 1 else f"up to {concurrency} at a time"
    return Section(
        name="costs", title="Time and cost", what=f"From the question to its outcome, asked {how}.",
        tables=tuple(tables), figures=figures,
    )  # fmt: skip


def _usage(outcomes: Sequence[Outcome]) -> dict[str, tuple[str, list[int]]]:
    """By figure, its label and the numbers of the outcomes."""
    usage = [each.usage for each in outcomes]
    return {
        "model_calls": ("model calls", [each.calls for each in usage]),
        "round_trips": ("round trips, one after the other", [each.round_trips for each in usage]),
        "input_tokens": ("tokens read", [each.input_tokens for each in usage]),
        "output_tokens": ("tokens written", [each.output_tokens for each in usage]),
    }


def _latency(times: Sequence[float], note: str) -> Table:
    low, high = bootstrap(times, median)
    return Table(
        title="Latency",
        columns=("of", "ms", "95% interval"),
        rows=(
            ("median", median(times), f"{low:,.0f} to {high:,.0f}"),
            ("95th percentile", percentile(times, 0.95), "–"),
        ),
        note=note,
    )


def _model(outcomes: Sequence[Outcome], cost: float | None) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (label, sum(counts), fmean(counts), max(counts)) for label, counts in _usage(outcomes).values()
    ]
    if cost is not None:
        rows.append(("cost, at the prices given", cost, cost / len(outcomes), "–"))
    return Table(
        title="The model",
        columns=("of", "in all", "a question", "at most"),
        rows=tuple(rows),
        note=f"Written by {', '.join(sorted({each.usage.name for each in outcomes}))}.",
    )


# The last run

FOLDER = "eval"  # in DATA_DIR
NAME_LENGTH = 12  # hexadecimal digits of the hash of the question file's path


@value
class EvalRun:
    """The stored results of a run."""

    made: str  #: ISO 8601
    conditions: Mapping[str, str]
    figures: Mapping[str, float]
    verdicts: Mapping[str, str]  #: by the id of the question

    @classmethod
    def of(
        cls, judgements: Sequence[Judgement], sections: Sequence[Section], made: str, conditions: Mapping[str, str]
    ) -> EvalRun:  # fmt: skip
        figures = {name: figure for section in sections for name, figure in section.figures.items()}
        verdicts = {each.question.id: each.verdict for each in judgements}
        return cls(made=made, conditions=conditions, figures=figures, verdicts=verdicts)


def file_for(data_dir: Path, questions: Path) -> Path:
    """Where the last run of a question file is stored, by the path of that file."""
    path = str(questions.resolve()).encode("utf-8", "surrogateescape")
    return data_dir / FOLDER / f"{sha256(path).hexdigest()[:NAME_LENGTH]}.json"


def load(file: Path) -> EvalRun | None:
    """The last run; None if there was none or its file is damaged."""
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return EvalRun(**content)
    except (OSError, ValueError, TypeError):
        return None


def save(run: EvalRun, file: Path) -> None:
    """Replace the last run; FootnoteError if it cannot be written."""
    unfinished = file.with_suffix(".new")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished.touch(mode=0o600)  # it holds questions and answers
        unfinished.write_text(json.dumps(asdict(run)), encoding="utf-8")
        unfinished.replace(file)
    except OSError as fault:
        why = (fault.strerror or "the disk refused").lower()
        raise FootnoteError(f"{file} cannot be written: {why}.") from fault


def changes(before: EvalRun, now: EvalRun, texts: Mapping[str, str]) -> Section:
    """The changes since the last run; ``texts``: question by id."""
    both = [name for name in now.verdicts if name in before.verdicts]
    steps = {name: _badness(now.verdicts[name]) - _badness(before.verdicts[name]) for name in both}
    changed = [name for name in both if before.verdicts[name] != now.verdicts[name]]
    better = sum(steps[name] < 0 for name in changed)
    worse = sum(steps[name] > 0 for name in changed)
    questions = Table(
        title="Questions that ended differently, losses first",
        columns=("id", "question", "before", "now"),
        rows=tuple(
            (name, texts[name], before.verdicts[name], now.verdicts[name])
            for name in sorted(changed, key=lambda name: -steps[name])
        ),
    )
    figures = Table(
        title="Figures",
        columns=("figure", "before", "now", "change"),
        rows=tuple(
            (name, before.figures[name], figure, arrow(before.figures[name], figure))
            for name, figure in now.figures.items()
            if name in before.figures
        ),
    )
    conditions = Table(
        title="Conditions",
        columns=("of", "before", "now"),
        rows=tuple(
            (name, before.conditions.get(name, "–"), content)
            for name, content in now.conditions.items()
            if before.conditions.get(name) != content
        ),
    )
    return Section(
        name="changes",
        title="Since the last run",
        what=f"Compared with the run of {before.made}: {_summary(len(both), len(changed), better, worse)}",
        tables=tuple(table for table in (questions, figures, conditions) if table.rows),
        figures={"better": float(better), "worse": float(worse)},
    )


def _badness(verdict: str) -> int:
    """False answers are worst; a verdict that is not in BAD counts 0."""
    return len(BAD) - BAD.index(verdict) if verdict in BAD else 0


def _summary(both: int, changed: int, better: int, worse: int) -> str:
    if not changed:
        return f"none of {both} questions ended differently."
    chance = sign_test(better, worse) if better + worse else 1.0
    return (
        f"{changed} of {both} questions ended differently, {better} better and {worse} worse "
        f"(p = {chance:.2f} for a split at least this uneven by chance)."
    )


def arrow(before: float, now: float) -> str:
    """ "↑ 0.050"; "=" if both are shown alike."""
    if shown(before) == shown(now):
        return "="
    return f"{'↑' if now > before else '↓'} {shown(abs(now - before))}"
