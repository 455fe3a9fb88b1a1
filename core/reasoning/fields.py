"""The fields of a model's reply, read as they were meant. ``"3"`` is 3, ``"yes"`` is true, null is nothing.

The steps of a judge's search are lines of one of them.

What cannot be read stays as it is, so that its schema refuses it and the model is asked again. No number is ever
left out: it could be that of a sentence which nothing supports.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from core.characters import one_line
from core.conversation import QUERY_LIMIT
from core.library.contents import Contents
from core.reasoning.reasoner import SearchStep

FLAGS = dict.fromkeys(("true", "yes", "y", "1"), True) | dict.fromkeys(("false", "no", "n", "0"), False)
NOTHING = frozenset({"", "-", "[]", "n/a", "none", "null"})  # how models write an empty field

_WORD = r"[^\w-]*(?:[^\W\d_]+[^\w-]*)?"  # before a number: "(3)", "sentence 3"
_NUMBER = re.compile(rf"{_WORD}(\d{{1,6}})(?:\.0+)?\W*")
_NUMBERS = re.compile(rf"{_WORD}(\d{{1,6}}(?:(?:\s*[,;&]\s*(?:and\s+)?|\s+and\s+|\s+)\d{{1,6}})*)\W*")
_DIGITS = re.compile(r"\d+")
_ROW = re.compile(r"\W*(\d{1,6})\s*(?:[:;,]|->|→)\s*(.+)", re.DOTALL)  # "3: 1, 2"


def as_text(given: Any) -> Any:
    if given is None:
        return ""
    if isinstance(given, list) and all(isinstance(each, str) for each in given):
        return ", ".join(given)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return str(given) if is_number else given


def as_texts(given: Any) -> Any:
    """The entries of an object, as "3: what it says"."""
    if _is_nothing(given):
        return []
    if isinstance(given, Mapping):
        return [f"{name}: {as_text(each)}" for name, each in given.items()]
    several = [each for each in (given if isinstance(given, list) else [given]) if each is not None]
    return [": ".join(map(str, e.values())) if isinstance(e, Mapping) else as_text(e) for e in several]


def as_number(given: Any) -> Any:
    """The first value of an object: "sentence" stands before "reason"."""
    if isinstance(given, Mapping) and given:
        return as_number(next(iter(given.values())))
    if isinstance(given, float) and given.is_integer():
        return int(given)
    found = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    return int(found[1]) if found else given


def as_numbers(given: Any) -> Any:
    if _is_nothing(given):
        return []
    if isinstance(given, list):
        return [as_number(each) for each in given]
    found = _NUMBERS.fullmatch(given) if isinstance(given, str) else None
    return [int(number) for number in _DIGITS.findall(found[1])] if found else [as_number(given)]


def as_rows(given: Any) -> Any:
    """Lists of numbers. A row may be text ("3: 1, 2"), an object of them, or an entry of one ({"3": [1, 2]})."""
    if _is_nothing(given):
        return []
    if isinstance(given, Mapping):
        given = [[name, *_flat([each])] for name, each in given.items()]
    if not isinstance(given, list):
        return given
    rows = []
    for each in given:
        if isinstance(each, str) and (found := _ROW.fullmatch(each)):
            rows.append([int(found[1]), *as_numbers(found[2])])
        elif isinstance(each, Mapping):
            rows.append(as_numbers(list(_flat(each.values()))))
        else:
            rows.append(as_numbers(each) if isinstance(each, list) else each)
    return rows


def _flat(given: Any) -> Iterator[Any]:
    return chain.from_iterable(each if isinstance(each, list) else [each] for each in given)


def as_flag(given: Any) -> Any:
    if isinstance(given, str):
        return FLAGS.get(given.strip(" .!\n\t").casefold(), given)
    return bool(given) if given in (0, 1) else given


def as_choice(given: Any) -> Any:
    """Read one of several words: "Multi-hop." is "multi_hop"."""
    return re.sub(r"[\s-]+", "_", given.strip(" .\"'`*\n\t").casefold()) if isinstance(given, str) else given


def as_list(given: Any) -> Any:
    if _is_nothing(given):
        return []
    return [given] if isinstance(given, Mapping) else given


def _is_nothing(given: Any) -> bool:
    return given is None or (isinstance(given, str) and given.strip().casefold() in NOTHING)


Text = Annotated[str, BeforeValidator(as_text)]
Texts = Annotated[list[str], BeforeValidator(as_texts)]
Number = Annotated[int, BeforeValidator(as_number)]
Numbers = Annotated[list[int], BeforeValidator(as_numbers)]
Rows = Annotated[list[list[int]], BeforeValidator(as_rows)]
Flag = Annotated[bool, BeforeValidator(as_flag)]
CHOICE = BeforeValidator(as_choice)
LIST = BeforeValidator(as_list)

_KINDS: Mapping[str, Literal["search", "open", "find"]] = {"search": "search", "open": "open", "find": "find"}
_STEP = re.compile(
    r"\W*(search|open|find)\b\s*(?:in\s+)?(?:documents?\s+)?"
    r"(?:(\d{1,2})(?:\.(\d{1,4})\b|(?=\s*(?:[:,(]|p(?:age|\.)|$)|\s[–-])))?\W*(.*)",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\b(?:pages?|slides?|cells?|p\.?)\s*(\d{1,5})", re.IGNORECASE)


def to_step(line: str, contents: Sequence[Contents]) -> SearchStep | None:
    """A step as a judge writes it: "search 2: words", "open 2.14", "open 2: page 61", "find 2: words".

    None if it names nothing. A phrase to find in no document in particular is searched for."""
    found = _STEP.match(one_line(line, QUERY_LIMIT))
    if found is None:
        return None
    number, section, words = int(found[2] or 0), int(found[3] or 0), found[4]
    document = contents[number - 1] if 1 <= number <= len(contents) else None
    words = words.strip(" \"'“”")
    kind = _KINDS[found[1].casefold()]
    if document is None:
        return SearchStep(kind="search", words=words) if words and kind != "open" else None
    step = SearchStep(kind="search", address=document.address, source=document.source, words=words)
    if kind != "open":
        return replace(step, kind=kind) if words else None
    page = _PAGE.search(words)
    if page and not section:
        return replace(step, kind="open", page=int(page[1]))
    if 1 <= section <= len(document.sections):
        path = document.sections[section - 1].path
        return replace(step, kind="open", path=path, words=path[-1])
    return replace(step, words=words) if words else None  # a heading that is not numbered: it is searched for
