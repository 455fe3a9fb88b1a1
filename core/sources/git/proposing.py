"""A change of one file, proposed on the host of its repository: a branch, and a pull request.

A person merges or closes it.

The contracts are those of https://docs.github.com/en/rest (contents, git refs, pulls), of GitLab's "Commits API" and
"Merge requests API", and of Gitea's `/api/v1`, which Forgejo and Codeberg keep. The same proposal made twice is one:
its branch says that it was made.
"""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from core.conversation import value
from core.sources.git.address import GitAddress
from core.sources.http import HostClient, Json, Response, open_http
from core.sources.source import SourceUnavailable

BAD, CONFLICT, UNPROCESSABLE = 400, 409, 422
SAID = 200  # characters of what a host says of a refusal
DENIED = frozenset({401, 403, 404})  # without a right, a repository is not found

#: A new text of the file, of the text on the host; None: it is there by now.
Change = Callable[[bytes], bytes | None]


@value
class ProposedChange:
    """A change that is proposed, with its words."""

    path: str  #: of the file in the repository
    branch: str  #: that is made for it
    title: str
    body: str  #: in Markdown


class ProposalRefused(SourceUnavailable):
    """The host does not take a proposal; the sentence says why."""


async def propose(
    address: GitAddress, change: Change, wanted: ProposedChange, *, token: str, private: Sequence[str]
) -> str | None:
    """The page of the pull request; None if nothing is left to change. SourceUnavailable."""
    head = {"Authorization": f"Bearer {token.partition(':')[2] or token}", "Accept": "application/json"}
    netloc = address.netloc if address.scheme == "https" else address.host
    urls = [f"https://{netloc}"]
    if is_cloud := netloc == "github.com" or netloc.endswith(".ghe.com"):
        urls = [f"https://api.{netloc}"]
    async with open_http(*urls, private=private, connections=1, name=address.host, headers=head) as client:
        kind = GitHub if is_cloud else await _kind_at(client, urls[0])
        api = "" if is_cloud else kind.api
        host = kind(
            address=address, root=f"{urls[0]}{api}{kind.repository_path(_bare(address))}", client=client
        )
        try:
            if (page := await host.find(wanted.branch)) is not None:
                return page  # a person closes what is not wanted: it is not proposed again
            base = address.branch or str((await host.fields(""))["default_branch"])
            content, mark = await host.read(wanted.path, base)
            if (new := change(content)) is None:
                return None
            await host.commit(wanted, base, new, mark)
            return await host.open(wanted, base)
        except (KeyError, TypeError, ValueError) as fault:
            raise ProposalRefused(
                f"{address.host} answered in a form that Footnote does not know."
            ) from fault


@dataclass(frozen=True, slots=True, kw_only=True)
class _Api:
    """Requests to the API of a host."""

    address: GitAddress
    root: str  #: of the repository in it
    client: HostClient
    api: ClassVar[str]  #: its path
    version: ClassVar[tuple[str, str]]  #: what only this kind of host answers: a path below it, and a field
    rights: ClassVar[str]  #: of the token, as they are called there

    @staticmethod
    def repository_path(path: str) -> str:
        """A repository in the API."""
        return f"/repos/{path}"

    async def ask(
        self, method: str, path: str, given: Mapping[str, Any] | None = None, *, taken: Sequence[int] = ()
    ) -> Response:
        """``taken``: statuses of refusals that the caller knows. ProposalRefused for others."""
        head = {"Content-Type": "application/json"} if given is not None else {}
        content = json.dumps(given).encode() if given is not None else b""
        response = await self.client.ask(f"{self.root}{path}", method=method, headers=head, content=content)
        if response.status < 300 or response.status in taken:
            return response
        raise self.to_refusal(response)

    def to_refusal(self, response: Response) -> ProposalRefused:
        name, host = self.address.name, self.address.host
        if response.status in DENIED:
            return ProposalRefused(
                f"{host} does not let the token of GIT_TOKENS propose a change to {name}: it needs {self.rights}."
            )
        said = " ".join(str(response.fields().get("message", "")).split())[:SAID]
        return ProposalRefused(
            f"{host} refused a change to {name} (HTTP {response.status}){said and f': {said}'}."
        )

    async def fields(self, path: str) -> Json:
        return (await self.ask("GET", path)).fields()

    async def read_contents(self, path: str, branch: str) -> tuple[bytes, str]:
        """A file on a branch, and the mark of this version of it, as GitHub and Gitea have it."""
        held = await self.fields(f"/contents/{quote(path)}?ref={quote(branch, safe='')}")
        return base64.b64decode(held["content"]), str(held["sha"])

    async def open_pull(self, wanted: ProposedChange, base: str) -> str:
        given = {"title": wanted.title, "body": wanted.body, "head": wanted.branch, "base": base}
        return str((await self.ask("POST", "/pulls", given)).fields()["html_url"])


def _bare(address: GitAddress) -> str:
    return address.path.strip("/").removesuffix(".git")


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


class GitHub(_Api):
    """GitHub, and its Enterprise Server."""

    __slots__ = ()
    api, version = "/api/v3", ("/meta", "installed_version")
    rights = "Contents and Pull requests: read and write"

    read, open = _Api.read_contents, _Api.open_pull

    async def find(self, branch: str) -> str | None:
        owner = _bare(self.address).partition("/")[0]
        found = await self.ask("GET", f"/pulls?state=all&head={quote(f'{owner}:{branch}', safe='')}")
        return next((str(each["html_url"]) for each in found.json() or ()), None)

    async def commit(self, wanted: ProposedChange, base: str, content: bytes, mark: str) -> None:
        tip = (await self.fields(f"/git/ref/heads/{quote(base)}"))["object"]["sha"]
        ref = {"ref": f"refs/heads/{wanted.branch}", "sha": tip}
        await self.ask("POST", "/git/refs", ref, taken=[UNPROCESSABLE])
        given = {"message": wanted.title, "content": _encode(content), "sha": mark, "branch": wanted.branch}
        await self.ask("PUT", f"/contents/{quote(wanted.path)}", given, taken=[CONFLICT])


class GitLab(_Api):
    """GitLab."""

    __slots__ = ()
    api, version = "/api/v4", ("/version", "revision")
    rights = "the scope api, and the role Developer"

    @staticmethod
    def repository_path(path: str) -> str:
        return f"/projects/{quote(path, safe='')}"

    async def read(self, path: str, branch: str) -> tuple[bytes, str]:
        held = await self.fields(f"/repository/files/{quote(path, safe='')}?ref={quote(branch, safe='')}")
        return base64.b64decode(held["content"]), str(held["last_commit_id"])

    async def find(self, branch: str) -> str | None:
        found = await self.ask("GET", f"/merge_requests?source_branch={quote(branch, safe='')}")
        return next((str(each["web_url"]) for each in found.json() or ()), None)

    async def commit(self, wanted: ProposedChange, base: str, content: bytes, mark: str) -> None:
        action = {
            "action": "update", "file_path": wanted.path, "content": _encode(content), "encoding": "base64",
            "last_commit_id": mark,
        }  # fmt: skip
        given = {
            "branch": wanted.branch, "start_branch": base, "commit_message": wanted.title, "actions": [action],
        }  # fmt: skip
        made = await self.ask("POST", "/repository/commits", given, taken=[BAD])
        if made.status == BAD and "already exists" not in str(made.json()):
            raise self.to_refusal(made)

    async def open(self, wanted: ProposedChange, base: str) -> str:
        given = {
            "source_branch": wanted.branch, "target_branch": base, "title": wanted.title,
            "description": wanted.body, "remove_source_branch": True,
        }  # fmt: skip
        return str((await self.ask("POST", "/merge_requests", given)).fields()["web_url"])


class Gitea(_Api):
    """Gitea, Forgejo and Codeberg."""

    __slots__ = ()
    api, version = "/api/v1", ("/version", "version")
    rights = "repository: read and write, and issue: read and write"

    read, open = _Api.read_contents, _Api.open_pull

    async def find(self, branch: str) -> str | None:
        found = (await self.ask("GET", "/pulls?state=all&sort=recentupdate&limit=50")).json() or ()
        own = (each for each in found if each["head"]["ref"] == branch)
        return next((str(each["html_url"]) for each in own), None)

    async def commit(self, wanted: ProposedChange, base: str, content: bytes, mark: str) -> None:
        given = {
            "message": wanted.title, "content": _encode(content), "sha": mark, "branch": base,
            "new_branch": wanted.branch,
        }  # fmt: skip
        made = await self.ask("PUT", f"/contents/{quote(wanted.path)}", given, taken=[UNPROCESSABLE])
        if made.status == UNPROCESSABLE and "already exists" not in str(made.json()):
            raise self.to_refusal(made)


HOST_KINDS: Sequence[type[GitHub | GitLab | Gitea]] = (GitLab, Gitea, GitHub)


async def _kind_at(client: HostClient, url: str) -> type[GitHub | GitLab | Gitea]:
    """The kind of a host, by what it says of its version. ProposalRefused."""
    for kind in HOST_KINDS:
        path, field = kind.version
        if field in (await client.ask(f"{url}{kind.api}{path}")).fields():
            return kind
    raise ProposalRefused(f"{client.name} is no GitHub, GitLab, Gitea or Forgejo that takes this token.")
