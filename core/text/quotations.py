"""What a text puts in quotation marks: whoever cites a source for it promises the source's own words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from core.text.inline import as_words, code_spans
from core.text.sentences import split_units
from core.text.terms import terms

_CURLY = re.compile(r"[“„«»]([^“”„«»]*)(?:[”“»«]|\Z)")
_CLOSED_ONLY = re.compile(r"\A([^“”„«»]*)[”»]")  # a quotation of two sentences, seen from its second
_SINGLE = re.compile(r"(?<!\w)[‘'](?!s\b)((?:[^‘’'\n]|(?<=\w)[’'](?=\w))*)[’'](?!\w)")
_STRAIGHT_CLOSING = re.compile(r"\A[^\"]*[^\s\"(\[]\"(?!\w)")
_MARKS = re.compile(r"[\"“”„«»‘’'`*]|(?<!\w)_|_(?!\w)")
_IN_CODE = re.compile(r"[`\"'‘’“”„«»]")
_DASHES = re.compile(r"\s*[‐‑‒–—]\s*")
_BEFORE_STOP = re.compile(r" (?=[.,;:!?])")
_GAP = re.compile(r"\s*(?:\[\s*)?(?:\.{3}|…)(?:\s*\])?\s*")
_ENDS = ".,;:!? "
SINGLE_WORDS = 3  # words between single marks that make a quotation; fewer may be an apostrophe's doing


def missing_quotations(claim: str, sources: Sequence[str]) -> list[str]:
    """Quotations of the claim that stand in none of the sources as they are; a gap may skip words of one sentence.

    A single word need not have the same ending.
    """
    return [words for words in dict.fromkeys(quotations_in(claim)) if not _is_said(words, sources)]


def is_verbatim(words: str, sources: Sequence[str]) -> bool:
    """Whether one of the sources says this, marks and line breaks apart."""
    wanted = _flat(words).strip(_ENDS)
    return any(_stands_in(wanted, _flat(source)) for source in sources)


def quotations_in(text: str) -> Iterator[str]:
    """What stands between quotation marks, or before or behind a lone one, in no set order; not those of code."""
    text = _without_marks_of_code(as_words(text))
    found = [match[1] for pattern in (_CURLY, _CLOSED_ONLY) for match in pattern.finditer(text)]
    found += [match[1] for match in _SINGLE.finditer(text) if len(match[1].split()) >= SINGLE_WORDS]
    pieces = text.split('"')
    begins_within = len(pieces) % 2 == 0 and bool(_STRAIGHT_CLOSING.match(text))
    found += pieces[0 if begins_within else 1 :: 2]
    yield from (words.strip() for words in found if re.search(r"\w", words))


def _without_marks_of_code(text: str) -> str:
    parts, position = [], 0
    for start, end in code_spans(text):
        parts += [text[position:start], _IN_CODE.sub("", text[start:end])]
        position = end
    return "".join((*parts, text[position:]))


def _is_said(words: str, sources: Sequence[str]) -> bool:
    if is_verbatim(words, sources):
        return True
    if len(words.split()) == 1:
        said = terms(words)
        return any(set(said) <= set(terms(source)) for source in sources)
    parts = [_flat(part).strip(_ENDS) for part in _GAP.split(words)]
    return len(parts) > 1 and any(_stand_in_order(parts, sentence) for sentence in _sentences(sources))


def _sentences(sources: Sequence[str]) -> Iterator[str]:
    for source in sources:
        yield from (_flat(source[unit.start : unit.end]) for unit in split_units(source))


def _stand_in_order(parts: Sequence[str], sentence: str) -> bool:
    position = 0
    for part in filter(None, parts):
        found = _found(part, sentence, position)
        if found is None:
            return False
        position = found.end()
    return True


def _flat(text: str) -> str:
    plain = _DASHES.sub("-", _MARKS.sub("", as_words(unicodedata.normalize("NFKC", text))))
    return _BEFORE_STOP.sub("", " ".join(plain.split())).casefold()


def _stands_in(words: str, text: str) -> bool:
    return _found(words, text) is not None


def _found(words: str, text: str, position: int = 0) -> re.Match[str] | None:
    before = r"(?<!\w)" if words[:1].isalnum() else ""
    after = r"(?!\w)" if words[-1:].isalnum() else ""
    return re.compile(before + re.escape(words) + after).search(text, position)
