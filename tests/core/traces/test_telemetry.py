"""What a collector of the operator's is told of turns, over the real protocol, and what it costs when it is away."""

from __future__ import annotations

import logging
import subprocess
import sys
from dataclasses import replace

import pytest
from fakes.collector import FakeCollector, attributes_of, points_of
from fakes.ended import ANSWER, OUTCOME, QUESTION, TRACE
from fakes.ports import free_port
from fakes.scripted import TOWER, ScriptedDocuments, ScriptedReasoner, assistant_over, question

from core.traces.log import open_question_log
from core.traces.meters import Gauges
from core.traces.telemetry import LOG_EVERY, OncePerMinute, open_telemetry
from core.traces.trace import Trace


@pytest.fixture
def collector():
    with FakeCollector() as collector:
        yield collector


def test_a_turn_is_a_span_with_one_within_it_for_each_node(collector):
    with open_telemetry(collector.url) as telemetry:
        telemetry.turn_ended(question(QUESTION, id="q1"), OUTCOME, TRACE)

    spans = {span.name: span for span in collector.spans}
    turn, opened, generated = (spans[name] for name in ("turn", "open", "generate"))
    assert collector.resources[0]["service.name"] == "footnote"
    assert opened.parent_span_id == generated.parent_span_id == turn.span_id
    assert turn.end_time_unix_nano - turn.start_time_unix_nano == 1_500_000_000
    assert opened.start_time_unix_nano - turn.start_time_unix_nano == 100_000_000
    assert generated.end_time_unix_nano - generated.start_time_unix_nano == 1_000_000_000
    assert attributes_of(generated)["gen_ai.usage.input_tokens"] == 25
    told = attributes_of(turn)
    assert (told["footnote.outcome"], told["footnote.platform"]) == ("answered", "test")
    assert (told["gen_ai.usage.output_tokens"], told["footnote.cost"]) == (5, 0.25)


def test_metrics_count_turns_tokens_seconds_and_failures(collector):
    gauges = Gauges(queued=4, running=2)
    with open_telemetry(collector.url, gauges=lambda: gauges) as telemetry:
        telemetry.turn_ended(question(QUESTION, id="q1"), OUTCOME, TRACE)
        telemetry.turn_ended(question(QUESTION, id="q2"), replace(OUTCOME, kind="failed", answer=None), TRACE)

    metrics = collector.metrics
    turns, tokens = points_of(metrics["footnote.turns"]), points_of(metrics["footnote.tokens"])
    (seconds, _) = points_of(metrics["footnote.turn.duration"]).values()
    assert {key: point.as_int for key, point in turns.items()} == {
        ("question", "answered", "test"): 1, ("question", "failed", "test"): 1,
    }  # fmt: skip
    assert {key: point.as_int for key, point in tokens.items()} == {
        ("input", "writer"): 40, ("output", "writer"): 8, ("input", "judge"): 20, ("output", "judge"): 2,
    }  # fmt: skip
    assert (seconds.count, seconds.sum) == (1, 1.5)
    assert [point.as_int for point in points_of(metrics["footnote.failures"]).values()] == [1]
    assert [point.as_int for point in points_of(metrics["footnote.queue.length"]).values()] == [4]
    assert [point.as_int for point in points_of(metrics["footnote.running"]).values()] == [2]


@pytest.mark.parametrize("has_texts", [False, True])
def test_words_are_sent_only_if_the_operator_wants_it(collector, has_texts):
    with open_telemetry(collector.url, has_texts=has_texts) as telemetry:
        telemetry.turn_ended(question(QUESTION, id="q1", author="Lovelace"), OUTCOME, TRACE)

    sent = b"".join(collector.bodies)
    assert [words.encode() in sent for words in ("secret", ANSWER)] == [has_texts] * 2
    assert b"Lovelace" not in sent


async def test_a_collector_that_is_away_costs_no_answer_and_one_line_of_the_log(tmp_path, storage, caplog):
    away = f"http://ann:sesame@127.0.0.1:{free_port()}"
    with (
        caplog.at_level(logging.DEBUG),
        open_telemetry(away) as telemetry,
        open_question_log(storage, days=1, listeners=(telemetry.turn_ended,)) as log,
    ):
        async with assistant_over(
            tmp_path, ScriptedReasoner(), ScriptedDocuments(default=(TOWER,)), log=log
        ) as assistant:
            outcomes = [await assistant.run(question(id=f"q{number}")) for number in range(3)]

    lines = [each.getMessage() for each in caplog.records if "elemetry" in each.getMessage() + each.name]
    assert [outcome.kind for outcome in outcomes] == ["answered"] * 3
    assert lines == ["the OpenTelemetry collector at 127.0.0.1 takes nothing now"]
    assert "sesame" not in caplog.text


def test_a_collector_that_refuses_is_told_in_one_line_a_minute(caplog):
    clock = [0.0]
    quiet = OncePerMinute("collector.example", clock=lambda: clock[0])
    failure = logging.LogRecord("sdk", logging.ERROR, "", 0, "it failed at http://u:sesame@host", (), None)

    passed = []
    for seconds in (0.0, 1.0, LOG_EVERY - 1, LOG_EVERY, LOG_EVERY + 1):
        clock[0] = seconds
        passed.append(quiet.filter(failure))

    assert passed == [False] * 5
    assert [each.getMessage() for each in caplog.records] == [
        "the OpenTelemetry collector at collector.example takes nothing now"
    ] * 2


async def test_a_turn_that_is_told_again_is_counted_once(storage):
    heard = []
    with open_question_log(storage, days=1, listeners=(lambda *told: heard.append(told),)) as log:
        for trace in (TRACE, Trace()):
            await log.record(question(QUESTION, id="q1"), OUTCOME, trace)

    assert [trace for _, _, trace in heard] == [TRACE]


def test_nothing_that_sends_is_imported_unless_it_is_switched_on():
    """LangSmith, which LangChain imports, imports a part of the SDK by itself."""
    senders = "('core.traces.telemetry', 'opentelemetry.exporter', 'opentelemetry.sdk.metrics')"
    program = "import sys, core.bootstrap, core.graph.graph, core.traces.log, core.turns.assistant;"
    program += f"print(any(name.startswith({senders}) for name in sys.modules))"

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ran.stdout == "False\n"
