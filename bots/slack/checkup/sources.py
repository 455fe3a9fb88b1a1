"""Where in Slack each setting comes from, and where to click to mend it."""

from __future__ import annotations

from collections.abc import Mapping

from bots.slack.settings import API_URL

APP = "https://api.slack.com/apps › your app ›"
REINSTALL = f"{APP} OAuth & Permissions › Reinstall to Workspace, then copy the token to SLACK_BOT_TOKEN."
SOCKET_MODE = f"{APP} Socket Mode › Enable Socket Mode."
NETWORK = "Check the network, HTTPS_PROXY and SLACK_API_URL."

SOURCES: Mapping[str, str] = {
    "SLACK_BOT_TOKEN": f"{APP} OAuth & Permissions: copy the Bot User OAuth Token (after Install to Workspace).",
    "SLACK_APP_TOKEN": f"{APP} Basic Information › App-Level Tokens: generate one with connections:write.",
    "SLACK_SIGNING_SECRET": f"{APP} Basic Information › App Credentials: copy the Signing Secret.",
    "SLACK_API_URL": f"Take it out to use {API_URL}, or give the address of your proxy.",
}
