"""`python -m benchmarks`: its names, and options that follow from what each benchmark takes."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path

import pytest
from benchmarks import BENCHMARKS
from benchmarks.__main__ import main, options_of

from bots.testing.report import Section, Table


def measure(say, *, folder: Path, model: str = "none", rate: float = 1.5, quick: bool = False):
    say(f"{folder} {model} {rate} {quick}")


def test_every_keyword_argument_is_an_option():
    options = options_of("measure", measure)

    given = options.parse_args(["--folder", "here", "--rate", "2", "--quick"])

    assert vars(given) == {"folder": Path("here"), "model": "none", "rate": 2.0, "quick": True, "json": False}
    assert "--rate RATE" in options.format_help()


def test_an_argument_without_a_default_is_required(capsys):
    with pytest.raises(SystemExit):
        options_of("measure", measure).parse_args([])

    assert "the following arguments are required: --folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_name_is_a_module_that_takes_its_options_by_keyword(name):
    run = import_module(f"benchmarks.{name}").run

    assert options_of(name, run).format_help().startswith("usage: python -m benchmarks")
    assert next(iter(inspect.signature(run).parameters)) == "say"


def test_without_a_name_all_of_them_are_listed(capsys):
    with pytest.raises(SystemExit):
        main([])

    listed = capsys.readouterr().out
    assert all(f"{name}  " in listed and what in listed for name, what in BENCHMARKS.items())


@pytest.mark.parametrize(("figures", "code"), [({"failed": 1.0}, 1), ({"failed": 0.0}, 0), ({}, 0)])
def test_a_section_is_printed_as_tables_or_as_json(monkeypatch, capsys, figures, code):
    table = Table(title="Pairs", columns=("a", "b"), rows=((1, 2),))
    section = Section(name="soak", title="Soak", what="Said.", tables=(table,), figures=figures)
    monkeypatch.setattr("benchmarks.soak.run", lambda say, *, questions=1: section)

    assert main(["soak"]) == code
    assert "Pairs" in capsys.readouterr().out
    assert main(["soak", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["tables"][0]["rows"] == [[1, 2]]


def test_a_set_that_is_not_there_is_told_in_a_sentence(capsys, tmp_path):
    assert main(["followups", "--data", str(tmp_path / "absent")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
