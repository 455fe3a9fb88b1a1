"""The names of documents, and the documents that a question means by theirs.

A handbook for each country and a report for each year say the same in the same words: what tells them apart is
their name, which most of their passages never say. A document is called by the words of its path and title, by
the years and versions on which it opens, and by the proper names that it repeats most; a word of its path or title
is a name where its own text writes it with a capital. A question that uses some of these means the documents that
bear most of them, and what nearly all documents bear tells none apart. Nothing is left out by it: what is meant is looked at more closely, and ranks higher.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log

from core.library.documents import Piece, Scope
from core.library.readers import scope_condition
from core.storage.database import Connection, Database, among
from core.text.sentences import STOP_WORDS
from core.text.terms import terms

OPENING = 1_500  # characters on which a document opens: a cover, or the head of a page
SAID = 0.5  # how much a name counts that only the text says, beside one of the path or title
REPEATED, TIMES = 8, 5  # proper names taken from the whole text at most, and how often each is in it at least
CAPITAL = 9  # times as often as small a proper name has a capital, within sentences
SHORT = 3  # passages of a document that says what it is called in them
FOLDERS = 2  # of the path, beside the name of the file
NAME_LIMIT = 40  # characters of a name
ASKED = 40  # names of a question that are looked up
MEANT = 8  # documents that are searched on their own; of more, a question names none in particular
SHARED = 0.5  # share of the documents that may bear a name; one that more bear tells too little apart

#: The table of names. Names of one document go with it.
TABLES = """
CREATE TABLE IF NOT EXISTS document_names (
    name TEXT NOT NULL,      -- a folded and stemmed word, a year, a quarter, a version
    document INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    weight REAL NOT NULL,    -- 0 to 1: how surely the document is called so
    PRIMARY KEY (name, document)
);
CREATE INDEX IF NOT EXISTS document_names_of ON document_names (document);
"""

_CENTURY = 20
_FISCAL = re.compile(
    r"(?i)\b(?:FY|fiscal(?:\s+year)?|CY|GJ)\s*['’]?(\d{4}|\d{2})(?:\s*[/-]\s*(\d{4}|\d{2}))?(?!\d)"
)
_YEARS = re.compile(r"(?<![\d.,$€£])((?:19|20)\d\d)(?:\s*[/–-]\s*(\d{4}|\d{2}))?(?![\d%]|[.,]\d)")
_QUARTER = re.compile(r"(?i)\bQ([1-4])(?:\b|(?=\d{2,4}\b))|\b(first|second|third|fourth)[\s-]+quarter\b")
_VERSION = re.compile(r"(?i)(?<![\w.,$€£])v?(\d{1,4}(?:\.\d{1,4}){1,3})(?![\w%]|\.\d)|\bv(\d{1,4})\b")
_PROPER = re.compile(r"(?<![\w'’])[A-Z][\w&]+")
_PLAIN = re.compile(r"(?<![\w'’])[a-z]\w+")
_SENTENCE_BEGINS = re.compile(r"(?:[.!?:•]|\n|^)[\s\"“(*#>|_-]*$")
_SPACES = re.compile(r"[_\W]+")
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}


def names_of(source: str, title: str, pieces: Sequence[Piece]) -> dict[str, float]:
    """The names of a document, with how surely it is called so."""
    if len(pieces) <= SHORT:
        return {}
    path = source.removesuffix("/").rsplit("/", FOLDERS + 1)[-FOLDERS - 1 :]
    stem, _, ending = path[-1].rpartition(".")
    if stem and ending.isalnum() and not ending.isdigit():  # "manual 2.3" has no ending
        path[-1] = stem
    proper, plain = _proper_words(pieces)
    opening = "\n".join(piece.text for piece in pieces[:4])[:OPENING]
    texts = (*path, title, " ".join(pieces[0].path[:1]))
    often = Counter({word: count for word, count in proper.items() if count > CAPITAL * plain[word]})
    said = {word for word in _words(opening) if often[word] >= TIMES}
    # Of words that stand there as often, the same ones in every process.
    most = sorted(often.items(), key=lambda each: (-each[1], each[0]))[:REPEATED]
    said |= {word for word, count in most if count >= TIMES}
    shown = {word for each in _PROPER.findall(opening) for word in _words(each)}
    words = {word for text in texts for word in _words(text)}
    called = {word for word in words if often[word] or (word in shown and not plain[word])}
    sure = called.union(*map(_times, texts))
    return dict.fromkeys(said | _times(opening), SAID) | dict.fromkeys(sure, 1.0)


def names_in(question: str) -> list[str]:
    """The words by which a question may name documents."""
    return sorted(_times(question) | _words(question))[:ASKED]


def _words(text: str) -> set[str]:
    """Its words as they are compared; numbers are names only as years and versions."""
    found = {word for part in _SPACES.split(text) if part for word in terms(part)} - STOP_WORDS
    return {word for word in found if 1 < len(word) <= NAME_LIMIT and not word.isdigit()}


def _times(text: str) -> set[str]:
    """Years, quarters and versions."""
    spaced = text.replace("_", " ")
    years = [match.groups() for pattern in (_FISCAL, _YEARS) for match in pattern.finditer(spaced)]
    quarters = {_ORDINALS.get((word or "").lower()) or number for number, word in _QUARTER.findall(spaced)}
    found = {each if len(each) == 4 else f"{_CENTURY}{each}" for pair in years for each in pair if each}
    found |= {f"q{each}" for each in quarters}
    for version in {dotted or whole for dotted, whole in _VERSION.findall(spaced)}:
        parts = version.split(".")  # 2.3.1 is one of 2.3
        found |= {f"v{'.'.join(parts[:count])}" for count in range(min(2, len(parts)), len(parts) + 1)}
    return found


def _proper_words(pieces: Sequence[Piece]) -> tuple[Counter[str], Counter[str]]:
    """Counts of each word with a capital within a sentence, and of each in small letters."""
    proper: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for piece in pieces:
        for match in _PROPER.finditer(piece.text):
            if not _SENTENCE_BEGINS.search(piece.text, max(0, match.start() - 8), match.start()):
                proper[match[0]] += 1
        plain.update(_PLAIN.findall(piece.text))
    return _stem(proper), _stem(plain)


def _stem(counts: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for each in _words(word):
            found[each] += count
    return found


@dataclass(frozen=True, slots=True)
class Meant:
    """Documents that a question names."""

    likeness: Mapping[tuple[str, str], float]  #: by (collection, source): 0 to 1, how surely it is called so
    addresses: tuple[str, ...] = ()  #: to search on their own; empty: none in particular
    terms: frozenset[str] = frozenset()  #: by which they are surely named, as the index has them


NONE_MEANT = Meant({})


def put(writing: Connection, document: int, names: Mapping[str, float]) -> None:
    writing.executemany(
        "INSERT INTO document_names (name, document, weight) VALUES (?, ?, ?)",
        ((name, document, weight) for name, weight in names.items()),
    )


def find_meant(database: Database, question: str, scope: Scope, *, own: str = "") -> Meant:
    """The documents that a question names. ``own``: its last words: "and the 2022 one?" means another."""
    asked = names_in(question)
    if not asked:
        return NONE_MEANT
    where, values = scope_condition(database.dialect, scope)
    condition, wanted = among(database.dialect, asked, "text")
    scoped = "FROM documents d JOIN collections c ON c.number = d.collection"
    found = database.rows(
        "WITH bearing AS (SELECT c.name AS collection, d.source, d.address, n.name, n.weight,"
        f" count(*) OVER (PARTITION BY n.name) AS times {scoped}"
        f" JOIN document_names n ON n.document = d.id WHERE n.name {condition} AND {where}),"
        f" scoped AS (SELECT count(*) AS total {scoped} WHERE {where})"
        " SELECT collection, source, address, name, weight, times, total FROM bearing, scoped"
        f" WHERE times = 1 OR times <= {SHARED} * total",
        (wanted, *values, *values),
    )
    if not found:
        return NONE_MEANT
    rarity = {name: log((total + 1) / times) for *_, name, _, times, total in found}
    return choose_meant((row[:5] for row in found), rarity, frozenset(names_in(own)))


def choose_meant(
    bearing: Iterable[tuple[str, str, str, str, float]],
    rarity: Mapping[str, float],
    own: frozenset[str] = frozenset(),
) -> Meant:
    """``bearing``: (collection, source, address, name, weight). Of two documents, one that bears all names of the
    other and more is meant rather than that one; so a question that compares two means both. Documents with
    more of the names that are ``own`` are meant rather than others.
    """
    addresses: dict[tuple[str, str], str] = {}
    worth: dict[tuple[str, str], dict[str, float]] = {}
    sure: dict[tuple[str, str], set[str]] = {}  # what it is surely called
    for collection, source, address, name, weight in bearing:
        addresses[collection, source] = address
        worth.setdefault((collection, source), {})[name] = rarity[name] * weight
        sure.setdefault((collection, source), set()).update({name} if weight == 1.0 else ())
    newly = {key: fsum(names[name] for name in own & names.keys()) for key, names in worth.items()}
    enough = SHARED * max(newly.values(), default=0.0)
    sets = {key: frozenset(names) for key, names in worth.items() if newly[key] >= enough}
    sums = {key: fsum(worth[key].values()) for key in sets}
    every = frozenset(sets.values())
    largest = frozenset(some for some in every if not any(some < other for other in every))
    best = max(sums.values(), default=0.0)
    first = sorted((key for key in sums if sets[key] in largest), key=lambda key: -sums[key])
    likely = [key for key in first if sums[key] >= SHARED * best]
    if len(likely) > MEANT:
        return NONE_MEANT
    names = frozenset[str]().union(*(sure[key] for key in likely))
    return Meant(
        likeness={key: sums[key] / fsum(rarity[name] for name in sets[key]) for key in likely},
        addresses=tuple(addresses[key] for key in likely),
        terms=names | {number for name in names for number in re.findall(r"\d+", name)},
    )
