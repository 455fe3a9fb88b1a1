"""OAuth: workspaces install the app by themselves, through Bolt's own flow, and their tokens are stored."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from bots.slack.calls import SlackCalls, quiet_logger
from bots.slack.installations import Installation
from bots.slack.manifest import REDIRECT_PATH, SCOPES
from bots.slack.route import Me
from bots.slack.settings import SlackSettings
from core.storage.schema import Schema, prepare

if TYPE_CHECKING:
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
    from slack_sdk.oauth.installation_store import Installation as Granted
    from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore

FILE = "slack.sqlite"  # in DATA_DIR; it holds tokens, so only the owner may read it
STATE_LIFETIME = 600  # seconds from the install page until Slack sends the person back, as Bolt has it
SCHEMA = Schema()  # the SDK makes the tables


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """Bolt's flow by which a workspace installs the app, and where it stores what it was granted."""

    flow: AsyncOAuthFlow
    store: AsyncSQLAlchemyInstallationStore

    async def forget(self, me: Me) -> None:
        """Delete the token of a workspace that uninstalled the app."""
        team = None if me.is_org_wide else me.team_id
        await self.store.async_delete_all(enterprise_id=me.enterprise_id or None, team_id=team)


@asynccontextmanager
async def open_oauth(settings: SlackSettings, data_dir: Path, calls: SlackCalls) -> AsyncIterator[OAuth]:
    """Load what is installed; what is installed from now on is served at once."""
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
    from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
    from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
    from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore
    from sqlalchemy import URL
    from sqlalchemy.ext.asyncio import create_async_engine

    class Store(AsyncSQLAlchemyInstallationStore):
        """The SDK's store, which also tells us of a new installation."""

        async def async_save(self, installation: Granted) -> None:
            await super().async_save(installation)
            calls.installations.add(_installation_of(installation))

    class States(AsyncSQLAlchemyOAuthStateStore):
        """The SDK's store, which also forgets states with which nobody came back."""

        async def async_issue(self, *arguments: Any, **named: Any) -> str:
            expires = self.oauth_states.c.expire_at
            async with self.engine.begin() as connection:
                now = datetime.now(UTC).replace(tzinfo=None)  # as the SDK stores it
                await connection.execute(self.oauth_states.delete().where(expires < now))
            return await super().async_issue(*arguments, **named)

    file = _prepared(data_dir)
    address = URL.create("sqlite+aiosqlite", database=str(file))
    engine = create_async_engine(address, hide_parameters=True)  # errors are logged
    try:
        store = Store(client_id=settings.client_id, engine=engine)
        states = States(expiration_seconds=STATE_LIFETIME, engine=engine)
        for each in (store, states):
            await each.create_tables()  # type: ignore[no-untyped-call] # the SDK's own
        async with engine.connect() as connection:
            of_app = store.bots.select().where(store.bots.c.client_id == settings.client_id)
            for granted in await connection.execute(of_app.order_by(store.bots.c.installed_at)):
                calls.installations.add(_installation_of(granted))
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


def _installation_of(granted: Any) -> Installation:
    """From what the SDK was granted, or a row in which it stored that."""
    me = Me(
        user_id=granted.bot_user_id,
        bot_id=granted.bot_id or "",
        team_id=granted.team_id or "",
        enterprise_id=granted.enterprise_id or "",
        is_org_wide=bool(granted.is_enterprise_install),
    )
    return Installation(me=me, token=granted.bot_token)
