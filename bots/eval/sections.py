"""What a measurement is given, and what it hands back: tables, plots and named figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, Protocol

from core.conversation import value
from core.errors import FootnoteError

Cell = str | float | int

WORDY = 80  # characters of a cell; longer ones are sentences


@value
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @property
    def is_wordy(self) -> bool:
        """Whether its cells hold sentences: on a small screen it is told row by row."""
        return any(isinstance(cell, str) and len(cell) > WORDY for row in self.rows for cell in row)


@value
class Plot:
    title: str
    kind: Literal["bars", "lines"]
    x: tuple[str, ...]  #: what is compared, or the points of the horizontal axis, evenly spaced
    series: Mapping[str, tuple[float, ...]]  #: one value for each ``x``; NaN where there is none
    unit: str = ""
    x_title: str = ""  #: what ``x`` counts, with its unit
    #: Lowest and highest plausible value of each point, for the series that have them.
    intervals: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)


@value
class Section:
    """One measurement."""

    name: str
    title: str
    what: str  #: one sentence: what is measured and how
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  #: for JSON, and to compare two runs by
    limits: str = ""  #: what limits each figure now


def require_whole(section: Section) -> Section:
    """The section; FootnoteError for a table or plot in which something stands for nothing."""
    for table in section.tables:
        if any(len(row) != len(table.columns) for row in table.rows):
            raise FootnoteError(f"its table “{table.title}” has rows that do not fit its columns.")
    for plot in section.plots:
        lengths = {len(values) for values in (*plot.series.values(), *plot.intervals.values())}
        if lengths != {len(plot.x)}:
            raise FootnoteError(f"its plot “{plot.title}” has series that do not fit its axis.")
    return section


@value
class Report:
    """Measurements that belong together."""

    title: str
    made: str  #: ISO 8601, with the offset from UTC
    conditions: Mapping[str, str] = field(default_factory=dict)  #: what was measured, with what
    sections: tuple[Section, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)  #: what could not be measured, and why
    records: tuple[Mapping[str, Any], ...] = ()  #: for JSON alone: one object for each question


@value
class Options:
    """What a benchmark is run with."""

    data: Path  #: folder of the evaluation sets
    model: str  #: folder with model.onnx and tokenizer.json, or "none"
    quick: bool  #: a small part: it shows that the measuring works, its figures say little
    say: Callable[[str], None]  #: progress


class Benchmark(Protocol):
    """A module of this package that measures one thing."""

    NAME: str
    TITLE: str

    def measure(self, options: Options) -> Section: ...


#: Digits behind the point, by the size that a number stays below.
DECIMALS = ((1, 3), (10, 2), (100, 1))


def shown(cell: Cell) -> str:
    """A cell as a person reads it: numbers to about three digits, thousands set apart; a dash for NaN."""
    if isinstance(cell, str):
        return cell
    if not math.isfinite(cell):
        return "–"
    if isinstance(cell, int):
        return f"{cell:,}"
    if 0 < abs(cell) < 0.001:
        return f"{cell:.2g}"
    decimals = next((digits for size, digits in DECIMALS if abs(cell) < size), 0)
    return f"{cell:,.{decimals}f}"
