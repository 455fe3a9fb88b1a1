"""``footnote bench``: which benchmarks run, and what becomes of one that fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from benchmarks import BENCHES, benchmark
from benchmarks.command import measured, names_meant
from harbour import Machine

from bots.eval.sections import Options, Plot, Report, Section, Table
from core.errors import SettingsError

EMPTY = Report(title="Measured", made="2026-11-20 19:00:00+00:00")


@dataclass
class ScriptedBenchmark:
    """Measures at once what it is told to, or breaks as it is told to."""

    NAME: str
    fault: Exception | None = None
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    TITLE: str = "Scripted"

    def measure(self, options: Options) -> Section:
        if self.fault is not None:
            raise self.fault
        return Section(
            name=self.NAME, title=self.TITLE, what="Scripted.", tables=self.tables, plots=self.plots
        )


def measure_all(*benchmarks):
    """The report after each, and what was said meanwhile."""
    by_name, said = {each.NAME: each for each in benchmarks}, []
    options = Options(data=Path("data"), model="none", quick=True, say=said.append)
    return list(measured(tuple(by_name), options, EMPTY, by_name.__getitem__)), said


def test_a_benchmark_that_fails_is_named_and_does_not_end_the_others():
    reports, said = measure_all(
        ScriptedBenchmark("words"),
        ScriptedBenchmark("vectors", fault=SettingsError("There is no model.")),
        ScriptedBenchmark("growth"),
    )

    assert [each.name for each in reports[-1].sections] == ["words", "growth"]
    assert reports[-1].failures == {"vectors": "There is no model."}
    assert "vectors was not measured: There is no model." in said


def test_what_was_measured_is_at_hand_after_each_benchmark():
    reports, said = measure_all(ScriptedBenchmark("words"), ScriptedBenchmark("growth"))

    assert [len(each.sections) for each in reports] == [1, 2]
    assert said[0] == "words (1 of 2)…"


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (FileNotFoundError(2, "No such file", "data/squad2"), "data/squad2 cannot be read: no such file."),
        (KeyError("secret"), "it has a fault of its own (KeyError); LOG_LEVEL=info shows where."),
        (OSError("nothing known"), "it has a fault of its own (OSError); LOG_LEVEL=info shows where."),
    ],
)
def test_whatever_breaks_is_told_in_a_sentence(fault, why):
    (report,), _ = measure_all(ScriptedBenchmark("words", fault=fault))

    assert report.failures == {"words": why}


@pytest.mark.parametrize(
    "broken",
    [
        {"tables": (Table(title="Speed", columns=("a", "b"), rows=((1, 2), (3,))),)},
        {"plots": (Plot(title="Speed", kind="bars", x=("a", "b"), series={"s": (1,)}),)},
        {"plots": (Plot(title="Speed", kind="lines", x=("a",), series={}),)},
    ],
)
def test_tables_and_plots_that_do_not_fit_count_as_a_failure(broken):
    reports, _ = measure_all(ScriptedBenchmark("words", **broken), ScriptedBenchmark("growth"))

    assert "“Speed” has" in reports[-1].failures["words"]
    assert [each.name for each in reports[-1].sections] == ["growth"]


def test_without_a_name_all_are_meant_and_named_ones_come_in_the_order_of_the_report():
    assert names_meant(()) == BENCHES
    assert names_meant(tuple(reversed(BENCHES))) == BENCHES


@pytest.mark.parametrize("name", BENCHES)
def test_every_benchmark_goes_by_the_name_of_its_module(name):
    module = benchmark(name)

    assert name == module.NAME
    assert module.TITLE
    assert callable(module.measure)


async def test_a_name_that_is_none_is_told_with_those_there_are(tmp_path):
    ran = await Machine(folder=tmp_path).run("bench", "weather")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("There is no benchmark weather; there are ")
    assert not (tmp_path / "footnote-bench").exists()
