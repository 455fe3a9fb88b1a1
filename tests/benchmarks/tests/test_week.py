"""The made-up week: who asks what, what counts as right, and a small week through the real assistant."""

from __future__ import annotations

from benchmarks import week
from benchmarks.team import Asked, Subject, Team, team

from core.conversation import Answer, Citation, Outcome

TIDES = Subject(
    id="tides", channel="harbour", wordings=("When is high tide?",), sources=frozenset({"tides.md"}), spans=("noon",),
    reference="At noon.",
)  # fmt: skip


def outcome(*cited, is_sure=True):
    citations = tuple(
        Citation(number=n, title="", location="", source=source, quote=quote, start=0, end=len(quote))
        for n, (source, quote) in enumerate(cited, start=1)
    )
    return Outcome(
        turn_id="q", kind="answered",
        answer=Answer(text="", citations=citations, grounding="documents", composed=False, is_sure=is_sure),
    )  # fmt: skip


def verdict(shown):
    return week.verdict_on(TIDES, shown, {"a": "tides", "b": "fees"}.get)


def test_right_is_a_quote_that_holds_the_answer_or_what_was_taught_about_the_same():
    assert verdict(outcome(("tides.md", "High tide is at noon."))).is_right
    assert verdict(outcome(("answer:a", "Ask Eve."))).is_right
    assert not verdict(outcome(("tides.md", "Tides come and go."))).is_right
    assert not verdict(outcome(("other.md", "It is noon."))).is_right
    assert not verdict(outcome(("answer:b", "At noon."))).is_right


def test_what_is_held_back_is_neither_right_nor_wrong():
    held = verdict(Outcome(turn_id="q", kind="no_answer", reason="Nothing found."))

    assert (held.is_answered, held.is_right, held.is_sure) == (False, False, False)


def test_a_question_counts_as_taught_only_after_that_and_only_in_its_channel():
    people = Team(
        subjects={"tides": TIDES}, documents=(), files=None, withheld=frozenset({"tides.md"}), asked=()
    )
    asked = Asked(
        subject="tides", text="When is high tide?", kind="repeated", author="U1", channel="harbour", at=0.0
    )
    lived = week.Lived(taught={"a": "tides"})

    def rows(*known):
        return list(week.row_of(people, asked, lived, frozenset(known)))

    assert rows(("tides", "harbour")) == ["all", "repeated"]
    assert rows(("tides", "help")) == ["all", "elsewhere"]
    assert rows() == ["all"]
    assert list(week.row_of(people, asked, week.Lived(), frozenset())) == ["all", "open"]


def test_a_week_is_the_same_again_and_comes_back_to_its_questions(shared_data):
    one, other = (team(shared_data, 300, 150, sets=("fastapi",)) for _ in range(2))

    assert (one.asked, one.withheld) == (other.asked, other.withheld)
    assert [each.at for each in one.asked] == sorted(each.at for each in one.asked)
    assert {each.kind for each in one.asked} == {"new", "reworded", "repeated"}
    assert len({(each.subject, each.text) for each in one.asked if each.kind != "repeated"}) == sum(
        each.kind != "repeated" for each in one.asked
    )
    assert any(not one.is_answerable(each.subject) for each in one.asked)


def test_a_quick_week_goes_through_the_real_queue_and_cites_what_was_taught_where_it_was_said(shared_data):
    section = week.run(print, data=shared_data, quick=True)

    figures = section.figures
    assert figures["all: questions"] == week.QUICK_QUESTIONS
    assert figures["answers that experts gave"] > 0
    assert figures["all: right after"] >= figures["all: right before"] > 0
    assert figures["times that one was cited"] > 0
    assert figures["of these in another channel"] == 0
