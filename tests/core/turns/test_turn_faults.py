"""Turns that meet a fault, an old button, or a stop in the middle: told as they happened."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.scripted import (
    HERE,
    OTHER,
    TOWER,
    WEB,
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    decision,
    hit,
    question,
    web_hit,
)

from core.errors import SettingsError
from core.graph.policy import PRESETS
from core.reasoning.reasoner import Draft, Plan
from core.reasoning.replies import to_draft
from core.wording import Sentence


def unsure(**more) -> ScriptedReasoner:
    return ScriptedReasoner(sufficient=False, relevance=lambda _hit: "incorrect", **more)


async def test_a_turn_that_breaks_ends_in_words_and_the_conversation_goes_on(tmp_path):
    reasoner = ScriptedReasoner(writes=lambda _ask, _strips: {}["a fault of ours"])

    async with assistant_over(tmp_path, reasoner, ScriptedDocuments(default=(TOWER,))) as assistant:
        broken = await assistant.run(question(id="q1"))
        reasoner.writes = None
        after = await assistant.run(question(id="q2"))

    assert broken.kind == "failed"
    assert broken.reason == "I could not finish this because of a fault of my own; the log says more."
    assert after.kind == "answered"


@pytest.mark.parametrize("policy", PRESETS)
async def test_with_nobody_to_ask_the_longest_path_still_ends(tmp_path, policy):
    """Every draft is useless and one claim unsupported: all redrafts, rewrites and searches are used up."""
    reasoner = ScriptedReasoner(
        useful=False,
        relevance=lambda h: "correct" if h.passage.origin == "web" else "incorrect",
        unsupported=lambda _claims: [1],
        writes=lambda _ask, _strips: Draft(text="The tower is tall. [1] It is very tall. [1]", composed=True),
    )
    web = ScriptedWeb(hits=WEB)

    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(default=(OTHER,), confidence=0.1), web=web, policy=policy,
        approval="never_ask",
    ) as assistant:  # fmt: skip
        outcome = await assistant.run(question())

    assert outcome.kind in ("no_answer", "answered")
    assert "fault" not in (outcome.reason or "")
    assert len(web.sent) == len(set(web.sent)) <= PRESETS[policy].web_attempts


async def test_an_allowed_search_that_ran_out_of_time_can_be_allowed_again(tmp_path):
    class Hanging(ScriptedWeb):
        async def find(self, query, question, report):
            import asyncio

            await asyncio.Event().wait()

    web = ScriptedWeb(hits=WEB)
    async with assistant_over(
        tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=Hanging()
    ) as assistant:
        proposed = await assistant.run(question())
        late = await replace(assistant, turn_timeout=0.1).run(decision(proposed.proposal.id, id="d1"))
    async with assistant_over(tmp_path, ScriptedReasoner(), ScriptedDocuments(), web=web) as assistant:
        again = await assistant.run(decision(proposed.proposal.id, id="d2"))

    assert late.kind == "failed"
    assert again.kind == "answered"
    assert web.sent == [proposed.proposal.query]


async def test_a_decision_stopped_in_the_middle_and_left_can_be_made_again(tmp_path):
    class Killed(BaseException):
        pass

    class Deadly(ScriptedWeb):
        async def find(self, query, question, report):
            raise Killed

    async with assistant_over(
        tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=Deadly()
    ) as assistant:
        proposed = await assistant.run(question(id="q1"))
        with pytest.raises(Killed):
            await assistant.run(decision(proposed.proposal.id, id="d1"))
    async with assistant_over(
        tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=ScriptedWeb()
    ) as assistant:
        await assistant.run(question("Something else?", id="q2"))
        proposals = await assistant.proposals(HERE)

    assert [p.is_open for p in proposals if p.id == proposed.proposal.id] == [True]


async def test_an_old_card_never_sends_the_query_that_somebody_edited_elsewhere(tmp_path):
    web = ScriptedWeb(trouble="The search is down.")

    async with assistant_over(tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=web) as assistant:
        proposed = await assistant.run(question())
        await assistant.run(decision(proposed.proposal.id, id="d1", query="my private edit"))
        web.trouble = ""
        await assistant.run(decision(proposed.proposal.id, id="d2"))

    assert web.sent == ["my private edit", proposed.proposal.query]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("  ", "The query is empty."),
        ("x" * 5_000, "The query is too long: 5,000 characters, 400 at most."),
        ("tower\u202ereversed", "The query holds characters that cannot be seen."),
        ("tower\nsecond line", "The query holds characters that cannot be seen."),
        ("tower\U000e0121\U000e0142", "The query holds characters that cannot be seen."),
        ("tower\u2800\u3164", "The query holds characters that cannot be seen."),
    ],
    ids=["blank", "long", "bidi", "lines", "selectors", "blank letters"],
)
async def test_an_edited_query_that_cannot_go_out_is_refused_and_stays_open(tmp_path, query, sentence):
    web = ScriptedWeb(hits=WEB)

    async with assistant_over(tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=web) as assistant:
        proposed = await assistant.run(question())
        refused = await assistant.run(decision(proposed.proposal.id, id="d1", query=query))
        (kept,) = await assistant.proposals(HERE)

    assert refused.reason == sentence
    assert kept.is_open
    assert web.sent == []


async def test_an_edited_query_goes_without_the_joiners_that_its_writing_needs(tmp_path):
    web = ScriptedWeb(hits=WEB)

    async with assistant_over(tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=web) as assistant:
        proposed = await assistant.run(question())
        await assistant.run(
            decision(
                proposed.proposal.id,
                id="d1",
                query="برج می\u200cخواهم \U0001f469\u200d\U0001f4bb \u2764\ufe0f",
            )
        )

    assert web.sent == ["برج میخواهم \U0001f469\U0001f4bb \u2764"]


@pytest.mark.parametrize(
    "hidden",
    [
        "\ufe00\ufe0f",
        "\U000e0100\U000e01ef",
        "\u200c\u200d",
        "\u034f",
        "\u115f\u1160",
        "\u3164\uffa0",
        "\u2800",
        "\u180b",
        "\U000e0041",
    ],
)
async def test_a_proposed_query_is_nothing_but_what_is_seen(tmp_path, hidden):
    web = ScriptedWeb(hits=WEB)

    def plans(ask):
        return Plan(route="documents", standalone=ask.question, queries=(), web_query=f"tower{hidden} height")

    async with assistant_over(
        tmp_path, unsure(plans=plans), ScriptedDocuments(confidence=0.1), web=web
    ) as assistant:
        proposed = await assistant.run(question())
        await assistant.run(decision(proposed.proposal.id, id="d1"))

    assert web.sent == [proposed.proposal.query] == ["tower height"]


async def test_a_question_that_arrives_again_later_does_not_reopen_what_was_decided(tmp_path):
    web = ScriptedWeb(hits=WEB)

    async with assistant_over(tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=web) as assistant:
        proposed = await assistant.run(question(id="q1"))
        await assistant.run(decision(proposed.proposal.id, "deny", id="d1"))
        again = await assistant.run(question(id="q1"))
        late = await assistant.run(decision(proposed.proposal.id, id="d2"))

    assert again.kind == "no_answer"
    assert late.kind == "failed"
    assert web.sent == []


async def test_an_allowed_search_stays_within_the_sources_of_its_question(tmp_path):
    seen = []

    class Watched(ScriptedDocuments):
        async def retrieve(self, query, *, limit, history=(), within=()):
            seen.append(within)
            return await super().retrieve(query, limit=limit)

    async with assistant_over(
        tmp_path, unsure(), Watched(confidence=0.1), web=ScriptedWeb(hits=WEB)
    ) as assistant:
        proposed = await assistant.run(question(sources=("/docs/a",)))
        await assistant.run(decision(proposed.proposal.id))

    assert set(seen) == {("/docs/a",)}


async def test_a_decision_is_carried_out_as_of_its_question_not_of_later_talk(tmp_path):
    histories = []
    reasoner = unsure(
        plans=lambda ask: (
            histories.append([e.question for e in ask.history])
            or Plan(route="documents", standalone=f"About CORS: {ask.question}", web_query="cors credentials")
        )
    )
    graded = []
    reasoner.relevance = lambda _hit: "incorrect"

    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(default=(OTHER,), confidence=0.1), web=ScriptedWeb(hits=WEB)
    ) as assistant:
        proposed = await assistant.run(question("What about credentials?", id="q1"))
        await assistant.run(question("How do I bake sourdough?", id="q2"))
        reasoner.writes = lambda ask, _strips: (
            graded.append([e.question for e in ask.history])
            or Draft(text="The tower is 330 metres tall. [1]", composed=True)
        )
        reasoner.sufficient, reasoner.relevance = True, lambda _hit: "correct"
        await assistant.run(decision(proposed.proposal.id))

    assert graded == [[]]


async def test_quotes_that_nobody_checked_need_evidence_of_their_own(tmp_path):
    """The writer is in trouble and falls back to quotes; the grades before said that nothing fits."""
    reasoner = ScriptedReasoner(
        sufficient=False,
        relevance=lambda _hit: "ambiguous",
        writes=lambda _ask, strips: Draft(text="", composed=False, quotes=(strips[0].number,)),
    )

    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(default=(OTHER,), confidence=0.7)
    ) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "no_answer"


async def test_grades_that_found_enough_overrule_a_route_to_the_web(tmp_path):
    reasoner = ScriptedReasoner(plans=lambda ask: Plan(route="web", standalone=ask.question, web_query="x"))

    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(default=(TOWER,), confidence=0.55), web=ScriptedWeb()
    ) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"


async def test_a_failing_search_that_nobody_was_asked_about_leaves_nothing_open(tmp_path):
    web = ScriptedWeb(trouble="DuckDuckGo is rate-limiting this machine.")

    async with assistant_over(
        tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=web, approval="never_ask"
    ) as assistant:
        outcome = await assistant.run(question())
        proposals = await assistant.proposals(HERE)

    assert outcome.kind == "no_answer"
    assert outcome.reason == "DuckDuckGo is rate-limiting this machine."
    assert not any(p.is_open for p in proposals)


@pytest.mark.parametrize(
    "claim",
    [
        "# It is 999 metres tall\n",
        "It is 999 metres tall. [1]\n---\n",
        "It is 999 metres tall\n===\n",
        '!!! note "It is 999 metres tall"\n',
        "/// note | It is 999 metres tall\n///\n",
        "<!-- It is 999 metres tall -->\n",
        "---\ntitle: It is 999 metres tall\n---\n",
    ],
)
async def test_what_stands_in_headings_or_markup_is_judged_or_gone(tmp_path, claim):
    text = f"{claim}\nThe tower is 300 metres tall. [1]"
    reasoner = ScriptedReasoner(
        writes=lambda _ask, strips: to_draft(text, strips),
        unsupported=lambda claims: [number for number, said in enumerate(claims, start=1) if "999" in said],
    )

    async with assistant_over(
        tmp_path, reasoner, ScriptedDocuments(default=(TOWER,), confidence=0.9)
    ) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert "999" not in outcome.answer.text
    assert "300 metres" in outcome.answer.text


async def test_the_same_turn_again_reports_the_same_cost(tmp_path):
    async with assistant_over(tmp_path, ScriptedReasoner(), ScriptedDocuments(default=(TOWER,))) as assistant:
        first = await assistant.run(question())
        again = await assistant.run(question())

    assert again == first


async def test_proposals_keep_their_order_when_one_is_opened_again(tmp_path):
    web = ScriptedWeb(trouble="down")

    async with assistant_over(tmp_path, unsure(), ScriptedDocuments(confidence=0.1), web=web) as assistant:
        first = await assistant.run(question("One?", id="q1"))
        await assistant.run(question("Two?", id="q2"))
        await assistant.run(decision(first.proposal.id, id="d1"))
        proposals = await assistant.proposals(HERE)

    assert [p.question for p in proposals] == ["One?", "Two?"]


async def test_a_hit_without_a_word_is_no_footnote(tmp_path):
    empty = web_hit(" ")
    reasoner = unsure()

    async with assistant_over(
        tmp_path,
        reasoner,
        ScriptedDocuments(default=(hit("x. y."),), confidence=0.1),
        web=ScriptedWeb(hits=(empty,)),
    ) as assistant:
        proposed = await assistant.run(question())
        outcome = await assistant.run(decision(proposed.proposal.id))

    assert all(citation.quote.strip() for citation in outcome.closest)


async def test_a_damaged_store_of_conversations_is_told_in_a_sentence(tmp_path):
    (tmp_path / "conversations.sqlite").write_bytes(b"this is no database" * 100)

    with pytest.raises(SettingsError, match=r"conversations\.sqlite is damaged\. Move it away"):
        async with assistant_over(tmp_path, ScriptedReasoner(), ScriptedDocuments()):
            pass


@pytest.mark.parametrize(
    ("draft", "told"),
    [
        (Draft(text="The tower is 300 metres tall. [1]", composed=True), None),
        (Draft(text="", composed=False, quotes=(1,)), "The model refused this question."),
    ],
    ids=["composed", "quoted"],
)
async def test_a_fault_of_the_model_is_told_only_where_the_answer_had_to_be_quoted(tmp_path, draft, told):
    reasoner = ScriptedReasoner(writes=lambda _ask, _strips: draft, trouble=Sentence("model_refused"))

    async with assistant_over(tmp_path, reasoner, ScriptedDocuments(default=(TOWER,))) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert outcome.answer.composed is (told is None)
    assert outcome.reason == told
