"""Scanned pages of a PDF, read by text recognition with the packages of the extra ``ocr``.

pypdfium2 draws a page, rapidocr finds its lines and reads them. Its networks (PP-OCRv6, small) come with the
package and read Latin scripts, Chinese and Japanese. A page takes 2 to 5 seconds of one processor.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from typing import Any

from core.errors import DocumentError
from core.library.formats.pdf_tables import with_tables

Recognize = Callable[[bytes, Collection[int]], Iterator[tuple[int, list[str]]]]

INSTALL = "install the extra “ocr”: .uv/bin/uv sync --no-dev --inexact --extra ocr"
PAGES = 300  # scanned pages of a document; more take longer than one file may
DPI = 200.0  # of the drawn page; rapidocr makes pictures smaller whose longer side is above 2,000 pixels
PIXELS = 8_000_000  # of the drawn page, whatever size it claims to have: A3 at 200 dpi
SURE = 0.6  # of a line's score, 0 to 1; noise and pictures give words below it
WELL = 0.85  # median score of the lines of a page that lies as it should; upside down it is about 0.7

COLUMN = 25  # characters of most lines of a column of text; cells of a table are shorter
CELL_GAP = "   "  # between parts of a printed line: pdf_tables takes as much for the gap between cells


class ScannedPages(DocumentError):
    """Pages that hold pictures and no text, where text recognition is installed and was not asked for."""


def is_installed() -> bool:
    return all(find_spec(name) for name in ("rapidocr", "pypdfium2"))


def read_scanned(data: bytes, pages: Collection[int]) -> Iterator[tuple[int, list[str]]]:
    """(page, its lines) of these pages, which count from 1. DocumentError for too many."""
    if len(pages) > PAGES:
        raise DocumentError(f"holds {len(pages):,} scanned pages; {PAGES} at most are read")
    import pypdfium2

    recognize = _engine()
    document = pypdfium2.PdfDocument(data)
    try:
        for number in sorted(pages):
            lines = printed_lines(_upright_words(recognize, _drawn(document, number)))
            yield number, with_tables(lines, partial(list, lines))
    finally:
        document.close()


def _engine() -> Any:
    """Without the network that says which lines stand on their heads: it turns some that do not."""
    from rapidocr import RapidOCR

    one_thread = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "critical", "Global.use_cls": False, **one_thread})


def _drawn(document: Any, number: int) -> Any:
    """The page as an array of pixels."""
    page = document[number - 1]
    width, height = page.get_size()  # points, of which an inch has 72
    scale = min(DPI / 72, (PIXELS / max(1.0, width * height)) ** 0.5)
    return page.render(scale=scale).to_numpy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A run of words on one line, and the box around it, in pixels from the top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    score: float = 1.0  #: 0 to 1

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def _upright_words(recognize: Callable[[Any], Any], picture: Any) -> list[Word]:
    """The words of a page as it is; of one that reads badly, turned to where it reads best."""
    import numpy as np

    best: list[Word] = []
    for quarters in (0, 2, 1, 3):
        words = _words(recognize(np.rot90(picture, quarters)))
        if not quarters and not words:
            return []
        if _reads_well(words):
            return words
        best = max(best, words, key=_legible)
    return best


def _words(found: Any) -> list[Word]:
    words = []
    for box, text, score in zip(found.boxes, found.txts, found.scores, strict=True) if found.txts else ():
        across, down = [float(corner[0]) for corner in box], [float(corner[1]) for corner in box]
        words.append(
            Word(
                text=text.strip(), score=score,
                left=min(across), right=max(across), top=min(down), bottom=max(down),
            )
        )  # fmt: skip
    return [word for word in words if word.text and word.score >= SURE]


def _reads_well(words: Sequence[Word]) -> bool:
    is_level = sum(word.right - word.left >= word.height for word in words) > len(words) / 2
    return is_level and median(word.score for word in words) >= WELL


def _legible(words: Sequence[Word]) -> float:
    """Letters, as far as they are sure, of what lies level."""
    return sum(len(word.text) * word.score for word in words if word.right - word.left >= word.height)


def printed_lines(words: Sequence[Word]) -> list[str]:
    """The lines in the order in which people read them: column after column, an empty one between paragraphs."""
    lines: list[str] = []
    for region in _regions(words):
        rows = _rows(region)
        usual = median(word.height for word in region)
        for above, row in pairwise([[], *rows]):
            if above and min(w.top for w in row) - max(w.bottom for w in above) > 0.9 * usual:
                lines.append("")
            lines.append(CELL_GAP.join(word.text for word in row))
        lines.append("")
    return lines[:-1]


def _regions(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    """Columns of text, and what stands above, between and below them, by cutting the page where nothing is printed."""
    if not words:
        return
    usual = median(word.height for word in words)
    for cut in (_columns, _bands):
        parts = cut(words, usual)
        if len(parts) > 1:
            for part in parts:
                yield from _regions(part)
            return
    yield words


def _columns(words: Sequence[Word], usual: float) -> list[list[Word]]:
    """Side by side, if each holds lines of text; cells of a table stay together."""
    if not words:
        return []
    parts = _split(words, usual, lambda word: (word.left, word.right))
    is_text = all(median(len(word.text) for word in part) >= COLUMN and len(part) > 1 for part in parts)
    return parts if is_text else [list(words)]


def _bands(words: Sequence[Word], usual: float) -> list[list[Word]]:
    """One above the other: those in which columns of text stand, and those in which none do."""
    joined: list[list[Word]] = []
    for band in _split(words, 0.5 * usual, lambda word: (word.top, word.bottom)):
        before = joined[-1] if joined else []
        is_alike = len({len(_columns(part, usual)) for part in (before, band, [*before, *band])}) == 1
        if before and is_alike:
            before += band
        else:
            joined.append(band)
    return joined


def _split(
    words: Sequence[Word], gap: float, extent: Callable[[Word], tuple[float, float]]
) -> list[list[Word]]:
    """Where nothing is printed across the whole of them, for more than ``gap`` pixels."""
    parts: list[list[Word]] = []
    reached = 0.0
    for word in sorted(words, key=extent):
        begin, end = extent(word)
        if not parts or begin - reached > gap:
            parts.append([])
        parts[-1].append(word)
        reached = max(reached, end)
    return parts


def _rows(words: Sequence[Word]) -> list[list[Word]]:
    """Printed lines from top to bottom, each from left to right."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.middle):
        if rows and word.middle - rows[-1][-1].middle < 0.5 * min(word.height, rows[-1][-1].height):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.left) for row in rows]
