"""The doctor's checks of Discord: token, intent, commands, gateway, servers and received events.

It only reads, and gives every request a few seconds. It opens the gateway without beginning a session:
1,000 may be begun in a day ("Session Start Limit Object").
"""

import asyncio
import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from bots.chat.platform import Refused
from bots.chat.texts import counted
from bots.discord import settings as discord
from bots.discord.route import DIRECT, DISCORD, TALK, said_at
from bots.doctor.findings import Finding, failed, ok, skipped, warning
from bots.doctor.platforms import first_message, untold
from bots.doctor.settings import Configuration, faults_by_setting
from bots.doctor.stores import report_events, thread_ids
from core.conversation import value
from core.errors import SettingsError
from core.settings import Settings
from core.turns.messenger import Unreachable

BOT, INTENT, INVITE, REGISTERED = "Discord bot", "Discord intent", "Discord invite", "Discord commands"
READ, EVENTS, GATEWAY = "Discord settings", "Discord events", "Discord gateway"

TITLE = "Discord"
TOKENS: tuple[str, ...] = ("DISCORD_TOKEN",)
SETTINGS = (*TOKENS, "DISCORD_API_URL")

ID = re.compile(r"\d{17,20}")  # of people and roles: milliseconds since 2015 and 22 bits more, "Snowflakes"
ID_HELP = (
    "In Discord: User Settings › Advanced › Developer Mode, then right-click the person or role › Copy ID."
)

PORTAL = "https://discord.com/developers/applications"
SETUP = f"Create an application at {PORTAL}; the README says what follows."
TOKEN = f"{PORTAL} › your application › Bot › Reset Token: copy the new one to DISCORD_TOKEN."
NETWORK = "Check the network, HTTPS_PROXY and DISCORD_API_URL; https://discordstatus.com shows outages."
NO_DISCORD = (
    "There is no Discord at DISCORD_API_URL.",
    "Take DISCORD_API_URL out, or give the address of your proxy.",
)

#: What a status of "Get Current Application" means; others are shown as they are.
_MEANINGS: Mapping[str, tuple[str, str]] = {
    "200": NO_DISCORD,
    "401": ("Discord does not know DISCORD_TOKEN: it is none, or was reset.", TOKEN),
    "404": NO_DISCORD,
    "429": ("Discord was asked too often.", "Try again in a minute."),
}
_FIXES = {
    "DISCORD_TOKEN": TOKEN,
    "DISCORD_API_URL": f"Take it out to use {discord.API_URL}, or give the address of your proxy.",
}
#: Other values on the application's pages, by their shape.
_NO_TOKENS = (
    (ID, "the application's or a person's id"),
    (re.compile(r"[0-9a-f]{64}"), "the application's public key"),
    (re.compile(r"[\w-]{32}"), "the application's client secret"),
)

SYNC = "`footnote manifest discord --sync`"

#: The defaults of the fields that people see, "Application Command Structure" and "Option Structure".
_COMMAND: Mapping[str, Any] = {
    "type": 1, "name": "", "description": "", "default_member_permissions": None, "nsfw": False,
}  # fmt: skip
_OPTION: Mapping[str, Any] = {
    "type": 0, "name": "", "description": "", "required": False, "max_length": None, "min_length": None,
    "autocomplete": False,
}  # fmt: skip

HELLO = 10  # "Gateway Opcodes"
VERSION = "10"  # of the gateway, as of the API
FEW_SESSIONS = 50  # that may still be begun
_RESTARTS = "Find out why `footnote run` starts so often: LOG_LEVEL=info tells."


async def examine(configuration: Configuration) -> list[Finding]:
    settings, found = read(configuration)
    if settings is None:
        return [*found, skipped(BOT, "Not looked at until the settings of Discord can be read.")]
    async with discord.open_api(settings, PATIENCE) as api:
        bot = await identify(api)
        if isinstance(bot, Finding):
            because = "Not looked at until Discord accepts DISCORD_TOKEN."
            left_out = [skipped(check, because) for check in (INTENT, REGISTERED, GATEWAY, SERVERS)]
            unknown = [skipped(INVITE, "Its URL is not known until Discord accepts DISCORD_TOKEN.")]
            known = application_id_in(settings.token)  # also of a token that Discord does not accept
            invited = invite(known, needs_code=False) if known else unknown
            return [*found, bot, *left_out, *invited, _events(configuration.settings, None)]
        commands, gateway, (servers, of_them) = await asyncio.gather(
            of_commands(api, bot.id), of_gateway(api), of_servers(api, bot)
        )
    invited = invite(bot.id, needs_code=bot.needs_code)
    events = _events(configuration.settings, servers)
    return [*found, *of_bot(bot), *commands, *gateway, *of_them, *invited, events]


def read(configuration: Configuration) -> tuple[discord.DiscordSettings | None, list[Finding]]:
    """The settings, None if they cannot be used, and what is wrong with them."""
    values = {name: configuration.values.get(name, "").strip() for name in SETTINGS}
    try:
        settings = discord.read_discord_settings(values, None)
    except SettingsError as fault:
        return None, [failed(READ, text, _FIXES[name]) for name, text in faults_by_setting(fault).items()]
    token = values["DISCORD_TOKEN"]
    if token.count(".") == 2:
        return settings, []
    looks = next((f" It looks like {what}." for shape, what in _NO_TOKENS if shape.fullmatch(token)), "")
    wrong = f"DISCORD_TOKEN is not the token of a bot: those have three parts with dots between.{looks}"
    return settings, [warning(READ, wrong, TOKEN)]  # Discord decides if it is one


def _events(settings: Settings, servers: Collection[str] | None) -> Finding:
    """``servers``: those of the bot; None if unknown."""
    prefixes = [DISCORD] if servers is None else [f"{DISCORD}/{server}" for server in (*servers, DIRECT)]
    threads = [thread for prefix in prefixes for thread in thread_ids(settings, prefix)]
    if began := [said_at(thread) for thread in threads if ID.fullmatch(thread)]:
        return report_events(EVENTS, began)
    if TALK in threads:
        return ok(EVENTS, "They come: there were direct messages.")
    if servers is None:
        return skipped(EVENTS, "None has come yet.")
    return warning(EVENTS, "None has come yet.", "Mention the bot in a channel while `footnote run` runs.")


async def identify(api: discord.DiscordApi) -> discord.Application | Finding:
    """The bot, or why it could not be identified."""
    try:
        return discord.read_application(await api.get("/applications/@me"))
    except Refused as refused:
        text, fix = _MEANINGS.get(refused.code, (f"Discord answered HTTP {refused}.", NETWORK))
        return failed(BOT, text, fix)
    except Unreachable:
        return failed(BOT, f"Discord cannot be reached, or does not answer within {PATIENCE:g} s.", NETWORK)


def of_bot(bot: discord.Application) -> Iterator[Finding]:
    page = f"{PORTAL}/{bot.id}"
    yield ok(BOT, f"@{bot.user_name} of the application {bot.name}.")
    if bot.posts_interactions:
        taken = "The application names an Interactions Endpoint URL: commands and buttons go there and not to Footnote."
        yield failed(BOT, taken, f"{page}/information › Interactions Endpoint URL: empty it.")
    if bot.reads_content:
        yield ok(INTENT, "Message Content is on: in its threads it can be asked without a mention.")
    else:
        yield warning(
            INTENT,
            "Message Content is off. Mentions, replies to it, direct messages and commands work without; "
            "in threads it reads neither follow-ups that do not mention it nor what was said before, "
            "and channels cannot be read as sources.",
            f"{page}/bot › Privileged Gateway Intents › Message Content Intent: switch it on, "
            "then restart `footnote run`.",
        )


def invite(application_id: str, *, needs_code: bool) -> Iterator[Finding]:
    yield ok(INVITE, f"Add it to a server: {discord.invite_url(application_id)}")
    if needs_code:
        needed, page = "Requires OAuth2 Code Grant", f"{PORTAL}/{application_id}/bot › Authorization Flow"
        closed = f"{needed} is on: nobody can add it to a server."
        yield failed(INVITE, closed, f"{page} › {needed}: switch it off.")


def application_id_in(token: str) -> str:
    """The application's id at the beginning of a token; empty if there is none."""
    first = token.partition(".")[0]
    try:
        id_ = b64decode(first + "=" * (-len(first) % 4), altchars=b"-_", validate=True).decode("ascii")
    except ValueError:
        return ""
    return id_ if id_.isdecimal() else ""


async def of_commands(api: discord.DiscordApi, application_id: str) -> list[Finding]:
    try:
        registered = await api.get(f"/applications/{application_id}/commands")
    except (Refused, Unreachable) as trouble:
        return [untold(REGISTERED, "Discord {} list the registered ones", trouble, PATIENCE)]
    return list(compare(registered))


def compare(registered: Sequence[discord.ApplicationCommand]) -> Iterator[Finding]:
    """The registered commands, compared with COMMANDS."""
    known, used = (
        {(each.get("type", 1), each["name"]): visible_fields(each) for each in those}  # unique within a type
        for those in (registered, discord.COMMANDS)
    )
    missing = [name for kind, name in used if (kind, name) not in known]
    changed = [key[1] for key in used if key in known and known[key] != used[key]]
    if missing:
        yield failed(REGISTERED, f"Not registered: {', '.join(missing)}.", SYNC)
    if changed:
        yield failed(REGISTERED, f"Registered in another version: {', '.join(changed)}.", SYNC)
    if not missing and not changed:
        yield ok(REGISTERED, f"All {len(used)} are registered.")
    if more := [name for kind, name in known if (kind, name) not in used]:
        fix = f"{SYNC} removes them."
        yield warning(REGISTERED, f"Registered, but not Footnote's: {', '.join(more)}.", fix)


def visible_fields(command: discord.ApplicationCommand) -> Mapping[str, Any]:
    """The fields that people see, with defaults."""
    options = [
        {name: given.get(name, default) for name, default in _OPTION.items()}
        | {"choices": [(choice["name"], choice["value"]) for choice in given.get("choices") or ()]}
        for given in command.get("options") or ()
    ]
    whole = {name: command.get(name, default) for name, default in _COMMAND.items()}
    availability = {name: sorted(command.get(name) or ()) for name in ("contexts", "integration_types")}
    return whole | availability | {"options": options}


async def of_gateway(api: discord.DiscordApi) -> list[Finding]:
    try:
        about = await api.get("/gateway/bot")
        url = f"{about['url']}?v={VERSION}&encoding=json"
        await first_message(
            api.session, url, api.proxy, lambda each: each.get("op") == HELLO, patience=PATIENCE
        )
    except Refused as refused:
        return [failed(GATEWAY, f"Discord does not say where its gateway is: HTTP {refused}.", NETWORK)]
    except Unreachable:
        return [failed(GATEWAY, f"It cannot be reached, or does not answer within {PATIENCE:g} s.", NETWORK)]
    return [starts(about["session_start_limit"])]


def starts(limit: dict[str, Any]) -> Finding:
    """The finding about how many sessions of the day are left."""
    left, total = limit["remaining"], limit["total"]
    hours = f"{limit['reset_after'] / 3_600_000:.0f} h"  # given in milliseconds
    state = f"It answers. Of {total:,} sessions a day, {left:,} can still be begun"
    if not left:
        return failed(GATEWAY, f"{state}: no `footnote run` can connect for {hours}.", _RESTARTS)
    if left < FEW_SESSIONS:
        return warning(GATEWAY, f"{state} within {hours}.", _RESTARTS)
    return ok(GATEWAY, f"{state}.")


# The servers of the bot, and its permissions in each channel. Discord lists no channel that the bot cannot see
# ("Permissions, Channel Visibility").

PATIENCE = 5.0  # seconds for one request, and for the gateway's first message


@value
class ServerChannel:
    """A channel where the bot can be asked, and its permissions there."""

    name: str
    needs: tuple[str, ...]
    may: frozenset[str]

    @property
    def lacks(self) -> tuple[str, ...]:
        return tuple(name for name in self.needs if name not in self.may)

    @property
    def is_answered_in(self) -> bool:
        """True if the bot can answer in the channel or in a thread of it."""
        needed = {discord.OPEN, discord.SEND_IN_THREADS}
        in_threads = discord.SEND_IN_THREADS in self.needs and needed.isdisjoint(self.lacks)
        return in_threads or (discord.SEND in self.needs and discord.SEND in self.may)


SERVERS, REVIEW = "Discord servers", "Discord review"
APPLIES_FROM, VERIFIED_FROM = 75, 100  # servers
NEAR_REVIEW, REVIEWED_FROM = 8_000, 10_000  # people

EXAMINED = 10  # servers; three requests for each, all at once, and 50 a second are allowed
NAMED = 5  # channels of one server


async def of_servers(
    api: discord.DiscordApi, bot: discord.Application
) -> tuple[tuple[str, ...] | None, list[Finding]]:
    """The ids of the servers, None where Discord does not list them, and what is found there."""
    try:
        known = await api.get("/users/@me/guilds?with_counts=true")
    except (Refused, Unreachable) as trouble:
        return None, [untold(SERVERS, "Discord {} list them", trouble, PATIENCE)]
    ids = tuple(each["id"] for each in known)
    if not ids:
        how = f"Open {discord.invite_url(bot.id)}"
        return ids, [warning(SERVERS, "The bot is in no server: only direct messages reach it.", how)]
    results = await asyncio.gather(*(_examine(api, bot, each) for each in known[:EXAMINED]))
    found = [finding for findings in results for finding in findings]
    people = sum(int(each.get("approximate_member_count") or 0) for each in known)
    found += of_reviews(bot, len(ids), people)
    if (more := len(ids) - EXAMINED) > 0:
        least = " or more" if len(ids) == discord.SERVERS_PAGE else ""
        found.append(skipped(SERVERS, f"{more:,}{least} other servers were not examined."))
    return ids, found


def of_reviews(bot: discord.Application, servers: int, people: int) -> Iterator[Finding]:
    """The reviews that Discord asks for as the bot grows; ``people`` counts members once per server.

    Sources: "Getting Started with Privileged Intent Review" (since 10 June 2026), "App Verification".
    """
    page = f"{PORTAL}/{bot.id}"
    if servers >= APPLIES_FROM and not bot.is_verified:
        limit = (
            f"In {servers} servers: from {VERIFIED_FROM} on nobody can add it until Discord has verified it."
        )
        yield warning(REVIEW, limit, f"{page}/verification: apply, which takes some days.")
    if bot.reads_content and not bot.is_reviewed and people >= NEAR_REVIEW:
        limit = (
            f"About {people:,} people can see it: from {REVIEWED_FROM:,} on Discord reviews Message Content, "
            "and each year again. Meanwhile it goes on."
        )
        yield warning(REVIEW, limit, f"{page}/bot › Privileged Gateway Intents: apply for Message Content.")


async def _examine(
    api: discord.DiscordApi, bot: discord.Application, known: Mapping[str, Any]
) -> list[Finding]:
    path = f"/guilds/{known['id']}"
    try:
        about, channels, member = await asyncio.gather(
            api.get(path), api.get(f"{path}/channels"), api.get(f"{path}/members/{bot.user_id}")
        )
    except Refused as refused:
        why = f"Discord does not show its permissions there: HTTP {refused}."
        return [skipped(SERVERS, f"{known['name']}: {why}")]
    except Unreachable:
        return [skipped(SERVERS, f"{known['name']}: Discord did not answer within {PATIENCE:g} s.")]
    permissions = discord.server_permissions(about, member)
    visible = tuple(
        ServerChannel(name=f"#{channel['name']}", needs=discord.NEEDED_PERMISSIONS[channel["type"]], may=may)
        for channel in channels
        if channel["type"] in discord.NEEDED_PERMISSIONS
        and discord.VIEW
        in (may := discord.names(discord.channel_permissions(channel, member, bot.user_id, permissions)))
    )
    return list(of_server(known["name"], discord.names(permissions), visible, bot))


def of_server(
    server: str, rights: frozenset[str], channels: Sequence[ServerChannel], bot: discord.Application
) -> Iterator[Finding]:
    """Usable channels, rights that the bot's role lacks, and those that single channels deny."""
    if not channels:
        yield failed(
            SERVERS,
            f"{server}: the bot sees no channel.",
            f"In Discord: the channel › Edit Channel › Permissions › Add members or roles › {bot.user_name}, "
            "and allow it View Channel.",
        )
        return
    yield ok(SERVERS, f"{server}: {_count(channels)}")
    tell = warning if any(channel.is_answered_in for channel in channels) else failed
    lacking = [channel for channel in channels if channel.lacks]
    of_role = [
        name
        for name in discord.PERMISSIONS
        if name not in rights and any(name in channel.lacks for channel in lacking)
    ]
    if of_role:
        yield tell(
            SERVERS,
            f"{server}: the bot's role lacks {', '.join(of_role)}.",
            f"In Discord: {server} › Server Settings › Roles › {bot.user_name} › Permissions: switch on what "
            f"is missing. Or add the bot again: {discord.invite_url(bot.id)}",
        )
    denied = [
        (channel.name, here)
        for channel in lacking
        if (here := [name for name in channel.lacks if name not in of_role])
    ]
    if denied:
        yield tell(
            SERVERS,
            f"{server}: {_list(denied)}.",
            f"In Discord: the channel › Edit Channel › Permissions › {bot.user_name}: allow what is missing, "
            "or leave it as it is where nobody should ask.",
        )


def _count(channels: Sequence[ServerChannel]) -> str:
    seen = f"it sees {counted(len(channels), 'channel')}"
    if not any(channel.lacks for channel in channels):
        return f"{seen} and may do there what it needs to."
    answered = sum(channel.is_answered_in for channel in channels)
    opens = sum(discord.OPEN in channel.may for channel in channels if discord.OPEN in channel.needs)
    reads = sum(discord.HISTORY in channel.may for channel in channels)
    return f"{seen}, can answer in {answered:,}, open threads in {opens:,} and read back in {reads:,}."


def _list(denied: Sequence[tuple[str, Sequence[str]]]) -> str:
    listed = "; ".join(f"{name} lacks {', '.join(rights)}" for name, rights in denied[:NAMED])
    more = len(denied) - NAMED
    return listed + (f"; so do {more:,} more" if more > 0 else "")
