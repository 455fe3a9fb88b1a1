"""The kinds of sources: a new one is its file, and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from core.sources.drive import source as drive
from core.sources.drive.address import browser_address
from core.sources.git import source as git
from core.sources.git.address import local_address
from core.sources.source import AddressKind, SourceKind, kind_of
from core.sources.website import source as website
from core.sources.website.address import canonical_address as website_address
from core.sources.website.address import sitemap_address

KINDS: Mapping[str, SourceKind] = {"git": git.KIND, "website": website.KIND, "drive": drive.KIND}


def source_address(
    name: str, *, follow: bool = False, kinds: Mapping[str, AddressKind] = KINDS
) -> str | None:
    """The address of the source that a person named, as it is kept; None for a path, or a page of the web.

    ``follow``: a page of the web is the first one of a website. SettingsError for an address that begins like one of a source and is none.
    """
    if (folder := browser_address(name)) is not None:
        return folder
    if follow and name.startswith(("http://", "https://")):
        return website_address(name)
    kind = kind_of(name, kinds)
    return kind.canonical(name) if kind else sitemap_address(name) or local_address(name)
