"""The measuring of round trips: what the local model says and counts, and how long each graph's chain of calls is."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from benchmarks import trips
from benchmarks.model_server import API_KEY, Scenario, TimedCall, local_model, reply_to
from benchmarks.published import MODULES
from benchmarks.trips import OURS, TimedRun, ratio, run_all
from benchmarks.variants import VARIANTS, Variant
from fakes.gemini import Call, round_trips, step_of
from fakes.passages import statements
from fakes.scripted import hit

from core.reasoning import prompts
from core.reasoning.reasoner import Ask


def timed(*spans: tuple[float, float]) -> list[TimedCall]:
    return [TimedCall(step="grade", started=started, ended=ended) for started, ended in spans]


@pytest.mark.parametrize(
    ("calls", "trips"),
    [
        (timed(), 0),
        (timed((0, 1)), 1),
        (timed((0, 1), (0.1, 2), (0.2, 0.5)), 1),
        (timed((0, 1), (1, 2), (2, 3)), 3),
        (timed((0, 1), (0, 2), (2, 3), (2, 4)), 2),
        (timed((2, 3), (0, 1), (0.5, 2.5)), 2),
    ],
    ids=["none", "one", "side by side", "in a row", "two pairs", "out of order"],
)
def test_round_trips_are_the_longest_chain_of_calls(calls, trips):
    assert round_trips(calls) == trips


# What the model says


def asked(messages, **schema) -> Call:
    """A request as the client sends it."""
    (_, system), *rest = messages
    body = {
        "systemInstruction": {"parts": [{"text": system}]},
        "contents": [{"role": "user", "parts": [{"text": text}]} for _, text in rest],
        "generationConfig": {"responseJsonSchema": {"properties": schema}} if schema else {},
    }
    return Call(step=step_of(body), model="any", body=body, started=0.0)


ASK = Ask(question="When are backups made?")
PASSAGES = (hit("Backups are made at two.", id="1"), hit("Ducks have bills.", id="2"))


def test_it_grades_by_the_word_that_helps():
    request = asked(prompts.grade(ASK, PASSAGES), sufficient={}, passages={}, missing={})

    some = reply_to(request, Scenario(relevant="ducks"))
    none = reply_to(request, Scenario(relevant="geese"))

    assert [verdict["relevance"] for verdict in some["passages"]] == ["incorrect", "correct"]
    assert (some["sufficient"], none["sufficient"]) == (True, False)


def test_it_writes_from_the_strip_that_helps_and_else_says_so():
    from core.grounding.strips import refine

    request = asked(prompts.write(ASK, refine(PASSAGES, {}, around=0, whole=True)))

    assert reply_to(request, Scenario(relevant="ducks")) == "Ducks have bills. [2]"
    assert reply_to(request, Scenario(relevant="geese")) == "NO_ANSWER"


def test_drafts_are_found_unsupported_as_often_as_the_scenario_says():
    request = asked(prompts.grounding(statements("One.", "Two."), ()), unsupported={})
    scenario = Scenario(unsupported=1)

    assert reply_to(request, scenario, drafts=1) == {"unsupported": [1, 2]}
    assert reply_to(request, scenario, drafts=2) == {"unsupported": []}


async def test_each_scenario_is_counted_anew():
    import aiohttp

    headers = {"x-goog-api-key": API_KEY}
    async with local_model() as model, aiohttp.ClientSession(headers=headers) as session:
        await model.begin(Scenario())
        body = {
            "contents": [{"role": "user", "parts": [{"text": "Question\nBackups are made at two."}]}],
            "systemInstruction": {"parts": []},
        }
        async with session.post(f"{model.base_url}/v1beta/models/any:generateContent", json=body) as reply:
            said = (await reply.json())["candidates"][0]["content"]["parts"][0]["text"]
        before = await model.calls()
        await model.begin(Scenario())
        after = await model.calls()

    assert said == "Backups are made at two."
    assert [call.step for call in before] == ["write"]
    assert after == ()


# Whole graphs

#: Calls of each graph on each variant, as its drawing gives them for four passages; ours is asked of eight.
CALLS = {
    "happy": {"combined": 8, "crag-any": 5, "self-rag": 7, "crag-ratio": 5, "adaptive": 8},
    "rewrite": {"combined": 8, "crag-any": 6, "self-rag": 12, "crag-ratio": 6, "adaptive": 13},
    "web": {"combined": 8, "crag-any": 6, "self-rag": 22, "crag-ratio": 6},
    "ungrounded": {"combined": 10, "crag-any": 5, "self-rag": 9, "crag-ratio": 5, "adaptive": 10},
}
OURS_AT_MOST = {
    "happy": 2,
    "rewrite": 4,
    "web": 5,
    "unanswerable": 3,
    "insistent": 5,
    "ungrounded": 4,
}  # round trips


@pytest.fixture(scope="module")
def runs():
    return asyncio.run(run_all(latency=0.0, spread=0.0, runs=1, say=lambda _: None))


@pytest.mark.parametrize("variant", CALLS)
def test_the_published_graphs_make_their_published_calls_one_after_the_other(runs, variant):
    measured = {name: runs[variant, name][0] for name in CALLS[variant]}

    assert {name: run.calls for name, run in measured.items()} == CALLS[variant]
    assert all(run.trips == run.calls and run.ending == "answered" for run in measured.values())


def test_those_that_never_give_up_stop_at_their_limit(runs):
    endings = {name: runs["unanswerable", name][0].ending for name in MODULES}

    assert {name for name, ending in endings.items() if ending == trips.FULL_STOP} == {"combined", "adaptive"}


@pytest.mark.parametrize("variant", [variant.name for variant in VARIANTS])
def test_ours_takes_fewer_round_trips_than_any_of_them(runs, variant):
    (ours,) = runs[variant, OURS]

    assert ours.ending == ("no answer" if variant in ("unanswerable", "insistent") else "answered")
    assert all(run.calls > OURS_AT_MOST[variant] for name in MODULES for run in runs[variant, name])


async def test_ours_takes_the_round_trips_that_it_promises(tmp_path):
    """Counted by its own budget, which needs no calls to overlap in time."""
    from benchmarks.serving import serving

    webs = {variant.name: trips.web_of(variant) for variant in VARIANTS}
    counted = Counter()

    class Counting:
        async def run(self, turn):
            outcome = await assistant.run(turn)
            counted[turn.conversation.channel] += outcome.usage.round_trips
            return outcome

    with trips._library(tmp_path) as library:
        async with (
            local_model() as model,
            serving(
                library, tmp_path, model.base_url, web=lambda turn: webs[turn.conversation.channel]
            ) as assistant,
        ):
            for variant in VARIANTS:
                await model.begin(variant.scenario(latency=0, spread=0, seed=0))
                await trips.run_ours(Counting(), variant, 0)

    assert counted == OURS_AT_MOST


def test_the_ratio_is_of_the_medians():
    def run(seconds: float) -> TimedRun:
        return TimedRun(seconds=seconds, calls=1, trips=1, ending="answered")

    variant = Variant(name="happy", title="", question="", reworded="")
    runs = {
        (variant.name, OURS): [run(1), run(2), run(9)],
        (variant.name, "combined"): [run(5), run(6), run(70)],
    }

    assert ratio(runs, variant.name, "combined") == 3
