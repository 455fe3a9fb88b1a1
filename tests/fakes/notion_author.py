"""A person who writes a workspace of Notion, and goes on writing. Each page says its edition, in words of its own."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from fakes.notion import FakeNotion, rich, title_value

DAY = 86_400
FEWEST = 6  # pages that are there before each change


def paragraph(text: str) -> dict[str, Any]:
    return {"rich_text": rich(text), "color": "default"}


def select(name: str) -> dict[str, Any]:
    return {"id": "a%40b", "type": "select", "select": {"id": "1", "name": name, "color": "red"}}


@dataclass
class NotionAuthor:
    """Writes pages, databases and their rows by the numbers of a seed."""

    notion: FakeNotion
    seed: int = 1
    editions: dict[str, str] = field(default_factory=dict)  #: what each page says, by its ID
    sources: list[str] = field(default_factory=list)  #: data sources
    home: str = ""
    _chance: random.Random = field(init=False)
    _blocks: dict[str, str] = field(default_factory=dict)  #: the block of each page that says it
    _count: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def begin(self, pages: int) -> None:
        self.home = self._write(self.notion.add_page("Home"))
        for number in range(2):
            self.sources.append(self.notion.add_database(f"Register {number}", self.home))
        for _ in range(pages - 1):
            self._add()
        self.notion.now += DAY

    def go_on(self, changes: int) -> None:
        """Pages are changed, also within a minute, renamed, moved, trashed and added."""
        while len(self.hashes()) < FEWEST:  # what is below a page goes with it
            self._add()
        for _ in range(changes):
            self.notion.now += self._chance.choice((1, 5, 70, 4_000))
            getattr(
                self,
                self._chance.choice(("_change", "_change", "_rename", "_move", "_trash", "_add", "_set")),
            )()

    def hashes(self) -> dict[str, str]:
        """What each page that is there says, by its ID."""
        return {page: text for page, text in self.editions.items() if not self.notion.things[page].is_trashed}

    def _some(self) -> str:
        return self._chance.choice([page for page in sorted(self.hashes()) if page != self.home])

    def _add(self) -> None:
        self._count += 1
        title, chance = f"Page {self._count}", self._chance
        if chance.random() < 0.3:
            page = self.notion.add_page(
                title, chance.choice(self.sources), properties={"State": select("new")}
            )
        else:
            nested = [page for page in sorted(self.hashes()) if "page_id" in self.notion.things[page].parent]
            page = self.notion.add_page(title, chance.choice([self.home, *nested]))
        self._write(page)

    def _write(self, page: str) -> str:
        """Many blocks, some of them within others."""
        notion, chance = self.notion, self._chance
        for number in range(chance.randint(8, 30)):
            text = f"Sentence {number} about the {chance.choice(('ferry', 'quay', 'crane'))} of no interest at all."
            notion.add_block(page, "paragraph", paragraph(text))
        toggle = notion.add_block(page, "toggle", paragraph("More"))
        self._blocks[page] = notion.add_block(toggle, "paragraph", paragraph(self._edition(page)))
        return page

    def _edition(self, page: str) -> str:
        self.editions[page] = f"Edition {self._chance.randrange(10**12)}."
        return self.editions[page]

    def _change(self) -> None:
        page = self._some()
        block = self.notion.things[self._blocks[page]]
        block.content = paragraph(self._edition(page))
        self.notion.touch(block.id)

    def _rename(self) -> None:
        page = self.notion.things[self._some()]
        name = next(name for name, each in page.properties.items() if each["type"] == "title")
        page.properties[name] = title_value(f"Renamed {self._chance.randrange(10**9)}")
        self.notion.touch(page.id)

    def _set(self) -> None:
        """A property that is computed changes without the page being edited."""
        rows = [page for page in sorted(self.hashes()) if "State" in self.notion.things[page].properties]
        if rows:
            page = self._chance.choice(rows)
            state = f"State{self._chance.randrange(10**9)}"
            self.notion.things[page].properties["State"] = select(state)

    def _trash(self) -> None:
        self.notion.trash(self._some())

    def _move(self) -> None:
        page = self._some()
        thing = self.notion.things[page]
        if "page_id" in thing.parent:
            self.notion.move(page, self.home)
