"""The folders, shortcuts and documents of a source, and what follows from them: paths, readers, items."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from core.sources.drive.files import DriveAccess, DriveFile, item_of, plain_name
from core.sources.source import SourceItem

UNKNOWN = DriveAccess(readers=frozenset(), gap="hidden")


@dataclass(slots=True)
class DriveTree:
    """What is known of a source. Without a root it is all that the account may read, and nothing is out of it."""

    root: str
    label: str  #: how people name the source
    nodes: dict[str, DriveFile] = field(default_factory=dict)
    via: dict[str, str] = field(
        default_factory=dict
    )  #: the folder or the shortcut by which a node is reached

    def has_place_for(self, file: DriveFile) -> bool:
        """Whether a file belongs to the source, as far as is known."""
        return (
            not self.root
            or file.id == self.root
            or file.parent in self.nodes
            or any(each.target == file.id for each in self.nodes.values() if each.is_shortcut)
        )

    def put(self, file: DriveFile, *, via: str) -> None:
        self.nodes[file.id] = file
        if file.id != self.root:
            self.via.setdefault(file.id, via)

    def sweep(self) -> None:
        """Drop what is not reached any more: what was moved away, or lies in what was."""
        if not self.root:
            self.via = {each.id: each.parent for each in self.nodes.values() if each.parent in self.nodes}
            return
        self.via = self._reached()
        self.nodes = {
            file_id: node
            for file_id, node in self.nodes.items()
            if file_id == self.root or file_id in self.via
        }

    def _reached(self) -> dict[str, str]:
        """By what each node is reached: from the root through folders, and then through shortcuts. Each once."""
        below = defaultdict[str, list[str]](list)
        for node in self.nodes.values():
            below[node.parent].append(node.id)
        found = dict[str, str]()
        folders, shortcuts = deque([self.root] if self.root in self.nodes else ()), deque[DriveFile]()
        while folders or shortcuts:
            if folders:
                at = folders.popleft()
                led = [file_id for file_id in below[at] if file_id not in found and file_id != self.root]
            else:
                shortcut = shortcuts.popleft()
                at, target = shortcut.id, shortcut.target
                led = [target] if target in self.nodes and target not in found and target != self.root else []
            for file_id in led:
                found[file_id] = at
                if self.nodes[file_id].is_folder:
                    folders.append(file_id)
                elif self.nodes[file_id].is_shortcut:
                    shortcuts.append(self.nodes[file_id])
        return found

    # What follows

    def path(self, file_id: str) -> str:
        """How people name a node."""
        names = []
        while file_id in self.nodes and file_id != self.root:
            above = self.via.get(file_id, "")
            # What a shortcut leads to is named as the shortcut is.
            if not (above in self.nodes and self.nodes[above].is_shortcut):
                names.append(plain_name(self.nodes[file_id].name))
            file_id = above
        return "/".join([self.label, *reversed(names)])

    def access(self, file_id: str) -> DriveAccess:
        """Who may read a node: nobody, where that is not known."""
        seen = set[str]()
        while (node := self.nodes.get(file_id)) is not None and file_id not in seen:
            if node.access is not None:
                return node.access
            seen.add(file_id)
            file_id = node.parent
        return UNKNOWN

    def item(self, file_id: str) -> SourceItem:
        return item_of(self.nodes[file_id], self.path(file_id), self.access(file_id))

    def items(self) -> dict[str, SourceItem]:
        return {file_id: self.item(file_id) for file_id, node in self.nodes.items() if node.is_document}

    def left_alone(self, before: set[str]) -> list[DriveFile]:
        """Nodes whose folder was among these, and is not there any more."""
        return [
            each for each in self.nodes.values() if each.parent in before and each.parent not in self.nodes
        ]

    def anchors(self, drive: str) -> list[DriveFile]:
        """Nodes of a shared drive whose folder is not known: they change with folders that are not known either."""
        return [
            each
            for each in self.nodes.values()
            if each.drive == drive and each.parent not in self.nodes and not each.is_shortcut
        ]

    def note(self, email: str) -> str:
        """What an operator should know of the readers; empty if all are known."""
        gaps = [self.access(each.id).gap for each in self.nodes.values() if each.is_document]
        sentences = []
        if hidden := gaps.count("hidden"):
            sentences.append(
                f"Who may read {count_of(hidden)} is not shown to {email}, so only the owners are answered from there:"
                " make it an editor, or in a shared drive a content manager."
            )
        if groups := gaps.count("groups"):
            sentences.append(
                f"Groups may read {count_of(groups)}, and who is in them is not known here: people are answered from"
                " there only if they, or their domain, are named too."
            )
        return " ".join(sentences)


def count_of(number: int) -> str:
    return "1 file" if number == 1 else f"{number:,} files"


def differing(old: dict[str, SourceItem], new: dict[str, SourceItem]) -> tuple[list[SourceItem], list[str]]:
    """Items that are new or changed, and ids of those that are gone."""
    changed = [item for file_id, item in new.items() if old.get(file_id) != item]
    return changed, [file_id for file_id in old if file_id not in new]


def parts(items: Iterable[SourceItem], size: int) -> Iterator[list[SourceItem]]:
    every = list(items)
    for begin in range(0, len(every), size):
        yield every[begin : begin + size]
