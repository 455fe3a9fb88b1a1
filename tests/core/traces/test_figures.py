"""Figures by day, channel, ending and model, on both databases: what is counted once, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.scripted import question

from core.answers.answers import CountedUses
from core.conversation import Answer, Decision, ModelTokens, Outcome, Usage
from core.reasoning.limits import Price, Prices
from core.settings import Settings
from core.storage.storage import open_storage
from core.traces.figures import (
    BOUNDS,
    by_channel,
    by_day,
    by_model,
    by_outcome,
    day_of,
    quantile,
)
from core.traces.log import DAY, open_question_log
from core.traces.search import QuestionFilter, search
from core.traces.trace import Trace

NOON = 1_790_000_000.0
TODAY, BEFORE = day_of(NOON), day_of(NOON - DAY)
PRICES = Prices(of={"writer": Price(2, 4), "judge": Price(1, 1)}, currency="EUR")
USAGE = PRICES.add_cost(
    Usage(
        name="writer", calls=4, round_trips=2, input_tokens=3_000, output_tokens=300,
        models=(
            ModelTokens(name="writer", input_tokens=1_000, output_tokens=100),
            ModelTokens(name="judge", input_tokens=2_000, output_tokens=200),
        ),
    )
)  # fmt: skip


@pytest.fixture
def log(storage):
    with open_question_log(storage, days=0, prices=PRICES) as log:
        log.now = lambda: NOON
        yield log


def outcome(kind="answered", seconds=3.0, usage=USAGE):
    answer = Answer(text="300 metres.", citations=(), grounding="none", composed=True)
    return Outcome(
        kind=kind, turn_id="", answer=answer if kind == "answered" else None, usage=usage,
        timing_ms={"total": 1000 * seconds},
    )  # fmt: skip


def asked(id, at=NOON, channel="c", author="ada"):
    made = replace(question("How tall?", id=id), asked_at=at, author=author)
    return replace(made, conversation=replace(made.conversation, channel=channel))


def decided(id):
    return Decision(
        id=id,
        conversation=asked("q").conversation,
        author="ada",
        proposal_id="p",
        verdict="approve",
        decided_at=NOON,
    )


async def test_turns_are_summed_by_day_channel_and_ending(log):
    database = log.database.database
    await log.record(asked("q1", NOON - DAY), outcome(), Trace())
    await log.record(asked("q2", channel="d"), outcome("no_answer", 70), Trace())
    await log.record(asked("q3", channel="d"), outcome(usage=Usage()), Trace())
    await log.record(decided("d1"), outcome(seconds=0.1), Trace())

    days, channels = by_day(database, BEFORE), by_channel(database, BEFORE)

    assert [(each.of, each.turns, each.questions) for each in days] == [(BEFORE, 1, 1), (TODAY, 3, 2)]
    assert [(each.of, each.turns) for each in channels] == [("test/s/c", 2), ("test/s/d", 2)]
    assert {each.of: each.turns for each in by_outcome(database, BEFORE)} == {"answered": 3, "no_answer": 1}
    assert days[0].cost == pytest.approx((2_000 + 400 + 2_200) / 1e6)
    assert (days[0].seconds, days[0].calls, days[0].input_tokens) == (3.0, 4, 3_000)
    assert [each.of for each in by_day(database, TODAY)] == [TODAY]


async def test_tokens_and_money_are_told_by_model(log):
    for number in range(2):
        await log.record(asked(f"q{number}"), outcome(), Trace())

    judge, writer = by_model(log.database.database, TODAY)

    assert (judge.model, judge.input_tokens, judge.output_tokens) == ("judge", 4_000, 400)
    assert (writer.model, writer.cost) == ("writer", pytest.approx(2 * 2_400 / 1e6))


async def test_a_turn_that_is_told_again_is_counted_once(log):
    for _ in range(2):
        await log.record(asked("q1"), outcome(), Trace())

    assert [each.turns for each in by_day(log.database.database, TODAY)] == [1]


class RecordingUses:
    """Notes whose uses of kept answers are counted."""

    def __init__(self):
        self.turns = []

    async def note_uses(self, turn, outcome):
        self.turns.append(turn)


async def test_what_only_tests_the_answers_is_not_counted(log):
    uses = RecordingUses()
    counted = CountedUses(log, uses)

    await counted.record(replace(asked("q1"), is_test=True), outcome(), Trace())
    await counted.record(asked("q2"), outcome(), Trace())

    assert [each.turns for each in by_day(log.database.database, TODAY)] == [1]
    assert await log.question("q1") is None
    assert uses.turns == ["q2"]


async def test_without_prices_there_is_no_cost(storage):
    with open_question_log(storage, days=0) as log:
        await log.record(asked("q1"), outcome(usage=replace(USAGE, cost=None)), Trace())

        assert [each.cost for each in by_day(log.database.database, TODAY)] == [None]
        assert {each.cost for each in by_model(log.database.database, TODAY)} == {None}


async def test_a_cost_is_summed_from_the_first_that_is_known(log):
    for number, usage in enumerate((replace(USAGE, cost=None), USAGE, replace(USAGE, cost=None))):
        await log.record(asked(f"q{number}"), outcome(usage=usage), Trace())

    assert [each.cost for each in by_day(log.database.database, TODAY)] == [pytest.approx(USAGE.cost)]


def test_the_time_that_most_turns_do_not_exceed_is_told_by_the_buckets():
    within = [0] * (len(BOUNDS) + 1)
    within[1], within[4], within[-1] = 90, 5, 5

    assert [quantile(share, within) for share in (0.5, 0.9, 0.95, 0.99)] == [1.0, 1.0, 10.0, 240.0]
    assert quantile(0.5, [0] * len(within)) is None


async def test_names_stand_beside_ids_until_nothing_of_them_is_left(log):
    await log.names.note("person", {"U1": "Ann", "U2": "U2", "U3": ""})
    await log.names.note("channel", {"test/s/c": "general"})
    for number, author in enumerate(("U1", "U2")):
        await log.record(asked(f"q{number}", NOON - number, author=author), outcome(), Trace())

    first, second = await search(log, QuestionFilter(since=NOON - DAY))
    await log.forget_conversation(asked("q").conversation)
    after = await search(log, QuestionFilter(since=NOON - DAY))
    ((left,),) = log.database.database.rows("SELECT count(*) FROM shown_names")

    assert [(each.author_name, each.channel_name) for each in (first, second)] == [
        ("Ann", "general"),
        ("", "general"),
    ]
    assert [(each.question.author, each.author_name, each.channel_name) for each in after] == [
        ("", "", "")
    ] * 2
    assert left == 0


async def test_a_name_is_noted_again_when_it_was_forgotten_or_has_changed(log):
    def stored():
        return log.database.database.rows("SELECT id, name FROM shown_names")

    await log.names.note("person", {"U1": "Ann"})
    await log.names.note("person", {"U1": "Anna"})
    changed = stored()
    await log.record(asked("q1", author="U1"), outcome(), Trace())
    await log.forget_conversation(asked("q").conversation)
    await log.names.note("person", {"U1": "Anna"})

    assert changed == stored() == [("U1", "Anna")]


async def test_a_list_has_the_newest_first_with_ratings_and_only_one_ending_if_asked(log):
    for number, kind in enumerate(("answered", "no_answer", "answered")):
        await log.record(asked(f"q{number}", NOON - number * DAY), outcome(kind), Trace())
    for author, is_positive in (("ann", True), ("bob", True), ("cid", False)):
        await log.rate("q0", author, is_positive=is_positive, at=NOON)

    newest, *_ = everything = await search(log, QuestionFilter(since=NOON - 1.5 * DAY))
    answered = await search(log, QuestionFilter(ending="answered"))

    assert [each.question.turn for each in everything] == ["q0", "q1"]
    assert (newest.up, newest.down) == (2, 1)
    assert [each.question.turn for each in answered] == ["q0", "q2"]


def test_a_settings_folder_without_questions_has_none(tmp_path):
    with open_storage(Settings(data_dir=tmp_path)) as storage, open_question_log(storage, days=1) as log:
        assert by_day(log.database.database, BEFORE) == ()
