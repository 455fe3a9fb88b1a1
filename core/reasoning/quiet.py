"""How a model is called: alone. No callback of the caller hears the call, so nothing is traced or streamed."""

from __future__ import annotations

import inspect
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import RunnableConfig


class ErrorBodies(AsyncCallbackHandler):
    """Closes the body that LangChain reads off a failed reply. Where aiohttp is installed, Google's client
    uses it, whose ``json()`` is a coroutine that nobody awaits: Python would warn of it on standard error."""

    async def on_llm_error(
        self,
        error: BaseException,  # noqa: ARG002 - LangChain names it
        *,
        response: LLMResult | None = None,
        **_: Any,
    ) -> None:
        for generations in response.generations if response else ():
            for generation in generations:
                if isinstance(generation, ChatGeneration):
                    body = generation.message.response_metadata.get("body")
                    if inspect.iscoroutine(body):
                        body.close()


QUIET = RunnableConfig(callbacks=[ErrorBodies()])
