"""An addition to a document of plain text, in the style of the section that it is put into.

Nothing that stands there is changed. The addition is an entry of its own where the section is made of questions, an item
where it ends in a list, else paragraphs at its end; lines end, are wrapped and are spaced as those around them.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from typing import Literal

from core.conversation import value
from core.library.documents import Block, Document, Passage
from core.library.formats.markdown import heading_text
from core.text.language import language_of
from core.text.sentences import split_sentences
from core.text.terms import query_terms

Style = Literal["question", "bold question", "item", "paragraph"]

ITEM_LIMIT = 400  # characters: what is longer is no item of a list
FOUND_BY = 200  # characters of a passage by which it is found again
LONG = 90  # characters; a paragraph of more shows whether lines are wrapped
WIDEST = 120  # characters of a wrapped line
QUESTIONS = 2  # of a section, from which its entries are questions

_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+•]|(?P<number>\d{1,4})(?P<dot>[.)]))(?P<blank>[ \t]+)")
_BOLD = re.compile(r"(?P<mark>\*\*|__)[^*_\n]+[?？]\s*(?P=mark)(?P<rest>[ \t]*\S)?")
_ASKS = re.compile(r"[?？][*_\"'”»)\s]*\Z")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1+")
_PROSE = re.compile(r"(?![ \t]|[-*+•>|#]|\d+[.)][ \t]|```|~~~)")
#: Lines that belong to the heading below them, or to the end of the whole document.
_OF_WHAT_FOLLOWS = re.compile(
    r"\s*(?:\[[^\]\n]+\]:[ \t].*|<!--.*-->|<a [^>]*>(?:</a>)?|\.\. _[^:]+:.*|\[\[.*\]\]|\[#.*\]|-{3,}|\*{3,}|_{3,}|'{3,})\s*"
)


@value
class AddedText:
    """An addition to a document."""

    question: str  #: that it answers
    paragraphs: tuple[str, ...]


@value
class Inserted:
    """A text with an addition."""

    text: str
    style: Style
    section: tuple[str, ...]  #: the headings above it, outermost first


@value
class _Heading:
    start: int
    end: int
    level: int
    text: str

    @property
    def asks(self) -> bool:
        return bool(_ASKS.search(self.text))


def insert(document: Document, text: str, near: Passage, addition: AddedText) -> Inserted:
    """The text of a document with the addition in the section of a passage. Offsets of the document count into the text."""
    found = ((each, text[each.start : each.end]) for each in document.blocks if each.kind == "heading")
    headings = [
        _Heading(start=each.start, end=each.end, level=each.level, text=heading_text(written))
        for each, written in found
    ]
    at = _insertion_offset(text, headings, near, addition)
    newline = "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"
    paragraphs = [_wrap(each, text, document.blocks) for each in addition.paragraphs]
    above = _above(headings, at)
    section = tuple(each.text for each in above)
    if entry := _entry(headings, above, len(text)):
        following, heading, parents = entry
        end = _end_before(text, following)
        parts = [_format_heading(text, heading, addition.question, newline), *paragraphs]
        section = tuple(each.text for each in parents)
        return Inserted(text=_insert(text, end, parts, newline), style="question", section=section)
    end = _end_before(text, next((each.start for each in headings if each.start > at), len(text)))
    begin = above[-1].end if above else 0
    own = [each for each in document.blocks if begin <= each.start < end and each.kind != "heading"]
    bold = [match for each in own if (match := _BOLD.match(text, each.start, each.end))]
    if len(bold) >= QUESTIONS:
        question = f"{bold[-1]['mark']}{addition.question}{bold[-1]['mark']}"
        parts = (
            [f"{question} {paragraphs[0]}", *paragraphs[1:]] if bold[-1]["rest"] else [question, *paragraphs]
        )
        return Inserted(text=_insert(text, end, parts, newline), style="bold question", section=section)
    is_short = len(paragraphs) == 1 and len(paragraphs[0]) <= ITEM_LIMIT and bool(_PROSE.match(paragraphs[0]))
    if is_short and (item := _item(text[begin:end])):
        mark, before = item
        lines = paragraphs[0].split("\n")
        body = f"\n{' ' * len(mark)}".join((mark + lines[0], *lines[1:]))
        return Inserted(text=_insert(text, end, [body], newline, before), style="item", section=section)
    return Inserted(text=_insert(text, end, paragraphs, newline), style="paragraph", section=section)


def _insertion_offset(text: str, headings: Sequence[_Heading], near: Passage, addition: AddedText) -> int:
    """The offset of a passage in a text, which may have changed since it was read. Within the passage, it is
    the section with most words of the addition. A passage that is gone is replaced by the beginning of its
    section."""
    beginning = near.text[:FOUND_BY]
    start = near.start if text[near.start :].startswith(beginning) else text.find(beginning)
    if start < 0:
        known = {each.text: each.end for each in headings}
        return next((known[name] for name in reversed(near.path) if name in known), len(text))
    end = start + len(near.text)
    inner = [each for each in headings if start <= each.start < end]
    starts = [each.end for each in inner]
    if not inner or inner[0].start > start:
        starts.insert(0, start)
    language = language_of(addition.question)
    words = set(query_terms("\n".join((addition.question, *addition.paragraphs)), language))
    parts = [_terms(text, headings, begin, stop, language) for begin, stop in pairwise((*starts, end))]
    found = Counter(term for part in parts for term in part)
    worth = [sum(1 / found[term] for term in words & part) for part in parts]
    return starts[worth.index(max(worth))]


def _terms(text: str, headings: Sequence[_Heading], start: int, end: int, language: str) -> frozenset[str]:
    above = " ".join(each.text for each in _above(headings, start)[1:])
    return frozenset(query_terms(f"{above}\n{text[start:end]}", language))


def _above(headings: Sequence[_Heading], at: int) -> tuple[_Heading, ...]:
    above: list[_Heading] = []
    for each in headings:
        if each.start > at:
            break
        while above and above[-1].level >= each.level:
            above.pop()
        above.append(each)
    return tuple(above)


def _entry(
    headings: Sequence[_Heading], above: Sequence[_Heading], length: int
) -> tuple[int, _Heading, Sequence[_Heading]] | None:
    """Where a new question belongs: its offset, a question like it, and the headings above them. None in a
    section whose headings are no questions; ``length`` is that of the text."""
    for parents in dict.fromkeys((tuple(above), tuple(above[:-1]))):
        children = _children(headings, parents)
        asking = [each for each in children if each.asks]
        if len(asking) < QUESTIONS or 2 * len(asking) < len(children):
            continue
        model = asking[-1] if len(parents) == len(above) else above[-1]
        later = (each for each in headings if each.start > model.start and each.level <= model.level)
        return next((each.start for each in later), length), model, parents
    return None


def _children(headings: Sequence[_Heading], parents: Sequence[_Heading]) -> list[_Heading]:
    """The headings directly below the last of these; without one, those of the highest level."""
    begin, level = (parents[-1].end, parents[-1].level) if parents else (0, 0)
    later = (each for each in headings if each.start >= begin)
    below = [*takewhile(lambda each: each.level > level, later)]
    highest = min((each.level for each in below), default=0)
    return [each for each in below if each.level == highest]


def _format_heading(text: str, model: _Heading, question: str, newline: str) -> str:
    line = text.rfind("\n", 0, model.start) + 1
    lines = text[line : model.end].splitlines()
    if len(lines) > 1 and (underline := _UNDERLINE.fullmatch(lines[-1].strip())):
        return f"{question}{newline}{underline[1] * len(question)}"
    signs = re.match(r"[#=*]+[ \t]+", lines[0])
    return (signs[0] if signs else "") + question


def _item(section: str) -> tuple[str, str] | None:
    """The mark of the next item of a list that ends a section, and what stands before it.

    None without a list.
    """
    lines = section.rstrip().splitlines()
    items: list[tuple[int, re.Match[str]]] = []  # the last one first
    for at in range(len(lines) - 1, -1, -1):
        if match := _ITEM.match(lines[at]):
            items.append((at, match))
        elif lines[at].strip() and lines[at][0] not in " \t":
            break
    indent = min((len(match["indent"]) for _, match in items), default=0)
    top = [(at, match) for at, match in items if len(match["indent"]) == indent]
    if not top:
        return None
    (last, newest), (before, older) = top[0], top[min(1, len(top) - 1)]
    mark, number = newest["mark"], newest["number"]
    if number is not None:
        is_counted = len(top) == 1 or older["number"] != number  # some write "1." before each
        mark = f"{int(number) + is_counted}{newest['dot']}"
    is_loose = any(not line.strip() for line in lines[before:last])
    return f"{newest['indent']}{mark}{newest['blank']}", "\n\n" if is_loose else "\n"


def _end_before(text: str, following: int) -> int:
    """The end of a section's own text, without what belongs to what follows."""
    line = text.rfind("\n", 0, following) + 1 if following < len(text) else following
    end = len(text[:line].rstrip())
    while end and _OF_WHAT_FOLLOWS.fullmatch(text, line := text.rfind("\n", 0, end) + 1, end):
        end = len(text[:line].rstrip())
    return end


def _insert(text: str, end: int, parts: Iterable[str], newline: str, before: str = "\n\n") -> str:
    added = (before if end else "") + "\n\n".join(parts).replace("\r\n", "\n")
    return text[:end] + added.replace("\n", newline) + text[end:]


def _wrap(paragraph: str, text: str, blocks: Sequence[Block]) -> str:
    """A paragraph with lines as long as those of the document: one, one a sentence, or wrapped."""
    if not all(map(_PROSE.match, paragraph.splitlines())):
        return paragraph
    paragraph = " ".join(paragraph.split())
    prose = [text[each.start : each.end].splitlines() for each in blocks if each.kind == "prose"]
    long = [lines for lines in prose if sum(map(len, lines)) > LONG and all(map(_PROSE.match, lines))]
    broken = [lines for lines in long if len(lines) > 1]
    if 2 * len(broken) <= len(long) or not broken:
        return paragraph
    inner = [line.rstrip() for lines in broken for line, _ in pairwise(lines)]
    if sum(line.endswith((".", "!", "?", ":", "。")) for line in inner) > 0.8 * len(inner):
        return "\n".join(paragraph[start:end].strip() for start, end in split_sentences(paragraph))
    width = min(max(map(len, inner)), WIDEST)
    return "\n".join(textwrap.wrap(paragraph, width, break_long_words=False, break_on_hyphens=False))
