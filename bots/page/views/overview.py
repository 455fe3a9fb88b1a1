"""The last days beside the ones before, and what there is to do.

The figures name no person and quote nothing, so whoever is in may read them, as on the view of what was spent. What
there is to do is told as far as the session may read it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from urllib.parse import urlencode

from aiohttp import web

from bots.chat.texts import counted
from bots.gap_words import trend_of
from bots.page.plots import Plot, Series, bar_plot
from bots.page.site import PageRoute, View, Visit
from bots.page.views.gaps import gap_path, report_at_once
from bots.page.views.spend import SPANS, days_until, money, took
from core.conversation import value
from core.gaps.groups import GapReport
from core.sources.kinds import label_of
from core.storage.database import Database
from core.traces.activity import Activity, activities
from core.traces.figures import DayCount, Sums, by_day, by_day_and_outcome, day_of, total_of
from core.traces.log import DAY

USUAL = "7"  # days
GAPS = 5  # that are named
#: What a person sees of an outcome, in the order of the plot.
OUTCOMES: Mapping[str, str] = {
    "answered": "answered",
    "approval_needed": "asked for the web",
    "no_answer": "not answered",
    "clarify": "asked back",
    "failed": "failed",
}


@value
class Totals:
    """The sums of one span of days."""

    sums: Sums
    outcomes: Mapping[str, int]  #: of questions
    activity: Activity

    @property
    def questions(self) -> int:
        return self.sums.questions

    def share(self, outcome: str) -> float | None:
        """Per cent of the questions; None where nobody asked."""
        return 100 * self.outcomes.get(outcome, 0) / self.questions if self.questions else None


@value
class Figure:
    name: str
    told: str
    change: str  #: against the span before, such as "+12%"; empty: there is nothing to compare with
    path: str  #: to the questions behind it; empty: none are


@value
class Task:
    """Something to do, and where."""

    told: str
    path: str
    more: str = ""


async def show_overview(visit: Visit) -> web.Response:
    site = visit.site
    span = visit.query("days") if visit.query("days") in SPANS else USUAL
    days = days_until(day_of(site.log.now()), 2 * SPANS[span])
    before, now, counts = await site.log.database.call(_totals, site.log.database.database, days)
    shown = days[SPANS[span] :]
    report = await report_at_once(visit, f"{span}d")
    return visit.show(
        "overview.html",
        title="Overview",
        span=span,
        spans=tuple(SPANS),
        figures=_figures(now, before, shown[0], site.settings.currency),
        plot=_plot(shown, counts),
        is_empty=not now.questions,
        tasks=await _tasks(visit, report, now.activity, shown[0]),
        is_grouping=report is None,
    )


def _totals(database: Database, days: Sequence[str]) -> tuple[Totals, Totals, tuple[DayCount, ...]]:
    """Of the first half of these days, of the second, and how the questions of each day ended."""
    middle = days[len(days) // 2]
    daily, counts = by_day(database, days[0]), by_day_and_outcome(database, days[0])
    began, turned, ends = _second(days[0]), _second(middle), _second(days[-1]) + DAY
    active_before, active = activities(database, began, turned, ends)

    def totals(is_now: bool, active: Activity) -> Totals:
        outcomes: Counter[str] = Counter()
        for each in counts:
            outcomes[each.outcome] += each.questions if (each.day >= middle) == is_now else 0
        sums = total_of([each for each in daily if (each.of >= middle) == is_now])
        return Totals(sums=sums, outcomes=outcomes, activity=active)

    before, now = totals(False, active_before), totals(True, active)
    return before, now, counts


def _second(day: str) -> float:
    """The beginning of a day of UTC."""
    return datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).timestamp()


def _figures(now: Totals, before: Totals, since: str, currency: str) -> tuple[Figure, ...]:
    """In the order in which they are read."""
    shares = [
        Figure(
            name=name.capitalize(), told=f"{share:.0f}%", change=_points(share, before.share(outcome)),
            path=_path(since, outcome=outcome),
        )
        for outcome, name in OUTCOMES.items()
        if (share := now.share(outcome)) is not None and (share or outcome in ("answered", "no_answer"))
    ]  # fmt: skip
    people, rated = now.activity, now.activity.up + now.activity.down
    return (
        Figure(name="Questions", told=f"{now.questions:,}", change=_per_cent(now.questions, before.questions),
               path=_path(since)),
        *shares,
        Figure(name="People who asked", told=f"{people.askers:,}", path="",
               change=_per_cent(people.askers, before.activity.askers)),
        *([Figure(name="Rated helpful", told=f"{people.up:,} of {rated:,}", path=_path(since, rated="any"),
                  change=_points(100 * people.up / rated, _helpful(before.activity)))] if rated else []),
        *(Figure(name=name, told=took(part, now.sums.within), path="",
                 change=f"{took(part, before.sums.within)} before" if before.questions else "")
          for name, part in (("Half took", 0.5), ("95% took", 0.95)) if now.questions),
        *([Figure(name=f"Cost, {currency}", told=money(now.sums.cost), path="/spend",
                  change=_per_cent(now.sums.cost, before.sums.cost or 0))] if now.sums.cost is not None else []),
    )  # fmt: skip


def _helpful(before: Activity) -> float | None:
    rated = before.up + before.down
    return 100 * before.up / rated if rated else None


def _per_cent(now: float, before: float) -> str:
    """ "+12%"; empty where there was nothing before."""
    return f"{100 * (now - before) / before:+.0f}%" if before else ""


def _points(now: float, before: float | None) -> str:
    """ "-3 points": of per cent."""
    if before is None:
        return ""
    points = round(now) - round(before)
    return f"{points:+d} {'point' if abs(points) == 1 else 'points'}"


def _plot(days: Sequence[str], counts: Sequence[DayCount]) -> Plot:
    """The questions of each day by how they ended; the rarer ways together."""
    named = {"answered": "answered", "approval_needed": "asked for the web"}
    sums: Counter[tuple[str, str]] = Counter()
    for each in counts:
        sums[each.day, named.get(each.outcome, "other")] += each.questions
    series = [
        Series(name=name, numbers=tuple(sums[day, name] or None for day in days))
        for name in (*named.values(), "other")
    ]
    return bar_plot("questions", "Questions by day", days, series, lambda day: _path(day, until=day))


def _path(since: str, **more: str) -> str:
    return f"/questions?{urlencode({'kind': 'question', 'since': since, **more})}"


async def _tasks(visit: Visit, report: GapReport | None, active: Activity, since: str) -> tuple[Task, ...]:
    """What needs somebody, the most pressing first."""
    may_read, answers = visit.session.may_read, await visit.site.answers.listed()
    mine = [each for each in answers if may_read((each.answer.collection,))]
    due = [each for each in mine if each.answer.is_due(visit.site.answers.now())]
    disputed = [each for each in mine if each.disputed_by]
    sources = await asyncio.to_thread(visit.site.sightings.sources.listed, failures=0)
    failing = [
        each
        for each in sources
        if may_read((each.record.collection,)) and (each.record.failure or each.counts.failed)
    ]
    grew = [each for each in report.open_groups if each.count > each.before] if report else []
    gaps = sorted(grew, key=lambda each: each.before - each.count)[:GAPS]
    return (
        *(Task(told=f"{label_of(each.record.address)}: {each.record.failure or counted(each.counts.failed, 'item') + ' could not be read'}",
               path=f"/sources?{urlencode({'collection': each.record.collection})}") for each in failing),
        *([Task(told=f"{counted(len(due), 'kept answer')} to review", path="/answers?show=due")] if due else []),
        *([Task(told=f"{counted(len(disputed), 'kept answer')} that documents dispute", path="/answers?show=disputed")]
          if disputed else []),
        *([Task(told=f"{counted(active.down, 'answer')} rated down", path=_path(since, rated="down"))]
          if active.down else []),
        *(Task(told=each.name, more=f"{counted(each.count, 'question')} without an answer, {trend_of(each)}",
               path=f"{gap_path(each.turns[0])}") for each in gaps),
    )  # fmt: skip


VIEW = View(title="Overview", path="/", key="o", routes=(PageRoute("GET", "/", show_overview),))
