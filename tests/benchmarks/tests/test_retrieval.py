"""The measuring of retrieval, on a set small enough to know the ranks by heart."""

from __future__ import annotations

import json

import pytest
from benchmarks import evaluation_sets, retrieval
from benchmarks.evaluation_sets import LabelledQuestion

TEXTS = ("Cats purr at night.", "Dogs bark at the moon.", "The moon is far away.")


def put_lines(file, *rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def library(tmp_path):
    library = evaluation_sets.open_library(tmp_path / "library", None)
    evaluation_sets.fill(library, [(f"/set/{number}", "", (text,)) for number, text in enumerate(TEXTS)])
    yield library
    library.close()


def asked(question, *gold):
    return LabelledQuestion(
        id=question, question=question, gold=frozenset((f"/set/{number}", 0) for number in gold)
    )


def test_the_rank_is_that_of_the_first_gold_passage(library):
    questions = [asked("Which cats purr?", 0), asked("Do dogs bark at the moon?", 2), asked("zeppelin", 0)]

    assert retrieval.ranks(library, questions) == [1, 2, retrieval.NOT_FOUND]


def test_any_of_several_gold_passages_counts(library):
    assert retrieval.ranks(library, [asked("Do dogs bark at the moon?", 1, 2)]) == [1]


def test_a_rank_counts_for_every_depth_that_reaches_it():
    assert [retrieval.share([1, 3, 6, retrieval.NOT_FOUND], at).figure for at in (1, 5, 10)] == [
        0.25,
        0.5,
        0.75,
    ]


def test_a_heading_asks_for_the_passages_below_it_and_no_others(tmp_path):
    long = "A sentence about it that fills its line to the end. " * 12
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text(f"# Title\n\n{long}\n\n## Cats\n\n{long}\n\n## Dogs {'{ #dogs }'}\n\n{long}\n")
    library = evaluation_sets.open_library(tmp_path / "library", None)
    library.ingest([docs])

    questions = {each.question: each.gold for each in evaluation_sets.headings(library)}
    library.close()

    starts = sorted(start for gold in questions.values() for _, start in gold)
    assert list(questions) == ["Title", "Cats", "Dogs"]
    assert len(starts) == len(set(starts)) == 3


def test_a_file_without_headings_asks_nothing(tmp_path):
    (tmp_path / "a.md").write_text("Only a sentence.\n")
    library = evaluation_sets.open_library(tmp_path / "library", None)
    library.ingest([tmp_path / "a.md"])

    assert evaluation_sets.headings(library) == ()
    library.close()


def test_a_turn_remembers_the_turns_before_it(tmp_path):
    said = [
        {"speaker": "user", "text": "Cats?"},
        {"speaker": "agent", "text": "They purr." + " x" * 1_000},
        {"speaker": "user", "text": "When?"},
    ]
    put_lines(tmp_path / "mtrag/passages.jsonl", {"id": "p1", "text": TEXTS[0]})
    put_lines(
        tmp_path / "mtrag/tasks.jsonl",
        {"task_id": "t", "input": said, "contexts": [{"document_id": "p1"}], "answerability": ["ANSWERABLE"]},
        {"task_id": "u", "input": said[:1], "contexts": [], "answerability": ["UNANSWERABLE"]},
    )

    corpus = evaluation_sets.mtrag(tmp_path)

    ((turn,), (unanswerable,)) = corpus.questions, corpus.near
    assert (turn.question, turn.gold) == ("When?", {("/mtrag/p1", 0)})
    assert [(e.question, e.answer[:10]) for e in turn.history] == [("Cats?", "They purr.")]
    assert len(turn.history[0].answer) == evaluation_sets.ANSWER_REMEMBERED
    assert unanswerable.history == ()


def test_a_part_keeps_the_gold_passages_of_what_it_asks(shared_data):
    whole = evaluation_sets.squad(shared_data)

    part = evaluation_sets.part(whole, 10)

    held = {source for source, _, _ in part.documents}
    assert {source for question in part.questions for source, _ in question.gold} <= held
    assert 10 <= len(part.questions) <= 20
    assert len(held) < len(whole.documents)


def test_a_quick_run_measures_every_set(shared_data):
    section = retrieval.run(print, data=shared_data, quick=True)

    (table,) = section.tables
    assert [row[0] for row in table.rows] == list(retrieval.SETS.values())
    assert section.figures.keys() == {
        f"{name}_words_r{at}" for name in retrieval.SETS for at in retrieval.RANKS
    }
    assert all(0.5 < section.figures[f"{name}_words_r5"] <= 1 for name in retrieval.SETS)
