"""A repository as a source: its files on one branch.

Of a repository elsewhere, commits and trees of the newest history are fetched first, and of its files only those that
are documents and are new or changed. A host that cannot leave files out sends the newest commit whole. What was
fetched is kept in a folder of the source, and may be deleted. A repository on this disk is read where it is.

The cursor is the commit that was read last: what changed since is the difference of two trees.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path, PurePosixPath

from core.conversation import value
from core.library.formats.read import FILE_LIMIT, SUFFIXES
from core.library.sync import SKIPPED_FOLDERS, printable
from core.sources.git.address import (
    DEFAULT_PORTS,
    PREFIXES,
    GitAddress,
    canonical_address,
    is_repository,
    item_of,
    parse,
    place_of,
    without_branch,
)
from core.sources.git.guide import GUIDE
from core.sources.git.process import STDERR_LOGGED, Git, GitFailed
from core.sources.hosts import addresses_of
from core.sources.source import (
    CursorExpired,
    ItemGone,
    ItemUnreadable,
    SourceBatch,
    SourceContext,
    SourceItem,
    SourceKind,
    SourceUnavailable,
)

HISTORY = 1_000  # commits that are looked through for when a file changed last
BATCH = 200  # items
TIP = "refs/footnote/tip"  # the commit that was fetched last, with its history
NEWEST = "refs/footnote/newest"  # the same without
UNFILTERED = "filtering not recognized"  # what git notes of a host that cannot leave files out
IS_UNFILTERED = "footnote.unfiltered"  # a setting of the repository, where that was noted
FILES = ("100644", "100755")  # modes of git: links and submodules are no documents
LARGE_FILE = b"version https://git-lfs.github.com/spec/"  # begins a file that lies in Git LFS
LARGE_FILE_LIMIT = 1_024  # bytes of such a file
NO_BRANCH = "There is no branch or tag {branch} in {name}."

_COMMIT = re.compile(rb"\x01([0-9a-f]{40,64}) (\d+)")

logger = logging.getLogger(__name__)


@value
class TreeFile:
    """A file of a commit that is a document."""

    path: str  #: in the repository
    blob: str  #: git's name of its content


@dataclass(slots=True, kw_only=True)
class GitSource:
    """A repository."""

    address: GitAddress
    git: Git
    _lost: set[str] = field(default_factory=set)  #: blobs that the host has not any more
    _reader: asyncio.subprocess.Process | None = None
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        try:
            async with contextlib.aclosing(self._changes(cursor)) as batches:
                async for batch in batches:
                    yield batch
        except GitFailed as failed:
            logger.warning("git failed: %s", failed.said[-STDERR_LOGGED:])
            if self.address.scheme != "file":  # what was fetched may be damaged
                await asyncio.to_thread(shutil.rmtree, self.git.folder, ignore_errors=True)
            raise SourceUnavailable(f"git cannot read {self.address.name}; the log says more.") from failed

    async def _changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        tip = await self._tip()
        files: Iterable[TreeFile] = ()
        gone: Sequence[str] = ()
        total: int | None = None
        if cursor is None:
            printed = await self.git.read("ls-tree", "-r", "-z", "--full-tree", tip, *self._within)
            files, total = self._files(printed), sum(1 for _ in self._files(printed))
        elif cursor != tip:
            files, gone = await self._difference(cursor, tip)
        remaining, dates = iter(files), await self._dates(cursor, tip) if cursor != tip else {}
        while part := tuple(islice(remaining, BATCH)):
            items = [self._item(file, tip, dates) for file in part]
            yield SourceBatch(items=items, total=total, cursor=cursor)
        for begin in range(0, len(gone), BATCH):
            yield SourceBatch(gone=gone[begin : begin + BATCH], cursor=cursor)
        yield SourceBatch(cursor=tip)

    @property
    def _within(self) -> Sequence[str]:
        return ("--", self.address.folder) if self.address.folder else ()

    def _item(self, file: TreeFile, commit: str, dates: dict[str, float]) -> SourceItem:
        name = item_of(file.path, self.address.folder)
        place = (
            self.address.name.removesuffix(f"/{name}")
            if file.path == self.address.folder
            else self.address.name
        )
        return SourceItem(
            id=name,
            version=file.blob,
            name=PurePosixPath(name).name,
            source=printable(f"{place}/{name}"),
            url=self.address.page_of(file.path, commit),
            changed_at=dates.get(file.path),
        )

    def _files(self, printed: bytes) -> Iterator[TreeFile]:
        """What ``git ls-tree`` printed."""
        for entry in filter(None, printed.split(b"\0")):
            described, _, path = entry.partition(b"\t")
            mode, _, blob = described.decode().split(" ")
            if mode in FILES and is_document(name := path.decode(errors="replace")):
                yield TreeFile(path=name, blob=blob)

    async def _difference(self, old: str, new: str) -> tuple[list[TreeFile], list[str]]:
        """Files that are new or changed, and items that are gone. Raises CursorExpired."""
        try:
            await self.git.read("rev-parse", "--quiet", "--verify", "--end-of-options", f"{old}^{{tree}}")
            printed = await self.git.read(
                "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", old, new, *self._within
            )  # fmt: skip
        except GitFailed:
            raise CursorExpired(f"{self.address.name} has a history of its own now.") from None
        files, gone = [], []
        parts = iter(printed.split(b"\0")[:-1])
        for described, path in zip(parts, parts, strict=True):
            _, mode, _, blob, _ = described.decode().removeprefix(":").split(" ")
            name = path.decode(errors="replace")
            if not is_document(name):
                continue
            if mode in FILES:
                files.append(TreeFile(path=name, blob=blob))
            else:
                gone.append(item_of(name, self.address.folder))
        return files, gone

    async def _dates(self, since: str | None, tip: str) -> dict[str, float]:
        """When each document changed last on this branch, in seconds since the epoch, as far as the history is there."""
        newer = (f"^{since}",) if since is not None else ()
        printed = await self.git.read(
            "log", "--first-parent", "--diff-merges=first-parent", f"--max-count={HISTORY}", "-z", "--no-renames",
            "--no-mailmap", "--no-notes", "--no-show-signature", "--no-ext-diff", "--format=%x01%H %ct", "--name-only",
            tip, *newer, *self._within,
        )  # fmt: skip
        cut_off = await self._oldest_fetched()
        found: dict[str, float] = {}
        at: float | None = None
        for part in printed.split(b"\0"):
            if commit := _COMMIT.fullmatch(part):
                # Of the oldest commit that was fetched, git does not know what it changed, and prints all files.
                at = None if commit[1] in cut_off else float(commit[2])
            elif at is not None and (name := part.removeprefix(b"\n").decode(errors="replace")):
                found.setdefault(name, at)
        return {name: when for name, when in found.items() if is_document(name)}

    async def _oldest_fetched(self) -> frozenset[bytes]:
        """The commits behind which nothing was fetched."""
        printed = await self.git.read("rev-parse", "--git-path", "shallow")
        file = self.git.folder / printed.decode().strip()
        with contextlib.suppress(FileNotFoundError):
            return frozenset(file.read_bytes().split())
        return frozenset()

    # What is fetched

    async def _tip(self) -> str:
        """The newest commit, which is here afterwards."""
        if self.address.scheme == "file":
            return await self._tip_here()
        commit, ref = await self._tip_there()
        if await self._commit(TIP) == commit:
            return commit
        await self._fetch(ref)
        return await self._commit(TIP) or commit

    async def check(self) -> None:
        """Raises SourceUnavailable where there is no such repository or branch, or the token does not open it."""
        try:
            await (self._tip_here() if self.address.scheme == "file" else self._tip_there())
        except GitFailed as failed:
            logger.warning("git failed: %s", failed.said[-STDERR_LOGGED:])
            raise SourceUnavailable(f"git cannot read {self.address.name}; the log says more.") from failed

    async def _tip_here(self) -> str:
        branch = self.address.branch
        names = (f"refs/heads/{branch}", f"refs/tags/{branch}") if branch else ("HEAD",)
        for name in names:
            if (commit := await self._commit(name)) is not None:
                return commit
        raise SourceUnavailable(NO_BRANCH.format(branch=branch or "HEAD", name=self.address.name))

    async def _commit(self, ref: str) -> str | None:
        try:
            printed = await self.git.read(
                "rev-parse", "--quiet", "--verify", "--end-of-options", f"{ref}^{{commit}}"
            )
        except GitFailed:
            return None
        return printed.decode().strip()

    async def _tip_there(self) -> tuple[str, str]:
        """The commit and the name of the branch, or of the tag."""
        branch = self.address.branch
        names = (f"refs/heads/{branch}", f"refs/tags/{branch}") if branch else ("HEAD",)
        peeled = tuple(f"{name}^{{}}" for name in names if name.startswith("refs/tags/"))
        printed, _ = await self.git.ask("ls-remote", "--end-of-options", "origin", *names, *peeled)
        lines = (line.split("\t") for line in printed.decode(errors="replace").splitlines())
        found = {name: commit for commit, name in lines}
        for name in names:
            if name in found:
                return found.get(f"{name}^{{}}", found[name]), name
        raise SourceUnavailable(
            NO_BRANCH.format(branch=branch, name=self.address.name)
            if branch
            else f"{self.address.name} is empty."
        )

    async def _fetch(self, ref: str) -> None:
        """Commits and trees, of a host that can leave files out; else the newest commit with all files."""
        is_unfiltered = await self._is_unfiltered()
        if not is_unfiltered and await self._commit(NEWEST) is None:
            noted = await self._fetch_depth(ref, NEWEST, depth=1)
            if UNFILTERED in noted:
                await self.git.read("config", IS_UNFILTERED, "true")
                is_unfiltered = True
        await self._fetch_depth(ref, TIP, depth=1 if is_unfiltered else HISTORY)
        with contextlib.suppress(GitFailed):  # it only tidies up
            await self.git.read("gc", "--auto", "--quiet")

    async def _fetch_depth(self, ref: str, into: str, *, depth: int) -> str:
        _, noted = await self.git.ask(
            "fetch", f"--depth={depth}", "--filter=blob:none", "--no-tags", "--no-write-fetch-head",
            "--recurse-submodules=no", "--no-auto-gc", "--end-of-options", "origin", f"+{ref}:{into}",
        )  # fmt: skip
        return noted

    async def _is_unfiltered(self) -> bool:
        try:
            return await self.git.read("config", "--get", IS_UNFILTERED) == b"true\n"
        except GitFailed:
            return False

    async def prepare(self, items: Sequence[SourceItem]) -> None:
        if self.address.scheme == "file" or not items or await self._is_unfiltered():
            return
        blobs = {item.version for item in items} - self._lost
        while blobs:
            try:
                await self.git.ask(
                    "-c", "fetch.negotiationAlgorithm=noop", "fetch", "--filter=blob:none", "--no-tags",
                    "--no-write-fetch-head", "--recurse-submodules=no", "--no-auto-gc", "--stdin",
                    "--end-of-options", "origin", given="".join(f"{blob}\n" for blob in sorted(blobs)).encode(),
                )  # fmt: skip
            except GitFailed as failed:
                lost = blobs & set(re.findall(r"not our ref ([0-9a-f]{40,64})", failed.said))
                if not lost:
                    raise SourceUnavailable(
                        f"Files of {self.address.name} could not be fetched; LOG_LEVEL=info shows why."
                    ) from failed
                self._lost |= lost
                blobs -= lost
            else:
                return

    async def fetch(self, item: SourceItem) -> bytes:
        if "\N{REPLACEMENT CHARACTER}" in item.id:
            raise ItemUnreadable("could not be read: its name is not UTF-8")
        if (
            item.version in self._lost
        ):  # another history took its place, which lists it anew if it is still there
            raise ItemGone(f"{item.source} is gone.")
        data = await self._read_blob(item.version)
        if data.startswith(LARGE_FILE) and len(data) < LARGE_FILE_LIMIT:
            raise ItemUnreadable("lies in Git LFS, which is not read")
        return data

    async def _read_blob(self, blob: str) -> bytes:
        async with self._reading:
            if self._reader is None:
                self._reader = await self.git.start("cat-file", "--batch")
            try:
                return await _content(self._reader, blob)
            except ItemUnreadable:
                raise
            except BaseException as fault:  # its output is of no use any more
                await self.close()
                if isinstance(fault, asyncio.IncompleteReadError | OSError | ValueError):
                    raise SourceUnavailable(f"{self.address.name} has a fault: a file is missing.") from fault
                raise

    async def close(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            if reader.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    reader.kill()
            await reader.wait()


async def _content(reader: asyncio.subprocess.Process, blob: str) -> bytes:
    """What ``git cat-file --batch`` has of a blob; ItemUnreadable for one that is too large, ValueError for none."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write(f"{blob}\n".encode())
    await reader.stdin.drain()
    _, _, length = (await reader.stdout.readuntil(b"\n")).decode().split(" ")
    left, parts = int(length) + 1, []  # a line ends after it
    is_too_large = left > FILE_LIMIT + 1
    while left:
        part = await reader.stdout.readexactly(min(left, 1_000_000))
        left -= len(part)
        if not is_too_large:
            parts.append(part)
    if is_too_large:
        raise ItemUnreadable(f"is larger than {FILE_LIMIT // 1024**2} MB")
    return b"".join(parts)[:-1]


def is_document(path: str) -> bool:
    """Whether a file of a repository is read, by the same rules as a file of a folder."""
    *folders, name = path.split("/")
    is_hidden = any(part.startswith(".") for part in chain(folders, [name]))
    return (
        not is_hidden
        and SKIPPED_FOLDERS.isdisjoint(folders)
        and PurePosixPath(name).suffix.lower() in SUFFIXES
    )


@asynccontextmanager
async def open_git(text: str, context: SourceContext) -> AsyncIterator[GitSource]:
    """Raises SourceUnavailable for a host that may not be read."""
    address, settings = parse(text), context.settings
    if address.scheme == "file":
        git = Git(address=address, folder=Path(address.path))
        if not is_repository(git.folder):
            raise SourceUnavailable(f"{git.folder} is no git repository any more.")
    else:
        pinned = await addresses_of(
            address.host, address.port or DEFAULT_PORTS[address.scheme], settings.private_hosts
        )
        git = Git(address=address, folder=context.folder, tokens=settings.git_tokens, pinned=pinned)
        await _make_repository(git)
    source = GitSource(address=address, git=git)
    try:
        yield source
    finally:
        await source.close()


async def _make_repository(git: Git) -> None:
    """An empty one, unless a sound one is there. Only the owner may read it: the folder it lies in is private."""
    try:
        await git.read("config", "remote.origin.url", git.address.remote)
    except GitFailed:
        await asyncio.to_thread(shutil.rmtree, git.folder, ignore_errors=True)
        git.folder.mkdir(parents=True, mode=0o700)
        await git.read("init", "--quiet", "--bare", "--template=")
        await git.read("config", "remote.origin.url", git.address.remote)


async def check_git(text: str, context: SourceContext) -> None:
    async with open_git(text, context) as source:
        await source.check()


KIND = SourceKind(
    prefixes=PREFIXES,
    canonical=canonical_address,
    label=lambda address: parse(address).name,
    open=open_git,
    without_version=without_branch,
    place=place_of,
    check=check_git,
    guide=GUIDE,
)
