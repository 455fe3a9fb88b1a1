"""What DISCORD_TOKEN tells: who the bot is, what it may read, and how it is added to a server."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from bots.discord.application import READS_CONTENT
from bots.discord.checkup.asking import PATIENCE, Asking, Refused, Silent
from bots.discord.commands import invite_url
from bots.doctor.findings import Finding, failed, ok, warning
from core.values import value

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
    except Refused as refused:
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
