"""Questions to Discord's API, of those that only read.

What DISCORD_TOKEN tells: who the bot is, what it may read, and how it is added to a server.

What the bot may do in a channel, "Permissions, Permission Overwrites".

The servers that the bot is in, and what it may do in their channels.

Channels that it does not see are in none of Discord's lists ("Permissions, Channel Visibility"),
so nothing is told of them.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from bots.chat.proxies import proxy_for
from bots.chat.texts import counted
from bots.discord.commands import PERMISSIONS, READS_CONTENT, invite_url
from bots.discord.settings import DiscordSettings
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from core.conversation import value

if TYPE_CHECKING:
    from aiohttp import ClientSession

PATIENCE = 5.0  # seconds for one request, and for the gateway's first word
USER_AGENT = "DiscordBot (footnote, 0.1)"  # "API Reference, User Agent": requests without one may be blocked


class RequestRefused(Exception):
    """Something other than what was asked for came back."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status  # 200 where it was no JSON


class Silent(Exception):
    """Nothing came back."""


@value
class Asking:
    """One bot's view of the API."""

    session: ClientSession
    headers: Mapping[str, str] = field(repr=False)
    api_url: str
    proxy: str | None

    async def get(self, path: str) -> Any:
        """What Discord answers. Raises Refused and Silent."""
        from aiohttp import ClientError

        try:
            async with self.session.get(
                self.api_url + path, headers=self.headers, proxy=self.proxy, allow_redirects=False
            ) as reply:
                if reply.status != 200:
                    raise RequestRefused(reply.status)
                return await reply.json(content_type=None)
        except ValueError as error:
            raise RequestRefused(200) from error
        except (ClientError, OSError) as error:  # a TimeoutError is an OSError
            raise Silent from error


@asynccontextmanager
async def open_asking(settings: DiscordSettings) -> AsyncIterator[Asking]:
    from aiohttp import ClientSession, ClientTimeout

    headers = {"Authorization": f"Bot {settings.token}", "User-Agent": USER_AGENT}
    address, proxy = settings.api_url, proxy_for(settings.api_url)
    async with ClientSession(timeout=ClientTimeout(total=PATIENCE)) as session:
        yield Asking(session=session, headers=headers, api_url=address, proxy=proxy)


BOT, INTENT, INVITE = "Discord bot", "Discord intent", "Discord invite"

PORTAL = "https://discord.com/developers/applications"
TOKEN = f"{PORTAL} › your application › Bot › Reset Token: copy the new one to DISCORD_TOKEN."
NETWORK = "Check the network, HTTPS_PROXY and DISCORD_API_URL; https://discordstatus.com tells of outages."
NO_DISCORD = (
    "There is no Discord at DISCORD_API_URL.",
    "Take DISCORD_API_URL out, or give the address of your proxy.",
)

#: What a status of "Get Current Application" means; every other one is shown as it is.
_MEANINGS: Mapping[int, tuple[str, str]] = {
    200: NO_DISCORD,
    401: ("Discord does not know DISCORD_TOKEN: it is none, or was reset.", TOKEN),
    404: NO_DISCORD,
    429: ("Discord was asked too often.", "Try again in a minute."),
}


@value
class Bot:
    """Who Discord says the bot is."""

    user_id: str
    name: str
    application_id: str
    application: str  #: its name
    reads_content: bool  #: whether the Message Content intent is on
    needs_code: bool  #: whether adding it to a server needs an OAuth2 code, which nobody here takes
    presses_go_elsewhere: bool  #: whether presses and commands are sent to an address instead


async def identify(asking: Asking) -> Bot | Finding:
    """The bot, or why nobody knows."""
    try:
        about = await asking.get("/applications/@me")
        return _bot(about)
    except RequestRefused as refused:
        told, fix = _MEANINGS.get(refused.status, (f"Discord answered HTTP {refused.status}.", NETWORK))
        return failed(BOT, told, fix)
    except Silent:
        return failed(BOT, f"Discord cannot be reached, or does not answer within {PATIENCE:g} s.", NETWORK)
    except (KeyError, TypeError):  # JSON, but of something else
        return failed(BOT, *NO_DISCORD)


def _bot(about: Mapping[str, Any]) -> Bot:
    return Bot(
        user_id=about["bot"]["id"],
        name=about["bot"]["username"],
        application_id=about["id"],
        application=about["name"],
        reads_content=bool(int(about.get("flags") or 0) & READS_CONTENT),
        needs_code=bool(about.get("bot_require_code_grant")),
        presses_go_elsewhere=bool(about.get("interactions_endpoint_url")),
    )


def of_bot(bot: Bot) -> Iterator[Finding]:
    page = f"{PORTAL}/{bot.application_id}"
    yield ok(BOT, f"@{bot.name} of the application {bot.application}.")
    if bot.presses_go_elsewhere:
        yield failed(
            BOT,
            "The application names an Interactions Endpoint URL: commands and buttons go there and not to Footnote.",
            f"{page}/information › Interactions Endpoint URL: empty it.",
        )
    if bot.reads_content:
        yield ok(INTENT, "Message Content is on: in its threads it can be asked without a mention.")
    else:
        yield warning(
            INTENT,
            "Message Content is off. Mentions, replies to it, direct messages and commands work without; "
            "in threads it reads neither follow-ups that do not mention it nor what was said before.",
            f"{page}/bot › Privileged Gateway Intents › Message Content Intent: switch it on, "
            "then start `footnote run` anew.",
        )


def invite(application_id: str, *, needs_code: bool) -> Iterator[Finding]:
    yield ok(INVITE, f"Add it to a server: {invite_url(application_id)}")
    if needs_code:
        yield failed(
            INVITE,
            "Requires OAuth2 Code Grant is on: nobody can add it to a server.",
            f"{PORTAL}/{application_id}/bot › Authorization Flow › Requires OAuth2 Code Grant: switch it off.",
        )


def id_in(token: str) -> str:
    """The application's id, with which a token begins; empty where it does not."""
    first = token.partition(".")[0]
    try:
        id_ = b64decode(first + "=" * (-len(first) % 4), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        return ""
    return id_ if id_.isdecimal() else ""


ADMINISTRATOR = 1 << 3

VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS = (
    "View Channels", "Send Messages", "Read Message History", "Create Public Threads",
    "Send Messages in Threads",
)  # fmt: skip

#: What a channel's type needs, "Channel Types"; others hold no messages.
NEEDED: Mapping[int, tuple[str, ...]] = {
    0: (VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS),  # text
    2: (VIEW, SEND, HISTORY),  # voice
    5: (VIEW, SEND, HISTORY, OPEN, SEND_IN_THREADS),  # announcements
    15: (VIEW, HISTORY, SEND_IN_THREADS),  # forum
    16: (VIEW, HISTORY, SEND_IN_THREADS),  # media
}


@value
class Place:
    """A channel in which the bot can be asked, and what it may do there."""

    name: str
    needs: tuple[str, ...]
    may: frozenset[str]

    @property
    def lacks(self) -> tuple[str, ...]:
        return tuple(name for name in self.needs if name not in self.may)

    @property
    def is_answered_in(self) -> bool:
        """In the channel itself, or in a thread of it."""
        in_threads = SEND_IN_THREADS in self.needs and not {OPEN, SEND_IN_THREADS} & {*self.lacks}
        return in_threads or (SEND in self.needs and SEND in self.may)


def in_server(server: Mapping[str, Any], member: Mapping[str, Any]) -> int:
    """Of all roles together, before any channel says otherwise."""
    mine = {server["id"], *member["roles"]}  # everybody's role has the server's id
    powers = 0
    for role in server["roles"]:
        powers |= int(role["permissions"]) if role["id"] in mine else 0
    return -1 if powers & ADMINISTRATOR else powers


def in_channel(channel: Mapping[str, Any], member: Mapping[str, Any], user_id: str, powers: int) -> int:
    """First what is said of everybody, then of the roles together, then of the bot itself."""
    if powers & ADMINISTRATOR:
        return powers
    said = {each["id"]: each for each in channel.get("permission_overwrites") or ()}
    for subjects in ([channel["guild_id"]], member["roles"], [user_id]):
        about = [said[subject] for subject in subjects if subject in said]
        powers = powers & ~_all(about, "deny") | _all(about, "allow")
    return powers


def _all(overwrites: Iterable[Mapping[str, Any]], field: str) -> int:
    together = 0
    for each in overwrites:
        together |= int(each[field])
    return together


def names(powers: int) -> frozenset[str]:
    return frozenset(name for name, bit in PERMISSIONS.items() if powers & bit)


SERVERS = "Discord servers"

PAGE = 200  # servers at most of one reply, "Get Current User Guilds"
LOOKED_INTO = 10  # servers; three requests for each, all at once, and 50 a second are taken
NAMED = 5  # channels of one server


@value
class Server:
    """One server as the bot finds it."""

    name: str
    rights: frozenset[str]  #: of the bot's roles, before any channel says otherwise
    places: tuple[Place, ...]


async def of_servers(asking: Asking, bot: Bot) -> tuple[tuple[str, ...] | None, list[Finding]]:
    """The ids of the servers, None where nobody tells, and what is found there."""
    try:
        known = await asking.get("/users/@me/guilds")
    except RequestRefused as refused:
        return None, [skipped(SERVERS, f"Discord does not tell which: {refused}.")]
    except Silent:
        return None, [skipped(SERVERS, f"Discord did not tell which within {PATIENCE:g} s.")]
    ids = tuple(each["id"] for each in known)
    if not ids:
        how = f"Open {invite_url(bot.application_id)}"
        return ids, [warning(SERVERS, "The bot is in no server: only direct messages reach it.", how)]
    looked = await asyncio.gather(*(_look(asking, bot, each) for each in known[:LOOKED_INTO]))
    found = [finding for findings in looked for finding in findings]
    if (more := len(ids) - LOOKED_INTO) > 0:
        least = " or more" if len(ids) == PAGE else ""
        found.append(skipped(SERVERS, f"{more:,}{least} other servers were not looked into."))
    return ids, found


async def _look(asking: Asking, bot: Bot, known: Mapping[str, Any]) -> list[Finding]:
    path = f"/guilds/{known['id']}"
    try:
        about, channels, member = await asyncio.gather(
            asking.get(path), asking.get(f"{path}/channels"), asking.get(f"{path}/members/{bot.user_id}")
        )
    except RequestRefused as refused:
        return [skipped(SERVERS, f"{known['name']}: Discord does not tell what it may do there: {refused}.")]
    except Silent:
        return [skipped(SERVERS, f"{known['name']}: Discord did not tell within {PATIENCE:g} s.")]
    powers = in_server(about, member)
    places = (
        Place(
            name=f"#{channel['name']}",
            needs=NEEDED[channel["type"]],
            may=names(in_channel(channel, member, bot.user_id, powers)),
        )
        for channel in channels
        if channel["type"] in NEEDED
    )
    seen = tuple(place for place in places if VIEW in place.may)
    return list(of_server(Server(name=known["name"], rights=names(powers), places=seen), bot))


def of_server(server: Server, bot: Bot) -> Iterator[Finding]:
    """How many channels are as they should be; then what the bot's role lacks, then what single channels take."""
    if not server.places:
        yield failed(
            SERVERS,
            f"{server.name}: the bot sees no channel.",
            f"In Discord: the channel › Edit Channel › Permissions › Add members or roles › {bot.name}, "
            "and allow it View Channel.",
        )
        return
    yield ok(SERVERS, f"{server.name}: {_count(server.places)}")
    tell = warning if any(place.is_answered_in for place in server.places) else failed
    lacking = [place for place in server.places if place.lacks]
    of_role = [
        name
        for name in PERMISSIONS
        if name not in server.rights and any(name in place.lacks for place in lacking)
    ]
    if of_role:
        yield tell(
            SERVERS,
            f"{server.name}: the bot's role lacks {', '.join(of_role)}.",
            f"In Discord: {server.name} › Server Settings › Roles › {bot.name} › Permissions: switch on what "
            f"is missing. Or add the bot anew: {invite_url(bot.application_id)}",
        )
    taken = [
        (place.name, here)
        for place in lacking
        if (here := [name for name in place.lacks if name not in of_role])
    ]
    if taken:
        yield tell(
            SERVERS,
            f"{server.name}: {_some(taken)}.",
            f"In Discord: the channel › Edit Channel › Permissions › {bot.name}: allow what is missing, "
            "or leave it so where nobody is to ask.",
        )


def _count(places: Sequence[Place]) -> str:
    seen = f"it sees {counted(len(places), 'channel')}"
    if not any(place.lacks for place in places):
        return f"{seen} and may do there what it needs to."
    answered = sum(place.is_answered_in for place in places)
    opens = sum(OPEN in place.may for place in places if OPEN in place.needs)
    reads = sum(HISTORY in place.may for place in places)
    return f"{seen}, can answer in {answered:,}, open threads in {opens:,} and read back in {reads:,}."


def _some(taken: Sequence[tuple[str, Sequence[str]]]) -> str:
    told = "; ".join(f"{name} lacks {', '.join(rights)}" for name, rights in taken[:NAMED])
    more = len(taken) - NAMED
    return told + (f"; so do {more:,} more" if more > 0 else "")
