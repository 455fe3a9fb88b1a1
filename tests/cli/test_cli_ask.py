"""``footnote ask`` as a person or a script runs it."""

from __future__ import annotations

import asyncio
import json
import os

from fakes.harbour import FERRY_QUESTION, PONTOON_QUESTION


async def test_a_question_is_answered_with_quotes_that_stand_in_the_file(machine):
    machine.is_cold = True

    ran = await machine.run("ask", PONTOON_QUESTION, "--docs", "docs", "--json", "--passages", "3")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.count("\n") == 1
    record = ran.record
    assert record["outcome"] == "answered"
    assert "18 euros" in record["text"]
    assert record["grounding"] == "documents"
    (footnote,) = record["citations"]
    assert footnote["source"] == "docs/harbour.md"
    text = (machine.docs / "harbour.md").read_text()
    assert text[footnote["start"] : footnote["end"]] == footnote["quote"]
    assert record["model"]["name"] == "extractive"
    assert record["passages"][0]["source"] == "docs/harbour.md"
    assert len(record["passages"]) <= 3


async def test_a_footnote_is_a_link_where_its_document_stands_on_the_web(machine):
    machine.settings["SOURCE_URL_BASE"] = "https://github.com/acme/docs/blob/main"

    answered = await machine.run("ask", PONTOON_QUESTION, "--docs", "docs", "--json")
    proposed = await machine.run("ask", "Who pays for the mooring of a rowing boat?", "--json")

    (footnote,) = answered.record["citations"]
    lines = (machine.docs / "harbour.md").read_text()[: footnote["start"]].count("\n") + 1
    assert footnote["url"] == f"https://github.com/acme/docs/blob/main/harbour.md?plain=1#L{lines}-L{lines}"
    assert {each["url"].partition("?")[0] for each in proposed.record["closest"]} == {
        "https://github.com/acme/docs/blob/main/harbour.md"
    }


async def test_without_json_the_answer_is_text_that_can_be_kept_in_a_file(machine):
    ran = await machine.run("ask", PONTOON_QUESTION, "--docs", "docs")

    assert ran.code == 0
    assert ran.out.startswith("Quoted from your documents, not composed.\n\nA night at the visitors' pontoon")
    assert "[1] Harbour handbook › Mooring fees" in ran.out
    assert "\x1b" not in ran.out + ran.err


async def test_a_thread_goes_on_in_another_process_and_ids_can_be_passed_back(machine):
    first = await machine.run("ask", FERRY_QUESTION, "--docs", "docs", "--thread", "sark", "--json")
    second = await machine.run("ask", "Does it take cars?", "--thread", first.record["thread"], "--json")

    assert first.record["thread"] == second.record["thread"] == "cli/local/terminal/sark"
    assert first.record["turn"] != second.record["turn"]
    assert "no cars" in second.record["text"]


async def test_what_changed_on_the_disk_is_known_to_the_next_answer(machine):
    before = await machine.run("ask", PONTOON_QUESTION, "--docs", "docs", "--json")
    harbour = machine.docs / "harbour.md"
    harbour.write_text(harbour.read_text().replace("18 euros", "21 euros"))
    after = await machine.run("ask", PONTOON_QUESTION, "--json")
    harbour.unlink()
    gone = await machine.run("ask", PONTOON_QUESTION, "--json")

    assert "18 euros" in before.record["text"]
    assert "21 euros" in after.record["text"]
    assert gone.code == 0
    assert gone.record["outcome"] == "no_answer"
    assert "euros" not in json.dumps(gone.record)


async def test_docs_keep_a_question_within_them(machine):
    elsewhere = machine.folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "bus.md").write_text("# Bus\n\nThe bus to town leaves the square every hour.\n")
    await machine.run("ingest", "docs", "elsewhere")

    ran = await machine.run(
        "ask", "When does the bus to town leave?", "--docs", "docs", "--json", "--passages", "9"
    )

    assert {passage["source"].split("/")[0] for passage in ran.record["passages"]} <= {"docs"}
    assert "every hour" not in ran.out


async def test_a_folder_is_read_whole_also_after_one_of_its_files_was(machine):
    (machine.docs / "berths.md").write_text("# Berths\n\nThe berth of the pilot costs 77 euros a night.\n")

    await machine.run("ask", PONTOON_QUESTION, "--docs", "docs/harbour.md", "--json")
    ran = await machine.run(
        "ask", "What does the berth of the pilot cost a night?", "--docs", "docs", "--json"
    )

    assert "77 euros" in ran.record["text"]


async def test_a_batch_comes_back_in_order_whatever_its_lines_are(machine):
    lines = (
        json.dumps({"id": "a", "question": FERRY_QUESTION, "thread": "sark"}),
        "",
        "this is no JSON",
        json.dumps({"id": "b", "question": PONTOON_QUESTION}),
        json.dumps({"id": 7, "question": "  "}),
        json.dumps({"id": "c", "question": "Does it take cars?", "thread": "sark"}),
        json.dumps({"question": "hello"}),
    )
    (machine.folder / "batch.jsonl").write_text("\n".join(lines))

    ran = await machine.run("ask", "--batch", "batch.jsonl", "--docs", "docs", "--passages", "1")

    assert (ran.code, ran.err) == (1, "")  # two lines failed
    assert [record["id"] for record in ran.records] == ["a", None, "b", 7, "c", 7]
    assert [record["outcome"] for record in ran.records] == [
        "answered",
        "failed",
        "answered",
        "failed",
        "answered",
        "answered",
    ]
    ferry, malformed, pontoon, empty, cars, hello = ran.records
    assert list(ferry)[:3] == ["id", "outcome", "text"]
    assert malformed["reason"] == "Line 3 is not a JSON object."
    assert empty["reason"] == "Line 5: The question is empty."
    assert "no cars" in cars["text"]
    assert ferry["thread"] == cars["thread"] == "cli/local/terminal/sark"
    assert len({record["thread"] for record in (ferry, pontoon, hello)}) == 3
    assert hello["grounding"] == "none"


async def test_a_batch_on_standard_input_is_answered_line_by_line(machine):
    await machine.run("ingest", "docs")
    process = await machine.start("ask", "--batch", "-")

    answers = []
    for question in (FERRY_QUESTION, PONTOON_QUESTION):
        process.stdin.write(json.dumps({"id": question, "question": question}).encode() + b"\n")
        answers.append(json.loads(await process.stdout.readline()))
    process.stdin.close()

    assert await process.wait() == 0
    assert [answer["id"] for answer in answers] == [FERRY_QUESTION, PONTOON_QUESTION]


async def test_a_reader_that_goes_away_is_no_reason_for_a_traceback(machine):
    reading, writing = os.pipe()
    process = await machine.start("ask", "--batch", "-", stdout=writing)
    os.close(writing)

    process.stdin.write(b'{"question": "hello"}\n')
    assert await asyncio.to_thread(os.read, reading, 65_536)
    os.close(reading)
    process.stdin.write(b'{"question": "hello again"}\n' * 3)
    process.stdin.close()

    assert await process.stderr.read() == b""
    assert await process.wait() == 1
