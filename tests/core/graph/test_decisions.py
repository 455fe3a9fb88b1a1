"""What follows from the verdicts at hand, and who may decide about a web search."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import get_args

import pytest
from fakes.passages import loose_strip, thorough
from fakes.scripted import decision, hit, web_hit
from hypothesis import given
from hypothesis import strategies as st

from core.conversation import QUERY_LIMIT, Omission, Proposal
from core.graph import routing
from core.graph.approval import already_decided, may_decide, refusal
from core.graph.policy import PRESETS, EvidenceWeights, Policy, WebQuery, WebWhen, WhenUseless
from core.graph.state import Next, Work
from core.reasoning.reasoner import Draft, Grade, Plan, Rejected, Relevance, Route, Statement

WORDS = st.sampled_from(["", " ", "alpha", "Alpha?", "beta gamma", "delta", "what is it"])
PLANS = st.builds(
    Plan,
    route=st.sampled_from(get_args(Route)),
    standalone=WORDS,
    queries=st.lists(WORDS, max_size=3).map(tuple),
    web_query=WORDS,
    reply=WORDS,
)
PASSAGES = st.lists(st.sampled_from("abcd"), unique=True, max_size=4).map(
    lambda names: tuple(hit(f"Text {name}.", id=name) for name in names)
)
GRADES = st.dictionaries(
    st.sampled_from("abcd"), st.builds(Grade, relevance=st.sampled_from(get_args(Relevance)))
)
REJECTED = st.builds(
    Rejected, failing=st.just((Omission(text="It is not.", reason="not said"),)), standing=WORDS
)
PROPOSALS = st.builds(
    Proposal,
    id=st.just("p1"),
    turn_id=st.just("q1"),
    question=st.just("alpha"),
    asker=st.just("ada"),
    query=WORDS,
    reason=st.just(""),
    tried=st.lists(WORDS, max_size=2).map(tuple),
    wordings=st.lists(WORDS, max_size=3).map(tuple),
    attempt=st.integers(1, 5),
)
WORKS = st.builds(
    Work,
    question=WORDS,
    plan=st.none() | PLANS,
    passages=PASSAGES,
    confidence=st.floats(0, 1),
    grades=GRADES,
    sufficient=st.lists(st.booleans(), max_size=3).map(tuple),
    missing=WORDS,
    rewrites=st.integers(0, 5),
    drafts=st.integers(0, 5),
    rejected=st.none() | REJECTED,
    proposal=st.none() | PROPOSALS,
    tried=st.lists(WORDS, max_size=3).map(tuple),
)
POLICIES = st.sampled_from(list(PRESETS.values())) | st.builds(
    Policy,
    name=st.just("any"),
    routes=st.booleans(),
    veto_at=st.floats(0, 1.1),
    web_when=st.sampled_from(get_args(WebWhen)),
    rewrites=st.integers(0, 3),
    hops=st.integers(0, 3),
    web_attempts=st.integers(0, 4),
    web_query=st.sampled_from(get_args(WebQuery)),
    when_useless=st.sampled_from(get_args(WhenUseless)),
    redrafts=st.integers(0, 2),
    weights=st.none() | st.just(EvidenceWeights()),
)


@thorough
@given(WORKS, POLICIES)
def test_something_always_follows_from_looking(work, policy):
    follows = routing.after_looking(work, policy)

    assert follows in set(get_args(Next)) - {"answer"}
    if follows == "generate":
        assert work.passages
    if follows == "regrade":
        assert routing.further_queries(work)


@thorough
@given(
    WORKS, POLICIES, st.lists(st.floats(0, 1), max_size=3), st.lists(st.booleans(), max_size=3), st.booleans()
)
def test_something_always_follows_from_checking(work, policy, unsupported, useful, is_empty):
    follows = routing.after_checking(work, policy, unsupported=unsupported, useful=useful, is_empty=is_empty)

    assert follows in get_args(Next)
    if follows == "answer":
        assert not is_empty
    if follows == "generate":
        assert work.rejected
        assert work.drafts <= policy.redrafts


@thorough
@given(WORKS, POLICIES)
def test_documents_are_asked_again_only_in_other_words_and_within_bounds(work, policy):
    if routing.can_rewrite(work, policy):
        assert work.rewrites < max(policy.rewrites, policy.hops)
        assert work.proposal is None
        assert routing.further_queries(work)


@thorough
@given(WORKS)
def test_further_queries_were_not_looked_for_and_say_something(work):
    queries = routing.further_queries(work)

    folded = [" ".join(query.casefold().split()).rstrip(" ?.!") for query in queries]
    assert all(folded)
    assert len(set(folded)) == len(folded)
    assert not {*folded} & {query.casefold().rstrip(" ?.!") for query in (work.question, *work.tried)}


@thorough
@given(WORKS, POLICIES)
def test_every_query_for_the_web_is_one_distinct_line(work, policy):
    hidden = replace(work, question=f"{work.question}\n\x00\u202e{'long ' * 200}")

    for each in (work, hidden):
        wordings = routing.web_wordings(each, policy)
        assert len({wording.casefold() for wording in wordings}) == len(wordings)
        assert all(0 < len(wording) <= QUERY_LIMIT for wording in wordings)
        assert not any(re.search(r"[\x00-\x1f\u202e]", wording) for wording in wordings)


@thorough
@given(WORKS, POLICIES)
def test_web_searches_about_one_question_come_to_an_end(work, policy):
    if work.proposal and work.proposal.attempt >= policy.web_attempts:
        assert routing.web_wordings(work, policy) == ()


@thorough
@given(WORKS, POLICIES, st.data())
def test_a_turn_ends_whatever_is_found_and_judged(work, policy, data):
    """The graph's loops, with any verdict at each step."""
    work = replace(work, rewrites=0, drafts=0, proposal=None, tried=(work.question,))
    follows, steps = routing.after_looking(work, policy), 0

    while follows in ("regrade", "generate"):
        steps += 1
        missing, rejected = data.draw(WORDS), data.draw(st.none() | REJECTED)
        grades, votes = data.draw(GRADES), tuple(data.draw(st.lists(st.booleans(), max_size=2)))
        if follows == "regrade":
            work = replace(
                work,
                rewrites=work.rewrites + 1,
                tried=(*work.tried, *routing.further_queries(work)),
                missing=missing,
                grades=grades,
                sufficient=votes,
                draft=None,
            )
            follows = routing.after_looking(work, policy)
        else:
            work = replace(
                work, drafts=work.drafts + 1, draft=Draft(text="x", composed=True), rejected=rejected
            )
            follows = routing.after_checking(
                work, policy, unsupported=(), useful=votes, is_empty=data.draw(st.booleans())
            )

    assert follows in ("answer", "propose", "give_up")
    assert steps <= 2 * (max(policy.rewrites, policy.hops) + policy.redrafts + 1)


@pytest.mark.parametrize(
    ("asked", "tried", "missing", "planned", "queries"),
    [
        ("alpha", ("alpha",), "", ("beta",), ("beta",)),
        ("alpha", ("alpha",), "gamma", ("beta",), ("gamma", "beta")),
        ("alpha", ("alpha", "beta"), "Beta?", ("beta.",), ()),
        ("alpha", ("alpha",), "Alpha?", ("ALPHA", "beta", "Beta"), ("beta",)),
    ],
)
def test_what_is_looked_for_next(asked, tried, missing, planned, queries):
    plan = Plan(route="documents", standalone=asked, queries=planned)
    work = Work(question=asked, tried=tried, missing=missing, plan=plan)

    assert routing.further_queries(work) == queries


def test_politeness_is_no_part_of_a_query_for_the_web():
    work = Work(question="Thanks, and when does the ferry leave, please?")
    nothing = Work(question="Thanks, and what about it, please?")

    assert routing.web_wordings(work, Policy(name="x")) == ("when does the ferry leave", "ferry leave")
    assert routing.web_wordings(nothing, Policy(name="x")) == ()


def test_queries_for_the_web_are_those_the_policy_wants():
    plan = Plan(route="documents", standalone="how tall is the tower in Paris?", web_query="tower height")
    work = Work(question="And how tall is it?", plan=plan, missing="height of the tower")

    assert routing.web_wordings(work, Policy(name="x", web_query="original")) == ("And how tall is it?",)
    assert routing.web_wordings(work, Policy(name="x", web_query="rewritten")) == (
        "tower height",
        "height of the tower",
        "how tall is the tower in Paris?",
        "tall tower Paris",
    )
    assert routing.web_wordings(work, Policy(name="x", web_query="original_first"))[:2] == (
        "And how tall is it?",
        "tower height",
    )


def test_one_poor_verdict_does_not_outweigh_the_rest():
    policy, passages = PRESETS["footnote"], (hit("Text.", id="a"),)
    good = {"a": Grade(relevance="correct")}
    sure = Work(question="q", passages=passages, grades=good, sufficient=(True,), confidence=0.5)

    assert routing.after_looking(replace(sure, sufficient=(True, False)), policy) == "generate"
    assert (
        routing.after_checking(sure, policy, unsupported=(0.2,), useful=(False,), is_empty=False) == "answer"
    )
    assert (
        routing.after_checking(sure, policy, unsupported=(1.0,), useful=(False,), is_empty=False) == "propose"
    )


@pytest.mark.parametrize(
    ("relevances", "kept"),
    [
        (("incorrect", "incorrect", "correct"), {"a", "b", "c"}),
        (("correct", "incorrect", "incorrect"), {"a"}),
        (("incorrect", "correct", "incorrect"), {"b"}),
        (("ambiguous", "incorrect", "incorrect"), {"a", "b"}),
    ],
)
def test_what_ranks_best_is_read_though_one_verdict_was_against_it_unless_its_like_was_found(
    relevances, kept
):
    work = _graded(*relevances)

    assert _read(work, PRESETS["footnote"]) == kept


def test_on_the_web_any_hit_whose_page_was_read_stays_in_and_no_document_with_it():
    hits = tuple(web_hit("Text.", id=f"w{n}") for n in range(4))
    verdicts = ("correct", "incorrect", "incorrect", "incorrect")
    grades = {h.passage.id: Grade(relevance=v) for h, v in zip(hits, verdicts, strict=True)}
    documents = _graded("incorrect")

    work = replace(
        documents,
        passages=(*hits, *documents.passages),
        grades={**grades, **documents.grades},
        proposal=_proposal(),
    )

    assert _read(work, PRESETS["footnote"]) == {"w0", "w1", "w2"}


@pytest.mark.parametrize("policy", [name for name in PRESETS if name != "footnote"])
def test_the_published_policies_take_each_verdict_at_its_word(policy):
    assert _read(_graded("incorrect", "correct"), PRESETS[policy]) == {"b"}


def test_without_a_model_nothing_is_read_that_the_words_speak_against():
    work = replace(_graded("incorrect", "incorrect", "correct"), sufficient=())

    assert _read(work, PRESETS["footnote"]) == {"c"}


def _graded(*relevances: Relevance) -> Work:
    passages = tuple(hit("Text.", id=name) for name, _ in zip("abc", relevances, strict=False))
    grades = {h.passage.id: Grade(relevance=r) for h, r in zip(passages, relevances, strict=True)}
    return Work(question="q", passages=passages, grades=grades, sufficient=(True,), confidence=0.5)


def _read(work: Work, policy: Policy) -> set[str]:
    """Passages that a draft is written from."""
    grades = routing.surviving(work, policy)
    return {passage for passage, grade in grades.items() if grade.relevance != "incorrect"}


def test_a_near_miss_the_library_is_sure_of_is_not_written_about():
    passages = tuple(hit("Text.", id=name) for name in "abc")
    grades = {"a": Grade(relevance="incorrect"), "b": Grade(relevance="incorrect")}
    work = Work(question="q", passages=passages, grades=grades, sufficient=(False,), confidence=0.97)

    assert routing.after_looking(work, PRESETS["footnote"]) == "propose"


def test_earlier_looks_count_only_where_a_model_judges():
    sought = Work(question="q", confidence=0.7, missed=2)

    assert routing.evidence_of(sought).looks == 0
    assert routing.evidence_of(replace(sought, sufficient=(True,))).looks == 2


def test_what_a_last_look_found_of_the_answer_is_worth_a_draft():
    """A question in German over English documents: its own words found nothing, those of the plan three passages."""
    hits = tuple(hit("Text.", id=str(number), score=1 - number / 100) for number in range(16))
    grades = {each.passage.id: Grade(relevance="incorrect") for each in hits}
    grades |= {str(number): Grade(relevance="correct") for number in (9, 10, 11)}
    looks = {each.passage.id: int(each.passage.id) // 8 for each in hits}
    work = Work(question="q", confidence=0.18, passages=hits, sufficient=(False,), missed=1, rewrites=2)
    found = replace(work, grades=grades, looks=looks)
    nothing = replace(found, grades=dict.fromkeys(grades, Grade(relevance="incorrect")))

    assert routing.after_looking(found, PRESETS["footnote"]) == "generate"
    assert routing.after_looking(nothing, PRESETS["footnote"]) == "propose"


def test_every_draft_gets_votes_of_its_own():
    assert routing.grounding_votes(PRESETS["footnote"]) == 3
    assert routing.grounding_votes(PRESETS["combined"]) == 1
    assert routing.grounding_votes(PRESETS["crag-any"]) == 0


def test_votes_after_the_first_read_what_is_cited_unless_another_strip_may_state_it():
    strips = tuple(loose_strip(f"Text {number}.", number=number) for number in (1, 2, 3))
    plain = Statement(number=1, text="It is so.", cites=(1,))
    doubted = Statement(number=2, text="It is 9.", cites=(2,), doubts=("the number 9",))
    apart = Statement(number=2, text="It is 9.", cites=(2,), is_apart=True)

    def read(ballot, *statements):
        return [strip.number for strip in routing.strips_for(ballot, statements, strips)]

    assert read(0, plain) == [1, 2, 3]
    assert read(1, plain) == read(2, plain) == [1]
    assert read(1, plain, doubted) == read(1, plain, apart) == [1, 2, 3]
    assert read(1, plain, replace(plain, number=2, cites=())) == [1, 2, 3]


def test_usefulness_is_judged_again_and_again_only_where_the_evidence_is_mixed():
    mixed = replace(_graded("incorrect"), sufficient=(True,), confidence=0.5, drafts=1)
    sure = replace(_graded("correct"), confidence=0.9, drafts=1)
    policy = PRESETS["footnote"]

    assert routing.useful_votes(sure, policy) == 1
    assert routing.useful_votes(mixed, policy) == 3
    assert routing.useful_votes(replace(mixed, rewrites=2), policy) == 1
    assert routing.useful_votes(replace(mixed, drafts=2), policy) == 0
    assert routing.useful_votes(replace(sure, drafts=2), policy) == 1


def test_what_a_judge_finds_too_little_is_looked_for_before_anything_is_written():
    plan = Plan(route="documents", standalone="q", queries=("other words",))
    short = replace(_graded("correct"), plan=plan, sufficient=(False,), confidence=0.97)
    policy = PRESETS["footnote"]

    assert routing.after_looking(short, policy) == "regrade"
    assert routing.after_looking(replace(short, sufficient=(True,)), policy) == "generate"
    assert routing.after_looking(replace(short, rewrites=1), policy) == "generate"


def test_a_draft_is_written_again_when_its_main_point_fell_and_not_for_a_sentence():
    work = replace(_graded("correct"), confidence=0.9, drafts=1, rejected=Rejected(failing=()))
    policy = PRESETS["footnote"]

    def follows(work, *, useful=True, is_empty=False):
        return routing.after_checking(work, policy, unsupported=(0.2,), useful=(useful,), is_empty=is_empty)

    assert follows(work) == "answer"
    assert follows(work, useful=False) == "generate"
    assert follows(work, is_empty=True) == "generate"
    assert follows(replace(work, drafts=2), is_empty=True) == "propose"


@pytest.mark.parametrize(
    ("changes", "useful", "shown"),
    [
        ({}, (False,), True),
        ({"rewrites": 1}, (False,), False),
        ({"rewrites": 1}, (False, True), True),
        ({"sufficient": (False,)}, (False, False), False),
        ({"sufficient": (False,)}, (True,), True),
    ],
)
def test_what_was_found_late_or_in_part_must_be_called_useful_by_someone(changes, useful, shown):
    work = replace(_graded("correct"), confidence=0.95, drafts=1, **changes)
    policy = PRESETS["footnote"]

    follows = routing.after_checking(work, policy, unsupported=(0.0,) * 3, useful=useful, is_empty=False)
    half = routing.after_checking(
        work, policy, unsupported=(0.0,) * 3, useful=useful, is_empty=False, is_half=True
    )

    assert (follows == "answer") == shown
    assert half == "answer"


def test_quotes_need_more_to_speak_for_them_once_a_draft_fell():
    doubtful = replace(_graded("incorrect", "correct"), confidence=0.6)
    policy = PRESETS["footnote"]

    assert routing.certainty_of(doubtful, policy) == "sure"
    assert routing.certainty_of(replace(doubtful, rejected=Rejected(failing=())), policy) != "sure"


@pytest.mark.parametrize(
    ("route", "confidence", "has_web", "goes"),
    [
        ("documents", 0.1, True, "documents"),
        ("multi_hop", 0.1, True, "documents"),
        ("web", 0.1, True, "web"),
        ("web", 0.1, False, "documents"),
        ("web", 0.9, True, "documents"),
        ("clarify", 0.1, True, "clarify"),
        ("clarify", 0.9, True, "clarify"),
        ("none", 0.1, True, "none"),
        ("none", 0.9, True, "none"),
    ],
)
def test_documents_that_look_right_overrule_the_route(route, confidence, has_web, goes):
    plan = Plan(route=route, standalone="q", reply="Which one?")
    work = Work(question="q", plan=plan, confidence=confidence)

    assert routing.route_of(work, PRESETS["footnote"], has_web=has_web) == goes


def test_thanks_are_answered_though_a_document_speaks_of_thanks():
    work = Work(
        question="Thanks!", plan=Plan(route="none", standalone="", reply="You are welcome."), confidence=0.9
    )

    assert routing.route_of(work, PRESETS["footnote"], has_web=True) == "none"


@thorough
@given(WORKS, POLICIES, st.booleans())
def test_a_route_that_speaks_has_words_and_one_to_the_web_has_a_web(work, policy, has_web):
    route = routing.route_of(work, policy, has_web=has_web)

    assert route in ("none", "documents", "web", "clarify")
    assert route != "web" or has_web
    assert route not in ("none", "clarify") or work.plan.reply


@pytest.mark.parametrize(
    ("approval", "author", "groups", "allowed"),
    [
        ("asker", "ada", (), True),
        ("asker", "bob", (), False),
        ("asker", "eve", (), True),
        ("asker", "bob", ("admins",), True),
        ("approvers", "ada", (), False),
        ("approvers", "eve", (), True),
        ("approvers", "bob", ("admins", "staff"), True),
        ("approvers", "bob", ("staff",), False),
        ("anyone", "bob", (), True),
        ("never_ask", "bob", (), True),
    ],
)
def test_who_may_decide_about_a_search(approval, author, groups, allowed):
    press = decision("p1", author=author, groups=groups)

    assert may_decide(_proposal(), press, approval=approval, approvers=("eve", "admins")) == allowed


def test_who_may_not_decide_is_told_who_may():
    assert refusal(_proposal(), approval="asker") == "Only ada or an approver can decide this search."
    assert refusal(_proposal(), approval="approvers") == "Only an approver can decide this search."


@pytest.mark.parametrize(("verdict", "verb"), [("approve", "allowed"), ("deny", "said no to")])
def test_a_late_press_is_told_who_decided_and_when(verdict, verb):
    decided = replace(_proposal(), verdict=verdict, decided_by="eve", decided_at=0.0)

    assert re.fullmatch(rf"eve already {verb} this search at \d\d:\d\d\.", already_decided(decided))


def _proposal() -> Proposal:
    return Proposal(id="p1", turn_id="q1", question="q", asker="ada", query="words", reason="", tried=())


@pytest.mark.parametrize(
    ("confidence", "certainty", "goes"),
    [(0.3, "none", "propose"), (0.7, "unsure", "generate"), (0.95, "sure", "generate")],
)
def test_between_a_bar_and_nothing_a_quote_is_shown_as_what_may_be_looked_for(confidence, certainty, goes):
    work = Work(question="q", passages=(hit("Text."),), confidence=confidence)
    policy = PRESETS["footnote"]

    assert routing.certainty_of(work, policy) == certainty
    assert routing.after_looking(work, policy) == goes


def test_where_a_model_has_judged_or_the_web_was_searched_a_quote_is_sure_or_none():
    policy = PRESETS["footnote"]
    work = Work(question="q", passages=(hit("Text."),), confidence=0.7, web_coverage=0.5)

    assert routing.certainty_of(replace(work, sufficient=(True,)), policy) == "sure"
    assert routing.certainty_of(replace(work, proposal=_proposal()), policy) == "sure"
    assert routing.certainty_of(work, PRESETS["adaptive"]) == "sure"


@thorough
@given(WORKS, POLICIES)
def test_what_is_written_without_a_model_can_be_shown(work, policy):
    work = replace(work, sufficient=())

    if routing.after_looking(work, policy) == "generate" and policy.weights is not None:
        assert routing.certainty_of(work, policy) != "none"
