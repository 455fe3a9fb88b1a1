"""The SDK's stores of installations, and of the states of those that were begun; with what it lacks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from slack_sdk.oauth.installation_store import Installation as Granted
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore
from sqlalchemy import URL, ColumnElement, and_, make_url, or_, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from core.storage.database import AdvisoryLock
from core.storage.storage import Storage

if TYPE_CHECKING:
    pass


CONNECTIONS = 2  # to PostgreSQL, for installations alone


class InstallationStore(AsyncSQLAlchemyInstallationStore):
    """Also tells of a new installation."""

    def __init__(self, *, client_id: str, engine: AsyncEngine, granted: Callable[[Granted], None]) -> None:
        super().__init__(client_id=client_id, engine=engine)
        self.granted = granted

    async def async_save(self, installation: Granted) -> None:
        await super().async_save(installation)
        self.granted(installation)

    async def all(self) -> list[Any]:
        """The rows of what was granted to this app, newest last."""
        return await self._granted()

    async def installed_in(self, space: str) -> list[Any]:
        """The same in one workspace, or in all of one organization."""
        bots = self.bots.c
        in_all = and_(bots.enterprise_id == space, bots.is_enterprise_install.is_(True))
        in_one = and_(bots.team_id == space, bots.is_enterprise_install.is_(False))
        return await self._granted(or_(in_one, in_all))

    async def _granted(self, *conditions: ColumnElement[bool]) -> list[Any]:
        of_app = self.bots.select().where(self.bots.c.client_id == self.client_id, *conditions)
        async with self.engine.connect() as connection:
            return list(await connection.execute(of_app.order_by(self.bots.c.installed_at)))


class StateStore(AsyncSQLAlchemyOAuthStateStore):
    """Also forgets states with which nobody came back."""

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
    """Two processes must not make them at once."""
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
