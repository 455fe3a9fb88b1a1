"""Every benchmark over the sets ends in whole tables on any split of them, however little it holds."""

from __future__ import annotations

import json
import math

import pytest
from benchmarks import citations, confidence, extraction, judges, retrieval

from bots.testing.report import as_json

TEXT = "The harbour is old. Ferries leave the harbour at seven in the morning. Tickets are sold on board."
MARKED = "Ferries leave the harbour at seven in the morning."


def squad_question(number, *, answerable):
    return {
        "id": f"q{number}", "article": "Harbour", "paragraph": "Harbour#0", "answerable": answerable,
        "question": "When do ferries leave the harbour?", "answers": ["at seven"] if answerable else [],
    }  # fmt: skip


def clapnq_question(number, *marked):
    passage = {"title": "Harbour", "text": TEXT, "sentences": [MARKED]}
    return {
        "id": f"c{number}", "input": "When do ferries leave?", "passages": [passage],
        "output": [{"selected_sentences": marked}],
    }  # fmt: skip


def mtrag_task(number, *, answerable, turns=1):
    said = [{"speaker": "user", "text": "When do ferries leave?"}, {"speaker": "agent", "text": "At seven."}]
    return {
        "task_id": f"t{number}", "input": (said * turns)[:-1],
        "contexts": [{"document_id": "p1"}] if answerable else [],
        "answerability": ["ANSWERABLE" if answerable else "UNANSWERABLE"],
    }  # fmt: skip


NOTHING: dict[str, list] = {
    "squad2/paragraphs": [], "squad2/questions": [], "clapnq/answerable": [], "clapnq/unanswerable": [],
    "mtrag/passages": [], "mtrag/tasks": [],
}  # fmt: skip
PASSAGES = {
    "squad2/paragraphs": [{"id": "Harbour#0", "title": "Harbour", "text": TEXT}],
    "mtrag/passages": [{"id": "p1", "text": TEXT}],
}
ANSWERABLE = {
    "squad2/questions": [squad_question(1, answerable=True)],
    "clapnq/answerable": [clapnq_question(1, MARKED)],
    "mtrag/tasks": [mtrag_task(1, answerable=True)],
}
UNANSWERABLE = {
    "squad2/questions": [squad_question(2, answerable=False)],
    "clapnq/unanswerable": [clapnq_question(2)],
    "mtrag/tasks": [mtrag_task(2, answerable=False)],
}
SPLITS = {
    "nothing": NOTHING,
    "passages without questions": NOTHING | PASSAGES,
    "one answerable question": NOTHING | PASSAGES | ANSWERABLE,
    "one unanswerable question": NOTHING | PASSAGES | UNANSWERABLE,
    "one follow-up": NOTHING | PASSAGES | {"mtrag/tasks": [mtrag_task(3, answerable=True, turns=2)]},
    "an answer of which no sentence is marked": NOTHING | {"clapnq/answerable": [clapnq_question(4)]},
    "a turn of no known kind": NOTHING | PASSAGES | {"mtrag/tasks": [mtrag_task(5, answerable=True) | {"answerability": []}]},
}  # fmt: skip


@pytest.fixture
def data(tmp_path):
    def write(split):
        for name, rows in split.items():
            file = tmp_path / f"{name}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (tmp_path / "fastapi_docs").mkdir()
        return tmp_path

    return write


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
@pytest.mark.parametrize(
    "benchmark", [citations, extraction, retrieval, confidence, judges], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("quick", [False, True], ids=["whole", "quick"])
def test_a_split_that_holds_little_is_measured_all_the_same(data, benchmark, split, quick):
    section = benchmark.run(print, data=data(split), quick=quick)

    assert section.tables
    assert all(len(row) == len(table.columns) for table in section.tables for row in table.rows)
    assert json.loads(as_json(section))


def test_what_was_counted_on_one_question_is_told_and_the_rest_is_left_open(data):
    folder = data(NOTHING | PASSAGES | ANSWERABLE)

    footnotes, found = citations.run(print, data=folder), retrieval.run(print, data=folder)

    assert footnotes.figures["squad: recall"] == 1.0
    assert found.figures["squad_words_r1"] == 1.0
    assert math.isnan(found.figures["mtrag_words_r1"])  # which counts follow-ups alone
    assert [row[2] for row in found.tables[0].rows if row[1] == 0] == ["–", "–"]
