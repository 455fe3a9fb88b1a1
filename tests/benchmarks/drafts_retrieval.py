"""Where the passage stands that answers a question as a colleague types it.

    python tests/benchmarks/drafts_retrieval.py ../shared/data [MODEL] [--missed]

MODEL is a folder with model.onnx; without it words alone count. The English questions of the drafts over
English documents are asked: those about FastAPI over its whole documentation, those about policies over
the passages of all policy questions, as their handbook is not here. A question counts at a rank when a
passage that overlaps one cited by its draft is among so many found first. ``--missed`` names those that
are not first.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[above]) for above in (2, 1)]

from benchmarks.corpora import EVERYTHING, Line, Spot, lines, open_library, open_model, passages_of, spot
from benchmarks.retrieval import NOT_FOUND, sides
from core.library.catalogue import NewDocument
from core.library.documents import Passage, Piece
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.retriever import Query

RANKS = (1, 5, 8, 20)
FASTAPI = "en-docs"  # how the ids of questions about FastAPI's documentation begin


def english(data: Path) -> list[Line]:
    drafts = lines(data / "drafts/drafts.jsonl")
    return [draft for draft in drafts if (draft["language"], draft["document_language"]) == ("en", "en")]


def fill_handbook(library: Library, drafts: Iterable[Line]) -> None:
    """All passages of these drafts, those of one page in one document."""
    pages: dict[tuple[str, str], dict[str, Line]] = {}
    for passage in (passage for draft in drafts for passage in draft["passages"]):
        pages.setdefault((passage["source"], passage["title"]), {})[passage["text"]] = passage
    for (source, title), passages in pages.items():
        library.catalogue.put(
            NewDocument(
                collection=DEFAULT_COLLECTION, address=f"/{source}", root=f"/{source}", source=source, title=title,
                url=None, hash="", size=0, modified=0, pieces=_pieces(passages.values()),
            )
        )  # fmt: skip
    library.embed_pending()


def _pieces(passages: Iterable[Line]) -> list[Piece]:
    pieces: list[Piece] = []
    for passage in passages:
        start = pieces[-1].end + 2 if pieces else 0
        path, end = tuple(passage["path"]), start + len(passage["text"])
        place = " > ".join(path)
        pieces.append(Piece(path=path, location=place, text=passage["text"], start=start, end=end))
    return pieces


def overlapping(library: Library, draft: Line, docs: Path) -> frozenset[Spot]:
    """The passages of a library that overlap one that the draft cites: they may be cut otherwise here."""
    cited = {number for sentence in draft["sentences"] for number in sentence["cites"]}
    wanted = [passage for passage in draft["passages"] if passage["n"] in cited]
    return frozenset(
        spot(held)
        for held in passages_of(library)
        for each in wanted
        if held.source.endswith(each["source"]) and _overlaps(held, each["text"], docs / each["source"])
    )


def _overlaps(held: Passage, text: str, file: Path) -> bool:
    if not file.exists():
        return held.text == text
    start = file.read_text(encoding="utf-8").find(text)
    return start >= 0 and held.start < start + len(text) and start < held.end


def rank(library: Library, question: str, gold: Collection[Spot]) -> int:
    """Of the first of these passages, counted from 1."""
    found = library.retrieve(Query(text=question, scope=EVERYTHING, limit=max(RANKS))).passages
    return next((place for place, hit in enumerate(found, start=1) if spot(hit.passage) in gold), NOT_FOUND)


def main() -> None:
    data, *rest = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    model = open_model(rest[0]) if rest else None
    drafts = english(Path(data))
    about = {
        "FastAPI": [draft for draft in drafts if draft["id"].startswith(FASTAPI)],
        "policies": [draft for draft in drafts if not draft["id"].startswith(FASTAPI)],
    }
    with tempfile.TemporaryDirectory() as scratch:
        for name, asked in about.items():
            library = open_library(Path(scratch, name), model)
            if name == "FastAPI":
                library.ingest([Path(data) / "fastapi_docs"])
                library.embed_pending()
            else:
                fill_handbook(library, asked)
            gold = {
                draft["question"]: overlapping(library, draft, Path(data, "fastapi_docs")) for draft in asked
            }
            for side, each in sides(library).items():
                found = {question: rank(each, question, spots) for question, spots in gold.items()}
                shares = (f"{sum(rank <= at for rank in found.values()) / len(found):.2f}" for at in RANKS)
                print(f"{name}, {side}: {' / '.join(shares)} among the first {RANKS} of {len(found)}")
                if "--missed" in sys.argv:
                    print(*(f"  {place:4} {asked}" for asked, place in found.items() if place > 1), sep="\n")
            library.close()


if __name__ == "__main__":
    main()
