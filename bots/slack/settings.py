"""The settings for Slack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import SettingsError
from core.settings import is_address, read_env_file

API_URL = "https://slack.com/api/"  # where the Web API is, "Using the Slack Web API"

_BOT_TOKENS = ("xoxb-", "xoxe.xoxb-")  # plain and rotated, "Tokens"
_APP_TOKENS = ("xapp-",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """Tokens and addresses of one installation."""

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)  #: opens Socket Mode
    signing_secret: str = field(default="", repr=False)  #: proves over HTTP that a request is Slack's
    api_url: str = field(default=API_URL, repr=False)  #: ends in a slash; of a proxy, it may hold a password


def read_slack_settings(
    environment: Mapping[str, str], env_file: Path | None = Path(".env")
) -> SlackSettings | None:
    """None if no bot token is set; SettingsError names every fault, but no token."""
    values = {**read_env_file(env_file), **environment}
    bot_token, app_token, secret, address = (
        values.get(name, "").strip()
        for name in (
            "SLACK_BOT_TOKEN",
            "SLACK_APP_TOKEN",
            "SLACK_SIGNING_SECRET",
            "SLACK_API_URL",
        )
    )
    if not bot_token:
        return None
    checks = (
        (bot_token.startswith(_BOT_TOKENS), "SLACK_BOT_TOKEN must be a bot token, which begins with xoxb-"),
        (
            not app_token or app_token.startswith(_APP_TOKENS),
            "SLACK_APP_TOKEN must be an app-level token, which begins with xapp-",
        ),
        (
            bool(app_token or secret),
            "SLACK_APP_TOKEN is needed, or SLACK_SIGNING_SECRET to serve over HTTP",
        ),
        (not address or is_address(address), "SLACK_API_URL must be an http or https address"),
    )
    if faults := [sentence for is_met, sentence in checks if not is_met]:
        raise SettingsError("; ".join(faults) + ".")
    return SlackSettings(
        bot_token=bot_token,
        app_token=app_token,
        signing_secret=secret,
        api_url=f"{(address or API_URL).rstrip('/')}/",
    )
