"""The issues or the pull requests of a repository on GitHub as a source.

A sync asks for what changed since the last one: issues, and comments of any, by their times. Once a day everything is
listed, as GitHub tells of no deletion and no transfer; a page of the list that is the same costs an answer without a
body. The list is read until it is twice the same, since what is deleted meanwhile moves the rest.

GitHub tells nobody who may read a repository: the collection decides.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from core.conversation import value
from core.sources.documents import to_bytes
from core.sources.github.client import LISTS, GitHubRepository, open_repository
from core.sources.github.convert import IssueRecord, IssuesAddress, label_of, parse, record_of, text_of_issue
from core.sources.source import (
    CursorExpired,
    ItemGone,
    Memory,
    SourceBatch,
    SourceContext,
    SourceItem,
    moment_of,
    open_memory,
)

PER_PAGE = 100  # of a list, GitHub "Using pagination"
LIST_EVERY = 86_400.0  # seconds between two lists of everything
READINGS = 5  # of everything in one sync, until two are the same
SAID_UNTIL = "said until"  # in the memory: the time until which changed comments were read
EVERYTHING = {"state": "all", "sort": "created", "direction": "asc", "per_page": PER_PAGE}
OVERLAP = 120.0  # seconds that are asked for twice: what happens at one time need not be listed at once


@value
class Since:
    """Until when what changed was read. Times are in ISO 8601, UTC, as GitHub writes them."""

    issues: str
    comments: str  #: also of reviews
    listed: float  #: seconds since the epoch, when everything was listed last
    said: tuple[tuple[int, str], ...] = ()  #: comments that were read and are asked for again: issue, time

    def to_cursor(self) -> str:
        return json.dumps(asdict(self))


@dataclass(slots=True, kw_only=True)
class Listed:
    """The content of a list of everything, pull requests included."""

    numbers: set[int] = field(default_factory=set)
    pages: int = 0
    began: float = 0.0  #: seconds since the epoch, by GitHub's clock
    newest: str = ""  #: the time of the latest change

    def add(self, page: Sequence[Mapping[str, Any]], now: float) -> list[IssueRecord]:
        records = [record_of(each) for each in page]
        self.numbers |= {each.number for each in records}
        self.pages += 1
        self.began = self.began or now
        self.newest = max((self.newest, *(each.updated for each in records)))
        return records


@dataclass(slots=True, kw_only=True)
class IssueSource:
    """The issues or the pull requests of a repository."""

    address: IssuesAddress
    repository: GitHubRepository
    memory: Memory
    now: Callable[[], float] = time.time
    list_every: float = LIST_EVERY  #: seconds
    #: of the items of this batch, as they came
    _issues: dict[int, Mapping[str, Any]] = field(default_factory=dict)

    def changes(self, cursor: str | None) -> AsyncGenerator[SourceBatch, None]:
        since = _since(cursor)
        if since is None:
            return self._list_all()
        if not 0 <= self.now() - since.listed < self.list_every:
            raise CursorExpired("everything is listed once a day")
        return self._list_changes(since)

    # Everything

    async def _list_all(self) -> AsyncGenerator[SourceBatch, None]:
        listed_at, before = self.now(), Listed()
        told = dict[int, IssueRecord]()
        for _ in range(READINGS):
            found = Listed(began=before.began, newest=before.newest)
            async with aclosing(self.repository.pages(f"issues?{urlencode(EVERYTHING)}")) as pages:
                async for page in pages:
                    records = found.add(page, self.repository.now)
                    fresh = [each for each in filter(self._is_mine, records) if told.get(each.number) != each]
                    if fresh:
                        yield self._batch(fresh, page, f"listing {len(told)} {fresh[-1].number}")
                        told |= {each.number: each for each in fresh}
            is_stable, before = found.pages <= 1 or found.numbers == before.numbers, found
            if is_stable:
                break
        if gone := told.keys() - before.numbers:
            yield SourceBatch(gone=[str(number) for number in sorted(gone)], cursor="listing")
        start = _iso((before.began or self.repository.now) - OVERLAP)
        comments = (await asyncio.to_thread(self.memory.all, SAID_UNTIL)).get("", start)
        since = Since(issues=_earlier(before.newest) or start, comments=comments, listed=listed_at)
        seen = {number: each.updated for number, each in told.items()}
        async with aclosing(self._list_said(since, seen, since.issues, "listing")) as batches:
            async for batch in batches:
                yield batch
        await self._forget_lists("")

    def _is_mine(self, record: IssueRecord) -> bool:
        return record.is_pull == (self.address.kind == "pulls")

    def _batch(
        self, records: Iterable[IssueRecord], sent: Iterable[Mapping[str, Any]], cursor: str | None
    ) -> SourceBatch:
        # One without its user was not sent again.
        self._issues = {int(each["number"]): each for each in sent if "user" in each}
        return SourceBatch(items=[self._item(each) for each in records], cursor=cursor)

    def _item(self, record: IssueRecord, mark: str = "") -> SourceItem:
        return SourceItem(
            id=str(record.number),
            version=f"{record.version} {mark}".strip(),
            name="issue.md",
            source=f"{label_of(self.address.address)}/{record.number}",
            title=" ".join(record.title.split()) or f"{self.address.repository}#{record.number}",
            url=self.address.page_of(record.number),
            changed_at=moment_of(record.updated),
        )

    # What changed

    async def _list_changes(self, since: Since) -> AsyncGenerator[SourceBatch, None]:
        seen, newest = dict[int, str](), since.issues
        async with aclosing(self._feed("issues", since.issues)) as feed:
            async for page in feed:
                records = [record_of(each) for each in page]
                seen |= {each.number: each.updated for each in records}
                newest = max((newest, *(each.updated for each in records)))
                yield self._batch(filter(self._is_mine, records), page, since.to_cursor())
        issues = max(since.issues, _earlier(newest))
        async with aclosing(self._list_said(since, seen, issues, since.to_cursor())) as batches:
            async for batch in batches:
                yield batch
        await self._forget_lists("since=")

    async def _list_said(
        self, since: Since, seen: Mapping[int, str], issues: str, cursor: str
    ) -> AsyncGenerator[SourceBatch, None]:
        """Issues of which a comment changed without them, and the cursor of the next sync.

        ``seen``: when the issues changed that were told already; ``issues``: until when that was read.
        """
        said, latest = await self._comments(since.comments)
        for number, moment in sorted(said.items()):
            if moment > seen.get(number, "") and (number, moment) not in since.said:
                yield await self._look(number, moment, cursor)
        begin = max(since.comments, _earlier(latest))
        again = tuple(each for each in sorted(said.items()) if each[1] >= begin)
        after = Since(issues=issues, comments=begin, listed=since.listed, said=again)
        yield SourceBatch(cursor=after.to_cursor())
        await asyncio.to_thread(self.memory.keep, SAID_UNTIL, {"": begin})

    async def _feed(self, path: str, since: str) -> AsyncGenerator[list[Mapping[str, Any]], None]:
        """Changes since then, in order. Each page begins where the one before ended: numbers of pages would shift."""
        query = {"state": "all"} if path == "issues" else {}
        while True:
            page = list[Mapping[str, Any]]()
            asked = {**query, "sort": "updated", "direction": "asc", "per_page": PER_PAGE, "since": since}
            async with aclosing(self.repository.pages(f"{path}?{urlencode(asked)}")) as listed:
                async for more in listed:
                    page += more
                    if len(page) >= PER_PAGE and str(page[-1]["updated_at"]) > since:
                        break
            if page:
                yield page
            if len(page) < PER_PAGE or str(page[-1]["updated_at"]) <= since:
                return
            since = str(page[-1]["updated_at"])

    async def _comments(self, since: str) -> tuple[dict[int, str], str]:
        """The last comment's time of each issue, and the last time of all."""
        found, latest = dict[int, str](), since
        for path in ("issues/comments", "pulls/comments")[: 1 if self.address.kind == "issues" else 2]:
            async with aclosing(self._feed(path, since)) as feed:
                async for page in feed:
                    for each in page:
                        url = str(each.get("issue_url") or each.get("pull_request_url") or "")
                        number = url.rpartition("/")[2]
                        # Also where it was said of it as an issue.
                        is_pull = "/pull/" in str(each.get("html_url") or "")
                        if number.isdecimal() and is_pull == (self.address.kind == "pulls"):
                            found[int(number)] = max(found.get(int(number), ""), str(each["updated_at"]))
                    latest = max(latest, *found.values(), since)
        return found, latest

    async def _look(self, number: int, moment: str, cursor: str) -> SourceBatch:
        """An issue with a comment that changed without it."""
        try:
            issue = await self.repository.issue(number)
        except ItemGone:
            return SourceBatch(gone=[str(number)], cursor=cursor)
        record = record_of(issue)
        if not self._is_mine(record):
            return SourceBatch(cursor=cursor)
        self._issues = {number: issue}
        items = [self._item(record, "" if moment <= record.updated else moment)]
        return SourceBatch(items=items, cursor=cursor)

    async def _forget_lists(self, part: str) -> None:
        """Forget lists with this in their URL that were not asked for: changes since a time are so only until the next."""
        await asyncio.to_thread(self.memory.drop, LISTS, self.repository.forget_lists(part))

    # One

    async def fetch(self, item: SourceItem) -> bytes:
        number = int(item.id)
        issue = self._issues.get(number) or await self.repository.issue(number)
        paths = [f"issues/{number}/comments"] if issue.get("comments") else []
        if self.address.kind == "pulls":
            paths += [f"pulls/{number}/reviews", f"pulls/{number}/comments"]
        said = [each for path in paths for each in await self.repository.of_issue(number, path)]
        return to_bytes(text_of_issue(issue, said, f"{self.address.repository}#{number}"))


def _since(cursor: str | None) -> Since | None:
    """The times in a cursor; None while everything is listed."""
    if cursor is None or not cursor.startswith("{"):
        return None
    held = json.loads(cursor)
    return Since(**{**held, "said": tuple((number, moment) for number, moment in held["said"])})


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _earlier(text: str) -> str:
    """A time, some moments before."""
    moment = moment_of(text)
    return "" if moment is None else _iso(moment - OVERLAP)


@asynccontextmanager
async def open_github(
    text: str,
    context: SourceContext,
    *,
    origin: str | None = None,
    now: Callable[[], float] = time.time,
    list_every: float = LIST_EVERY,
) -> AsyncIterator[IssueSource]:
    """Raises SourceUnavailable for a host that may not be read. ``origin``: where the API is, if not where it should."""
    address, settings = parse(text), context.settings
    token, private = settings.git_tokens.get(address.host, ""), settings.private_hosts
    with open_memory(Memory, context.folder) as memory:
        lists = await asyncio.to_thread(memory.all, LISTS)
        opened = open_repository(address, origin or address.api, private=private, token=token, lists=lists)
        async with opened as repository:
            source = IssueSource(
                address=address, repository=repository, memory=memory, now=now, list_every=list_every
            )
            try:
                yield source
            finally:
                used = {url: lists[url] for url in repository.used & lists.keys()}
                await asyncio.to_thread(memory.keep, LISTS, used)
