"""Reading the tree of a source from the Drive API: folders, changes, and the memory of the tree.

The documentation on permissions and changes that this follows: a file of My Drive names its permissions itself, to
those who may share it; a file of a shared drive has those of its folder unless it says that it has its own; and each
shared drive has a log of changes of its own ("Track changes for users and shared drives").

The memory is written after the engine took what follows from it, never before: a sync that was cut off sees the same
changes again. It holds names and addresses of people who may read, no text. It lies in the source's folder, and may
vanish: then everything is listed again, and what did not change is not read again.
"""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace

from core.conversation import value
from core.sources.drive import files
from core.sources.drive.client import DriveClient, DriveRefused
from core.sources.http import FORBIDDEN, NOT_FOUND, Json
from core.sources.source import CursorExpired, Memory

AT_ONCE = 4  # requests
OWN_LOG = ""  # the log of changes of the account itself
OUT_OF_SIGHT = (FORBIDDEN, NOT_FOUND)  # statuses of what the account may not look at


@value
class ListingPart:
    """A part of a source that one query lists."""

    name: str  #: unlike that of any other part of the source
    query: Mapping[str, str]
    folder: str = ""  #: the folder whose content it is


def parts_of_corpus(drive: str) -> list[ListingPart]:
    """The files of a shared drive, or of the account: first the folders, on which readers depend."""
    queries = {sign: f"mimeType {sign} '{files.FOLDER}' and trashed = false" for sign in ("=", "!=")}
    corpus = corpus_of(drive)
    return [ListingPart(name=f"{drive}/{sign}", query={"q": q, **corpus}) for sign, q in queries.items()]


def corpus_of(drive: str) -> dict[str, str]:
    return {"corpora": "drive", "driveId": drive} if drive else {"corpora": "user"}


async def fetch_access(client: DriveClient, file_id: str) -> files.DriveAccess:
    """The readers of what has permissions of its own; UNKNOWN where they are out of sight."""
    try:
        return files.access_of(await client.permissions(file_id), time.time())
    except DriveRefused as refused:
        if refused.status not in OUT_OF_SIGHT:
            raise
    return files.UNKNOWN


async def access_now(client: DriveClient, file_id: str) -> files.DriveAccess:
    """The readers of a file at this moment, asked of the API."""
    if (access := await fetch_access(client, file_id)) is not files.UNKNOWN:
        return access
    given = await client.file(file_id)
    return files.UNKNOWN if given.get("driveId") else files.own_access(given, time.time())


@dataclass(slots=True, kw_only=True)
class TreeReader:
    """Brings a tree up to date."""

    client: DriveClient
    tree: files.DriveTree
    tokens: dict[str, str]  #: where the logs that are followed go on, by shared drive

    def part_of_folder(self, folder: str) -> ListingPart:
        drive = self.tree.nodes[folder].drive
        corpus = corpus_of(drive if drive in self.tokens else "")
        query = {"q": f"'{folder}' in parents and trashed = false", **corpus}
        return ListingPart(name=folder, query=query, folder=folder)

    async def list_part(self, part: ListingPart) -> AsyncGenerator[list[files.DriveFile], None]:
        """Put what a query finds into the tree; its pages, with what shortcuts on them lead to."""
        async with aclosing(self.client.files(part.query)) as pages:
            async for page in pages:
                nodes = list[files.DriveFile]()
                for begin in range(0, len(page), AT_ONCE):
                    nodes += await asyncio.gather(*map(self.node, page[begin : begin + AT_ONCE]))
                found = [each for each in nodes if self._is_kept(each)]
                for node in found:
                    self.tree.put(node, via=part.folder or node.parent)
                yield found + await self._follow_shortcuts(found)

    async def walk(self, folders: Iterable[str]) -> None:
        """List folders and all that lies in them."""
        waiting = deque(dict.fromkeys(folders))
        done = set[str]()
        while waiting:
            folder = waiting.popleft()
            if folder in done or folder not in self.tree.nodes:
                continue
            done.add(folder)
            async with aclosing(self.list_part(self.part_of_folder(folder))) as pages:
                async for page in pages:
                    waiting.extend(each.id for each in page if each.is_folder)

    def _is_kept(self, node: files.DriveFile) -> bool:
        return node.is_folder or node.is_document or (node.is_shortcut and bool(self.tree.root))

    async def _follow_shortcuts(self, nodes: Iterable[files.DriveFile]) -> list[files.DriveFile]:
        """Put what shortcuts lead to into the tree, as far as the account may see it."""
        found = []
        for shortcut in nodes:
            if not shortcut.is_shortcut or shortcut.target in self.tree.nodes:
                continue
            node = await self._find(shortcut.target)
            if node is not None and (node.is_folder or node.is_document):
                self.tree.put(node, via=shortcut.id)
                found.append(node)
        return found

    async def _find(self, file_id: str) -> files.DriveFile | None:
        """A file by its id; None if it is out of sight or in the bin."""
        try:
            given = await self.client.file(file_id)
            if await self.follow(str(given.get("driveId", ""))):
                given = await self.client.file(file_id)  # as it is since its log is followed
        except DriveRefused as refused:
            if refused.status in OUT_OF_SIGHT:
                return None
            raise
        return None if given.get("trashed") else await self.node(given)

    async def follow(self, drive: str) -> bool:
        """True if the log of a shared drive is followed from now on, and was not before. Only members may."""
        if not drive or drive in self.tokens:
            return False
        try:
            self.tokens[drive] = await self.client.start_token(drive)
        except DriveRefused as refused:
            if refused.status in OUT_OF_SIGHT:
                return False
            raise
        return True

    async def node(self, given: Json) -> files.DriveFile:
        """A file with its readers."""
        file = files.parse_file(given)
        if file.is_shortcut or not self._is_kept(file):
            return file
        if not file.drive:
            return replace(file, access=files.own_access(given, time.time()))
        if files.inherits(given) and file.parent in self.tree.nodes and file.id != self.tree.root:
            return file
        return replace(file, access=await fetch_access(self.client, file.id))

    async def apply(self, changes: Sequence[Json], log: str) -> None:
        """Bring the tree up to date with a page of a log. CursorExpired if everything must be listed for that."""
        new, drives, before = list[str](), {log} - {OWN_LOG}, set(self.tree.nodes)
        for change in changes:
            if change.get("changeType") == "drive":
                drives.add(self._take_drive(change))
            elif (changed := await self._take(change, log)) is not None:
                new.append(changed)
        nodes = self.tree.nodes
        # Nodes of a shared drive whose folder is out of sight, and may have given them other readers.
        apart = [each for each in nodes.values() if each.parent not in nodes and not each.is_shortcut]
        for node in [each for drive in sorted(drives) for each in apart if each.drive == drive]:
            access = await fetch_access(self.client, node.id)
            if access != node.access:
                nodes[node.id] = replace(node, access=access)
                new += [node.id] if node.is_folder else []
        new += await self._settle(before)
        while new:
            before = set(self.tree.nodes)
            await self.walk(new)
            new = await self._settle(before)

    async def _settle(self, before: set[str]) -> list[str]:
        """Drop what is not reached any more; the folders that must be listed for that. What a shortcut alone
        reaches by now may have gone into the bin with its folder, and has readers of its own from then on."""
        self.tree.sweep()
        new, nodes = list[str](), self.tree.nodes
        while left := [
            each.id for each in nodes.values() if each.parent in before and each.parent not in nodes
        ]:
            before = set(nodes)
            for file_id in left:
                seen = await self._find(file_id)
                if seen is None:
                    del nodes[file_id]
                else:
                    nodes[file_id] = seen
                    new += [file_id] if seen.is_folder else []
            self.tree.sweep()
            nodes = self.tree.nodes
        return new

    def _take_drive(self, change: Json) -> str:
        drive = str(change.get("driveId", ""))
        if drive in self.tree.nodes and "drive" in change:
            node = self.tree.nodes[drive]
            self.tree.nodes[drive] = replace(node, name=str(change["drive"].get("name", node.name)))
        if change.get("removed"):
            self.tokens.pop(drive, None)
            if not self.tree.root:
                raise CursorExpired("a shared drive is not there any more")
            for node in [each for each in self.tree.nodes.values() if each.drive == drive]:
                del self.tree.nodes[node.id]
        elif not self.tree.root and drive not in self.tokens:
            raise CursorExpired("a shared drive is new")
        return drive

    async def _take(self, change: Json, log: str) -> str | None:
        """The folder that must be listed because of a change, if it is one."""
        given, file_id = change.get("file"), str(change.get("fileId", ""))
        old = self.tree.nodes.get(file_id)
        if change.get("removed") or given is None or given.get("trashed"):
            # Where a file moved from one log into another, the old one says that it was removed.
            if old is not None and log == (old.drive if old.drive in self.tokens else OWN_LOG):
                self._drop(old)
            return None
        node = files.parse_file(given)
        if not self._is_kept(node) or not self.tree.holds(node):
            if old is not None:
                self._drop(old)
            return None
        node = await self.node(given)
        before = self.tree.access(file_id) if old is not None else None
        self.tree.put(node, via=node.parent)
        led = await self._follow_shortcuts([node])
        if node.is_folder:
            is_same = old is not None and old.parent == node.parent and before == self.tree.access(file_id)
            return None if is_same else file_id
        return next((each.id for each in led if each.is_folder), None)

    def _drop(self, node: files.DriveFile) -> None:
        if node.is_folder and not self.tree.root:
            raise CursorExpired("a folder is not there any more; what lay in it may be")
        del self.tree.nodes[node.id]


#: Kinds of what is remembered: files by id, where logs go on by shared drive, parts of the full listing that need not be
#: listed again, files for which the engine has other readers than the tree; and how far all of it was read: the
#: name of this listing, the step, how often it was written since, the step that the engine was handed, and a note.
NODES, LOGS, LISTED, DOUBTS, PROGRESS = "node", "log", "listed", "doubt", "progress"


class DriveMemory(Memory):
    """The tree, the logs, and how far both were read."""

    __slots__ = ()

    def nodes(self) -> dict[str, files.DriveFile]:
        found = dict[str, files.DriveFile]()
        for file_id, held in self.all(NODES).items():
            if (access := held["access"]) is not None:
                readers = None if access["readers"] is None else frozenset(access["readers"])
                access = files.DriveAccess(**access | {"readers": readers})
            found[file_id] = files.DriveFile(**held | {"access": access})
        return found

    def begin(self, tokens: Mapping[str, str], nodes: Iterable[files.DriveFile]) -> None:
        """Forget everything but these."""
        with self.database.transaction():
            self.drop_all(NODES, LOGS, LISTED, DOUBTS, PROGRESS)
            self.keep(PROGRESS, {"name": secrets.token_hex(8)})
            self.save(step=0, nodes=nodes, tokens=tokens)

    def save(
        self,
        *,
        step: int,
        nodes: Iterable[files.DriveFile] = (),
        gone: Iterable[str] = (),
        tokens: Mapping[str, str] | None = None,
        listed: Iterable[str] = (),
        settled: Iterable[str] = (),
        note: str | None = None,
    ) -> None:
        """Write what the engine took. ``tokens``: all that are followed from now on; None: as before."""
        with self.database.transaction():
            self.keep(NODES, {node.id: asdict(node) for node in nodes})
            self.drop(NODES, gone)
            self.keep(LISTED, dict.fromkeys(listed))
            self.drop(DOUBTS, settled)
            if tokens is not None:
                self.drop_all(LOGS)
                self.keep(LOGS, tokens)
            self.keep(PROGRESS, {"step": step, "handed": step} | ({} if note is None else {"note": note}))
