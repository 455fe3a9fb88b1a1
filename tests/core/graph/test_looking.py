"""A second look into the documents never makes an answer worse."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import get_args

import pytest
from fakes.passages import thorough
from fakes.scripted import hit
from hypothesis import assume, given
from hypothesis import strategies as st

from core.graph import routing
from core.graph.looking import helpful, unseen, with_further
from core.graph.policy import PRESETS, EvidenceWeights, log_odds
from core.graph.state import Work
from core.reasoning.reasoner import Grade, Grades, Plan, Relevance

DEFAULT = PRESETS["footnote"]
RELEVANCES = st.sampled_from(get_args(Relevance))
EVIDENCE = st.lists(st.integers(1, 3), max_size=2).map(tuple)
GRADE = st.builds(Grade, relevance=RELEVANCES, evidence=EVIDENCE)
SCORES = st.floats(0, 1)


@st.composite
def looked_once(draw):
    """A turn after its first grading, in which a passage was found correct."""
    scores = sorted(draw(st.lists(SCORES, min_size=1, max_size=8)), reverse=True)
    passages = tuple(hit(f"Text {n}.", id=f"{n}", score=score) for n, score in enumerate(scores))
    grades = {each.passage.id: draw(GRADE) for each in passages}
    assume(any(grade.relevance == "correct" for grade in grades.values()))
    work = Work(
        question="q",
        plan=Plan(route="documents", standalone="q", queries=("other words",)),
        passages=passages,
        looks=dict.fromkeys(grades, 0),
        confidence=draw(st.floats(0, 1)),
    )
    missing = draw(st.sampled_from(["", "what it costs"]))
    return work.with_grades(Grades(of=grades, sufficient=draw(st.booleans()), missing=missing))


@st.composite
def looked_again(draw):
    """The same turn before and after a further look, with any verdict on what is new and on what helped before."""
    before = draw(looked_once())
    scores = draw(st.lists(SCORES, max_size=8))
    new = tuple(hit(f"New text {n}.", id=f"new{n}", score=score) for n, score in enumerate(scores))
    judged = [each.passage.id for each in (*new, *helpful(before))]
    grades = Grades(
        of={name: draw(GRADE) for name in judged},
        sufficient=draw(st.none() | st.booleans()),
        missing=draw(st.sampled_from(["", "who pays for it"])),
    )
    return before, with_further(before, new, grades)


def follows(work):
    """What the verdicts allow where nothing is left to look for."""
    return routing.after_looking(replace(work, rewrites=9), DEFAULT)


@thorough
@given(looked_again())
def test_while_something_correct_is_held_another_look_never_lowers_the_odds(looks):
    before, after = (log_odds(routing.evidence_of(work), EvidenceWeights()) for work in looks)

    assert after >= before - 1e-9


@thorough
@given(looked_again())
def test_what_could_be_written_before_another_look_can_be_written_after_it(looks):
    before, after = looks

    if follows(before) == "generate":
        assert follows(after) == "generate"


@thorough
@given(looked_again())
def test_what_was_found_correct_stays_correct_and_ahead_with_all_its_evidence(looks):
    before, after = looks
    held = [each for each in before.passages if before.relevance_of(each) == "correct"]
    relevances = [after.relevance_of(each) for each in after.passages]

    found = relevances.count("correct")
    assert set(relevances[:found]) == {"correct"}
    assert set(held) <= set(after.passages[:found])
    for each in held:
        name = each.passage.id
        assert set(before.grades[name].evidence) <= set(after.grades[name].evidence)


@thorough
@given(looked_again())
def test_no_passage_is_lost_or_read_twice(looks):
    before, after = looks
    names = [each.passage.id for each in after.passages]

    assert len(names) == len(set(names))
    assert set(before.passages) <= set(after.passages)
    assert sorted(after.looks) == sorted(names)


@thorough
@given(looked_once(), st.lists(SCORES, max_size=4))
def test_without_anything_correct_a_look_that_brings_nothing_speaks_against(work, scores):
    nothing = replace(
        work,
        grades=dict.fromkeys(work.grades, Grade(relevance="ambiguous")),
        sufficient=(False,),
    )
    new = tuple(hit(f"New text {n}.", id=f"new{n}", score=score) for n, score in enumerate(scores))
    grades = Grades(of={each.passage.id: Grade(relevance="incorrect") for each in new}, sufficient=False)

    after = with_further(nothing, new, grades)

    assert after.missed == 1
    assert log_odds(routing.evidence_of(after), EvidenceWeights()) < log_odds(
        routing.evidence_of(nothing), EvidenceWeights()
    )


@thorough
@given(GRADE, GRADE)
def test_the_better_of_two_verdicts_counts_and_a_later_doubt_is_remembered(first, later):
    worth = ["incorrect", "ambiguous", "correct"].index

    both = first.or_better(later)

    assert worth(both.relevance) == max(worth(first.relevance), worth(later.relevance))
    assert both.is_doubted == (later.relevance == "incorrect" != first.relevance)
    if first.relevance == later.relevance:
        assert set(both.evidence) == {*first.evidence, *later.evidence}


@thorough
@given(looked_once(), st.booleans())
def test_a_draft_of_which_nothing_stood_speaks_against_whatever_was_found(work, is_enough):
    fallen = replace(work, drafts=1)
    grades = Grades(of={"new": Grade(relevance="incorrect")}, sufficient=is_enough)

    after = with_further(fallen, (hit("New.", id="new"),), grades)

    assert after.missed == 1
    assert after.sufficient == (is_enough,)


def test_whatever_is_correct_makes_the_whole_at_least_partial():
    passages = tuple(hit(f"Text {n}.", id=f"{n}") for n in range(8))
    grades = {each.passage.id: Grade(relevance="incorrect") for each in passages}
    work = Work(question="q", passages=passages, grades=grades, sufficient=(False,), confidence=0.5)

    assert not routing.evidence_of(work).is_partial
    for name in grades:
        found = replace(work, grades={**grades, name: Grade(relevance="correct")})
        assert routing.evidence_of(found).is_partial


# What is looked at


def at(start, text="", *, id="", source="handbook.md", score=0.5):
    """A passage of a document, by where it begins."""
    name = id or f"{source}:{start}"
    found = hit(text or _own_words(name), id=name, source=source, score=score)
    passage = replace(found.passage, start=start, end=start + len(found.passage.text))
    return replace(found, passage=passage)


def _own_words(name):
    """A text that shares no word with that of another name."""
    letters = sha256(name.encode()).hexdigest().translate(str.maketrans("0123456789", "ghijklmnop"))
    return " ".join(letters[start : start + 8] for start in range(0, 64, 8))


def graded(*passages, question="How much may a chair cost?", **relevances):
    grades = {name.replace("_", ":"): Grade(relevance=said) for name, said in relevances.items()}
    return Work(question=question, passages=passages, grades=grades, tried=(question,))


def names(hits):
    return [each.passage.id for each in hits]


def test_neighbours_of_correct_passages_come_before_strangers_and_the_nearest_first():
    known = at(1_000, id="known")
    work = graded(known, known="correct")
    strangers = [at(0, source=f"other{n}.md", score=1.0) for n in range(6)]
    beside = [at(start).passage for start in (0, 800, 1_200)]

    new = unseen(work, strangers, beside, limit=6)

    assert names(new)[:3] == ["handbook.md:800", "handbook.md:1200", "handbook.md:0"]
    assert names(new)[3:] == [f"other{n}.md:0" for n in range(3)]


def test_neighbours_take_half_of_the_places_while_strangers_want_the_others():
    known = [at(10_000 * n, id=f"known{n}") for n in range(4)]
    work = graded(*known, **{each.passage.id: "correct" for each in known})
    beside = [at(10_000 * n + off).passage for n in range(4) for off in (-900, 900)]
    strangers = [at(0, source=f"other{n}.md", score=1.0) for n in range(9)]

    crowded, alone = (unseen(work, found, beside, limit=8) for found in (strangers, []))

    assert sum(each.passage.source == "handbook.md" for each in crowded) == 4
    assert len(crowded) == len(alone) == 8


@pytest.mark.parametrize("relevance", ["ambiguous", "incorrect"])
def test_neighbours_of_what_is_not_correct_stay_behind_what_was_found(relevance):
    work = graded(at(1_000, id="known"), known=relevance)
    found = at(0, source="other.md", score=0.9)

    new = unseen(work, [found], [at(1_200).passage, found.passage], limit=8)

    assert names(new) == ["other.md:0", "handbook.md:1200"]


BOILERPLATE = (
    "Any exception to what is written on this page has to be agreed beforehand with the people team, who keep a list"
    " of what was agreed, look through it with the leads once in a quarter, and tell everybody in the company about it"
    " in the weekly call. Whoever reads {name} and finds a mistake on it opens a ticket for {name}."
)


def test_a_paragraph_that_is_the_same_but_for_a_few_words_counts_once():
    titles = ["travel", "lunch", "leave", "parking", "phones", "training", "visitors", "badges"]
    copies = [at(0, BOILERPLATE.format(name=name), source=f"{name}.md", score=1.0) for name in titles]
    other = at(0, source="chairs.md", score=0.1)
    work = graded(at(0, id="known"), known="correct")

    assert names(unseen(work, [*copies, other], [], limit=8)) == ["travel.md:0", "chairs.md:0"]


def test_a_paragraph_that_was_graded_before_is_not_graded_again_in_other_places():
    known = at(0, BOILERPLATE.format(name="travel"), id="known")
    copy = at(0, BOILERPLATE.format(name="lunch"), source="lunch.md")

    assert unseen(graded(known, known="incorrect"), [copy], [], limit=8) == ()


@pytest.mark.parametrize("name", ["chair", "2,500 pounds"])
def test_one_with_another_number_or_a_word_that_was_asked_for_is_read_after_the_others(name):
    copies = [
        at(0, BOILERPLATE.format(name=each), source=f"{n}.md", score=1 - n / 10)
        for n, each in enumerate(["travel", name])
    ]
    other = at(0, source="other.md", score=0.1)

    new = unseen(graded(at(0, id="known"), known="correct"), [*copies, other], [], limit=8)

    assert names(new) == ["0.md:0", "other.md:0", "1.md:0"]


@thorough
@given(
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), SCORES), max_size=12),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc")), max_size=6),
    st.dictionaries(st.sampled_from(["a:0", "b:1", "c:2"]), RELEVANCES),
    st.integers(1, 8),
)
def test_only_what_is_new_is_looked_at_each_once_and_no_more_than_there_is_room_for(
    found, around, verdicts, limit
):
    known = [at(n, id=f"{source}:{n}", source=source) for n, source in enumerate("abc")]
    work = replace(graded(*known), grades={name: Grade(relevance=said) for name, said in verdicts.items()})

    new = unseen(
        work,
        [at(start, id=f"{source}:{start}", source=source, score=score) for start, source, score in found],
        [at(start, id=f"{source}:{start}", source=source).passage for start, source in around],
        limit,
    )

    assert len(new) <= limit
    assert len(set(names(new))) == len(new)
    assert not set(names(new)) & set(names(known))
