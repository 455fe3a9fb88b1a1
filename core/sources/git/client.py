"""Running git: without the user's and the repository's habits, and with nothing but what we allow.

Nothing is checked out, so no hook, no filter and no submodule of a repository ever runs. The configuration of the
user and of the system is not read. Only one protocol is allowed to each command, and none to those that only read.
A host was checked before (:mod:`core.sources.http`), and over HTTPS git connects to exactly the addresses that were
checked and follows no redirect. A token goes in the environment of the process, which only its owner can read.

The contents of files are fetched many at once, and read one by one. A document is put together from one commit, within
the folder that is read. The version of one that includes others names them too, so that it is new when one of them
changed, came or went.
"""

import asyncio
import base64
import hashlib
import json
import logging
import os
import posixpath
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from core.errors import DocumentError, SettingsError
from core.library.formats import includes
from core.library.formats.encoding import decode
from core.library.formats.read import FILE_LIMIT
from core.sources.git.address import DEFAULT_PORTS, GitAddress
from core.sources.source import ItemUnreadable, SourceThrottled, SourceUnavailable

NETWORK_TIME = 1_800.0  # seconds for one fetch
READING_TIME = 300.0  # seconds for anything else
LOCK_TRIES = 40  # looks at a lock of a git that a killed Footnote left behind
LOCK_PAUSE = 0.25  # seconds between two of them
THROTTLED = 60.0  # seconds until the next try: git does not tell what Retry-After said
STALLED = {"http.lowSpeedLimit": "1000", "http.lowSpeedTime": "60"}  # bytes a second, for so many seconds
STDERR_LOGGED = 2_000  # characters

#: ssh asks nobody, trusts no host it does not know, and opens nothing beside the connection.
SSH = (
    "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes -o ConnectTimeout=20 -o ForwardAgent=no"
    " -o ClearAllForwardings=yes -o PermitLocalCommand=no"
)
_PASSED_ON = ("PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK")
USER = "x-access-token"  # a user name: GitHub, GitLab and Gitea take any

logger = logging.getLogger(__name__)


class GitFailed(Exception):
    """A command ended with an error; its text is what git wrote, in English."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Commands in one repository."""

    address: GitAddress
    folder: Path  #: the repository
    tokens: Mapping[str, str] = field(default_factory=dict, repr=False)  #: by host: TOKEN, or USER:TOKEN
    pinned: Sequence[str] = ()  #: the IP addresses of the host that were checked

    async def read(self, *arguments: str) -> bytes:
        """The output of a command that needs no network. GitFailed."""
        printed, _ = await self._run(arguments, environment(self.address), b"", READING_TIME)
        return printed

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        """A command that stays open, for its input and output."""
        return await _start(self._command(arguments), environment(self.address))

    async def ask(self, *arguments: str, given: bytes = b"") -> tuple[bytes, str]:
        """The output and notes of a command that talks to the host. GitFailed, SourceUnavailable, SourceThrottled."""
        variables = environment(self.address, self._connection(), protocol=self.address.scheme)
        for left in reversed(range(LOCK_TRIES)):
            try:
                return await self._run(arguments, variables, given, NETWORK_TIME)
            except GitFailed as failed:
                logger.info("git failed: %s", str(failed)[-STDERR_LOGGED:])
                lock = _LOCK.search(str(failed))
                if lock is None:
                    if (fault := trouble(str(failed), self.address)) is not None:
                        raise fault from failed
                    raise
                if not left:
                    await asyncio.to_thread(_remove_if_old, Path(lock[1]))
            await asyncio.sleep(LOCK_PAUSE)
        raise SourceUnavailable(f"Another git works in {self.folder}; the next sync tries again.")

    def _command(self, arguments: Sequence[str]) -> list[str]:
        if self.address.scheme == "file":
            return ["git", "-C", str(self.folder), *arguments]
        return ["git", f"--git-dir={self.folder}", *arguments]

    async def _run(
        self, arguments: Sequence[str], variables: Mapping[str, str], given: bytes, seconds: float
    ) -> tuple[bytes, str]:
        process = await _start(self._command(arguments), variables)
        try:
            async with asyncio.timeout(seconds):
                printed, noted = await process.communicate(given)
        except TimeoutError:
            name = self.address.name
            raise SourceUnavailable(f"{name} took more than {seconds / 60:.0f} minutes.") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        said = noted.decode(errors="replace")
        if process.returncode:
            raise GitFailed(said)
        return printed, said

    def _connection(self) -> Mapping[str, str]:
        """Settings that pin the host to the addresses that were checked, and hold its token."""
        address, settings = self.address, dict(STALLED)
        if address.scheme == "https" and self.pinned:
            pinned = ",".join(f"[{each}]" if ":" in each else each for each in self.pinned)
            port = address.port or DEFAULT_PORTS["https"]
            settings["http.curloptResolve"] = f"{address.host}:{port}:{pinned}"
        if address.scheme == "https" and (token := self.tokens.get(address.host)):
            login = base64.b64encode((token if ":" in token else f"{USER}:{token}").encode()).decode()
            # For this host alone, whatever else it names.
            settings[f"http.https://{address.netloc}/.extraHeader"] = f"Authorization: Basic {login}"
        return settings


def _remove_if_old(lock: Path) -> None:
    """Remove the lock of a git that was killed; one that lives does not take so long."""
    with suppress(FileNotFoundError):
        if time.time() - lock.stat().st_mtime > NETWORK_TIME:
            lock.unlink()


async def _start(command: Sequence[str], variables: Mapping[str, str]) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    try:
        return await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env=variables, start_new_session=True
        )  # Ctrl-C must not reach it
    except FileNotFoundError:
        raise SettingsError("git is not installed: repositories are read with it.") from None


def environment(
    address: GitAddress, settings: Mapping[str, str] | None = None, *, protocol: str = "none"
) -> dict[str, str]:
    """The variables of a git that does nothing but what it is told; ``settings`` are of its configuration."""
    chosen = {
        "safe.directory": "*",  # the operator named it, and no command of ours runs what a repository says
        "core.hooksPath": os.devnull,
        "core.fsmonitor": "false",
        "credential.helper": "",
        "http.followRedirects": "false",
        "http.proxy": "",
        "protocol.version": "2",
        "transfer.fsckObjects": "false",  # old repositories have faults; nothing is checked out
        "fetch.recurseSubmodules": "false",
        "gc.autoDetach": "false",
        "log.showSignature": "false",
        **(settings or {}),
    }
    if authority := os.environ.get("SSL_CERT_FILE"):
        chosen["http.sslCAInfo"] = authority
    configured = {"GIT_CONFIG_COUNT": str(len(chosen))}
    for number, (name, setting) in enumerate(chosen.items()):
        configured |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": setting}
    return {
        **{name: os.environ[name] for name in _PASSED_ON if name in os.environ}, **configured, "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "", "GIT_ALLOW_PROTOCOL": protocol, "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_SSH_COMMAND": SSH,
        "GIT_CEILING_DIRECTORIES": str(Path(address.path).parent) if address.scheme == "file" else "",
    }  # fmt: skip


_LOCK = re.compile(r"Unable to create '([^']+\.lock)': File exists")

#: What git says, and what a person reads. The first that is found counts.
_SENTENCES: Sequence[tuple[str, str]] = (
    (r"Host key verification failed", "ssh does not know {host} yet: connect once with `ssh {host}`."),
    (r"Permission denied \(", "{host} takes no key of this user over ssh."),
    (
        r"Authentication failed|could not read (Username|Password)|error: 40[13]\b|terminal prompts disabled",
        "{host} does not let Footnote read {name}: set GIT_TOKENS={host}=TOKEN with a token that may read it.",
    ),
    (
        r"error: 404|not found|does not exist|does not appear to be a git repository|not a git repository",
        "There is no repository {name} on {host}, or the token may not read it.",
    ),
    (
        r"error: 30\d|redirection",
        "{host} says that {name} is elsewhere now: ingest its new address, and forget this one.",
    ),
    (r"certificate|\bSSL\b|\bTLS\b|gnutls_", "The certificate of {host} is not trusted: SSL_CERT_FILE names those that are."),
    (r"Could not resolve host", "{host} could not be found."),
)  # fmt: skip


def trouble(said: str, address: GitAddress) -> SourceUnavailable | SourceThrottled | None:
    """The error that a person reads of what git said; None if it means nothing to them."""
    if re.search(r"error: (429|503)", said):
        return SourceThrottled(f"{address.host} is asked too often.", retry_after=THROTTLED)
    for pattern, sentence in _SENTENCES:
        if re.search(pattern, said, re.IGNORECASE):
            return SourceUnavailable(sentence.format(host=address.host, name=address.name))
    if re.search(
        r"unable to access|Could not read from remote|early EOF|hung up|RPC failed|Connection", said
    ):
        return SourceUnavailable(f"{address.host} could not be reached.")
    return None


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
                lost = blobs & set(re.findall(r"not our ref ([0-9a-f]{40,64})", str(failed)))
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
            with suppress(ItemUnreadable):
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
                    name = self.git.address.name
                    raise SourceUnavailable(f"{name} has a fault: a file is missing.") from fault
                raise

    async def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            with suppress(ProcessLookupError):
                reader.kill()
            await reader.wait()


async def _content(reader: asyncio.subprocess.Process, blob: str) -> bytes:
    """The content of a blob by ``git cat-file --batch``; ItemUnreadable for one that is too large, ValueError for none."""
    assert reader.stdin
    assert reader.stdout
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


MARK = "+"  # in a version, between the blob and what is included


def blob_of(version: str) -> str:
    return version.partition(MARK)[0]


def version_of(blob: str, included: Iterable[str], blobs: Mapping[str, str]) -> str:
    """The version of a document with this content that includes these files, at a commit with these blobs."""
    named = [(path, blobs.get(path, "")) for path in sorted(included)]
    return blob + MARK + hashlib.sha256(json.dumps(named).encode()).hexdigest()[:16] if named else blob


@dataclass(slots=True, kw_only=True)
class CommitFiles:
    """The files of a commit below a folder, as far as they are here."""

    root: PurePosixPath
    blobs: Mapping[str, str]  #: git's names of the contents, by path
    contents: Mapping[str, bytes]  #: by blob
    files: set[str] = field(default_factory=set)  #: that are included, or would be if they were there
    missing: set[str] = field(default_factory=set)  #: blobs that are needed, and are not among the contents

    def find(self, name: str, path: PurePosixPath) -> PurePosixPath | None:
        """Find a file beside the document, or below a folder between it and the root."""
        for folder in path.parents:
            if not folder.is_relative_to(self.root):
                break
            file = PurePosixPath(posixpath.normpath(folder / name))
            if not file.is_relative_to(self.root) or includes.is_hidden(file.relative_to(self.root)):
                continue
            if str(file) in self.blobs or folder == path.parent:
                self.files.add(str(file))
            if str(file) in self.blobs:
                return file
        return None

    def read(self, file: PurePosixPath) -> str | None:
        blob = self.blobs[str(file)]
        if blob not in self.contents:
            self.missing.add(blob)
            return None
        data = self.contents[blob]
        try:
            return decode(data) if len(data) <= includes.FILE_LIMIT else None
        except DocumentError:
            return None
