"""The functions and files that a question in Slack, an approved search and an ingested repository enter.

Each is counted once, formatting and answering included; lambdas, comprehensions and special methods are not. What is
cached is cached by a question before. Three are recorded, and what only some of them enter is left out, as are the notes
that a message shows meanwhile: both depend on how fast the machine is.
“Looked up again” are queries of the stores that were sent more than once with the same values.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.thread import _WorkItem
from contextlib import asynccontextmanager, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import CodeType, FrameType
from unittest.mock import patch

from fakes.office import CUP, FERRY, FRANCE, PATIENCE, make_data_dir
from fakes.slack import FakeSlack, Message
from fakes.web_servers import FakeSearXNG

from benchmarks import ROOT, Say
from bots.chat import messenger
from bots.chat.channels import ChannelStore, open_channel_store
from bots.commands.run import schedule_of
from bots.slack.serve import open_slack
from bots.slack.settings import read_slack_settings
from bots.testing.report import Section, Table
from core.bootstrap import open_footnote
from core.settings import read_settings
from core.storage.storage import Storage
from core.turns.turns import open_turns

PRODUCT = ("bots/", "core/")
RUNS = 3  #: of which each enters what counts
PAGES = {
    "harbour.md": "# Harbour\n\nThe pontoon closes at nine.\n",
    "docs/ferry.md": "# Ferry\n\nIt sails at ten.\n",
}


@dataclass
class Way:
    """The functions that were entered below these folders each time it was recorded: (file, name)."""

    below: tuple[str, ...] = PRODUCT
    entered: set[tuple[str, str]] = field(default_factory=set)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        run, codes = _WorkItem.run, dict[int, CodeType]()  # by id: to hash a code is to hash all of it

        def enter(frame: FrameType, event: str, _argument: object) -> None:
            if event == "call":
                codes[id(frame.f_code)] = frame.f_code

        def run_noted(item: _WorkItem) -> None:
            sys.setprofile(enter)
            try:
                run(item)
            finally:
                sys.setprofile(None)

        threading.setprofile(enter)
        sys.setprofile(enter)
        # A thread of a pool that was there before is told with the next thing that it does.
        with patch.object(_WorkItem, "run", run_noted):
            try:
                yield
            finally:
                sys.setprofile(None)
                threading.setprofile(None)
        entered = {*self._names(codes.values())}
        self.entered = self.entered & entered if self.entered else entered

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.entered}

    def _names(self, codes: Iterable[CodeType]) -> Iterator[tuple[str, str]]:
        for code in codes:
            file, name = code.co_filename.removeprefix(f"{ROOT}/"), code.co_qualname
            if file.startswith(self.below) and name.rpartition(".")[2][0] != "<" and not name.endswith("__"):
                yield file, name


@contextmanager
def queries_counted() -> Iterator[Counter[str]]:
    """The SELECTs, with their values, that connections send which are opened meanwhile."""
    counted: Counter[str] = Counter()
    connect = sqlite3.connect

    def note(statement: str) -> None:
        if statement.startswith("SELECT"):
            counted[" ".join(statement.split())] += 1

    def connecting(*given: object, **options: object) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **options)  # type: ignore[call-overload]
        connection.set_trace_callback(note)
        return connection

    with patch("sqlite3.connect", connecting):
        yield counted


@asynccontextmanager
async def served(folder: Path, slack: FakeSlack, searxng: FakeSearXNG) -> AsyncIterator[ChannelStore]:
    """Footnote in this process, by words alone and without a model."""
    settings = read_settings(
        {
            "DATA_DIR": str(folder / ".footnote"), "EMBEDDING_MODEL": "none",
            "WEB_SEARCH": "searxng", "SEARXNG_URL": searxng.url,
        },
        None,
    )  # fmt: skip
    no_notes = patch.object(messenger, "BETWEEN", 3_600.0)
    queue = f"sqlite:///{settings.data_dir / 'turns.sqlite'}"
    with no_notes, open_channel_store(Storage(data_dir=settings.data_dir)) as channels:
        async with (
            open_footnote(settings, purpose="a benchmark", reads=channels.reads) as footnote,
            open_slack(read_slack_settings(slack.environment, None), footnote, channels) as server,
            open_turns(footnote.assistant, {"slack": server.messenger}, database_url=queue) as turns,
            server.serving(turns, None, schedule_of(footnote, turns), None),
        ):
            await slack.until_connected(2, within=PATIENCE)
            yield channels


async def answered(slack: FakeSlack, asked: Message, count: int = 1) -> list[Message]:
    """So many final messages in the thread, and nothing else."""

    def finals() -> Sequence[Message]:
        found, shown = slack.finals(asked.channel, asked.ts), slack.replies(asked.channel, asked.ts)
        return found if len(found) == len(shown) == count else []

    await slack.until_acked(asked, within=PATIENCE)
    return list(await slack.until(finals, within=PATIENCE))


async def ask(slack: FakeSlack, user: str, channel: str, way: Way) -> None:
    with way.recorded():
        await answered(slack, await slack.mention(user, channel, FERRY))


async def approve(
    slack: FakeSlack, user: str, channel: str, way: Way, begin: Callable[[], None] = lambda: None
) -> None:
    """Approves a proposal that is made before the recording; ``begin`` is called between both."""
    asked = await slack.mention(user, channel, CUP)
    (card,) = await answered(slack, asked)
    begin()
    with way.recorded():
        await slack.press(card, "approve", user)
        await answered(slack, asked, 2)


async def in_slack(folder: Path) -> Mapping[str, tuple[Way, Counter[str]]]:
    """The ways of a question and of an approval, with what was asked of the stores."""
    await asyncio.to_thread(make_data_dir, folder)
    ways: dict[str, tuple[Way, Counter[str]]] = {}
    with queries_counted() as counted:
        async with FakeSlack() as slack, FakeSearXNG([FRANCE]) as searxng, served(folder, slack, searxng):
            ann = slack.add_user("ann")
            general = slack.add_channel("general", ann)
            await answered(slack, await slack.mention(ann, general, FERRY))
            question, approval = Way(), Way()
            for _ in range(RUNS):
                counted.clear()
                await ask(slack, ann, general, question)
                ways["question"] = question, Counter(counted)
            for _ in range(RUNS):
                await approve(slack, ann, general, approval, counted.clear)
                ways["approval"] = approval, Counter(counted)
    return ways


def of_a_repository(folder: Path) -> tuple[Way, Counter[str]]:
    """The way of a repository of two files that is ingested by its command."""
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "Write"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    way = Way()
    with queries_counted() as counted, redirect_stdout(TextIOWrapper(BytesIO())), way.recorded():
        ingested(folder)
    return way, counted


def ingested(folder: Path) -> None:
    from bots.cli import main

    data = {"DATA_DIR": str(folder / ".footnote"), "EMBEDDING_MODEL": "none"}
    with patch.dict("os.environ", data):
        main(["ingest", f"git+{folder.as_uri()}"])


def run(say: Say) -> Section:
    with tempfile.TemporaryDirectory() as scratch:
        say("a question and an approval in Slack")
        slack, repository = Path(scratch, "slack"), Path(scratch, "repository")
        for folder in (slack, repository):
            folder.mkdir()
        ways = dict(asyncio.run(in_slack(slack)))
        say("a repository")
        ways["repository"] = of_a_repository(repository)
    entered = Table(
        title="Entered",
        columns=("way", "files", "functions"),
        rows=tuple((name, len(way.files), len(way.entered)) for name, (way, _) in ways.items()),
    )
    folders = (
        Table(title=f"{name}: by folder", columns=("folder", "files", "functions"), rows=by_folder(way))
        for name, (way, _) in ways.items()
    )
    repeated = (
        Table(title=f"{name}: looked up again", columns=("query", "times"), rows=rows)
        for name, (_, counted) in ways.items()
        if (rows := again(counted))
    )
    return Section(
        name="path",
        title="The way of what people do",
        what="The functions and files that a question in Slack, an approval and an ingested repository enter.",
        tables=(entered, *folders, *repeated),
        figures={
            f"{what} of {name}": count for name, way_of in ways.items() for what, count in counts(way_of[0])
        },
        note="Queries are those of the stores with the same values, cut at 120 characters.",
    )


def counts(way: Way) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("files", len(way.files)), ("functions", len(way.entered))


def by_folder(way: Way) -> tuple[tuple[str, int, int], ...]:
    files = Counter(str(Path(file).parent) for file in way.files)
    functions = Counter(str(Path(file).parent) for file, _ in way.entered)
    return tuple((folder, files[folder], count) for folder, count in functions.most_common())


def again(counted: Counter[str]) -> tuple[tuple[str, int], ...]:
    return tuple((query[:120], times) for query, times in counted.most_common() if times > 1)
