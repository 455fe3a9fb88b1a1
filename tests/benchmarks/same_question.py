"""Whether a question in other words is taken for the one that a person answered, and another question is not.

Pairs of questions are judged by the rule of core/library/sameness.py and by parts of it, and kept answers are looked
for among documents under each. A fixed hash of the question that was answered splits the pairs into a half that
thresholds may look at and a half that is judged. The present thresholds were chosen looking at all pairs.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import chain, islice
from math import inf
from pathlib import Path
from zlib import crc32

from benchmarks import DATA, Say, evaluation_sets, rewordings
from benchmarks.evaluation_sets import EVERYTHING, add_paragraphs, folder, open_library, open_model
from benchmarks.rewordings import Pair, Pairs
from bots.testing.report import Cell, Section, Table, with_interval
from core.answers.store import KeptAnswer, document_of, id_of
from core.characters import storable
from core.conversation import value
from core.library import sameness
from core.library.embedding.embedder import Embedder
from core.library.library import DEFAULT_COLLECTION, Library
from core.library.rerank import Scored, rerank
from core.library.retriever import Query, Retriever
from core.text.language import language_of
from core.text.terms import query_terms, term_weights

HALVES = ("looked at", "judged")
FILES = "fastapi_docs"
ARTICLES = ("Steam_engine", "European_Union_law")  # of SQuAD 2, in the library of the ranking
EACH = 3  # of so many near-misses of these articles, one is asked
QUICK, QUICK_ASKED = 8, 3  # groups and near-misses of a quick run, and those of them that are looked for
SHOWN = 8  # passages that a question finds
SAID_AT = 1_790_000_000.0  # seconds since the epoch, of every kept answer
UNSAID = "Ask Eve about it."  # the answer of a group for which the set gives files alone

Constants = Mapping[str, float | Callable[..., bool]]  # of core/library/sameness.py, by name


def _never(*_: object) -> bool:
    return False


ALIKE: Constants = {"has_swapped_words": _never, "are_distinct": _never}
NONE_SWAPPED: Constants = {"are_distinct": _never}
#: Parts of the rule: a bound that nothing reaches leaves its part out, and so does what is never said.
RULES: Mapping[str, Constants] = {
    "words agree": {"SAME_MEANING": inf, **ALIKE},
    "words agree, and none is swapped": {"SAME_MEANING": inf, **NONE_SWAPPED},
    "words agree, and nothing tells them apart": {"SAME_MEANING": inf},
    "or vectors are close": ALIKE,
    "either, and no word is swapped": NONE_SWAPPED,
    "either, and nothing tells them apart": {},
}
NO_CREDIT: Mapping[str, Constants] = {"no credit": {"SAME_WORDS": inf, "SAME_MEANING": inf}}

KINDS = {
    "reworded": "FastAPI, the same in other words",
    "beside": "FastAPI, another question that the same file answers",
    "reworded squad": "SQuAD 2, the same in other words",
    "near": "SQuAD 2, near-misses",
}
WHAT = (
    "Pairs of questions that ask for the same, and pairs that only look as if they did, are judged as the ranking "
    "judges them; terms are weighted by how few of these questions have them. Then one answer of each group is kept "
    "beside the FastAPI documentation and two articles of SQuAD 2, and the other questions look for it."
)
PAIRS_NOTE = (
    "A near-miss is another question that the same file answers, or an impossible question of SQuAD 2 beside the "
    "question of its paragraph with which it shares most words. A word is swapped where half of the words are the "
    "same, or all but one, and each question has one of its own. A name, a number or the opposite tells questions apart."
)
LIMITS = (
    "All bounds but that of closeness were chosen looking at all pairs, so that neither half is unseen; that one, and "
    "what tells questions apart, with the first half alone in view. What asks for the same was read by one reader. A question of FastAPI can be answered in a pair of one half and be "
    "the later one in a pair of the other. The answer of a group for which the set names files alone is a sentence "
    "that says nothing."
)


@value
class Compared:
    """A pair as the ranking sees it."""

    pair: Pair
    weights: Mapping[str, float]  #: of the terms of the other one
    closeness: float  #: by meaning; 0 without vectors
    half: str
    is_same: bool  #: by the labels


@value
class Case:
    """A question that is asked where an answer is kept."""

    kind: str
    text: str
    address: str  #: of the kept answer
    half: str


@value
class Shelf:
    """What is kept beside the documents, and what is then asked."""

    kept: tuple[KeptAnswer, ...]
    cases: tuple[Case, ...]
    files: tuple[str, ...]  #: of FastAPI that are read; empty: all
    articles: tuple[str, ...]  #: folders


def run(say: Say, *, data: Path = DATA, model: str = "none", quick: bool = False) -> Section:
    embedder = open_model(model, say)
    sets = {"FastAPI": rewordings.of_fastapi(data), "SQuAD 2": rewordings.of_squad(data)}
    if quick:
        sets = {name: Pairs(same=some.same[:QUICK], near=some.near[:QUICK]) for name, some in sets.items()}
    figures: dict[str, float] = {}
    pairs = _pairs_table(sets, embedder, figures, say)
    ranking = _ranking_tables(shelf(data, quick=quick), data, embedder, figures, say)
    return Section(
        name="same_question", title="The same question in other words", what=WHAT,
        tables=(pairs, *ranking), figures=figures, note=LIMITS,
    )  # fmt: skip


def half_of(answered: str) -> str:
    """By the question that was answered: the same in every run."""
    return HALVES[crc32(answered.encode()) % 2]


@contextmanager
def constants(changed: Constants) -> Iterator[None]:
    """The rule with these in place of its own."""
    before = {name: getattr(sameness, name) for name in changed}
    try:
        for name, bound in changed.items():
            setattr(sameness, name, bound)
        yield
    finally:
        for name, bound in before.items():
            setattr(sameness, name, bound)


def rules(*, with_vectors: bool) -> dict[str, Constants]:
    """Those that differ where questions are compared so."""
    return {name: each for name, each in RULES.items() if with_vectors or each.get("SAME_MEANING") == inf}


# Pairs


def _pairs_table(
    sets: Mapping[str, Pairs], embedder: Embedder | None, figures: dict[str, float], say: Say
) -> Table:
    weigh = weights_by(chain.from_iterable((*pairs.same, *pairs.near) for pairs in sets.values()))
    rows: list[tuple[Cell, ...]] = []
    for name, pairs in sets.items():
        say(f"{name}: {len(pairs.same)} pairs that ask for the same, {len(pairs.near):,} near-misses")
        compared = compare(pairs, weigh, embedder)
        for rule, changed in rules(with_vectors=embedder is not None).items():
            with constants(changed):
                taken = [is_taken(each) for each in compared]
            for half in ("all", *HALVES):
                here = [
                    (each.is_same, one)
                    for each, one in zip(compared, taken, strict=True)
                    if half in ("all", each.half)
                ]
                counts = Counter(here)
                same, near = (counts[is_same, True] + counts[is_same, False] for is_same in (True, False))
                found, wrong = counts[True, True], counts[False, True]
                rows.append(
                    (name, rule, half, same, near, _share(found, found + wrong), _share(found, same), wrong)
                )
                figures |= {
                    f"{name}, {rule}, {half}: {what}": count
                    for what, count in (("same", same), ("found", found), ("near", near), ("taken", wrong))
                }
    columns = ("set", "rule", "pairs", "the same", "near-misses", "precision", "recall", "near-misses taken")
    return Table(title="Pairs", columns=columns, rows=tuple(rows), note=PAIRS_NOTE)


def _share(hits: int, of: int) -> float:
    return hits / of if of else float("nan")


def weights_by(pairs: Iterable[Pair]) -> Callable[[str], Mapping[str, float]]:
    """Weights of a question's terms, by how few of these questions have each."""
    held = {text: query_terms(text, language_of(text)) for text in chain.from_iterable(pairs)}
    frequencies = Counter(chain.from_iterable(held.values()))
    return lambda text: term_weights(held[text], frequencies, len(held))


def compare(
    pairs: Pairs, weigh: Callable[[str], Mapping[str, float]], embedder: Embedder | None
) -> list[Compared]:
    known = sameness.QuestionVectors()

    def closeness(answered: str, asked: str) -> float:
        if embedder is None:
            return 0.0
        return known.closeness(embedder, embedder.embed_query(storable(asked)), [answered])[0]

    return [
        Compared(
            pair=(answered, asked), weights=weigh(asked), closeness=closeness(answered, asked),
            half=half_of(answered), is_same=is_same,
        )
        for is_same, some in ((True, pairs.same), (False, pairs.near))
        for answered, asked in some
    ]  # fmt: skip


def is_taken(pair: Compared) -> bool:
    """Whether the ranking gives the answer credit: a candidate without a word of its own has no other."""
    candidate = Scored(
        document="", words=((), ()), lexical=0.0, dense=None, closeness=pair.closeness,
        answered=sameness.answered_terms(*pair.pair),
    )  # fmt: skip
    return rerank({"kept": candidate}, pair.weights)["kept"] > 0


# Ranking


def shelf(data: Path, *, quick: bool = False) -> Shelf:
    """One answer of each group is kept, and the first answer of SQuAD 2 to each question that has a near-miss."""
    groups = rewordings.labels()["same"][: QUICK_ASKED if quick else None]
    asked = rewordings.documented(data)
    kept: dict[str, KeptAnswer] = {}
    cases: list[Case] = []

    def keep(question: str, text: str) -> None:
        kept.setdefault(question, _kept(question, text))

    def ask(kind: str, texts: Iterable[str], answered: str) -> None:
        address, half = kept[answered].address, half_of(answered)
        cases.extend(Case(kind=kind, text=text, address=address, half=half) for text in texts)

    for group in groups:
        first, *others = (asked[each] for each in group)
        keep(first.text, next((asked[each].reference for each in group if asked[each].reference), UNSAID))
        ask("reworded", (each.text for each in others), first.text)
    grouped = set(chain.from_iterable(rewordings.labels()["same"]))
    for first in (asked[group[0]] for group in groups):
        beside = (
            each.text for each in asked.values() if each.id not in grouped and each.sources & first.sources
        )
        ask("beside", islice(beside, 1 if quick else None), first.text)
    articles = tuple(map(evaluation_sets.article, ARTICLES))
    answers = {
        each.question.strip(): each.answers[0]
        for each in evaluation_sets.squad(data).questions
        if each.group in articles
    }
    near = [pair for pair in rewordings.of_squad(data).near if pair[0] in answers][::EACH]
    for answered, text in near[: QUICK_ASKED if quick else None]:
        keep(answered, answers[answered])
        ask("near", (text,), answered)
    reworded = [pair for pair in rewordings.labels()["squad2"] if pair[0] in answers]
    for answered, *others in reworded[: QUICK_ASKED if quick else None]:
        keep(answered, answers[answered])
        ask("reworded squad", others, answered)
    files = sorted(set().union(*(asked[group[0]].sources for group in groups))) if quick else ()
    return Shelf(kept=tuple(kept.values()), cases=tuple(cases), files=tuple(files), articles=articles)


def _kept(question: str, text: str) -> KeptAnswer:
    return KeptAnswer(
        id=id_of(question), question=question, text=text, author="UE", name="Eve", place="#help", conversation="",
        message="", url=None, collection=DEFAULT_COLLECTION, language=language_of(question), said_at=SAID_AT,
        kept_at=SAID_AT, valid_until=inf, state="used",
    )  # fmt: skip


def _ranking_tables(
    shelf: Shelf, data: Path, embedder: Embedder | None, figures: dict[str, float], say: Say
) -> tuple[Table, ...]:
    rows: list[tuple[Cell, ...]] = []
    with tempfile.TemporaryDirectory() as scratch, closing(open_library(Path(scratch), embedder)) as library:
        say(f"{len(shelf.kept)} answers are kept, {len(shelf.cases)} questions look for them")
        _fill(library, shelf, data)
        searches = {"words": Retriever(library.store)}
        if embedder is not None:
            searches["vectors"] = Retriever(library.store, embedder, library.vectors)
        for search, retriever in searches.items():
            for rule, changed in (NO_CREDIT | rules(with_vectors=search == "vectors")).items():
                say(f"{search}: {rule}")
                with constants(changed):
                    places = [place_of(retriever, case) for case in shelf.cases]
                for half in ("all", *HALVES):
                    found = dict(_shares(shelf.cases, places, half))
                    rows.append(
                        (search, rule, half, *(with_interval(hits, of) for hits, _, of in found.values()))
                    )
                    for kind, (first, shown, of) in found.items():
                        name = f"{search}, {rule}, {half}, {kind}"
                        figures |= {
                            f"{name}: first": first,
                            f"{name}: among {SHOWN}": shown,
                            f"{name}: of": of,
                        }
    counted = Counter((case.half, case.kind) for case in shelf.cases)
    counts = tuple((half, *(counted[half, kind] for kind in KINDS)) for half in HALVES)
    return (
        Table(title="Questions that look for a kept answer", columns=("pairs", *KINDS.values()), rows=counts),
        Table(
            title="The kept answer is found first", columns=("search", "rule", "pairs", *KINDS.values()),
            rows=tuple(rows), note="Shares, with intervals of 95%. For what asks for the same, more is better; else less.",
        ),
    )  # fmt: skip


def _fill(library: Library, shelf: Shelf, data: Path) -> None:
    library.ingest([data / FILES / file for file in shelf.files] or [data / FILES])
    for source, title, paragraphs in evaluation_sets.squad(data).documents:
        if folder(source) in shelf.articles:
            add_paragraphs(library, source, title, paragraphs)
    for answer in shelf.kept:
        library.store.put(document_of(answer))
    library.embed_pending()


def place_of(retriever: Retriever, case: Case) -> int | None:
    """Of the kept answer among what the question finds, from 0."""
    found = retriever.retrieve(Query(text=case.text, scope=EVERYTHING, limit=SHOWN))
    sources = [hit.passage.source for hit in found.passages]
    return sources.index(case.address) if case.address in sources else None


def _shares(
    cases: Sequence[Case], places: Sequence[int | None], half: str
) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Of each kind: how often the answer is first, how often it is shown, and of how many."""
    for kind in KINDS:
        here = [
            place
            for case, place in zip(cases, places, strict=True)
            if case.kind == kind and half in ("all", case.half)
        ]
        yield kind, (here.count(0), len(here) - here.count(None), len(here))
