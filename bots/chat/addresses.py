"""The addresses of channels as sources, and the command that reads a source again."""

import re
import shlex
from pathlib import Path

from core.errors import SettingsError
from core.library.library import DEFAULT_COLLECTION
from core.sources import source
from core.sources.git.address import FILE_PAGES, is_repository
from core.sources.kinds import SOURCE_KINDS


def _channel_addresses(platform: str, *, ids: str, hint: str) -> source.AddressKind:
    """``ids``: a regular expression of what stands behind "platform:"; ``hint``: where people find an id."""
    shape = re.compile(f"{platform}:(?:#[^\\s/#]+|{ids})")

    def canonical(address: str) -> str:
        if not shape.fullmatch(address):
            raise SettingsError(
                f"{address} names no channel of {platform.title()}: {platform}:#NAME, or {platform}:ID {hint}. "
                "Direct messages are not read."
            )
        return address

    return source.AddressKind(prefixes=(f"{platform}:",), canonical=canonical, label=str)


SLACK_CHANNELS = _channel_addresses(
    "slack",
    ids=r"(?:(?://)?[TE][A-Z0-9]+/)?[CG][A-Z0-9]+",
    hint="with the id at the end of *About* in the channel's details",
)
DISCORD_CHANNELS = _channel_addresses(
    "discord",
    ids=r"(?:(?://)?\d{17,20}/)?\d{17,20}",
    hint="with the id that *Copy Channel ID* gives in its menu (User Settings › Advanced › Developer Mode)",
)
ADDRESSES: source.AddressKinds = {**SOURCE_KINDS, "slack": SLACK_CHANNELS, "discord": DISCORD_CHANNELS}


def typed_channel(typed: str, addresses: source.AddressKind, link: re.Pattern[str]) -> str:
    """The address of a channel by its name, id, address, or a link with the id in its group; SettingsError."""
    (prefix,) = addresses.prefixes
    bare = typed.removeprefix(prefix)
    named = found[1] if (found := link.fullmatch(bare)) else bare
    try:
        return addresses.canonical(f"{prefix}{named}")
    except SettingsError:
        if named.startswith("#"):
            raise
        return addresses.canonical(f"{prefix}#{named}")


def channel_in(address: str) -> tuple[str, str]:
    """The workspace or server, which may be empty, and the channel's id or "#name"."""
    space, _, channel = address.partition(":")[2].removeprefix("//").rpartition("/")
    return space, channel


def ingest_command(address: str, *, collection: str = DEFAULT_COLLECTION) -> str:
    """The command that reads the source of a kept address."""
    kind = source.kind_of(address, ADDRESSES)
    typed, options = (kind.typed(address), kind.options(address)) if kind else (address, ())
    named = () if collection == DEFAULT_COLLECTION else ("--collection", shlex.quote(collection))
    return " ".join((_typed(typed), *options, *named))


def ways_of_reading(name: str) -> str:
    """A sentence about how to name a source that a path or page may mean; empty for none."""
    if name.startswith(("http://", "https://")):
        host, _, path = name.partition("://")[2].partition("/")
        is_repository_page = host.startswith(tuple(FILE_PAGES)) and path.strip("/").count("/") == 1
        if name.startswith("https://") and (path.endswith(".git") or is_repository_page):
            return f"To read the repository: `{_typed(f'git+{name}')}`."
        return f"To read the website: `{_typed(name)} --follow`."
    if is_repository(Path(name).expanduser()):
        return f"To read what is committed in the repository {name}: `{_typed(f'{name}#')}`."
    return ""


def _typed(name: str) -> str:
    return f"footnote ingest {shlex.quote(name)}"
