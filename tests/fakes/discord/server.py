"""The server: routes, set-up and the waiting that needs no sleeping."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

from aiohttp import web
from fakes.discord import interaction_routes, message_routes, setup_routes, thread_routes
from fakes.discord.events import Events
from fakes.discord.faults import Faults, Refusal
from fakes.discord.gateway import Gateway
from fakes.discord.interactions import RESPOND_WITHIN, Interaction
from fakes.discord.message_routes import NONCE_WINDOW
from fakes.discord.people import People
from fakes.discord.rest import BASE, Call, Rest
from fakes.discord.state import Attachment, Message, State, User
from fakes.discord.transcript import Transcript
from fakes.patience import PATIENCE

T = TypeVar("T")
LOOK_EVERY = 0.05  # seconds between two looks at a condition while nothing happens
ROUTES = [*setup_routes.ROUTES, *message_routes.ROUTES, *thread_routes.ROUTES, *interaction_routes.ROUTES]
APPLICATION_FLAGS = {
    "guild_members": 1 << 15,
    "message_content": 1 << 19,
}  # "Application Flags", limited ones


@dataclass(eq=False)
class FakeDiscord(People, Transcript):
    """One Discord for one bot: a server to begin with, more by ``add_guild``."""

    token: str = "MTIzNDU2Nzg5MDEyMzQ1Njc4OQ.GfAkEd.a-fake-token-of-a-discord-bot-0123456"
    grants: frozenset[str] = frozenset({"message_content"})  #: privileged intents that the bot may ask for
    faults: Faults = field(default_factory=Faults)
    nonce_window: float = NONCE_WINDOW  #: seconds of the clock
    respond_within: float = RESPOND_WITHIN  #: seconds a bot has for its first response
    threads_page: int = 100  #: threads in one reply at most, "List Public Archived Threads"
    reads_document: bool = True  #: check every request by it; 40 ms for a message of many components
    requests: list[Call] = field(default_factory=list)  #: every request, oldest first
    violations: list[str] = field(default_factory=list)  #: what the API's own document does not allow
    rejected: list[str] = field(default_factory=list)  #: every refusal
    deduplicated: list[Message] = field(default_factory=list)  #: answered instead of posting a nonce again
    failed: list[Interaction] = field(default_factory=list)  #: not responded to in time
    downloads: list[Attachment] = field(default_factory=list)  #: as often as they were fetched
    resolves_replies: bool = True  #: whether the event of a reply brings what it replies to
    refuses_dms: set[int] = field(default_factory=set)  #: users who take no messages from the bot
    interactions_url: str | None = None  #: where presses and commands are sent in place of the Gateway
    rules: dict[str, Refusal] = field(default_factory=dict)  #: words that no message of the bot may hold
    needs_code: bool = False  #: whether adding the bot to a server needs an OAuth2 code
    #: how the application may be installed, "Application Integration Type Configuration Object"
    installs: dict[str, Any] = field(default_factory=lambda: {"0": {}, "1": {}})
    url: str = ""

    def __post_init__(self) -> None:
        self.state = State()
        self.released = asyncio.Event()  #: lets hanging replies go on
        self.bot = User(id=self.state.clock.snowflake(), name="footnote", is_bot=True)
        self.owner = User(id=self.state.clock.snowflake(), name="owner")
        self.state.users |= {self.bot.id: self.bot, self.owner.id: self.owner}
        self.application_id = self.bot.id
        self.gateway = Gateway(self)
        self.events = Events(self)
        self.rest = Rest(self, ROUTES)
        self.guild = self.state.guild("acme", self.bot)
        self._out: set[str] = set()
        self._waiting: list[asyncio.Future[None]] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    def hasten(self) -> None:
        """For stories of many messages: their requests are not checked by the document, and meet no limit."""
        self.reads_document, self.faults.told = False, (5_000, 1.0)

    async def __aenter__(self) -> Self:
        routes = web.Application(client_max_size=64 * 1024**2)
        routes.router.add_get("/gateway/", self.gateway.serve)
        routes.router.add_get("/attachments/{channel}/{id}/{name}", partial(setup_routes.download, self))
        self.rest.add_to(routes.router)
        self._runner = web.AppRunner(routes, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.released.set()
        await self.gateway.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._runner.cleanup()

    @property
    def api_url(self) -> str:
        """What ``DISCORD_API_URL`` is for this server."""
        return f"{self.url}{BASE}"

    @property
    def gateway_url(self) -> str:
        return f"{self.url.replace('http', 'ws')}/gateway/"

    @property
    def environment(self) -> dict[str, str]:
        """The settings of a bot that is to talk to this server."""
        return {"DISCORD_API_URL": self.api_url, "DISCORD_TOKEN": self.token}

    @property
    def flags(self) -> int:
        """Of the application: what it may ask for."""
        return sum(flag for name, flag in APPLICATION_FLAGS.items() if name in self.grants)

    async def until(self, condition: Callable[[], T], *, within: float = PATIENCE) -> T:
        """The condition's value as soon as it holds.

        Asked anew whenever something happens here, and now and then, as it may look elsewhere too.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while not (value := condition()):
            if loop.time() > deadline:
                raise AssertionError(
                    f"not within {within} s; refused so far: {(self.rejected + self.violations)[-3:]}"
                )
            waiter = loop.create_future()
            self._waiting.append(waiter)
            await asyncio.wait([waiter], timeout=LOOK_EVERY)
        return value

    async def happens(self, condition: Callable[[], Any], within: float) -> bool:
        """Whether the condition comes to hold in so many seconds."""
        try:
            await self.until(condition, within=within)
        except AssertionError:
            return False
        return True

    async def until_connected(self, count: int = 1, *, within: float = PATIENCE) -> None:
        """Returns when so many sessions have a socket."""
        await self.until(lambda: len(self.gateway.live) >= count, within=within)

    async def advance(self, seconds: float) -> None:
        """Moves the clock: nonces are forgotten, interactions and their tokens die."""
        self.state.clock.ahead += seconds
        self.changed()

    async def duplicate(self, what: Message | Interaction) -> int:
        """Brings the event of a message or an interaction once more; to how many sessions."""
        name = "MESSAGE_CREATE" if isinstance(what, Message) else "INTERACTION_CREATE"
        return self.gateway.repeat(name, what.id)

    @contextlib.asynccontextmanager
    async def outage(self, *, gateway: bool = True, rest: bool = False) -> AsyncIterator[None]:
        """The Gateway breaks every socket and takes no new one; with ``rest`` the API does not answer either."""
        self._out |= {name for name, is_out in (("gateway", gateway), ("rest", rest)) if is_out}
        if gateway:
            self.gateway.drop()
        try:
            yield
        finally:
            self._out.clear()
            self.changed()

    def is_out(self, part: str) -> bool:
        return part in self._out

    def changed(self) -> None:
        """Something happened: whoever waits looks again."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def run(self, act: Coroutine[Any, Any, T], *, within: float = PATIENCE) -> T:
        """Runs one of the coroutines above from another thread than the server's."""
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(within)

    def do(self, act: Callable[[], T]) -> T:
        """Runs a plain function, such as ``add_channel``, on the server's loop from another thread."""

        async def done() -> T:
            return act()

        return self.run(done())

    def spawn(self, act: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
