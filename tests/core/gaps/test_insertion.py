"""An answer is put into a document as its author would: as an entry, an item or a paragraph, and nothing else changes."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.gaps.insertion import AddedText, insert
from core.library.documents import Passage
from core.library.formats.read import parse_file

QUESTION, ANSWER = "Do dogs pay?", "Dogs travel free. They need a leash."


def put(name: str, text: str, beside: str, *paragraphs: str, path: tuple[str, ...] = ()):
    document = parse_file(Path(name), text.encode())
    start = text.find(beside)
    near = Passage(
        id="1", collection="c", source=name, title="", path=path, location="", text=beside, start=max(start, 0),
        end=start + len(beside),
    )  # fmt: skip
    return insert(document, text, near, AddedText(question=QUESTION, paragraphs=paragraphs or (ANSWER,)))


CASES = {
    "a question among headings that ask": (
        "faq.md",
        "# Ferries\n\n## Is it open?\n\nYes, daily.\n\n## Is it cold?\n\nNo.\n\n# Harbour\n",
        "Yes, daily",
        "## Is it open?\n\nYes, daily.\n\n## Do dogs pay?\n\nDogs travel free. They need a leash.\n\n## Is it cold?",
    ),
    "a question below the heading of all questions": (
        "faq.md",
        "# Questions\n\nWhat people ask.\n\n## Is it open?\n\nYes.\n\n## Is it cold?\n\nNo.\n",
        "What people ask",
        "No.\n\n## Do dogs pay?\n\nDogs travel free. They need a leash.\n",
    ),
    "an underlined heading": (
        "faq.rst",
        "Ferries\n=======\n\nIs it open?\n-----------\n\nYes.\n\nIs it cold?\n-----------\n\nNo.\n",
        "Yes",
        "Yes.\n\nDo dogs pay?\n------------\n\nDogs travel free. They need a leash.\n\nIs it cold?",
    ),
    "a heading of AsciiDoc": (
        "faq.adoc",
        "= Ferries\n\n== Is it open?\n\nYes.\n\n== Is it cold?\n\nNo.\n",
        "Yes",
        "== Is it open?\n\nYes.\n\n== Do dogs pay?\n\nDogs travel free. They need a leash.\n\n== Is it cold?",
    ),
    "questions in bold": (
        "faq.md",
        "# FAQ\n\n**Is it open?** Yes.\n\n**Is it cold?** No.\n",
        "No.",
        "**Is it cold?** No.\n\n**Do dogs pay?** Dogs travel free. They need a leash.\n",
    ),
    "questions in bold on lines of their own": (
        "faq.md",
        "# FAQ\n\n__Is it open?__\n\nYes.\n\n__Is it cold?__\n\nNo.\n",
        "No.",
        "No.\n\n__Do dogs pay?__\n\nDogs travel free. They need a leash.\n",
    ),
    "an item of a list": (
        "rules.md",
        "# Rules\n\n- Wear a jacket.\n- Stay seated.\n\n## Boats\n",
        "Stay seated",
        "- Stay seated.\n- Dogs travel free. They need a leash.\n\n## Boats",
    ),
    "an item of a loose list of numbers": (
        "rules.md",
        "Rules:\n\n9. Wear a jacket.\n   - Always.\n\n10. Stay seated.\n",
        "Stay seated",
        "10. Stay seated.\n\n11. Dogs travel free. They need a leash.\n",
    ),
    "an item where each is number one": (
        "rules.md",
        "1. Wear a jacket.\n1. Stay seated.\n",
        "Stay seated",
        "1. Stay seated.\n1. Dogs travel free. They need a leash.\n",
    ),
    "a paragraph before the link definitions of the file": (
        "page.md",
        "# Ferry\n\nIt leaves at [nine][1].\n\n[1]: https://ferry.example\n",
        "It leaves",
        "[nine][1].\n\nDogs travel free. They need a leash.\n\n[1]: https://ferry.example\n",
    ),
    "a paragraph before the rule, the anchor and the heading of what follows": (
        "page.md",
        '# Ferry\n\nIt leaves.\n\n---\n\n<a id="back"></a>\n## Back\n\nIt returns.\n',
        "It leaves",
        "It leaves.\n\nDogs travel free. They need a leash.\n\n---\n\n<a id",
    ),
    "the end of a section, not of its subsections": (
        "page.md",
        "# Ferry\n\nIt leaves.\n\n## Back\n\nIt returns.\n",
        "It leaves",
        "It leaves.\n\nDogs travel free. They need a leash.\n\n## Back",
    ),
    "outside of a box that the section ends with": (
        "page.md",
        "# Ferry\n\nIt leaves.\n\n/// tip\n\nBe early.\n\n///\n\n## Back\n",
        "Be early",
        "///\n\nDogs travel free. They need a leash.\n\n## Back",
    ),
    "a file without a last line end": (
        "a.txt",
        "It leaves at nine.",
        "It leaves",
        "nine.\n\nDogs travel free.",
    ),
}


@pytest.mark.parametrize(("name", "text", "beside", "expected"), CASES.values(), ids=CASES)
def test_it_stands_as_what_is_around_it(name, text, beside, expected):
    assert expected in put(name, text, beside).text


def test_lines_end_as_those_of_the_file():
    made = put("a.md", "# Ferry\r\n\r\nIt leaves.\r\n\r\n## Back\r\n", "It leaves", "One.", "Two.")

    assert "It leaves.\r\n\r\nOne.\r\n\r\nTwo.\r\n\r\n## Back\r\n" in made.text


def test_paragraphs_are_wrapped_where_the_document_wraps_them():
    wrapped = "The ferry to the island leaves at nine in the morning, and it\ncomes back at nine in the evening, when the\nsun goes down.\n"
    made = put(
        "a.md", wrapped, "The ferry", "Dogs travel free on all of our ferries to the island, and so do cats."
    )

    assert made.text.endswith("\nDogs travel free on all of our ferries to the island, and so\ndo cats.\n")


def test_a_sentence_has_its_line_where_each_has_one():
    text = "The ferry to the island leaves at nine in the morning, every day.\nIt comes back at nine.\nIt rests on Sunday.\n"
    made = put("a.md", text, "The ferry")

    assert made.text.endswith("\nDogs travel free.\nThey need a leash.\n")


def test_code_and_lists_of_an_answer_stay_as_they_are():
    code = "```sh\nferry   --dogs\n```"
    made = put("a.md", "# Ferry\n\n- one\n", "one", "Run it:", code)

    assert f"- one\n\nRun it:\n\n{code}" in made.text


def test_a_section_is_found_again_in_a_text_that_changed():
    document = "# Ferry\n\n## Prices\n\nTwelve euros.\n\n## Back\n\nIt returns.\n"
    made = put("a.md", document, "Ten euros.", path=("Ferry", "Prices"))

    assert "Twelve euros.\n\nDogs travel free. They need a leash.\n\n## Back" in made.text
    assert made.section == ("Ferry", "Prices")


LINE = st.sampled_from(
    ["# A", "## B?", "## C?", "B?\n---", "- one", "  - two", "3. three", "Text.", "**Why?** So.", "```", "> said", "| a | b |", "<!-- x -->", "[x]: y", "---", "", "\t", "///"]
)  # fmt: skip


@given(st.lists(LINE, min_size=1, max_size=14), st.sampled_from(["\n", "\r\n"]), st.integers(0, 200))
def test_nothing_that_stands_in_a_document_changes(lines, newline, at):
    text = newline.join(lines)
    if not text.strip():
        return
    document = parse_file(Path("a.md"), text.encode())
    near = Passage(
        id="1", collection="c", source="a.md", title="", location="", text=text[at : at + 9] or "gone", start=at, end=at
    )  # fmt: skip
    made = insert(document, text, near, AddedText(question=QUESTION, paragraphs=(ANSWER,)))

    changes = difflib.SequenceMatcher(None, text, made.text, autojunk=False).get_opcodes()
    assert {kind for kind, *_ in changes} <= {"equal", "insert"}
    assert ANSWER in made.text
