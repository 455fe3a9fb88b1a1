"""The contents of a repository's files: fetched many at once, read one by one."""

from __future__ import annotations

import asyncio
import contextlib
import re
from dataclasses import dataclass, field

from core.library.formats.read import FILE_LIMIT
from core.sources.git.process import Git, GitFailed
from core.sources.source import ItemUnreadable, SourceUnavailable

IS_UNFILTERED = "footnote.unfiltered"  # a setting of the repository: its host cannot leave files out


@dataclass(slots=True, kw_only=True)
class Blobs:
    """Contents by git's names of them."""

    git: Git
    lost: set[str] = field(default_factory=set)  #: that the host has not any more
    _reader: asyncio.subprocess.Process | None = None
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def is_unfiltered(self) -> bool:
        try:
            return await self.git.read("config", "--get", IS_UNFILTERED) == b"true\n"
        except GitFailed:
            return False

    async def have(self, blobs: set[str]) -> None:
        """Fetch what is not here, at once."""
        if self.git.address.scheme == "file" or not blobs or await self.is_unfiltered():
            return
        blobs -= self.lost
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
                        f"Files of {self.git.address.name} could not be fetched; LOG_LEVEL=info shows why."
                    ) from failed
                self.lost |= lost
                blobs -= lost
            else:
                return

    async def contents(self, blobs: set[str]) -> dict[str, bytes]:
        """Empty ones of what the host has not any more, or what is too large."""
        await self.have(set(blobs))
        found = dict.fromkeys(blobs, b"")
        for blob in blobs - self.lost:
            with contextlib.suppress(ItemUnreadable):
                found[blob] = await self.read(blob)
        return found

    async def read(self, blob: str) -> bytes:
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
                    raise SourceUnavailable(
                        f"{self.git.address.name} has a fault: a file is missing."
                    ) from fault
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
