"""The kinds of sources: a new one is its file, and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from core.settings import Settings
from core.sources.drive import source as drive
from core.sources.drive.address import browser_address
from core.sources.git import source as git
from core.sources.git.address import local_address
from core.sources.github import source as github
from core.sources.github.address import list_address
from core.sources.notion import source as notion
from core.sources.notion.address import page_address as notion_address
from core.sources.source import SourceKind, kind_of
from core.sources.website import source as website
from core.sources.website.address import canonical_address as website_address
from core.sources.website.address import sitemap_address

KINDS: Mapping[str, SourceKind] = {
    "git": git.KIND,
    "website": website.KIND,
    "notion": notion.KIND,
    "github": github.KIND,
    "drive": drive.KIND,
}


def source_address(name: str, *, follow: bool = False, settings: Settings | None = None) -> str | None:
    """The address of the source that a person named, as it is kept; None for a path, or a page of the web.

    ``follow``: a page of the web is the first one of a website; ``settings``: an address on the web is of a source
    where they say how that is read. SettingsError for an address that begins like one of a source and is none.
    """
    if (folder := browser_address(name)) is not None:
        return folder
    if follow and name.startswith(("http://", "https://")):
        return website_address(name)
    if (kind := kind_of(name, KINDS)) is not None:
        return kind.canonical(name)
    if settings is not None and settings.notion_token and (page := notion_address(name)) is not None:
        return page
    enterprise = (*settings.git_tokens, *settings.private_hosts) if settings is not None else ()
    return sitemap_address(name) or list_address(name, enterprise) or local_address(name)
