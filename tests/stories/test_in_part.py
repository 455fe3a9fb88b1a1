"""A question of which the documents answer one half: what is shown, and what becomes of the search beside it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass

import pytest
from fakes.gemini import FakeGemini
from fakes.served import ingest
from fakes.stages import Begin, BeginChat, at_terminal, in_discord, in_slack
from fakes.web_servers import FakeSearXNG, Result

ASKED = "When does the ferry to Sark leave, and what does a ticket cost?"
MISSING = "price of a ticket for the ferry to Sark"
FARES = Result(
    title="Ferry fares",
    url="http://127.0.0.1:9/fares",  # not a public address: the snippet has to do
    content="A ticket for the ferry to Sark costs 38 pounds return.",
)
GERMAN = "# Fähren\n\nDie Fähre nach Sark fährt um halb zehn vom dritten Anleger ab.\n"
ASKED_IN_GERMAN = "Wann fährt die Fähre nach Sark ab, und was kostet eine Fahrkarte?"
MISSING_IN_GERMAN = "Preis einer Fahrkarte nach Sark"
CARS = "Are cars allowed on the boat to Sark?"  # in words that the handbook does not have
NO_CARS = Result(
    title="Traffic",
    url="http://127.0.0.1:9/traffic",
    content="Cars are not allowed on the boat to Sark, nor on the island.",
)

_SENTENCE = re.compile(r" sentence (\d+) cites [^\n]*>>\n([^\n]*)")


@dataclass(frozen=True, kw_only=True)
class HalfKnowing:
    """A model that finds one half in the documents and the other on the web, and makes a sentence up."""

    told: str  #: what tells the half that the documents state
    states: str  #: that half
    invents: str
    missing: str

    def __call__(self, step, call):
        return getattr(self, f"_{step}", lambda _call: None)(call)

    def _grade(self, call):
        passages = call.blocks("passage")
        is_found = any(FARES.content in each for each in passages)
        stated = FARES.content if is_found else self.told
        verdicts = [
            {
                "passage": number,
                "relevance": "correct" if stated in text else "incorrect",
                "evidence": [
                    int(n) for n, said in re.findall(r"(?m)^\((\d+)\) (.*)", text) if stated in said
                ],
            }
            for number, text in enumerate(passages, start=1)
        ]
        return {"passages": verdicts, "sufficient": is_found, "missing": "" if is_found else self.missing}

    def _write(self, call):
        for number, strip in enumerate(call.blocks("strip"), start=1):
            if FARES.content in strip:
                return f"{FARES.content} [{number}]"
            if self.told in strip:
                return f"{self.states} [{number}] {self.invents} [{number}]"
        return "NO_ANSWER"

    def _grounding(self, call):
        made_up = [int(number) for number, said in _SENTENCE.findall(call.prompt) if self.invents in said]
        return {"unsupported": made_up, "lacking": [f"{number}: no word of dogs" for number in made_up]}


ENGLISH_MODEL = HalfKnowing(
    told="half past nine",
    states="The ferry to Sark leaves at half past nine.",
    invents="Dogs travel for free.",
    missing=MISSING,
)
GERMAN_MODEL = HalfKnowing(
    told="halb zehn",
    states="Die Fähre nach Sark fährt um halb zehn ab.",
    invents="Hunde fahren umsonst.",
    missing=MISSING_IN_GERMAN,
)


@pytest.fixture
async def engine():
    async with FakeSearXNG([FARES]) as engine:
        yield engine


@pytest.fixture
async def gemini():
    async with FakeGemini() as gemini:
        yield gemini
        assert gemini.rejected == []


@pytest.fixture
def folder(template, tmp_path):
    return shutil.copytree(template, tmp_path / "home")


@pytest.fixture
def german_folder(folder):
    (folder / "handbuch.md").write_text(GERMAN)
    ingest(folder, "handbuch.md")
    return folder


def settings(engine, gemini=None):
    searching = {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
    if gemini is None:
        return searching
    return searching | {"GOOGLE_API_KEY": gemini.api_key, "GOOGLE_GEMINI_BASE_URL": gemini.base_url}


def sent(engine):
    return [request.query["q"] for request in engine.requests]


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_the_search_for_the_other_half_waits_through_a_kill_for_whoever_asked(
    begin: BeginChat, engine, gemini, folder
):
    gemini.reply = ENGLISH_MODEL
    async with begin(folder, settings(engine, gemini)) as stage:
        answer = await stage.ask(ASKED)
        offered = stage.buttons()
        footnotes = await stage.press_in_private("footnotes", stage.bob)
        refusal = await stage.press_in_private("approve", stage.bob)
        await stage.kill_and_open()
        sent_before = sent(engine)
        found = await stage.press("approve")
        late = await stage.press_in_private("deny", stage.ann, as_asked=True)
        stays, left = stage.card.visible, stage.buttons()

    assert ENGLISH_MODEL.states in answer
    assert f"Not in your documents: {MISSING}" in answer
    assert f"I would search SearXNG for:\n{MISSING}\n" in answer
    assert "Left out: one sentence" in answer
    assert ENGLISH_MODEL.invents not in answer
    assert f"“{ENGLISH_MODEL.invents}” (no word of dogs)" in footnotes
    assert "Only ann" in refusal
    assert (sent_before, sent(engine)) == ([], [MISSING])
    assert FARES.content in found
    assert "From the web, not from your documents." in found
    assert ENGLISH_MODEL.states not in found
    assert "ann already allowed this search" in late
    assert stays.startswith(answer.partition("I would search")[0])
    assert "ann allowed this search at" in stays
    assert offered - left == {"approve", "edit", "deny"}


@pytest.mark.parametrize("begin", [at_terminal, in_slack, in_discord])
async def test_the_answer_to_a_german_question_stays_when_the_search_beside_it_is_refused(
    begin: Begin, engine, gemini, german_folder
):
    gemini.reply = GERMAN_MODEL
    async with begin(german_folder, settings(engine, gemini)) as stage:
        answer = await stage.ask(ASKED_IN_GERMAN)
        refused = await stage.say_no()

    words = " ".join(answer.split())
    assert GERMAN_MODEL.states in words
    assert f"Nicht in deinen Dokumenten: {MISSING_IN_GERMAN}" in words
    assert "Weggelassen: ein Satz" in words
    assert f"Ich würde mit SearXNG suchen nach: {MISSING_IN_GERMAN}" in words
    if begin is not at_terminal:  # where what was said is not written anew
        assert refused.startswith(answer.partition("Ich würde")[0])
    assert "ann hat um" in refused
    assert "Es wurde nichts ins Web geschickt." in refused
    assert sent(engine) == []


@pytest.mark.parametrize("begin", [at_terminal, in_slack, in_discord])
async def test_without_a_model_a_quote_that_may_be_it_is_shown_with_the_search_beside_it(
    begin: Begin, engine, folder
):
    async with begin(folder, settings(engine)) as stage:
        engine.results = [NO_CARS]
        quote = await stage.ask(CARS)
        found = await stage.allow("cars on Sark")

    assert "This may be what you look for:" in quote
    assert "It takes bicycles but no cars. [1]" in quote
    assert "Quoted from your documents" not in quote
    assert "I would search SearXNG for:" in quote
    assert CARS.rstrip("?") in quote.partition("I would search")[2]
    assert NO_CARS.content in found
    assert "ann allowed this search at" in found
    assert sent(engine) == ["cars on Sark"]
