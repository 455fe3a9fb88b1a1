"""Writes a wiki from documents in Markdown, and goes on writing: by the numbers of a seed."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from functools import cache
from html import escape

from fakes.confluence import EVERYBODY, FakeConfluence, WikiPage
from markdown_it import MarkdownIt

from core.library.formats.read import SUFFIXES
from core.library.library import Library
from core.library.readers import collection_for

HOME = "Harbour home"
DEPTH = 4  # pages above one another, as it begins


@cache
def _rendered(source: str) -> str:
    return MarkdownIt("commonmark", {"xhtmlOut": True, "html": False}).enable("table").render(source)


class WikiAuthor:
    """Writes spaces of pages in trees, with attachments, blog posts and restrictions."""

    def __init__(
        self, wiki: FakeConfluence, documents: Sequence[str], *, seed: int = 1, hides: bool = True
    ) -> None:
        self.wiki, self.documents = wiki, documents
        self.chance, self.count, self.now = random.Random(seed), 0, 1_600_000_000
        for name in ("ann", "ben", "cleo", "dora"):
            wiki.person(name)
        wiki.person("hugo", is_hidden=hides)
        wiki.teams = {"crew": ["712020:ben", "712020:cleo"], "captains": ["712020:ann", "712020:hugo"]}

    def begin(self, pages: int, *, spaces: Sequence[str] = ("ENG",)) -> None:
        for space in spaces:
            self.wiki.add(HOME, self._text(), space=space)
        for number in range(pages - len(spaces)):
            self._add(spaces[number % len(spaces)])

    def go_on(self, changes: int) -> None:
        """Pages are changed, renamed, moved, deleted, archived, restricted and opened; files come and go."""
        whats = [
            "change", "change", "rename", "move", "delete", "archive", "add one", "attach", "attach again", "detach",
            "restrict", "restrict", "open",
        ]  # fmt: skip
        for _ in range(changes):
            self.now += 60
            page = self.chance.choice([each for each in self.wiki.live() if each.title != HOME])
            self._do(self.chance.choice(whats), page)

    def change_space(self, key: str = "ENG") -> None:
        """Let others view a space, which gives no page a new version."""
        viewers = self.wiki.viewers[key]
        viewers.users = self.chance.sample(sorted(self.wiki.people), self.chance.randint(0, 2))
        viewers.groups = self.chance.sample(sorted(self.wiki.teams), self.chance.randint(0, 2))
        if self.chance.random() < 0.3:
            viewers.groups.append(EVERYBODY)

    def _do(self, what: str, page: WikiPage) -> None:
        getattr(self, f"_{what.replace(' ', '_')}")(page)

    def _change(self, page: WikiPage) -> None:
        self._write(page, storage=self._text())

    def _rename(self, page: WikiPage) -> None:
        self._write(page, title=f"{page.title} anew")

    def _move(self, page: WikiPage) -> None:
        """Which gives a page no new version."""
        below = {each.id for each in self.wiki.pages.values() if page in self.wiki.above(each)}
        if page.kind == "page":
            page.parent = self.chance.choice([e for e in self._places(page.space) if e.id not in below]).id

    def _delete(self, page: WikiPage, status: str = "trashed") -> None:
        for child in [each for each in self.wiki.pages.values() if each.parent == page.id]:
            child.parent = page.parent
        page.status = status
        for file in [each for each in self.wiki.files.values() if each.container == page.id]:
            del self.wiki.files[file.id]

    def _archive(self, page: WikiPage) -> None:
        self._delete(page, "archived")

    def _add_one(self, page: WikiPage) -> None:
        self._add(page.space)

    def _attach(self, page: WikiPage) -> None:
        self.count += 1
        self.wiki.attach(page, f"notes {self.count}.md", self._note())
        self.wiki.attach(page, f"photo {self.count}.png", b"\x89PNG")

    def _attach_again(self, page: WikiPage) -> None:
        if self.wiki.files:
            file = self.wiki.files[self.chance.choice(sorted(self.wiki.files))]
            file.data, file.version = self._note(), file.version + 1

    def _detach(self, page: WikiPage) -> None:
        if self.wiki.files:
            del self.wiki.files[self.chance.choice(sorted(self.wiki.files))]

    def _restrict(self, page: WikiPage) -> None:
        page.users = self.chance.sample(sorted(self.wiki.people), self.chance.randint(0, 2))
        page.groups = self.chance.sample(sorted(self.wiki.teams), self.chance.randint(0, 1)) or ["crew"]

    def _open(self, page: WikiPage) -> None:
        page.users, page.groups = [], []

    def _write(self, page: WikiPage, **more: str) -> None:
        page.storage, page.title = more.get("storage", page.storage), more.get("title", page.title)
        page.version, page.at = page.version + 1, self.now

    def _places(self, space: str) -> list[WikiPage]:
        return [each for each in self.wiki.live(space) if each.kind == "page"]

    def _depth(self, page: WikiPage) -> int:
        return sum(1 for _ in self.wiki.above(page))

    def _add(self, space: str) -> None:
        self.count += 1
        if self.count % 9 == 0:
            self.wiki.add(f"Post {self.count}", self._text(), space=space, kind="blogpost", at=self.now)
            return
        parent = self.chance.choice([each for each in self._places(space) if self._depth(each) < DEPTH][-12:])
        page = self.wiki.add(f"Page {self.count}", self._text(), space=space, parent=parent.id, at=self.now)
        if self.count % 5 == 0:
            self.wiki.attach(
                page, f"sheet {self.count}.csv", b"name,berth\nAurora,7\nBoreas,%d\n" % self.count
            )
        if self.count % 11 == 0:
            page.users = ["712020:ann", "712020:ben"]

    def _text(self) -> str:
        """A document in the storage format, with macros as an editor writes them."""
        source = self.chance.choice(self.documents)
        html = _rendered(source)
        edition = f"<p>Edition {self.chance.randrange(10**9)}.</p>"
        panel = (
            '<ac:structured-macro ac:name="info" ac:schema-version="1" ac:macro-id="8f2c"><ac:rich-text-body>'
            f'<p>Written by <ac:link><ri:user ri:account-id="712020:{"dora" if self.count % 2 else "ann"}" /></ac:link>'
            "</p></ac:rich-text-body></ac:structured-macro>"
        )
        return f"{edition}{panel}{html}"

    def _note(self) -> bytes:
        return (
            f"# Note {self.chance.randrange(10**9)}\n\nThe crane of berth {self.count} is greased.\n".encode()
        )

    # What is to be found in the end

    def expected(
        self, folder: str = "", *, space: str | None = None
    ) -> dict[str, tuple[str, frozenset[str] | None]]:
        """SHA-256 of what is read of each item, and its readers, by its name in the source."""
        found = {}
        for page in self.wiki.live(space):
            name = f"{folder}{'pages' if page.kind == 'page' else 'blog'}/{page.id}"
            readers = self.wiki.readers_of(page)
            found[name] = _digest(self._body(page)), readers
            for file in self.wiki.files.values():
                if file.container == page.id and f".{file.title.rpartition('.')[2]}" in SUFFIXES:
                    found[f"{name}/{file.id}"] = _digest(file.data), readers
        return found

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each item of the first space, with the collection that its readers have."""
        expected = self.expected(space="ENG").items()
        return {
            name: f"{digest} {collection_for('default', readers)}" for name, (digest, readers) in expected
        }

    def _body(self, page: WikiPage) -> bytes:
        people = sorted(
            (page.storage.index(escape(each.id)), each)
            for each in self.wiki.people.values()
            if each.id in page.storage
        )
        told = {
            "storage": page.storage,
            "names": {each.id: each.shown for _, each in people},
            "anchors": "" if self.wiki.context == "/wiki" else "title",
        }
        return json.dumps(told, ensure_ascii=False).encode()


def hashes_and_collections(library: Library) -> dict[str, str]:
    """The same of what is in a library, by address."""
    return {entry.address: f"{entry.hash} {entry.collection}" for entry in library.store.entries()}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
