"""The results of the tools: structured content of a fixed form, and the same as text."""

from collections.abc import Mapping
from typing import Literal

from mcp_types import CallToolResult, ContentBlock, ResourceLink, TextContent
from pydantic import BaseModel, ConfigDict, Field

from bots.chat.texts import page_of, text_of
from bots.record import iso
from core.conversation import Citation, Outcome, OutcomeKind
from core.library.entries import Entry
from core.library.passage_search import Hits
from core.library.readers import base_of

DOCUMENTS = "footnote://documents/"  # begins the address of a document
DocumentNumbers = Mapping[tuple[str, str], int]  # by collection and source
TEXT_LIMIT = 120  # characters of a document's name in a link


class CitedQuote(BaseModel):
    """A quote that stands word for word in its source, and its location."""

    number: int = Field(description="As in the text's [n]")
    title: str
    location: str = Field(description="Heading, page, rows or lines where a person finds it")
    source: str
    url: str | None
    quote: str
    start: int = Field(description="Characters into the document's text, as the resource has it")
    end: int
    origin: Literal["documents", "web"]
    changed_at: str | None = Field(description="When the document was last changed, ISO 8601")
    document: str | None = Field(default=None, description="The document's resource")


class ApprovalNeeded(BaseModel):
    """A web search that waits for a person."""

    proposal_id: str
    query: str = Field(description="Exactly what would be sent")
    engine: str
    reason: str
    expires_at: str | None = Field(
        default=None, description="Until when it can be decided, ISO 8601; null: for ever"
    )


class AskResult(BaseModel):
    """The outcome of a question."""

    model_config = ConfigDict(extra="forbid")

    outcome: OutcomeKind
    text: str = Field(description="The answer, or why there is none, in Markdown with [n] for citations")
    citations: list[CitedQuote]
    closest: list[CitedQuote] = Field(description="Without an answer, the nearest passages")
    confidence: float = Field(description="How sure the documents answer the question, 0 to 1")
    sure: bool | None = Field(description="False: a quote that may be the answer")
    missing: str = Field(description="What of the question the sources do not answer; empty: nothing")
    left_out: list[str] = Field(description="Sentences that were drafted and that the sources do not support")
    unsettled: list[str] = Field(description="Sentences of the text, marked (?), that no check settled")
    approval_needed: ApprovalNeeded | None
    thread: str = Field(description="Give it back to follow up")
    turn: str


class FoundPassage(BaseModel):
    title: str
    location: str
    source: str
    url: str | None
    text: str = Field(description="Verbatim from the document")
    start: int
    end: int
    changed_at: str | None
    score: float = Field(description="0 to 1 within this search")
    document: str


class SearchResult(BaseModel):
    passages: list[FoundPassage]
    confidence: float = Field(description="How sure the documents answer this, 0 to 1")


class SourceDocument(BaseModel):
    title: str
    source: str
    collection: str
    url: str | None
    passages: int
    changed_at: str | None
    document: str


class SourcesResult(BaseModel):
    documents: list[SourceDocument]
    total: int = Field(description="How many there are, of which `documents` may be the first ones")


def answered(outcome: Outcome, *, thread: str, engine: str, documents: DocumentNumbers) -> CallToolResult:
    """The result of ``ask`` and ``decide``; ``documents``: the numbers of those that are cited."""
    answer, proposal = outcome.answer, outcome.proposal
    result = AskResult(
        outcome=outcome.kind, text=text_of(outcome, engine=engine), confidence=outcome.confidence,
        citations=[_cited(each, documents) for each in answer.citations] if answer else [],
        closest=[] if answer else [_cited(each, documents) for each in outcome.closest],
        sure=answer.is_sure if answer else None, missing=answer.missing if answer else "",
        left_out=[each.text for each in answer.left_out] if answer else [],
        unsettled=list(answer.unsettled) if answer else [],
        approval_needed=ApprovalNeeded(
            proposal_id=proposal.id, query=proposal.query, engine=engine, reason=proposal.reason,
            expires_at=iso(proposal.expires_at) if proposal.expires_at else None,
        )
        if proposal and proposal.is_open
        else None,
        thread=thread, turn=outcome.turn_id,
    )  # fmt: skip
    cited = {each.document: each.title or each.source for each in (*result.citations, *result.closest)}
    links = [_link(uri, title) for uri, title in cited.items() if uri]
    return _result(page_of(outcome, engine=engine), result, links, is_error=outcome.kind == "failed")


def found(hits: Hits) -> CallToolResult:
    passages = [
        FoundPassage(
            **{
                name: getattr(hit.citation, name)
                for name in ("title", "location", "source", "url", "start", "end")
            },
            text=hit.citation.quote,
            changed_at=iso(hit.citation.changed_at),
            score=round(hit.score, 4),
            document=f"{DOCUMENTS}{hit.document}",
        )
        for hit in hits.hits
    ]
    text = "\n\n".join(
        f"{number}. {passage.title} · {passage.location} · {passage.source}{f' · {passage.url}' if passage.url else ''}"
        f"\n{passage.text}"
        for number, passage in enumerate(passages, 1)
    )
    links = [_link(uri, title) for uri, title in {each.document: each.title for each in passages}.items()]
    result = SearchResult(passages=passages, confidence=hits.confidence)
    return _result(text or "Nothing was found in the documents.", result, links)


def listed(entries: list[Entry], total: int) -> CallToolResult:
    documents = [
        SourceDocument(
            title=each.title, source=each.source, collection=base_of(each.collection), url=each.url,
            passages=each.passages, changed_at=iso(each.changed_at), document=f"{DOCUMENTS}{each.id}",
        )
        for each in entries
    ]  # fmt: skip
    lines = [f"{each.collection}: {each.title} · {each.source} ({each.document})" for each in documents]
    more = [f"… and {total - len(entries)} more"] if total > len(entries) else []
    result = SourcesResult(documents=documents, total=total)
    return _result("\n".join(lines + more) or "No documents that you may read.", result)


def refused(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=sentence)], is_error=True)


def _result(
    text: str, structured: BaseModel, links: list[ContentBlock] | None = None, *, is_error: bool = False
) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=text), *(links or ())],
        structured_content=structured.model_dump(mode="json"),
        is_error=is_error,
    )


def _cited(citation: Citation, documents: DocumentNumbers) -> CitedQuote:
    names = ("number", "title", "location", "source", "url", "quote", "start", "end", "origin")
    number = documents.get((citation.collection, citation.source))
    return CitedQuote(
        **{name: getattr(citation, name) for name in names},
        changed_at=iso(citation.changed_at),
        document=None if number is None else f"{DOCUMENTS}{number}",
    )


def _link(uri: str, title: str) -> ContentBlock:
    return ResourceLink(uri=uri, name=title[:TEXT_LIMIT], mime_type="text/plain")
