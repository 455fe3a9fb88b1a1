"""The protocol of the Hugging Face hub: the commit of a revision, its files, and their digests.

As ``huggingface_hub/file_download.py`` speaks it. ``GET /api/models/REPO/revision/REV`` gives the commit and the
names of the files; ``HEAD /REPO/resolve/COMMIT/PATH`` gives the commit (X-Repo-Commit), the size (X-Linked-Size, else
Content-Length) and the digest (X-Linked-ETag: SHA-256 of a file in LFS; else ETag: git's SHA-1 of the blob). Large
files are then redirected to a network of caches, whose addresses expire: every try begins at the hub.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin, urlsplit

from core.library.embedding.download import STALL_TIMEOUT, DownloadError, as_download_error, sha256_of
from core.library.embedding.provider import within
from core.tls import default_tls

if TYPE_CHECKING:
    import httpx

ENDPOINT = "https://huggingface.co"
REDIRECTS = 5  # within the hub: of a repository that was renamed, and of its cache of small files
CHUNK = 1 << 20  # bytes

_COMMIT = re.compile("[0-9a-f]{40}")
_DIGEST = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")

#: What the hub says under X-Error-Code, as a reason; and by status where it says nothing.
_REFUSALS: Mapping[str, str] = {
    "GatedRepo": "{repo} wants a login, and consent to its terms; Footnote has neither",
    "RepoNotFound": "there is no repository {repo}, or it wants a login",
    "RevisionNotFound": "{repo} has no revision {revision}",
    "EntryNotFound": "{repo} has no file {path}",
    "401": "there is no repository {repo}, or it wants a login",
    "403": "{repo} wants a login, which Footnote has not",
    "404": "{repo} has no {path} at the revision {revision}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A repository at one commit."""

    repo: str  #: owner/name
    commit: str
    paths: frozenset[str]  #: of its files


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """A file of a snapshot, as the hub describes it."""

    path: str
    url: str  #: of the hub, which may redirect
    size: int  #: bytes
    digest: str  #: hexadecimal; 64 digits: SHA-256, 40: git's SHA-1 of a blob

    def is_whole(self, file: Path) -> bool:
        """True if this is the file that the hub described."""
        if not file.is_file() or file.stat().st_size != self.size:
            return False
        return (sha256_of(file) if len(self.digest) == 64 else git_sha1_of(file)) == self.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """A hub, or a mirror of it. Methods raise DownloadError."""

    endpoint: str = ENDPOINT
    timeout: float = STALL_TIMEOUT  # seconds

    def snapshot(self, repo: str, revision: str) -> Snapshot:
        """The commit that a branch, a tag or a commit is now, and the names of its files."""
        url = f"{self.endpoint}/api/models/{repo}/revision/{quote(revision, safe='')}"
        response = self._ask("GET", url, repo=repo, revision=revision, path="files")
        try:
            found = response.json()
            commit, paths = found["sha"], frozenset(each["rfilename"] for each in found["siblings"])
        except (ValueError, KeyError, TypeError) as strange:
            raise DownloadError(f"{self.endpoint} does not answer as a hub does") from strange
        if not _COMMIT.fullmatch(str(commit)) or (_COMMIT.fullmatch(revision) and commit != revision):
            raise DownloadError(f"{self.endpoint} does not say which commit {revision} of {repo} is")
        return Snapshot(repo=repo, commit=commit, paths=paths)

    def describe(self, snapshot: Snapshot, path: str) -> HubFile:
        """The hub's description of a file, before it sends it."""
        repo, commit = snapshot.repo, snapshot.commit
        url = f"{self.endpoint}/{repo}/resolve/{commit}/{quote(path)}"
        response = self._ask("HEAD", url, repo=repo, revision=commit, path=path)
        headers = response.headers
        etag = headers.get("X-Linked-ETag") or headers.get("ETag") or ""
        digest = etag.removeprefix("W/").strip('"')
        size = headers.get("X-Linked-Size") or ""
        if not size and not response.is_redirect:
            size = headers.get("Content-Length", "")
        if headers.get("X-Repo-Commit") != commit:
            raise DownloadError(f"{self.endpoint} has {path} of {repo} of another commit than {commit}")
        if not _DIGEST.fullmatch(digest) or not size.isdecimal():
            raise DownloadError(f"{self.endpoint} does not say the digest and the size of {path} of {repo}")
        return HubFile(path=path, url=url, size=int(size), digest=digest)

    def _ask(self, method: str, url: str, *, repo: str, revision: str, path: str) -> "httpx.Response":
        """The hub's own response: redirects are followed on its host alone."""
        import httpx

        try:
            with httpx.Client(timeout=self.timeout, verify=default_tls()) as client:
                for _ in range(REDIRECTS + 1):
                    # Compressed, a file would have another size and another digest.
                    request = client.build_request(method, url, headers={"Accept-Encoding": "identity"})
                    # Also ends the look-up of the name.
                    response = within(self.timeout, partial(client.send, request))
                    target = urljoin(url, response.headers.get("Location", ""))
                    if not response.has_redirect_location or urlsplit(target).netloc != urlsplit(url).netloc:
                        break
                    url = target
        except (httpx.HTTPError, httpx.InvalidURL, ImportError, TimeoutError, ValueError) as trouble:
            raise as_download_error(trouble, url, self.timeout) from trouble
        if response.is_error:
            code = response.headers.get("X-Error-Code", "")
            reason = _REFUSALS.get(code) or _REFUSALS.get(str(response.status_code))
            reason = reason or f"the server answered {response.status_code}"
            raise DownloadError(reason.format(repo=repo, revision=revision, path=path))
        return response


def git_sha1_of(file: Path) -> str:
    """The name of a file's content in git: SHA-1 of "blob", its size and its bytes."""
    digest = hashlib.sha1(f"blob {file.stat().st_size}\0".encode(), usedforsecurity=False)
    with file.open("rb") as content:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
