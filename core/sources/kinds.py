"""The kinds of sources: a new one is its file, and its line here."""

from __future__ import annotations

from collections.abc import Mapping

from core.sources.git import source as git
from core.sources.source import SourceKind

KINDS: Mapping[str, SourceKind] = {"git": git.KIND}
