"""An issue or a pull request with all that was said about it, as one text; and the addresses of lists of them,
``github+https://HOST/OWNER/NAME/issues``.

People type the address of the list on the web. Of a GitHub Enterprise Server it is one where the host is named in
GIT_TOKENS or PRIVATE_HOSTS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from core.conversation import value
from core.errors import SettingsError
from core.settings import Settings
from core.sources.documents import AnchoredPart, AnchoredText, joined
from core.sources.source import Credential, SourceGuide, with_scheme
from core.web.hosts import canonical

GHOST = "ghost"  # whom GitHub shows in place of people who deleted their accounts
#: Fields that are kept of what is listed.
KEPT = ("number", "title", "updated_at", "comments", "state", "issue_url", "pull_request_url", "html_url")
TITLE_LIMIT = 256  # characters, GitHub "Create an issue"

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")
#: HTML that goes on over empty lines until its end comes: CommonMark 0.31, 4.6, kinds 1 and 2.
_LASTING = (("<!--", "-->"), ("<pre", "</pre>"), ("<script", "</script>"), ("<style", "</style>"))


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
        """With what changes without a new time, as a label that is renamed or a comment that is deleted."""
        return f"{self.updated} {self.comments} {self.state} {','.join(self.labels)}"


def record_of(data: Mapping[str, Any]) -> IssueRecord:
    """The record of GitHub's "Issue"; one of a pull request has the key ``pull_request``."""
    pull, named = data.get("pull_request"), data.get("labels") or ()
    labels = (each if isinstance(each, str) else str(each.get("name") or "") for each in named)
    return IssueRecord(
        number=int(data["number"]), title=str(data.get("title") or ""), updated=str(data["updated_at"]),
        is_pull=pull is not None, comments=int(data.get("comments") or 0),
        state="merged" if (pull or {}).get("merged_at") else str(data.get("state") or ""),
        labels=tuple(sorted(labels)),
    )  # fmt: skip


def listed(data: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an issue or of a comment that is kept to be compared: nothing that people wrote but the title."""
    kept = {name: data[name] for name in KEPT if name in data}
    if "labels" in data:
        kept["labels"] = list(record_of(data).labels) if "number" in data else []
    if "pull_request" in data:
        kept["pull_request"] = {"merged_at": (data["pull_request"] or {}).get("merged_at")}
    return kept


def text_of_issue(issue: Mapping[str, Any], said: Iterable[Mapping[str, Any]], name: str) -> AnchoredText:
    """``said``: comments, reviews and their comments; ``name``: of the issue, as people write it."""
    record = record_of(issue)
    title = " ".join(record.title.split())[:TITLE_LIMIT]
    about = " · ".join(filter(None, (name, record.state, ", ".join(record.labels))))
    first = (AnchoredPart(text=f"# {title}"), AnchoredPart(text=about), *_post(issue, ""))
    spoken = (
        each for each in said if str(each.get("body") or "").strip()
    )  # a review may say only "approved"
    ordered = sorted(spoken, key=lambda each: (_moment(each), int(each.get("id") or 0)))
    posts = (_post(each, urlsplit(str(each.get("html_url") or "")).fragment) for each in ordered)
    return joined((*first, *(part for post in posts for part in post)))


def _post(data: Mapping[str, Any], anchor: str) -> Sequence[AnchoredPart]:
    user = (data.get("user") or {}).get("login") or GHOST
    head = AnchoredPart(text=f"## {user} · {_moment(data)[:10]}", anchor=anchor)
    return (head, AnchoredPart(text=closed(str(data.get("body") or ""))))


def _moment(data: Mapping[str, Any]) -> str:
    return str(data.get("created_at") or data.get("submitted_at") or "")


def closed(body: str) -> str:
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
    def place(self) -> str:
        """The host, with the port if it is not the usual one."""
        return self.host if self.port is None else f"{self.host}:{self.port}"

    @property
    def address(self) -> str:
        """The form that is kept."""
        return f"{MARK}https://{self.place}/{self.repository}/{self.kind}"

    @property
    def repository(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def api(self) -> str:
        """The URL of its API: https://docs.github.com/enterprise-server/rest/quickstart."""
        if self.host == PUBLIC or self.host.endswith(RESIDENT):
            return f"https://api.{self.place}"
        return f"https://{self.place}/api/v3"

    def page_of(self, number: int) -> str:
        """The page of one of them."""
        kind = "issues" if self.kind == "issues" else "pull"
        return f"https://{self.place}/{self.repository}/{kind}/{number}"


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


def canonical_address(text: str) -> str:
    """An address as it is kept; SettingsError for what is none."""
    return parse(text).address


def list_address(url: str, enterprise: Iterable[str] = ()) -> str | None:
    """The address of the list that a link leads to; None for any other link.

    ``enterprise``: hosts of GitHub Enterprise Servers.
    """
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


def credentials_of(text: str, settings: Settings) -> Sequence[Credential]:
    """A token; without one, GitHub answers 60 requests an hour about what is public."""
    address = parse(text)
    token = Credential(
        setting="GIT_TOKENS",
        entry=f"{address.host}=TOKEN",
        made_at=f"https://{address.place}/settings/personal-access-tokens/new",
        rights="Issues: read-only, Pull requests: read-only",
        is_set=bool(settings.git_tokens.get(address.host)),
        is_needed=False,
    )
    return (token,)


GUIDE = SourceGuide(
    title="Issues or pull requests of GitHub",
    asks="The address of their list",
    example="https://github.com/acme/handbook/issues",
    address=lambda typed: canonical_address(with_scheme(typed)),
    credentials=credentials_of,
)
