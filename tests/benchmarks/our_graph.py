"""Our graph in the scripted world: the fallible models, the documents and the web behind its ports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from fakes.scripted import web_hit
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from benchmarks.fallible import Script, ScriptedDraft, called, counted
from benchmarks.world import WEB_HITS, WorldQuestion, draw
from core.conversation import Conversation, Decision, Exchange, Outcome, Progress, Question, Turn, Usage
from core.graph.context import Deps
from core.graph.graph import RECURSION_LIMIT, build_graph
from core.graph.policy import Policy
from core.graph.state import State
from core.library.contents import Contents
from core.library.documents import Passage, Retrieval, Retrieved
from core.reasoning.calls import Calls, Limits
from core.reasoning.chat_model import FallbackReasoner
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.reasoner import (
    Ask,
    Draft,
    Grade,
    Grades,
    Grounded,
    Hear,
    Plan,
    Rejected,
    Statement,
    Strip,
)
from core.text.sentences import split_sentences

CONVERSATION = Conversation(platform="bench", space="world", channel="judges", thread="1")
REWRITES = 2  # wordings that a plan gives for the documents
SURE = ("plainly", "surely", "indeed", "clearly", "truly", "simply", "really", "rightly", "fairly", "mostly")


@dataclass(slots=True)
class FallibleReasoner:
    """A turn's reasoner whose verdicts and drafts are the script's; each step is one counted call."""

    script: Script
    calls: Calls = field(default_factory=lambda: counted(Limits()))
    trouble: str | None = None

    @property
    def usage(self) -> Usage:
        return self.calls.usage

    async def plan(self, ask: Ask) -> Plan:
        wordings = self.script.question.wordings
        to_documents = self.script.routes_to_documents()
        plan = Plan(
            route="documents" if to_documents else "web",
            standalone=ask.question,
            queries=wordings[1 : 1 + REWRITES],
            web_query=wordings[1],
        )
        return await called(self.calls, plan)

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        is_enough = self.script.finds_enough([hit.passage.text for hit in passages])
        grades = Grades(
            of={hit.passage.id: self._graded(hit.passage.text) for hit in passages},
            sufficient=is_enough,
            missing="" if is_enough else self.script.question.wordings[-1],
        )
        return await called(self.calls, grades)

    def _graded(self, text: str) -> Grade:
        if not self.script.finds_relevant(text):
            return Grade(relevance="incorrect")
        question, spans = self.script.question, split_sentences(text)
        is_told = text in question.telling
        telling = [
            n
            for n, span in enumerate(spans, start=1)
            if is_told and (question.item or span in question.sentences)
        ]
        return Grade(
            relevance="correct", evidence=tuple(telling) or (_by_lot(len(spans), question.id, text) + 1,)
        )

    async def write(
        self, ask: Ask, strips: tuple[Strip, ...], before: Rejected | None = None, hear: Hear | None = None
    ) -> Draft:
        telling = [strip for strip in strips if _tells(strip, self.script.question)]
        texts = [strip.text for strip in strips]
        written = self.script.writes(texts, has_answer=bool(telling), once_more=before is not None)
        if written.what == "nothing" or not strips:
            return await called(self.calls, Draft(text="", composed=True, answers=False))
        return await called(self.calls, Draft(text=self._text(strips, telling), composed=True))

    def _text(self, strips: tuple[Strip, ...], telling: list[Strip]) -> str:
        question, written = self.script.question, self.script.written
        if question.item:
            return question.item.written_from({f"{s.number}": s.text for s in strips}, written.which)
        source = telling[0] if telling else strips[_by_lot(len(strips), written.key)]
        return f"{_wording(written, source.text, question.answer if telling else '')} [{source.number}]"

    async def check_grounding(
        self,
        statements: tuple[Statement, ...],
        strips: tuple[Strip, ...],
        ballot: int = 0,
    ) -> Grounded:
        script, judged = self.script, tuple(statement.number for statement in statements)
        if script.question.item:
            stands = [script.supports(statement.text, script.written) for statement in statements]
        else:
            stands = [script.finds_grounded(script.written)] * len(statements)
        failing = tuple(number for number, is_true in zip(judged, stands, strict=True) if not is_true)
        return await called(self.calls, Grounded(judged=judged, unsupported=failing))

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:
        return await called(self.calls, self.script.finds_useful(self.script.written))


def _tells(strip: Strip, question: WorldQuestion) -> bool:
    """Whether a strip has what answers the question."""
    if question.item:
        return strip.retrieved.passage.text == question.gold
    return bool(question.gold) and question.answer in strip.text


def _wording(written: ScriptedDraft, source: str, answer: str) -> str:
    """One claim in which the local checks find no fault, whatever its truth."""
    if written.what == "invented":
        return "It is " + " and ".join(SURE[_by_lot(10, written.key, place)] for place in range(4)) + " so."
    if written.what == "right":
        return " ".join(answer.split())
    spans = split_sentences(source)
    start, end = spans[_by_lot(len(spans), written.key)]
    return " ".join(source[start:end].split())


def _by_lot(count: int, *parts: object) -> int:
    return int(draw("by lot", *parts) * count)


@dataclass(frozen=True, slots=True)
class WorldDocuments:
    """The team's documents."""

    script: Script
    collections: frozenset[str] = frozenset({"default"})

    async def retrieve(
        self,
        query: str,
        *,
        limit: int,
        history: tuple[Exchange, ...] = (),
        within: tuple[str, ...] = (),
    ) -> Retrieval:
        found = self.script.find(query)
        return replace(found, passages=found.passages[:limit])

    async def neighbours(
        self, passages: Sequence[Passage], within: tuple[str, ...] = ()
    ) -> Sequence[Passage]:
        """Its documents are passages."""
        return ()

    async def beginning(self, within: tuple[str, ...], *, limit: int) -> Sequence[Passage]:
        """Its questions have no files."""
        return ()

    async def contents(
        self, passages: Sequence[Passage], within: tuple[str, ...] = (), *, limit: int
    ) -> Sequence[Contents]:
        """Its documents have no sections."""
        return ()

    async def reading(self, address: str) -> Sequence[Passage]:
        """Nothing of it can be opened."""
        return ()


@dataclass(frozen=True, slots=True)
class WorldWeb:
    """The web, whose hits are whole paragraphs."""

    script: Script

    async def find(
        self,
        query: str,
        question: str,
        report: Callable[[Progress], None],
    ) -> tuple[Retrieved, ...]:
        texts = self.script.search_web(query, WEB_HITS)
        return tuple(
            web_hit(
                text,
                id=f"{number}",
                score=1 - (number - 1) / (2 * len(texts)),
                title="example.org",
                location="example.org",
            )
            for number, text in enumerate(texts, start=1)
        )


@dataclass(frozen=True, slots=True)
class OurGraph:
    """Our graph with a policy; its conversations are kept in memory."""

    graph: CompiledStateGraph[State, Deps, State, State]
    checkpoints: InMemorySaver
    policy: Policy

    @classmethod
    def build(cls, policy: Policy) -> OurGraph:
        checkpoints = InMemorySaver()
        return cls(build_graph(checkpoints), checkpoints, policy)

    async def run(self, script: Script) -> tuple[Outcome, Usage]:
        """How the question ends when every proposal is approved, and what all its turns cost."""
        turn: Turn = Question(
            id="q", conversation=CONVERSATION, author="ada", text=script.question.text, asked_at=0.0
        )
        spent: list[Usage] = []
        while True:
            outcome, usage = await self._turn(turn, script)
            spent.append(usage)
            if outcome.proposal is None or outcome.kind != "approval_needed":
                break
            turn = Decision(
                id=f"d{len(spent)}", conversation=CONVERSATION, author="ada", proposal_id=outcome.proposal.id,
                verdict="approve", decided_at=0.0,
            )  # fmt: skip
        self.checkpoints.delete_thread(CONVERSATION.id)
        return outcome, Usage(
            calls=sum(u.calls for u in spent), round_trips=sum(u.round_trips for u in spent)
        )

    async def _turn(self, turn: Turn, script: Script) -> tuple[Outcome, Usage]:
        reasoner = FallibleReasoner(script=script)
        deps = Deps(
            policy=self.policy,
            reasoner=FallbackReasoner(reasoner, ExtractiveReasoner()),
            documents=WorldDocuments(script),
            web=WorldWeb(script),
        )
        state = await self.graph.ainvoke(
            {"turn": turn},
            {"configurable": {"thread_id": turn.conversation.id}, "recursion_limit": RECURSION_LIMIT},
            context=deps,
            durability="exit",
        )
        return state["outcome"], reasoner.usage
