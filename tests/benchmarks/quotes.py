"""Whether the quote of a footnote shows the sentence that it stands under, through the whole graph.

The good drafts of language models (`drafts`) are asked for, written and judged as they are there, and so are
those in tests/benchmarks/evaluation/quotes.json, which says of each sentence which parts of a passage show it to a reader.
A quote that holds none of them does not show its sentence. Between languages the judge names the line that
it finds the sentence in, as labelled; --error is the share of lines, and of its verdicts, that are wrong.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import DATA, EVALUATION, Say
from benchmarks.draft_labels import Item, LabelledSentence, plain, read_items
from benchmarks.drafts import DraftRun, play_all
from benchmarks.estimates import Estimate
from bots.testing.report import Section, Table
from core.conversation import Citation, value
from core.grounding.claims import claims_of
from core.grounding.doubts import doubts_of

LABELS = EVALUATION / "quotes.json"
BARS = {"same": 0.03, "across": 0.08}  # at most
HELD = 0.8  # share of a part's characters that a quote holds


@value
class ShownSentence:
    """A sentence of an answer and its quotes from one passage that it cites."""

    item: Item
    text: str
    passage: int
    quotes: tuple[str, ...]
    is_shown: bool  #: a quote holds a part that is labelled as showing it
    lacking: tuple[
        str, ...
    ]  #: its numbers, code and identifiers that the passages hold, and no quote of it does

    @property
    def group(self) -> str:
        return "same" if self.item.language == self.item.document_language else "across"


def items_in(data: Path, labels: Path = LABELS) -> tuple[tuple[Item, ...], tuple[Item, ...]]:
    """The drafts of the set, labelled here, and those of other documents."""
    known: dict[str, Any] = json.loads(labels.read_text(encoding="utf-8"))
    drafts = read_items(data / "drafts/drafts.jsonl")
    labelled = (_labelled(item, known["drafts"][item.id]) for item in drafts if item.id in known["drafts"])
    return tuple(labelled), read_items(labels)


def _labelled(item: Item, shown_by: dict[str, list[list[int]]]) -> Item:
    """The item with its labels, which are by the number of the sentence, from 1."""
    sentences = (
        replace(sentence, shown_by=tuple((n, a, b) for n, a, b in shown_by.get(str(number), ())))
        for number, sentence in enumerate(item.sentences, start=1)
    )
    return replace(item, sentences=tuple(sentences))


def shown_sentences(run: DraftRun) -> Iterator[ShownSentence]:
    """The labelled sentences that came through, once for each passage that they cite and that shows them."""
    citations = run.outcome.answer.citations if run.text and run.outcome.answer else ()
    claims = claims_of(run.text)
    for sentence in run.item.sentences:
        said = plain(sentence.text)
        own = [claim for claim in claims if said in plain(claim.text) or plain(claim.text) in said]
        numbers = {number for claim in own for number in claim.cited}
        cited = [citation for citation in citations if citation.number in numbers]
        for passage in sorted({n for n, _, _ in sentence.shown_by}) if own else ():
            quotes = [citation for citation in cited if _passage(citation) == passage]
            if quotes or not cited:
                yield _shown_sentence(run.item, sentence, passage, quotes, cited)


def _shown_sentence(
    item: Item,
    sentence: LabelledSentence,
    passage: int,
    quotes: Sequence[Citation],
    cited: Sequence[Citation],
) -> ShownSentence:
    text = next(excerpt.text for excerpt in item.passages if excerpt.n == passage)
    parts = [text[start:end] for n, start, end in sentence.shown_by if n == passage]
    is_code = sentence.text.startswith("```")
    named = {_passage(citation) for citation in cited}
    sources = [excerpt.text for excerpt in item.passages if excerpt.n in named]
    absent = doubts_of(sentence.text, sources, is_code=is_code)
    unquoted = doubts_of(sentence.text, [citation.quote for citation in cited], is_code=is_code)
    return ShownSentence(
        item=item,
        text=sentence.text,
        passage=passage,
        quotes=tuple(citation.quote for citation in quotes),
        is_shown=any(_holds(citation.quote, part) for citation in quotes for part in parts),
        lacking=tuple(each for each in unquoted if each not in absent),
    )


def _passage(citation: Citation) -> int:
    """The number of the passage that a file was made of."""
    return int(Path(citation.source).stem.removeprefix("p"))


def _holds(quote: str, part: str) -> bool:
    """Whether a quote has most of a part; of a long row it may be the cell that says it."""
    said, wanted = plain(quote), plain(part)
    return bool(said) and (wanted[: int(HELD * len(wanted))] in said or said in wanted)


def run(say: Say, *, data: Path = DATA, error: float = 0.0, item: str = "") -> Section:
    drafts, others = items_in(data)
    rows = {}
    for name, items in (("drafts", drafts), ("other documents", others)):
        chosen = [each for each in items if item in ("", each.id)]
        say(f"{name}: {len(chosen)} items")
        played = asyncio.run(play_all(chosen, "good", error))
        rows[name] = [shown for each in played for shown in shown_sentences(each)]
    return section(rows, error, is_wordy=bool(item))


def section(rows: dict[str, list[ShownSentence]], error: float, *, is_wordy: bool = False) -> Section:
    groups = {
        f"{name}, {told}": [shown for shown in found if shown.group == group]
        for name, found in rows.items()
        for group, told in (("same", "the language of the documents"), ("across", "another language"))
    }
    every = [shown for found in rows.values() for shown in found]
    bad = [shown for shown in every if is_wordy or not shown.is_shown or shown.lacking]
    return Section(
        name="quotes",
        title="Quotes that show their sentence",
        what=(
            "The share of sentences, for each passage that they cite, whose quotes do not show them, by labels; "
            "and of those with a number, code or identifier that the passages hold and their quotes do not. "
            f"{error:g} of the judge's verdicts are wrong, and of the lines it names."
        ),
        tables=(
            Table(
                title="Quotes that do not show their sentence",
                columns=("drafts", "sentences", "not shown", "number or identifier missing"),
                rows=tuple(
                    (
                        name,
                        len(found),
                        str(Estimate.share(sum(not shown.is_shown for shown in found), len(found))),
                        str(Estimate.share(sum(bool(shown.lacking) for shown in found), len(found))),
                    )
                    for name, found in groups.items()
                ),
            ),
            Table(
                title="Which",
                columns=("item", "shown", "sentence", "quotes", "missing"),
                rows=tuple(
                    (s.item.id, s.is_shown, s.text, " ⁂ ".join(s.quotes), "; ".join(s.lacking)) for s in bad
                ),
            ),
        ),
        figures={
            f"{group} {kind}": share(sum(is_bad(shown) for shown in some), len(some))
            for group in BARS
            for some in ([shown for shown in every if shown.group == group],)
            for kind, is_bad in (("not shown", _is_unshown), ("lacking", _lacks))
        },
    )


def _is_unshown(shown: ShownSentence) -> bool:
    return not shown.is_shown


def _lacks(shown: ShownSentence) -> bool:
    return bool(shown.lacking)


def share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
