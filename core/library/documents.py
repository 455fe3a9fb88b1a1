"""Documents and passages, and the queries' scopes and results, as values.

Every offset counts characters into the document's extracted text. For Markdown and
plain text that is the file itself, so a quote can be found with any editor; with blanks for
the tags of site generators, and with the files that it includes in their place.
"""

from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Literal

from core.conversation import Origin, value

ANSWER = "answer:"  # begins the address and the source of an answer that a person gave

BlockKind = Literal["heading", "prose", "item", "code", "table", "markup"]
Unit = Literal["page", "slide", "cell", "sheet"]


@value
class Block:
    """A part of a document that is cut only if it is too long."""

    kind: BlockKind  #: "markup" is text that should not be quoted: directives, comments, rules
    start: int
    end: int
    level: int = 0  #: 1 to 6 for a heading, else 0
    page: int | None = None  #: or slide of a presentation, or cell of a notebook; counts from 1
    row: int | None = None  #: first data row of a table file, or row of a sheet; counts from 1
    is_recognized: bool = False  #: read from a picture of its page


@value
class Piece:
    """A passage before it is in the library: ``document.text[start:end]``."""

    path: tuple[str, ...]  #: headings above it, outermost first, including the document's own
    location: str  #: where a person finds it
    text: str
    start: int
    end: int
    line: int | None = None  #: where it begins in its file, from 1; None: unknown, or its text is another
    words: tuple[str, str] | None = None  #: if it was cut in a worker, its language and terms as indexed


@value
class Document:
    """A source file or page after its text was extracted."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    url: str | None = None
    unit: Unit = "page"  #: what its blocks' ``page`` counts; "sheet": its headings of level 1 are sheets
    pieces: tuple[Piece, ...] | None = None  #: if it was read in a worker, what it was cut into there
    #: Where its sections begin, and their names in its web address, or addresses of their own.
    anchors: tuple[tuple[int, str], ...] = ()
    changed_at: float | None = None  #: seconds since the epoch, as it says itself; None: it does not say
    #: What of it was not read, as "1 of 9 pages is scanned and was not read"; completes "FILE: …".
    unread: str = ""
    labels: tuple[str, ...] = ()  #: of its pages, as they are printed; empty: none are
    has_lines: bool = True  #: whether a line of its text is one of its file; False: others are put into it


@value
class Passage:
    """A retrievable piece of a document."""

    id: str  #: stable while its document does not change
    collection: str
    source: str  #: how a person names the document: path from the indexed folder's name, or URL
    title: str
    path: tuple[str, ...] = ()  #: headings above the passage, outermost first
    location: str  #: heading path, page, rows or lines
    text: str
    start: int
    end: int
    url: str | None = None
    origin: Origin = "documents"
    published: str | None = None
    changed_at: float | None = None  #: of its document, seconds since the epoch; None: unknown

    @property
    def changed_on(self) -> str:
        """The day of its document's last change, in UTC, as ISO 8601 has it; empty: unknown."""
        return "" if self.changed_at is None else day_of(self.changed_at)


def day_of(moment: float) -> str:
    """The day of a moment in UTC, as ISO 8601 has it."""
    return datetime.fromtimestamp(moment, UTC).date().isoformat()


def is_kept(source: str) -> bool:
    """True if a document with this source is an answer that a person gave."""
    return source.startswith(ANSWER)


@value
class Retrieved:
    """A passage and why it was retrieved."""

    passage: Passage
    score: float  #: fused, 0 to 1 within one retrieval
    lexical: float = 0.0  #: BM25, larger is better; 0: not found by words
    dense: float | None = None  #: cosine, None: no vectors


@value
class Scope:
    """The collections that a question may read. An empty set reads nothing."""

    collections: frozenset[str]
    addresses: tuple[str, ...] = ()  #: files, folders or URLs to stay within; empty: no further limit


@value
class Readable:
    """The collections that one question may read."""

    collections: frozenset[str] = frozenset()
    remark: str = ""  #: a sentence: what could not be found out, so that less is read
    may_search: bool = True  #: whether a search of the web may be proposed there


@value
class Retrieval:
    """The passages that were found, and how sure the library is that they answer."""

    passages: tuple[Retrieved, ...] = ()  #: best first
    weights: Mapping[str, float] = field(default_factory=dict)  #: of the query's terms
    confidence: float = 0.0  #: calibrated, 0 to 1
    searched: int = 0  #: passages that could have been found
    languages: tuple[str, ...] = ()  #: of a fair part of these, ISO 639-1


def embedded_text(passage: Passage) -> str:
    """The text of a passage for a network: the title path, then the passage."""
    return "\n".join((" > ".join(dict.fromkeys((passage.title, *passage.path))), passage.text))
