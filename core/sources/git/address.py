"""Addresses of repositories: ``git+https://HOST/PATH#FOLDER@BRANCH``, and where their files are on the web.

Both parts of the fragment may be left out: all folders are read then, and the branch that the repository calls its
own. A tag may stand in place of the branch. The branch comes after the last ``@``; ``%40`` stands for one in a name.
In the form that is kept, a slash of the branch is ``%2F``: what lies in a source begins with its address and a slash,
and must not look like part of the branch.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Literal, cast
from urllib.parse import quote, unquote, urlsplit

from core.conversation import value
from core.errors import SettingsError
from core.settings import Settings
from core.sources.source import Credential, SourceGuide
from core.web.hosts import canonical

PREFIXES = ("git+https://", "git+ssh://", "git+file://")

Scheme = Literal["https", "ssh", "file"]

#: The page of a file at a commit, by how the name of the host begins. Other hosts are not linked to.
FILE_PAGES: Mapping[str, str] = {
    "github.": "/blob/{commit}/{path}", "gitlab.": "/-/blob/{commit}/{path}",
    "gitea.": "/src/commit/{commit}/{path}", "forgejo.": "/src/commit/{commit}/{path}",
    "codeberg.org": "/src/commit/{commit}/{path}", "bitbucket.org": "/src/{commit}/{path}",
}  # fmt: skip
DEFAULT_PORTS: Mapping[Scheme, int] = {"https": 443, "ssh": 22}

_PART = re.compile(r"[^\x00-\x1f\x7f\\]+")  # of a path
_USER = re.compile(r"[\w.][\w.-]*", re.ASCII)
#: As git itself takes it: git@github.com:acme/handbook.git
_SSH = re.compile(r"([\w.-]+)@([\w.-]+):(?!//)(.+)")
#: What git itself refuses in the name of a branch: "git help check-ref-format".
_NO_BRANCH = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[/.]$|\.lock(/|$)|^@$|[\u2028\u2029]", re.ASCII
)


@value
class GitAddress:
    """A repository, and what is read of it."""

    scheme: Scheme
    user: str = ""  #: of ssh
    host: str = ""
    port: int | None = None  #: None: the scheme's own
    path: str  #: of the repository, as in the URL; of a file, an absolute path
    folder: str = ""  #: below which files are read, without slashes around it; or one file
    branch: str = ""  #: or a tag; empty: the repository's own branch

    @property
    def address(self) -> str:
        """The form that is kept."""
        folder = _escape(self.folder, "%@")
        branch = f"@{_escape(self.branch, '%@/')}" if self.branch else ""
        return f"git+{self.remote}" + (f"#{folder}{branch}" if folder or branch else "")

    @property
    def remote(self) -> str:
        """The URL of the repository."""
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{self.netloc}{_escape(self.path, '%#?') if self.scheme == 'file' else self.path}"

    @property
    def netloc(self) -> str:
        """Its host, with the port if it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def name(self) -> str:
        """The name for people. It has the last two parts of its path, of a folder the last one, and what is
        read of it."""
        parts = [part for part in self.path.removesuffix("/.git").removesuffix(".git").split("/") if part]
        return "/".join((*parts[-1 if self.scheme == "file" else -2 :], *filter(None, [self.folder])))

    def page_of(self, path: str, commit: str) -> str | None:
        """The page of a file of the repository; None where that is not known."""
        page = next((page for begin, page in FILE_PAGES.items() if self.host.startswith(begin)), None)
        if page is None:
            return None
        netloc = self.netloc if self.scheme == "https" else self.host
        bare = self.path.removesuffix(".git")
        return f"https://{netloc}{bare}{page.format(commit=commit, path=quote(path, safe='/'))}"


def parse(text: str) -> GitAddress:
    """SettingsError for what is no such address, or has a password in it."""
    bare, _, fragment = text.partition("#")
    scheme = cast("Scheme", bare.partition("://")[0].removeprefix("git+"))
    folder, branch = _fragment(text, fragment)
    if scheme == "file":
        path = unquote(bare.removeprefix("git+file://"))
        if not path.startswith("/") or not _PART.fullmatch(path):
            raise SettingsError(f"git+file://{path} is not an absolute path: git+file:///path/to/repository.")
        return GitAddress(scheme=scheme, path=path.rstrip("/") or "/", folder=folder, branch=branch)
    try:
        url = urlsplit(bare.removeprefix("git+"))
        port, host = url.port, canonical(url.hostname or "")
    except ValueError:
        raise SettingsError(f"{bare} is not the address of a repository.") from None
    if url.password is not None or (url.username is not None and scheme == "https"):
        raise SettingsError(  # not repeated: it holds a password
            "An address with a user or a password in it is not kept. Put a token into GIT_TOKENS: GIT_TOKENS=HOST=TOKEN."
        )
    path = url.path.rstrip("/")
    if not host or url.query or not path or not _PART.fullmatch(path) or " " in path or "/../" in f"{path}/":
        raise SettingsError(f"{bare} is not the address of a repository.")
    if url.username is not None and not _USER.fullmatch(url.username):
        raise SettingsError(f"{bare} names a user that ssh does not take.")
    return GitAddress(
        scheme=scheme, user=url.username or "", host=host, port=None if port == DEFAULT_PORTS[scheme] else port,
        path=path, folder=folder, branch=branch,
    )  # fmt: skip


def without_branch(address: str) -> str:
    """An address as it is kept, without its branch."""
    repository, sign, fragment = address.partition("#")
    folder = fragment.rpartition("@")[0] if "@" in fragment else fragment
    return f"{repository}{sign}{folder}" if folder else repository


def identity_of(address: str) -> str:
    """The identity of a kept address, however it is reached: by https or ssh, with ".git" or without."""
    parsed = parse(address)
    path = parsed.path.removesuffix("/.git").removesuffix(".git")
    # Hosts of repositories do not tell upper case from lower.
    where = path if parsed.scheme == "file" else f"{parsed.host}/{path.strip('/')}".casefold()
    folder = f"/{_escape(parsed.folder, '%@')}" if parsed.folder else ""
    return f"{where}@{_escape(parsed.branch, '%@/')}{folder}"


def local_address(name: str) -> str | None:
    """The address of a repository on this disk that was typed as ``PATH#FOLDER@BRANCH``; None for anything else."""
    path, sign, fragment = name.partition("#")
    folder = Path(path).expanduser()
    if not sign or Path(name).expanduser().exists() or not is_repository(folder):
        return None
    return canonical_address(f"git+file://{_escape(str(folder.resolve()), '%#?')}#{fragment}")


def is_repository(folder: Path) -> bool:
    """True for a repository, or the folder that one is checked out in."""
    return (folder / ".git").exists() or ((folder / "objects").is_dir() and (folder / "HEAD").is_file())


def _fragment(text: str, fragment: str) -> tuple[str, str]:
    before, sign, after = fragment.rpartition("@")
    folder, branch = (unquote(before), unquote(after)) if sign else (unquote(fragment), "")
    if sign and (not branch or _NO_BRANCH.search(branch)):
        raise SettingsError(f"{text} names no branch that git could have: #FOLDER@BRANCH.")
    folder = folder.strip("/")
    if folder and (not _PART.fullmatch(folder) or {"..", ".", ""} & set(folder.split("/"))):
        raise SettingsError(f"{text} names no folder of a repository: #FOLDER@BRANCH.")
    return folder, branch


def _escape(text: str, signs: str) -> str:
    return "".join(f"%{ord(sign):02X}" if sign in signs else sign for sign in text)


def canonical_address(text: str) -> str:
    """The address as it is kept; SettingsError for an invalid one, or for a folder without a repository."""
    address = parse(text)
    if address.scheme != "file":
        return address.address
    folder = Path(address.path).resolve()
    if not is_repository(folder):
        raise SettingsError(f"{folder} is not a git repository.")
    return replace(address, path=str(folder)).address


def item_of(path: str, folder: str) -> str:
    """A path in the repository as one below the folder that is read; of that file itself, its name."""
    return PurePosixPath(path).name if path == folder else path.removeprefix(f"{folder}/" if folder else "")


def typed_address(typed: str) -> str:
    """An address as it is kept, of what people copy: a page, what is cloned, or a path."""
    if ssh := _SSH.fullmatch(typed):
        return canonical_address(f"git+ssh://{ssh[1]}@{ssh[2]}/{ssh[3].lstrip('/')}")
    if typed.startswith(("https://", "ssh://", "file://")):
        return canonical_address(f"git+{typed}")
    if typed.startswith("git+"):
        return canonical_address(typed)
    named = typed if "#" in typed else f"{typed}#"
    if (address := local_address(named)) is not None:
        return address
    if "://" in typed:
        raise SettingsError(f"{typed} is not the address of a repository.")
    raise SettingsError(f"{Path(typed.partition('#')[0]).expanduser()} is not a git repository.")


#: Where a token of a host of repositories is made and the rights it needs, by how the name of the host begins.
TOKEN_PAGES: Mapping[str, tuple[str, str]] = {
    "github.": ("https://{host}/settings/personal-access-tokens/new", "Contents: read-only"),
    "gitlab.": ("https://{host}/-/user_settings/personal_access_tokens", "read_repository"),
    "bitbucket.org": ("https://{host}{path}/admin/access-tokens", "repository"),
    "": ("https://{host}/user/settings/applications", "repository: read"),  # Gitea, Forgejo, Codeberg
}


def credentials_of(text: str, settings: Settings) -> Sequence[Credential]:
    """A token for HTTPS; ssh takes the keys of its user."""
    address = parse(text)
    if address.scheme != "https":
        return ()
    page, rights = next(found for begin, found in TOKEN_PAGES.items() if address.host.startswith(begin))
    token = Credential(
        setting="GIT_TOKENS", entry=f"{address.host}=TOKEN",
        made_at=page.format(host=address.netloc, path=address.path.removesuffix(".git")), rights=rights,
        is_set=address.host in settings.git_tokens, is_needed=False,
    )  # fmt: skip
    return (token,)


GUIDE = SourceGuide(
    title="A repository", asks="Its address, or its path on this disk; #FOLDER@BRANCH after it reads a part",
    example="https://github.com/acme/handbook#docs@main", address=typed_address, credentials=credentials_of,
)  # fmt: skip
