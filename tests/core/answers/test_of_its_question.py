"""A person's answer is given for its question, without a model and with one, and the newer of two that differ first."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from fakes.gemini import FakeGemini, default_reply

from bots.chat.texts import remarks, say_in, title_and_origin
from core.answers.store import KeptAnswer, id_of
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Conversation, Question
from core.settings import Settings
from core.traces.log import DAY

NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
GERMAN = "Wie hoch ist die Kaution für das Lager in Bremen?"


def said(question, text, *, name="Petra", days=0, language="en"):
    at = NOON + days * DAY
    return KeptAnswer(
        id=id_of(f"{name} {question}"), question=question, text=text, author=name, name=name, place="#lab",
        conversation="", message=f"{name} {question}", url=None, collection="default", language=language, said_at=at,
        kept_at=at, valid_until=at,
    )  # fmt: skip


@asynccontextmanager
async def teaching(folder, *answers, documents="", **settings):
    chosen = Settings(data_dir=folder / "data", embedding_model="none", web_search="off", **settings)
    async with open_footnote(chosen, purpose="test", reads=reads_everything) as footnote:
        footnote.answers.now = lambda: NOON + 30 * DAY
        if documents:
            (folder / "docs").mkdir()
            (folder / "docs" / "lab.md").write_text(documents)
            footnote.library.ingest([folder / "docs"])
        for answer in answers:
            await footnote.answers.keep(answer)
            await footnote.answers.use(answer.id)
        yield footnote


async def asked(footnote, *texts):
    """What came of the last of these questions, which are asked in one thread."""
    place = Conversation(platform="test", space="s", channel="c", thread=texts[-1])
    for number, text in enumerate(texts):
        question = Question(
            id=f"{texts[-1]}/{number}", conversation=place, author="a", text=text, asked_at=NOON
        )
        outcome = await footnote.assistant.run(question)
    return outcome


ETHANOL = said("What is the boiling point of ethanol?", "78.4 °C at normal pressure; use the oil bath.")
LEAVE = said("How many days of leave do I have in 2025?", "Twenty-eight days.")
LYON = said("Who orders paper for the Lyon office?", "Zoé does, on Mondays.")
GLOVES = said("Which gloves may be worn in the clean room?", "The blue ones in the second drawer.")
LAGER = said(GERMAN, "Zweihundert Euro.", language="de")


@pytest.mark.parametrize("documents", ["", "# Lab\n\nGloves are in a drawer.\n\nThe lab opens at eight.\n"])
@pytest.mark.parametrize(
    ("answer", "others"),
    [
        (ETHANOL, ["What is the boiling point of mercury?", "boiling point mercury?"]),
        (LEAVE, ["How many days of leave do I have in 2026?"]),
        (LYON, ["Who orders paper for the Brest office?"]),
        (GLOVES, ["Which gloves may not be worn in the clean room?"]),
        (LAGER, [GERMAN.replace("Bremen", "Hamburg")]),
    ],
    ids=lambda each: each.question if isinstance(each, KeptAnswer) else "",
)
async def test_without_a_model_it_is_not_given_for_a_question_that_only_looks_like_its_own(
    answer, others, documents, tmp_path
):
    async with teaching(tmp_path, answer, documents=documents) as footnote:
        own = await asked(footnote, answer.question)
        outcomes = [await asked(footnote, other) for other in others]

    assert own.answer.citations[0].quote in answer.text
    for outcome in outcomes:
        quotes = [each.quote for each in (outcome.answer.citations if outcome.answer else outcome.closest)]
        assert not any(quote in answer.text for quote in quotes)


async def test_it_is_not_given_for_a_follow_up_about_another_subject(tmp_path):
    async with teaching(tmp_path, ETHANOL) as footnote:
        other = await asked(footnote, ETHANOL.question, "And of mercury?")
        same = await asked(footnote, ETHANOL.question, "And which bath do I use for it?")

    assert (other.answer, other.kind) == (None, "no_answer")
    assert "oil bath" in same.answer.citations[0].quote


async def test_an_answer_that_says_it_of_both_is_given_for_both(tmp_path):
    both = replace(ETHANOL, text="78.4 °C; that of mercury is 356.7 °C.")
    async with teaching(tmp_path, both) as footnote:
        outcome = await asked(footnote, "What is the boiling point of mercury?")

    assert "356.7" in outcome.answer.citations[0].quote


TWICE = (
    said("Where does broken glass go?", "Into the blue bin by the door."),
    said("Where do I put broken glass?", "Into the container in the yard.", name="Ann", days=20),
)
KEYS = (
    said("Who has the key to the boat shed?", "Marta in the harbour office."),
    said("Who has the boat shed's key?", "Olga. Ring twice.", name="Ann", days=1 / 24),  # an hour later
)


@pytest.mark.parametrize("taught", [TWICE, KEYS], ids=["glass", "keys"])
@pytest.mark.parametrize("first", [0, 1])
async def test_without_a_model_the_newer_of_two_that_differ_is_quoted_first_and_the_older_named(
    taught, first, tmp_path
):
    old, new = taught
    async with teaching(tmp_path, *(taught if first else reversed(taught))) as footnote:
        outcomes = [await asked(footnote, answer.question) for answer in taught]

    for outcome in outcomes:
        latest, earlier, *_ = outcome.answer.citations
        assert (latest.source, earlier.source) == (new.address, old.address)
        assert say_in("en")("newer_first") in remarks(outcome)
        assert [title_and_origin(each, "en")[0].partition(",")[0] for each in (latest, earlier)] == [
            "Ann",
            "Petra",
        ]


async def test_where_a_model_writes_it_is_told_who_said_what_last(tmp_path):
    told = {}

    def reply(step, call):
        told[step] = f"{call.system}\n{call.prompt}"
        return default_reply(call)

    async with FakeGemini(reply=reply, api_key="key") as gemini:
        keys = {"google_api_key": "key", "google_gemini_base_url": gemini.base_url}
        async with teaching(tmp_path, *TWICE, **keys) as footnote:
            await asked(footnote, "Where does broken glass go?")

    passages = re.findall(r"<<\w+ passage \d+>>\n([^\n]*)", told["grade"])
    assert sorted(passages) == [
        "from a colleague: Ann, in #lab, 1 Apr 2026 > Where do I put broken glass?",
        "from a colleague: Petra, in #lab, 12 Mar 2026 > Where does broken glass go?",
    ]
    assert "Where two colleagues differ, answer with what was said last" in told["write"]
