"""``footnote chat`` with its lines from a pipe."""

from __future__ import annotations

import asyncio
import signal

from fakes.harbour import CUP_QUESTION, FERRY_QUESTION, PATIENCE


def spoken(*lines):
    return "".join(f"{line}\n" for line in lines)


async def test_questions_are_answered_one_after_another_and_follow_ups_understood(machine):
    ran = await machine.run(
        "chat", "docs", "--thread", "sark", stdin=spoken(FERRY_QUESTION, "", "Does it take cars?", "/more")
    )

    assert ran.code == 0
    first, _, rest = ran.out.partition("half past nine")
    assert first.startswith("Quoted from your documents, not composed.")
    assert "no cars" in rest
    assert "“" in rest  # the quotes that /more shows
    assert "›" not in first
    assert ran.err == (
        "There is no thread sark yet: this begins it.\nCome back with: footnote chat --thread sark\n"
    )


async def test_a_search_is_declined_edited_and_allowed(machine, searxng):
    lines = spoken(
        CUP_QUESTION, "n", CUP_QUESTION, "e", "world cup 1998 winner", CUP_QUESTION, "y", "/proposals"
    )

    ran = await machine.run("chat", "docs", stdin=lines)

    sent = [request.query["q"] for request in searxng.requests]
    assert sent == ["world cup 1998 winner", "Who won the 1998 football world cup"]
    assert ran.out.count("Nothing is sent until you allow it.") == 3
    assert ran.out.count("Nothing was sent to the web.") == 1
    assert ran.out.count("From the web, not from your documents.") == 2
    assert "ada said no at" in ran.err
    assert "No web search is waiting for a decision." in ran.err


async def test_a_search_may_be_left_and_decided_in_another_session(machine, searxng):
    left = await machine.run(
        "chat", "docs", "--thread", "cup", stdin=spoken(CUP_QUESTION, "", FERRY_QUESTION)
    )
    later = await machine.run(
        "chat", "--thread", "cup", stdin=spoken("/proposals", "/proposals 9", "/proposals 1", "y")
    )

    assert "It can be decided later: /proposals." in left.err
    assert "half past nine" in left.out
    assert "Choose a number from 1 to 1: /proposals 1." in later.err
    assert "France won the 1998 football World Cup" in later.out
    assert len(searxng.requests) == 1


async def test_commands(machine):
    lines = spoken(
        "/help",
        "/sources",
        "/forget docs/harbour.md",
        "/sources",
        "/nonsense",
        "/more",
        FERRY_QUESTION,
        "/forget",
        "/quit",
        CUP_QUESTION,
    )

    ran = await machine.run("chat", "docs", stdin=lines)

    assert ran.code == 0
    assert "Footnote answers from 2 documents" in ran.out
    assert ran.out.count("docs/harbour.md") == 1
    assert "Forgot docs/harbour.md (2 passages)." in ran.err
    assert "There is no /nonsense; /help lists what there is." in ran.err
    assert "The last answer has no footnotes." in ran.err
    assert "This conversation is forgotten" in ran.err
    assert "1998" not in ran.out
    assert "Come back" not in ran.err


async def test_a_question_that_is_too_long_or_not_utf8_does_not_end_the_conversation(machine):
    lines = b"x" * 4_001 + b"\n" + b"caf\xe9?\n" + spoken(FERRY_QUESTION).encode()

    ran = await machine.run("chat", "docs", stdin=lines)

    assert "The question is too long: 4,001 characters, 4,000 at most." in ran.err
    assert "half past nine" in ran.out


async def test_documents_at_the_path_are_read_and_no_others(machine):
    (machine.folder / "bus.md").write_text("# Bus\n\nThe bus to town leaves the square every hour.\n")
    await machine.run("ingest", "bus.md")

    ran = await machine.run("chat", "docs", stdin=spoken("When does the bus to town leave?", "/sources"))

    assert "every hour" not in ran.out
    assert "bus.md" not in ran.out


async def test_ctrl_c_leaves_quietly_and_says_how_to_come_back(machine):
    process = await machine.start("chat", "docs", "--thread", "sark")
    process.stdin.write(spoken(FERRY_QUESTION).encode())
    async with asyncio.timeout(PATIENCE):
        async for line in process.stdout:
            if b"Answered in" in line:
                break

        process.send_signal(signal.SIGINT)
        said = await process.stderr.read()
        code = await process.wait()

    begun, *rest = said.decode().splitlines()
    assert begun == "There is no thread sark yet: this begins it."
    assert (rest, code) == (["Come back with: footnote chat --thread sark"], 130)
