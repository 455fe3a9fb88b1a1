"""Whether footnotes lead to the passages that answer, through the real graph without a model."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.estimates import Estimate
from benchmarks.evaluation_sets import (
    EvaluationSet,
    LabelledQuestion,
    Spot,
    clapnq,
    fill,
    mtrag,
    open_library,
    open_model,
    part,
    passages_of,
    spot,
    squad,
)
from benchmarks.extraction import similarity_of
from benchmarks.serving import thinking_with
from bots.testing.judging import normalized
from bots.testing.report import Section, Table
from core.conversation import Citation, Conversation, Outcome, Question, value
from core.grounding.claims import Claim, claims_of
from core.library.embedding.embedder import Embedder
from core.reasoning.extractive import ExtractiveReasoner
from core.text.inline import as_words
from core.turns.assistant import Assistant

PATIENCE = 60.0  # seconds for one turn: a bound that no measurement should meet
SAMPLE, QUICK = 200, 10  # answerable questions of each set, evenly spread
SETS: Mapping[str, str] = {"squad": "SQuAD 2", "clapnq": "CLAPNQ", "mtrag": "MTRAG, first turns"}

WHAT = (
    "A sample of the answerable questions of each set goes through the real graph with the offline reasoner, over all "
    "passages of the set. A sentence of an answer is supported when its footnote's quote holds it, word for word, and "
    "stands in the source at its offsets. Precision: share of the cited passages that are marked as answering. "
    "Recall: share of the marked passages that are cited. Both are over questions that were answered."
)
NOTE = "With 95% intervals: Wilson for shares of questions or sentences, bootstrap over questions for the others."
LIMITS = (
    "Only one passage of SQuAD 2 and CLAPNQ is marked for a question, though up to three are cited: a second one that "
    "answers as well counts against precision. What is held back is in the first column alone."
)


@value
class CitationScore:
    """What the answer to one question cites."""

    answered: bool
    precision: float = 0.0
    recall: float = 0.0
    first_is_gold: bool = False  #: the first footnote leads to a passage that answers
    sentences: int = 0
    supported: int = 0


def run(say: Say, *, data: Path = DATA, model: str = "none", quick: bool = False) -> Section:
    embedder, found = open_model(model, say), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, read in (("squad", squad), ("clapnq", clapnq), ("mtrag", mtrag)):
            say(f"footnotes of {SETS[name]}")
            corpus = sample(read(data), quick=quick)
            found[name] = asyncio.run(_scores(corpus, Path(folder, name), embedder))
    return section(found)


def sample(corpus: EvaluationSet, *, quick: bool) -> EvaluationSet:
    """Some of the questions, of a conversation the first alone; over all passages unless it is quick."""
    first = replace(corpus, questions=tuple(q for q in corpus.questions if not q.history))
    some = part(first, QUICK if quick else SAMPLE)
    return some if quick else replace(corpus, questions=some.questions)


async def _scores(corpus: EvaluationSet, folder: Path, embedder: Embedder | None) -> list[CitationScore]:
    library = open_library(folder, embedder)
    try:
        fill(library, corpus.documents)
        texts = {spot(passage): passage.text for passage in passages_of(library)}
        similarity = similarity_of(library)
        async with thinking_with(
            lambda: ExtractiveReasoner(similarity), library, folder, turn_timeout=PATIENCE
        ) as assistant:
            return [score(asked, await _ask(assistant, asked), texts) for asked in corpus.questions]
    finally:
        library.close()


async def _ask(assistant: Assistant, asked: LabelledQuestion) -> Outcome:
    conversation = Conversation(platform="bench", space="s", channel="c", thread=asked.id)
    turn = Question(id="q", conversation=conversation, author="ada", text=asked.question, asked_at=0.0)
    return await assistant.run(turn)


# What counts


def score(asked: LabelledQuestion, outcome: Outcome, texts: Mapping[Spot, str]) -> CitationScore:
    """What is cited beside what is marked. A source of these sets is one passage that starts at 0."""
    if outcome.answer is None:
        return CitationScore(answered=False)
    citations = outcome.answer.citations
    places = list(dict.fromkeys((citation.source, 0) for citation in citations))
    right = asked.gold.intersection(places)
    claims = claims_of(outcome.answer.text)
    return CitationScore(
        answered=True,
        precision=len(right) / len(places) if places else 0.0,
        recall=len(right) / len(asked.gold),
        first_is_gold=bool(places) and places[0] in asked.gold,
        sentences=len(claims),
        supported=sum(
            is_supported(outcome.answer.text, claims, number, citations, texts)
            for number in range(len(claims))
        ),
    )


def is_supported(
    text: str,
    claims: Sequence[Claim],
    number: int,
    citations: Sequence[Citation],
    texts: Mapping[Spot, str],
) -> bool:
    """Whether a claim is quoted by its own footnote, or by that of the paragraph it stands in.

    A quote of several sentences has its footnote behind the last of them.
    """
    claim = claims[number]
    following = (c for c in claims[number:] if c.cited and "\n\n" not in text[claim.end : c.start])
    named = claim.cited or next((c.cited for c in following), ())
    said = normalized(claim.text)
    return any(
        citation.number in named
        and texts.get((citation.source, 0), "")[citation.start : citation.end] == citation.quote
        and said in normalized(as_words(citation.quote))
        for citation in citations
    )


def section(found: Mapping[str, Sequence[CitationScore]]) -> Section:
    return Section(
        name="citations",
        title="Footnotes offline",
        what=WHAT,
        tables=(
            Table(
                title="What footnotes lead to",
                columns=("set", "questions", *COLUMNS),
                rows=tuple(
                    (SETS[name], len(scores), *map(str, _estimates(scores))) for name, scores in found.items()
                ),
                note=NOTE,
            ),
        ),
        figures={
            f"{name}: {column}": estimate.figure
            for name, scores in found.items()
            for column, estimate in zip(COLUMNS, _estimates(scores), strict=True)
        },
        note=LIMITS,
    )


COLUMNS = ("answered", "sentences supported", "precision", "recall", "first footnote leads to an answer")


def _estimates(scores: Sequence[CitationScore]) -> list[Estimate]:
    """In the order of the columns."""
    answered = [each for each in scores if each.answered]
    sentences = sum(each.sentences for each in answered)
    return [
        Estimate.share(len(answered), len(scores)),
        Estimate.share(sum(each.supported for each in answered), sentences),
        Estimate.mean([each.precision for each in answered]),
        Estimate.mean([each.recall for each in answered]),
        Estimate.share(sum(each.first_is_gold for each in answered), len(answered)),
    ]
