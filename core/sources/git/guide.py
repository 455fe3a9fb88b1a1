"""What a person is told who adds a repository: how it is named, and where a token for it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.errors import SettingsError
from core.settings import Settings
from core.sources.credentials import Credential
from core.sources.git.address import GitAddress, canonical_address, local_address, parse
from core.sources.source import SourceGuide

#: Where a token is made, and the rights that reading takes, by how the name of the host begins.
TOKEN_PAGES: Mapping[str, tuple[str, str]] = {
    "github.": ("https://{host}/settings/personal-access-tokens/new", "Contents: read-only"),
    "gitlab.": ("https://{host}/-/user_settings/personal_access_tokens", "read_repository"),
    "bitbucket.org": ("https://{host}{path}/admin/access-tokens", "repository"),
    "": ("https://{host}/user/settings/applications", "repository: read"),  # Gitea, Forgejo, Codeberg
}

_SSH = re.compile(
    r"([\w.-]+)@([\w.-]+):(?!//)(.+)"
)  # as git itself takes it: git@github.com:acme/handbook.git


def typed_address(typed: str) -> str:
    """The address of a repository as it is kept, of what people copy: a page, what is cloned, or a path."""
    if ssh := _SSH.fullmatch(typed):
        return canonical_address(f"git+ssh://{ssh[1]}@{ssh[2]}/{ssh[3].lstrip('/')}")
    if typed.startswith(("https://", "ssh://", "file://")):
        return canonical_address(f"git+{typed}")
    if typed.startswith("git+"):
        return canonical_address(typed)
    named = typed if "#" in typed else f"{typed}#"
    if (address := local_address(named)) is None:
        place = Path(typed.partition("#")[0]).expanduser()
        raise SettingsError(
            f"{place} is not a git repository."
            if "://" not in typed
            else f"{typed} is not the address of a repository."
        )
    return address


def credentials(text: str, settings: Settings) -> Sequence[Credential]:
    """A token for HTTPS; ssh takes the keys of its user."""
    address = parse(text)
    if address.scheme != "https":
        return ()
    page, rights = _token_page(address)
    return (
        Credential(
            setting="GIT_TOKENS",
            entry=f"{address.host}=TOKEN",
            made_at=page,
            rights=rights,
            is_set=address.host in settings.git_tokens,
            is_needed=False,
        ),
    )


def _token_page(address: GitAddress) -> tuple[str, str]:
    page, rights = next(found for begin, found in TOKEN_PAGES.items() if address.host.startswith(begin))
    return page.format(host=address.place, path=address.path.removesuffix(".git")), rights


GUIDE = SourceGuide(
    title="A repository",
    asks="Its address, or its path on this disk; #FOLDER@BRANCH after it reads a part",
    example="https://github.com/acme/handbook#docs@main",
    address=typed_address,
    credentials=credentials,
)
