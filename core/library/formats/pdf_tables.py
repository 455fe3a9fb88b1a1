"""Tables among the words of a printed page: by numbers that stand below each other, or cells that do.

A row comes with its whole label, also where it runs over lines, and with the name of the section in which it is
indented; a column with all names above it. Rows are recognised by their position on the page, in whatever order it was drawn.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from core.library.formats.printed import PrintedTable, Word, is_amount

ROWS = 3  # of a table of words, its header included; also of one with a single column of numbers
COLUMNS, BODY = 40, 2_000  # more columns or rows are no table but a drawing
SHORT_CELL = 60  # characters of a cell of a table of words
LABEL = 160  # characters of a label; a longer line is text
IN_COLUMNS = 0.6  # of the cells of a table of numbers stand below each other; others may be words among them
HEADS = 8  # rows of names above a table


# In heights of a line, which are about 1.15 of the size of its letters:
ROW_GAP = 2.4  # from the middle of a row to that of the next
WRAPPED = 1.5  # the same between lines of one cell
LEEWAY = 0.6  # between edges that are taken for the same
ROUGH = 1.4  # between the middles of a name and of several columns, whose numbers may be narrower than they

_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d[AEPF]?|FY\d\d", re.IGNORECASE)
_PERIOD = re.compile(r"(?i)\b(?:19|20)\d\d\b|\b(?:months|years?|quarters?|weeks) ended\b|\bas (?:of|at)\b")
_UNIT = re.compile(r"(?i)[(\[].*[)\]]|.*\b(?:in|of) (?:\w+ )?(?:millions?|thousands?|billions?)\b.*")
_LEADERS = re.compile(r"(?:\s*\.){3,}\s*$|(?:\s\.){2,}\s*$")
_LEADING = re.compile(r"(?:\s?\.){4,}")
_PAGE = re.compile(r"\d{1,4}")
_NUMBERED = re.compile(r"[•‣◦▪●–*-]|\(?(?:\d{1,2}|[a-z]|[ivx]+)[.)]")

Row = list[Word]  # its cells, from left to right


def tables_in(
    rows: Sequence[Row], is_in_order: Callable[[Sequence[Row]], bool] = lambda _: True
) -> Iterator[PrintedTable]:
    """The tables among a column's rows. ``is_in_order``: drawn in order, which cells of words need."""
    for block in _blocks(rows):
        if sum(len(row) > 1 for row in block) < 2 or len(block) > BODY or _is_contents(block):
            continue
        if table := _numbers(block) or (_words(block) if is_in_order(block) else None):
            yield table


def _is_contents(block: Sequence[Row]) -> bool:
    """True for a table of contents. Most rows lead with dots to the number of a page, which never falls."""
    leading = [row for row in block if len(row) > 1 and any(_LEADING.search(cell.text) for cell in row)]
    pages = [int(row[-1].text) for row in leading if _PAGE.fullmatch(row[-1].text)]
    rows = [row for row in block if len(row) > 1]
    return len(pages) >= max(2, 0.5 * len(rows)) and all(one <= other for one, other in pairwise(pages))


def _blocks(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows near each other that have several cells, with the single ones between and above them."""
    usual = median(cell.height for row in rows for cell in row) if rows else 0.0
    block: list[Row] = []
    for row in rows:
        is_text = len(row) == 1 and len(row[0].text) > LABEL
        if block and (is_text or _middle(row) - _middle(block[-1]) > ROW_GAP * usual):
            yield block
            block = []
        if not is_text:
            block.append(row)
    yield block


def _middle(row: Row) -> float:
    return median(cell.middle for cell in row)


def _numbers(block: Sequence[Row]) -> PrintedTable | None:
    """A table of numbers; None if they do not stand below each other."""
    data = [number for number, row in enumerate(block) if _is_data(row)]
    if len(data) < 2:
        return None
    height = median(cell.height for number in data for cell in block[number])
    columns = _columns([block[number] for number in data], height)
    amounts = [column for column in columns if column.amounts > 1]
    if not amounts or len(columns) > COLUMNS or len(data) < (ROWS if len(amounts) == 1 else 2):
        return None
    values = sum(len(block[number]) - 1 for number in data)
    if sum(len(column.cells) for column in columns) < IN_COLUMNS * values:
        return None
    start = (min(row[0].left for row in block) + columns[0].left) / 2
    first, last = _head(block, data[0], columns, start), _foot(block, data[-1], columns)
    return _table(block[first : last + 1], columns, start, height)


def _is_data(row: Row) -> bool:
    """True if a number follows a label, or another number, that is not a year."""
    numbers = [cell for cell in row if is_amount(cell.text)]
    return len(row) > 1 and any(not _YEAR.fullmatch(cell.text) for cell in numbers if cell is not row[0])


class _Column:
    """A column of values; ``amounts`` of them are numbers."""

    def __init__(self, cells: list[Word]) -> None:
        self.cells = cells
        self.amounts = sum(is_amount(cell.text) for cell in cells)
        self.left, self.right = min(cell.left for cell in cells), max(cell.right for cell in cells)

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    def is_aligned(self, height: float) -> bool:
        """True if most cells share their left end, their right end or their middle."""
        for part in (0.0, 0.5, 1.0):
            edges = [cell.left + part * (cell.right - cell.left) for cell in self.cells]
            usual = median(edges)
            if sum(abs(edge - usual) <= LEEWAY * height for edge in edges) >= 0.7 * len(edges):
                return True
        return False

    def overlap(self, cell: Word) -> float:
        return min(self.right, cell.right) - max(self.left, cell.left)


def _columns(rows: Sequence[Row], height: float) -> list[_Column]:
    """The columns right of the labels, from left to right. Those of numbers come first, then of what stands beside them."""
    later = [cell for row in rows for cell in row[1:]]
    columns: list[_Column] = []
    for is_number in (True, False):
        group: list[Word] = []
        for cell in sorted((c for c in later if is_amount(c.text) == is_number), key=lambda cell: cell.left):
            if not is_number and any(column.overlap(cell) > 0 for column in columns):
                continue
            if group and cell.left > max(each.right for each in group[-200:]) - 0.1 * height:
                columns.append(_Column(group))
                group = []
            group.append(cell)
        columns += [_Column(group)] if group else []
    aligned = [column for column in columns if len(column.cells) == 1 or column.is_aligned(height)]
    return sorted(aligned, key=lambda column: column.left)


def _head(block: Sequence[Row], first: int, columns: Sequence[_Column], start: float) -> int:
    """The number of the first row of names and units above the first row of numbers."""
    top = first
    for number in range(first - 1, max(-1, first - 1 - HEADS), -1):
        row = block[number]
        is_head = _is_value(row[-1], columns, start) or (len(row) == 1 and bool(_UNIT.fullmatch(row[0].text)))
        is_section = top == first and row[0].text.endswith(":")
        if not (is_head or (len(row) == 1 and row[0].right <= columns[0].left)):
            break
        top = number if is_head or is_section else top
    return top


def _foot(block: Sequence[Row], last: int, columns: Sequence[_Column]) -> int:
    """The number of the last row, with the rest of its label."""
    for above, row in pairwise(block[last:]):
        is_near = _middle(row) - _middle(above) <= WRAPPED * row[0].height
        is_label = len(row) == 1 and row[0].right <= columns[0].left and row[0].text[:1].islower()
        if not (is_near and is_label):
            break
        last += 1
    return last


def _words(block: Sequence[Row]) -> PrintedTable | None:
    """A table of short cells, as many in each row; None if they do not stand below each other."""
    width = max(map(len, block))
    indices = [index for index, row in enumerate(block) if len(row) == width]
    rows = [block[index] for index in indices]
    if width < 2 or len(rows) < ROWS or indices[-1] - indices[0] + 1 != len(rows) or width > COLUMNS:
        return None
    is_list = all(_NUMBERED.fullmatch(row[0].text) for row in rows)
    if is_list or any(len(cell.text) > SHORT_CELL for row in rows for cell in row):
        return None
    height = median(cell.height for row in rows for cell in row)
    columns = [_Column([row[index] for row in rows]) for index in range(width)]
    overlap = any(one.right > other.left for one, other in pairwise(columns))
    if overlap or not all(column.is_aligned(height) for column in columns):
        return None
    head, *body = ([cell.text for cell in row] for row in rows)
    return PrintedTable(
        corner=head[0], heads=tuple(head[1:]), rows=tuple(map(tuple, body)), leeway=height,
        edges=tuple(column.right for column in columns[1:]), words=_ids(rows),
    )  # fmt: skip


def _ids(rows: Sequence[Row]) -> frozenset[int]:
    return frozenset(id(word) for row in rows for cell in row for word in (cell.parts or (cell,)))


@dataclass(slots=True)
class _Line:
    """A row of the body while it is put together."""

    label: str
    left: float  #: of the label
    right: float
    values: dict[int, str]
    middle: float
    has_number: bool


def _table(block: Sequence[Row], columns: Sequence[_Column], start: float, height: float) -> PrintedTable:
    names: dict[int, list[str]] = {index: [] for index in range(len(columns))}
    corner: list[str] = []
    lines: list[_Line] = []
    first = next((index for index, row in enumerate(block) if _is_data(row)), len(block))
    over = [n for n in range(first) if any(_is_value(cell, columns, start) for cell in block[n])]
    last_head = max(over, default=-1)
    for number, row in enumerate(block):
        if number <= last_head or (not lines and len(row) == 1 and _UNIT.fullmatch(row[0].text)):
            heads = [cell for cell in row if _is_value(cell, columns, start)]
            for index, text in _assign_heads(heads, columns, height).items():
                names[index] += [text] if text not in names[index] else []
            corner += [cell.text for cell in row if not _is_value(cell, columns, start)]
        else:
            lines.append(_line(row, columns))
    rows = list(_with_sections(_whole(lines, height), height))
    return PrintedTable(
        corner=" ".join(corner), heads=tuple(" ".join(names[index]) for index in range(len(columns))),
        rows=tuple((label, *(values.get(index, "") for index in range(len(columns)))) for label, values in rows),
        edges=tuple(column.right for column in columns), leeway=1.5 * height, words=_ids(block),
    )  # fmt: skip


def _is_value(cell: Word, columns: Sequence[_Column], start: float) -> bool:
    """True if a cell stands over the columns of values, and begins beyond ``start``, the middle of labels."""
    return cell.left > start and cell.right > columns[0].left


def _assign_heads(heads: Sequence[Word], columns: Sequence[_Column], height: float) -> dict[int, str]:
    """The names of one line by column: each above those that it covers, or in whose middle it stands."""
    own: dict[int, list[int]] = {number: [] for number in range(len(heads))}
    for index, column in enumerate(columns):
        best = max(own, key=lambda number: column.overlap(heads[number]), default=None)
        if best is not None:
            narrower = min(column.right - column.left, heads[best].right - heads[best].left)
            if column.overlap(heads[best]) > 0.2 * narrower:
                own[best].append(index)
    found: dict[int, str] = {}
    taken = {index for indices in own.values() for index in indices}
    for number, head in enumerate(heads):
        middle = (head.left + head.right) / 2
        indices = own[number] or [min(range(len(columns)), key=lambda p: abs(columns[p].middle - middle))]
        free = [p for p in range(len(columns)) if p in indices or p not in taken]
        covers = head.right - head.left > 2 * (columns[indices[0]].right - columns[indices[0]].left)
        is_wide = bool(covers or _PERIOD.search(head.text))
        leeway = (ROUGH if is_wide and len(heads) == 1 else LEEWAY) * height
        for index in _columns_below(middle, indices, free, columns, leeway, is_wide=is_wide):
            found[index] = f"{found.get(index, '')} {head.text}".strip()
    return found


def _columns_below(
    middle: float,
    indices: Sequence[int],
    free: Sequence[int],
    columns: Sequence[_Column],
    leeway: float,
    *,
    is_wide: bool,
) -> range:
    """The range of columns, with those at ``indices``, that a name is centred above. Where it is centred
    above one and several, ``is_wide`` says whether it is the name of all."""
    spans = [
        range(one, other + 1)
        for one in free
        for other in free
        if one <= indices[0]
        and other >= indices[-1]
        and all(index in free for index in range(one, other + 1))
    ]

    def distance(span: range) -> float:
        return abs((columns[span[0]].left + columns[span[-1]].right) / 2 - middle)

    near = min(map(distance, spans)) + leeway
    return (max if is_wide else min)((span for span in spans if distance(span) <= near), key=len)


def _line(row: Row, columns: Sequence[_Column]) -> _Line:
    values: dict[int, list[str]] = {}
    label: list[Word] = []
    for cell in row:
        index = max(range(len(columns)), key=lambda index: columns[index].overlap(cell))
        is_value = columns[index].overlap(cell) > 0 and (
            cell is not row[0] or is_amount(cell.text) or (len(row) > 1 and cell.left >= columns[0].left)
        )
        if is_value:
            values.setdefault(index, []).append(cell.text)
        elif label and any(values):
            middle = (cell.left + cell.right) / 2
            nearest = min(range(len(columns)), key=lambda p: abs(columns[p].middle - middle))
            values.setdefault(nearest, []).append(cell.text)
        else:
            label.append(cell)
    return _Line(
        label=_LEADERS.sub("", " ".join(cell.text for cell in label)).strip(),
        left=label[0].left if label else 0.0, right=label[-1].right if label else 0.0,
        values={index: " ".join(texts) for index, texts in values.items()}, middle=_middle(row),
        has_number=any(is_amount(text) for texts in values.values() for text in texts),
    )  # fmt: skip


def _whole(lines: Sequence[_Line], height: float) -> list[_Line]:
    """Lines of one label, or of other cells, put together."""
    widest = max((line.right for line in lines), default=0.0)
    whole: list[_Line] = []
    for number, line in enumerate(lines):
        before = whole[-1] if whole else None
        below = lines[number + 1] if number + 1 < len(lines) else None
        is_near = number > 0 and line.middle - lines[number - 1].middle <= WRAPPED * height
        if before and is_near and _belongs(before, line, below, widest, height):
            before.label = f"{before.label} {line.label}".strip()
            for index, text in line.values.items():
                before.values[index] = f"{before.values.get(index, '')} {text}".strip()
            before.has_number |= line.has_number
        else:
            whole.append(replace(line, values=dict(line.values)))
    return whole


def _belongs(before: _Line, line: _Line, below: _Line | None, widest: float, height: float) -> bool:
    """True if a line goes on with the label, or the words, of the one before."""
    if not line.label:
        return not line.has_number or (not before.values and not before.label.endswith(":"))
    if before.has_number and line.values:
        return False
    if before.label.endswith(":") or not before.label:
        return False
    first, *_ = line.label.split()
    is_hanging = line.left > before.left + 0.2 * height and not (
        below and not line.values and below.left > line.left
    )
    is_full = before.right + 0.45 * height * len(first) > widest
    return first[0].islower() or (not before.values and is_hanging and is_full)


def _with_sections(lines: Sequence[_Line], height: float) -> Iterator[tuple[str, Mapping[int, str]]]:
    """(label, values) of each row; one that is indented below a line without values begins with that line."""
    section: _Line | None = None
    for line, below in zip(lines, [*lines[1:], None], strict=True):
        if line.label and not line.values and below and below.label and below.left > line.left + 0.3 * height:
            section = line
            continue
        is_within = section and line.label and line.left > section.left + 0.3 * height
        if section and line.label and not is_within:
            section = None
        yield (f"{section.label} {line.label}" if section and is_within else line.label), line.values
