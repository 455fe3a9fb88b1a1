"""When a document says that it was changed: in its front matter, or in the head of a page."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from fakes.shelf import Path, open_library, write

from core.library.formats.dates import AHEAD, changed_in_fields, changed_in_head, moment_in, plausible
from core.library.formats.read import parse_file, parse_html


def at(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-03-12", at(2026, 3, 12)),
        ("'2026-03-12'", at(2026, 3, 12)),
        ("2026/3/2  # by Ann", at(2026, 3, 2)),
        ("2026-03-12 09:30", at(2026, 3, 12, 9, 30)),
        ("2026-03-12T09:30:15.5Z", at(2026, 3, 12, 9, 30, 15)),
        ("2026-03-12 09:30:00 +0130", at(2026, 3, 12, 8)),
        ("2026-03-12T09:30:00-07:00", at(2026, 3, 12, 16, 30)),
    ],
)
def test_dates_as_people_and_generators_write_them(written, moment):
    assert moment_in(written) == moment


@pytest.mark.parametrize(
    "written", ["", "yesterday", "12.03.2026", "03/12/2026", "2026-13-01", "2026-02-30", "0001-01-01", "2026"]
)
def test_what_is_no_date_or_could_be_two(written):
    assert moment_in(written) is None


@pytest.mark.parametrize("moment", [None, -5.0, 0.0, float("inf"), float("nan"), 1e18])
def test_a_moment_that_no_calendar_has_is_none(moment):
    assert plausible(moment) is None


@pytest.mark.parametrize("now", [at(2020, 6, 1), at(2090, 6, 1)])
def test_a_moment_to_come_is_none_but_a_clock_elsewhere_may_be_a_day_ahead(now):
    assert plausible(now + AHEAD, lambda: now) == now + AHEAD
    assert plausible(now + AHEAD + 1, lambda: now) is None


def test_a_document_that_names_a_day_to_come_is_as_old_as_it_says_elsewhere():
    fields = "updated: 2026-03-12\nlastmod: 2025-01-01"
    head = (
        '<meta name="last-modified" content="2026-03-12"><meta itemprop="dateModified" content="2025-01-01">'
    )
    for read, text in ((changed_in_fields, fields), (changed_in_head, head)):
        assert read(text, lambda: at(2026, 3, 12)) == at(2026, 3, 12)
        assert read(text, lambda: at(2026, 3, 10)) == at(2025, 1, 1)
        assert read(text, lambda: at(2024, 3, 10)) is None


def test_a_file_from_the_future_has_no_date():
    assert (
        parse_file(Path("fees.md"), b"---\nupdated: 9998-12-31\n---\nA night costs 18 euros.").changed_at
        is None
    )


@pytest.mark.parametrize(
    ("fields", "moment"),
    [
        ("date: 2025-01-01\nupdated: 2026-03-12", at(2026, 3, 12)),
        ('title = "x"\nlastmod = 2026-03-12T00:00:00Z', at(2026, 3, 12)),
        ("last_modified: 2026-03-12", at(2026, 3, 12)),
        ("last-updated: soon\nlastmod: 2025-01-01", at(2025, 1, 1)),
        ("date: 2025-01-01\ntitle: Fees", None),  # when it was written
        ("Date = 2025-01-01", None),
        ("last-updated: soon\ndate: 2025-01-01", None),
        ("lastUpdated: 2026-03-12", at(2026, 3, 12)),
        ("last_update:\n  author: Ann\n  date: 2026-03-12", at(2026, 3, 12)),
        ("date:\n  created: 2025-01-01\n  updated: 2026-03-12", at(2026, 3, 12)),
        ("event:\n  date: 2030-01-01\ntitle: Party", None),
        ("updated_by: 2026-03-12", None),
    ],
)
def test_the_fields_of_front_matter(fields, moment):
    assert changed_in_fields(fields) == moment


@pytest.mark.parametrize(
    "tag",
    [
        '<meta property="article:modified_time" content="2026-03-12T00:00:00Z">',
        "<META content='2026-03-12' NAME='dcterms.modified' />",
        '<meta itemprop="dateModified" content="2026-03-12">',
    ],
)
def test_the_head_of_a_page(tag):
    page = f'<head><meta name="date" content="2020-01-01">{tag}</head><h1>Fees</h1><p>A night costs 18 euros.</p>'

    assert changed_in_head(page) == at(2026, 3, 12)
    assert parse_html(page, url="https://wiki.example/fees").changed_at == at(2026, 3, 12)
    assert changed_in_head(page.replace(tag, "")) is None
    assert changed_in_head(tag + page.replace(tag, "")) == at(2026, 3, 12)


@pytest.mark.parametrize(
    "tag",
    [
        '<meta name="date" content="2024-05-06">',
        '<meta http-equiv="date" content="2024-05-06">',  # of the reply
        '<meta name="last-modified" content="May">',
        '<meta name="release-date" content="2024-05-06">',
    ],
)
def test_a_page_that_says_when_it_was_written_and_no_more_says_nothing_of_a_change(tag):
    assert changed_in_head(f"<head>{tag}</head>") is None


@pytest.mark.parametrize("name", ["fees.md", "fees.html"])
def test_a_file_says_it_itself_and_a_large_one_is_read_elsewhere(name):
    text = "---\ntitle: Fees\nupdated: 2026-03-12\n---\n<h1>Fees</h1>\n<p>A night costs 18 euros.</p>\n"

    small, large = (
        parse_file(Path(name), (text + filling).encode()) for filling in ("", "<!-- -->\n" * 10_000)
    )

    assert small.changed_at == large.changed_at == at(2026, 3, 12)


def test_a_folder_keeps_what_its_files_say_and_not_the_dates_of_the_disk(docs, tmp_path):
    dated = write(docs / "dated.md", "---\nupdated: 2026-03-12\n---", "A night costs 18 euros.")
    write(docs / "plain.md", "A night costs 20 euros.")
    library = open_library(tmp_path / "data")

    library.ingest([docs])
    first = {entry.source: entry.changed_at for entry in library.store.entries()}
    write(dated, "---\nupdated: 2026-04-01\n---", "A night costs 18 euros.")
    library.refresh()
    then = {entry.source: entry.changed_at for entry in library.store.entries()}
    library.close()

    assert first == {"docs/dated.md": at(2026, 3, 12), "docs/plain.md": None}
    assert then == {"docs/dated.md": at(2026, 4, 1), "docs/plain.md": None}
