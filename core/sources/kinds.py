"""The kinds of sources, the names by which people mean a source, and a first look at one.

The look lists what a source would read, without reading or storing it. A new kind is its folder, and its entry here.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from core.conversation import value
from core.errors import SettingsError
from core.settings import Settings
from core.sources import source as port
from core.sources.confluence import client as spaces
from core.sources.confluence import source as confluence
from core.sources.documents import parse_item
from core.sources.drive import files as folders
from core.sources.drive import source as drive
from core.sources.git import address as git_addresses
from core.sources.git import source as git
from core.sources.github import client as issues
from core.sources.github import source as github
from core.sources.notion import client as workspace
from core.sources.notion import source as notion
from core.sources.store import SourceStore
from core.sources.website import convert as pages
from core.sources.website import source as website

SOURCE_KINDS: port.SourceKinds = {
    "git": port.SourceKind(
        prefixes=git_addresses.PREFIXES, canonical=git_addresses.canonical_address, guide=git_addresses.GUIDE,
        label=lambda address: git_addresses.parse(address).name, identity=git_addresses.identity_of,
        without_version=git_addresses.without_branch, open=git.open_git, parse=git.parse_git,
    ),
    "website": port.SourceKind(
        prefixes=pages.PREFIXES, canonical=lambda text: pages.parse(text).address, guide=pages.GUIDE,
        label=pages.label_of, typed=pages.label_of,
        identity=lambda address: address.partition("://")[2],  # over https or without
        # Without it, the address of a first page would mean that page alone.
        options=lambda address: () if pages.parse(address).is_sitemap else ("--follow",),
        open=website.open_website, parse=pages.parse_page,
    ),
    "drive": port.SourceKind(
        prefixes=(folders.PREFIX,), canonical=folders.canonical_address, guide=folders.GUIDE, label=str,
        open=drive.open_drive, parse=drive.parse_exported,
    ),
    "confluence": port.SourceKind(
        prefixes=spaces.PREFIXES, canonical=lambda text: spaces.parse(text).address, guide=spaces.GUIDE,
        label=spaces.label_of, open=confluence.open_confluence, parse=confluence.parse_item,
    ),
    "notion": port.SourceKind(
        prefixes=(workspace.PREFIX,), canonical=workspace.canonical_address, guide=workspace.GUIDE,
        label=lambda _address: workspace.LABEL, open=notion.open_notion, parse=notion.parse_item,
    ),
    "github": port.SourceKind(
        prefixes=issues.PREFIXES, canonical=lambda text: issues.parse(text).address, guide=issues.GUIDE,
        label=issues.label_of, open=github.open_github, parse=parse_item,
    ),
}  # fmt: skip


def source_address(
    name: str,
    *,
    follow: bool = False,
    kinds: port.AddressKinds = SOURCE_KINDS,
    settings: Settings | None = None,
) -> str | None:
    """The kept address of the source that a person named. None for a path, or a page of the web. ``follow``: a
    page is the first one of a website; ``settings``: say how addresses on the web are read. SettingsError for
    one that only begins like that of a source."""
    if (kind := port.kind_of(name, kinds)) is not None:
        return kind.canonical(name)
    # What a browser shows of a source; one that only a setting tells from a page needs the setting.
    hosts = (*settings.git_tokens, *settings.private_hosts) if settings else ()
    pasted = (
        folders.browser_address(name)
        or spaces.parse_pasted(name, settings.confluence_tokens if settings else {})
        or (workspace.page_address(name) if settings and settings.notion_token else None)
        or issues.list_address(name, hosts)
    )
    if pasted is not None:
        return pasted
    if follow and name.startswith(("http://", "https://")):
        return pages.parse(name).address
    return pages.sitemap_address(name) or git_addresses.local_address(name)


def source_labels(
    store: SourceStore, *, collection: str | None = None, kinds: port.AddressKinds = SOURCE_KINDS
) -> list[tuple[str, str, str]]:
    """(collection, address, label) of each source, as :func:`resolve_name` compares them."""
    return [
        (each.collection, each.address, label_of(each.address, kinds))
        for each in store.all()
        if collection in (None, each.collection)
    ]


def label_of(address: str, kinds: port.AddressKinds = SOURCE_KINDS) -> str:
    """The name of a source for people: its own address where its kind is not known here."""
    kind = port.kind_of(address, kinds)
    return kind.label(address) if kind else address


def only_version(store: SourceStore, name: str, kinds: port.AddressKinds = SOURCE_KINDS) -> str | None:
    """The one source with this address, whatever its version, as a branch. None if there are several."""
    kind = port.kind_of(name, kinds)
    if kind is None:
        return None
    wanted = kind.without_version(name)
    found = {each.address for each in store.all() if kind.without_version(each.address) == wanted == name}
    return found.pop() if len(found) == 1 else None


def sources_at(store: SourceStore, name: str, kinds: port.AddressKinds = SOURCE_KINDS) -> list[str]:
    """The sources of this address, of whatever folder or version, as people type them; in order."""
    kind = port.kind_of(name, kinds)
    if kind is None:
        return []
    addresses = {each.address for each in store.all()}
    return sorted(
        kind.typed(each) for each in addresses if name in (each.partition("#")[0], kind.without_version(each))
    )


def as_typed(address: str, kinds: port.AddressKinds = SOURCE_KINDS) -> str:
    """The address of a source as a person types it."""
    kind = port.kind_of(address, kinds)
    return kind.typed(address) if kind else address


def name_as_kept(name: str, kinds: port.AddressKinds = SOURCE_KINDS) -> str:
    """The address of a source as it is kept, also of a local repository. Other names stay as they are."""
    with suppress(SettingsError):
        return source_address(name, kinds=kinds) or name
    return name


TITLES = 10  # that are shown of what would be read
BATCHES = 5  # that are listed at most until there are so many


@value
class Glimpse:
    """The items that a source would have read."""

    titles: Sequence[str]  #: of the first items, as people name them
    count: int  #: items that were listed, or as many as the source says it has
    is_estimate: bool  #: whether there are about so many; else it has exactly these
    note: str = ""  #: what the source says of itself


async def probe(address: str, settings: Settings, *, kinds: port.SourceKinds = SOURCE_KINDS) -> Glimpse:
    """The beginning of what a source lists, by a kept address. Raises what is in the way, as a sync does."""
    async with _open(address, settings, kinds) as source:
        return await _glimpse(source)


@asynccontextmanager
async def _open(
    address: str, settings: Settings, kinds: port.SourceKinds
) -> AsyncIterator[port.KnowledgeSource]:
    kind = port.require_kind(address, kinds)
    with TemporaryDirectory(prefix="footnote-", ignore_cleanup_errors=True) as folder:
        context = port.SourceContext(settings=settings, folder=Path(folder, "source"))
        async with kind.open(await kind.resolve(address, context), context) as source:
            yield source


async def _glimpse(source: port.KnowledgeSource) -> Glimpse:
    seen, is_whole = list[port.SourceBatch](), True
    try:
        async with aclosing(source.changes(None)) as batches:
            async for batch in batches:
                seen.append(batch)
                if sum(len(each.items) for each in seen) >= TITLES or len(seen) >= BATCHES:
                    is_whole = False
                    break
    except port.CursorExpired as expired:
        raise port.SourceUnavailable("The source cannot list what it has.") from expired
    items = [item for batch in seen for item in batch.items]
    estimate = max((batch.total for batch in seen if batch.total is not None), default=0)
    return Glimpse(
        titles=[item.title or item.source for item in items[:TITLES]],
        count=len(items) if is_whole else max(estimate, len(items)),
        is_estimate=not is_whole,
        note=seen[-1].note if seen else "",
    )


async def check(address: str, settings: Settings, *, kinds: port.SourceKinds = SOURCE_KINDS) -> None:
    """Raises as :func:`probe` does, with as few requests as the kind needs to know."""
    kind, context = port.require_kind(address, kinds), port.SourceContext(settings=settings, folder=Path())
    if kind.check is not None:
        await kind.check(await kind.resolve(address, context), context)
        return
    async with _open(address, settings, kinds) as source:
        await (source.check() if isinstance(source, port.CheckedSource) else _glimpse(source))
