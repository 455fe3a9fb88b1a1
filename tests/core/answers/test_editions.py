"""Two editions of a document that say different things: the newer one speaks first, and the answer says so.

Each case of ``tests/benchmarks/evaluation/editions.jsonl`` has what the first quote of an answer without a model holds, and what
an older document says otherwise, if one does.
"""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager

import pytest
from benchmarks import EVALUATION
from fakes.gemini import FakeGemini, default_reply

from bots.chat.texts import remarks, say_in
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Conversation, Question
from core.settings import Settings

CASES = [
    json.loads(line) for line in (EVALUATION / "editions.jsonl").read_text(encoding="utf-8").splitlines()
]
DEPOSIT = CASES[0]


@asynccontextmanager
async def reading(case, folder, **settings):
    (folder / "docs").mkdir()
    for name, text in case["documents"].items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    chosen = Settings(data_dir=folder / "data", embedding_model="none", web_search="off", **settings)
    async with open_footnote(chosen, purpose="test", reads=reads_everything) as footnote:
        footnote.library.ingest([folder / "docs"])
        yield footnote


async def asked(footnote, text):
    place = Conversation(platform="test", space="s", channel="c", thread="1")
    question = Question(id="q", conversation=place, author="a", text=text, asked_at=0.0)
    return await footnote.assistant.run(question)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
async def test_without_a_model_the_newer_edition_is_quoted_first(case, tmp_path):
    async with reading(case, tmp_path) as footnote:
        outcome = await asked(footnote, case["question"])

    first, *others = outcome.answer.citations
    assert case["first"] in first.quote
    assert case.get("cites", first.source) == first.source
    says_so = say_in(outcome.language)("newer_first") in remarks(outcome)
    assert says_so == outcome.answer.is_newer_first == bool(case["older"])
    if case["older"]:
        assert case["older"] in others[0].quote
        assert first.changed_at > others[0].changed_at


async def test_a_model_is_told_the_days_and_to_begin_with_the_newer_one_and_may_say_them(tmp_path):
    told = {}

    def reply(step, call):
        told[step] = call
        if step != "write":
            return default_reply(call)
        numbers = {
            text: number
            for number, text in re.findall(r"strip (\d+)>>\n[^\n]*\n(.*?)\n<<", call.prompt, re.DOTALL)
        }
        new, old = (
            next(number for text, number in numbers.items() if words in text) for words in ("250", "200")
        )
        return (
            f"The deposit for a flat is 250 euros, as of 12 March 2026 [{new}]. An older document, last changed on "
            f"1 February 2024, says 200 euros [{old}]."
        )

    async with FakeGemini(reply=reply, api_key="key") as gemini:
        keys = {"google_api_key": "key", "google_gemini_base_url": gemini.base_url}
        async with reading(DEPOSIT, tmp_path, **keys) as footnote:
            outcome = await asked(footnote, DEPOSIT["question"])

    for step in ("grade", "write", "grounding"):
        assert "from, last changed 2026-03-12: Renting" in told[step].prompt
        assert "from, last changed 2024-02-01: Renting" in told[step].prompt
    assert "doubt" not in told["grounding"].prompt
    assert [citation.source for citation in outcome.answer.citations] == ["docs/b-2026.md", "docs/a-2024.md"]
    assert not outcome.answer.is_newer_first  # its text says so itself
