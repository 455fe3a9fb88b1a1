"""A footnote's link leads to its document, at the lines or the heading of its quote, and nowhere else."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from fakes.passages import thorough
from fakes.shelf import open_library, scope
from hypothesis import given
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas

from core.conversation import Answer, Citation, Outcome
from core.library.links import SourceLinks, fill_template, github_slug, mkdocs_slug, parse_template
from core.library.retriever import Query

BASE = "https://github.com/acme/handbook/blob/main"
GUIDE = """# Guide

Read it all.

## Set up

Install it.
Then start it.

## Set up

Once more: C++ & Rust.

## Café { #drinks }

Coffee is free.
"""


@pytest.fixture
def library(tmp_path):
    library = open_library(tmp_path / "data")
    yield library
    library.close()


def linked(library, tmp_path, template, citation):
    links = SourceLinks(templates={"default": template}, store=library.store, private=tmp_path / "data")
    answer = Answer(text="Yes. [1]", citations=(citation,), grounding="documents", composed=True)
    outcome = links.add_links(Outcome(kind="answered", turn_id="t", answer=answer, closest=(citation,)))
    assert outcome.closest == outcome.answer.citations
    return outcome.closest[0].url


def cited(file, quote, *, root, location="", **more):
    start = file.read_text(encoding="utf-8").index(quote) if file.suffix == ".md" else 0
    fields = {
        "number": 1, "title": "Guide", "location": location, "quote": quote, "start": start,
        "end": start + len(quote), "source": f"{root.name}/{file.relative_to(root)}", "collection": "default",
    }  # fmt: skip
    return Citation(**(fields | more))


@pytest.mark.parametrize(
    ("base", "link"),
    [
        (BASE, f"{BASE}/in%20use/guide.md?plain=1#L7-L8"),
        (f"{BASE}/", f"{BASE}/in%20use/guide.md?plain=1#L7-L8"),
        ("https://github.acme.dev/x/blob/main", "https://github.acme.dev/x/blob/main/in%20use/guide.md?plain=1#L7-L8"),
        ("https://gitlab.com/x/-/blob/main", "https://gitlab.com/x/-/blob/main/in%20use/guide.md?plain=1#L7-8"),
        ("https://bitbucket.org/x/src/main", "https://bitbucket.org/x/src/main/in%20use/guide.md#lines-7:8"),
        ("https://codeberg.org/x/src/main", "https://codeberg.org/x/src/main/in%20use/guide.md?display=source#L7-L8"),
        ("https://acme.github.io/docs", "https://acme.github.io/docs/in%20use/guide.md#set-up"),
        ("https://docs.acme.dev/{page}/#{anchor}", "https://docs.acme.dev/in%20use/guide/#set-up"),
        ("https://acme.dev/{source}", "https://acme.dev/handbook/in%20use/guide.md"),
        ("https://acme.dev/show?file={path}&line={line}", "https://acme.dev/show?file=in%20use/guide.md&line=7"),
    ],
)  # fmt: skip
def test_a_base_becomes_a_link_to_the_lines_or_the_heading(library, tmp_path, base, link):
    folder = tmp_path / "handbook"
    file = folder / "in use" / "guide.md"
    file.parent.mkdir(parents=True)
    file.write_text(GUIDE)
    library.ingest([folder])

    found = linked(
        library, tmp_path, parse_template(base), cited(file, "Install it.\nThen start it.", root=folder)
    )

    assert found == link


@pytest.mark.parametrize(
    ("quote", "anchor", "mkdocs"),
    [
        ("Read it all.", "guide", "guide"),
        ("Install it.", "set-up", "set-up"),
        ("Once more: C++ & Rust.", "set-up-1", "set-up_1"),
        ("Coffee is free.", "drinks", "drinks"),
    ],
)
def test_a_heading_that_is_there_twice_has_a_number_and_one_with_an_anchor_keeps_it(
    library, tmp_path, quote, anchor, mkdocs
):
    folder = tmp_path / "handbook"
    folder.mkdir()
    file = folder / "index.md"
    file.write_text(GUIDE)
    library.ingest([folder])
    citation = cited(file, quote, root=folder)

    anchors = [
        linked(library, tmp_path, f"https://a.dev/{{page}}/#{{{name}}}", citation)
        for name in ("anchor", "mkdocs_anchor")
    ]

    assert anchors == [f"https://a.dev/#{anchor}", f"https://a.dev/#{mkdocs}"]


def test_slugs_are_made_as_github_and_mkdocs_make_them():
    assert github_slug("What's new in C++ & Rust – 2.0?") == "whats-new-in-c--rust--20"
    assert mkdocs_slug("What's new in C++ & Rust – 2.0?") == "whats-new-in-c-rust-20"
    assert (github_slug("Öffnungs_zeiten"), mkdocs_slug("Öffnungs_zeiten")) == (
        "öffnungs_zeiten",
        "offnungs_zeiten",
    )


def test_a_file_that_was_ingested_by_itself_is_at_the_base(library, tmp_path):
    file = tmp_path / "guide.md"
    file.write_text(GUIDE)
    library.ingest([file])

    found = linked(
        library, tmp_path, parse_template(BASE), cited(file, "Read it all.", root=tmp_path, source="guide.md")
    )

    assert found == f"{BASE}/guide.md?plain=1#L3-L3"


def test_a_file_that_has_changed_is_linked_without_lines(library, tmp_path):
    file = tmp_path / "guide.md"
    file.write_text(GUIDE)
    library.ingest([file])
    citation = cited(file, "Read it all.", root=tmp_path, source="guide.md")
    file.write_text(f"New.\n\n{GUIDE}")

    assert linked(library, tmp_path, parse_template(BASE), citation) == f"{BASE}/guide.md?plain=1"


def test_the_page_of_a_pdf_is_named(library, tmp_path):
    file = tmp_path / "guide.pdf"
    canvas = Canvas(str(file))
    for words in ("The first page is about boats.", "The second page is about cars."):
        for line in range(8):  # a very short page would be joined with the next one
            canvas.drawString(72, 700 - 20 * line, words)
        canvas.showPage()
    canvas.save()
    library.ingest([file])
    (passage,) = [
        hit.passage
        for hit in library.retrieve(Query(text="cars", scope=scope(), limit=5)).passages
        if "cars" in hit.passage.text
    ]
    citation = cited(
        file, "The second page is about cars.", root=tmp_path, source="guide.pdf", location=passage.location
    )

    assert linked(library, tmp_path, parse_template("https://files.acme.dev"), citation) == (
        "https://files.acme.dev/guide.pdf#page=2"
    )


@pytest.mark.parametrize(
    "given",
    [{"collection": ""}, {"collection": "board"}, {"origin": "web"}, {"source": "other.md"}],
    ids=["unknown", "without a base", "web", "gone"],
)
def test_what_has_no_base_or_is_not_there_has_no_link(library, tmp_path, given):
    file = tmp_path / "guide.md"
    file.write_text(GUIDE)
    library.ingest([file])
    citation = cited(file, "Read it all.", root=tmp_path, **({"source": "guide.md"} | given))

    assert linked(library, tmp_path, parse_template(BASE), citation) is None


def test_what_was_uploaded_in_private_has_no_link_and_a_page_keeps_its_own(library, tmp_path):
    upload = tmp_path / "data" / "learned" / "channel-x" / "guide.md"
    upload.parent.mkdir(parents=True)
    upload.write_text(GUIDE)
    library.ingest([upload])
    private = cited(upload, "Read it all.", root=upload.parent, source="guide.md")
    own = cited(upload, "Read it all.", root=upload.parent, url="https://own.example/")

    assert linked(library, tmp_path, parse_template(BASE), private) is None
    assert linked(library, tmp_path, parse_template(BASE), own) == "https://own.example/"


def test_of_two_files_that_people_name_alike_none_is_linked(library, tmp_path):
    folders = [tmp_path / "one" / "docs", tmp_path / "two" / "docs"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "guide.md").write_text(GUIDE)
    library.ingest(folders)
    citation = cited(folders[0] / "guide.md", "Read it all.", root=folders[0])

    assert linked(library, tmp_path, parse_template(BASE), citation) is None


@thorough
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1))
def test_no_name_of_a_file_leads_elsewhere(name):
    link = fill_template(
        parse_template("https://docs.acme.dev/a"), {"path": f"sub/{name}", "page": "x", "source": "y"}
    )

    parts = urlsplit(link)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "docs.acme.dev", "", "")
    assert unquote(parts.path) == f"/a/sub/{name}"
    assert not set(link) & set(" <>|()[]\\\"'`*{}\n")
