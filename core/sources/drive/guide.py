"""What a person is told who adds folders of Google Drive: how they are named, and where a key is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.settings import Settings
from core.sources.credentials import Credential
from core.sources.drive.address import PREFIX, browser_address, canonical_address
from core.sources.source import SourceGuide

ACCOUNTS = "https://console.cloud.google.com/iam-admin/serviceaccounts"


def credentials(_text: str, settings: Settings) -> Sequence[Credential]:
    """The key of a service account, with whom the folder is shared."""
    given = settings.drive_credentials
    return (
        Credential(
            setting="DRIVE_CREDENTIALS",
            entry="/PATH/OF/KEY.json",
            made_at=ACCOUNTS,
            rights="a JSON key of a service account, with whose address the folder is shared, as an editor",
            is_set=bool(given),
            file=Path(given).expanduser() if given else None,
        ),
    )


def typed_address(typed: str) -> str:
    """Of what a browser shows, of an identifier alone, or as it is kept."""
    if (found := browser_address(typed)) is not None:
        return found
    return canonical_address(typed if typed.startswith(PREFIX) else f"{PREFIX}{typed}")


GUIDE = SourceGuide(
    title="A folder or a shared drive of Google Drive",
    asks="Its address in a browser; drive: for all that is shared with the service account",
    example="https://drive.google.com/drive/folders/1AbCdEfGhIjKlMnOp",
    address=typed_address,
    credentials=credentials,
)
