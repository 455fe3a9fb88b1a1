"""Scripted models whose every verdict may be wrong, for one question at a time.

A verdict (which route, is this passage relevant, are they enough, is this draft grounded, is it
useful) is the truth, turned round with the probability that is set. Asked again about the same
thing, a judge repeats half of its error: the errors of any two of its verdicts have a correlation
of one half. Different judges, and different things, err apart.

Where a language model wrote drafts, the writer's are those: the good one where the answering passage is in
front of it, now and then the one with falsehoods; without it, it says so or writes the latter, half and
half. For the other questions it is idealised: right with the answering passage, without it silent or
wrong, and the wrong is half invented, half true but beside the question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from benchmarks.draft_labels import Which, plain
from benchmarks.world import World, WorldQuestion, draw
from core.conversation import Usage, value
from core.library.documents import Retrieval
from core.reasoning.calls import AskedModel, Calls, Limits
from core.reasoning.limits import NO_PRICES, Circuit

Reply = TypeVar("Reply")
Judge = Literal["route", "relevance", "sufficiency", "grounding", "usefulness"]
DraftKind = Literal["right", "planted", "invented", "beside", "nothing"]

SHARED = 0.5  # correlation of the errors of two verdicts on the same thing
PLANTS = 0.2  # share of the drafts with falsehoods, where the answer is in front of the writer
WRITES_ANYWAY = 0.5  # chance of a wrong draft where the answer is not in front of the writer
INVENTS = 0.5  # share of the wrong drafts that no passage supports; the others do not answer the question

UNBOUNDED = Limits(calls=10**9, round_trips=10**9)


@value
class ScriptedDraft:
    """A draft and its truth."""

    what: DraftKind
    key: str  #: drafts with the same key are the same to a judge

    @property
    def is_grounded(self) -> bool:
        return self.what not in ("invented", "planted")

    @property
    def is_useful(self) -> bool:
        return self.what in ("right", "planted", "invented")

    @property
    def which(self) -> Which:
        """Of the two drafts of a language model."""
        return "bad" if self.what == "planted" else "good"


@dataclass(slots=True)
class Script:
    """The models and the web of one run on one question."""

    world: World
    question: WorldQuestion
    error: float  #: probability that a verdict is wrong
    seed: int
    calls: Calls = field(default_factory=lambda: counted(UNBOUNDED))
    searches: int = 0  #: of the web
    written: ScriptedDraft = field(
        default_factory=lambda: ScriptedDraft(what="nothing", key="")
    )  #: the latest draft
    _asked: Counter[tuple[str, ...]] = field(default_factory=Counter)

    # Verdicts; they cost nothing until they are part of a call

    def says(self, truth: bool, judge: Judge, *seen: str) -> bool:
        """The judge's verdict on what it has seen."""
        thing = (judge, *seen)
        self._asked[thing] += 1
        return truth != self._errs(thing, self._asked[thing])

    def _errs(self, thing: tuple[str, ...], ballot: int) -> bool:
        """A vote that copies the thing's own error with chance c has a correlation of c² with another one."""
        own = (self.seed, self.question.id, *thing)
        copies = draw(*own, "copies", ballot) ** 2 < SHARED
        return draw(*own, "shared" if copies else ballot) < self.error

    def finds_relevant(self, text: str) -> bool:
        return self.says(text in self.question.telling, "relevance", text)

    def finds_enough(self, texts: Sequence[str]) -> bool:
        return self.says(self.question.gold in texts, "sufficiency", *sorted(texts))

    def finds_grounded(self, draft: ScriptedDraft) -> bool:
        return self.says(draft.is_grounded, "grounding", draft.key)

    def finds_useful(self, draft: ScriptedDraft) -> bool:
        return self.says(draft.is_useful, "usefulness", draft.key)

    def supports(self, sentence: str, draft: ScriptedDraft) -> bool:
        """The verdict on one sentence of a language model's draft."""
        item = self.question.item
        is_true = not (item and item.is_false(sentence, draft.which))
        return self.says(is_true, "grounding", draft.key, plain(sentence))

    def routes_to_documents(self) -> bool:
        return self.says(self.question.kind != "away", "route")

    def writes(self, texts: Sequence[str], *, has_answer: bool, once_more: bool = False) -> ScriptedDraft:
        """The same for the same texts, as at temperature 0; told what failed, it tries something else."""
        given = "\n".join(sorted(texts))
        what, lot = self._draft(given, has_answer=has_answer, once_more=once_more)
        self.written = ScriptedDraft(what=what, key=f"{what}\n{given}\n{lot}")
        return self.written

    def _draft(self, given: str, *, has_answer: bool, once_more: bool) -> tuple[DraftKind, str]:
        """What is written, and the lot by which it says what it says."""
        lot = "once more" if once_more else "draft"

        def falls(share: float, on: str) -> bool:
            return draw(self.seed, self.question.id, given, lot, on) < share

        if has_answer:
            is_false = self.question.item is not None and falls(PLANTS, "plants")
            return ("planted" if is_false else "right"), ""
        if not falls(WRITES_ANYWAY, "writes"):
            return "nothing", ""
        if self.question.item is not None:
            return "planted", ""
        return ("invented" if falls(INVENTS, "invents") else "beside"), lot

    def find(self, query: str) -> Retrieval:
        return self.world.retrieve(self.question, query)

    def search_web(self, query: str, hits: int) -> tuple[str, ...]:
        self.searches += 1
        return self.world.search_web(self.question, query, self.seed)[:hits]

    # Calls

    async def call(self, said: Reply) -> Reply:
        """One call to a model that says this."""
        return await called(self.calls, said)


def counted(limits: Limits) -> Calls:
    """A turn's calls, counted as the chat model's are."""
    return Calls(
        usage=Usage(name="scripted"), timeout=3600, ends_at=math.inf, limits=limits, allowance=None, prices=NO_PRICES,
        keeps_exchanges=False,
    )  # fmt: skip


async def called(calls: Calls, said: Reply) -> Reply:
    import asyncio

    async def send(_messages: object) -> Reply:
        await asyncio.sleep(0)  # so that calls side by side overlap
        return said

    return await calls.ask(send, (), lambda reply: reply, AskedModel("scripted", Circuit()))
