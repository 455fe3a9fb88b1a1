"""Figures that a draft has computed: ``{calc: (12.4 - 11.1) / 11.1 as %}``.

Each becomes the result with how it comes about, "11.7% (12.4 − 11.1 = 1.3; 1.3 ÷ 11.1 ≈ 11.7%)", where every number
stands in a strip that its sentence cites, or in the question, which is then said; else the sentence is cut. So everything
later reads plain text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from itertools import islice, product
from typing import Self

from core.conversation import value
from core.grounding import expressions
from core.grounding.claims import Claim, claims_of
from core.grounding.quantities import PERCENT, POINTS, Quantity, quantities_asked, quantities_in, vocabulary
from core.reasoning.reasoner import Calculation, Span, Strip
from core.text.language import language_of
from core.wording import Wording, in_language, wording

MOST = 12  # calculations of one draft
READINGS = 64  # ways to read the numbers of one: "12" may be 12% and 12 million in one strip
SMALL = Decimal("0.1")  # millions that are shown in ones
MOST_DECIMALS = 6  # behind the point, where the writer does not say
UNIT = 12  # characters before a calculation that may name a currency
CENTS = 2  # behind the point of a price: 220.80
GROUPED = 10_000  # from here on thousands are set apart in any case

_CALCULATION = re.compile(r"`?\{{1,2}\s*calc\s*:(?P<expression>[^{}\n]*)\}{0,2}`?", re.IGNORECASE)
_SIGNS = {"+": " + ", "-": " − ", "*": " × ", "/": " ÷ ", "avg": " + "}
_SCALES = {3: "thousand", 6: "million", 9: "billion", 12: "trillion"}
_TYPED = str.maketrans({"-": "−", "*": "×", "/": "÷"})
#: A difference of percentages is in points, and needs to name them as little as these their sign.
_DIFFERENCE_OF = {(PERCENT, 0): (POINTS, 0)}
_WORD = re.compile(r"\w+")


@value
class Cited:
    """A number of a strip that a sentence cites, or of the question."""

    strip: Strip | None  #: None: of the question
    quantity: Quantity

    @property
    def written(self) -> str:
        if self.strip is None:
            return self.quantity.digits
        return self.strip.text[self.quantity.start : self.quantity.end]


def calculate(text: str, strips: Sequence[Strip], question: str = "") -> tuple[str, tuple[Calculation, ...]]:
    """The draft with the result of each calculation in its place. Code stays as it is, and so does what a cited
    strip holds to the letter."""
    found = list(_CALCULATION.finditer(text)) if "calc" in text else []
    if not found:
        return text, ()
    words = wording(language_of(_CALCULATION.sub(" ", text)))
    masked = _CALCULATION.sub(lambda match: "x" * len(match[0]), text)  # "Mio." ends no sentence
    claims, known = claims_of(masked), {strip.number: strip for strip in strips}
    asked = [Cited(strip=None, quantity=each) for each in quantities_asked(question)]
    pieces: list[str] = []
    made: list[Calculation] = []
    position = 0
    for match in found:
        claim = next((each for each in claims if each.start <= match.start() < each.end), None)
        cited = [known[number] for number in claim.cited if number in known] if claim else []
        if (claim and claim.kind == "code") or any(match[0].strip("`") in strip.text for strip in cited):
            continue
        expression = match["expression"] if len(made) < MOST else ""
        held = [Cited(strip=strip, quantity=each) for strip in cited for each in quantities_in(strip)]
        one, start, end = _calculation(match, expression, claim, [*held, *asked], words)
        own = "" if claim is None or claim.own else "".join(f"[{strip.number}]" for strip in cited)
        pieces += [text[position:start], one.shown, f" {own}" if own else ""]
        position = end
        made.append(one)
    return "".join((*pieces, text[position:])), tuple(made)


def as_written(text: str, calculations: Iterable[Calculation]) -> str:
    """The text with its calculations as the draft had them, for who writes it again."""
    for each in calculations:
        text = text.replace(each.shown, each.written)
    return text


def _calculation(
    match: re.Match[str], expression: str, claim: Claim | None, held: Sequence[Cited], words: Wording,
) -> tuple[Calculation, int, int]:  # fmt: skip
    """A calculation, and the span of the draft that it replaces: with the unit that stands beside it."""
    text, (start, end) = match.string, match.span()
    try:
        beside = _Beside.of(text, start, end)
        shown, chosen, doubts = _best_reading(expressions.read(expression), beside, claim, held, words)
    except expressions.Impossible as impossible:
        shown = f"({expression.strip().translate(_TYPED)[: expressions.LENGTH] or '?'})"
        reason = in_language(impossible.sentence, words.language)
        return Calculation(written=text[start:end], shown=shown, fault=reason), start, end
    spans: dict[int, tuple[Span, ...]] = {}
    for each in chosen:
        if each.strip is not None:
            offset, number = each.strip.start, each.strip.number
            span = (offset + each.quantity.start, offset + each.quantity.end)
            spans[number] = (*spans.get(number, ()), span)
    one = Calculation(
        written=text[beside.start : beside.end], shown=shown, inputs="; ".join(each.written for each in chosen),
        asked=tuple(each.written for each in chosen if each.strip is None), places=spans, doubts=doubts,
    )  # fmt: skip
    return one, beside.start, beside.end


@value
class _Beside:
    """The scale and the unit that a writer puts right before or behind a calculation."""

    scale: int
    unit: str
    label: str  #: the unit as written
    start: int  #: of all of it, characters into the draft
    end: int

    @classmethod
    def of(cls, text: str, start: int, end: int) -> Self:
        money = vocabulary().money.search(text, max(0, start - UNIT), start)
        behind = vocabulary().behind.match(text, end)
        scale, unit = behind.group("scale", "unit") if behind else (None, None)
        power, own = vocabulary().meaning(money and money[0].strip(), scale, unit)
        return cls(
            scale=power, unit=own, label=unit or "",
            start=money.start() if money else start, end=behind.end() if behind else end,
        )  # fmt: skip

    def fit(self, result: expressions.Result) -> expressions.Result:
        """The result in this unit and scale, doubted where it has none; Impossible where it has others."""
        figure, doubts = result.figure, [*result.doubts]
        own = figure.unit.partition("/")[0]  # $25 a kilometre
        if self.unit in (PERCENT, POINTS) and own:
            figure = expressions.in_unit(figure, self.unit)
        elif self.unit and own in ("", expressions.RATIO, expressions.DIFFERENCE):
            doubts.append(f"the unit {self.unit} of {expressions.format_amount(figure)}")
            share = Decimal("0.01") if self.unit in (PERCENT, POINTS) else 1
            figure = replace(figure, unit=self.unit, worth=figure.worth * share)
        elif self.unit and self.unit != own:
            raise expressions.Impossible(
                "calculation_units", one=expressions.format_amount(figure), other=self.unit
            )
        else:
            figure = replace(figure, unit=own)
        if self.scale and not figure.scale:
            doubts.append(f"the scale {10**self.scale} of {expressions.format_amount(figure)}")
            figure = replace(figure, scale=self.scale, worth=figure.worth.scaleb(self.scale))
        elif self.scale and self.scale != figure.scale:
            raise expressions.Impossible(
                "calculation_units", one=expressions.format_amount(figure), other=f"{10**self.scale}"
            )
        steps = [*result.steps[:-1], *(replace(step, result=figure) for step in result.steps[-1:])]
        return expressions.Result(figure=figure, steps=tuple(steps), doubts=tuple(doubts))


def _best_reading(
    expression: expressions.Expression, beside: _Beside, claim: Claim | None, held: Sequence[Cited],
    words: Wording,
) -> tuple[str, tuple[Cited, ...], tuple[str, ...]]:  # fmt: skip
    """The reading with the fewest doubts, then with the fewest numbers of the question: (what is shown, the numbers that
    it is computed from, the doubts)."""
    sentence = frozenset(_WORD.findall(claim.text.casefold())) if claim else frozenset()
    inputs = {each.written: _candidates(each, held, sentence) for each in expression.numbers.values()}
    if missing := next((written for written, found in inputs.items() if not found), None):
        raise expressions.Impossible("calculation_absent", number=missing)
    readings: list[tuple[tuple[int, int], str, tuple[Cited, ...], tuple[str, ...]]] = []
    impossible: expressions.Impossible | None = None
    for chosen in islice(product(*inputs.values()), READINGS):
        found = {written: each.quantity for written, each in zip(inputs, chosen, strict=True)}
        try:
            result = beside.fit(expressions.evaluate(expression, found))
        except expressions.Impossible as fault:
            impossible = impossible or fault
            continue
        shown = _Writing.of(chosen, beside, words, expression.digits).whole(result)
        of_question = sum(each.strip is None for each in chosen)
        readings.append(((len(result.doubts), of_question), shown, chosen, result.doubts))
    if not readings:
        raise impossible or expressions.Impossible("calculation_unreadable")
    fewest = min(counts for counts, *_ in readings)
    best = [reading for reading in readings if reading[0] == fewest]
    if len({shown for _, shown, *_ in best}) > 1:
        raise expressions.Impossible("calculation_ambiguous")
    return best[0][1:]


def _candidates(number: expressions.Operand, held: Iterable[Cited], sentence: frozenset[str]) -> list[Cited]:
    """The numbers of the sources that it may be, each different one where its line shares most with the sentence."""
    best: dict[object, tuple[int, Cited]] = {}
    for each in held:
        quantity = each.quantity
        if number.quantity.may_be(quantity):
            text = each.strip.text if each.strip else ""
            line = text[text.rfind("\n", 0, quantity.start) + 1 :].partition("\n")[0]
            shared = len(sentence.intersection(_WORD.findall(line.casefold())))
            key = (quantity.worth, quantity.unit, quantity.scale, quantity.is_negative, each.strip is None)
            if key not in best or shared > best[key][0]:
                best[key] = (shared, each)
    return [each for _, each in best.values()]


@value
class _Writing:
    """The notation of the numbers of one calculation."""

    words: Wording
    digits: int | None  #: behind the point of the result, as the writer asks
    decimals: int  #: the most behind the point of an input
    is_grouped: bool  #: inputs have a sign between their thousands
    common: tuple[str, int] | None  #: unit and scale of all inputs, which the steps then leave out
    labels: Mapping[str, str]  #: of measures, as the sentence or the sources have them
    asked: tuple[str, ...]  #: numbers of the question

    @classmethod
    def of(cls, inputs: Sequence[Cited], beside: _Beside, words: Wording, digits: int | None) -> Self:
        kinds = {(each.quantity.unit, each.quantity.scale) for each in inputs}
        labels = {
            each.quantity.unit: (vocabulary().unit_behind(each.written) or each.quantity.unit)
            for each in inputs
        }
        return cls(
            words=words,
            digits=digits,
            decimals=max(
                (-int(min(each.quantity.readings).as_tuple().exponent) for each in inputs), default=0
            ),
            is_grouped=any(each.quantity.is_grouped for each in inputs),
            common=kinds.pop() if len(kinds) == 1 else None,
            labels=labels | ({beside.unit: beside.label} if beside.label else {}),
            asked=tuple(dict.fromkeys(each.written for each in inputs if each.strip is None)),
        )

    def whole(self, result: expressions.Result) -> str:
        """The result, and in parentheses how it comes about."""
        shown, _ = self._format(result.figure, digits=self.digits)
        steps = [
            self._step(step, is_last=number == len(result.steps))
            for number, step in enumerate(result.steps, 1)
        ]
        if self.asked:
            steps.append(self.words("calculation_asked", numbers=", ".join(self.asked)))
        return f"{shown} ({'; '.join(steps)})" if steps else shown

    def _step(self, step: expressions.Operation, *, is_last: bool) -> str:
        numbers = [self._format(figure, is_inner=True)[0] for figure in step.of]
        first, *others = (
            f"({each})" if number and each.startswith("−") else each for number, each in enumerate(numbers)
        )
        left = _SIGNS[step.sign].join((first, *others))
        left = f"({left}) ÷ {len(numbers)}" if step.sign == "avg" else left
        right, is_rounded = self._format(step.result, is_inner=True, digits=self.digits if is_last else None)
        return f"{left} {'≈' if is_rounded else '='} {right}"

    def _format(
        self, figure: expressions.Amount, *, is_inner: bool = False, digits: int | None = None
    ) -> tuple[str, bool]:
        """A number with its unit, and whether it is rounded."""
        unit, scale = figure.unit, figure.scale if figure.scale in _SCALES else 0
        if not self.common and abs(figure.worth.scaleb(-scale)) < SMALL:
            scale = 0
        exact = figure.worth.scaleb(2 if unit in (PERCENT, POINTS) else -scale)
        size = self._round(exact, digits, is_share=unit in (PERCENT, POINTS))
        is_price = unit in vocabulary().signs and not scale and size != int(size)
        number = self._digits(size, keeps_zeros=digits is not None, decimals=CENTS if is_price else 0)
        if not (
            is_inner
            and self.common
            and (unit, figure.scale) in (self.common, _DIFFERENCE_OF.get(self.common))
        ):
            number = self.words(_SCALES[scale], number=number) if scale else number
            number = self._with_unit(number, unit)
        return number, size != exact

    def _round(self, size: Decimal, digits: int | None, *, is_share: bool) -> Decimal:
        """A number, rounded unless it is short. A percentage gets one digit after the point, another number
        two, and a small one two or three that are not zero."""
        decimals = digits
        if decimals is None:
            if -int(size.normalize().as_tuple().exponent) <= max(2, min(self.decimals, MOST_DECIMALS)):
                return size
            most = 1 if is_share else 2
            decimals = most if abs(size) >= 1 else min(MOST_DECIMALS, most - size.adjusted())
        with localcontext(prec=expressions.PRECISION):
            return size.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)

    def _digits(self, size: Decimal, *, keeps_zeros: bool, decimals: int) -> str:
        written = f"{abs(size):,f}" if self.is_grouped or abs(size) >= GROUPED else f"{abs(size):f}"
        if "." in written and not keeps_zeros:
            whole, point, part = written.partition(".")
            part = part.rstrip("0").ljust(decimals, "0")
            written = f"{whole}{point if part else ''}{part}"
        signs = {",": self.words.entries["thousands"], ".": self.words.entries["decimal"]}
        return ("−" if size < 0 else "") + written.translate(str.maketrans(signs))

    def _with_unit(self, number: str, unit: str) -> str:
        if unit in (PERCENT, POINTS):
            return self.words("percent" if unit == PERCENT else "percentage_points", number=number)
        if sign := vocabulary().signs.get(unit):
            minus, size = ("−", number[1:]) if number.startswith("−") else ("", number)
            return minus + self.words("money", sign=sign, number=size)
        return (
            number
            if unit in ("", expressions.RATIO, expressions.DIFFERENCE)
            else f"{number} {self.labels.get(unit, unit)}"
        )
