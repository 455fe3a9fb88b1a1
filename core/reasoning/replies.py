"""The shapes that a chat model must reply in, and what is kept of such a reply.

A model may return anything. Numbers that name nothing are dropped, texts are cut to a length
and freed of characters that do not show, and a route that lacks its words becomes a search.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.conversation import QUERY_LIMIT, QUESTION_LIMIT
from core.library.documents import Retrieved
from core.reasoning import faults
from core.reasoning.faults import CallFailed
from core.reasoning.reasoner import (
    SPEAKING,
    Ask,
    Grade,
    Grades,
    Grounded,
    Plan,
    Relevance,
    Route,
    Statement,
    Strip,
)
from core.text.characters import one_line
from core.text.sentences import split_sentences

_LACKING = re.compile(r"\W*(\d{1,4})\W+(.+)", re.DOTALL)

QUERIES = 3  # further searches of one plan
REPLY_LIMIT = 600  # characters of a conversational reply or of a question asked back
OPTIONS = 4  # readings to choose from
OPTION_LIMIT = 70  # characters; fits a button
LACKING_LIMIT = 200  # characters of what a sentence lacks

REFUSALS = frozenset(
    # Gemini's finish reasons, then those of other providers, in capitals
    (
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "CONTENT_FILTER",
        "REFUSAL",
    )
)
CUT_OFF = frozenset({"MAX_TOKENS", "LENGTH"})


def _slim(schema: dict[str, Any]) -> None:
    """A schema without the titles of fields, and with every one asked for: it is paid for with each call."""
    schema.pop("description", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
        field.pop("default", None)
    schema["required"] = list(schema.get("properties", {}))


class Reply(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", json_schema_extra=_slim)


class PlanReply(Reply):
    """How to go about the question."""

    route: Route
    standalone: str = Field(description="the question, readable without the earlier exchanges")
    queries: list[str] = Field(description="up to three")
    web_query: str = Field(description="what to type into a public search engine")
    reply: str = Field(description="for none and clarify; otherwise empty")
    options: list[str] = Field(description="for clarify; otherwise empty")


class PassageReply(Reply):
    """The verdict on one passage."""

    passage: int = Field(description="its number")
    relevance: Relevance
    evidence: list[int] = Field(description="numbers of its sentences that state the answer or a part of it")


class GradeReply(Reply):
    """The verdict on all passages."""

    passages: list[PassageReply]
    sufficient: bool = Field(description="the evidence alone answers the question completely")
    missing: str = Field(description="when not sufficient, what to look for next; otherwise empty")


class GroundingReply(Reply):
    """What the strips say to each sentence; those that they support by what they cite are named nowhere."""

    unsupported: list[int]
    lacking: list[str] = Field(default=[], description='"NUMBER: what no strip states"')
    elsewhere: list[list[int]] = Field(default=[], description="[sentence, strip, …]")
    idle: list[int] = []
    absent: list[int] = []
    leaning: list[int] = []


class UsefulnessReply(Reply):
    """Whether the answer settles the question."""

    useful: bool


def check_ending(message: Any) -> None:
    """Raises CallFailed for a reply that was refused or cut off: the client itself raises nothing."""
    told = getattr(message, "response_metadata", None) or {}
    ending = str(told.get("finish_reason") or told.get("stop_reason") or "").upper()
    if ending in REFUSALS or (told.get("prompt_feedback") or {}).get("block_reason"):
        raise CallFailed(faults.REFUSED)
    if ending in CUT_OFF:
        raise CallFailed(
            faults.unreadable("it was cut off because it was too long; be shorter.", message.text)
        )


def complaint(error: BaseException | None) -> str:
    """What was wrong with a structured reply, for the model; nothing of the reply itself."""
    link = error
    while link is not None and not isinstance(link, ValidationError):
        link = link.__cause__ or link.__context__
    if link is None:
        return "it was not a JSON object of the requested schema."
    found = link.errors(include_url=False, include_input=False, include_context=False)[:3]
    return "; ".join(f"{'.'.join(str(part) for part in e['loc'])[:60]}: {e['msg'][:80]}" for e in found) + "."


def to_plan(reply: PlanReply, ask: Ask) -> Plan:
    """A plan whose every field can be used as it stands."""
    standalone = one_line(reply.standalone, QUESTION_LIMIT) or ask.question
    words = one_line(reply.reply, REPLY_LIMIT)
    options = _distinct(reply.options, OPTION_LIMIT)[:OPTIONS] if reply.route == "clarify" else ()
    return Plan(
        route="documents" if reply.route in SPEAKING and not words else reply.route,
        standalone=standalone,
        queries=_distinct(reply.queries, QUERY_LIMIT)[:QUERIES],
        web_query=one_line(reply.web_query, QUERY_LIMIT) or one_line(standalone, QUERY_LIMIT),
        reply=words if reply.route in SPEAKING else "",
        options=options if words and len(options) > 1 else (),
    )


def to_grades(reply: GradeReply, ordered: tuple[Retrieved, ...]) -> Grades:
    """Grades by passage id; of two verdicts on one passage the first counts."""
    of: dict[str, Grade] = {}
    for verdict in reply.passages:
        if not 1 <= verdict.passage <= len(ordered):
            continue
        passage = ordered[verdict.passage - 1].passage
        sentences = len(split_sentences(passage.text)) if verdict.relevance != "incorrect" else 0
        evidence = _within(verdict.evidence, sentences)
        of.setdefault(passage.id, Grade(relevance=verdict.relevance, evidence=evidence))
    sufficient = reply.sufficient and any(grade.relevance != "incorrect" for grade in of.values())
    missing = "" if sufficient else one_line(reply.missing, QUERY_LIMIT)
    return Grades(of=of, sufficient=sufficient, missing=missing)


def to_grounded(
    reply: GroundingReply, statements: tuple[Statement, ...], strips: tuple[Strip, ...]
) -> Grounded:
    judged = [statement.number for statement in statements]
    numbers = [strip.number for strip in strips]
    found = {sentence: _among(named, numbers) for sentence, *named in filter(None, reply.elsewhere)}
    elsewhere = {number: named for number, named in found.items() if number in judged and named}
    lacking = (_LACKING.match(what) for what in reply.lacking)
    return Grounded(
        judged=tuple(judged),
        # Where a sentence is said to be stated elsewhere, its footnote is wrong and not the sentence.
        unsupported=tuple(n for n in _among(reply.unsupported, judged) if n not in elsewhere),
        lacking={int(found[1]): one_line(found[2], LACKING_LIMIT) for found in lacking if found},
        elsewhere=elsewhere,
        idle=_among(reply.idle, judged),
        absent=_among(reply.absent, judged),
        leaning=_among(reply.leaning, judged),
    )


def _among(numbers: list[int], known: list[int]) -> tuple[int, ...]:
    return tuple(number for number in known if number in numbers)


def _within(numbers: list[int], last: int) -> tuple[int, ...]:
    """The numbers from 1 to ``last``, each once, in order."""
    return tuple(sorted({number for number in numbers if 1 <= number <= last}))


def _distinct(texts: list[str], limit: int) -> tuple[str, ...]:
    cleaned = (one_line(text, limit) for text in texts[:20])
    return tuple(dict.fromkeys(text for text in cleaned if text))
