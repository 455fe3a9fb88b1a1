"""Fit the credits of core/reasoning/selection.py on half of the articles and say what they are worth on the other.

Articles go to a half by the order of
the hashes of their names. One credit at a time is moved up and down, as long as that is better on the
first half: mean of the share of SQuAD 2 questions whose best retrieved sentence holds an answer, of
those for which one of the best three does, and of the F1 of three CLAPNQ sentences. The
module's constants are rounded by hand from both sides, words alone and words with meaning.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import (
    EVERYTHING,
    LabelledQuestion,
    clapnq,
    fill,
    open_library,
    open_model,
    passages_of,
    spot,
    squad,
)
from benchmarks.extraction import holds_answer, sentence_f1
from bots.testing.report import Section, Table
from core.conversation import value
from core.library.documents import Retrieved
from core.library.retriever import Query
from core.reasoning import selection
from core.reasoning.extractive import MEANING_PASSAGES
from core.text.sentences import split_units

CREDITS = [name for name in vars(selection) if name.endswith("_CREDIT")]
STEPS = (0.5, 0.8, 1.25, 2.0)  # what a credit is multiplied by
READ = 8  # passages of one question


@value
class Case:
    """A question with the passages that its answer is looked for in."""

    asked: LabelledQuestion
    weights: Mapping[str, float]
    passages: tuple[Retrieved, ...]
    meaning: Mapping[tuple[int, int], float]


def cases(corpus, library, *, is_given: bool) -> list[Case]:
    gold = {spot(passage): passage for passage in passages_of(library)}
    found = []
    for asked in corpus.questions:
        hits = library.retrieve(Query(text=asked.question, scope=EVERYTHING, limit=READ))
        given = tuple(Retrieved(passage=gold[place], score=1.0) for place in asked.gold)
        passages = given if is_given else hits.passages
        meaning = cosines(library, asked.question, passages) if library.embedder else {}
        found.append(Case(asked=asked, weights=hits.weights, passages=passages, meaning=meaning))
    return found


def cosines(library, question: str, passages: Sequence[Retrieved]) -> dict[tuple[int, int], float]:
    keys, texts = [], []
    for index, hit in enumerate(passages[:MEANING_PASSAGES]):
        for number, unit in enumerate(split_units(hit.passage.text)):
            keys.append((index, number))
            texts.append(hit.passage.text[unit.start : unit.end])
    return dict(zip(keys, library.similarity(question, texts), strict=True)) if texts else {}


def worth(squad_cases: Sequence[Case], clapnq_cases: Sequence[Case]) -> tuple[float, float, float]:
    """Best sentence, best three, and F1 with the module's credits of now."""
    ones, threes, agreement = [], [], []
    for case in squad_cases:
        texts = [case.passages[c.passage].passage.text[c.span.start : c.span.end] for c in best_three(case)]
        ones.append(holds_answer(texts[:1], case.asked.answers))
        threes.append(holds_answer(texts, case.asked.answers))
    for case in clapnq_cases:
        places = [(c.span.start, c.span.end) for c in best_three(case)]
        agreement.append(sentence_f1(places, case.asked.sentences, case.asked.answers))
    return fmean(ones), fmean(threes), fmean(agreement)


def best_three(case: Case) -> list[selection.Candidate]:
    selection._score.cache_clear()  # the credits may have changed
    return selection.candidates(case.asked.question, case.weights, case.passages, case.meaning)[:3]


def climb(squad_cases: Sequence[Case], clapnq_cases: Sequence[Case], rounds: int, say: Say) -> None:
    """Sets the module's credits to better ones, one at a time."""
    best = fmean(worth(squad_cases, clapnq_cases))
    for _ in range(rounds):
        before = best
        for name in CREDITS:
            kept = getattr(selection, name)
            for step in STEPS:
                setattr(selection, name, kept * step)
                if (reached := fmean(worth(squad_cases, clapnq_cases))) > best:
                    best, kept = reached, kept * step
                    say(f"{name} = {kept:.3f}: {best:.4f}")
                setattr(selection, name, kept)
        if best == before:
            return


def halves(found: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    """Even and odd articles, in the order of the hashes of their names."""
    names = {_article(case) for case in found}
    even = set(sorted(names, key=lambda name: sha256(name.encode()).hexdigest())[::2])
    return (
        [case for case in found if _article(case) in even],
        [case for case in found if _article(case) not in even],
    )


def _article(case: Case) -> str:
    return case.asked.group or case.asked.id


def run(say: Say, *, data: Path = DATA, model: str = "none", rounds: int = 3) -> Section:
    embedder, sides = open_model(model, say), []
    with tempfile.TemporaryDirectory() as scratch:
        for read, is_given in ((squad, False), (clapnq, True)):
            corpus = read(data)
            library = fill(open_library(Path(scratch, read.__name__), embedder), corpus.documents)
            sides.append(halves(cases(corpus, library, is_given=is_given)))
            library.close()
    fitted, confirmed = zip(*sides, strict=True)
    parts = {"fitted half": fitted, "other half": confirmed}
    before = [(f"before, {name}", *worth(*cases)) for name, cases in parts.items()]
    climb(*fitted, rounds, say)
    after = [(f"after, {name}", *worth(*cases)) for name, cases in parts.items()]
    return Section(
        name="fit_selection",
        title="The fit of the credits that rank sentences",
        what="Moved one at a time on half of the articles; the other half confirms them.",
        tables=(
            Table(
                title="Worth",
                columns=("of", "best sentence", "one of three", "F1 of three"),
                rows=(*before, *after),
            ),
            Table(
                title="Credits",
                columns=("credit", "value"),
                rows=tuple((name, getattr(selection, name)) for name in CREDITS),
            ),
        ),
    )
