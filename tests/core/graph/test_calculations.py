"""Questions that need a figure computed, through the real Google client."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from fakes.gemini import FakeGemini, default_reply
from fakes.scripted import ScriptedDocuments, assistant_over, hit, question

from core.reasoning.chat_model import ChatModels
from core.reasoning.instructions import CALCULATE, CALCULATED
from core.reasoning.providers import Access
from core.text.intent import asks_for_calculation

ASKED = "By how much did revenue grow in 2023?"
SALES = hit(
    "Figures in millions of euros.\n\n| Year | Revenue |\n|---|---|\n| 2021 | 10.7 |\n| 2022 | 11.1 |\n| 2023 | 12.4 |",
    id="sales",
)
STAFF = hit("The firm had 310 employees at the end of 2023.", id="staff", score=0.9)
GROWTH = "Revenue grew by {calc: (12.4 - 11.1) / 11.1 as %} in 2023. [1]"
MADE_UP = "Costs grew by {calc: 12.4 - 11.9} million euros. [1]"


@asynccontextmanager
async def assistant_of(folder, *drafts, unsupported=(), useful=True, confidence=0.5):
    """An assistant whose model writes these drafts one after the other; its judges reject sentences with these words."""

    def reply(step, call):
        if step == "grade":
            numbers = range(1, len(call.blocks("passage")) + 1)
            told = [{"passage": n, "relevance": "correct", "evidence": [1, 2, 3, 4]} for n in numbers]
            return {"passages": told, "sufficient": True, "missing": ""}
        if step == "write":
            return drafts[min(gemini.steps.count("write"), len(drafts)) - 1]
        if step == "grounding":
            sentences = enumerate(call.blocks("sentence"), start=1)
            return {
                "unsupported": [n for n, text in sentences if any(words in text for words in unsupported)]
            }
        return {"useful": useful} if step == "usefulness" else default_reply(call)

    async with FakeGemini(reply=reply) as gemini:
        access = Access(google_api_key=gemini.api_key, google_url=gemini.base_url, timeout=5)
        models = ChatModels.open(
            chat_model="gemini-3.5-flash", grader_model="gemini-3.5-flash-lite", access=access
        )
        documents = ScriptedDocuments(default=(SALES, STAFF), confidence=confidence)
        async with assistant_over(folder, models.reasoner(turn_timeout=30), documents) as assistant:
            yield assistant, gemini
        await models.aclose()
        assert not gemini.rejected


def calls_of(gemini, step):
    return [call for call in gemini.calls if call.step == step]


@pytest.mark.parametrize("confidence", [0.5, 0.95], ids=["written after the grades", "written ahead of them"])
async def test_a_computed_figure_shows_its_steps_and_quotes_its_numbers(tmp_path, confidence):
    async with assistant_of(tmp_path, GROWTH, confidence=confidence) as (assistant, _):
        outcome = await assistant.run(question(ASKED))

    assert outcome.kind == "answered"
    assert outcome.answer.text == "Revenue grew by 11.7% (12.4 − 11.1 = 1.3; 1.3 ÷ 11.1 ≈ 11.7%) in 2023. [1]"
    assert [citation.quote for citation in outcome.answer.citations] == ["| 2022 | 11.1 |\n| 2023 | 12.4 |"]
    assert outcome.answer.left_out == ()
    assert outcome.usage.round_trips == len({"open", "generate", "verify"}) - (confidence > 0.9)


async def test_the_judge_reads_the_result_with_its_numbers_and_no_doubt_about_it(tmp_path):
    async with assistant_of(tmp_path, GROWTH) as (assistant, gemini):
        await assistant.run(question(ASKED))

    for call in calls_of(gemini, "grounding"):
        assert call.blocks("sentence") == [
            "Revenue grew by 11.7% (12.4 − 11.1 = 1.3; 1.3 ÷ 11.1 ≈ 11.7%) in 2023."
        ]
        assert call.blocks("doubt") == []
        assert CALCULATED in call.system
    (useful,) = calls_of(gemini, "usefulness")
    assert "11.7%" in useful.prompt
    assert "{calc" not in useful.prompt


async def test_a_figure_from_a_number_that_is_not_there_is_cut_before_any_judge_sees_it(tmp_path):
    async with assistant_of(tmp_path, f"{GROWTH} {MADE_UP}") as (assistant, gemini):
        outcome = await assistant.run(question(ASKED))

    assert "Costs" not in outcome.answer.text
    (omitted,) = outcome.answer.left_out
    assert omitted.text == "Costs grew by (12.4 − 11.9) million euros."
    assert omitted.reason == "11.9 is not in the cited text"
    assert not any(
        "Costs" in each for call in calls_of(gemini, "grounding") for each in call.blocks("sentence")
    )


async def test_where_only_such_a_figure_was_written_it_is_written_anew_with_the_reason(tmp_path):
    async with assistant_of(tmp_path, MADE_UP, GROWTH) as (assistant, gemini):
        outcome = await assistant.run(question(ASKED))

    _, again = calls_of(gemini, "write")
    assert again.blocks("rejected") == [
        "Costs grew by (12.4 − 11.9) million euros.\n(11.9 is not in the cited text)"
    ]
    assert outcome.answer.text.startswith("Revenue grew by 11.7%")
    assert len(calls_of(gemini, "grounding")) == 2, "the draft that has nothing else is put to no judge"


async def test_what_stood_of_a_draft_goes_back_to_the_writer_as_it_was_written(tmp_path):
    lie = "The firm closed all of its offices. [2] It also sold all of its cars. [2]"
    async with assistant_of(
        tmp_path, f"{lie} {GROWTH}", GROWTH, unsupported=("closed", "sold"), useful=False
    ) as (
        assistant,
        gemini,
    ):
        await assistant.run(question(ASKED))

    drafted_again = calls_of(gemini, "write")[1:]
    assert [call.blocks("standing") for call in drafted_again] == [[GROWTH]] * len(drafted_again)
    assert drafted_again


async def test_a_wrong_figure_that_its_numbers_allow_is_left_to_the_judge(tmp_path):
    other_year = "Revenue grew by {calc: (12.4 - 10.7) / 10.7 as %} in 2023. [1]"
    draft = f"{other_year} The firm had 310 employees at the end of 2023. [2]"
    async with assistant_of(tmp_path, draft, unsupported=("15.9%",)) as (assistant, _):
        outcome = await assistant.run(question(ASKED))

    assert "15.9%" not in outcome.answer.text


async def test_the_writer_is_told_how_to_compute_only_where_that_is_asked(tmp_path):
    async with assistant_of(tmp_path, "The firm had 310 employees. [2]") as (assistant, gemini):
        await assistant.run(question(ASKED))
        await assistant.run(question("How many employees does the firm have?", id="q2"))
        await assistant.run(question("And the year before?", id="q3"))  # may mean the growth

    assert [CALCULATE in call.system for call in calls_of(gemini, "write")] == [True, False, True]
    assert not any(CALCULATED in call.system for call in gemini.calls)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("By how much did sales grow?", True),
        ("What is the ratio of staff to shops?", True),
        ("What did it cost on average over three years?", True),
        ("Um wie viel Prozent ist der Umsatz gestiegen?", True),
        ("Wie hoch war der Durchschnitt?", True),
        ("De combien le chiffre a-t-il augmenté ?", True),
        ("¿Cuál es el promedio de los tres años?", True),
        ("Qual foi a média dos três anos?", True),
        ("売上は何%伸びましたか", True),
        ("How tall is the tower?", False),
        ("How do I install it?", False),
        ("Wer leitet das Team?", False),
        ("Comment faire une demande ?", False),
        ("¿Quién lo decide?", False),
        ("タワーの高さは？", False),
    ],
)
def test_a_question_asks_for_a_calculation_or_does_not(asked, expected):
    assert asks_for_calculation(asked) is expected
