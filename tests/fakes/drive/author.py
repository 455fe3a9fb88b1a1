"""A team that keeps its knowledge in a Google Drive, and goes on working in it."""

from __future__ import annotations

import random

from fakes.drive.world import (
    ACCOUNT,
    ANYONE,
    FOLDER,
    SHORTCUT,
    DriveWorld,
    Node,
    domain,
    group,
    user,
)

TEXT = "The ferry of edition {edition} sails from the northern pier at {hour} o'clock, and returns at dusk."
PEOPLE = [
    user("Ann@harbour.example"), user("bob@harbour.example", "commenter"), user("cat@partner.example", "writer"),
    group("all@harbour.example"), domain("harbour.example"), ANYONE,
    user("gone@harbour.example", deleted=True),
]  # fmt: skip


class DriveAuthor:
    """Writes below a folder, and now and then moves something in or out."""

    def __init__(self, world: DriveWorld, *, shared: bool, seed: int = 1, is_open: bool = False) -> None:
        """``shared``: in a shared drive; ``is_open``: whoever may read the collection may read all of it."""
        self.world, self.chance = world, random.Random(seed)
        if shared:
            drive = world.shared_drive("Harbour", user("ann@harbour.example", "organizer"))
            self.root, self.outside = world.folder("Handbook", drive), world.folder("Elsewhere", drive)
        else:
            self.root, self.outside = world.folder("Handbook"), world.folder("Elsewhere")
            for each in (self.root, self.outside):
                world.share(each, user(ACCOUNT, "writer"))
        self.hidden = world.folder("Not shared")
        self.is_open = is_open
        for each in (self.root, self.outside) if is_open else ():
            world.share(each, ANYONE)

    def begin(self, documents: int) -> None:
        for _ in range(max(2, documents // 8)):
            self.world.folder(self._name("Folder"), self.chance.choice(self._folders()).id)
        for _ in range(documents):
            self.act("add")
        for _ in range(max(1, documents // 20)):
            self.act("add outside")
            self.act("shortcut")
            self.act("share")

    def go_on(self, changes: int) -> None:
        for _ in range(changes):
            self.act(self.chance.choice(ACTS))

    def act(self, act: str) -> None:
        getattr(self, f"_{act.replace(' ', '_')}")()

    def hashes(self) -> dict[str, str]:
        return self.world.hashes(self.root)

    def readers(self) -> dict[str, frozenset[str] | None]:
        return self.world.readers(self.root)

    # What there is to act on

    def _name(self, kind: str) -> str:
        return f"{kind} {self.chance.randrange(10**6)}"

    def _nodes(self) -> list[Node]:
        tops = (self.root, self.outside, self.hidden)
        return [each for each in self.world.nodes.values() if each.id not in tops and each.id != each.drive]

    def _folders(self) -> list[Node]:
        inner = [each for each in self._nodes() if each.mime == FOLDER]
        return [self.world.nodes[self.root], *inner]

    def _documents(self) -> list[Node]:
        return [each for each in self._nodes() if each.mime not in (FOLDER, SHORTCUT)]

    def _text(self) -> str:
        return TEXT.format(edition=self.chance.randrange(10**9), hour=self.chance.randrange(1, 12))

    # What is done

    def _add(self) -> None:
        self._add_below(self.chance.choice(self._folders()).id)

    def _add_outside(self) -> None:
        self._add_below(self.outside)

    def _add_below(self, folder: str) -> None:
        if self.chance.random() < 0.7:
            self.world.add(self._name("Page"), folder, text=self._text())
        elif self.chance.random() < 0.8:
            self.world.add(f"{self._name('notes')}.md", folder, mime="text/markdown", text=self._text())
        else:
            self.world.add("photo.png", folder, mime="image/png", text="no text")

    def _add_folder(self) -> None:
        folder = self.world.folder(self._name("Folder"), self.chance.choice(self._folders()).id)
        self._add_below(folder)

    def _write(self) -> None:
        self.world.write(self.chance.choice(self._documents()).id, self._text())

    def _rename(self) -> None:
        self.world.rename(self.chance.choice(self._nodes()).id, self._name("Renamed"))

    def _move(self) -> None:
        node = self.chance.choice(self._nodes())
        below = {each.id for each in self.world.within(node.id)} | {node.id}
        targets = [*(each.id for each in self._folders()), self.outside, self.hidden, self.root]
        self.world.move(node.id, self.chance.choice([each for each in targets if each not in below]))

    def _trash(self) -> None:
        node = self.chance.choice(self._nodes())
        self.world.trash(node.id, is_trashed=not node.is_trashed)

    def _delete(self) -> None:
        self.world.delete(self.chance.choice(self._nodes()).id)

    def _share(self) -> None:
        self.world.share(self.chance.choice(self._nodes()).id, self.chance.choice(PEOPLE))

    def _share_all(self) -> None:
        self.world.share(self.chance.choice([self.root, self.outside]), self.chance.choice(PEOPLE))

    def _unshare(self) -> None:
        nodes = self._nodes() if self.is_open else [*self._nodes(), self.world.nodes[self.root]]
        shared = [(each.id, key) for each in nodes for key in each.permissions if key != f"u-{ACCOUNT}"]
        shared = [(each, key) for each, key in shared if key != "u-owner"]
        if shared:
            self.world.unshare(*self.chance.choice(sorted(shared)))

    def _shortcut(self) -> None:
        targets = [each for each in self._nodes() if each.mime != SHORTCUT]
        target, folder = self.chance.choice(targets).id, self.chance.choice(self._folders()).id
        self.world.add(self._name("Link"), folder, mime=SHORTCUT, target=target)


ACTS = (
    "add", "add", "add folder", "write", "write", "write", "rename", "move", "move", "trash", "delete", "share",
    "share", "share all", "unshare", "shortcut", "add outside",
)  # fmt: skip
