"""What cannot be read is counted, and the log has a line of it now and then."""

from __future__ import annotations

import pytest

from bots.chat.platform import LOG_PAUSE, Unreadable


def read(event):
    return event["what was said"]


def test_the_first_is_logged_at_once_and_the_others_together_a_minute_later(caplog, monkeypatch):
    now = 1_000.0
    monkeypatch.setattr("bots.chat.platform.time.monotonic", lambda: now)
    unreadable = Unreadable()

    for event in ({}, {}, 5):
        with unreadable.skipped():
            read(event)
    at_once = [record.count for record in caplog.records]
    now += LOG_PAUSE
    with unreadable.skipped():
        read({})

    assert at_once == [1]
    assert [record.count for record in caplog.records] == [1, 3]
    first, others = (record.reason for record in caplog.records)
    assert first.startswith("KeyError in test_unreadable.py:")
    assert others.count(" in test_unreadable.py:") == 2


def test_what_is_no_fault_of_an_event_is_not_hidden():
    unreadable = Unreadable()

    with pytest.raises(OSError, match="disk"), unreadable.skipped():
        raise OSError("disk")
