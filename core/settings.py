"""What an operator can set, read once from the environment and ``.env``.

All faults are reported together, so that a person can fix them in one go. Secrets are kept
out of ``repr``. Each adapter reads its own tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from core.errors import SettingsError
from core.graph.policy import PRESETS
from core.reasoning.prices import Price
from core.turns.rate_limits import PERIODS, Period, Rate

ENV_FILE = Path(".env")
LONGEST_KEPT = 3_650  # days

WebSearch = Literal["duckduckgo", "tavily", "searxng", "off"]
WebApproval = Literal["asker", "anyone", "approvers", "never_ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The operator's choices; the defaults need no key, no account and no server."""

    data_dir: Path = Path(".footnote")
    google_api_key: str = field(default="", repr=False)
    google_gemini_base_url: str = field(default="", repr=False)  #: for proxies; may hold a password
    openai_api_key: str = field(default="", repr=False)
    openai_base_url: str = field(default="", repr=False)  #: for whatever else speaks OpenAI's protocol
    anthropic_api_key: str = field(default="", repr=False)
    anthropic_base_url: str = field(default="", repr=False)
    ollama_host: str = field(
        default="", repr=False
    )  #: as Ollama itself reads it: a host, a host and port, or an address
    chat_model: str = "google_genai:gemini-3.5-flash"  #: writes answers
    grader_model: str = ""  #: plans, grades and checks; empty: Google's small model, or the one that writes
    embedding_model: str = "auto"
    policy: str = "footnote"
    web_search: WebSearch = "duckduckgo"
    tavily_api_key: str = field(default="", repr=False)
    tavily_base_url: str = field(default="https://api.tavily.com", repr=False)
    searxng_url: str = field(default="", repr=False)
    web_approval: WebApproval = "asker"
    web_approvers: tuple[str, ...] = ()  #: people, roles or user groups
    notify_approvers: bool = False  #: whether the approvers are notified of a search that waits for them
    learners: tuple[str, ...] = ()  #: people, roles or user groups who may add documents; empty: everybody
    #: whom "Ask a person" asks, and whose replies are kept: people, roles or user groups; by collection or channel
    experts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    review_after: int = 180  #: days for which an answer that a person gave is used before it must be reviewed
    web_trusted_hosts: tuple[str, ...] = ()  #: if set, only these hosts are read
    web_blocked_hosts: tuple[str, ...] = ()
    private_hosts: tuple[
        str, ...
    ] = ()  #: hosts that are not public, which the operator's own sources may be read from
    git_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)  #: TOKEN or USER:TOKEN, by host
    model_timeout: float = 60.0  #: seconds for one model call
    search_timeout: float = 20.0  #: seconds for one web search, and for one page
    turn_timeout: float = 180.0  #: seconds for a whole turn
    tokens_per_day: int = 0  #: for the models, input and output together; 0: no limit
    tokens_per_day_per_channel: int = 0  #: the same for each channel, in all its threads
    tokens_per_day_per_person: int = 0
    prices: Mapping[str, Price] = field(default_factory=dict)  #: by model, without its provider
    currency: str = "USD"  #: of the prices, ISO 4217
    show_cost: bool = False  #: whether the line under an answer says what it cost
    questions_per_person: Rate | None = None  #: None: no limit
    questions_per_channel: Rate | None = None
    gaps_channel: tuple[str, ...] = ()  #: platform/space/channel, in which the weekly digest of gaps is shown
    trace_days: int = 14  #: for which the texts of questions and their traces are kept; 0: figures only
    trace_texts: bool = False  #: whether questions and answers are sent to the OpenTelemetry collector too
    otel_exporter_otlp_endpoint: str = field(
        default="", repr=False
    )  #: may hold a password; empty: none is sent
    source_url_base: Mapping[str, str] = field(default_factory=dict)  #: by collection, core.library.links
    database_url: str = field(
        default="", repr=False
    )  #: PostgreSQL for all stores, or a file for the queue of turns; empty: files in the data folder
    log_level: str = "WARNING"
    log_format: Literal["text", "json"] = "text"

    @property
    def postgres_url(self) -> str | None:
        """The PostgreSQL that holds everything; None: files in the data folder."""
        return self.database_url if self.database_url.startswith("postgresql://") else None

    @property
    def judging_model(self) -> str:
        """The model that plans, grades and checks. One of another family than the writer finds more (41% against 27%)."""
        if self.grader_model:
            return self.grader_model
        writes_with_google = self.chat_model.startswith("google_genai:")
        return "google_genai:gemini-3.5-flash-lite" if writes_with_google else self.chat_model

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models in use without a price, where there are prices: no cost could be given."""
        if not self.prices or not self.has_chat_model:
            return ()
        used = dict.fromkeys((bare_name(self.chat_model), bare_name(self.judging_model)))
        return tuple(name for name in used if name not in self.prices)

    @property
    def has_chat_model(self) -> bool:
        """Whether a language model writes answers; without one they are quotes."""
        return bool(self.google_api_key) or not self.chat_model.startswith("google_genai:")


def read_settings(environment: Mapping[str, str], env_file: Path | None = ENV_FILE) -> Settings:
    """Settings from ``.env`` and the environment, which takes precedence; SettingsError names every fault."""
    values = {**read_env_file(env_file), **environment}
    chosen: dict[str, Any] = {}
    faults: list[str] = []
    for name in (f.name for f in fields(Settings)):
        raw = values.get(name.upper(), "").strip()
        if not raw:
            continue
        try:
            chosen[name] = _PARSERS.get(name, str)(raw)
        except ValueError as fault:
            faults.append(f"{name.upper()} {fault}")
    settings = Settings(**chosen)
    named = {fault.partition(" ")[0] for fault in faults}
    faults += [sentence for sentence in _missing(settings) if sentence.partition(" ")[0] not in named]
    if faults:
        raise SettingsError("; ".join(faults) + ".")
    return settings


def read_env_file(env_file: Path | None) -> dict[str, str]:
    """The variables in the file, if there is one; SettingsError if it cannot be read."""
    if env_file is None or not env_file.is_file():
        return {}
    from dotenv import dotenv_values

    try:
        values = dotenv_values(env_file, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise SettingsError(
            f"{env_file} could not be read: it must be text in UTF-8 that you may read."
        ) from fault
    return {name: value for name, value in values.items() if value is not None}


def broken_lines(env_file: Path) -> list[int]:
    """The numbers of the lines that are not ``NAME=value``; none if the file cannot be read."""
    if not env_file.is_file():
        return []
    from dotenv.parser import parse_stream

    try:
        with env_file.open(encoding="utf-8") as stream:
            return [
                statement.original.line
                for statement in parse_stream(stream)
                if statement.error or (statement.key and statement.value is None)
            ]
    except (OSError, UnicodeDecodeError):
        return []


def _missing(settings: Settings) -> list[str]:
    """What is missing because another setting needs it."""
    needed = (
        (
            settings.web_search == "tavily" and not settings.tavily_api_key,
            "TAVILY_API_KEY is needed for WEB_SEARCH=tavily",
        ),
        (
            settings.web_search == "searxng" and not settings.searxng_url,
            "SEARXNG_URL is needed for WEB_SEARCH=searxng",
        ),
        (
            settings.web_approval == "approvers" and not settings.web_approvers,
            "WEB_APPROVERS is needed for WEB_APPROVAL=approvers",
        ),
        (
            settings.notify_approvers and not settings.web_approvers,
            "WEB_APPROVERS is needed for NOTIFY_APPROVERS=on",
        ),
        (
            settings.show_cost and not settings.prices,
            "PRICES is needed for SHOW_COST=on",
        ),
        *((True, f"PRICES names no price of {model}") for model in settings.unpriced),
    )
    return [sentence for is_missing, sentence in needed if is_missing]


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if raw.lower() not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not “{raw}”")
        return raw.lower()

    return parse


def _seconds(raw: str) -> float:
    try:
        seconds = float(raw)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 3600:
        raise ValueError(f"must be a number of seconds above 0 and at most 3600, not “{raw}”")
    return seconds


def _tokens(raw: str) -> int:
    if not (raw.isascii() and raw.isdecimal()):
        raise ValueError(f"must be a number of tokens, 0 for no limit, not “{raw}”")
    return int(raw)


def _prices(raw: str) -> dict[str, Price]:
    """``MODEL=IN/OUT`` of a million tokens, separated by commas; the model as its setting names it."""
    prices: dict[str, Price] = {}
    for part in _names(raw):
        found = _PRICE.fullmatch(part)
        if found is None:
            raise ValueError(
                f"must be MODEL=IN/OUT, as in some-model=0.5/2, several with commas, not “{part}”"
            )
        name = bare_name(_model(found[1].strip()))
        if name in prices:
            raise ValueError(f"names the model {name} twice")
        prices[name] = Price(float(found[2]), float(found[3]))
    return prices


_PRICE = re.compile(r"([^=]+)=\s*(\d{1,6}(?:\.\d{1,6})?)\s*/\s*(\d{1,6}(?:\.\d{1,6})?)", re.ASCII)


def _currency(raw: str) -> str:
    if not re.fullmatch("[A-Za-z]{3}", raw):
        raise ValueError(f"must be a currency's code of three letters, as USD, not “{raw}”")
    return raw.upper()


def bare_name(model: str) -> str:
    """A model without its provider: of ``ollama:llama3:8b``, ``llama3:8b``."""
    return model.partition(":")[2]


def _days(raw: str) -> int:
    if not (raw.isascii() and raw.isdecimal()) or int(raw) > LONGEST_KEPT:
        raise ValueError(f"must be a number of days, at most {LONGEST_KEPT:,}, not “{raw}”")
    return int(raw)


def _rate(raw: str) -> Rate | None:
    if raw.lower() == "off":
        return None
    count, _, unit = raw.lower().partition("/")
    if not (count.isascii() and count.isdecimal()) or int(count) < 1 or unit not in PERIODS:
        raise ValueError(
            f"must be off, or a number with a period, as in 20/{' or 20/'.join(PERIODS)}, not “{raw}”"
        )
    return Rate(count=int(count), period=cast("Period", unit))


def _names(raw: str) -> tuple[str, ...]:
    return tuple(name for part in raw.split(",") if (name := part.strip()))


def _experts(raw: str) -> dict[str, tuple[str, ...]]:
    """``ID``, or ``COLLECTION=ID`` or ``CHANNEL=ID``, separated by commas; "" has those of everywhere."""
    experts: dict[str, tuple[str, ...]] = {}
    for part in _names(raw):
        before, equals, after = (each.strip() for each in part.partition("="))
        place, one = (before, after) if equals else ("", before)
        if not one or (equals and not place):
            raise ValueError(f"must be an id, or COLLECTION=ID, several with commas, not “{part}”")
        experts[place] = (*experts.get(place, ()), one)
    return experts


def _review_days(raw: str) -> int:
    if (days := _days(raw)) < 1:
        raise ValueError(f"must be a number of days, at least 1, not “{raw}”")
    return days


def _channels(raw: str) -> tuple[str, ...]:
    names = _names(raw)
    for name in names:
        if not _CHANNEL.fullmatch(name):
            raise ValueError(
                f"must be platform/workspace/channel by their ids, several with commas, not “{name}”"
            )
    return names


_CHANNEL = re.compile(r"[a-z]+/\w+/\w+")


def _url_bases(raw: str) -> dict[str, str]:
    """``URL`` or ``COLLECTION=URL``, separated by commas or white space; a bare URL is for the default collection."""
    from core.library.library import DEFAULT_COLLECTION
    from core.library.links import template_of

    bases: dict[str, str] = {}
    for part in _BASES.split(raw):
        found = _BASE.fullmatch(part)
        if found is None or not is_address(found[2]):  # not repeated: it may hold a password
            raise ValueError("must be an http or https address, or COLLECTION=ADDRESS, several with commas")
        name = found[1] or DEFAULT_COLLECTION
        if name in bases:
            raise ValueError(f"names the collection {name} twice")
        try:
            bases[name] = template_of(found[2])
        except ValueError as fault:
            raise ValueError(f"of the collection {name} {fault}") from fault
    return bases


_BASES = re.compile(r"(?:\s*,\s*|\s+)(?=\S)")
_BASE = re.compile(r"(?:([\w.-]+)=)?(https?://.*)", re.IGNORECASE)


def _hosts(raw: str) -> tuple[str, ...]:
    from core.web.hosts import pattern

    names = _names(raw)
    for name in names:
        try:
            pattern(name)
        except SettingsError as fault:
            raise ValueError(f"holds “{name}”, which is not the name of a host") from fault
    return names


def _tokens_of_hosts(raw: str) -> dict[str, str]:
    """``HOST=TOKEN`` or ``HOST=USER:TOKEN``, separated by commas."""
    from core.web.hosts import pattern

    tokens: dict[str, str] = {}
    for part in _names(raw):
        host, equals, token = (each.strip() for each in part.partition("="))
        try:
            name = pattern(host) if equals else ""
        except SettingsError:
            name = ""
        if (
            not name or not token or not token.isprintable() or " " in token
        ):  # not repeated: it may hold a token
            raise ValueError("must be HOST=TOKEN, or HOST=USER:TOKEN, several with commas")
        if name in tokens:
            raise ValueError(f"names the host {name} twice")
        tokens[name] = token
    return tokens


def is_address(raw: str) -> bool:
    """Whether it is an http or https URL with a host."""
    try:
        parts = urlsplit(raw)
        is_reachable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and is_reachable and not any(sign.isspace() for sign in raw)


def _url(raw: str) -> str:
    if not is_address(raw):
        raise ValueError("must be an http or https address")  # not repeated: it may hold a password
    return raw.rstrip("/")


def _database(raw: str) -> str:
    raw = re.sub("^postgres://", "postgresql://", raw)  # as some hosts of databases still write it
    if not raw.startswith(("sqlite:///", "postgresql://")):
        raise ValueError(
            "must begin with sqlite:/// or postgresql://"
        )  # not repeated: it may hold a password
    return raw


def _folder(raw: str) -> Path:
    try:
        return Path(raw).expanduser()
    except RuntimeError as fault:
        raise ValueError(f"names a home folder that does not exist, “{raw}”") from fault


def _model(raw: str) -> str:
    """``provider:model``; a bare name is one of Google's."""
    named = raw if ":" in raw else f"google_genai:{raw}"
    if not all(part.strip() for part in named.split(":", 1)):
        raise ValueError(f"must be a model, or provider:model, not “{raw}”")
    return named


def _embedding(raw: str) -> str:
    if raw.lower() in ("auto", "none", "minilm"):
        return raw.lower()
    if ":" not in raw and not _folder(raw).is_dir():
        raise ValueError(f"must be auto, none, minilm, a folder that exists, or provider:model, not “{raw}”")
    return raw


def _level(raw: str) -> str:
    return _one_of("debug", "info", "warning", "error")(raw).upper()


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "data_dir": _folder,
    "google_gemini_base_url": _url,
    "openai_base_url": _url,
    "anthropic_base_url": _url,
    "embedding_model": _embedding,
    "chat_model": _model,
    "grader_model": _model,
    "policy": _one_of(*PRESETS),
    "web_search": cast("Callable[[str], object]", _one_of("duckduckgo", "tavily", "searxng", "off")),
    "tavily_base_url": _url,
    "searxng_url": _url,
    "web_approval": _one_of("asker", "anyone", "approvers", "never_ask"),
    "web_approvers": _names,
    "notify_approvers": lambda raw: _one_of("on", "off")(raw) == "on",
    "learners": _names,
    "experts": _experts,
    "review_after": _review_days,
    "gaps_channel": _channels,
    "web_trusted_hosts": _hosts,
    "web_blocked_hosts": _hosts,
    "private_hosts": _hosts,
    "git_tokens": _tokens_of_hosts,
    "model_timeout": _seconds,
    "search_timeout": _seconds,
    "turn_timeout": _seconds,
    "tokens_per_day": _tokens,
    "tokens_per_day_per_channel": _tokens,
    "tokens_per_day_per_person": _tokens,
    "prices": _prices,
    "currency": _currency,
    "show_cost": lambda raw: _one_of("on", "off")(raw) == "on",
    "questions_per_person": _rate,
    "questions_per_channel": _rate,
    "trace_days": _days,
    "trace_texts": lambda raw: _one_of("on", "off")(raw) == "on",
    "otel_exporter_otlp_endpoint": _url,
    "source_url_base": _url_bases,
    "database_url": _database,
    "log_level": _level,
    "log_format": _one_of("text", "json"),
}
