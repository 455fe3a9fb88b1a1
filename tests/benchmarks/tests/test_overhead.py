"""The measuring of what a turn costs: the synthetic library, the turns that count, and whose time is whose."""

from __future__ import annotations

import cProfile
import pstats
from itertools import islice

import numpy as np
import pytest
from benchmarks import overhead
from benchmarks.evaluation_sets import EVERYTHING
from benchmarks.synthetic import DrawnVectors, documents, library_of, questions

from core.library.retriever import Query


def test_the_synthetic_passages_are_as_many_as_asked_for_and_no_two_alike():
    passages = [text for _, _, texts in documents(230) for text in texts]

    assert len(passages) == len(set(passages)) == 230


def test_no_question_comes_twice_and_each_is_about_a_passage_that_answers_it(tmp_path):
    asked = list(islice(questions(200), 20))

    with library_of(200, tmp_path) as library:
        found = [library.retrieve(Query(text=question, scope=EVERYTHING)) for question in asked]

    assert len(set(asked)) == 20
    for question, retrieval in zip(asked, found, strict=True):
        subject = question.removeprefix("What is the ").removesuffix("?")
        assert subject in retrieval.passages[0].passage.text
        assert retrieval.confidence > 0.8


def test_drawn_vectors_have_length_one_and_are_drawn_once_for_a_text():
    class Network:
        name, dimension = "none", 8

    drawn = DrawnVectors(Network())

    first, second = drawn.embed_documents(["one", "two"]), drawn.embed_documents(["one", "three"])

    assert np.allclose(np.linalg.norm(first, axis=1), 1)
    assert np.array_equal(first[0], second[0])
    assert not np.allclose(first[0], first[1])


def test_a_builtins_time_is_that_of_the_package_that_called_it():
    from core.text.sentences import split_units

    profiler = cProfile.Profile()
    profiler.enable()
    split_units("One sentence. " * 200)
    profiler.disable()

    packages = {package for package, _, _ in overhead._times(pstats.Stats(profiler))}

    assert "core" in packages
    assert packages <= {"core", "Python"}


@pytest.mark.parametrize(
    ("file", "name", "package"),
    [
        ("/x/site-packages/pydantic/main.py", "__iter__", "pydantic"),
        ("/x/site-packages/six.py", "u", "six"),
        ("/x/footnote/bots/chat/texts.py", "counted", "bots"),
        ("/usr/lib/python3.11/copy.py", "deepcopy", "Python"),
        ("~", "<method 'poll' of 'select.epoll' objects>", "waiting for replies"),
    ],
)
def test_a_function_belongs_to_a_package(file, name, package):
    assert overhead._package(file, name) == package


def test_the_quick_form_measures_turns_that_took_the_happy_path():
    section = overhead.run(print, quick=True)

    turns, profile = section.tables
    ((size, calls, least, middle, p95, loop, bar),) = turns.rows
    assert (size, calls, bar) == (200, 6, 30.0)
    assert 0 < least <= middle <= p95
    assert 0 < loop <= p95
    assert {"langgraph", "core"} <= {row[0] for row in profile.rows}
