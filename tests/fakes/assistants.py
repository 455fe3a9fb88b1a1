"""Assistants that ask Footnote over MCP, with the SDK's own client; and the server that answers them in this process."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
from fakes.fork_server import PIPE, start_python
from fakes.patience import PATIENCE
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import ElicitResult, jsonrpc_message_adapter

from bots.chat.channels import ChannelStore, open_channel_store
from bots.chat.inbox import admission_of
from bots.commands.backend import reads_for
from bots.mcp.callers import caller_named
from bots.mcp.http import serving_mcp
from bots.mcp.serve import open_mcp
from bots.mcp.settings import McpSettings
from bots.mcp.tokens import McpStore, open_mcp_store
from bots.page.sessions import open_page_store
from bots.page.settings import PageSettings
from bots.page.threads import PAGE, PageMessenger, PageThreads
from bots.refresh import IndexRefresher
from core.bootstrap import Footnote, open_footnote
from core.library.data_lock import SERVING
from core.settings import Settings
from core.storage.storage import open_storage
from core.turns.queue import prepare_file, queue_url
from core.turns.turns import open_turns

PROTOCOLS = ("legacy", "2026-07-28")  # with a handshake; every request for itself
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
TEAM = "T0HARBOUR"

T = TypeVar("T")

Decide = Callable[[str, dict[str, Any]], ElicitResult | Awaitable[ElicitResult]]


@dataclass
class Assistant:
    """One client, and the person before it."""

    client: Client
    asked: list[str] = field(default_factory=list)  #: what the person was shown
    steps: list[str] = field(default_factory=list)  #: how far the server said it was

    async def call(self, tool: str, **arguments: Any) -> Any:
        async def note(_done: float, _total: float | None, message: str | None) -> None:
            self.steps.append(message or "")

        return await self.client.call_tool(tool, arguments, progress_callback=note)

    async def ask(self, question: str, **more: Any) -> dict[str, Any]:
        """The structured content of the answer."""
        result = await self.call("ask", question=question, **more)
        assert not result.is_error, result.content
        return result.structured_content

    async def read(self, uri: str) -> str:
        return (await self.client.read_resource(uri)).contents[0].text


@asynccontextmanager
async def _assistant(transport: Any, mode: str, decide: Decide | None) -> AsyncIterator[Assistant]:
    shown: list[str] = []

    async def ask_person(_context: Any, request: Any) -> ElicitResult:
        shown.append(request.message)
        assert decide is not None
        said = decide(request.message, request.requested_schema)
        return await said if isinstance(said, Awaitable) else said

    more = {"elicitation_callback": ask_person} if decide is not None else {}
    async with Client(transport, mode=mode, **more) as client:
        yield Assistant(client, shown)


@asynccontextmanager
async def over_http(
    url: str, token: str = "", *, mode: str = PROTOCOLS[1], decide: Decide | None = None, network: Any = None
) -> AsyncIterator[Assistant]:
    """``network``: that sends the requests; None: straight."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, transport=network, timeout=60, trust_env=False) as http,
        _assistant(streamable_http_client(url, http_client=http), mode, decide) as assistant,
    ):
        yield assistant


@asynccontextmanager
async def over_stdio(
    folder: Path,
    environment: dict[str, str],
    *,
    mode: str = PROTOCOLS[1],
    decide: Decide | None = None,
    is_cold: bool = False,
) -> AsyncIterator[Assistant]:
    """Begins ``footnote mcp``. A cold start is one of Python itself, by the SDK's own client."""
    arguments = ["-m", "bots", "mcp"]
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments, cwd=str(folder), env=environment
    )
    with (folder / "mcp.log").open("a") as log:
        cold, warm = partial(stdio_client, parameters, errlog=log), partial(_forked, parameters, log)
        async with _assistant(cold() if is_cold else warm(), mode, decide) as assistant:
            yield assistant


@asynccontextmanager
async def _forked(parameters: StdioServerParameters, log: Any) -> AsyncIterator[tuple[Any, Any]]:
    """As the SDK's ``stdio_client``, for a process with its libraries loaded; it ends where its input does."""
    process = await start_python(
        *parameters.args,
        cwd=str(parameters.cwd),
        env=parameters.env or {},
        stdin=PIPE,
        stdout=PIPE,
        stderr=log,
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    arriving, received = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
    sent, leaving = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with arriving:
            while line := await stdout.readline():
                await arriving.send(
                    SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                )

    async def write() -> None:
        async with leaving:
            async for each in leaving:
                stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()

    reading, writing = asyncio.create_task(read()), asyncio.create_task(write())
    try:
        async with received, sent:
            yield received, sent
    finally:
        await writing
        stdin.close()
        await asyncio.wait_for(process.wait(), PATIENCE)
        await asyncio.wait([reading])


@dataclass
class McpDesk:
    """A server in this process."""

    url: str
    footnote: Footnote
    channels: ChannelStore
    tokens: McpStore
    threads: PageThreads

    async def token(self, stands_for: str, name: str = "") -> str:
        collections = self.footnote.library.store.collections()
        name = name or f"of {stands_for}"[:40]
        return await self.tokens.make(name, caller_named(stands_for, name, collections), stands_for)

    def ingest(self, folder: Path, name: str, text: str, *, collection: str = "default") -> None:
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        self.footnote.library.ingest([folder / name], collection=collection)


@asynccontextmanager
async def open_mcp_desk(
    folder: Path,
    *,
    issuer: str = "",
    http: PageSettings | None = None,
    people: dict[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[McpDesk]:
    """``people``: of each platform, as :mod:`bots.chat.platform` has them."""
    given = {"embedding_model": "none", "web_search": "off", **settings}
    chosen = Settings(data_dir=folder / "data", **given)
    chosen.data_dir.mkdir(exist_ok=True)
    with (
        open_storage(chosen) as storage,
        open_channel_store(storage) as channels,
        open_page_store(storage) as database,
    ):
        channels.people.update(people or {})
        reads, refresher = reads_for(channels, ("slack", "discord")), IndexRefresher(settings=chosen)
        async with open_footnote(chosen, purpose=SERVING, reads=reads, storage=storage) as footnote:
            threads = PageThreads(database)
            prepare_file(queue_url(chosen))
            async with open_turns(
                footnote.assistant, {PAGE: PageMessenger(threads)}, database_url=queue_url(chosen)
            ) as turns:
                mcp = McpSettings(http=http or PageSettings(port=0), issuer=issuer)
                opening = open_mcp(
                    mcp, footnote, turns, channels=channels, threads=threads, reads=reads, refresh=refresher.refresh,
                    admission=await admission_of(footnote, turns, ("mcp",)), signing_secret=SIGNING_SECRET, is_stopping=lambda: False, spaces=lambda: (TEAM,),
                )  # fmt: skip
                with open_mcp_store(storage) as tokens:
                    async with opening as (site, key), serving_mcp(site, key) as url:
                        yield McpDesk(
                            url=url, footnote=footnote, channels=channels, tokens=tokens, threads=threads
                        )


@asynccontextmanager
async def in_one_task(opening: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """For a fixture, whose beginning and end are in two tasks, which anyio's scopes do not allow."""
    opened, over = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def hold() -> None:
        try:
            async with opening as value:
                opened.set_result(value)
                await over.wait()
        except BaseException as fault:
            if opened.done():
                raise
            opened.set_exception(fault)

    holding = asyncio.create_task(hold())
    try:
        yield await opened
    finally:
        over.set()
        await holding
