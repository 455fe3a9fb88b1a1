"""How turns end, in the words of operators: the same at the terminal and on every view of the page."""

from __future__ import annotations

from collections.abc import Mapping

from core.traces.log import HALF, UNSURE, LoggedQuestion

#: By :attr:`LoggedQuestion.ending`, in the order of tables and plots.
ENDINGS: Mapping[str, str] = {
    "answered": "answered",
    HALF: "half answered",
    UNSURE: "answered, unsure",
    "approval_needed": "search proposed",
    "no_answer": "not answered",
    "clarify": "asked back",
    "failed": "failed",
}


def ended(question: LoggedQuestion) -> str:
    return ENDINGS.get(question.ending, question.ending)
