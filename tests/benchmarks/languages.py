"""How well questions of each language find their passages by words alone, and are told apart.

    python tests/benchmarks/languages.py ../shared/data

The passages of the drafts make two libraries: those in the language of the documents asked for, and
all of them together. A passage is right when a supported sentence of the draft cites it. Beside the
questions, the draft's sentences are asked: there are more of them.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).resolve().parents[above]) for above in (2, 1)]

from benchmarks.corpora import EVERYTHING, lines, open_library, spot
from core.library.catalogue import NewDocument
from core.library.documents import Piece
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.retriever import Query
from core.text.language import language_of

AMONG = 8
Item = Mapping[str, Any]
Spot = tuple[str, int]  # source and start of a passage


class Asked(NamedTuple):
    """What is looked for, and the passages that hold it."""

    text: str
    gold: frozenset[Spot]


def told_apart(items: Sequence[Item]) -> Iterator[str]:
    """Of the questions and of the passages, those whose language is taken for another."""
    questions = {item["question"]: item["language"] for item in items}
    passages = {passage["text"]: item["document_language"] for item in items for passage in item["passages"]}
    for name, labels in (("questions", questions), ("passages", passages)):
        wrong = Counter((own, language_of(text)) for text, own in labels.items())
        missed = {f"{own} as {told}": count for (own, told), count in wrong.items() if own != told}
        yield f"{len(labels)} {name}, taken for another language: {missed or 'none'}"


def found(items: Sequence[Item]) -> Iterator[str]:
    """A line for each pair of languages: right first, among the first, and how sure of it, in both libraries."""
    pairs = defaultdict(list)
    for item in items:
        pairs[item["language"], item["document_language"]].append(item)
    with tempfile.TemporaryDirectory() as folder:
        everything, spots = _filled(Path(folder, "all"), items)
        for (language, document), asked in sorted(pairs.items()):
            same = [item for item in items if item["document_language"] == document]
            alone, own_spots = _filled(Path(folder, f"{language}-{document}"), same)
            cells = (
                _share(library, [_asked(item, places, by_sentence) for item in asked])
                for by_sentence in (False, True)
                for library, places in ((alone, own_spots), (everything, spots))
            )
            yield f"{language} over {document}   " + "   ".join(cells)
            alone.close()
        everything.close()


def _filled(folder: Path, items: Sequence[Item]) -> tuple[Library, dict[str, Spot]]:
    """A library of the items' passages, and where each text stands in it."""
    library, spots = open_library(folder, None), {}
    sources: dict[str, list[Item]] = defaultdict(list)
    for passage in (passage for item in items for passage in item["passages"]):
        if passage["text"] not in spots:
            spots[passage["text"]] = (passage["source"], len(sources[passage["source"]]))
            sources[passage["source"]].append(passage)
    for source, passages in sources.items():
        pieces = [
            Piece(path=tuple(passage["path"]), location="", text=passage["text"], start=number, end=number)
            for number, passage in enumerate(passages)
        ]
        library.catalogue.put(
            NewDocument(
                collection=DEFAULT_COLLECTION, address=f"/{source}", root="/", source=source, title=passages[0]["title"],
                url=None, hash="", size=0, modified=0, pieces=pieces,
            )
        )  # fmt: skip
    return library, spots


def _asked(item: Item, spots: Mapping[str, Spot], by_sentence: bool) -> list[Asked]:
    texts = {passage["n"]: passage["text"] for passage in item["passages"]}
    told = [sentence for sentence in item["sentences"] if sentence["supported"] and sentence["cites"]]
    golds = [frozenset(spots[texts[number]] for number in sentence["cites"]) for sentence in told]
    if by_sentence:
        return [Asked(sentence["text"], gold) for sentence, gold in zip(told, golds, strict=True)]
    return [Asked(item["question"], frozenset().union(*golds))] if golds else []


def _share(library: Library, asked: Sequence[Sequence[Asked]]) -> str:
    looked = [_looked(library, one) for each in asked for one in each]
    first, among = (sum(rank <= limit for rank, _ in looked) for limit in (1, AMONG))
    sure = sum(confidence for _, confidence in looked) / len(looked)
    return f"{first:3} {among:3} of {len(looked):3}, {sure:.2f}"


def _looked(library: Library, asked: Asked) -> tuple[int, float]:
    """The rank of the first passage that is right, and the confidence."""
    found = library.retrieve(Query(text=asked.text, scope=EVERYTHING, limit=AMONG))
    places = (place for place, hit in enumerate(found.passages, start=1) if spot(hit.passage) in asked.gold)
    return next(places, AMONG + 1), found.confidence


def main() -> None:
    items = lines(Path(sys.argv[1]) / "drafts/drafts.jsonl")
    print(*told_apart(items), sep="\n")
    print(
        "\nfirst, among eight, mean confidence: questions, alone and among all; sentences, alone and among all"
    )
    print(*found(items), sep="\n")


if __name__ == "__main__":
    main()
