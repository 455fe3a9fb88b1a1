"""Requests to GitHub's API, the lists that it need not send again, and the addresses of lists.

Requests go out one at a time, as GitHub asks. The address of a list is ``github+https://HOST/OWNER/NAME/issues``.
People type the address of the list on the web. Of a GitHub Enterprise Server it is one where the host is named in
GIT_TOKENS or PRIVATE_HOSTS.

What is said of limits stands in "Rate limits for the REST API" and "Best practices for using the REST API" at
https://docs.github.com/en/rest/using-the-rest-api.

What is remembered, titles and marks of versions, lies in the source's folder and may vanish: what was said again since
the last sync, in issues that did not change themselves, is missed then.
"""

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from urllib.parse import parse_qs, urlsplit

from core.conversation import value
from core.errors import FootnoteError, SettingsError
from core.settings import Settings
from core.sources import http as web
from core.sources import source
from core.web.hosts import canonical
from core.web.request import OK, SERVER_FAULT, TOO_MANY_REQUESTS, seconds_asked

MARK = "github+"
PREFIXES = (f"{MARK}https://",)
PUBLIC = "github.com"
RESIDENT = ".ghe.com"  # ends the hosts of GitHub Enterprise Cloud with data residency

IssueKind = Literal["issues", "pulls"]

_PATH = re.compile(r"/([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+)/(issues|pulls)/?")


@value
class IssuesAddress:
    """The issues or the pull requests of a repository."""

    host: str
    port: int | None = None  #: None: 443
    owner: str
    name: str
    kind: IssueKind

    @property
    def netloc(self) -> str:
        """The host, with the port if it is not the usual one."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    @property
    def address(self) -> str:
        """The form that is kept."""
        return f"{MARK}https://{self.netloc}/{self.repository}/{self.kind}"

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def api(self) -> str:
        """The URL of its API: https://docs.github.com/enterprise-server/rest/quickstart."""
        if self.host == PUBLIC or self.host.endswith(RESIDENT):
            return f"https://api.{self.netloc}"
        return f"https://{self.netloc}/api/v3"

    def page_of(self, number: int) -> str:
        """The page of one of them."""
        kind = "issues" if self.kind == "issues" else "pull"
        return f"https://{self.netloc}/{self.repository}/{kind}/{number}"


def parse(text: str) -> IssuesAddress:
    """SettingsError for what is no such address, or has a password in it."""
    try:
        url = urlsplit(text.removeprefix(MARK))
        host, port = canonical(url.hostname or ""), url.port
    except ValueError:
        host, port, url = "", None, urlsplit("")
    if "@" in url.netloc:  # not repeated: it may hold a password
        raise SettingsError(
            "An address with a user or a password in it is not kept. Put a token into GIT_TOKENS."
        )
    found = _PATH.fullmatch(url.path)
    if found is None or not host or url.query or url.fragment or found[2] in (".", ".."):
        raise SettingsError(
            f"{text} is not the list of a repository's issues: https://github.com/OWNER/NAME/issues, or …/pulls."
        )
    return IssuesAddress(
        host=host, port=None if port == 443 else port, owner=found[1].lower(), name=found[2].lower(),
        kind=cast("IssueKind", found[3]),
    )  # fmt: skip


def list_address(url: str, enterprise: Iterable[str] = ()) -> str | None:
    """The list that a link leads to; None for others. ``enterprise``: hosts of Enterprise Servers."""
    if not url.startswith("https://"):
        return None
    try:
        address = parse(url)
    except SettingsError:
        return None
    is_known = address.host == PUBLIC or address.host.endswith(RESIDENT) or address.host in enterprise
    return address.address if is_known else None


def label_of(address: str) -> str:
    """The name for people."""
    parsed = parse(address)
    return f"{parsed.repository}/{parsed.kind}"


def credentials_of(text: str, settings: Settings) -> Sequence[source.Credential]:
    """A token; without one, GitHub answers 60 requests an hour about what is public."""
    address = parse(text)
    token = source.Credential(
        setting="GIT_TOKENS", entry=f"{address.host}=TOKEN",
        made_at=f"https://{address.netloc}/settings/personal-access-tokens/new",
        rights="Issues: read-only, Pull requests: read-only",
        is_set=bool(settings.git_tokens.get(address.host)), is_needed=False,
    )  # fmt: skip
    return (token,)


GUIDE = source.SourceGuide(
    title="Issues or pull requests of GitHub", asks="The address of their list",
    example="https://github.com/acme/handbook/issues",
    address=lambda typed: parse(source.with_scheme(typed)).address, credentials=credentials_of,
)  # fmt: skip


RATE_PAUSE = 60.0  # seconds after a secondary limit that says no more: "at least one minute"
FAULT_PAUSE = 30.0  # seconds after which a server that is out of order is asked again
NOT_MODIFIED = 304
GONE_ISSUE = frozenset({301, web.NOT_FOUND, web.GONE})  # transferred, not to be seen, deleted: "Get an issue"
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')  # of the header Link, "Using pagination in the REST API"

_ELSEWHERE = "{host} says that {repository} is elsewhere now: ingest its new address, and forget this one."
_NOT_LET = (
    "{host} does not let Footnote read the {kind} of {repository}: set GIT_TOKENS={host}=TOKEN with a token that may"
    " read them."
)
#: What a person reads of a refusal, by its status.
SENTENCES: Mapping[int, str] = {
    **dict.fromkeys((301, 302, 307, 308), _ELSEWHERE),
    **dict.fromkeys((web.UNAUTHORIZED, web.FORBIDDEN, web.NOT_FOUND), _NOT_LET),
    web.GONE: "{repository} has no {kind}.",
}

LISTS = "list"  # in the memory

#: Fields that are kept of what is listed.
KEPT = ("number", "title", "updated_at", "comments", "state", "issue_url", "pull_request_url", "html_url")

logger = logging.getLogger(__name__)


@value
class IssueRecord:
    """An issue or a pull request as it is listed."""

    number: int
    title: str
    updated: str  #: ISO 8601 in UTC
    is_pull: bool
    comments: int
    state: str  #: open, closed or merged
    labels: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The version, with what changes without a new time, such as a renamed label or a deleted comment."""
        return f"{self.updated} {self.comments} {self.state} {','.join(self.labels)}"


def parse_record(data: web.Json) -> IssueRecord:
    """The record of GitHub's "Issue"; one of a pull request has the key ``pull_request``."""
    pull, named = data.get("pull_request"), data.get("labels") or ()
    labels = (each if isinstance(each, str) else str(each.get("name") or "") for each in named)
    return IssueRecord(
        number=int(data["number"]), title=str(data.get("title") or ""), updated=str(data["updated_at"]),
        is_pull=pull is not None, comments=int(data.get("comments") or 0),
        state="merged" if (pull or {}).get("merged_at") else str(data.get("state") or ""),
        labels=tuple(sorted(labels)),
    )  # fmt: skip


def comparable_part(data: web.Json) -> dict[str, Any]:
    """The part of an issue or a comment that is kept to be compared. It has no text of people but the
    title."""
    kept = {name: data[name] for name in KEPT if name in data}
    if "labels" in data:
        kept["labels"] = list(parse_record(data).labels) if "number" in data else []
    if "pull_request" in data:
        kept["pull_request"] = {"merged_at": (data["pull_request"] or {}).get("merged_at")}
    return kept


@dataclass(slots=True, kw_only=True)
class GitHubRepository:
    """One repository. Its methods raise SourceUnavailable and SourceThrottled."""

    address: IssuesAddress
    http: web.HostClient
    api: str  #: where the API is
    memory: source.Memory  #: of lists by their URLs, so that an unchanged one is not sent again
    has_token: bool = False
    now: float = field(default_factory=time.time)  #: seconds since the epoch, by the last answer
    used: set[str] = field(default_factory=set)  #: URLs of lists that were asked for
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def issue(self, number: int) -> web.Json:
        """An issue, or a pull request as one. ItemGone, ItemUnreadable."""
        found, _ = await self._ask(f"{self._base}/issues/{number}", number)
        if not isinstance(found, dict):
            raise source.ItemUnreadable("is not what GitHub's API says that it sends")
        return found

    async def of_issue(self, number: int, path: str) -> list[web.Json]:
        """The comments or reviews at a path: ``issues/7/comments``, ``pulls/7/reviews``. ItemGone, ItemUnreadable."""
        return [each async for page in self.pages(f"{path}?per_page=100", number) for each in page]

    async def forget_lists(self, part: str) -> None:
        """Forget lists with this in their URL that were not asked for. Changes since a time are of use
        once."""
        known = await asyncio.to_thread(self.memory.all, LISTS)
        old = [url for url in known if part in url and url not in self.used]
        await asyncio.to_thread(self.memory.drop, LISTS, old)

    @property
    def _base(self) -> str:
        return f"{self.api}/repos/{self.address.repository}"

    async def pages(self, path: str, number: int | None = None) -> AsyncGenerator[list[web.Json], None]:
        """The pages of a list. ``number``: of the issue that it is about."""
        url: str | None = f"{self._base}/{path}"
        while url is not None:
            found, url = await self._ask(url, number)
            if not isinstance(found, list):
                raise source.SourceUnavailable(f"{self.address.host} does not answer as GitHub does.")
            yield found

    async def _ask(self, url: str, number: int | None) -> tuple[Any, str | None]:
        """The content at an address, and where a list goes on. ``number``: of the issue that it is about."""
        is_list = "sort" in parse_qs(urlsplit(url).query)
        found = (await asyncio.to_thread(self.memory.some, LISTS, [url])) if is_list else {}
        # The marks of the answer, what is kept of it, and where the list goes on.
        etag, modified, kept, following = found.get(url, (None, None, None, None))
        async with self._turn:
            response = await self.http.ask(url, headers=web.only_if_changed(etag, modified))
        self.now = response.date or self.now
        if kept is not None and response.status == NOT_MODIFIED:
            self.used.add(url)
            return kept, following
        if response.status != OK:
            raise self._refusal(response, number)
        answer, more = response.json(), _NEXT.search(response.headers.get("link", ""))
        following = more[1] if more else None
        if is_list and isinstance(answer, list):
            self.used.add(url)
            marks = response.headers.get("etag"), response.headers.get("last-modified")
            held = (*marks, [comparable_part(each) for each in answer], following)
            await asyncio.to_thread(self.memory.keep, LISTS, {url: held})
        return answer, following

    def _refusal(self, response: web.Response, number: int | None) -> FootnoteError:
        address = self.address
        logger.info("%s answered HTTP %d: %s", address.host, response.status, _message(response))
        if throttled := self._throttle_error(response):
            return throttled
        if number is not None and response.status in GONE_ISSUE:
            return source.ItemGone(f"{address.repository}#{number} is gone.")
        if number is not None and response.status != web.UNAUTHORIZED:
            return source.ItemUnreadable(f"could not be read: GitHub answered HTTP {response.status}")
        names = {"host": address.host, "repository": address.repository, "kind": address.kind}
        sentence = SENTENCES.get(response.status, f"{{host}} answered HTTP {response.status}.")
        return source.SourceUnavailable(sentence.format(**names))

    def _throttle_error(self, response: web.Response) -> source.SourceThrottled | None:
        """The error for a limit, by the headers or the message, and for a fault of GitHub's own."""
        host, headers = self.address.host, response.headers
        if response.status >= SERVER_FAULT:
            return web.throttle(response, host, pause=FAULT_PAUSE, is_patient=True)
        is_limit = (
            response.status == TOO_MANY_REQUESTS
            or "retry-after" in headers
            or headers.get("x-ratelimit-remaining") == "0"
            or "rate limit" in _message(response).lower()
        )
        if response.status not in (web.FORBIDDEN, TOO_MANY_REQUESTS) or not is_limit:
            return None
        reset, pause = headers.get("x-ratelimit-reset", ""), RATE_PAUSE
        if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
            pause = max(1.0, float(reset) - self.now)
        asked = seconds_asked(headers.get("retry-after"))
        more = f" With a token in GIT_TOKENS={host}=TOKEN it may be asked more often."
        sentence = f"{host} asks to be asked again later.{'' if self.has_token else more}"
        return source.SourceThrottled(sentence, retry_after=pause if asked is None else asked)


def _message(response: web.Response) -> str:
    return str(response.fields().get("message") or "")
