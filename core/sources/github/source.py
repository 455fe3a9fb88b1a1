"""The issues or pull requests of a GitHub repository as a source, each with its comments as one text.

A sync asks for what changed since the last one: issues, and comments of any, by their times. Once a day everything is
listed, as GitHub tells of no deletion and no transfer; a page of the list that is the same costs an answer without a
body. The list is read until it is twice the same, since what is deleted meanwhile moves the rest.

GitHub tells nobody who may read a repository: the collection decides.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlencode, urlsplit

from core.conversation import value
from core.sources import source
from core.sources.documents import AnchoredPart, AnchoredText, join_parts, to_bytes
from core.sources.github import client
from core.sources.http import Json, open_http

PER_PAGE = 100  # of a list, GitHub "Using pagination"
LIST_EVERY = 86_400.0  # seconds between two lists of everything
READINGS = 5  # of everything in one sync, until two are the same
SAID_UNTIL = "said until"  # in the memory: the time until which changed comments were read
EVERYTHING = {"state": "all", "sort": "created", "direction": "asc", "per_page": PER_PAGE}
OVERLAP = 120.0  # seconds that are asked for twice: what happens at one time need not be listed at once
GHOST = "ghost"  # whom GitHub shows in place of people who deleted their accounts
TITLE_LIMIT = 256  # characters, GitHub "Create an issue"

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
#: HTML that goes on over empty lines until its end comes: CommonMark 0.31, 4.6, kinds 1 and 2.
_LASTING = (("<!--", "-->"), ("<pre", "</pre>"), ("<script", "</script>"), ("<style", "</style>"))


@value
class Since:
    """Times until which changes were read. They are in ISO 8601, UTC, as GitHub writes them."""

    issues: str
    comments: str  #: also of reviews
    listed: float  #: seconds since the epoch, when everything was listed last
    said: tuple[tuple[int, str], ...] = ()  #: comments that were read and are asked for again: issue, time

    def to_cursor(self) -> str:
        return json.dumps(asdict(self))


@dataclass(slots=True, kw_only=True)
class IssueSource:
    """The issues or the pull requests of a repository."""

    address: client.IssuesAddress
    repository: client.GitHubRepository
    memory: source.Memory
    now: Callable[[], float] = time.time
    list_every: float = LIST_EVERY  #: seconds
    #: of the items of this batch, as they came
    _issues: dict[int, Json] = field(default_factory=dict)

    def changes(self, cursor: str | None) -> AsyncGenerator[source.SourceBatch, None]:
        if cursor is None or not cursor.startswith("{"):  # everything is being listed
            return self._list_all()
        held = json.loads(cursor)
        since = Since(**{**held, "said": tuple((number, moment) for number, moment in held["said"])})
        if not 0 <= self.now() - since.listed < self.list_every:
            raise source.CursorExpired("everything is listed once a day")
        return self._list_changes(since)

    async def _list_all(self) -> AsyncGenerator[source.SourceBatch, None]:
        listed_at, listed = self.now(), dict[int, client.IssueRecord]()
        numbers, newest, began = (
            set[int](),
            "",
            0.0,
        )  # pull requests included; when it began, by GitHub's clock
        for _ in range(READINGS):
            before, numbers, count = numbers, set[int](), 0
            async with aclosing(self.repository.pages(f"issues?{urlencode(EVERYTHING)}")) as pages:
                async for page in pages:
                    records = [client.parse_record(each) for each in page]
                    numbers |= {each.number for each in records}
                    newest = max((newest, *(each.updated for each in records)))
                    began, count = began or self.repository.now, count + 1
                    fresh = [
                        each for each in filter(self._is_mine, records) if listed.get(each.number) != each
                    ]
                    if fresh:
                        yield self._batch(fresh, page, f"listing {len(listed)} {fresh[-1].number}")
                        listed |= {each.number: each for each in fresh}
            if count <= 1 or numbers == before:
                break
        if gone := listed.keys() - numbers:
            yield source.SourceBatch(gone=[str(number) for number in sorted(gone)], cursor="listing")
        start = _iso((began or self.repository.now) - OVERLAP)
        comments = (await asyncio.to_thread(self.memory.all, SAID_UNTIL)).get("", start)
        since = Since(issues=_earlier(newest) or start, comments=comments, listed=listed_at)
        seen = {number: each.updated for number, each in listed.items()}
        async with aclosing(self._list_said(since, seen, since.issues, "listing")) as batches:
            async for batch in batches:
                yield batch
        await self.repository.forget_lists("")

    def _is_mine(self, record: client.IssueRecord) -> bool:
        return record.is_pull == (self.address.kind == "pulls")

    def _batch(
        self, records: Iterable[client.IssueRecord], sent: Iterable[Json], cursor: str | None
    ) -> source.SourceBatch:
        # One without its user was not sent again.
        self._issues = {int(each["number"]): each for each in sent if "user" in each}
        return source.SourceBatch(items=[self._item(each) for each in records], cursor=cursor)

    def _item(self, record: client.IssueRecord, mark: str = "") -> source.SourceItem:
        return source.SourceItem(
            id=str(record.number),
            version=f"{record.version} {mark}".strip(),
            name="issue.md",
            source=f"{client.label_of(self.address.address)}/{record.number}",
            title=" ".join(record.title.split()) or f"{self.address.repository}#{record.number}",
            url=self.address.page_of(record.number),
            changed_at=source.parse_moment(record.updated),
        )

    async def _list_changes(self, since: Since) -> AsyncGenerator[source.SourceBatch, None]:
        seen, newest = dict[int, str](), since.issues
        async with aclosing(self._feed("issues", since.issues)) as feed:
            async for page in feed:
                records = [client.parse_record(each) for each in page]
                seen |= {each.number: each.updated for each in records}
                newest = max((newest, *(each.updated for each in records)))
                yield self._batch(filter(self._is_mine, records), page, since.to_cursor())
        issues = max(since.issues, _earlier(newest))
        async with aclosing(self._list_said(since, seen, issues, since.to_cursor())) as batches:
            async for batch in batches:
                yield batch
        await self.repository.forget_lists("since=")

    async def _list_said(
        self, since: Since, seen: Mapping[int, str], issues: str, cursor: str
    ) -> AsyncGenerator[source.SourceBatch, None]:
        """Issues with a changed comment, not ``seen``, and the next cursor; ``issues``: read until then."""
        said, latest = await self._comments(since.comments)
        for number, moment in sorted(said.items()):
            if moment > seen.get(number, "") and (number, moment) not in since.said:
                yield await self._look(number, moment, cursor)
        begin = max(since.comments, _earlier(latest))
        again = tuple(each for each in sorted(said.items()) if each[1] >= begin)
        after = Since(issues=issues, comments=begin, listed=since.listed, said=again)
        yield source.SourceBatch(cursor=after.to_cursor())
        await asyncio.to_thread(self.memory.keep, SAID_UNTIL, {"": begin})

    async def _feed(self, path: str, since: str) -> AsyncGenerator[list[Json], None]:
        """Changes since then, in order. Each page begins where the one before ended: numbers of pages would shift."""
        query = {"state": "all"} if path == "issues" else {}
        while True:
            page = list[Json]()
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

    async def _look(self, number: int, moment: str, cursor: str) -> source.SourceBatch:
        """An issue with a comment that changed without it."""
        try:
            issue = await self.repository.issue(number)
        except source.ItemGone:
            return source.SourceBatch(gone=[str(number)], cursor=cursor)
        record = client.parse_record(issue)
        if not self._is_mine(record):
            return source.SourceBatch(cursor=cursor)
        self._issues = {number: issue}
        items = [self._item(record, "" if moment <= record.updated else moment)]
        return source.SourceBatch(items=items, cursor=cursor)

    async def fetch(self, item: source.SourceItem) -> bytes:
        number = int(item.id)
        issue = self._issues.get(number) or await self.repository.issue(number)
        paths = [f"issues/{number}/comments"] if issue.get("comments") else []
        if self.address.kind == "pulls":
            paths += [f"pulls/{number}/reviews", f"pulls/{number}/comments"]
        said = [each for path in paths for each in await self.repository.of_issue(number, path)]
        return to_bytes(text_of_issue(issue, said, f"{self.address.repository}#{number}"))


def text_of_issue(issue: Json, said: Iterable[Json], name: str) -> AnchoredText:
    """``said``: comments, reviews and their comments; ``name``: of the issue, as people write it."""
    record = client.parse_record(issue)
    title = " ".join(record.title.split())[:TITLE_LIMIT]
    about = " · ".join(filter(None, (name, record.state, ", ".join(record.labels))))
    first = (AnchoredPart(text=f"# {title}"), AnchoredPart(text=about), *_post(issue, ""))
    # a review may say only "approved"
    spoken = (each for each in said if str(each.get("body") or "").strip())
    ordered = sorted(spoken, key=lambda each: (_moment(each), int(each.get("id") or 0)))
    posts = (_post(each, urlsplit(str(each.get("html_url") or "")).fragment) for each in ordered)
    return join_parts((*first, *(part for post in posts for part in post)))


def _post(data: Json, anchor: str) -> Sequence[AnchoredPart]:
    user = (data.get("user") or {}).get("login") or GHOST
    head = AnchoredPart(text=f"## {user} · {_moment(data)[:10]}", anchor=anchor)
    return (head, AnchoredPart(text=close_fences(str(data.get("body") or ""))))


def _moment(data: Json) -> str:
    return str(data.get("created_at") or data.get("submitted_at") or "")


def close_fences(body: str) -> str:
    """The text of one person, closed so that nothing of it goes on in what the next one wrote."""
    text = body.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found is None:
            continue
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    if fence:
        return f"{text}\n{fence}"
    lower = text.lower()
    ends = (end for begin, end in _LASTING if lower.rfind(begin) > lower.rfind(end))
    return "\n".join((text, *ends))


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _earlier(text: str) -> str:
    moment = source.parse_moment(text)
    return "" if moment is None else _iso(moment - OVERLAP)


@asynccontextmanager
async def open_github(
    text: str,
    context: source.SourceContext,
    *,
    origin: str | None = None,
    now: Callable[[], float] = time.time,
    list_every: float = LIST_EVERY,
) -> AsyncIterator[IssueSource]:
    """Raises SourceUnavailable for a host that may not be read. ``origin``: where the API is, if not where it should."""
    address, settings = client.parse(text), context.settings
    token, private = settings.git_tokens.get(address.host, ""), settings.private_hosts
    with source.open_memory(source.Memory, context.folder) as memory:
        api, headers = origin or address.api, {"Accept": "application/vnd.github.v3+json"}
        if token:  # TOKEN, or USER:TOKEN
            headers["Authorization"] = f"token {token.rpartition(':')[2]}"
        async with open_http(api, private=private, connections=1, name=address.host, headers=headers) as http:
            repository = client.GitHubRepository(
                address=address, http=http, api=api, memory=memory, has_token=bool(token)
            )
            yield IssueSource(
                address=address, repository=repository, memory=memory, now=now, list_every=list_every
            )
