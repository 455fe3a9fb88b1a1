"""What is written down, at the most talkative: no token, no question, no document, no answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.discord import FakeDiscord
from fakes.discord_server import Server
from fakes.gemini import FakeGemini
from fakes.office import Office, make_data_dir
from fakes.slack import FakeSlack

CANARY = "Quetzalcoatlus"  # stands in a document
ASKED = "Thessalonike"  # stands in a question
QUESTION = f"Who told {ASKED} when the ferry to Sark leaves?"
#: Settings that hold secrets, with a value that stands nowhere else.
PLANTED = {
    "GOOGLE_API_KEY": "planted-google-key",
    "TAVILY_API_KEY": "planted-tavily-key",
    "SLACK_SIGNING_SECRET": "planted-signing-secret",
}
WORDS = (
    f"\n## Birds\n\nThe {CANARY} of the harbour sleeps on pier nine. The ferry to Sark carries a {CANARY}.\n"
)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = make_data_dir(tmp_path_factory.mktemp("template"))
    with (folder / "handbook.md").open("a", encoding="utf-8") as handbook:
        handbook.write(WORDS)
    return folder


def planted(model: FakeGemini) -> dict[str, str]:
    model.api_key = PLANTED["GOOGLE_API_KEY"]
    return {**PLANTED, "GOOGLE_GEMINI_BASE_URL": model.base_url, "LOG_LEVEL": "debug"}


def holding(folder: Path, word: str) -> list[str]:
    """The files in which a word stands, in any of the encodings that a database or a log keeps text in."""
    spellings = {word.encode(), word.encode("utf-16-le"), word.lower().encode()}
    files = [file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    return sorted(
        str(file.relative_to(folder))
        for file in files
        if any(each in file.read_bytes() for each in spellings)
    )


async def test_in_slack_nothing_that_was_said_or_planted_is_logged_and_forgetting_leaves_none_of_it(
    template, tmp_path
):
    async with FakeSlack() as slack, FakeGemini() as model:
        ann = slack.add_user("ann")
        general = slack.add_channel("general", ann)
        office = Office.copied(template, tmp_path, slack)
        office.settings = planted(model)
        await office.open()
        try:
            asked = await slack.mention(ann, general, QUESTION)
            (answer,) = await office.until_answered(asked)
            before = holding(tmp_path / ".footnote", ASKED)
            forget = await slack.mention(ann, general, "forget", asked.ts)
            await office.until_answered(forget, 2)
        finally:
            if office.process.returncode is None:
                await office.kill()
        tokens = {*PLANTED.values(), *(value for name, value in slack.environment.items() if "TOKEN" in name)}

    assert "[1]" in answer.visible
    assert before != []
    assert holding(tmp_path / ".footnote", ASKED) == []
    assert [word for word in (CANARY, ASKED, *tokens) if word in office.log] == []
    for token in tokens:
        assert holding(tmp_path, token) == []


async def test_in_discord_nothing_that_was_said_or_planted_is_logged(template, tmp_path):
    async with FakeDiscord() as discord, FakeGemini() as model:
        ann = discord.add_user("ann")
        general = discord.add_channel("general")
        server = Server.copied(template, tmp_path, discord)
        server.settings = planted(model)
        await server.open()
        try:
            asked = await discord.mention(ann, general, QUESTION)
            (answer,) = await server.until_answered(asked)
            assert await server.stop() == 0
        finally:
            if server.process.returncode is None:
                await server.kill()
        tokens = {
            *PLANTED.values(),
            *(value for name, value in discord.environment.items() if "TOKEN" in name),
        }

    assert "[1]" in answer.visible
    assert [word for word in (CANARY, ASKED, *tokens) if word in server.log] == []
    for token in tokens:
        assert holding(tmp_path, token) == []
