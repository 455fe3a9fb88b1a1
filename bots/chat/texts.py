"""The texts that are the same on every platform, as plain functions of core values.

They are CommonMark, without markup of a platform. Only progress notes end in "…". The sentences are in
``locales``, a table for each language.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby
from math import floor, log10
from pathlib import Path

from bots.chat.markdown.blocks import plain_line, plain_quote
from bots.chat.markdown.safe import is_blank, line
from core import conversation
from core.grounding.citations import IN_DOUBT, merge_footnotes
from core.library.documents import is_kept
from core.library.entries import Entry
from core.library.sync import SourceNote, SyncReport
from core.text.language import language_of, sure_language
from core.wording import LANGUAGES, Wording, clock, wording

LOCALES = Path(__file__).with_name("locales")
ENGLISH = LANGUAGES[0]

FOOTNOTES_SHOWN = 5  # footnotes under an answer; the rest are behind "3 more"
TITLE_SHOWN = 150  # characters of a footnote's title, and of where it is from
QUOTE_SHOWN = 200  # characters of a quote beneath an answer; "Show quotes" has all of it
COLUMNS_SHOWN = 120  # characters of the names of a table's columns
CLIPPED = 60  # characters of a text that is quoted in a sentence
LISTED = 40  # documents in one list
NOTHING_INDEXED = (
    "Nothing is indexed yet. Run `footnote ingest PATH`, or name a folder: `footnote chat PATH`."
)

#: The line above an answer, by where its footnotes come from and whether a model composed it.
_PROVENANCE: Mapping[tuple[conversation.Grounding, bool], str] = {
    ("documents", False): "quoted",
    ("web", True): "from_web",
    ("web", False): "from_web_quoted",
    ("both", True): "from_both",
    ("both", False): "from_both_quoted",
}

#: The keys of a stage's note: with a count, and without.
_STAGES: Mapping[conversation.Stage, tuple[str, str]] = {
    "waiting": ("waiting_behind", "waiting"),
    "reading": ("reading_passages", "reading"),
    "checking": ("checking_passages", "checking"),
    "writing": ("writing", "writing"),
    "verifying": ("verifying", "verifying"),
    "searching": ("searching", "searching"),
    "fetching": ("fetching_pages", "fetching"),
}

ENGINE_NAMES: Mapping[str, str] = {
    "duckduckgo": "DuckDuckGo",
    "tavily": "Tavily",
    "searxng": "SearXNG",
    "off": "the web",
}


def say_in(language: str) -> Wording:
    """The sentences of bots and core in a language."""
    return wording(language, LOCALES)


def language_of_turn(turn: conversation.Turn, proposals: Sequence[conversation.Proposal] = ()) -> str:
    """The language of the question that a turn asks or decides about; ``proposals`` are the conversation's."""
    if isinstance(turn, conversation.Question):
        return language_of(turn.text)
    decided = next((each for each in proposals if each.id == turn.proposal_id), None)
    return language_of(decided.question) if decided else ENGLISH


def counted(number: int, thing: str) -> str:
    """ "1 passage", "1,024 passages": for the operator."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def progress_note(progress: conversation.Progress, language: str = ENGLISH) -> str:
    counting, plain = _STAGES[progress.stage]
    return say_in(language)(counting if progress.count else plain, count=progress.count or 0)


def provenance(outcome: conversation.Outcome, answer: conversation.Answer) -> str:
    """The line above an answer that says where it comes from; often empty."""
    key = _PROVENANCE.get((answer.grounding, answer.composed))
    if not answer.citations:
        is_ours = outcome.is_small_talk and not outcome.usage.calls
        key = None if is_ours else "no_footnotes"
    elif not answer.is_sure:
        key = "may_be_this"
    return say_in(outcome.language)(key) if key else ""


def remarks(outcome: conversation.Outcome) -> tuple[str, ...]:
    """Notes below an answer: files that could not be read, that documents differ, what they do not say, what was left out."""
    if (answer := outcome.answer) is None:
        return ()
    say, suffix = say_in(outcome.language), "_web" if answer.grounding == "web" else ""
    left_out = say(f"left_out{suffix}", count=len(answer.left_out)) if answer.left_out else ""
    missing = say(f"missing{suffix}", missing=answer.missing) if answer.missing else ""
    newer_first = say("newer_first") if answer.is_newer_first else ""
    unsettled = say("unsettled", mark=IN_DOUBT) if answer.unsettled else ""
    return tuple(filter(None, (*outcome.unreadable, newer_first, unsettled, missing, left_out)))


def omissions(outcome: conversation.Outcome) -> tuple[str, ...]:
    """The sentences that were left out of an answer, each with the reason if it is in the language of the answer."""
    sentences = []
    for each in outcome.answer.left_out if outcome.answer else ():
        is_theirs = sure_language(each.reason) in ("", outcome.language)
        reason = plain_quote(each.reason, code="`") if is_theirs else ""
        sentences.append(f"“{plain_quote(each.text, code='`')}”" + (f" ({reason})" if reason else ""))
    return tuple(sentences)


def reason_of(outcome: conversation.Outcome) -> str | None:
    """The reason for an outcome, in one line; for an answer, what was left out or is missing."""
    return " · ".join(filter(None, (outcome.reason, *remarks(outcome), *omissions(outcome)))) or None


def headings(citation: conversation.Citation) -> str:
    """ "Tutorial › Request Body": a document's title and headings; a web page's title."""
    if citation.origin == "web":
        return citation.title
    parts = (part.strip() for part in (citation.title, *citation.location.split(" > ")))
    return " › ".join(dict.fromkeys(part for part in parts if part))


def origin_of(citation: conversation.Citation, language: str) -> str:
    """A document's source; a web page's host and date."""
    if citation.origin != "web":
        return citation.source
    published = calendar_date(citation.published, language)
    return " · ".join(part for part in (citation.location, published) if part)


def freshness_of(citation: conversation.Citation, language: str) -> str:
    """The last change of its document, and since when its source has not shown it; often empty."""
    say, is_by_person = say_in(language), is_kept(citation.source)
    changed_at = None if is_by_person else citation.changed_at
    moments = {"last_changed": changed_at, "unseen_since": citation.unseen_since}
    return " · ".join(say(key, date=say.day(at)) for key, at in moments.items() if at is not None)


def unseen_note(moment: float) -> str:
    """The remark on a document that was not seen at its source for too long, for the operator."""
    say = say_in(ENGLISH)
    return say("unseen_since", date=say.day(moment))


def title_and_origin(citation: conversation.Citation, language: str) -> tuple[str, str]:
    """The headings of a citation; and its source, if that is another text, with how fresh it is. Each is one line."""
    parts = plain_line(headings(citation)), line(origin_of(citation, language))
    title, origin = (clipped(words, TITLE_SHOWN) for words in parts)
    title = say_in(language)("untitled") if is_blank(title) else title
    beside = ("" if origin == title else origin, freshness_of(citation, language))
    return title, " · ".join(filter(None, beside))


def columns_of(citation: conversation.Citation) -> str:
    """The names of the columns before the quote of a row; empty for any other quote."""
    named = clipped(plain_quote(citation.columns), COLUMNS_SHOWN)
    return "" if is_blank(named) else f"{named}: "


def distinct_citations(citations: Iterable[conversation.Citation]) -> tuple[conversation.Citation, ...]:
    """The first citation of each number: one line below an answer for each."""
    first: dict[int, conversation.Citation] = {}
    for citation in citations:
        first.setdefault(citation.number, citation)
    return tuple(first.values())


def closest_shown(outcome: conversation.Outcome) -> tuple[conversation.Citation, ...]:
    """The closest passages, where there is no answer and nothing above shows them."""
    return () if outcome.is_declined else outcome.closest


def quotes_label(outcome: conversation.Outcome) -> str:
    """The label of the button that shows the quotes; empty where there are none."""
    answer, say = outcome.answer, say_in(outcome.language)
    if answer is None:
        return say("show_quotes") if outcome.closest else ""
    hidden = len(distinct_citations(merge_footnotes(answer).citations)) - FOOTNOTES_SHOWN
    if hidden > 0:
        return say("show_more_quotes", count=hidden)
    return say("show_quotes") if answer.citations or answer.left_out else ""


def calendar_date(published: str | None, language: str) -> str:
    """ "12 Mar 2026" from an ISO 8601 date; any other text as it is."""
    if not published:
        return ""
    try:
        return say_in(language).date(date.fromisoformat(published[:10]))
    except ValueError:
        return published


def duration(milliseconds: float, language: str = ENGLISH) -> str:
    is_short = milliseconds < 100
    number = say_in(language).number(round(milliseconds) if is_short else round(milliseconds / 1000, 1))
    return f"{number} {'ms' if is_short else 's'}"


def money(amount: float, currency: str, language: str = ENGLISH) -> str:
    """ "12.30 USD", "0.0042 USD": two decimals, or as many as show two digits; below a millionth, none."""
    digits = 2 if not amount else min(6, max(2, 1 - floor(log10(abs(amount)))))
    decimal = say_in(language).entries["decimal"]
    return f"{f'{amount:.{digits}f}'.replace('.', decimal)} {currency}"


def cost_of(usage: conversation.Usage, language: str = ENGLISH) -> str:
    """The cost of a turn, where the operator wants it shown and a model was asked."""
    if not (usage.is_cost_shown and usage.calls) or usage.cost is None:
        return ""
    return money(usage.cost, usage.currency, language)


def answered_in(outcome: conversation.Outcome) -> str:
    """ "Answered in 2.1 s from 2 passages · written by a language model · 0.0042 USD"; empty for small talk."""
    if outcome.is_small_talk:
        return ""
    say, answer = say_in(outcome.language), outcome.answer
    citations = answer.citations if answer else ()
    count = len({(citation.source, citation.location) for citation in citations})
    time = duration(outcome.timing_ms.get("total", 0.0), outcome.language)
    answered = say("answered_from" if count else "answered_in", time=time, count=count)
    how = "model_wrote_briefly" if outcome.usage.is_brief else "model_wrote"
    wrote = say(how) if answer and answer.composed and count else ""
    return " · ".join(filter(None, (answered, wrote, cost_of(outcome.usage, outcome.language))))


def decided(proposal: conversation.Proposal) -> str:
    """The sentence that replaces the buttons after a decision."""
    key = {"approve": "allowed", "deny": "denied"}.get(proposal.verdict or "", "expired")
    time = clock(proposal.decided_at or proposal.expires_at or 0.0)
    return say_in(language_of(proposal.question))(key, who=proposal.decided_by, time=time)


def clipped(text: str, limit: int = CLIPPED) -> str:
    """One line of at most ``limit`` characters, cut at a word."""
    words = " ".join(text.split())
    if len(words) <= limit:
        return words
    return (words[:limit].rpartition(" ")[0] or words[: limit - 1]).rstrip(" ,;:.") + "…"


def finishing(turn: conversation.Turn) -> str:
    """Announces that a turn is finished now that a stopped process left behind."""
    say = say_in(language_of_turn(turn))
    if isinstance(turn, conversation.Question):
        return say("finishing_question", question=clipped(turn.text))
    return say("finishing_search")


def nothing_to_read(target: str, suffixes: Mapping[str, object], notes: Iterable[SourceNote] = ()) -> str:
    found = "".join(f" {note_line(note.source, note.text)}." for note in notes)
    return f"There is nothing to read in {target}: Footnote reads {', '.join(suffixes)}.{found}"


def synced(report: SyncReport, language: str = ENGLISH) -> str:
    """ "12 documents added, 1 failed. 1 source could not be read."; zeros are left out."""
    say = say_in(language)
    sources = sum(failure.is_source for failure in report.failed)
    counts = {
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.skipped,
        "failed": len(report.failed) - sources,
    }
    happened = [(key, number) for key, number in counts.items() if number]
    if not happened and not sources:
        happened = [("changed", 0)]
    phrases = [
        say(key, count=number, of=say.number(number) if at else say("documents", count=number))
        for at, (key, number) in enumerate(happened)
    ]
    unread = say("sources_failed", count=sources) if sources else ""
    return " ".join(filter(None, (f"{', '.join(phrases)}." if phrases else "", unread)))


def note_line(source: str, text: str) -> str:
    """ "docs/a.md: is empty": for the operator; an address may end in a colon itself, as "drive:"."""
    return f"{source.removesuffix(':')}: {text}"


def source_lists(entries: Iterable[Entry], say: Wording) -> Iterator[tuple[str, str, list[str], str]]:
    """The name of each collection, its size, a line for each document, and how many more there are."""
    for name, group in groupby(entries, lambda entry: entry.collection):
        members = list(group)
        documents = say("documents", count=len(members))
        passages = say("passages", count=sum(entry.passages for entry in members))
        lines = [
            f"{entry.source} · {entry.title} · {say('passages', count=entry.passages)}"
            for entry in members[:LISTED]
        ]
        more = say("and_more", count=len(members) - LISTED) if len(members) > LISTED else ""
        yield clipped(line(name), TITLE_SHOWN), f"{documents}, {passages}", lines, more


def help_lines(
    language: str, *, collections: Sequence[str], documents: int, age: float | None = None,
    slash_commands: Sequence[str] = (), unasked: tuple[int, int] = (0, 0),
) -> tuple[str, ...]:  # fmt: skip
    """The help: what the bot reads here, how to ask it, and its commands; ``age`` in seconds.

    ``unasked``: how often it answered lately without being called, and how often that was not wanted.
    """
    say = say_in(language)
    where = say("help_where", collections=", ".join(collections)) if collections else ""
    when = say("help_when", ago=_ago(say, age)) if age is not None else ""
    reads = say("help_reads", count=documents, where=where, when=when)
    slash = say("help_slash", commands=", ".join(f"/{name}" for name in slash_commands))
    words = f"{say('help_words')} {slash}" if slash_commands else say("help_words")
    answered, unwanted = unasked
    rate = (say("help_unasked", count=answered, unwanted=unwanted),) if answered else ()
    return reads, say("help_asking"), words, *rate


def _ago(say: Wording, seconds: float) -> str:
    if seconds < 60:
        return say("just_now")
    is_recent = seconds < 3600
    return say("minutes_ago" if is_recent else "hours_ago", count=int(seconds // (60 if is_recent else 3600)))


def forgotten(source: str, passages: int, language: str = ENGLISH) -> str:
    return say_in(language)("forgot_document", source=source, count=passages)


def text_of(outcome: conversation.Outcome, *, engine: str = "the web") -> str:
    """The outcome as CommonMark, without footnotes."""
    say = say_in(outcome.language)
    if outcome.answer is not None:
        return outcome.answer.text
    if outcome.kind == "approval_needed" and outcome.proposal is not None:
        return f"{outcome.proposal.reason}\n\n{_request(outcome.proposal, say, engine)}"
    if outcome.kind == "no_answer":
        return f"{outcome.reason or say('not_found')} {say('what_else')}"
    if outcome.kind == "clarify":
        numbered = (f"\n\n{number}. {option}" for number, option in enumerate(outcome.options, start=1))
        return f"{outcome.reason or say('which')}{''.join(numbered)}"
    return outcome.reason or say("unfinished")


def asked_back(outcome: conversation.Outcome, *, buttons: int, length: int) -> str:
    """The text of a clarification: the readings too, unless each stands whole on one of the buttons below."""
    is_on_buttons = len(outcome.options) <= buttons and all(len(each) <= length for each in outcome.options)
    return text_of(replace(outcome, options=()) if is_on_buttons else outcome)


def page_of(outcome: conversation.Outcome, *, engine: str = "the web") -> str:
    """The whole outcome with footnotes as CommonMark, for files, pipes and platforms without layout."""
    answer, say = outcome.answer and merge_footnotes(outcome.answer), say_in(outcome.language)
    if answer is None:
        heading = say("closest") if closest_shown(outcome) else ""
        closest = _footnotes(closest_shown(outcome), outcome.language)
        parts = [text_of(outcome, engine=engine), heading, closest]
    else:
        # The text of a quoted answer has the quotes already.
        notes = _footnotes(answer.citations, outcome.language, with_quotes=answer.composed)
        request = _request(outcome.proposal, say, engine) if outcome.proposal else ""
        small = (outcome.reason, *remarks(outcome), *(f"    {each}" for each in omissions(outcome)))
        details, time = "\n".join(filter(None, small)), answered_in(outcome)
        parts = [provenance(outcome, answer), answer.text, notes, details, time and f"{time}.", request]
    return "\n\n".join(part for part in parts if part)


def _request(proposal: conversation.Proposal, say: Wording, engine: str) -> str:
    until = open_until(proposal)
    return f"{say('would_search', engine=engine)}\n\n> {proposal.query}\n\n{say('nothing_sent_yet')} {until}".rstrip()


def open_until(proposal: conversation.Proposal) -> str:
    """The sentence that says until when it can be decided; empty: without end."""
    say, moment = say_in(language_of(proposal.question)), proposal.expires_at
    return say("open_until", time=f"{clock(moment)}, {say.day(moment)}") if moment else ""


def _footnotes(citations: Sequence[conversation.Citation], language: str, *, with_quotes: bool = True) -> str:
    lines = []
    for each in distinct_citations(citations):
        where = (headings(each), origin_of(each, language), freshness_of(each, language), each.url or "")
        lines.append(f"[{each.number}] " + " · ".join(part for part in dict.fromkeys(where) if part))
        quoted = (one for one in citations if one.number == each.number and with_quotes)
        lines += [f"    {columns_of(one)}“{clipped(plain_quote(one.quote), QUOTE_SHOWN)}”" for one in quoted]
    return "\n".join(lines)
