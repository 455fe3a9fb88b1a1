"""What a person is told who adds issues of GitHub: how they are named, and where a token is made."""

from __future__ import annotations

from collections.abc import Sequence

from core.settings import Settings
from core.sources.credentials import Credential
from core.sources.github.address import canonical_address, parse
from core.sources.source import SourceGuide


def credentials(text: str, settings: Settings) -> Sequence[Credential]:
    """A token; without one, GitHub answers 60 requests an hour about what is public."""
    address = parse(text)
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


def typed_address(typed: str) -> str:
    return canonical_address(typed if "://" in typed else f"https://{typed}")


GUIDE = SourceGuide(
    title="Issues or pull requests of GitHub",
    asks="The address of their list",
    example="https://github.com/acme/handbook/issues",
    address=typed_address,
    credentials=credentials,
    extra="github",
    packages=("gidgethub",),
)
