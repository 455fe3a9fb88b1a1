"""Decisions that follow from the verdicts so far: pure functions of a turn's work and its policy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from core.characters import as_query
from core.conversation import QUERY_LIMIT, Exchange, Outcome, Proposal
from core.graph.policy import Evidence, Policy, WebQuery, is_mixed, probability
from core.graph.state import Next, Work
from core.grounding.doubts import oddity_of
from core.grounding.verdicts import Edited
from core.library.confidence import shared_terms
from core.reasoning import reasoner
from core.text.intent import asks, kind_of, names_something, recent_sources, without_courtesy
from core.text.sentences import STOP_WORDS

Certainty = Literal["sure", "unsure", "none"]

SURVIVING = 2  # best-ranked document passages that stay in where none of them is correct
SHARED = 2  # terms of its own that a question to nobody has in common with the passage that answers it
SURVIVING_HITS = 3  # hits of a web search that stay in: those whose pages are read


def route_of(work: Work, policy: Policy, *, has_web: bool) -> reasoner.Route:
    """The plan's route, unless the policy does not route or the documents are likely to answer. A router
    alone is right 54.5% of the time (Adaptive-RAG): high local confidence, or grades that found enough,
    overrule a route to the web, but not small talk or a question back."""
    plan = work.plan
    if plan is None or not policy.routes:
        return "documents"
    if plan.route == "clarify" and work.has_unread:  # the file may be what it lacks
        return "web"
    if plan.route == "clarify" and work.attached and any(work.sufficient):  # it was in the file
        return "documents"
    if plan.route in reasoner.SPEAKING:
        return plan.route if plan.reply else "documents"
    is_sure = work.confidence >= policy.veto_at or (policy.weights is not None and any(work.sufficient))
    return "web" if plan.route == "web" and has_web and not is_sure else "documents"


def evidence_of(work: Work, *, unsupported: Sequence[float] = (), useful: Sequence[bool] = ()) -> Evidence:
    """The verdicts of a turn so far."""
    looks = work.missed + (work.proposal.attempt if work.proposal else 0)
    is_judged = bool(work.sufficient)
    found: dict[int, list[reasoner.Relevance]] = {}  # on the graded passages of each look, best first
    for passage, look in (work.looks or dict.fromkeys((hit.passage.id for hit in work.passages), 0)).items():
        if passage in work.grades:
            found.setdefault(look, []).append(work.grades[passage].relevance)
    return Evidence(
        confidence=work.confidence if work.proposal is None else work.web_coverage,
        sufficient=work.sufficient, is_ranked=work.proposal is None,
        relevances=tuple(map(tuple, found.values())) if is_judged else (),
        unsupported=tuple(unsupported), useful=tuple(useful), looks=looks if is_judged else 0,
    )  # fmt: skip


def surviving(work: Work, policy: Policy) -> Mapping[str, reasoner.Grade]:
    """The grades to write by: one bad verdict does not remove the passage likeliest to hold the answer.
    Writing begins only when the evidence speaks for an answer. In the documents that is rarely far from the
    top; on the web it may be in any hit whose page was read."""
    if policy.weights is None or not work.sufficient:
        return work.grades
    best = [hit.passage.id for hit in work.passages[:SURVIVING]]
    if work.proposal is not None:
        best = [hit.passage.id for hit in work.passages if hit.passage.origin == "web"][:SURVIVING_HITS]
    found = {passage: work.grades[passage].relevance for passage in best if passage in work.grades}
    if work.proposal is None and "correct" in found.values():
        return work.grades
    doubted = (passage for passage, relevance in found.items() if relevance == "incorrect")
    return work.grades | dict.fromkeys(doubted, reasoner.Grade(relevance="ambiguous"))


def after_looking(work: Work, policy: Policy) -> Next:
    """The step after passages were graded: write, retrieve again, propose the web, or give up. Once there is nowhere
    else to look, whatever states a part of the answer is worth a draft; its check decides."""
    if policy.weights is None:
        return _gate_after_looking(work, policy)
    evidence = evidence_of(work)
    chance = probability(evidence, policy.weights)
    if falls_short(work) and can_rewrite(work, policy):  # do not write from too little
        return "regrade"
    if work.passages and chance >= _bar(work, policy):
        return "generate"
    if can_rewrite(work, policy):
        return "regrade"
    is_worth_it = chance >= policy.draft_at or (evidence.is_partial and work.proposal is None)
    is_for_draft = evidence.is_judged or not policy.judges_passages
    return "generate" if work.passages and is_for_draft and is_worth_it else "propose"


def may_join(work: Work, policy: Policy, history: Sequence[Exchange]) -> bool:
    """True if the bot may look into a question that nobody addressed to it. The documents are sure to answer
    it."""
    if not asks(work.question) or not work.passages:
        return False
    # The confidence in “How did that even happen?” is that of the questions before it.
    if shared_terms(work.question, work.passages[0]) < SHARED:
        return False
    is_on_subject = work.passages[0].passage.source in recent_sources(history)
    least = policy.continue_at if is_on_subject else policy.follow_at
    is_likely = bool(history) and kind_of(work.question) == "question"
    return work.confidence >= (least if is_likely else policy.join_at)


def is_for_bot(work: Work, policy: Policy) -> bool:
    """True if such a question may be answered, by its plan and what was found."""
    if work.plan is None or not work.plan.is_for_assistant or work.next != "generate":
        return False
    return route_of(work, policy, has_web=True) in reasoner.DOCUMENT_ROUTES


def is_plain_answer(outcome: Outcome | None) -> bool:
    """True if such a question may be answered with this: sure, whole, and without a proposed search."""
    if outcome is None or outcome.answer is None or outcome.proposal or outcome.reason is not None:
        return False
    return outcome.answer.is_sure and bool(outcome.answer.citations) and not outcome.answer.missing


def falls_short(work: Work) -> bool:
    """True if a judge said that the passages do not answer all of the question."""
    return bool(work.sufficient) and not any(work.sufficient)


def _bar(work: Work, policy: Policy) -> float:
    """The probability from which to write: of a model's verdicts, or of confidence in documents or web pages."""
    if work.sufficient:
        return policy.answer_at
    is_pointed_out = work.attached or work.proposal is not None  # a person wants what is in there
    return policy.web_quote_at if is_pointed_out else policy.show_at


def certainty_of(work: Work, policy: Policy) -> Certainty:
    """The certainty of quotes: nothing checks them, so the evidence before them decides alone. Where a model
    judges, a draft that nothing supported speaks against them."""
    if policy.weights is None:
        return "sure" if work.passages else "none"
    is_cut = work.rejected is not None and work.rejected.oddity is None
    unsupported = (1.0,) if is_cut and work.sufficient else ()
    chance = probability(evidence_of(work, unsupported=unsupported), policy.weights)
    if chance < _bar(work, policy):
        return "none"
    # What nobody addressed to the bot is sure: may_join.
    is_read_alone = not work.sufficient and work.proposal is None and work.is_addressed
    return "unsure" if is_read_alone and chance < policy.quote_at else "sure"


def oddity_to_mend(
    work: Work, policy: Policy, draft: reasoner.Draft, *, rests_on_any: bool
) -> reasoner.Oddity | None:
    """A fault that code finds in a draft as a whole, if another one may be written."""
    may_redraft = draft.answers and policy.weights is not None and work.drafts <= policy.redrafts
    if not may_redraft:
        return None
    return oddity_of(draft.text, work.question) if rests_on_any else "uncited"


def apply_check(
    work: Work, policy: Policy, kept: Edited, votes: Sequence[reasoner.Grounded], useful: Sequence[bool]
) -> tuple[Work, bool]:
    """The work after the check of a draft, and whether a part of the question stays open."""
    shares = [vote.share_unsupported for vote in votes]
    shares += shares[-1:] * (grounding_votes(policy) - len(shares))  # votes that were not needed
    # A draft from which nothing was cut states a part of the answer and says what is missing.
    is_half = policy.weights is not None and work.holds_correct and kept.names_gap and not kept.left_out
    follows = after_checking(
        work, policy, unsupported=shares, useful=useful, is_empty=not kept.text, is_half=is_half
    )
    leaves_open = falls_short(work) or (is_half and is_useless(useful))
    return replace(work, next=follows).with_step("verify"), leaves_open


def is_useless(useful: Sequence[bool]) -> bool:
    """True if at least half of the votes say that a draft does not answer the question."""
    return bool(useful) and sum(useful) * 2 <= len(useful)


def after_checking(
    work: Work, policy: Policy, *,
    unsupported: Sequence[float], useful: Sequence[bool], is_empty: bool, is_half: bool = False,
) -> Next:  # fmt: skip
    """The step after the check of a draft. It is written once more when the main point was cut. That half an
    answer does not settle the question is what it says itself, so no vote against it counts."""
    useless, may_redraft = is_useless(useful), work.rejected and work.drafts <= policy.redrafts
    if policy.weights is None:
        return "generate" if may_redraft else _gate_after_checking(work, policy, useless, is_empty)
    if is_half:
        return "answer"
    if may_redraft and (is_empty or useless):
        return "generate"
    if is_empty:
        return "regrade" if can_rewrite(work, policy) else "propose"
    if useful and not any(useful) and (falls_short(work) or work.rewrites):
        return "propose"  # found in part or late, and no vote finds an answer in it
    chance = probability(evidence_of(work, unsupported=unsupported, useful=useful), policy.weights)
    return "answer" if chance >= policy.answer_at else "propose"


def grounding_votes(policy: Policy) -> int:
    """The number of grounding votes on a draft."""
    return policy.votes if policy.checks_grounding else 0


def strips_for(ballot: int, statements: reasoner.Statements, strips: reasoner.Strips) -> reasoner.Strips:
    """The strips that a vote reads: the first vote all, others what is cited, unless another may state it."""
    cited = {number for statement in statements for number in statement.cites}
    may_be_elsewhere = any(not each.cites or each.doubts or each.is_apart for each in statements)
    return tuple(each for each in strips if not ballot or may_be_elsewhere or each.number in cited)


def useful_votes(work: Work, policy: Policy) -> int:
    """The number of usefulness votes beside the grounding votes: more where the evidence is mixed. A second
    draft gets one; where earlier votes used up the calls, none before it was edited."""
    if not policy.checks_usefulness:
        return 0
    if policy.weights is None:
        return 1
    is_contested = is_mixed(evidence_of(work), policy.weights)
    if work.drafts > 1:
        return int(not is_contested and work.rewrites <= 1)
    return max(1, policy.votes - work.rewrites) if is_contested else 1


def can_rewrite(work: Work, policy: Policy) -> bool:
    """True if another document retrieval is allowed and there is a wording or a step left to try."""
    return work.proposal is None and bool(steps_to_make(work, policy) or queries_to_try(work, policy))


def steps_to_make(work: Work, policy: Policy) -> tuple[reasoner.SearchStep, ...]:
    """The steps that the last judge asked for, as far as they are allowed."""
    is_allowed = work.rewrites < _rewrites_of(work, policy) + policy.search_trips
    return work.search_steps[: policy.search_steps - len(work.steps_made)] if is_allowed else ()


def queries_to_try(work: Work, policy: Policy) -> tuple[str, ...]:
    """Wordings for the next retrieval."""
    if work.rewrites >= _rewrites_of(work, policy):
        return ()
    most = None if policy.weights else 1  # the published graphs rewrite once per retrieval
    return further_queries(work)[:most]


def _rewrites_of(work: Work, policy: Policy) -> int:
    """The number of times that the documents may be searched in other words."""
    is_multi_hop = work.plan is not None and work.plan.route == "multi_hop"
    return max(policy.hops, policy.rewrites) if is_multi_hop else policy.rewrites


def further_queries(work: Work) -> tuple[str, ...]:
    """Wordings not tried yet: what the last grade missed, then what the plan wrote."""
    planned = work.plan.queries if work.plan else ()
    tried = {_fold(query) for query in (work.question, *work.tried, "")}
    return tuple(query for query in _distinct((work.missing, *planned)) if _fold(query) not in tried)


def may_be_on_web(work: Work) -> bool:
    """True if the plan did not decline a search. For what only the team can know, it writes an empty
    query."""
    return work.plan is None or work.plan.web_query != ""


def web_wordings(work: Work, policy: Policy) -> tuple[str, ...]:
    """Queries to propose, best first, without those already allowed; empty when attempts are used up."""
    if work.proposal is None:
        wordings, sent = _first_wordings(work, policy), set()
    elif work.proposal.attempt >= policy.web_attempts:
        return ()
    else:
        new = () if _fold(work.missing) in map(_fold, work.proposal.tried) else (work.missing,)
        wordings, sent = (*new, *work.proposal.wordings), set(map(_fold, queries_sent(work.proposal)))
    lines = _distinct(as_query(without_courtesy(wording), QUERY_LIMIT) for wording in wordings)
    return tuple(line for line in lines if _fold(line) not in sent and names_something(line))


def queries_sent(proposal: Proposal) -> tuple[str, ...]:
    """All queries allowed about a question so far; the proposed one counts when it was edited before it went."""
    return tuple(dict.fromkeys(q for q in (*proposal.sent, proposal.query, proposal.allowed) if q))


def _first_wordings(work: Work, policy: Policy) -> tuple[str, ...]:
    if not may_be_on_web(work):
        return ()
    standalone = work.plan.standalone if work.plan else work.question
    planned = (work.plan.web_query if work.plan else None) or ""
    words = without_courtesy(standalone).split()
    keywords = " ".join(word for word in words if word.lower().strip("?.,!") not in STOP_WORDS)
    rewritten = (planned, work.missing, standalone, keywords.rstrip(" ?.!"))
    wordings: dict[WebQuery, tuple[str, ...]] = {
        "rewritten": rewritten,
        "original": (work.question,),
        "original_first": (work.question, *rewritten),
    }
    return wordings[policy.web_query]


def _gate_after_looking(work: Work, policy: Policy) -> Next:
    """The gates of the published systems: each verdict decides alone."""
    verdicts = [verdict for hit in work.passages if (verdict := work.relevance_of(hit))]
    share = sum(each != "incorrect" for each in verdicts) / len(verdicts) if verdicts else 0.0
    falls_short = {
        "any_irrelevant": share < 1.0,
        "few_relevant": share <= policy.relevant_share,
        "none_relevant": share == 0.0,
        "routed": share == 0.0,
        "insufficient": not (work.passages and any(work.sufficient)),
    }[policy.web_when]
    if not falls_short:
        return "generate"
    if work.proposal is not None:  # the web was searched already
        return "generate" if share > 0 else "propose"
    if can_rewrite(work, policy):
        return "regrade"
    return "give_up" if policy.web_when == "routed" else "propose"


def _gate_after_checking(work: Work, policy: Policy, is_useless: bool, is_empty: bool) -> Next:
    if is_useless and policy.when_useless == "rewrite" and can_rewrite(work, policy):
        return "regrade"
    if not is_empty and not (is_useless and policy.when_useless != "answer"):
        return "answer"
    return "give_up" if policy.web_when == "routed" else "propose"


def _distinct(queries: Iterable[str]) -> tuple[str, ...]:
    """The queries without repeats that differ only in case, white space or final punctuation."""
    first: dict[str, str] = {}
    for query in queries:
        first.setdefault(_fold(query), query)
    return tuple(first.values())


def _fold(query: str) -> str:
    return " ".join(query.casefold().split()).rstrip(" ?.!")
