"""The real Gemini client against a local server that speaks its protocol."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fakes.gemini import Blocked, Body, Cut, FakeGemini, Finish, Hang, Joined, Status
from fakes.passages import statements
from fakes.patience import PATIENCE
from fakes.threads import in_thread
from hypothesis import given, settings
from hypothesis import strategies as st

from core.conversation import QUERY_LIMIT, QUESTION_LIMIT, Exchange, Omission, Usage
from core.errors import ModelTrouble, SettingsError
from core.library.documents import Passage, Retrieved
from core.reasoning import faults
from core.reasoning.calls import Limits
from core.reasoning.chat_model import ChatModels
from core.reasoning.providers import GOOGLE_URL, Access, connect, split_name
from core.reasoning.reasoner import (
    DOCUMENT_ROUTES,
    Ask,
    Draft,
    Grade,
    Grades,
    Grounded,
    Plan,
    Rejected,
    Strip,
)
from core.reasoning.replies import to_draft

# Google's client derives from aiohttp's session, which aiohttp discourages; neither is ours to change.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

ASK = Ask(question="How many files may I upload?")
REJECTED = Rejected(
    failing=(Omission(text="It is six.", reason="No strip names six."),), standing="At most five. [1]"
)
QUICK = Limits(pause=0.001)
BUSY = "The model is busy."
UNREACHABLE = "The model cannot be reached."
UNREADABLE = "The model's reply could not be read."
REFUSED = "The model refused this question."
KEY_REFUSED = "The model key was refused."
UNKNOWN = "The model is not known to its provider."
SPENT = "The model calls of this question are used up."


def found(text, number=1, url=None):
    passage = Passage(
        id=f"doc:{number}", collection="all", source="guide.md", title="Guide", path=("Uploads",),
        location="Uploads", text=text, start=0, end=len(text), url=url,
    )  # fmt: skip
    return Retrieved(passage=passage, score=1.0)


def strip(text, number=1, url=None):
    return Strip(number=number, retrieved=found(text, number, url), text=text, start=0, end=len(text))


PASSAGES = (
    found("Uploads take at most five files. Each may have 2 MB.", 1),
    found("Downloads have no bound. They are resumed after a fault.", 2),
    found("Logs are kept for a week. Nobody reads them.", 3),
)
STRIPS = (strip("Uploads take at most five files.", 1), strip("Each may have 2 MB.", 2))


@pytest.fixture
async def gemini():
    async with FakeGemini() as server:
        yield server


@pytest.fixture
async def open_models():
    """Opens models and closes them after the test."""
    opened = []

    def open_them(gemini, *, limits=QUICK, timeout=20.0, **names):
        access = Access(google_api_key="test-key", google_url=gemini.base_url, timeout=timeout)
        names = {
            "chat_model": "gemini-3.5-flash",
            "grader_model": "google_genai:gemini-3.5-flash-lite",
            **names,
        }
        opened.append(ChatModels.open(access=access, limits=limits, **names))
        return opened[-1]

    yield open_them
    for models in opened:
        await models.aclose()


@pytest.fixture
def reasoner(gemini, open_models):
    return open_models(gemini).reasoner(turn_timeout=60)


# A turn that goes well


async def test_plan_keeps_what_the_model_planned(gemini, reasoner):
    gemini.queue(
        "plan",
        {
            "route": "multi_hop", "standalone": "How many files may I upload at once?",
            "queries": ["upload limit", "file count"], "web_query": "upload file limit", "reply": "", "options": [],
        },
    )  # fmt: skip
    ask = Ask(question="how many?", history=(Exchange(question="Uploads?", answer="Yes.", author="ann"),))

    plan = await reasoner.plan(ask)

    assert plan == Plan(
        route="multi_hop",
        standalone="How many files may I upload at once?",
        queries=("upload limit", "file count"),
        web_query="upload file limit",
    )
    assert gemini.calls[0].blocks("earlier") == ["Uploads?", "Yes."]


async def test_grade_maps_the_shuffled_passages_back(gemini, reasoner):
    def about_uploads(_step, call):
        verdicts = [
            {
                "passage": number,
                "relevance": "correct" if "Uploads take" in text else "incorrect",
                "evidence": [1],
            }
            for number, text in enumerate(call.blocks("passage"), start=1)
        ]
        return {"passages": verdicts, "sufficient": True, "missing": "nothing"}

    gemini.reply = about_uploads

    grades = await reasoner.grade(ASK, PASSAGES)

    assert grades == Grades(
        of={
            "doc:1": Grade(relevance="correct", evidence=(1,)),
            "doc:2": Grade(relevance="incorrect"),
            "doc:3": Grade(relevance="incorrect"),
        },
        sufficient=True,
    )
    assert len(gemini.calls) == 1


async def test_grade_of_nothing_asks_nobody(gemini, reasoner):
    assert await reasoner.grade(ASK, ()) == Grades(sufficient=False)
    assert await reasoner.check_grounding((), STRIPS) == Grounded(judged=())
    assert gemini.calls == []


async def test_insufficient_grades_say_what_is_missing_and_leave_out_what_was_not_graded(gemini, reasoner):
    only_first = [{"passage": 1, "relevance": "ambiguous", "evidence": [2]}]
    gemini.queue("grade", {"passages": only_first, "sufficient": False, "missing": "the size of a file"})

    grades = await reasoner.grade(ASK, PASSAGES)

    assert len(grades.of) == 1
    assert grades.sufficient is False
    assert grades.missing == "the size of a file"


async def test_write_returns_markdown_that_cites_strips(gemini, reasoner):
    gemini.queue("write", "At most **five**. [1] Each may have 2 MB. [2]")

    draft = await reasoner.write(ASK, STRIPS, before=REJECTED)

    assert draft == Draft(text="At most **five**. [1] Each may have 2 MB. [2]", composed=True)
    assert gemini.calls[0].blocks("rejected") == ["It is six.\n(No strip names six.)"]
    assert gemini.calls[0].blocks("standing") == ["At most five. [1]"]


@pytest.mark.parametrize("reply", ["NO_ANSWER", "**NO_ANSWER**\n", "`NO_ANSWER`."])
async def test_the_writer_can_say_that_nothing_answers(gemini, reasoner, reply):
    gemini.queue("write", reply)

    draft = await reasoner.write(ASK, STRIPS)

    assert draft == Draft(text="", composed=True, answers=False)


async def test_the_checks_return_their_verdicts(gemini, reasoner):
    verdict = {
        "unsupported": [2, 4],
        "lacking": ["2: “that it\nis free”", "(4) – €5", "nothing of it"],
        "elsewhere": [[1, 2], [4, 1], []],
        "idle": [3], "absent": [5], "leaning": [5],
    }  # fmt: skip
    gemini.queue("grounding", verdict)
    gemini.queue("usefulness", {"useful": False})
    judged = statements("At most 2 MB.", "It is free.", "Good luck!", "At most five.", "No price is given.")

    grounded = await reasoner.check_grounding(judged, STRIPS)
    useful = await reasoner.check_usefulness(ASK, "At most five. [1]")

    assert grounded == Grounded(
        judged=(1, 2, 3, 4, 5),
        unsupported=(2,),  # what other strips state is supported
        lacking={2: "“that it is free”", 4: "€5"},
        elsewhere={1: (2,), 4: (1,)},
        idle=(3,),
        absent=(5,),
        leaning=(5,),
    )
    assert useful is False
    assert gemini.calls[0].blocks("question") == []


GERMAN = "Der Antrag geht an die Leitung. Sie entscheidet in einer Woche. Danach wird gezahlt."


async def test_between_languages_the_judge_names_the_lines_and_those_that_are_not_there_are_dropped(
    gemini, reasoner
):
    german = strip(GERMAN)
    named = [[1, 1, 2], [2, 1, 9, 3], [3, 1, 4], [1, 1, 3], [2, 5, 1], [9, 1, 1], [1], []]
    gemini.queue("grounding", {"unsupported": [], "stated": named})

    grounded = await reasoner.check_grounding(
        statements("It is decided within a week.", "Then the money comes.", "It is for all of you."),
        (german,),
    )

    pieces = {key: [GERMAN[start:end] for start, end in spans] for key, spans in grounded.stated.items()}
    assert pieces == {
        (1, 1): ["Sie entscheidet in einer Woche."],
        (2, 1): ["Danach wird gezahlt."],
    }


@pytest.mark.parametrize(
    ("said", "ballot"), [("Das entscheidet die Leitung in einer Woche.", 0), ("It is decided in a week.", 1)]
)
async def test_the_lines_are_asked_for_once_and_between_languages_alone(gemini, reasoner, said, ballot):
    await reasoner.check_grounding(statements(said), (strip(GERMAN),), ballot)

    assert "stated" not in gemini.calls[0].schema["properties"]


async def test_one_model_writes_and_the_other_judges_and_both_are_asked_as_they_want_to_be(gemini, reasoner):
    await reasoner.write(ASK, STRIPS)
    await reasoner.check_usefulness(ASK, "Five. [1]")

    assert [call.model for call in gemini.calls] == ["gemini-3.5-flash", "gemini-3.5-flash-lite"]
    assert {call.config["thinkingConfig"]["thinking_level"] for call in gemini.calls} == {"LOW"}
    assert gemini.rejected == []


async def test_what_was_sent_and_said_is_kept_only_where_it_is_asked_for(gemini, open_models):
    gemini.queue("usefulness", Status(503), {"useful": False})
    keeping = open_models(gemini, keeps_exchanges=True).reasoner(turn_timeout=60)
    silent = open_models(gemini).reasoner(turn_timeout=60)

    for reasoner in (keeping, silent):
        await reasoner.check_usefulness(ASK, "Five. [1]")

    failed, judged = keeping.exchanges
    assert (failed.model, failed.reply, failed.trouble) == ("gemini-3.5-flash-lite", "", BUSY)
    assert (json.loads(judged.reply), judged.trouble) == ({"useful": False}, "")
    assert any("Five. [1]" in words for _, words in judged.messages)
    assert silent.exchanges == ()


async def test_a_turn_costs_what_the_server_saw(gemini, reasoner):
    gemini.queue("plan", Joined(2))
    gemini.queue("grade", Joined(2))
    gemini.queue("grounding", Joined(5))
    gemini.queue("usefulness", Joined(5))

    await asyncio.gather(reasoner.plan(ASK), reasoner.grade(ASK, PASSAGES))
    await reasoner.write(ASK, STRIPS)
    await asyncio.gather(
        reasoner.check_grounding(statements("Five."), STRIPS), reasoner.check_usefulness(ASK, "Five. [1]")
    )

    usage = reasoner.usage
    assert (usage.name, usage.calls, usage.round_trips) == ("gemini-3.5-flash", 5, 3)
    assert gemini.round_trips == 3
    assert usage.input_tokens == sum(len(call.prompt) // 4 for call in gemini.calls)
    assert usage.output_tokens >= 5
    assert sorted(each.name for each in usage.models) == ["gemini-3.5-flash", "gemini-3.5-flash-lite"]
    assert sum(each.input_tokens for each in usage.models) == usage.input_tokens
    assert usage.cost is None


# Faults: what a person reads, and how often the model was asked

FAULTS = {
    "busy twice": ([Status(429), Status(429)], BUSY, 2),
    "busy for longer than is worth waiting": ([Status(429, retry_delay="30s")], BUSY, 1),
    "busy for longer, said by a header": ([Status(503, retry_after="120")], BUSY, 1),
    "broken twice": ([Status(500), Status(503)], BUSY, 2),
    "wrong key": ([Status(400, reason="API_KEY_INVALID")], KEY_REFUSED, 1),
    "key of another project": ([Status(403)], KEY_REFUSED, 1),
    "no key": ([Status(401)], KEY_REFUSED, 1),
    "no such model": ([Status(404)], UNKNOWN, 1),
    "request refused": ([Status(400)], REFUSED, 1),
    "prompt blocked": ([Blocked()], REFUSED, 1),
    "reply blocked": ([Finish("SAFETY")], REFUSED, 1),
    "reply recited": ([Finish("RECITATION", "Some")], REFUSED, 1),
    "cut off twice": ([Finish("MAX_TOKENS", '{"use')] * 2, UNREADABLE, 2),
    "empty twice": ([Finish("STOP")] * 2, UNREADABLE, 2),
    "no candidates twice": ([Body("{}")] * 2, UNREADABLE, 2),
    "not JSON at all twice": ([Body('{"candidates": [')] * 2, UNREADABLE, 2),
    "a list instead of an object twice": ([Body("[]")] * 2, UNREADABLE, 2),
    "another shape twice": ([Body('{"candidates": 5}')] * 2, UNREADABLE, 2),
    "a page of a proxy twice": ([Body("<html>Sign in</html>", "text/html")] * 2, UNREADABLE, 2),
    "connection cut in the reply twice": ([Cut()] * 2, UNREACHABLE, 2),
    "connection cut before it twice": ([Cut(before_headers=True)] * 2, UNREACHABLE, 2),
}
LASTING = {BUSY, KEY_REFUSED, UNKNOWN, UNREACHABLE}


@pytest.mark.parametrize("step", ["usefulness", "write"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_becomes_its_sentence(gemini, reasoner, step, fault):
    answers, sentence, calls = fault
    gemini.queue(step, *answers)

    with pytest.raises(ModelTrouble) as trouble:
        await ask_step(reasoner, step)

    assert str(trouble.value) == sentence
    assert len(gemini.calls) == reasoner.usage.calls == calls


@pytest.mark.parametrize("step", ["usefulness", "write"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_only_a_fault_that_would_repeat_itself_ends_the_turns_calls(gemini, reasoner, step, fault):
    answers, sentence, calls = fault
    gemini.queue(step, *answers)
    with pytest.raises(ModelTrouble, match=sentence):
        await ask_step(reasoner, step)

    if sentence in LASTING:
        with pytest.raises(ModelTrouble, match=sentence):
            await reasoner.plan(ASK)
    else:
        await reasoner.plan(ASK)

    assert len(gemini.calls) == calls + (sentence not in LASTING)


@pytest.mark.parametrize(
    "first",
    [
        Status(429, retry_after="0"), Status(429, retry_delay="0.01s"), Status(500), Cut(), Cut(before_headers=True),
        Body("{}"), Finish("MAX_TOKENS", "Fi"), Finish("STOP"),
    ],
    ids=repr,
)  # fmt: skip
async def test_a_second_try_saves_the_step(gemini, reasoner, first):
    gemini.queue("write", first)

    draft = await reasoner.write(ASK, STRIPS)

    assert draft.text == "Uploads take at most five files. [1]"
    assert (reasoner.usage.calls, reasoner.usage.round_trips, gemini.round_trips) == (2, 2, 2)


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ("Yes, it is.", "it was not a JSON object"),
        ('{"useful": "perhaps"}', "useful: Input should be a valid boolean"),
        ("{}", "useful: Field required"),
        ("[true]", "Input should be a valid dictionary"),
        ("null", "Input should be a valid dictionary"),
    ],
)
async def test_a_malformed_reply_is_sent_back_with_the_complaint(gemini, reasoner, reply, complaint):
    gemini.queue("usefulness", reply)

    useful = await reasoner.check_usefulness(ASK, "Five. [1]")

    assert useful is True
    first, second = gemini.calls
    assert complaint in second.prompt.removeprefix(first.prompt)
    assert second.turns[-3:] == [("user", first.prompt), ("model", reply), ("user", second.turns[-1][1])]


async def test_a_model_that_hangs_is_left_alone_after_one_timeout(gemini, open_models, pass_time):
    reasoner = open_models(gemini, timeout=20.0).reasoner(turn_timeout=60)
    gemini.reply = lambda _step, _call: pass_time(20.0) or Hang()

    for step in ("plan", "write", "usefulness"):
        with pytest.raises(ModelTrouble, match=r"^The model did not answer within 20 s\.$"):
            await ask_step(reasoner, step)

    assert len(gemini.calls) == reasoner.usage.calls == 1


async def test_calls_end_with_the_turns_time(gemini, open_models):
    models = open_models(gemini)
    gemini.reply = lambda _step, _call: Hang()

    for seconds in (0.2, 0.0):
        with pytest.raises(ModelTrouble, match=r"^The model did not answer in time\.$"):
            await models.reasoner(turn_timeout=seconds).plan(ASK)

    assert len(gemini.calls) == 1


async def test_no_second_try_outlives_the_turn(gemini, open_models):
    reasoner = open_models(gemini).reasoner(turn_timeout=1.5)
    gemini.queue("plan", Status(429, retry_after="2"))

    with pytest.raises(ModelTrouble, match=BUSY):
        await reasoner.plan(ASK)

    assert len(gemini.calls) == 1


async def test_a_stopped_turn_stops_its_call(gemini, reasoner):
    gemini.queue("plan", Hang())
    turn = asyncio.create_task(reasoner.plan(ASK))
    await gemini.until_calls(1)

    turn.cancel()

    with pytest.raises(asyncio.CancelledError):
        await turn


async def test_nobody_listens_there(open_models):
    async with FakeGemini() as gone:
        models = open_models(gone)

    with pytest.raises(ModelTrouble, match=UNREACHABLE):
        await models.reasoner(turn_timeout=60).plan(ASK)


async def test_a_fault_is_logged_without_the_words_of_the_question(gemini, reasoner, caplog):
    gemini.queue("usefulness", Status(400))
    secret = Ask(question="What is Zebediah paid?")

    with pytest.raises(ModelTrouble):
        await reasoner.check_usefulness(secret, "Five. [1]")

    assert "The model refused this question. (GoogleInvalidRequestError)" in caplog.text
    assert "Zebediah" not in caplog.text


# Budgets


async def test_the_twentieth_call_is_the_last(gemini, reasoner):
    await asyncio.gather(*(reasoner.check_usefulness(ASK, "Five. [1]") for _ in range(20)))

    with pytest.raises(ModelTrouble, match=SPENT):
        await reasoner.plan(ASK)

    assert len(gemini.calls) == reasoner.usage.calls == 20


async def test_the_thirteenth_round_trip_is_the_last(gemini, reasoner):
    for _ in range(13):
        await reasoner.check_usefulness(ASK, "Five. [1]")

    with pytest.raises(ModelTrouble, match=SPENT):
        await reasoner.plan(ASK)

    assert len(gemini.calls) == reasoner.usage.round_trips == gemini.round_trips == 13


async def test_second_tries_count(gemini, open_models):
    reasoner = open_models(gemini, limits=Limits(calls=3, pause=0.001)).reasoner(turn_timeout=60)
    gemini.reply = lambda _step, _call: Body("{}")

    for sentence in (UNREADABLE, SPENT, SPENT):
        with pytest.raises(ModelTrouble, match=sentence):
            await reasoner.plan(ASK)

    assert len(gemini.calls) == reasoner.usage.calls == 3


async def test_each_turn_has_a_budget_of_its_own(gemini, open_models):
    models = open_models(gemini, limits=Limits(calls=1))

    for _ in range(2):
        await models.reasoner(turn_timeout=60).plan(ASK)

    assert models.reasoner(turn_timeout=60).usage == Usage(name="gemini-3.5-flash")
    assert len(gemini.calls) == 2


# What is kept of a reply


def plan_reply(**changes):
    plain = {
        "route": "documents",
        "standalone": "",
        "queries": [],
        "web_query": "",
        "reply": "",
        "options": [],
    }
    return {**plain, **changes}


async def test_a_plan_without_its_words_is_a_search_for_the_question(gemini, reasoner):
    gemini.queue("plan", plan_reply(route="clarify", options=["this", "that"]))

    plan = await reasoner.plan(ASK)

    assert plan == Plan(route="documents", standalone=ASK.question, web_query=ASK.question)


@pytest.mark.parametrize("route", ["documents", "multi_hop", "web"])
@pytest.mark.parametrize("empty", ["", None, " \u200b "])
async def test_a_plan_without_a_web_query_declines_the_web(gemini, reasoner, route, empty):
    gemini.queue("plan", plan_reply(route=route, standalone="What is the wifi password?", web_query=empty))

    plan = await reasoner.plan(ASK)

    assert (plan.route, plan.web_query) == ("documents" if route == "web" else route, "")


async def test_a_question_asked_back_keeps_its_few_readings(gemini, reasoner):
    options = ["Request cookies", "Response cookies", "Request cookies", " ", "x" * 200, "a", "b", "c"]
    gemini.queue("plan", plan_reply(route="clarify", reply="Which cookies?", options=options))

    plan = await reasoner.plan(ASK)

    assert plan.reply == "Which cookies?"
    assert plan.options == ("Request cookies", "Response cookies", "x" * 70, "a")


async def test_a_web_query_hides_nothing_from_whoever_allows_it(gemini, reasoner):
    tags = "".join(chr(0xE0000 + ord(c)) for c in "secret")
    gemini.queue("plan", plan_reply(web_query=f"upload\u202e limit\x00\nof{tags} files " + "word " * 200))

    plan = await reasoner.plan(ASK)

    assert plan.web_query.startswith("upload limit of files word word")
    assert plan.web_query.isprintable()
    assert QUERY_LIMIT - 5 <= len(plan.web_query) <= QUERY_LIMIT


async def test_numbers_that_name_nothing_are_dropped(gemini, reasoner):
    verdicts = [
        {"passage": 0, "relevance": "correct", "evidence": [1]},
        {"passage": 1, "relevance": "correct", "evidence": [9, 2, -1, 2, 1, 0]},
        {"passage": 1, "relevance": "incorrect", "evidence": []},
        {"passage": 7, "relevance": "correct", "evidence": [1]},
    ]
    gemini.queue("grade", {"passages": verdicts, "sufficient": True, "missing": ""})
    stray = {
        "unsupported": [3, 0, 2, 2, -4],
        "elsewhere": [[1, 9, 0], [8, 1], [1]],
        "idle": [7],
        "absent": [-1],
        "leaning": [0, 3],
    }
    gemini.queue("grounding", stray)

    grades = await reasoner.grade(ASK, PASSAGES)
    grounded = await reasoner.check_grounding(statements("One.", "Two."), STRIPS)

    assert list(grades.of.values()) == [Grade(relevance="correct", evidence=(1, 2))]
    assert grounded == Grounded(judged=(1, 2), unsupported=(2,))


async def test_irrelevant_passages_are_never_sufficient(gemini, reasoner):
    verdicts = [{"passage": n, "relevance": "incorrect", "evidence": [1]} for n in (1, 2, 3)]
    gemini.queue("grade", {"passages": verdicts, "sufficient": True, "missing": ""})

    grades = await reasoner.grade(ASK, PASSAGES)

    assert grades.sufficient is False
    assert {grade.evidence for grade in grades.of.values()} == {()}


KNOWN = strip("See https://example.org/a and [the guide](guide.md).", 1, "https://example.org/page")


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Five. [1][7] More. [9]", "Five. [1] More."),
        ("Five. [1, 2; 9] So.", "Five. [1][2] So."),
        ("Use `items[7]` here. [1]", "Use `items[7]` here. [1]"),
        ("```py\nx[7] = 1 # https://evil.example\n```", "```py\nx[7] = 1 # https://evil.example\n```"),
        ("![x](https://evil.example/?q=secret) Five. [1]", "x Five. [1]"),
        ("![x](https://example.org/a) Five. [1]", "x Five. [1]"),
        ("Go [here](https://evil.example). [1]", "Go here. [1]"),
        ("Five [1](https://evil.example).", "Five [1]."),
        ("See [the guide](guide.md). [1]", "See [the guide](guide.md). [1]"),
        ("See https://example.org/a. [1]", "See https://example.org/a. [1]"),
        ("See <https://example.org/page>. [1]", "See <https://example.org/page>. [1]"),
        ("See https://evil.example/a, [1]", "See  [1]"),
        ("NO_ANSWER\n\nThe strips are about uploads. [1]", "The strips are about uploads. [1]"),
        ("Five [1-2]. More [1–2]; so [2-1].", "Five [1][2]. More [1][2]; so [2][1]."),
        ("Five【1】 and【2†guide.md】.", "Five[1] and[2]."),
        ("Five[^1]. More.[^2]\n\n[^1]: guide.md\n[^2]: other.md", "Five[1]. More.[2]"),
        ("Five [strip 1]. More [Sources 1 and 2].", "Five [1]. More [1][2]."),
        ("Five (1). More (1, 2).", "Five [1]. More [1][2]."),
        ("There are (2) ways (1). [1]", "There are (2) ways (1). [1]"),
        ("Five of `f(1)`. (2)", "Five of `f(1)`. [2]"),
        ("[1-9999]" * 900, ""),
        ("Five. [1]\n\n[1]: https://example.org", "Five. [1]"),
        ("[2]\n\nFive. [1]", "Five. [1]"),
        (
            "# Files [1]\n\nFive. [1]\n\n### Sizes\nTwo. [2]",
            "**Files [1]**\n\nFive. [1]\n\n**Sizes**\n\nTwo. [2]",
        ),
        ("Five. [1]\n\n---\n\n<!-- six -->\n\nMore. [2]", "Five. [1]\n\nMore. [2]"),
        ("A\u200b\u202eB\x07 \U0001f468\u200d\U0001f469 [1]", "AB  \U0001f468\u200d\U0001f469 [1]"),
    ],
)
def test_a_draft_keeps_only_marks_and_addresses_that_its_strips_hold(written, kept):
    draft = to_draft(written, (KNOWN, strip("Each may have 2 MB.", 2)))

    assert re.sub(r"\n{3,}", "\n\n", draft.text) == kept
    assert draft.answers is ("NO_ANSWER" not in written)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("- One goes. [1]\n- `Two` stays. [1]", "- One goes. [1]\n- `Two` stays. [1]"),
        ("Make it with `x=1` [1]:\n\n```py\nf(x=1)\n```", "Make it with `x=1` [1]:\n\n```py\nf(x=1)\n```"),
        ("Use [`f`](https://evil.example/f). [1]", "Use `f`. [1]"),
        ("Use [the `f` of g](https://example.org/a). [1]", "Use [the `f` of g](https://example.org/a). [1]"),
        ("See https://evil.example/`f`. [1]", "See `f`. [1]"),
        ("Wait (1) `f` ends. (2)", "Wait (1) `f` ends. [2]"),
        ("Use `f`. [1]\n\n[1]: see `f` of g", "Use `f`. [1]"),
        ("- `f` [1]\n- `g` [1]", "- `f` [1]\n- `g` [1]"),
    ],
)
def test_what_stands_beside_code_is_read_together_with_it(written, kept):
    assert to_draft(written, (KNOWN, strip("Each may have 2 MB.", 2))).text == kept


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Five. [1]\n\n**Sources:**\n\n- [1] Guide (guide.md)\n- `guide.md` [2]", "Five. [1]"),
        ("Five. [1]\n\nQuellen: [1], [2]", "Five. [1]"),
        ("五つです。[1]\n\n出典：[1]", "五つです。[1]"),
        ("Five. [1]\n\nReferences\n1. guide.md\n", "Five. [1]"),
        (
            "These go:\n\nSources:\n\n- wikis [1]\n- drives [2]",
            "These go:\n\nSources:\n\n- wikis [1]\n- drives [2]",
        ),
        ("Sources: [1]", "Sources: [1]"),
        ("Sources: [1]\n\nThere are five. [1]", "Sources: [1]\n\nThere are five. [1]"),
    ],
)
def test_a_list_of_its_sources_is_left_out_of_a_draft_and_no_other(written, kept):
    assert to_draft(written, (KNOWN, strip("Each may have 2 MB.", 2))).text == kept


@pytest.mark.parametrize(
    ("written", "answers", "text"),
    [
        ("I must say NO_ANSWER.", False, ""),
        ("NO_ANSWER: the strips are about uploads. [1]", False, ""),
        ("Five files. [1]\n\nNO_ANSWER for the price.", True, "Five files. [1]"),
        ("The price is not named.\nNO_ANSWER", False, "The price is not named."),
        ("Set `NO_ANSWERS` so. [1]", True, "Set `NO_ANSWERS` so. [1]"),
    ],
)
def test_the_writer_gives_up_only_where_nothing_was_cited_before(written, answers, text):
    draft = to_draft(written, (KNOWN,))

    assert (draft.answers, draft.text) == (answers, text)


# Nothing but usable values or ModelTrouble comes out, whatever the model replies

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
NUMBERS = st.lists(st.integers(-3, 9) | st.integers(), max_size=6)
TEXT = st.text(max_size=60) | st.sampled_from(["x" * 9_000, "word " * 2_000, "\x00\u202e", "[1] [9]"])
SHAPED = st.fixed_dictionaries(
    {
        "route": st.sampled_from(["none", "documents", "multi_hop", "web", "clarify", "sideways"]),
        "standalone": TEXT, "queries": st.lists(TEXT, max_size=6), "web_query": TEXT, "reply": TEXT,
        "options": st.lists(TEXT, max_size=6),
        "passages": st.lists(
            st.fixed_dictionaries(
                {
                    "passage": st.integers(-2, 6),
                    "relevance": st.sampled_from(["correct", "ambiguous", "incorrect", "so-so"]),
                    "evidence": NUMBERS,
                }
            ),
            max_size=5,
        ),
        "sufficient": st.booleans(), "missing": TEXT, "unsupported": NUMBERS, "useful": st.booleans(),
        "lacking": st.lists(st.fixed_dictionaries({"sentence": st.integers(-1, 4), "what": TEXT}), max_size=3),
        "elsewhere": st.lists(st.fixed_dictionaries({"sentence": st.integers(-1, 4), "strips": NUMBERS}), max_size=3),
        "idle": NUMBERS, "absent": NUMBERS, "leaning": NUMBERS,
    }
)  # fmt: skip
REPLIES = st.one_of(
    SHAPED,
    SHAPED.map(lambda shaped: json.dumps(shaped)[:-1]),
    JSON.map(json.dumps),
    st.text(max_size=60) | st.sampled_from(["word " * 300, "\x00\u202e", "[1] [9]"]),
    JSON.map(lambda body: Body(json.dumps(body))),
    st.builds(lambda body: Body(json.dumps({"candidates": [body], "promptFeedback": body})), JSON),
    st.builds(Finish, st.sampled_from(["STOP", "SAFETY", "MAX_TOKENS", "OTHER", "NEW_REASON"]), TEXT),
)


@pytest.fixture(scope="module")
def loop():
    """One event loop for the examples of a property, so that the client keeps its connections."""
    with asyncio.Runner() as runner:
        gemini = runner.run(FakeGemini().__aenter__())
        access = Access(google_api_key="test-key", google_url=gemini.base_url, timeout=20)
        models = ChatModels.open(
            chat_model="gemini-3.5-flash", grader_model="gemini-3.5-flash-lite", access=access, limits=QUICK
        )
        yield runner, gemini, models
        runner.run(models.aclose())
        runner.run(gemini.__aexit__())


@settings(max_examples=30, deadline=None)
@given(reply=REPLIES)
def test_whatever_the_model_replies_can_be_used_or_is_trouble(loop, reply):
    runner, gemini, models = loop
    gemini.reply = lambda _step, _call: reply

    async def turn():
        reasoner = models.reasoner(turn_timeout=60)
        steps = ("plan", "grade", "write", "grounding", "usefulness")
        return await asyncio.gather(*(ask_step(reasoner, step) for step in steps), return_exceptions=True)

    results = runner.run(turn())

    for result, is_usable in zip(results, USABLE, strict=True):
        assert isinstance(result, ModelTrouble) or is_usable(result)


def is_usable_plan(plan):
    one_liners = (plan.standalone, plan.web_query, plan.reply, *plan.queries, *plan.options)
    return (
        bool(plan.standalone and (plan.web_query or plan.route in DOCUMENT_ROUTES))
        and len(plan.standalone) <= QUESTION_LIMIT
        and len(plan.queries) <= 3
        and all(len(query) <= QUERY_LIMIT for query in (plan.web_query, *plan.queries))
        and not any(character in text for text in one_liners for character in "\n\r\t\x00\u202e")
        and (bool(plan.reply) == (plan.route in ("none", "clarify")))
    )


def is_usable_draft(draft):
    return len(draft.text) <= 8_000 and "\x00" not in draft.text and bool(draft.text or not draft.answers)


def are_usable_grades(grades):
    numbers = {number for grade in grades.of.values() for number in grade.evidence}
    return set(grades.of) <= {"doc:1", "doc:2", "doc:3"} and numbers <= {1, 2}


def is_usable_vote(vote):
    named = {*vote.unsupported, *vote.elsewhere, *vote.idle, *vote.absent, *vote.leaning}
    strips = {number for numbers in vote.elsewhere.values() for number in numbers}
    return vote.judged == (1, 2) and named <= {1, 2} and strips <= {1, 2} and all(vote.elsewhere.values())


USABLE = (
    is_usable_plan,
    are_usable_grades,
    is_usable_draft,
    is_usable_vote,
    lambda useful: isinstance(useful, bool),
)


def ask_step(reasoner, step):
    return {
        "plan": lambda: reasoner.plan(ASK),
        "grade": lambda: reasoner.grade(ASK, PASSAGES),
        "write": lambda: reasoner.write(ASK, STRIPS),
        "grounding": lambda: reasoner.check_grounding(statements("Five.", "Free."), STRIPS),
        "usefulness": lambda: reasoner.check_usefulness(ASK, "Five. [1]"),
    }[step]()


# Providers and settings


class ProviderError(Exception):
    """As most providers' clients raise it."""

    def __init__(self, status_code, **headers):
        super().__init__("told to nobody")
        self.status_code = status_code
        self.response = httpx.Response(status_code, headers=headers)


def caused_by(error):
    outer = RuntimeError("told to nobody")
    outer.__cause__ = error
    return outer


REQUEST = httpx.Request("POST", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (ProviderError(401), faults.KEY_REFUSED),
        (ProviderError(429, **{"retry-after": "3"}), replace(faults.BUSY, pause=3.0)),
        (ProviderError(529, **{"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}), faults.BUSY),
        (httpx.HTTPStatusError("", request=REQUEST, response=httpx.Response(503)), faults.BUSY),
        (caused_by(httpx.ConnectError("")), faults.UNREACHABLE),
        (caused_by(httpx.ReadTimeout("")), faults.SILENT),
        (caused_by(ConnectionResetError()), faults.UNREACHABLE),
        (NotImplementedError(), faults.UNREADABLE),
    ],
    ids=repr,
)
def test_the_faults_of_any_provider_are_told_apart(error, fault):
    assert faults.diagnose(error) == fault


def test_a_models_name_may_hold_a_colon_and_a_bare_name_is_googles():
    assert split_name("ollama:llama3:8b") == ("ollama", "llama3:8b")
    assert split_name("gemini-3.5-flash") == ("google_genai", "gemini-3.5-flash")


@pytest.mark.parametrize(
    ("name", "key", "sentence"),
    [
        (
            "mistralai:small",
            "",
            "CHAT_MODEL=mistralai:small needs a package: pip install langchain-mistralai.",
        ),
        ("nobody:model", "k", "CHAT_MODEL=nobody:model cannot be used: check its provider and key."),
        ("gemini-3.5-flash", "", "CHAT_MODEL=gemini-3.5-flash needs GOOGLE_API_KEY."),
    ],
)
def test_a_model_that_cannot_be_opened_says_what_to_do(name, key, sentence):
    with pytest.raises(SettingsError) as fault:
        connect("CHAT_MODEL", name, Access(google_api_key=key))

    assert str(fault.value) == sentence


async def test_an_older_model_gets_no_thinking_level(gemini, open_models):
    models = open_models(gemini, grader_model="gemini-2.5-flash")

    await models.reasoner(turn_timeout=60).plan(ASK)

    assert "thinkingConfig" not in gemini.calls[0].config


def test_no_gateway_of_the_environment_takes_googles_place(monkeypatch):
    monkeypatch.setenv("LANGSMITH_GATEWAY", "http://127.0.0.1:9")
    monkeypatch.setenv("LANGSMITH_GATEWAY_API_KEY", "other-key")

    model = connect("CHAT_MODEL", "gemini-3.5-flash", Access(google_api_key="test-key"))

    assert model.base_url == GOOGLE_URL
    assert model.google_api_key.get_secret_value() == "test-key"


WARNINGS = ("-W", "error", "-W", "ignore:Inheritance class Aiohttp:DeprecationWarning")


def run_turn(base_url, *, before="", **environment):
    """One plan in a process of its own; what it says of it."""
    script = f"""
import asyncio, sys
{before}
from core.reasoning.chat_model import ChatModels
from core.errors import ModelTrouble
from core.reasoning import faults
from core.reasoning.calls import Limits
from core.reasoning.providers import Access
from core.reasoning.reasoner import Ask
from langchain_core.tracers.langchain import wait_for_all_tracers

async def turn():
    access = Access(google_api_key="test-key", google_url={base_url!r}, timeout=5)
    models = ChatModels.open(
        chat_model="gemini-3.5-flash", grader_model="gemini-3.5-flash-lite", access=access, limits=Limits(pause=0.001)
    )
    for _ in range(int(sys.argv[1])):
        try:
            print((await models.reasoner(turn_timeout=30).plan(Ask(question="What is Zebediah paid?"))).route)
        except ModelTrouble as trouble:
            print(trouble)
    await models.aclose()

asyncio.run(turn())
wait_for_all_tracers()
"""

    def run(turns):
        return subprocess.run(
            [sys.executable, *WARNINGS, "-c", script, str(turns)],
            cwd=Path(__file__).parents[3], env={**os.environ, **environment}, capture_output=True, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip

    return run


def test_without_aiohttp_the_other_transport_meets_the_same_faults():
    faults = [
        Status(429, retry_after="60"), Status(400, reason="API_KEY_INVALID"), Cut(), Cut(),
        Cut(before_headers=True), Cut(before_headers=True), Body("{}"), Body("nonsense"),
    ]  # fmt: skip
    with in_thread(FakeGemini()) as gemini:
        gemini.queue("plan", *faults)

        done = run_turn(gemini.base_url, before="sys.modules['aiohttp'] = None")(6)

    assert done.stdout.splitlines() == [BUSY, KEY_REFUSED, UNREACHABLE, UNREACHABLE, UNREADABLE, "documents"]
    assert done.returncode == 0


def test_a_call_is_not_traced_even_where_tracing_was_switched_on_later():
    with in_thread(FakeGemini()) as gemini, in_thread(FakeGemini()) as elsewhere:
        done = run_turn(
            gemini.base_url,
            before="import core, os; os.environ['LANGSMITH_TRACING_V2'] = 'true'",
            LANGSMITH_ENDPOINT=elsewhere.base_url,
            LANGSMITH_API_KEY="k",
        )(1)

    assert done.stdout == "documents\n"
    assert len(gemini.calls) == 1
    assert elsewhere.rejected == []


# The local server keeps Gemini's contract


async def test_the_server_streams_as_gemini_does(gemini):
    model = connect(
        "CHAT_MODEL", "gemini-3.5-flash", Access(google_api_key="test-key", google_url=gemini.base_url)
    )
    streaming = model.model_copy(update={"disable_streaming": False})

    told = "The office is closed on Mondays, and on each public holiday of the year."
    gemini.queue("write", told)

    chunks = [chunk.text async for chunk in streaming.astream("Hello there")]
    await model.aclose()

    assert "".join(chunks) == told
    assert len([chunk for chunk in chunks if chunk]) == 3


async def test_the_server_embeds_texts_so_that_shared_words_lie_close(gemini):
    from langchain_google_genai import GoogleGenerativeAIEmbeddings

    embeddings = GoogleGenerativeAIEmbeddings(
        model="gemini-embedding-001", google_api_key="test-key", base_url=gemini.base_url
    )

    near, far = await embeddings.aembed_documents(["upload five files", "logs kept weekly"])
    query = await embeddings.aembed_query("how many files to upload")

    assert sum(a * b for a, b in zip(query, near, strict=True)) > sum(
        a * b for a, b in zip(query, far, strict=True)
    )
    assert gemini.embedded == ["upload five files", "logs kept weekly", "how many files to upload"]


async def test_the_server_refuses_what_gemini_would_refuse(gemini):
    access = Access(google_api_key="wrong-key", google_url=gemini.base_url)
    models = ChatModels.open(chat_model="gemini-3.5-flash", grader_model="gemini-3.5-flash", access=access)

    with pytest.raises(ModelTrouble, match=KEY_REFUSED):
        await models.reasoner(turn_timeout=60).plan(ASK)
    await models.aclose()

    assert gemini.rejected == ["API key not valid."]


async def test_no_call_asks_the_environment_for_a_proxy_that_it_does_not_name(
    gemini, open_models, monkeypatch
):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    models = open_models(gemini)

    await models.reasoner(turn_timeout=60).grade(ASK, PASSAGES)

    client = models.grader.model.client._api_client
    assert [session.trust_env for session in client._aiohttp_sessions.values()] == [False]
