"""A model's verdict on places that differ: whether they contradict each other, or speak of different things.

It is asked about several pairs at once, each with what stands around it. What it said is kept for as long as the words
of both are the same. A run asks so many times at most; what is left is asked in the next one.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from core.conversation import Usage, value
from core.errors import ModelTrouble
from core.lint.findings import LintFinding, QuotedPlace, Verdict
from core.lint.store import LintStore

AT_ONCE = 8  # pairs in one call
CALLS = 60  # of one run
AROUND = 500  # characters of a passage that are shown before a sentence, and behind it


class Judge(Protocol):
    """A model that compares places."""

    @property
    def usage(self) -> Usage: ...

    async def compare(self, pairs: Sequence[tuple[str, str]]) -> tuple[frozenset[int], frozenset[int]]: ...


@value
class Judged:
    """The findings with what the model said of them."""

    findings: tuple[LintFinding, ...]
    left: int  #: pairs that were not judged
    trouble: str = ""  #: a sentence: why not; empty: there were too many, or none is left
    usage: Usage


async def judge(
    findings: Sequence[LintFinding],
    model: Judge,
    store: LintStore,
    notify: Callable[[int, int], None] = lambda *_: None,
) -> Judged:
    """Ask the model about places that differ and have no verdict yet, the likeliest first."""
    waiting = [each for each in findings if each.kind == "contradiction" and not each.verdict]
    waiting.sort(key=lambda each: not each.is_sure)
    verdicts: dict[str, Verdict] = {}
    trouble = ""
    for start in range(0, min(len(waiting), AT_ONCE * CALLS), AT_ONCE):
        batch = waiting[start : start + AT_ONCE]
        pairs = [(format_place(each.places[0], store), format_place(each.places[1], store)) for each in batch]
        try:
            contradict, scope = await model.compare(pairs)
        except ModelTrouble as fault:
            trouble = fault.sentence
            break
        said: dict[str, Verdict] = {
            each.id: "contradiction" if number in contradict else "scope" if number in scope else "same"
            for number, each in enumerate(batch, start=1)
        }
        store.keep_verdicts(said)  # what was paid for is not asked again, whatever comes
        verdicts |= said
        notify(min(start + AT_ONCE, len(waiting)), len(waiting))
    judged = tuple(replace(each, verdict=verdicts.get(each.id, each.verdict)) for each in findings)
    return Judged(findings=judged, left=len(waiting) - len(verdicts), trouble=trouble, usage=model.usage)


def format_place(place: QuotedPlace, store: LintStore) -> str:
    """A place as the model sees it: where it is, what stands around, and the sentence."""
    held = 'p.document = ? AND p.start <= ? AND p."end" >= ?'
    reading = store.reading(held, place.document, place.start, place.end)
    around = place.quote
    if reading is not None:
        start, end = place.start - reading.passage.start, place.end - reading.passage.start
        around = reading.passage.text[max(0, start - AROUND) : end + AROUND]
    return f"{place.title}: {place.where}\n{around}\n>> {' '.join(place.quote.split())}"
