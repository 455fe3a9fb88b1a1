"""The checkup: every check side by side, none ended by another, each within its time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial

from bots.doctor import embedding, folder, index, model, platforms, search, settings, turns
from bots.doctor.findings import Finding, failed, skipped
from bots.doctor.platforms import PLATFORMS, Platform
from bots.doctor.settings import NAMES, SECRETS, Installation

PATIENCE = 30.0  # seconds for one check, whatever it waits for

logger = logging.getLogger(__name__)

Examine = Callable[[Installation], Awaitable[list[Finding]]]

KNOWN = (*NAMES, *(name for platform in PLATFORMS for name in platform.settings))
SECRET = (*SECRETS, *(name for platform in PLATFORMS for name in platform.secrets))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One kind of thing to look at."""

    name: str
    examine: Examine
    reads: tuple[str, ...] = ()  #: settings without which it makes no sense
    after: str = ""  #: the check that must not have failed


def checks_for(named: Collection[str]) -> tuple[Check, ...]:
    """All checks; a platform that is named has to work, the others where somebody began to set them up."""
    model_settings = (
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "CHAT_MODEL",
        "GRADER_MODEL",
        "MODEL_TIMEOUT",
    )
    search_settings = (
        "WEB_SEARCH", "TAVILY_API_KEY", "TAVILY_BASE_URL", "SEARXNG_URL", "SEARCH_TIMEOUT", "WEB_APPROVAL",
    )  # fmt: skip
    embedding_settings = ("EMBEDDING_MODEL", "GOOGLE_GEMINI_BASE_URL")
    return (
        Check(name=settings.NAME, examine=_in_thread(partial(settings.examine, known=KNOWN))),
        Check(name=folder.NAME, examine=_in_thread(folder.examine), reads=("DATA_DIR",)),
        Check(name=index.NAME, examine=_in_thread(index.examine), reads=("DATA_DIR",), after=folder.NAME),
        Check(name=model.NAME, examine=model.examine, reads=model_settings),
        Check(name=embedding.NAME, examine=_in_thread(embedding.examine), reads=embedding_settings),
        Check(name=search.NAME, examine=search.examine, reads=search_settings),
        Check(
            name=turns.NAME,
            examine=_in_thread(turns.examine),
            reads=("DATA_DIR", "DATABASE_URL"),
            after=folder.NAME,
        ),
        *(_check_of(platform, is_named=platform.name in named) for platform in PLATFORMS),
        Check(name=platforms.NAME, examine=platforms.examine),
    )


async def examine(checks: Collection[Check], installation: Installation) -> AsyncIterator[Finding]:
    """What is found, in the order of the checks, each as soon as those before it are told."""
    running: dict[str, asyncio.Task[list[Finding]]] = {}
    for check in checks:
        running[check.name] = asyncio.create_task(_run(check, installation, running.get(check.after)))
    for task in running.values():
        for finding in await task:
            yield finding


async def _run(
    check: Check, installation: Installation, first: asyncio.Task[list[Finding]] | None
) -> list[Finding]:
    if wrong := [name for name in check.reads if name in installation.faults]:
        return [skipped(check.name, f"Not looked at until {' and '.join(wrong)} can be read.")]
    if first is not None and any(finding.state == "failed" for finding in await first):
        return [skipped(check.name, f"Not looked at until the {check.after} can be used.")]
    try:
        async with asyncio.timeout(PATIENCE):
            return await check.examine(installation)
    except TimeoutError:
        return [failed(check.name, f"It did not come to an end within {PATIENCE:g} s.")]
    except Exception as fault:
        # The boundary of one check: the others go on.
        logger.exception("%s could not be examined", check.name)
        sentence = f"Footnote has a fault of its own here ({type(fault).__name__})."
        return [failed(check.name, sentence, "`LOG_LEVEL=info footnote doctor` shows where.")]


def _in_thread(look: Callable[[Installation], list[Finding]]) -> Examine:
    """A check that blocks."""

    async def examine(installation: Installation) -> list[Finding]:
        return await asyncio.to_thread(look, installation)

    return examine


def _check_of(platform: Platform, *, is_named: bool) -> Check:
    async def examine(installation: Installation) -> list[Finding]:
        if platform.is_begun(installation):
            return await platform.examine(installation)
        if is_named:
            unset = f"It is not set up: {platform.tokens[0]} is not set."
            return [failed(platform.title, unset, platform.begin)]
        return [skipped(platform.title, f"Not set up. {platform.begin}")]

    return Check(name=platform.title, examine=examine)
