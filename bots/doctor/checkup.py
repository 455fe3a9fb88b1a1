"""The checkup: all checks run side by side, each with a time limit, and none stops another."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from bots.doctor import discord, index, models, search, settings, slack, sources, stores
from bots.doctor.findings import Finding, failed, skipped, warning
from bots.doctor.settings import CORE_SETTINGS, SECRETS, Configuration
from bots.mcp.settings import MCP_SETTINGS
from bots.page.settings import PAGE_SETTINGS
from bots.platforms import source_kinds
from core.conversation import value

TIMEOUT = 30.0  # seconds for one check
PEOPLE = "people"

logger = logging.getLogger(__name__)

Examine = Callable[[Configuration], Awaitable[list[Finding]]]


class PlatformDoctor(Protocol):
    """The module of a platform beside this one."""

    TITLE: str  #: as people write it
    SETUP: str  #: how to set it up
    TOKENS: tuple[str, ...]  #: settings of which at least one is set where the platform is used
    #: All settings; none is shown, as the address of a proxy may hold a password too.
    SETTINGS: tuple[str, ...]
    ID: re.Pattern[str]  #: the id of a person, a role or a group
    ID_HELP: str  #: where such an id is found

    async def examine(self, configuration: Configuration, /) -> list[Finding]: ...


#: By the name that is typed. Another platform is another entry.
PLATFORM_DOCTORS: Mapping[str, PlatformDoctor] = {"slack": slack, "discord": discord}

_PLATFORM_SETTINGS = tuple(name for platform in PLATFORM_DOCTORS.values() for name in platform.SETTINGS)
SETTING_NAMES = (*CORE_SETTINGS, *PAGE_SETTINGS, *MCP_SETTINGS, *_PLATFORM_SETTINGS)
SECRET_NAMES = (*SECRETS, *_PLATFORM_SETTINGS)
STORE_SETTINGS = ("DATA_DIR", "DATABASE_URL")
MODEL_SETTINGS = ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "CHAT_MODEL", "GRADER_MODEL", "MODEL_TIMEOUT")
SEARCH_SETTINGS = (
    "WEB_SEARCH", "TAVILY_API_KEY", "TAVILY_BASE_URL", "SEARXNG_URL", "SEARCH_TIMEOUT", "WEB_APPROVAL",
)  # fmt: skip
EMBEDDING_SETTINGS = ("EMBEDDING_MODEL", "GOOGLE_GEMINI_BASE_URL", "HF_ENDPOINT")
SOURCE_SETTINGS = (
    *STORE_SETTINGS, "PRIVATE_HOSTS", "GIT_TOKENS", "CONFLUENCE_TOKENS", "CONFLUENCE_EVERYONE",
    "CONFLUENCE_OPEN_SPACES", "DRIVE_CREDENTIALS", "NOTION_TOKEN",
)  # fmt: skip


@value
class Check:
    """One kind of thing to look at."""

    name: str
    examine: Examine
    reads: tuple[str, ...] = ()  #: settings that it needs
    after: str = ""  #: the check that must not have failed


MODELS = "models"  # as people name them to the command


def checks_for(names: Collection[str]) -> tuple[Check, ...]:
    """All checks. A platform that is named has to work, the others only where one of their tokens is set. Where the
    sources are named, there has to be one; where nothing else is, only what they stand on is looked at too, and of
    models that are named alone nothing else.
    """
    read_sources = partial(sources.examine, is_named=sources.NAME in names, kinds=source_kinds(None))
    folder = Check(name=stores.NAME, examine=_in_thread(stores.examine), reads=("DATA_DIR",))
    of_sources = Check(name=sources.NAME, examine=read_sources, reads=SOURCE_SETTINGS, after=folder.name)
    of_models = (
        Check(name=models.NAME, examine=models.examine, reads=MODEL_SETTINGS),
        Check(name=models.EMBEDDING, examine=_in_thread(models.examine_embedding), reads=EMBEDDING_SETTINGS),
        Check(name=models.RERANKER, examine=_in_thread(models.examine_reranker), reads=("RERANKER",)),
    )
    if set(names) == {sources.NAME}:
        return (_settings_check(SOURCE_SETTINGS), folder, of_sources)
    if set(names) == {MODELS}:
        return (_settings_check((*MODEL_SETTINGS, *EMBEDDING_SETTINGS, "RERANKER")), *of_models)
    return (
        _settings_check(),
        folder,
        Check(name=index.NAME, examine=_in_thread(index.examine), reads=("DATA_DIR",), after=folder.name),
        of_sources,
        *of_models,
        Check(name=search.NAME, examine=search.examine, reads=SEARCH_SETTINGS),
        Check(
            name=stores.TURNS,
            examine=_in_thread(stores.examine_turns),
            reads=STORE_SETTINGS,
            after=folder.name,
        ),
        *(_platform_check(platform, is_named=name in names) for name, platform in PLATFORM_DOCTORS.items()),
        Check(name=PEOPLE, examine=examine_people),
    )


def _settings_check(names: Collection[str] | None = None) -> Check:
    """``names``: the settings whose faults count; None: all."""

    def look(configuration: Configuration) -> list[Finding]:
        every = configuration.faults.items()
        faults = {name: fault for name, fault in every if names is None or name in names}
        return settings.examine(replace(configuration, faults=faults), SETTING_NAMES)

    return Check(name=settings.NAME, examine=_in_thread(look))


async def examine(checks: Collection[Check], configuration: Configuration) -> AsyncIterator[Finding]:
    """The findings in the order of the checks, each as soon as those before it are there."""
    running: dict[str, asyncio.Task[list[Finding]]] = {}
    for check in checks:
        running[check.name] = asyncio.create_task(_run(check, configuration, running.get(check.after)))
    for task in running.values():
        for finding in await task:
            yield finding


async def _run(
    check: Check, configuration: Configuration, first: asyncio.Task[list[Finding]] | None
) -> list[Finding]:
    if wrong := [name for name in check.reads if name in configuration.faults]:
        return [skipped(check.name, f"Not looked at until {' and '.join(wrong)} can be read.")]
    if first is not None and any(finding.state == "failed" for finding in await first):
        return [skipped(check.name, f"Not looked at until the {check.after} can be used.")]
    try:
        async with asyncio.timeout(TIMEOUT):
            return await check.examine(configuration)
    except TimeoutError:
        return [failed(check.name, f"It did not come to an end within {TIMEOUT:g} s.")]
    except Exception as error:
        # The boundary of one check: the others go on.
        logger.exception("%s could not be examined", check.name)
        sentence = f"Footnote has a fault of its own here ({type(error).__name__})."
        return [failed(check.name, sentence, "`LOG_LEVEL=info footnote doctor` shows where.")]


def _in_thread(blocking: Callable[[Configuration], list[Finding]]) -> Examine:
    async def examine(configuration: Configuration) -> list[Finding]:
        return await asyncio.to_thread(blocking, configuration)

    return examine


def _platform_check(platform: PlatformDoctor, *, is_named: bool) -> Check:
    async def examine(configuration: Configuration) -> list[Finding]:
        if _is_used(platform, configuration):
            return await platform.examine(configuration)
        if is_named:
            unset = f"It is not set up: {platform.TOKENS[0]} is not set."
            return [failed(platform.TITLE, unset, platform.SETUP)]
        return [skipped(platform.TITLE, f"Not set up. {platform.SETUP}")]

    return Check(name=platform.TITLE, examine=examine)


def _is_used(platform: PlatformDoctor, configuration: Configuration) -> bool:
    return any(configuration.values.get(name, "").strip() for name in platform.TOKENS)


async def examine_people(configuration: Configuration) -> list[Finding]:
    """Names in WEB_APPROVERS, LEARNERS and EXPERTS where an id is needed; nothing is found where no platform is set up."""
    platforms = [platform for platform in PLATFORM_DOCTORS.values() if _is_used(platform, configuration)]
    if not platforms:
        return []
    owners = " or ".join(f"{platform.TITLE}'s" for platform in platforms)
    fix = " ".join(platform.ID_HELP for platform in platforms)
    found = []
    lists = (
        ("WEB_APPROVERS", configuration.settings.web_approvers),
        ("LEARNERS", configuration.settings.learners),
        ("EXPERTS", tuple(each for named in configuration.settings.experts.values() for each in named)),
    )
    for name, people in lists:
        unknown = [each for each in people if not any(platform.ID.fullmatch(each) for platform in platforms)]
        if unknown:
            wrong = "is no id" if len(unknown) == 1 else "are no ids"
            found.append(warning(PEOPLE, f"{', '.join(unknown)} in {name} {wrong} of {owners}.", fix))
    return found
