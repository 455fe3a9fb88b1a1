"""The last run of the same questions, kept beside the index, and what is different now."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from bots.eval.answers import BAD, Judged
from bots.eval.intervals import sign_test
from bots.eval.sections import Section, Table, shown
from core.conversation import value
from core.errors import FootnoteError

FOLDER = "eval"  # in DATA_DIR
NAME_LENGTH = 12  # hexadecimal digits of the question file's path


@value
class Run:
    """What is remembered of a run."""

    made: str  #: ISO 8601
    conditions: Mapping[str, str]
    figures: Mapping[str, float]
    verdicts: Mapping[str, str]  #: by the id of the question


def run_of(
    judged: Sequence[Judged], sections: Sequence[Section], made: str, conditions: Mapping[str, str]
) -> Run:
    return Run(
        made=made,
        conditions=conditions,
        figures={name: figure for section in sections for name, figure in section.figures.items()},
        verdicts={each.expected.id: each.verdict for each in judged},
    )


def place_of(data_dir: Path, questions: Path) -> Path:
    """Where the last run of a question file is kept; the file is known by its path, whatever it holds now."""
    known_by = sha256(str(questions.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:NAME_LENGTH]
    return data_dir / FOLDER / f"{known_by}.json"


def recall(place: Path) -> Run | None:
    """The last run; None where there was none, or what is kept of it is damaged."""
    try:
        kept: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        return Run(**{name: kept[name] for name in ("made", "conditions", "figures", "verdicts")})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(run: Run, place: Path) -> None:
    """In place of the last one; FootnoteError when the disk refuses."""
    content = {"made": run.made, "conditions": dict(run.conditions), "figures": dict(run.figures), "verdicts": dict(run.verdicts)}  # fmt: skip
    unfinished = place.with_suffix(".new")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(content), encoding="utf-8")
        unfinished.replace(place)
    except OSError as fault:
        raise FootnoteError(
            f"{place} cannot be written: {(fault.strerror or 'the disk refused').lower()}."
        ) from fault


def changes(before: Run, now: Run, texts: Mapping[str, str]) -> Section:
    """What is different since the last run; ``texts`` are the questions by their ids."""
    both = [name for name in now.verdicts if name in before.verdicts]
    changed = [name for name in both if before.verdicts[name] != now.verdicts[name]]
    better = sum(_rank(now.verdicts[name]) < _rank(before.verdicts[name]) for name in changed)
    worse = sum(_rank(now.verdicts[name]) > _rank(before.verdicts[name]) for name in changed)
    return Section(
        name="changes",
        title="Since the last run",
        what=f"Against the run of {before.made}: {_told(both, changed, better, worse)}",
        tables=(
            *_questions_changed(before, now, changed, texts),
            Table(
                title="Figures",
                columns=("figure", "before", "now", "change"),
                rows=tuple(
                    (name, before.figures[name], figure, arrow(before.figures[name], figure))
                    for name, figure in now.figures.items()
                    if name in before.figures
                ),
            ),
            *_conditions_changed(before, now),
        ),
        figures={"better": float(better), "worse": float(worse)},
    )


def _rank(verdict: str) -> int:
    """How bad a verdict is: false answers worst, what is not in the table of bad ones best."""
    return len(BAD) - BAD.index(verdict) if verdict in BAD else 0


def _told(both: Sequence[str], changed: Sequence[str], better: int, worse: int) -> str:
    if not changed:
        return f"none of {len(both)} questions ended differently."
    accident = sign_test(better, worse) if better + worse else 1.0
    return (
        f"{len(changed)} of {len(both)} questions ended differently, {better} better and {worse} worse "
        f"(a split as uneven by accident: p = {accident:.2f})."
    )


def _questions_changed(
    before: Run, now: Run, changed: Sequence[str], texts: Mapping[str, str]
) -> tuple[Table, ...]:
    if not changed:
        return ()
    ordered = sorted(changed, key=lambda name: _rank(before.verdicts[name]) - _rank(now.verdicts[name]))
    return (
        Table(
            title="Questions that ended differently, losses first",
            columns=("id", "question", "before", "now"),
            rows=tuple((name, texts[name], before.verdicts[name], now.verdicts[name]) for name in ordered),
        ),
    )


def arrow(before: float, now: float) -> str:
    """ "↑ 0.050"; "=" where nothing that is shown changed."""
    if shown(before) == shown(now):
        return "="
    return f"{'↑' if now > before else '↓'} {shown(abs(now - before))}"


def _conditions_changed(before: Run, now: Run) -> tuple[Table, ...]:
    names = [name for name in now.conditions if before.conditions.get(name) != now.conditions[name]]
    if not names:
        return ()
    rows = tuple((name, before.conditions.get(name, "–"), now.conditions[name]) for name in names)
    return (Table(title="What it was run with", columns=("of", "before", "now"), rows=rows),)
