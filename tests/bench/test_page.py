"""The measuring of the operators' page."""

from __future__ import annotations

from benchmarks.page import run


def test_every_view_is_measured():
    section = run(print, quick=True)
    rows = section.tables[0].rows

    assert len(rows) == 24
    assert all(0 < row[1] <= row[2] for row in rows)
