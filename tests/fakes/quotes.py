"""The quotes behind an answer's footnotes, without a library around them."""

from __future__ import annotations

from bots.chat.platform import Excerpt, Footnotes
from core.conversation import Outcome
from core.grounding.citations import merge_footnotes


def quotes_behind(outcome: Outcome, **around: str) -> Footnotes:
    """``around``: what stands before and after each quote."""
    citations = merge_footnotes(outcome.answer).citations if outcome.answer else outcome.closest
    excerpts = tuple(Excerpt(citation=one, **around) for one in citations)
    return Footnotes(outcome=outcome, excerpts=excerpts)
