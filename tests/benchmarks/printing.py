"""A section in a terminal: its tables as grids, or row by row where they have sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from bots.testing.report import Section, Table, shown

if TYPE_CHECKING:
    from rich.console import RenderableType


def as_text(section: Section) -> Iterator[RenderableType]:
    """Title, description and tables."""
    from rich.text import Text

    yield Text.assemble("\n", (section.title, "bold"), "\n", (section.what, "dim"))
    for table in section.tables:
        yield Text(f"\n{table.title}\n")
        yield _row_by_row(table) if table.is_wordy else _grid(table)
        if table.note:
            yield Text(table.note, style="dim")
    if section.note:
        yield Text(f"\n{section.note}", style="dim")


def _grid(table: Table) -> RenderableType:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for place, column in enumerate(table.columns):
        justify: Literal["left", "right"] = "right" if table.is_numeric(place) else "left"
        grid.add_column(Text(column), justify=justify, overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(shown(cell)) for cell in row))
    return grid


def _row_by_row(table: Table) -> RenderableType:
    """Each cell on its own line, after the name of its column."""
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
