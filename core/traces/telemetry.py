"""Spans and metrics for OpenTelemetry, sent over OTLP and HTTP to a collector of the operator's.

A turn is one span, and each node that it passed is a span within it. They are made from the trace when the turn has
ended, so that a question waits for nothing. A thread of the SDK sends them. Nothing of what people wrote is in them
unless the operator wants it (``TRACE_TEXTS``). This module alone imports the SDK, and only where it is switched on.

Like every program with the SDK, it reads ``OTEL_EXPORTER_OTLP_HEADERS`` and its other settings from the environment.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from opentelemetry import trace as api
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from core.conversation import Outcome, Turn
from core.traces.figures import BOUNDS
from core.traces.meters import Gauges, labels_of
from core.traces.trace import Trace

logger = logging.getLogger(__name__)

SERVICE = "footnote"
TIMEOUT = 5.0  # seconds in which the collector must answer; also how long the end of the process waits for it
METRICS_EVERY = 30_000  # milliseconds
LOG_EVERY = 60.0  # seconds between two lines about a collector that does not answer
MILLISECOND = 1_000_000  # nanoseconds
SDK = "opentelemetry"  # its logger, and the parent of those of its parts
#: The parts that log a failure to send.
SENDERS = (
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export",
)


@dataclass(slots=True)
class OncePerMinute(logging.Filter):
    """Logs one line a minute for all that the senders log. It is in our words: theirs may hold a password in
    an address."""

    host: str
    clock: Callable[[], float] = time.monotonic
    _next: float = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return False
        now = self.clock()
        if now >= self._next:
            self._next = now + LOG_EVERY
            logger.warning("the OpenTelemetry collector at %s takes nothing now", self.host)
        return False


class Telemetry:
    """Makes spans and counts metrics of the turns that end."""

    def __init__(self, tracer: api.Tracer, meter: Meter, *, has_texts: bool) -> None:
        self.tracer, self.has_texts = tracer, has_texts
        self.turns = meter.create_counter("footnote.turns", "{turn}", "questions and decisions that ended")
        self.tokens = meter.create_counter("footnote.tokens", "{token}", "tokens that models read and wrote")
        self.round_trips = meter.create_counter("footnote.round_trips", "{call}", "calls one after the other")
        self.failures = meter.create_counter("footnote.failures", "{turn}", "turns that failed")
        self.seconds = meter.create_histogram("footnote.turn.duration", "s", "how long a turn took")

    def turn_ended(self, turn: Turn, outcome: Outcome, trace: Trace) -> None:
        labels, usage = labels_of(turn, outcome), outcome.usage
        self.turns.add(1, labels)
        self.seconds.record(outcome.timing_ms.get("total", 0.0) / 1000, labels)
        self.round_trips.add(usage.round_trips, {"model": usage.name})
        if outcome.kind == "failed":
            self.failures.add(1, {"platform": labels["platform"], "kind": labels["kind"]})
        for model in usage.models:
            self.tokens.add(model.input_tokens, {"model": model.name, "direction": "input"})
            self.tokens.add(model.output_tokens, {"model": model.name, "direction": "output"})
        self._make_spans(turn, outcome, trace)

    def _make_spans(self, turn: Turn, outcome: Outcome, trace: Trace) -> None:
        ended = time.time_ns()
        began = ended - int(outcome.timing_ms.get("total", 0.0) * MILLISECOND)
        attributes = turn_attributes(turn, outcome, trace, has_texts=self.has_texts)
        whole = self.tracer.start_span("turn", start_time=began, attributes=attributes)
        if outcome.kind == "failed":
            whole.set_status(api.StatusCode.ERROR)
        within = api.set_span_in_context(whole)
        for step in trace.steps:
            at = began + int(step.began_ms * MILLISECOND)
            span = self.tracer.start_span(
                step.node, context=within, start_time=at,
                attributes={
                    "footnote.calls": step.calls,
                    "gen_ai.usage.input_tokens": step.input_tokens,
                    "gen_ai.usage.output_tokens": step.output_tokens,
                },
            )  # fmt: skip
            span.end(at + int(step.ms * MILLISECOND))
        whole.end(ended)


def turn_attributes(
    turn: Turn, outcome: Outcome, trace: Trace, *, has_texts: bool
) -> dict[str, str | int | float | bool]:
    """The attributes of a turn's span. The names that begin with ``gen_ai`` are OpenTelemetry's."""
    usage = outcome.usage
    attributes: dict[str, str | int | float | bool] = {
        **{f"footnote.{name}": text for name, text in labels_of(turn, outcome).items()},
        "footnote.language": outcome.language,
        "footnote.confidence": outcome.confidence,
        "footnote.policy": trace.policy,
        "footnote.calls": usage.calls,
        "footnote.round_trips": usage.round_trips,
        "gen_ai.request.model": usage.name,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if outcome.answer:
        attributes["footnote.grounding"] = outcome.answer.grounding
    if usage.cost is not None:
        attributes |= {"footnote.cost": usage.cost, "footnote.currency": usage.currency}
    if has_texts:
        said = outcome.answer.text if outcome.answer else outcome.reason or ""
        attributes |= {"footnote.question": trace.question, "footnote.answer": said}
    return attributes


@contextmanager
def open_telemetry(
    endpoint: str, *, has_texts: bool = False, gauges: Callable[[], Gauges] = Gauges
) -> Iterator[Telemetry]:
    """``endpoint``: of the collector, without the signal's own path. What is not sent yet goes out at the end."""
    base, quiet = endpoint.rstrip("/"), OncePerMinute(urlsplit(endpoint).hostname or "")
    for name in SENDERS:
        logging.getLogger(name).addFilter(quiet)
    resource = Resource.create({"service.name": SERVICE})
    spans = TracerProvider(resource=resource, shutdown_on_exit=False)
    spans.add_span_processor(
        BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{base}/v1/traces", timeout=TIMEOUT))
    )
    reader = PeriodicExportingMetricReader(
        OTLPMetricExporter(endpoint=f"{base}/v1/metrics", timeout=TIMEOUT),
        export_interval_millis=METRICS_EVERY,
        export_timeout_millis=1000 * TIMEOUT,
    )
    buckets = View(
        instrument_name="footnote.turn.duration", aggregation=ExplicitBucketHistogramAggregation(BOUNDS)
    )
    metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False, views=[buckets])
    try:
        meter = metrics.get_meter(SERVICE)
        _observe_gauges(meter, gauges)
        yield Telemetry(spans.get_tracer(SERVICE), meter, has_texts=has_texts)
    finally:
        spans.shutdown()
        metrics.shutdown(timeout_millis=1000 * TIMEOUT)
        for name in SENDERS:
            logging.getLogger(name).removeFilter(quiet)


def _observe_gauges(meter: Meter, gauges: Callable[[], Gauges]) -> None:
    def observe(name: str) -> Callable[[CallbackOptions], list[Observation]]:
        def now(_: CallbackOptions) -> list[Observation]:
            number = getattr(gauges(), name)
            return [] if number is None else [Observation(number)]

        return now

    meter.create_observable_gauge(
        "footnote.queue.length", [observe("queued")], "{turn}", "turns and commands that have not ended"
    )
    meter.create_observable_gauge("footnote.running", [observe("running")], "{turn}", "turns worked on")
