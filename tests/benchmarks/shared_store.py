"""What a question takes when several processes share one PostgreSQL: their processor time and the server's,
transactions, log and room. The real command, Slack and the model as in the benchmark `load`.

CPU and counts are less what the same processes use when nothing is asked. On two processors all of it shares what
there is, so the counts say more than the time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
from fakes.postgres import PostgresServer

from benchmarks import Say
from benchmarks.load import IDLE, Answers, Load, Office, ask, cpu_of
from benchmarks.processes import by_count, serving_together
from bots.testing.report import Section, Table
from core.conversation import value

SETTLED = 3.0  # seconds until the server has counted what it did
_COUNTS = """
SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
    pg_current_wal_lsn() - '0/0'::pg_lsn, pg_database_size(current_database()),
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())
"""


@value
class Taken:
    """Until a moment."""

    at: float  #: seconds, by the monotonic clock
    bots: float  #: CPU of all processes, milliseconds
    server: float  #: CPU of PostgreSQL, milliseconds
    transactions: int
    log: int  #: bytes of the write-ahead log
    room: int  #: bytes of the database
    connections: int  #: at that moment

    def each(self, before: Taken, count: float) -> dict[str, float]:
        """What was taken since then, by a count of questions or of seconds."""
        return {
            "CPU ms of the processes": (self.bots - before.bots) / count,
            "CPU ms of PostgreSQL": (self.server - before.server) / count,
            "transactions": (self.transactions - before.transactions) / count,
            "bytes of the write-ahead log": (self.log - before.log) / count,
        }


def taken(server: PostgresServer, url: str, offices: Sequence[Office]) -> Taken:
    with psycopg.connect(url) as connection:
        transactions, log, room, connections = connection.execute(_COUNTS).fetchone() or (0, 0, 0, 0)
    return Taken(
        at=time.monotonic(),
        bots=sum(cpu_of(office.process.pid) for office in offices),
        server=cpu_of_server(server),
        transactions=transactions,
        log=int(log),
        room=room,
        connections=connections - 1,
    )


def cpu_of_server(server: PostgresServer) -> float:
    """Of those that live, and of those that ended, whose time the first of them has."""
    first = int((server.data / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    cpu = cpu_of(first, with_ended=True)
    for pid in children:
        with suppress(FileNotFoundError):  # it ended meanwhile
            cpu += cpu_of(int(pid))
    return cpu


async def measure(
    asked: Load, processes: int, server: PostgresServer, url: str, scratch: Path
) -> dict[str, float]:
    async with serving_together(processes, url, scratch, latency=asked.latency) as company:
        began = taken(server, url, company.offices)
        await asyncio.sleep(IDLE)
        before = taken(server, url, company.offices)
        answers = Answers(company.slack)
        await ask(company.slack, company.ann, company.channels, asked, answers)
        await answers.until_all_there()
        await asyncio.sleep(SETTLED)
        after = taken(server, url, company.offices)
    return _figures(began, before, after, len(answers.asked), len(answers.at))


def _figures(began: Taken, before: Taken, after: Taken, asked: int, answered: int) -> dict[str, float]:
    idle = before.each(began, before.at - began.at)
    seconds = (after.at - before.at) / asked
    return {
        "questions": asked,
        "answered": answered,
        **{f"{what}, a second, idle": used for what, used in idle.items()},
        **{
            f"{what}, a question, less idle": used - seconds * idle[what]
            for what, used in after.each(before, asked).items()
        },
        "bytes of the database, a question": (after.room - before.room) / asked,
        "connections": after.connections,
    }


def run(
    say: Say,
    *,
    processes: str = "1,3",
    rate: float = 2.0,
    seconds: float = 60.0,
    latency: float = 0.4,
    quick: bool = False,
) -> Section:
    """``rate`` questions a second, the model takes ``latency`` seconds a reply."""
    asked = Load(rate=rate, events=0, seconds=5.0 if quick else seconds, latency=latency, is_watched=False)

    async def of(count: int, server: PostgresServer, url: str, scratch: Path) -> dict[str, float]:
        say(f"{count} processes, {asked.rate * asked.seconds:,.0f} questions")
        return await measure(asked, count, server, url, scratch)

    found = {str(count): figures for count, figures in by_count(processes, of).items()}
    columns = tuple(found)
    rows = tuple((what, *(found[count][what] for count in columns)) for what in found[columns[0]])
    return Section(
        name="shared_store",
        title="Several processes on one PostgreSQL",
        what=f"{rate:g} questions a second through Slack, {latency:g} seconds a reply of the model.",
        tables=(Table(title="What it takes", columns=("by the number of processes", *columns), rows=rows),),
        figures={f"{what}, {count}": each for count in columns for what, each in found[count].items()},
    )
