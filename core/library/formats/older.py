"""Files of older and of other programs, which are not read, and what a person saves them as."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from core.errors import DocumentError

OLE_SIGNATURE = bytes.fromhex("D0CF11E0A1B11AE1")  # [MS-CFB]: older Office files and encrypted ones

#: By suffix: what it is, and the suffix of what is read.
OLDER: Mapping[str, tuple[str, str]] = {
    ".doc": ("an older Word document", ".docx"),
    ".xls": ("an older Excel workbook", ".xlsx"),
    ".ppt": ("an older PowerPoint presentation", ".pptx"),
    ".pages": ("a document of Pages", ".docx"),
    ".numbers": ("a spreadsheet of Numbers", ".xlsx"),
    ".key": ("a presentation of Keynote", ".pptx"),
}
#: By a stream that tells it, whose name is kept in UTF-16.
_STREAMS = {"WordDocument": ".doc", "PowerPoint Document": ".ppt", "Workbook": ".xls", "Book": ".xls"}


def refusal(suffix: str) -> str:
    what, instead = OLDER[suffix]
    return f"is {what} ({suffix}), which is not read; save it as {instead}"


def refuse_older(data: bytes, *, suffix: str) -> None:
    """DocumentError for a file of an older program that has the name of a newer one, and for an encrypted one."""
    if not data.startswith(OLE_SIGNATURE):
        return
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise DocumentError("is encrypted; save it without a password first")
    kind = next((kind for name, kind in _STREAMS.items() if name.encode("utf-16-le") in data), "")
    what = OLDER[kind][0] if kind else "an older document"
    raise DocumentError(
        f"is {what} though it is named {suffix}; save it as {OLDER[kind][1] if kind else suffix}"
    )


def summary(suffixes: Collection[str], example: str) -> str:
    """Completes "FOLDER: …" for so many files, of which ``example`` is the first."""
    kinds = sorted(set(suffixes))
    instead = ", ".join(dict.fromkeys(OLDER[kind][1] for kind in kinds))
    return (
        f"{len(suffixes):,} files of older or other programs are not read ({', '.join(kinds)}), as {example};"
        f" save them as {instead}"
    )
