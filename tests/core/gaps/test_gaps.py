"""Gaps on both databases: which questions count, how they are grouped, what is decided about them, who reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.scripted import decision, question

from core.answers import store as answers
from core.answers.store import KeptAnswer
from core.conversation import Answer, Citation, Outcome, Proposal
from core.gaps.groups import open_gaps
from core.gaps.questions import find_answered, read_gaps
from core.traces.log import DAY, open_question_log
from core.traces.trace import Trace, TracedPassage

NOON = 1_790_000_000.0
NO_TRACE = Trace()
NOBODY = Outcome(turn_id="", kind="no_answer")
NOTHING_BUT_CLOSE = Outcome(
    turn_id="",
    kind="no_answer",
    closest=(
        Citation(
            number=1, title="Parking", location="", source="parking.md", quote="", start=0, end=1, collection="default"
        ),
    ),
)  # fmt: skip


@pytest.fixture
def log(storage):
    with open_question_log(storage, days=14) as log:
        log.now = lambda: NOON
        yield log


@pytest.fixture
def finder(storage):
    with open_gaps(storage, lambda: None) as finder:
        finder.now = lambda: NOON
        yield finder


REPLY = KeptAnswer(
    id="k1", question="How can I renew my parking permits?", text="Room 3.", author="U1", name="Ben", place="",
    conversation="", message="m", url=None, collection="default", language="en", said_at=NOON, kept_at=NOON,
    valid_until=NOON + DAY, state="used",
)  # fmt: skip


def answer(*, is_sure=True, grounding="documents"):
    return Outcome(
        turn_id="",
        kind="answered",
        answer=Answer(text="Yes.", citations=(), grounding=grounding, composed=False, is_sure=is_sure),
    )


async def tell(log, text, outcome=NOBODY, *, id, days_ago=1.0, trace=NO_TRACE, **more):
    asked = replace(question(text, id=id, **more), asked_at=NOON - days_ago * DAY)
    await log.record(asked, outcome, trace)
    return asked


def proposing(query="tower height"):
    proposal = Proposal(id="p1", turn_id="q1", question="", asker="ada", query=query, reason="", tried=())
    return Outcome(turn_id="", kind="approval_needed", proposal=proposal)


async def reasons(finder):
    found = read_gaps(finder.questions.database, finder.last(7 * DAY))
    return {each.turn: each.reason for each in found.questions}


async def test_what_was_answered_well_or_failed_is_no_gap(log, finder):
    await tell(log, "How tall is it?", answer(), id="sure")
    await tell(log, "How tall is it?", Outcome(turn_id="", kind="failed", reason="x"), id="failed")
    await tell(log, "Which tower?", Outcome(turn_id="", kind="clarify"), id="clarified")
    await tell(log, "How tall is it?", id="none")
    await tell(log, "How tall is it?", answer(is_sure=False), id="unsure")

    assert await reasons(finder) == {"none": "unanswered", "unsure": "unsure"}


async def test_a_rating_down_makes_a_gap_of_an_answer_and_a_rating_up_does_not(log, finder):
    await tell(log, "How tall is it?", answer(), id="down")
    await tell(log, "How old is it?", answer(), id="up")
    await log.rate("down", "ben", is_positive=False, at=NOON)
    await log.explain("down", "ben", "outdated", "it was made taller")
    await log.rate("up", "ben", is_positive=True, at=NOON)

    report = await finder.report(finder.last(7 * DAY))

    assert await reasons(finder) == {"down": "rated_down"}
    assert report.groups[0].missing == ("it was made taller",)


@pytest.mark.parametrize(
    ("verdict", "outcome", "reason"),
    [("deny", NOBODY, "denied"), ("approve", NOBODY, "unanswered"), ("approve", answer(grounding="web"), None),
     ("approve", Outcome(turn_id="", kind="failed", reason="The web could not be reached."), "unanswered")],
)  # fmt: skip
async def test_a_decision_about_the_search_decides_whether_it_is_a_gap(log, finder, verdict, outcome, reason):
    await tell(log, "How tall is the tower?", proposing(), id="q1")
    before = await reasons(finder)

    decided = replace(decision("p1", verdict), decided_at=NOON - 100)
    await log.record(decided, outcome, Trace(about="q1", question="How tall is the tower?"))

    assert before == {"q1": "undecided"}
    assert await reasons(finder) == ({"q1": reason} if reason else {})


async def test_a_group_tells_its_name_its_people_its_trend_and_what_is_near(log, finder):
    trace = Trace(missing="who renews permits")
    await tell(log, "How do I renew my parking permit?", NOTHING_BUT_CLOSE, id="a", author="ada", trace=trace)
    await tell(log, "Where can parking permits be renewed?", id="b", author="ben", days_ago=2)
    await tell(log, "May I renew a parking permit twice?", id="c", author="ada", days_ago=9)
    await tell(log, "Who refills the printer?", id="d", days_ago=3)
    await tell(log, "Which chairs can I order?", id="e", days_ago=10)

    report = await finder.report(finder.last(7 * DAY))
    permits, printer = report.groups

    assert permits.turns == ("a", "b")
    assert (permits.id, permits.count, permits.people, permits.before) == ("b", 2, 2, 1)
    assert permits.name in ("How do I renew my parking permit?", "Where can parking permits be renewed?")
    assert "parking" in permits.words
    assert [each.source for each in permits.closest] == ["parking.md"]
    assert permits.missing == ("who renews permits",)
    assert printer.turns == ("d",)
    assert not report.is_by_meaning


async def test_a_follow_up_is_grouped_as_it_was_understood(log, finder):
    trace = Trace(standalone="How do I renew my parking permit?")
    await tell(log, "And how is it renewed?", id="a", trace=trace)
    await tell(log, "Where can parking permits be renewed?", id="b")

    (group,) = (await finder.report(finder.last(7 * DAY))).groups

    assert {each.asked for each in group.questions} == {
        "And how is it renewed?",
        "Where can parking permits be renewed?",
    }


async def test_a_group_that_grows_stays_ignored(log, finder):
    await tell(log, "How do I renew my parking permit?", id="a")
    await finder.store.mark(["a"], "ignored", author="ada", at=NOON - 3600)
    for number in range(4):
        await tell(
            log,
            f"Where can parking permit {number} be renewed?",
            id=f"new{number}",
            days_ago=(1 + number) / 1000,
        )

    report = await finder.report(finder.last(7 * DAY))

    (group,) = report.groups
    assert (group.state, group.count, group.since_state) == ("ignored", 5, 4)
    assert report.open_groups == ()


async def test_a_small_group_that_was_ignored_hides_no_large_one(log, finder):
    for number in range(4):
        await tell(log, f"Where can parking permit {number} be renewed?", id=f"old{number}")
    await finder.store.mark(["old0"], "ignored", author="ada", at=NOON)

    (group,) = (await finder.report(finder.last(7 * DAY))).groups

    assert (group.state, group.count) == (None, 4)


async def test_who_ignores_a_group_ignores_nothing_that_was_asked_before_and_not_shown(log, finder):
    await tell(log, "How do I renew my parking permit?", id="shown")
    await tell(log, "Where can parking permits be renewed?", id="unseen", days_ago=0.5)
    await finder.store.mark(["shown"], "ignored", author="ada", at=NOON - 3600)

    (group,) = (await finder.report(finder.last(7 * DAY))).open_groups

    assert [each.turn for each in group.undecided] == ["unseen"]
    assert (group.marks["shown"].author, group.since_state) == ("ada", 1)


async def test_a_gap_is_answered_as_long_as_its_answer_is_used(log, finder, storage):
    await tell(log, "How do I renew my parking permit?", id="a")
    kept = replace(REPLY, question="How do I renew my parking permit?")
    with storage.asynchronous(answers.STORE, answers.SCHEMA) as taught:
        answers.put(taught.database, kept)
        await finder.store.mark(["a"], "answered", author="ben", at=NOON, answer="k1")
        before = await finder.report(finder.last(7 * DAY))
        finder.now = lambda: NOON + 2 * DAY  # nobody reviewed it
        after = await finder.report(finder.last(7 * DAY))
        laid_over = await finder.with_decisions(before)

    assert before.open_groups == ()
    assert [group.turns for group in laid_over.open_groups] == [("a",)]
    assert [group.turns for group in after.open_groups] == [("a",)]


async def test_a_kept_reply_answers_what_is_asked_alike_in_its_channel(log, finder):
    here = await tell(log, "Thanks, and when is that?", id="talk")
    await tell(log, "How do I renew my parking permit?", id="alike")
    await tell(log, "How do I renew my parking permit for 2025?", id="other year")
    await tell(log, "Who refills the printer?", id="printer")
    await tell(log, "How do I renew my parking permit?", id="later", days_ago=-1)
    elsewhere = replace(here.conversation, channel="elsewhere")
    there = replace(here, id="elsewhere", conversation=elsewhere, text="How do I renew my parking permit?")
    await log.record(there, NOBODY, NO_TRACE)
    reply = replace(REPLY, conversation=here.conversation.id)

    assert await find_answered(log, reply) == {"alike"}
    assert await find_answered(log, reply, asked="talk") == {"talk", "alike"}
    assert await find_answered(log, replace(reply, question="Which chairs can I order?")) == set()


async def test_a_kept_reply_answers_the_only_question_of_its_thread_in_whatever_words(log, finder):
    asked = await tell(log, "How do I renew my parking permit?", id="a")
    reply = replace(
        REPLY, conversation=asked.conversation.id, question="My badge for the garage ends in May."
    )

    assert await find_answered(log, reply) == {"a"}


async def test_experts_who_were_asked_about_a_decision_answer_its_question(log, finder):
    asked = await tell(log, "How tall is the tower?", proposing(), id="q1")
    decided = replace(decision("p1", "deny"), decided_at=NOON - 100)
    await log.record(decided, NOBODY, Trace(about="q1", question="How tall is the tower?"))
    reply = replace(REPLY, conversation=asked.conversation.id, question="About the tower")

    assert await find_answered(log, reply, asked=decided.id) == {"q1"}


async def test_an_answered_group_opens_again_when_it_is_asked_about_again(log, finder):
    await tell(log, "How do I renew my parking permit?", id="a")
    await finder.store.mark(["a"], "answered", author="ada", at=NOON - DAY / 2)
    answered = await finder.report(finder.last(7 * DAY))
    await tell(log, "Where can parking permits be renewed?", id="b", days_ago=0.1)
    again = await finder.report(finder.last(7 * DAY))
    await finder.store.reopen(["a"])
    reopened = await finder.report(finder.last(7 * DAY))

    assert answered.open_groups == ()
    assert [(each.state, each.since_state) for each in again.open_groups] == [("answered", 1)]
    assert [each.state for each in reopened.groups] == [None]


async def test_what_a_reader_may_not_read_is_a_count_and_in_no_group(log, finder):
    await tell(log, "How do I renew my parking permit?", id="mine")
    await tell(log, "Where can the canary permits be renewed?", id="theirs", trace=Trace(missing="canary"))
    await tell(log, "Which canary is older?", id="older", days_ago=9)

    async def mine_only(questions):
        return frozenset(each.turn for each in questions if each.turn == "mine")

    report = await finder.report(finder.last(7 * DAY), mine_only)

    assert report.closed == 1
    assert [group.turns for group in report.groups] == [("mine",)]
    assert report.groups[0].before == 0
    assert "canary" not in repr(report)


async def test_words_that_are_not_kept_any_more_are_counted(log, finder):
    asked = await tell(log, "How do I renew my parking permit?", id="a")
    await log.forget_conversation(asked.conversation)
    await tell(log, "Who refills the printer?", id="b", days_ago=9)
    await log.forget_conversation(asked.conversation)

    report = await finder.report(finder.last(7 * DAY))

    assert (report.groups, report.wordless) == ((), 1)


async def test_only_the_newest_are_grouped_where_there_are_too_many(log, finder):
    for number in range(5):
        await tell(log, f"Who refills printer {number}?", id=f"q{number}", days_ago=1 + number)

    found = read_gaps(finder.questions.database, finder.last(7 * DAY), limit=3)

    assert [each.turn for each in found.questions] == ["q0", "q1", "q2"]
    assert found.is_cut


async def test_a_model_that_fails_leaves_the_words(log, finder):
    from core.errors import ModelTrouble

    class FailingEmbedder:
        name = "failing"

        def embed_documents(self, texts):
            raise ModelTrouble("the model is away")

    finder.embedder = FailingEmbedder
    await tell(log, "How do I renew my parking permit?", id="a")
    await tell(log, "Where can parking permits be renewed?", id="b")

    report = await finder.report(finder.last(7 * DAY))

    assert [group.count for group in report.groups] == [2]
    assert not report.is_by_meaning


async def test_a_gap_knows_which_documents_it_found_and_how_sure_the_library_was(log, finder):
    passage = TracedPassage(
        id="1", collection="default", source="fees.md", title="Fees", location="", start=0, end=9, score=1.0
    )
    passages = (
        passage,
        replace(passage, id="2", score=0.5),
        replace(passage, id="3", source="pier.md", score=0.4),
        replace(passage, id="4", source="https://web.test", origin="web"),
    )
    nothing = replace(NOBODY, confidence=0.25)
    await tell(log, "What does a berth cost?", nothing, id="a", trace=Trace(passages=passages))

    (gap,) = read_gaps(finder.questions.database, finder.last(7 * DAY)).questions

    assert gap.near == (("default fees.md", 1.0), ("default pier.md", 0.4))
    assert gap.confidence == 0.25


async def test_many_gaps_are_grouped_by_the_documents_that_they_find_too(log, finder):
    """Each two of these questions share no word."""
    words = [f"{letter}{number}" for number in range(30) for letter in "abcd"]
    for number, word in enumerate(words):
        source = f"{word[0]}.md"
        passage = TracedPassage(
            id=f"{number}", collection="default", source=source, title="", location="", start=0, end=9, score=1.0
        )  # fmt: skip
        sure = replace(NOBODY, confidence=0.95)
        await tell(log, f"{word}?", sure, id=f"q{number}", trace=Trace(passages=(passage,)))

    report = await finder.report(finder.last(7 * DAY))

    assert [group.count for group in report.groups] == [30, 30, 30, 30]
