"""Doubts: what code finds odd about a draft.

Of a sentence, the numbers, code, quotations and identifiers that are missing in the strips it cites: hints for
the judge, never verdicts, in any language. Names, negations and paraphrase are left to the judge. Of the whole,
that it is in another language than the question, or says a paragraph twice.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from itertools import combinations, product

from core.reasoning.reasoner import Oddity
from core.text.inline import as_words, code_in, without_code, without_markers
from core.text.language import sure_language, words_of

CODE_LINE = 4  # letters and digits; shorter lines of code are not checked
PARAGRAPH = 40  # letters and digits; a shorter one may be said twice
SAME = 0.9  # share of the words of two paragraphs that both have, if they say the same
SHORT = 3  # letters and digits; a shorter identifier may stand by chance within a word: "IP" in "description"
QUOTED = 8  # letters and digits; a shorter quotation may be a single word in quotation marks
ABOUT = 24  # characters before a number that are searched for "approximately"
ROUNDED = Decimal("0.1")  # share by which "about 30" may differ from the source

_NUMBER = re.compile(r"\d+(?:[.,'’\u00a0\u202f]\d+)*|(?<=\d)[ ]\d{3}(?!\d)")
_GROUPED = re.compile(r"[1-9]\d{0,2}(?:_\d{2,3})*_\d{3}")  # in India 1,00,000
_SPACED = re.compile(r"(?<=\d)[ \u00a0\u202f'’](?=\d{3}(?!\d))")
_ITEM_NUMBER = re.compile(r"(?m)^[ \t]*\d{1,2}[.)]\s")
_ABOUT = re.compile(
    r"(?:~|≈|\b(?:about|around|roughly|approximately|nearly|almost|some|over|circa|ca\.?|etwa|rund|ungefähr|knapp|gut|"
    r"env\.?|environ|presque|aproximadamente|cerca de|unos|unas|casi|quase)|約|およそ|约|大约)\s*\Z",
    re.IGNORECASE,
)
_QUOTATION = re.compile(
    r"“([^“”]+)”|„([^„“”]+)[“”]|«\s*([^«»]+?)\s*»|「([^「」]+)」|『([^『』]+)』|\"([^\"\n]+)\""
)
_IDENTIFIER = re.compile(r"[A-Za-z](?:\w|[.+#](?=\w))*", re.ASCII)
_ODD = re.compile(r"\w[^\W\d_a-z]|[^\W\d]\d|\w_\w", re.ASCII)  # an inner capital, a digit, an underscore
#: A name for the reader's own, which they are to replace: myapp, YOUR_TOKEN, <name>, example.com.
OWN_NAME = re.compile(
    r"<[\w .-]+>|(?<![^\W_])(?:"
    r"(?:my|your|our|mein|meine|dein|deine|ihr|ihre|mon|votre|mi|meu|minha|seu|sua)[-_]\w[\w-]*"
    r"|(?:my|your|mein|mon|mi|meu)(?:app|api|bot|bucket|class|cluster|company|db|env|file|func|function|host|image|key|lib|"
    r"model|module|name|org|package|page|password|plugin|project|projekt|proyecto|projeto|projet|repo|script|secret|"
    r"server|service|site|table|team|test|token|user|volume)\w*"
    r"|foo|bar|baz|example(?:\.(?:com|org|net))?|changeme|x{3,}"
    r")(?![^\W_])",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"[A-Z]{2,}s")
_PARAGRAPHS = re.compile(r"\n[ \t>]*\n")
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//|--\s).*$")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")

#: A day, with another form of it.
_DAYS = (
    (re.compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)\b"), r"\3.\2.\1"),
    (re.compile(r"\b(\d{1,2})\.(\d{1,2})\.((?:19|20)\d\d)\b"), r"\1 \2 \3"),
)

_LEADING_ZERO = re.compile(r"(?<!\d)0(?=\d)")
_SPELLING = re.compile(r"[〇一二三四五六七八九]|[^\W\d_]+")


def doubts_of(
    text: str, sources: Sequence[str], *, is_code: bool = False, to_the_letter: bool = False
) -> tuple[str, ...]:
    """Words of a sentence, or lines of code, that the cited texts lack, for the judge; empty: nothing.
    ``to_the_letter``: in code, names that stand for the reader's own are looked for too."""
    claim = unicodedata.normalize("NFKC", text)
    squeezed = "\n".join(map(_letters_of, sources))

    def is_written(code: str) -> bool:
        parts = [code] if to_the_letter else OWN_NAME.split(code)
        return _squeeze(code) in squeezed or all(_squeeze(part) in squeezed for part in parts)

    if is_code:
        return tuple(f"the line `{line}`" for line in _code_lines(claim) if not is_written(line))
    prose = without_code(claim)
    found = (
        *(f"the number {number}" for number in _missing_numbers(prose, sources)),
        *(f"`{code}`" for code in code_in(claim) if not is_written(code)),
        *(f"the words “{words}”" for words in _missing_quotations(prose, squeezed)),
        *(f"“{word}”" for word in _missing_identifiers(prose, squeezed, sources)),
    )
    return tuple(dict.fromkeys(found))


def oddity_of(draft: str, question: str) -> Oddity | None:
    """A fault of the draft as a whole."""
    asked, written = sure_language(question), sure_language(draft)
    if asked and written and asked != written:
        return "language"
    paragraphs = [(each, _squeeze(each)) for each in _PARAGRAPHS.split(without_markers(draft))]
    long = [each for each in paragraphs if len(each[1]) >= PARAGRAPH]
    return "twice" if any(_say_same(*pair) for pair in combinations(long, 2)) else None


def _say_same(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """True if two paragraphs are the same, or nearly so with the same numbers and code."""
    if one[1] == other[1]:
        return True
    words, others = (set(re.findall(r"\w+", text.casefold())) for text, _ in (one, other))
    is_same = len(words & others) >= SAME * len(words | others)
    return is_same and not (doubts_of(one[0], (other[0],)) or doubts_of(other[0], (one[0],)))


def _squeeze(text: str) -> str:
    """Letters and digits only, so that two spellings of the same text are equal."""
    return re.sub(r"[\W_]+", "", text).casefold()


@lru_cache(maxsize=1_024)
def _letters_of(source: str) -> str:
    """Both as people read it and as it is written."""
    source = unicodedata.normalize("NFKC", source)
    return _squeeze(as_words(source)) + "\n" + _squeeze(source)


@cache
def _number_words() -> Mapping[str, int]:
    """The numbers that words of any language stand for: the claim may have digits instead."""
    kinds = {
        "from_zero": range(13), "from_one": range(1, 3), "tens": range(20, 100, 10),
        "multiples": (1, 2, 100, 1000),
    }  # fmt: skip
    listed = [(of, words) for name, of in kinds.items() for words in words_of("numbers", name).values()]
    return {word: number for of, words in listed for number, word in zip(of, words.split(), strict=False)}


@lru_cache(maxsize=1_024)
def numbers_of(source: str) -> frozenset[Decimal | str]:
    source = unicodedata.normalize("NFKC", source)
    for day, other in _DAYS:  # "2025-06-30" is "30.06.2025", and that is "30 June 2025"
        source = "\n".join((source, *(found.expand(other) for found in day.finditer(source))))
    known = _number_words()
    spelled = (Decimal(known[word]) for word in _SPELLING.findall(source.casefold()) if word in known)
    written = (
        value for found in _NUMBER.findall(_SPACED.sub("", source)) for value in possible_values(found)
    )
    return frozenset((*spelled, *written))


def _missing_numbers(claim: str, sources: Sequence[str]) -> Iterator[str]:
    written = _SPACED.sub("", _ITEM_NUMBER.sub(" ", claim))
    numbers = list(_NUMBER.finditer(written))
    held = frozenset().union(*map(numbers_of, sources)) if numbers else frozenset()
    for match in numbers:
        if (values := possible_values(match.group())) & held:
            continue
        is_rounded = _ABOUT.search(written, max(0, match.start() - ABOUT), match.start())
        pairs = product(values, held) if is_rounded else ()
        sizes = ((a, b) for a, b in pairs if isinstance(a, Decimal) and isinstance(b, Decimal))
        if not any(abs(a - b) <= ROUNDED * max(abs(a), abs(b)) for a, b in sizes):
            yield match.group()


@lru_cache(maxsize=1_024)
def possible_values(written: str) -> frozenset[Decimal | str]:
    """The values that a number may have, since a point or comma may group thousands or mark decimals. A
    version or a date has no value and is compared as text."""
    plain = re.sub(r"['’\u00a0\u202f]", "", written)
    readings = {plain.replace(",", ".")}
    for group, point in ((",", "."), (".", ",")):
        whole, _, part = plain.partition(point)
        if _GROUPED.fullmatch(whole.replace(group, "_")):
            readings.add(f"{whole.replace(group, '')}.{part}")
    values: set[Decimal | str] = set()
    for reading in readings:
        try:
            values.add(Decimal(reading).normalize())
        except InvalidOperation:
            values.add(_LEADING_ZERO.sub("", reading))
    return frozenset(values)


def _missing_quotations(prose: str, squeezed: str) -> Iterator[str]:
    """Quoted words that the source lacks in part; the parts lie between dots of omission."""
    for match in _QUOTATION.finditer(prose):
        words = next(group for group in match.groups() if group)
        parts = re.split(r"\[?(?:\.{3}|…)\]?", words)
        if len(_squeeze(words)) >= QUOTED and not all(_squeeze(part) in squeezed for part in parts):
            yield words


def _missing_identifiers(prose: str, squeezed: str, sources: Sequence[str]) -> Iterator[str]:
    """Words with inner capitals, digits or underscores, which no language inflects. "APIs" is there where "API" is."""
    for word in _IDENTIFIER.findall(prose):
        if not _ODD.search(word) or OWN_NAME.fullmatch(word):
            continue
        single = word[:-1] if _PLURAL.fullmatch(word) else word
        if len(single) <= SHORT:
            begins = re.compile(rf"(?<![A-Za-z])(?i:{re.escape(single)})|(?<=[a-z]){re.escape(single)}")
            is_known = any(begins.search(unicodedata.normalize("NFKC", source)) for source in sources)
        else:
            is_known = _squeeze(word) in squeezed or _squeeze(single) in squeezed
        if not is_known:
            yield word


def _code_lines(block: str) -> Iterator[str]:
    """The lines of code that are long enough to check, without comments, which the writer may add."""
    for line in block.splitlines():
        code = "" if _FENCE.match(line) else _COMMENT.sub("", line).strip()
        if len(_squeeze(code)) >= CODE_LINE:
            yield code
