"""Numbers with their units, names and code: what a claim must share with its source to the letter."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from core.text.inline import code_in, without_code
from core.text.terms import terms
from core.text.vocabulary import DATE_WORDS, INSTRUCTIONS, NUMBER_WORDS, OPENERS, SCALES, STOP_WORDS, UNITS

_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:\ \d{3})+(?!\d)|\d+(?:[.,'’\u00a0\u202f]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:[,'’\u00a0\u202f ]\d{2,3})*[,'’\u00a0\u202f ]\d{3}(?:\.\d+)?")
_SEPARATOR = re.compile(r"[,'’\u00a0\u202f ]")
_SCALE = re.compile(r"[\s-]?([^\W\d_]+)")
_UNIT = re.compile(r"(?P<gap>[\s-]?)(?P<unit>%|per\scent\b|°\s?[CFcf]\b|[^\W\d_]+)")
_CURRENCY = "$€£¥"
_WORD = re.compile(r"[^\W\d_]+|[%$€£¥]")
_ANY_UNIT = "?"  # "5m" may be metres, minutes or millions

_NAME = re.compile(r"[^\W_]+(?:[.+#&/_-][^\W_]+)*")
_DECORATION = re.compile(r"[*>#\"“”()\[\]]|(?<![^\W_])_|_(?![^\W_])")
_OPENING = re.compile(r"[:|]\s*\Z")
_SUBJECT = re.compile(  # what follows a name that something is said of
    r"['’]s\b|,?\s+(?:is|was|are|were|has|have|had|does|did|will|would|can|could|may|might|must|became|began|built|came|gave|"
    r"got|held|kept|knew|led|left|made|met|said|saw|sent|took|went|won|wrote|also|and|who|which|\w{2,}ed)\b"
)
_BEFORE_NAME = re.compile(r"\s+[^\W\d_a-z]")  # the first of several capital words
_DERIVED = re.compile(r"(?:tion|sion|ing|ment|ness|ity|ance|ence|ship|ism|ed|ly)s?\Z")  # words, not names
_ALONE = re.compile(r"\s*(?:[.;!?|]|\Z)")
_NO_NAMES = STOP_WORDS | OPENERS | {"yes", "none", "true", "false"}
_IDENTIFIER = re.compile(r"(?<!\S)--\w[\w-]*|[\w.]+(?:\(\))?")
_EMPHASIS = re.compile(r"[*]|(?<!\w)_+|_+(?![\w.(])")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figure:
    """A number as a text gives it."""

    number: str  #: without separators; multiplied by its scale
    plain: str  #: not multiplied
    scale: str | None = None  #: "million"
    unit: str | None = None  #: as core.text.vocabulary names it
    written: str


def missing_figures(claim: str, source: str) -> list[str]:
    """Numbers of the claim that the source does not give, or gives in other units only; as written."""
    given: dict[str, set[str | None]] = defaultdict(set)
    for figure in (*_figures(source), *_spelled_out(source)):
        given[figure.number].add(figure.unit)
        given[figure.plain].add(figure.scale or figure.unit)
    said = {word.casefold() for word in _WORD.findall(source)}
    mentioned = said | {UNITS[word] for word in said & UNITS.keys()}
    return list(dict.fromkeys(f.written for f in _figures(claim) if not _is_given(f, given, mentioned)))


def stated_figures(text: str) -> list[tuple[str, str]]:
    """(figure, as written) of the numbers, in digits or words, and of the words of dates.

    "One" is left out: it counts less often than it points.
    """
    prose = unicodedata.normalize("NFC", text)
    spelled = [figure for figure in _spelled_out(prose) if figure.number != "1"]
    dates = [(word, word) for word in _WORD.findall(prose) if word in DATE_WORDS]
    return [*((figure.number, figure.written) for figure in (*spelled, *_figures(prose))), *dates]


def _is_given(figure: _Figure, given: dict[str, set[str | None]], mentioned: set[str]) -> bool:
    units = given.get(figure.number, set())
    if not units and figure.scale in mentioned:  # "5 to 6 million" gives the 5 without its scale
        units = given.get(figure.plain, set()) & {None}
    if not units or figure.unit in (None, _ANY_UNIT):
        return bool(units)
    return figure.unit in units or _ANY_UNIT in units or (None in units and figure.unit in mentioned)


def _figures(text: str) -> Iterator[_Figure]:
    text = unicodedata.normalize("NFC", text)
    depth = position = 0  # of brackets
    for match in _NUMBER.finditer(text):
        opened, closed = (text.count(bracket, position, match.start()) for bracket in "()")
        depth, position = max(0, depth + opened - closed), match.start()
        if text[match.end() : match.end() + 1] == ")" and not depth:
            continue  # "1)" counts what a sentence lists
        *first, last = _normal(match.group())
        yield from (_Figure(number=number, plain=number, written=number) for number in first)
        end, number, scale = match.end(), last, None
        if (word := _SCALE.match(text, end)) and word.group(1).lower() in SCALES and last.count(".") < 2:
            scale, end = word.group(1).lower(), word.end()
            number = format((Decimal(last) * SCALES[scale]).normalize(), "f")
        unit, end = _unit(text, match.start(), end)
        yield _Figure(number=number, plain=last, scale=scale, unit=unit, written=text[match.start() : end])


def _normal(number: str) -> list[str]:
    """Without thousands separators and leading zeros; what another comma separates are several numbers."""
    parts = [_SEPARATOR.sub("", number)] if _THOUSANDS.fullmatch(number) else _SEPARATOR.split(number)
    return [part if "." in part else part.lstrip("0") or "0" for part in parts]


def _unit(text: str, start: int, end: int) -> tuple[str | None, int]:
    """The unit of the number between, and where the two end."""
    before = text[max(0, start - 2) : start].strip()[-1:]
    if before and before in _CURRENCY:
        return UNITS[before], end
    match = _UNIT.match(text, end)
    if match is None:
        return None, end
    spelling = re.sub(r"\s", "", match["unit"]).lower()
    if spelling in UNITS:
        return UNITS[spelling], match.end()
    return (None if match["gap"] else _ANY_UNIT), end


def _spelled_out(text: str) -> Iterator[_Figure]:
    for match in _WORD.finditer(text):
        number = NUMBER_WORDS.get(match.group().lower())
        if number is not None:
            unit, _ = _unit(text, match.start(), match.end())
            yield _Figure(number=number, plain=number, unit=unit, written=match.group())


def missing_names(claim: str, source: str) -> list[str]:
    """Proper names of the claim of which the source does not hold every part, in order."""
    held, flat = frozenset(terms(source)), _flat(_undecorated(source))
    names = dict.fromkeys(_names(claim))
    return [name for name in names if not _parts(name) <= held and not _stands_in(_flat(name), flat)]


def _undecorated(text: str) -> str:
    return _DECORATION.sub(" ", unicodedata.normalize("NFC", text))


def _parts(name: str) -> frozenset[str]:
    """The terms that make a name: "Jean-Luc" is two words."""
    parts = (part for part in re.split(r"[.+#&/-]", name) if part.casefold() not in _NO_NAMES)
    return frozenset(term for part in parts for term in terms(part)[:1])


def _names(text: str) -> Iterator[str]:
    """Words with a capital letter; where every word begins with one, those that can only be names."""
    prose = _undecorated(without_code(text, fill="`"))
    first = True
    for match in _NAME.finditer(prose):
        word = match.group()
        opens = first or bool(_OPENING.search(prose, max(0, match.start() - 4), match.start()))
        first = False
        if not any(letter.isupper() for letter in word) or word.casefold() in _NO_NAMES:
            continue
        if not opens or _stands_as_name(word, prose[match.end() : match.end() + 16]):
            yield word


def _stands_as_name(word: str, after: str) -> bool:
    """Whether a capital word at the beginning is a name: by its letters, as a subject, or standing alone."""
    if any(letter.isupper() or letter.isdecimal() for letter in word[1:]):
        return not (word.isupper() and after.lstrip().startswith(":"))  # "NOTE:"
    if _DERIVED.search(word):
        return False
    if _BEFORE_NAME.match(after) and word.lower() not in INSTRUCTIONS:
        return True
    return bool(_ALONE.match(after) or _SUBJECT.match(after))


def missing_code(claim: str, source: str) -> list[str]:
    """Code spans of the claim that do not stand in the source, white space and quotation marks apart."""
    flat = _flat(source)
    return [code for code in dict.fromkeys(code_in(claim)) if code and not _stands_in(_bare(code), flat)]


def missing_identifiers(claim: str, source: str) -> list[str]:
    """Identifiers outside code spans that do not stand in the source: "add_task", "run()", "--reload"."""
    flat = _flat(source)
    words = dict.fromkeys(_IDENTIFIER.findall(_EMPHASIS.sub(" ", without_code(claim))))
    names = [word.strip(".") for word in words if re.search(r"\w_+\w|\w\(\)\Z|\A--\w", word)]
    return [name for name in names if not _stands_in(_bare(name), flat)]


def _flat(text: str) -> str:
    return " ".join(text.replace("'", '"').split()).casefold()


def _bare(code: str) -> str:
    """``add_task`` of ``.add_task()``: how a call is written depends on where it stands."""
    return _flat(code).removesuffix("()").lstrip("@.") or _flat(code)


def _stands_in(code: str, text: str) -> bool:
    before = r"(?<!\w)" if code[:1].isalnum() else ""
    after = r"(?!\w)" if code[-1:].isalnum() else ""
    return re.search(before + re.escape(code) + after, text) is not None
