"""The last run of the same questions, kept in the data folder, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from bots.eval.judging import BAD, Judgement
from bots.eval.report import Section, Table, shown, sign_test
from core.conversation import value
from core.errors import FootnoteError

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
        cls,
        judgements: Sequence[Judgement],
        sections: Sequence[Section],
        made: str,
        conditions: Mapping[str, str],
    ) -> EvalRun:
        return cls(
            made=made,
            conditions=conditions,
            figures={name: figure for section in sections for name, figure in section.figures.items()},
            verdicts={each.question.id: each.verdict for each in judgements},
        )


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
        raise FootnoteError(
            f"{file} cannot be written: {(fault.strerror or 'the disk refused').lower()}."
        ) from fault


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
