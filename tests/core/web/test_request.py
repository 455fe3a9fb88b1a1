from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.web.request import (
    FAULT_PAUSE,
    RATE_PAUSE,
    WAIT_LIMIT,
    EngineReply,
    ask,
    pause_before_retry,
    rate_limited,
    seconds_asked,
)

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("-7", None),
        ("soon", None),
        ("Fri, 20 Nov 2026 12:02:00 GMT", 120.0),
        ("Fri, 20 Nov 2026 12:02:00 -0000", 120.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("9" * 400, WAIT_LIMIT),
        ("Fri, 20 Nov 2027 12:00:00 GMT", WAIT_LIMIT),
        ("Fri, 99 Nov 2026 11:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header, seconds):
    assert seconds_asked(header, now=NOON) == seconds


@settings(deadline=None)
@given(st.text(max_size=40) | st.text(alphabet="FriNov 0123456789:,+-GMT()", max_size=40))
def test_any_header_is_a_wait_within_a_day_or_none(header):
    seconds = seconds_asked(header, now=NOON)

    assert seconds is None or 0 <= seconds <= WAIT_LIMIT


@pytest.mark.parametrize(
    ("status", "retry_after", "pause"),
    [
        (200, None, None),
        (202, None, None),
        (401, None, None),
        (429, None, RATE_PAUSE),
        (429, 0.0, 0.0),
        (429, 3.0, 3.0),
        (429, 4.0, None),
        (500, None, FAULT_PAUSE),
        (503, 600.0, FAULT_PAUSE),
    ],
)
def test_only_what_may_pass_soon_is_worth_a_second_attempt(status, retry_after, pause):
    assert pause_before_retry(EngineReply(status=status, retry_after=retry_after)) == pause


async def test_a_wait_beyond_the_deadline_is_not_begun():
    attempts = []

    async def send() -> EngineReply:
        attempts.append(1)
        return EngineReply(status=429, retry_after=2.0)

    reply = await ask("Any engine", send, within=1.0)

    assert reply.status == 429
    assert len(attempts) == 1


@pytest.mark.parametrize(
    ("retry_after", "when"), [(None, "a minute"), (5.0, "a minute"), (60.0, "a minute"), (61.0, "2 minutes")]
)
def test_a_rate_limit_says_when_to_come_back(retry_after, when):
    assert str(rate_limited("Tavily", retry_after)).endswith(f"try again in {when}.")
