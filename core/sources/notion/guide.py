"""What a person is told who adds pages of Notion: how they are named, and where a token is made."""

from __future__ import annotations

from collections.abc import Sequence

from core.settings import Settings
from core.sources.credentials import Credential
from core.sources.notion.address import PREFIX, canonical_address, page_address
from core.sources.source import SourceGuide

INTEGRATIONS = "https://www.notion.so/profile/integrations"


def credentials(_text: str, settings: Settings) -> Sequence[Credential]:
    """The token of an integration, with which the pages are shared."""
    return (
        Credential(
            setting="NOTION_TOKEN",
            entry="TOKEN",
            made_at=INTEGRATIONS,
            rights="Read content; share the pages with the integration",
            is_set=bool(settings.notion_token),
        ),
    )


def typed_address(typed: str) -> str:
    """Of a link to a page, of its identifier alone, or as it is kept."""
    if (found := page_address(typed)) is not None:
        return found
    return canonical_address(typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}")


GUIDE = SourceGuide(
    title="Pages and databases of Notion",
    asks="The link of a page; notion: for all that is shared with the integration",
    example="notion:",
    address=typed_address,
    credentials=credentials,
    extra="notion",
    packages=("notion_client",),
)
