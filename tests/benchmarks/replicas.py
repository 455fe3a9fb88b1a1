"""Questions through Slack and Discord while the three processes that serve them have no peace.

The real command, three times, on a PostgreSQL of its own, with local servers for Slack, Discord and the model. In
any order, and with questions all the while: processes are killed (SIGKILL) and others begin; processes sleep past
their lease (SIGSTOP) and wake; each is replaced by a new one, which a stop (SIGTERM) makes room for; PostgreSQL is
restarted; nobody reaches it for a while. A tenth of the questions are for the web, and whoever asked allows the
search. It fails when a question is lost or answered twice, when what a search found is told twice or not at all,
when two processes think in one conversation, when an order is broken that is promised, or when Discord is without
a connection for too long.

`--questions 150 --kills 20 --pauses 3 --deploys 2 --restarts 1 --outages 1` is a tenth of it. What one seed draws
depends on nothing else, but when it happens depends on the machine.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
from math import isnan
from pathlib import Path

from fakes.cluster import Befall, Cluster, befall
from fakes.crowd import Asked, Crowd, Tally
from fakes.discord import FakeDiscord
from fakes.postgres import PostgresServer
from fakes.served import FRANCE
from fakes.slack import FakeSlack
from fakes.thoughts import WatchedModel
from fakes.web_servers import FakeSearXNG

from benchmarks import Say
from bots.testing.report import Section, Table, percentile
from core.conversation import value

FAILOVER = 15.0  # seconds in which another process is connected to Discord


@value
class Sizes:
    questions: int
    kills: int
    pauses: int
    deploys: int
    restarts: int
    outages: int
    away: float = 30.0  #: seconds of an outage


def fates_of(cluster: Cluster, sizes: Sizes) -> dict[Befall, int]:
    async def restart_database() -> None:
        await cluster.lose_database(0.0)

    async def lose_database() -> None:
        await cluster.lose_database(sizes.away)

    return {
        cluster.kill: sizes.kills, cluster.pause: sizes.pauses, cluster.deploy: sizes.deploys,
        restart_database: sizes.restarts, lose_database: sizes.outages,
    }  # fmt: skip


async def story(
    sizes: Sizes, seed: int, minutes: float, folder: Path, say: Say
) -> tuple[dict[str, float], list[str]]:
    """Figures, and what should not be."""
    with PostgresServer.started() as server, server.database() as url:
        async with (
            FakeSlack(retries_by_itself=True) as slack, FakeDiscord() as discord, WatchedModel() as model,
            FakeSearXNG([FRANCE]) as engine,
        ):  # fmt: skip
            discord.hasten()
            cluster = Cluster(folder, server, url, slack, discord, model, random.Random(seed))
            cluster.settings = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
            crowd = Crowd(slack, discord, random.Random(seed))
            async with cluster.serving():
                await befall(
                    cluster,
                    crowd,
                    fates_of(cluster, sizes),
                    questions=sizes.questions,
                    say=say,
                    within=60 * minutes,
                )
                tally = Tally.of(crowd, url)
                return figures(tally, cluster), failures(tally, cluster)


def figures(tally: Tally, cluster: Cluster) -> dict[str, float]:
    fates, beside = cluster.fates, cluster.model.side_by_side(tally.crowd.conversation_of)
    # One that was killed while it wrote its last checks may have nothing left to think about.
    again = [each for cut_off in fates.cut_off if not isnan(each := cluster.model.until_again(*cut_off))]
    return {
        "questions": len(tally.crowd.asked),
        "lost": len(tally.lost),
        "answered twice": len(tally.doubled),
        "thoughts side by side in one conversation": len(beside),
        "swapped against the promise": len(tally.swapped_against_promise),
        "swapped in all": len(tally.swapped),
        "conversations": len({each.conversation for each in tally.crowd.asked}),
        "answered with a footnote": tally.answered,
        "searches allowed": len(tally.crowd.searches),
        "searches of which nothing was told": len(tally.searches_without),
        "searches told twice": len(tally.searches_told_twice),
        "kills": fates.kills,
        "kills of a process that was thinking": fates.kills_while_thinking,
        "until a killed turn is thought about again p50, s": percentile(again, 0.5) if again else 0.0,
        "the same at most, s": max(again, default=0.0),
        "pauses": fates.pauses,
        "deploys": fates.deploys,
        "restarts and outages of the database": fates.outages,
        "times that the gateway passed on": len(fates.failovers),
        "longest without it, s": fates.longest_failover,
        **{f"turns that ran {each} times": turns for each, turns in sorted(tally.tries.items())},
    }


def failures(tally: Tally, cluster: Cluster) -> list[str]:
    """What should not be, with the turn that it is about."""
    beside = cluster.model.side_by_side(tally.crowd.conversation_of)
    return [
        *(
            f"lost: {_told(each)}; {tally.traces(each)}"
            for each in tally.crowd.asked
            if each.turn in tally.lost
        ),
        *(f"answered twice: {_told(each)}" for each in tally.crowd.asked if each.turn in tally.doubled),
        *(f"told of no search: {each}" for each in tally.searches_without),
        *(f"told of a search twice: {each}" for each in tally.searches_told_twice),
        *(f"swapped: {one} and {other}" for one, other in tally.swapped_against_promise),
        *(f"side by side for {one.overlaps(other):.2f} s: {one} and {other}" for one, other in beside),
        *(f"the gateway was away for {each:.1f} s" for each in cluster.fates.failovers if each > FAILOVER),
    ]


def _told(asked: Asked) -> str:
    return f"{asked.turn}, asked {time.strftime('%H:%M:%S', time.gmtime(asked.at))}"


def run(
    say: Say, *, questions: int = 1_000, kills: int = 200, pauses: int = 20, deploys: int = 10,
    restarts: int = 2, outages: int = 1, away: float = 30.0, seed: int = 1, minutes: float = 45.0, keep: str = "",
) -> Section:  # fmt: skip
    """After so many ``minutes`` nothing more happens; an outage lasts ``away`` seconds; ``keep`` names a folder for
    the logs of the processes."""
    sizes = Sizes(
        questions=questions,
        kills=kills,
        pauses=pauses,
        deploys=deploys,
        restarts=restarts,
        outages=outages,
        away=away,
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            found, wrong = asyncio.run(story(sizes, seed, minutes, Path(folder), say))
        finally:
            if keep:
                shutil.copytree(folder, keep, dirs_exist_ok=True)
    for each in wrong:
        say(each)
    return Section(
        name="replicas",
        title="Three processes that have no peace",
        what=f"Seed {seed}; {len(wrong)} failures.",
        tables=(Table(title="What became of it", columns=("what", "measured"), rows=tuple(found.items())),),
        figures=found | {"failed": float(len(wrong))},
    )
