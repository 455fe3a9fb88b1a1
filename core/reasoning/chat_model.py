"""The reasoner of two chat models: one writes, the other plans, grades and checks.

The extractive reasoner stands in where a model is in trouble.

:class:`ChatModels` lives as long as the process. It makes a :class:`ChatModelReasoner` for each turn, which
keeps that turn's budget. :mod:`core.reasoning.prompts` has the prompts, :mod:`core.reasoning.replies` reads
the replies.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from core.conversation import ModelExchange, Usage
from core.errors import ModelTrouble
from core.library.documents import Retrieved, is_kept
from core.reasoning import faults, prompts, reasoner, replies
from core.reasoning.calls import AskedModel, Calls, Limits, StreamedModel, StructuredModel, StructuredReply
from core.reasoning.faults import CallFailed
from core.reasoning.limits import NO_PRICES, Budget, Circuit, Prices
from core.reasoning.pace import Pace, load_paces
from core.reasoning.prompts import Messages
from core.reasoning.providers import Access, connect, disconnect, is_own, split_name
from core.reasoning.reasoner import Ask, Draft, Grades, Grounded, Hear, Plan, Rejected, Statements, Strips

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from core.storage.database import AsyncDatabase


ReplyT = TypeVar("ReplyT", bound=replies.Reply)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatModels:
    """The two models that the operator chose."""

    name: str  #: of the one that writes, without its provider
    judge: str  #: the same of the other
    writer: StreamedModel
    grader: StructuredModel
    timeout: float  #: seconds for one call
    limits: Limits = field(default_factory=Limits)
    budget: Budget | None = None  #: tokens of the day; None: no limit
    prices: Prices = NO_PRICES
    writing: Circuit = field(default_factory=Circuit)  #: of the model that writes
    judging: Circuit = field(default_factory=Circuit)
    paces: Mapping[str, Pace] = field(default_factory=dict)  #: of both models, by name
    keeps_exchanges: bool = False  #: whether each call's messages and reply are kept for the turn's trace

    @classmethod
    def open(
        cls, *, chat_model: str, grader_model: str, access: Access, limits: Limits | None = None,
        budget: Budget | None = None, prices: Prices = NO_PRICES, database: AsyncDatabase | None = None,
        keeps_exchanges: bool = False,
    ) -> ChatModels:  # fmt: skip
        """Makes no connection yet; SettingsError when a provider, its package or its key is missing.
        ``database`` remembers how fast the models are."""
        named = [split_name(each) for each in (chat_model, grader_model)]
        own = {model: is_own(provider, access) for provider, model in named}
        return cls(
            name=named[0][1], judge=named[1][1],
            writer=StreamedModel(connect("CHAT_MODEL", chat_model, access, is_streamed=True)),
            grader=StructuredModel(connect("GRADER_MODEL", grader_model, access)),
            timeout=access.timeout, limits=limits or Limits(), budget=budget, prices=prices,
            paces=load_paces(own, longest=access.longest, database=database), keeps_exchanges=keeps_exchanges,
        )  # fmt: skip

    def reasoner(self, *, turn_timeout: float, channel: str = "", person: str = "") -> ChatModelReasoner:
        """A reasoner for a turn that begins now and has this many seconds; whose tokens it takes."""
        calls = Calls(
            usage=self.prices.add_cost(Usage(name=self.name)), timeout=self.timeout,
            ends_at=time.monotonic() + turn_timeout, limits=self.limits, prices=self.prices,
            allowance=self.budget.allowance(channel, person) if self.budget else None,
            keeps_exchanges=self.keeps_exchanges,
        )  # fmt: skip
        return ChatModelReasoner(models=self, calls=calls)

    @property
    def are_slow(self) -> bool:
        """True if every check would take too long: core.reasoning.pace."""
        return any(pace.is_slow for pace in self.paces.values())

    @property
    def circuits(self) -> dict[str, Circuit]:
        """The circuits by the model's name; of a model that writes and judges, the one for judging."""
        return {self.name: self.writing, self.judge: self.judging}

    async def aclose(self) -> None:
        """Closes the models' connections; in the event loop that used them."""
        for model in (self.writer.model, self.grader.model):
            await disconnect(model)


class ChatModelReasoner:
    """A reasoner for one turn. Every method returns a usable value or raises ModelTrouble."""

    def __init__(self, *, models: ChatModels, calls: Calls) -> None:
        self._models, self._calls = models, calls
        self._writer = AskedModel(models.name, models.writing, models.paces.get(models.name) or Pace())
        self._judge = AskedModel(models.judge, models.judging, models.paces.get(models.judge) or Pace())
        self._ballots = 0
        self.trouble: None = None  #: troubles are raised

    @property
    def usage(self) -> Usage:
        return self._calls.usage

    @property
    def exchanges(self) -> tuple[ModelExchange, ...]:
        return tuple(self._calls.exchanges)

    async def plan(self, ask: Ask) -> Plan:
        reply = await self._ask_judge(replies.PlanReply, prompts.plan(ask))
        return replies.to_plan(reply, ask)

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        if not passages:
            return Grades(sufficient=False)
        ordered = prompts.grading_order(ask, passages, self._ballots)
        self._ballots += 1
        is_beside_people = any(is_kept(hit.passage.source) for hit in ordered)
        shape = replies.GRADE_REPLIES[is_beside_people, bool(ask.contents)]
        reply = await self._ask_judge(shape, prompts.grade(ask, ordered))
        return replies.to_grades(reply, ordered, ask)

    async def write(
        self, ask: Ask, strips: Strips, before: Rejected | None = None, hear: Hear | None = None
    ) -> Draft:
        def read(message: BaseMessage) -> Draft:
            self._calls.charge(message, self._writer)
            faults.check_ending(message)
            draft = replies.to_draft(message.text, strips)
            if draft.answers and not draft.text:
                raise CallFailed(faults.unreadable("it was empty."))
            return draft

        def follow(text: str) -> None:
            if hear is not None:
                hear(replies.to_draft(text, strips))

        send = partial(self._models.writer.ask, follow=follow if hear else None)
        return await self._calls.ask(send, prompts.write(ask, strips, before), read, self._writer)

    async def check_grounding(self, statements: Statements, strips: Strips, ballot: int = 0) -> Grounded:
        if not statements:
            return Grounded(judged=())
        is_foreign = not ballot and prompts.foreign_strips(statements, strips)
        shape = replies.GroundingBetweenLanguagesReply if is_foreign else replies.GroundingReply
        reply = await self._ask_judge(shape, prompts.grounding(statements, strips, ballot))
        return replies.to_grounded(reply, statements, strips)

    async def confirm(self, statements: Statements, strips: Strips, ballot: int = 0) -> frozenset[int]:
        reply = await self._ask_judge(replies.PlainReply, prompts.confirm(statements, strips, ballot))
        return frozenset(each.number for each in statements) - {*reply.unstated}

    async def check_usefulness(self, ask: Ask, text: str) -> bool:
        reply = await self._ask_judge(replies.UsefulnessReply, prompts.usefulness(ask, text))
        return reply.useful

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> tuple[frozenset[int], frozenset[int]]:
        """The numbers, from 1, of the pairs of places that contradict each other, and of those about different things."""
        reply = await self._ask_judge(replies.CompareReply, prompts.compare(pairs))
        contradict = frozenset(reply.contradict)
        return contradict, frozenset(reply.scope) - contradict

    async def _ask_judge(self, shape: type[ReplyT], messages: Messages) -> ReplyT:
        """A reply of this shape from the model that judges."""

        def read(reply: StructuredReply) -> ReplyT:
            self._calls.charge(reply.raw, self._judge)
            faults.check_ending(reply.raw)
            if not isinstance(reply.parsed, shape):
                raise CallFailed(faults.unreadable(replies.complaint(reply.trouble), reply.raw.text))
            return reply.parsed

        return await self._calls.ask(partial(self._models.grader.ask, shape), messages, read, self._judge)


Value = TypeVar("Value")
P = ParamSpec("P")


@dataclass(slots=True)
class FallbackReasoner:
    """A reasoner for one turn: no question is lost to trouble with the model. After a lasting fault the chat
    model fails at once, so that trying it at every step costs nothing. A draft of the extractive reasoner is
    made of quotes, which no model needs to check."""

    chat: reasoner.Reasoner
    extractive: reasoner.Reasoner
    _trouble: str | None = field(default=None, init=False)  #: the sentence of the first one with the model
    _has_composed: bool = field(default=False, init=False)
    _has_quoted: bool = field(default=False, init=False)

    @property
    def usage(self) -> Usage:
        return self.chat.usage

    @property
    def trouble(self) -> str | None:
        return self._trouble or self.chat.trouble

    @property
    def exchanges(self) -> tuple[ModelExchange, ...]:
        return self.chat.exchanges

    async def plan(self, ask: Ask) -> Plan:
        return await self._either(self.chat.plan, self.extractive.plan, ask)

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        return await self._either(self.chat.grade, self.extractive.grade, ask, passages)

    async def write(
        self, ask: Ask, strips: Strips, before: Rejected | None = None, hear: Hear | None = None
    ) -> Draft:
        draft = await self._either(self.chat.write, self.extractive.write, ask, strips, before, hear)
        self._has_composed |= draft.composed
        self._has_quoted |= not draft.composed
        return draft

    async def check_grounding(self, statements: Statements, strips: Strips, ballot: int = 0) -> Grounded:
        otherwise = self.extractive.check_grounding
        return await self._either(self._judge.check_grounding, otherwise, statements, strips, ballot)

    async def confirm(self, statements: Statements, strips: Strips, ballot: int = 0) -> frozenset[int]:
        return await self._either(self._judge.confirm, self.extractive.confirm, statements, strips, ballot)

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:
        return await self._either(self._judge.check_usefulness, self.extractive.check_usefulness, ask, text)

    @property
    def _judge(self) -> reasoner.Reasoner:
        """The judging model; None if every draft of this turn was made of quotes."""
        return self.extractive if self._has_quoted and not self._has_composed else self.chat

    async def _either(
        self,
        step: Callable[P, Awaitable[Value]], otherwise: Callable[P, Awaitable[Value]],
        *given: P.args, **named: P.kwargs,
    ) -> Value:  # fmt: skip
        try:
            return await step(*given, **named)
        except ModelTrouble as trouble:
            self._trouble = self._trouble or trouble.sentence
            return await otherwise(*given, **named)
