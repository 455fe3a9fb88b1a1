"""A report as one HTML page that needs nothing beside it: no script, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from bots.eval.plots import figure
from bots.eval.sections import Cell, Report, Section, Table, shown

CONTENTS_FROM = 4  # sections
SHORT = 24  # characters of a cell that stays on one line

_CODE = re.compile("`([^`]+)`")


def page(report: Report) -> str:
    """The whole document."""
    style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
    parts = (
        f"<h1>{escape(report.title)}</h1>",
        _conditions({"made": report.made, **report.conditions}),
        _contents(report.sections),
        _failures(report.failures),
        *map(_section, report.sections),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def _conditions(conditions: Mapping[str, str]) -> str:
    pairs = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in conditions.items())
    return f"<dl>{''.join(pairs)}</dl>"


def _contents(sections: tuple[Section, ...]) -> str:
    if len(sections) < CONTENTS_FROM:
        return ""
    entries = (f'<li><a href="#{escape(each.name)}">{escape(each.title)}</a></li>' for each in sections)
    return f"<nav><ul>{''.join(entries)}</ul></nav>"


def _failures(failures: Mapping[str, str]) -> str:
    """What could not be measured, before what was."""
    if not failures:
        return ""
    entries = (f"<p><strong>{escape(name)}</strong>: {escape(why)}</p>" for name, why in failures.items())
    return f'<section class="failed"><h2>Not measured</h2>{"".join(entries)}</section>'


def _section(section: Section) -> str:
    parts = (
        f"<h2>{escape(section.title)}</h2>",
        f'<p class="what">{_prose(section.what)}</p>',
        *map(_table, section.tables),
        *map(figure, section.plots),
        f'<p class="limits">What limits it now: {_prose(section.limits)}</p>' if section.limits else "",
    )
    return f'<section id="{escape(section.name)}">\n' + "\n".join(filter(None, parts)) + "\n</section>"


def _table(table: Table) -> str:
    numeric = [_is_numeric(table, place) for place in range(len(table.columns))]
    head = "".join(
        f'<th scope="col"{_class("number" if is_number else "")}>{escape(column)}</th>'
        for column, is_number in zip(table.columns, numeric, strict=True)
    )
    body = "".join(_row(row, table.columns, numeric) for row in table.rows)
    note = f'<p class="note">{_prose(table.note)}</p>' if table.note else ""
    return (
        f'<div class="table"><div class="scroll"><table{_class("wordy" if table.is_wordy else "")}>'
        f"<caption>{escape(table.title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}</div>"
    )


def _row(row: tuple[Cell, ...], columns: tuple[str, ...], numeric: list[bool]) -> str:
    cells = (
        f'<td{_class(_kind(cell, is_number))} data-column="{escape(column)}">{escape(shown(cell))}</td>'
        for cell, column, is_number in zip(row, columns, numeric, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _is_numeric(table: Table, place: int) -> bool:
    """A column of numbers, perhaps with signs that stand for none."""
    cells = [row[place] for row in table.rows]
    return any(not isinstance(cell, str) for cell in cells) and all(
        not isinstance(cell, str) or len(cell) <= 1 for cell in cells
    )


def _kind(cell: Cell, is_number: bool) -> str:
    return "number" if is_number else "short" if len(shown(cell)) <= SHORT else ""


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _prose(text: str) -> str:
    """Text in which only code is marked."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
