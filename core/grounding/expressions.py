"""Arithmetic over quoted numbers: what a writer may put between ``{calc:`` and ``}``, read and carried out.

There are + - * /, parentheses, avg() and sum(), around all of it round(…, digits), and at the end "as %" or
"as points". Numbers are quantities of the sources, so that 12.4 million and 900 thousand can be added, and dollars
and euros cannot. A difference of percentages is in percentage points.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from typing import Literal, NoReturn

from core.conversation import value
from core.grounding.quantities import PERCENT, POINTS, SHARED_SCALE, Quantity, quantity_at, vocabulary
from core.wording import Sentence

LENGTH = 300  # characters of an expression
TERMS = 40  # numbers
PRECISION = 50  # digits that are computed with
LARGEST = Decimal(10) ** 24
RATIO, DIFFERENCE = "ratio", "difference"  # units: of two numbers of a kind, and of two ratios

Sign = Literal["+", "-", "*", "/", "avg"]

_AS = re.compile(
    r"\s*\bas\s+(?:(?P<points>(?:percentage\s+)?points?|pp)|%|percent(?:age)?)\s*(?=,|\)?\s*\Z)",
    re.IGNORECASE,
)
_ROUND = re.compile(r"\s*round\s*\((?P<inner>.*),\s*(?P<digits>[0-6])\s*\)\s*", re.IGNORECASE | re.DOTALL)
_ALLOWED = re.compile(r"(?:[\s()+*/,-]|n\d+|(?:avg|average|mean|sum|total)(?=\s*\())*", re.IGNORECASE)
_MINUS = re.compile(r"(?:\A|[(+*/,-])\s*-\s*\Z")  # before a number, and not between two
_ENCLOSED = re.compile(r"(?<!\w)\(\s*\Z")  # and not by a function
_PLAIN = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", ":": "/", ";": ","})
_SIGNS: Mapping[type[ast.operator], Sign] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_LISTS: Mapping[str, Sign] = {"sum": "+", "total": "+", "avg": "avg", "average": "avg", "mean": "avg"}


class Impossible(Exception):
    """An expression that cannot be carried out; its sentence is for people."""

    def __init__(self, key: str, **values: object) -> None:
        self.sentence = Sentence(key, **values)
        super().__init__(self.sentence)


@value
class Operand:
    """A number of an expression."""

    written: str
    quantity: Quantity  #: as far as it says itself
    has_sign: bool  #: behind a minus, or alone in parentheses, as accounts write a negative one


@value
class Expression:
    root: ast.expr  #: with a name in place of each number
    numbers: Mapping[str, Operand]  #: by these names
    unit: str = ""  #: PERCENT or POINTS, where it is asked for
    digits: int | None = None  #: behind the point of the result, where it is asked for


@value
class Amount:
    """A number on the way to the result."""

    worth: Decimal  #: in ones: 12.4 million is 12400000, and 12% are 0.12
    unit: str = ""  #: as of a Quantity, or RATIO or DIFFERENCE
    scale: int = 0  #: power of ten in which it is shown


@value
class Operation:
    sign: Sign
    of: tuple[Amount, ...]
    result: Amount


@value
class Result:
    figure: Amount
    steps: tuple[Operation, ...]
    doubts: tuple[str, ...]


def read(text: str) -> Expression:
    """Raises Impossible where it is none, or a very long one."""
    if len(text) > LENGTH:
        _unreadable()
    asked = _AS.search(text)
    text = (text[: asked.start()] + text[asked.end() :] if asked else text).translate(_PLAIN)
    rounding = _ROUND.fullmatch(text)
    text = rounding["inner"] if rounding else text
    numbers: dict[str, Operand] = {}

    def add_operand(found: re.Match[str]) -> str:
        number = quantity_at(text, found.start()) or _unreadable()
        before, after = text[: found.start()], text[found.end() :]
        has_sign = _MINUS.search(before) or (_ENCLOSED.search(before) and after.lstrip().startswith(")"))
        name = f"n{len(numbers)}"
        numbers[name] = Operand(written=found[0], quantity=number, has_sign=bool(has_sign))
        return name

    bare = vocabulary().number.sub(add_operand, text).strip()
    if not _ALLOWED.fullmatch(bare) or len(numbers) > TERMS:
        _unreadable()
    try:
        root = ast.parse(bare, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        _unreadable()
    unit = "" if asked is None else POINTS if asked["points"] else PERCENT
    return Expression(
        root=root, numbers=numbers, unit=unit, digits=int(rounding["digits"]) if rounding else None
    )


def evaluate(expression: Expression, found: Mapping[str, Quantity]) -> Result:
    """The result, where each number, as written, is worth what was ``found`` in the sources. Raises Impossible."""
    carrying = _Carrying(expression.numbers, found)
    try:
        with localcontext(prec=PRECISION):
            figure = carrying.figure(expression.root)
    except (DivisionByZero, InvalidOperation):
        raise Impossible("calculation_by_zero") from None
    if expression.unit:
        figure = in_unit(figure, expression.unit)
        carrying.steps[-1:] = [replace(step, result=figure) for step in carrying.steps[-1:]]
    return Result(figure=figure, steps=tuple(carrying.steps), doubts=tuple(dict.fromkeys(carrying.doubts)))


@dataclass(slots=True)
class _Carrying:
    """Computes an expression, and notes its steps and what is odd about it."""

    numbers: Mapping[str, Operand]
    found: Mapping[str, Quantity]
    steps: list[Operation] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def figure(self, node: ast.expr) -> Amount:
        match node:
            case ast.Name(id=name) if name in self.numbers:
                number = self.numbers[name]
                own, said = self.found[number.written], number.quantity
                if own.is_negative and not number.has_sign:
                    self.doubts.append(f"the sign of {number.written}, a negative number there")
                if (said.unit and not own.unit) or (said.scale and not own.scale):
                    self.doubts.append(f"the unit of {number.written}")
                    own = replace(own, unit=said.unit or own.unit, scale=said.scale or own.scale)
                worth = -own.worth if own.is_negative and number.has_sign else own.worth
                return Amount(worth=worth, unit=own.unit, scale=own.scale)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                figure = self.figure(operand)
                is_number = isinstance(operand, ast.Name)  # a minus before −5 of a source is the same minus
                return replace(figure, worth=-abs(figure.worth) if is_number else -figure.worth)
            case ast.BinOp(op=ast.Add() | ast.Mult() as operator):
                return self._step(_SIGNS[type(operator)], tuple(map(self.figure, _terms(node, operator))))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _SIGNS:
                return self._step(_SIGNS[type(operator)], (self.figure(left), self.figure(right)))
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]):
                return self._step(_LISTS[name.lower()], tuple(map(self.figure, args)))
            case _:
                raise Impossible("calculation_unreadable")

    def _step(self, sign: Sign, of: tuple[Amount, ...]) -> Amount:
        result = of[0]
        for other in of[1:]:
            result = self._both("+" if sign == "avg" else sign, result, other)
        if sign == "avg":
            result = replace(result, worth=result.worth / len(of))
        if abs(result.worth) > LARGEST:
            _unreadable()
        self.steps.append(Operation(sign=sign, of=of, result=result))
        return result

    def _both(self, sign: Sign, one: Amount, other: Amount) -> Amount:
        smaller, larger = sorted((one, other), key=lambda each: each.scale)
        is_share = smaller.unit in (PERCENT, POINTS, RATIO, DIFFERENCE)
        is_uneven = not (smaller.scale or is_share) and larger.scale and 0 < abs(smaller.worth) < SHARED_SCALE
        if sign in ("+", "-"):
            if is_uneven:
                raise _apart(one, other)  # 12.4 million and 900: nobody says of what
            worth = one.worth + other.worth if sign == "+" else one.worth - other.worth
            scale = max(one, other, key=lambda each: abs(each.worth)).scale
            return Amount(worth=worth, unit=self._unit_of_sum(sign, one, other), scale=scale)
        unit = (_unit_of_product if sign == "*" else _unit_of_quotient)(one.unit, other.unit)
        if unit is None:
            raise _apart(one, other)
        if is_uneven and unit != one.unit:
            self.doubts.append(f"the scale of {format_amount(smaller)} beside {format_amount(larger)}")
        if sign == "*":
            return Amount(worth=one.worth * other.worth, unit=unit, scale=one.scale or other.scale)
        return Amount(worth=one.worth / other.worth, unit=unit, scale=0 if other.scale else one.scale)

    def _unit_of_sum(self, sign: Sign, one: Amount, other: Amount) -> str:
        units = {one.unit, other.unit}
        if len(units) == 1:
            return {PERCENT: POINTS, RATIO: DIFFERENCE}.get(one.unit, one.unit) if sign == "-" else one.unit
        if units == {"", RATIO}:
            return RATIO
        if units == {PERCENT, POINTS}:
            return PERCENT
        if "" not in units or units & {PERCENT, POINTS, DIFFERENCE}:
            raise _apart(one, other)
        self.doubts.append(f"the units of {format_amount(one)} and {format_amount(other)}")
        return one.unit or other.unit


def _terms(node: ast.expr, operator: ast.operator) -> list[ast.expr]:
    """The terms of a sum or the factors of a product: of a + b + c three."""
    terms: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and type(node.op) is type(operator):
        terms.append(node.right)
        node = node.left
    return [node, *reversed(terms)]


def _unit_of_product(one: str, other: str) -> str | None:
    if one == other:
        return one if one in ("", RATIO, PERCENT) else None
    for first, second in ((one, other), (other, one)):
        if first in ("", RATIO) or (first == PERCENT and second not in (POINTS, DIFFERENCE)):
            return second or first
    return None


def _unit_of_quotient(one: str, other: str) -> str | None:
    if one == other or (one, other) == (POINTS, PERCENT):
        return RATIO
    if other == "" or (other in (RATIO, PERCENT) and one not in (POINTS, DIFFERENCE)):
        return one
    return None if {one, other} & {PERCENT, POINTS, RATIO, DIFFERENCE} else f"{one}/{other}"


def in_unit(figure: Amount, unit: str) -> Amount:
    """A share as a percentage, or a difference of shares in percentage points; neither is the other."""
    if figure.unit not in {PERCENT: (RATIO, PERCENT), POINTS: (DIFFERENCE, POINTS)}[unit]:
        raise Impossible(
            "calculation_units", one=format_amount(figure), other="%" if unit == PERCENT else "pp"
        )
    return replace(figure, unit=unit, scale=0)


def format_amount(figure: Amount) -> str:
    """A number for a doubt or a reason, in ones: 12 400 000 EUR."""
    size = figure.worth.scaleb(2 if figure.unit in (PERCENT, POINTS) else 0).normalize()
    number = f"{size:,f}".replace(",", "\u202f")
    unit = {RATIO: "", DIFFERENCE: "", POINTS: " pp", PERCENT: "%"}.get(figure.unit, f" {figure.unit}")
    return f"{number}{unit}".rstrip()


def _apart(one: Amount, other: Amount) -> Impossible:
    return Impossible("calculation_units", one=format_amount(one), other=format_amount(other))


def _unreadable() -> NoReturn:
    raise Impossible("calculation_unreadable")
