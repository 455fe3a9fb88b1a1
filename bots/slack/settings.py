"""The settings for Slack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import SettingsError
from core.setting_values import is_address
from core.settings import read_env_file

API_URL = "https://slack.com/api/"  # where the Web API is, "Using the Slack Web API"

NAMES: tuple[str, ...] = (
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_CLIENT_ID",
    "SLACK_CLIENT_SECRET",
    "SLACK_API_URL",
)

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
    """None without a bot token and a client id; SettingsError names every fault, but no token.

    ``is_served``: events are to come in; without, the bot token is enough.
    """
    values = {**read_env_file(env_file), **environment}
    given = {name: values.get(name, "").strip() for name in NAMES}
    if not (given["SLACK_BOT_TOKEN"] or given["SLACK_CLIENT_ID"]):
        return None
    if faults := [sentence for is_met, sentence in _requirements(given, is_served=is_served) if not is_met]:
        raise SettingsError("; ".join(faults) + ".")
    return settings_of(given)


def settings_of(given: Mapping[str, str]) -> SlackSettings:
    """The settings by their names, of which some may be empty; what they say is not checked."""
    return SlackSettings(
        bot_token=given["SLACK_BOT_TOKEN"],
        app_token=given["SLACK_APP_TOKEN"],
        signing_secret=given["SLACK_SIGNING_SECRET"],
        client_id=given["SLACK_CLIENT_ID"],
        client_secret=given["SLACK_CLIENT_SECRET"],
        api_url=f"{(given['SLACK_API_URL'] or API_URL).rstrip('/')}/",
    )


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
