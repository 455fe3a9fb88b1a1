"""`python -m benchmarks reader`: prompts become files, and replies that somebody writes there reach the product."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from benchmarks import reader as place
from benchmarks.draft_labels import read_items
from benchmarks.drafts import asked_of, documents_of
from benchmarks.reader import Reader, put, settings_for
from fakes.drafts import blocks_of
from fakes.gemini import FakeGemini

from core.settings import Settings, read_settings

ITEM = read_items(Path(__file__).parents[2] / "benchmarks" / "evaluation" / "drafts.json")[0]
GRADES = [{"passage": number, "relevance": "correct", "evidence": [1, 2, 3]} for number in range(1, 5)]
REPLIES = {
    "plan": '{"route": "documents", "standalone": "", "queries": [], "web_query": "", "reply": "", "options": []}',
    "grade": f"```json\n{json.dumps({'passages': GRADES, 'sufficient': True, 'missing': ''})}\n```",
    "write": "Pass your task function to the background tasks object with `.add_task()`. [{strip}]",
    "grounding": '{"unsupported": []}',
    "usefulness": '{"useful": true}',
}


def write_replies(prompt: Path) -> None:
    """The scripted reader: replies by what the prompt is called, and cites the strip that says it."""
    asked = prompt.read_text()
    strips = [strip.name for strip in blocks_of(asked, ["strip"]) if "your task function" in strip.text]
    reply = REPLIES[asked.partition(",")[0].removeprefix("# ")]
    put(prompt.with_name(prompt.name.replace("prompt", "reply")), reply.replace("{strip}", "".join(strips)))


async def ask(reader: Reader):
    with documents_of(ITEM) as docs:
        async with FakeGemini(reply=reader.reply) as gemini:
            settings = Settings(
                data_dir=docs.parent / "data", google_api_key=gemini.api_key, embedding_model="none",
                google_gemini_base_url=gemini.base_url, web_search="off",
            )  # fmt: skip
            return await asked_of(ITEM.question, docs, settings)


async def test_a_question_is_answered_by_whoever_writes_the_replies(tmp_path):
    outcome = await ask(Reader(tmp_path, announce=write_replies))

    assert outcome.kind == "answered"
    assert outcome.answer.composed
    assert "Pass your task function" in outcome.answer.text
    written = next(f.read_text() for f in tmp_path.glob("*.prompt.md") if f.read_text().startswith("# write"))
    system, question = written.index("You answer the question"), written.index(ITEM.question)
    assert system < question < written.index("\nText.\n")
    assert all(
        "JSON of this schema" in f.read_text()
        for f in tmp_path.glob("*.prompt.md")
        if "# plan" in f.read_text()
    )


async def test_where_nobody_replies_the_question_is_answered_without_a_model(tmp_path):
    outcome = await ask(Reader(tmp_path, limit=0.0))

    assert outcome.answer is None or not outcome.answer.composed
    assert list(tmp_path.glob("*.prompt.md"))
    assert not list(tmp_path.glob("*.reply.md"))


def test_numbers_go_on_after_those_of_an_earlier_run(tmp_path):
    put(tmp_path / "041.prompt.md", "earlier")

    assert next(Reader(tmp_path)._numbers) == 42


@pytest.mark.parametrize("limit", [1.0, place.LIMIT, 3_600.0])
def test_the_settings_are_settings(limit):
    settings = read_settings(settings_for("http://127.0.0.1:1", limit), env_file=None)

    assert settings.has_chat_model
    assert limit < settings.model_timeout or settings.model_timeout == place.LONGEST


async def test_the_command_prints_where_it_is_and_what_waits(tmp_path):
    command = [sys.executable, "-m", "benchmarks", "reader", f"--folder={tmp_path}"]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        lines = [(await process.stdout.readline()).decode() for _ in settings_for("", 1)]
        given = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines)
        body = {
            "contents": [{"role": "user", "parts": [{"text": "Hello?"}]}],
            "systemInstruction": {"parts": []},
        }
        url = f"{given['GOOGLE_GEMINI_BASE_URL']}/v1beta/models/gemini-3.5-flash:generateContent"
        async with aiohttp.ClientSession() as session:
            request = asyncio.ensure_future(
                session.post(url, json=body, headers={"x-goog-api-key": place.KEY})
            )
            waiting = Path((await process.stdout.readline()).decode().strip())
            put(tmp_path / "001.reply.md", "Good morning.\n")
            reply = await (await request).json()
    finally:
        process.terminate()
        await process.wait()

    assert waiting == tmp_path / "001.prompt.md"
    assert "Hello?" in await asyncio.to_thread(waiting.read_text)
    assert reply["candidates"][0]["content"]["parts"] == [{"text": "Good morning."}]
