"""Commands of an operator on a data folder that a process serves: it does their work, and Slack sees nothing of it."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sqlite3
from contextlib import closing

import psycopg
import pytest
from fakes.office import CUP, FERRY, FERRY_ANSWER, FRANCE, PATIENCE, PONTOON_ANSWER
from fakes.shell import Shell, ended
from fakes.web_servers import FakeSearXNG, HangingSearXNG

FUEL = "What does the fuel dock sell?"
FUEL_PAGE = "# Fuel dock\n\nThe fuel dock sells diesel only.\n"
VARYING = ("thread", "turn", "timing_ms")  # of a record: other in every run


@pytest.fixture
def shell(office):
    return Shell(office)


@pytest.fixture
async def searxng(office):
    async with FakeSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


@pytest.fixture
async def hanging(office):
    """Its first search never ends."""
    async with HangingSearXNG([FRANCE]) as engine:
        office.settings |= {"WEB_SEARCH": "searxng", "SEARXNG_URL": engine.url}
        yield engine


def add_page(folder, name="fuel.md", text=FUEL_PAGE):
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / name).write_text(text)


def queued(office):
    """The ids of the work of commands that the queue still keeps."""
    with closing(sqlite3.connect(office.folder / ".footnote" / "turns.sqlite")) as queue:
        return [row for (row,) in queue.execute("SELECT workflow_uuid FROM workflow_status")]


def stored(office):
    """Every byte of the queue's files."""
    return b"".join(file.read_bytes() for file in (office.folder / ".footnote").glob("turns.sqlite*"))


def rows(url, query):
    with psycopg.connect(url) as connection:
        return connection.execute(query).fetchall()


# The same with somebody who serves and without


async def told(shell, *commands):
    """Exit codes and outputs, without what is other in every run."""
    seen = []
    for command, stdin in commands:
        ran = await shell.run(*command, stdin=stdin)
        out = ran.out
        if "--json" in command and out.startswith("{"):
            out = json.dumps({name: each for name, each in ran.record.items() if name not in VARYING})
        elif command[:2] == ("ask", "--batch"):
            out = [{name: each for name, each in row.items() if name not in VARYING} for row in ran.records]
        seen.append((command, ran.code, out, ran.err))
    return seen


async def test_every_command_says_the_same_beside_a_bot_as_alone(office, shell, tmp_path_factory):
    (office.folder / "batch.jsonl").write_text(
        f'{{"id": "a", "question": "{FERRY}", "thread": "t"}}\n{{"id": "b"}}\n'
        '{"id": "c", "question": "And does it take cars?", "thread": "t"}\n'
    )
    add_page(office.folder)
    alone = tmp_path_factory.mktemp("alone") / office.folder.name
    shutil.copytree(office.folder, alone)
    commands = (
        (("sources",), ""),
        (("ingest", "docs"), ""),
        (("ingest", "docs"), ""),
        (("ingest", "nowhere"), ""),
        (("sources", "--json"), ""),
        (("ask", FUEL, "--docs", "docs", "--json", "--passages", "2"), ""),
        (("ask", FERRY, "--thread", "sark", "--json"), ""),
        (("ask", "And does it take cars?", "--thread", "sark", "--json"), ""),
        (("ask", "--batch", "batch.jsonl"), ""),
        (("ask", CUP, "--json"), ""),
        (("decide", "nothing", "--deny"), ""),
        (("decide", "nothing", "--deny", "--thread", "sark"), ""),
        (("chat", "--thread", "sark"), "/sources\n/proposals\n/forget docs/fuel.md\n/forget\n/quit\n"),
        (("ingest", "docs/fuel.md"), ""),
        (("forget", "docs/fuel.md"), ""),
        (("forget", "docs/fuel.md"), ""),
        (("ingest", "--rebuild"), ""),
        (("ingest", "--rebuild", "docs"), ""),
    )
    await office.open()

    beside, without = await asyncio.gather(told(shell, *commands), told(Shell(office, alone), *commands))

    assert json.loads(json.dumps(beside).replace(str(office.folder), str(alone))) == json.loads(
        json.dumps(without)
    )
    assert [code for _, code, _, _ in beside] == [0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 2, 2, 0, 0, 0, 2, 0, 2]
    assert office.faults == []


async def test_questions_of_a_test_are_answered_beside_the_bot(office, shell):
    (office.folder / "questions.jsonl").write_text(
        f'{{"question": "{FERRY}", "cites": "handbook.md"}}\n'
        f'{{"question": "{FERRY}", "cites": "handbook.md", "as": "everyone"}}\n'
    )
    await office.open()

    ran = await shell.run("test", "questions.jsonl", "--json")

    assert (ran.code, ran.err) == (0, "")
    assert [each["verdict"] for each in ran.record["questions"]] == ["holds", "holds"]
    assert queued(office) == []
    assert (await shell.run("questions")).err == "Nothing was asked in this time.\n"


async def test_a_first_file_holds_what_was_rated_helpful_in_public_channels(
    office, shell, slack, ann, general
):
    private = slack.add_channel("board", ann, is_private=True)
    await office.open()
    for channel in (general, private):
        (answer,) = await office.until_answered(await slack.mention(ann, channel, FERRY))
        await slack.feedback(answer, ann)

    written = await shell.run("test", "--from", "questions")
    own = await shell.run("test", "--from", "questions", "--as", private, "--out", "board.yaml")
    held = await shell.run("test", "board.yaml")

    assert (written.code, own.code, held.code) == (0, 0, 0)
    assert "1 question of channels that are not known to be public left out" in written.err
    assert f"/{general}, rated helpful by 1." in (office.folder / "footnote-test.yaml").read_text()
    assert f"as: {private}" in (office.folder / "board.yaml").read_text()


# What the bot makes of it


async def test_what_is_ingested_beside_the_bot_is_answered_from_at_once_and_gone_when_forgotten(
    office, shell, slack, ann, general
):
    add_page(office.folder)
    await office.open()

    ingested = await shell.run("ingest", "docs")
    (answer,) = await office.until_answered(await slack.mention(ann, general, FUEL))
    forgot = await shell.run("forget", "docs")
    (gone,) = await office.until_answered(await slack.mention(ann, general, FUEL))

    assert (ingested.code, ingested.out) == (0, "1 document added.\n")
    assert "diesel" in answer.visible
    assert forgot.out == "Forgot docs/fuel.md (1 passage).\n"
    assert "diesel" not in gone.visible


async def test_nothing_of_a_command_is_shown_in_slack_or_left_in_the_queue(office, shell, slack):
    await office.open()

    answered = await shell.run("ask", FERRY, "--json")

    assert FERRY_ANSWER in answered.record["text"]
    assert list(slack.state.messages()) == []
    assert queued(office) == []
    assert FERRY.encode() not in stored(office)
    assert FERRY_ANSWER.encode() not in stored(office)


async def test_a_large_folder_is_ingested_while_questions_are_answered(office, shell, slack, ann, general):
    for number in range(1_200):
        add_page(office.folder, f"{number}.md", f"# Berth {number}\n\n" + f"Berth {number} is taken. " * 40)
    await office.open()
    ingesting = await shell.start("ingest", "docs")
    await slack.until(lambda: queued(office))

    asked = [await slack.mention(ann, general, FERRY) for _ in range(3)]
    answers = [await office.until_answered(each) for each in asked]
    were_busy = ingesting.returncode is None
    ran = await ended(ingesting)

    assert [FERRY_ANSWER in answer.visible for (answer,) in answers] == [True] * 3
    assert were_busy
    assert (ran.code, ran.out) == (0, "1,200 documents added.\n")


# Decisions


async def test_a_search_is_allowed_beside_the_bot(office, shell, searxng, slack):
    await office.open()
    asked = await shell.run("ask", CUP, "--json")

    ran = await shell.run("decide", asked.record["proposal"]["id"], "--approve", "--json")
    again = await shell.run("decide", asked.record["proposal"]["id"], "--deny", "--json")

    assert (ran.code, ran.record["outcome"], "France" in ran.record["text"]) == (0, "answered", True)
    assert again.code == 1
    assert "already allowed this search" in again.record["reason"]
    assert (len(searxng.requests), list(slack.state.messages())) == (1, [])


@pytest.mark.usefixtures("searxng")
async def test_a_search_that_was_proposed_in_slack_is_decided_from_the_shell_without_a_word_there(
    office, shell, slack, ann, general
):
    office.settings["WEB_APPROVAL"] = "anyone"
    await office.open()
    asked = await slack.mention(ann, general, CUP)
    (card,) = await office.until_answered(asked)
    before = card.visible
    proposal = await slack.until(lambda: proposal_in(office))

    ran = await shell.run("decide", proposal, "--approve", "--json")

    assert "France" in ran.record["text"]
    assert [each.visible for each in slack.replies(general, asked.ts)] == [before]


def proposal_in(office):
    """The id of the search that the one stored turn proposed, once its end is stored."""
    with closing(sqlite3.connect(office.folder / ".footnote" / "turns.sqlite")) as queue:
        rows = queue.execute("SELECT output FROM workflow_output").fetchall()
    return json.loads(rows[0][0])["proposal"]["id"] if rows else None


# Stopped, killed, gone


async def test_ctrl_c_ends_the_work_and_the_next_command_finishes_it(office, shell, hanging):
    await office.open()
    asked = await shell.run("ask", CUP, "--thread", "cup", "--json")
    decide = ("decide", asked.record["proposal"]["id"], "--approve", "--json")
    process = await shell.start(*decide)
    await asyncio.wait_for(hanging.asked.wait(), PATIENCE)

    process.send_signal(signal.SIGINT)
    stopped = await ended(process)
    left = queued(office)
    answered = await shell.run(*decide)

    assert (stopped.code, stopped.out, stopped.err) == (130, "", "")
    assert left == []
    assert (answered.record["outcome"], len(hanging.requests)) == ("answered", 2)
    assert office.faults == []


async def test_a_conversation_finishes_what_ctrl_c_stopped(office, shell, hanging):
    await office.open()
    asked = await shell.run("ask", CUP, "--thread", "cup", "--json")
    process = await shell.start("decide", asked.record["proposal"]["id"], "--approve", "--json")
    await asyncio.wait_for(hanging.asked.wait(), PATIENCE)
    process.send_signal(signal.SIGINT)
    await ended(process)

    chat = await shell.run("chat", "--thread", "cup", stdin="/quit\n")

    assert "France" in chat.out


async def test_ctrl_c_ends_an_ingest_and_keeps_what_was_indexed(office, shell, slack):
    for number in range(1_200):
        add_page(office.folder, f"{number}.md", f"# Berth {number}\n\n" + f"Berth {number} is taken. " * 40)
    await office.open()
    process = await shell.start("ingest", "docs")
    await slack.until(lambda: indexed(office) > 20)

    process.send_signal(signal.SIGINT)
    stopped = await ended(process)
    left, kept = queued(office), indexed(office)

    assert (stopped.code, stopped.out, stopped.err) == (130, "", "")
    assert left == []
    assert kept < 1_200
    assert (await shell.run("forget", "docs")).code == 0


def indexed(office):
    with closing(sqlite3.connect(office.folder / ".footnote" / "library.sqlite")) as library:
        return library.execute("SELECT count(*) FROM documents").fetchone()[0]


async def test_the_work_goes_on_when_a_killed_bot_is_back(office, shell, hanging, slack):
    await office.open()
    asked = await shell.run("ask", CUP, "--json")
    process = await shell.start("decide", asked.record["proposal"]["id"], "--approve", "--json")
    await asyncio.wait_for(hanging.asked.wait(), PATIENCE)

    await office.kill()
    said = await asyncio.wait_for(process.stderr.readline(), PATIENCE)
    await office.open()
    ran = await ended(process)

    assert said.decode() == "Footnote has ended meanwhile; the work goes on when it is back. Waiting…\n"
    assert (ran.code, ran.record["outcome"]) == (0, "answered")
    assert queued(office) == []


async def test_a_killed_command_leaves_work_that_the_bot_finishes_and_forgets(office, shell, hanging, slack):
    office.constants["core.turns.turns:open_turns.drain"] = (
        1.0  # seconds: the search hangs for longer in any case
    )
    await office.open()
    asked = await shell.run("ask", CUP, "--thread", "cup", "--json")
    process = await shell.start("decide", asked.record["proposal"]["id"], "--approve")
    await asyncio.wait_for(hanging.asked.wait(), PATIENCE)

    process.kill()
    await process.wait()

    assert len(queued(office)) == 1
    assert await office.stop() == 0


# Settings, versions, neighbours


async def test_other_settings_than_the_bots_are_named_and_a_test_refused(office, shell):
    (office.folder / "questions.jsonl").write_text(f'{{"id": "ferry", "question": "{FERRY}"}}\n')
    await office.open()
    shell.settings |= {"POLICY": "crag-any", "CHAT_MODEL": "openai:gpt"}

    answered = await shell.run("ask", FERRY)
    refused = await shell.run("test", "questions.jsonl")

    differing = "`footnote run` does this with its own settings: CHAT_MODEL and POLICY are different there."
    assert answered.code == 0
    assert FERRY_ANSWER in answered.out
    assert answered.err == f"{differing}\n"
    assert refused.code == 2
    assert refused.err.startswith(f"{differing} Set them alike")


async def test_a_command_waits_for_another_one_that_owns_the_folder(office, shell, hanging):
    asked = await shell.run("ask", CUP, "--json")
    first = await shell.start("decide", asked.record["proposal"]["id"], "--approve", "--json")
    await asyncio.wait_for(hanging.asked.wait(), PATIENCE)

    second = await shell.start("ask", FERRY)
    said = (await asyncio.wait_for(second.stderr.readline(), PATIENCE)).decode()
    first.send_signal(signal.SIGINT)
    await ended(first)
    ran = await ended(second)

    assert said == f"Waiting for another Footnote (process {first.pid}, footnote decide)…\n"
    assert (ran.code, FERRY_ANSWER in ran.out) == (0, True)


async def test_a_bot_that_starts_waits_for_a_command_to_end(office, shell, hanging, slack):
    asked = await shell.run("ask", CUP, "--json")
    first = await shell.start("decide", asked.record["proposal"]["id"], "--approve", "--json")
    await asyncio.wait_for(hanging.asked.wait(), PATIENCE)

    await office.open(is_connected=False)
    await slack.until(lambda: "Waiting for another Footnote" in office.log)
    first.send_signal(signal.SIGINT)
    await ended(first)
    await office.until_connected()
    answered = await shell.run("ask", FERRY)

    assert FERRY_ANSWER in answered.out


async def test_two_commands_beside_the_bot_work_side_by_side(office, shell):
    await office.open()

    ran = await asyncio.gather(*(shell.run("ask", FERRY, "--json") for _ in range(3)))

    assert [FERRY_ANSWER in each.record["text"] for each in ran] == [True] * 3
    assert queued(office) == []


async def test_paths_are_those_of_the_folder_that_the_command_was_typed_in(office, shell, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    add_page(elsewhere)
    (elsewhere / ".footnote").symlink_to(office.folder / ".footnote")
    await office.open()

    ran = await Shell(office, elsewhere).run("ingest", "docs")
    sources = await shell.run("sources", "--json")
    forgot = await Shell(office, elsewhere).run("forget", "docs/fuel.md")

    assert ran.out == "1 document added.\n"
    assert str(elsewhere / "docs" / "fuel.md") in {each["address"] for each in json.loads(sources.out)}
    assert forgot.out == "Forgot docs/fuel.md (1 passage).\n"


async def test_a_command_waits_for_a_bot_that_is_just_starting(office, shell):
    (office.folder / ".footnote" / "turns.sqlite").unlink()  # as before its very first start
    await office.open(is_connected=False)

    ran = await shell.run("ask", "What does a night at the visitors' pontoon cost?")

    assert (ran.code, PONTOON_ANSWER in ran.out, ran.err) == (0, True, "")


async def test_beside_a_bot_on_postgresql_commands_leave_their_work_to_it_too(office, shell, postgres_url):
    add_page(office.folder)
    office.settings["DATABASE_URL"] = postgres_url
    await shell.run("ingest", "handbook.md")  # which nobody serves yet
    await office.open()

    ingested = await shell.run("ingest", "docs")
    answered = await shell.run("ask", FUEL, "--json")
    forgot = await shell.run("forget", "docs/fuel.md")

    assert (ingested.code, ingested.out, ingested.err) == (0, "1 document added.\n", "")
    assert "diesel" in answered.record["text"]
    assert forgot.out == "Forgot docs/fuel.md (1 passage).\n"
    assert office.log.count('"turn command"') >= 5
    assert rows(postgres_url, "SELECT workflow_uuid FROM dbos.workflow_status") == []
