"""Readers of the settings' values: a function that reads it, or raises ValueError with what is wrong.

Sentences go on after the setting's name. A value that may hold a password is not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from core.errors import SettingsError
from core.graph.policy import PRESETS
from core.reasoning.limits import Price
from core.turns.rate_limits import PERIODS, Period, Rate

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


def _embedding(raw: str) -> str:
    if raw.lower() in ("auto", "none", "minilm"):
        return raw.lower()
    if raw.startswith("hf:"):
        return _network(raw)
    if ":" not in raw and not _folder(raw).is_dir():
        raise ValueError(
            f"must be auto, none, minilm, a folder that exists, hf:OWNER/NAME or provider:model, not “{raw}”"
        )
    return raw


def _reranker(raw: str) -> str:
    if raw.lower() == "off":
        return "off"
    if raw.startswith("hf:"):
        return _network(raw)
    if not _folder(raw).is_dir():
        raise ValueError(f"must be off, a folder that exists, or hf:OWNER/NAME, not “{raw}”")
    return raw


def _network(raw: str) -> str:
    from core.library.embedding.repository import Repository

    Repository.named(raw)
    return raw


PARSERS: Mapping[str, Callable[[str], object]] = {
    "data_dir": _folder,
    "google_gemini_base_url": _url,
    "openai_base_url": _url,
    "anthropic_base_url": _url,
    "embedding_model": _embedding,
    "reranker": _reranker,
    "hf_endpoint": _url,
    "chat_model": _model,
    "grader_model": _model,
    "policy": _one_of(*PRESETS),
    "web_search": cast("Callable[[str], object]", _one_of("duckduckgo", "tavily", "searxng", "off")),
    "tavily_base_url": _url,
    "searxng_url": _url,
    "web_approval": _one_of("asker", "anyone", "approvers", "never_ask"),
    "web_approvers": _names,
    "notify_approvers": _switch,
    "learners": _names,
    "experts": _experts,
    "review_after": _review_days,
    "stale_after": lambda raw: 0 if raw.lower() == "off" else _days(raw),
    "gaps_channel": _channels,
    "web_trusted_hosts": _hosts,
    "web_blocked_hosts": _hosts,
    "private_hosts": _hosts,
    "git_tokens": _tokens_of_hosts,
    "confluence_tokens": _tokens_of_hosts,
    "confluence_everyone": lambda raw: () if raw.lower() == "off" else _names(raw),
    "confluence_open_spaces": _names,
    "model_timeout": _seconds,
    "search_timeout": _seconds,
    "turn_timeout": _seconds,
    "tokens_per_day": _tokens,
    "tokens_per_day_per_channel": _tokens,
    "tokens_per_day_per_person": _tokens,
    "prices": _prices,
    "currency": _currency,
    "show_cost": _switch,
    "questions_per_person": _rate,
    "questions_per_channel": _rate,
    "trace_days": _days,
    "trace_texts": _switch,
    "otel_exporter_otlp_endpoint": _url,
    "source_url_base": _url_bases,
    "database_url": _database,
    "log_level": lambda raw: _one_of("debug", "info", "warning", "error")(raw).upper(),
    "log_format": _one_of("text", "json"),
}
