"""The reasoner for slow models: one call writes, and a second one checks only what a program doubts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.conversation import ModelExchange, Usage
from core.library.documents import Retrieved
from core.reasoning.reasoner import Ask, Draft, Grades, Grounded, Plan, Reasoner, Rejected, Statement, Strip


@dataclass(frozen=True, slots=True)
class BriefReasoner:
    """Plans and grades without a model: whether the passages answer is for the one that writes to say."""

    chat: Reasoner
    extractive: Reasoner

    @property
    def usage(self) -> Usage:
        return self.chat.usage

    @property
    def exchanges(self) -> tuple[ModelExchange, ...]:
        return self.chat.exchanges

    @property
    def trouble(self) -> str | None:
        return self.chat.trouble

    async def plan(self, ask: Ask) -> Plan:
        return await self.extractive.plan(ask)

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        return await self.extractive.grade(ask, passages)

    async def write(self, ask: Ask, strips: tuple[Strip, ...], before: Rejected | None = None) -> Draft:
        return await self.chat.write(ask, strips, before)

    async def check_grounding(
        self, statements: tuple[Statement, ...], strips: tuple[Strip, ...], ballot: int = 0
    ) -> Grounded:
        doubted = tuple(each for each in statements if is_doubted(each))
        vote = await self.chat.check_grounding(doubted, strips, ballot) if doubted else Grounded(judged=())
        return replace(vote, judged=tuple(each.number for each in statements))

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:  # noqa: ARG002 - the port has them
        """No verdict: what the draft says of itself counts."""
        return None


def is_doubted(statement: Statement) -> bool:
    """True unless the strips that a sentence cites say it nearly word for word, and hold all its names and numbers."""
    return bool(statement.doubts or statement.fault or not statement.is_close)
