"""The fields of a model's reply, read as they were meant: ``"3"`` is 3, ``"yes"`` is true, null is nothing.

What cannot be read stays as it is, so that its schema refuses it and the model is asked again. No number is ever
left out: it could be that of a sentence which nothing supports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Annotated, Any

from pydantic import BeforeValidator

FLAGS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "no", "n", "0"), False),
}
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
    each_given = given if isinstance(given, list) else [given]
    return [
        ": ".join(map(str, each.values())) if isinstance(each, Mapping) else as_text(each)
        for each in each_given
        if each is not None
    ]


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
    """Lists of numbers; a row may be text ("3: 1, 2"), an object of them, or an entry of one ({"3": [1, 2]})."""
    if _is_nothing(given):
        return []
    if isinstance(given, Mapping):
        given = [[name, *_flat([each])] for name, each in given.items()]
    return [_row(each) for each in given] if isinstance(given, list) else given


def _row(given: Any) -> Any:
    if isinstance(given, str) and (found := _ROW.fullmatch(given)):
        numbers = as_numbers(found[2])
        return [int(found[1]), *numbers]
    if isinstance(given, Mapping):
        return as_numbers(list(_flat(given.values())))
    return as_numbers(given) if isinstance(given, list) else given


def _flat(given: Any) -> Iterator[Any]:
    return chain.from_iterable(each if isinstance(each, list) else [each] for each in given)


def as_flag(given: Any) -> Any:
    if isinstance(given, str):
        return FLAGS.get(given.strip(" .!\n\t").casefold(), given)
    return bool(given) if given in (0, 1) else given


def as_choice(given: Any) -> Any:
    """One of several words: "Multi-hop." is "multi_hop"."""
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
