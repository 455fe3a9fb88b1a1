"""The way of the graph to an outcome, as a value that is stored beside the question.

A trace quotes nothing of the documents: it says where a passage stands, and whoever may read it looks there. So
a document that changes or is forgotten takes its words along. Only what models were sent and said has such words; it
is kept where the operator wants it (``TRACE_TEXTS``), and goes when one of the documents is forgotten.
"""

import json
import zlib
from dataclasses import asdict, field, replace
from functools import cache
from typing import Any, cast

from core.conversation import ModelExchange, Origin, Outcome, value

FORMAT = 1  # of the stored bytes; a trace of a newer one is not read


@value
class Step:
    """One run of a node."""

    node: str
    began_ms: float  #: since the turn began
    ms: float
    calls: int = 0  #: of models, within it
    input_tokens: int = 0
    output_tokens: int = 0
    #: for an answer after it, logarithmic, by kind of verdict
    odds: dict[str, float] = field(default_factory=dict)


@value
class TracedPassage:
    """A passage that was looked at."""

    id: str
    collection: str
    source: str
    title: str
    location: str
    start: int  #: characters into the source's extracted text
    end: int
    url: str | None = None
    origin: Origin = "documents"
    score: float = 0.0
    lexical: float = 0.0
    dense: float | None = None
    verdict: str = ""  #: of the judge; empty: none
    evidence: tuple[int, ...] = ()  #: its sentences that help, counted from 1


@value
class TracedStrip:
    """A strip that the writer read."""

    number: int  #: as a draft cites it
    passage: str  #: its id
    start: int
    end: int


@value
class TracedSentence:
    """A sentence of a draft and its check."""

    text: str
    cites: tuple[int, ...] = ()
    doubts: tuple[str, ...] = ()  #: what code found odd
    votes: int = 0
    against: int = 0  #: votes that found it unsupported
    is_cut: bool = False
    reason: str = ""  #: why it was cut


@value
class TracedDraft:
    """A draft as it was checked."""

    sentences: tuple[TracedSentence, ...]
    strips: tuple[TracedStrip, ...]  #: that it was written from
    useful: tuple[bool, ...] = ()  #: one verdict for each vote


@value
class TracedCitation:
    """A footnote, or one of the closest passages; ``number`` is 0 for those."""

    number: int
    title: str
    location: str
    source: str
    start: int
    end: int
    collection: str = ""
    url: str | None = None
    origin: Origin = "documents"
    quote: str = ""  #: of a web page only, which is kept nowhere else


@value
class Trace:
    """The way of one turn, and what it ended with."""

    policy: str = ""  #: empty: the graph did not run it
    collections: tuple[str, ...] = ()  #: that the turn might read; empty: unknown
    question: str = ""  #: in the person's own words; of a decision, the question that it is about
    about: str = ""  #: of a decision, the turn that proposed the search
    text: str = ""  #: of the answer, with its markers
    reason: str = ""
    proposed: str = ""  #: the web query that waits for a decision
    left_out: tuple[str, ...] = ()  #: sentences of the draft that were not shown
    citations: tuple[TracedCitation, ...] = ()
    standalone: str = ""  #: the question as it was understood
    route: str = ""
    queries: tuple[str, ...] = ()  #: that were looked for, in order
    missing: str = ""  #: what a judge said is missing
    steps: tuple[Step, ...] = ()
    passages: tuple[TracedPassage, ...] = ()  #: best first
    #: The sources that its words may come from, what was said before included.
    documents: tuple[str, ...] = ()
    drafts: tuple[TracedDraft, ...] = ()
    exchanges: tuple[ModelExchange, ...] = ()  #: with the models, if they are kept; stored beside it


def pack(trace: Trace) -> bytes:
    """The stored form of a trace, without its exchanges: JSON, compressed."""
    record = {"format": FORMAT, **asdict(replace(trace, exchanges=()))}
    del record["exchanges"]
    return zlib.compress(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())


def pack_exchanges(trace: Trace) -> bytes:
    return zlib.compress(json.dumps([asdict(each) for each in trace.exchanges], ensure_ascii=False).encode())


def unpack_exchanges(stored: bytes) -> tuple[ModelExchange, ...]:
    return tuple(
        ModelExchange(**{**each, "messages": tuple((who, words) for who, words in each["messages"])})
        for each in json.loads(zlib.decompress(stored))
    )


def record_of(stored: bytes) -> dict[str, Any] | None:
    """The fields of a trace as JSON has them; None for one that a newer version wrote."""
    record: dict[str, Any] = json.loads(zlib.decompress(stored))
    return record if record.pop("format") <= FORMAT else None


def unpack(stored: bytes) -> Trace | None:
    """The trace; None for one that a newer version wrote."""
    record = record_of(stored)
    return None if record is None else cast("Trace", _reader().validate_python(record))


@cache
def _reader() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Trace)


def with_outcome(trace: Trace, outcome: Outcome) -> Trace:
    """The trace, with what the person was shown."""
    answer = outcome.answer
    cited = answer.citations if answer else ()
    known = {citation.source for citation in cited}
    closest = (replace(one, number=0) for one in outcome.closest if one.source not in known)
    return replace(
        trace,
        text=answer.text if answer else "",
        reason=outcome.reason or "",
        proposed=outcome.proposal.query if outcome.proposal else "",
        collections=tuple(dict.fromkeys((*trace.collections, *outcome.collections))),
        documents=outcome.documents,
        left_out=tuple(omission.text for omission in answer.left_out) if answer else (),
        citations=tuple(
            TracedCitation(
                number=each.number, title=each.title, location=each.location, source=each.source, start=each.start,
                end=each.end, collection=each.collection, url=each.url, origin=each.origin,
                quote=each.quote if each.origin == "web" else "",
            )
            for each in (*cited, *closest)
        ),
    )  # fmt: skip


def sources_of(trace: Trace) -> set[str]:
    """The documents whose words may stand in the texts of a trace."""
    sources = {passage.id: passage.source for passage in trace.passages}
    strips = [strip for draft in trace.drafts for strip in draft.strips]
    read = {sources[strip.passage] for strip in strips if strip.passage in sources}
    sent = {*sources.values(), *trace.documents} if trace.exchanges else set()
    return read | sent | {citation.source for citation in trace.citations}
