"""What is offered where the documents do not answer: a person alone for what no search can know; each passage once."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from dataclasses import dataclass

import pytest
from fakes.fork_server import run_python
from fakes.gemini import FakeGemini
from fakes.served import environment, ingest
from fakes.stages import Begin, BeginChat, at_terminal, in_discord, in_slack
from fakes.web_servers import FakeSearXNG

WIFI = "find office wifi password"
DOGS = "Do dogs on a leash of two metres pay?"
LEASH = "Dogs stay on a leash of two metres."
RULES = f"# Animals\n\n<ul>\n\n<li>Birds stay in a cage.</li>\n\n<li>Cats stay in a basket.</li>\n\n<li>{LEASH}</li>\n\n</ul>\n"


@dataclass(frozen=True, kw_only=True)
class Unsure:
    """A model that finds no answer, and names what is closest."""

    closest: str
    web_query: str

    def __call__(self, step, call):
        return getattr(self, f"_{step}", lambda _call: None)(call)

    def _plan(self, call):
        (question,) = call.blocks("question")
        return {
            "route": "documents", "standalone": question, "queries": [], "web_query": self.web_query,
            "reply": "", "options": [],
        }  # fmt: skip

    def _grade(self, call):
        verdicts = [
            {
                "passage": number,
                "relevance": "ambiguous" if self.closest in text else "incorrect",
                "evidence": [
                    int(n) for n, said in re.findall(r"(?m)^\((\d+)\) (.*)", text) if self.closest in said
                ],
            }
            for number, text in enumerate(call.blocks("passage"), start=1)
        ]
        return {"passages": verdicts, "sufficient": False, "missing": ""}

    def _write(self, _call):
        return "NO_ANSWER"


@pytest.fixture
async def engine():
    async with FakeSearXNG([]) as engine:
        yield engine


@pytest.fixture
async def gemini():
    async with FakeGemini() as gemini:
        yield gemini
        assert gemini.rejected == []


@pytest.fixture
def folder(template, tmp_path):
    home = shutil.copytree(template, tmp_path / "home")
    (home / "animals.md").write_text(RULES)
    ingest(home, "animals.md")
    return home


def settings(engine, gemini):
    return {
        "WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url, "GOOGLE_API_KEY": gemini.api_key,
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
    }  # fmt: skip


@pytest.mark.parametrize("begin", [in_slack, in_discord])
async def test_a_person_alone_is_offered_for_what_only_the_team_can_know(
    begin: BeginChat, engine, gemini, folder
):
    gemini.reply = Unsure(closest="harbour office opens", web_query="")
    async with begin(folder, settings(engine, gemini) | {"EXPERTS": "1"}) as stage:
        answer = await stage.ask(WIFI)
        offered = stage.buttons()

    assert "I did not find this in your documents." in answer
    assert "I would search" not in answer
    assert "consult" in offered
    assert not offered & {"approve", "edit", "deny"}
    assert engine.requests == []


async def test_a_terminal_asks_for_no_search_of_what_only_the_team_can_know(engine, gemini, folder):
    gemini.reply = Unsure(closest="harbour office opens", web_query="")
    async with at_terminal(folder, settings(engine, gemini)) as stage:
        answer = await stage.ask(WIFI)

    ran = await asyncio.to_thread(
        run_python, "-m", "bots", "ask", WIFI, "--json", cwd=folder,
        env=environment(folder) | settings(engine, gemini),
    )  # fmt: skip
    record = json.loads(ran.stdout)

    assert "I did not find this in your documents." in answer
    assert "Search?" not in answer
    assert (record["outcome"], record["proposal"]) == ("no_answer", None)
    assert engine.requests == []


@pytest.mark.parametrize("begin", [at_terminal, in_slack, in_discord])
async def test_the_closest_sentence_is_shown_as_people_read_it_and_only_once(
    begin: Begin, engine, gemini, folder
):
    gemini.reply = Unsure(closest=LEASH, web_query="dogs in harbours")
    async with begin(folder, settings(engine, gemini)) as stage:
        card = await stage.ask(DOGS)
        refused = await stage.say_no()

    assert f"“{LEASH}”" in card
    assert "<li>" not in card
    assert "Cats" not in card
    assert "Nothing was sent to the web." in refused
    assert refused.count(LEASH) == (0 if begin is at_terminal else 1)  # on the card, which stays
