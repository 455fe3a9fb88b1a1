"""The kinds of sources: a new one is its file, and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from core.settings import Settings
from core.sources.confluence import source as confluence
from core.sources.confluence.address import pasted_address as confluence_address
from core.sources.drive import source as drive
from core.sources.drive.address import browser_address as drive_address
from core.sources.git import source as git
from core.sources.git.address import local_address
from core.sources.github import source as github
from core.sources.github.address import list_address as github_address
from core.sources.notion import source as notion
from core.sources.notion.address import page_address as notion_address
from core.sources.source import AddressKind, SourceKind, kind_of
from core.sources.website import source as website
from core.sources.website.address import canonical_address as website_address
from core.sources.website.address import sitemap_address

KINDS: Mapping[str, SourceKind] = {
    "git": git.KIND,
    "website": website.KIND,
    "drive": drive.KIND,
    "confluence": confluence.KIND,
    "notion": notion.KIND,
    "github": github.KIND,
}


def source_address(
    name: str,
    *,
    follow: bool = False,
    kinds: Mapping[str, AddressKind] = KINDS,
    settings: Settings | None = None,
) -> str | None:
    """The address of the source that a person named, as it is kept; None for a path, or a page of the web.

    ``follow``: a page of the web is the first one of a website; ``settings``: an address on the web is of a source
    where they say how that is read. SettingsError for an address that begins like one of a source and is none.
    """
    if (kind := kind_of(name, kinds)) is not None:
        return kind.canonical(name)
    if (pasted := _pasted(name, settings)) is not None:
        return pasted
    if follow and name.startswith(("http://", "https://")):
        return website_address(name)
    return sitemap_address(name) or local_address(name)


def _pasted(name: str, settings: Settings | None) -> str | None:
    """Of what a browser shows of a source; an address that only a setting tells from a page needs the setting."""
    hosts = (*settings.git_tokens, *settings.private_hosts) if settings else ()
    tokens = settings.confluence_tokens if settings else {}
    return (
        drive_address(name)
        or confluence_address(name, tokens)
        or (notion_address(name) if settings and settings.notion_token else None)
        or github_address(name, hosts)
    )
