"""The process in which strangers' files are parsed: ``python -m core.library.formats.worker``.

It has no secrets in its environment, its memory and processor time are limited, and it can be killed at
any time: :mod:`core.library.formats.parser_process` starts another one. Requests come in through standard
input, replies go out through standard output. Each is the length of a JSON header, the header, and bytes:
a request's file, a reply's text. A document comes back cut into pieces, which spares the bot that work.
"""

import json
import logging
import os
import resource
import select
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from core.characters import storable
from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document
from core.library.formats import ocr, pdf, webpage
from core.library.formats.parser_process import LENGTH, Pool, block_from_row, frame, row_of
from core.library.formats.pdf_pages import reporting_to
from core.library.formats.read import SUFFIXES
from core.library.lexical import text_terms

IDLE = 60.0  # seconds without a request after which the process ends
#: Questions go first. A file is read only while the processor is idle, so that a process that wakes up meanwhile runs
#: at once. Somebody waits for a page; and a source of small texts, which gives way to turns as it is, must get on where
#: the processor never idles.
NICENESS: Mapping[Pool, int] = {"files": 10, "scans": 10, "texts": 5, "pages": 5}
IDLE_POOLS = frozenset({"files", "scans"})
WARNING_LIMIT = 20  # warnings about one file that are sent back


def main() -> None:
    """Serve until there is no request for IDLE seconds, or standard input ends."""
    requests, replies = _open_streams()
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):  # it writes no files
        resource.setrlimit(kind, (0, 0))
    warnings = FileWarnings()
    logging.getLogger().addHandler(warnings)
    while select.select([requests], [], [], IDLE)[0] and (request := receive(requests)):
        data = _exactly(requests, request["size"])
        pool = request["pool"]
        os.setpriority(os.PRIO_PROCESS, 0, max(NICENESS[pool], os.getpriority(os.PRIO_PROCESS, 0)))
        if pool in IDLE_POOLS and hasattr(os, "SCHED_IDLE"):  # on Linux alone
            with suppress(OSError):  # a sandbox may forbid it
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        _set_limits(request["seconds"], request["memory"])
        with reporting_to(lambda done, total: _send(replies, frame({"pages_read": (done, total)}))):
            reply, text = _reply_to(request, data)
        _send(replies, frame(reply | {"notes": warnings.drain()}, text))


def _send(replies: BinaryIO, message: bytes) -> None:
    replies.write(message)
    replies.flush()


def receive(stream: BinaryIO) -> Any:
    """The next header; None at the end."""
    prefix = _exactly(stream, LENGTH.size)
    return json.loads(_exactly(stream, LENGTH.unpack(prefix)[0])) if len(prefix) == LENGTH.size else None


def _exactly(stream: BinaryIO, size: int) -> bytes:
    """``size`` bytes, which a pipe gives in parts; fewer at the end."""
    received = bytearray()
    while len(received) < size and (part := stream.read(size - len(received))):
        received += part
    return bytes(received)


def _open_streams() -> tuple[BinaryIO, BinaryIO]:
    """Requests and replies; what a parser prints is discarded, or it would be read as a reply."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return os.fdopen(0, "rb", buffering=0), replies


def _set_limits(seconds: float, memory: int) -> None:
    """``seconds`` of processor time from now on, then the system ends the process; ``memory`` bytes in all."""
    wanted = {resource.RLIMIT_CPU: int(time.process_time() + seconds) + 1, resource.RLIMIT_AS: memory}
    for kind, limit in wanted.items():
        _, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def _reply_to(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        if request["kind"] == "cut":  # the bot has parsed it itself
            blocks = tuple(map(block_from_row, request["blocks"]))
            document = Document(title="", text=data.decode(), blocks=blocks, unit=request["unit"])
            return {"pieces": _encode_pieces(document, request)}, b""
        document = _parse(request, data)
        document = replace(document, text=storable(document.text))
        header = {
            "title": document.title, "url": document.url, "blocks": [*map(row_of, document.blocks)],
            "pieces": _encode_pieces(document, request), "changed_at": document.changed_at, "unread": document.unread,
        }  # fmt: skip
        return header, document.text.encode()
    except ocr.ScannedPages as fault:
        return {"fault": str(fault), "is_scanned": True}, b""
    except DocumentError as fault:
        return {"fault": str(fault)}, b""
    except MemoryError:
        return {"fault": "takes too much memory to read"}, b""
    except Exception as error:  # noqa: BLE001 - the boundary to the parsers, which raise anything
        return {"broken": repr(error)[:1_000]}, b""


def _parse(request: dict[str, Any], data: bytes) -> Document:
    if request["kind"] == "page":
        text = data.decode("utf-8", "surrogatepass") if request["is_text"] else data
        return webpage.parse(text, name=request["name"], url=request["url"])
    if request["kind"] == "scan":
        return pdf.parse(data, recognize=ocr.read_scanned)
    path = Path(request["name"])
    return SUFFIXES[path.suffix.lower()](data, path)


def _encode_pieces(document: Document, request: dict[str, Any]) -> list[list[Any]]:
    """The pieces; with the terms by which they are indexed, unless one piece of a page is read."""
    is_indexed = request["pool"] != "pages"
    return [
        [piece.path, piece.location, piece.start, piece.end, text_terms(piece.text) if is_indexed else None]
        for piece in cut(document)
    ]


class FileWarnings(logging.Handler):
    """Warnings about the current file, as text. A record would hold its exception, whose frames hold all that
    was read."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("core.") and len(self._messages) < WARNING_LIMIT:
            cause = f": {record.exc_info[1]!r}" if record.exc_info else ""
            self._messages.append(f"{record.getMessage()}{cause}"[:500])

    def drain(self) -> list[str]:
        messages, self._messages = self._messages, []
        return messages


if __name__ == "__main__":
    main()
