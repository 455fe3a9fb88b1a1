"""The sections of a document, and the parts of it that can be opened."""

from __future__ import annotations

import pytest
from fakes.scripted import hit

from core.library.contents import Contents, Heading, contents_from, holding, in_section, on_page
from core.library.documents import Block, Document, Scope
from core.library.library import Library, ScopedDocuments
from core.text.terms import query_terms


def piece(text, location="", path=(), **more):
    return hit(text, path=tuple(path), location=location, **more).passage


REPORT = [
    piece("The body runs trains.", "page 1", id="1"),
    piece("Income rose.", "pages 2-3, Income", ["Income"], id="2"),
    piece("| Grants | 12 |", "page 3, Income > Grants", ["Income", "Grants"], id="3"),
    piece("Costs rose too, and net cash from\noperations fell.", "page 4, Costs", ["Costs"], id="4"),
]


def test_a_section_is_opened_with_what_stands_below_it():
    assert [each.id for each in in_section(REPORT, ["Income"])] == ["2", "3"]


def test_a_page_holds_what_begins_on_it_or_reaches_it():
    assert [each.id for each in on_page(REPORT, 3)] == ["2", "3"]


def test_a_page_is_opened_by_its_printed_number_too():
    printed = piece("Wages.", "pages 40-41 (printed 12 to 13), Pay")

    assert on_page([printed], 12) == on_page([printed], 40) == [printed]
    assert on_page([printed], 14) == []


def test_a_phrase_is_found_over_a_line_break_and_in_any_case():
    assert [each.id for each in holding(REPORT, "Net cash from operations")] == ["4"]


def test_words_that_nowhere_follow_one_another_are_found_in_any_order():
    assert [each.id for each in holding(REPORT, "operations cash")] == ["4"]


@pytest.mark.parametrize("nothing", ["", " … ", "profit"])
def test_a_phrase_that_stands_nowhere_finds_nothing(nothing):
    assert holding(REPORT, nothing) == []


def test_a_heading_is_listed_once_with_the_page_on_which_it_begins():
    rows = ((7, "/r.pdf", "r.pdf", "Report", each.path, each.location) for each in REPORT)
    (contents,) = contents_from(rows, {7: ["2"]})

    assert contents.sections == (
        Heading(path=("Income",), pages="pages 2-3"),
        Heading(path=("Income", "Grants"), pages="page 3"),
        Heading(path=("Costs",), pages="page 4"),
    )


def test_of_many_sections_those_that_share_words_with_the_question_are_shown_then_the_outermost():
    paths = [("Part",), ("Part", "Trains"), ("Part", "Trains", "Delays"), ("Annex",)]
    contents = Contents(
        address="a", source="a", title="A", sections=tuple(Heading(path=path) for path in paths)
    )

    assert [number for number, _ in contents.select({"delay"}, (), 3)] == [1, 3, 4]


def test_without_headings_a_document_has_no_sections():
    (contents,) = contents_from([(7, "/n.txt", "n.txt", "Notes", (), "lines 1-3")], {7: ["1"]})

    assert contents.sections == ()


async def test_the_library_lists_and_opens_only_what_may_be_read(tmp_path, library: Library):
    for name in ("open", "closed"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "guide.md").write_text("# Guide\n\nHello.\n\n## Ports\n\nThe port is 8080.\n" * 40)
        library.ingest([folder], collection=name)
    everything, mine = (
        ScopedDocuments(library=library, scope=Scope(collections=frozenset(names)))
        for names in (("open", "closed"), ("open",))
    )
    found = (await everything.retrieve("port", limit=50)).passages
    closed = [each.passage for each in found if each.passage.collection == "closed"]
    assert closed

    (contents,) = await everything.contents(closed, limit=5)

    assert contents.source.endswith("guide.md")
    assert contents.sections[0].path[0] == "Guide"
    assert await everything.reading(contents.address)
    assert not await mine.contents(closed, limit=5)
    assert not await mine.reading(contents.address)


def test_a_word_of_many_headings_counts_less_than_one_of_few():
    paths = [*((f"Graphs in TikZ {n}",) for n in range(9)), ("Line widths",)]
    contents = Contents(
        address="a", source="a", title="A", sections=tuple(Heading(path=path) for path in paths)
    )

    shown = contents.select(query_terms("Which line widths are there in TikZ?"), {paths[3]}, 2)

    assert [number for number, _ in shown] == [4, 10]


async def test_documents_of_the_same_name_are_told_apart_and_opened_alone(tmp_path, library: Library):
    site = Document(
        title="Limits",
        text="# Limits\n\nFive calls.",
        blocks=(Block(kind="heading", start=0, end=8, level=1), Block(kind="prose", start=10, end=21)),
    )
    for address, collection in (
        ("https://x.example/docs", "one"),
        ("https://x.example/docs/v1", "one"),
        ("https://x.example/docs", "two"),
    ):
        library.ingest_page(address, site, collection=collection)
    documents = ScopedDocuments(library=library, scope=Scope(collections=frozenset({"one", "two"})))
    passages = [each.passage for each in (await documents.retrieve("calls", limit=9)).passages]

    listed = await documents.contents(passages, limit=9)

    assert len(passages) == len(listed) == 3
    assert [each.passages for each in listed] == [{passage.id} for passage in passages]
    assert {each.source for each in await documents.reading("https://x.example/docs")} == {
        "https://x.example/docs"
    }
    assert len(await documents.contents(passages, limit=2)) == 2
