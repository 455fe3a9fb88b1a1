"""Text made to take a reader's time: the work grows with its length, not with its square."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

#: Characters of a line, and seconds of processor time for all lines together: four to eight times what they
#: take. A reader that takes the square of 100,000 needs ten thousand million steps for one.
SIZES = [(15_000, 8), pytest.param(100_000, 60, marks=pytest.mark.long)]
#: The same of a draft, whose whole length is DRAFT_LIMIT.
DRAFT_SIZES = [(4_000, 13), pytest.param(8_000, 40, marks=pytest.mark.long)]

#: Each is repeated to fill a line, between a beginning and an end.
LINES = {
    "full stops": ("", ".", "x"),
    "exclamation marks": ("", "!", "x"),
    "quoted full stops": ("", '."', "x"),
    "full stops of another script": ("", "。", ""),
    "abbreviations": ("", "e.g. ", ""),
    "initials": ("", "J. ", ""),
    "one word": ("", "a", ". B"),
    "words in brackets": ("", "aaaaaaaaaa(", ". B"),
    "underscores": ("", "_", ""),
    "capitals": ("", "A", "a"),
    "identifiers": ("", "Ab1_", ""),
    "accents": ("", "e\u0301", ""),
    "characters in pairs": ("", "東", ""),
    "white space": ("", " ", "x"),
    "white space after a full stop": ("A.", " ", "b"),
    "white space in a marker": ("[1", " ", "x"),
    "white space before a marker": ("a", " ", "[1"),
    "empty lines": ("", "\n", ""),
    "quotation marks": ("", ">", ""),
    "ticks": ("", "`", ""),
    "code spans": ("", "`a", ""),
    "open fences": ("", "~~~ a\n", ""),
    "fences": ("", "```\n", ""),
    "open comments": ("", "<!-- ", ""),
    "comments on lines": ("", "<!--\n", ""),
    "brackets": ("", "[", ""),
    "open links": ("", "[a](", ""),
    "links in links": ("", "[a](x(y)", ""),
    "open references": ("", "[a][", ""),
    "open images": ("", "![", ""),
    "images": ("", "![](a) ", "x"),
    "labels of code": ("", "[`x` ", ""),
    "markers": ("x.", "[1]", "y"),
    "open markers": ("", "[1", ""),
    "markers in brackets": ("(", "[1]", ""),
    "rules": ("", "- ", "x"),
    "titles": ("", "a\n==\n", ""),
    "rows": ("", "a|b\n", ""),
    "a row of a table without an end": ("a|b\n-|-", " ", "x"),
    "tables": ("", "a|b\n-|-\n", ""),
    "tags": ("", "<a ", ""),
    "numbers": ("", "1", ""),
    "thousands": ("1", ",000", ""),
    "items": ("", "1. ", ""),
    "items on lines": ("", "- a\n", ""),
    "inner items": ("", "    - a\n", ""),
    "indented lines": ("", "    a=1\n\n", ""),
    "directives": (":::\n", "    a\n", ""),
    "imports": ("", 'import  from "', ""),
    "capital words": ("", "Aa ", ""),
    "names with joints": ("A", "-a", ""),
    "rounded numbers": ("", "about 3 ", ""),
    "open quotations": ("", "“", ""),
    "quotations": ("", '"abcdefgh" ', ""),
    "numbers in words": ("", "one ", ""),
    "ranges of markers": ("", "[1-9999]", ""),
    "introductions": ("", "a:\n\n", ""),
    "bars": ("", "|", ""),
}

READERS = {
    "units": "from core.text.sentences import split_units as read",
    "terms": "from core.text.terms import query_terms as read",
    "words of a source": "from core.text.inline import as_words as read",
    "markers": "from core.text.inline import without_markers as read",
    "claims": "from core.grounding.claims import claims_of as read",
    "doubts": """
from core.grounding.doubts import doubts_of
def read(text):
    doubts_of(text, [text[::2]]), doubts_of(text, [text[::2]], is_code=True)
""",
    "quotes": """
from core.text.quoting import as_quoted
def read(text):
    as_quoted(text, 0, len(text), "[1]")
""",
    "follow-ups": "from core.text.intent import needs_history as read",
    "words for a search": """
from core.reasoning.extractive import keywords, web_query
def read(text):
    keywords(text), web_query(text)
""",
}

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="a budget of processor time needs a timer of it"
)


@pytest.mark.parametrize(("size", "budget"), SIZES)
@pytest.mark.parametrize("reader", READERS)
def test_a_hostile_line_is_read_within_its_budget(reader, size, budget):
    read_every_line(READERS[reader], size=size, budget=budget)


def read_every_line(reader: str, *, size: int, budget: int) -> None:
    names: dict = {}
    exec(reader, names)
    names["read"]("warm up")
    with budget_of(budget):
        for begin, middle, end in LINES.values():
            names["read"](begin + middle * (size // len(middle)) + end)


@contextmanager
def budget_of(seconds: int) -> Iterator[None]:
    """What takes more processor time is cut off, also within a search with a pattern."""

    def cut_off(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, cut_off)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


#: What becomes of a draft in which every second claim fails.
EDITING = """
from core.grounding.citations import to_answer
from core.grounding.claims import claims_of
from core.reasoning.replies import DRAFT_LIMIT, to_draft
from core.reasoning.reasoner import Grounded
from core.grounding.verdicts import remove_unsupported, statements_of, verdicts_on
from fakes.passages import loose_strip
strips = tuple(loose_strip("x " * 200, number=number) for number in range(1, 5))
def read(text):
    draft = to_draft(text, strips)
    statements = statements_of(claims_of(draft.text), strips)
    numbers = [statement.number for statement in statements]
    vote = Grounded(judged=tuple(numbers), unsupported=tuple(numbers[::2]))
    kept = remove_unsupported(draft.text, verdicts_on(statements, [vote]), strips)
    to_answer(draft, strips)
"""


@pytest.mark.parametrize(("size", "budget"), DRAFT_SIZES)
def test_a_hostile_draft_is_edited_within_its_budget(size, budget):
    read_every_line(EDITING, size=size, budget=budget)
