"""The log as JSON lines."""

from __future__ import annotations

import json
import logging

from bots.process import JsonLines


def test_a_record_is_one_line_with_what_was_handed_in_beside_the_message():
    record = logging.makeLogRecord(
        {
            "name": "core.turns.assistant",
            "levelname": "WARNING",
            "msg": "turn %s failed",
            "args": ("t1",),
            "created": 1_700_000_000.25,
            "conversation": "cli/local/terminal/x",
        }
    )

    line = JsonLines().format(record)

    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "warning",
        "logger": "core.turns.assistant",
        "message": "turn t1 failed",
        "conversation": "cli/local/terminal/x",
    }


def test_an_exception_stays_on_its_line():
    record = logging.makeLogRecord(
        {"msg": "failed", "exc_info": (ValueError, ValueError("first\nsecond"), None)}
    )

    line = JsonLines().format(record)

    assert "\n" not in line
    assert "ValueError: first\nsecond" in json.loads(line)["traceback"]
