"""Scanned pages of a PDF, read by text recognition with the packages of the extra ``ocr``.

pypdfium2 draws a page, rapidocr finds its lines and reads them. Its networks (PP-OCRv6, small) come with the
package and read Latin scripts, Chinese and Japanese. A page takes 2 to 5 seconds of one processor.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from typing import Any

from core.errors import DocumentError
from core.library.formats.pdf_pages import report_progress
from core.library.formats.pdf_tables import tables_in
from core.library.formats.printed import Word, cells_of, regions, rows_of, texts_of

Recognize = Callable[[bytes, Collection[int]], Iterator[tuple[int, list[str]]]]

INSTALL = "install the extra “ocr”: .uv/bin/uv sync --no-dev --inexact --extra ocr"
PAGES = 300  # scanned pages of a document; more take longer than one file may
DPI = 200.0  # of the drawn page; rapidocr makes pictures smaller whose longer side is above 2,000 pixels
PIXELS = 8_000_000  # of the drawn page, whatever size it claims to have: A3 at 200 dpi
SURE = 0.6  # of a line's score, 0 to 1; noise and pictures give words below it
WELL = 0.85  # median score of the lines of a page that lies as it should; upside down it is about 0.7

CELL_GAP = "   "  # between parts of a printed line


class ScannedPages(DocumentError):
    """Pages that hold pictures and no text, where text recognition is installed and was not asked for."""


def is_installed() -> bool:
    return all(find_spec(name) for name in ("rapidocr", "pypdfium2"))


def read_scanned(data: bytes, pages: Collection[int]) -> Iterator[tuple[int, list[str]]]:
    """(page, its lines) of these pages, which count from 1. DocumentError for too many."""
    if len(pages) > PAGES:
        raise DocumentError(f"holds {len(pages):,} scanned pages; {PAGES} at most are read")
    import pypdfium2
    from rapidocr import RapidOCR

    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    # Without the network that says which lines stand on their heads: it turns some that do not.
    recognize = RapidOCR(params={"Global.log_level": "critical", "Global.use_cls": False, **threads})
    with closing(pypdfium2.PdfDocument(data)) as document:
        for done, number in enumerate(sorted(pages)):
            report_progress(done, len(pages))
            yield number, printed_lines(_upright_words(recognize, _render(document, number)))


def _render(document: Any, number: int) -> Any:
    """The page as an array of pixels."""
    page = document[number - 1]
    width, height = page.get_size()  # points: 72 to an inch
    scale = min(DPI / 72, (PIXELS / max(1.0, width * height)) ** 0.5)
    return page.render(scale=scale).to_numpy()


def _upright_words(recognize: Callable[[Any], Any], picture: Any) -> list[Word]:
    """The words of a page as it is; of one that reads badly, turned to where it reads best."""
    import numpy as np

    best: list[Word] = []
    most = 0.0
    for quarters in (0, 2, 1, 3):
        words = _words(recognize(np.rot90(picture, quarters)))
        if not quarters and not words:
            return []
        level = [word for word in words if word.right - word.left >= word.height]
        if len(level) > len(words) / 2 and median(word.score for word in words) >= WELL:
            return words
        legible = sum(len(word.text) * word.score for word in level)  # letters, as far as they are sure
        if legible > most:
            best, most = words, legible
    return best


def _words(found: Any) -> list[Word]:
    words = []
    for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True) if found.txts else ():
        across, down = [float(corner[0]) for corner in box], [float(corner[1]) for corner in box]
        left, right, top, bottom = min(across), max(across), min(down), max(down)
        word = Word(text=text.strip(), score=score, left=left, right=right, top=top, bottom=bottom)
        if word.text and score >= SURE:
            words.append(word)
    return words


def printed_lines(words: Sequence[Word]) -> list[str]:
    """The lines as people read them: column by column, an empty one between paragraphs, a table as one."""
    lines: list[str] = []
    for region in regions(words):
        rows = rows_of(region)
        usual = median(word.height for word in region)
        tables = {word: table for table in tables_in([cells_of(row) for row in rows]) for word in table.words}
        for above, row in pairwise([[], *rows]):
            if above and min(w.top for w in row) - max(w.bottom for w in above) > 0.9 * usual:
                lines.append("")
            table = tables.get(id(row[0]))
            if table is None:
                lines.append(CELL_GAP.join(word.text for word in row))
            elif not above or tables.get(id(above[0])) is not table:
                lines += texts_of(table)
        lines.append("")
    return lines[:-1]
