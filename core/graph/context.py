"""The ports of a turn, passed in on every run of the graph and never persisted, and what its nodes note for its
trace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from core.conversation import Exchange, Omission, Progress, Usage, WebApproval
from core.graph.policy import Policy, verdicts
from core.graph.routing import evidence_of
from core.graph.state import State, Work
from core.library.contents import Contents
from core.library.documents import Passage, Retrieval, Retrieved
from core.reasoning.reasoner import Grade, Grounded, Reasoner, Statement, Strip
from core.traces.trace import Step, Trace, TracedDraft, TracedPassage, TracedSentence, TracedStrip


@dataclass(slots=True, kw_only=True)
class Tracer:
    """Collects values, and makes the trace of them at the end. One for each run."""

    policy: Policy
    scope: frozenset[str]  #: the collections that the turn may read
    began: float = field(default_factory=perf_counter)
    steps: list[Step] = field(default_factory=list)
    #: the last that a node left: the end of a turn empties the state's
    work: Work = field(default_factory=Work)
    drafts: list[TracedDraft] = field(default_factory=list)
    _odds: dict[str, float] = field(default_factory=dict)

    def ran(self, node: str, began: float, before: Usage, after: Usage, update: State) -> None:
        """A node has run."""
        work = update.get("work")
        if work is not None and work != Work():
            self.work = work
            self._odds = self._odds or self._weighed(work)
        step = Step(
            node=node,
            began_ms=round((began - self.began) * 1000, 1),
            ms=round((perf_counter() - began) * 1000, 1),
            calls=after.calls - before.calls,
            input_tokens=after.input_tokens - before.input_tokens,
            output_tokens=after.output_tokens - before.output_tokens,
            odds=self._odds,
        )
        self.steps.append(step)
        self._odds = {}

    def checked(
        self, work: Work, strips: Sequence[Strip], statements: Sequence[Statement], *,
        votes: Sequence[Grounded], useful: Sequence[bool], left_out: Sequence[Omission],
    ) -> None:  # fmt: skip
        """A draft was checked, in the node that runs."""
        self.work = work
        cut = {omission.text: omission.reason for omission in left_out}
        shown = tuple(
            TracedStrip(number=strip.number, passage=strip.passage.id, start=strip.start, end=strip.end)
            for strip in strips
        )
        sentences = tuple(_sentence(statement, votes, cut) for statement in statements)
        self.drafts.append(TracedDraft(sentences=sentences, strips=shown, useful=tuple(useful)))
        self._odds = self._weighed(work, [vote.share_unsupported for vote in votes], useful)

    def trace(self) -> Trace:
        work = self.work
        return Trace(
            policy=self.policy.name,
            collections=tuple(sorted(self.scope)),
            question=work.question,
            about=work.proposal.turn_id if work.proposal else "",
            standalone=work.plan.standalone if work.plan else "",
            route=work.plan.route if work.plan else "",
            queries=work.tried,
            missing=work.missing,
            steps=tuple(self.steps),
            passages=tuple(_passage(hit, work.grades.get(hit.passage.id)) for hit in work.passages),
            drafts=tuple(self.drafts),
        )

    def _weighed(
        self, work: Work, unsupported: Sequence[float] = (), useful: Sequence[bool] = ()
    ) -> dict[str, float]:
        """The evidence for an answer by now; nothing where the policy has gates instead."""
        if self.policy.weights is None or not work.passages:
            return {}
        odds = verdicts(evidence_of(work, unsupported=unsupported, useful=useful), self.policy.weights)
        return {kind: round(worth, 2) for kind, worth in odds.items() if worth}


def _sentence(statement: Statement, votes: Sequence[Grounded], cut: dict[str, str]) -> TracedSentence:
    number = statement.number
    # The judge sees the head of a table above a row of it.
    left_out = next((text for text in cut if statement.text.endswith(text)), None)
    return TracedSentence(
        text=statement.text,
        cites=statement.cites,
        doubts=statement.doubts,
        votes=sum(number in vote.judged for vote in votes),
        against=sum(number in vote.unsupported for vote in votes),
        is_cut=left_out is not None,
        reason=cut[left_out] if left_out else "",
    )


def _passage(hit: Retrieved, grade: Grade | None) -> TracedPassage:
    passage = hit.passage
    return TracedPassage(
        id=passage.id, collection=passage.collection, source=passage.source, title=passage.title,
        location=passage.location, start=passage.start, end=passage.end, url=passage.url, origin=passage.origin,
        score=round(hit.score, 4), lexical=round(hit.lexical, 3),
        dense=hit.dense if hit.dense is None else round(float(hit.dense), 4),
        verdict=grade.relevance if grade else "", evidence=grade.evidence if grade else (),
    )  # fmt: skip


class Documents(Protocol):
    """The part of the library that this conversation may read."""

    @property
    def collections(self) -> frozenset[str]: ...  #: that may be read

    async def retrieve(
        self, query: str, *, limit: int, history: tuple[Exchange, ...] = (), within: tuple[str, ...] = ()
    ) -> Retrieval:
        """The best passages; ``within`` narrows them to files, folders or URLs."""

    async def neighbours(self, passages: Sequence[Passage], within: tuple[str, ...]) -> Sequence[Passage]:
        """The neighbours of these passages in their documents, and the documents' heads."""

    async def beginning(self, within: tuple[str, ...], *, limit: int) -> Sequence[Passage]:
        """The first passages of these files, in reading order."""

    async def contents(
        self, passages: Sequence[Passage], within: tuple[str, ...], *, limit: int
    ) -> Sequence[Contents]:
        """The documents of these passages with their sections, those of the first passages first."""

    async def reading(self, address: str) -> Sequence[Passage]:
        """The passages of a document, in reading order."""


class Web(Protocol):
    """A web search for a query that a person allowed."""

    async def find(
        self, query: str, question: str, report: Callable[[Progress], None]
    ) -> tuple[Retrieved, ...]:
        """One passage per hit, best first. Raises SearchTrouble."""


async def _nothing_withdrawn(
    _sources: Sequence[str], _behind: Collection[str], _readable: Collection[str]
) -> frozenset[str]:
    return frozenset()


async def _ignore_dispute(_answer: str, _others: Sequence[str]) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    policy: Policy
    reasoner: Reasoner
    documents: Documents
    web: Web | None
    approval: WebApproval = "asker"
    approvers: tuple[str, ...] = ()
    report: Callable[[Progress], None] = lambda _: None
    #: Told the source of a person's answer, and those of the documents that say something else.
    note_dispute: Callable[[str, Sequence[str]], Awaitable[None]] = _ignore_dispute
    #: Of sources that were cited from some collections, those that may not be quoted any more where these others are
    #: readable: people's answers that are not used any more, and documents that others may read now.
    withdrawn: Callable[[Sequence[str], Collection[str], Collection[str]], Awaitable[frozenset[str]]] = (
        _nothing_withdrawn
    )
    remark: str = ""  #: a sentence: what could not be found out of what the person may read
    #: Looks up again what may be read; None: that never changes.
    look_up_rights: Callable[[], Awaitable[frozenset[str]]] | None = None
    tracer: Tracer = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tracer", Tracer(policy=self.policy, scope=self.documents.collections))

    async def readable_now(self) -> frozenset[str]:
        """The collections that may be read by now: while a model thinks, one may be closed."""
        if self.look_up_rights is None:
            return self.documents.collections
        return await self.look_up_rights()
