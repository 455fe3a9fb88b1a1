"""Readers of the settings' values: a function that reads it, or raises ValueError with what is wrong.

Sentences go on after the setting's name. A value that may hold a password is not repeated.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfoNotFoundError

from core.errors import SettingsError
from core.graph.policy import AUTO, PRESETS
from core.reasoning.limits import Price
from core.turns.rate_limits import PERIODS, Period, QuietHours, Rate

LONGEST_KEPT = 3_650  # days


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


def _whole(what: str, most: int | None = None) -> Callable[[str], int]:
    def parse(raw: str) -> int:
        if not (raw.isascii() and raw.isdecimal()) or (most is not None and int(raw) > most):
            raise ValueError(f"must be a number of {what}, not “{raw}”")
        return int(raw)

    return parse


_tokens = _whole("tokens, 0 for no limit")
_days = _whole(f"days, at most {LONGEST_KEPT:,}", LONGEST_KEPT)


def _expiry(raw: str) -> float:
    """The expiry in seconds, at most ten days. What is shown of a turn can be changed as long as its outcome
    is kept, two weeks."""
    number, unit = raw[:-1], {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}.get(raw[-1:].lower(), 0.0)
    seconds = float(number) * unit if number.isascii() and number.isdecimal() else 0.0
    if raw.lower() != "off" and not 0 < seconds <= 10 * 86_400:
        raise ValueError(f"must be off, or a span of time of at most 10d, as in 30m or 24h, not “{raw}”")
    return seconds


def _switch(raw: str) -> bool:
    return _one_of("on", "off")(raw) == "on"


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


def _rate(raw: str) -> Rate | None:
    if raw.lower() == "off":
        return None
    count, _, unit = raw.lower().partition("/")
    if not (count.isascii() and count.isdecimal()) or int(count) < 1 or unit not in PERIODS:
        raise ValueError(
            f"must be off, or a number with a period, as in 20/{' or 20/'.join(PERIODS)}, not “{raw}”"
        )
    return Rate(count=int(count), period=cast("Period", unit))


def _quiet_hours(raw: str) -> QuietHours | None:
    """``20-8``, in UTC or in the time zone behind it."""
    found = re.fullmatch(r"(\d{1,2})-(\d{1,2})(?:\s+(\S+))?", raw, re.ASCII)
    if raw.lower() == "off":
        return None
    if found and int(found[1]) < 24 > int(found[2]) != int(found[1]):
        try:
            hours = QuietHours(begin=int(found[1]), end=int(found[2]), zone=found[3] or "UTC")
            hours.over_at(0.0)
        except (ValueError, ZoneInfoNotFoundError):
            pass
        else:
            return hours
    raise ValueError(
        f"must be off, or hours of the day and a time zone, as in 20-8 Europe/Berlin, not “{raw}”"
    )


def _names(raw: str) -> tuple[str, ...]:
    return tuple(name for part in raw.split(",") if (name := part.strip()))


def _experts(raw: str) -> dict[str, tuple[str, ...]]:
    """``ID``, or ``COLLECTION=ID`` or ``CHANNEL=ID``, separated by commas; "" has those of everywhere."""
    experts: dict[str, tuple[str, ...]] = {}
    for part in _names(raw):
        before, equals, after = (each.strip() for each in part.partition("="))
        scope, one = (before, after) if equals else ("", before)
        if not one or (equals and not scope):
            raise ValueError(f"must be an id, or COLLECTION=ID, several with commas, not “{part}”")
        experts[scope] = (*experts.get(scope, ()), one)
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
    from core.library.links import parse_template

    bases: dict[str, str] = {}
    for part in _BASES.split(raw):
        found = _BASE.fullmatch(part)
        if found is None or not is_address(found[2]):  # not repeated: it may hold a password
            raise ValueError("must be an http or https address, or COLLECTION=ADDRESS, several with commas")
        name = found[1] or DEFAULT_COLLECTION
        if name in bases:
            raise ValueError(f"names the collection {name} twice")
        try:
            bases[name] = parse_template(found[2])
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
        if not name or not token or not token.isprintable() or " " in token:
            # not repeated: it may hold a token
            raise ValueError("must be HOST=TOKEN, or HOST=USER:TOKEN, several with commas")
        if name in tokens:
            raise ValueError(f"names the host {name} twice")
        tokens[name] = token
    return tokens


def is_address(raw: str) -> bool:
    """True if it is an http or https URL with a host."""
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
        # not repeated: it may hold a password
        raise ValueError("must begin with sqlite:/// or postgresql://")
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


def _network(*words: str, rest: str, takes_services: bool = False) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if raw.lower() in words:
            return raw.lower()
        if raw.startswith("hf:"):
            from core.library.embedding.repository import Repository

            Repository.from_setting(raw)
        elif not (takes_services and ":" in raw) and not _folder(raw).is_dir():
            raise ValueError(f"must be {', '.join(words)}, a folder that exists, {rest}, not “{raw}”")
        return raw

    return parse


_embedding = _network("auto", "none", "minilm", rest="hf:OWNER/NAME or provider:model", takes_services=True)
_URLS = (
    "google_gemini_base_url", "openai_base_url", "anthropic_base_url", "hf_endpoint", "tavily_base_url", "searxng_url",
    "otel_exporter_otlp_endpoint",
)  # fmt: skip
PARSERS: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(_URLS, _url),
    **dict.fromkeys(("chat_model", "grader_model"), _model),
    **dict.fromkeys(("web_approvers", "learners", "confluence_open_spaces"), _names),
    **dict.fromkeys(("web_trusted_hosts", "web_blocked_hosts", "private_hosts"), _hosts),
    **dict.fromkeys(("git_tokens", "confluence_tokens"), _tokens_of_hosts),
    **dict.fromkeys(("model_timeout", "search_timeout", "turn_timeout"), _seconds),
    **dict.fromkeys(("tokens_per_day", "tokens_per_day_per_channel", "tokens_per_day_per_person"), _tokens),
    **dict.fromkeys(("notify_approvers", "show_cost", "trace_texts"), _switch),
    **dict.fromkeys(("questions_per_person", "questions_per_channel"), _rate),
    "data_dir": _folder,
    "embedding_model": _embedding,
    "reranker": _network("off", rest="or hf:OWNER/NAME"),
    "policy": _one_of(AUTO, *PRESETS),
    "web_search": _one_of("duckduckgo", "tavily", "searxng", "off"),
    "web_approval": _one_of("asker", "anyone", "approvers", "never_ask"),
    "proposals_expire": _expiry,
    "experts": _experts,
    "review_after": _review_days,
    "recheck_answers": lambda raw: 0 if raw.lower() == "off" else _days(raw.lower().removesuffix("d")),
    "quiet_hours": _quiet_hours,
    "stale_after": lambda raw: 0 if raw.lower() == "off" else _days(raw),
    "gaps_channel": _channels,
    "confluence_everyone": lambda raw: () if raw.lower() == "off" else _names(raw),
    "prices": _prices,
    "currency": _currency,
    "trace_days": _days,
    "source_url_base": _url_bases,
    "database_url": _database,
    "log_level": lambda raw: _one_of("debug", "info", "warning", "error")(raw).upper(),
    "log_format": _one_of("text", "json"),
}
