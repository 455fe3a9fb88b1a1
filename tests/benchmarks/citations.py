"""Whether footnotes lead to the passages that answer, through the real graph without a model."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpora import (
    Asked,
    Corpus,
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
from benchmarks.served import thinking_with
from bots.eval.answers import folded
from bots.eval.intervals import Measured, mean_of, share_of, told
from bots.eval.sections import Options, Section, Table
from core.conversation import Conversation, Question, value
from core.grounding.claims import claims_of
from core.text.inline import as_words

if TYPE_CHECKING:
    from core.conversation import Citation, Outcome
    from core.grounding.claims import Claim
    from core.library.embedding.embedder import Embedder
    from core.turns.assistant import Assistant

NAME = "citations"
TITLE = "Footnotes offline"

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
class Cited:
    """What the answer to one question cites."""

    answered: bool
    precision: float = 0.0
    recall: float = 0.0
    first_is_gold: bool = False  #: the first footnote leads to a passage that answers
    sentences: int = 0
    supported: int = 0


def measure(options: Options) -> Section:
    model = open_model(options.model, options.say)
    found: dict[str, list[Cited]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, corpus in _corpora(options).items():
            options.say(f"footnotes of {SETS[name]}")
            found[name] = asyncio.run(_cited(corpus, Path(folder, name), model))
    return section(found)


def _corpora(options: Options) -> Mapping[str, Corpus]:
    """All passages of each set, and some of its questions; of a conversation the first question alone."""
    whole = {"squad": squad(options.data), "clapnq": clapnq(options.data), "mtrag": mtrag(options.data)}
    count = QUICK if options.quick else SAMPLE
    sampled = {}
    for name, corpus in whole.items():
        first = Corpus(documents=corpus.documents, asked=tuple(q for q in corpus.asked if not q.history))
        some = part(first, count)
        sampled[name] = some if options.quick else Corpus(documents=corpus.documents, asked=some.asked)
    return sampled


async def _cited(corpus: Corpus, folder: Path, embedder: Embedder | None) -> list[Cited]:
    from core.reasoning.extractive import ExtractiveReasoner

    library = open_library(folder, embedder)
    try:
        fill(library, corpus.documents)
        texts = {spot(passage): passage.text for passage in passages_of(library)}
        similarity = similarity_of(library)
        async with thinking_with(
            lambda: ExtractiveReasoner(similarity), library, folder, turn_timeout=PATIENCE
        ) as assistant:
            return [judged(asked, await _asked(assistant, asked), texts) for asked in corpus.asked]
    finally:
        library.close()


async def _asked(assistant: Assistant, asked: Asked) -> Outcome:
    conversation = Conversation(platform="bench", space="s", channel="c", thread=asked.id)
    turn = Question(id="q", conversation=conversation, author="ada", text=asked.question, asked_at=0.0)
    return await assistant.run(turn)


# What counts


def judged(asked: Asked, outcome: Outcome, texts: Mapping[Spot, str]) -> Cited:
    """What is cited beside what is marked. A source of these sets is one passage that starts at 0."""
    if outcome.answer is None:
        return Cited(answered=False)
    citations = outcome.answer.citations
    places = list(dict.fromkeys((citation.source, 0) for citation in citations))
    right = asked.gold.intersection(places)
    claims = claims_of(outcome.answer.text)
    return Cited(
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
    said = folded(claim.text)
    return any(
        citation.number in named
        and texts.get((citation.source, 0), "")[citation.start : citation.end] == citation.quote
        and said in folded(as_words(citation.quote))
        for citation in citations
    )


# What is told


def section(found: Mapping[str, Sequence[Cited]]) -> Section:
    return Section(
        name=NAME,
        title=TITLE,
        what=WHAT,
        tables=(
            Table(
                title="What footnotes lead to",
                columns=("set", "questions", *COLUMNS),
                rows=tuple(
                    (SETS[name], len(cited), *map(told, _measured(cited))) for name, cited in found.items()
                ),
                note=NOTE,
            ),
        ),
        figures={
            f"{name}: {column}": figure
            for name, cited in found.items()
            for column, (figure, _) in zip(COLUMNS, _measured(cited), strict=True)
        },
        limits=LIMITS,
    )


COLUMNS = ("answered", "sentences supported", "precision", "recall", "first footnote leads to an answer")


def _measured(cited: Sequence[Cited]) -> list[Measured]:
    """In the order of the columns."""
    answered = [each for each in cited if each.answered]
    sentences = sum(each.sentences for each in answered)
    return [
        share_of(len(answered), len(cited)),
        share_of(sum(each.supported for each in answered), sentences),
        mean_of([each.precision for each in answered]),
        mean_of([each.recall for each in answered]),
        share_of(sum(each.first_is_gold for each in answered), len(answered)),
    ]
