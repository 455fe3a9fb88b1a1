"""How well questions of each language find their passages, in their own language and in others.

The passages of the drafts make two libraries: those in the language of the documents asked for, and
all of them together. A passage is right when a supported sentence of the draft cites it. Beside the
questions, the draft's sentences are asked: there are more of them. With a network, questions are also asked of
passages in other languages (benchmarks/parallel.py).
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import DATA, Say, parallel
from benchmarks.evaluation_sets import EVERYTHING, JsonObject, Spot, lines, open_library, open_model, spot
from bots.testing.report import Cell, Section, Table
from core.library import retriever
from core.library.documents import Piece
from core.library.entries import NewDocument
from core.library.library import DEFAULT_COLLECTION, Library
from core.text.language import language_of

AMONG = 8


class Lookup(NamedTuple):
    """A text to look for, and the passages that hold it."""

    text: str
    gold: frozenset[Spot]


def run(
    say: Say, *, data: Path = DATA, model: str = "none", pairs: str = "", only_pairs: bool = False
) -> Section:
    """``pairs``: languages of XQuAD, with commas; its own are all that are there."""
    items = lines(data / "drafts/drafts.jsonl")
    return Section(
        name="languages",
        title="Questions and documents in several languages",
        what=(
            "Questions, and sentences of answers, are looked for by words alone: over the passages in the language of "
            "their documents, and over all of them. A passage is right when a supported sentence of the draft cites it."
        ),
        tables=(
            *across(items, model, data, pairs, say),
            *(() if only_pairs else by_words(items, say)),
        ),
    )


def across(items: Sequence[JsonObject], model: str, data: Path, pairs: str, say: Say) -> Iterator[Table]:
    """Questions of one language over passages of another, without and with the network."""
    embedder = open_model(model, say)
    beside = list(dict.fromkeys(passage["text"] for item in items for passage in item["passages"]))
    of = ("words alone", *([f"with {embedder.name}"] if embedder else []))
    columns = (cell for side in of for cell in (side, "confidence: AUC; mean where answered, where not"))
    with tempfile.TemporaryDirectory() as folder:
        found = parallel.read(data, pairs.split(",") if pairs else ())
        yield Table(
            title=f"Across languages: right first, right among {parallel.AMONG}",
            columns=("questions", "passages", *columns),
            rows=tuple(parallel.rows(Path(folder), found, beside, embedder, say)),
        )


def by_words(items: Sequence[JsonObject], say: Say) -> tuple[Table, ...]:
    return (
        Table(
            title="Languages recognised",
            columns=("of", "number", "taken for another language"),
            rows=tuple(recognition(items)),
        ),
        Table(
            title=f"Right first, right among {AMONG}, and the mean confidence",
            columns=("question", "documents", *COLUMNS),
            rows=tuple(retrieval(items, say)),
        ),
    )


def recognition(items: Sequence[JsonObject]) -> Iterator[tuple[Cell, ...]]:
    """Questions and passages, and those whose language is taken for another."""
    questions = {item["question"]: item["language"] for item in items}
    passages = {passage["text"]: item["document_language"] for item in items for passage in item["passages"]}
    for name, labels in (("questions", questions), ("passages", passages)):
        pairs = Counter((own, language_of(text)) for text, own in labels.items())
        wrong = (f"{own} as {other}: {count}" for (own, other), count in pairs.items() if own != other)
        yield name, len(labels), ", ".join(wrong) or "none"


COLUMNS = ("questions, alone", "questions, among all", "sentences, alone", "sentences, among all")


def retrieval(items: Sequence[JsonObject], say: Say) -> Iterator[tuple[Cell, ...]]:
    """A row for each pair of languages, of question and documents."""
    pairs = defaultdict(list)
    for item in items:
        pairs[item["language"], item["document_language"]].append(item)
    with tempfile.TemporaryDirectory() as folder:
        everything, spots = _filled(Path(folder, "all"), items)
        for (language, document), asked in sorted(pairs.items()):
            say(f"{language} over {document}")
            same = [item for item in items if item["document_language"] == document]
            alone, own_spots = _filled(Path(folder, f"{language}-{document}"), same)
            yield (
                language,
                document,
                *(
                    _share(library, [_queries(item, places, by_sentence=by_sentence) for item in asked])
                    for by_sentence in (False, True)
                    for library, places in ((alone, own_spots), (everything, spots))
                ),
            )
            alone.close()
        everything.close()


def _filled(folder: Path, items: Sequence[JsonObject]) -> tuple[Library, dict[str, Spot]]:
    """A library of the items' passages, and where each text stands in it."""
    library, spots = open_library(folder, None), {}
    sources: dict[str, list[JsonObject]] = defaultdict(list)
    for passage in (passage for item in items for passage in item["passages"]):
        if passage["text"] not in spots:
            spots[passage["text"]] = (passage["source"], len(sources[passage["source"]]))
            sources[passage["source"]].append(passage)
    for source, passages in sources.items():
        pieces = [
            Piece(path=tuple(passage["path"]), location="", text=passage["text"], start=number, end=number)
            for number, passage in enumerate(passages)
        ]
        library.store.put(
            NewDocument(
                collection=DEFAULT_COLLECTION, address=f"/{source}", root="/", source=source, title=passages[0]["title"],
                url=None, hash="", size=0, modified=0, pieces=pieces,
            )
        )  # fmt: skip
    return library, spots


def _queries(item: JsonObject, spots: Mapping[str, Spot], *, by_sentence: bool) -> list[Lookup]:
    texts = {passage["n"]: passage["text"] for passage in item["passages"]}
    supported = [sentence for sentence in item["sentences"] if sentence["supported"] and sentence["cites"]]
    golds = [frozenset(spots[texts[number]] for number in sentence["cites"]) for sentence in supported]
    if by_sentence:
        return [Lookup(sentence["text"], gold) for sentence, gold in zip(supported, golds, strict=True)]
    return [Lookup(item["question"], frozenset().union(*golds))] if golds else []


def _share(library: Library, asked: Sequence[Sequence[Lookup]]) -> str:
    ranks = [_look(library, one) for each in asked for one in each]
    first, among = (sum(rank <= limit for rank, _ in ranks) for limit in (1, AMONG))
    sure = sum(confidence for _, confidence in ranks) / len(ranks)
    return f"{first}, {among} of {len(ranks)}; {sure:.2f}"


def _look(library: Library, asked: Lookup) -> tuple[int, float]:
    """The rank of the first passage that is right, and the confidence."""
    found = library.retrieve(retriever.Query(text=asked.text, scope=EVERYTHING, limit=AMONG))
    places = (place for place, hit in enumerate(found.passages, start=1) if spot(hit.passage) in asked.gold)
    return next(places, AMONG + 1), found.confidence
