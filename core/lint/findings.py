"""Findings: what may be wrong with the documents, each with the places where it stands."""

import hashlib
from collections.abc import Mapping
from typing import Literal, Self, get_args

from core.conversation import value
from core.library.documents import Passage
from core.text.inline import as_words
from core.text.sentences import split_units

Kind = Literal["contradiction", "drift", "copy", "link", "spelling", "outdated", "single", "private"]
FINDING_KINDS: tuple[Kind, ...] = get_args(Kind)

#: What each kind is, as people read it.
TITLES: Mapping[Kind, str] = {
    "contradiction": "Two places that differ",
    "drift": "Copies that drifted apart",
    "copy": "The same text twice",
    "link": "Dead links",
    "spelling": "Two spellings",
    "outdated": "Pages older than what cites them",
    "single": "Answers that hang on one passage",
    "private": "Private words that everybody reads",
}

#: What a model said of two places; empty: it was not asked.
Verdict = Literal["", "contradiction", "scope", "same"]


@value
class QuotedPlace:
    """A part of a document."""

    document: int  #: id in the store: another one after each change
    collection: str
    source: str
    title: str
    path: tuple[str, ...] = ()
    url: str | None = None
    line: int | None = None  #: of the file, from 1; None: unknown
    start: int = 0  #: characters into the document's text
    end: int = 0
    quote: str = ""  #: verbatim; of a secret, with all but its beginning masked

    @property
    def where(self) -> str:
        """The place for people: "handbook/leave.md:12 (Leave > Sick leave)"."""
        at = self.source if self.line is None else f"{self.source}:{self.line}"
        headings = " > ".join(self.path)
        return f"{at} ({headings})" if headings else at


@value
class LintFinding:
    """Something that may be wrong."""

    kind: Kind
    why: str  #: a sentence
    places: tuple[QuotedPlace, ...]  #: one or two
    changes: tuple[tuple[str, str], ...] = ()  #: of a drift: what each of the places says; empty: nothing
    about: str = ""  #: what tells it from others of the same places, as a word
    is_sure: bool = True  #: False: it counts only if a model says so
    verdict: Verdict = ""
    found_at: float = 0.0  #: seconds since the epoch, when it was found first

    @property
    def id(self) -> str:
        """The same as long as the words are: a baseline holds these."""
        said = [each for change in self.changes for each in change] or [each.quote for each in self.places]
        if len(self.places) == 1:
            said.append(self.places[0].source)
        parts = sorted(" ".join(each.casefold().split()) for each in said)
        return hashlib.sha256("\x1f".join((self.kind, self.about, *parts)).encode()).hexdigest()[:12]

    @property
    def is_shown(self) -> bool:
        return self.verdict == "contradiction" or (self.is_sure and not self.verdict)

    @property
    def collections(self) -> frozenset[str]:
        """Whoever reads it must be allowed to read all of these."""
        return frozenset(each.collection for each in self.places)


@value
class PassageSentence:
    """A sentence of a passage, or of a list in it; code, tables and headings are none."""

    start: int  #: characters into the passage
    end: int
    shown: str  #: without the marks of Markdown, and with straight apostrophes
    is_item: bool  #: of a list


@value
class Reading:
    """A passage as the linter reads it."""

    document: int
    passage: Passage
    line: int | None  #: of its file, on which it begins
    sentences: tuple[PassageSentence, ...]

    @classmethod
    def of(cls, document: int, passage: Passage, line: int | None) -> Self:
        sentences = tuple(
            PassageSentence(
                start=unit.start, end=unit.end, is_item=unit.kind == "item",
                shown=as_words(passage.text[unit.start : unit.end]).replace("’", "'"),
            )
            for unit in split_units(passage.text)
            if unit.kind in ("sentence", "item")
        )  # fmt: skip
        return cls(document=document, passage=passage, line=line, sentences=sentences)

    @property
    def headings(self) -> str:
        return " ".join((self.passage.title, *self.passage.path))

    def place(self, start: int, end: int) -> QuotedPlace:
        """The place of a part of the passage."""
        passage, text = self.passage, self.passage.text
        return QuotedPlace(
            document=self.document, collection=passage.collection, source=passage.source, title=passage.title,
            path=passage.path, url=passage.url, start=passage.start + start, end=passage.start + end,
            line=None if self.line is None else self.line + text.count("\n", 0, start), quote=text[start:end],
        )  # fmt: skip
