"""What a view of the operators' page costs, with many questions in the log."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from time import process_time

from fakes.desk import HANDBOOK, NOON, Browser, Desk, answered, asked, open_desk, traced

from benchmarks import Say
from bots.eval.report import Section, Table
from core.text.terms import comparable
from core.traces import figures
from core.traces.log import _RECORD
from core.traces.trace import packed, with_outcome

STORED, QUICK_STORED = 100_000, 500  # questions
DOCUMENTS, QUICK_DOCUMENTS = 500, 5
BAR = 100.0  # milliseconds of CPU for one view
TIMES = 5
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


def run(say: Say, *, quick: bool = False) -> Section:
    stored = QUICK_STORED if quick else STORED
    rows = asyncio.run(_measure(stored, say))
    return Section(
        name="page",
        title="The operators' page",
        what=(
            f"CPU time of one view with {stored:,} questions stored, their words and traces too: the median and the "
            f"most of {TIMES}, of the whole process, which is also the browser here."
        ),
        tables=(
            Table(
                title="CPU of one view",
                columns=("view", "median, ms", "most, ms", "kilobytes", "bar, ms"),
                rows=tuple(rows),
            ),
        ),
        figures={"most CPU ms of a view": max(row[2] for row in rows)},
    )


async def _measure(stored: int, say: Say) -> list[tuple[str, float, float, float, float]]:
    with tempfile.TemporaryDirectory(prefix="footnote-") as folder:
        async with open_desk(Path(folder)) as desk:
            say(f"storing {stored:,} questions")
            desk.footnote.log.now = desk.gaps.now = lambda: NOON
            (docs := Path(folder) / "docs").mkdir()
            for number in range(DOCUMENTS if stored == STORED else QUICK_DOCUMENTS):
                (docs / f"{number}.md").write_text(HANDBOOK)
            desk.footnote.library.ingest([docs], collection="default")
            _store(desk, stored)
            editor = await desk.browser()
            reader = await desk.browser("reader", collections=frozenset({"default"}))
            middle = f"{NOON - stored / 2 * SPACING!r}%20q{stored // 2}"
            views = {
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
                "Gaps, 90 days": (editor, "/gaps?since=90d"),
                "Overview": (editor, "/"),
                "Overview, 90 days": (editor, "/?days=90"),
                "Spend, 30 days": (editor, "/spend"),
                "Spend, 90 days": (editor, "/spend?days=90"),
                "Sources": (editor, "/sources"),
                "a collection": (editor, "/sources?collection=default"),
                "Answers": (editor, "/answers"),
            }
            return [await _view(name, *view) for name, view in views.items()]


async def _view(name: str, browser: Browser, path: str) -> tuple[str, float, float, float, float]:
    spent, size = [], 0
    status, _ = await browser.get(path)  # the first is a start, and of gaps the making of a report
    for _ in range(TIMES):
        began = process_time()
        status, page = await browser.get(path)
        spent.append((process_time() - began) * 1000)
        size = len(page.encode())
        if status != 200:
            raise RuntimeError(f"{path} was answered with {status}")
    return name, median(spent), max(spent), size / 1000, BAR


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
            row = log._row(turn, outcome, traced(), turn.id)
            writing.execute(_RECORD, (*row, comparable(turn.text)))
            # Their sums fill a whole year, in as many channels.
            day = NOON - number * 365 * 86_400 / stored
            figures.count(writing, replace(log._counted(turn, outcome, day), seconds=random.expovariate(0.2)))
            content = packed(with_outcome(replace(traced(), standalone=words), outcome))
            writing.execute("INSERT INTO traces VALUES (?, ?, ?)", (turn.id, turn.asked_at, content))
            if number % 20 == 0:
                writing.execute(
                    "INSERT INTO ratings (turn, author, is_positive, given_at) VALUES (?, ?, ?, ?)",
                    (turn.id, turn.author, int(number % 60 != 0), turn.asked_at),
                )
