"""The settings that an operator made, and what is wrong with them. One wrong setting does not keep the others from being read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields
from difflib import get_close_matches
from pathlib import Path

from bots.doctor.findings import Finding, failed, ok, warning
from core.conversation import value
from core.errors import SettingsError
from core.library.data_lock import PRIVATE_UMASK
from core.settings import ENV_FILE, Settings, broken_lines, read_env_file, read_settings

#: Core's settings as they are written, and those of them that hold a secret.
CORE_SETTINGS = tuple(each.name.upper() for each in fields(Settings))
SECRETS = tuple(each.name.upper() for each in fields(Settings) if not each.repr)

_NEEDED_FOR = re.compile(r" for (\w+)=")  # "TAVILY_API_KEY is needed for WEB_SEARCH=tavily"


@value
class Configuration:
    """The settings in the current folder."""

    in_file: Mapping[str, str] = field(default_factory=dict, repr=False)  #: what .env says
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Settings  #: with the default in place of each that is wrong
    faults: Mapping[str, str] = field(default_factory=dict)  #: setting -> what is wrong with it
    file_fault: str = ""  #: why .env could not be read

    @property
    def values(self) -> dict[str, str]:
        """Everything by name; the environment wins, as it does for every command."""
        return {**self.in_file, **self.environment}

    def set_in(self, *names: str) -> str:
        """The name of where a setting is set, or should be."""
        return "the environment" if any(name in self.environment for name in names) else ".env"


def read_configuration(environment: Mapping[str, str], env_file: Path = ENV_FILE) -> Configuration:
    """The configuration with its faults; raises nothing."""
    file_fault, in_file = "", {}
    try:
        in_file = read_env_file(env_file)
    except SettingsError as fault:
        file_fault = str(fault)
    values = {name: raw for name in CORE_SETTINGS if (raw := {**in_file, **environment}.get(name, ""))}
    faults = {name: sentence for name, raw in values.items() if (sentence := _fault_of(name, raw))}
    sound = {name: raw for name, raw in values.items() if name not in faults}
    missing = _find_missing(sound)
    unmet = {needed[1] for sentence in missing.values() if (needed := _NEEDED_FOR.search(sentence))}
    return Configuration(
        in_file=in_file,
        environment=environment,
        settings=read_settings({name: raw for name, raw in sound.items() if name not in unmet}, None),
        faults=faults | missing,
        file_fault=file_fault,
    )


def _fault_of(name: str, raw: str) -> str:
    """The fault of one setting by itself; empty when there is none."""
    try:
        read_settings({name: raw}, None)
    except SettingsError as fault:
        return str(fault) if str(fault).startswith(f"{name} ") else ""
    return ""


def _find_missing(sound: Mapping[str, str]) -> dict[str, str]:
    """The settings that these need and that are not set."""
    try:
        read_settings(sound, None)
    except SettingsError as fault:
        return faults_by_setting(fault)
    return {}


def faults_by_setting(fault: SettingsError) -> dict[str, str]:
    """Setting -> what is wrong with it. For errors whose sentences quote no value: one could contain the separator."""
    sentences = str(fault).removesuffix(".").split("; ")
    return {sentence.partition(" ")[0]: f"{sentence}." for sentence in sentences}


NAME = "settings"
SIMILARITY = 0.75  # difflib's
KEY = "_API_KEY"  # how the settings of providers end, which their packages read from the environment

#: How to get what a default cannot provide.
_SOURCES = {
    "TAVILY_API_KEY": "Get a key at https://app.tavily.com and set TAVILY_API_KEY in {where}.",
    "SEARXNG_URL": "Set SEARXNG_URL in {where} to the address of your SearXNG: http://localhost:8888",
    "WEB_APPROVERS": "Set WEB_APPROVERS in {where} to who may decide, separated by commas.",
}


def examine(configuration: Configuration, names: Sequence[str]) -> list[Finding]:
    """``names``: of all settings, those of the platforms included."""
    read = f"{ENV_FILE} was read" if ENV_FILE.is_file() else f"There is no {ENV_FILE} in {Path.cwd()}"
    set_names = [name for name in names if configuration.values.get(name, "").strip()]
    given = f"given are {', '.join(set_names)}" if set_names else "everything has its default"
    found = [ok(NAME, f"{read}; {given}."), *_examine_file(configuration)]
    for name, sentence in configuration.faults.items():
        fix = _SOURCES.get(name, "Correct {name} in {where}, or take it out for its default.")
        found.append(failed(NAME, sentence, fix.format(name=name, where=configuration.set_in(name))))
    return [*found, *find_misspellings(configuration, names), *_find_shadowed(configuration, names)]


def _examine_file(configuration: Configuration) -> Iterator[Finding]:
    if configuration.file_fault:
        yield failed(
            NAME, configuration.file_fault, f"Save {ENV_FILE} as UTF-8: `file {ENV_FILE}` says what it is."
        )
    elif ENV_FILE.is_file():
        for number in broken_lines(ENV_FILE):
            fix = "Correct it, or begin it with # if it is a note."
            yield warning(NAME, f"Line {number} of {ENV_FILE} is not NAME=value and is ignored.", fix)
        if ENV_FILE.stat().st_mode & PRIVATE_UMASK and configuration.in_file:
            fix = f"`chmod 600 {ENV_FILE}`"
            yield warning(NAME, f"{ENV_FILE} can be read by others on this machine.", fix)


def find_misspellings(configuration: Configuration, names: Sequence[str]) -> Iterator[Finding]:
    """Names in .env that are no settings but resemble one, or begin like one."""
    families = {name.partition("_")[0] for name in names}
    for name in sorted(set(configuration.in_file) - set(names) - set(configuration.environment)):
        if near := _nearest(name, names):
            fix = f"Call it {near}, or take it out."
        elif name.endswith(KEY):
            fix = f"Gemini's is called GOOGLE_API_KEY here; other providers need `export {name}=…`"
        elif name.partition("_")[0] in families:
            fix = "Compare with `.env.example`, which lists them all, or take it out."
        else:
            continue
        yield warning(NAME, f"{name} in {ENV_FILE} is no setting of Footnote and does nothing.", fix)


def _nearest(name: str, names: Sequence[str]) -> str:
    """The setting that this may be a misspelling of; empty for none. Of two keys only the providers are compared."""
    suffix = KEY if name.endswith(KEY) else ""
    stems = [each.removesuffix(suffix) for each in names if each.endswith(suffix)]
    near = get_close_matches(name.removesuffix(suffix), stems, n=1, cutoff=SIMILARITY)
    return f"{near[0]}{suffix}" if near else ""


def _find_shadowed(configuration: Configuration, names: Sequence[str]) -> Iterator[Finding]:
    for name in names:
        here, outside = configuration.in_file.get(name), configuration.environment.get(name)
        if here and outside is not None and here != outside:
            yield warning(
                NAME,
                f"{name} is set in {ENV_FILE} and, differently, in the environment, which wins.",
                f"`unset {name}`, or take it out of {ENV_FILE}.",
            )
