"""The ports of a turn, and what its nodes note for its trace.

The ports are passed in on every run of the graph and never persisted.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter, time

from core.conversation import Omission, Progress, Usage, WebApproval, ignore_progress
from core.graph.checking import EarlyCheck
from core.graph.policy import Policy, verdicts
from core.graph.routing import evidence_of
from core.graph.state import State, Work
from core.library.documents import Retrieved
from core.library.library import ScopedDocuments
from core.reasoning.reasoner import Grade, Grounded, Reasoner, Statement, Strip
from core.traces.trace import Step, Trace, TracedDraft, TracedPassage, TracedSentence, TracedStrip
from core.web.request import WebResearch


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
        work = update.get("work")
        if work is not None and work != Work():
            self.work = work
            self._odds = self._odds or self._weigh(work)
        step = Step(
            node=node, began_ms=round((began - self.began) * 1000, 1),
            ms=round((perf_counter() - began) * 1000, 1), calls=after.calls - before.calls,
            input_tokens=after.input_tokens - before.input_tokens,
            output_tokens=after.output_tokens - before.output_tokens, odds=self._odds,
        )  # fmt: skip
        self.steps.append(step)
        self._odds = {}

    def note_check(
        self, work: Work, strips: Sequence[Strip], statements: Sequence[Statement], *,
        votes: Sequence[Grounded], useful: Sequence[bool], left_out: Sequence[Omission],
    ) -> None:  # fmt: skip
        self.work = work
        cut = {omission.text: omission.reason for omission in left_out}
        shown = tuple(
            TracedStrip(number=strip.number, passage=strip.passage.id, start=strip.start, end=strip.end)
            for strip in strips
        )
        sentences = tuple(_sentence(statement, votes, cut) for statement in statements)
        self.drafts.append(TracedDraft(sentences=sentences, strips=shown, useful=tuple(useful)))
        self._odds = self._weigh(work, [vote.share_unsupported for vote in votes], useful)

    def trace(self) -> Trace:
        work, plan = self.work, self.work.plan
        return Trace(
            policy=self.policy.name, collections=tuple(sorted(self.scope)), question=work.question,
            about=work.proposal.turn_id if work.proposal else "", standalone=plan.standalone if plan else "",
            route=plan.route if plan else "", queries=work.tried, missing=work.missing,
            steps=tuple(self.steps),
            passages=tuple(_passage(hit, work.grades.get(hit.passage.id)) for hit in work.passages),
            drafts=tuple(self.drafts),
        )  # fmt: skip

    def _weigh(
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
        text=statement.text, cites=statement.cites, doubts=statement.doubts,
        votes=sum(number in vote.judged for vote in votes),
        against=sum(number in vote.unsupported for vote in votes), is_cut=left_out is not None,
        reason=cut[left_out] if left_out else "",
    )  # fmt: skip


def _passage(hit: Retrieved, grade: Grade | None) -> TracedPassage:
    passage = hit.passage
    return TracedPassage(
        id=passage.id, collection=passage.collection, source=passage.source, title=passage.title,
        location=passage.location, start=passage.start, end=passage.end, url=passage.url, origin=passage.origin,
        score=round(hit.score, 4), lexical=round(hit.lexical, 3),
        dense=hit.dense if hit.dense is None else round(float(hit.dense), 4),
        verdict=grade.relevance if grade else "", evidence=grade.evidence if grade else (),
    )  # fmt: skip


async def _nothing(*_: object) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps:
    policy: Policy
    reasoner: Reasoner
    documents: ScopedDocuments  #: the part of the library that this conversation may read
    web: WebResearch | None  #: for a query that a person allowed
    approval: WebApproval = "asker"
    approvers: tuple[str, ...] = ()
    proposals_expire: float = 0.0  #: seconds for which a proposal may be decided; 0: for ever
    now: Callable[[], float] = time  #: seconds since the epoch
    watcher: Callable[[Progress], None] = ignore_progress  #: sees how far the turn is
    #: Told the source of a person's answer, and those of the documents that say something else.
    note_dispute: Callable[[str, Sequence[str]], Awaitable[object]] = _nothing
    #: Of sources that were cited from some collections, those that may not be quoted any more where these others are
    #: readable: people's answers that are not used any more, and documents that others may read now.
    withdrawn: Callable[[Sequence[str], Collection[str], Collection[str]], Awaitable[frozenset[str]]] = (
        _nothing
    )
    remark: str = ""  #: a sentence: what could not be found out of what the person may read
    #: Looks up again what may be read; None: that never changes.
    look_up_rights: Callable[[], Awaitable[frozenset[str]]] | None = None
    tracer: Tracer = field(init=False)
    early: EarlyCheck = field(init=False)

    def __post_init__(self) -> None:
        early = EarlyCheck(
            reasoner=self.reasoner, policy=self.policy, watcher=self.watcher, readable=self.readable_now,
            withdrawn=self.withdrawn,
        )  # fmt: skip
        object.__setattr__(self, "early", early)
        object.__setattr__(self, "tracer", Tracer(policy=self.policy, scope=self.documents.collections))

    def report(self, progress: Progress) -> None:
        """Report the stage of the turn, with the beginning of its answer that is shown by now."""
        self.watcher(replace(progress, answer=self.early.answer))

    async def readable_now(self) -> frozenset[str]:
        """The collections that may be read by now: while a model thinks, one may be closed."""
        return await self.look_up_rights() if self.look_up_rights else self.documents.collections
