"""OAuth: workspaces install the app by themselves, through Bolt's own flow, and their tokens are stored."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from bots.slack.calls import SlackCalls, quiet_logger
from bots.slack.manifest import REDIRECT_PATH, SCOPES
from bots.slack.route import Me
from bots.slack.settings import SlackSettings
from core.storage.schema import Schema, prepare

if TYPE_CHECKING:
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow

    from bots.slack.oauth_stores import InstallationStore

FILE = "slack.sqlite"  # in DATA_DIR; it holds tokens, so only the owner may read it
STATE_LIFETIME = 600  # seconds from the install page until Slack sends the person back, as Bolt has it
SCHEMA = Schema()  # the SDK makes the tables


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """Bolt's flow by which a workspace installs the app, and where it stores what it was granted."""

    flow: AsyncOAuthFlow
    store: InstallationStore

    async def forget(self, me: Me) -> None:
        """Delete the token of a workspace that uninstalled the app."""
        team = None if me.is_org_wide else me.team_id
        await self.store.async_delete_all(enterprise_id=me.enterprise_id or None, team_id=team)


@asynccontextmanager
async def open_oauth(settings: SlackSettings, data_dir: Path, calls: SlackCalls) -> AsyncIterator[OAuth]:
    """Load what is installed; what is installed from now on is served at once."""
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
    from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
    from sqlalchemy import URL
    from sqlalchemy.ext.asyncio import create_async_engine

    from bots.slack.oauth_stores import InstallationStore, StateStore

    file = _prepared(data_dir)
    address = URL.create("sqlite+aiosqlite", database=str(file))
    engine = create_async_engine(address, hide_parameters=True)  # errors are logged
    try:
        store = InstallationStore(settings.client_id, engine, calls.installations)
        states = StateStore(expiration_seconds=STATE_LIFETIME, engine=engine)
        for each in (store, states):
            await each.create_tables()  # type: ignore[no-untyped-call] # the SDK's own
        await store.load()
        oauth = AsyncOAuthSettings(
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            scopes=list(SCOPES),
            user_scopes=[],
            authorization_url=urljoin(settings.api_url, "/oauth/v2/authorize"),
            redirect_uri_path=REDIRECT_PATH,
            installation_store=store,
            state_store=states,
            state_expiration_seconds=STATE_LIFETIME,
        )
        log = quiet_logger("oauth", logging.ERROR)  # at lower levels it logs codes
        yield OAuth(flow=AsyncOAuthFlow(client=calls.client, logger=log, settings=oauth), store=store)
    finally:
        await engine.dispose()


def _prepared(data_dir: Path) -> Path:
    file = data_dir.resolve() / FILE
    file.touch(mode=0o600)
    with closing(sqlite3.connect(file)) as database:
        prepare(database, file, SCHEMA)
    return file
