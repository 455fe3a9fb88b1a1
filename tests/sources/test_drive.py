"""After each sync the library equals the Google Drive, exactly, with who may read what."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from fakes.drive.author import DriveAuthor
from fakes.drive.server import FakeDrive
from source_desk import open_desk

from core.library.sync import SyncReport
from core.sources.drive.source import KIND, open_drive
from core.sources.kinds import KINDS
from core.sources.source import SourceContext


@pytest.fixture
async def google(tmp_path):
    async with FakeDrive() as google:
        google.write_account(tmp_path / "account.json")
        yield google


@pytest.fixture
def settings(settings, tmp_path):
    return replace(settings, drive_credentials=str(tmp_path / "account.json"))


@pytest.fixture
def desk(settings, clock, google):
    kinds = {**KINDS, "drive": replace(KIND, open=partial(open_drive, base=google.base))}
    with open_desk(settings, clock, kinds) as desk:
        yield desk


async def ingest(desk, root, **more) -> SyncReport:
    return await desk.syncs.ingest(f"drive:{root}", collection="default", **more)


class Follower:
    """What an engine would store that takes each batch."""

    def __init__(self, settings, google, folder, root) -> None:
        self.settings, self.google, self.folder, self.root = settings, google, folder, root
        self.items, self.cursor, self.note = {}, None, ""

    async def sync(self):
        context = SourceContext(settings=self.settings, folder=self.folder)
        async with open_drive(f"drive:{self.root}", context, base=self.google.base) as source:
            async for batch in source.changes(self.cursor):
                self.items |= {item.id: item for item in batch.items}
                for each in batch.gone:
                    self.items.pop(each, None)
                self.cursor, self.note = batch.cursor, batch.note
        return self

    @property
    def readers(self):
        return {each.id: each.readers for each in self.items.values()}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(4))
async def test_items_and_their_readers_equal_the_drive_after_each_sync(
    settings, google, tmp_path, shared, seed
):
    google.page_limit = 5
    author = DriveAuthor(google.world, shared=shared, seed=seed)
    author.begin(30)
    follower = Follower(settings, google, tmp_path / "source", author.root)
    for _ in range(25):
        await follower.sync()
        assert follower.readers == author.readers()
        author.go_on(author.chance.randint(1, 12))
