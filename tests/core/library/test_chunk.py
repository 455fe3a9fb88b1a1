"""Documents cut into passages: by structure, verbatim, and small enough."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import pytest
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.library.chunking import LIMIT, LONG_PROSE, TARGET, TINY, cut
from core.library.documents import Block, Document, Piece
from core.library.formats import markdown, plain
from core.library.formats.assembly import Part, assemble
from core.library.formats.read import read_document
from core.library.formats.templates import clean_markdown

WORDS = "Everyone may work from home on two days of each week. "
PARAGRAPH = (WORDS * 6).strip()  # 323 characters

sentences = st.sampled_from(
    ["One two three. ", "It ends here! ", "é ü 漢字。", "no end ", "Is it? ", "e.g. this one. "]
)
prose = st.builds(lambda parts: "".join(parts).strip() or "x", st.lists(sentences, min_size=1, max_size=200))
blocks = st.one_of(
    prose,
    st.builds(
        lambda level, name: f"{'#' * level} {name}",
        st.integers(1, 4),
        st.sampled_from(["A", "B `c`", "D { #d }"]),
    ),
    st.builds(lambda rows: "\n".join(f"* item {row}" for row in range(rows)), st.integers(1, 60)),
    st.builds(lambda rows: "```\n" + "x = 1\n" * rows + "```", st.integers(0, 500)),
    st.builds(lambda rows: "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * rows, st.integers(1, 300)),
    st.builds(lambda size: "y" * size, st.integers(1, 5_000)),
    st.sampled_from(
        ["{* ../x.py hl[1] *}", "/// note", "///", "---", "<!-- no -->", "Do this:", "[a]: https://a.example"]
    ),
)
documents = st.builds(
    lambda parts, ending, parse: parse("\n\n".join(parts).replace("\n", ending)),
    st.lists(blocks, max_size=12),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([markdown.parse, plain.parse, partial(plain.parse, kind="code")]),
)


def pieces_of(text: str) -> list[Piece]:
    return cut(markdown.parse(text))


def locations(pieces: Sequence[Piece]) -> list[str]:
    return [piece.location for piece in pieces]


def uncovered(document: Document, pieces: Sequence[Piece], block: Block) -> str:
    """What of a block is in no piece."""
    rest = [document.text[block.start : block.end]] if not pieces else []
    reached = block.start
    for piece in pieces:
        if piece.end > block.start and piece.start < block.end:
            rest.append(document.text[reached : max(piece.start, reached)])
            reached = piece.end
    rest.append(document.text[reached : max(reached, block.end)])
    return "".join(rest).strip()


@given(documents)
@thorough
def test_pieces_are_verbatim_in_order_apart_and_within_the_limit(document):
    pieces = cut(document)

    assert all(piece.text == document.text[piece.start : piece.end] for piece in pieces)
    assert all(0 < len(piece.text) <= LIMIT for piece in pieces)
    assert all(before.end <= after.start for before, after in pairwise(pieces))
    assert all(piece.location for piece in pieces)


@given(documents)
@thorough
def test_nothing_but_white_space_and_markup_is_lost(document):
    pieces = cut(document)

    for block in document.blocks:
        if block.kind != "markup":
            assert uncovered(document, pieces, block) == ""


@given(documents)
@thorough
def test_cutting_is_deterministic(document):
    assert cut(document) == cut(document)


def test_a_section_is_one_piece_that_begins_with_its_heading():
    pieces = pieces_of(f"# Guide\n\n{PARAGRAPH}\n\n## Days\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n")

    assert [(piece.path, piece.location) for piece in pieces] == [
        (("Guide",), "Guide"),
        (("Guide", "Days"), "Guide > Days"),
    ]
    assert pieces[1].text == f"## Days\n\n{PARAGRAPH}\n\n{PARAGRAPH}"


def test_heading_paths_follow_the_levels():
    text = "".join(f"{'#' * level} H{n}\n\n{PARAGRAPH}\n\n" for n, level in enumerate([1, 2, 4, 3, 2, 1]))

    assert locations(pieces_of(text)) == [
        "H0",
        "H0 > H1",
        "H0 > H1 > H2",
        "H0 > H1 > H3",
        "H0 > H4",
        "H5",
    ]


def test_a_long_section_is_cut_into_pieces_of_even_size_between_paragraphs():
    pieces = pieces_of("# Guide\n\n" + f"{PARAGRAPH}\n\n" * 9)

    assert len(pieces) == 3
    assert {piece.location for piece in pieces} == {"Guide"}
    assert all(TARGET * 0.8 < len(piece.text) < TARGET * 1.2 for piece in pieces)
    assert all(piece.text.endswith(PARAGRAPH) for piece in pieces)


def test_a_lone_heading_goes_with_what_follows_it():
    pieces = pieces_of(f"# Guide\n\n## Part\n\n### Days\n\n{PARAGRAPH}\n")

    assert locations(pieces) == ["Guide > Part > Days"]
    assert pieces[0].text.startswith("# Guide\n\n## Part\n\n### Days")


def test_a_heading_goes_even_with_code_that_must_be_cut_for_it():
    code = "```\n" + "x = 1\n" * 331 + "```"

    pieces = pieces_of(f"# Guide\n\n{code}\n")

    assert len("# Guide\n\n") + len(code) > LIMIT >= len(code)
    assert pieces[0].text.startswith("# Guide\n\n```\nx = 1")


def test_a_heading_with_nothing_but_a_directive_below_it_is_a_lone_one():
    pieces = pieces_of(f"# Guide\n\n## Code\n\n{{* ../x.py *}}\n\n## Days\n\n{PARAGRAPH}\n")

    assert locations(pieces) == ["Guide > Days"]


def test_a_lone_heading_at_the_end_goes_with_what_is_before_it():
    pieces = pieces_of(f"# Guide\n\n{PARAGRAPH}\n\n## To be written\n")

    assert [piece.text.splitlines()[-1] for piece in pieces] == ["## To be written"]


def test_a_document_of_headings_alone_is_kept():
    assert [piece.text for piece in pieces_of("# Newsletter\n\n<script src='x'></script>\n")] == [
        "# Newsletter"
    ]


def test_very_many_lone_headings_end_in_pieces_within_the_limit():
    pieces = pieces_of("# A heading\n" * 2_000)

    assert all(len(piece.text) <= LIMIT for piece in pieces)
    assert sum(piece.text.count("# A heading") for piece in pieces) == 2_000


def test_a_document_of_markup_alone_has_no_pieces():
    assert pieces_of("---\ntitle: x\n---\n\n<!-- nothing yet -->\n") == []


def test_tiny_sections_are_joined_with_the_next_beside_them_under_their_parent():
    pieces = pieces_of(
        f"# Guide\n\n{PARAGRAPH}\n\n## Get\n\nReads it.\n\n## Put\n\nWrites it.\n\n## Days\n\n{PARAGRAPH}\n"
    )

    assert [(piece.path, piece.location) for piece in pieces] == [
        (("Guide",), "Guide"),
        (("Guide",), "Guide > Get – Days"),
    ]


def test_a_tiny_section_is_not_joined_with_what_stands_elsewhere():
    pieces = pieces_of(f"# Guide\n\n{PARAGRAPH}\n\n## Last\n\nShort.\n\n# Other\n\n{PARAGRAPH}\n")

    assert locations(pieces) == ["Guide", "Guide > Last", "Other"]


def test_small_sections_that_say_something_stay_apart():
    section = "x" * TINY

    assert locations(pieces_of(f"# A\n\n{section}\n\n# B\n\n{section}\n")) == ["A", "B"]


@pytest.mark.parametrize(
    "block",
    ["```python\n" + "x = 1\n" * 250 + "```", "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 150],
    ids=["code", "table"],
)
def test_code_and_tables_below_the_limit_are_never_cut(block):
    text = f"# Guide\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{block}\n\n{PARAGRAPH}\n"

    assert TARGET < len(block.strip()) < LIMIT
    assert sum(block.strip() in piece.text for piece in pieces_of(text)) == 1


@pytest.mark.parametrize(
    "line", ["value = call(1, 2)  # Sentence. Another one here.\n", "| one. Two | three. Four |\n"]
)
def test_larger_ones_are_cut_between_lines(line):
    head = "| a | b |\n|---|---|\n" if line.startswith("|") else "```python\n"

    pieces = pieces_of(f"# Guide\n\n{head}{line * 200}")

    assert len(pieces) > 2
    assert {piece.text.splitlines()[-1] for piece in pieces} == {line.strip()}
    assert all(piece.text.startswith(line) for piece in pieces[1:])


def test_a_long_paragraph_is_cut_between_sentences():
    paragraph = " ".join(f"Sentence number {n}, e.g. this one, tells nothing." for n in range(100))

    pieces = pieces_of(paragraph)

    assert len(paragraph) > LONG_PROSE
    assert all(piece.text.startswith("Sentence") and piece.text.endswith("nothing.") for piece in pieces)
    assert all(TARGET * 0.7 < len(piece.text) < TARGET * 1.3 for piece in pieces)


def test_a_paragraph_without_sentences_is_cut_between_words():
    pieces = pieces_of("word " * 1_000)

    assert all(set(piece.text.split()) == {"word"} for piece in pieces)


@pytest.mark.parametrize(
    "follows",
    [
        "```\npip install x\n```",
        "* one\n* two\n* three",
        "| a |\n|---|\n| 1 |",
        "{* ../x.py *}\n\n```\nx\n```",
    ],
)
def test_an_introduction_stays_with_what_it_introduces(follows):
    intro = "Then run what is written here, and nothing else:"
    before = f"{PARAGRAPH}\n\n" * 3

    pieces = pieces_of(f"# Guide\n\n{before}{intro}\n\n{follows}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n")

    assert len(pieces) == 2
    assert sum(f"{intro}\n\n{follows}" in piece.text for piece in pieces) == 1


def test_a_whole_list_stays_with_its_introduction():
    items = "\n".join(f"* {'word ' * 14}{number}" for number in range(16))

    pieces = pieces_of(f"# Guide\n\n{PARAGRAPH}\n\nBring these:\n\n{items}\n")

    assert [piece.text.partition("\n")[0] for piece in pieces] == ["# Guide", "Bring these:"]


def test_markup_at_the_ends_of_a_piece_is_left_out():
    pieces = pieces_of(
        f"---\ntitle: x\n---\n\n/// note\n\n{PARAGRAPH}\n\n///\n\n# Next\n\n{PARAGRAPH}\n\n---\n"
    )

    assert [piece.text for piece in pieces] == [PARAGRAPH, f"# Next\n\n{PARAGRAPH}"]


def test_text_without_headings_is_found_by_its_lines():
    text = f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n{PARAGRAPH}\n\n{PARAGRAPH}"

    assert locations(cut(plain.parse(text.replace("\n", "\r\n")))) == ["lines 1-5", "lines 7-10"]
    assert locations(pieces_of(f"{PARAGRAPH}\n\n# Guide\n\n{PARAGRAPH}\n")) == ["line 1", "Guide"]


def test_an_empty_heading_names_nothing():
    assert locations(pieces_of(f"#\n\n{PARAGRAPH}\n")) == ["lines 1-3"]


def test_pages_are_not_mixed_unless_they_say_too_little():
    pages = (PARAGRAPH, "Chapter 2", PARAGRAPH, PARAGRAPH)
    document = assemble(Part(kind="prose", text=text, page=page) for page, text in enumerate(pages, start=1))

    assert locations(cut(document)) == ["page 1", "pages 2-3", "page 4"]


def test_the_real_documents_are_cut_whole(shared_data):
    folder = shared_data / "fastapi_docs"
    files = sorted(folder.rglob("*.md"))

    for file in files:
        document = read_document(file)
        pieces = cut(document)
        assert pieces, file
        assert document.text == clean_markdown(file.read_text(encoding="utf-8")), file
        assert all(document.text[piece.start : piece.end] == piece.text for piece in pieces), file
        assert all(len(piece.text) <= LIMIT for piece in pieces), file
        assert not any(
            uncovered(document, pieces, block) for block in document.blocks if block.kind != "markup"
        ), file

    assert len(files) == 154


def test_a_real_page_reads_as_its_author_built_it(shared_data):
    document = read_document(shared_data / "fastapi_docs" / "tutorial" / "background-tasks.md")

    pieces = cut(document)

    assert document.title == "Background Tasks"
    assert locations(pieces) == [
        "Background Tasks",
        "Background Tasks > Using BackgroundTasks",
        "Background Tasks > Create a task function",
        "Background Tasks > Add the background task",
        "Background Tasks > Dependency Injection",
        "Background Tasks > Technical Details",
        "Background Tasks > Caveat",
        "Background Tasks > Recap",
    ]
    assert pieces[6].text.startswith(
        "## Caveat { #caveat }\n\nIf you need to perform heavy background computation"
    )
    assert not any(piece.text.endswith("*}") for piece in pieces)
