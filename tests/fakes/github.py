"""GitHub's REST API on loopback, as docs.github.com describes it: issues, comments and reviews of one repository, with
pages and their links, ETags, limits and redirects; and a team that goes on writing there.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlencode

from aiohttp import web
from fakes.web_servers import LoopbackServer

REPOSITORY = "/repos/acme/handbook"
EPOCH = 1_700_000_000  # seconds
DAY = 86_400
NOT_FOUND: tuple[int, Any, dict[str, str]] = (404, {"message": "Not Found"}, {})
KINDS = {"issues": "issuecomment", "pulls": "discussion_r"}  #: of comments


@dataclass
class Saying:
    """A comment, a review, or a comment of a review."""

    id: int
    number: int
    kind: str  #: issuecomment, pullrequestreview or discussion_r
    body: str
    user: str | None
    created: int
    updated: int


@dataclass
class Issue:
    """An issue, or a pull request."""

    number: int
    title: str
    body: str | None
    user: str | None = "ann"
    is_pull: bool = False
    state: str = "open"
    merged: bool = False
    labels: list[str] = field(default_factory=list)
    created: int = EPOCH
    updated: int = EPOCH


class FakeGitHub(LoopbackServer):
    """One repository, public unless a token is needed."""

    def __init__(self) -> None:
        super().__init__()
        self.token = ""
        self.is_private = False
        self.now = EPOCH
        self.issues: dict[int, Issue] = {}
        self.said: dict[int, Saying] = {}
        self.deleted: set[int] = set()
        self.transferred: set[int] = set()
        self.remaining = 5_000
        self.secondary = 0  #: answers that say that requests come too fast
        self.failing: list[int] = []
        self.moved = False
        self.before: Callable[[str], None] = lambda _path: None
        self.sent, self.asked, self.statuses = 0, Counter[str](), Counter[int]()
        self._count = self._said_count = 0

    def forget_counts(self) -> None:
        self.sent, self.asked, self.statuses = 0, Counter(), Counter()

    # What people do

    def open_issue(self, title: str, body: str | None, **more: Any) -> Issue:
        self._count += 1
        issue = Issue(self._count, title, body, created=self.now, updated=self.now, **more)
        self.issues[issue.number] = issue
        return issue

    def say(self, issue: Issue, body: str, *, user: str | None = "bob", kind: str = "issuecomment") -> Saying:
        self._said_count += 1
        this = Saying(1_000 + self._said_count, issue.number, kind, body, user, self.now, self.now)
        self.said[this.id] = this
        issue.updated = self.now
        return this

    def delete(self, issue: Issue, *, transfer: bool = False) -> None:
        del self.issues[issue.number]
        (self.transferred if transfer else self.deleted).add(issue.number)
        self.said = {each.id: each for each in self.said.values() if each.number != issue.number}

    # The API

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.before(request.path)
        status, body, more = self._answer(request)
        headers = dict(more)
        written = json.dumps(body).encode()
        headers["ETag"] = f'W/"{hashlib.sha256(written).hexdigest()}"'
        is_allowed = bool(self.token) and request.headers.get("Authorization") == f"token {self.token}"
        if status == 200 and request.headers.get("If-None-Match") == headers["ETag"]:
            status, written = 304, b""
        if not (status == 304 and is_allowed):  # else it is free: "Best practices for using the REST API"
            self.remaining = max(0, self.remaining - 1)
        headers |= {
            "Date": format_datetime(datetime.fromtimestamp(self.now, UTC), usegmt=True),
            "X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.now + 600), "Content-Type": "application/json; charset=utf-8",
        }  # fmt: skip
        self.sent += len(written)
        self.asked[re.sub(r"\d+", "N", request.path.removeprefix(REPOSITORY))] += 1
        self.statuses[status] += 1
        return web.Response(status=status, body=written or None, headers=headers)

    def _answer(self, request: web.Request) -> tuple[int, Any, dict[str, str]]:
        told = request.headers.get("Authorization")
        if told is not None and told != f"token {self.token}":
            return 401, {"message": "Bad credentials"}, {}
        if (limit := self._limit()) is not None:
            return limit
        if self.moved:
            there = {"Location": f"{self.url}/repositories/7/issues"}
            return 301, {"message": "Moved Permanently", "url": there["Location"]}, there
        if self.is_private and told is None:
            return NOT_FOUND
        return self._found(request, request.path.removeprefix(REPOSITORY).strip("/").split("/"))

    def _limit(self) -> tuple[int, Any, dict[str, str]] | None:
        if self.remaining == 0:
            return 403, {"message": "API rate limit exceeded for user ID 1."}, {}
        if self.secondary:
            self.secondary -= 1
            headers = {"Retry-After": "9"} if self.secondary else {}
            return 403, {"message": "You have exceeded a secondary rate limit."}, headers
        return (self.failing.pop(0), {"message": "Server Error"}, {}) if self.failing else None

    def _found(self, request: web.Request, parts: Sequence[str]) -> tuple[int, Any, dict[str, str]]:
        lists: Mapping[tuple[str, ...], Callable[[], list[Any]]] = {
            ("issues",): lambda: self._listed(request),
            ("issues", "comments"): lambda: self._changed(request, "issuecomment"),
            ("pulls", "comments"): lambda: self._changed(request, "discussion_r"),
        }
        if (listed := lists.get(tuple(parts))) is not None:
            return self._page(request, listed(), self._issue if parts == ["issues"] else self._said)
        match parts:
            case ["issues", number]:
                return self._single(int(number))
            case ["issues" | "pulls" as where, number, "comments" | "reviews" as what]:
                kind = "pullrequestreview" if what == "reviews" else KINDS[where]
                if int(number) not in self.issues:
                    return self._single(int(number))
                mine = [
                    each for each in self.said.values() if each.number == int(number) and each.kind == kind
                ]
                return self._page(request, mine, self._said)
        return NOT_FOUND

    def _single(self, number: int) -> tuple[int, Any, dict[str, str]]:
        """https://docs.github.com/en/rest/issues/issues#get-an-issue tells of 301, 404 and 410."""
        if number in self.transferred:
            there = f"{self.url}/repos/acme/other/issues/1"
            return 301, {"message": "Moved Permanently", "url": there}, {"Location": there}
        if number in self.deleted:
            return 410, {"message": "This issue was deleted"}, {}
        issue = self.issues.get(number)
        return (200, self._issue(issue), {}) if issue else (404, {"message": "Not Found"}, {})

    def _listed(self, request: web.Request) -> list[Issue]:
        query = request.query
        shown = [each for each in self.issues.values() if query.get("state", "open") in ("all", each.state)]
        return self._ordered(request, shown)

    def _changed(self, request: web.Request, kind: str) -> list[Saying]:
        return self._ordered(request, [each for each in self.said.values() if each.kind == kind])

    def _ordered(self, request: web.Request, found: list[Any]) -> list[Any]:
        query = request.query
        found = [each for each in found if iso(each.updated) >= query.get("since", "")]
        by = {"updated": lambda each: each.updated, "created": lambda each: each.created}[
            query.get("sort", "created")
        ]
        name = {Issue: "number", Saying: "id"}
        found.sort(key=lambda each: (by(each), getattr(each, name[type(each)])))
        return found if query.get("direction") == "asc" else found[::-1]

    def _page(
        self, request: web.Request, found: Sequence[Any], write: Callable[[Any], Any]
    ) -> tuple[int, Any, dict[str, str]]:
        size, page = min(100, int(request.query.get("per_page", 30))), int(request.query.get("page", 1))
        headers = {}
        if page * size < len(found):
            there = urlencode({**request.query, "page": page + 1})
            last = urlencode({**request.query, "page": -(-len(found) // size)})
            base = f"{self.url}{request.path}"
            headers["Link"] = f'<{base}?{there}>; rel="next", <{base}?{last}>; rel="last"'
        return 200, [write(each) for each in found[(page - 1) * size : page * size]], headers

    def _issue(self, issue: Issue) -> dict[str, Any]:
        place = f"https://github.com/acme/handbook/{'pull' if issue.is_pull else 'issues'}/{issue.number}"
        sent: dict[str, Any] = {
            "id": 10_000 + issue.number, "number": issue.number, "title": issue.title, "body": issue.body,
            "user": user(issue.user), "state": issue.state, "state_reason": None, "locked": False, "assignees": [],
            "labels": [{"id": 1, "name": name, "color": "f29513", "default": False} for name in issue.labels],
            "comments": sum(each.number == issue.number and each.kind == "issuecomment" for each in self.said.values()),
            "created_at": iso(issue.created), "updated_at": iso(issue.updated), "closed_at": None,
            "html_url": place, "url": f"{self.url}{REPOSITORY}/issues/{issue.number}",
            "author_association": "MEMBER", "reactions": {"total_count": 0},
        }  # fmt: skip
        if issue.is_pull:
            sent["pull_request"] = {
                "html_url": place,
                "merged_at": iso(issue.updated) if issue.merged else None,
            }
        return sent

    def _said(self, this: Saying) -> dict[str, Any]:
        place = "issues" if this.kind == "issuecomment" else "pulls"
        path = "pull" if self.issues[this.number].is_pull else "issues"
        sign = "-" if this.kind != "discussion_r" else ""
        sent: dict[str, Any] = {
            "id": this.id, "user": user(this.user), "body": this.body,
            "html_url": f"https://github.com/acme/handbook/{path}/{this.number}#{this.kind}{sign}{this.id}",
            f"{'issue' if place == 'issues' else 'pull_request'}_url": f"{self.url}{REPOSITORY}/{place}/{this.number}",
        }  # fmt: skip
        if this.kind == "pullrequestreview":
            return sent | {
                "state": "COMMENTED",
                "submitted_at": iso(this.created),
                "updated_at": iso(this.updated),
            }
        return sent | {"created_at": iso(this.created), "updated_at": iso(this.updated)}


@dataclass
class GitHubTeam:
    """Writes issues and comments by the numbers of a seed. Each says its edition in words of its own."""

    github: FakeGitHub
    seed: int = 1
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def begin(self, issues: int) -> None:
        for _ in range(issues):
            self._open()
        self.github.now += 3_600

    def go_on(self, changes: int) -> None:
        """Issues are opened, edited, commented, closed, renamed, deleted and transferred."""
        steps: Mapping[str, Callable[[], None]] = {
            "open": self._open, "edit": self._edit, "comment": self._comment, "close": self._close,
            "delete": self._delete,
        }  # fmt: skip
        for _ in range(changes):
            self.github.now += self._chance.choice((0, 1, 1, 40, 600))
            steps[self._chance.choice(("open", "edit", "edit", "comment", "comment", "close", "delete"))]()

    def hashes(self, *, pulls: bool = False) -> dict[str, str]:
        """All editions that are to be read of each issue, in order, by its number."""
        return {
            str(issue.number): " ".join(self._editions(issue))
            for issue in self.github.issues.values()
            if issue.is_pull == pulls
        }

    def _editions(self, issue: Issue) -> list[str]:
        said = (each.body for each in self.github.said.values() if each.number == issue.number)
        return re.findall(r"Edition \d+\.", "\n".join((issue.body or "", *said)))

    def _edition(self) -> str:
        filling = " ".join(self._chance.choices(("crane", "quay", "ferry", "tide", "rope"), k=120))
        return f"{filling}\n\nEdition {self._chance.randrange(10**12)}.\n"

    def _some(self) -> Issue:
        return self._chance.choice([self.github.issues[number] for number in sorted(self.github.issues)])

    def _open(self) -> None:
        is_pull = self._chance.random() < 0.2
        issue = self.github.open_issue(
            f"Matter {self._chance.randrange(10**6)}", self._edition(), is_pull=is_pull
        )
        for _ in range(self._chance.randint(0, 4)):
            self.github.now += 1
            self.github.say(issue, self._edition())
        self.github.now += self._chance.choice((0, 0, 1, 60))

    def _edit(self) -> None:
        """An issue; or a comment, which need not move the time of its issue."""
        issue = self._some()
        mine = [each for each in self.github.said.values() if each.number == issue.number]
        if mine and self._chance.random() < 0.5:
            said = self._chance.choice(mine)
            said.body, said.updated = self._edition(), self.github.now
        else:
            issue.body, issue.updated = self._edition(), self.github.now

    def _comment(self) -> None:
        self.github.say(self._some(), self._edition())

    def _close(self) -> None:
        issue = self._some()
        issue.state, issue.updated = "closed", self.github.now

    def _delete(self) -> None:
        self.github.delete(self._some(), transfer=self._chance.random() < 0.5)


def user(name: str | None) -> dict[str, Any] | None:
    return name and {"login": name, "id": 1, "type": "User", "site_admin": False}


def iso(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
