"""How all questions ended: by kind, in shares, and the worst cases with what was said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bots.chat.texts import clipped, counted, text_of
from bots.eval.answers import BAD, GOOD, Judged, Verdict
from bots.eval.intervals import wilson, with_interval
from bots.eval.questions import Expected
from bots.eval.sections import Plot, Section, Table
from core.conversation import value

WORST_SHOWN = 25  # cases; more are in the JSON
SAID_SHOWN = 280  # characters of what was said in one of them


@value
class Counted:
    """A share of something."""

    name: str  #: of the figure
    label: str
    hits: int
    of: int


def outcomes(judged: Sequence[Judged], limits: str = "") -> Section:
    shares = _shares(judged)
    verdicts = Counter(each.verdict for each in judged)
    return Section(
        name="answers",
        title="Answers",
        what=(
            "Every question went through the real assistant as `footnote ask --batch` does; right means answered "
            "from an acceptable file with the expected words, or held back where the documents give no answer."
        ),
        tables=(
            _by_kind(judged),
            Table(
                title="Shares, with 95% intervals",
                columns=("of", "number", "share"),
                rows=tuple((each.label, each.of, with_interval(each.hits, each.of)) for each in shares),
                note=_unchecked(judged),
            ),
        ),
        plots=(
            Plot(
                title="How the questions ended",
                kind="bars",
                x=tuple(verdict for verdict, _ in verdicts.most_common()),
                series={"questions": tuple(count for _, count in verdicts.most_common())},
                unit="questions",
            ),
            *_kinds_drawn(judged),
        ),
        figures={each.name: each.hits / each.of for each in shares},
        limits=limits,
    )


def _shares(judged: Sequence[Judged]) -> tuple[Counted, ...]:
    answerable = [each for each in judged if each.expected.answerable]
    unanswerable = [each for each in judged if each.expected.answerable is False]
    sourced = [each for each in answerable if each.right_source is not None]
    answered = [each for each in sourced if each.answered]
    found = [each for judgement in judged for each in judgement.words_found]
    gold = [each.gold_quoted for each in judged if each.gold_quoted is not None]
    quotes = [each for judgement in judged for each in judgement.verbatim if each is not None]
    taken = (
        ("right", "answerable: answered right", _verdicts(answerable, "right")),
        ("right_file", "answerable: with a footnote in an acceptable file", _right_files(sourced)),
        ("right_file_of_answered", "answerable and answered: with such a footnote", _right_files(answered)),
        ("wrongly_held_back", "answerable: held back", _verdicts(answerable, "held back")),
        ("held_back", "unanswerable: held back", _verdicts(unanswerable, "rightly held back")),
        (
            "falsely_answered",
            "unanswerable: answered all the same",
            _verdicts(unanswerable, "falsely answered"),
        ),
        ("words_found", "expected words: found", found),
        ("gold_quoted", "gold sentences: one of them quoted", gold),
        ("verbatim", "quotes: word for word in their file", quotes),
    )
    return tuple(
        Counted(name=name, label=label, hits=sum(hits), of=len(hits)) for name, label, hits in taken if hits
    )


def _unchecked(judged: Sequence[Judged]) -> str:
    count = sum(each is None for judgement in judged for each in judgement.verbatim)
    return f"{counted(count, 'quote')} of web pages could not be checked against a file." if count else ""


def _verdicts(among: Sequence[Judged], wanted: Verdict) -> list[bool]:
    return [each.verdict == wanted for each in among]


def _right_files(among: Sequence[Judged]) -> list[bool]:
    return [bool(each.right_source) for each in among]


def kind_of(expected: Expected) -> str:
    """What the file calls it, else whether the documents answer it."""
    labels = {None: "not judged", True: "answerable", False: "unanswerable"}
    return expected.kind or labels[expected.answerable]


def _grouped(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = {}
    for each in judged:
        groups.setdefault(kind_of(each.expected), []).append(each)
    return groups


def _by_kind(judged: Sequence[Judged]) -> Table:
    groups = _grouped(judged)
    groups |= {"all": list(judged)} if len(groups) > 1 else {}
    return Table(
        title="By kind",
        columns=("kind", "questions", "answered", "held back", "failed", "right, 95% interval"),
        rows=tuple(
            (
                kind,
                len(group),
                sum(each.answered for each in group),
                sum(not each.answered and each.outcome.kind != "failed" for each in group),
                sum(each.outcome.kind == "failed" for each in group),
                with_interval(*_rights(group)),
            )
            for kind, group in groups.items()
        ),
    )


def _rights(group: Sequence[Judged]) -> tuple[int, int]:
    """(right, judged)."""
    known = [each.verdict in GOOD for each in group if each.expected.answerable is not None]
    return sum(known), len(known)


def _kinds_drawn(judged: Sequence[Judged]) -> tuple[Plot, ...]:
    known = {kind: _rights(group) for kind, group in _grouped(judged).items() if _rights(group)[1]}
    if len(known) < 2:
        return ()
    return (
        Plot(
            title="Right, by kind",
            kind="bars",
            x=tuple(known),
            series={"right": tuple(hits / of for hits, of in known.values())},
            intervals={"right": tuple(wilson(hits, of) for hits, of in known.values())},
            unit="share of the questions",
        ),
    )


def worst(judged: Sequence[Judged]) -> Section:
    """The cases to read first, with what was said."""
    bad = sorted(
        (each for each in judged if each.is_bad),
        key=lambda each: (BAD.index(each.verdict), -each.outcome.confidence),
    )
    return Section(
        name="worst",
        title="Worst cases",
        what=f"{len(bad)} of {len(judged)} questions ended badly; false answers first, the most confident of them on top.",
        tables=(
            Table(
                title=f"The first {WORST_SHOWN}" if len(bad) > WORST_SHOWN else "All of them",
                columns=("id", "question", "verdict", "confidence", "said", "footnotes"),
                rows=tuple(map(_case, bad[:WORST_SHOWN])),
            ),
        )
        if bad
        else (),
    )


def _case(judged: Judged) -> tuple[str | float, ...]:
    outcome = judged.outcome
    citations = outcome.answer.citations if outcome.answer else outcome.closest
    return (
        judged.expected.id,
        judged.expected.question,
        judged.verdict,
        round(outcome.confidence, 3),
        clipped(outcome.answer.text if outcome.answer else text_of(outcome), SAID_SHOWN),
        ", ".join(dict.fromkeys(citation.source for citation in citations)) or "none",
    )
