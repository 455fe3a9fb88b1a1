"""The shapes of a chat model's replies, and the checked values that are made of them.

A model may return anything. Numbers that name nothing are dropped, texts are cut to a length and freed of
characters that do not show, and a route without the reply or the query it needs becomes a search of the documents.

A draft's footnotes are read as models write them (``[1, 2]``, ``[1-3]``, ``【1】``, ``[^1]``, ``[strip 1]``,
``(1)``) and become ``[1][2]``; one that names no strip is dropped. Headings become bold lines, so that they
are judged with what they introduce. Images are removed, and so is an address that no strip holds: a document
could have talked the model into sending out a secret with it. Code stays as it is.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from core.characters import one_line, plain
from core.conversation import QUERY_LIMIT, QUESTION_LIMIT
from core.library.documents import Retrieved, is_kept
from core.reasoning import reasoner
from core.reasoning.fields import CHOICE, LIST, Flag, Number, Numbers, Rows, Text, Texts, to_step
from core.reasoning.instructions import NO_ANSWER
from core.reasoning.prompts import lines_of
from core.text.blocks import LIST_MARKER
from core.text.language import words_of
from core.text.quoting import HEADING_SIGNS
from core.text.sentences import split_units

QUERIES = 3  # further searches of one plan
REPLY_LIMIT = 600  # characters of small talk or of a question asked back
OPTIONS = 4  # readings to choose from
OPTION_LIMIT = 70  # characters; fits a button
LACKING_LIMIT = 200  # characters of what a sentence lacks
DRAFT_LIMIT = 8_000  # characters; an answer of five sentences has about 800

#: What a model thinks aloud before its answer; it may not end, or begin without its tag.
_THOUGHT = re.compile(
    r"\A(?:\s*<(think(?:ing)?)>.*?(?:</\1>|\Z)|.*?^[ \t]*</think(?:ing)?>[ \t]*$)", re.DOTALL | re.MULTILINE
)
_LACKING = re.compile(r"\W*(\d{1,4})[\s:.;)\]*–—-]+(.+)", re.DOTALL)
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_NUMBERS = r"\d{1,4}(?:\s*(?:[,;&–-]|and|und|et|y|e)\s*\^?\d{1,4})*"
_NAMED = r"(?:(?:strips?|sources?|passages?|refs?|notes?|footnotes?)\s*)?"
_MARKERS = re.compile(
    rf"[ \t]?(?:\[\s*\^?{_NAMED}({_NUMBERS})\s*\](?!\()|【\s*{_NAMED}({_NUMBERS})[^】\n]*】)", re.IGNORECASE
)
_MARKS_ALONE = re.compile(r"\A(?:\s*+\[\d{1,4}\])+(?!\s*+\[\d{1,4}\])[ \t]*(?:\n|\Z)")  # before any text
_IN_PARENTHESES = re.compile(rf"(?<=\S)([ \t]?)\(({_NUMBERS})\)(?=\s*(?:[.,;:!?。]|$))", re.MULTILINE)
#: "[^1]: …" is the draft's own list of sources.
_DEFINITION = re.compile(r"^ {0,3}\[\^?[^\]\n]{1,20}\]:.*\n?", re.MULTILINE)
_RULE = re.compile(r"^[ \t>]*(?:-[-\s]*|=[=\s]*|\*{3,}[*\s]*|_{3,}[_\s]*)$", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(\s*<?([^()\s<>]*(?:\([^()\s]*\)[^()\s<>]*)*)>?(?:\s[^)\n]*)?\)")
_ADDRESS = re.compile(r"(?:https?|ftp)://[^\s<>)\]\"'`]+", re.IGNORECASE)
_NO_WORD = re.compile(r"\W+")
_LIST_MARKER = re.compile(rf"^[ \t]*(?:{LIST_MARKER}[ \t]+)?")
_SIGN = re.compile(r"[^\n]")
_NO_ANSWER = re.compile(rf"^.*\b{NO_ANSWER}\b.*$", re.MULTILINE)

#: From what a pattern finds in a draft, where code is masked, and the draft's own words there: what replaces them.
Change = Callable[[re.Match[str], str], str]


def _slim(schema: dict[str, Any]) -> None:
    """A schema without titles, since each call pays for it, and with every field required."""
    schema.pop("description", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
        field.pop("default", None)
    schema["required"] = list(schema.get("properties", {}))


class Reply(BaseModel):
    """A structured reply. Prompts say what its fields mean and when they are empty; its schema only types."""

    model_config = ConfigDict(strict=True, extra="ignore", json_schema_extra=_slim)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        """Null is what a field has by default."""
        if not isinstance(given, dict):
            return given
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {name: each for name, each in given.items() if each is not None or name not in optional}


class PlanReply(Reply):
    route: Annotated[reasoner.Route, CHOICE] = "documents"
    standalone: Text
    queries: Texts
    web_query: Text
    reply: Text
    options: Texts
    for_assistant: Flag = True


class PassageReply(Reply):
    passage: Number
    relevance: Annotated[reasoner.Relevance, CHOICE]
    evidence: Numbers


class GradeReply(Reply):
    passages: Annotated[list[PassageReply], LIST]
    sufficient: Flag = False
    missing: Text


class GradeBesidePeopleReply(GradeReply):
    """The same where an answer that a person gave is among the passages."""

    disputed: Rows = []


class GradeAndSearchReply(GradeReply):
    """The same where the judge may ask for a further search."""

    search: Texts = []


class GradeBesidePeopleAndSearchReply(GradeBesidePeopleReply, GradeAndSearchReply):
    """Both."""


GRADE_REPLIES: Mapping[tuple[bool, bool], type[GradeReply]] = {
    (False, False): GradeReply,
    (True, False): GradeBesidePeopleReply,
    (False, True): GradeAndSearchReply,
    (True, True): GradeBesidePeopleAndSearchReply,
}
"""By whether a person's answer is among the passages, and whether the judge may ask for a search."""


class GroundingReply(Reply):
    """Numbers of sentences; one that its own footnotes support is named nowhere."""

    unsupported: Numbers
    lacking: Texts = []
    elsewhere: Rows = []
    idle: Numbers = []
    absent: Numbers = []
    leaning: Numbers = []


class GroundingBetweenLanguagesReply(GroundingReply):
    """The same where strips are in another language than the sentences."""

    stated: Rows = []  # [sentence, strip, line, …]


class PlainReply(Reply):
    """Numbers of the sentences that are to be looked at more closely."""

    unstated: Numbers


class UsefulnessReply(Reply):
    useful: Flag


class CompareReply(Reply):
    """Numbers of pairs; one that agrees is named nowhere."""

    contradict: Numbers
    scope: Numbers


def complaint(error: BaseException | None) -> str:
    """The fault of a structured reply, for the model, without the reply's own text."""
    link = error
    while link is not None and not isinstance(link, ValidationError):
        link = link.__cause__ or link.__context__
    if link is None:
        return "it was not a JSON object of the requested schema."
    found = link.errors(include_url=False, include_input=False, include_context=False)[:3]
    return "; ".join(f"{'.'.join(str(part) for part in e['loc'])[:60]}: {e['msg'][:80]}" for e in found) + "."


def to_plan(reply: PlanReply, ask: reasoner.Ask) -> reasoner.Plan:
    standalone = one_line(reply.standalone, QUESTION_LIMIT) or ask.question
    text = one_line(reply.reply, REPLY_LIMIT)
    is_spoken = reply.route in reasoner.SPEAKING
    # With a reply of the plan there is no query; where there should be one and is none, only the team can know it.
    web_query = one_line(reply.web_query or (standalone if is_spoken else ""), QUERY_LIMIT)
    options = _distinct(reply.options, OPTION_LIMIT)[:OPTIONS] if reply.route == "clarify" else ()
    lacks_its_words = not text if is_spoken else reply.route == "web" and not web_query
    return reasoner.Plan(
        route="documents" if lacks_its_words else reply.route, standalone=standalone,
        queries=_distinct(reply.queries, QUERY_LIMIT)[:QUERIES], web_query=web_query,
        reply=text if is_spoken else "", options=options if text and len(options) > 1 else (),
        is_for_assistant=reply.for_assistant,
    )  # fmt: skip


def to_grades(reply: GradeReply, ordered: tuple[Retrieved, ...], ask: reasoner.Ask) -> reasoner.Grades:
    """Grades by passage id; of two verdicts on one passage the first counts."""
    of: dict[str, reasoner.Grade] = {}
    for verdict in reply.passages:
        if not 1 <= verdict.passage <= len(ordered):
            continue
        passage = ordered[verdict.passage - 1].passage
        sentences = len(split_units(passage.text)) if verdict.relevance != "incorrect" else 0
        evidence = _within(verdict.evidence, sentences)
        of.setdefault(passage.id, reasoner.Grade(relevance=verdict.relevance, evidence=evidence))
    sufficient = reply.sufficient and any(grade.relevance != "incorrect" for grade in of.values())
    missing = "" if sufficient else one_line(reply.missing, QUERY_LIMIT)
    disputed = _disputes(reply.disputed, ordered) if isinstance(reply, GradeBesidePeopleReply) else {}
    lines = reply.search if isinstance(reply, GradeAndSearchReply) and not sufficient else []
    found = tuple(dict.fromkeys(step for line in lines if (step := to_step(line, ask.contents))))
    steps = found[: ask.steps_left]
    return reasoner.Grades(
        of=of, sufficient=sufficient, missing=missing, search_steps=steps, disputed=disputed
    )


def _disputes(named: list[list[int]], ordered: tuple[Retrieved, ...]) -> dict[str, tuple[str, ...]]:
    """Ids of documents' passages by that of the person's answer which they dispute; others are dropped."""
    passages = {number: hit.passage for number, hit in enumerate(ordered, start=1)}
    disputed: dict[str, tuple[str, ...]] = {}
    for first, *others in filter(None, named):
        answer = passages.get(first)
        found = [passages[each] for each in dict.fromkeys(others) if each in passages]
        documents = tuple(each.id for each in found if not is_kept(each.source))
        if answer is not None and is_kept(answer.source) and documents:
            disputed[answer.id] = documents
    return disputed


def to_grounded(
    reply: GroundingReply, statements: reasoner.Statements, strips: reasoner.Strips
) -> reasoner.Grounded:
    judged = [statement.number for statement in statements]
    numbers = [strip.number for strip in strips]
    found = {sentence: _among(named, numbers) for sentence, *named in filter(None, reply.elsewhere)}
    elsewhere = {number: named for number, named in found.items() if number in judged and named}
    lacking = (_LACKING.match(what) for what in reply.lacking)
    named_lines = reply.stated if isinstance(reply, GroundingBetweenLanguagesReply) else []
    return reasoner.Grounded(
        judged=tuple(judged),
        # A sentence that other strips state is supported: only its footnote is wrong.
        unsupported=tuple(n for n in _among(reply.unsupported, judged) if n not in elsewhere),
        lacking={int(found[1]): one_line(found[2], LACKING_LIMIT) for found in lacking if found},
        elsewhere=elsewhere,
        idle=_among(reply.idle, judged),
        absent=_among(reply.absent, judged),
        leaning=_among(reply.leaning, judged),
        stated=_statements(named_lines, judged, strips),
    )


def _statements(
    named: list[list[int]], judged: list[int], strips: reasoner.Strips
) -> dict[tuple[int, int], tuple[reasoner.Span, ...]]:
    """The spans of strips that state sentences; those that do not exist are dropped."""
    lines = {strip.number: lines_of(strip) for strip in strips}
    found: dict[tuple[int, int], tuple[reasoner.Span, ...]] = {}
    for sentence, strip, *numbers in (each for each in named if len(each) > 2):
        known = lines.get(strip, ())
        spans = tuple(known[number - 1] for number in _within(numbers, len(known)))
        if sentence in judged and spans:
            found.setdefault((sentence, strip), spans)
    return found


def _among(numbers: list[int], known: list[int]) -> tuple[int, ...]:
    return tuple(number for number in known if number in numbers)


def _within(numbers: list[int], last: int) -> tuple[int, ...]:
    """The numbers from 1 to ``last``, each once, in order."""
    return tuple(sorted({number for number in numbers if 1 <= number <= last}))


def _distinct(texts: list[str], limit: int) -> tuple[str, ...]:
    cleaned = (one_line(text, limit) for text in texts[:20])
    return tuple(dict.fromkeys(text for text in cleaned if text))


def to_draft(text: str, strips: reasoner.Strips) -> reasoner.Draft:
    """The draft in a reply. It does not answer when NO_ANSWER stands before the first footnote."""
    written = _THOUGHT.sub("", plain(text))[:DRAFT_LIMIT].lstrip()
    kept = _NO_ANSWER.sub("", written)
    text = _MARKS_ALONE.sub("", _with_bold_headings(_prose(_without_sources(kept, strips), strips))).strip()
    answers = kept == written or bool(_MARKERS.search(written[: written.index(NO_ANSWER)]))
    return reasoner.Draft(text=text, composed=True, answers=answers)


@cache
def _above_sources() -> re.Pattern[str]:
    words = "|".join(words_of("draft", "sources").values())
    return re.compile(rf"^[ \t#*_]*(?:{words})[ \t*_]*(?:[:：][ \t*_]*|$)", re.IGNORECASE | re.MULTILINE)


def _without_sources(text: str, strips: reasoner.Strips) -> str:
    """The draft without its own list of sources at the end. Every line of one begins with a footnote, or only names a
    strip."""
    *_, above = (None, *_above_sources().finditer(text))
    if above is None or not text[: above.start()].strip():
        return text
    passages = [strip.passage for strip in strips]
    names = [_NO_WORD.sub("", "".join((each.title, *each.path, each.source))).casefold() for each in passages]
    for line in filter(str.strip, text[above.end() :].splitlines()):
        item = _LIST_MARKER.sub("", line)
        words = _NO_WORD.sub("", _MARKERS.sub("", item)).casefold()
        if not (_MARKERS.match(item) or any(words in name for name in names)):
            return text
    return text[: above.start()]


def _with_bold_headings(text: str) -> str:
    """Headings as bold lines, without rules, comments and directives."""
    for unit in reversed(split_units(text)):
        if unit.kind in ("heading", "markup"):
            words = HEADING_SIGNS.sub("", text[unit.start : unit.end]) if unit.kind == "heading" else ""
            gap = "" if text.startswith("\n\n", unit.end) else "\n"
            text = text[: unit.start] + (f"**{words}**{gap}" if words else "") + text[unit.end :]
    return text


def _prose(text: str, strips: reasoner.Strips) -> str:
    """The draft with its footnotes as ``[1]``, without links, rules and lists of sources."""
    known = "\n".join(f"{strip.text}\n{strip.passage.url or ''}" for strip in strips)
    numbers = {strip.number for strip in strips}
    if not _MARKERS.search(_mask(text)):  # if footnotes have square brackets, "(1)" means something else
        text = _replace_outside_code(_IN_PARENTHESES, lambda found, _: f"{found[1]}[{found[2]}]", text)
    changes: tuple[tuple[re.Pattern[str], Change], ...] = (
        (_DEFINITION, lambda _found, _words: ""),
        (_LINK, _link(known)),
        (_ADDRESS, lambda found, _: found[0] if found[0].rstrip(".,;:!?") in known else ""),
        (_RULE, lambda _found, _words: ""),  # below a paragraph it would make a heading
        (_MARKERS, _marker(numbers)),
    )
    for pattern, change in changes:
        text = _replace_outside_code(pattern, change, text)
    return text


def _mask(text: str) -> str:
    """The text of the same length and lines, with code that nothing is found in."""
    return _CODE.sub(lambda code: _SIGN.sub("`", code[0]), text)


def _replace_outside_code(pattern: re.Pattern[str], change: Change, text: str) -> str:
    """The text with what a pattern finds outside code replaced. What stands around code is looked at together
    with it: "- `x`" is no rule, and "`x` [1]:" no link's address."""
    pieces, position = [], 0
    for found in pattern.finditer(_mask(text)):
        pieces += [text[position : found.start()], change(found, text[found.start() : found.end()])]
        position = found.end()
    return "".join((*pieces, text[position:]))


def _link(known: str) -> Change:
    def keep(found: re.Match[str], words: str) -> str:
        image, masked, target = found.groups()
        start = len(image) + 1
        label = words[start : start + len(masked)]
        if not image and target and target in known:
            return words
        return f"[{label}]" if label.isdecimal() else label

    return keep


def _marker(numbers: set[int]) -> Change:
    largest = max(numbers, default=0)

    def keep(found: re.Match[str], _words: str) -> str:
        named = dict.fromkeys(_parse_numbers(found[1] or found[2], largest))
        marks = "".join(f"[{number}]" for number in named if number in numbers)
        space = " " if found[0][0] in " \t" else ""
        return f"{space}{marks}" if marks else ""

    return keep


def _parse_numbers(written: str, largest: int) -> Iterator[int]:
    """The numbers of "1, 3-5" up to the largest there is; a range that runs backwards names its ends."""
    for first, last in re.findall(r"(\d+)(?:\s*[–-]\s*\^?(\d+))?", written):
        if last and int(first) <= int(last):
            yield from range(int(first), min(int(last), largest) + 1)
        else:
            yield from (int(number) for number in (first, last) if number)
