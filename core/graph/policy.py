"""Policies: the numbers and switches that steer the graph, the presets, and how evidence is weighed by them.

Five presets are published systems; ``footnote`` combines what each does best. A preset decides when to
retrieve again, to check and to propose a web search. In all of them a person must allow the search, and every
loop is bounded.

Verdicts are evidence, not gates: every judge errs, so their log-odds are added up. A loop that asks the same judge
until it agrees weakens the check; a sum over different judges does not. The published policies keep their gates
instead (``weights=None``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Literal

from core.reasoning.reasoner import Relevance

WebWhen = Literal["insufficient", "any_irrelevant", "few_relevant", "none_relevant", "routed"]
WhenUseless = Literal["web", "rewrite", "answer"]
WebQuery = Literal["rewritten", "original", "original_first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceWeights:
    """Log-odds that each verdict adds to the decision to answer."""

    local: float = 1.0  #: of the library's own calibrated log-odds
    sufficient: float = 1.8  #: for "enough to answer", against for "not enough"
    partial: float = 0.6  #: against, where only a part of the answer was found
    relevant: float = 1.8  #: for a passage found correct, against for an incorrect one
    grounded: float = 0.7  #: for a draft without unsupported claims; small, since a draft about something else has none either
    ungrounded: float = 1.8  #: against, by the share of unsupported claims
    useful: float = 0.7  #: for a draft that answers the question; small, since an invented one may do so too
    useless: float = 1.8  #: against a draft that does not
    look: float = 0.9  #: against, for each retrieval without an answer
    repeat: float = 0.5  #: weight of each further verdict of the same judge, whose errors are correlated
    clamp: float = 2.5  #: limit of the local log-odds
    doubted_clamp: float = 1.0  #: the same if a model's verdicts disagree


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The handling of a question."""

    name: str
    passages: int = 8  #: passages retrieved and graded
    routes: bool = True  #: the plan may choose a route other than the documents
    veto_at: float = 0.6  #: local confidence from which documents are read although the plan chose the web
    web_when: WebWhen = "insufficient"
    relevant_share: float = 0.7  #: for few_relevant: at most this share of passages is relevant
    rewrites: int = 1  #: further document retrievals with another wording
    hops: int = 2  #: further retrievals for a multi-hop question
    search_steps: int = 4  #: that a judge may ask for where it did not find enough
    search_trips: int = 2  #: further retrievals in which they are carried out
    web_attempts: int = 3  #: web searches for one question, at least 1; each with its own Decision
    web_query: WebQuery = "rewritten"  #: which wording is proposed, and in which order
    web_joins: bool = True  #: document strips stay in the context together with web passages
    grades_web: bool = True
    judges_passages: bool = True  #: a model does so before it writes; else the draft says whether they answer
    refines: bool = True  #: the writer reads strips; False: whole passages
    checks_grounding: bool = True
    checks_usefulness: bool = True
    when_useless: WhenUseless = "web"
    redrafts: int = 1  #: further drafts after an unsupported one
    votes: int = 3  #: at most: grounding votes on a draft, and usefulness votes if the evidence is mixed
    #: None: each verdict decides alone
    weights: EvidenceWeights | None = field(default_factory=EvidenceWeights)
    answer_at: float = 0.6  #: answer from this probability of being right
    quote_at: float = 0.85  #: the same without a model, for the library's confidence
    show_at: float = 0.6  #: from which a quote is shown as unsure, with a proposed search
    web_quote_at: float = 0.4  #: the same for results of an allowed search, and for attached files
    draft_at: float = 0.25  #: from which a draft is written for a model to judge
    speculate_at: float = 0.8  #: local confidence from which the draft is written while passages are graded
    closest_at: float = 0.12  #: from which a proposal shows the closest passages
    #: confidence from which a question to nobody is answered, on the subject of the last answer
    continue_at: float = 0.7
    follow_at: float = 0.85  #: the same on another subject
    #: the same where the bot was not asked before, or the words speak of what happens now
    join_at: float = 0.95


_PUBLISHED = Policy(
    name="published", passages=4, weights=None, refines=False, votes=1, hops=0, search_steps=0,
    rewrites=0, web_attempts=1, grades_web=False, veto_at=1.1, speculate_at=1.1,
)  # fmt: skip
#: Corrective RAG, which neither routes nor checks what it wrote.
_CORRECTIVE = replace(_PUBLISHED, routes=False, checks_grounding=False, checks_usefulness=False)

OURS = "footnote"
BRIEF = "brief"  # for slow models: core/reasoning/brief.py
AUTO = "auto"  # ours, or brief while the model is slow
PRESETS: Mapping[str, Policy] = {
    policy.name: policy
    for policy in (
        Policy(name=OURS),
        replace(_PUBLISHED, name="combined", web_when="any_irrelevant", web_query="original"),
        replace(_CORRECTIVE, name="crag-any", web_when="any_irrelevant"),
        replace(
            _PUBLISHED, name="self-rag", routes=False, web_when="none_relevant", rewrites=2, web_attempts=3,
            web_query="original_first", grades_web=True, when_useless="rewrite",
        ),
        replace(_CORRECTIVE, name="crag-ratio", web_when="few_relevant"),
        replace(
            _PUBLISHED, name="adaptive", web_when="routed", rewrites=2, web_joins=False, when_useless="rewrite"
        ),
        replace(
            Policy(name=BRIEF), hops=0, rewrites=0, search_steps=0, redrafts=0, votes=1, checks_usefulness=False,
            speculate_at=1.1, web_attempts=1, judges_passages=False, draft_at=0.02, answer_at=0.02,
        ),
    )
}  # fmt: skip


#: How likely each rank holds the answer: recall at 1, 5 and 10 of plain BM25 over SQuAD 2 is .80, .93 and .96. The
#: verdict on a passage is weighted by it.
RANKS = (0.80, 0.06, 0.04, 0.02, 0.015)
BEYOND = 0.01  # at each further rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence for and against answering from the passages at hand."""

    confidence: float  #: local, calibrated, 0 to 1; .5 says nothing
    sufficient: tuple[bool, ...] = ()  #: one verdict per vote
    relevances: tuple[tuple[Relevance, ...], ...] = ()  #: of the graded passages of each look, best first
    is_ranked: bool = True  #: a better rank is likelier to answer; on the web any hit may
    unsupported: tuple[float, ...] = ()  #: share of the draft's claims found unsupported, one per vote
    useful: tuple[bool, ...] = ()
    looks: int = 0  #: earlier looks, in other words or on the web, that brought no answer

    @property
    def is_judged(self) -> bool:
        """True if a model gave a verdict."""
        return bool(self.sufficient or self.useful)

    @property
    def is_partial(self) -> bool:
        """True if some passage states at least a part of the answer."""
        return any("correct" in look for look in self.relevances)


def probability(evidence: Evidence, weights: EvidenceWeights) -> float:
    """Probability that an answer from these passages is right, 0 to 1."""
    return 1 / (1 + exp(-sum(verdicts(evidence, weights).values())))


def log_odds(evidence: Evidence, weights: EvidenceWeights) -> float:
    """Sum of the weighted verdicts; 0 says nothing either way."""
    return sum(verdicts(evidence, weights).values())


def verdicts(evidence: Evidence, weights: EvidenceWeights) -> dict[str, float]:
    """The weighted log-odds of each kind of verdict."""
    too_little = weights.partial / weights.sufficient if evidence.is_partial else 1.0
    enough = [1.0 if vote else -too_little for vote in evidence.sufficient]
    lost = weights.grounded + weights.ungrounded
    grounded = [weights.grounded - share * lost for share in evidence.unsupported]
    useful = [weights.useful if vote else -weights.useless for vote in evidence.useful]
    on_passages = weights.sufficient * _votes(enough, weights.repeat)
    on_draft = _votes(useful, weights.repeat)
    looks = (_log_odds(look, weights, is_ranked=evidence.is_ranked) for look in evidence.relevances if look)
    return {
        "confidence": _local(evidence, on_passages + on_draft, weights),
        "sufficient": on_passages,
        "useful": on_draft,
        "relevance": max(looks, default=0.0),  # by the look that found most: a poor one takes nothing from it
        "grounding": _votes(grounded, weights.repeat),
        "looks": -weights.look * evidence.looks,
    }


def is_mixed(evidence: Evidence, weights: EvidenceWeights) -> bool:
    """True if one more verdict could turn the decision: |log-odds| under one strong verdict."""
    return abs(log_odds(evidence, weights)) < max(weights.sufficient, weights.useless)


def _local(evidence: Evidence, judged: float, weights: EvidenceWeights) -> float:
    """The library's log-odds. It cannot tell a near-miss from an answer, nor read another language: against a
    judge, whose verdicts have the log-odds ``judged``, it counts little."""
    most = weights.doubted_clamp if evidence.is_judged and judged <= 0 else weights.clamp
    is_doubted = evidence.is_judged and (judged > 0 or evidence.is_partial)
    least = weights.doubted_clamp if is_doubted else weights.clamp
    chance = min(max(evidence.confidence, 1e-6), 1 - 1e-6)
    return weights.local * min(max(log(chance / (1 - chance)), -least), most)


def _log_odds(look: Sequence[Relevance], weights: EvidenceWeights, *, is_ranked: bool) -> float:
    """Log-odds that one passage of a look answers, each verdict weighted by its rank."""
    count = len(look)
    shares = [*RANKS, *[BEYOND] * count][:count] if is_ranked else [1.0] * count
    worth = {"correct": weights.relevant, "ambiguous": 0.0, "incorrect": -weights.relevant}
    odds = sum(share * exp(worth[verdict]) for share, verdict in zip(shares, look, strict=True))
    return log(odds / sum(shares))


def _votes(votes: Sequence[float], repeat: float) -> float:
    """Mean verdict, worth more the more votes there are: 1 vote 1, each further one ``repeat`` less."""
    return sum(votes) / len(votes) * (1 + repeat * (len(votes) - 1)) if votes else 0.0
