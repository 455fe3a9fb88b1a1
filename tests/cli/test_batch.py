"""Many questions: what a line means, and in which order results come."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from fakes.patience import PATIENCE

from bots.commands.ask import BatchQuestion, Malformed, answer_all, read_line
from bots.terminal.receive import read_lines
from bots.terminal.session import conversation_named


def test_a_line_asks():
    line = b'{"id": "a1", "question": " When? ", "thread": "cli/local/terminal/tides"}\r'

    assert read_line(line, 1) == BatchQuestion(
        id="a1", question="When?", conversation=conversation_named("tides")
    )


def test_a_line_without_id_goes_by_its_number_and_without_thread_stands_alone():
    assert read_line(b'{"question": "When?"}', 7) == BatchQuestion(id=7, question="When?")


@pytest.mark.parametrize("line", [b"", b"  \t", b"\r"])
def test_blank_lines_are_skipped(line):
    assert read_line(line, 1) is None


@pytest.mark.parametrize(
    ("line", "line_id", "reason"),
    [
        (b"not json", None, "Line 4 is not a JSON object."),
        (b'["a"]', None, "Line 4 is not a JSON object."),
        (b"\xff\xfe", None, "Line 4 is not a JSON object."),
        (b"[" * 100_000, None, "Line 4 is not a JSON object."),
        (b'{"id": "x"}', "x", "Line 4: There is no “question” that is a text."),
        (b'{"id": "x", "question": 7}', "x", "Line 4: There is no “question” that is a text."),
        (b'{"id": "x", "question": "  "}', "x", "Line 4: The question is empty."),
        (b'{"id": {}, "question": ""}', 4, "Line 4: The question is empty."),
        (b'{"id": "x", "question": "?", "thread": 1}', "x", "Line 4: There is no “thread” that is a text."),
        (
            b'{"id": "x", "question": "?", "thread": ""}',
            "x",
            "Line 4: A thread's name has 1 to 200 printable characters.",
        ),
    ],
)
def test_a_malformed_line_tells_what_is_wrong_with_it(line, line_id, reason):
    assert read_line(line, 4) == Malformed(id=line_id, reason=reason)


class Answering:
    """Answers when it is told to, and remembers who was at work together."""

    def __init__(self):
        self.gates = {}
        self.running, self.most, self.begun = 0, 0, []
        self.changed = asyncio.Condition()

    def gate(self, name):
        return self.gates.setdefault(name, asyncio.Event())

    async def __call__(self, asked):
        self.begun.append(asked.id)
        await self._run(1)
        await self.gate(asked.id).wait()
        await self._run(-1)
        return {"id": asked.id}

    async def _run(self, more):
        async with self.changed:
            self.running += more
            self.most = max(self.most, self.running)
            self.changed.notify_all()

    async def until(self, condition):
        async with asyncio.timeout(PATIENCE), self.changed:
            await self.changed.wait_for(condition)


async def lines(*asked):
    for each in asked:
        yield json.dumps(each).encode()


def line(name, thread=None):
    return {"id": name, "question": "?"} | ({"thread": thread} if thread else {})


async def test_results_come_in_the_order_of_the_lines_as_soon_as_they_may():
    answering = Answering()
    results = answer_all(lines(line("a"), line("b"), line("c")), answering, concurrency=3)

    first = asyncio.ensure_future(anext(results))
    await answering.until(lambda: answering.running == 3)
    answering.gate("b").set()
    await answering.until(lambda: answering.running == 2)
    assert not first.done()
    answering.gate("a").set()

    assert (await first, await anext(results)) == ({"id": "a"}, {"id": "b"})
    answering.gate("c").set()
    assert [each async for each in results] == [{"id": "c"}]


async def test_lines_of_one_thread_wait_for_each_other_and_hold_up_nobody_else():
    answering = Answering()
    given = lines(line("a1", "a"), line("a2", "cli/local/terminal/a"), line("b1", "b"), line("c1"))
    results = answer_all(given, answering, concurrency=2)

    first = asyncio.ensure_future(anext(results))
    await answering.until(lambda: answering.running == 2)
    assert answering.begun == ["a1", "b1"]
    answering.gate("b1").set()
    await answering.until(lambda: "c1" in answering.begun)
    assert "a2" not in answering.begun
    for name in ("a1", "a2", "c1"):
        answering.gate(name).set()

    assert [await first, *[each async for each in results]] == [
        {"id": name} for name in ("a1", "a2", "b1", "c1")
    ]


async def test_no_more_run_at_a_time_than_allowed():
    answering = Answering()
    for name in range(40):
        answering.gate(name).set()

    results = [each async for each in answer_all(lines(*map(line, range(40))), answering, concurrency=4)]

    assert [each["id"] for each in results] == list(range(40))
    assert answering.most <= 4


async def test_lines_from_a_pipe_come_as_they_are_written():
    reading, writing = os.pipe()
    try:
        found = read_lines(reading)

        os.write(writing, b"one\r\ntw")
        assert await anext(found) == b"one"
        os.write(writing, b"o\n\nlast")
        assert await anext(found) == b"two"
        os.close(writing)

        assert [each async for each in found] == [b"", b"last"]
    finally:
        os.close(reading)
