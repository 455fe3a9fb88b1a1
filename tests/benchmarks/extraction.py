"""How well the offline reasoner picks the sentences that answer, and whether its quotes are verbatim."""

from __future__ import annotations

import asyncio
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.estimates import Estimate
from benchmarks.evaluation_sets import (
    EVERYTHING,
    LabelledQuestion,
    Spot,
    clapnq,
    fill,
    open_library,
    open_model,
    part,
    passages_of,
    spot,
    squad,
)
from bots.testing.report import Cell, Section, Table
from core.conversation import value
from core.grounding.citations import to_answer
from core.grounding.strips import refine
from core.library.documents import Passage, Retrieved
from core.library.library import Library
from core.library.retriever import Query
from core.reasoning.extractive import ExtractiveReasoner, Similarity
from core.reasoning.reasoner import Ask

BEST = 3  # sentences looked at
RETRIEVED = 8  # passages of one question, as the default policy reads
QUICK = 15  # questions of each set in a quick run

SIDES: Mapping[str, str] = {"words": "words alone", "vectors": "words and meaning"}
GIVEN: Mapping[bool, str] = {True: "the answering passage given", False: "over what is retrieved"}

#: What each figure must reach, and what it was when measuring began.
BARS: Mapping[str, tuple[float, float]] = {
    "best_1": (0.75, 0.714),
    "best_3": (0.87, 0.841),
    "f1": (0.62, 0.593),
    "verbatim": (1.0, 1.0),
}

WHAT = (
    "The offline reasoner ranks the sentences of passages for each answerable question. SQuAD 2: whether the best "
    "sentence, or one of the three best, holds a gold answer whole. CLAPNQ: how the three best sentences agree with "
    "those that people marked. Every quote of the answers it would give is looked up at its offsets."
)
NOTE = "With 95% intervals: Wilson for shares, bootstrap over questions for F1."
LIMITS = (
    "A short answer may stand by accident in a sentence that says something else, and counts. People mark sentences "
    "that only together answer a CLAPNQ question, many of which share no word with it; one to nine are marked where "
    "three are picked, so that 0.83 is the most that any choice of three reaches. Tokenised text splits worse than "
    "text as people write it."
)


@value
class Quotation:
    """What the reasoner makes of one question."""

    asked: LabelledQuestion
    best: tuple[str, ...]  #: the likeliest sentences
    places: tuple[tuple[int, int], ...]  #: of those, in the answering passage where it was given
    quotes: tuple[str, ...]  #: what it would show
    is_verbatim: bool  #: each quote stands at its offsets in its source


def run(say: Say, *, data: Path = DATA, model: str = "none", quick: bool = False) -> Section:
    embedder = open_model(model, say)
    found: dict[tuple[str, str, bool], list[Quotation]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, read in (("squad", squad), ("clapnq", clapnq)):
            corpus = part(read(data), QUICK) if quick else read(data)
            for side, each in {"words": None, **({"vectors": embedder} if embedder else {})}.items():
                say(f"sentences of {name}, {SIDES[side]}")
                with closing(fill(open_library(Path(folder, name, side), each), corpus.documents)) as library:
                    for is_given in GIVEN:
                        quotations = quote_all(library, corpus.questions, is_given=is_given)
                        found[name, side, is_given] = asyncio.run(quotations)
    return section(found)


async def quote_all(
    library: Library, asked: Sequence[LabelledQuestion], *, is_given: bool
) -> list[Quotation]:
    """What is quoted for each question: from the passage that answers it, or from what is retrieved."""
    reasoner = ExtractiveReasoner(similarity_of(library))
    passages = {spot(passage): passage for passage in passages_of(library)}
    return [await _quote(library, reasoner, question, passages, is_given=is_given) for question in asked]


async def _quote(
    library: Library,
    reasoner: ExtractiveReasoner,
    asked: LabelledQuestion,
    passages: Mapping[Spot, Passage],
    *,
    is_given: bool,
) -> Quotation:
    found = library.retrieve(Query(text=asked.question, scope=EVERYTHING, limit=RETRIEVED))
    hits = found.passages
    if is_given:
        gold = [passages[place] for place in sorted(asked.gold)]
        known = {hit.passage.id: hit for hit in hits}
        hits = tuple(replace(known.get(p.id, Retrieved(passage=p, score=1.0)), score=1.0) for p in gold)
    ask = Ask(question=asked.question, weights=found.weights, confidence=found.confidence)
    best = (await reasoner.rank(ask, hits))[:BEST]
    grades = await reasoner.grade(ask, hits)
    strips = refine(hits, grades.of, around=0)
    answer = to_answer(await reasoner.write(ask, strips), strips)
    return Quotation(
        asked=asked,
        best=tuple(hits[c.passage].passage.text[c.span.start : c.span.end] for c in best),
        places=tuple((c.span.start, c.span.end) for c in best) if is_given else (),
        quotes=tuple(citation.quote for citation in answer.citations),
        is_verbatim=all(
            stands_at(passages, citation.source, citation.start, citation.end, citation.quote)
            for citation in answer.citations
        ),
    )


def stands_at(passages: Mapping[Spot, Passage], source: str, start: int, end: int, quote: str) -> bool:
    """Whether a passage of the source holds the quote at these offsets."""
    return any(
        passage.text[start - passage.start : end - passage.start] == quote
        for (name, begin), passage in passages.items()
        if name == source and begin <= start and end <= passage.end
    )


def similarity_of(library: Library) -> Similarity | None:
    if library.embedder is None:
        return None

    @lru_cache(maxsize=1)  # sentences are ranked, and then graded
    def cosines(question: str, texts: tuple[str, ...]) -> Sequence[float]:
        return library.similarity(question, texts)

    async def similarity(question: str, texts: Sequence[str]) -> Sequence[float]:
        return cosines(question, tuple(texts))

    return similarity


# What counts


def holds_answer(texts: Sequence[str], answers: Sequence[str]) -> bool:
    """Whether one of the texts holds one of the answers whole; case and white space apart."""
    wanted = [_folded(answer) for answer in answers]
    return any(answer in said for said in map(_folded, texts) for answer in wanted)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def sentence_f1(
    places: Sequence[tuple[int, int]], sentences: Mapping[str, tuple[int, int]], gold: Sequence[str]
) -> float:
    """Harmonic mean of precision and recall of the sentences that the places meet."""
    met = {
        sentence
        for sentence, (start, end) in sentences.items()
        if any(begin < end and start < until for begin, until in places)
    }
    hits = len(met & set(gold))
    return 2 * hits / (len(met) + len(set(gold))) if hits else 0.0


def section(found: Mapping[tuple[str, str, bool], Sequence[Quotation]]) -> Section:
    sides = tuple(dict.fromkeys(side for _, side, _ in found))
    rows = [row for side in sides for row in _rows(found, side)]
    figures = {name: estimate.figure for name, _, estimate in rows}
    everything = [quoted for of in found.values() for quoted in of]
    figures["verbatim"] = Estimate.share(
        sum(quoted.is_verbatim for quoted in everything), len(everything)
    ).figure
    count = sum(len(quoted.quotes) for quoted in everything)
    return Section(
        name="extraction",
        title="Sentences quoted offline",
        what=WHAT,
        tables=(
            Table(
                title="Sentences that answer",
                columns=("what", "measured (95% interval)", "bar", "at the start", "reached"),
                rows=tuple(
                    (title, str(estimate), *_bar(name, estimate.figure)) for name, title, estimate in rows
                ),
                note=NOTE,
            ),
            Table(
                title="Quotes looked up at their offsets",
                columns=(
                    "quotes",
                    "answers all of whose quotes are verbatim",
                    *("bar", "at the start", "reached"),
                ),
                rows=((count, figures["verbatim"], *_bar("verbatim", figures["verbatim"])),),
            ),
        ),
        figures=figures,
        note=LIMITS,
    )


Row = tuple[str, str, Estimate]  # with its name and its title


def _rows(found: Mapping[tuple[str, str, bool], Sequence[Quotation]], side: str) -> Iterator[Row]:
    for is_given, which in GIVEN.items():
        quoted = found["squad", side, is_given]
        for count in (1, BEST):
            hits = sum(holds_answer(q.best[:count], q.asked.answers) for q in quoted)
            title = "best sentence holds an answer" if count == 1 else f"one of {count} does"
            yield (
                f"squad_{side}_{'given' if is_given else 'retrieved'}_best_{count}",
                f"SQuAD 2, {which}, {SIDES[side]}: {title}",
                Estimate.share(hits, len(quoted)),
            )
    agreement = [
        sentence_f1(q.places, q.asked.sentences, q.asked.answers) for q in found["clapnq", side, True]
    ]
    yield (
        f"clapnq_{side}_f1",
        f"CLAPNQ, {GIVEN[True]}, {SIDES[side]}: F1 of {BEST} sentences",
        Estimate.mean(agreement),
    )


def _bar(name: str, figure: float) -> tuple[Cell, Cell, Cell]:
    bar, start = next(values for end, values in BARS.items() if name.endswith(end))
    return bar, start, "–" if math.isnan(figure) else "yes" if figure >= bar else "no"
