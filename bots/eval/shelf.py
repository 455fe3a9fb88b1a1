"""The documents as they lie on the disk, beside the index: which file is meant, and whether a quote stands in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.conversation import Citation
from core.errors import DocumentError
from core.library.formats.read import read_document

#: Files whose offsets count characters of the file itself: they are read here without any loader.
ITSELF = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".txt", ".text", ".rst", ".log"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    files: Mapping[str, tuple[str, ...]]  #: source -> absolute paths or URLs of that name
    _texts: dict[str, str | None] = field(default_factory=dict, repr=False)

    def meant_by(self, name: str) -> frozenset[str]:
        """The sources of that name below what was indexed; else those whose path ends so."""
        exactly = frozenset(
            source
            for source, addresses in self.files.items()
            if name in (source, source.partition("/")[2], *addresses)
        )
        return exactly or frozenset(source for source in self.files if source.endswith(f"/{name}"))

    def holds(self, citation: Citation) -> bool | None:
        """Whether the quote stands at its offsets, word for word; None where there is no file to look into."""
        addresses = self.files.get(citation.source, ())
        texts = [text for address in addresses if (text := self._text(address)) is not None]
        if citation.origin == "web" or not texts:
            return None
        return any(text[citation.start : citation.end] == citation.quote for text in texts)

    def _text(self, address: str) -> str | None:
        if address not in self._texts:
            self._texts[address] = None if "://" in address else text_of(Path(address))
        return self._texts[address]


def shelf_of(places: Iterable[tuple[str, str]]) -> Shelf:
    """From pairs of source and address."""
    files: dict[str, tuple[str, ...]] = {}
    for source, address in places:
        files[source] = (*files.get(source, ()), address)
    return Shelf(files=files)


def text_of(file: Path) -> str:
    """The file's text, to which offsets refer; empty where it can no longer be read, so that no quote stands."""
    try:
        if file.suffix.lower() in ITSELF:
            return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        pass  # gone, or of an older encoding: the loader knows
    try:
        return read_document(file).text
    except DocumentError:
        return ""
