"""What a person is told who adds spaces of Confluence: how they are named, and where a token is made."""

from __future__ import annotations

from collections.abc import Sequence

from core.settings import Settings
from core.sources.confluence.address import CLOUD_HOSTS, canonical_address, parse
from core.sources.credentials import Credential
from core.sources.source import SourceGuide

CLOUD_TOKENS = "https://id.atlassian.com/manage-profile/security/api-tokens"
#: Of a Data Center, "Using personal access tokens" of its documentation.
OWN_TOKENS = "{base}/plugins/personalaccesstokens/usertokens.action"


def credentials(text: str, settings: Settings) -> Sequence[Credential]:
    """A token of somebody who may read the spaces."""
    address = parse(text)
    is_cloud = address.host.endswith(CLOUD_HOSTS)
    return (
        Credential(
            setting="CONFLUENCE_TOKENS",
            entry=f"{address.host}={'YOU@EXAMPLE.ORG:TOKEN' if is_cloud else 'TOKEN'}",
            rights=""
            if is_cloud
            else "View and administer the spaces: others are not shown who may view them",
            made_at=CLOUD_TOKENS if is_cloud else OWN_TOKENS.format(base=address.base),
            is_set=bool(settings.confluence_tokens.get(address.host)),
        ),
    )


def typed_address(typed: str) -> str:
    return canonical_address(typed if "://" in typed else f"https://{typed}")


GUIDE = SourceGuide(
    title="A space or a page of Confluence",
    asks="Its address in a browser",
    example="https://acme.atlassian.net/wiki/spaces/ENG",
    address=typed_address,
    credentials=credentials,
    extra="confluence",
    packages=("atlassian", "requests"),
)
