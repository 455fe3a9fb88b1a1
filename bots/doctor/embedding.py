"""Where dense vectors come from, without fetching anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bots.doctor.findings import Finding, ok, told, warning
from bots.doctor.settings import Installation
from core.errors import SettingsError
from core.settings import Settings

if TYPE_CHECKING:
    from core.library.embedding.embedder import Embedder

NAME = "embedding"


def examine(installation: Installation) -> list[Finding]:
    settings = installation.settings
    if settings.embedding_model == "none":
        return [ok(NAME, "EMBEDDING_MODEL=none: passages are found by their words alone.")]
    try:
        embedder = embedder_here(settings)
    except SettingsError as trouble:
        return [told(NAME, trouble, "Correct EMBEDDING_MODEL, or take it out for its default.")]
    if embedder is None:
        return [
            warning(
                NAME,
                "The local MiniLM is not on this machine yet: passages are found by their words alone.",
                "`footnote ingest PATH` downloads it once, about 80 MB.",
            )
        ]
    if _is_local(settings):
        return [ok(NAME, f"{embedder.name} is on this machine.")]
    return [ok(NAME, f"{embedder.name} makes the vectors; it was not asked for one.")]


def embedder_here(settings: Settings) -> Embedder | None:
    """What EMBEDDING_MODEL names; None for words alone, and for a network that was not downloaded yet.

    Raises SettingsError when it can never be had.
    """
    from core.bootstrap import make_embedder
    from core.library.embedding.minilm import published_by_chroma

    if _is_minilm(settings) and not published_by_chroma().is_unpacked:
        return None
    return make_embedder(settings, announce=_unheard, progress=_unseen)


def _is_minilm(settings: Settings) -> bool:
    named = settings.embedding_model
    return named == "minilm" or (named == "auto" and not settings.google_api_key)


def _is_local(settings: Settings) -> bool:
    return _is_minilm(settings) or (
        settings.embedding_model != "auto" and ":" not in settings.embedding_model
    )


def _unheard(_sentence: str) -> None:
    return None


def _unseen(_done: int, _total: int) -> None:
    return None
