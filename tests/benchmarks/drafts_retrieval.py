"""At which rank the passage stands that answers a question as a colleague types it.

The English questions of the drafts over
English documents are asked: those about FastAPI over its whole documentation, those about policies over
the passages of all policy questions, as their handbook is not here. A question counts at a rank when a
passage that overlaps one cited by its draft is among so many found first.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import (
    EVERYTHING,
    JsonObject,
    Spot,
    lines,
    open_library,
    open_model,
    passages_of,
    spot,
)
from benchmarks.retrieval import NOT_FOUND, sides
from bots.testing.report import Cell, Section, Table
from core.library.documents import Passage, Piece
from core.library.entries import NewDocument
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.retriever import Query

RANKS = (1, 5, 8, 20)
FASTAPI = "en-docs"  # how the ids of questions about FastAPI's documentation begin


def english(data: Path) -> list[JsonObject]:
    drafts = lines(data / "drafts/drafts.jsonl")
    return [draft for draft in drafts if (draft["language"], draft["document_language"]) == ("en", "en")]


def fill_handbook(library: Library, drafts: Iterable[JsonObject]) -> None:
    """All passages of these drafts, those of one page in one document."""
    pages: dict[tuple[str, str], dict[str, JsonObject]] = {}
    for passage in (passage for draft in drafts for passage in draft["passages"]):
        pages.setdefault((passage["source"], passage["title"]), {})[passage["text"]] = passage
    for (source, title), passages in pages.items():
        library.store.put(
            NewDocument(
                collection=DEFAULT_COLLECTION, address=f"/{source}", root=f"/{source}", source=source, title=title,
                url=None, hash="", size=0, modified=0, pieces=_pieces(passages.values()),
            )
        )  # fmt: skip
    library.embed_pending()


def _pieces(passages: Iterable[JsonObject]) -> list[Piece]:
    pieces: list[Piece] = []
    for passage in passages:
        start = pieces[-1].end + 2 if pieces else 0
        path, end = tuple(passage["path"]), start + len(passage["text"])
        place = " > ".join(path)
        pieces.append(Piece(path=path, location=place, text=passage["text"], start=start, end=end))
    return pieces


def overlapping(library: Library, draft: JsonObject, docs: Path) -> frozenset[Spot]:
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


def run(say: Say, *, data: Path = DATA, model: str = "none") -> Section:
    embedder, drafts = open_model(model, say), english(data)
    rows: list[tuple[Cell, ...]] = []
    missed: list[tuple[Cell, ...]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("FastAPI", "policies"):
            asked = [draft for draft in drafts if draft["id"].startswith(FASTAPI) is (name == "FastAPI")]
            say(f"{name}: {len(asked)} questions")
            library = open_library(Path(scratch, name), embedder)
            if name == "FastAPI":
                library.ingest([data / "fastapi_docs"])
                library.embed_pending()
            else:
                fill_handbook(library, asked)
            gold = {draft["question"]: overlapping(library, draft, data / "fastapi_docs") for draft in asked}
            for side, each in sides(library).items():
                found = {question: rank(each, question, spots) for question, spots in gold.items()}
                shares = (sum(rank <= at for rank in found.values()) / len(found) for at in RANKS)
                rows.append((f"{name}, {side}", len(found), *shares))
                missed += [(f"{name}, {side}", place, asked) for asked, place in found.items() if place > 1]
            library.close()
    return Section(
        name="drafts_retrieval",
        title="Passages found for questions as colleagues type them",
        what="The share of the questions for which a passage that the draft cites is among so many found first.",
        tables=(
            Table(title="Ranks", columns=("questions", "number", *(f"first {at}" for at in RANKS)), rows=tuple(rows)),
            Table(title="Not first", columns=("of", "rank", "question"), rows=tuple(missed)),
        ),
        figures={f"{row[0]}: first {at}": float(share) for row in rows for at, share in zip(RANKS, row[2:], strict=True)},
    )  # fmt: skip
