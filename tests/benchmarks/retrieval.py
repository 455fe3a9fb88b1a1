"""How often a passage that answers a question is among the first that the library finds."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.estimates import Estimate
from benchmarks.evaluation_sets import (
    EVERYTHING,
    EvaluationSet,
    LabelledQuestion,
    clapnq,
    fill,
    headings,
    mtrag,
    open_library,
    open_model,
    part,
    spot,
    squad,
)
from bots.testing.report import Cell, Section, Table
from core.library.documents import Retrieved
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.library.retriever import Query

RANKS = (1, 5, 10)
NOT_FOUND = 1_000  # a rank deeper than any that is looked at
QUICK = 20  # questions of each set in a quick run

SETS: Mapping[str, str] = {
    "squad": "SQuAD 2, answerable questions",
    "mtrag": "MTRAG, follow-up questions",
    "fastapi": "FastAPI documentation, headings as questions",
    "clapnq": "CLAPNQ, answerable questions",
}
SIDES: Mapping[str, str] = {"words": "words alone", "vectors": "words and vectors"}

#: The share of questions, by set, side and rank, that the first passages must answer.
BARS: Mapping[tuple[str, str, int], float] = {
    ("squad", "vectors", 1): 0.84,
    ("squad", "vectors", 5): 0.97,
    ("mtrag", "vectors", 5): 0.92,
    ("fastapi", "vectors", 5): 0.86,
    ("clapnq", "vectors", 1): 0.92,
    ("squad", "words", 1): 0.82,
    ("squad", "words", 5): 0.95,
    ("mtrag", "words", 5): 0.85,
    ("fastapi", "words", 5): 0.82,
    ("clapnq", "words", 1): 0.90,
}

WHAT = (
    "The questions of each set are asked of a library that holds its passages; a question counts at a rank when a "
    "passage that answers it is among so many found first. A follow-up has the turns before it, a heading is looked "
    "for among the passages of all files."
)
NOTE = (
    "Share of the questions, with its 95% Wilson interval; where a bar is set, whether the share reaches it."
)
LIMITS = (
    "Short SQuAD 2 questions often fit several paragraphs of one article equally well, and one of them counts. A "
    "follow-up of MTRAG may turn to something new in words that do not say what. Many files of the FastAPI "
    "documentation have the same headings. The sets are in English."
)

Ranks = Mapping[str, Mapping[str, Sequence[int]]]  # by set and side, one rank for each question


def run(say: Say, *, data: Path = DATA, model: str = "none", quick: bool = False) -> Section:
    embedder, found = open_model(model, say), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, title in SETS.items():
            say(f"{title}: indexing")
            with opened(name, Path(folder, name), embedder, data, quick=quick) as (library, questions):
                say(f"{title}: {len(questions)} questions")
                found[name] = {side: ranks(each, questions) for side, each in sides(library).items()}
    return section(found)


@contextmanager
def opened(
    name: str, folder: Path, model: Embedder | None, data: Path, *, quick: bool, url: str = ""
) -> Iterator[tuple[Library, Sequence[LabelledQuestion]]]:
    """The library of a set, and what is asked of it; ``url``: of a PostgreSQL."""
    library = open_library(folder, model, url=url)
    try:
        if name == "fastapi":
            library.ingest([data / "fastapi_docs"])
            library.embed_pending()
            asked = headings(library)
            yield library, asked[:: max(1, len(asked) // QUICK)] if quick else asked
        else:
            corpus = READERS[name](data)
            corpus = part(corpus, QUICK) if quick else corpus
            fill(library, corpus.documents)
            yield library, corpus.questions
    finally:
        library.close()


def follow_ups(data: Path) -> EvaluationSet:
    """MTRAG without the first turns of its conversations."""
    corpus = mtrag(data)
    return EvaluationSet(
        documents=corpus.documents, questions=tuple(q for q in corpus.questions if q.history)
    )


READERS: Mapping[str, Callable[[Path], EvaluationSet]] = {
    "squad": squad,
    "mtrag": follow_ups,
    "clapnq": clapnq,
}


def sides(library: Library) -> dict[str, Library]:
    """The library asked by words alone and, where it has an embedder, by words and vectors."""
    words = Library(store=library.store, open_vectors=library.open_vectors)
    return {"words": words, **({"vectors": library} if library.embedder else {})}


def ranks(library: Library, questions: Sequence[LabelledQuestion]) -> list[int]:
    """The rank of the first gold passage of each question, counted from 1."""
    return [rank(first_hits(library, asked), asked) for asked in questions]


def first_hits(library: Library, asked: LabelledQuestion) -> Sequence[Retrieved]:
    """What is found first, as deep as is looked."""
    query = Query(text=asked.question, scope=EVERYTHING, history=asked.history, limit=max(RANKS))
    return library.retrieve(query).passages


def rank(hits: Sequence[Retrieved], asked: LabelledQuestion) -> int:
    """That of the first gold passage."""
    places = (place for place, hit in enumerate(hits, start=1) if spot(hit.passage) in asked.gold)
    return next(places, NOT_FOUND)


def share(found: Sequence[int], at: int) -> Estimate:
    """Of ranks that are this one or better."""
    return Estimate.share(sum(rank <= at for rank in found), len(found))


def section(found: Ranks) -> Section:
    shown = [side for side in SIDES if all(side in by_side for by_side in found.values())]
    columns = ("set", "questions", *(f"{SIDES[side]}: first {at}" for side in shown for at in RANKS))
    rows = tuple(
        (
            SETS[name],
            len(by_side["words"]),
            *(_cell(by_side[side], at, BARS.get((name, side, at))) for side in shown for at in RANKS),
        )
        for name, by_side in found.items()
    )
    return Section(
        name="retrieval",
        title="Passages found",
        what=WHAT,
        tables=(
            Table(title="Share of the questions that the first passages answer", columns=columns, rows=rows, note=NOTE),
        ),
        figures={
            f"{name}_{side}_r{at}": round(share(by_side[side], at).figure, 4)
            for name, by_side in found.items()
            for side in shown
            for at in RANKS
        },
        note=LIMITS,
    )  # fmt: skip


def _cell(found: Sequence[int], at: int, bar: float | None) -> Cell:
    estimate = share(found, at)
    verdict = f", bar {bar:.2f} {'reached' if estimate.figure >= bar else 'missed'}" if bar and found else ""
    return f"{estimate}{verdict}"
