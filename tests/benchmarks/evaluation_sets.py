"""The public evaluation sets: documents as libraries, and questions with their gold passages.

A set of paragraphs becomes one library in which each paragraph is a passage, under the title of
its article where the set has one; the team's documents are read and cut as they would be for a
user. A gold passage is named by the source and the start of what was indexed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from core import bootstrap
from core.conversation import Exchange, value
from core.graph.state import ANSWER_REMEMBERED, HISTORY_LIMIT
from core.library.documents import Passage, Piece, Scope
from core.library.embedding.embedder import Embedder, embedder_for
from core.library.entries import NewDocument
from core.library.formats.markdown import heading_text
from core.library.formats.read import read_document
from core.library.library import DEFAULT_COLLECTION, Library
from core.settings import Settings

EVERYTHING = Scope(collections=frozenset({DEFAULT_COLLECTION}))
PASSAGE_LIMIT = 30_000  # passages of one look-up: SQLite binds at most 32,766 values
GAP = 2  # characters between two paragraphs of a document

JsonObject = dict[str, Any]
T = TypeVar("T")
Spot = tuple[str, int]  # source and start of a passage


@value
class LabelledQuestion:
    """A question of an evaluation set, with its gold labels."""

    id: str
    question: str
    history: tuple[Exchange, ...] = ()  #: oldest first, as a conversation would remember it
    gold: frozenset[Spot] = frozenset()  #: passages that answer it; empty where none does
    answers: tuple[str, ...] = ()  #: wordings of the answer, or the sentences, that stand in the gold passage
    sentences: Mapping[str, tuple[int, int]] = field(
        default_factory=dict
    )  #: of the gold passage: start and end
    group: str = ""  #: the article or collection it is about


@value
class EvaluationSet:
    """Documents of paragraphs, and the questions about them."""

    documents: tuple[tuple[str, str, tuple[str, ...]], ...]  #: (source, title, paragraphs)
    questions: tuple[LabelledQuestion, ...]  #: answered by the documents
    near: tuple[LabelledQuestion, ...] = ()  #: about what the documents speak of, but not answered by them


def lines(file: Path) -> list[JsonObject]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def spot(passage: Passage) -> Spot:
    return passage.source, passage.start


# Libraries


def open_model(folder: str, say: Callable[[str], None] = print) -> Embedder | None:
    """The embedder of a folder; None for "none"."""
    return embedder_for(
        folder, google_api_key="", google_base_url="", timeout=30, announce=say, progress=lambda _a, _b: None
    )


def open_library(folder: Path, embedder: Embedder | None, *, url: str = "") -> Library:
    """In files of this folder or in the PostgreSQL of this URL."""
    return bootstrap.open_library(Settings(data_dir=folder, database_url=url), embedder=embedder)


def add_paragraphs(
    library: Library,
    address: str,
    title: str,
    paragraphs: Iterable[str],
    *,
    collection: str = DEFAULT_COLLECTION,
) -> None:
    """A document whose passages are these paragraphs, one each."""
    pieces = [
        Piece(path=(), location=f"paragraph {number}", text=text, start=start, end=start + len(text))
        for number, (text, start) in enumerate(_placed(paragraphs))
    ]
    library.store.put(
        NewDocument(
            collection=collection, address=address, root=address, source=address, title=title, url=None,
            hash="", size=pieces[-1].end if pieces else 0, modified=0, pieces=pieces,
        )
    )  # fmt: skip


def _placed(paragraphs: Iterable[str]) -> list[tuple[str, int]]:
    """Each paragraph with its start in the document."""
    placed, start = [], 0
    for text in paragraphs:
        placed.append((text, start))
        start += len(text) + GAP
    return placed


def fill(library: Library, documents: Iterable[tuple[str, str, Sequence[str]]]) -> Library:
    """The library with these documents, and their vectors where it has an embedder."""
    for source, title, paragraphs in documents:
        add_paragraphs(library, source, title, paragraphs)
    library.embed_pending()
    return library


def folder(source: str) -> str:
    """What a document lies in."""
    return source.rpartition("/")[0]


def part(corpus: EvaluationSet, count: int) -> EvaluationSet:
    """About so many questions of each kind, evenly spread, over their passages and as many others."""
    asked, near = (_spread(of, count) for of in (corpus.questions, corpus.near))
    gold = {source for question in asked for source, _ in question.gold}
    others = _spread([source for source, _, _ in corpus.documents if source not in gold], count)
    kept = gold.union(others)
    return EvaluationSet(
        documents=tuple(d for d in corpus.documents if d[0] in kept), questions=asked, near=near
    )


def _spread(items: Sequence[T], count: int) -> tuple[T, ...]:
    return tuple(items[:: max(1, len(items) // count)])


# Sets


@cache
def squad(data: Path) -> EvaluationSet:
    """SQuAD 2: each paragraph a document in the folder of its article; ``near`` are its impossible questions."""
    paragraphs = lines(data / "squad2/paragraphs.jsonl")
    places = {p["id"]: f"{article(p['title'])}/{p['id'].rpartition('#')[2]}" for p in paragraphs}
    asked = [
        LabelledQuestion(
            id=q["id"],
            question=q["question"],
            gold=frozenset({(places[q["paragraph"]], 0)} if q["answerable"] else ()),
            answers=tuple(q["answers"]),
            group=article(q["article"]),
        )
        for q in lines(data / "squad2/questions.jsonl")
    ]
    return EvaluationSet(
        documents=tuple((places[p["id"]], p["title"].replace("_", " "), (p["text"],)) for p in paragraphs),
        questions=tuple(q for q in asked if q.gold),
        near=tuple(q for q in asked if not q.gold),
    )


def article(title: str) -> str:
    """The folder of an article of SQuAD 2."""
    return _address("squad", title)


@cache
def clapnq(data: Path) -> EvaluationSet:
    """CLAPNQ: each passage a document; ``near`` are the questions that their own passage does not answer."""
    answerable, unanswerable = (lines(data / f"clapnq/{name}answerable.jsonl") for name in ("", "un"))
    titles: dict[str, str] = {
        q["passages"][0]["text"]: q["passages"][0]["title"] for q in (*answerable, *unanswerable)
    }
    places = {text: _address("clapnq", f"{number}") for number, text in enumerate(titles)}

    def read(question: JsonObject) -> LabelledQuestion:
        passage = question["passages"][0]
        gold = tuple(question["output"][0]["selected_sentences"])
        return LabelledQuestion(
            id=question["id"],
            question=question["input"],
            gold=frozenset({(places[passage["text"]], 0)} if gold else ()),
            answers=gold,
            sentences=_found_in(passage["text"], passage["sentences"]),
        )

    return EvaluationSet(
        documents=tuple((places[text], title, (text,)) for text, title in titles.items()),
        questions=tuple(
            asked for asked in map(read, answerable) if asked.gold
        ),  # some have no sentence marked
        near=tuple(map(read, unanswerable)),
    )


def _found_in(text: str, sentences: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Start and end of each sentence, which stand in the text in this order."""
    found, after = {}, 0
    for sentence in sentences:
        start = text.find(sentence, after)
        if start >= 0:
            after = start + len(sentence)
            found[sentence] = (start, after)
    return found


@cache
def mtrag(data: Path) -> EvaluationSet:
    """MTRAG: each passage a document without a title; questions with the turns before them.

    ``near`` are the turns marked as unanswerable; partly answerable and underspecified ones are
    asked for retrieval where they have gold passages.
    """
    texts: dict[str, str] = {p["id"]: p["text"] for p in lines(data / "mtrag/passages.jsonl")}
    asked = [
        LabelledQuestion(
            id=task["task_id"],
            question=task["input"][-1]["text"],
            history=_remembered(task["input"][:-1]),
            gold=frozenset((_address("mtrag", c["document_id"]), 0) for c in task["contexts"]),
            group=next(iter(task["answerability"]), ""),
        )
        for task in lines(data / "mtrag/tasks.jsonl")
    ]
    return EvaluationSet(
        documents=tuple((_address("mtrag", name), "", (text,)) for name, text in texts.items()),
        questions=tuple(q for q in asked if q.gold),
        near=tuple(q for q in asked if q.group == "UNANSWERABLE"),
    )


def _remembered(said: Sequence[JsonObject]) -> tuple[Exchange, ...]:
    """What a conversation remembers of the turns before."""
    pairs = zip(said[::2], said[1::2], strict=True)
    history = (
        Exchange(question=asked["text"], answer=answered["text"][:ANSWER_REMEMBERED], author=asked["speaker"])
        for asked, answered in pairs
    )
    return tuple(history)[-HISTORY_LIMIT:]


def headings(library: Library) -> tuple[LabelledQuestion, ...]:
    """Each heading of the files in a library as a question.

    Gold are the passages that hold the heading or anything of what stands under it before the
    next heading, whatever the level of that one.
    """
    asked, held = [], passages_of(library)
    for entry in library.store.entries():
        passages = [passage for passage in held if passage.source == entry.source]
        document = read_document(Path(entry.address))
        starts = [block for block in document.blocks if block.kind == "heading"]
        ends = [*(block.start for block in starts[1:]), len(document.text)]
        for block, end in zip(starts, ends, strict=False):
            gold = frozenset(spot(p) for p in passages if p.start < end and p.end > block.start)
            text = heading_text(document.text[block.start : block.end])
            if gold and text:
                asked.append(LabelledQuestion(id=f"{entry.source}:{block.start}", question=text, gold=gold))
    return tuple(asked)


def passages_of(library: Library, scope: Scope = EVERYTHING) -> list[Passage]:
    """All passages of a scope."""
    ids = library.store.ids(scope, limit=PASSAGE_LIMIT)
    return list(library.store.passages(chain(*ids.values()), scope).values())


def _address(corpus: str, name: str) -> str:
    return f"/{corpus}/{quote(name)}"
