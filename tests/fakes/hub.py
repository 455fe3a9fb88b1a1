"""A hub of networks on loopback that speaks the protocol of the Hugging Face hub, and the network of caches behind it.

What each response carries is written down in ``huggingface_hub/file_download.py``; tests/core/library/test_hub.py lets that
client itself read from here. Large files are in LFS: they are redirected to another host, at an address that counts
once. Small files are redirected within the hub. What fails, fails as told.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

LFS_FROM = 4_000  # bytes; the real hub goes by .gitattributes
PIECE = 8_192  # bytes sent at a time


@dataclass
class FakeRepository:
    """What lies under OWNER/NAME, commit by commit."""

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=dict)  #: branches and tags
    refuses: tuple[int, str] | None = None  #: status and X-Error-Code of every file: (401, "GatedRepo")
    is_private: bool = False

    def push(self, files: dict[str, bytes], *names: str) -> str:
        """A new commit on the branch main and under these names; its name."""
        content = b"".join(k.encode() + v for k, v in sorted(files.items()))
        commit = hashlib.sha1(b"%d" % len(self.commits) + content).hexdigest()
        self.commits[commit] = dict(files)
        for name in ("main", *names):
            self.revisions[name] = commit
        return commit


@dataclass
class Answer:
    """A response before it is sent."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    sent: int | None = None  #: the connection is cut after so many bytes; None: all are sent


def etag_of(content: bytes) -> str:
    """As the hub gives it: SHA-256 for a file in LFS, git's SHA-1 for the others."""
    if len(content) >= LFS_FROM:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class FakeHub:
    """The hub and its caches, each on a port of its own."""

    def __init__(self) -> None:
        self.repositories: dict[str, FakeRepository] = {}
        self.renamed: dict[str, str] = {}  #: repositories by their earlier name
        self.swapped: dict[str, bytes] = {}  #: content that the caches send instead, by path
        self.cuts: list[int] = []  #: after how many bytes the caches cut the next connections
        self.can_resume = True  #: False: the caches send everything again
        self.asked: list[tuple[str, str]] = []  #: method and path, without what is signed
        self.ranges: list[str | None] = []  #: Range of what was asked of the caches
        self.bytes_sent = 0  #: by the caches
        self.hold_after: int | None = None  #: bytes of a file after which the caches send nothing more
        self.held = threading.Event()  #: set when they do
        self._signed: dict[str, tuple[str, bytes]] = {}
        self._numbers = count(1)
        self._released = threading.Event()

    def __enter__(self) -> Self:
        self._servers = [self._serve(self._of_hub), self._serve(self._of_caches)]
        self.url, self._caches = (f"http://127.0.0.1:{server.server_port}" for server in self._servers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def add(self, repo: str, files: dict[str, bytes], *names: str) -> str:
        """Pushes a commit; its name."""
        return self.repositories.setdefault(repo, FakeRepository()).push(files, *names)

    def paths(self, method: str) -> list[str]:
        return [path for each, path in self.asked if each == method]

    def _serve(self, answer) -> ThreadingHTTPServer:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                hub._send(self, answer(self))

            def do_HEAD(self):
                hub._send(self, answer(self))

            def log_message(self, *_args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        handler.send_response(answer.status)
        for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
            handler.send_header(name, value)
        if answer.sent is not None:
            handler.close_connection = True
        handler.end_headers()
        if handler.command == "HEAD":
            return
        body = answer.body[: answer.sent]
        for start in range(0, len(body), PIECE):
            if self.hold_after is not None and start >= self.hold_after:
                self.held.set()
                self._released.wait()
            try:
                handler.wfile.write(body[start : start + PIECE])
            except OSError:  # the client is gone
                return
        handler.wfile.flush()

    # The hub

    def _of_hub(self, handler: BaseHTTPRequestHandler) -> Answer:
        parts = urlsplit(handler.path)
        self.asked.append((handler.command, parts.path))
        match parts.path.strip("/").split("/"):
            case ["api", "models", owner, name]:
                return self._listing(f"{owner}/{name}", "main", handler.path, has_blobs=False)
            case ["api", "models", owner, name, "revision", revision]:
                has_blobs = "blobs" in parse_qs(parts.query)
                return self._listing(f"{owner}/{name}", unquote(revision), handler.path, has_blobs=has_blobs)
            case ["api", "resolve-cache", "models", owner, name, commit, *path]:
                return self._file(f"{owner}/{name}", commit, "/".join(path))
            case [owner, name, "resolve", revision, *path]:
                return self._resolve(f"{owner}/{name}", unquote(revision), "/".join(path), handler.path)
        return refusal(404, "", "Not Found")

    def _refused(
        self, repo: str, revision: str, path: str, *, is_file: bool
    ) -> Answer | tuple[str, dict[str, bytes]]:
        """The commit and its files, or why not. Whoever has no login cannot tell a private repository from none."""
        if repo in self.renamed:
            to = path.replace(repo, self.renamed[repo], 1)
            return Answer(307, headers={"Location": to})
        known = self.repositories.get(repo)
        if known is None or known.is_private:
            return refusal(401, "RepoNotFound", "Repository not found")
        if is_file and known.refuses:
            return refusal(*known.refuses, "Access to this repository is restricted")
        commit = known.revisions.get(revision, revision)
        if commit not in known.commits:
            return refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit, known.commits[commit]

    def _listing(self, repo: str, revision: str, path: str, *, has_blobs: bool) -> Answer:
        found = self._refused(repo, revision, path, is_file=False)
        if isinstance(found, Answer):
            return found
        commit, files = found
        known = self.repositories[repo]
        listed = [self._sibling(name, content, has_blobs) for name, content in sorted(files.items())]
        record = {
            "_id": "0", "id": repo, "modelId": repo, "sha": commit, "private": False, "tags": [],
            "gated": "auto" if known.refuses else False, "disabled": False, "siblings": listed,
        }  # fmt: skip
        return Answer(200, json.dumps(record).encode(), {"Content-Type": "application/json; charset=utf-8"})

    @staticmethod
    def _sibling(name: str, content: bytes, has_blobs: bool) -> dict[str, object]:
        if not has_blobs:
            return {"rfilename": name}
        lfs = {"sha256": etag_of(content), "size": len(content), "pointerSize": 134}
        return {
            "rfilename": name, "size": len(content), "blobId": etag_of(content)[:40],
            **({"lfs": lfs} if len(content) >= LFS_FROM else {}),
        }  # fmt: skip

    def _resolve(self, repo: str, revision: str, path: str, whole: str) -> Answer:
        found = self._refused(repo, revision, whole, is_file=True)
        if isinstance(found, Answer):
            return found
        commit, files = found
        if path not in files:
            return refusal(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        content = files[path]
        headers = {"X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if len(content) < LFS_FROM:
            return Answer(
                307, headers=headers | {"Location": f"/api/resolve-cache/models/{repo}/{commit}/{path}"}
            )
        linked = {"X-Linked-ETag": f'"{etag_of(content)}"', "X-Linked-Size": str(len(content))}
        return Answer(
            302,
            b"Found",
            headers | linked | {"Location": self._sign(path, content), "ETag": '"of-this-page"'},
        )

    def _file(self, repo: str, commit: str, path: str) -> Answer:
        content = self.repositories[repo].commits[commit][path]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{etag_of(content)}"'}
        return Answer(200, self.swapped.get(path, content), headers)

    def _sign(self, path: str, content: bytes) -> str:
        number = str(next(self._numbers))
        self._signed[number] = path, content
        return f"{self._caches}/repos/{etag_of(content)}?Expires=1&Signature={number}"

    # Its caches

    def _of_caches(self, handler: BaseHTTPRequestHandler) -> Answer:
        (number,) = parse_qs(urlsplit(handler.path).query).get("Signature", [""])
        signed = self._signed.pop(number, None)
        if signed is None:
            return Answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        path, content = signed
        content = self.swapped.get(path, content)
        asked = handler.headers.get("Range")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.can_resume else 0
        if start and start >= len(content):
            return Answer(416, headers={"Content-Range": f"bytes */{len(content)}"})
        cut = self.cuts.pop(0) if self.cuts else None
        self.bytes_sent += len(content) - start if cut is None else cut
        span = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        return Answer(206 if start else 200, content[start:], {"Accept-Ranges": "bytes", **span}, cut)


def refusal(
    status: int, code: str, message: str, headers: Iterable[tuple[str, str]] | dict[str, str] = ()
) -> Answer:
    said = {"X-Error-Code": code, "X-Error-Message": message} if code else {}
    return Answer(status, json.dumps({"error": message}).encode(), {**dict(headers), **said})
