"""The app's manifest, to paste under "Create New App › From a manifest".

It has exactly the scopes and events that the adapter uses, each with its reason. Source of the
fields: "App manifest reference".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bots.slack.interactions import KEEP

#: Scope of the bot's token -> reason.
SCOPES: Mapping[str, str] = {
    "app_mentions:read": "be asked in a channel",
    "assistant:write": "be an agent: status, Stop, suggested prompts",
    "channels:history": "follow-ups and what was said before, in public channels",
    "channels:read": "which public channels the bot is in, for `footnote doctor`, and what a kept answer's channel is called",
    "chat:write": "answer",
    "commands": "the shortcut *Keep this answer* in the menu of a message",
    "files:read": "read files attached to a message, once somebody lets them be read or says `learn`",
    "groups:history": "follow-ups in private channels",
    "groups:read": "which private channels the bot is in, for `footnote doctor`",
    "im:history": "direct messages",
    "mpim:history": "direct messages of several people",
    "usergroups:read": "user groups among WEB_APPROVERS, LEARNERS and EXPERTS",
    "users:read": "the names of who asked and who decided",
    "users:read.email": "what sources open to a person's e-mail address",
}

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
PROMPTS: Mapping[str, str] = {
    "What can you do?": "help",
    "What do you read?": "sources",
}

EVENTS_PATH, REDIRECT_PATH = "/slack/events", "/slack/oauth_redirect"  # as Bolt's own server names them

#: In the menu of every message.
SHORTCUT: Mapping[str, str] = {
    "name": "Keep this answer",  # 24 characters
    "type": "message",
    "callback_id": KEEP,
    "description": "Remember this reply, and cite it when somebody asks again",
}

_DESCRIPTION = "Answers questions from your team's documents, with footnotes you can check."  # 140 characters


def manifest(address: str = "", mcp: str = "") -> dict[str, Any]:
    """The manifest for Socket Mode, or for HTTP at an ``address`` such as https://your.host; ``mcp``: the address of the
    server that Slackbot asks.
    """
    content = _over_sockets()
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


def _over_sockets() -> dict[str, Any]:
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
            "shortcuts": [{**SHORTCUT}],
            "agent_view": {
                "agent_description": _DESCRIPTION,
                "suggested_prompts": [
                    {"title": title, "message": message} for title, message in PROMPTS.items()
                ],
            },
        },
        "oauth_config": {"scopes": {"bot": list(SCOPES)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True},
            "org_deploy_enabled": False,
            "socket_mode_enabled": True,
            "token_rotation_enabled": False,
        },
    }
