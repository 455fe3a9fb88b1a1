"""Chat models by name: ``provider:model`` as LangChain knows it; a bare name is one of Google's."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from core.conversation import value
from core.errors import SettingsError, how_to_install
from core.tls import default_tls

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = logging.getLogger(__name__)

GOOGLE, OPENAI, ANTHROPIC, OLLAMA = "google_genai", "openai", "anthropic", "ollama"
GOOGLE_URL = "https://generativelanguage.googleapis.com"
OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
REPLY_TOKENS = 8_192  # tokens of one reply, thinking included

#: Tokens that Ollama reads and writes in one call. It reads 4,096 unless told otherwise, and cuts off the rest of a
#: prompt without a word; ours have up to about 14,000.
OLLAMA_CONTEXT = 16_384 + REPLY_TOKENS

#: The setting with each provider's key.
KEYS: Mapping[str, str] = {
    GOOGLE: "GOOGLE_API_KEY", OPENAI: "OPENAI_API_KEY", ANTHROPIC: "ANTHROPIC_API_KEY",
}  # fmt: skip

#: Google's types that a call needs. They are built at first use, which would block the event loop for 40 ms.
CALL_TYPES = (
    "Tool", "Part", "Content", "GenerationConfig", "GenerateContentConfig", "GenerateContentResponse", "Candidate",
)  # fmt: skip

OF_OWN = (".local", ".internal", ".lan", ".home.arpa")  # ends names within a network

_GEMINI = re.compile(r"(?:models/)?gemini-(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Keys and addresses of the providers, and the timeout. Providers that are not named read their own key."""

    google_api_key: str = field(default="", repr=False)
    google_url: str = ""  #: empty, here as below: the provider's own
    openai_api_key: str = field(default="", repr=False)
    openai_url: str = ""
    anthropic_api_key: str = field(default="", repr=False)
    anthropic_url: str = ""
    ollama_host: str = ""
    timeout: float = 60.0  #: seconds for one call
    longest: float = 0.0  #: the same of a slow model on a server of one's own

    def key_of(self, provider: str) -> str:
        keys = {GOOGLE: self.google_api_key, OPENAI: self.openai_api_key, ANTHROPIC: self.anthropic_api_key}
        return keys[provider]


def is_own(provider: str, access: Access) -> bool:
    """True if the provider's server is on this machine or in its network, as far as its address tells."""
    address = {OLLAMA: access.ollama_host or "localhost", OPENAI: access.openai_url}.get(provider, "")
    host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(OF_OWN))


def split_name(name: str) -> tuple[str, str]:
    """Provider and model: of ``ollama:llama3:8b``, ``ollama`` and ``llama3:8b``."""
    provider, colon, model = name.partition(":")
    return (provider, model) if colon else (GOOGLE, name)


def connect(setting: str, name: str, access: Access, *, is_streamed: bool = False) -> BaseChatModel:
    """The model that a setting names. SettingsError when its package, key or provider is missing."""
    from langchain.chat_models import init_chat_model

    provider, model = split_name(name)
    if provider in KEYS and not access.key_of(provider):
        raise SettingsError(f"{setting}={name} needs {KEYS[provider]}.")
    try:
        connected: BaseChatModel = init_chat_model(
            model, model_provider=provider, **_options(provider, model, access, is_streamed=is_streamed)
        )
    except ImportError as missing:
        logger.debug("no package for %s: %s", provider, missing)
        package = getattr(missing.__cause__, "name", None) or f"langchain-{provider}"
        raise SettingsError(f"{setting}={name} {how_to_install(provider, package)}") from missing
    except Exception as refused:  # the one boundary to all providers
        logger.debug("%s was refused: %s", name, refused)
        raise SettingsError(f"{setting}={name} cannot be used: check its provider and key.") from refused
    if provider == GOOGLE:
        from google.genai import types

        for kind in CALL_TYPES:
            getattr(types, kind).model_rebuild()
        address = urlsplit(access.google_url or GOOGLE_URL)
        if address.scheme not in getproxies() or proxy_bypass(address.hostname or ""):  # there is no proxy
            _leave_environment_alone(connected)
    return connected


def _leave_environment_alone(model: Any) -> None:
    """Do not ask the environment before each call, in two threads, for a proxy and a netrc file. Google's
    client makes its session at the first call, and has no setting for it."""
    client = model.client._api_client  # noqa: SLF001 - as above
    find_session = client._get_aiohttp_session  # noqa: SLF001

    async def session() -> Any:
        found = await find_session()
        found._trust_env = False  # noqa: SLF001
        return found

    client._get_aiohttp_session = session  # noqa: SLF001


def _options(provider: str, model: str, access: Access, *, is_streamed: bool) -> dict[str, Any]:
    """Options of a client. It has no retries, which Calls counts, and an address, so that no gateway in the
    environment replaces it."""
    timeout = max(access.timeout, access.longest) if is_own(provider, access) else access.timeout
    options: dict[str, Any] = {
        "timeout": timeout, "max_retries": 0, "max_tokens": REPLY_TOKENS,
        "disable_streaming": not is_streamed,
    }  # fmt: skip
    match provider:
        case "google_genai":
            options["max_retries"] = 1  # Google counts the first try
            options |= {"api_key": access.google_api_key, "base_url": access.google_url or GOOGLE_URL}
            # Else its client reads all authorities three times.
            options["client_args"] = {"verify": default_tls(), "ssl": default_tls()}
            found = _GEMINI.match(model)
            if found and int(found.group(1)) >= 3:
                options["thinking_level"] = "low"  # older models take a token budget instead
        case "openai":
            options |= {"api_key": access.openai_api_key, "base_url": access.openai_url or OPENAI_URL}
            options["stream_usage"] = is_streamed  # else a stream does not say what it cost
        case "anthropic":
            options |= {
                "api_key": access.anthropic_api_key,
                "base_url": access.anthropic_url or ANTHROPIC_URL,
            }
        case "ollama":  # its class drops the names that the others share
            return {
                "base_url": access.ollama_host or None,
                "client_kwargs": {"timeout": timeout},
                "num_predict": REPLY_TOKENS,
                "num_ctx": OLLAMA_CONTEXT,
                "reasoning": False,  # a model that thinks aloud would think in its answer
                "disable_streaming": not is_streamed,
            }
    return options


async def disconnect(model: BaseChatModel) -> None:
    """Closes a model's connections; in the event loop that used them. Models of one provider may share them:
    close none while another is asked."""
    if (own := getattr(model, "aclose", None)) is not None:
        await own()
    for name in ("root_async_client", "_async_client"):  # OpenAI's class; Anthropic's and Ollama's
        if (client := getattr(model, name, None)) is not None:
            await client.close()


TIMEOUT = 0.5  # seconds; what is on this machine answers at once
MODELS_SHOWN = 3
OLLAMA_LISTS, OPENAI_LISTS = "/api/tags", "/v1/models"
#: The name of each, its port, and where it lists its models.
HABITS: Mapping[str, tuple[int, str]] = {
    "Ollama": (11434, OLLAMA_LISTS),
    "LM Studio": (1234, OPENAI_LISTS),
    "llama.cpp": (8080, OPENAI_LISTS),
    "vLLM": (8000, OPENAI_LISTS),
}


@value
class LocalServer:
    """A server that answered, and the chat models that it has."""

    name: str
    address: str
    models: tuple[str, ...]
    lists_at: str

    @property
    def hint(self) -> str:
        """A sentence for an operator: which models it has, and how they are used."""
        listed = ", ".join(self.models[:MODELS_SHOWN]) + (", …" if len(self.models) > MODELS_SHOWN else "")
        how = f"CHAT_MODEL=ollama:{self.models[0]} (extra ollama)"
        if self.lists_at != OLLAMA_LISTS:
            how = f"CHAT_MODEL=openai:{self.models[0]}, OPENAI_BASE_URL={self.address}/v1 and OPENAI_API_KEY=local (extra openai)"
        return f"{self.name} on this machine has {listed}. To let it write and check answers, set {how}."


async def find_local_servers(habits: Mapping[str, tuple[int, str]] = HABITS) -> tuple[LocalServer, ...]:
    """The servers that answer now and have a chat model."""
    found = await asyncio.gather(*(_look(name, port, lists_at) for name, (port, lists_at) in habits.items()))
    return tuple(each for each in found if each is not None)


async def _look(name: str, port: int, lists_at: str) -> LocalServer | None:
    import httpx

    address = f"http://127.0.0.1:{port}"
    try:
        # Without TLS: to read the authorities for each server takes 40 ms.
        transport = httpx.AsyncHTTPTransport(verify=False, trust_env=False)
        async with httpx.AsyncClient(timeout=TIMEOUT, transport=transport) as client:
            reply = await client.get(f"{address}{lists_at}")
        listed = reply.json()["models" if lists_at == OLLAMA_LISTS else "data"] if reply.is_success else []
        names = [str(each["name" if lists_at == OLLAMA_LISTS else "id"]) for each in listed]
    except (httpx.HTTPError, ValueError, LookupError, TypeError):
        logger.debug("no %s at port %d", name, port, exc_info=True)
        return None
    models = tuple(each for each in names if "embed" not in each.lower())
    return LocalServer(name=name, address=address, models=models, lists_at=lists_at) if models else None
