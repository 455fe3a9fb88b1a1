"""Words about logged questions and their gaps, the same at the terminal and on the page, in English for operators."""

from __future__ import annotations

from collections.abc import Mapping

from bots.chat.texts import counted
from core.gaps.groups import GapGroup, GapReport
from core.gaps.questions import LIMIT
from core.traces.figures import HALF, UNSURE
from core.traces.log import LoggedQuestion

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
#: Why a question is a gap.
REASONS: dict[str, str] = {
    "unanswered": "not answered",
    "denied": "search denied",
    "undecided": "search not decided",
    "unsure": "unsure",
    "rated_down": "rated down",
}
#: What people say is wrong with an answer, as the buttons are called.
FAULTS: dict[str, str] = {
    "wrong": "it is wrong",
    "outdated": "it is outdated",
    "incomplete": "it is incomplete",
    "unrelated": "it is not what was asked",
}


def missing_in(group: GapGroup) -> str:
    """What judges and people said is missing or wrong: "no date; it is incomplete"."""
    return "; ".join(FAULTS.get(each, each) for each in group.missing)


def ended(question: LoggedQuestion) -> str:
    return ENDINGS.get(question.ending, question.ending)


def people_of(group: GapGroup) -> str:
    return "1 person" if group.people == 1 else f"{group.people:,} people"


def trend_of(group: GapGroup) -> str:
    """Beside the span of the same length before: "new", "3 more than before"."""
    if not group.before:
        return "new"
    more = group.count - group.before
    if not more:
        return "as many as before"
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'} than before"


def reasons_of(group: GapGroup) -> str:
    """ "3 not answered, 1 rated down"."""
    return ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in group.reasons.items())


def left_out(report: GapReport) -> tuple[str, ...]:
    """The questions that no group has, as sentences."""
    sentences = []
    if report.closed:
        sentences.append(f"{counted(report.closed, 'more question')} in channels that may not be read here.")
    if report.wordless:
        sentences.append(
            f"{counted(report.wordless, 'more question')} whose words are not kept any more (TRACE_DAYS)."
        )
    if report.is_cut:
        sentences.append(f"Only the newest {LIMIT:,} questions were grouped.")
    return tuple(sentences)
