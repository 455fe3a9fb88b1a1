"""``footnote test``: the command over real documents, its files, its exit codes, and whose rights it asks with."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from contextlib import closing
from xml.etree import ElementTree as ET

import pytest
import yaml
from fakes.gemini import FakeGemini
from fakes.harbour import CUP_QUESTION, FERRY_QUESTION, PONTOON_QUESTION, ROOT

from bots.testing.cases import KEYS
from core.answers.answers import open_answers
from core.bootstrap import open_library
from core.settings import Settings
from core.storage.storage import open_storage

QUESTIONS = f"""\
- id: ferry
  question: {FERRY_QUESTION}
  contains: half past nine
  cites: ferry.md#ferry-timetable
  thread: sark
- question: Does it take cars?
  cites: ferry.md
  thread: sark
- id: pontoon
  question: {PONTOON_QUESTION}
  answer: 18 euros a night.
  tags: fees
- id: cup
  question: {CUP_QUESTION}
  unanswerable: true
"""


@pytest.fixture
def machine(machine):
    (machine.folder / "footnote-test.yaml").write_text(QUESTIONS)
    return machine


def change(machine, before, now):
    harbour = machine.docs / "harbour.md"
    harbour.write_text(harbour.read_text().replace(before, now))


async def test_what_holds_is_one_line_and_the_same_twice(machine):
    first = await machine.run("test", "--docs", "docs")
    second = await machine.run("test", "--docs", "docs")

    assert (first.code, second.code) == (0, 0)
    assert first.out.splitlines()[1:3] == [
        "footnote-test.yaml · 2 documents · no model: quotes · words only", "✓ 4 questions as expected",
    ]  # fmt: skip
    assert "4 questions: 4 hold." in first.out
    assert "nothing has changed." in second.out
    compared = [each for each in second.out.splitlines() if "Since the run" not in each]
    assert [each for each in compared if each] == [each for each in first.out.splitlines() if each]


async def test_what_broke_since_the_last_run_is_shown_quote_beside_quote(machine):
    await machine.run("test", "--docs", "docs")
    change(machine, "18 euros", "21 euros")

    ran = await machine.run("test", "--docs", "docs", "--report", "report", "--junit", "out/junit.xml")

    assert ran.code == 1
    assert "pontoon cost?  broke since the last run" in ran.out
    assert "expected  that it says: 18 euros a night." in ran.out
    assert "was       “A night at the visitors' pontoon costs 18 euros" in ran.out
    assert "answered  “A night at the visitors' pontoon costs 21 euros" in ran.out
    assert "where     pontoon, footnote-test.yaml:9" in ran.out
    assert (
        "Written to out/junit.xml\nWritten to report/report.html\nWritten to report/report.json\n" in ran.err
    )
    (failure,) = ET.parse(machine.folder / "out" / "junit.xml").getroot().iter("failure")
    assert failure.get("message") == "expected that it says: 18 euros a night."
    report = json.loads((machine.folder / "report" / "report.json").read_text())
    assert [each["name"] for each in report["sections"]] == ["answers", "costs", "changes", "failures"]
    assert "broke" in (machine.folder / "report" / "report.html").read_text()


async def test_an_answer_that_holds_and_is_another_is_shown_and_is_no_failure(machine):
    await machine.run("test", "--docs", "docs")
    change(machine, "for a boat of ten metres", "for every boat")

    ran = await machine.run("test", "--docs", "docs")

    assert ran.code == 0
    assert "1 question as expected, answered otherwise" in ran.out
    assert "1 answered otherwise." in ran.out


async def test_no_conversation_and_no_question_is_left_behind(machine):
    await machine.run("test", "--docs", "docs")

    assert (await machine.run("questions")).err == "Nothing was asked in this time.\n"
    kept = sqlite3.connect(machine.folder / ".footnote" / "conversations.sqlite")
    assert kept.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)
    kept.close()


async def test_nothing_goes_to_the_web_whatever_is_set(machine, searxng):
    machine.settings["WEB_APPROVAL"] = "never_ask"
    asked = await machine.run("ask", CUP_QUESTION, "--docs", "docs", "--json")
    queries = len(searxng.requests)

    ran = await machine.run("test", "--docs", "docs")

    assert (asked.record["grounding"], queries) == ("web", 1)
    assert ran.code == 0
    assert len(searxng.requests) == queries


async def test_json_holds_every_question_with_its_verdict(machine):
    ran = await machine.run("test", "--docs", "docs", "--json")

    assert (ran.code, ran.err) == (0, "")
    assert [(each["id"], each["verdict"], each["line"]) for each in ran.record["questions"]] == [
        ("ferry", "holds", 1), ("sark: Does it take cars?", "holds", 6), ("pontoon", "holds", 9), ("cup", "holds", 13),
    ]  # fmt: skip
    assert ran.record["sections"][0]["figures"] == {"right": 1.0, "wrongly_held_back": 0.0, "held_back": 1.0}


async def test_the_file_is_found_beside_the_documents_that_are_named_or_ingested(machine):
    (machine.folder / "footnote-test.yaml").rename(machine.docs / "footnote-test.yml")

    named = await machine.run("test", "--docs", "docs")
    (machine.folder / "elsewhere").mkdir()
    ingested = await machine.run("test")
    (machine.docs / "footnote-test.yml").unlink()
    nothing = await machine.run("test")

    assert "docs/footnote-test.yml · 2 documents" in named.out
    assert "docs/footnote-test.yml · 2 documents" in ingested.out
    assert (named.code, ingested.code, nothing.code) == (0, 0, 2)
    assert "There is no footnote-test.yaml here or beside the documents" in nothing.err


async def test_questions_of_several_files_are_told_apart(machine):
    (machine.folder / "more.jsonl").write_text(
        json.dumps({"id": "ferry", "question": FERRY_QUESTION, "contains": "ten"})
    )

    ran = await machine.run(
        "test", "footnote-test.yaml", "more.jsonl", "--docs", "docs", "--junit", "junit.xml"
    )

    assert ran.code == 1
    assert "ferry, more.jsonl:1" in ran.out
    suites = list(ET.parse(machine.folder / "junit.xml").getroot())
    assert [(each.get("name"), each.get("failures")) for each in suites] == [
        ("footnote-test.yaml", "0"), ("more.jsonl", "1"),
    ]  # fmt: skip


async def test_a_question_is_asked_with_the_rights_of_whom_it_names(machine):
    await machine.run("ingest", "docs/harbour.md")
    await machine.run("ingest", "docs/ferry.md", "--collection", "crew")
    await machine.run("access", "crew", "--channels", "C0123ABCD", "--people", "U0123ABCD")
    whom = {
        "everyone": "true",
        "crew": "false",
        "C0123ABCD": "false",
        "slack/T0123/C0123ABCD": "false",
        "U0123ABCD": "false",
    }
    whom |= {"C0123WXYZ": "true", "U0123WXYZ": "true", "ann@example.org": "true", "default": "true"}
    (machine.folder / "footnote-test.yaml").write_text(
        "".join(
            f"- {{question: {FERRY_QUESTION}, as: {each}, unanswerable: {own}}}\n"
            for each, own in whom.items()
        )
        + f"- {{question: {FERRY_QUESTION}, contains: half past nine}}\n"
    )

    ran = await machine.run("test")
    everybody = await machine.run("test", "--as", "everyone")

    assert ran.code == 0, ran.out
    assert everybody.code == 1
    assert "footnote-test.yaml:10" in everybody.out


async def test_with_a_model_what_fails_is_asked_again_and_calls_are_counted(machine):
    (machine.folder / "footnote-test.yaml").write_text(
        f"- {{question: {FERRY_QUESTION}, contains: at midnight}}\n"
    )
    async with FakeGemini() as model:
        machine.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        machine.settings |= {"EMBEDDING_MODEL": "none"}
        ran = await machine.run("test", "--docs", "docs", "--json")
        asked = len(model.steps)
        once = await machine.run("test", "--docs", "docs", "--json", "--runs", "1")

    assert (ran.code, once.code) == (1, 1)
    assert [each.record["questions"][0]["runs"] for each in (ran, once)] == [2, 1]
    assert asked == 2 * (len(model.steps) - asked)
    assert once.record["sections"][1]["figures"]["calls"] == len(model.steps) - asked


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("absent.yaml",), "absent.yaml cannot be read: no such file or directory."),
        (("--runs", "4"), "4 is not a number from 1 to 3"),
        (("--docs", "absent"), "absent does not exist."),
        (("faulty.yaml",), "faulty.yaml cannot be used. Line 2: there is no “contians”; “contains”?"),
    ],
)
async def test_wrong_use_is_told_before_anything_is_asked(machine, arguments, why):
    (machine.folder / "faulty.yaml").write_text("\n- question: When?\n  contians: nine\n")

    ran = await machine.run("test", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert why in ran.err
    assert not (machine.folder / ".footnote").exists()


async def test_whoever_nobody_knows_is_named_with_the_line(machine):
    (machine.folder / "footnote-test.yaml").write_text(f"\n- {{question: {FERRY_QUESTION}, as: nobody}}\n")

    ran = await machine.run("test", "--docs", "docs")

    assert ran.code == 2
    assert (
        "Line 2: nobody is no person's id, no e-mail address and no collection; there is default." in ran.err
    )


EXAMPLES = ROOT / "bots" / "testing" / "examples"


async def test_the_example_holds_over_the_handbook_that_it_is_about(machine):
    (machine.docs / "leaving.md").write_text(
        "# Leaving\n\nThe notice period is three months. It begins with the next month.\n"
    )
    example = (EXAMPLES / "footnote-test.yaml").read_text()
    (machine.folder / "footnote-test.yaml").write_text(example)

    ran = await machine.run("test", "--docs", "docs")

    assert ran.code == 0, ran.out
    keys = {key for item in yaml.safe_load(example) for key in item}
    assert keys == set(KEYS) - {"note"}


@pytest.mark.parametrize("name", ["github.yml", "gitlab.yml"])
async def test_the_command_of_a_ci_example_runs_and_installs_as_the_readme_does(machine, name):
    lines = [
        line.strip().removeprefix("- ").removeprefix("run: ")
        for line in (EXAMPLES / name).read_text().splitlines()
    ]
    (installing,) = (line for line in lines if "pip install" in line)
    (command,) = (line for line in lines if " footnote test " in line)

    ran = await machine.run(*shlex.split(command.partition("--project footnote footnote ")[2]))

    assert yaml.safe_load((EXAMPLES / name).read_text())
    assert installing.replace("footnote/", "") in (ROOT / "README.md").read_text()
    assert command.startswith("footnote/.uv/bin/uv run --no-dev --project footnote footnote test ")
    assert ran.code == 0, ran.out
    assert {"answers.xml", "answers"} <= {each.name for each in machine.folder.iterdir()}


# A first file


def rated(machine, question, channel="cli/local/terminal", *, author="bo", rating=1, asked_at=None):
    """As if somebody had asked this there, and somebody else had rated its answer."""
    log = sqlite3.connect(machine.folder / ".footnote" / "questions.sqlite")
    with log:
        ((turn,),) = log.execute("SELECT turn FROM questions WHERE question = ?", (question,))
        log.execute("UPDATE questions SET channel = ?, author = ? WHERE turn = ?", (channel, author, turn))
        log.execute(
            "INSERT INTO ratings (turn, author, is_positive, given_at) VALUES (?, 'cy', ?, 1)", (turn, rating)
        )
        if asked_at:
            log.execute("UPDATE questions SET asked_at = ? WHERE turn = ?", (asked_at, turn))
    log.close()


@pytest.fixture
async def asked(machine):
    """A machine on which something was asked of an open and of a closed collection."""
    (machine.folder / "footnote-test.yaml").unlink()
    (machine.docs / "crew.md").write_text("# Crew\n\n## Wages\n\nA deck hand earns 2,400 euros a month.\n")
    await machine.run("ingest", "docs/harbour.md", "docs/ferry.md")
    await machine.run("ingest", "docs/crew.md", "--collection", "crew")
    for question in (FERRY_QUESTION, PONTOON_QUESTION, WAGES_QUESTION, CUP_QUESTION, "Where is petrol sold?"):
        assert (await machine.run("ask", question)).code == 0
    return machine


WAGES_QUESTION = "What does a deck hand earn a month?"


async def test_a_first_file_has_what_was_rated_helpful_and_everybody_may_read(asked):
    rated(asked, FERRY_QUESTION)
    rated(asked, PONTOON_QUESTION, rating=0)
    rated(asked, WAGES_QUESTION)
    rated(asked, CUP_QUESTION)
    rated(asked, "Where is petrol sold?", asked_at=1.0)

    ran = await asked.run("test", "--from", "questions")
    held = await asked.run("test")

    assert (ran.code, ran.err) == (0, "Written to footnote-test.yaml: 1 question.\n")
    text = (asked.folder / "footnote-test.yaml").read_text()
    assert yaml.safe_load(text) == [{"question": FERRY_QUESTION, "cites": ["ferry.md"]}]
    assert re.search(r"\n# Asked \d{4}-\d\d-\d\d in the terminal, rated helpful by 1\.\n- question: ", text)
    assert held.code == 0


async def test_what_was_asked_in_a_channel_that_may_be_private_is_left_out_unless_it_is_named(asked):
    rated(asked, FERRY_QUESTION, "slack/T0123ABCD/C0123ABCD")
    rated(asked, PONTOON_QUESTION, "slack/T0123ABCD/D0123ABCD", author="U0123ABCD")

    nothing = await asked.run("test", "--from", "questions")
    channel = await asked.run("test", "--from", "questions", "--as", "C0123ABCD", "--out", "channel.yaml")
    person = await asked.run("test", "--from", "questions", "--as", "U0123ABCD", "--out", "person.yaml")

    assert nothing.code == 1
    assert nothing.err.startswith("2 questions of channels that are not known to be public left out: ")
    assert not (asked.folder / "footnote-test.yaml").exists()
    assert (channel.code, person.code) == (0, 0)
    (of_channel,) = yaml.safe_load((asked.folder / "channel.yaml").read_text())
    (of_person,) = yaml.safe_load((asked.folder / "person.yaml").read_text())
    assert of_channel == {"question": FERRY_QUESTION, "cites": ["ferry.md"], "as": "C0123ABCD"}
    assert of_person == {"question": PONTOON_QUESTION, "cites": ["harbour.md"], "as": "U0123ABCD"}


async def test_a_first_file_of_kept_answers_has_those_that_everybody_may_read(asked):
    settings, told = (
        Settings(data_dir=asked.folder / ".footnote"),
        {"default": "At *eight*,\n\nbut ring twice.", "crew": "At nine."},
    )
    with (
        open_storage(settings) as store,
        closing(open_library(settings, store)) as library,
        open_answers(store, library, review_after=180) as answers,
    ):
        for number, (collection, text) in enumerate(told.items()):
            words = {"question": f"When is breakfast {number}?", "text": text, "collection": collection}
            await answers.correct(**words, name="Ann", message=str(number))

    ran = await asked.run("test", "--from", "answers")
    crew = await asked.run("test", "--from", "answers", "--as", "crew", "--out", "crew.yaml")

    assert (ran.code, crew.code) == (0, 0)
    assert yaml.safe_load((asked.folder / "footnote-test.yaml").read_text()) == [
        {"question": "When is breakfast 0?", "answer": "At *eight*,\n\nbut ring twice."}
    ]
    assert [each["as"] for each in yaml.safe_load((asked.folder / "crew.yaml").read_text())] == ["crew"]
    assert "Ann" not in (asked.folder / "footnote-test.yaml").read_text()
    assert (await asked.run("test")).code == 0


async def test_a_file_that_is_there_is_never_written_over(machine):
    ran = await machine.run("test", "--from", "questions")

    assert (ran.code, ran.err) == (2, "footnote-test.yaml is there already: --out names another.\n")
    assert (machine.folder / "footnote-test.yaml").read_text() == QUESTIONS


@pytest.mark.parametrize(("unsupported", "verdict"), [([], "holds"), ([1], "fails"), ("no JSON", "fails")])
async def test_with_a_model_it_says_whether_an_answer_says_the_reference(machine, unsupported, verdict):
    """It is said in other words, so that code alone does not find it; nor where the model's reply is none."""
    reference = "Departure for the island is at 09:30."
    (machine.folder / "footnote-test.yaml").write_text(
        f"- {{question: {FERRY_QUESTION}, answer: '{reference}'}}\n"
    )

    def reply(step, call):
        if step != "grounding" or reference not in call.prompt:
            return None
        return unsupported if isinstance(unsupported, str) else {"unsupported": unsupported}

    async with FakeGemini(reply=reply) as model:
        machine.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        ran = await machine.run("test", "--docs", "docs", "--json", "--runs", "1")

    (question,) = ran.record["questions"]
    assert question["verdict"] == verdict
    assert question["expected"] == ([] if verdict == "holds" else [f"that it says: {reference}"])
    assert question["model"]["calls"] == len(model.calls)
