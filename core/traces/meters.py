"""Counts of what this process did since it started, for machines, and its text in Prometheus' format.

The names and labels say what happened and never to whom: no person, no channel, no word of anybody.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from core.conversation import Decision, Outcome, Turn, value
from core.reasoning.limits import Circuit
from core.traces.figures import BOUNDS
from core.traces.trace import Trace

#: https://prometheus.io/docs/instrumenting/exposition_formats/
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def labels_of(turn: Turn, outcome: Outcome) -> dict[str, str]:
    """The labels by which turns are counted."""
    kind = turn.verdict if isinstance(turn, Decision) else "question"
    return {"platform": turn.conversation.platform, "kind": kind, "outcome": outcome.kind}


@value
class Gauges:
    """The present state of the process; None: unknown here."""

    queued: int | None = None  #: turns and commands of the whole store that have not ended
    running: int | None = None  #: turns that this process works on
    open_circuits: Mapping[str, bool] = field(default_factory=dict)  #: by model, whether it is left alone


@dataclass(slots=True)
class Meters:
    """Counts the turns that end; nothing is looked up for it."""

    turns: Counter[tuple[tuple[str, str], ...]] = field(default_factory=Counter)  #: by their labels
    within: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))  #: turns, by BOUNDS
    seconds: float = 0.0
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)  #: by model and direction
    calls: int = 0
    round_trips: int = 0
    cost: float = 0.0
    currency: str = ""  #: empty: no prices were set
    circuits: Mapping[str, Circuit] = field(default_factory=dict)  #: by model
    #: What of it :class:`Gauges` has first; None: this process has no queue. It may block.
    load: Callable[[], tuple[int | None, int]] | None = None

    def gauges(self) -> Gauges:
        """Reads the queue, so it may block."""
        queued, running = self.load() if self.load else (None, None)
        is_open = {model: circuit.is_open for model, circuit in self.circuits.items()}
        return Gauges(queued=queued, running=running, open_circuits=is_open)

    def turn_ended(self, turn: Turn, outcome: Outcome, _trace: Trace) -> None:
        usage, seconds = outcome.usage, outcome.timing_ms.get("total", 0.0) / 1000
        self.turns[tuple(labels_of(turn, outcome).items())] += 1
        self.within[sum(seconds > bound for bound in BOUNDS)] += 1
        self.seconds += seconds
        self.calls += usage.calls
        self.round_trips += usage.round_trips
        for model in usage.models:
            self.tokens[model.name, "input"] += model.input_tokens
            self.tokens[model.name, "output"] += model.output_tokens
        self.cost += usage.cost or 0.0
        self.currency = usage.currency or self.currency


Sample = tuple[
    str, Mapping[str, str], float | None
]  # what follows the metric's name, labels, a number if it is known


def prometheus(meters: Meters) -> str:
    """The metrics, each with its help text and type. May block."""
    lines: list[str] = []
    for name, kind, what, samples in _metrics(meters, meters.gauges()):
        known = [
            f"{name}{suffix}{_labels(labels)} {number}"
            for suffix, labels, number in samples
            if number is not None
        ]
        lines += [f"# HELP {name} {what}", f"# TYPE {name} {kind}", *known] if known else []
    return "".join(f"{each}\n" for each in lines)


def _metrics(meters: Meters, gauges: Gauges) -> Iterator[tuple[str, str, str, Sequence[Sample]]]:
    turns = [("", dict(labels), count) for labels, count in sorted(meters.turns.items())]
    bounds = zip((*(f"{bound:g}" for bound in BOUNDS), "+Inf"), accumulate(meters.within), strict=True)
    buckets = [("_bucket", {"le": bound}, count) for bound, count in bounds]
    whole: list[Sample] = [("_sum", {}, round(meters.seconds, 3)), ("_count", {}, sum(meters.within))]
    tokens = [
        ("", {"model": model, "direction": direction}, count)
        for (model, direction), count in sorted(meters.tokens.items())
    ]
    cost: list[Sample] = [("", {"currency": meters.currency}, meters.cost)] if meters.currency else []
    circuits = [
        ("", {"model": model}, int(is_open)) for model, is_open in sorted(gauges.open_circuits.items())
    ]
    yield "footnote_turns_total", "counter", "Questions and decisions that ended.", turns
    yield "footnote_turn_seconds", "histogram", "How long they took.", [*buckets, *whole]
    yield "footnote_tokens_total", "counter", "Tokens that models read and wrote.", tokens
    yield "footnote_model_calls_total", "counter", "Calls to models.", [("", {}, meters.calls)]
    yield (
        "footnote_model_round_trips_total",
        "counter",
        "Calls one after the other.",
        [("", {}, meters.round_trips)],
    )
    queued = "Turns and commands in the store that have not ended, of all processes."
    yield "footnote_queued", "gauge", queued, [("", {}, gauges.queued)]
    yield "footnote_running", "gauge", "Turns that this process works on.", [("", {}, gauges.running)]
    yield "footnote_cost_total", "counter", "What the models cost, at the operator's prices.", cost
    yield "footnote_circuit_open", "gauge", "1 while a model that failed is left alone.", circuits


def _labels(labels: Mapping[str, str]) -> str:
    signs = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    named = ",".join(f'{label}="{text.translate(signs)}"' for label, text in labels.items())
    return f"{{{named}}}" if named else ""
