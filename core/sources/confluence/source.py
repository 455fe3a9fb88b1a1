"""Confluence as a source: the pages, blog posts and attachments of one space, of all, or below one page.

Each sync lists everything, without bodies, and reads what is new or has a new version. A listing is what shows that a
page was deleted, moved or restricted: neither gives it a new version. What was listed is compared with what is fetched
before anything is read: an item that an earlier sync left due, and that has other readers now, is listed again first.
"""

import asyncio
import json
import secrets
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import markdown
from core.library.formats.read import SUFFIXES
from core.library.sync import printable
from core.sources import source
from core.sources.confluence import client as confluence
from core.sources.confluence import cloud
from core.sources.confluence.convert import markdown_of, mentions_in
from core.sources.confluence.data_center import ConfluenceApi, DataCenterApi
from core.sources.confluence.markdown import AnchorStyle, anchors_of, style_of
from core.sources.confluence.readers import PEOPLE, PageAccess, PageReaders, load_emails
from core.sources.http import Json, open_http

DEFAULT_GROUP = "confluence-users"  # into which every new user comes
SUFFIX = ".confluence"  # of the names of pages, which no file has
FOLDERS: Mapping[cloud.ContentKind, str] = {"page": "pages", "blogpost": "blog"}
CONTENT_KINDS: Mapping[str, cloud.ContentKind] = {folder: kind for kind, folder in FOLDERS.items()}
MENTIONS = 100  # people of one page whose names are asked for


@dataclass(slots=True, kw_only=True)
class ConfluenceSource:
    """A Confluence, or a part of it."""

    address: confluence.ConfluenceAddress
    api: ConfluenceApi
    readers: PageReaders
    _token: str = field(default_factory=lambda: secrets.token_hex(8))  #: begins the cursors of this object
    _done: set[str] = field(default_factory=set)  #: keys of spaces that were listed
    #: items by id, by space
    _listed: dict[str, Mapping[str, source.SourceItem]] = field(default_factory=dict)
    _spaces: Sequence[cloud.ConfluenceSpace] = ()
    _top: str = ""  #: the id of the page at the top
    _listing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _names: dict[str, str] = field(default_factory=dict)  #: of people, by account id or user key

    async def changes(self, cursor: str | None) -> AsyncGenerator[source.SourceBatch, None]:
        """A cursor says only that this listing is under way: where it was cut off, another begins."""
        if cursor is not None and not cursor.startswith(f"{self._token}/"):
            raise source.CursorExpired("the listing was cut off")
        if cursor is None:
            self._done.clear()
        for space in await self._all_spaces():
            if space.key in self._done:
                continue
            items = list((await self._items(space)).values())
            yield source.SourceBatch(
                items=items, cursor=f"{self._token}/{space.key}", note=self.readers.note()
            )
            self._done.add(space.key)
        yield source.SourceBatch(note=self.readers.note())

    async def _all_spaces(self) -> Sequence[cloud.ConfluenceSpace]:
        """The spaces that are read. SourceUnavailable where there are none: that does not mean that all is gone."""
        if self._spaces:
            return self._spaces
        address, host = self.address, self.address.host
        key = address.key
        if address.is_page:
            try:
                key, self._top = await self.api.find(page=address.page, key=key, title=address.title)
            except confluence.RecordRefused:
                reason = f"There is no such page on {host}, or this account may not read it."
                raise source.SourceUnavailable(reason) from None
        self._spaces = await self.api.spaces(key)
        if not self._spaces:
            what = f"space {key}" if key else "space"
            raise source.SourceUnavailable(f"There is no {what} on {host} that this account may read.")
        return self._spaces

    async def _items(self, space: cloud.ConfluenceSpace) -> Mapping[str, source.SourceItem]:
        async with self._listing:
            if space.key not in self._listed:
                contents = await self.api.contents(space)
                attachments = await self.api.attachments(space)
                pages = await self.readers.of_all(space, contents)
                if self._top and self._top not in pages:
                    raise source.SourceUnavailable("The page at the top is not there any more.")
                found = self._items_of(space, contents, attachments, pages)
                self._listed[space.key] = {item.id: item for item in found}
                self.api.client.forget_lists()
            return self._listed[space.key]

    def _items_of(
        self,
        space: cloud.ConfluenceSpace,
        contents: Sequence[cloud.ConfluenceContent],
        attachments: Sequence[cloud.ConfluenceAttachment],
        pages: Mapping[str, PageAccess],
    ) -> Iterator[source.SourceItem]:
        """Pages in the order of the listing, each with its attachments."""
        titles = {each.id: each.title for each in contents}
        files: dict[str, list[cloud.ConfluenceAttachment]] = {}
        for each in attachments:
            files.setdefault(each.container, []).append(each)
        for content in contents:
            page = pages[content.id]
            if self._top and self._top not in (content.id, *page.above):
                continue
            above = page.above  # as far as it is part of what is read
            if self._top:
                above = above[: above.index(self._top) + 1] if self._top in above else ()
            named = [titles[each] for each in reversed(above) if each in titles]
            item = self._page_item(space, content, page, named)
            yield item
            for file in files.get(content.id, ()):
                if PurePosixPath(file.title).suffix.lower() in SUFFIXES:
                    yield source.SourceItem(
                        id=f"{item.id}/{file.id}", version=str(file.version), name=file.title,
                        source=printable(f"{item.source}/{file.title}"), url=self._url(file.link) or item.url,
                        changed_at=file.changed_at, readers=item.readers,
                    )  # fmt: skip

    def _page_item(
        self,
        space: cloud.ConfluenceSpace,
        content: cloud.ConfluenceContent,
        page: PageAccess,
        above: Sequence[str],
    ) -> source.SourceItem:
        if self.address.is_page:  # it lies below the page at the top
            folder, label = "", confluence.label_of(self.address.address)
        else:
            folder = f"{'' if self.address.key else f'spaces/{space.key}/'}{FOLDERS[content.kind]}/"
            label = f"{self.address.base.removeprefix('https://')}/spaces/{space.key}"
            above = ("blog", content.created) if content.kind == "blogpost" else above
        return source.SourceItem(
            id=f"{folder}{content.id}", version=str(content.version), name=f"{content.id}{SUFFIX}",
            source=printable("/".join((label, *above, content.title))), title=printable(content.title),
            url=self._url(content.link), changed_at=content.changed_at, readers=page.readers,
        )  # fmt: skip

    def _url(self, link: str) -> str | None:
        return f"{self.address.base}{link}" if link.startswith("/") else None

    async def fetch(self, item: source.SourceItem) -> bytes:
        parts = item.id.split("/")
        key = parts[1] if parts[0] == "spaces" else ""
        space = next((each for each in await self._all_spaces() if key in ("", each.key)), None)
        if space is None:
            raise source.ItemGone(f"The space {key} is gone.")
        now = (await self._items(space)).get(item.id)
        if now is None or now.readers != item.readers:
            raise source.ItemGone("It is not there any more, or for others; what is there is listed.")
        if item.name.endswith(SUFFIX):
            kind = CONTENT_KINDS.get(parts[-2] if len(parts) > 1 else "", "page")
            return await self._page(space, parts[-1], kind)
        return await self.api.client.read(self.api.file_of(parts[-2], parts[-1], item.name))

    async def _page(self, space: cloud.ConfluenceSpace, content: str, kind: cloud.ContentKind) -> bytes:
        try:
            storage = await self.api.body_of(content, kind, space)
        except confluence.RecordRefused:
            raise source.ItemGone("It is gone, in the trash, in the archive, or in another space.") from None
        mentioned = mentions_in(storage)[:MENTIONS]
        for each in mentioned:
            if each not in self._names:
                self._names[each] = await self.api.answer_or_blank(self.api.name_of(each))
        page = {
            "storage": storage,
            "names": {each: name for each in mentioned if (name := self._names[each])},
            "anchors": style_of(storage, is_cloud=isinstance(self.api, cloud.CloudApi)),
        }
        return json.dumps(page, ensure_ascii=False).encode()


def parse_item(item: source.SourceItem, data: bytes) -> Document:
    """A page as Markdown, with the anchors of its sections; an attachment as a file. DocumentError."""
    if not item.name.endswith(SUFFIX):
        return source.parse_as_file(item, data)
    page = json.loads(data)
    text = markdown_of(page["storage"], page["names"])
    if not text:
        raise DocumentError("is empty")
    style: AnchorStyle = page["anchors"]
    document = markdown.parse(text)
    return replace(document, title=item.title, anchors=anchors_of(document, item.title, style))


@asynccontextmanager
async def open_confluence(
    text: str, context: source.SourceContext, *, now: Callable[[], float] = time.time
) -> AsyncIterator[ConfluenceSource]:
    """Raises SourceUnavailable for a host that may not be read, and without a token that it takes; SourceThrottled."""
    address, settings = confluence.parse(text), context.settings
    host, token, private = address.host, settings.confluence_tokens.get(address.host), settings.private_hosts
    if not token:
        raise source.SourceUnavailable(
            f"There is no token for {host}: set CONFLUENCE_TOKENS={host}=E-MAIL:TOKEN for the cloud,"
            f" CONFLUENCE_TOKENS={host}=TOKEN for a Data Center."
        )
    login = f"Basic {b64encode(token.encode()).decode()}" if ":" in token else f"Bearer {token}"
    headers = {"Authorization": login, "Accept": "application/json"}
    opened = open_http(
        address.base, private=private, connections=confluence.CONNECTIONS, name=host, headers=headers
    )
    async with opened as http:
        client = confluence.ConfluenceClient(address=address, http=http, private=private)
        # Where the token is not taken, some answer as to anybody, with less than there is.
        user: Json = {"type": "anonymous"}
        with suppress(confluence.RecordRefused):
            user = await client.get(f"{cloud.V1}/user/current")
        if user.get("type") == "anonymous":
            raise source.SourceUnavailable(confluence.not_taken(host))
        kind = cloud.CloudApi if await _is_cloud(client) else DataCenterApi
        api: ConfluenceApi = kind(client)
        with source.open_memory(source.Memory, context.folder) as memory:
            readers = PageReaders(
                api=api,
                open_spaces=frozenset(map(str.upper, settings.confluence_open_spaces)),
                everyone=groups_of_everybody(settings.confluence_everyone, host),
                emails=await asyncio.to_thread(load_emails, memory, now()),
            )
            try:
                yield ConfluenceSource(address=address, api=api, readers=readers)
            finally:
                asked = {user: (email, now()) for user, email in readers.asked.items()}
                await asyncio.to_thread(memory.keep, PEOPLE, asked)


def groups_of_everybody(names: Sequence[str], host: str) -> frozenset[str]:
    """The groups that the operator names; by default that of a cloud's site, as Atlassian names it."""
    site = host.partition(".")[0] if host.endswith(confluence.CLOUD_HOSTS) else ""
    also = {f"{DEFAULT_GROUP}-{site}"} if site and DEFAULT_GROUP in names else set()
    return frozenset(names) | also


async def _is_cloud(client: confluence.ConfluenceClient) -> bool:
    """True for the cloud, by the name of the host. A host with a name of its own is asked for what only the
    cloud has."""
    address = client.address
    is_named = address.host.endswith(confluence.CLOUD_HOSTS)
    if is_named or address.context != confluence.CLOUD_CONTEXT:
        return is_named
    try:
        await client.get(f"{cloud.V2}/spaces", limit=1)
    except confluence.RecordRefused:
        return False
    return True
