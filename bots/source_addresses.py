"""How the addresses of all kinds of sources look: those of core, and the channels of the platforms."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from bots.chat.channel_address import channel_addresses
from bots.discord.route import PLATFORM as DISCORD
from bots.slack.route import PLATFORM as SLACK
from core.library.library import DEFAULT_COLLECTION
from core.sources.git.address import PAGES, is_repository
from core.sources.kinds import KINDS
from core.sources.source import AddressKind, kind_of

SLACK_CHANNELS = channel_addresses(
    SLACK,
    ids=r"(?:(?://)?[TE][A-Z0-9]+/)?[CG][A-Z0-9]+",
    hint="with the id at the end of *About* in the channel's details",
)
DISCORD_CHANNELS = channel_addresses(
    DISCORD,
    ids=r"(?:(?://)?\d{17,20}/)?\d{17,20}",
    hint="with the id that *Copy Channel ID* gives in its menu (User Settings › Advanced › Developer Mode)",
)
ADDRESSES: Mapping[str, AddressKind] = {**KINDS, SLACK: SLACK_CHANNELS, DISCORD: DISCORD_CHANNELS}


def ingest_command(address: str, *, collection: str = DEFAULT_COLLECTION) -> str:
    """What a person types to have the source of a kept address read."""
    kind = kind_of(address, ADDRESSES)
    typed, options = (kind.typed(address), kind.options(address)) if kind else (address, ())
    named = () if collection == DEFAULT_COLLECTION else ("--collection", shlex.quote(collection))
    return " ".join((_typed(typed), *options, *named))


def ways_of_reading(name: str) -> str:
    """How a path or a page is written that may be meant as a source, as a sentence; empty for none."""
    if name.startswith(("http://", "https://")):
        host, _, path = name.partition("://")[2].partition("/")
        is_repository_page = host.startswith(tuple(PAGES)) and path.strip("/").count("/") == 1
        if name.startswith("https://") and (path.endswith(".git") or is_repository_page):
            return f"To read the repository: `{_typed(f'git+{name}')}`."
        return f"To read the website: `{_typed(name)} --follow`."
    if is_repository(Path(name).expanduser()):
        return f"To read what is committed in the repository {name}: `{_typed(f'{name}#')}`."
    return ""


def _typed(name: str) -> str:
    return f"footnote ingest {shlex.quote(name)}"
