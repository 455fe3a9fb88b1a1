"""A git server on loopback: `git http-backend` behind HTTPS, with repositories whose history a seeded script makes.

What is pushed goes through `git fast-import`; what the newest commit must contain is known beside it.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import random
import ssl
import subprocess
import threading
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

FIRST_COMMIT = 1_600_000_000  # seconds since the epoch; the next ones are an hour apart
HOUR = 3_600
WORDS = (
    "harbour", "ferry", "pontoon", "crane", "pilot", "tide", "lighthouse", "anchor", "mooring", "customs", "ballast", "hull", "keel", "rudder", "winch", "berth", "cargo", "manifest", "quay", "buoy", "channel", "dredger", "tug", "lock", "sluice", "jetty", "rope", "chain", "engine", "radio",
)  # fmt: skip


def git(
    folder: Path, *arguments: str, given: bytes = b"", variables: Mapping[str, str] | None = None
) -> bytes:
    """What git prints, without anybody's configuration."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@harbour.example", "GIT_COMMITTER_NAME": "Ann",
        "GIT_COMMITTER_EMAIL": "ann@harbour.example", **(variables or {}),
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], input=given, capture_output=True, env=environment, check=True
    )
    return done.stdout


@dataclass(kw_only=True)
class Repository:
    """A bare repository, and what the newest commit of its branch contains."""

    folder: Path
    branch: str = "main"
    files: dict[str, bytes] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)  #: when each file was changed last
    commits: int = 0

    @classmethod
    def made(cls, folder: Path, *, filters: bool = True) -> Self:
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "--bare", "-b", "main")
        git(folder, "config", "uploadpack.allowFilter", "true" if filters else "false")
        git(folder, "config", "http.receivepack", "false")
        return cls(folder=folder)

    def commit(
        self,
        written: Mapping[str, bytes | str],
        removed: tuple[str, ...] = (),
        *,
        links: Mapping[str, str] | None = None,
    ) -> None:
        """One commit more on the branch; ``links`` are symbolic."""
        at = FIRST_COMMIT + self.commits * HOUR
        contents = {path: text.encode() if isinstance(text, str) else text for path, text in written.items()}
        stream = [
            f"commit refs/heads/{self.branch}\ncommitter Ann <ann@harbour.example> {at} +0000\n".encode(),
            b"data 6\nChange\n",
            f"from refs/heads/{self.branch}^0\n".encode() if self.commits else b"",
            *(b'D "%s"\n' % _quoted(path) for path in removed),
            *(
                b'M 100644 inline "%s"\ndata %d\n%s\n' % (_quoted(path), len(data), data)
                for path, data in contents.items()
            ),
            *(
                b'M 120000 inline "%s"\ndata %d\n%s\n' % (_quoted(path), len(to.encode()), to.encode())
                for path, to in (links or {}).items()
            ),
        ]
        git(self.folder, "fast-import", "--quiet", "--force", given=b"".join(stream))
        for path in removed:
            self.files.pop(path, None)
            self.changed.pop(path, None)
        self.files |= contents
        self.changed |= dict.fromkeys(contents, at)
        self.commits += 1

    def rename(self, old: str, new: str) -> None:
        self.commit({new: self.files[old]}, (old,))

    def begin_anew(self, files: Mapping[str, bytes | str]) -> None:
        """As after a forced push: another history, of which this is the first commit."""
        git(self.folder, "update-ref", "-d", f"refs/heads/{self.branch}")
        self.files, self.changed, self.commits = {}, {}, 0
        self.commit(files)

    def hashes(self, folder: str = "", suffixes: tuple[str, ...] = (".md", ".txt", ".rst")) -> dict[str, str]:
        """SHA-256 of each document below a folder, by its path there."""
        below = f"{folder}/" if folder else ""
        return {
            path.removeprefix(below): hashlib.sha256(data).hexdigest()
            for path, data in self.files.items()
            if path.startswith(below)
            and path.endswith(suffixes)
            and not any(p.startswith(".") for p in path.split("/"))
        }


def _quoted(path: str) -> bytes:
    return path.replace("\\", "\\\\").replace('"', '\\"').encode()


@dataclass
class Author:
    """Writes a repository's history by the numbers of a seed: changes, renames, deletions, new files."""

    repository: Repository
    seed: int = 1
    _chance: random.Random = field(init=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def begin(self, files: int) -> None:
        self.repository.commit({self._new_path(): self._page() for _ in range(files)})

    def go_on(self, commits: int, *, touched: int = 6) -> None:
        for _ in range(commits):
            self._step(touched)

    def _step(self, touched: int) -> None:
        there, chance = sorted(self.repository.files), self._chance
        picked = chance.sample(there, min(touched, len(there)))
        written: dict[str, bytes | str] = {self._new_path(): self._page()}
        removed = []
        for path in picked:
            what = chance.choice(("change", "change", "change", "rename", "delete"))
            if what == "change":
                written[path] = self.repository.files[path] + f"\n\nAdded: {self._sentence()}\n".encode()
            else:
                removed.append(path)
                if what == "rename":
                    written[self._new_path()] = self.repository.files[path]
        self.repository.commit(written, tuple(removed))

    def _new_path(self) -> str:
        self._count += 1
        folder = self._chance.choice(("docs", "docs/guide", "docs/guide/deep er", "api", "src", "wiki/ä"))
        suffix = self._chance.choice((".md", ".md", ".md", ".txt", ".rst", ".py"))
        return f"{folder}/page-{self._count}{suffix}"

    def _page(self) -> bytes:
        parts = [f"# Page {self._count}", *(self._sentence() for _ in range(self._chance.randint(8, 30)))]
        return "\n\n".join(parts).encode()

    def _sentence(self) -> str:
        return " ".join(self._chance.choices(WORDS, k=12)).capitalize() + "."


def make_certificate(folder: Path) -> Path:
    """A certificate of 127.0.0.1 with its key, in one file that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=30))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "authority.pem"
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return file


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 32


class GitServer:
    """Serves the repositories below a folder, counts what goes through, and refuses what it is told to."""

    def __init__(self, folder: Path, certificate: Path) -> None:
        self.folder = folder
        self.requests, self.received, self.sent = 0, 0, 0  #: and bytes of bodies
        self.token = ""  #: that it asks for; empty: none
        self.refusals: list[int] = []  #: statuses of the next requests
        self.on_request: Any = lambda path: None
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.answer(self)

            do_POST = do_GET  # noqa: N815 - as the class looks for it

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def address(self, name: str, fragment: str = "") -> str:
        return f"git+https://127.0.0.1:{self.port}/{name}{fragment}"

    @property
    def bytes(self) -> int:
        """Of the bodies of all requests and replies."""
        return self.received + self.sent

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = _body(request)
        self.requests += 1
        self.received += len(body)
        self.on_request(request.path)
        if self.refusals:
            _reply(request, self.refusals.pop(0), {"Retry-After": "7", "Location": "/elsewhere"}, b"")
        elif self.token and not self._is_allowed(request):
            _reply(request, 401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
        else:
            status, headers, reply = self._backend(request, body)
            self.sent += len(reply)
            _reply(request, status, headers, reply)

    def _is_allowed(self, request: BaseHTTPRequestHandler) -> bool:
        scheme, _, told = request.headers.get("Authorization", "").partition(" ")
        return scheme == "Basic" and b64decode(told).decode().partition(":")[2] == self.token

    def _backend(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, dict[str, str], bytes]:
        url = urlsplit(request.path)
        environment = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": url.path, "QUERY_STRING": url.query, "REQUEST_METHOD": request.command,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""), "REMOTE_ADDR": "127.0.0.1",
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
        }  # fmt: skip
        done = subprocess.run(
            ["git", "http-backend"], input=body, capture_output=True, env=environment, check=False
        )
        head, _, reply = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        return int(headers.pop("Status", "200 OK").split()[0]), headers, reply


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if "chunked" not in request.headers.get("Transfer-Encoding", ""):
        return request.rfile.read(int(request.headers.get("Content-Length", 0)))
    parts = []
    while size := int(request.rfile.readline().split(b";")[0], 16):
        parts.append(request.rfile.read(size))
        request.rfile.readline()
    request.rfile.readline()
    return b"".join(parts)


def _reply(request: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    request.send_response(status)
    for name, content in headers.items():
        request.send_header(name, content)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)
