"""Plots as SVG that needs nothing beside it: text in place of pictures for whoever cannot see them.

Colours come from the page: series number n has the class ``s{n}``. Series differ in the shape
of their points and the dashes of their lines as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape

from bots.eval.sections import Plot, shown

WIDTH = 400  # units of every drawing; a page shows one as a bit more than a pixel, a phone as a bit less
HEIGHT = 230  # of a plot with lines
LETTER = 6.6  # units that a letter of the page's 12 unit type takes at most, digits and small letters mixed
LINE = 17  # units from one line of text to the next
BAR = 12  # units that a bar is thick
COLOURS = 6  # series that the page has colours for; more begin again
BELOW_ZERO = 0.4  # a line whose lowest point is above this share of its highest need not start at zero

DASHES = ("", "6 3", "2 3", "8 3 2 3", "4 2", "1 3")
#: Points of a series around (0, 0), in the order of the series.
MARKS = (
    '<circle r="3.2"/>',
    '<rect x="-3" y="-3" width="6" height="6"/>',
    '<path d="M0-4 3.8 3H-3.8Z"/>',
    '<path d="M0-4.4 4.4 0 0 4.4-4.4 0Z"/>',
    '<path d="M0 4 3.8-3H-3.8Z"/>',
    '<path d="M-4-1h3v-3h2v3h3v2h-3v3h-2v-3h-3z"/>',
)

Scale = Callable[[float], float]


def figure(plot: Plot) -> str:
    """The plot with its title and, where several series share it, a legend."""
    draw = _bars if plot.kind == "bars" else _lines
    return f"<figure><figcaption>{escape(plot.title)}</figcaption>{_legend(plot)}{draw(plot)}</figure>"


def ticks(low: float, high: float, about: int = 5) -> tuple[float, ...]:
    """Round numbers (steps of 1, 2 or 5 times a power of ten) from below ``low`` to above ``high``."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / about))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= about)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(round(number * step, 12) for number in range(first, max(last, first + 1) + 1))


def _legend(plot: Plot) -> str:
    if len(plot.series) < 2:
        return ""
    key = _line_key if plot.kind == "lines" else _bar_key
    entries = (f"<li>{key(n)}{escape(name)}</li>" for n, name in enumerate(plot.series))
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _line_key(n: int) -> str:
    drawn = f'<path class="line" d="M-14 0H14"{_dash(n)}/>{_mark(n)}'
    return (
        f'<svg class="key" viewBox="-14 -6 28 12" aria-hidden="true"><g class="{_class(n)}">{drawn}</g></svg>'
    )


def _bar_key(n: int) -> str:
    return f'<svg class="key" viewBox="0 0 12 12" aria-hidden="true"><rect class="{_class(n)}" width="12" height="12"/></svg>'


def _svg(plot: Plot, height: float, drawn: Iterator[str]) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {_at(height)}" role="img" aria-label="{escape(_told(plot))}">'
        f"{''.join(drawn)}</svg>"
    )


def _told(plot: Plot) -> str:
    """What the plot shows, in words."""
    unit = f" {plot.unit}" if plot.unit else ""
    series = (
        f"{name}: " + ", ".join(f"{x} {shown(value)}{unit}" for x, value in zip(plot.x, values, strict=True))
        for name, values in plot.series.items()
    )
    return f"{plot.title}. {'; '.join(series)}."


def _values(plot: Plot) -> list[float]:
    """Everything that must find room on the axis of values."""
    ends = (end for pairs in plot.intervals.values() for pair in pairs for end in pair)
    points = (value for values in plot.series.values() for value in values)
    return [value for value in (*points, *ends) if math.isfinite(value)] or [0.0]


# Bars, one below the other: names of any length have room, on a phone too


def _bars(plot: Plot) -> str:
    found = _values(plot)
    marks = ticks(min(0.0, *found), max(0.0, *found), about=4)
    left, right = 2.0, WIDTH - 8 * LETTER  # behind the longest bar stands its value
    across = _scale(marks[0], marks[-1], left, right)
    group = LINE + len(plot.series) * (BAR + 3) + 6
    foot = len(plot.x) * group + 2

    def drawn() -> Iterator[str]:
        for mark in marks:
            yield f'<path class="grid" d="M{_at(across(mark))} 0V{foot}"/>'
            anchor = "start" if mark == marks[0] else "middle"
            yield _text(across(mark), foot + LINE - 3, _tick(mark, marks), anchor, "tick")
        for place, x in enumerate(plot.x):
            yield _text(left, place * group + LINE - 5, _fitting(x), "start")
            for n in range(len(plot.series)):
                yield _bar(plot, n, place, across, place * group + LINE + n * (BAR + 3))
        if plot.unit:
            yield _text(right, foot + 2 * LINE - 3, plot.unit, "end", "tick")

    return _svg(plot, foot + (2 if plot.unit else 1) * LINE + 2, drawn())


def _bar(plot: Plot, n: int, place: int, across: Scale, top: float) -> str:
    name, values = list(plot.series.items())[n]
    value = values[place]
    if not math.isfinite(value):
        return _text(across(0) + 4, top + BAR - 2, "–", "start")
    start, end = sorted((across(0), across(value)))
    whisker, reach = "", end
    if pair := _interval(plot, name, place):
        low, high = map(across, pair)
        ends = "".join(f"M{_at(x)} {_at(top + 3)}v{BAR - 6}" for x in (low, high))
        whisker = f'<path class="whisker" d="M{_at(low)} {_at(top + BAR / 2)}H{_at(high)}{ends}"/>'
        reach = max(end, high)
    rect = (
        f'<rect class="{_class(n)}" x="{_at(start)}" y="{_at(top)}" '
        f'width="{_at(end - start)}" height="{BAR}"/>'
    )
    return rect + whisker + _text(reach + 5, top + BAR - 2, shown(value), "start", "value")


# Lines


def _lines(plot: Plot) -> str:
    found = _values(plot)
    low = min(found)
    marks = ticks(low if low > BELOW_ZERO * max(found) else min(0.0, low), max(found))
    left = 10 + LETTER * max(len(_tick(mark, marks)) for mark in marks)
    bottom = HEIGHT - LINE * (3 if plot.x_title else 2) + 8
    up = _scale(marks[0], marks[-1], bottom, LINE + 5)
    overhang = max(8.0, LETTER / 2 * len(plot.x[-1]))  # of the last label, whose middle is at its point
    along = _scale(0, max(1, len(plot.x) - 1), left + 8, WIDTH - overhang)

    def drawn() -> Iterator[str]:
        for mark in marks:
            yield f'<path class="grid" d="M{_at(left)} {_at(up(mark))}H{WIDTH}"/>'
            yield _text(left - 5, up(mark) + 4, _tick(mark, marks), "end", "tick")
        for place in _labelled(plot.x, WIDTH - left):
            yield _text(along(place), bottom + LINE, plot.x[place], "middle", "tick")
        if plot.unit:
            yield _text(0, 10, plot.unit, "start", "tick")
        if plot.x_title:
            yield _text((left + WIDTH) / 2, bottom + 2 * LINE, plot.x_title, "middle", "tick")
        for n, name in enumerate(plot.series):
            yield f'<g class="{_class(n)}">{_line(plot, name, along, up, n)}</g>'

    return _svg(plot, HEIGHT, drawn())


def _line(plot: Plot, name: str, along: Scale, up: Scale, n: int) -> str:
    path, points, whiskers, pen = "", "", "", "M"
    for place, value in enumerate(plot.series[name]):
        if not math.isfinite(value):
            pen = "M"  # a gap
            continue
        x, y = _at(along(place)), _at(up(value))
        path, pen = f"{path}{pen}{x} {y}", "L"
        points += f'<g transform="translate({x} {y})">{_mark(n)}</g>'
        if pair := _interval(plot, name, place):
            low, high = _at(up(pair[0])), _at(up(pair[1]))
            whiskers += f"M{x} {low}V{high}M{x} {low}m-3 0h6M{x} {high}m-3 0h6"
    whisker = f'<path class="whisker" d="{whiskers}"/>' if whiskers else ""
    return f'<path class="line" d="{path}"{_dash(n)}/>{whisker}{points}'


def _labelled(x: Sequence[str], width: float) -> range:
    """Which points have room for their label, the first among them."""
    widest = (max(map(len, x), default=0) + 2) * LETTER
    return range(0, len(x), max(1, math.ceil(len(x) * widest / width)))


# Both


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _interval(plot: Plot, name: str, place: int) -> tuple[float, float] | None:
    """Nothing where there is none, or one of its ends is unknown."""
    pairs: Mapping[str, tuple[tuple[float, float], ...]] = plot.intervals
    pair = pairs[name][place] if name in pairs else None
    return pair if pair and all(map(math.isfinite, pair)) else None


def _tick(mark: float, marks: Sequence[float]) -> str:
    """As many decimals as tell two marks apart."""
    step = marks[1] - marks[0]
    return f"{mark:,.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


def _text(x: float, y: float, text: str, anchor: str, kind: str = "name") -> str:
    return f'<text class="{kind}" x="{_at(x)}" y="{_at(y)}" text-anchor="{anchor}">{escape(text)}</text>'


def _fitting(name: str) -> str:
    room = int(WIDTH / LETTER)
    return name if len(name) <= room else f"{name[: room - 1]}…"


def _class(n: int) -> str:
    return f"s{n % COLOURS}"


def _mark(n: int) -> str:
    return MARKS[n % len(MARKS)]


def _dash(n: int) -> str:
    dash = DASHES[n % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _at(number: float) -> str:
    """A coordinate, short."""
    return f"{number:.1f}".removesuffix(".0")
