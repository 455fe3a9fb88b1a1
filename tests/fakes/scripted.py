"""Ports with a script: a reasoner, documents and a web that say what a test wants said.

They keep the real contracts: verdicts name real passages and sentences, drafts cite real
strips, and every call is written down.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from core.conversation import (
    Conversation,
    Decision,
    Exchange,
    ModelExchange,
    Progress,
    Question,
    Usage,
)
from core.errors import SearchTrouble
from core.graph.context import Deps
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.library.contents import Contents, contents_from
from core.library.documents import Passage, Retrieval, Retrieved
from core.reasoning.reasoner import (
    Ask,
    Draft,
    Grade,
    Grades,
    Grounded,
    Hear,
    Plan,
    Rejected,
    SearchStep,
    Statement,
    Strip,
)
from core.text.sentences import split_sentences
from core.traces.log import NO_LOG
from core.turns.assistant import Assistant
from core.turns.checkpoints import open_checkpoints

HERE = Conversation(platform="test", space="s", channel="c", thread="t")


def question(
    text: str = "How tall is the tower?", *, id: str = "q1", author: str = "ada", **more
) -> Question:
    return Question(id=id, conversation=HERE, author=author, text=text, asked_at=0.0, **more)


def decision(
    proposal_id: str, verdict: str = "approve", *, id: str = "d1", author: str = "ada", **more
) -> Decision:
    return Decision(
        id=id,
        conversation=HERE,
        author=author,
        proposal_id=proposal_id,
        verdict=verdict,
        decided_at=0.0,
        **more,
    )


def hit(text: str, *, id: str = "1", score: float = 1.0, **more) -> Retrieved:
    """A retrieved passage over the whole of a one-passage document."""
    fields = {"collection": "default", "source": f"{id}.md", "title": f"Document {id}", "location": "Top"}
    passage = Passage(id=id, text=text, start=0, end=len(text), **{**fields, **more})
    return Retrieved(passage=passage, score=score)


@dataclass
class ScriptedReasoner:
    """Says what its fields say; a callable field is called with the step's arguments."""

    relevance: Callable[[Retrieved], str] = lambda _hit: "correct"
    sufficient: bool | Callable[[], bool | None] | None = True
    missing: str = ""
    search_steps: Callable[[Ask], tuple[SearchStep, ...]] = lambda _ask: ()  #: of the grades
    plans: Callable[[Ask], Plan] = lambda ask: Plan(
        route="documents",
        standalone=ask.question,
        queries=("first rewrite", "second rewrite"),
        web_query="web words",
    )
    writes: Callable[[Ask, tuple[Strip, ...]], Draft] | None = None
    unsupported: Callable[[tuple[str, ...]], Iterable[int]] = lambda _claims: ()
    absent: Callable[[tuple[str, ...]], Iterable[int]] = lambda _claims: ()
    useful: bool | Callable[[], bool | None] | None = True
    calls: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    exchanges: tuple[ModelExchange, ...] = ()
    trouble: str | None = None

    async def plan(self, ask: Ask) -> Plan:
        self.calls.append("plan")
        return self.plans(ask)

    async def grade(self, ask: Ask, passages: tuple[Retrieved, ...]) -> Grades:
        self.calls.append("grade")
        return Grades(
            of={
                h.passage.id: Grade(
                    relevance=self.relevance(h),
                    evidence=tuple(range(1, len(split_sentences(h.passage.text)) + 1)),
                )
                for h in passages
            },
            sufficient=_said(self.sufficient),
            missing=self.missing,
            search_steps=self.search_steps(ask),
        )

    async def write(
        self, ask: Ask, strips: tuple[Strip, ...], before: Rejected | None = None, hear: Hear | None = None
    ) -> Draft:
        self.calls.append("write")
        cited = " ".join(f"{s.text.rstrip()} [{s.number}]" for s in strips)
        draft = self.writes(ask, strips) if self.writes else Draft(text=cited, composed=True)
        if hear and draft.composed:  # word by word, as a model writes it
            for end in [found.end() for found in re.finditer(r"\S+\s?", draft.text)]:
                hear(replace(draft, text=draft.text[:end]))
                await asyncio.sleep(0)
        return draft

    async def check_grounding(
        self, statements: tuple[Statement, ...], strips: tuple[Strip, ...], ballot: int = 0
    ) -> Grounded:
        self.calls.append("grounding")
        numbers = tuple(statement.number for statement in statements)
        texts = tuple(statement.text for statement in statements)
        unsupported, absent = (
            tuple(numbers[place - 1] for place in said(texts)) for said in (self.unsupported, self.absent)
        )
        return Grounded(judged=numbers, unsupported=unsupported, absent=absent)

    async def confirm(
        self, statements: tuple[Statement, ...], strips: tuple[Strip, ...], ballot: int = 0
    ) -> frozenset[int]:
        self.calls.append("confirm")
        numbers = [statement.number for statement in statements]
        texts = tuple(statement.text for statement in statements)
        others = {*self.unsupported(texts), *self.absent(texts)}
        return frozenset(number for place, number in enumerate(numbers, start=1) if place not in others)

    async def check_usefulness(self, ask: Ask, text: str) -> bool | None:
        self.calls.append("usefulness")
        return _said(self.useful)


def _said(verdict):
    return verdict() if callable(verdict) else verdict


@dataclass
class ScriptedDocuments:
    """Finds what the script says for a query; anything else finds ``default``."""

    default: tuple[Retrieved, ...] = ()
    by_query: dict[str, tuple[Retrieved, ...]] = field(default_factory=dict)
    near: dict[str, tuple[Passage, ...]] = field(
        default_factory=dict
    )  #: by id of a passage, what stands beside it
    first: tuple[Passage, ...] = ()  #: what the question's own files begin with
    whole: dict[str, tuple[Passage, ...]] = field(
        default_factory=dict
    )  #: by address, the passages of a document
    read: list[str] = field(default_factory=list)  #: addresses of the documents that were opened
    confidence: float = 0.5
    languages: tuple[str, ...] = ()
    collections: frozenset[str] = frozenset({"default"})
    asked: list[str] = field(default_factory=list)

    async def retrieve(
        self, query: str, *, limit: int, history: tuple[Exchange, ...] = (), within: tuple[str, ...] = ()
    ) -> Retrieval:
        self.asked.append(query)
        found = self.by_query.get(query, self.default)
        return Retrieval(
            passages=found[:limit], confidence=self.confidence, searched=len(found), languages=self.languages
        )

    async def neighbours(
        self, passages: Sequence[Passage], within: tuple[str, ...] = ()
    ) -> Sequence[Passage]:
        return [near for passage in passages for near in self.near.get(passage.id, ())]

    async def beginning(self, within: tuple[str, ...], *, limit: int) -> Sequence[Passage]:
        return self.first[:limit]

    async def contents(
        self, passages: Sequence[Passage], within: tuple[str, ...] = (), *, limit: int
    ) -> Sequence[Contents]:
        numbered = dict(enumerate(self.whole.items()))
        ids = {n: {each.id for each in whole} for n, (_, whole) in numbered.items()}
        found = {n: [p.id for p in passages if p.id in ids[n]] for n in numbered}
        return contents_from(
            (
                (n, address, each.source, each.title, each.path, each.location)
                for n, (address, whole) in numbered.items()
                for each in whole
            ),
            {n: names for n, names in found.items() if names},
        )[:limit]

    async def reading(self, address: str) -> Sequence[Passage]:
        self.read.append(address)
        return self.whole[address]


@dataclass
class ScriptedWeb:
    """Finds the same hits for every query, and writes down what was sent out."""

    hits: tuple[Retrieved, ...] = ()
    trouble: str = ""
    sent: list[str] = field(default_factory=list)

    async def find(
        self, query: str, question: str, report: Callable[[Progress], None]
    ) -> tuple[Retrieved, ...]:
        self.sent.append(query)
        if self.trouble:
            raise SearchTrouble(self.trouble)
        return self.hits


def web_hit(text: str, *, id: str = "web1", score: float = 1.0, **more) -> Retrieved:
    address = f"https://example.org/{id}"
    return hit(text, id=id, score=score, source=address, url=address, origin="web", **more)


TOWER = hit("The tower is 300 metres tall. It was built in 1889.")
OTHER = hit("Bridges are not towers.", id="2", score=0.5)
WEB = (web_hit("The tower is 330 metres tall with its antenna."),)


@asynccontextmanager
async def assistant_over(folder, reasoner, documents, *, web=None, policy="footnote", log=NO_LOG, **deps):
    async def make_deps(_turn, report):
        return Deps(
            policy=PRESETS[policy] if isinstance(policy, str) else policy,
            reasoner=reasoner,
            documents=documents,
            web=web,
            watcher=report,
            **deps,
        )

    async with open_checkpoints(folder / "conversations.sqlite") as checkpoints:
        yield Assistant(
            graph=build_graph(checkpoints),
            checkpoints=checkpoints,
            make_deps=make_deps,
            turn_timeout=30,
            log=log,
        )
