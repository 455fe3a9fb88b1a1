"""The app at Slack as an operator sets it up: its settings, and its manifest.

The manifest has exactly the scopes and events that the adapter uses, each with its reason. Source of its fields: "App
manifest reference".
"""

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import SettingsError
from core.setting_values import is_address
from core.settings import Settings, read_env_file
from core.storage.database import Schema

CLOCK_SKEW = 300  # seconds, "Verifying requests from Slack"
STORE = "slack"  # it holds tokens, so only the owner may read its file
SCHEMA = Schema()  # the SDK makes the tables
TIMESTAMP_DIGITS = 12  # seconds since the epoch fit in fewer for 30,000 years
API_URL = "https://slack.com/api/"  # where the Web API is, "Using the Slack Web API"

NAMES: tuple[str, ...] = (
    "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_SIGNING_SECRET", "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET",
    "SLACK_API_URL",
)  # fmt: skip

_BOT_TOKENS = ("xoxb-", "xoxe.xoxb-")  # plain and rotated, "Tokens"
_APP_TOKENS = ("xapp-",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """Tokens, secrets and addresses of one app."""

    bot_token: str = field(default="", repr=False)  #: of one workspace; others come by OAuth
    app_token: str = field(default="", repr=False)  #: opens Socket Mode
    signing_secret: str = field(default="", repr=False)  #: proves over HTTP that a request is Slack's
    client_id: str = ""  #: of an app that is installed in several workspaces over OAuth
    client_secret: str = field(default="", repr=False)
    api_url: str = field(default=API_URL, repr=False)  #: ends in a slash; of a proxy, it may hold a password

    @property
    def has_oauth(self) -> bool:
        """True if workspaces may install the app over HTTP."""
        return bool(self.client_id and self.client_secret)


def read_slack_settings(
    environment: Mapping[str, str], env_file: Path | None = Path(".env"), *, is_served: bool = True
) -> SlackSettings | None:
    """The settings; None without a bot token and a client id. SettingsError names every fault. ``is_served``: events come in."""
    values = {**read_env_file(env_file), **environment}
    given = {name: values.get(name, "").strip() for name in NAMES}
    if not (given["SLACK_BOT_TOKEN"] or given["SLACK_CLIENT_ID"]):
        return None
    if faults := [sentence for is_met, sentence in _requirements(given, is_served=is_served) if not is_met]:
        raise SettingsError("; ".join(faults) + ".")
    return make_settings(given)


def make_settings(given: Mapping[str, str]) -> SlackSettings:
    """The settings from their names; some may be empty, and none is checked."""
    return SlackSettings(
        bot_token=given["SLACK_BOT_TOKEN"], app_token=given["SLACK_APP_TOKEN"],
        signing_secret=given["SLACK_SIGNING_SECRET"], client_id=given["SLACK_CLIENT_ID"],
        client_secret=given["SLACK_CLIENT_SECRET"],
        api_url=f"{(given['SLACK_API_URL'] or API_URL).rstrip('/')}/",
    )  # fmt: skip


def _requirements(given: Mapping[str, str], *, is_served: bool) -> tuple[tuple[bool, str], ...]:
    """True if each is met, and what to say where it is not."""
    bot_token, app_token, secret, _, client_secret, address = (given[name] for name in NAMES)
    return (
        (
            not bot_token or bot_token.startswith(_BOT_TOKENS),
            "SLACK_BOT_TOKEN must be a bot token, which begins with xoxb-",
        ),
        (
            not app_token or app_token.startswith(_APP_TOKENS),
            "SLACK_APP_TOKEN must be an app-level token, which begins with xapp-",
        ),
        (
            bool(app_token or secret) or not bot_token or not is_served,
            "SLACK_APP_TOKEN is needed, or SLACK_SIGNING_SECRET to serve over HTTP",
        ),
        (bool(client_secret or bot_token), "SLACK_CLIENT_SECRET is needed with SLACK_CLIENT_ID"),
        (bool(secret or bot_token), "SLACK_SIGNING_SECRET is needed with SLACK_CLIENT_ID"),
        (not address or is_address(address), "SLACK_API_URL must be an http or https address"),
    )


def skew_of(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> float | None:
    """The lead of ``now`` over the signed timestamp, in seconds; None without Slack's signature."""
    timestamp, signature = headers.get("X-Slack-Request-Timestamp", ""), headers.get("X-Slack-Signature", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= TIMESTAMP_DIGITS):
        return None
    expected = hmac.new(secret.encode(), b"v0:%b:%b" % (timestamp.encode(), body), hashlib.sha256).hexdigest()
    is_slacks = hmac.compare_digest(f"v0={expected}".encode(), signature.encode(errors="replace"))
    return now - int(timestamp) if is_slacks else None


KEEP = "keep_answer"  # the callback id of the shortcut in the menu of a message

#: Scope of the bot's token -> reason.
SCOPES: Mapping[str, str] = {
    "app_mentions:read": "be asked in a channel",
    "assistant:write": "be an agent: status, Stop, suggested prompts",
    "channels:history": "follow-ups and what was said before, in public channels",
    "channels:read": "which public channels the bot is in, for `footnote doctor`, and what a kept answer's channel is called",
    "chat:write": "answer",
    "commands": "the shortcut *Keep this answer* in the menu of a message; only with EXPERTS or LEARNERS",
    "files:read": "read files attached to a message, once somebody lets them be read or says `learn`",
    "groups:history": "follow-ups in private channels",
    "groups:read": "which private channels the bot is in, for `footnote doctor`",
    "im:history": "direct messages",
    "mpim:history": "direct messages of several people",
    "usergroups:read": "user groups among WEB_APPROVERS, LEARNERS, EXPERTS and readers; only if one is named",
    "users:read": "the names of who asked and who decided",
    "users:read.email": "what sources open to a person's e-mail address; only if one does",
}
#: Those that only some need: they are asked for once something does.
SOME_NEED = frozenset({"commands", "usergroups:read", "users:read.email"})

MCP_SCOPE = "mcp:connect"  # lets Slackbot ask the MCP server of the app

#: Event -> reason.
EVENTS: Mapping[str, str] = {
    "agent_session_stopped": "the client's own Stop",
    "app_home_opened": "suggested prompts in a new direct message",
    "app_mention": "a question in a channel",
    "message.channels": "follow-ups without a mention",
    "message.groups": "the same in private channels",
    "message.im": "direct messages",
    "message.mpim": "direct messages of several people",
}

#: Events of an app that workspaces install over HTTP -> reason.
UNINSTALLED: Mapping[str, str] = {
    "app_uninstalled": "the token of a workspace that uninstalled the app is deleted",
    "tokens_revoked": "the same",
}

#: Suggested prompts: the button's label -> the message that it sends.
PROMPTS: Mapping[str, str] = {"What can you do?": "help", "What do you read?": "sources"}

EVENTS_PATH, REDIRECT_PATH = "/slack/events", "/slack/oauth_redirect"  # as Bolt's own server names them

#: In the menu of every message.
SHORTCUT: Mapping[str, str] = {
    "name": "Keep this answer",  # 24 characters
    "type": "message",
    "callback_id": KEEP,
    "description": "Remember this reply, and cite it when somebody asks again",
}

_DESCRIPTION = "Answers questions from your team's documents, with footnotes you can check."  # 140 characters


def needed_scopes(settings: Settings, groups: Iterable[str], *, has_readers: bool) -> list[str]:
    """The scopes that this set-up needs: ``groups`` may read something, ``has_readers``: a source names some people."""
    teachers = {*settings.learners, *(one for each in settings.experts.values() for one in each)}
    named = {*teachers, *settings.web_approvers, *(group.rpartition("/")[2] for group in groups)}
    needs = {
        "commands": bool(teachers),
        "usergroups:read": any(one.startswith("S") for one in named),
        "users:read.email": has_readers,
    }
    return [scope for scope in SCOPES if needs.get(scope, True)]


def manifest(address: str = "", mcp: str = "", *, scopes: Iterable[str] = tuple(SCOPES)) -> dict[str, Any]:
    """The manifest for Socket Mode, or for HTTP at an ``address`` such as https://your.host; ``mcp``: the address of the
    server that Slackbot asks.
    """
    content = _over_sockets([*scopes])
    if mcp:
        content["oauth_config"]["scopes"]["bot"].append(MCP_SCOPE)
        content["mcp_servers"] = {"footnote": {"url": mcp, "auth_type": "slack_identity_auth"}}
    if address:
        settings, url = content["settings"], address.rstrip("/")
        settings["socket_mode_enabled"] = False
        settings["interactivity"]["request_url"] = f"{url}{EVENTS_PATH}"
        settings["event_subscriptions"]["request_url"] = f"{url}{EVENTS_PATH}"
        settings["event_subscriptions"]["bot_events"] += UNINSTALLED
        content["oauth_config"]["redirect_urls"] = [f"{url}{REDIRECT_PATH}"]
    return content


def _over_sockets(scopes: list[str]) -> dict[str, Any]:
    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": {"name": "Footnote", "description": _DESCRIPTION},
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "footnote", "always_online": True},
            **({"shortcuts": [{**SHORTCUT}]} if "commands" in scopes else {}),
            "agent_view": {
                "agent_description": _DESCRIPTION,
                "suggested_prompts": [
                    {"title": title, "message": message} for title, message in PROMPTS.items()
                ],
            },
        },
        "oauth_config": {"scopes": {"bot": scopes}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True},
            "org_deploy_enabled": False,
            "socket_mode_enabled": True,
            "token_rotation_enabled": False,
        },
    }
