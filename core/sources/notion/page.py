"""A page of Notion as it is listed, its files, its text, and the memory of pages.

The memory holds the pages of the last sync, their titles, what lies within them, and their files. Of the files in its
blocks and in properties of a row, those that Notion keeps itself are read. It tells an address of each that is signed
for an hour, and lets in whoever has it. So it is asked for right before the file is fetched, goes to no host but
those that Notion serves files from, and is written nowhere. https://developers.notion.com/reference/file-object

Notion's search does not promise to list everything, and tells of no deletion. So pages that were listed before and are
not now are asked for one by one, and pages that others name are looked for. The memory may vanish: then what the search
leaves out is not missed until it lists it again, and each page is read again, by which its files are found.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote, urlsplit

from core.conversation import value
from core.library.formats.read import SUFFIXES
from core.library.sync import printable
from core.sources.documents import AnchoredPart, AnchoredText, join_parts
from core.sources.http import Json
from core.sources.notion.client import LABEL, bare_id
from core.sources.notion.convert import FILE_BLOCKS, Cell, PageBlock, cells_of, parts_of, table, title_of
from core.sources.source import Memory, SourceItem, parse_moment

#: Where Notion keeps files: its buckets in Amazon S3, of each region, and its own hosts.
_HOSTS = re.compile(
    r"prod-files-secure[a-z0-9-]*\.s3[.-][a-z0-9-]+\.amazonaws\.com|prod-files-secure\.s3\.amazonaws\.com"
    r"|(?:[a-z0-9-]+\.)*(?:notion\.so|notion\.com|notionusercontent\.com|notion-static\.com)"
)
_SHARED_HOST = re.compile(r"s3[.-]us-west-2\.amazonaws\.com")
_OLD_BUCKET = "/secure.notion-static.com/"  # on the host that all buckets of a region share
KEY_LENGTH = 16  # hexadecimal digits

Serves = Callable[[str], bool]


@value
class NotionFile:
    """A file that can be read."""

    key: str  #: the same as long as the file is not replaced
    name: str
    block: str = ""  #: ID; empty: it is in a property of the page


def is_of_notion(url: str) -> bool:
    """True for an address at which Notion serves files."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    if parts.scheme != "https" or port not in (None, 443) or parts.username is not None:
        return False
    is_old = bool(_SHARED_HOST.fullmatch(host)) and parts.path.startswith(_OLD_BUCKET)
    return is_old or _HOSTS.fullmatch(host) is not None


def file_of_block(data: Json, serves: Serves = is_of_notion) -> NotionFile | None:
    """The file of a block; None of one without, or whose file is not read."""
    kind = str(data.get("type") or "")
    held = data.get(kind)
    if kind not in FILE_BLOCKS or not isinstance(held, dict):
        return None
    found = _file(held, serves)
    return None if found is None else replace(found[0], block=bare_id(str(data["id"])))


def url_of(data: Json, key: str, serves: Serves = is_of_notion) -> str | None:
    """The address of the file with this key, in a page or a block as Notion sends it."""
    kind = str(data.get("type") or "")
    held = _held_in(data.get("properties") or {}) if data.get("object") == "page" else [data.get(kind)]
    for each in held:
        if isinstance(each, dict) and (found := _file(each, serves)) is not None and found[0].key == key:
            return found[1]
    return None


def _held_in(properties: Json) -> Iterator[Json]:
    for each in properties.values():
        if each.get("type") == "files":
            yield from each.get("files") or ()


def _file(held: Json, serves: Serves) -> tuple[NotionFile, str] | None:
    """A file whose id is its address' path, before the signature; None for what is not read."""
    url = str((held.get("file") or {}).get("url") or "") if held.get("type") == "file" else ""
    if not url or not serves(url):
        return None
    path = urlsplit(url).path
    names = (str(held.get("name") or ""), unquote(path.rpartition("/")[2]))
    name = next((each for each in names if PurePosixPath(each).suffix.lower() in SUFFIXES), None)
    key = hashlib.sha256(path.encode()).hexdigest()[:KEY_LENGTH]
    return None if name is None else (NotionFile(key=key, name=name), url)


def file_items(page: SourceItem, files: Iterable[NotionFile]) -> Iterator[SourceItem]:
    """The items of a page's files, each once."""
    for key, file in {each.key: each for each in files}.items():
        yield SourceItem(
            id=f"{page.id}/{key}", version=key, name=file.name, source=printable(f"{page.source}/{file.name}"),
            url=f"{page.url}#{file.block}" if page.url and file.block else page.url,
        )  # fmt: skip


PAGE_NAME = "page.md"
UNTITLED = "–"
SHORT_ID = 6  # digits of an ID that tell pages of one title apart
#: Seconds after which a page cannot have been changed without a new time: Notion rounds it to the nearest minute
#: (changelog, "Last edited time is now rounded to the nearest minute").
SETTLED = 120.0


@value
class NotionPage:
    """A page, without what is written on it."""

    id: str
    title: str
    title_name: str  #: how the property is called that is the title
    url: str
    edited: str  #: ISO 8601, to the minute
    parent: str = ""  #: ID of the page, data source, database or block that it lies in; empty: the workspace
    parent_kind: str = ""  #: Notion's name of what that is: page_id, data_source_id, database_id or block_id
    cells: tuple[Cell, ...] = ()  #: of a row
    files: tuple[NotionFile, ...] = ()  #: in properties of a row

    @property
    def related(self) -> tuple[str, ...]:
        return tuple(page for each in self.cells for page in each.related)


def parse_page(data: Json, serves: Serves = is_of_notion) -> NotionPage | None:
    """The page that Notion sent; None for one in the trash, or if only the ID was sent."""
    if data.get("object") != "page" or is_trashed(data) or "last_edited_time" not in data:
        return None
    properties = data.get("properties") or {}
    parent, kind = parent_of(data)
    name, title = title_of(properties)
    found = (_file(held, serves) for held in _held_in(properties))
    return NotionPage(
        id=bare_id(str(data["id"])), title=title, title_name=name, url=str(data.get("url") or ""),
        edited=str(data["last_edited_time"]), parent=parent, parent_kind=kind,
        cells=cells_of(properties), files=tuple(each[0] for each in found if each is not None),
    )  # fmt: skip


def is_trashed(data: Json) -> bool:
    """``archived`` is what ``in_trash`` was called before."""
    return bool(data.get("in_trash") or data.get("archived"))


def parent_of(data: Json) -> tuple[str, str]:
    """The ID and the type of the parent; the ID is empty for the workspace."""
    parent = data.get("parent") or {}
    kind = str(parent.get("type") or "")
    held = parent.get(kind)
    return (bare_id(held), kind) if isinstance(held, str) else ("", kind)


def item_of(page: NotionPage, titles: Mapping[str, str], now: float, memory: str = "") -> SourceItem:
    """The item of a page. One that was changed a moment ago may change again without a new time, so it is
    read once more at the next sync. ``titles``: of related pages, as far as they are known; ``now``: by
    Notion's clock; ``memory``: the mark of what is remembered, without which each page is read again."""
    changed = parse_moment(page.edited)
    is_settled = changed is None or now - changed >= SETTLED
    properties = repr((page.title_name, rows_of(page, titles)))
    mark = hashlib.sha256(properties.encode(errors="replace")).hexdigest()[:16]
    title = printable(page.title) or UNTITLED
    return SourceItem(
        id=page.id,
        version=f"{page.edited} {mark} {memory}".rstrip() + ("" if is_settled else f" at {now:.0f}"),
        name=PAGE_NAME, source=f"{LABEL}/{title} ({page.id[-SHORT_ID:]})", title=title, url=page.url or None,
        changed_at=changed,
    )  # fmt: skip


def rows_of(page: NotionPage, titles: Mapping[str, str]) -> list[tuple[str, str]]:
    """The properties as names and values; of related pages, the titles that are known."""
    named = ((each, filter(None, (titles.get(other, "") for other in each.related))) for each in page.cells)
    rows = ((each.name, each.text or ", ".join(others)) for each, others in named)
    return [(name, text) for name, text in rows if text]


def text_of_page(page: NotionPage, blocks: Sequence[PageBlock], titles: Mapping[str, str]) -> AnchoredText:
    """Its title, its properties, and its blocks."""
    head = AnchoredPart(text=f"# {' '.join(page.title.split()) or UNTITLED}")
    properties = AnchoredPart(text=table((page.title_name, page.title), rows_of(page, titles)))
    return join_parts((head, properties, *parts_of(blocks)))


ChildKind = Literal["page", "database"]


@value
class RowList:
    """The times at which rows of a data source were listed, in seconds since the epoch, by Notion's clock."""

    full_at: float  #: all of them
    read_at: float  #: all, or those that were added since


#: Kinds of what is remembered: pages, by ID their title and whether they belong to the source; what each names as lying
#: in it; files in its blocks and in its properties; times by data source; and one that tells this memory from another.
PAGES, CHILD_PAGES, ROW_LISTS, MARK = "page", "children", "rows", "mark"
BLOCK_FILES, ROW_FILES = "file", "row file"


class NotionMemory(Memory):
    """Pages, what lies within them, and the rows of data sources."""

    __slots__ = ()

    def keep_pages(self, titles: Mapping[str, str], *, are_items: bool) -> None:
        """Remember pages by their IDs; one that is an item stays one."""
        known = {} if are_items else self.some(PAGES, titles)
        items = {page for page, (_, is_item) in known.items() if is_item}
        self.keep(PAGES, {page: (title, are_items or page in items) for page, title in titles.items()})

    def items(self) -> frozenset[str]:
        """The pages that belonged to the source."""
        return frozenset(page for page, (_, is_item) in self.all(PAGES).items() if is_item)

    def titles(self, pages: Iterable[str]) -> dict[str, str]:
        """The titles of those of these pages that are remembered."""
        return {page: title for page, (title, _) in self.some(PAGES, pages).items()}

    def keep_files(self, kind: str, files: Mapping[str, Iterable[NotionFile]]) -> None:
        """Remember which files lie in the blocks, or in the properties, of pages."""
        self.keep(kind, {page: [asdict(each) for each in held] for page, held in files.items()})

    def files(self, pages: Iterable[str]) -> dict[str, list[NotionFile]]:
        """The files of these pages."""
        found, wanted = dict[str, list[NotionFile]](), [*pages]
        for kind in (ROW_FILES, BLOCK_FILES):
            for page, held in self.some(kind, wanted).items():
                found.setdefault(page, []).extend(NotionFile(**each) for each in held)
        return found

    def mark(self) -> str:
        """The same as long as this memory is there."""
        if not self.all(MARK):
            self.keep(MARK, {secrets.token_hex(4): None})
        return next(iter(self.all(MARK)))

    def children(self, kind: ChildKind) -> frozenset[str]:
        """The pages or databases within any page."""
        held = self.all(CHILD_PAGES).values()
        return frozenset(child for each in held for child, found in each.items() if found == kind)

    def forget(self, pages: Iterable[str]) -> None:
        """Pages that are gone."""
        gone = [*pages]
        with self.database.transaction():
            for kind in (PAGES, CHILD_PAGES, BLOCK_FILES, ROW_FILES):
                self.drop(kind, gone)
