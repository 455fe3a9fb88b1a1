"""Each preset shows its published behaviour: when it routes, rewrites, checks and reaches for the web."""

from __future__ import annotations

import pytest
from fakes.scripted import (
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    decision,
    hit,
    question,
    web_hit,
)

from core.graph.policy import PRESETS
from core.reasoning.reasoner import Draft, Plan

GOOD = [
    hit(f"The tower is 300 metres tall, says note {n}.", id=str(n), score=1 - n / 10) for n in range(1, 5)
]
WEB = (web_hit("The tower is 330 metres tall."),)
PUBLISHED = [name for name in PRESETS if name not in ("footnote", "brief")]


def judged(*irrelevant: str, **more) -> ScriptedReasoner:
    """A reasoner that finds these passages irrelevant and everything else in order."""
    return ScriptedReasoner(
        relevance=lambda h: "incorrect" if h.passage.id in irrelevant else "correct", **more
    )


async def run(folder, policy, reasoner, **more):
    documents = ScriptedDocuments(default=tuple(GOOD), confidence=0.1)
    async with assistant_over(
        folder, reasoner, documents, web=more.pop("web", ScriptedWeb(hits=WEB)), policy=policy
    ) as assistant:
        outcome = await assistant.run(question())
        steps = [outcome]
        while outcome.kind == "approval_needed" and more.get("approve"):
            outcome = await assistant.run(decision(outcome.proposal.id, id=f"d{len(steps)}"))
            steps.append(outcome)
    return steps


@pytest.mark.parametrize("policy", PUBLISHED)
async def test_when_all_is_well_each_answers_from_the_documents(tmp_path, policy):
    (outcome,) = await run(tmp_path, policy, judged())

    assert outcome.kind == "answered"
    assert outcome.answer.grounding == "documents"


@pytest.mark.parametrize(
    ("policy", "irrelevant", "reaches_for_the_web"),
    [
        ("combined", 1, True),
        ("crag-any", 1, True),
        ("self-rag", 1, False),
        ("self-rag", 3, False),
        ("self-rag", 4, True),
        ("crag-ratio", 1, False),
        ("crag-ratio", 2, True),
        ("adaptive", 1, False),
        ("adaptive", 4, False),
    ],
)
async def test_the_share_of_irrelevant_passages_that_triggers_the_web(
    tmp_path, policy, irrelevant, reaches_for_the_web
):
    (outcome,) = await run(tmp_path, policy, judged(*[str(n) for n in range(1, irrelevant + 1)]))

    assert (outcome.kind == "approval_needed") == reaches_for_the_web


@pytest.mark.parametrize(
    ("policy", "routes"),
    [("combined", True), ("crag-any", False), ("self-rag", False), ("crag-ratio", False), ("adaptive", True)],
)
async def test_who_routes_past_the_documents(tmp_path, policy, routes):
    reasoner = judged(plans=lambda ask: Plan(route="web", standalone=ask.question, web_query="web words"))

    (outcome,) = await run(tmp_path, policy, reasoner)

    assert (outcome.kind == "approval_needed") == routes


@pytest.mark.parametrize(
    ("policy", "retrievals"),
    [("combined", 0), ("crag-any", 0), ("self-rag", 2), ("crag-ratio", 0), ("adaptive", 2)],
)
async def test_how_often_the_documents_are_asked_again_in_other_words(tmp_path, policy, retrievals):
    (outcome,) = await run(tmp_path, policy, judged("1", "2", "3", "4"))

    assert outcome.steps.count("regrade") == retrievals


@pytest.mark.parametrize(
    ("policy", "query"),
    [
        ("combined", "How tall is the tower?"),
        ("crag-any", "web words"),
        ("self-rag", "How tall is the tower?"),
        ("crag-ratio", "web words"),
    ],
)
async def test_the_wording_that_is_proposed_for_the_web(tmp_path, policy, query):
    (outcome,) = await run(tmp_path, policy, judged("1", "2", "3", "4"))

    assert outcome.proposal.query == query


@pytest.mark.parametrize(
    ("policy", "attempts"), [("combined", 1), ("crag-any", 1), ("self-rag", 3), ("crag-ratio", 1)]
)
async def test_how_many_web_searches_each_asks_for(tmp_path, policy, attempts):
    web = ScriptedWeb(hits=())

    steps = await run(tmp_path, policy, judged("1", "2", "3", "4"), web=web, approve=True)

    assert len(web.sent) == attempts
    assert steps[-1].kind == "no_answer"


@pytest.mark.parametrize(
    ("policy", "checks"),
    [
        ("combined", {"grounding", "usefulness"}),
        ("crag-any", set()),
        ("self-rag", {"grounding", "usefulness"}),
        ("crag-ratio", set()),
        ("adaptive", {"grounding", "usefulness"}),
    ],
)
async def test_which_checks_a_draft_must_pass(tmp_path, policy, checks):
    reasoner = judged()

    await run(tmp_path, policy, reasoner)

    assert {"grounding", "usefulness"} & set(reasoner.calls) == checks


@pytest.mark.parametrize("policy", ["combined", "self-rag", "adaptive"])
async def test_an_unsupported_draft_is_written_again_but_not_for_ever(tmp_path, policy):
    reasoner = judged(
        writes=lambda _ask, _strips: Draft(text="The tower is 300 metres tall. [1]", composed=True),
        unsupported=lambda _claims: [1],
    )

    (outcome,) = await run(tmp_path, policy, reasoner)

    assert reasoner.calls.count("write") == 2
    assert outcome.kind in ("approval_needed", "no_answer")


@pytest.mark.parametrize(
    ("policy", "rewrites", "ends"),
    [("combined", 0, "approval_needed"), ("self-rag", 2, "approval_needed"), ("adaptive", 2, "no_answer")],
)
async def test_what_follows_a_useless_answer(tmp_path, policy, rewrites, ends):
    (outcome,) = await run(tmp_path, policy, judged(useful=False))

    assert outcome.kind == ends
    assert outcome.steps.count("regrade") == rewrites


async def test_only_self_rag_and_the_default_grade_what_the_web_brings(tmp_path):
    graded = {}
    for policy in (*PUBLISHED, "footnote"):
        web = ScriptedWeb(hits=(web_hit("Weather in Paris.", id="off"), *WEB))
        seen = []
        reasoner = ScriptedReasoner(
            relevance=lambda h, seen=seen: seen.append(h.passage.id) or "incorrect", sufficient=False
        )
        await run(tmp_path / policy, policy, reasoner, web=web, approve=True) if not (
            tmp_path / policy
        ).mkdir() else None
        graded[policy] = "off" in seen

    assert {policy for policy, is_graded in graded.items() if is_graded} == {"self-rag", "footnote"}


async def test_adaptive_lets_web_results_replace_the_documents(tmp_path):
    seen = {}
    for policy in ("adaptive", "combined"):
        strips_read = []
        reasoner = judged(
            plans=lambda ask: Plan(route="web", standalone=ask.question, web_query="web words"),
            writes=lambda _ask, strips, read=strips_read: (
                read.extend(s.retrieved.passage.origin for s in strips)
                or Draft(text=f"{strips[0].text} [1]", composed=True)
            ),
        )
        (tmp_path / policy).mkdir()
        await run(tmp_path / policy, policy, reasoner, approve=True)
        seen[policy] = set(strips_read)

    assert seen == {"adaptive": {"web"}, "combined": {"web", "documents"}}


def test_every_preset_waits_for_a_person_and_is_bounded():
    for policy in PRESETS.values():
        assert policy.web_attempts <= 3
        assert policy.rewrites <= 2
        assert policy.redrafts <= 1
