"""Numbers of a text with their unit and scale, as far as the text says them.

They may stand beside the number, in the head of its column, in the label before it, above its table ("in
millions"), or behind the next number ("from 11.1 to 12.4 million"). ``units.toml`` has the words.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Self, TypeVar

from core.conversation import value
from core.grounding.doubts import numbers_of, possible_values
from core.reasoning.reasoner import Strip
from core.text.language import language_of, sure_language

PERCENT, POINTS = "%", "points"
DIGITS = 24  # characters of one number
ABOVE = 300  # characters before a table that may say its scale
NUMBERS = 400  # of one strip
SHARED_SCALE = 1_000  # below it a number takes the scale of the next one: "from 11.1 to 12.4 million"

#: Languages that write 12,4, where nothing else in the text tells.
_COMMA = frozenset({
    "bg", "ca", "cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "nl", "no", "pl", "pt", "ro", "ru", "sk",
    "sv", "tr", "uk",
})  # fmt: skip
_WITH_COMMA = re.compile(r"\d,\d{1,2}(?!\d|,\d)|\d\.\d{3},\d")
_WITH_POINT = re.compile(r"\d\.\d{1,2}(?!\d|\.\d)|\d,\d{3}\.\d")
_DIGITS = r"(?:\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,]\d+)*)(?!\d)"
_DELIMITERS = re.compile(r"(?=.*-)[|:\s-]+")  # between the head of a table and its rows
_CELL = re.compile(r"(?<!\\)\|")
#: In a row of a spreadsheet: "Name: Ada; City: London".
_LABEL = re.compile(r"(?:\A|; )([^:;]{1,100}): [^;]*\Z")
_MINUS = re.compile(r"(?<![\w)%])[-−–]\s?\Z")
_TO = re.compile(
    r"(?:\s*\(?(?:in |en |em |im Jahr )?(?:19|20)\d\d\)?)?\s*"
    r"(?:to|and|or|bis|und|auf|oder|à|et|ou|a|y|o|e|から|[,–-])\s*(?:(?:19|20)\d\d\W+)?[^\w\s]?\s*"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_NUMBER_ALONE = re.compile(r"(?!\W*(?:19|20)\d\d\W*\Z)\W*\d[\d.,' ]*\W*")
_GROUPED = re.compile(r"\d\D\d{3}(?!\d)")
#: The sign of a unit in a label, or its name at the end, as in "Q1 kWh" or "Price EUR", but not in "Cost per km".
_SIGN = re.compile(r"[%$€£¥]|(?<=\w )(?<!\bper )(?<!\bje )(?<!\bp[aor][ro] )[A-Za-z]{2,}(?=\s*\Z)")


Entry = TypeVar("Entry", int, str)


@value
class Quantity:
    """A number of a text."""

    readings: frozenset[Decimal]  #: of its digits; "1,234" may be two
    scale: int = 0  #: power of ten; 0 also where the text says none
    unit: str = ""  #: PERCENT, POINTS, ISO 4217, or a measure of units.toml; empty: unknown
    is_negative: bool = False
    digits: str  #: as written
    start: int  #: characters into the text
    end: int

    @property
    def is_grouped(self) -> bool:
        """True if a sign stands between its thousands."""
        return max(self.readings) >= SHARED_SCALE and _GROUPED.search(self.digits) is not None

    @property
    def worth(self) -> Decimal:
        """The amount in ones, without its sign: 12.4 million is 12400000, and 12% are 0.12."""
        return min(self.readings).scaleb(-2 if self.unit in (PERCENT, POINTS) else self.scale)

    def may_be(self, other: Self) -> bool:
        """True if it may repeat this number of a source, with or without what stands beside it."""
        is_unit, is_scale = (
            not (a and b) or a == b for a, b in ((self.unit, other.unit), (self.scale, other.scale))
        )
        is_same = bool(self.readings & other.readings) and is_scale
        return is_unit and (is_same or (self.worth == other.worth and self.unit in ("", other.unit)))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of units.toml, and the patterns made of them."""

    scales: Mapping[str, int]
    scales_of_money: Mapping[str, int]
    units: Mapping[str, str]
    signs: Mapping[str, str]  #: of currencies, by their codes
    word: re.Pattern[str]
    number: re.Pattern[str]
    behind: re.Pattern[str]  #: a scale and a unit right behind a number
    money: re.Pattern[str]  #: a currency right before a number
    counts: re.Pattern[str]  #: words for what is counted, and is no money
    note: re.Pattern[str]  #: "(in millions of euros)", "in thousands", ", kg"

    def meaning(self, *words: str | None) -> tuple[int, str]:
        """The scale and the unit that these words name."""
        named = [(word, _entry(self.units, word)) for word in words if word]
        money = next((unit for _, unit in named if unit and unit in self.signs), "")
        scale, unit = 0, money
        for word, own in named:
            power = _entry(self.scales, word) or (money and _entry(self.scales_of_money, word))
            if power:
                scale = scale or int(power)
            else:
                unit = unit or own or ""
        return scale, unit

    def unit_behind(self, written: str) -> str:
        """The unit behind a number, as written."""
        found = self.number.match(written)
        return (found and found["unit"]) or ""


def _entry(table: Mapping[str, Entry], word: str) -> Entry | None:
    """Capitals count for signs of one letter alone."""
    return table.get(word) or table.get(word.lower())


@cache
def vocabulary() -> Vocabulary:
    table = tomllib.loads(Path(__file__).with_name("units.toml").read_text(encoding="utf-8"))
    scales, of_money = (
        {word: int(power) for power, words in table[kind].items() for word in words}
        for kind in ("scales", "scales_of_money")
    )
    spelled = {
        word: unit for kind in ("shares", "currencies", "measures") for unit, words in table[kind].items() for word in words
    }  # fmt: skip
    money = _either(word for words in table["currencies"].values() for word in words)
    scale = _either([*scales, *of_money])
    unit, one = _either(spelled), _either([*scales, *of_money, *spelled])
    behind = rf"(?:\s?(?P<scale>{scale}))?(?:[ \u00a0\u202f-]?(?P<unit>{unit}))?"
    # Behind a unit that nothing is known of, as in 60mph, it is a number all the same; but not in "the 12th".
    glued = r"(?:(?!(?:st|nd|rd|th|er|re)(?![A-Za-z]))[A-Za-zµ]{2,4})?(?![A-Za-zÀ-ÿ])"
    before = rf"(?:(?<![A-Za-zÀ-ÿ])(?P<money>{money})\s?|(?<![A-Za-zÀ-ÿ\d_.,]))"
    return Vocabulary(
        scales=scales,
        scales_of_money=of_money,
        units=spelled | {word.lower(): unit for word, unit in spelled.items() if len(word) > 1},
        signs={code: words[0] for code, words in table["currencies"].items()},
        word=re.compile(one, re.IGNORECASE),
        number=re.compile(rf"{before}(?P<digits>{_DIGITS}){behind}{glued}", re.IGNORECASE),
        behind=re.compile(behind, re.IGNORECASE),
        money=re.compile(rf"(?<![A-Za-zÀ-ÿ]){money}\s?\Z", re.IGNORECASE),
        counts=re.compile(rf"(?<![A-Za-zÀ-ÿ]){_either(table['counted']['words'])}|#", re.IGNORECASE),
        note=re.compile(
            rf"(?:[(\[]|,\s|\b(?:in|en|em)\s)\s*(?:in\s|en\s|em\s)?(?P<words>{one}(?:\s?(?:\b(?:in|of|de|d['’])|,)?\s?{one}){{0,2}})"
            r"(?=\s*(?:[^\w\s]|\n|\Z))",
            re.IGNORECASE,
        ),
    )


def _either(words: Iterable[str]) -> str:
    """A pattern of these words, the longest first; a letter at the end ends the word."""
    ordered = (re.escape(word) for word in sorted({*words}, key=len, reverse=True))
    ended = (f"{word}(?![A-Za-zÀ-ÿ])" if word[-1].isalpha() else word for word in ordered)
    return f"(?:{'|'.join(ended)})"


def quantity_at(text: str, start: int) -> Quantity | None:
    """The number that begins there, read in every way that its digits allow; None: there is none."""
    found = vocabulary().number.match(text, start)
    return _quantity(found) if found else None


def _quantity(found: re.Match[str]) -> Quantity | None:
    digits = found["digits"]
    readings = frozenset(
        each for each in possible_values(digits.replace(" ", "")) if isinstance(each, Decimal)
    )
    if not readings or len(digits) > DIGITS:
        return None
    scale, unit = vocabulary().meaning(found["money"], found["scale"], found["unit"])
    return Quantity(
        readings=readings, scale=scale, unit=unit, start=found.start(), end=found.end(), digits=digits
    )


def quantities_asked(question: str) -> tuple[Quantity, ...]:
    """The numbers that a question gives, also as words. What is counted or measured has no unit, so that it can be
    multiplied by a rate: "for 12 people", "five days"."""
    written = _numbers(question, is_comma=language_of(question) in _COMMA, is_cell=False)
    spelled = (each for each in numbers_of(re.sub(r"\d", "_", question)) if isinstance(each, Decimal))
    signs = (PERCENT, POINTS, *vocabulary().signs)
    return (
        *(replace(each, unit=each.unit if each.unit in signs else "") for each in written),
        *(Quantity(readings=frozenset({each}), digits=f"{each:f}", start=0, end=0) for each in spelled),
    )


def quantities_in(strip: Strip) -> tuple[Quantity, ...]:
    """The numbers of a strip."""
    passage = strip.passage
    comma, point = len(_WITH_COMMA.findall(passage.text)), len(_WITH_POINT.findall(passage.text))
    is_comma = comma > point or (comma == point and sure_language(passage.text) in _COMMA)
    headings = "\n".join((passage.title, *passage.path))
    found: list[Quantity] = []
    head: list[str] = []
    above, start = "", 0
    lines = strip.text.splitlines(keepends=True)
    for number, (line, below) in enumerate(zip(lines, (*lines[1:], ""), strict=False)):
        cells = _cells(line)
        if len(cells) > 1 and _DELIMITERS.fullmatch(below.strip()):
            at = strip.start - passage.start + start
            head = [cell for _, cell in cells]
            corner = _corner(head, lines[number + 2 :])
            above = "\n".join((headings, passage.text[max(0, at - ABOVE) : at], corner))
        elif len(cells) == 1:
            head, above = [], headings if _LABEL.search(line[:ABOVE]) else ""
        label = next((cell for _, cell in cells if cell.strip()), "") if len(cells) > 1 else ""
        for index, (offset, cell) in enumerate(cells):
            column = head[index] if index < len(head) else ""
            labels, higher = ((column,), "") if cell == label else ((column, label), above)
            for each in _numbers(cell, is_comma=is_comma, is_cell=len(cells) > 1):
                beside = _LABEL.search(cell[max(0, each.start - ABOVE) : each.start])
                quantity = _apply_labels(each, (beside[1] if beside else "", *labels), higher)
                found.append(
                    replace(quantity, start=start + offset + each.start, end=start + offset + each.end)
                )
        start += len(line)
        if len(found) > NUMBERS:
            break
    return tuple(found)


def _corner(head: Sequence[str], below: Iterable[str]) -> str:
    """The first cell of a head above labels. What it says, it says of the whole table."""
    first = 0 if head[0].strip() or len(head) == 1 else 1
    rows = takewhile(lambda cells: len(cells) > first, map(_cells, below))
    is_labels = not any(_NUMBER_ALONE.fullmatch(cells[first][1]) for cells in rows)
    return head[first] if is_labels else ""


def _cells(line: str) -> list[tuple[int, str]]:
    """The cells of a row, each with where it begins; a line of prose is one."""
    ends = [each.start() for each in _CELL.finditer(line)]
    starts = [0, *(end + 1 for end in ends)]
    return [(start, line[start:end]) for start, end in zip(starts, (*ends, len(line)), strict=True)]


def _numbers(text: str, *, is_comma: bool, is_cell: bool) -> list[Quantity]:
    """The numbers of a cell or line, the last first. One before "to 12.4 million" has that scale and unit too."""
    numbers: list[Quantity] = []
    last: Quantity | None = None
    for number in reversed([*filter(None, map(_quantity, vocabulary().number.finditer(text)))]):
        reading = (min if ("," in number.digits) == is_comma else max)(number.readings)
        is_bare = not (number.scale or number.unit)
        shares = last and is_bare and reading < SHARED_SCALE and _TO.fullmatch(text, number.end, last.start)
        of = last if last and shares else number
        # With a minus, or alone in the parentheses of accounts: (1,234).
        before, after = (
            text[max(0, number.start - ABOVE) : number.start].rstrip(),
            text[number.end :].lstrip(),
        )
        is_alone = (is_cell and before.strip(" $€£¥*(") == "") or _LABEL.search(before.rstrip("( ") + " ")
        is_enclosed = before.endswith("(") and after.startswith(")") and is_alone
        is_negative = bool(_MINUS.search(before) or is_enclosed)
        readings = frozenset({reading})
        numbers.append(
            replace(number, readings=readings, is_negative=is_negative, scale=of.scale, unit=of.unit)
        )
        last = last if last and is_bare and _YEAR.fullmatch(number.digits) else numbers[-1]
    return numbers


def _apply_labels(number: Quantity, labels: Iterable[str], above: str) -> Quantity:
    """The number with the unit and scale that its labels name, else with those above its table. What stands
    above a table is said of money and not of people."""
    scale, unit = number.scale, number.unit
    signs = ((label, _SIGN.search(label)) for label in labels)
    notes = [_note(each) or (0, vocabulary().units.get(sign[0], "") if sign else "") for each, sign in signs]
    if above and not any(vocabulary().counts.search(label) for label in labels):
        notes.append(_note(above) or (0, ""))
    for power, own in notes:
        if unit in ("", *vocabulary().signs) and own in ("", unit or own):
            scale, unit = scale or power, unit or own
    return replace(number, scale=scale, unit=unit)


def _note(text: str) -> tuple[int, str] | None:
    """The scale and the unit that the last note of a text names."""
    notes = [found["words"] for found in vocabulary().note.finditer(text)]
    return vocabulary().meaning(*vocabulary().word.findall(notes[-1])) if notes else None
