"""Questions whose gold is known, and the documents and the web in which it may stand.

Half of the questions are answered by the team's documents ("held"): those of the labelled drafts, each
asked of its own passages. Of SQuAD 2 and CLAPNQ are three tenths that were answered by articles which are
left out of the documents ("away"), and two tenths near-misses that nothing answers ("near"). Retrieval is
the library's own, by words alone. The web holds part of what is answered anywhere, and each wording of a
query finds it or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from benchmarks.draft_labels import Item, read_items
from benchmarks.evaluation_sets import EVERYTHING, JsonObject, add_paragraphs, lines, open_library
from core.conversation import value
from core.library.documents import Retrieval
from core.library.library import Library
from core.library.retriever import Query
from core.text.sentences import STOP_WORDS, split_sentences

Kind = Literal["held", "away", "near"]

MIX: dict[Kind, float] = {"held": 0.5, "away": 0.3, "near": 0.2}  # shares of the questions
WEB_HOLDS = 0.8  # share of the answerable questions whose answer is on the web at all
QUERY_FINDS = 0.7  # chance that one wording finds what the web holds
WEB_HITS = 4  # passages that one search brings
GOLD_AMONG = 3  # ranks at which the answering hit may stand
RETRIEVED = 8  # passages of one retrieval; who wants fewer takes the best
WORDINGS = 5  # the question, and what a rewriter makes of it in turn


@value
class WorldQuestion:
    """A question and its gold passage."""

    id: str
    text: str
    kind: Kind
    gold: str = ""  #: the paragraph that answers it, wherever it is; empty for a near-miss
    item: Item | None = None  #: its drafts, where a language model wrote some; gold is what they rest on most
    sentences: tuple[
        tuple[int, int], ...
    ] = ()  #: stretches of the gold paragraph that say it, the best first

    @property
    def telling(self) -> frozenset[str]:
        """Every paragraph that answers a part of it."""
        return frozenset([p.text for p in self.item.cited()] if self.item else [self.gold])

    @property
    def answer(self) -> str:
        """The sentence that answers it, verbatim."""
        start, end = self.sentences[0]
        return self.gold[start:end]

    @property
    def wordings(self) -> tuple[str, ...]:
        """The question, then ever shorter rewrites: telling words, then without the shortest of them."""
        words = re.findall(r"[\w'-]+", self.text)
        telling = [word for word in words if word.lower() not in STOP_WORDS] or words
        rewrites = [self.text]
        for _ in range(1, WORDINGS):
            rewrites.append(" ".join(telling))
            if len(telling) > 2:
                telling.remove(min(telling, key=len))
        return tuple(rewrites)


Find = Callable[..., Retrieval]  # of a query, and of addresses to stay within


@dataclass(slots=True)
class World:
    """The documents, the web and the questions of one measurement."""

    questions: tuple[WorldQuestion, ...]
    documents: Find  #: the team's
    everything: Find  #: with the articles that were left out
    _found: dict[tuple[str, ...], Retrieval] = field(default_factory=dict)

    def retrieve(self, question: WorldQuestion, query: str) -> Retrieval:
        return self._once(query, self.documents, *([_place(question.item)] if question.item else []))

    def search_web(self, question: WorldQuestion, query: str, seed: int) -> tuple[str, ...]:
        """Texts of the hits for a query, best first."""
        hits = [hit.passage.text for hit in self._once(query, self.everything).passages]
        beside = [text for text in hits if text != question.gold][:WEB_HITS]
        is_there = question.kind != "near" and draw(seed, question.id, "web holds") < WEB_HOLDS
        if is_there and draw(seed, question.id, "query finds", query) < QUERY_FINDS:
            beside.insert(int(draw(seed, question.id, "rank", query) * GOLD_AMONG), question.gold)
        return tuple(beside[:WEB_HITS])

    def _once(self, query: str, find: Find, *within: str) -> Retrieval:
        asked = (query, str(find is self.documents), *within)
        if asked not in self._found:
            self._found[asked] = find(query, *within)
        return self._found[asked]


def draw(*parts: object) -> float:
    """A number from 0 to 1 that is always the same for the same parts, and says nothing of other parts."""
    digest = blake2b("\x1f".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@contextmanager
def open_world(data: Path, folder: Path, *, count: int) -> Iterator[World]:
    """The world with up to this many questions; its two libraries are built in ``folder``."""
    articles = {**_squad_articles(data), **_clapnq_articles(data)}
    away = {
        title for title in articles if draw("left out", title) < MIX["away"] / (MIX["away"] + MIX["held"])
    }
    team, everything = (open_library(folder / name, None) for name in ("team", "everything"))
    try:
        for title, texts in articles.items():
            add_paragraphs(everything, f"/{title}", title, texts)
            if title not in away:
                add_paragraphs(team, f"/{title}", title, texts)
        held = [*_drafted(data)]
        for item in (question.item for question in held if question.item):
            for excerpt in item.passages:
                add_paragraphs(team, f"{_place(item)}/{excerpt.n}", excerpt.title, [excerpt.text])
        asked = _placed([*_squad_questions(data), *_clapnq_questions(data)], away)
        yield World(
            questions=tuple(_mixed([*held, *asked], count)),
            documents=_retriever(team),
            everything=_retriever(everything),
        )
    finally:
        team.close()
        everything.close()


def _retriever(library: Library) -> Callable[[str], Retrieval]:
    return lambda text, *within: library.retrieve(
        Query(text=text, scope=replace(EVERYTHING, addresses=within), limit=RETRIEVED)
    )


def _place(item: Item) -> str:
    """Where the passages of a draft lie."""
    return f"/drafts/{item.id}"


def _mixed(questions: Sequence[WorldQuestion], count: int) -> Iterator[WorldQuestion]:
    """As many questions as keep the mix, taken by lot."""
    by_kind = {kind: [question for question in questions if question.kind == kind] for kind in MIX}
    total = min(count, *(int(len(by_kind[kind]) / share) for kind, share in MIX.items()))
    for kind, share in MIX.items():
        yield from sorted(by_kind[kind], key=lambda question: draw("taken", question.id))[
            : round(total * share)
        ]


def _placed(questions: Iterable[tuple[WorldQuestion, str]], away: set[str]) -> list[WorldQuestion]:
    """Those that were answered by an article left out, and those near to one that was not."""
    placed = []
    for question, article in questions:
        if question.gold and question.sentences and article in away:
            placed.append(replace(question, kind="away"))
        elif not question.gold and article not in away:
            placed.append(question)
    return placed


def _drafted(data: Path) -> Iterator[WorldQuestion]:
    file = data / "drafts/drafts.jsonl"
    for item in read_items(file) if file.exists() else ():
        cited = item.cited()
        if cited:
            yield WorldQuestion(id=item.id, text=item.question, kind="held", gold=cited[0].text, item=item)


def _squad_articles(data: Path) -> dict[str, list[str]]:
    articles: dict[str, list[str]] = {}
    for paragraph in lines(data / "squad2/paragraphs.jsonl"):
        articles.setdefault(paragraph["title"], []).append(paragraph["text"])
    return articles


def _squad_questions(data: Path) -> Iterator[tuple[WorldQuestion, str]]:
    """Each question with its article; what is read as near is yet to be placed."""
    texts = {line["id"]: line["text"] for line in lines(data / "squad2/paragraphs.jsonl")}
    for line in lines(data / "squad2/questions.jsonl"):
        gold = texts[line["paragraph"]] if line["answerable"] else ""
        answer = re.compile("|".join(re.escape(answer) for answer in line["answers"]) or "(?!)")
        spans = tuple((a, b) for a, b in split_sentences(gold) if answer.search(gold, a, b))
        question = WorldQuestion(
            id=line["id"],
            text=line["question"].strip(),
            kind="near",
            gold=gold,
            sentences=spans,
        )
        yield question, line["article"]


def _clapnq_articles(data: Path) -> dict[str, list[str]]:
    articles: dict[str, list[str]] = {}
    for line in _clapnq_lines(data):
        text, held = line["passages"][0]["text"], articles.setdefault(_title(line), [])
        if text not in held:
            held.append(text)
    return articles


def _clapnq_questions(data: Path) -> Iterator[tuple[WorldQuestion, str]]:
    for line in _clapnq_lines(data):
        said = line["output"][0]["selected_sentences"]
        gold = line["passages"][0]["text"] if said else ""
        places = [gold.find(sentence) for sentence in said]
        spans = tuple((a, b) for a, b in split_sentences(gold) if any(a <= place < b for place in places))
        yield (
            WorldQuestion(id=line["id"], text=line["input"], kind="near", gold=gold, sentences=spans),
            _title(line),
        )


def _clapnq_lines(data: Path) -> list[JsonObject]:
    return [*lines(data / "clapnq/answerable.jsonl"), *lines(data / "clapnq/unanswerable.jsonl")]


def _title(line: JsonObject) -> str:
    return f"CLAPNQ {line['passages'][0]['title']}"
