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
from bots.log_words import ENDINGS, trend_of
from bots.page.plots import Plot, Series, bar_plot
from bots.page.site import PageRoute, View, Visit
from bots.page.views.answers import answers_of
from bots.page.views.feedback import count_open
from bots.page.views.gaps import gap_path, report_soon
from bots.page.views.sources import sizes_of
from bots.page.views.spend import days_until, money, took
from core.conversation import value
from core.gaps.groups import GapReport
from core.sources.kinds import label_of
from core.sources.store import ListedSource
from core.storage.database import Database
from core.traces.activity import Activity, activities
from core.traces.figures import HALF, UNSURE, DayCount, Sums, by_day, by_day_and_outcome, day_of, total_of
from core.traces.log import DAY

GAPS = 5  # that are named
ALWAYS_SHOWN = ("answered", "no_answer")
PLOTTED = ("answered", HALF, UNSURE, "approval_needed", "no_answer")


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
    path: str = ""  #: to the questions behind it; empty: none are


@value
class Task:
    """Something to do, and where."""

    told: str
    path: str
    more: str = ""


async def show_overview(visit: Visit) -> web.Response:
    site = visit.site
    days = days_until(day_of(site.log.now()), 2 * visit.days)
    before, now, counts = await site.log.database.call(_totals, site.log.database.database, days)
    shown = days[visit.days :]
    report = await report_soon(visit)
    return visit.show(
        "overview.html",
        title="Overview",
        figures=_figures(now, before, shown[0], site.settings.currency, _unanswered(report, visit.days)),
        plot=_plot(shown, counts),
        is_empty=not now.questions,
        tasks=await _tasks(visit, report),
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


def _figures(
    now: Totals, before: Totals, since: str, currency: str, unanswered: Sequence[Figure]
) -> tuple[Figure, ...]:
    """In the order in which they are read; what there is none of is left out."""
    figures = [_counted("Questions", now.questions, before.questions, _path(since))]
    for outcome, name in ENDINGS.items():
        share = now.share(outcome)
        if share is not None and (share or outcome in ALWAYS_SHOWN):
            change, path = _points(share, before.share(outcome)), _path(since, outcome=outcome)
            figures.append(Figure(name=name.capitalize(), told=f"{share:.0f}%", change=change, path=path))
    figures += unanswered
    figures.append(_counted("People who asked", now.activity.askers, before.activity.askers))
    if (helpful := now.activity.helpful) is not None:
        told = f"{now.activity.up:,} of {now.activity.up + now.activity.down:,}"
        change = _points(helpful, before.activity.helpful)
        figures.append(Figure(name="Rated helpful", told=told, change=change, path=_path(since, rated="any")))
    for name, part in (("Half took", 0.5), ("95% took", 0.95)):
        earlier = f"{took(part, before.sums.within)} before" if before.questions else ""
        figures.append(Figure(name=name, told=took(part, now.sums.within), change=earlier))
    if now.sums.cost is not None:
        change = _per_cent(now.sums.cost, before.sums.cost or 0)
        figures.append(
            Figure(name=f"Cost, {currency}", told=money(now.sums.cost), change=change, path="/spend")
        )
    return tuple(figures)


def _unanswered(report: GapReport | None, days: int) -> tuple[Figure, ...]:
    """The questions that Gaps is about: not answered, unsure, rated down, or with a search that nobody allowed."""
    if report is None:
        return ()
    count = sum(each.count for each in report.groups) + report.closed + report.wordless
    more = "or more" if report.is_cut else ""
    return (
        Figure(name="Not answered well", told=f"{count:,}", change=more, path=f"/gaps?days={days}&state=all"),
    )


def _counted(name: str, now: int, before: int, path: str = "") -> Figure:
    return Figure(name=name, told=f"{now:,}", change=_per_cent(now, before), path=path)


def _per_cent(now: float, before: float) -> str:
    """ "+12%"; empty where there was nothing before."""
    if now == before:
        return "as before" if now else ""
    return f"{100 * (now - before) / before:+.0f}%" if before else ""


def _points(now: float, before: float | None) -> str:
    """ "-3 points": of per cent."""
    if before is None:
        return ""
    points = round(now) - round(before)
    if not points:
        return "as before"
    return f"{points:+d} {'point' if abs(points) == 1 else 'points'}"


def _plot(days: Sequence[str], counts: Sequence[DayCount]) -> Plot:
    """The questions of each day by how they ended; the rarer ways together."""
    named = {outcome: ENDINGS[outcome] for outcome in PLOTTED}
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


async def _tasks(visit: Visit, report: GapReport | None) -> tuple[Task, ...]:
    """What needs somebody, the most pressing first."""
    due, disputed = await answers_of(visit, "due"), await answers_of(visit, "disputed")
    sources = await asyncio.to_thread(visit.site.sightings.sources.listed, failures=0)
    failing = [
        each
        for each in sources
        if visit.session.may_read((each.record.collection,)) and (each.record.failure or each.counts.failed)
    ]
    grew = [each for each in report.open_groups if each.count > each.before] if report else []
    gaps = sorted(grew, key=lambda each: each.before - each.count)[:GAPS]
    tasks = [
        Task(
            told=f"{label_of(each.record.address)}: {_fault(each)}",
            path=f"/sources?{urlencode({'collection': each.record.collection})}",
        )
        for each in failing
    ]
    if unreadable := sum(each.unreadable for each in (await sizes_of(visit)).values()):
        tasks.append(
            Task(told=f"{counted(unreadable, 'file')} could not be read, or not wholly", path="/sources")
        )
    if report and report.closed:
        told = (
            f"{counted(report.closed, 'question')} not answered well in channels that your link does not read"
        )
        tasks.append(Task(told=told, path="/gaps"))
    if due:
        tasks.append(Task(told=f"{counted(len(due), 'kept answer')} to review", path="/answers?show=due"))
    if disputed:
        told = f"{counted(len(disputed), 'kept answer')} that documents dispute"
        tasks.append(Task(told=told, path="/answers?show=disputed"))
    if rated_down := await count_open(visit):
        tasks.append(Task(told=f"{counted(rated_down, 'answer')} rated down, to look at", path="/feedback"))
    for gap in gaps:
        more = f"{counted(gap.count, 'question')} not answered well, {trend_of(gap)}"
        tasks.append(Task(told=gap.name, more=more, path=f"{gap_path(gap.turns[0])}?days={visit.days}"))
    return tuple(tasks)


def _fault(source: ListedSource) -> str:
    return source.record.failure or f"{counted(source.counts.failed, 'item')} could not be read"


VIEW = View(
    title="Overview", path="/", key="o", is_ranged=True, routes=(PageRoute("GET", "/", show_overview),)
)
