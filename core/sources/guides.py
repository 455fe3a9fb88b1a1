"""The guides of the kinds of sources: what a person is asked and told who adds one, and which credential it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from core.settings import Settings
from core.sources.confluence import client as confluence
from core.sources.drive import files as drive
from core.sources.git import address as git
from core.sources.github import convert as github
from core.sources.notion import client as notion
from core.sources.source import Credential, SourceGuide
from core.sources.website import convert as website

#: Where a token of a host of repositories is made and the rights it needs, by how the name of the host begins.
TOKEN_PAGES: Mapping[str, tuple[str, str]] = {
    "github.": ("https://{host}/settings/personal-access-tokens/new", "Contents: read-only"),
    "gitlab.": ("https://{host}/-/user_settings/personal_access_tokens", "read_repository"),
    "bitbucket.org": ("https://{host}{path}/admin/access-tokens", "repository"),
    "": ("https://{host}/user/settings/applications", "repository: read"),  # Gitea, Forgejo, Codeberg
}


def git_credentials(text: str, settings: Settings) -> Sequence[Credential]:
    """A token for HTTPS; ssh takes the keys of its user."""
    address = git.parse(text)
    if address.scheme != "https":
        return ()
    page, rights = next(found for begin, found in TOKEN_PAGES.items() if address.host.startswith(begin))
    return (
        Credential(
            setting="GIT_TOKENS",
            entry=f"{address.host}=TOKEN",
            made_at=page.format(host=address.place, path=address.path.removesuffix(".git")),
            rights=rights,
            is_set=address.host in settings.git_tokens,
            is_needed=False,
        ),
    )


def github_credentials(text: str, settings: Settings) -> Sequence[Credential]:
    """A token; without one, GitHub answers 60 requests an hour about what is public."""
    address = github.parse(text)
    return (
        Credential(
            setting="GIT_TOKENS",
            entry=f"{address.host}=TOKEN",
            made_at=f"https://{address.place}/settings/personal-access-tokens/new",
            rights="Issues: read-only, Pull requests: read-only",
            is_set=bool(settings.git_tokens.get(address.host)),
            is_needed=False,
        ),
    )


def confluence_credentials(text: str, settings: Settings) -> Sequence[Credential]:
    """A token of somebody who may read the spaces."""
    address = confluence.parse(text)
    if address.host.endswith(confluence.CLOUD_HOSTS):
        entry, rights = "YOU@EXAMPLE.ORG:TOKEN", ""
        page = "https://id.atlassian.com/manage-profile/security/api-tokens"
    else:
        entry, rights = "TOKEN", "View and administer the spaces: others are not shown who may view them"
        # "Using personal access tokens" of the documentation of Data Center
        page = f"{address.base}/plugins/personalaccesstokens/usertokens.action"
    return (
        Credential(
            setting="CONFLUENCE_TOKENS",
            entry=f"{address.host}={entry}",
            made_at=page,
            rights=rights,
            is_set=bool(settings.confluence_tokens.get(address.host)),
        ),
    )


def notion_credentials(_text: str, settings: Settings) -> Sequence[Credential]:
    """The token of an integration, with which the pages are shared."""
    return (
        Credential(
            setting="NOTION_TOKEN",
            entry="TOKEN",
            made_at="https://www.notion.so/profile/integrations",
            rights="Read content; share the pages with the integration",
            is_set=bool(settings.notion_token),
        ),
    )


def drive_credentials(_text: str, settings: Settings) -> Sequence[Credential]:
    """The key of a service account, with which the folder is shared."""
    given = settings.drive_credentials
    return (
        Credential(
            setting="DRIVE_CREDENTIALS",
            entry="/PATH/OF/KEY.json",
            made_at="https://console.cloud.google.com/iam-admin/serviceaccounts",
            rights="a JSON key of a service account, with whose address the folder is shared, as an editor",
            is_set=bool(given),
            file=Path(given).expanduser() if given else None,
        ),
    )


GIT = SourceGuide(
    title="A repository",
    asks="Its address, or its path on this disk; #FOLDER@BRANCH after it reads a part",
    example="https://github.com/acme/handbook#docs@main",
    address=git.typed_address,
    credentials=git_credentials,
)
WEBSITE = SourceGuide(
    title="A website, by its links and its sitemap",
    asks="The address of its first page, or of its sitemap",
    example="https://docs.example.org/guide/",
    address=website.typed_address,
    every="1d",
)
DRIVE = SourceGuide(
    title="A folder or a shared drive of Google Drive",
    asks="Its address in a browser; drive: for all that is shared with the service account",
    example="https://drive.google.com/drive/folders/1AbCdEfGhIjKlMnOp",
    address=drive.typed_address,
    credentials=drive_credentials,
)
CONFLUENCE = SourceGuide(
    title="A space or a page of Confluence",
    asks="Its address in a browser",
    example="https://acme.atlassian.net/wiki/spaces/ENG",
    address=confluence.typed_address,
    credentials=confluence_credentials,
)
NOTION = SourceGuide(
    title="Pages and databases of Notion",
    asks="The link of a page; notion: for all that is shared with the integration",
    example="notion:",
    address=notion.typed_address,
    credentials=notion_credentials,
)
GITHUB = SourceGuide(
    title="Issues or pull requests of GitHub",
    asks="The address of their list",
    example="https://github.com/acme/handbook/issues",
    address=github.typed_address,
    credentials=github_credentials,
)
