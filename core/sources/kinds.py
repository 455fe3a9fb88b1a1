"""The kinds of sources, and the names by which people mean a source: a new kind is its folder, and its line here."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from core.errors import SettingsError
from core.settings import Settings
from core.sources.confluence import source as confluence
from core.sources.confluence.address import pasted_address as confluence_address
from core.sources.drive import source as drive
from core.sources.drive.files import browser_address as drive_address
from core.sources.git import source as git
from core.sources.git.address import local_address
from core.sources.github import source as github
from core.sources.github.convert import list_address as github_address
from core.sources.notion import source as notion
from core.sources.notion.address import page_address as notion_address
from core.sources.source import AddressKind, SourceKind, kind_of
from core.sources.store import SourceStore
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
    """The address of what a browser shows of a source; one that only a setting tells from a page needs the setting."""
    hosts = (*settings.git_tokens, *settings.private_hosts) if settings else ()
    tokens = settings.confluence_tokens if settings else {}
    return (
        drive_address(name)
        or confluence_address(name, tokens)
        or (notion_address(name) if settings and settings.notion_token else None)
        or github_address(name, hosts)
    )


def source_labels(
    store: SourceStore, *, collection: str | None = None, kinds: Mapping[str, AddressKind] = KINDS
) -> list[tuple[str, str, str]]:
    """(collection, address, label) of each source, as :func:`resolve_name` compares them."""
    return [
        (each.collection, each.address, label_of(each.address, kinds))
        for each in store.all()
        if collection in (None, each.collection)
    ]


def label_of(address: str, kinds: Mapping[str, AddressKind] = KINDS) -> str:
    """The name of a source for people: its own address where its kind is not known here."""
    kind = kind_of(address, kinds)
    return kind.label(address) if kind else address


def only_version(store: SourceStore, name: str, kinds: Mapping[str, AddressKind] = KINDS) -> str | None:
    """The one source that has this address but for what chooses its version, as a branch; None if there are several."""
    kind = kind_of(name, kinds)
    if kind is None:
        return None
    wanted = kind.without_version(name)
    found = {each.address for each in store.all() if kind.without_version(each.address) == wanted == name}
    return found.pop() if len(found) == 1 else None


def parts_of(store: SourceStore, name: str, kinds: Mapping[str, AddressKind] = KINDS) -> list[str]:
    """The sources that have this address but for the folder or the version that they are read of, as people type
    them; in order.
    """
    kind = kind_of(name, kinds)
    if kind is None:
        return []
    addresses = {each.address for each in store.all()}
    return sorted(
        kind.typed(each) for each in addresses if name in (each.partition("#")[0], kind.without_version(each))
    )


def typed_of(address: str, kinds: Mapping[str, AddressKind] = KINDS) -> str:
    """The address of a source as a person types it."""
    kind = kind_of(address, kinds)
    return kind.typed(address) if kind else address


def name_as_kept(name: str, kinds: Mapping[str, AddressKind] = KINDS) -> str:
    """The address of a source as it is kept, also of a local repository; any other name as it is."""
    with contextlib.suppress(SettingsError):
        return source_address(name, kinds=kinds) or name
    return name
