"""Whether the settings are what they were meant to be: faults, misspellings, and a file that others can read.

What an operator set, read as far as it can be: one wrong setting hides nothing of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path

from bots.doctor.findings import Finding, failed, ok, warning
from core.errors import SettingsError
from core.library.data_lock import PRIVATE_UMASK
from core.settings import Settings, read_env_file, read_settings

ENV_FILE = Path(".env")

#: Core's settings as they are written, and those of them that hold a secret.
NAMES = tuple(each.name.upper() for each in fields(Settings))
SECRETS = tuple(each.name.upper() for each in fields(Settings) if not each.repr)

_DEMANDED_BY = re.compile(r" for (\w+)=")  # "TAVILY_API_KEY is needed for WEB_SEARCH=tavily"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The settings of the folder that somebody stands in."""

    in_file: Mapping[str, str] = field(default_factory=dict, repr=False)  #: what .env says
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Settings  #: where one is at fault, its default stands here
    faults: Mapping[str, str] = field(default_factory=dict)  #: setting -> what is wrong with it
    file_fault: str = ""  #: why .env could not be read

    @property
    def given(self) -> dict[str, str]:
        """Everything by name; the environment wins, as it does for every command."""
        return {**self.in_file, **self.environment}

    def place_of(self, *names: str) -> str:
        """Where a setting is given, or best would be."""
        return "the environment" if any(name in self.environment for name in names) else ".env"


def look(environment: Mapping[str, str], env_file: Path = ENV_FILE) -> Installation:
    """The installation that these settings make. Raises nothing."""
    file_fault, in_file = "", {}
    try:
        in_file = read_env_file(env_file)
    except SettingsError as fault:
        file_fault = str(fault)
    given = {name: raw for name in NAMES if (raw := {**in_file, **environment}.get(name, ""))}
    faults = {name: sentence for name, raw in given.items() if (sentence := _fault_of(name, raw))}
    sound = {name: raw for name, raw in given.items() if name not in faults}
    lacking = _lacking(sound)
    unmet = {demand[1] for sentence in lacking.values() if (demand := _DEMANDED_BY.search(sentence))}
    return Installation(
        in_file=in_file,
        environment=environment,
        settings=read_settings({name: raw for name, raw in sound.items() if name not in unmet}, None),
        faults=faults | lacking,
        file_fault=file_fault,
    )


def _fault_of(name: str, raw: str) -> str:
    """What is wrong with one setting by itself; empty when nothing is."""
    try:
        read_settings({name: raw}, None)
    except SettingsError as fault:
        return str(fault) if str(fault).startswith(f"{name} ") else ""
    return ""


def _lacking(sound: Mapping[str, str]) -> dict[str, str]:
    """What these settings need and do not have."""
    try:
        read_settings(sound, None)
    except SettingsError as fault:
        return by_setting(fault)
    return {}


def by_setting(fault: SettingsError) -> dict[str, str]:
    """Setting -> what is wrong with it, where the sentences hold nothing that an operator wrote."""
    sentences = str(fault).removesuffix(".").split("; ")
    return {sentence.partition(" ")[0]: f"{sentence}." for sentence in sentences}


NAME = "settings"
ALIKE = 0.75  # of difflib's similarity; below it lie the keys of other providers
KEY = "_API_KEY"  # how the settings of providers end, which their packages read for themselves


#: Where to get what only others can give.
_SOURCES = {
    "TAVILY_API_KEY": "Get a key at https://app.tavily.com and set TAVILY_API_KEY in {place}.",
    "SEARXNG_URL": "Set SEARXNG_URL in {place} to the address of your SearXNG: http://localhost:8888",
    "WEB_APPROVERS": "Set WEB_APPROVERS in {place} to who may decide, separated by commas.",
}


def examine(installation: Installation, known: Sequence[str]) -> list[Finding]:
    """``known`` are the names of all settings there are, those of the platforms too."""
    faults = [
        *_file_faults(installation),
        *_wrong(installation),
        *misspelt(installation, known),
        *_shadowed(installation, known),
    ]
    return [_summary(installation, known), *faults]


def _summary(installation: Installation, known: Sequence[str]) -> Finding:
    found = f"{ENV_FILE} was read" if ENV_FILE.is_file() else f"There is no {ENV_FILE} in {Path.cwd()}"
    given = [name for name in known if installation.given.get(name, "").strip()]
    told = f"given are {', '.join(given)}" if given else "everything has its default"
    return ok(NAME, f"{found}; {told}.")


def _file_faults(installation: Installation) -> Iterator[Finding]:
    if installation.file_fault:
        yield failed(
            NAME, installation.file_fault, f"Save {ENV_FILE} as UTF-8: `file {ENV_FILE}` says what it is."
        )
    elif ENV_FILE.is_file():
        for number in _unreadable_lines():
            yield warning(
                NAME,
                f"Line {number} of {ENV_FILE} is not NAME=value and is passed over.",
                "Correct it, or begin it with # if it is a note.",
            )
        if ENV_FILE.stat().st_mode & PRIVATE_UMASK and installation.in_file:
            yield warning(
                NAME, f"{ENV_FILE} can be read by others on this machine.", f"`chmod 600 {ENV_FILE}`"
            )


def _unreadable_lines() -> list[int]:
    from dotenv.parser import parse_stream

    with ENV_FILE.open(encoding="utf-8") as stream:
        lines = list(parse_stream(stream))
    nameless = (line for line in lines if line.error or (line.key and line.value is None))
    return [line.original.line for line in nameless]


def _wrong(installation: Installation) -> Iterator[Finding]:
    for name, sentence in installation.faults.items():
        fix = _SOURCES.get(name, "Correct {name} in {place}, or take it out for its default.")
        yield failed(NAME, sentence, fix.format(name=name, place=installation.place_of(name)))


def misspelt(installation: Installation, known: Sequence[str]) -> Iterator[Finding]:
    """Names in .env that look like ours: of our families, or nearly like one of ours."""
    families = {name.partition("_")[0] for name in known}
    for name in sorted(set(installation.in_file) - set(known) - set(installation.environment)):
        if near := get_close_matches(name, known, n=1, cutoff=ALIKE):
            fix = f"Call it {near[0]}, or take it out."
        elif name.endswith(KEY):
            fix = f"Gemini's is called GOOGLE_API_KEY here; other providers need `export {name}=…`"
        elif name.partition("_")[0] in families:
            fix = "Compare with `.env.example`, which lists them all, or take it out."
        else:
            continue
        yield warning(NAME, f"{name} in {ENV_FILE} is no setting of Footnote and does nothing.", fix)


def _shadowed(installation: Installation, known: Sequence[str]) -> Iterator[Finding]:
    for name in known:
        here, outside = installation.in_file.get(name), installation.environment.get(name)
        if here and outside is not None and here != outside:
            yield warning(
                NAME,
                f"{name} is set in {ENV_FILE} and, differently, in the environment, which wins.",
                f"`unset {name}`, or take it out of {ENV_FILE}.",
            )
