"""A sync that is killed anywhere while readers change: no word of a page is ever read by whom it was never open to."""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakes.killed_syncs import KilledSyncs, read_while_killed
from fakes.mortal_sync import SHELF
from fakes.sources import Shelf

from core.bootstrap import open_library
from core.library.readers import ReaderSets, base_of, collection_for
from core.storage.storage import open_storage

PEOPLE = tuple(f"p{number}@harbour.example" for number in range(6))
Readers = frozenset[str] | None


@dataclass
class Wiki:
    """A shelf in a file, and all that each of its pages ever was: which version, and who might read it."""

    file: Path
    chance: random.Random
    past: dict[str, list[tuple[int, Readers]]] = field(default_factory=dict)

    def begin(self, pages: int) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        (self.file.parent / "changes").mkdir()
        shelf = Shelf()
        for number in range(pages):
            shelf.write(**{f"w{number}": "Version 1."})
            shelf.restrict(self.some_readers(), f"w{number}")
        shelf.save(self.file)
        self.note(shelf)

    def some_readers(self) -> Readers:
        if self.chance.random() < 0.3:
            return None
        return frozenset(self.chance.sample(PEOPLE, self.chance.randint(0, 3)))

    def note(self, shelf: Shelf) -> None:
        for name in shelf.texts:
            now = shelf.versions[name], shelf.restricted.get(name)
            if self.past.setdefault(name, []) == [] or self.past[name][-1] != now:
                self.past[name].append(now)

    def go_on(self) -> None:
        """Some pages get other readers, some are written anew at the same time, some when they are fetched."""
        shelf = Shelf.saved(self.file)
        names = sorted(shelf.texts)
        for name in self.chance.sample(names, len(names) // 3):
            shelf.restrict(self.some_readers(), name)
            self.note(shelf)
            if self.chance.random() < 0.5:
                shelf.write(**{name: f"Version {shelf.versions[name] + 1}."})
                self.note(shelf)
            if self.chance.random() < 0.3:
                readers = self.chance.sample(PEOPLE, 2)
                (self.file.parent / "changes" / name).write_text(" ".join(readers))
        if self.chance.random() < 0.3:
            shelf.forgets_before = len(shelf.feed)
        shelf.save(self.file)

    def saved(self) -> Shelf:
        shelf = Shelf.saved(self.file)
        self.note(shelf)
        return shelf


def stored(settings) -> dict[str, tuple[int, str]]:
    """The version of each page in the library, and its collection; no page is there twice."""
    with open_storage(settings) as storage, closing(open_library(settings, storage)) as library:
        rows = library.store.database.rows(
            "SELECT d.address, c.name, p.text FROM documents d JOIN collections c ON c.number = d.collection"
            " JOIN passages p ON p.document = d.id"
        )
        opened = {name: ReaderSets(library.store.database).open_to([name]) for name in PEOPLE}
    assert len({address for address, *_ in rows}) == len(rows)
    for address, collection, _ in rows:  # the table says of a collection what its name is made of
        readers = {name for name, names in opened.items() if collection in names}
        assert collection in (base_of(collection), collection_for("default", readers)), address
    return {
        address.rpartition("/")[2].removesuffix(".md"): (int(text.split()[1].rstrip(".")), collection)
        for address, collection, text in rows
    }


def assert_never_open_to_others(wiki: Wiki, settings) -> None:
    """Each version is where those read it who might read the page when it said so, or later."""
    wiki.saved()
    for name, (version, collection) in stored(settings).items():
        begin = next(index for index, (known, _) in enumerate(wiki.past[name]) if known == version)
        since = {collection_for("default", readers) for _, readers in wiki.past[name][begin:]}
        assert collection in since, (name, version)


def assert_as_listed(wiki: Wiki, settings) -> None:
    shelf = wiki.saved()
    assert stored(settings) == {
        name: (shelf.versions[name], collection_for("default", shelf.restricted.get(name)))
        for name in shelf.texts
    }


@pytest.mark.parametrize(("kills", "pages"), [(4, 12), pytest.param(200, 30, marks=pytest.mark.long)])
async def test_no_kill_opens_a_page_to_others(settings, monkeypatch, tmp_path, kills, pages):
    monkeypatch.setenv("SSL_CERT_FILE", "")
    chance = random.Random(kills)
    wiki = Wiki(tmp_path / "wiki" / "shelf.json", chance)
    wiki.begin(pages)
    syncs = KilledSyncs(settings=settings, address=f"{SHELF}{wiki.file}", chance=chance, is_timed=kills > 100)

    await read_while_killed(
        syncs, kills, assert_equal=lambda: assert_as_listed(wiki, settings), go_on=wiki.go_on,
        after_each=lambda: assert_never_open_to_others(wiki, settings),
        ends=2,  # the second for what changed when it was fetched
    )  # fmt: skip
