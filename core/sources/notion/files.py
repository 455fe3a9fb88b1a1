"""The files of a page that Notion keeps itself: in its blocks, and in properties of a row.

Notion tells an address of each that is signed for an hour, and lets in whoever has it. So it is asked for right before
the file is fetched, goes to no host but those that Notion serves files from, and is written nowhere. What lies
elsewhere on the web is not read.
https://developers.notion.com/reference/file-object
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from core.conversation import value
from core.errors import SearchTrouble
from core.library.formats.read import SUFFIXES
from core.library.sync import printable
from core.sources.hosts import addresses_of
from core.sources.notion.address import bare_id
from core.sources.notion.blocks import FILES
from core.sources.notion.client import RATE_PAUSE
from core.sources.source import ItemUnreadable, SourceItem, SourceThrottled, SourceUnavailable
from core.web.request import OK, SERVER_FAULT, TOO_MANY_REQUESTS, seconds_asked

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
    """Whether an address is one at which Notion serves files."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    if parts.scheme != "https" or port not in (None, 443) or parts.username is not None:
        return False
    is_old = bool(_SHARED_HOST.fullmatch(host)) and parts.path.startswith(_OLD_BUCKET)
    return is_old or _HOSTS.fullmatch(host) is not None


def file_of_block(data: Mapping[str, Any], serves: Serves = is_of_notion) -> NotionFile | None:
    """The file of a block; None of one without, or whose file is not read."""
    kind = str(data.get("type") or "")
    held = data.get(kind)
    if kind not in FILES or not isinstance(held, dict):
        return None
    found = _file(held, serves)
    return None if found is None else NotionFile(key=found[0], name=found[1], block=bare_id(str(data["id"])))


def files_of_properties(
    properties: Mapping[str, Any], serves: Serves = is_of_notion
) -> tuple[NotionFile, ...]:
    found = (_file(held, serves) for held in _held_in(properties))
    return tuple(NotionFile(key=each[0], name=each[1]) for each in found if each is not None)


def url_of(data: Mapping[str, Any], key: str, serves: Serves = is_of_notion) -> str | None:
    """Where the file with this key is now, of a page or a block as Notion sends it."""
    kind = str(data.get("type") or "")
    held = _held_in(data.get("properties") or {}) if data.get("object") == "page" else [data.get(kind)]
    for each in held:
        if isinstance(each, dict) and (found := _file(each, serves)) is not None and found[0] == key:
            return found[2]
    return None


def _held_in(properties: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for each in properties.values():
        if each.get("type") == "files":
            yield from each.get("files") or ()


def _file(held: Mapping[str, Any], serves: Serves) -> tuple[str, str, str] | None:
    """The key, the name and the address of a file; None if it lies elsewhere or is of a kind that is not read.

    The path of its address says which file it is: what follows is the signature.
    """
    url = str((held.get("file") or {}).get("url") or "") if held.get("type") == "file" else ""
    if not url or not serves(url):
        return None
    path = urlsplit(url).path
    names = (str(held.get("name") or ""), unquote(path.rpartition("/")[2]))
    name = next((each for each in names if PurePosixPath(each).suffix.lower() in SUFFIXES), None)
    return None if name is None else (hashlib.sha256(path.encode()).hexdigest()[:KEY_LENGTH], name, url)


def file_items(page: SourceItem, files: Iterable[NotionFile]) -> Iterator[SourceItem]:
    """The items of a page's files, each once."""
    for key, file in {each.key: each for each in files}.items():
        yield SourceItem(
            id=f"{page.id}/{key}",
            version=key,
            name=file.name,
            source=printable(f"{page.source}/{file.name}"),
            url=f"{page.url}#{file.block}" if page.url and file.block else page.url,
        )


async def read_file(url: str, private: Sequence[str]) -> bytes:
    """The bytes at an address that is signed. ItemUnreadable, SourceThrottled, SourceUnavailable.

    The request goes to the transport itself: a client of httpx would write the address into its log.
    """
    import httpx

    from core.sources.pinned import REQUEST_TIME, PinnedTransport
    from core.web.fetch import default_tls

    parts = urlsplit(url)
    host = parts.hostname or ""
    addresses = await addresses_of(host, parts.port or (443 if parts.scheme == "https" else 80), private)
    tls = await asyncio.to_thread(default_tls)
    transport = PinnedTransport(f"{parts.scheme}://{parts.netloc}", addresses, connections=1, tls=tls)
    request = httpx.Request("GET", url, extensions={"timeout": httpx.Timeout(REQUEST_TIME).as_dict()})
    try:
        async with transport:
            response = await transport.handle_async_request(request)
    except httpx.HTTPError as trouble:
        if isinstance(trouble.__cause__, SearchTrouble):
            raise ItemUnreadable("is larger than 32 MB, or does not come whole") from None
        raise SourceUnavailable(f"{host} could not be reached, or broke the connection off.") from None
    return _body(response.status_code, response.headers, response.content)


def _body(status: int, headers: Mapping[str, str], content: bytes) -> bytes:
    if status == TOO_MANY_REQUESTS or status >= SERVER_FAULT:
        asked = seconds_asked(headers.get("retry-after"))
        raise SourceThrottled(
            f"The files of Notion are out of order (HTTP {status}).",
            retry_after=RATE_PAUSE if asked is None else asked,
        )
    if status != OK:
        raise ItemUnreadable(f"is not given out by Notion (HTTP {status})")
    return content
