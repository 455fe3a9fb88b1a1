"""The settings of an operator, read once from the environment and ``.env``.

All faults are reported together, so that a person can fix them in one go. Secrets are kept
out of ``repr``. Each adapter reads its own tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from core.conversation import WebApproval
from core.errors import SettingsError
from core.graph.policy import AUTO
from core.reasoning.limits import Price
from core.setting_values import PARSERS, bare_name
from core.turns.rate_limits import QuietHours, Rate

ENV_FILE = Path(".env")
NIGHT = QuietHours(begin=20, end=8)  # UTC

WebSearch = Literal["duckduckgo", "tavily", "searxng", "off"]


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
    #: as Ollama itself reads it: a host, a host and port, or an address
    ollama_host: str = field(default="", repr=False)
    chat_model: str = "google_genai:gemini-3.5-flash"  #: writes answers
    grader_model: str = ""  #: plans, grades and checks; empty: Google's small model, or the one that writes
    embedding_model: str = "auto"
    reranker: str = "off"  #: a cross-encoder that reorders the first passages: a folder, or hf:OWNER/NAME
    #: of the hub of hf:OWNER/NAME, for mirrors; may hold a password
    hf_endpoint: str = field(default="https://huggingface.co", repr=False)
    policy: str = AUTO
    web_search: WebSearch = "duckduckgo"
    tavily_api_key: str = field(default="", repr=False)
    tavily_base_url: str = field(default="https://api.tavily.com", repr=False)
    searxng_url: str = field(default="", repr=False)
    web_approval: WebApproval = "asker"
    web_approvers: tuple[str, ...] = ()  #: people, roles or user groups
    proposals_expire: float = 0.0  #: seconds after which nobody may allow a proposed search; 0: never
    notify_approvers: bool = False  #: whether the approvers are notified of a search that waits for them
    learners: tuple[str, ...] = ()  #: people, roles or user groups who may add documents; empty: everybody
    #: whom "Ask a person" asks, and whose replies are kept: people, roles or user groups; by collection or channel
    experts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    review_after: int = 180  #: days for which an answer that a person gave is used before it must be reviewed
    #: days for which an answer is looked at again when a document that it quotes changes; 0: never
    recheck_answers: int = 90
    quiet_hours: QuietHours | None = NIGHT  #: in which nobody is told so; None: never
    web_trusted_hosts: tuple[str, ...] = ()  #: if set, only these hosts are read
    web_blocked_hosts: tuple[str, ...] = ()
    stale_after: int = 0  #: days after which a document is marked that was not seen at its source; 0: never
    #: hosts that are not public, which the operator's own sources may be read from
    private_hosts: tuple[str, ...] = ()
    git_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)  #: TOKEN or USER:TOKEN, by host
    confluence_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)  #: the same
    #: groups of Confluence that hold everybody: what they may view is for all who may read the collection
    confluence_everyone: tuple[str, ...] = ("confluence-users",)
    #: keys of spaces whose viewers are not looked up: the collection decides; or * for all
    confluence_open_spaces: tuple[str, ...] = ()
    drive_credentials: str = ""  #: path of the JSON file of a service account's key, read when it is used
    #: of an integration; pages are shared with it in Notion
    notion_token: str = field(default="", repr=False)
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
    trace_texts: bool = False  #: whether texts are in the spans, and exchanges with models in the traces
    #: may hold a password; empty: none is sent
    otel_exporter_otlp_endpoint: str = field(default="", repr=False)
    source_url_base: Mapping[str, str] = field(default_factory=dict)  #: by collection, core.library.links
    #: PostgreSQL for all stores, or a file for the queue of turns; empty: files in the data folder
    database_url: str = field(default="", repr=False)
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
    def has_chat_model(self) -> bool:
        """True if a language model writes answers; without one they are quotes."""
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
            chosen[name] = PARSERS.get(name, str)(raw)
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
    needed = (
        (settings.web_search == "tavily" and not settings.tavily_api_key, "TAVILY_API_KEY", "WEB_SEARCH=tavily"),
        (settings.web_search == "searxng" and not settings.searxng_url, "SEARXNG_URL", "WEB_SEARCH=searxng"),
        (settings.web_approval == "approvers" and not settings.web_approvers, "WEB_APPROVERS", "WEB_APPROVAL=approvers"),
        (settings.notify_approvers and not settings.web_approvers, "WEB_APPROVERS", "NOTIFY_APPROVERS=on"),
        (settings.show_cost and not settings.prices, "PRICES", "SHOW_COST=on"),
    )  # fmt: skip
    used = dict.fromkeys((bare_name(settings.chat_model), bare_name(settings.judging_model)))
    # none could be given of a model without a price
    has_cost = bool(settings.prices) and settings.has_chat_model
    unpriced = [name for name in used if has_cost and name not in settings.prices]
    missing = [f"{name} is needed for {choice}" for is_missing, name, choice in needed if is_missing]
    return [*missing, *(f"PRICES names no price of {model}" for model in unpriced)]
