"""Words with two spellings: "e-mail" and "email", "GitHub" and "Github", "HRLinks" and "HR Links".

Both must be used in several documents. What only begins with a capital, or is code, is no other spelling.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from core.lint.findings import LintFinding, QuotedPlace, Reading
from core.text.inline import without_code

DOCUMENTS = 3  # in which the rarer spelling stands at least
SHORTEST = 4  # letters and digits
INNER = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|\A[A-Z][a-z]+[A-Z]")
ACRONYM = re.compile(r"[A-Z]+s?")
_WORD = re.compile(r"(?<![\w@#/.:\\-])[^\W\d_][\w]*(?:-[^\W_]\w*)?(?![\w@/\\]|[.:-]\w)")


def spellings(readings: Iterable[Reading]) -> Iterator[LintFinding]:
    """The words with two spellings, in the order of the alphabet."""
    seen: dict[str, dict[str, dict[int, QuotedPlace]]] = defaultdict(lambda: defaultdict(dict))
    for reading in readings:
        for sentence in reading.sentences:
            for form in _forms(without_code(sentence.shown)):
                places = seen[form.replace(" ", "").replace("-", "").lower()][form]
                if reading.document not in places:
                    places[reading.document] = reading.place(sentence.start, sentence.end)
    for key in sorted(seen):
        if len(key) >= SHORTEST and len(seen[key]) > 1:
            yield from _find(seen[key])


def _forms(prose: str) -> Iterator[str]:
    """Its words, and pairs of words with capitals."""
    before: re.Match[str] | None = None
    for word in _WORD.finditer(prose):
        yield word[0]
        if (
            before
            and before.end() + 1 == word.start()
            and all(each[0][0].isupper() for each in (before, word))
        ):
            yield f"{before[0]} {word[0]}"
        before = word


def _find(forms: Mapping[str, Mapping[int, QuotedPlace]]) -> Iterator[LintFinding]:
    """The rarer spellings of a word beside the most frequent one."""
    names = {form for form in forms if INNER.search(form) and " " not in form and not ACRONYM.fullmatch(form)}
    found: dict[str, dict[int, QuotedPlace]] = defaultdict(dict)
    for form, places in forms.items():
        # Beside a name with a capital inside, other ways with capitals count; a capital at the beginning is that of
        # a sentence or a heading.
        if form in names or (names and form[0].isupper() and "-" not in form and not ACRONYM.fullmatch(form)):
            found[form] |= places
        elif not names and " " not in form:
            found[form.lower()] |= places
    first, *others = sorted(found, key=lambda form: (-len(found[form]), form)) or [""]
    for form in others:
        if len(found[form]) >= DOCUMENTS:
            both = (next(iter(found[form].values())), next(iter(found[first].values())))
            why = f"“{first}” stands in {len(found[first]):,} documents and “{form}” in {len(found[form]):,}."
            yield LintFinding(kind="spelling", why=why, places=both, about=form)
