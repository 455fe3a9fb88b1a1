"""HTML files and fetched pages, reduced to their readable text."""

from __future__ import annotations

import pytest

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.documents import Document
from core.library.formats import webpage
from core.library.formats.read import parse_html, read_document

SENTENCE = "We describe the process in detail, so that everyone knows what to do when it happens. "
GUIDE = f"""
<h1>Incident guide</h1><p>{SENTENCE * 2}</p>
<h2 id="oncall">On call<a class="headerlink" href="#oncall">¶</a></h2><p>{SENTENCE} You <b>must</b> do this:</p>
<ul><li>Page the lead<ul><li>twice</li></ul></li><li>Open a channel</li></ul>
<h2>Severities</h2><table><tr><th>Severity</th><th>Time</th></tr><tr><td>1</td><td>15 min | now</td></tr></table>
<pre><code>systemctl stop snake_case
systemctl start  snake_case</code></pre>
<p>Keep the name snake_case, and write C:\\temp or 2 * 3 &lt; 7 [sic].</p>
"""
BOILERPLATE = (
    '<nav><a href="/">Home</a> <a href="/all">All pages</a></nav>',
    "<footer>Copyright 2026 Acme</footer>",
)


def page(body: str, *, title: str = "Incident guide | Acme wiki") -> str:
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


def kinds(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, document.text[block.start : block.end]) for block in document.blocks]


@pytest.mark.parametrize(
    "body",
    [GUIDE, f"<main>{GUIDE}</main>", f"<div id=page>{GUIDE}</div>", f"{BOILERPLATE[0]}<article>{GUIDE}</article>{BOILERPLATE[1]}"],
    ids=["bare", "main", "div", "article"],
)  # fmt: skip
def test_headings_lists_tables_and_code_of_a_file_are_kept(body):
    document = parse_html(page(body), url=None)

    assert document.title == "Incident guide"
    assert kinds(document) == [
        ("heading", "# Incident guide"),
        ("prose", (SENTENCE * 2).strip()),
        ("heading", "## On call"),
        ("prose", f"{SENTENCE}You **must** do this:"),
        ("item", "- Page the lead\n  - twice"),
        ("item", "- Open a channel"),
        ("heading", "## Severities"),
        ("table", "| Severity | Time | \n|---|---|\n| 1 | 15 min \\| now |"),
        ("code", "```\nsystemctl stop snake_case\nsystemctl start  snake_case\n```"),
        ("prose", "Keep the name snake_case, and write C:\\temp or 2 * 3 < 7 [sic]."),
    ]


@pytest.mark.parametrize("wrap", ["{}", "<main>{}</main>"])
def test_what_folds_away_is_text_and_no_heading(wrap):
    folded = (
        '<details class="sd-dropdown" open><summary class="sd-summary-title">Example</summary><p>It prints 5.</p>'
        "<pre><code>a = 2\nb = 3</code></pre></details>"
        "<DETAILS><SUMMARY>More</SUMMARY>It is faster now.</DETAILS>"
    )

    document = parse_html(
        page(wrap.format(f"<h1>Guide</h1><p>{SENTENCE}</p>{folded}<h2>Next</h2><p>End.</p>")), url=None
    )

    assert [text for kind, text in kinds(document) if kind == "heading"] == ["# Guide", "## Next"]
    assert ("prose", "Example") in kinds(document)
    assert ("prose", "It prints 5.") in kinds(document)
    assert ("code", "```\na = 2\nb = 3\n```") in kinds(document)
    assert "It is faster now." in document.text


def test_navigation_and_footer_are_left_out():
    before, after = BOILERPLATE

    document = parse_html(page(f"{before}<main>{GUIDE}</main>{after}"), url="https://wiki.example/incidents")

    assert "Home" not in document.text
    assert "Copyright" not in document.text
    assert document.url == "https://wiki.example/incidents"


def test_a_short_page_keeps_its_headings():
    document = parse_html(page("<h1>Leave</h1><p>25 days.</p><h2>Sick</h2><p>Tell your lead.</p>"), url=None)

    assert document.text == "# Leave\n\n25 days.\n\n## Sick\n\nTell your lead."


@pytest.mark.parametrize("url", [None, "https://a.example/x"])
def test_a_fragment_is_a_page(url):
    assert "The office opens at nine." in parse_html("<p>The office opens at nine.</p>", url=url).text


def test_a_list_of_links_is_kept():
    links = "".join(f'<p><a href="/{n}">Runbook number {n}</a></p>' for n in range(20))

    assert "Runbook number 19" in parse_html(page(links), url=None).text


def test_text_before_the_first_heading_stands_under_the_title():
    document = parse_html(page(f"<p>{SENTENCE}</p><h2>More</h2><p>{SENTENCE}</p>", title="Guide"), url=None)

    assert [piece.location for piece in cut(document)] == ["Guide", "Guide > More"]


def test_a_page_without_a_title_is_named_after_its_host():
    assert parse_html(f"<p>{SENTENCE}</p>", url="https://docs.example.org/x").title == "docs.example.org"


def test_a_file_without_a_title_is_named_after_the_file(tmp_path):
    file = tmp_path / "on-call_rota.html"
    file.write_text(f"<p>{SENTENCE}</p>")

    assert read_document(file).title == "On call rota"


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ('<meta charset="iso-8859-1">', "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">', "cp1251"),
        ('<meta charset="utf-8">', "utf-8"),
        ('<meta charset="no-such-thing">', "utf-8"),
        ("", "utf-16"),
    ],
)
def test_the_declared_encoding_is_believed_where_it_holds(declaration, encoding):
    words = "Смена начинается" if encoding != "cp1252" else "Café “déjà vu”"
    body = f"<html><head>{declaration}</head><body><main><p>{words}. {SENTENCE}</p></main></body></html>"

    assert words in parse_html(body.encode(encoding), url=None).text


def test_a_declared_encoding_that_is_no_character_set_is_not_used():
    data = b'<meta charset="unicode_escape"><main><p>caf\xe9 \\x41 and more words here</p></main>'

    assert "\\x41" in parse_html(data, url=None).text


def test_a_page_without_text_is_refused():
    with pytest.raises(DocumentError, match="holds no readable text"):
        parse_html("<html><body><script>var x = 1</script></body></html>", url="https://a.example/")


def test_a_huge_page_is_refused():
    with pytest.raises(DocumentError, match="larger than 8 MB"):
        parse_html("<p>" + "x" * webpage.HTML_LIMIT, url=None)


@pytest.mark.parametrize(
    "element", ["<p>a", "<span>a</span> ", "<a href=x>a</a> ", "<div>", "<table><tr><td>a"]
)
def test_a_page_of_very_many_elements_ends(element):
    document = webpage.parse("<html><body><p>Known words. </p>" + element * 70_000, name="x")

    assert "Known words." in document.text
