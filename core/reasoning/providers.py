"""Chat models by name: ``provider:model`` as LangChain knows it; a bare name is one of Google's."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.errors import SettingsError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = logging.getLogger(__name__)

GOOGLE = "google_genai"
GOOGLE_URL = "https://generativelanguage.googleapis.com"
REPLY_TOKENS = 8_192  # tokens of one reply, thinking included

#: Google's types that a call needs. They are built at first use, which would block the event loop for 40 ms.
CALL_TYPES = (
    "Tool", "Part", "Content", "GenerationConfig", "GenerateContentConfig", "GenerateContentResponse", "Candidate",
)  # fmt: skip

_GEMINI = re.compile(r"(?:models/)?gemini-(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Google's key and address, and the timeout. Other providers read their own key."""

    google_api_key: str = field(default="", repr=False)
    google_url: str = ""  #: empty: Google's own
    timeout: float = 60.0  #: seconds for one call


def split_name(name: str) -> tuple[str, str]:
    """Provider and model: of ``ollama:llama3:8b``, ``ollama`` and ``llama3:8b``."""
    provider, colon, model = name.partition(":")
    return (provider, model) if colon else (GOOGLE, name)


def connect(setting: str, name: str, access: Access) -> BaseChatModel:
    """The model that a setting names. SettingsError when its package, key or provider is missing."""
    from langchain.chat_models import init_chat_model

    provider, model = split_name(name)
    if provider == GOOGLE and not access.google_api_key:
        raise SettingsError(f"{setting}={name} needs GOOGLE_API_KEY.")
    try:
        connected: BaseChatModel = init_chat_model(
            model, model_provider=provider, **_options(provider, model, access)
        )
    except ImportError as missing:
        logger.debug("no package for %s: %s", provider, missing)
        package = getattr(missing.__cause__, "name", None) or f"langchain-{provider}"
        install = package.partition(".")[0].replace("_", "-")
        raise SettingsError(f"{setting}={name} needs a package: pip install {install}.") from missing
    except Exception as refused:  # the one boundary to all providers
        logger.debug("%s was refused: %s", name, refused)
        raise SettingsError(f"{setting}={name} cannot be used: check its provider and key.") from refused
    if provider == GOOGLE:
        _build_call_types()
    return connected


def _build_call_types() -> None:
    from google.genai import types

    for name in CALL_TYPES:
        getattr(types, name).model_rebuild()


def _options(provider: str, model: str, access: Access) -> dict[str, Any]:
    """No retries, since Calls counts them; no streaming, since only verified text is shown."""
    options: dict[str, Any] = {
        "timeout": access.timeout,
        "max_retries": 0,
        "max_tokens": REPLY_TOKENS,
        "disable_streaming": True,
    }
    if provider == GOOGLE:
        options["max_retries"] = 1  # Google counts the first try
        options["api_key"] = access.google_api_key
        # Always given, so that no gateway in the environment replaces it.
        options["base_url"] = access.google_url or GOOGLE_URL
        found = _GEMINI.match(model)
        if found and int(found.group(1)) >= 3:
            options["thinking_level"] = "low"  # older models take a token budget instead
    return options
