"""A local Slack with one person in one channel, and the real clients for it."""

from __future__ import annotations

import logging

import pytest
from fakes.office import Office
from fakes.ports import free_port
from fakes.slack.oauth import Browser
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    """The SDK takes a proxy from the environment without a look at NO_PROXY."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ann(slack):
    return slack.add_user("ann")


@pytest.fixture
def general(slack, ann):
    return slack.add_channel("general", ann)


@pytest.fixture
def client(slack):
    return AsyncWebClient(slack.bot_token, base_url=slack.api_url)


@pytest.fixture
def app(slack, client):
    logger = logging.getLogger("bolt")
    return AsyncApp(client=client, signing_secret=slack.signing_secret, logger=logger)


@pytest.fixture
async def office(template, tmp_path, slack):
    """Footnote, which is not yet begun."""
    async with Office.copied(template, tmp_path, slack) as office:
        yield office


@pytest.fixture
async def installable(office, slack):
    """Served to whoever installs the app; no workspace has, but for the one that a bot token is set for."""
    slack.state.installations.clear()
    office.port = free_port()
    office.browser = Browser(slack, f"http://127.0.0.1:{office.port}")
    slack.request_url = f"http://127.0.0.1:{office.port}/slack/events"
    office.arguments = ("run", "slack", "--http", str(office.port))
    office.settings |= {
        "SLACK_BOT_TOKEN": "", "SLACK_APP_TOKEN": "", "SLACK_CLIENT_ID": slack.client_id,
        "SLACK_CLIENT_SECRET": slack.client_secret,
    }  # fmt: skip
    return office
