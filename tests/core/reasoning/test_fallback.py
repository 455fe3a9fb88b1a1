"""A turn goes on when its model does not: the real client, the local server, the extractive reasoner."""

from __future__ import annotations

import pytest
from fakes.gemini import Blocked, Body, FakeGemini, Hang, Status
from fakes.passages import statements

from core.conversation import Omission
from core.library.documents import Passage, Retrieved
from core.reasoning.calls import Limits
from core.reasoning.chat_model import ChatModels, FallbackReasoner
from core.reasoning.extractive import ExtractiveReasoner
from core.reasoning.providers import Access
from core.reasoning.reasoner import Ask, Grounded, Rejected, Strip

# Google's client derives from aiohttp's session, which aiohttp discourages; neither is ours to change.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class Aiohttp:DeprecationWarning")

TIMEOUT = 60.0  # seconds for one call
TEXT = "Uploads take at most five files. Each file may have two megabytes."
ASK = Ask(question="How many files may uploads take?")
FOUND = Retrieved(
    passage=Passage(
        id="doc:1", collection="all", source="guide.md", title="Guide", location="Uploads", text=TEXT, start=0,
        end=len(TEXT),
    ),
    score=1.0,
    lexical=4.0,
)  # fmt: skip
STRIPS = (Strip(number=1, retrieved=FOUND, text=TEXT, start=0, end=len(TEXT)),)
REJECTED = Rejected(failing=(Omission(text="It is six.", reason=""),))


@pytest.fixture
async def gemini():
    async with FakeGemini() as server:
        yield server


@pytest.fixture
async def reasoner(gemini):
    access = Access(google_api_key="test-key", google_url=gemini.base_url, timeout=TIMEOUT)
    models = ChatModels.open(
        chat_model="gemini-3.5-flash",
        grader_model="gemini-3.5-flash-lite",
        access=access,
        limits=Limits(pause=0.001),
    )
    yield FallbackReasoner(models.reasoner(turn_timeout=10 * TIMEOUT), ExtractiveReasoner())
    await models.aclose()


async def whole_turn(reasoner):
    """Every step once, in the order of a turn."""
    return (
        await reasoner.plan(ASK),
        await reasoner.grade(ASK, (FOUND,)),
        await reasoner.write(ASK, STRIPS),
        await reasoner.check_grounding(statements(TEXT), STRIPS),
        await reasoner.check_usefulness(ASK, TEXT),
    )


async def test_a_turn_without_trouble_is_the_models_own(gemini, reasoner):
    _, grades, draft, _, useful = await whole_turn(reasoner)

    assert gemini.steps == ["plan", "grade", "write", "grounding", "usefulness"]
    assert draft.composed
    assert grades.sufficient is True
    assert useful is True
    assert reasoner.trouble is None
    assert reasoner.usage.calls == 5


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        (Hang(), ("The model did not answer within 60 s.", 1)),
        (Status(401), ("The model key was refused.", 1)),
        (Status(429, retry_delay="60s"), ("The model is busy.", 1)),
        (Status(503), ("The model is busy.", 2)),
    ],
    ids=["hangs", "refuses the key", "is busy for long", "stays busy"],
)
async def test_a_model_in_lasting_trouble_is_left_alone_and_the_turn_is_quoted(
    gemini, reasoner, pass_time, fault, trouble
):
    def reply(_step, _call):
        if isinstance(fault, Hang):
            pass_time(TIMEOUT)
        return fault

    gemini.reply = reply

    plan, grades, draft, grounded, _ = await whole_turn(reasoner)

    assert (reasoner.trouble, len(gemini.calls)) == trouble
    assert reasoner.usage.calls == len(gemini.calls)
    assert plan.standalone == ASK.question
    assert set(grades.of) == {"doc:1"}
    assert not draft.composed
    assert draft.quotes == (1,)
    assert grounded == Grounded(judged=(1,))


@pytest.mark.parametrize("fault", [Body("{}"), Blocked()], ids=["malformed", "blocked"])
async def test_one_bad_reply_costs_one_step(gemini, reasoner, fault):
    gemini.queue("grade", fault, fault)

    _, grades, draft, _, useful = await whole_turn(reasoner)

    assert grades == await ExtractiveReasoner().grade(ASK, (FOUND,))
    assert draft.composed
    assert useful is True
    assert gemini.steps[-3:] == ["write", "grounding", "usefulness"]


async def test_the_first_trouble_is_the_one_that_is_told(gemini, reasoner):
    gemini.queue("plan", Blocked())
    gemini.queue("grade", Status(403))

    await whole_turn(reasoner)

    assert reasoner.trouble == "The model refused this question."


async def test_quotes_need_no_model_to_check_them(gemini, reasoner):
    gemini.queue("write", Blocked())

    draft = await reasoner.write(ASK, STRIPS)
    grounded = await reasoner.check_grounding(statements(TEXT), STRIPS)
    await reasoner.check_usefulness(ASK, TEXT)

    assert not draft.composed
    assert grounded == Grounded(judged=(1,))
    assert gemini.steps == ["write"]


async def test_a_composed_draft_is_still_checked_by_the_model_when_another_draft_was_quoted(gemini, reasoner):
    await reasoner.write(ASK, STRIPS)
    gemini.queue("write", Blocked())
    await reasoner.write(ASK, STRIPS, REJECTED)
    gemini.queue("grounding", {"unsupported": [1]})

    grounded = await reasoner.check_grounding(statements("It is six."), STRIPS)

    assert grounded == Grounded(judged=(1,), unsupported=(1,))


async def test_a_check_that_fails_is_done_by_the_words_that_sentence_and_strips_share(gemini, reasoner):
    gemini.queue("grounding", Blocked())

    draft = await reasoner.write(ASK, STRIPS)
    judged = statements(TEXT, "Zebras eat grass.")
    grounded = await reasoner.check_grounding(judged, STRIPS)

    assert draft.composed
    assert grounded.unsupported == (2,)
    assert grounded == await ExtractiveReasoner().check_grounding(judged, STRIPS)
