"""What a claim may not change in a sentence that it restates, and which source it must name."""

from __future__ import annotations

import pytest
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.text.restated import changes, idle, is_misplaced

SOURCE = "The tower is 300 metres tall. It was built in March 1889 by seven men. Doors do not close in June. It rains."


@pytest.mark.parametrize(
    "claim",
    [
        "The tower is 300 metres tall.",
        "The tower, built in 1889, is 300 metres tall.",
        "Seven men built it in March 1889.",
        "It was built in 1889.",
        "The doors never close in June.",
        "In 1889 it rained on 300 painters.",
    ],
)
def test_another_wording_changes_nothing(claim):
    assert changes(claim, [SOURCE], "") == []


@pytest.mark.parametrize(
    "claim",
    [
        "The tower is 1889 metres tall.",
        "It was built in June 1889 by seven men.",
        "Ninety men built it in March 1889.",
        "The doors close in June.",
        "The tower is not 300 metres tall.",
    ],
)
def test_a_figure_of_elsewhere_or_a_turn_of_meaning_is_told(claim):
    assert changes(claim, [SOURCE], "")


def test_a_footnote_leads_to_the_source_that_says_it():
    sources = {1: ("", SOURCE), 2: ("", "Bees like clover and heather.")}
    claim = "Bees like clover, and heather as well."

    assert not is_misplaced(claim, [2], sources)
    assert not is_misplaced(claim, [1, 2], sources)
    assert is_misplaced(claim, [1], sources)
    assert idle(claim, [1, 2], sources) == {1}
    assert idle("Bees like clover where the tower is tall.", [1, 2], sources) == set()


@thorough
@given(st.text(max_size=120))
def test_any_text_restates_itself(text):
    assert changes(text, [text], "") == []
    assert not is_misplaced(text, [1], {1: ("", text), 2: ("", text)})
    assert idle(text, [1, 2], {1: ("", text), 2: ("", text)}) == set()
