"""The SDK's stores of installations and of states, each with one thing more. Loaded only where there is OAuth."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from slack_sdk.oauth.installation_store import Installation as Granted
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore
from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore
from sqlalchemy.ext.asyncio import AsyncEngine

from bots.slack.installations import Installation, Installations
from bots.slack.route import Me


class InstallationStore(AsyncSQLAlchemyInstallationStore):
    """What is installed in it is served at once."""

    def __init__(self, client_id: str, engine: AsyncEngine, served: Installations) -> None:
        super().__init__(client_id=client_id, engine=engine)
        self.served = served

    async def load(self) -> None:
        """Serve what is installed, the newest of a workspace last."""
        of_app = self.bots.select().where(self.bots.c.client_id == self.client_id)
        async with self.engine.connect() as connection:
            for granted in await connection.execute(of_app.order_by(self.bots.c.installed_at)):
                self.served.add(_installation_of(granted))

    async def async_save(self, installation: Granted) -> None:
        await super().async_save(installation)
        self.served.add(_installation_of(installation))


class StateStore(AsyncSQLAlchemyOAuthStateStore):
    """It forgets states with which nobody came back."""

    async def async_issue(self, *arguments: Any, **named: Any) -> str:
        expires = self.oauth_states.c.expire_at
        async with self.engine.begin() as connection:
            now = datetime.now(UTC).replace(tzinfo=None)  # as the SDK stores it
            await connection.execute(self.oauth_states.delete().where(expires < now))
        return await super().async_issue(*arguments, **named)


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
