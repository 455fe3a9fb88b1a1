"""What a person is told who adds a folder of Google Drive: how it is named, and where its service account is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.settings import Settings
from core.sources.credentials import Credential
from core.sources.drive.address import typed_address
from core.sources.source import SourceGuide


def credentials(_address: str, settings: Settings) -> Sequence[Credential]:
    """The key of a service account, with which the folder must be shared."""
    path = settings.drive_credentials
    return (
        Credential(
            setting="DRIVE_CREDENTIALS",
            entry="FILE",
            made_at="https://console.cloud.google.com/iam-admin/serviceaccounts",
            rights="a key of type JSON, of an account with which the folder is shared as an editor",
            is_set=bool(path),
            file=Path(path).expanduser() if path else None,
        ),
    )


GUIDE = SourceGuide(
    title="Google Drive",
    asks="The address of a folder or a shared drive in your browser; drive: reads all that is shared with the account",
    example="https://drive.google.com/drive/folders/1AbCdEfGhIjKlMnOpQrStUvWxYz",
    address=typed_address,
    credentials=credentials,
)
