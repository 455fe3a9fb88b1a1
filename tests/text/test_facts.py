"""Numbers, units, names and code that a claim must share with its source."""

from __future__ import annotations

import pytest
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.text.facts import missing_code, missing_figures, missing_names
from core.text.listings import holds_code_block


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It has 1000 entries.", "1,000 entries"),
        ("It has 1,000,000 entries.", "1000000 entries"),
        ("It has 12 000 entries.", "12'000 entries"),
        ("It has 12\u202f000 entries.", "12,000 entries"),
        ("It costs 1,00,000.", "100000"),
        ("It takes 3.5 seconds.", "3.5 s"),
        ("It takes 10 ms.", "ten milliseconds"),
        ("It has 3 workers.", "three workers"),
        ("About 5 million people.", "5,000,000 people"),
        ("About 5,000,000 people.", "5 million people"),
        ("About 5 million people.", "from 5 to 6 million people"),
        ("It took 60 seconds.", "Timeout in seconds: 60"),
        ("It took 5 minutes.", "5m"),
        ("It paid $5.", "5 dollars"),
        ("It grew by 5%.", "5 percent"),
        ("It grew by 5 %.", "5 per cent"),
        ("On May 24th it began.", "May 24"),
        ("On 1 January.", "2024-01-01"),
        ("Python 3.10 is needed.", "Python 3.10+"),
        ("Two ways: 1) this, 2) that.", "this and that"),
        ("It was in the years 1914-18.", "1914-18"),
        ("In [1,2].", "1, 2"),
    ],
)
def test_a_number_may_be_written_in_another_way(claim, source):
    assert missing_figures(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("It has 1001 entries.", "1,000 entries", "1001"),
        ("It has 1,001 entries.", "1,000 entries", "1,001"),
        ("It takes 3.6.", "3.5", "3.6"),
        ("Python 3.1 is needed.", "Python 3.10", "3.1"),
        ("Python 3.10 is needed.", "Python 3.1", "3.10"),
        ("It takes 10 minutes.", "It takes 10 seconds.", "10 minutes"),
        ("It takes 10 ms.", "It takes 10 s.", "10 ms"),
        ("It grew by 5%.", "It grew by 5 points.", "5%"),
        ("It paid €5.", "It paid $5.", "5"),
        ("About 5 billion people.", "5 million people", "5 billion"),
        ("It holds 64 GB.", "It holds 64 MB.", "64 GB"),
        ("A 24-hour day.", "24 days", "24-hour"),
        ("It was in 1974.", "It was in 1947.", "1974"),
    ],
)
def test_another_number_or_another_unit_is_missed(claim, source, missing):
    assert missing_figures(claim, source) == [missing]


@thorough
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_is_found_exactly_where_it_stands(number, other):
    assert missing_figures(f"There are {number:,} of them.", f"There are {number} of them.") == []
    assert bool(missing_figures(f"There are {number} of them.", f"There are {other:,} of them.")) == (
        number != other
    )


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The tower stands in Paris.", "a tower of Paris"),
        ("It is Ada's machine.", "Ada built it"),
        ("It is FastAPI-based.", "based on FastAPI"),
        ("It was Jean-Luc and AT&T.", "jean-luc of at&t"),
        ("Many APIs use Node.js there.", "an API of node.js"),
        ("In short, I think it is so, AND it is NOT.", "so"),
        ("However, it works.", "it works"),
        ("Declare a parameter.", "a parameter"),
        ("Additionally, caching is used.", "it is cached"),
        ("Use FastAPI.", "FastAPI"),
        ("NOTE: it is slow.", "slow"),
        ("Its Émile wrote it.", "E\u0301mile"),
        ("Yes.", ""),
        ("Validation is automatic.", "automatic"),
        ("Tip: Use a cache.", "a cache"),
        ("| Ada | 3 |", "name and age: Ada, 3"),
    ],
)
def test_a_name_of_the_source_and_ordinary_capitals_are_not_missed(claim, source):
    assert missing_names(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("The tower stands in London.", "a tower of Paris", "London"),
        ("It is Grace's machine.", "Ada built it", "Grace"),
        ("It was Jean-Paul there.", "jean-luc", "Jean-Paul"),
        ("London is the capital.", "the capital is Paris", "London"),
        ("London, which grew, is old.", "Paris is old", "London"),
        ("London's tower is tall.", "the tower of Paris is tall", "London"),
        ("Napoleon Smith lived there.", "Smith lived there", "Napoleon"),
        ("The capital: London.", "the capital: Paris", "London"),
        ("London", "Paris", "London"),
        ("OAuth2 protects it.", "a key protects it", "OAuth2"),
        ("It ran on iOS only.", "ran only", "iOS"),
        ("It ran in Östersund only.", "ran only", "Östersund"),
        ("It was Anna there.", "annals of it", "Anna"),
        ("| London | 3 |", "city: Paris, 3", "London"),
    ],
)
def test_a_name_that_the_source_does_not_hold_is_missed(claim, source, missing):
    assert missing_names(claim, source) == [missing]


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Call `add_task()` then.", "background_tasks.add_task(write, 1)"),
        ("Use `@app.get('/')`.", 'with @app.get("/") above'),
        ("Set `a  =  1`.", "a = 1"),
        ("Use `Depends`.", "`Depends` does"),
        ("An empty span: ` `.", ""),
    ],
)
def test_code_of_the_source_is_not_missed(claim, source):
    assert missing_code(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Call `add()` then.", "address.add_task()"),
        ("Use `cache_control`.", "cache"),
        ("Use `--reload`.", "reload"),
    ],
)
def test_code_that_the_source_does_not_hold_is_missed(claim, source):
    assert missing_code(claim, source)


def test_a_code_block_may_change_a_placeholder_and_no_more():
    source = "```python\nfrom fastapi import FastAPI\n\napp = FastAPI()\n\n@app.get('/items')\ndef read_items(): ...\n```"

    assert holds_code_block(
        "```py\nfrom fastapi import FastAPI\nmine = FastAPI()\n\n@app.get('/items')\n```", source
    )
    assert not holds_code_block("```python\nfrom flask import Flask\n\napp = Flask()\n```", source)


def test_a_code_block_without_names_must_stand_there_whole():
    assert holds_code_block("```\nx = 1\n```", "so x = 1")
    assert not holds_code_block("```\nrm -rf /\n```", "so x = 1")


@thorough
@given(st.text(max_size=120))
def test_any_text_holds_all_that_it_says(text):
    assert missing_figures(text, text) == []
    assert missing_names(text, text) == []
    assert missing_code(text, text) == []
    assert holds_code_block(text, text)
