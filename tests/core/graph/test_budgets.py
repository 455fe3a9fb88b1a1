"""Whole turns through the real Google client, counted and broken at the server."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.gemini import Blocked, Body, Call, Cut, FakeGemini, Finish, Hang, Status, Step, default_reply
from fakes.scripted import ScriptedDocuments, ScriptedWeb, decision, hit, question, web_hit
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.conversation import ignore_progress
from core.graph.checking import AT_ONCE
from core.graph.context import Deps
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.reasoning.calls import Limits
from core.reasoning.chat_model import ChatModels, FallbackReasoner
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.providers import Access
from core.text.inline import without_markers
from core.turns.assistant import Assistant
from core.turns.checkpoints import open_checkpoints

PASSAGES = (
    hit("The tower is 300 metres tall. It was built in 1889 for a fair.", id="1"),
    hit("The tower has three floors that visitors may enter.", id="2", score=0.8),
)
#: What the document of the first one also holds.
REST = tuple(hit(f"The tower has a room {n}.", id=f"1{n}", source="1.md").passage for n in range(30))
WEB = (web_hit("The tower is 330 metres tall with its antenna, says the town hall."),)
OVERLAP = 0.03  # seconds a reply takes, so that calls side by side overlap at the server
STEPS = ("search 1: room 7", "find 1: the tower", "find 1: room 12", "search: metres", "open 1: page 3", "…")
VOTES = ["grounding"] * AT_ONCE  # on a draft that no program doubts and on which they agree
TRIPS, CALLS = 13, 20  # of one turn at the worst
FAIR, SURE = 0.7, 0.9  # local confidence below and above what a draft ahead of its grades takes


@asynccontextmanager
async def assistant_with(
    gemini: FakeGemini, folder: Path, *, patience=5.0, confidence=FAIR, web=None, **more
):
    models = ChatModels.open(
        chat_model="gemini-3.5-flash",
        grader_model="gemini-3.5-flash-lite",
        access=Access(google_api_key=gemini.api_key, google_url=gemini.base_url, timeout=patience),
        limits=Limits(pause=0.001),
    )
    documents = ScriptedDocuments(default=PASSAGES, confidence=confidence)
    documents.by_query = {"another wording": (hit("The tower is 300 metres tall.", id="9"),)}
    documents.whole = {"1.md": (PASSAGES[0].passage, *REST)}

    async def deps(_turn, report):
        return Deps(
            policy=PRESETS[more.get("policy", "footnote")],
            reasoner=FallbackReasoner(models.reasoner(turn_timeout=30), ExtractiveReasoner()),
            documents=documents,
            web=web,
            watcher=report,
        )

    async with open_checkpoints(folder / "conversations.sqlite") as checkpoints:
        yield Assistant(
            graph=build_graph(checkpoints), checkpoints=checkpoints, make_deps=deps, turn_timeout=30
        )
    await models.aclose()


@pytest.fixture
async def gemini():
    async with FakeGemini(latency=OVERLAP) as server:
        yield server


def plan(call: Call, **changes) -> dict:
    return {**default_reply(call), **changes}


async def test_the_happy_path_takes_three_round_trips_with_every_check_on(gemini, tmp_path):
    async with assistant_with(gemini, tmp_path) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert sorted(gemini.steps) == ["grade", *VOTES, "plan", "usefulness", "write"]
    assert gemini.round_trips == outcome.usage.round_trips == 3
    assert outcome.usage.calls == len(gemini.calls)
    assert not gemini.rejected


async def test_where_the_library_is_sure_the_happy_path_takes_two_with_every_check_on(gemini, tmp_path):
    async with assistant_with(gemini, tmp_path, confidence=SURE) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert outcome.answer.composed
    assert sorted(gemini.steps[:3]) == ["grade", "plan", "write"]
    assert sorted(gemini.steps[3:]) == [*VOTES, "usefulness"]
    assert gemini.round_trips == outcome.usage.round_trips == 2
    assert outcome.usage.calls == len(gemini.calls)
    assert not gemini.rejected


async def test_a_draft_ahead_that_cites_an_irrelevant_passage_is_dropped_and_costs_one_call(gemini, tmp_path):
    def reply(step: Step, call: Call):
        if step != "grade":
            return None
        verdicts = [
            {"passage": n, "relevance": "incorrect" if "300" in text else "correct", "evidence": [1]}
            for n, text in enumerate(call.blocks("passage"), start=1)
        ]
        return {"passages": verdicts, "sufficient": True, "missing": ""}

    gemini.reply = reply
    async with assistant_with(gemini, tmp_path, confidence=SURE) as assistant:
        outcome = await assistant.run(question())

    ahead, after = [call for call in gemini.calls if call.step == "write"]
    assert "300 metres" in ahead.prompt
    assert "300 metres" not in after.prompt
    assert outcome.answer.citations[0].quote == PASSAGES[1].passage.text
    assert outcome.steps == ("open", "generate", "verify")
    assert gemini.round_trips == outcome.usage.round_trips == 3
    assert outcome.usage.calls == len(gemini.calls)
    assert sorted(gemini.steps) == ["grade", *VOTES, "plan", "usefulness", "write", "write"]


async def test_a_draft_ahead_is_not_waited_for_once_the_grades_found_too_little(gemini, tmp_path):
    gemini.queue("write", Hang())
    irrelevant = [{"passage": n, "relevance": "incorrect", "evidence": []} for n in (1, 2)]
    gemini.queue("grade", {"passages": irrelevant, "sufficient": False, "missing": ""})

    async with assistant_with(
        gemini, tmp_path, confidence=0.8, patience=600, web=ScriptedWeb(hits=WEB)
    ) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "approval_needed"
    assert (outcome.usage.calls, outcome.usage.round_trips) == (3, 1)


async def test_a_draft_ahead_that_fails_its_check_is_written_once_more_from_the_graded_strips(
    gemini, tmp_path
):
    gemini.queue("grounding", *[{"unsupported": [1]}] * len(VOTES))

    async with assistant_with(gemini, tmp_path, confidence=SURE) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert outcome.steps == ("open", "verify", "generate", "verify")
    assert gemini.round_trips == outcome.usage.round_trips == 4


@pytest.mark.parametrize("fault", ["", Blocked(), Status(400), Cut(), "No footnote.", "NO_ANSWER"], ids=repr)
async def test_when_the_draft_ahead_comes_to_nothing_it_is_written_in_its_turn(gemini, tmp_path, fault):
    gemini.queue("write", fault, *([fault] if fault in ("", Cut()) else []))

    async with assistant_with(gemini, tmp_path, confidence=SURE) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert outcome.steps == ("open", "generate", "verify")
    assert outcome.usage.round_trips <= 4


async def test_a_rewrite_of_the_question_takes_a_fourth(gemini, tmp_path):
    grades = iter([False, True])

    def reply(step: Step, call: Call):
        if step == "plan":
            return plan(call, queries=["another wording"])
        if step == "grade":
            is_enough = next(grades)
            verdict = "correct" if is_enough else "incorrect"
            passages = [{"passage": n, "relevance": verdict, "evidence": [1]} for n in (1, 2)]
            return {"passages": passages, "sufficient": is_enough, "missing": ""}
        return None

    gemini.reply = reply
    async with assistant_with(gemini, tmp_path, confidence=0.3) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert outcome.steps == ("open", "regrade", "generate", "verify")
    assert gemini.round_trips == 4


async def test_an_approved_web_search_takes_three_after_the_click(gemini, tmp_path):
    web = ScriptedWeb(hits=WEB)
    gemini.reply = lambda step, call: (
        {
            "passages": [{"passage": 1, "relevance": "incorrect", "evidence": []}],
            "sufficient": False,
            "missing": "",
        }
        if step == "grade" and "town hall" not in call.prompt
        else None
    )
    async with assistant_with(gemini, tmp_path, confidence=0.05, web=web) as assistant:
        proposed = await assistant.run(question())
        before = len(gemini.calls)
        clicked = FakeCount(gemini, before)
        outcome = await assistant.run(decision(proposed.proposal.id))

    assert outcome.kind == "answered"
    assert outcome.answer.grounding in ("web", "both")
    assert clicked.round_trips == outcome.usage.round_trips == 3


class FakeCount:
    """What the server saw since."""

    def __init__(self, gemini: FakeGemini, since: int) -> None:
        self._gemini, self._since = gemini, since

    @property
    def round_trips(self) -> int:
        counted = FakeGemini()
        counted.calls = self._gemini.calls[self._since :]
        return counted.round_trips


def random_reply(seed: int):
    """A model without a mind: every verdict, route and text by dice; some replies no JSON at all."""
    dice = random.Random(seed)

    def reply(step: Step, call: Call):
        if dice.random() < 0.1:
            return dice.choice(
                ["", "{", "[]", "null", Finish("SAFETY"), Blocked(), Status(500), Body("<html>")]
            )
        if step == "plan":
            route = dice.choice(["none", "documents", "multi_hop", "web", "clarify"])
            queries = [f"wording {dice.random()}" for _ in range(dice.randrange(4))]
            return plan(call, route=route, queries=queries, reply=dice.choice(["", "Which one?"]))
        if step == "grade":
            count = len(call.blocks("passage"))
            verdicts = [
                {
                    "passage": n,
                    "relevance": dice.choice(["correct", "ambiguous", "incorrect"]),
                    "evidence": [dice.randrange(-1, 5)],
                }
                for n in range(1, count + 2)
            ]
            missing = dice.choice(["", f"look for {dice.random()}"])
            steps = [dice.choice(STEPS) for _ in range(dice.randrange(6))]
            enough = dice.random() < 0.5
            return {"passages": verdicts, "sufficient": enough, "missing": missing, "search": steps}
        if step in ("grounding", "confirm"):
            against = [n for n in range(1, 5) if dice.random() < 0.4]
            return {"unsupported" if step == "grounding" else "unstated": against}
        if step == "usefulness":
            return {"useful": dice.random() < 0.5}
        return dice.choice(
            [
                "The tower is 300 metres tall. [1]",
                "It is 999 metres tall. [1] Visitors may enter it. [2]",
                "No footnote here.",
                "NO_ANSWER",
                "[1]",
                "The tower has three floors. [2]\n\n```\nimport os\n```",
            ]
        )

    return reply


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32), confidence=st.floats(0, 1), policy=st.sampled_from(sorted(PRESETS)),
    watcher=st.sampled_from([ignore_progress, lambda _: None]),
)  # fmt: skip
def test_whatever_the_model_says_a_turn_ends_within_its_budget(
    tmp_path_factory, seed, confidence, policy, watcher
):
    async def story():
        async with FakeGemini(reply=random_reply(seed)) as gemini:
            web = ScriptedWeb(hits=WEB)
            folder = tmp_path_factory.mktemp("turns")
            async with assistant_with(
                gemini, folder, confidence=confidence, web=web, policy=policy
            ) as assistant:
                outcome = await assistant.run(question(), watcher)
                outcomes = [(outcome, len(gemini.calls))]
                for click in range(5):
                    if outcome.kind != "approval_needed":
                        break
                    seen = len(gemini.calls)
                    outcome = await assistant.run(decision(outcome.proposal.id, id=f"d{click}"), watcher)
                    outcomes.append((outcome, len(gemini.calls) - seen))
            return outcomes, web

    outcomes, web = asyncio.run(story())

    for outcome, calls in outcomes:
        assert outcome.kind in ("answered", "approval_needed", "no_answer", "clarify", "failed")
        assert calls == outcome.usage.calls <= CALLS
        assert outcome.usage.round_trips <= TRIPS
        if outcome.kind == "answered" and outcome.steps[-1] == "verify":
            assert outcome.answer.citations
            assert without_markers(outcome.answer.text).strip()
    assert len(web.sent) == len(outcomes) - 1


FAULTS = {
    "hang": (Hang(), "The model did not answer within 0.3 s."),
    "busy": (Status(429), "The model is busy."),
    "broken": (Status(500), None),
    "blocked": (Blocked(), None),
    "empty": ("", None),
    "unsafe": (Finish("SAFETY"), None),
    "malformed": ("{not json", None),
    "cut": (Cut(), None),
    "html": (Body("<html>proxy</html>", "text/html"), None),
}


@pytest.mark.parametrize("confidence", [FAIR, SURE])
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_model_in_trouble_still_ends_in_verbatim_quotes_and_says_why(tmp_path, fault, confidence):
    answer, sentence = FAULTS[fault]
    async with (
        FakeGemini(reply=lambda _step, _call: answer) as gemini,
        assistant_with(
            gemini, tmp_path, patience=0.3 if fault == "hang" else 5.0, confidence=confidence
        ) as assistant,
    ):
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert not outcome.answer.composed
    assert outcome.answer.citations[0].quote in PASSAGES[0].passage.text
    assert (
        outcome.reason == sentence if sentence else outcome.reason.startswith(("The model", "What the model"))
    )
    assert outcome.usage.calls <= CALLS


@pytest.mark.parametrize(
    ("confidence", "asked"), [(FAIR, ["grade", "plan"]), (SURE, ["grade", "plan", "write"])]
)
async def test_a_hanging_model_is_left_alone_for_the_rest_of_the_turn(tmp_path, confidence, asked):
    async with (
        FakeGemini(reply=lambda _step, _call: Hang()) as gemini,
        assistant_with(gemini, tmp_path, patience=0.3, confidence=confidence) as assistant,
    ):
        outcome = await assistant.run(question())

    assert outcome.usage.round_trips == 1
    assert sorted(gemini.steps) == asked


async def test_a_refused_key_is_said_and_the_documents_still_answer(tmp_path):
    async with FakeGemini(api_key="another-key") as gemini:
        gemini_seen_as = FakeGemini(api_key="wrong-key", base_url=gemini.base_url)
        async with assistant_with(gemini_seen_as, tmp_path) as assistant:
            outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert outcome.reason == "The model key was refused."


async def test_trouble_in_one_step_costs_only_that_step(gemini, tmp_path):
    gemini.queue("grade", "{", "{")

    async with assistant_with(gemini, tmp_path) as assistant:
        outcome = await assistant.run(question())

    assert outcome.kind == "answered"
    assert outcome.answer.composed
    assert outcome.reason is None


async def test_the_conversation_goes_on_after_trouble(gemini, tmp_path):
    gemini.queue("plan", Status(500), Status(500))

    async with assistant_with(gemini, tmp_path) as assistant:
        await assistant.run(question(id="q1"))
        outcome = await assistant.run(question("And how old is it?", id="q2"))

    assert outcome.kind == "answered"
    assert any("How tall is the tower?" in call.prompt for call in gemini.calls[-4:])
