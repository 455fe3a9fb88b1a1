"""What a view of the operators' page costs, with many questions in the log."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import astuple, replace
from pathlib import Path
from random import Random
from statistics import median
from time import process_time

from fakes.desk import HANDBOOK, NOON, Browser, Desk, answered, asked, open_desk, traced
from fakes.postgres import PostgresServer

from benchmarks import Say
from benchmarks.shared_store import cpu_of_server
from bots.testing.report import Section, Table
from core.answers.store import KeptAnswer, put
from core.text.terms import comparable
from core.traces import figures
from core.traces.log import _RECORD
from core.traces.trace import pack, with_outcome

STORED, QUICK_STORED = 100_000, 100  # questions
DOCUMENTS, QUICK_DOCUMENTS = 500, 5
BAR = 100.0  # milliseconds of CPU for one view
TIMES, QUICK_TIMES = 5, 2
ANSWERS = 5_000
PATIENCE = 0.5  # seconds for which a list of gaps waits
STORES = ("SQLite", "PostgreSQL")

Row = tuple[str, float, float, float, float, float]
WORDS = [
    "ferry",
    "pontoon",
    "invoice",
    "holiday",
    "laptop",
    "printer",
    "badge",
    "contract",
    "release",
    "database",
    "backup",
    "vpn",
    "payroll",
]
OUTCOMES = ("answered", "answered", "answered", "no_answer", "approval_needed")
SPACING = 86_400 * 14 / STORED  # seconds: all of them within the days for which texts are kept


def run(say: Say, *, stores: str = ",".join(STORES), quick: bool = False) -> Section:
    stored = QUICK_STORED if quick else STORED
    found: dict[str, list[Row]] = {}
    with PostgresServer.started() as server, server.database() as url:
        for store in stores.split(","):
            say(f"{store}: storing {stored:,} questions")
            on_server = store != STORES[0]
            server_cpu = (lambda: cpu_of_server(server)) if on_server else (lambda: 0.0)
            found[store] = asyncio.run(_measure(stored, url if on_server else "", server_cpu))
    return Section(
        name="page",
        title="The operators' page",
        what=(
            f"CPU time of one view with {stored:,} questions stored, their words and traces too, and {ANSWERS:,} kept "
            f"answers: the first time, and the median and the most of {TIMES} more. Of the whole process, which is also "
            "the browser here, and of PostgreSQL. The first time of gaps is also the grouping of them, in a thread, "
            f"while a first list is shown: after {PATIENCE:g} s at the latest, of which it takes what stands beside it."
        ),
        tables=tuple(
            Table(
                title=f"CPU of one view, {store}",
                columns=("view", "first, ms", "median, ms", "most, ms", "kilobytes", "bar, ms"),
                rows=tuple(rows),
            )
            for store, rows in found.items()
        ),
        figures={
            f"most CPU ms of a view, {store}": max(row[2] for row in rows) for store, rows in found.items()
        },
    )


async def _measure(stored: int, url: str, server_cpu: Callable[[], float]) -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="footnote-") as folder:
        async with open_desk(Path(folder), patience=PATIENCE, database_url=url) as desk:
            desk.footnote.log.now = desk.gaps.now = lambda: NOON
            (docs := Path(folder) / "docs").mkdir()
            for number in range(DOCUMENTS if stored == STORED else QUICK_DOCUMENTS):
                (docs / f"{number}.md").write_text(HANDBOOK)
            desk.footnote.library.ingest([docs], collection="default")
            _store(desk, stored)
            _store_answers(desk, ANSWERS if stored == STORED else QUICK_DOCUMENTS)
            if url:  # as its autovacuum does within a minute
                with desk.footnote.log.database.database.transaction() as writing:
                    writing.execute("ANALYZE questions")
            editor = await desk.browser()
            reader = await desk.browser("reader", collections=frozenset({"default"}))
            middle = f"{NOON - stored / 2 * SPACING!r}%20q{stored // 2}"
            views = {
                "Overview": (editor, "/"),
                "Overview, 90 days": (editor, "/?days=90"),
                "Questions, newest": (editor, "/questions"),
                "Questions, from the middle": (editor, f"/questions?before={middle}"),
                "of one outcome": (editor, "/questions?outcome=no_answer"),
                "of one person": (editor, "/questions?author=U7"),
                "of a person who asked nothing": (editor, "/questions?author=nobody"),
                "of a channel": (editor, "/questions?channel=C3"),
                "rated down": (editor, "/questions?rated=down"),
                "with a word that is common": (editor, "/questions?text=ferry"),
                "with a word that none has": (editor, "/questions?text=zeppelin"),
                "for who reads one collection": (reader, "/questions"),
                "with a word, for who reads one collection": (reader, "/questions?text=ferry"),
                "a trace": (editor, f"/questions/q{stored // 3}"),
                "Ask": (editor, "/ask"),
                "Changes": (editor, "/changes"),
                "Sessions": (editor, "/sessions"),
                "Gaps, 7 days": (editor, "/gaps"),
                "Gaps, 90 days": (editor, "/gaps?days=90"),
                "Spend, 30 days": (editor, "/spend"),
                "Spend, 90 days": (editor, "/spend?days=90"),
                "Sources": (editor, "/sources"),
                "a collection": (editor, "/sources?collection=default"),
                "Answers": (editor, "/answers"),
                "Answers, with a word": (editor, "/answers?text=ferry"),
                "Answers, to review": (editor, "/answers?show=due"),
                "an answer": (editor, "/answers/a1"),
            }
            times = TIMES if stored == STORED else QUICK_TIMES
            return [(name, *await _view(desk, *view, times, server_cpu), BAR) for name, view in views.items()]


async def _view(
    desk: Desk, browser: Browser, path: str, times: int, server_cpu: Callable[[], float]
) -> tuple[float, float, float, float]:
    """Milliseconds the first time, then the median and the most, and kilobytes."""
    spent, size = [], 0
    for _ in range(1 + times):
        began = process_time() * 1000 + server_cpu()
        status, page = await browser.get(path)
        spent.append(process_time() * 1000 + server_cpu() - began)
        size = len(page.encode())
        if status != 200:
            raise RuntimeError(f"{path} was answered with {status}")
        await _grouped(desk)
    first, *again = spent
    return first, median(again), max(again), size / 1000


async def _grouped(desk: Desk) -> None:
    """Until nothing is grouped any more, so that it does not count for other views."""
    await asyncio.gather(*desk.reports._making.values())


def _store_answers(desk: Desk, count: int) -> None:
    random = Random(11)
    for number in range(count):
        words = " ".join(random.choices(WORDS, k=9))
        answer = KeptAnswer(
            id=f"a{number}", question=f"How is the {words}?", text=f"It is {words}. " * 10, language="en",
            name="Ann", author="U1", place="#help", conversation="", message="", url=None, collection="default",
            said_at=NOON - number, kept_at=NOON - number, valid_until=NOON + number % 400 * 86_400 - 86_400,
            state="used",
        )  # fmt: skip
        put(desk.footnote.answers.database.database, answer)


def _store(desk: Desk, stored: int) -> None:
    """Rows as the log writes them, in one transaction."""
    random, log = Random(7), desk.footnote.log
    with log.database.database.transaction() as writing:
        for number in range(stored):
            words = " ".join(random.choices(WORDS, k=9))
            turn = asked(
                f"q{number}", f"How is the {words}, and when?", channel=f"C{number % 40}",
                author=f"U{random.randrange(200)}", at=NOON - number * SPACING,
            )  # fmt: skip
            outcome = replace(answered(turn.id), kind=OUTCOMES[number % 5])
            ended = log._to_row(turn, outcome, traced(), turn.id)
            row = [int(each) if isinstance(each, bool) else each for each in astuple(ended)]
            writing.execute(_RECORD, (*row, comparable(turn.text)))
            # Their sums fill a whole year, in as many channels.
            day = NOON - number * 365 * 86_400 / stored
            models = [(each, log.prices.cost(each)) for each in outcome.usage.models]
            counted = replace(ended, asked_at=day, seconds=random.expovariate(0.2))
            figures.count(writing, counted, models)
            content = pack(with_outcome(replace(traced(), standalone=words), outcome))
            writing.execute("INSERT INTO traces VALUES (?, ?, ?)", (turn.id, turn.asked_at, content))
            if number % 20 == 0:
                writing.execute(
                    "INSERT INTO ratings (turn, author, is_positive, given_at) VALUES (?, ?, ?, ?)",
                    (turn.id, turn.author, int(number % 60 != 0), turn.asked_at),
                )
