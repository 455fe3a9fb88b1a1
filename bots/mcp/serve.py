"""Puts the MCP server together in a process that serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from bots.chat.channels import ChannelStore
from bots.mcp.callers import PLATFORM, PeopleByEmail
from bots.mcp.http import PATH, McpSite
from bots.mcp.identity import Identities, Issuer
from bots.mcp.served import ServedService, keep_sweeping
from bots.mcp.settings import McpSettings
from bots.mcp.tokens import open_mcp_store
from bots.page.threads import PageThreads
from core.bootstrap import Footnote, Reads
from core.library.library import Refresh
from core.turns.rate_limits import Admission
from core.turns.turns import Turns

STATES = "states"  # the key that seals what clients carry


@asynccontextmanager
async def open_mcp(
    settings: McpSettings,
    footnote: Footnote,
    turns: Turns,
    *,
    channels: ChannelStore,
    threads: PageThreads,
    reads: Reads,
    refresh: Refresh,
    admission: Admission | None,
    signing_secret: str,
    is_stopping: Callable[[], bool],
    spaces: Callable[[], tuple[str, ...]],
) -> AsyncIterator[tuple[McpSite, str]]:
    """The site and the key of its states. ``spaces``: Slack's workspaces that are served."""
    channels.people[PLATFORM] = PeopleByEmail()
    issuer = (
        Issuer(address=settings.issuer, audience=f"{settings.place.url}{PATH}") if settings.issuer else None
    )
    service = ServedService(
        footnote=footnote, turns=turns, threads=threads, reads=reads, refresh=refresh,
        admission=admission, is_stopping=is_stopping,
    )  # fmt: skip
    sweeping = asyncio.create_task(keep_sweeping(threads))
    with open_mcp_store(footnote.storage) as store:
        identities = Identities(store=store, signing_secret=signing_secret, spaces=spaces, issuer=issuer)
        site = McpSite(service=service, identities=identities, place=settings.place, issuer=settings.issuer)
        try:
            yield site, await store.key(STATES)
        finally:
            sweeping.cancel()
            await asyncio.wait([sweeping])
