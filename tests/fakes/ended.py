"""A turn that ended, with what it cost and the way that it took."""

from __future__ import annotations

from core.conversation import Answer, ModelTokens, Outcome, Usage
from core.traces.trace import Step, Trace

QUESTION, ANSWER = "How tall is the secret tower?", "It is 300 metres tall."
USAGE = Usage(
    name="writer", calls=3, round_trips=2, input_tokens=30, output_tokens=5, cost=0.25, currency="EUR",
    models=(
        ModelTokens(name="writer", input_tokens=20, output_tokens=4),
        ModelTokens(name="judge", input_tokens=10, output_tokens=1),
    ),
)  # fmt: skip
OUTCOME = Outcome(
    kind="answered", turn_id="q1", answer=Answer(text=ANSWER, citations=(), grounding="documents", composed=True),
    usage=USAGE, timing_ms={"total": 1_500.0}, confidence=0.5,
)  # fmt: skip
TRACE = Trace(
    policy="footnote", question=QUESTION,
    steps=(
        Step(node="open", began_ms=100, ms=300),
        Step(node="generate", began_ms=400, ms=1_000, calls=2, input_tokens=25, output_tokens=4),
    ),
)  # fmt: skip
