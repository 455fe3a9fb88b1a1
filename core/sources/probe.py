"""A first look at a source: what it would read, without reading or storing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

from core.conversation import value
from core.settings import Settings
from core.sources.kinds import KINDS
from core.sources.source import (
    CursorExpired,
    SourceBatch,
    SourceContext,
    SourceItem,
    SourceKind,
    SourceUnavailable,
    require_kind,
)

TITLES = 10  # that are shown of what would be read
BATCHES = 5  # that are listed at most until there are so many


@value
class Glimpse:
    """The items that a source would have read."""

    titles: Sequence[str]  #: of the first items, as people name them
    count: int  #: items that were listed, or as many as the source says it has
    is_estimate: bool  #: whether there are about so many; else it has exactly these
    note: str = ""  #: what the source says of itself


async def probe(address: str, settings: Settings, *, kinds: Mapping[str, SourceKind] = KINDS) -> Glimpse:
    """The beginning of what a source lists, by a kept address.

    Raises SettingsError, SourceUnavailable and SourceThrottled with what is in the way, as a sync does.
    """
    kind = require_kind(address, kinds)
    with TemporaryDirectory(prefix="footnote-", ignore_cleanup_errors=True) as folder:
        context = SourceContext(settings=settings, folder=Path(folder, "source"))
        meant = await kind.resolve(address, context)
        async with kind.open(meant, context) as source, aclosing(source.changes(None)) as batches:
            seen: list[SourceBatch] = []
            is_whole = True
            try:
                async for batch in batches:
                    seen.append(batch)
                    if _has_enough(seen):
                        is_whole = False
                        break
            except CursorExpired as expired:
                raise SourceUnavailable("The source cannot list what it has.") from expired
    return glimpse_of(seen, is_whole=is_whole)


def _has_enough(seen: Sequence[SourceBatch]) -> bool:
    return sum(len(batch.items) for batch in seen) >= TITLES or len(seen) >= BATCHES


def glimpse_of(seen: Sequence[SourceBatch], *, is_whole: bool) -> Glimpse:
    items: list[SourceItem] = [item for batch in seen for item in batch.items]
    told = max((batch.total for batch in seen if batch.total is not None), default=0)
    return Glimpse(
        titles=[item.title or item.source for item in items[:TITLES]],
        count=len(items) if is_whole else max(told, len(items)),
        is_estimate=not is_whole,
        note=seen[-1].note if seen else "",
    )


async def check(address: str, settings: Settings, *, kinds: Mapping[str, SourceKind] = KINDS) -> None:
    """Raises as :func:`probe` does, with as few requests as the kind needs to know."""
    kind = require_kind(address, kinds)
    if kind.check is None:
        await probe(address, settings, kinds=kinds)
        return
    with TemporaryDirectory(prefix="footnote-", ignore_cleanup_errors=True) as folder:
        context = SourceContext(settings=settings, folder=Path(folder, "source"))
        await kind.check(await kind.resolve(address, context), context)
