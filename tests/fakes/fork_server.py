"""Real Python processes that begin with the libraries loaded: a server imports them once and forks for each start.

What is forked has its own pid, signals, environment, folder and streams, and ends like any
process. Only the two seconds of CPU are gone that each start spends on imports. What a start
from nothing looks like is for the tests that begin ``sys.executable`` themselves.

All processes of one run of tests share a server, since to load the libraries takes a quarter of a minute of CPU.
Each has a connection of its own; when that is closed, also where its tests are killed, what was
started over it ends. The server ends with the last of them.

A second, small server starts the processes in which files are parsed, for the tests and for what the first one started;
these end as they do in the product, when their input does.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import errno
import gc
import io
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from typing import Any, Literal

from core.library.formats import parser_process

ROOT = Path(__file__).resolve().parents[2]
#: Imported by ours only where they are needed, and by most commands.
LIBRARIES = (
    "anyio._backends._asyncio", "chromadb.api.rust", "chromadb.db.impl.sqlite", "dbos._sys_db_postgres", "dbos._sys_db_sqlite",
    "discord.ext.tasks", "docx", "filelock", "google.genai.types", "httpcore", "langchain.chat_models",
    "langchain_core.tracers.context",
    "langchain_core.tracers.run_collector", "langchain_core.tracers.stdout", "langchain_google_genai",
    "langgraph.checkpoint.postgres.aio", "langgraph.checkpoint.sqlite.aio", "markdown_it.tree",
    "prompt_toolkit.shortcuts", "psycopg_pool", "pypdf", "rich.progress", "slack_bolt.adapter.socket_mode.aiohttp",
    "slack_bolt.async_app", "snowballstemmer", "sqlalchemy", "sqlalchemy.dialects.sqlite.aiosqlite",
    "stopwordsiso", "tokenizers", "trafilatura",
)  # fmt: skip
#: The same of a process that parses files.
PARSERS = (
    "core.library.formats.worker",
    "docx",
    "markdown_it.tree",
    "pypdf",
    "snowballstemmer",
    "trafilatura",
)
Kind = Literal["bots", "parsers"]
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))  # of these tests; a server is told
NUMBER = struct.Struct("!i")
LENGTH = struct.Struct("!I")
PEER = struct.Struct("3i")  # pid, user and group, as SO_PEERCRED gives them
SOON = 30.0  # seconds
#: capabilities(7), and capset(2): two sets of 32 bits.
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAPABILITIES_VERSION_3 = 1, 2, 0x20080522
SENDING = threading.Lock()  # a thread may start a process while the event loop starts another
Children = dict[int, tuple[socket.socket, int]]  # pid -> who asked, and where its exit code is waited for
PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL

# The side of the tests


@dataclass
class Process:
    """A process as asyncio's own, as far as tests use it."""

    pid: int
    stdin: asyncio.StreamWriter | None = None
    stdout: asyncio.StreamReader | None = None
    stderr: asyncio.StreamReader | None = None
    returncode: int | None = None
    ending: asyncio.Task[None] | None = None

    async def wait(self) -> int:
        assert self.ending is not None
        await asyncio.shield(self.ending)
        assert self.returncode is not None
        return self.returncode

    async def communicate(self, given: bytes = b"") -> tuple[bytes, bytes]:
        if self.stdin is not None:
            with suppress(BrokenPipeError, ConnectionResetError):
                self.stdin.write(given)
                await self.stdin.drain()
            self.stdin.close()
        outputs = (each.read() if each else _nothing() for each in (self.stdout, self.stderr))
        out, err, _ = await asyncio.gather(*outputs, self.wait())
        return out, err

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


async def _nothing() -> bytes:
    return b""


async def start_python(
    *arguments: str, cwd: Path | str, env: Mapping[str, str], stdin: Any = None, stdout: Any = None,
    stderr: Any = None, at_terminal: bool = False, imports: Sequence[str] = (),
    constants: Mapping[str, float] = {}, files: int = 0, has_own_parsers: bool = False,
    largest_file: int = 0, is_bound: bool = False,
) -> Process:  # fmt: skip
    """``python *arguments``: ``-m`` and a module, or a script. A stream that is not given is empty.

    ``imports``: libraries that it is going to import; the server does, once for all that come after it.
    ``constants``: values that it has in place of ours, by "module:NAME" or "module:function.parameter".
    ``files``: that it may have open; 0: as many as the tests may.
    ``has_own_parsers``: whether it starts those that parse files itself, from nothing.
    ``largest_file``: bytes that no file of its grows beyond, as on a full disk; 0: no limit.
    ``is_bound``: whether permissions of files bind it, root too.
    """
    ours: list[int | None] = []
    theirs: list[int] = []
    for number, stream in enumerate((stdin, stdout, stderr)):
        mine, given = _ends(number, stream)
        ours.append(mine)
        theirs.append(given)
    status, told = os.pipe()
    request = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "at_terminal": at_terminal}
    request |= {
        "imports": [*imports],
        "constants": {**constants},
        "files": files,
        "has_own_parsers": has_own_parsers,
        "largest_file": largest_file,
        "is_bound": is_bound,
    }
    _server("parsers")  # for what is started
    _send(_server("bots"), request, [*theirs, told])
    for fd in (*theirs, told):
        os.close(fd)
    reader = await _readable(status)
    (pid,) = NUMBER.unpack(await reader.readexactly(NUMBER.size))
    process = Process(pid, await _writable(ours[0]), await _readable(ours[1]), await _readable(ours[2]))
    process.ending = asyncio.create_task(_see_end(process, reader))
    return process


def run_python(*arguments: str, cwd: Path | str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The same, waited for where no event loop runs. The process may end with any code."""
    told, tell = os.pipe()
    request = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "at_terminal": False}
    with Path(os.devnull).open() as nothing, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        _server("parsers")
        _send(_server("bots"), request, [nothing.fileno(), out.fileno(), err.fileno(), tell])
        os.close(tell)
        with os.fdopen(told, "rb") as status:
            _pid, code = (NUMBER.unpack(status.read(NUMBER.size))[0] for _ in range(2))
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, code, out.read().decode(), err.read().decode())


@dataclass
class ParserProcess:
    """A process that parses files, as :class:`subprocess.Popen`, as far as :class:`parser_process.Worker` uses it."""

    pid: int
    stdin: io.FileIO
    stdout: io.FileIO
    status: int
    returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self.status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        if self.returncode is None:
            told = os.read(self.status, NUMBER.size)  # nothing, where the server ended before it
            self.returncode = NUMBER.unpack(told)[0] if told else -signal.SIGKILL
            os.close(self.status)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def start_parser() -> parser_process.Worker:
    """A process that parses files, as :meth:`parser_process.Worker.start` starts it."""
    (stdin, ours), (mine, stdout), (status, told) = os.pipe(), os.pipe(), os.pipe()
    kept = {name: os.environ[name] for name in parser_process._PASSED_ON if name in os.environ}
    request = {
        "arguments": ["-m", "core.library.formats.worker"], "cwd": str(Path.cwd()), "at_terminal": False,
        "env": kept | {"PYTHONPATH": str(ROOT)}, "is_session": True,
    }  # fmt: skip
    with Path(os.devnull).open("w") as nowhere:
        _send(_server("parsers"), request, [stdin, stdout, nowhere.fileno(), told])
    for fd in (stdin, stdout, told):
        os.close(fd)
    (pid,) = NUMBER.unpack(os.read(status, NUMBER.size))
    process = ParserProcess(pid, io.FileIO(ours, "wb"), io.FileIO(mine, "rb"), status)
    return parser_process.Worker(process)  # type: ignore[arg-type]


def use_parsers(start: Callable[[], parser_process.Worker] = start_parser) -> None:
    """Where this process parses files, it has the server start the processes."""
    for workers in parser_process._WORKERS.values():
        workers.start = start


async def _see_end(process: Process, status: asyncio.StreamReader) -> None:
    (process.returncode,) = NUMBER.unpack(await status.read())
    if process.stdin is not None:
        process.stdin.close()


def _ends(number: int, stream: Any) -> tuple[int | None, int]:
    """Our end of the stream, where there is one, and theirs."""
    if stream == PIPE:
        reading, writing = os.pipe()
        return (writing, reading) if number == 0 else (reading, writing)
    if stream in (None, DEVNULL):
        return None, os.open(os.devnull, os.O_RDWR)
    return None, os.dup(stream if isinstance(stream, int) else stream.fileno())


async def _readable(fd: int | None) -> Any:
    if fd is None:
        return None
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", 0))
    return reader


async def _writable(fd: int | None) -> asyncio.StreamWriter | None:
    if fd is None:
        return None
    loop = asyncio.get_running_loop()
    protocol = asyncio.streams.FlowControlMixin(loop)
    transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(fd, "wb", 0))
    return asyncio.StreamWriter(transport, protocol, None, loop)


@cache
def _server(kind: Kind) -> socket.socket:
    """Where starts are asked for. What was started ends when this is closed, which is when this process ends."""
    ours = socket.socket(socket.AF_UNIX)
    listening = socket.socket(socket.AF_UNIX)
    # A name without a file, gone with the server: who can take it starts the server, the others wait in its queue.
    name = f"\0footnote-fork-server-{kind}-{os.getuid()}-{RUN}"
    try:
        listening.bind(name)
    except OSError as fault:
        if fault.errno != errno.EADDRINUSE:
            raise
        _connect(ours, name)
    else:
        listening.listen()
        ours.connect(name)
        server = _start_server(kind, listening)
        atexit.register(server.poll)  # it is not waited for: the other processes may still need it
    listening.close()
    atexit.register(ours.close)
    return ours


def _connect(ours: socket.socket, name: str) -> None:
    """To the server that another process is about to start: between its two calls the name is taken, but silent."""
    until = time.monotonic() + SOON
    while True:
        try:
            return ours.connect(name)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise


def _start_server(kind: Kind, listening: socket.socket) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",  # its threads would not live on in a fork
    }
    return subprocess.Popen([sys.executable, "-P", __file__, kind, RUN], stdin=listening, env=environment)


def _send(server: socket.socket, request: dict[str, Any], fds: list[int]) -> None:
    body = json.dumps(request).encode()
    with SENDING:
        socket.send_fds(server, [LENGTH.pack(len(body))], fds)
        server.sendall(body)


# The server's side


def import_all() -> None:
    from pkgutil import walk_packages

    import bots
    import core

    for package in (core, bots):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for name in LIBRARIES:
        import_module(name)
    _fill_caches()
    with tempfile.TemporaryDirectory() as folder:
        _keep_statements(folder)
    use_parsers()
    gc.collect()
    gc.freeze()


def import_parsers() -> None:
    from trafilatura import external

    for name in PARSERS:
        import_module(name)
    external.jt_stoplist_init()
    gc.collect()
    gc.freeze()


def _fill_caches() -> None:
    """What every process works out once for its first question: tables of words and sentences, patterns, the graph."""
    from google.genai import types

    from bots.chat.markdown import safe
    from bots.chat.texts import say_in
    from core.conversation import Outcome, Question
    from core.graph.graph import build_graph
    from core.grounding import quantities
    from core.reasoning import providers
    from core.text import intent, terms
    from core.turns import archive
    from core.wording import LANGUAGES

    for name in LANGUAGES:
        say_in(name)
    for kind in (Outcome, Question):
        archive._reader(kind)
    terms.terms("Where is the ferry?")
    intent.small_talk("Where is it?")
    intent.without_courtesy("Where is it?")
    intent.intent_of("Where is it?")
    intent.asks_for_calculation("Where is it?")
    quantities.vocabulary()
    safe.addresses("example.com")
    build_graph()
    for name in providers.CALL_TYPES:
        getattr(types, name).model_rebuild()


def _keep_statements(folder: str) -> None:
    """What SQLAlchemy makes of DBOS's statements, anew for each database, is made once: a sixth of a start's CPU."""
    import sqlalchemy

    create, engines, kept = sqlalchemy.create_engine, [], {}

    def create_engine(*given: Any, **options: Any) -> sqlalchemy.Engine:
        engine = create(*given, **options)
        if engine.dialect.name == "sqlite":
            engine._compiled_cache.update({(engine.dialect, *key): made for key, made in kept.items()})
            engines.append(engine)
        return engine

    sqlalchemy.create_engine = create_engine
    asyncio.run(_pass_through_queue(f"sqlite:///{folder}/turns.sqlite"))
    for engine in engines:
        kept |= {key[1:]: made for key, made in engine._compiled_cache.items()}
    assert kept
    engines.clear()
    assert threading.enumerate() == [threading.main_thread()]  # others would not live on in a fork


async def _pass_through_queue(url: str) -> None:
    """The way of a turn, which does nothing."""
    from dbos import DBOS, WorkflowSerializationFormat

    from core.turns import dbos_patches, queue, replicas, waiting

    @DBOS.workflow(name="turn", serialization_type=WorkflowSerializationFormat.PORTABLE)
    async def run() -> None:
        await DBOS.run_step_async({"name": "begin"}, asyncio.sleep, 0)

    async with queue.launch(url, disk=waiting.DiskWatch(), close=_nothing):
        dbos_patches.share_claims(replicas.ALONE, 1, 1)
        handle = await DBOS.enqueue_workflow_with_options_async(
            {
                "workflow_name": "turn", "workflow_id": "1", "queue_name": queue.QUEUE,
                "queue_partition_key": "1", "priority": 1, "app_version": queue.APPLICATION_VERSION,
                "serialization_type": WorkflowSerializationFormat.PORTABLE,
            }
        )  # fmt: skip
        await handle.get_result()


def _serve(listening: socket.socket) -> dict[str, Any]:
    """Fork for each request. It returns in a forked process, with what that is asked to do."""
    askers: list[socket.socket] = [_accept(listening)]
    children: Children = {}
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while askers or select.select([listening], [], [], 0)[0]:
        ready, _, _ = select.select([listening, woken, *askers], [], [])
        if woken in ready:
            woken.recv(4096)
            _tell_ends(children)
        if listening in ready:
            askers.append(_accept(listening))
        for asker in (each for each in ready if each in askers):
            request, fds = _receive(asker)
            if request is None:
                _end_all_of(asker, children)
                askers.remove(asker)
                asker.close()
                continue
            _import_for(request)
            pid = os.fork()
            if pid == 0:
                for ours in (listening, woken, wake, *askers):
                    ours.close()
                for fd in (*(told for _, told in children.values()), fds[3]):
                    os.close(fd)
                return request | {"streams": fds[:3]}
            children[pid] = (asker, fds[3])
            os.write(fds[3], NUMBER.pack(pid))
            for fd in fds[:3]:
                os.close(fd)
    os._exit(0)


def _accept(listening: socket.socket) -> socket.socket:
    """The next process that asks, if it is of the same user: a name without a file has no permissions."""
    while True:
        asker, _ = listening.accept()
        _pid, user, _group = PEER.unpack(asker.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
        if user == os.getuid():
            return asker
        asker.close()


def _end_all_of(asker: socket.socket, children: Children) -> None:
    if sys.argv[1] == "parsers":  # as in the product, which they outlive until their input ends
        return
    for child, (whose, _) in children.items():
        if whose is asker:
            os.kill(child, signal.SIGKILL)


def _import_for(request: dict[str, Any]) -> None:
    for name in request.get("imports", ()):
        import_module(name)


def _receive(requests: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    try:
        head, fds, _, _ = socket.recv_fds(requests, LENGTH.size, 4)
    except ConnectionResetError:
        head = b""
    if not head:
        return None, []
    (size,) = LENGTH.unpack(head)
    return json.loads(requests.recv(size, socket.MSG_WAITALL)), fds


def _tell_ends(children: Children) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        _, told = children.pop(pid)
        with suppress(BrokenPipeError):
            os.write(told, NUMBER.pack(os.waitstatus_to_exitcode(status)))
        os.close(told)


def _become(request: dict[str, Any]) -> None:
    """What a start would have made of this process."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests that run under `nohup` ignore it
    for number, fd in enumerate(request["streams"]):
        os.dup2(fd, number)
        os.close(fd)
    if request["at_terminal"] or request.get("is_session"):
        os.setsid()
    if request["at_terminal"]:
        import fcntl
        import termios

        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    if files := request.get("files"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    if size := request.get("largest_file"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    if request.get("is_bound"):
        _bind_to_permissions()
    if request.get("has_own_parsers"):
        use_parsers(parser_process.Worker.start)
    for name, value in request.get("constants", {}).items():
        _set_constant(name, value)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in os.environ
    sys.stdin = sys.__stdin__ = os.fdopen(0)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w")
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", buffering=1, errors="backslashreplace")


def _bind_to_permissions() -> None:
    """For good: by these capabilities, no permission of a file stops root."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        header = (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION_3, 0)
        sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice
        assert libc.capget(header, sets) == 0
        for kind in range(3):
            sets[kind] &= ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH)
        assert libc.capset(header, sets) == 0


def _set_constant(name: str, value: float) -> None:
    """``module:NAME``, or ``module:function.parameter``: a default is read once, where its function is defined."""
    address, _, constant = name.partition(":")
    module = import_module(address)
    function, _, parameter = constant.rpartition(".")
    defaults = unwrap(getattr(module, function)).__kwdefaults__ if function else vars(module)
    assert parameter in defaults, name
    defaults[parameter] = value


def _run(arguments: list[str]) -> None:
    import runpy

    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [path for path in sys.path if path != str(ROOT)]
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path = [str(Path.cwd()), *paths, *kept]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path = [str(Path(arguments[0]).parent), *paths, *kept]
        runpy.run_path(arguments[0], run_name="__main__")


def _end(code: int) -> None:
    """As Python ends, but for taking apart what was imported, which takes longer than most commands."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    RUN = sys.argv[2]
    (import_parsers if sys.argv[1] == "parsers" else import_all)()
    request = _serve(socket.socket(fileno=os.dup(0)))
    _become(request)
    try:
        _run(request["arguments"])
    except SystemExit as ended:
        if not isinstance(ended.code, int | None):
            raise
        _end(ended.code or 0)
    _end(0)
