"""Reading ahead while documents are stored, and how far it is."""

from __future__ import annotations

import io
import threading

import pytest
from fakes.patience import PATIENCE
from reportlab.pdfgen.canvas import Canvas

from core.library.formats import parser_process
from core.library.formats.pdf_pages import report_progress, reporting_to
from core.library.indexing import AHEAD, ReadFile, read_ahead
from core.library.sync import FoundFile

FILES = [FoundFile(address=f"/d/{n}.pdf", root="/d", size=1, modified=1) for n in range(9)]


def no_pages(_done, _total):
    raise AssertionError


def test_files_come_in_order_and_few_are_read_before_they_are_asked_for():
    begun, all_may_end = [], threading.Event()

    def read(file):
        begun.append(file)
        if file is not FILES[0]:
            assert all_may_end.wait(10)
        return ReadFile(hash=file.address)

    reading = read_ahead(FILES, read, no_pages)
    first, _ = next(reading)
    assert first is FILES[0]
    assert len(begun) <= AHEAD
    all_may_end.set()

    assert [(file, found.hash) for file, found in reading] == [(file, file.address) for file in FILES[1:]]


def test_pages_of_files_that_take_long_are_told_together():
    told, both_read = [], threading.Barrier(2, timeout=PATIENCE)

    def read(_file):
        report_progress(3, 10)
        both_read.wait()
        assert was_told.wait(10)
        return ReadFile()

    was_told = threading.Event()

    def pages(done, total):
        told.append((done, total))
        if (done, total) == (6, 20):
            was_told.set()

    assert len(list(read_ahead(FILES[:2], read, pages))) == 2
    assert (6, 20) in told


def test_what_a_reader_raises_is_raised_where_its_file_would_come():
    def read(file):
        if file is FILES[1]:
            raise MemoryError
        return ReadFile()

    reading = read_ahead(FILES, read, no_pages)

    assert next(reading)[0] is FILES[0]
    with pytest.raises(MemoryError):
        next(reading)


def test_where_questions_are_answered_one_file_is_read_at_a_time(monkeypatch):
    monkeypatch.setattr("core.library.indexing.is_throttling", lambda: True)
    threads = []

    def read(_file):
        threads.append(threading.current_thread())
        return ReadFile()

    assert len(list(read_ahead(FILES, read, no_pages))) == len(FILES)
    assert set(threads) == {threading.current_thread()}


def test_a_worker_tells_each_page_that_it_has_read():
    file = io.BytesIO()
    canvas = Canvas(file)
    for number in range(3):
        canvas.drawString(72, 700, f"This is page {number} of a report.")
        canvas.showPage()
    canvas.save()
    told = []

    with reporting_to(lambda done, total: told.append((done, total))):
        document = parser_process.read_file(file.getvalue(), "report.pdf")

    assert "page 2" in document.text
    assert told == [(1, 3), (2, 3), (3, 3)]
