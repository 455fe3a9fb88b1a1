"""The chat models that the operator chose, and how a turn reasons: with them, or from quotes alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from core.conversation import Turn
from core.library.library import Library
from core.reasoning.extractive import ExtractiveReasoner, Similarity
from core.reasoning.limits import Prices
from core.reasoning.providers import Access
from core.reasoning.reasoner import Reasoner
from core.settings import Settings
from core.storage.storage import Storage

if TYPE_CHECKING:
    from core.reasoning.chat_model import ChatModels

RESERVE = 5.0  # seconds of a turn that the model may not use


def open_models(settings: Settings, storage: Storage, open_now: AsyncExitStack) -> ChatModels | None:
    """The chat models that the operator chose; ``open_now`` closes them."""
    if not settings.has_chat_model:
        return None
    from core.reasoning.chat_model import ChatModels
    from core.reasoning.limits import open_budget

    limits = (
        settings.tokens_per_day, settings.tokens_per_day_per_channel, settings.tokens_per_day_per_person
    )  # fmt: skip
    day, channel, person = limits
    budget = (
        open_now.enter_context(open_budget(day, storage, per_channel=channel, per_person=person))
        if any(limits)
        else None
    )
    models = ChatModels.open(
        chat_model=settings.chat_model,
        grader_model=settings.judging_model,
        access=access_of(settings, timeout=settings.model_timeout),
        budget=budget,
        prices=prices_of(settings),
        keeps_exchanges=settings.trace_texts,
    )
    open_now.push_async_callback(models.aclose)
    return models


def access_of(settings: Settings, *, timeout: float) -> Access:
    """How the services of models are reached; ``timeout``: seconds for one call."""
    return Access(
        google_api_key=settings.google_api_key,
        google_url=settings.google_gemini_base_url,
        openai_api_key=settings.openai_api_key,
        openai_url=settings.openai_base_url,
        anthropic_api_key=settings.anthropic_api_key,
        anthropic_url=settings.anthropic_base_url,
        ollama_host=settings.ollama_host,
        timeout=timeout,
    )


def prices_of(settings: Settings) -> Prices:
    return Prices(of=settings.prices, currency=settings.currency, is_shown=settings.show_cost)


def reasoner_maker(
    settings: Settings, library: Library, models: ChatModels | None
) -> Callable[[Turn], Reasoner]:
    def extractive() -> ExtractiveReasoner:
        return ExtractiveReasoner(_similarity_of(library))  # not earlier: the embedder may be set later

    if models is None:
        return lambda _turn: extractive()
    from core.reasoning.chat_model import FallbackReasoner

    # Leaves time for quotes if the model hangs.
    seconds = settings.turn_timeout - min(RESERVE, settings.turn_timeout / 5)
    return lambda turn: FallbackReasoner(
        models.reasoner(turn_timeout=seconds, channel=turn.conversation.channel_id, person=turn.author),
        extractive(),
    )


def _similarity_of(library: Library) -> Similarity | None:
    if library.embedder is None:
        return None

    async def similarity(question: str, texts: Sequence[str]) -> Sequence[float]:
        return await asyncio.to_thread(library.similarity, question, texts)

    return similarity
