"""The measuring of the operators' page."""

from __future__ import annotations

from benchmarks.page import run


def test_every_view_is_measured():
    section = run(print, quick=True)

    assert [table.title.rpartition(", ")[2] for table in section.tables] == ["SQLite", "PostgreSQL"]
    for table in section.tables:
        assert len(table.rows) == 27
        assert all(0 < row[2] <= row[3] for row in table.rows)
