"""The beginning of a draft that is shown while the rest is written: what follows never changes it."""

from __future__ import annotations

import pytest
from fakes.passages import loose_strip
from hypothesis import given, settings
from hypothesis import strategies as st

from core.grounding.beginning import around_quotes, beginning, closed_claims
from core.grounding.citations import merge_footnotes, to_answer
from core.grounding.claims import claims_of
from core.grounding.verdicts import Verdict, remove_unsupported, statements_of
from core.reasoning.reasoner import Draft

STRIPS = (
    loose_strip("The ferry leaves at nine. It takes forty minutes. Dogs travel free.", number=1),
    loose_strip("The pontoon closes at ten. Tickets cost 12 euros.\n\n```\nferry --book\n```\n", number=2),
    loose_strip("| Day | Ferries |\n|---|---|\n| Monday | 4 |\n| Sunday | 2 |", number=3),
)
MARKS = ("", " [1]", " [2]", " [1][3]", " [1] [2]", "[3]")
SENTENCES = (
    "The ferry leaves at nine.", "It takes forty minutes.", "Dogs travel free.", "Tickets cost 12 euros.",
    "Yes.", "In short:", "The pontoon closes at ten!", "Is it late?", "Hope that helps.",
)  # fmt: skip
BLOCKS = (
    "- The ferry leaves at nine{}\n- Dogs travel free{}", "1. Book a ticket{}\n2. Go to the pontoon{}",
    "```\nferry --book\n```{}", "| Day | Ferries |\n|---|---|\n| Monday | 4{} |\n| Sunday | 2{} |",
    "**Times**", "> The pontoon closes at ten.{}",
)  # fmt: skip

sentences = st.builds(str.__add__, st.sampled_from(SENTENCES), st.sampled_from(MARKS))
paragraphs = st.lists(sentences, min_size=1, max_size=4).map(" ".join)
blocks = st.builds(
    lambda block, one, two: block.format(one, two), st.sampled_from(BLOCKS), *[st.sampled_from(MARKS)] * 2
)
drafts = st.lists(paragraphs | blocks, min_size=1, max_size=4).map("\n\n".join)


def answer_to(draft: str, rejected: frozenset[int]) -> str:
    """The whole answer, as people read it."""
    statements = statements_of(claims_of(draft), STRIPS)
    verdicts = {each.number: verdict(each.cites, each.number in rejected) for each in statements}
    kept = remove_unsupported(draft, verdicts, STRIPS) if statements else None
    return (
        merge_footnotes(to_answer(Draft(text=kept.text, composed=True), STRIPS, kept.stated)).text
        if kept
        else ""
    )


def verdict(cites, is_rejected=False) -> Verdict:
    return Verdict(is_supported=not is_rejected, cites=cites)


def shown_of(written: str) -> str:
    """What is shown of a draft that is written so far, if all closed sentences are confirmed."""
    statements = statements_of(closed_claims(written), STRIPS)
    verdicts = {each.number: verdict(each.cites) for each in statements}
    answer = beginning(written, claims_of(written), verdicts, STRIPS) if statements else None
    return answer.text if answer else ""


@given(
    draft=drafts,
    cut=st.integers(min_value=1, max_value=400),
    rejected=st.frozensets(st.integers(2, 9), max_size=3),
)
@settings(max_examples=300, deadline=None)
def test_the_whole_answer_begins_with_what_was_shown_of_it(draft, cut, rejected):
    written = draft[:cut]
    judged = len(closed_claims(written))
    shown = shown_of(written)

    assert answer_to(draft, frozenset(number for number in rejected if number > judged)).startswith(shown)


@given(draft=drafts, cut=st.integers(min_value=1, max_value=400))
@settings(max_examples=300, deadline=None)
def test_closed_claims_stay_what_they_are(draft, cut):
    early, whole = closed_claims(draft[:cut]), claims_of(draft)

    for one, later in zip(early, whole, strict=False):
        assert (one.as_judged, one.kind, one.block) == (later.as_judged, later.kind, later.block)
        assert set(one.cited) <= set(later.cited)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("The ferry leaves at nine [1]", ""),  # its end is not there yet
        ("The ferry leaves at nine. [1]", ""),  # code may follow, which would go with it
        ("The ferry leaves at nine. [1] It", "The ferry leaves at nine."),  # the next may have the same footnote
        ("The ferry leaves at nine. [1]\n\nThe pontoon closes", "The ferry leaves at nine. [1]"),
        ("The ferry leaves like this: [1]\n\n```\nferry --bo", ""),
        ("There are these ferries: [3]\n\n- Monday", ""),  # without an item it would say nothing
        ("There are these ferries: [3]\n\n- Monday has four [3]\n- Sunday has two",
         "There are these ferries: [1]\n\n- Monday has four [1]"),
        ("It costs {calc: 2 * 12} euros. [2] The pontoon closes", ""),  # computed once the draft is whole
    ],
)  # fmt: skip
def test_of_a_draft_what_nothing_can_change_any_more_is_shown(written, shown):
    assert shown_of(written) == shown


def test_what_confirms_a_sentence_is_what_its_footnote_would_quote():
    long = loose_strip("One. Two. Three. Four. The ferry leaves at nine. Six. Seven. Eight. Nine.")
    statements = statements_of(claims_of("The ferry leaves at nine. [1]"), [long])

    (part,) = around_quotes(long, statements)

    assert part.text == "Four. The ferry leaves at nine. Six."
    assert part.number == 1
