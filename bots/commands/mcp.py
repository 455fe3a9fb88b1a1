"""``footnote mcp``: an MCP server for one person over standard input and output, and the tokens of the one over HTTP."""

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field

from bots import process
from bots.chat.indexing import Targets
from bots.chat.markdown.safe import line
from bots.chat.texts import language_of_turn, progress_note
from bots.commands.backend import open_backend
from bots.mcp.callers import DISCORD, Caller, Note, caller_named
from bots.mcp.settings import check_extra
from bots.mcp.tokens import LIFE, McpStore, open_mcp_store
from bots.page.templating import moment
from bots.terminal.operations import Backend
from bots.terminal.screen import Screen
from bots.terminal.session import CHANNEL, SPACE, TERMINAL, author, run_in_order
from core.bootstrap import open_library
from core.conversation import Conversation, Outcome, Progress, Proposal, Turn
from core.errors import SettingsError
from core.library.data_lock import make_data_dir, share_data_dir
from core.library.library import Library
from core.library.passage_search import Hits
from core.library.readers import base_of
from core.settings import ENV_FILE, Settings, WebSearch, read_env_file
from core.storage.storage import open_storage
from core.turns.remote import OPERATOR

PURPOSE = "footnote mcp"
#: Seconds after a call in which the stores stay open for the next one. Then other commands, and other assistants of the
#: same person, may have them.
LINGER = 2.0
NO_TOKENS = "There are no tokens. `footnote mcp --token NAME --as WHOM` makes one."


def run(arguments: Namespace, settings: Settings) -> int:
    if arguments.token is not None or arguments.tokens or arguments.revoke is not None:
        return process.run(_tokens(arguments, settings))
    if arguments.stands_for is not None or arguments.expires is not None:
        raise SettingsError("--as and --expires are of a token: add --token NAME.")
    check_extra()
    return process.run(_serve(settings))


async def _tokens(arguments: Namespace, settings: Settings) -> int:
    make_data_dir(settings.data_dir)
    with (
        share_data_dir(settings.data_dir),
        open_storage(settings) as storage,
        open_mcp_store(storage) as store,
    ):
        if arguments.revoke is not None and not await store.revoke(arguments.revoke):
            raise SettingsError(f"There is no token {arguments.revoke}; `footnote mcp --tokens` lists them.")
        if arguments.token is not None:
            sys.stdout.write(f"{await _make(store, arguments, settings)}\n")
            return 0
        lines = []
        for each in await store.listed():
            used = f"last used {moment(each.used_at)}" if each.used_at else "never used"
            lines.append(
                line(f"{each.name} · as {each.stands_for} · until {moment(each.expires_at)} · {used}")
            )
    sys.stdout.write("\n".join(lines or [NO_TOKENS]) + "\n")
    return 0


async def _make(store: McpStore, arguments: Namespace, settings: Settings) -> str:
    if arguments.stands_for is None:
        raise SettingsError(
            "Say for whom the token stands: --as with a person's id, an e-mail address or a collection."
        )
    with closing(open_library(settings)) as library:
        collections = set(map(base_of, library.store.collections()))
    caller = caller_named(arguments.stands_for, arguments.token, collections)
    if caller.platform == DISCORD and not {**read_env_file(ENV_FILE), **os.environ}.get("DISCORD_TOKEN"):
        raise SettingsError(
            "Nobody of Discord can ask: Discord is not served here, since DISCORD_TOKEN is not set."
        )
    return await store.make(arguments.token, caller, arguments.stands_for, life=arguments.expires or LIFE)


async def _serve(settings: Settings) -> int:
    from bots.mcp.server import build_server
    from bots.mcp.tools import Tools

    operator = Caller(platform=TERMINAL, space=SPACE, channel=CHANNEL, author=author())
    async with on_demand(settings) as backends:
        server = build_server(
            Tools(OperatorService(settings=settings, backends=backends), lambda _: operator)
        )
        await server.run_stdio_async()
    return 0


@dataclass(slots=True, kw_only=True)
class OnDemand:
    """Opens the backend for the calls that need it, and closes it when none has for a while."""

    settings: Settings
    screen: Screen = field(default_factory=Screen)
    _users: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _backend: asyncio.Future[Backend] | None = None
    _holding: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Backend]:
        """IndexInUse where another command has the stores for long."""
        async with self._changed:
            self._users += 1
            self._changed.notify_all()
        try:
            if self._holding is None or self._holding.done():
                self._backend = asyncio.get_running_loop().create_future()
                self._holding = asyncio.create_task(self._hold(self._backend))
            assert self._backend is not None
            yield await asyncio.shield(self._backend)
        finally:
            async with self._changed:
                self._users -= 1
                self._changed.notify_all()

    async def _hold(self, opened: asyncio.Future[Backend]) -> None:
        """Open and close the backend in one task, which its contexts belong to."""
        try:
            async with open_backend(self.settings, purpose=PURPOSE, screen=self.screen) as backend:
                opened.set_result(backend)
                await self._until_unused()
        except BaseException as fault:
            if not opened.done():
                opened.set_exception(fault)
                opened.exception()  # whoever waits gets it; nobody may
            else:
                raise

    async def _until_unused(self) -> None:
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: not self._users)
                try:
                    await asyncio.wait_for(self._changed.wait_for(lambda: self._users > 0), LINGER)
                except TimeoutError:
                    if self._users:  # one came at that moment
                        continue
                    self._holding = None  # from now on a call opens it anew
                    return

    async def close(self) -> None:
        if self._holding is not None:
            self._holding.cancel()
            await asyncio.wait([self._holding])


@asynccontextmanager
async def on_demand(settings: Settings) -> AsyncIterator[OnDemand]:
    backends = OnDemand(settings=settings)
    try:
        yield backends
    finally:
        await backends.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorService:
    """The Service of one person at this machine, who reads everything."""

    settings: Settings
    backends: OnDemand
    turn_prefix: str = OPERATOR

    @property
    def web_search(self) -> WebSearch:
        return self.settings.web_search

    async def run(self, turn: Turn, note: Note) -> Outcome:
        language = language_of_turn(turn)

        def report(progress: Progress) -> None:
            note(progress.answer.text if progress.answer else progress_note(progress, language))

        async with self.backends.opened() as backend:
            await backend.prepare(Targets(), self.backends.screen, with_vectors=True)
            return await run_in_order(backend.assistant, turn, report)

    async def within(self, _caller: Caller, _conversation: Conversation, outcome: Outcome) -> Outcome:
        return outcome

    async def proposal(self, _caller: Caller, proposal_id: str) -> tuple[Conversation, Proposal] | None:
        async with self.backends.opened() as backend:
            return await backend.assistant.find_proposal(proposal_id)

    async def search(self, _caller: Caller, query: str, limit: int) -> Hits:
        async with self.backends.opened() as backend:
            await backend.prepare(Targets(), self.backends.screen, with_vectors=True)
            return await backend.search(query, limit)

    async def collections(self, _caller: Caller) -> frozenset[str]:
        async with self.backends.opened() as backend:
            return await asyncio.to_thread(backend.library.store.collections)

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Library]:
        async with self.backends.opened() as backend:
            yield backend.library
