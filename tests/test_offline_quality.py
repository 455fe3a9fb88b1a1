"""What the offline promise is worth: everyday questions over real documents, through the real command."""

from __future__ import annotations

from benchmarks.offline_answers import ask, questions_of, score


def test_everyday_questions_are_answered_from_the_right_file_or_held_back(shared_data, tmp_path):
    docs, questions = shared_data / "fastapi_docs", questions_of("everyday")

    figures = score(docs, questions, ask(docs, questions, "none", tmp_path))

    assert figures["right"] >= 0.85
    assert figures["held back"] >= 0.90
    assert figures["not verbatim"] == 0
