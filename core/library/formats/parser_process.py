"""Parsing strangers' files in another process, so that a file that hangs or crashes a parser harms nothing else.

A worker (:mod:`core.library.formats.worker`) is started for the first such file, keeps its libraries loaded for
the next one and ends when it is idle. A worker that does not finish in time is killed and replaced.

Where questions are answered, what nobody waits for is parsed and cut there too, whatever it is: see :func:`apart`.
"""

import atexit
import io
import json
import logging
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, Literal, Self

from core.errors import DocumentError
from core.library.documents import Block, Document, Piece
from core.library.formats.ocr import ScannedPages
from core.library.formats.pdf_pages import report_progress
from core.priority import elsewhere, is_throttling

LENGTH = struct.Struct(">I")  # bytes of the header, which is JSON


def frame(header: Mapping[str, Any], data: bytes = b"") -> bytes:
    """A message as it is sent: the header's length, the header with the data's ``size``, the data."""
    written = json.dumps({**header, "size": len(data)}).encode()
    return LENGTH.pack(len(written)) + written + data


Pool = Literal["files", "texts", "scans", "pages"]
AT_ONCE = 2  # workers for files, and as many for pages: one slow file leaves a worker for the others
FILE_TIME = 240.0  # seconds for a file; 5,000 pages of a book take about 60 of processor time
SCAN_TIME = 1_800.0  # seconds for text recognition; 300 pages take up to 1,500 of processor time
PAGE_TIME = 30.0  # seconds for a web page; one of 8 million characters takes about 4
MEMORY = 2_000_000_000  # bytes of address space; 30 MB of XML, the most of one part, take up to 600 million

#: Formats with large parsers of other projects; files of any format are parsed apart unless they are SMALL.
FOREIGN = frozenset({
    ".pdf", ".docx", ".html", ".htm", ".xhtml", ".pptx", ".xlsx", ".epub", ".msg", ".eml", ".zip",
    ".odt", ".ods", ".odp", ".rtf",
})  # fmt: skip
SMALL = 1_000_000  # bytes

_LOG = logging.getLogger(__name__)
_ROOT = str(Path(__file__).resolve().parents[3])
_is_apart: ContextVar[bool] = ContextVar("is_apart", default=False)
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "HOME", "TMPDIR", "TZ")  # of the environment; no secrets


class ParserError(Exception):
    """A parser raised an exception."""


def is_foreign(suffix: str, size: int) -> bool:
    """True if a file is parsed in a worker; never on Windows, which has no limits for processes."""
    return os.name == "posix" and (suffix.lower() in FOREIGN or size > SMALL)


@contextmanager
def apart() -> Iterator[None]:
    """Have a worker parse in this block, where the process also answers questions."""
    token = _is_apart.set(os.name == "posix" and is_throttling())
    try:
        yield
    finally:
        _is_apart.reset(token)


def is_apart() -> bool:
    return _is_apart.get()


def read_file(data: bytes, name: str) -> Document:
    """Parse a file by the suffix of its name. DocumentError, or ParserError."""
    workers: Pool = "files" if is_foreign(Path(name).suffix, len(data)) else "texts"
    request = {"name": name, "memory": MEMORY}
    try:
        return _document(_ask(workers, request | {"kind": "file", "seconds": FILE_TIME}, data))
    except ScannedPages:
        return _document(_ask("scans", request | {"kind": "scan", "seconds": SCAN_TIME}, data))


def read_page(data: bytes | str, *, name: str, url: str | None) -> Document:
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    request = {"kind": "page", "name": name, "url": url, "is_text": isinstance(data, str), "memory": MEMORY}
    workers: tuple[Pool, float] = ("files", FILE_TIME) if is_apart() else ("pages", PAGE_TIME)
    return _document(_ask(workers[0], request | {"seconds": workers[1]}, raw))


def with_pieces(document: Document) -> Document:
    """A document that was parsed here, cut into pieces. DocumentError, or ParserError."""
    request = {"kind": "cut", "name": "a text", "unit": document.unit, "seconds": FILE_TIME, "memory": MEMORY}
    reply = _ask("texts", request | {"blocks": [*map(row_of, document.blocks)]}, document.text.encode())
    return replace(document, pieces=_pieces(reply, document.text))


def _ask(workers: Pool, request: dict[str, Any], data: bytes) -> dict[str, Any]:
    with elsewhere():
        reply = _WORKERS[workers].ask(request | {"pool": workers}, data)
    for note in reply["notes"]:
        _LOG.warning("%s: %s", request["name"], note)
    if "fault" in reply:
        raise (ScannedPages if reply.get("is_scanned") else DocumentError)(reply["fault"])
    if "broken" in reply:
        raise ParserError(reply["broken"])
    return reply


def _document(reply: dict[str, Any]) -> Document:
    text = reply["text"]
    return Document(
        title=reply["title"], text=text, url=reply["url"], blocks=tuple(map(block_from_row, reply["blocks"])),
        pieces=_pieces(reply, text), changed_at=reply["changed_at"], unread=reply["unread"],
    )  # fmt: skip


def _pieces(reply: dict[str, Any], text: str) -> tuple[Piece, ...]:
    return tuple(
        Piece(
            path=tuple(path), location=location, text=text[start:end], start=start, end=end,
            words=words and tuple(words),
        )
        for path, location, start, end, words in reply["pieces"]
    )  # fmt: skip


_BLOCK = tuple(each.name for each in fields(Block))
row_of: Callable[[Block], tuple[Any, ...]] = attrgetter(*_BLOCK)  #: a block as it is sent


def block_from_row(row: Sequence[Any]) -> Block:
    return Block(**dict(zip(_BLOCK, row, strict=True)))


class WorkerStopped(BaseException):
    """Footnote is stopping. Nothing is known about the file, so it is not noted as unreadable."""


class WorkerEnded(Exception):
    """The worker ended, or was ended, before its reply; ``exit_code`` is below 0 for a signal."""

    def __init__(self, exit_code: int | None) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@dataclass(slots=True)
class Worker:
    """One process, used by one thread at a time."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls) -> Self:
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "core.library.formats.worker"],
            env=kept | {"PYTHONPATH": _ROOT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # Ctrl-C must not reach it
        )
        return cls(process)

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, request: dict[str, Any], data: bytes) -> dict[str, Any]:
        """The reply; Ended when there is none, after which the worker is of no use."""
        deadline = time.monotonic() + request["seconds"] + 10.0  # to start, to send and to receive
        try:
            assert self.process.stdin is not None
            os.set_blocking(self.process.stdin.fileno(), False)
            unsent = memoryview(frame(request, data))
            while unsent:
                _await(self.process.stdin, select.POLLOUT, deadline)
                unsent = unsent[self.process.stdin.write(unsent) or 0 :]
            while "pages_read" in (reply := self._header(deadline)):
                report_progress(*reply["pages_read"])
            reply["text"] = self._receive(reply["size"], deadline).decode()
        except (OSError, EOFError, TimeoutError, ValueError):
            raise WorkerEnded(self.stop()) from None
        except BaseException:  # Ctrl-C: the unread reply would be read as the next file's
            self.stop()
            raise
        return reply

    def _header(self, deadline: float) -> dict[str, Any]:
        (length,) = LENGTH.unpack(self._receive(LENGTH.size, deadline))
        header: dict[str, Any] = json.loads(self._receive(length, deadline))
        return header

    def _receive(self, size: int, deadline: float) -> bytes:
        assert self.process.stdout is not None
        received = io.BytesIO()
        while (missing := size - received.tell()) > 0:
            _await(self.process.stdout, select.POLLIN, deadline)
            if not (part := self.process.stdout.read(min(missing, 1_000_000))):
                raise EOFError
            received.write(part)
        return received.getvalue()

    def stop(self) -> int:
        """Kill the process; its exit code."""
        self.process.kill()
        code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        return code


def _await(stream: IO[bytes], event: int, deadline: float) -> None:
    """Wait until it can be read or written; TimeoutError after the deadline."""
    waiting = select.poll()  # not select(), which fails for file descriptors above 1,023
    waiting.register(stream, event)
    if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1_000):
        raise TimeoutError


@dataclass(slots=True)
class Workers:
    """The workers that are needed at once, up to a limit; idle ones are kept."""

    start: Callable[[], Worker] = Worker.start
    at_once: int = AT_ONCE
    _slots: threading.Semaphore = field(init=False)
    _idle: list[Worker] = field(default_factory=list)
    _busy: list[Worker] = field(default_factory=list)
    _stopping: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._slots = threading.BoundedSemaphore(self.at_once)

    def ask(self, request: dict[str, Any], data: bytes) -> dict[str, Any]:
        with self._slots:
            worker, is_reused = self._acquire()
            while True:
                try:
                    return self._ask(worker, request, data)
                except WorkerEnded as ended:
                    if not is_reused or ended.exit_code != 0:
                        _LOG.warning("%s: its worker ended (%s)", request["name"], ended.exit_code)
                        return {"fault": "takes too much time or memory to read, so it was left", "notes": []}
                worker, is_reused = self.start(), False  # the idle one had just ended by itself

    def _ask(self, worker: Worker, request: dict[str, Any], data: bytes) -> dict[str, Any]:
        self._busy.append(worker)
        try:
            reply = worker.ask(request, data)
        except WorkerEnded:
            if worker in self._stopping:
                raise WorkerStopped from None
            raise
        finally:
            self._busy.remove(worker)
        self._idle.append(worker)
        return reply

    def _acquire(self) -> tuple[Worker, bool]:
        """A worker, and whether it was started earlier."""
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker, True
            worker.stop()
        return self.start(), False

    def close(self) -> None:
        """Kill all workers, those at work too."""
        self._stopping = list(self._busy)
        for worker in self._stopping:
            worker.process.kill()
        while self._idle:
            self._idle.pop().stop()


#: Separate, so that a page for a question does not wait for uploaded files, nor these for a scanned book; and so
#: that a source of small texts keeps one small process at work.
_WORKERS: Mapping[Pool, Workers] = {
    "files": Workers(), "texts": Workers(at_once=1), "scans": Workers(at_once=1), "pages": Workers()
}  # fmt: skip


@atexit.register
def close() -> None:
    """Kill every worker, so that stopping waits for none; the next file starts another."""
    for workers in _WORKERS.values():
        workers.close()
