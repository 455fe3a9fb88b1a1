"""The JSON object of one turn, for scripts and tests."""

from __future__ import annotations

from typing import Any

from bots.chat.texts import reason_of, text_of
from core.conversation import Citation, Outcome, Proposal, Ranked, Usage


def record_of(outcome: Outcome, *, thread: str | None, engine: str, passages: bool = False) -> dict[str, Any]:
    """The keys in the order that scripts rely on; ``passages`` adds the retrieved passages."""
    answer = outcome.answer
    record: dict[str, Any] = {
        "outcome": outcome.kind,
        "text": text_of(outcome, engine=engine),
        "grounding": answer.grounding if answer else "none",
        "citations": [_citation(each) for each in answer.citations] if answer else [],
        "proposal": _proposal(outcome.proposal),
        "closest": [] if answer else [_citation(each) for each in outcome.closest],
        "reason": reason_of(outcome),
        "thread": thread,
        "turn": outcome.turn_id or None,
        "confidence": outcome.confidence,
        "steps": list(outcome.steps),
        "model": _model(outcome.usage),
        "timing_ms": dict(outcome.timing_ms),
        "left_out": [{"text": each.text, "reason": each.reason} for each in answer.left_out]
        if answer
        else [],
        "missing": answer.missing if answer else "",
        "sure": answer.is_sure if answer else None,
    }
    if passages:
        record["passages"] = [_ranked(each) for each in outcome.ranked]
    return record


def failed(reason: str) -> Outcome:
    """A turn that never began, because its input is not valid."""
    return Outcome(kind="failed", turn_id="", reason=reason)


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "number": citation.number,
        "title": citation.title,
        "location": citation.location,
        "source": citation.source,
        "url": citation.url,
        "quote": citation.quote,
        "start": citation.start,
        "end": citation.end,
    }


def _proposal(proposal: Proposal | None) -> dict[str, Any] | None:
    if proposal is None:
        return None
    return {
        "id": proposal.id,
        "query": proposal.query,
        "reason": proposal.reason,
        "tried": list(proposal.tried),
    }


def _model(usage: Usage) -> dict[str, Any]:
    return {
        "name": usage.name,
        "calls": usage.calls,
        "round_trips": usage.round_trips,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }


def _ranked(passage: Ranked) -> dict[str, Any]:
    return {
        "source": passage.source,
        "location": passage.location,
        "score": passage.score,
        "start": passage.start,
        "end": passage.end,
    }
