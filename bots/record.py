"""The JSON object of one turn, for scripts and tests."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bots.chat.texts import reason_of, text_of
from core.conversation import Citation, Outcome, Usage

#: What is shown of each value, in this order.
_CITATION = ("number", "title", "location", "source", "url", "quote", "start", "end")
_PROPOSAL = ("id", "query", "reason", "tried")
_MODEL = ("name", "calls", "round_trips", "input_tokens", "output_tokens")
_PASSAGE = ("source", "location", "score", "start", "end")


def record_of(outcome: Outcome, *, thread: str | None, engine: str, passages: bool = False) -> dict[str, Any]:
    """The keys in the order that scripts rely on; ``passages`` adds the retrieved passages."""
    answer = outcome.answer
    record: dict[str, Any] = {
        "outcome": outcome.kind,
        "text": text_of(outcome, engine=engine),
        "grounding": answer.grounding if answer else "none",
        "citations": [_citation(each) for each in answer.citations] if answer else [],
        "proposal": _fields(outcome.proposal, _PROPOSAL) if outcome.proposal else None,
        "closest": [] if answer else [_citation(each) for each in outcome.closest],
        "reason": reason_of(outcome),
        "thread": thread,
        "turn": outcome.turn_id or None,
        "confidence": outcome.confidence,
        "steps": list(outcome.steps),
        "model": _fields(outcome.usage, _MODEL) | _cost(outcome.usage),
        "timing_ms": dict(outcome.timing_ms),
        "left_out": [_fields(each, ("text", "reason")) for each in answer.left_out] if answer else [],
        "missing": answer.missing if answer else "",
        "sure": answer.is_sure if answer else None,
    }
    if passages:
        record["passages"] = [_fields(each, _PASSAGE) for each in outcome.ranked]
    return record


def _cost(usage: Usage) -> dict[str, Any]:
    """Nothing where the operator set no prices."""
    return {} if usage.cost is None else {"cost": usage.cost, "currency": usage.currency}


def failed(reason: str) -> Outcome:
    """A turn that never began, because its input is not valid."""
    return Outcome(kind="failed", turn_id="", reason=reason)


def _fields(of: object, names: tuple[str, ...]) -> dict[str, Any]:
    """As JSON gives them back: tuples are lists."""
    contents = ((name, getattr(of, name)) for name in names)
    return {name: list(content) if isinstance(content, tuple) else content for name, content in contents}


def _citation(citation: Citation) -> dict[str, Any]:
    moments = {"changed_at": iso(citation.changed_at), "unseen_since": iso(citation.unseen_since)}
    return _fields(citation, _CITATION) | moments


def iso(moment: float | None) -> str | None:
    """ "2026-03-12T09:00:00Z" of seconds since the epoch."""
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
