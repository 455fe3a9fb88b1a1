"""Which sentences of a passage answer a question."""

from __future__ import annotations

from fakes.passages import documents, loose_strip, thorough
from hypothesis import given

from core.reasoning.selection import candidates
from core.text.sentences import split_units
from core.text.terms import query_terms


def hits(*texts: str):
    return [loose_strip(text, number=number).retrieved for number, text in enumerate(texts, start=1)]


def best(question: str, *texts: str) -> str:
    weights = dict.fromkeys(query_terms(question), 1.0)
    first = candidates(question, weights, hits(*texts))[0]
    return texts[first.passage][first.span.start : first.span.end]


def test_the_sentence_with_the_words_of_the_question_comes_first():
    assert (
        best("How large is the cache?", "Logs are kept. The cache is twice as large. Nothing else.")
        == "The cache is twice as large."
    )


def test_a_number_is_preferred_where_one_is_asked_for():
    text = "Entries of the cache are kept there. Entries of the cache number 300."

    assert best("How many entries has the cache?", text) == "Entries of the cache number 300."


def test_a_sentence_that_asks_answers_less_than_one_that_tells():
    text = "What is the cache for? The cache is for speed."

    assert best("What is the cache for?", text) == "The cache is for speed."


def test_words_that_follow_each_other_as_in_the_question_count_more():
    text = "The cache file is in the log. The log file is in the cache."

    assert best("Where is the log file?", text) == "The log file is in the cache."


def test_a_sentence_may_go_on_from_the_one_before():
    text = "Colours vary much. The cache is new. It holds ten entries. Colours fade soon."

    assert best("How many entries does the cache hold?", text) == "It holds ten entries."
    weights = {"cach": 1.0, "size": 1.0}
    ranked = candidates("cache size", weights, hits(text))
    assert [c.unit for c in ranked[:2]] == [1, 2]


def test_meaning_counts_where_it_is_known():
    question, text = "How quick is it?", "Alpha beta gamma delta. Epsilon zeta eta theta."

    plain = candidates(question, {}, hits(text))
    meant = candidates(question, {}, hits(text), {(0, 1): 0.9})

    assert [c.unit for c in plain] == [0, 1]
    assert [c.unit for c in meant] == [1, 0]


def test_headings_count_for_what_stands_below_them():
    below = [loose_strip("It is on by default.", path=("Caching",)).retrieved]
    elsewhere = [loose_strip("It is on by default.", path=("Logging",)).retrieved]

    weights = {"cach": 1.0}

    assert candidates("caching", weights, below)[0].score > candidates("caching", weights, elsewhere)[0].score


def test_what_a_thing_is_stands_first_below_the_heading_that_names_it():
    about = "# Turrets\n\nA room on a roof looks far. It was for watchmen.\n\n## Roofs\n\nPaint turrets with care."
    assert best("What is a turret?", about) == "A room on a roof looks far."

    assert (
        best("What is a turret?", "Paint a turret with care. A turret is a small room.")
        == "A turret is a small room."
    )


def test_steps_come_before_remarks_and_pointers_where_somebody_asks_how():
    steps = "# Mount disks\n\n1. Open the disk.\n2. Mount the disk."
    remark = "# Windows\n\nYou can also mount a disk here. Read more about how to mount a disk elsewhere."

    assert best("How do I mount a disk?", remark, steps) == "Mount the disk."


def test_a_sentence_that_repeats_the_question_leaves_the_answer_to_the_next():
    text = "How turrets are painted. First sand the walls, then use two coats."

    assert best("How are turrets painted?", text) == "First sand the walls, then use two coats."
    assert best("Are turrets painted?", "Turrets are painted. Sand the walls.") == "Turrets are painted."


def test_what_a_question_names_as_it_is_typed_is_in_the_sentence():
    text = "What every command does is told here. `--every 1h` reads anew."

    assert best("what does --every do", text) == "`--every 1h` reads anew."
    assert best("what does `--every 1h` do", text) == "`--every 1h` reads anew."


@thorough
@given(documents)
def test_every_quotable_unit_is_a_candidate_once(text):
    found = candidates("What is the cache?", {"cach": 2.0}, hits(text))

    quotable = [n for n, unit in enumerate(split_units(text)) if unit.kind not in ("heading", "markup")]
    assert sorted(candidate.unit for candidate in found) == quotable
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
    assert all(0 <= candidate.coverage <= 1 for candidate in found)
