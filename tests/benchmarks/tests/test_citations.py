"""The measuring of footnotes: what a sentence rests on, and what is cited beside what is marked."""

from __future__ import annotations

import pytest
from benchmarks import citations
from benchmarks.evaluation_sets import LabelledQuestion
from fakes.passages import loose_strip

from core.conversation import Outcome
from core.grounding.citations import to_answer
from core.reasoning.reasoner import Draft

TEXT = "The harbour of our town is old. It never closes. Ferries leave at seven."
OTHER = "The moon is far away."
TEXTS = {("1.md", 0): TEXT, ("2.md", 0): OTHER}
ASKED = LabelledQuestion(id="1", question="When?", gold=frozenset({("1.md", 0)}))


def outcome(*texts: str) -> Outcome:
    """The quotes of these texts, the way the offline reasoner gives them."""
    strips = [loose_strip(text, number=number) for number, text in enumerate(texts, start=1)]
    draft = Draft(text="", composed=False, quotes=tuple(range(1, len(texts) + 1)))
    return Outcome(turn_id="q", kind="answered", answer=to_answer(draft, strips))


def test_quotes_are_supported_sentence_by_sentence():
    cited = citations.score(ASKED, outcome(TEXT, OTHER), TEXTS)

    assert (cited.sentences, cited.supported) == (4, 4)
    assert (cited.precision, cited.recall, cited.first_is_gold) == (0.5, 1.0, True)


def test_a_quote_that_its_source_does_not_hold_supports_nothing():
    cited = citations.score(ASKED, outcome(TEXT), {("1.md", 0): TEXT.replace("never", "often")})

    assert (cited.sentences, cited.supported) == (3, 0)


def test_what_is_held_back_counts_as_unanswered_alone():
    held, given = (
        citations.score(ASKED, out, TEXTS)
        for out in (Outcome(turn_id="q", kind="no_answer", reason="Not found."), outcome(OTHER))
    )

    figures = citations.section({"squad": [held, given]}).figures

    assert figures["squad: answered"] == 0.5
    assert figures["squad: precision"] == given.precision


def test_a_quick_run_goes_through_the_real_graph(shared_data):
    section = citations.run(print, data=shared_data, quick=True)

    assert section.figures["squad: sentences supported"] == pytest.approx(1.0)
    assert section.figures["squad: precision"] > 0.3
