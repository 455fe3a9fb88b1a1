"""Addresses of the issues or the pull requests of a repository on GitHub: ``github+https://HOST/OWNER/NAME/issues``.

People type the address of their list on the web. Of a GitHub Enterprise Server it is one where the host is named in
GIT_TOKENS or PRIVATE_HOSTS.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, cast
from urllib.parse import urlsplit

from core.conversation import value
from core.errors import SettingsError
from core.web.hosts import canonical

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


def typed_address(typed: str) -> str:
    """An address as it is kept, of one with its scheme or without."""
    return canonical_address(typed if "://" in typed else f"https://{typed}")
