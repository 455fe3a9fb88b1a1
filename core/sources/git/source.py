"""A repository as a source: its files on one branch.

Of a repository elsewhere, commits and trees of the newest history are fetched first, and of its files only those that
are documents and are new or changed. A host that cannot leave files out sends the newest commit whole. What was
fetched is kept in a folder of the source, and may be deleted. A repository on this disk is read where it is.

The cursor is the commit that was read last: what changed since is the difference of two trees.
"""

import asyncio
import contextlib
import logging
import re
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats.encoding import decode
from core.library.formats.includes import DEPTH_LIMIT, expand_includes, may_include
from core.library.formats.read import SUFFIXES
from core.library.sync import SKIPPED_FOLDERS, printable
from core.sources import source
from core.sources.git import client
from core.sources.git.address import DEFAULT_PORTS, GitAddress, is_repository, item_of, parse
from core.sources.http import permitted_addresses

HISTORY = 1_000  # commits that are looked through for when a file changed last
TIP = "refs/footnote/tip"  # the commit that was fetched last, with its history
NEWEST = "refs/footnote/newest"  # the same without
UNFILTERED = "filtering not recognized"  # what git notes of a host that cannot leave files out
FILES = ("100644", "100755")  # modes of git: links and submodules are no documents
LARGE_FILE = b"version https://git-lfs.github.com/spec/"  # begins a file that lies in Git LFS
LARGE_FILE_LIMIT = 1_024  # bytes of such a file
VERIFY = ("rev-parse", "--quiet", "--verify", "--end-of-options")
INCLUDED = "included"  # what is remembered, and its folder
NO_BRANCH = "There is no branch or tag {branch} in {name}."

_COMMIT = re.compile(rb"\x01([0-9a-f]{40,64}) (\d+)")

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class GitSource:
    """A repository."""

    address: GitAddress
    git: client.Git
    memory: source.Memory
    #: the files that each document includes, by its path; the empty path says that they are known. They are remembered, and
    #: may vanish: then everything is listed again.
    included: dict[str, Sequence[str]]
    blobs: client.Blobs
    _tree: Mapping[str, str] = field(default_factory=dict)  #: of the newest commit, by path

    async def changes(self, cursor: str | None) -> AsyncGenerator[source.SourceBatch, None]:
        try:
            yield await self._batch(cursor)
        except client.GitFailed as failed:
            if self.address.scheme != "file":  # what was fetched may be damaged
                await asyncio.to_thread(shutil.rmtree, self.git.folder, ignore_errors=True)
            raise self._trouble(failed) from failed

    def _trouble(self, failed: client.GitFailed) -> source.SourceUnavailable:
        logger.warning("git failed: %s", str(failed)[-client.STDERR_LOGGED :])
        return source.SourceUnavailable(f"git cannot read {self.address.name}; the log says more.")

    async def _batch(self, cursor: str | None) -> source.SourceBatch:
        if "" not in self.included:
            if cursor is not None:
                reason = f"It is not known any more what files of {self.address.name} include."
                raise source.CursorExpired(reason)
            await self._note("", ())
        tip = await self._tip()
        self._tree = await self._tree_of(tip) if cursor != tip else {}
        if cursor == tip:
            return source.SourceBatch(cursor=tip)
        gone: Sequence[str] = ()
        if cursor is None:
            files = {path: blob for path, blob in self._tree.items() if is_document(path)}
        else:
            files, gone = await self._difference(cursor, tip)
            old = await self._tree_of(cursor) if any(self.included.values()) else {}
            for path, included in self.included.items():  # of what is not the same any more
                if path in self._tree and any(old.get(each) != self._tree.get(each) for each in included):
                    files[path] = self._tree[path]
        dates = await self._dates(cursor, tip)
        items = [self._item(path, blob, tip, dates.get(path)) for path, blob in files.items()]
        return source.SourceBatch(
            items=items, gone=gone, total=len(items) if cursor is None else None, cursor=tip
        )

    @property
    def _refs(self) -> Sequence[str]:
        branch = self.address.branch
        return (f"refs/heads/{branch}", f"refs/tags/{branch}") if branch else ("HEAD",)

    @property
    def _within(self) -> Sequence[str]:
        return ("--", self.address.folder) if self.address.folder else ()

    def _item(self, path: str, blob: str, commit: str, changed_at: float | None) -> source.SourceItem:
        name, label = item_of(path, self.address.folder), self.address.name
        if path == self.address.folder:
            label = label.removesuffix(f"/{name}")
        return source.SourceItem(
            id=name, version=client.version_of(blob, self.included.get(path, ()), self._tree),
            name=PurePosixPath(name).name, source=printable(f"{label}/{name}"),
            url=self.address.page_of(path, commit), changed_at=changed_at,
        )  # fmt: skip

    async def _tree_of(self, commit: str) -> Mapping[str, str]:
        printed = await self.git.read("ls-tree", "-r", "-z", "--full-tree", commit, *self._within)
        entries = (line.partition(b"\t") for line in filter(None, printed.split(b"\0")))
        found = ((path.decode(errors="replace"), *entry.decode().split(" ")) for entry, _, path in entries)
        return {path: blob for path, mode, _, blob in found if mode in FILES}

    async def _difference(self, old: str, new: str) -> tuple[dict[str, str], list[str]]:
        """Files that are new or changed, and items that are gone. Raises CursorExpired."""
        try:
            await self.git.read(*VERIFY, f"{old}^{{tree}}")
            printed = await self.git.read(
                "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", old, new, *self._within
            )  # fmt: skip
        except client.GitFailed:
            raise source.CursorExpired(f"{self.address.name} has a history of its own now.") from None
        files, gone = dict[str, str](), list[str]()
        parts = iter(printed.split(b"\0")[:-1])
        for described, path in zip(parts, parts, strict=True):
            _, mode, _, blob, _ = described.decode().removeprefix(":").split(" ")
            name = path.decode(errors="replace")
            if not is_document(name):
                continue
            if mode in FILES:
                files[name] = blob
            else:
                gone.append(item_of(name, self.address.folder))
        return files, gone

    async def _dates(self, since: str | None, tip: str) -> dict[str, float]:
        """The last change of each document, in seconds since the epoch, as far as the history is there."""
        newer = (f"^{since}",) if since is not None else ()
        printed = await self.git.read(
            "log", "--first-parent", "--diff-merges=first-parent", f"--max-count={HISTORY}", "-z", "--no-renames",
            "--no-mailmap", "--no-notes", "--no-show-signature", "--no-ext-diff", "--format=%x01%H %ct", "--name-only",
            tip, *newer, *self._within,
        )  # fmt: skip
        shallow = await self.git.read("rev-parse", "--git-path", "shallow")
        cut_off = set[bytes]()  # the commits behind which nothing was fetched
        with contextlib.suppress(FileNotFoundError):
            cut_off |= set((self.git.folder / shallow.decode().strip()).read_bytes().split())
        found: dict[str, float] = {}
        at: float | None = None
        for part in printed.split(b"\0"):
            if commit := _COMMIT.fullmatch(part):
                # Of the oldest commit that was fetched, git does not know what it changed, and prints all files.
                at = None if commit[1] in cut_off else float(commit[2])
            elif at is not None and (name := part.removeprefix(b"\n").decode(errors="replace")):
                found.setdefault(name, at)
        return {name: when for name, when in found.items() if is_document(name)}

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
        except client.GitFailed as failed:
            raise self._trouble(failed) from failed

    async def _tip_here(self) -> str:
        for name in self._refs:
            if (commit := await self._commit(name)) is not None:
                return commit
        raise source.SourceUnavailable(
            NO_BRANCH.format(branch=self.address.branch or "HEAD", name=self.address.name)
        )

    async def _commit(self, ref: str) -> str | None:
        try:
            printed = await self.git.read(*VERIFY, f"{ref}^{{commit}}")
        except client.GitFailed:
            return None
        return printed.decode().strip()

    async def _tip_there(self) -> tuple[str, str]:
        peeled = tuple(f"{name}^{{}}" for name in self._refs if name.startswith("refs/tags/"))
        printed, _ = await self.git.ask("ls-remote", "--end-of-options", "origin", *self._refs, *peeled)
        lines = (line.split("\t") for line in printed.decode(errors="replace").splitlines())
        found = {name: commit for commit, name in lines}
        for name in self._refs:
            if name in found:
                return found.get(f"{name}^{{}}", found[name]), name
        name, branch = self.address.name, self.address.branch
        raise source.SourceUnavailable(
            NO_BRANCH.format(branch=branch, name=name) if branch else f"{name} is empty."
        )

    async def _fetch(self, ref: str) -> None:
        """Commits and trees, of a host that can leave files out; else the newest commit with all files."""
        is_unfiltered = await self.blobs.is_unfiltered()
        if not is_unfiltered and await self._commit(NEWEST) is None:
            noted = await self._fetch_depth(ref, NEWEST, depth=1)
            if UNFILTERED in noted:
                await self.git.read("config", client.IS_UNFILTERED, "true")
                is_unfiltered = True
        await self._fetch_depth(ref, TIP, depth=1 if is_unfiltered else HISTORY)
        with contextlib.suppress(client.GitFailed):  # it only tidies up
            await self.git.read("gc", "--auto", "--quiet")

    async def _fetch_depth(self, ref: str, into: str, *, depth: int) -> str:
        _, noted = await self.git.ask(
            "fetch", f"--depth={depth}", "--filter=blob:none", "--no-tags", "--no-write-fetch-head",
            "--recurse-submodules=no", "--no-auto-gc", "--end-of-options", "origin", f"+{ref}:{into}",
        )  # fmt: skip
        return noted

    async def prepare(self, items: Sequence[source.SourceItem]) -> None:
        await self.blobs.have({client.blob_of(item.version) for item in items})

    async def fetch(self, item: source.SourceItem) -> bytes:
        if "\N{REPLACEMENT CHARACTER}" in item.id:
            raise source.ItemUnreadable("could not be read: its name is not UTF-8")
        blob = client.blob_of(item.version)
        # another history took its place, which lists it again if it is still there
        if blob in self.blobs.lost:
            raise source.ItemGone(f"{item.source} is gone.")
        data = await self.blobs.read(blob)
        if data.startswith(LARGE_FILE) and len(data) < LARGE_FILE_LIMIT:
            raise source.ItemUnreadable("lies in Git LFS, which is not read")
        return await self._whole(item, data) if may_include(PurePosixPath(item.name).suffix, data) else data

    async def _whole(self, item: source.SourceItem, data: bytes) -> bytes:
        """A document with what it includes of the newest commit; ItemChanged if that is not what was listed."""
        try:
            text = decode(data, suffix=PurePosixPath(item.name).suffix)
        except DocumentError:
            return data  # which is said when it is parsed
        if not self._tree:
            self._tree = await self._tree_of(await self._tip())
        root, contents = PurePosixPath(self.address.folder), dict[str, bytes]()
        path = root / item.id
        for _ in range(DEPTH_LIMIT + 1):
            files = client.CommitFiles(root=root, blobs=self._tree, contents=contents)
            lines = expand_includes(text, path, files)
            if not files.missing:
                break
            contents |= await self.blobs.contents(files.missing)
        # Written before the document is: a process that ends in between only reads it once more.
        if sorted(files.files) != list(self.included.get(str(path), ())):
            await self._note(str(path), sorted(files.files))
        version = client.version_of(client.blob_of(item.version), files.files, self._tree)
        if version != item.version:
            raise source.ItemChanged(f"{item.source} includes others.", item=replace(item, version=version))
        return "".join(line for line, _ in lines).encode("utf-8", "surrogatepass") if files.files else data

    async def _note(self, path: str, files: Sequence[str]) -> None:
        self.included[path] = files
        await asyncio.to_thread(self.memory.keep, INCLUDED, {path: files})


async def read_file(address: str, folder: Path, item: str) -> tuple[str, bytes]:
    """The path of an item in its repository, and its bytes in the newest commit that was read. DocumentError."""
    parsed = parse(address)
    is_here = parsed.scheme == "file"
    git = client.Git(address=parsed, folder=Path(parsed.path) if is_here else folder)
    root, commit = PurePosixPath(parsed.folder), (parsed.branch or "HEAD") if is_here else TIP
    for path in (root / item, root):  # what is read may be one file
        if path.name == PurePosixPath(item).name:
            with contextlib.suppress(client.GitFailed, source.SourceUnavailable, OSError):
                return str(path), await git.read("cat-file", "blob", f"{commit}:{path}")
    raise DocumentError("is not here any more: read its source again")


def is_document(path: str) -> bool:
    """True if a file of a repository is read, by the same rules as a file of a folder."""
    *folders, name = parts = path.split("/")
    is_read = PurePosixPath(name).suffix.lower() in SUFFIXES and SKIPPED_FOLDERS.isdisjoint(folders)
    return is_read and not any(part.startswith(".") for part in parts)


@asynccontextmanager
async def open_git(text: str, context: source.SourceContext) -> AsyncIterator[GitSource]:
    """Raises SourceUnavailable for a host that may not be read."""
    address, settings = parse(text), context.settings
    if address.scheme == "file":
        git = client.Git(address=address, folder=Path(address.path))
        if not is_repository(git.folder):
            raise source.SourceUnavailable(f"{git.folder} is no git repository any more.")
    else:
        port = address.port or DEFAULT_PORTS[address.scheme]
        pinned = await permitted_addresses(address.host, port, settings.private_hosts)
        git = client.Git(address=address, folder=context.folder, tokens=settings.git_tokens, pinned=pinned)
        await _make_repository(git)
    blobs = client.Blobs(git=git)
    with source.open_memory(source.Memory, context.folder / INCLUDED) as memory:
        included = await asyncio.to_thread(memory.all, INCLUDED)
        try:
            yield GitSource(address=address, git=git, memory=memory, included=included, blobs=blobs)
        finally:
            await blobs.close()


async def _make_repository(git: client.Git) -> None:
    """An empty one, unless a sound one is there. Only the owner may read it: the folder it lies in is private."""
    try:
        await git.read("config", "remote.origin.url", git.address.remote)
    except client.GitFailed:
        await asyncio.to_thread(shutil.rmtree, git.folder, ignore_errors=True)
        git.folder.mkdir(parents=True, mode=0o700)
        await git.read("init", "--quiet", "--bare", "--template=")
        await git.read("config", "remote.origin.url", git.address.remote)


def parse_git(item: source.SourceItem, data: bytes) -> Document:
    document = source.parse_as_file(item, data)
    return replace(document, has_lines=False) if client.MARK in item.version else document
