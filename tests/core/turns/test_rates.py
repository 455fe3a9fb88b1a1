"""How many questions are answered in a while, and what those are told who ask more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.turns import rate_limits
from core.turns.rate_limits import Rate, Rates

HOUR = 3_600.0


def test_the_question_beyond_the_rate_is_refused_with_the_time_to_wait():
    asked = Rates(per_person=Rate(count=2, period="hour"))

    assert [asked.admit("ann", "general", at) for at in (0.0, 600.0)] == [None, None]
    assert asked.admit("ann", "random", 900.0).sentence == (
        "You have asked 2 questions within one hour, which is as many as I may answer."
        " Please ask again in 45 minutes."
    )


def test_a_refused_question_does_not_count():
    asked = Rates(per_person=Rate(count=1, period="minute"))
    asked.admit("ann", "general", 0.0)
    for at in range(1, 60):
        assert asked.admit("ann", "general", float(at)) is not None

    assert asked.admit("ann", "general", 60.0) is None


def test_who_was_told_when_to_ask_again_is_not_told_before_then():
    asked = Rates(per_person=Rate(count=1, period="minute"))
    asked.admit("ann", "general", 0.0)

    told = [asked.tell(asked.admit("ann", "general", at), at) for at in (1.0, 2.0, 59.0)]
    asked.admit("ann", "general", 60.0)
    told_anew = [asked.tell(asked.admit("ann", "general", at), at) for at in (61.0, 62.0)]

    assert told == [True, False, False]
    assert told_anew == [True, False]


def test_everybody_is_told_once_of_the_limit_of_their_channel():
    asked = Rates(per_channel=Rate(count=1, period="hour"))
    asked.admit("ann", "general", 0.0)

    told = [
        asked.tell(asked.admit(person, "general", at), at)
        for person, at in (("ann", 1.0), ("bob", 2.0), ("ann", 3.0), ("bob", 4.0))
    ]

    assert told == [True, True, False, False]


def test_a_refusal_that_could_not_be_said_is_said_the_next_time():
    asked = Rates(per_person=Rate(count=1, period="hour"))
    asked.admit("ann", "general", 0.0)
    refusal = asked.admit("ann", "general", 1.0)
    asked.tell(refusal, 1.0)

    asked.forget_refusal(refusal)

    assert asked.tell(asked.admit("ann", "general", 2.0), 2.0)


def test_a_clock_that_is_set_back_silences_nobody():
    asked = Rates(per_person=Rate(count=1, period="minute"))
    asked.admit("ann", "general", 9 * HOUR)
    asked.tell(asked.admit("ann", "general", 9 * HOUR + 1), 9 * HOUR + 1)

    asked.admit("ann", "general", HOUR)

    assert asked.tell(asked.admit("ann", "general", HOUR + 1), HOUR + 1)


def test_only_those_who_still_wait_are_remembered_as_told(monkeypatch):
    monkeypatch.setattr(rate_limits, "REMEMBERED", 10)
    asked = Rates(per_person=Rate(count=1, period="hour"))

    for number in range(100):
        for at in (number * HOUR, number * HOUR + 1):
            if refusal := asked.admit(f"person {number}", "general", at):
                asked.tell(refusal, at)

    assert 0 < len(asked._refused_until) <= 12


def test_people_are_counted_apart_and_a_channel_together():
    asked = Rates(per_person=Rate(count=2, period="day"), per_channel=Rate(count=3, period="day"))

    told = [asked.admit(person, "general", 0.0) for person in ("ann", "bob", "cleo", "dan")]
    elsewhere = asked.admit("dan", "random", 1.0)

    assert told[:3] == [None, None, None]
    assert told[3].sentence.startswith("This channel has asked 3 questions within one day")
    assert elsewhere is None


def test_without_a_rate_nobody_is_refused_and_nothing_is_remembered():
    asked = Rates()

    assert all(asked.admit("ann", "general", 0.0) is None for _ in range(1_000))
    assert asked._asked == {}


def test_who_is_long_silent_is_let_go(monkeypatch):
    monkeypatch.setattr(rate_limits, "REMEMBERED", 10)
    asked = Rates(per_person=Rate(count=1, period="hour"))

    for number in range(100):
        assert asked.admit(f"person {number}", "general", number * HOUR) is None

    assert len(asked._asked) <= 12


@given(
    count=st.integers(1, 5),
    gaps=st.lists(st.floats(0, 200), max_size=60),
)
def test_no_stretch_of_the_period_holds_more_than_the_rate(count, gaps):
    asked, at, taken = Rates(per_person=Rate(count=count, period="minute")), 0.0, []
    for gap in gaps:
        at += gap
        if asked.admit("ann", "general", at) is None:
            taken.append(at)

    assert all(later - earlier >= 60 for earlier, later in zip(taken, taken[count:], strict=False))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "a second"),
        (30, "a minute"),
        (90, "a minute"),
        (91, "2 minutes"),
        (5_400, "90 minutes"),
        (5_401, "2 hours"),
    ],
)
def test_a_wait_is_told_in_words(seconds, words):
    assert rate_limits._in_words(seconds) == words
