"""Hosts of repositories on loopback: as much of the APIs of GitHub Enterprise, GitLab and Gitea as a change of a file needs.

The contracts are those of docs.github.com (contents, git refs, pulls), of GitLab's "Commits API" and "Merge requests
API", and of Gitea's swagger description: their statuses and messages, and what they refuse.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from aiohttp import web
from fakes.web_servers import LoopbackServer

Reply = tuple[int, Any]
NOT_FOUND: Reply = (404, {"message": "Not Found"})


@dataclass
class Pull:
    """A pull request."""

    number: int
    title: str
    body: str
    head: str
    base: str
    state: str = "open"


def sha_of(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Branches:
    """The repository acme/handbook."""

    files: dict[str, dict[str, bytes]]  #: by branch and path
    messages: list[str] = field(default_factory=list)  #: of commits
    pulls: list[Pull] = field(default_factory=list)


class FakeCodeHost(LoopbackServer):
    """One repository, of which a token may propose changes."""

    api: str
    token = "sesame"

    def __init__(self, repository: Branches, **more: Any) -> None:
        super().__init__(**more)
        self.repository = repository
        self.may_write = True
        self.writes: list[str] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return web.json_response({"message": "Bad credentials"}, status=401)
        given = json.loads(await request.read() or b"{}")
        if request.method != "GET":
            if request.content_type != "application/json":
                return web.json_response({"message": "Unsupported Media Type"}, status=415)
            if not self.may_write:
                return web.json_response({"message": "Resource not accessible by token"}, status=403)
            self.writes.append(f"{request.method} {request.path}")
        path = request.raw_path.partition("?")[0]
        status, body = self._answer(request, path.removeprefix(self.api), given)
        return web.json_response(body, status=status)

    def _answer(self, request: web.Request, path: str, given: dict[str, Any]) -> Reply:
        raise NotImplementedError

    def commit(self, branch: str, path: str, content: str, message: str) -> None:
        self.repository.files[branch][path] = base64.b64decode(content, validate=True)
        self.repository.messages.append(message)

    def opened(self, given: dict[str, Any], head: str, base: str, body: str) -> Pull:
        pull = Pull(len(self.repository.pulls) + 1, given["title"], given[body], given[head], given[base])
        self.repository.pulls.append(pull)
        return pull

    def is_open(self, head: str) -> bool:
        return any(each.head == head and each.state == "open" for each in self.repository.pulls)

    def page_of(self, pull: Pull) -> str:
        return f"{self.url}/acme/handbook/pull/{pull.number}"


class FakeGitHubEnterprise(FakeCodeHost):
    """GitHub's REST API below /api/v3."""

    api = "/api/v3"

    def _answer(self, request: web.Request, path: str, given: dict[str, Any]) -> Reply:  # noqa: PLR0911 - by path
        files, method = self.repository.files, request.method
        if path == "/meta":
            return 200, {"installed_version": "3.20.0", "verifiable_password_authentication": True}
        if not path.startswith("/repos/acme/handbook"):
            return NOT_FOUND
        match path.removeprefix("/repos/acme/handbook").split("/"):
            case [""]:
                return 200, {"default_branch": "main", "full_name": "acme/handbook"}
            case ["", "git", "ref", "heads", *branch]:
                name = unquote("/".join(branch))
                found = {"ref": f"refs/heads/{name}", "object": {"type": "commit", "sha": f"tip of {name}"}}
                return (200, found) if name in files else NOT_FOUND
            case ["", "git", "refs"] if method == "POST":
                return self._branch(given)
            case ["", "contents", *parts]:
                branch = given.get("branch") or request.query.get("ref", "main")
                return self._contents(method, branch, unquote("/".join(parts)), given)
            case ["", "pulls"] if method == "POST":
                return self._open(given)
            case ["", "pulls"]:
                head = request.query["head"].removeprefix("acme:")
                pulls = [each for each in self.repository.pulls if each.head == head]
                pulls = [each for each in pulls if request.query.get("state", "open") in ("all", each.state)]
                return 200, [self._shown(each) for each in pulls]
        return NOT_FOUND

    def _branch(self, given: dict[str, Any]) -> Reply:
        name, files = given["ref"].removeprefix("refs/heads/"), self.repository.files
        if name in files:
            return 422, {"message": "Reference already exists"}
        start = given["sha"].removeprefix("tip of ")
        if start not in files:
            return 422, {"message": "Object does not exist"}
        files[name] = dict(files[start])
        return 201, {"ref": given["ref"]}

    def _contents(self, method: str, branch: str, path: str, given: dict[str, Any]) -> Reply:
        held = self.repository.files.get(branch, {}).get(path)
        if held is None:
            return NOT_FOUND
        if method == "GET":  # GitHub breaks the base64 into lines
            encoded = base64.encodebytes(held).decode()
            return 200, {
                "type": "file",
                "path": path,
                "sha": sha_of(held),
                "content": encoded,
                "encoding": "base64",
            }
        if "sha" not in given:
            return 422, {"message": 'Invalid request.\n\n"sha" wasn\'t supplied.'}
        if given["sha"] != sha_of(held):
            return 409, {"message": f"{path} does not match {given['sha']}"}
        self.commit(branch, path, given["content"], given["message"])
        return 200, {"content": {"path": path}}

    def _open(self, given: dict[str, Any]) -> Reply:
        files = self.repository.files
        if given["head"] not in files or given["base"] not in files:
            return 422, {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}]}
        if self.is_open(given["head"]):
            return 422, {
                "message": "Validation Failed",
                "errors": [{"message": "A pull request already exists"}],
            }
        if files[given["head"]] == files[given["base"]]:
            return 422, {"message": "Validation Failed", "errors": [{"message": "No commits between"}]}
        return 201, self._shown(self.opened(given, "head", "base", "body"))

    def _shown(self, pull: Pull) -> dict[str, Any]:
        return {
            "number": pull.number, "state": pull.state, "html_url": self.page_of(pull),
            "head": {"ref": pull.head}, "base": {"ref": pull.base},
        }  # fmt: skip


class FakeGitea(FakeGitHubEnterprise):
    """Gitea's API, which is GitHub's but for how a branch is made and pull requests are listed."""

    api = "/api/v1"

    def _answer(self, request: web.Request, path: str, given: dict[str, Any]) -> Reply:
        if path == "/version":
            return 200, {"version": "1.25.1"}
        if path == "/meta" or "/git/ref" in path:
            return NOT_FOUND
        if path.endswith("/pulls") and request.method == "GET":
            pulls = [
                each
                for each in self.repository.pulls
                if request.query.get("state", "open") in ("all", each.state)
            ]
            return 200, [self._shown(each) for each in reversed(pulls)]
        return super()._answer(request, path, given)

    def _contents(self, method: str, branch: str, path: str, given: dict[str, Any]) -> Reply:
        if new := given.get("new_branch"):
            if new in self.repository.files:
                return 422, {"message": f"branch already exists [name: {new}]"}
            self.repository.files[new] = dict(self.repository.files[branch])
            branch = new
        return super()._contents(method, branch, path, given)

    def _open(self, given: dict[str, Any]) -> Reply:
        if self.is_open(given["head"]):
            return 409, {"message": "pull request already exists for these targets"}
        return super()._open(given)


class FakeGitLab(FakeCodeHost):
    """GitLab's API below /api/v4."""

    api = "/api/v4"

    def _answer(self, request: web.Request, path: str, given: dict[str, Any]) -> Reply:  # noqa: PLR0911 - by path
        files, method = self.repository.files, request.method
        if path == "/version":
            return 200, {"version": "18.6.0-ee", "revision": "1a2b3c4"}
        if not path.startswith("/projects/acme%2Fhandbook"):
            return 404, {"message": "404 Project Not Found"}
        match path.removeprefix("/projects/acme%2Fhandbook").split("/"):
            case [""]:
                return 200, {"id": 7, "default_branch": "main"}
            case ["", "repository", "files", name]:
                held = files.get(request.query["ref"], {}).get(unquote(name))
                if held is None:
                    return 404, {"message": "404 File Not Found"}
                encoded = base64.b64encode(held).decode()
                return 200, {
                    "file_path": unquote(name), "encoding": "base64", "content": encoded, "last_commit_id": "c1"
                }  # fmt: skip
            case ["", "repository", "commits"] if method == "POST":
                return self._committed(given)
            case ["", "merge_requests"] if method == "POST":
                if self.is_open(given["source_branch"]):
                    return 409, {
                        "message": ["Another open merge request already exists for this source branch: !1"]
                    }
                return 201, {
                    "web_url": self.page_of(
                        self.opened(given, "source_branch", "target_branch", "description")
                    )
                }
            case ["", "merge_requests"]:
                head = request.query["source_branch"]
                return 200, [
                    {"web_url": self.page_of(each)} for each in self.repository.pulls if each.head == head
                ]
        return 404, {"error": "404 Not Found"}

    def _committed(self, given: dict[str, Any]) -> Reply:
        files, (action,) = self.repository.files, given["actions"]
        if given["branch"] in files and "start_branch" in given:
            return 400, {
                "message": f"A branch called '{given['branch']}' already exists. Switch to that branch in order to make changes"
            }
        if given.get("start_branch") not in files:
            return 400, {"message": "You can only create or edit files when you are on a branch"}
        if action["file_path"] not in files[given["start_branch"]]:
            return 400, {"message": "A file with this name doesn't exist"}
        files[given["branch"]] = dict(files[given["start_branch"]])
        self.commit(given["branch"], action["file_path"], action["content"], given["commit_message"])
        return 201, {"id": "c2"}
