"""A report in tables: as one JSON object and as one HTML page."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.conversation import value
from core.errors import FootnoteError, reason_of

PAGE, OBJECT = "report.html", "report.json"
TEMPLATE = "report.html.j2"

Cell = str | float | int

LONG = 80  # characters; a longer cell has sentences
#: Digits behind the point, by the size that a number stays below.
DECIMALS = ((1, 3), (10, 2), (100, 1))


@value
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @property
    def is_wordy(self) -> bool:
        """True if its cells have sentences; then it is shown row by row."""
        return any(isinstance(cell, str) and len(cell) > LONG for row in self.rows for cell in row)

    def is_numeric(self, column: int) -> bool:
        """True if a column has numbers, perhaps with a dash for none."""
        cells = [row[column] for row in self.rows]
        return any(not isinstance(cell, str) for cell in cells) and all(
            not isinstance(cell, str) or len(cell) <= 1 for cell in cells
        )


@value
class Section:
    """One measurement."""

    name: str
    title: str
    what: str  #: one sentence: what is measured and how
    tables: tuple[Table, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)  #: for JSON, and to compare two runs
    note: str = ""


@value
class Report:
    title: str
    made: str  #: ISO 8601, with the offset from UTC
    conditions: Mapping[str, str] = field(default_factory=dict)  #: what was measured, with what
    sections: tuple[Section, ...] = ()
    questions: tuple[Mapping[str, Any], ...] = ()  #: for JSON alone: one object for each question


def now() -> str:
    """This moment, in local time with its offset from UTC."""
    return datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")


def shown(cell: Cell) -> str:
    """A cell for people: numbers with about three digits and thousands separators; a dash for NaN."""
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


# Files


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write the report and return its files; FootnoteError if they cannot be written."""
    contents = {PAGE: as_page(report), OBJECT: as_json(report)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as fault:
        raise FootnoteError(f"{folder} cannot be written: {reason_of(fault)}.") from fault
    return [folder / name for name in contents]


def as_page(report: Report) -> str:
    """One self-contained HTML page."""
    from jinja2 import Environment, FileSystemLoader

    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return pages.get_template(TEMPLATE).render(report=report, shown=shown)


def as_json(report: Report | Section) -> str:
    """One object on one line; a number that JSON cannot hold becomes null."""
    return json.dumps(_finite(asdict(report)), ensure_ascii=False, allow_nan=False) + "\n"


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _finite(each) for name, each in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(each) for each in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


Z = 1.959964  # standard deviations that hold 95% of a normal distribution


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The score interval of a share (Wilson 1927); (0, 1) without trials."""
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    reach = Z / (1 + square / of) * math.sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def with_interval(hits: int, of: int) -> str:
    """ "0.86 (0.71 to 0.94)"; a dash without trials."""
    if of == 0:
        return "–"
    low, high = wilson(hits, of)
    return f"{hits / of:.2f} ({low:.2f} to {high:.2f})"


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest-rank percentile: the smallest value with at least this share of the values at or below it."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
