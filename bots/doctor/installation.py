"""What an operator set, read as far as it can be: one wrong setting hides nothing of the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from core.errors import SettingsError
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
