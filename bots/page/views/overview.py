"""Figures: the last days beside the ones before, with what there is to do; and the cost of answers, how long they took
and how they ended, by day, and whether this process can answer now.

The figures name no person and quote nothing, so whoever is in may read them. What there is to do is shown as far as the
session may read it.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from urllib.parse import urlencode

from aiohttp import web

from bots.chat.texts import counted
from bots.page.drawing import Plot, Series, bar_plot, line_plot
from bots.page.rights import shown_channel
from bots.page.site import Site, View, Visit, nobody_in
from bots.page.templating import collection_path, gap_path
from bots.page.views.answers import answers_of
from bots.page.views.feedback import count_open
from bots.page.views.gaps import report_soon
from bots.page.views.sources import sizes_of
from bots.record import ENDINGS, trend_of
from core.conversation import value
from core.gaps.groups import GapReport
from core.sources.kinds import label_of
from core.storage.database import Database
from core.traces import figures as traced
from core.traces.log import DAY

GAPS = 5  # that are named
ALWAYS_SHOWN = ("answered", "no_answer")
PLOTTED = ("answered", traced.HALF, traced.UNSURE, "approval_needed", "no_answer")

OVERVIEW = View(title="Overview", path="/", key="o", is_ranged=True)


@value
class Totals:
    """The sums of one span of days."""

    sums: traced.Sums
    outcomes: Mapping[str, int]  #: of questions
    activity: traced.Activity

    @property
    def questions(self) -> int:
        return self.sums.questions

    def share(self, outcome: str) -> float | None:
        """Per cent of the questions; None where nobody asked."""
        return 100 * self.outcomes.get(outcome, 0) / self.questions if self.questions else None


@value
class Figure:
    name: str
    text: str
    change: str  #: against the span before, such as "+12%"; empty: there is nothing to compare with
    path: str = ""  #: to the questions behind it; empty: none are


@value
class Task:
    """A task, and its link."""

    text: str
    path: str
    more: str = ""


@OVERVIEW.get("/")
async def show_overview(visit: Visit) -> web.Response:
    site = visit.site
    days = visit.dates(2)
    before, now, counts = await site.log.database.call(_totals, site.log.database.database, days)
    shown = days[visit.days :]
    report = await report_soon(visit)
    # The questions of each day by how they ended; the rarer ways together.
    named = {outcome: ENDINGS[outcome] for outcome in PLOTTED}
    sums: Counter[tuple[str, str]] = Counter()
    for each in counts:
        sums[each.day, named.get(each.outcome, "other")] += each.questions
    series = [
        Series(name=name, numbers=tuple(sums[day, name] or None for day in shown))
        for name in (*named.values(), "other")
    ]
    return visit.show(
        "overview.html", title="Overview",
        figures=_figures(now, before, shown[0], site.settings.currency, _unanswered(report, visit.days)),
        plot=bar_plot("questions", "Questions by day", shown, series, lambda day: _path(day, until=day)),
        is_empty=not now.questions, tasks=await _tasks(visit, report), is_grouping=report is None,
    )  # fmt: skip


def _totals(database: Database, days: Sequence[str]) -> tuple[Totals, Totals, tuple[traced.DayCount, ...]]:
    """The totals of the first and the second half of these days, and the outcomes of each day."""
    middle = days[len(days) // 2]
    daily, counts = traced.by_day(database, days[0]), traced.by_day_and_outcome(database, days[0])
    began, turned, ends = _second(days[0]), _second(middle), _second(days[-1]) + DAY
    active_before, active = traced.activities(database, began, turned, ends)

    def totals(is_now: bool, active: traced.Activity) -> Totals:
        outcomes: Counter[str] = Counter()
        for each in counts:
            outcomes[each.outcome] += each.questions if (each.day >= middle) == is_now else 0
        sums = traced.total_of([each for each in daily if (each.of >= middle) == is_now])
        return Totals(sums=sums, outcomes=outcomes, activity=active)

    before, now = totals(False, active_before), totals(True, active)
    return before, now, counts


def _second(day: str) -> float:
    """The beginning of a day of UTC."""
    return datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).timestamp()


def _figures(
    now: Totals, before: Totals, since: str, currency: str, unanswered: Sequence[Figure]
) -> tuple[Figure, ...]:
    """The figures in reading order; those without data are left out."""
    figures = [_counted("Questions", now.questions, before.questions, _path(since))]
    for outcome, name in ENDINGS.items():
        share = now.share(outcome)
        if share is not None and (share or outcome in ALWAYS_SHOWN):
            change, path = _points(share, before.share(outcome)), _path(since, outcome=outcome)
            figures.append(Figure(name=name.capitalize(), text=f"{share:.0f}%", change=change, path=path))
    figures += unanswered
    figures.append(_counted("People who asked", now.activity.askers, before.activity.askers))
    if (helpful := now.activity.helpful) is not None:
        text = f"{now.activity.up:,} of {now.activity.up + now.activity.down:,}"
        change = _points(helpful, before.activity.helpful)
        figures.append(Figure(name="Rated helpful", text=text, change=change, path=_path(since, rated="any")))
    for name, part in (("Half took", 0.5), ("95% took", 0.95)):
        earlier = f"{took(part, before.sums.within)} before" if before.questions else ""
        figures.append(Figure(name=name, text=took(part, now.sums.within), change=earlier))
    if now.sums.cost is not None:
        change, text = _per_cent(now.sums.cost, before.sums.cost or 0), money(now.sums.cost)
        figures.append(Figure(name=f"Cost, {currency}", text=text, change=change, path="/spend"))
    return tuple(figures)


def _unanswered(report: GapReport | None, days: int) -> tuple[Figure, ...]:
    """The questions that Gaps is about: not answered, unsure, rated down, or with a search that nobody allowed."""
    if report is None:
        return ()
    count = sum(each.count for each in report.groups) + report.closed + report.wordless
    more = "or more" if report.is_cut else ""
    path = f"/gaps?days={days}&state=all"
    return (Figure(name="Not answered well", text=f"{count:,}", change=more, path=path),)


def _counted(name: str, now: int, before: int, path: str = "") -> Figure:
    return Figure(name=name, text=f"{now:,}", change=_per_cent(now, before), path=path)


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


def _path(since: str, **more: str) -> str:
    return f"/questions?{urlencode({'kind': 'question', 'since': since, **more})}"


async def _tasks(visit: Visit, report: GapReport | None) -> tuple[Task, ...]:
    """The tasks that need a person, the most pressing first."""
    due, disputed = await answers_of(visit, "due"), await answers_of(visit, "disputed")
    sources = await asyncio.to_thread(visit.site.sightings.sources.list_sources, failures=0)
    failing = [
        each
        for each in sources
        if visit.session.may_read((each.record.collection,)) and (each.record.failure or each.counts.failed)
    ]
    grew = [each for each in report.open_groups if each.count > each.before] if report else []
    gaps = sorted(grew, key=lambda each: each.before - each.count)[:GAPS]
    tasks = []
    for each in failing:
        fault = each.record.failure or f"{counted(each.counts.failed, 'item')} could not be read"
        text = f"{label_of(each.record.address)}: {fault}"
        tasks.append(Task(text=text, path=collection_path(each.record.collection)))
    unreadable = sum(each.unreadable for each in (await sizes_of(visit)).values())
    closed, rated_down = report.closed if report else 0, await count_open(visit)
    unseen = f"{counted(closed, 'question')} not answered well in channels that your link does not read"
    counts = (
        (unreadable, f"{counted(unreadable, 'file')} could not be read, or not wholly", "/sources"),
        (closed, unseen, "/gaps"),
        (len(due), f"{counted(len(due), 'kept answer')} to review", "/answers?show=due"),
        (len(disputed), f"{counted(len(disputed), 'kept answer')} that documents dispute", "/answers?show=disputed"),
        (rated_down, f"{counted(rated_down, 'answer')} rated down, to look at", "/feedback"),
    )  # fmt: skip
    tasks += [Task(text=text, path=path) for count, text, path in counts if count]
    for gap in gaps:
        more = f"{counted(gap.count, 'question')} not answered well, {trend_of(gap)}"
        tasks.append(Task(text=gap.name, more=more, path=f"{gap_path(gap.turns[0])}?days={visit.days}"))
    return tuple(tasks)


# Spend and health

CHANNELS = 50  # that are shown, those that took the most tokens first

SPEND = View(title="Spend", path="/spend", key="h", is_ranged=True)


@SPEND.get("/spend")
async def show_spend(visit: Visit) -> web.Response:
    site, shown, log = visit.site, visit.dates(), visit.site.log.database
    daily = await log.call(traced.by_day, log.database, shown[0])
    models = await log.call(traced.by_model, log.database, shown[0])
    outcomes = await log.call(traced.by_outcome, log.database, shown[0])
    every = await log.call(traced.by_channel, log.database, shown[0])
    channels = every[:CHANNELS]
    # Not for who reads some collections alone: the name of a channel may tell what is talked about there.
    known = channels if visit.session.collections is None else ()
    names = await visit.site.names.of(nobody_in(each.of) for each in known)
    return visit.show(
        "spend.html", title="Spend and health", since=shown[0], daily=daily,
        channels=[replace(each, of=shown_channel(visit.session, each.of)) for each in channels],
        names=names, hidden=len(every[CHANNELS:]), models=sum_models(models),
        outcomes=sorted(outcomes, key=lambda each: -each.questions),
        plots=_plots(shown, daily, site.settings.currency), total=traced.total_of(daily),
        currency=site.settings.currency, bounds=traced.BOUNDS, took=took, money=money,
        gauges=await site.work.gauges(), is_answering=site.meters is not None,
        disk=await asyncio.to_thread(_disk, site),
        refresh_age=await asyncio.to_thread(site.library.refresh_age),
    )  # fmt: skip


def sum_models(models: Sequence[traced.ModelSums]) -> tuple[traced.ModelSums, ...]:
    """Each model over all of its days, the one that took the most tokens first."""
    days: dict[str, list[traced.ModelSums]] = {}
    for each in models:
        days.setdefault(each.model, []).append(each)
    sums = [
        traced.ModelSums(
            day="",
            model=model,
            input_tokens=sum(each.input_tokens for each in own),
            output_tokens=sum(each.output_tokens for each in own),
            cost=sum(costs) if (costs := [each.cost for each in own if each.cost is not None]) else None,
        )
        for model, own in days.items()
    ]
    return tuple(sorted(sums, key=lambda one: -one.input_tokens - one.output_tokens))


def _plots(days: Sequence[str], daily: Sequence[traced.Sums], currency: str) -> tuple[Plot, ...]:
    of_day = {each.of: each for each in daily}
    there = [of_day.get(day) for day in days]

    def counted(name: str, field: str) -> Series:
        numbers = (None if each is None else getattr(each, field) for each in there)
        return Series(name=name, numbers=tuple(numbers))

    def lasting(name: str, share: float) -> Series:
        numbers = (None if each is None else traced.quantile(share, each.within) for each in there)
        return Series(name=name, numbers=tuple(numbers))

    plots = [bar_plot("questions", "Questions", days, [counted("questions", "questions")])]
    if any(each.input_tokens or each.output_tokens for each in daily):
        tokens = [counted("read", "input_tokens"), counted("written", "output_tokens")]
        plots.append(bar_plot("tokens", "Tokens", days, tokens))
    if any(each.cost is not None for each in daily):
        plots.append(bar_plot("money", f"Money, {currency}", days, [counted(currency, "cost")]))
    times = [lasting("median", 0.5), lasting("p95", 0.95)]
    return (*plots, line_plot("latency", "Time to the end, at most", days, times, " s"))


def took(share: float, within: Sequence[int]) -> str:
    """ "≤ 5 s": the bound of a bucket."""
    seconds = traced.quantile(share, within)
    if seconds is None:
        return ""
    return f"≤ {seconds:g} s" if seconds <= traced.BOUNDS[-1] else f"> {traced.BOUNDS[-1]:g} s"


def money(cost: float | None) -> str:
    """Four digits after the point, as an answer costs a fraction of a cent; empty: unknown."""
    return "" if cost is None else f"{cost:,.2f}" if cost >= 100 else f"{cost:.4f}"


def _disk(site: Site) -> tuple[int, int, int] | None:
    """The bytes of the disk of the data folder, as shutil names them; None where it cannot be read. Blocks."""
    try:
        return shutil.disk_usage(site.settings.data_dir)
    except OSError:
        return None
