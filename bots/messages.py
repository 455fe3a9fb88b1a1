"""The sentences that every platform shares, as plain functions of core values.

CommonMark at most, no markup of any one platform. A note of progress ends in "…", nothing
final does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from core.conversation import (
    Answer,
    Citation,
    Grounding,
    Outcome,
    OutcomeKind,
    Progress,
    Proposal,
    Question,
    Stage,
    Turn,
)
from core.library.library import SyncReport

FOOTNOTES_SHOWN = 5  # footnotes under an answer; the rest wait behind "3 more"
CLIPPED = 60  # characters of a question that is named in passing

NO_FOOTNOTES = "No footnotes: nothing here is taken from your documents."
NOT_FOUND = "I did not find this in your documents."
WHICH = "Which of these do you mean?"
WHAT_ELSE = "You can rephrase, name the document, or add one."
CLOSEST = "The closest passages:"
UNSAID = "I could not finish this."
TRY_AGAIN = "Try again"
LISTED = 40  # documents in one list; more would only scroll away
NOTHING_SENT = "Nothing is sent until you allow it."
NOTHING_INDEXED = (
    "Nothing is indexed yet. Run `footnote ingest PATH`, or name a folder: `footnote chat PATH`."
)

#: The line above an answer, by where its footnotes come from and whether a model composed it.
_PROVENANCE: Mapping[tuple[Grounding, bool], str | None] = {
    ("documents", True): None,
    ("documents", False): "Quoted from your documents, not composed.",
    ("web", True): "From the web, not from your documents.",
    ("web", False): "From the web, not from your documents. Quoted, not composed.",
    ("both", True): "From your documents and from the web.",
    ("both", False): "From your documents and from the web. Quoted, not composed.",
}

#: What a stage is called with a count, and without.
_STAGES: Mapping[Stage, tuple[str, str]] = {
    "waiting": ("I am busy: {} will come before yours…", "I am busy: yours is next…"),
    "reading": ("Reading {}…", "Reading your documents…"),
    "checking": ("Checking {}…", "Checking what was found…"),
    "writing": ("Writing…", "Writing…"),
    "verifying": ("Checking every footnote…", "Checking every footnote…"),
    "searching": ("Searching the web…", "Searching the web…"),
    "fetching": ("Reading {}…", "Reading what the search found…"),
}

_COUNTED: Mapping[Stage, str] = {"fetching": "page", "waiting": "question"}  # the others count passages

ENGINE_NAMES: Mapping[str, str] = {
    "duckduckgo": "DuckDuckGo",
    "tavily": "Tavily",
    "searxng": "SearXNG",
    "off": "the web",
}


def counted(number: int, thing: str) -> str:
    """ "1 passage", "1,024 passages"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def progress_note(progress: Progress) -> str:
    counting, plain = _STAGES[progress.stage]
    if not progress.count:
        return plain
    return counting.format(counted(progress.count, _COUNTED.get(progress.stage, "passage")))


def provenance(answer: Answer) -> str:
    """The line above an answer; empty where its footnotes say enough."""
    if not answer.citations:
        return NO_FOOTNOTES
    return _PROVENANCE.get((answer.grounding, answer.composed)) or ""


def headings(citation: Citation) -> str:
    """ "Tutorial › Request Body": title and place within it; of a web page, its title."""
    if citation.origin == "web":
        return citation.title
    parts = (part.strip() for part in (citation.title, *citation.location.split(" > ")))
    return " › ".join(dict.fromkeys(part for part in parts if part))


def whence(citation: Citation) -> str:
    """The source of a document; the host and date of a web page."""
    if citation.origin != "web":
        return citation.source
    published = calendar_date(citation.published)
    return " · ".join(part for part in (citation.location, published) if part)


def calendar_date(published: str | None) -> str:
    """ "12 Mar 2026" from an ISO 8601 date; anything else as the search engine gave it."""
    if not published:
        return ""
    try:
        day = date.fromisoformat(published[:10])
    except ValueError:
        return published
    return f"{day.day} {day:%b %Y}"


def clock(moment: float) -> str:
    """Seconds since the epoch -> local "14:05"."""
    return datetime.fromtimestamp(moment, UTC).astimezone().strftime("%H:%M")


def duration(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 100 else f"{milliseconds / 1000:.1f} s"


def answered_in(outcome: Outcome) -> str:
    """ "Answered in 2.1 s from 2 passages"."""
    citations = outcome.answer.citations if outcome.answer else ()
    places = {(citation.source, citation.location) for citation in citations}
    spent = f"Answered in {duration(outcome.timing_ms.get('total', 0.0))}"
    return f"{spent} from {counted(len(places), 'passage')}" if places else spent


def decided(proposal: Proposal) -> str:
    """What stands in place of the buttons once a person decided."""
    verb = "allowed this search" if proposal.verdict == "approve" else "said no"
    return f"{proposal.decided_by} {verb} at {clock(proposal.decided_at or 0.0)}."


def would_search(engine: str) -> str:
    return f"I would search {engine} for:"


def clipped(text: str, limit: int = CLIPPED) -> str:
    """One line of at most ``limit`` characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    return (line[:limit].rpartition(" ")[0] or line[: limit - 1]).rstrip(" ,;:.") + "…"


def finishing(turn: Turn) -> str:
    """Before a turn that a stopped process left in the middle is run to its end."""
    what = f"“{clipped(turn.text)}”" if isinstance(turn, Question) else "the search that was decided"
    return f"First finishing {what}, which was cut off…"


def nothing_to_read(path: Path, suffixes: Mapping[str, object]) -> str:
    return f"There is nothing to read in {path}: Footnote reads {', '.join(suffixes)}."


def synced(report: SyncReport) -> str:
    """ "12 documents added, 1 failed."; what did not happen is not mentioned."""
    counts = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.skipped,
        "failed": len(report.failed),
    }
    (first, number), *others = [(word, n) for word, n in counts.items() if n] or [("changed", 0)]
    rest = "".join(f", {n:,} {word}" for word, n in others)
    return f"{counted(number, 'document')} {first}{rest}."


#: The mention words, as help lists them.
WORDS_KNOWN = (
    "help",
    "sources",
    "learn (with a file or a URL)",
    "use COLLECTION",
    "follow mention, asker or thread",
    "approve or deny",
    "stop",
    "forget",
)


def help_lines(*, collections: Sequence[str], documents: int, age: float | None = None) -> tuple[str, ...]:
    """What it reads here, how to ask, and the words it knows; ``age`` in seconds."""
    where = f" in {', '.join(collections)}" if collections else ""
    when = f" (looked through {_ago(age)})" if age is not None else ""
    return (
        f"I answer from {counted(documents, 'document')}{where}{when}, and show where each claim stands.",
        "Mention me with a question; in the thread, just go on. Before I search the web, I ask.",
        f"I also know: {', '.join(WORDS_KNOWN)}.",
    )


def _ago(seconds: float) -> str:
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{counted(int(seconds // 60), 'minute')} ago"
    return f"{counted(int(seconds // 3600), 'hour')} ago"


def nothing_here() -> str:
    return "I read no documents in this channel yet. Add one: learn with a file attached."


def forgotten(source: str, passages: int) -> str:
    return f"Forgot {source} ({counted(passages, 'passage')})."


def text_of(outcome: Outcome, *, engine: str = "the web") -> str:
    """What a person would read, as CommonMark without the footnotes."""
    return _TEXTS[outcome.kind](outcome, engine)


def page_of(outcome: Outcome, *, engine: str = "the web") -> str:
    """The whole outcome as CommonMark, footnotes and all: for files, pipes and platforms without layout."""
    answer = outcome.answer
    if answer is None:
        heading = CLOSEST if outcome.closest else ""
        parts = [text_of(outcome, engine=engine), heading, _footnotes(outcome.closest)]
    else:
        # What was only quoted stands in the text already.
        notes = _footnotes(answer.citations, with_quotes=answer.composed)
        trouble = outcome.reason or ""
        parts = [provenance(answer), answer.text, notes, trouble, f"{answered_in(outcome)}."]
    return "\n\n".join(part for part in parts if part)


def _footnotes(citations: Sequence[Citation], *, with_quotes: bool = True) -> str:
    lines = []
    for citation in citations:
        where = (headings(citation), whence(citation), citation.url or "")
        lines.append(f"[{citation.number}] " + " · ".join(part for part in dict.fromkeys(where) if part))
        if with_quotes:
            lines.append(f"    “{' '.join(citation.quote.split())}”")
    return "\n".join(lines)


def _answered(outcome: Outcome, _engine: str) -> str:
    return outcome.answer.text if outcome.answer else ""


def _approval_needed(outcome: Outcome, engine: str) -> str:
    if outcome.proposal is None:
        return outcome.reason or ""
    return (
        f"{outcome.proposal.reason}\n\n{would_search(engine)}\n\n> {outcome.proposal.query}\n\n{NOTHING_SENT}"
    )


def _no_answer(outcome: Outcome, _engine: str) -> str:
    return f"{outcome.reason or NOT_FOUND} {WHAT_ELSE}"


def _clarify(outcome: Outcome, _engine: str) -> str:
    options = "".join(f"\n\n{number}. {option}" for number, option in enumerate(outcome.options, start=1))
    return f"{outcome.reason or WHICH}{options}"


def _failed(outcome: Outcome, _engine: str) -> str:
    return outcome.reason or UNSAID


_TEXTS: Mapping[OutcomeKind, Callable[[Outcome, str], str]] = {
    "answered": _answered,
    "approval_needed": _approval_needed,
    "no_answer": _no_answer,
    "clarify": _clarify,
    "failed": _failed,
}
