"""The measuring of indexing: the published pipeline's steps, and both sides in turn."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import indexing
from fakes.tiny_network import write_tiny_network
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(alphabet="ab \n", max_size=9_000))
def test_chunks_are_short_and_hold_every_word(text):
    chunks = indexing.split(text)

    assert all(0 < len(chunk) <= indexing.CHUNK for chunk in chunks)
    assert {*"".join(text.split())} == {*"".join("".join(chunks).split())}


def test_a_text_is_cut_at_paragraphs_first_and_each_chunk_repeats_the_end_of_the_one_before():
    paragraphs = [f"{letter * 150}" for letter in "abcdefghijkl"]

    first, second, *_ = indexing.split("\n\n".join(paragraphs))

    assert first == "\n\n".join(paragraphs[:6])
    assert second.startswith(paragraphs[5])


def test_the_pipeline_stores_every_chunk(tmp_path):
    file = tmp_path / "a.md"
    file.write_text("word " * 1_000)

    assert indexing.published_index(
        [file], tmp_path / "chroma", lambda texts: [[1.0, 0.0] for _ in texts]
    ) == len(indexing.split(file.read_text()))


def test_both_sides_index_in_turn_and_a_first_run_does_not_count(tmp_path):
    seen = []

    def side(name, passages):
        def index(files, folder):
            assert list(folder.iterdir()) == []
            seen.append(name)
            (folder / "file").touch()
            return passages

        return index

    mine, theirs = indexing.side_by_side([Path("a.md")], side("ours", 9), side("theirs", 3), runs=2)

    assert seen == ["ours", "theirs"] * 3
    assert len(mine.wall) == len(theirs.cpu) == 2


@pytest.mark.parametrize("has_network", [False, True])
def test_the_quick_form_measures_each_phase_and_one_change(shared_data, tmp_path, has_network, monkeypatch):
    network = str(write_tiny_network(tmp_path / "tiny")) if has_network else "none"
    monkeypatch.setattr(indexing, "_chromas_own", lambda _model: indexing._constant)

    section = indexing.run(print, data=shared_data, model=network, quick=True)

    phases, change = section.tables
    assert [row[0] for row in phases.rows] == ["words", "vectors too"][: 1 + has_network]
    assert all(ours > 0 and theirs > 0 for _, _, ours, theirs, *_ in phases.rows)
    ((among, seconds, cpu, _),) = change.rows
    assert among == indexing.QUICK_KEPT
    assert cpu > 0
    assert seconds > 0
