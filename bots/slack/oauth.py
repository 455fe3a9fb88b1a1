"""OAuth: workspaces install the app by themselves, through Bolt's own flow, and their tokens are stored."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from bots.slack.calls import Installation, Installations, SlackCalls, quiet_logger
from bots.slack.manifest import REDIRECT_PATH, SCOPES
from bots.slack.route import Me
from bots.slack.settings import SlackSettings
from core.errors import StoreUnavailable
from core.storage.database import Schema
from core.storage.storage import Storage, file_of

if TYPE_CHECKING:
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow

    from bots.slack.oauth_stores import InstallationStore


logger = logging.getLogger(__name__)


STATE_LIFETIME = 600  # seconds from the install page until Slack sends the person back, as Bolt has it
STORE = "slack"  # it holds tokens, so only the owner may read its file
SCHEMA = Schema()  # the SDK makes the tables


@dataclass(slots=True, kw_only=True)
class OAuth:
    """Bolt's flow by which a workspace installs the app, and where it stores what it was granted."""

    flow: AsyncOAuthFlow
    store: InstallationStore
    installations: Installations  #: those that are served

    async def forget(self, me: Me) -> None:
        """Delete the token of a workspace that uninstalled the app."""
        team = None if me.is_org_wide else me.team_id
        await self.store.async_delete_all(enterprise_id=me.enterprise_id or None, team_id=team)

    async def load(self) -> None:
        """Serve all that is installed."""
        for granted in await self.store.all():
            self.installations.add(_installation_of(granted))

    async def look(self, space: str) -> None:
        """Load what is installed there now. StoreUnavailable if that cannot be read."""
        from sqlalchemy.exc import SQLAlchemyError

        try:
            for granted in await self.store.installed_in(space):
                self.installations.add(_installation_of(granted))
        except SQLAlchemyError as fault:
            logger.info("installations cannot be read: %s", type(fault).__name__)
            raise StoreUnavailable("The installations of the app cannot be read.") from fault


@asynccontextmanager
async def open_oauth(settings: SlackSettings, storage: Storage, calls: SlackCalls) -> AsyncIterator[OAuth]:
    """Load what is installed; what is installed from now on is served at once."""
    from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
    from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings

    from bots.slack.oauth_stores import InstallationStore, StateStore, make_tables, open_engine

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
        flow = AsyncOAuthFlow(client=calls.client, logger=log, settings=oauth)
        opened = OAuth(flow=flow, store=store, installations=calls.installations)
        await opened.load()
        calls.look = opened.look
        yield opened
    finally:
        await engine.dispose()


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
