"""The server: routes, set-up and the waiting that needs no sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

from aiohttp import web
from fakes.patience import PATIENCE
from fakes.slack import chat_methods, oauth, response_urls, streams, view_methods, workspace_methods
from fakes.slack.deliveries import ACK_WITHIN, RETRY_DELAYS, Deliveries, Delivery
from fakes.slack.events import App, ResponseUrl, Trigger
from fakes.slack.faults import Faults
from fakes.slack.oauth import Grant
from fakes.slack.people import People
from fakes.slack.sockets import Sockets
from fakes.slack.state import Conversation, Installation, Message, State, User, UserGroup
from fakes.slack.transcript import Transcript
from fakes.slack.web_api import WebApi

T = TypeVar("T")
LOOK_EVERY = 0.05  # seconds between two looks at a condition while nothing happens
METHODS = (
    chat_methods.METHODS | streams.METHODS | workspace_methods.METHODS | view_methods.METHODS | oauth.METHODS
)


@dataclass(eq=False)
class FakeSlack(People, Transcript):
    """One Slack for one app: a workspace to begin with, more by ``add_workspace``."""

    app: App = field(default_factory=App, repr=False)
    bot_token: str = "xoxb-fake"
    app_token: str = "xapp-fake"
    signing_secret: str = "fake-secret"
    client_id: str = "1.2"
    client_secret: str = "fake-client-secret"
    request_url: str = ""  #: where events are posted; empty: Socket Mode
    faults: Faults = field(default_factory=Faults, repr=False)
    echoes: bool = True  #: whether the app is told of its own messages, as it really is
    retries_by_itself: bool = False  #: redeliver when due by the wall clock, not only when told
    ack_within: float = ACK_WITHIN  #: seconds
    retry_delays: Sequence[float] = RETRY_DELAYS  #: seconds, one for each retry
    rejected: list[str] = field(
        default_factory=list, repr=False
    )  #: every refusal, and what broke the protocol
    #: At most, of a channel's history or a thread; 15 for apps outside the Marketplace, "Rate limits".
    messages_per_call: int | None = None
    refused_tokens: dict[str, str] = field(default_factory=dict)  #: revoked tokens and the like -> error code
    url: str = ""

    def __post_init__(self) -> None:
        self.state = State(self.changed)
        self.api = WebApi(self, METHODS)
        self.sockets = Sockets(self)
        self.deliveries = Deliveries(self)
        self.released = asyncio.Event()  #: lets hanging replies go on
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}
        self.statuses: dict[tuple[str, str], tuple[str, float]] = {}
        self.sessions: dict[tuple[str, str], list[str]] = {}  #: statuses of agent sessions, oldest first
        self.titles: dict[tuple[str, str], str] = {}
        self.prompts: dict[tuple[str, str], list[dict[str, str]]] = {}
        self.codes: dict[str, Grant] = {}  #: what workspaces granted, by the code that says so
        self.downloads: list[str] = []  #: file ids, as often as they were fetched
        self._waiting: list[asyncio.Future[None]] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timers: list[asyncio.TimerHandle] = []
        self.team = self.add_workspace("acme", self.bot_token)
        self.bot = self.state.bot(self.team).id

    async def __aenter__(self) -> Self:
        routes = web.Application(client_max_size=64 * 1024**2)
        routes.router.add_route("*", "/api/{method}", self.api.serve)
        routes.router.add_get("/link/", self.sockets.serve)
        routes.router.add_get("/files-pri/{id}/{name}", partial(workspace_methods.download, self))
        routes.router.add_post("/response/{token}", partial(response_urls.respond, self))
        self._runner = web.AppRunner(routes, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_exc: object) -> None:
        self.released.set()
        for timer in self._timers:
            timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.deliveries.close()
        await self.sockets.close()
        await self._runner.cleanup()

    @property
    def api_url(self) -> str:
        """What ``SLACK_API_URL`` is for this server."""
        return f"{self.url}/api/"

    @property
    def environment(self) -> dict[str, str]:
        """The settings of an app that is to talk to this server."""
        return {
            "SLACK_API_URL": self.api_url, "SLACK_BOT_TOKEN": self.bot_token,
            "SLACK_APP_TOKEN": self.app_token, "SLACK_SIGNING_SECRET": self.signing_secret,
        }  # fmt: skip

    def add_workspace(self, name: str, token: str = "") -> str:
        """A workspace in which the app is installed with this bot token, unless it is empty; its id."""
        team = self.state.id("T")
        self.state.teams[team] = name
        if token:
            self.grant(team, token)
        return team

    def grant(self, team: str, token: str) -> Installation:
        """Installs the app in a workspace; the bot there stays the same person."""
        bots = (
            user.id for user in self.state.users.values() if (user.team, user.app_id) == (team, self.app.id)
        )
        bot = next(bots, "") or self.add_bot(self.app.name, team=team, app_id=self.app.id)
        installation = Installation(token=token, team=team, bot=self.state.users[bot], scopes=self.app.scopes)
        self.state.installations[token] = installation
        return installation

    def add_user(self, name: str, *, team: str = "") -> str:
        user = User(id=self.state.id("U"), team=team or self.team, name=name)
        self.state.users[user.id] = user
        return user.id

    def add_bot(self, name: str, *, team: str = "", app_id: str = "A0OTHER") -> str:
        bot = User(
            id=self.state.id("U"), team=team or self.team, name=name, is_bot=True, app_id=app_id,
            bot_id=self.state.id("B"),
        )  # fmt: skip
        self.state.users[bot.id] = bot
        return bot.id

    def add_channel(
        self, name: str, *members: str, is_private: bool = False, has_bot: bool = True, team: str = ""
    ) -> str:
        """A channel with these people in it, and the app unless told otherwise; its id."""
        team = team or self.team
        bots = [self.state.bot(team).id] if has_bot else []
        channel = Conversation(
            id=self.state.id("C"), team=team, name=name, kind="group" if is_private else "channel",
            members=[*members, *bots],
        )  # fmt: skip
        self.state.conversations[channel.id] = channel
        return channel.id

    def share(self, channel: str, team: str, *members: str) -> None:
        """Shares a channel with another workspace, and its people, "Slack Connect"."""
        conversation = self.state.conversations[channel]
        conversation.shared_with.append(team)
        conversation.members.extend(members)

    def add_group_dm(self, *members: str) -> str:
        return self.state.direct(self.team, [*members, self.bot]).id

    def add_usergroup(self, handle: str, *users: str) -> str:
        group = UserGroup(id=self.state.id("S"), team=self.team, handle=handle, users=list(users))
        self.state.usergroups[group.id] = group
        return group.id

    async def until(self, condition: Callable[[], T], *, within: float = PATIENCE) -> T:
        """The condition's value as soon as it holds.

        Asked anew whenever something happens here, and now and then, as it may look elsewhere too.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + within
        while not (value := condition()):
            if loop.time() > deadline:
                raise AssertionError(f"not within {within} s; refused so far: {self.rejected[-3:]}")
            waiter = loop.create_future()
            self._waiting.append(waiter)
            await asyncio.wait([waiter], timeout=LOOK_EVERY)
        return value

    async def until_connected(self, count: int = 1, *, within: float = PATIENCE) -> None:
        """Returns when so many sockets are open."""
        await self.until(lambda: len(self.sockets.live) >= count, within=within)

    async def until_acked(self, message: Message, *, within: float = PATIENCE) -> None:
        """Returns when every event that tells of a message is acknowledged."""
        await self.until(lambda: all(one.is_acked for one in self.deliveries_of(message)), within=within)

    async def redeliver(self) -> list[Delivery]:
        """Sends now what was not acknowledged, due or not."""
        return await self.deliveries.redeliver()

    async def advance(self, seconds: float) -> list[Delivery]:
        """Moves the clock, and sends what is due by then: retries; triggers, statuses and streams die."""
        open_streams = [message for message in self.state.messages() if self.is_streaming(message)]
        self.state.clock.ahead += seconds
        for message in open_streams:
            if not self.is_streaming(message):
                self.state.notify(message)
        return await self.deliveries.redeliver(only_due=True)

    async def duplicate(self, message: Message, kind: str) -> None:
        """Brings the events of a message once more, in one of the ``DUPLICATES``."""
        for delivery in self.deliveries_of(message):
            await self.deliveries.duplicate(delivery, kind)

    async def forge(self, payload: dict[str, Any], **headers: str) -> tuple[int, str]:
        """A request to the app's URL, signed well unless headers say otherwise: its status and body."""
        return await self.deliveries.post(payload, **headers)

    def changed(self) -> None:
        """Something happened: whoever waits looks again."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)

    def announce(self, message: Message) -> None:
        if self.echoes:
            self.spawn(self._tell(message))

    def announce_change(self, message: Message, before: dict[str, Any]) -> None:
        if self.echoes:
            self.spawn(self._tell_change(message, before))

    def remove(self, message: Message) -> None:
        before = message.as_json()
        message.is_deleted = True
        self.state.show(message, "delete")
        self.announce_change(message, before)

    def is_streaming(self, message: Message) -> bool:
        return message.stream_until > self.state.clock.now() and not message.is_stopped

    def clear_status(self, channel: str, thread_ts: str) -> None:
        self.statuses.pop((channel, thread_ts), None)

    def run(self, act: Coroutine[Any, Any, T], *, within: float = PATIENCE) -> T:
        """Runs one of the coroutines above from another thread than the server's."""
        return asyncio.run_coroutine_threadsafe(act, self._loop).result(within)

    def later(self, seconds: float, act: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Does something of itself when its time has come, unless the server is gone by then."""
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(seconds, lambda: self.spawn(act())))

    def spawn(self, act: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
