"""The script of a published graph whose models are asked through their real client.

It takes the place of :class:`benchmarks.fallible.Script`, whose judges err at random: here a verdict is
a request, and :meth:`ClientScript.call` sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import BaseModel

from benchmarks.model_server import REWORD
from core.conversation import value
from core.library.documents import Retrieval
from core.reasoning.calls import QUIET


class RouterReply(BaseModel):
    datasource: str


class RelevanceReply(BaseModel):
    is_relevant: bool


class SupportReply(BaseModel):
    is_supported: bool


class ResolutionReply(BaseModel):
    is_resolved: bool


@value
class ModelRequest:
    """One call to a model, and what is kept of its reply."""

    instructions: str
    content: str
    shape: type[BaseModel] | None  #: None: the reply is text
    read: Callable[[Any], Any]


@value
class Wordings:
    """The question and its rewrites, as a graph looks for them in turn."""

    text: str
    wordings: tuple[str, ...]
    gold: str = ""  #: which passage answers is for the model to say


@value
class ClientWorld:
    """What a wording finds in the documents, and a query on the web."""

    retrieve: Callable[[str], Retrieval]
    web: tuple[str, ...] = ()


@dataclass(slots=True)
class ClientScript:
    """The models, the documents and the web of one run on one question."""

    question: Wordings
    world: ClientWorld
    model: BaseChatModel
    searches: int = field(default=0)

    def routes_to_documents(self) -> ModelRequest:
        return ModelRequest(
            instructions="Route the question: to the team's documents, or to a web search.",
            content=self.question.text,
            shape=RouterReply,
            read=lambda reply: reply.datasource == "documents",
        )

    def finds_relevant(self, text: str) -> ModelRequest:
        return ModelRequest(
            instructions="Grade whether the passage is relevant to the question.",
            content=f"Question:\n{self.question.text}\n\nPassage:\n{text}",
            shape=RelevanceReply,
            read=lambda reply: reply.is_relevant,
        )

    def writes(self, documents: Sequence[str], *, has_answer: bool) -> ModelRequest:
        context = "\n\n".join(documents)
        return ModelRequest(
            instructions=(
                "Answer the question from the context in three sentences at most. "
                "If you don't know, say that you don't know."
            ),
            content=f"{self.question.text}\n{context}",
            shape=None,
            read=lambda reply: reply,
        )

    def finds_grounded(self, draft: str) -> ModelRequest:
        return ModelRequest(
            instructions="Grade whether the answer is supported by the facts it was written from.",
            content=draft,
            shape=SupportReply,
            read=lambda reply: reply.is_supported,
        )

    def finds_useful(self, draft: str) -> ModelRequest:
        return ModelRequest(
            instructions="Grade whether the answer resolves the question.",
            content=f"{self.question.text}\n\n{draft}",
            shape=ResolutionReply,
            read=lambda reply: reply.is_resolved,
        )

    def find(self, query: str) -> Retrieval:
        return self.world.retrieve(query)

    def search_web(self, _query: str, hits: int) -> tuple[str, ...]:
        self.searches += 1
        return self.world.web[:hits]

    async def call(self, said: ModelRequest | int) -> Any:
        """What the model says; a number is that of a rewrite, which is asked for and kept as it is."""
        if isinstance(said, int):
            await self._send(
                ModelRequest(
                    instructions=f"{REWORD} the question so that a search finds more.",
                    content=self.question.text,
                    shape=None,
                    read=str,
                )
            )
            return said
        return said.read(await self._send(said))

    async def _send(self, request: ModelRequest) -> Any:
        messages = [("system", request.instructions), ("human", request.content)]
        if request.shape is None:
            return (await self.model.ainvoke(messages, config=QUIET)).text
        return await self.model.with_structured_output(request.shape).ainvoke(messages, config=QUIET)
