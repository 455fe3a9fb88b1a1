"""Questions asked in one language of passages in another: the same questions and passages in each, as XQuAD has them.

A handbook of sixteen sections in four languages lies in the repository, with 28 questions about it. Where the folder of
the data has ``xquad/xquad.LANGUAGE.json``, those are asked: 1,190 questions about 240 paragraphs in each language.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import EVALUATION, Say
from benchmarks.confidence import auc
from benchmarks.evaluation_sets import EVERYTHING, add_paragraphs, lines, open_library
from benchmarks.retrieval import sides
from bots.testing.report import Cell
from core.conversation import value
from core.library.documents import Scope
from core.library.embedding.embedder import Embedder
from core.library.library import Library
from core.library.retriever import Query

AMONG = 8
ASKED = 60  # questions of one pair of languages at most, evenly spread
SECTION = "\n## "


@value
class Parallel:
    """What says the same in each language."""

    questions: Mapping[str, Sequence[str]]  #: by language
    passages: Mapping[str, Sequence[str]]
    gold: Sequence[int]  #: of each question, the passage that answers it


def handbook() -> Parallel:
    rows = lines(Path(__file__).parent / "parallel.jsonl")
    languages = [key for key in rows[0] if key != "section"]
    texts = {
        language: (EVALUATION / f"manners/handbook_{language}.md").read_text(encoding="utf-8")
        for language in languages
    }
    return Parallel(
        questions={language: [row[language] for row in rows] for language in languages},
        passages={language: text.split(SECTION)[1:] for language, text in texts.items()},
        gold=[row["section"] for row in rows],
    )


def xquad(folder: Path, languages: Sequence[str]) -> Parallel:
    """In the format of SQuAD, the questions in the same order in each language."""
    questions, passages, gold = {}, {}, []
    for language in languages:
        data = json.loads((folder / f"xquad.{language}.json").read_text(encoding="utf-8"))["data"]
        paragraphs = [each for article in data for each in article["paragraphs"]]
        passages[language] = [each["context"] for each in paragraphs]
        questions[language] = [qa["question"] for each in paragraphs for qa in each["qas"]]
        gold = [number for number, each in enumerate(paragraphs) for _ in each["qas"]]
    return Parallel(questions=questions, passages=passages, gold=gold)


def read(data: Path, languages: Sequence[str]) -> Parallel:
    """XQuAD's where it is there, in these languages or in all."""
    found = {file.name.split(".")[1] for file in sorted((data / "xquad").glob("xquad.*.json"))}
    chosen = [language for language in languages if language in found] or sorted(found)
    return xquad(data / "xquad", chosen) if chosen else handbook()


def stock(library: Library, parallel: Parallel, beside: Sequence[str]) -> None:
    """Each passage a document; ``beside`` are passages about other things."""
    for language, passages in parallel.passages.items():
        for number, text in enumerate(passages):
            add_paragraphs(library, f"/{language}/{number}", "", (text,))
    for number, text in enumerate(beside):
        add_paragraphs(library, f"/beside/{number}", "", (text,))
    library.embed_pending()


def rows(
    folder: Path, parallel: Parallel, beside: Sequence[str], embedder: Embedder | None, say: Say
) -> Iterator[tuple[Cell, ...]]:
    """A row for each pair of languages, of questions and of passages."""
    library = open_library(folder, embedder)
    stock(library, parallel, beside)
    for asked in parallel.questions:
        for language in parallel.passages:
            say(f"{asked} over {language}")
            yield (
                asked,
                language,
                *(
                    cell
                    for side in sides(library).values()
                    for cell in _cells(side, parallel, parallel.questions[asked], language)
                ),
            )
    library.close()


def _cells(
    library: Library, parallel: Parallel, questions: Sequence[str], language: str
) -> tuple[Cell, Cell]:
    """Right first and among the first, and what the confidence is worth."""
    ranks, yes, no = [], [], []
    places = [f"/{language}/{number}" for number in range(len(parallel.passages[language]))]
    step = max(1, len(questions) // ASKED)
    for text, gold in list(zip(questions, parallel.gold, strict=True))[::step]:
        rank, confidence = _look(library, text, (*places, "/beside"), places[gold])
        ranks.append(rank)
        yes.append(confidence)
        others = (*places[:gold], *places[gold + 1 :], "/beside")
        no.append(_look(library, text, others, "")[1])
    first, among = (sum(rank <= limit for rank in ranks) for limit in (1, AMONG))
    return f"{first}, {among} of {len(ranks)}", f"{auc(yes, no):.2f}; {_mean(yes):.2f}, {_mean(no):.2f}"


def _mean(confidences: Sequence[float]) -> float:
    return sum(confidences) / len(confidences)


def _look(library: Library, text: str, places: Sequence[str], gold: str) -> tuple[int, float]:
    """The rank of the passage that is right, and the confidence."""
    scope = Scope(collections=EVERYTHING.collections, addresses=tuple(places))
    found = library.retrieve(Query(text=text, scope=scope, limit=AMONG))
    sources = [hit.passage.source for hit in found.passages]
    return sources.index(gold) + 1 if gold in sources else AMONG + 1, found.confidence
