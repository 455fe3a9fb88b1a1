"""Plots by day, laid out here as coordinates of SVG: bars on top of each other, and lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from math import floor, log10

from core.conversation import value

WIDTH, HEIGHT = 600, 170
LEFT, TOP, BOTTOM = 56, 10, 22  # the room of the labels
TICKS = 5  # parts of the scale
LABELS = 6  # of the days, at most
BAR_SHARE = 0.8  # of the room of a day


@value
class Series:
    """A number for each day."""

    name: str
    numbers: tuple[float | None, ...]  #: None: there is none, which draws nothing


@value
class Label:
    x: float
    y: float
    text: str


@value
class Bar:
    series: int  #: counts from 1
    x: float
    y: float
    width: float
    height: float
    tip: str


@value
class Column:
    """One day of a plot, which leads to what is behind it."""

    path: str
    x: float
    width: float
    tip: str


@value
class PlotRow:
    """One day of the table beneath a plot."""

    day: str
    path: str  #: to what is behind it; empty: nothing is
    told: tuple[str, ...]  #: the number of each series; empty: there is none


@value
class Line:
    series: int
    path: str


@value
class Plot:
    """The template ``plot.html`` draws it; its colours are in the style sheet."""

    id: str  #: one of its own on the page
    title: str
    words: str  #: what it shows, for who does not see it
    names: tuple[str, ...]  #: of the series
    bars: tuple[Bar, ...] = ()
    lines: tuple[Line, ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[PlotRow, ...]  #: the days on which there is something, the last one first
    scale: tuple[Label, ...]
    days: tuple[Label, ...]

    @property
    def size(self) -> tuple[int, int]:
        return WIDTH, HEIGHT


def bar_plot(
    name: str, title: str, days: Sequence[str], series: Sequence[Series],
    path_of: Callable[[str], str] | None = None,
) -> Plot:  # fmt: skip
    """A bar for each day, the series on top of each other. ``path_of``: where a day leads."""
    sums = [sum(each.numbers[at] or 0 for each in series) for at in range(len(days))]
    top = rounded_up(max(sums, default=0))
    bars: list[Bar] = []
    for at, day in enumerate(days):
        base = 0.0
        for number, each in enumerate(series, start=1):
            if amount := each.numbers[at]:
                y, height = _y(base + amount, top), _y(base, top) - _y(base + amount, top)
                tip = f"{day}, {each.name}: {told(amount)}"
                width = _room(days)
                x = LEFT + (at + (1 - BAR_SHARE) / 2) * width
                bars.append(Bar(series=number, x=round(x, 1), y=y, width=round(BAR_SHARE * width, 1),
                                height=round(height, 1), tip=tip))  # fmt: skip
                base += amount
    most = max(zip(sums, days, strict=True), key=lambda pair: pair[0], default=(0, ""))
    words = f"{_span(days)}: {told(sum(sums))} in all" + (
        f", the most on {most[1]}: {told(most[0])}." if most[0] else "."
    )
    return Plot(
        id=name, title=title, words=words, names=tuple(each.name for each in series), bars=tuple(bars),
        columns=_columns(days, sums, series, path_of) if path_of else (), rows=_rows(days, series, "", path_of), scale=_scale(top, ""), days=_days(days),
    )  # fmt: skip


def _columns(
    days: Sequence[str], sums: Sequence[float], series: Sequence[Series], path_of: Callable[[str], str]
) -> tuple[Column, ...]:
    """The days on which there is something."""
    width = _room(days)
    return tuple(
        Column(
            path=path_of(day), x=round(LEFT + at * width, 1), width=round(width, 1),
            tip=f"{day}: " + ", ".join(f"{told(n)} {each.name}" for each in series if (n := each.numbers[at])),
        )
        for at, day in enumerate(days)
        if sums[at]
    )  # fmt: skip


def _rows(
    days: Sequence[str], series: Sequence[Series], unit: str, path_of: Callable[[str], str] | None = None
) -> tuple[PlotRow, ...]:
    numbered = [(day, [each.numbers[at] for each in series]) for at, day in enumerate(days)]
    return tuple(
        PlotRow(
            day=day,
            path=path_of(day) if path_of else "",
            told=tuple("" if number is None else f"{told(number)}{unit}" for number in numbers),
        )
        for day, numbers in reversed(numbered)
        if any(number is not None for number in numbers)
    )


def line_plot(name: str, title: str, days: Sequence[str], series: Sequence[Series], unit: str = "") -> Plot:
    """A line for each series, broken where it has no number; a number alone is a dot."""
    top = rounded_up(max((n for each in series for n in each.numbers if n is not None), default=0))
    most = [
        f"{each.name} at most {told(max(known))}{unit}"
        for each in series
        if (known := [number for number in each.numbers if number is not None])
    ]
    return Plot(
        id=name,
        title=title,
        words=f"{_span(days)}: {', '.join(most) or 'nothing'}.",
        names=tuple(each.name for each in series),
        lines=tuple(
            Line(series=number, path=_path(each, days, top)) for number, each in enumerate(series, start=1)
        ),
        rows=_rows(days, series, unit),
        scale=_scale(top, unit),
        days=_days(days),
    )


def rounded_up(number: float) -> float:
    """The next of 1, 2, 5, 10, 20 …, as the top of a scale; 1 for nothing."""
    if number <= 0:
        return 1.0
    power = 10.0 ** floor(log10(number))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= number * (1 - 1e-9))


def told(number: float) -> str:
    """ "12,400", "2.5", "0.004"."""
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.3g}"


def _span(days: Sequence[str]) -> str:
    return f"{days[0]} to {days[-1]}" if days else "No day"


def _room(days: Sequence[str]) -> float:
    """The width of one day."""
    return (WIDTH - LEFT) / max(len(days), 1)


def _y(number: float, top: float) -> float:
    return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - number / top), 1)


def _path(series: Series, days: Sequence[str], top: float) -> str:
    parts: list[str] = []
    numbered = enumerate(series.numbers)
    for is_known, run in groupby(numbered, key=lambda pair: pair[1] is not None):
        points = [f"{LEFT + (at + 0.5) * _room(days):.1f},{_y(n, top)}" for at, n in run if n is not None]
        if is_known:
            parts.append(f"M{points[0]} L{' L'.join(points[1:])}" if points[1:] else f"M{points[0]} m-3,0 h6")
    return " ".join(parts)


def _scale(top: float, unit: str) -> tuple[Label, ...]:
    ticks = int(top) if top in (1, 2) and not unit else TICKS  # nobody asked 0.4 questions
    steps = [top * part / ticks for part in range(ticks + 1)]
    return tuple(Label(x=LEFT - 6, y=_y(step, top), text=f"{told(step)}{unit}") for step in steps)


def _days(days: Sequence[str]) -> tuple[Label, ...]:
    every = -(-len(days) // LABELS) or 1
    return tuple(
        Label(x=round(LEFT + (at + 0.5) * _room(days), 1), y=HEIGHT - 6, text=day[5:])
        for at, day in enumerate(days)
        if at % every == 0
    )
