"""OAuth: workspaces install the app by themselves, through Bolt's own flow, and their tokens are stored."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_sdk.oauth.installation_store import Installation as Granted
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore
from sqlalchemy import URL, and_, make_url, or_, text, true
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bots.slack.calls import Installation, Installations, SlackCalls, quiet_logger
from bots.slack.route import Me
from bots.slack.settings import REDIRECT_PATH, SCHEMA, STORE, SlackSettings
from core.errors import StoreUnavailable
from core.storage.database import AdvisoryLock
from core.storage.storage import Storage, file_of

CONNECTIONS = 2  # to PostgreSQL, for installations alone


class InstallationStore(AsyncSQLAlchemyInstallationStore):
    """The SDK's store, which also reports a new installation."""

    def __init__(self, *, client_id: str, engine: AsyncEngine, granted: Callable[[Granted], None]) -> None:
        super().__init__(client_id=client_id, engine=engine)
        self.granted = granted

    async def async_save(self, installation: Granted) -> None:
        await super().async_save(installation)
        self.granted(installation)

    async def granted_in(self, space: str) -> list[Any]:
        """The rows of what was granted to this app, newest last: there alone, or everywhere without a ``space``."""
        bots = self.bots.c
        in_all = and_(bots.enterprise_id == space, bots.is_enterprise_install.is_(True))
        in_one = and_(bots.team_id == space, bots.is_enterprise_install.is_(False))
        there = or_(in_one, in_all) if space else true()
        of_app = self.bots.select().where(bots.client_id == self.client_id, there)
        async with self.engine.connect() as connection:
            return list(await connection.execute(of_app.order_by(bots.installed_at)))


class StateStore(AsyncSQLAlchemyOAuthStateStore):
    """Issues a state, and forgets those that nobody came back with."""

    async def async_issue(self, *arguments: Any, **named: Any) -> str:
        expires = self.oauth_states.c.expire_at
        async with self.engine.begin() as connection:
            now = datetime.now(UTC).replace(tzinfo=None)  # as the SDK stores it
            await connection.execute(self.oauth_states.delete().where(expires < now))
        return await super().async_issue(*arguments, **named)


def open_engine(storage: Storage, file: str) -> AsyncEngine:
    """The engine of the one PostgreSQL, or of this file of SQLite; its errors are logged without values."""
    if storage.url is None:
        address = URL.create("sqlite+aiosqlite", database=file)
        return create_async_engine(address, hide_parameters=True)
    from core.storage.postgres import CONNECTION

    address = make_url(storage.url).set(drivername="postgresql+psycopg")
    return create_async_engine(
        address, hide_parameters=True, pool_size=CONNECTIONS, max_overflow=0, pool_pre_ping=True,
        connect_args={**CONNECTION, "prepare_threshold": None},
    )  # fmt: skip


async def make_tables(engine: AsyncEngine, *stores: InstallationStore | StateStore) -> None:
    """Make the tables, in one process at a time."""
    async with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({AdvisoryLock.STORE})"))
        for store in stores:
            await connection.run_sync(store.metadata.create_all)


async def make_all_tables(storage: Storage, file: str) -> None:
    """The tables of both stores, before anybody installs the app."""
    engine = open_engine(storage, file)
    try:
        store = InstallationStore(client_id="", engine=engine, granted=lambda _: None)
        await make_tables(engine, store, StateStore(expiration_seconds=0, engine=engine))
    finally:
        await engine.dispose()


logger = logging.getLogger(__name__)

STATE_LIFETIME = 600  # seconds from the install page until Slack sends the person back, as Bolt has it


@dataclass(slots=True, kw_only=True)
class OAuth:
    """The flow of Bolt that installs the app in a workspace, and the store of what was granted."""

    flow: AsyncOAuthFlow
    store: InstallationStore
    installations: Installations  #: those that are served

    async def forget(self, me: Me) -> None:
        """Delete the token of a workspace that uninstalled the app."""
        team = None if me.is_org_wide else me.team_id
        await self.store.async_delete_all(enterprise_id=me.enterprise_id or None, team_id=team)

    async def look(self, space: str = "") -> None:
        """Serve what is installed there now, or all. StoreUnavailable if that cannot be read."""
        try:
            for granted in await self.store.granted_in(space):
                self.installations.add(_installation_of(granted))
        except SQLAlchemyError as fault:
            logger.info("installations cannot be read: %s", type(fault).__name__)
            raise StoreUnavailable("The installations of the app cannot be read.") from fault


@asynccontextmanager
async def open_oauth(
    settings: SlackSettings, storage: Storage, calls: SlackCalls, scopes: Sequence[str]
) -> AsyncIterator[OAuth]:
    """Load the installations; new ones are asked for these scopes, and served at once."""
    storage.database(STORE, SCHEMA).close()
    engine = open_engine(storage, str(file_of(storage.data_dir.resolve(), STORE)))
    try:
        store = InstallationStore(
            client_id=settings.client_id, engine=engine,
            granted=lambda granted: calls.installations.add(_installation_of(granted)),
        )  # fmt: skip
        states = StateStore(expiration_seconds=STATE_LIFETIME, engine=engine)
        await make_tables(engine, store, states)
        oauth = AsyncOAuthSettings(
            client_id=settings.client_id, client_secret=settings.client_secret, scopes=scopes, user_scopes=[],
            authorization_url=urljoin(settings.api_url, "/oauth/v2/authorize"),
            redirect_uri_path=REDIRECT_PATH, installation_store=store, state_store=states, state_expiration_seconds=STATE_LIFETIME,
        )  # fmt: skip
        log = quiet_logger("oauth", logging.ERROR)  # at lower levels it logs codes
        flow = AsyncOAuthFlow(client=calls.client, logger=log, settings=oauth)
        opened = OAuth(flow=flow, store=store, installations=calls.installations)
        await opened.look()
        calls.look = opened.look
        yield opened
    finally:
        await engine.dispose()


def _installation_of(granted: Any) -> Installation:
    """The installation from a grant of the SDK, or from its stored row."""
    me = Me(
        user_id=granted.bot_user_id, bot_id=granted.bot_id or "", team_id=granted.team_id or "",
        enterprise_id=granted.enterprise_id or "", is_org_wide=bool(granted.is_enterprise_install),
    )  # fmt: skip
    return Installation(me=me, token=granted.bot_token)
