"""What language models write comes through, what is planted in it does not: `python -m benchmarks drafts` in short."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.draft_labels import plain, read_items
from benchmarks.drafts import figures, play, play_all
from fakes.drafts import DraftModel, PromptBlock, blocks_of

ITEMS = read_items(Path(__file__).parents[2] / "benchmarks" / "evaluation" / "drafts.json")
#: At least, at most: on the eight items here and on the whole set.
KEPT, WHOLE, COST = 0.97, 0.95, 2.5
BESIDE_FALSEHOODS = 0.9


async def test_good_drafts_come_through():
    rows = await play_all(ITEMS)

    told = figures(rows)
    assert told["kept"] >= KEPT, told
    assert told["whole"] >= WHOLE, told
    assert sum(row.cost for row in rows) / len(rows) <= COST
    assert [row.unmatched + row.rejected for row in rows] == [()] * len(rows)


async def test_planted_falsehoods_are_not_shown_and_what_is_right_beside_them_is():
    rows = await play_all(ITEMS, "bad")

    told = figures(rows)
    assert told["false shown"] == 0, told
    assert told["kept"] >= BESIDE_FALSEHOODS, told
    assert [row.unmatched + row.rejected for row in rows] == [()] * len(rows)


async def test_a_judge_that_is_always_wrong_shows_what_is_planted_and_nothing_else():
    """So that the two tests above can fail."""
    rows = await play_all(ITEMS, "bad", error=1.0)

    assert figures(rows)["kept"] < BESIDE_FALSEHOODS / 2
    assert figures(rows)["false shown"] > 0


async def test_a_draft_that_was_labelled_for_another_question_is_reported():
    stranger = replace(ITEMS[1], sentences=ITEMS[0].sentences, id="mixed")
    model = DraftModel(item=stranger)

    assert not model.rejects("Nobody wrote this.")
    assert model.unmatched == ["Nobody wrote this."]


@pytest.mark.parametrize("which", ["good", "bad"])
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_the_labels_fit_the_drafts(item, which):
    shown = plain(item.draft(which))

    assert item.good(which)
    assert all(sentence in shown for sentence in item.good(which))
    assert all(plain(planted.text) in shown for planted in item.falsehoods(which))


def test_blocks_are_read_whatever_stands_behind_their_number():
    prompt = "<<abc123 strip 4 of guide.md>>\nfrom: Guide\nText.\n<<abc123 end>>"

    assert blocks_of(prompt, ["strip"]) == [PromptBlock(kind="strip", name="4", text="Text.")]
    assert blocks_of(prompt, ["strip"])[0].number == 4


async def test_what_a_question_costs_is_counted_in_calls_of_the_writer():
    row = await play(ITEMS[0])

    assert row.calls >= 3
    assert row.trips >= 2
    assert 1 < row.cost < row.calls


@pytest.mark.long
async def test_all_drafts_under_judges_that_tell_the_truth(shared_data):
    items = read_items(shared_data / "drafts" / "drafts.jsonl")

    rows, bad = await play_all(items), figures(await play_all(items, "bad"))

    good = figures(rows)
    assert min(good["kept"], good["answered"]) >= 0.97, good
    assert good["drafted once"] >= 0.95, good
    for language in {row.item.language for row in rows}:
        assert figures([row for row in rows if row.item.language == language])["kept"] >= 0.95, language
    assert bad["false shown"] <= 0.01, bad


@pytest.mark.long
async def test_all_drafts_under_judges_that_err_on_one_sentence_in_ten(shared_data):
    items = read_items(shared_data / "drafts" / "drafts.jsonl")

    good = figures(await play_all(items, error=0.1))
    bad = figures(await play_all(items, "bad", error=0.1))

    assert good["kept"] >= 0.93, good
    assert bad["false shown"] <= 0.05, bad
