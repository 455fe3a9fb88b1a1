"""Servers of chat models on this machine, at the ports that they take by habit. They are offered, and never used unasked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from core.conversation import value

logger = logging.getLogger(__name__)

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
    def told(self) -> str:
        """What it has, and how it is used, as a sentence for an operator."""
        listed = ", ".join(self.models[:MODELS_SHOWN]) + (", …" if len(self.models) > MODELS_SHOWN else "")
        if self.lists_at == OLLAMA_LISTS:
            how = f"CHAT_MODEL=ollama:{self.models[0]} (extra ollama)"
        else:
            how = f"CHAT_MODEL=openai:{self.models[0]}, OPENAI_BASE_URL={self.address}/v1 and OPENAI_API_KEY=local (extra openai)"
        return f"{self.name} on this machine has {listed}. To let it write and check answers, set {how}."


async def find_local_servers(habits: Mapping[str, tuple[int, str]] = HABITS) -> tuple[LocalServer, ...]:
    """Those that answer now and have a chat model."""
    found = await asyncio.gather(*(_look(name, port, lists_at) for name, (port, lists_at) in habits.items()))
    return tuple(each for each in found if each is not None)


async def _look(name: str, port: int, lists_at: str) -> LocalServer | None:
    import httpx

    address = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT, trust_env=False) as client:
            reply = await client.get(f"{address}{lists_at}")
        listed = reply.json()["models" if lists_at == OLLAMA_LISTS else "data"] if reply.is_success else []
        names = [str(each["name" if lists_at == OLLAMA_LISTS else "id"]) for each in listed]
    except (httpx.HTTPError, ValueError, LookupError, TypeError):
        logger.debug("no %s at port %d", name, port, exc_info=True)
        return None
    models = tuple(each for each in names if "embed" not in each.lower())
    return LocalServer(name=name, address=address, models=models, lists_at=lists_at) if models else None
