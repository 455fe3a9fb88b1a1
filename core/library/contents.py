"""The sections of a document, and the passages of a section, of a page, or with a phrase."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from core.conversation import value
from core.library.documents import Passage
from core.text.terms import terms

_PAGES = re.compile(r"\A(?:page|slide|cell)s? (\d+)(?:-(\d+))?")
_PRINTED = re.compile(r"\(printed (\d+)(?: to (\d+))?\)")
_SIGNS = re.compile(r"\W+")


@value
class Heading:
    """A heading of a document."""

    path: tuple[str, ...]  #: with the headings above it, outermost first
    pages: str = ""  #: where it begins, as "page 61"; empty: the document has no pages


@value
class Contents:
    """A document and its sections."""

    address: str
    source: str  #: how people name it
    title: str
    sections: tuple[Heading, ...]  #: in reading order
    passages: frozenset[str] = frozenset()  #: ids of those among the found ones that are of it

    def select(
        self, wanted: Collection[str], seen: Collection[tuple[str, ...]], limit: int
    ) -> list[tuple[int, Heading]]:
        """Sections with their numbers from 1: those ``seen``, those with the rarest terms, the outermost."""
        numbered = list(enumerate(self.sections, start=1))
        if len(numbered) <= limit:
            return numbered
        held = {number: {*terms(section.path[-1])} & {*wanted} for number, section in numbered}
        counts = Counter(chain.from_iterable(held.values()))

        def order(each: tuple[int, Heading]) -> tuple[bool, float, int, int]:
            number, section = each
            rarity = sum(1 / counts[term] for term in held[number])
            return section.path not in seen, -rarity, len(section.path), number

        return sorted(sorted(numbered, key=order)[:limit], key=itemgetter(0))


def contents_from(
    rows: Iterable[tuple[int, str, str, str, tuple[str, ...], str]], found: Mapping[int, Collection[str]]
) -> list[Contents]:
    """Contents of documents in the order of ``found``, ids by document. ``rows``: each passage, in reading order."""
    names: dict[int, tuple[str, str, str]] = {}
    sections: defaultdict[int, dict[tuple[str, ...], Heading]] = defaultdict(dict)
    for number, address, source, title, path, location in rows:
        names[number] = address, source, title
        pages = _PAGES.match(location)
        if path:
            sections[number].setdefault(path, Heading(path=path, pages=pages[0] if pages else ""))
    return [
        Contents(
            address=address, source=source, title=title, passages=frozenset(ids),
            sections=tuple(sections[number].values()),
        )
        for number, ids in found.items()
        if number in names
        for address, source, title in (names[number],)
    ]  # fmt: skip


def in_section(passages: Iterable[Passage], path: Sequence[str]) -> list[Passage]:
    """The passages below a heading."""
    return [each for each in passages if each.path[: len(path)] == tuple(path)]


def on_page(passages: Iterable[Passage], number: int) -> list[Passage]:
    """The passages that stand on a page, or on a slide, at least in part; counted, or as printed."""

    def is_there(location: str) -> bool:
        spans = (span for pattern in (_PAGES, _PRINTED) for span in pattern.findall(location)[:1])
        return any(int(first) <= number <= int(last or first) for first, last in spans)

    return [each for each in passages if is_there(each.location)]


def holding(passages: Sequence[Passage], phrase: str) -> list[Passage]:
    """The passages with these words one after the other; where none has them so, those with all of them."""
    wanted = _plain(phrase)
    if not wanted.strip():
        return []
    exact = [each for each in passages if wanted in _plain(f"{' '.join(each.path)} {each.text}")]
    words = frozenset(terms(phrase))
    return exact or [each for each in passages if words and words <= frozenset(terms(each.text))]


def _plain(text: str) -> str:
    return f" {_SIGNS.sub(' ', text.casefold()).strip()} "
