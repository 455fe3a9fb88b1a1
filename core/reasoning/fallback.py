"""Each step by the chat model; by the extractive reasoner where the model is in trouble."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.conversation import Usage
from core.errors import ModelTrouble
from core.library.documents import Retrieved
from core.reasoning.reasoner import Ask, Draft, Grades, Grounded, Plan, Reasoner, Rejected, Statement, Strip

Value = TypeVar("Value")


class FallbackReasoner:
    """A reasoner for one turn: no question is lost to trouble with the model.

    After a lasting fault the chat model fails at once, so that trying it at every step costs nothing.
    A draft of the extractive reasoner is made of quotes, which no model needs to check.
    """

    def __init__(self, chat: Reasoner, extractive: Reasoner) -> None:
        self._chat = chat
        self._extractive = extractive
        self._trouble: str | None = None
        self._has_composed = False
        self._has_quoted = False

    @property
    def trouble(self) -> str | None:
        """The sentence of the first trouble with the model."""
        return self._trouble

    @property
    def usage(self) -> Usage:
        return self._chat.usage

    async def plan(self, ask: Ask) -> Plan:
        return await self._either(self._chat.plan(ask), lambda: self._extractive.plan(ask))

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        return await self._either(
            self._chat.grade(ask, passages), lambda: self._extractive.grade(ask, passages)
        )

    async def write(self, ask: Ask, strips: tuple[Strip, ...], before: Rejected | None = None) -> Draft:
        draft = await self._either(
            self._chat.write(ask, strips, before), lambda: self._extractive.write(ask, strips, before)
        )
        self._has_composed |= draft.composed
        self._has_quoted |= not draft.composed
        return draft

    async def check_grounding(
        self, statements: tuple[Statement, ...], strips: tuple[Strip, ...], ballot: int = 0
    ) -> Grounded:
        if self._only_quotes:
            return await self._extractive.check_grounding(statements, strips, ballot)
        return await self._either(
            self._chat.check_grounding(statements, strips, ballot),
            lambda: self._extractive.check_grounding(statements, strips, ballot),
        )

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:
        if self._only_quotes:
            return await self._extractive.check_usefulness(ask, text)
        return await self._either(
            self._chat.check_usefulness(ask, text), lambda: self._extractive.check_usefulness(ask, text)
        )

    @property
    def _only_quotes(self) -> bool:
        """Whether every draft of this turn was made of quotes."""
        return self._has_quoted and not self._has_composed

    async def _either(self, reply: Awaitable[Value], otherwise: Callable[[], Awaitable[Value]]) -> Value:
        try:
            return await reply
        except ModelTrouble as trouble:
            self._trouble = self._trouble or trouble.sentence
            return await otherwise()
