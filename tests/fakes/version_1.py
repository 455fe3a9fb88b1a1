"""A data folder of version 1, the first that is released: what it holds, and how a test gets a copy.

What lies in ``tests/core/storage/version_1`` was written by that version's own code and is never written again, so that
every later version is tested against it. Until the release, a change of what is stored writes it anew:
``PYTHONPATH=.:tests python -m fakes.version_1``.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from fakes.harbour import CUP_QUESTION, FERRY, FERRY_QUESTION, FRANCE, HARBOUR

from bots.chat.channels import open_channel_store, own_collection
from core.bootstrap import Footnote, open_footnote, open_library, reads_everything
from core.conversation import Conversation, Decision, Question
from core.library.formats.read import parse_html
from core.reasoning.limits import open_budget
from core.settings import Settings
from core.storage.storage import Storage
from core.turns.turns import open_turns

WRITTEN = Path(__file__).resolve().parents[1] / "core" / "storage" / "version_1"
STORES = ("library", "conversations", "turns", "rooms", "spending")

CLUB = "Sailing club\n\nThe clubhouse bar opens on Fridays at six. Guests sign the book at the door.\n"
PAGE = "https://tides.example/pier"
PAGE_HTML = (
    b"<title>Tides</title><h1>Tides</h1><p>High water at the pier comes fifty minutes later every day.</p>"
)
QUAY = Conversation(platform="slack", space="T1", channel="C1", thread="1700000000.000100")
UPLOAD = "# Winter storage\n\nBoats are lifted out in the last week of October.\n"  # in the channel of QUAY
PETROL, EDITED = "Who sets the petrol price in France?", "petrol price France 1998"
SPENT_ON = datetime(2026, 1, 5, tzinfo=UTC)


def lay_down(folder: Path) -> Path:
    """Documents, and beside them the data folder ``.footnote``, which is returned."""
    data = folder / ".footnote"
    write_documents(folder)
    for store in STORES:
        statements = (WRITTEN / f"{store}.sql").read_text(encoding="utf-8").replace("{folder}", str(folder))
        with closing(sqlite3.connect(data / f"{store}.sqlite")) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(f"BEGIN;{statements}COMMIT;")
    return data


def write_documents(folder: Path) -> None:
    uploads = folder / ".footnote" / "learned" / own_collection(QUAY)
    uploads.mkdir(parents=True)
    (uploads / "winter.md").write_text(UPLOAD)
    (folder / "docs").mkdir(exist_ok=True)
    for name, text in (("harbour.md", HARBOUR), ("ferry.md", FERRY), ("club.txt", CLUB)):
        (folder / "docs" / name).write_text(text)


# How it was written


async def write_version_1() -> None:
    """Write ``tests/core/storage/version_1`` with the code of today."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        data = folder / ".footnote"
        write_documents(folder)
        fill_library(folder)
        await _fill_channels(data)
        with open_budget(1_000, Storage(data_dir=data), now=lambda: SPENT_ON) as budget:
            await budget.allowance("", "").charge(42)
        await _fill_conversations_and_turns(data)  # and write them, while both are busy
        for store in ("library", "rooms", "spending"):
            _dump(data / f"{store}.sqlite")


def fill_library(folder: Path) -> None:
    """Three files, one of which was forgotten, a page of the web, and what a channel uploaded."""
    uploads = next((folder / ".footnote" / "learned").iterdir())
    with closing(open_library(Settings(data_dir=folder / ".footnote"))) as library:
        library.ingest([folder / "docs"])
        library.forget(str(folder / "docs" / "club.txt"))
        library.ingest_page(PAGE, parse_html(PAGE_HTML, url=PAGE))
        library.ingest([uploads / "winter.md"], collection=uploads.name)


async def _fill_channels(data: Path) -> None:
    with open_channel_store(Storage(data_dir=data)) as channels:
        await channels.set_follow(QUAY, "mentions")
        await channels.remember_thread(QUAY, "U1", 5.0)
        await channels.move(QUAY, "1700000000.000900")
        await channels.set_watermark("discord", 7)
        await channels.is_first("w1")


async def _fill_conversations_and_turns(data: Path) -> None:
    from fakes.web_servers import HangingSearXNG

    async with HangingSearXNG([FRANCE]) as engine:
        settings = Settings(
            data_dir=data, embedding_model="none", web_search="searxng", searxng_url=engine.url
        )
        async with open_footnote(settings, purpose="a test", reads=reads_everything) as footnote:
            await _talk(footnote)
            proposed = await footnote.assistant.run(_asked("q4", PETROL, "cut"))
            cut = asyncio.create_task(footnote.assistant.run(_allowed(proposed.proposal.id)))
            await engine.asked.wait()
            _dump(data / "conversations.sqlite")
            await _fill_turns(footnote, data / "turns.sqlite")
            cut.cancel()
            await asyncio.wait([cut])


async def _talk(footnote: Footnote) -> None:
    """A question, a follow-up, and one that waits for a decision."""
    for number, text in enumerate((FERRY_QUESTION, "Does it take bicycles?", CUP_QUESTION), 1):
        await footnote.assistant.run(_asked(f"q{number}", text, "ferry"))


async def _fill_turns(footnote: Footnote, file: Path) -> None:
    """Three turns in two conversations, none of which has got further than its first sign."""
    from fakes.messengers import RecordingMessenger

    class SilentMessenger(RecordingMessenger):
        async def begin(self, turn, route, *, is_again):
            self._show("begin", turn)
            await asyncio.Event().wait()

    messenger = SilentMessenger()
    url = f"sqlite:///{file}"
    async with open_turns(footnote.assistant, {"test": messenger}, database_url=url, drain=0.0) as turns:
        for number, thread in ((1, "one"), (2, "one"), (3, "two")):
            await turns.accept(_waiting(f"w{number}", thread), {"thread": thread})
        await messenger.until_shown("begin", "w1")
        await messenger.until_shown("begin", "w3")
        _dump(file)


def _asked(id: str, text: str, thread: str) -> Question:
    return Question(id=id, conversation=of_the_terminal(thread), author="ada", text=text, asked_at=1.0)


def _allowed(proposal: str) -> Decision:
    return Decision(
        id="d1", conversation=of_the_terminal("cut"), author="ada", proposal_id=proposal, verdict="approve",
        query=EDITED, decided_at=2.0,
    )  # fmt: skip


def _waiting(id: str, thread: str) -> Question:
    there = Conversation(platform="test", space="s", channel="c", thread=thread)
    return Question(id=id, conversation=there, author="ada", text="How tall is the tower?", asked_at=1.0)


def of_the_terminal(thread: str) -> Conversation:
    return Conversation(platform="cli", space="local", channel="terminal", thread=thread)


def _dump(file: Path) -> None:
    """The statements that make the file again, as ``sqlite3 FILE .dump`` has them; of FTS5 the rows alone."""
    with closing(sqlite3.connect(file)) as database:
        lines = [
            f"PRAGMA {name} = {database.execute(f'PRAGMA {name}').fetchone()[0]};"
            for name in ("application_id", "user_version")
        ]
        made = database.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        for kind, name, statement in made:
            if name.startswith(("sqlite_", "words_")):
                continue
            lines.append(f"{statement};")
            if kind == "table" and "fts5vocab" not in statement:  # which stores nothing itself
                lines += _rows(database, name, ["rowid"] if "VIRTUAL" in statement else [])
    text = "\n".join(lines).replace(str(file.parents[1]), "{folder}")
    WRITTEN.mkdir(exist_ok=True)
    (WRITTEN / f"{file.stem}.sql").write_text(f"{text}\n", encoding="utf-8")


def _rows(database: sqlite3.Connection, table: str, columns: list[str]) -> list[str]:
    columns = columns + [f'"{row[1]}"' for row in database.execute(f"PRAGMA table_info({table})")]
    values = " || ', ' || ".join(f"quote({column})" for column in columns)
    rows = database.execute(f"SELECT {values} FROM {table}")
    return [f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({row});" for (row,) in rows]


if __name__ == "__main__":
    asyncio.run(write_version_1())
