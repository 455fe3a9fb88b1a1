"""From graded passages to the strips worth reading."""

from __future__ import annotations

import pytest
from fakes.passages import documents, loose_strip, passages_of, thorough, units_of, written
from fakes.scripted import hit
from hypothesis import given
from hypothesis import strategies as st

from core.grounding.strips import LIST_LENGTH, STRIP_LENGTH, STRIP_LIMIT, refine
from core.reasoning.reasoner import Grade
from core.text.sentences import split_units

GUIDE = """The cache is quick. It keeps 300 entries. This is enough.

Clear it so:

```python
cache.clear()
```

/// tip

They are cleared at night too.

///

The cache has three levels:

- memory
- disk
- network

## Logs

So are the logs.
"""


def texts(*evidence: str, around: int = 0, text: str = GUIDE) -> list[str]:
    """The strips of a passage for the units that begin with these words."""
    hit = loose_strip(text).retrieved
    numbers = tuple(
        number
        for number, (_, words) in enumerate(units_of(text), start=1)
        if any(words.startswith(start) for start in evidence)
    )
    grades = {hit.passage.id: Grade(relevance="correct", evidence=numbers)}
    return [strip.text for strip in refine([hit], grades, around=around)]


def test_a_sentence_that_stands_alone_comes_alone():
    assert texts("The cache is quick") == ["The cache is quick."]


def test_a_pronoun_brings_what_it_stands_for():
    assert texts("It keeps") == ["The cache is quick. It keeps 300 entries."]


def test_a_pronoun_that_leans_on_a_pronoun_brings_both():
    assert texts("This is enough") == ["The cache is quick. It keeps 300 entries. This is enough."]


def test_a_pronoun_reaches_over_markup_and_brings_none_at_the_beginning():
    (strip,) = texts(
        "They are cleared", text="Files pile up.\n\n/// tip\n\nThey are cleared at night.\n\n///\n\nEnd."
    )

    assert strip == "Files pile up.\n\n/// tip\n\nThey are cleared at night."
    assert texts("They are", text="/// tip\n\nThey are cleared.\n\n///") == ["They are cleared."]


def test_a_pronoun_does_not_reach_over_a_heading():
    assert texts("So are the logs") == ["So are the logs."]


def test_code_brings_the_sentence_that_introduces_it():
    assert texts("```python") == ["Clear it so:\n\n```python\ncache.clear()\n```"]


def test_code_brings_its_introduction_over_markup():
    text = "Look here:\n\n/// note\n\n```\nx\n```\n\n///"

    assert texts("```", text=text) == ["Look here:\n\n/// note\n\n```\nx\n```"]


def test_an_introduction_brings_the_code_it_announces():
    assert texts("Clear it") == ["Clear it so:\n\n```python\ncache.clear()\n```"]


def test_an_introduction_brings_the_list_it_announces():
    (strip,) = texts("The cache has")

    assert strip.splitlines() == ["The cache has three levels:", "", "- memory", "- disk", "- network"]


def test_an_introduction_brings_the_paragraph_it_announces():
    text = "Note this:\n\nKeys expire. They are renewed.\n\nLogs are kept."

    assert texts("Note", text=text) == ["Note this:\n\nKeys expire. They are renewed."]


@pytest.mark.parametrize(
    "announced", ["- pension\n- leave", "1. pension\n2. leave", "```\npension\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "A pension."]
)  # fmt: skip
def test_a_neighbour_that_ends_in_a_colon_brings_what_it_announces(announced):
    text = f"Staff are looked after. We pay for these:\n\n{announced}\n\nAsk Ann."

    assert texts("Staff are", around=1, text=text) == [
        f"Staff are looked after. We pay for these:\n\n{announced}"
    ]


def test_what_is_announced_may_announce_more():
    text = "Do this:\n\nFirst look here:\n\n```\nls\n```\n\nThen go."

    assert texts("Do this", text=text) == ["Do this:\n\nFirst look here:\n\n```\nls\n```"]


def test_a_row_that_ends_in_a_colon_announces_nothing():
    table = "a | b\n---|---\n1 | see:"

    assert texts("a |", text=f"{table}\n\nEnd.") == [table]


def test_an_item_of_an_announced_list_brings_the_list():
    assert texts("disk") == texts("The cache has")


def test_an_item_of_a_long_list_comes_alone():
    text = "Levels:\n\n" + "\n".join(f"- level {number} {'x' * LIST_LENGTH}" for number in range(3))

    assert texts("level 1", text=text) == [f"level 1 {'x' * LIST_LENGTH}"]


def test_evidence_side_by_side_is_one_strip():
    assert texts("The cache is quick", "It keeps") == ["The cache is quick. It keeps 300 entries."]


def test_evidence_apart_is_several_strips_numbered_in_order():
    hit = loose_strip("One is. Two is. Three is.").retrieved
    grades = {hit.passage.id: Grade(relevance="correct", evidence=(3, 1))}

    strips = refine([hit], grades, around=0)

    assert [(strip.number, strip.text) for strip in strips] == [(1, "One is."), (2, "Three is.")]


def test_neighbours_come_along_without_a_heading_at_the_end():
    assert texts("network", around=1, text="# Title\n\n- network\n\n## Logs\n\nSo are they.") == ["network"]


def test_a_strip_does_not_grow_past_its_length():
    sentence = "Word " * 200 + "end. "

    strips = texts("Word", text=sentence * 5)

    assert len(strips) > 1
    assert all(len(strip) <= STRIP_LENGTH for strip in strips)


@pytest.mark.parametrize("evidence", [(), (99,), (0, -1), (1,)])
def test_evidence_that_names_nothing_quotable_keeps_the_passage_whole(evidence):
    text = "# Title\n\nOne. Two."
    hit = loose_strip(text).retrieved

    strips = refine([hit], {hit.passage.id: Grade(relevance="correct", evidence=evidence)}, around=0)

    assert [strip.text for strip in strips] == [text]


def test_a_passage_without_a_grade_is_kept_and_an_incorrect_one_is_not():
    kept, dropped = (loose_strip("One.", number=number).retrieved for number in (1, 2))

    strips = refine([kept, dropped], {"2": Grade(relevance="incorrect", evidence=(1,))}, around=0)

    assert [strip.retrieved for strip in strips] == [kept]


def test_there_are_never_more_strips_than_a_draft_can_hold():
    hit = loose_strip(" ".join(f"Sentence {number} is." for number in range(60))).retrieved
    grades = {hit.passage.id: Grade(relevance="correct", evidence=tuple(range(1, 60, 2)))}

    assert len(refine([hit], grades, around=0)) == STRIP_LIMIT


def test_the_same_grades_give_the_same_strips():
    hit = loose_strip(GUIDE).retrieved
    grades = {hit.passage.id: Grade(relevance="ambiguous", evidence=(2, 7))}

    assert refine([hit], grades, around=1) == refine([hit], grades, around=1)


LEADS = st.sampled_from(["Do this:", "It is so. Then **do:**", "これです：", "- in short:"])


@thorough
@given(st.lists(LEADS | documents, max_size=6).map("\n\n".join), st.data())
def test_no_strip_ends_in_a_colon_before_what_it_announces(text, data):
    hit = loose_strip(text).retrieved
    units = split_units(text)
    evidence = tuple(data.draw(st.lists(st.integers(1, max(len(units), 1)), max_size=3)))
    around = data.draw(st.integers(0, 2))

    strips = refine([hit], {hit.passage.id: Grade(relevance="correct", evidence=evidence)}, around=around)

    for strip in strips:
        last = [unit for unit in units if strip.start <= unit.start and unit.end <= strip.end][-1:]
        behind = [unit for unit in units if unit.start >= strip.end and unit.kind != "markup"]
        if last and last[0].kind in ("sentence", "item") and strip.text.endswith((":", "：")):
            assert (
                not behind or behind[0].kind == "heading" or any(s.start == behind[0].start for s in strips)
            )


@thorough
@given(documents, st.data())
def test_a_strip_is_a_stretch_of_its_passage_and_holds_its_evidence(text, data):
    hit = loose_strip(text).retrieved
    count = len(split_units(text))
    evidence = tuple(data.draw(st.lists(st.integers(1, max(count, 1)), max_size=3)))
    around = data.draw(st.integers(0, 2))

    strips = refine([hit], {hit.passage.id: Grade(relevance="correct", evidence=evidence)}, around=around)

    for strip in strips:
        assert strip.text == text[strip.start : strip.end]
    for number in evidence:
        unit = split_units(text)[number - 1] if count else None
        if unit and unit.kind not in ("heading", "markup"):
            assert any(strip.start <= unit.start and unit.end <= strip.end for strip in strips)


def test_strips_of_a_file_stand_in_the_file(tmp_path):
    hits = written(
        tmp_path,
        f"# Guide\n\n{GUIDE}\n" + "\n\n".join(f"## Part {n}\n\n" + "It is so. " * 40 for n in range(5)),
    )
    text = (tmp_path / "guide.md").read_text()

    strips = refine(
        hits, {hit.passage.id: Grade(relevance="correct", evidence=(2,)) for hit in hits}, around=1
    )

    assert len({strip.retrieved.passage.id for strip in strips}) == len(hits) > 3
    assert all(strip.text == text[strip.start : strip.end] for strip in strips)


def test_strips_of_a_real_documentation_stand_in_its_files(shared_data):
    for file in sorted((shared_data / "fastapi_docs").rglob("*.md"))[::5]:
        text = file.read_text(encoding="utf-8")
        for found in passages_of(file):
            grades = {found.passage.id: Grade(relevance="correct", evidence=(1, 4))}
            for strip in refine([found], grades, around=1):
                assert strip.text == text[strip.start : strip.end]


def test_where_many_passages_state_a_part_of_the_answer_none_of_them_is_left_out():
    passages = [hit(f"Style {n} is there.", id=f"{n}") for n in range(20)]
    grades = {each.passage.id: Grade(relevance="correct", evidence=(1,)) for each in passages[:18]}

    assert len(refine(passages, grades, around=1)) == 18
    assert len(refine(passages, {}, around=1)) == STRIP_LIMIT


def test_an_item_beside_the_evidence_is_read_from_its_beginning():
    text = "- `methods` are allowed. By default `GET`.\n- `age` is kept. By default `600`.\n"

    (strip,) = refine([hit(text, id="a")], {"a": Grade(relevance="correct", evidence=(3,))}, around=1)

    assert strip.text == text.strip().removeprefix("- ")


def test_an_item_is_read_to_its_end_where_its_exceptions_may_stand():
    text = (
        "1. **Carrying over.** Up to eight days. They expire in June.\n   The page follows. Does not hold for the UK.\n"
        "2. **Home.** From April on.\n"
    )

    (strip,) = refine([hit(text, id="a")], {"a": Grade(relevance="correct", evidence=(2,))}, around=1)

    assert strip.text == text.partition("\n2. ")[0].removeprefix("1. ")


def test_items_of_html_are_not_one():
    text = "<ul>\n<li>One is.</li>\n<li>Two is.</li>\n<li>Three is.</li>\n</ul>\n"

    (strip,) = refine([hit(text, id="a")], {"a": Grade(relevance="correct", evidence=(2,))}, around=0)

    assert strip.text == "<li>One is.</li>"
