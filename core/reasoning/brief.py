"""The reasoner for slow models: one call writes, and a second one checks only what a program doubts."""

from dataclasses import dataclass, field, replace

from core.conversation import ModelExchange, Usage
from core.errors import ModelTrouble
from core.library.documents import Retrieved
from core.reasoning import reasoner
from core.reasoning.reasoner import Ask, Draft, Grades, Grounded, Plan, Statement, Statements, Strips


@dataclass(slots=True)
class BriefReasoner:
    """Plans and grades without a model: whether the passages answer is for the one that writes to say."""

    chat: reasoner.Reasoner
    extractive: reasoner.Reasoner

    trouble: str | None = field(default=None, init=False)  #: the sentence of a check that failed

    @property
    def usage(self) -> Usage:
        return replace(self.chat.usage, is_brief=True)

    @property
    def exchanges(self) -> tuple[ModelExchange, ...]:
        return self.chat.exchanges

    async def plan(self, ask: Ask) -> Plan:
        return await self.extractive.plan(ask)

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        return await self.extractive.grade(ask, passages)

    async def write(
        self, ask: Ask, strips: Strips,
        before: reasoner.Rejected | None = None, hear: reasoner.Hear | None = None,
    ) -> Draft:  # fmt: skip
        return await self.chat.write(ask, strips, before, hear)

    async def check_grounding(self, statements: Statements, strips: Strips, ballot: int = 0) -> Grounded:
        """A vote on what a program doubts; where there is none, those sentences are shown as unsettled."""
        doubted = tuple(each for each in statements if is_doubted(each))
        vote = Grounded(judged=())
        try:
            vote = await self.chat.check_grounding(doubted, strips, ballot) if doubted else vote
        except ModelTrouble as trouble:
            self.trouble = trouble.sentence
            vote = replace(vote, unsettled=tuple(each.number for each in doubted))
        return replace(vote, judged=tuple(each.number for each in statements))

    async def confirm(self, statements: Statements, strips: Strips, ballot: int = 0) -> frozenset[int]:  # noqa: ARG002
        return frozenset(each.number for each in statements if not is_doubted(each))

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:  # noqa: ARG002 - the port has them
        """Give no verdict: what the draft says of itself counts."""
        return None


def is_doubted(statement: Statement) -> bool:
    """True unless the cited strips say the sentence nearly word for word, with all its names and numbers."""
    return bool(statement.doubts or statement.fault or not statement.is_close)
