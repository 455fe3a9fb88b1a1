"""A report as files and as text: one HTML page, one JSON object, tables for a terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bots.eval.page import page
from bots.eval.sections import Report, Section, Table, shown
from core.errors import FootnoteError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bots.terminal.screen import Screen

PAGE, OBJECT = "report.html", "report.json"


def write_report(report: Report, folder: Path) -> None:
    """Both files; what stood there before is replaced. FootnoteError when the disk refuses."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / PAGE).write_text(page(report), encoding="utf-8")
        (folder / OBJECT).write_text(as_json(report), encoding="utf-8")
    except OSError as fault:
        raise FootnoteError(
            f"{folder} cannot be written: {(fault.strerror or 'the disk refused').lower()}."
        ) from fault


def as_json(report: Report) -> str:
    """One object on one line; a number that is none becomes null."""
    content = {
        "title": report.title,
        "made": report.made,
        "conditions": dict(report.conditions),
        "failures": dict(report.failures),
        "sections": [_section(each) for each in report.sections],
        "questions": list(report.records),
    }
    return json.dumps(_finite(content), ensure_ascii=False, allow_nan=False) + "\n"


def _section(section: Section) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "what": section.what,
        "figures": dict(section.figures),
        "tables": [
            {"title": each.title, "columns": each.columns, "rows": each.rows, "note": each.note}
            for each in section.tables
        ],
        "plots": [
            {"title": each.title, "unit": each.unit, "x": each.x, "series": dict(each.series)}
            for each in section.plots
        ],
        "limits": section.limits,
    }


def _finite(content: Any) -> Any:
    """The same with null where JSON has no number."""
    if isinstance(content, dict):
        return {name: _finite(each) for name, each in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(each) for each in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def now() -> str:
    """This moment, in local time with its offset from UTC."""
    return datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")


def tell(report: Report, folder: Path, screen: Screen, *, as_object: bool) -> None:
    """The report on standard output, and beside it where its files are."""
    if as_object:
        sys.stdout.write(as_json(report))
    else:
        for part in as_text(report):
            screen.show(part)
    screen.note(f"Written to {folder / PAGE} and {folder / OBJECT}")


def as_text(report: Report) -> Iterator[RenderableType]:
    """What a terminal shows: the tables with what they are about."""
    from rich.text import Text

    for section in report.sections:
        yield from _told(section)
    for name, why in report.failures.items():
        yield Text(f"\n{name} was not measured: {why}")


def _told(section: Section) -> Iterator[RenderableType]:
    from rich.text import Text

    yield Text.assemble("\n", (section.title, "bold"), "\n", (section.what, "dim"))
    for table in section.tables:
        yield Text(f"\n{table.title}\n")
        yield _row_by_row(table) if table.is_wordy else _grid(table)
        if table.note:
            yield Text(table.note, style="dim")
    if section.limits:
        yield Text(f"\nWhat limits it now: {section.limits}", style="dim")


def _grid(table: Table) -> RenderableType:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for place, column in enumerate(table.columns):
        is_number = any(not isinstance(row[place], str) for row in table.rows)
        grid.add_column(Text(column), justify="right" if is_number else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(shown(cell)) for cell in row))
    return grid


def _row_by_row(table: Table) -> RenderableType:
    """Each cell on a line of its own, behind the name of its column."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for number, row in enumerate(table.rows):
        if number:
            grid.add_row()
        for column, cell in zip(table.columns, row, strict=True):
            grid.add_row(Text(column), Text(shown(cell)))
    return grid
