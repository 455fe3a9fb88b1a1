"""Google Drive as a source: a folder, a shared drive, or all that is shared with a service account.

Where the logs of changes stand is asked before anything is listed. A full listing goes through the folders, and then
through what changed meanwhile; later syncs read the logs alone. What both mean for the items is found by comparing the
tree before and after: a folder that was moved away takes with it what lies in it, one whose readers changed gives all
of it others.
"""

import asyncio
import re
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from core.conversation import value
from core.library.documents import Document
from core.library.formats.read import parse_file
from core.sources import source
from core.sources.drive import files
from core.sources.drive import reader as reading
from core.sources.drive.client import BAD_REQUEST, BASE, DriveClient, DriveFault, DriveRefused, read_account
from core.sources.http import GONE, NOT_FOUND, Json, open_http

FAULTS_OF_A_FILE = 3  # times that Google may fail to give out one file before it is left out
ZIP_SIGNATURE = b"PK\x03\x04"
MISSING = "There is no folder {label}, or it is not shared with {email}: share it in Google Drive."
LOST = "The folder is not there any more, or is not shared with {email} any more."

#: Why a file is left out, by the reason of a refusal ("Resolve errors" of the API's documentation).
REFUSALS: Mapping[str, str] = {
    "exportSizeLimitExceeded": "is larger than the 10 MB that Google exports",
    "cannotDownloadFile": "may not be downloaded",
    "cannotDownloadAbusiveFile": "is taken for harmful by Google",
    "downloadQuotaExceeded": "was downloaded too often today",
    "fileNotDownloadable": "cannot be downloaded",
    "insufficientFilePermissions": "may not be read by the service account",
}

#: Pictures that lie in an exported document, as definitions of links at its end.
_PICTURE = re.compile(rb"^\[[^\]\n]*\]:[ \t]*<?data:image/[^\n]*\n?", re.MULTILINE)


@value
class TreeStep:
    """A step of reading the tree: it is written once the engine has taken all of it."""

    items: Sequence[source.SourceItem] = ()
    gone: Sequence[str] = ()
    save: Callable[..., None]  #: with the number of the step


@dataclass(slots=True, kw_only=True)
class DriveSource:
    """A folder of Google Drive, or all that an account may read."""

    root: str  #: a folder; empty: all
    label: str
    client: DriveClient
    memory: reading.DriveMemory
    _name: str = ""  #: of the full listing that everything follows from
    _step: int = 0  #: how often the memory was written since
    _faults: Counter[str] = field(default_factory=Counter)  #: by file

    async def changes(self, cursor: str | None) -> AsyncGenerator[source.SourceBatch, None]:
        if cursor is None and not await self._begin():
            # the listing is empty, so all of it is gone
            yield source.SourceBatch(note=LOST.format(email=self.email))
            return
        held = await asyncio.to_thread(self.memory.all, reading.PROGRESS)
        self._name, self._step = held.get("name", ""), held.get("step", 0)
        tree = files.DriveTree(self.root, self.label, await asyncio.to_thread(self.memory.nodes))
        await asyncio.to_thread(tree.sweep)
        tokens = await asyncio.to_thread(self.memory.all, reading.LOGS)
        reader = reading.TreeReader(client=self.client, tree=tree, tokens=tokens)
        # The engine is here, or took one step that was not written any more.
        steps_known = {f"{self._name}/{held.get(each, 0)}" for each in ("step", "handed")}
        if cursor is not None and cursor not in steps_known:
            raise source.CursorExpired("what the reader had seen is not here any more")
        if self.root and self.root not in tree.nodes:
            raise source.CursorExpired("the folder was not there")
        for steps in (self._list(reader), self._follow(reader), self._settle(reader)):
            async with aclosing(steps):
                async for step in steps:
                    if step.items or step.gone:
                        await asyncio.to_thread(
                            self.memory.keep, reading.PROGRESS, {"handed": self._step + 1}
                        )
                        cursor = f"{self._name}/{self._step + 1}"
                        yield source.SourceBatch(items=step.items, gone=step.gone, cursor=cursor)
                        self._step += 1
                    await asyncio.to_thread(step.save, step=self._step)
        note = (await asyncio.to_thread(self.memory.all, reading.PROGRESS)).get("note", "")
        if self.root and self.root not in tree.nodes:
            note = LOST.format(email=self.email)
        yield source.SourceBatch(note=note, cursor=f"{self._name}/{self._step}")

    @property
    def email(self) -> str:
        return self.client.account.email

    async def _begin(self) -> bool:
        """Begin to list everything; False if what was read before is not there any more. SourceUnavailable."""
        tree = files.DriveTree(self.root, self.label)
        tokens = {reading.OWN_LOG: await self.client.start_token(reading.OWN_LOG)}
        reader = reading.TreeReader(client=self.client, tree=tree, tokens=tokens)
        if self.root:
            given = await self._folder()
            if given is None and not await asyncio.to_thread(self.memory.all, reading.NODES):
                raise source.SourceUnavailable(MISSING.format(label=self.label, email=self.email))
            if given is None:
                return False
            await reader.follow(files.parse_file(given).drive)
            tree.put(await reader.node(given), via="")
        for found in () if self.root else await self.client.drives():
            drive, name = str(found["id"]), str(found.get("name", ""))
            await reader.follow(drive)
            access = await reading.fetch_access(self.client, drive)
            tree.put(
                files.DriveFile(id=drive, name=name, kind=files.FOLDER, drive=drive, access=access), via=""
            )
        await asyncio.to_thread(self.memory.begin, tokens, list(tree.nodes.values()))
        return True

    async def _folder(self) -> Json | None:
        """The folder, if it is there. SourceUnavailable for a file."""
        try:
            given = await self.client.file(self.root)
        except DriveRefused as refused:
            if refused.status == NOT_FOUND:
                return None
            raise
        if given.get("trashed"):
            return None
        if not files.parse_file(given).is_folder:
            raise source.SourceUnavailable(
                f"{self.label} is no folder: files are read with the folder that they lie in."
            )
        return given

    async def check(self) -> None:
        """Raises SourceUnavailable and SourceThrottled if it cannot be read now, by two requests."""
        if not self.root:
            await self.client.start_token(reading.OWN_LOG)
        elif await self._folder() is None:
            raise source.SourceUnavailable(MISSING.format(label=self.label, email=self.email))

    async def _list(self, reader: reading.TreeReader) -> AsyncGenerator[TreeStep, None]:
        listed = (await asyncio.to_thread(self.memory.all, reading.LISTED)).keys()
        # What is to be listed, as far as is known yet.
        if self.root:
            folders = [each for each in (self.root, *reader.tree.via) if reader.tree.nodes[each].is_folder]
            parts = [reader.part_of_folder(each) for each in folders]
        else:
            parts = [part for drive in sorted(reader.tokens) for part in reading.parts_of_corpus(drive)]
        waiting = deque(each for each in parts if each.name not in listed)
        if not waiting:
            return
        known = listed | {each.name for each in waiting}
        while waiting:
            part = waiting.popleft()
            async with aclosing(reader.list_part(part)) as pages:
                async for found in pages:
                    new = [each.id for each in found if self.root and each.is_folder and each.id not in known]
                    known.update(new)
                    waiting.extend(map(reader.part_of_folder, new))
                    items = [reader.tree.item(each.id) for each in found if each.is_document]
                    save = partial(self.memory.save, nodes=found, tokens=dict(reader.tokens))
                    yield TreeStep(items=items, save=save)
            await asyncio.to_thread(self.memory.save, step=self._step, listed=[part.name])
        await asyncio.to_thread(self.memory.save, step=self._step, note=reader.tree.note(self.email))

    async def _follow(self, reader: reading.TreeReader) -> AsyncGenerator[TreeStep, None]:
        for log in sorted(reader.tokens):
            while log in reader.tokens:
                page = await self.client.changes(reader.tokens[log], log)
                before = reader.tokens[log]
                reader.tokens[log] = str(page.get("nextPageToken") or page.get("newStartPageToken") or before)
                if page.get("changes"):
                    yield await self._take(reader, page["changes"], log)
                elif reader.tokens[log] != before:
                    await asyncio.to_thread(self.memory.save, step=self._step, tokens=dict(reader.tokens))
                if not page.get("nextPageToken"):
                    break

    async def _take(
        self, reader: reading.TreeReader, changes: Sequence[Mapping[str, object]], log: str
    ) -> TreeStep:
        tree = reader.tree
        nodes, items = dict(tree.nodes), await asyncio.to_thread(tree.items)
        await reader.apply(changes, log)
        changed, gone = files.differing(items, await asyncio.to_thread(tree.items))
        save = partial(
            self.memory.save,
            nodes=[node for file_id, node in tree.nodes.items() if nodes.get(file_id) != node],
            gone=[file_id for file_id in nodes if file_id not in tree.nodes],
            tokens=dict(reader.tokens),
            note=await asyncio.to_thread(tree.note, self.email),
        )
        return TreeStep(items=changed, gone=gone, save=save)

    async def _settle(self, reader: reading.TreeReader) -> AsyncGenerator[TreeStep, None]:
        """Report again the files whose readers the tree has by now."""
        tree, doubts = reader.tree, sorted(await asyncio.to_thread(self.memory.all, reading.DOUBTS))
        gone, agreed = [each for each in doubts if each not in tree.nodes], list[str]()
        for each in doubts:
            if each in tree.nodes:
                now = await reading.access_now(self.client, each)
                agreed += [each] if now.readers == tree.access(each).readers else []
        if agreed or gone:
            save = partial(self.memory.save, settled=[*agreed, *gone])
            yield TreeStep(items=[tree.item(each) for each in agreed], gone=gone, save=save)

    async def fetch(self, item: source.SourceItem) -> bytes:
        kind, *marks = item.version.split(" ")
        if files.LOCKED in marks:
            raise source.ItemUnreadable(REFUSALS["cannotDownloadFile"])
        try:
            data = await self._content(item.id, kind)
            access = await reading.access_now(self.client, item.id)
        except DriveFault:
            self._faults[item.id] += 1
            if self._faults[item.id] >= FAULTS_OF_A_FILE:
                raise source.ItemUnreadable("could not be read: Google failed to give it out") from None
            raise
        except DriveRefused as refused:
            if refused.status in (NOT_FOUND, GONE):
                raise source.ItemGone(f"{item.source} is gone.") from refused
            default = f"was refused by Google (HTTP {refused.status} {refused.reason})"
            raise source.ItemUnreadable(REFUSALS.get(refused.reason, default)) from refused
        if access.readers != item.readers:
            await asyncio.to_thread(self.memory.keep, reading.DOUBTS, {item.id: None})
            now = replace(item, readers=access.readers)
            raise source.ItemChanged(f"Others may read {item.source} now.", item=now)
        return data

    async def _content(self, file_id: str, kind: str) -> bytes:
        if kind == files.STORED:
            return await self.client.content(file_id)
        if kind != files.MARKDOWN:
            return await self.client.export(file_id, kind)
        try:
            return _PICTURE.sub(b"", await self.client.export(file_id, files.MARKDOWN))
        except DriveRefused as refused:
            if refused.status != BAD_REQUEST:
                raise
        return await self.client.export(file_id, files.WORD)  # where this format is not given out


def parse_exported(item: source.SourceItem, data: bytes) -> Document:
    """The document of what was fetched. DocumentError."""
    is_word = item.name.endswith(".md") and data.startswith(ZIP_SIGNATURE)
    return parse_file(Path(f"{item.name}.docx"), data) if is_word else source.parse_as_file(item, data)


@asynccontextmanager
async def open_drive(
    text: str, context: source.SourceContext, *, base: str = BASE
) -> AsyncIterator[DriveSource]:
    """Raises SourceUnavailable for credentials that cannot be used."""
    account = await asyncio.to_thread(read_account, context.settings.drive_credentials)
    urls, private, head = (base, account.token_url), context.settings.private_hosts, {"Accept": "*/*"}
    async with open_http(*urls, private=private, connections=2 * reading.AT_ONCE, headers=head) as http:
        client = DriveClient(base=base, http=http, account=account)
        with source.open_memory(reading.DriveMemory, context.folder) as memory:
            yield DriveSource(root=text.removeprefix(files.PREFIX), label=text, client=client, memory=memory)
