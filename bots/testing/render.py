"""The output of `footnote test` in a terminal or a log: failures and changes, quote beside quote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bots.chat.texts import counted
from bots.terminal.screen import line
from bots.testing.judging import GOOD, Judgement, Quotes, Verdict
from bots.testing.last_run import Changes, Ended
from bots.testing.report import Section, shown
from bots.testing.sections import quoted, said

CHANGED_SHOWN = 10  # questions that hold and are answered otherwise; the report has all
MARKS: Mapping[Verdict, tuple[str, str]] = {
    "fails": ("✗", "red"),
    "failed": ("✗", "red"),
    "flaky": ("~", "yellow"),
}
LABELS: Mapping[Verdict, str] = {
    "holds": "hold", "fails": "fail", "flaky": "flaky", "failed": "could not be answered", "asked": "only asked",
}  # fmt: skip
ALIKE_SHOWN = 40  # characters before two quotes differ
QUOTES_SHOWN = 2  # of an answer


def heading(name: str, conditions: Mapping[str, str]) -> RenderableType:
    """ "footnote-test.yaml · 154 documents · no model: quotes"."""
    shown = " · ".join(conditions[key] for key in ("documents", "writes", "vectors"))
    return Text.assemble("\n", (name, "bold"), (f" · {shown}", "dim"))


def layouts(name: str, judgements: Sequence[Judgement], changes: Changes | None) -> Iterator[RenderableType]:
    """One file's results, compared with its last run."""
    good = sum(each.verdict in GOOD for each in judgements)
    if good:
        yield Text(f"✓ {counted(good, 'question')} as expected", style="green")
    before = changes.before.ended if changes else {}
    for each in judgements:
        if each.verdict not in GOOD:
            yield _card(each, before.get(each.case.id), f"{name}:{each.case.line}")
    if changes is None:
        return
    of = {each.case.id: each for each in judgements}
    otherwise = [name for name in changes.otherwise if of[name].verdict in GOOD]
    if otherwise:
        yield Text(f"\n≠ {counted(len(otherwise), 'question')} as expected, answered otherwise", style="cyan")
        yield Group(*(_differing(of[name], before[name]) for name in otherwise[:CHANGED_SHOWN]))
    if len(otherwise) > CHANGED_SHOWN:
        yield Text(f"  and {len(otherwise) - CHANGED_SHOWN:,} more: --report DIR has all", style="dim")
    yield Text(f"\nSince the run of {changes.before.made}: {changes}.")


def summary(judgements: Iterable[Judgement], answers: Section) -> RenderableType:
    """ "200 questions: 194 hold, 5 fail, 1 flaky." and the shares."""
    verdicts = [each.verdict for each in judgements]
    counts = ", ".join(f"{verdicts.count(one):,} {label}" for one, label in LABELS.items() if one in verdicts)
    shares = (f"{label} {share} of {number:,}" for label, number, share in answers.tables[1].rows)
    return Group(
        Text(f"\n{counted(len(verdicts), 'question')}: {counts}."),
        *(Text(each, style="dim") for each in shares),
    )


def costs(section: Section) -> str:
    """ "62.0 ms a question in the median, 180 ms at the 95th percentile, 12 calls of models"."""
    return ", ".join(f"{shown(number)} {label}" for label, number in section.tables[0].rows)


def _card(judgement: Judgement, before: Ended | None, location: str) -> RenderableType:
    """A question that does not hold."""
    mark, style = MARKS[judgement.verdict]
    case = judgement.case
    news = "" if before is None or not before.is_good else "  broke since the last run"
    runs = f"  held in {judgement.held} of {judgement.runs} runs" if judgement.verdict == "flaky" else ""
    title = Text.assemble("\n", (f"{mark} {line(case.question)}", style), (f"{runs}{news}", "dim"))
    rows = [("expected", "; ".join(judgement.broken))]
    now = ("answered" if judgement.outcome.answer else "not answered", said(judgement))
    if before is not None and before.quotes != judgement.quotes and before.quotes:
        rows.append(("was", _shown(before.quotes)))
    rows.append(now)
    if judgement.outcome.answer is None and judgement.quotes:
        rows.append(("closest", _shown(judgement.quotes)))
    own_id = f"{case.id}, " if not case.id.endswith(case.question) else ""
    return Group(title, _grid((*rows, ("where", f"{own_id}{location}"))))


def _differing(judgement: Judgement, before: Ended) -> RenderableType:
    """The quotes of only one of two runs; two that begin alike are cut to where they differ."""
    now = judgement.quotes
    was, now = (
        tuple(q for q in own if q not in other) for own, other in ((before.quotes, now), (now, before.quotes))
    )
    pairs = enumerate(zip(was[0][0], now[0][0], strict=False)) if was and now else ()
    alike = next((number for number, (one, other) in pairs if one != other), 0) - ALIKE_SHOWN
    if alike > 0:
        was, now = (((f"…{own[0][0][alike:]}", own[0][1]), *own[1:]) for own in (was, now))
    rows = (("was", _shown(was)), ("now", _shown(now)))
    return Group(Text(f"  {line(judgement.case.question)}"), _grid(rows))


def _grid(rows: Iterable[tuple[str, str]]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, content in rows:
        grid.add_row(Text(name), Text("\n".join(map(line, content.split("\n")))))
    return Padding(grid, (0, 0, 0, 4))


def _shown(quotes: Quotes) -> str:
    return quoted(quotes[:QUOTES_SHOWN])
