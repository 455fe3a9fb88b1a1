"""How well the library's own confidence tells questions that its documents answer from those they do not."""

from __future__ import annotations

import math
import random
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.estimates import RESAMPLES, Estimate
from benchmarks.evaluation_sets import (
    EVERYTHING,
    EvaluationSet,
    LabelledQuestion,
    clapnq,
    fill,
    folder,
    mtrag,
    open_library,
    open_model,
    part,
    squad,
)
from benchmarks.retrieval import SIDES, sides
from bots.testing.report import Cell, Section, Table, percentile
from core.library.documents import Scope
from core.library.library import Library
from core.library.retriever import Query

ANSWERED = 0.9  # share of the answerable questions at which false answers are counted
QUICK = 20  # questions of each kind in a quick run

SETS: Mapping[str, str] = {
    "left_out": "SQuAD 2, article in the corpus or left out",
    "mtrag": "MTRAG, answerable or not",
    "clapnq": "CLAPNQ, answered by its passage or not",
    "near": "SQuAD 2, answerable or near-miss",
}

#: The area that each set must reach with vectors.
BARS: Mapping[str, float] = {"left_out": 0.975, "mtrag": 0.80, "clapnq": 0.82, "near": 0.66}
FALSE_BAR = 0.05  # false answers at most, where articles are left out

WHAT = (
    "Every question is asked of the library and its confidence compared: the area under the ROC curve is the chance "
    "that a question the documents answer gets more of it than one they do not, and false answers are the share of "
    "the unanswerable ones that pass the threshold which nine of ten answerable ones pass."
)
NOTE = "With 95% bootstrap intervals over questions. The bars are those of words and vectors; words alone stand beside."
LIMITS = (
    "The coefficients were fitted on these questions; what they are worth on questions they have not seen is in the "
    "figures beside them, which come from folds of whole articles. A near-miss is written so that a paragraph seems "
    "to answer it, and most of those of MTRAG and CLAPNQ are about their passage too: telling them apart takes "
    "reading, which words and one vector of a passage do not."
)

Scoped = tuple[LabelledQuestion, Scope]
Confidences = tuple[
    Sequence[float], Sequence[float]
]  # confidence in answerable and in unanswerable questions
Statistic = Callable[[Sequence[float], Sequence[float]], float]  # of those two


def run(say: Say, *, data: Path = DATA, model: str = "none", quick: bool = False) -> Section:
    embedder = open_model(model, say)
    found: dict[str, dict[str, Confidences]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for names, read in ((("left_out", "near"), squad), (("mtrag",), mtrag), (("clapnq",), clapnq)):
            corpus = part(read(data), QUICK) if quick else read(data)
            library = fill(open_library(Path(scratch, names[0]), embedder), corpus.documents)
            for name in names:
                say(SETS[name])
                questions = scoped(name, corpus)
                found[name] = {side: confidences(each, questions) for side, each in sides(library).items()}
            library.close()
    return section({name: found[name] for name in SETS})


def scoped(name: str, corpus: EvaluationSet) -> list[Scoped]:
    """The questions of a set, and where each is asked; those without gold are unanswerable there."""
    if name == "left_out":
        return halves(corpus)
    is_whole = name != "mtrag"  # its partly answerable and underspecified turns are neither
    answerable = (asked for asked in corpus.questions if is_whole or asked.group == "ANSWERABLE")
    return [(asked, EVERYTHING) for asked in (*answerable, *corpus.near)]


def halves(corpus: EvaluationSet) -> list[Scoped]:
    """Every answerable question twice: where every other article is, its own left out or not."""
    articles = sorted({folder(source) for source, _, _ in corpus.documents})
    scopes = [replace(EVERYTHING, addresses=tuple(articles[start::2])) for start in (0, 1)]
    return [
        (asked if asked.group in scope.addresses else replace(asked, gold=frozenset()), scope)
        for asked in corpus.questions
        for scope in scopes
    ]


def confidences(library: Library, questions: Iterable[Scoped]) -> Confidences:
    """The confidence in answerable questions, and in the others."""
    yes: list[float] = []
    no: list[float] = []
    for question, scope in questions:
        query = Query(text=question.question, scope=scope, history=question.history)
        (yes if question.gold else no).append(library.retrieve(query).confidence)
    return yes, no


# Statistics


def auc(yes: Sequence[float], no: Sequence[float]) -> float:
    """The share of pairs in the right order, ties counted half (Mann and Whitney); NaN without pairs."""
    ordered = sorted(no)
    below = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in yes)
    return below / 2 / (len(yes) * len(no)) if yes and no else math.nan


def false_at(yes: Sequence[float], no: Sequence[float], answered: float = ANSWERED) -> float:
    """The share of the unanswerable that pass where this share of the answerable do; NaN without any."""
    if not yes or not no:
        return math.nan
    threshold = sorted(yes, reverse=True)[math.ceil(answered * len(yes)) - 1]
    return sum(value >= threshold for value in no) / len(no)


def interval(
    statistic: Statistic,
    yes: Sequence[float],
    no: Sequence[float],
    *,
    seed: int = 0,
) -> tuple[float, float]:
    """The percentile interval when both kinds of questions are drawn again with replacement."""
    draw = random.Random(seed)
    found = [statistic(draw.choices(yes, k=len(yes)), draw.choices(no, k=len(no))) for _ in range(RESAMPLES)]
    return percentile(found, 0.025), percentile(found, 0.975)


def section(found: Mapping[str, Mapping[str, Confidences]]) -> Section:
    shown = [side for side in SIDES if all(side in by_side for by_side in found.values())]
    return Section(
        name="confidence",
        title="Answer or abstain",
        what=WHAT,
        tables=(
            Table(
                title="Area under the ROC curve",
                columns=("set", "answerable", "unanswerable", *(SIDES[side] for side in shown)),
                rows=tuple(
                    (
                        SETS[name],
                        *map(len, by_side["words"]),
                        *(_area(by_side[side], BARS[name] if side == "vectors" else None) for side in shown),
                    )
                    for name, by_side in found.items()
                ),
                note=NOTE,
            ),
            Table(
                title="False answers where 90% of the answerable questions are answered",
                columns=("set", *(SIDES[side] for side in shown)),
                rows=tuple(
                    (
                        SETS[name],
                        *(
                            _false(by_side[side], is_barred=side == "vectors" and name == "left_out")
                            for side in shown
                        ),
                    )
                    for name, by_side in found.items()
                ),
            ),
        ),
        figures=dict(_figures(found, shown)),
        note=LIMITS,
    )


def _area(of: Confidences, bar: float | None) -> Cell:
    return _cell(auc, of, "" if bar is None else f", bar {bar:.3f} {_word(reached=auc(*of) >= bar)}")


def _false(of: Confidences, *, is_barred: bool) -> Cell:
    return _cell(
        false_at,
        of,
        f", bar {FALSE_BAR:.2f} {_word(reached=false_at(*of) <= FALSE_BAR)}" if is_barred else "",
    )


def _cell(statistic: Statistic, of: Confidences, said: str) -> Cell:
    low, high = interval(statistic, *of)
    return f"{Estimate(figure=statistic(*of), low=low, high=high)}{said if all(of) else ''}"


def _word(*, reached: bool) -> str:
    return "reached" if reached else "missed"


def _figures(
    found: Mapping[str, Mapping[str, Confidences]], shown: Sequence[str]
) -> Iterator[tuple[str, float]]:
    for name, by_side in found.items():
        for side in shown:
            yield f"{name}_{side}_auc", round(auc(*by_side[side]), 4)
            yield f"{name}_{side}_false_at_90", round(false_at(*by_side[side]), 4)
