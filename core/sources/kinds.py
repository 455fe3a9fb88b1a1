"""The kinds of sources: a new one is its file, and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from core.sources.git import source as git
from core.sources.git.address import local_address
from core.sources.source import SourceKind, kind_of

KINDS: Mapping[str, SourceKind] = {"git": git.KIND}


def source_address(name: str) -> str | None:
    """The address of the source that a person named, as it is kept; None for a path, or a page of the web.

    SettingsError for an address that begins like one of a source and is none.
    """
    kind = kind_of(name, KINDS)
    return kind.canonical(name) if kind else local_address(name)
