"""Questions that ask for the same in other words, and questions that only look as if they did.

``tests/benchmarks/evaluation/same_question.json`` says which questions about the FastAPI documentation, and which of SQuAD 2,
ask for the same. Near-misses are other questions that the same file answers, and the impossible questions of
SQuAD 2, each beside the question of its paragraph with which it shares most words.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import EVALUATION
from benchmarks.evaluation_sets import lines
from core.conversation import value
from core.text.terms import query_terms

LABELS = EVALUATION / "same_question.json"
FILES = ("everyday", "heldout", "questions", "training")  # of questions about the FastAPI documentation
DRAFTS = "en-docs-"  # begins the id of a labelled draft over that documentation

Pair = tuple[str, str]  # the question that was answered, and the one that comes later


@value
class DocumentedQuestion:
    """A question about the FastAPI documentation."""

    id: str
    text: str
    sources: frozenset[str]  #: files that answer it; empty where none does
    reference: str = ""  #: what the set gives as its answer; empty where it names files alone


@value
class Pairs:
    """Pairs of questions of one set."""

    same: tuple[Pair, ...]
    near: tuple[Pair, ...]  #: that ask for something else


def documented(data: Path) -> dict[str, DocumentedQuestion]:
    """By id."""
    found = {}
    for name in FILES:
        for asked in lines(EVALUATION / f"fastapi_{name}.jsonl"):
            found[asked["id"]] = DocumentedQuestion(
                id=asked["id"], text=asked["question"], sources=frozenset(asked.get("sources", ())),
                reference=" ".join(asked.get("gold", ())),
            )  # fmt: skip
    for draft in lines(data / "drafts/drafts.jsonl"):
        if draft["id"].startswith(DRAFTS):
            found[draft["id"]] = _of_draft(draft)
    return found


def _of_draft(draft: Mapping[str, Any]) -> DocumentedQuestion:
    """Its sentences are the answer, without footnotes."""
    files = {passage["n"]: passage["source"] for passage in draft["passages"]}
    cited = Counter(number for sentence in draft["sentences"] for number in sentence.get("cites") or ())
    said = [sentence["text"] for sentence in draft["sentences"] if sentence["supported"]]
    return DocumentedQuestion(
        id=draft["id"], text=draft["question"], sources=frozenset(files[number] for number in cited),
        reference="\n\n".join(said),
    )  # fmt: skip


def labels() -> Mapping[str, Sequence[Sequence[str]]]:
    """“same” and “unclear” by id, “squad2” by question."""
    found: Mapping[str, Sequence[Sequence[str]]] = json.loads(LABELS.read_text(encoding="utf-8"))
    return found


def of_fastapi(data: Path) -> Pairs:
    asked, known = documented(data), labels()
    group = {each: number for number, ids in enumerate(known["same"]) for each in ids}
    unclear = {frozenset(pair) for pair in known["unclear"]}
    same, near = [], []
    for one, other in combinations([each for each in asked.values() if each.sources], 2):
        pair = (one.text, other.text)
        if one.id in group and group[one.id] == group.get(other.id):
            same.append(pair)
        elif one.sources & other.sources and frozenset((one.id, other.id)) not in unclear:
            near.append(pair)
    return Pairs(same=tuple(same), near=tuple(near))


@cache
def of_squad(data: Path) -> Pairs:
    same = [pair for group in labels()["squad2"] for pair in combinations(group, 2)]
    answered: dict[str, list[str]] = {}
    asked = lines(data / "squad2/questions.jsonl")
    for each in asked:
        if each["answerable"]:
            answered.setdefault(each["paragraph"], []).append(each["question"].strip())
    near = [
        (_most_alike(each["question"], answered[each["paragraph"]]), each["question"].strip())
        for each in asked
        if not each["answerable"] and each["paragraph"] in answered
    ]
    return Pairs(same=tuple((one, other) for one, other in same), near=tuple(near))


def _most_alike(text: str, others: Iterable[str]) -> str:
    terms = frozenset(query_terms(text, "en"))

    def shared(other: str) -> float:
        theirs = frozenset(query_terms(other, "en"))
        return len(terms & theirs) / max(len(terms | theirs), 1)

    return max(others, key=shared)
