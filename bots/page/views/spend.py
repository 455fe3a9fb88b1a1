"""The cost of answers, how long they took and how they ended, as figures and plots by day; and whether this process
can answer now.

Only figures: they name no person and quote nothing, so whoever is in may read them.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from aiohttp import web

from bots.log_words import ENDINGS
from bots.page.names import speaker_in
from bots.page.plots import Plot, Series, bar_plot, line_plot
from bots.page.rights import channel_told
from bots.page.site import PageRoute, Site, View, Visit
from core.conversation import value
from core.storage.database import Database
from core.traces.figures import (
    BOUNDS,
    ModelSums,
    Sums,
    by_channel,
    by_day,
    by_model,
    by_outcome,
    day_of,
    seconds_of,
    total_of,
)
from core.traces.names import KnownNames

CHANNELS = 50  # that are shown, those that took the most tokens first


@value
class Figures:
    """The figures of the days that are shown."""

    days: tuple[Sums, ...]
    channels: tuple[Sums, ...]
    outcomes: tuple[Sums, ...]
    models: tuple[ModelSums, ...]


@value
class Disk:
    free: int  #: bytes
    total: int

    @property
    def used_share(self) -> float:
        return 1 - self.free / self.total if self.total else 1.0


async def show_spend(visit: Visit) -> web.Response:
    site = visit.site
    shown = days_until(day_of(site.log.now()), visit.days)
    figures = await site.log.database.call(_figures, site.log.database.database, shown[0])
    return visit.show(
        "spend.html",
        title="Spend and health",
        since=shown[0],
        figures=figures,
        channels=[
            replace(each, of=channel_told(visit.session, each.of)) for each in figures.channels[:CHANNELS]
        ],
        names=await _channel_names(visit, [each.of for each in figures.channels[:CHANNELS]]),
        hidden=len(figures.channels[CHANNELS:]),
        models=sum_models(figures.models),
        plots=_plots(shown, figures, site.settings.currency),
        total=total_of(figures.days),
        currency=site.settings.currency,
        bounds=BOUNDS,
        endings=ENDINGS,
        took=took,
        money=money,
        gauges=await site.work.gauges(),
        is_answering=site.meters is not None,
        disk=await asyncio.to_thread(_disk, site),
        refresh_age=await asyncio.to_thread(site.library.refresh_age),
    )


async def _channel_names(visit: Visit, channels: Sequence[str]) -> KnownNames:
    """None for who reads some collections alone: the name of a channel may tell what is talked about there."""
    if visit.session.collections is not None:
        return KnownNames()
    return await visit.site.names.of(map(speaker_in, channels))


def _figures(database: Database, since: str) -> Figures:
    return Figures(
        days=by_day(database, since),
        channels=by_channel(database, since),
        outcomes=tuple(sorted(by_outcome(database, since), key=lambda each: -each.questions)),
        models=by_model(database, since),
    )


def days_until(last: str, count: int) -> tuple[str, ...]:
    """So many days in a row, the last one at the end."""
    end = date.fromisoformat(last)
    return tuple((end - timedelta(days=back)).isoformat() for back in reversed(range(count)))


def sum_models(models: Sequence[ModelSums]) -> tuple[ModelSums, ...]:
    """Each model over all of its days, the one that took the most tokens first."""
    sums: dict[str, ModelSums] = {}
    for each in models:
        before = sums.get(each.model)
        costs = [one.cost for one in (before, each) if one is not None and one.cost is not None]
        sums[each.model] = ModelSums(
            day="",
            model=each.model,
            input_tokens=each.input_tokens + (before.input_tokens if before else 0),
            output_tokens=each.output_tokens + (before.output_tokens if before else 0),
            cost=sum(costs) if costs else None,
        )
    return tuple(sorted(sums.values(), key=lambda one: -one.input_tokens - one.output_tokens))


def _plots(days: Sequence[str], figures: Figures, currency: str) -> tuple[Plot, ...]:
    of_day = {each.of: each for each in figures.days}
    there = [of_day.get(day) for day in days]

    def counted(name: str, field: str) -> Series:
        return Series(
            name=name, numbers=tuple(None if each is None else getattr(each, field) for each in there)
        )

    def lasting(name: str, share: float) -> Series:
        return Series(
            name=name,
            numbers=tuple(None if each is None else seconds_of(share, each.within) for each in there),
        )

    tokens = [counted("read", "input_tokens"), counted("written", "output_tokens")]
    cost = [counted(currency, "cost")] if any(each.cost is not None for each in figures.days) else []
    has_tokens = any(each.input_tokens or each.output_tokens for each in figures.days)
    return (
        bar_plot("questions", "Questions", days, [counted("questions", "questions")]),
        *([bar_plot("tokens", "Tokens", days, tokens)] if has_tokens else []),
        *(bar_plot("money", f"Money, {currency}", days, [each]) for each in cost),
        line_plot("latency", "Time to the end, at most", days,
                  [lasting("median", 0.5), lasting("p95", 0.95)], " s"),
    )  # fmt: skip


def took(share: float, within: Sequence[int]) -> str:
    """ "≤ 5 s": what buckets can tell."""
    seconds = seconds_of(share, within)
    if seconds is None:
        return ""
    return f"≤ {seconds:g} s" if seconds <= BOUNDS[-1] else f"> {BOUNDS[-1]:g} s"


def money(cost: float | None) -> str:
    """Four digits after the point, as an answer costs a fraction of a cent; empty: unknown."""
    return "" if cost is None else f"{cost:,.2f}" if cost >= 100 else f"{cost:.4f}"


def _disk(site: Site) -> Disk | None:
    """The disk of the data folder; None where it cannot be read. Blocks."""
    try:
        usage = shutil.disk_usage(site.settings.data_dir)
    except OSError:
        return None
    return Disk(free=usage.free, total=usage.total)


VIEW = View(
    title="Spend", path="/spend", key="h", is_ranged=True, routes=(PageRoute("GET", "/spend", show_spend),)
)
