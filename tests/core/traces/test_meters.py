"""The text that Prometheus reads."""

from __future__ import annotations

import re

from fakes.ended import OUTCOME, QUESTION, TRACE, USAGE
from fakes.scripted import question

from core.conversation import Outcome
from core.reasoning.limits import Circuit
from core.traces.meters import Meters, prometheus

#: https://prometheus.io/docs/instrumenting/exposition_formats/
SAMPLE = re.compile(r'[a-z_]+(?:\{(?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+\})? [0-9.e+-]+')


def samples_of(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def counted(**more):
    meters = Meters(**more)
    meters.turn_ended(question(QUESTION, id="q1"), OUTCOME, TRACE)
    meters.turn_ended(
        question(QUESTION, id="q2"), Outcome(kind="failed", turn_id="q2", timing_ms={"total": 200_000}), TRACE
    )
    return meters


def test_every_line_is_a_sample_or_a_comment_that_comes_before_its_samples():
    text = prometheus(counted(load=lambda: (1, 2), circuits={'a "strange"\\model\n': Circuit()}))

    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or SAMPLE.fullmatch(line)
    assert "secret" not in text
    assert "ada" not in text


def test_turns_tokens_seconds_and_cost_are_counted():
    samples = samples_of(prometheus(counted()))

    assert samples['footnote_turns_total{platform="test",kind="question",outcome="answered"}'] == "1"
    assert samples['footnote_turns_total{platform="test",kind="question",outcome="failed"}'] == "1"
    assert samples['footnote_tokens_total{model="judge",direction="input"}'] == "10"
    assert samples['footnote_turn_seconds_bucket{le="1"}'] == "0"
    assert samples['footnote_turn_seconds_bucket{le="2"}'] == "1"
    assert samples['footnote_turn_seconds_bucket{le="+Inf"}'] == samples["footnote_turn_seconds_count"] == "2"
    assert float(samples['footnote_cost_total{currency="EUR"}']) == USAGE.cost


def test_what_is_unknown_is_left_out():
    samples = samples_of(prometheus(Meters()))

    assert not {"footnote_queued", "footnote_running"} & samples.keys()
    assert not any(name.startswith(("footnote_cost", "footnote_circuit")) for name in samples)


def test_the_queue_and_the_models_that_are_left_alone_are_told_as_they_are_now():
    circuit = Circuit(row=1)
    meters = Meters(load=lambda: (7, 3), circuits={"judge": circuit})
    before = samples_of(prometheus(meters))
    circuit.record_failure()

    after = samples_of(prometheus(meters))

    assert (before["footnote_queued"], before["footnote_running"]) == ("7", "3")
    assert [each['footnote_circuit_open{model="judge"}'] for each in (before, after)] == ["0", "1"]
