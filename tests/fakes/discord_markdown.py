"""What a client of Discord makes of Markdown, as far as it can do harm: links, mentions, what hides.

Written from "Markdown Text 101" and "Message Formatting", and from what others found by trying
(github.com/LyricLy/parse-discord). Where these leave a choice, the strict reading is taken: the
server finds pings in the source, whatever stands around them, and a link that is refused has its
parts read once more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Entity:
    kind: str  #: ping, mention, link, emoji, time, command, navigation or spoiler
    target: str
    label: str = ""  #: of a link


@dataclass(frozen=True, slots=True)
class Span:
    text: str
    entity: Entity | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands that is read."""

    before: str = ""  #: what precedes it on its line: nothing, spaces, or any other sign
    in_quote: bool = False
    depth: int = 0  #: levels of lists
    marks: int = 0  #: levels of emphasis
    in_label: bool = False


LISTS = 11  # levels
MARKS = 50  # levels that are read; no text needs as many
PINGS = re.compile(r"@everyone|@here|<@[!&]?\d+>")


def read(source: str) -> list[Span]:
    return list(_spans(source, Place()))


def visible(source: str) -> str:
    """The words that a reader sees."""
    return "".join(span.text for span in read(source))


def entities(source: str) -> list[Entity]:
    """What does something."""
    pinged = [Entity("ping", found[0]) for found in PINGS.finditer(source)]
    return pinged + [span.entity for span in read(source) if span.entity]


_LIST = re.compile(r"(?:[*-]|\d+\.) +.", re.DOTALL)
_PLAIN = re.compile(r"[^\\`*_~|<@hHsSdD\[\-#>\d]*")  # what no rule begins with, and no list


def _spans(source: str, place: Place) -> Iterator[Span]:
    at = 0
    while at < len(source):
        found = next((made for rule in _RULES.get(source[at], ()) if (made := rule(source, at, place))), None)
        if found is None and not place.in_label and _LIST.match(source, at):
            found = _list(source, at, place)
        if found is None:
            end = _PLAIN.match(source, at + 1).end()  # type: ignore[union-attr]
            yield Span(source[at:end])
            at = end
        else:
            end, spans = found
            yield from spans
            at = end


Found = tuple[int, list[Span]] | None


def _inner(source: str, at: int, text: str, place: Place, **more: object) -> list[Span]:
    """What stands within a mark, read with what precedes the mark on its line."""
    before = source[source.rfind("\n", 0, at) + 1 : at]
    if "\n" not in source[:at]:
        before = place.before + before
    return list(_spans(text, replace(place, before=before, **more)))


def _begins_line(source: str, at: int, place: Place, *, may_indent: bool) -> bool:
    start = source.rfind("\n", 0, at) + 1
    before = source[start:at] if start else place.before + source[:at]
    return not before or (may_indent and not before.strip(" "))


def _escape(source: str, at: int, place: Place) -> Found:
    found = re.compile(r"\\([^A-Za-z0-9\s])").match(source, at)
    return (found.end(), [Span(found[1])]) if found and not place.in_label else None


def _fence(source: str, at: int, place: Place) -> Found:
    found = re.compile(r"```(?:([A-Za-z_\-+.0-9]*)\n)?(.*?[^\n].*?)```", re.DOTALL).match(source, at)
    if found is None or place.in_label:
        return None
    ansi = [Span("", Entity("ansi", found[2]))] if (found[1] or "").lower() == "ansi" else []
    return found.end(), [Span(found[2].strip("\n")), *ansi]


def _code(source: str, at: int, _place: Place) -> Found:
    ticks = re.compile("`+").match(source, at)[0]
    for length in range(len(ticks), 0, -1):
        closing = re.compile(rf"(?<!`)`{{{length}}}(?!`)").search(source, at + length + 1)
        if closing:
            return closing.end(), [Span(source[at + length : closing.start()])]
    return None


def _marks(*patterns: str) -> Callable[[str, int, Place], Found]:
    """Of several that begin alike, the one that reaches farthest."""
    shapes = [re.compile(pattern, re.DOTALL) for pattern in patterns]

    def rule(source: str, at: int, place: Place) -> Found:
        made = [found for shape in shapes if (found := shape.match(source, at))]
        if not made or place.marks == MARKS:
            return None
        found = max(made, key=lambda each: each.end())
        return found.end(), _inner(source, at, found[1], place, marks=place.marks + 1)

    return rule


_STARS = _marks(r"\*(?!\s)((?:\\.|\*\*|[^*\\])+?)(?<!\s) {0,2}\*(?!\*)", r"\*\*((?:\\.|[^\\])+?)\*\*(?!\*)")
_UNDERSCORES = _marks(r"_((?:\\.|__|[^_\\])+?)_(?![A-Za-z0-9_])", r"__((?:\\.|[^\\])+?)__(?!_)")
_STRIKE = _marks(r"~~(.+?)~~(?!_)")


def _spoiler(source: str, at: int, place: Place) -> Found:
    found = re.compile(r"\|\|(.+?)\|\|", re.DOTALL).match(source, at)
    if found is None:
        return None
    return found.end(), [Span("", Entity("spoiler", found[1])), *_inner(source, at, found[1], place)]


_SEQUENCES = {
    "mention": re.compile(r"<(?:@[!&]?|#)\d+>"),
    "emoji": re.compile(r"<a?:\w+:\d+>"),
    "time": re.compile(r"<t:-?\d+(?::\w)?>"),
    "command": re.compile(r"</[^:>\n]+:\d+>"),
    "navigation": re.compile(r"<id:[\w:-]+>"),
    "link": re.compile(r"<([^: >]+:/[^ >]+)>"),
}


def _sequence(source: str, at: int, place: Place) -> Found:
    for kind, shape in _SEQUENCES.items():
        found = shape.match(source, at)
        if found and not (place.in_label and kind not in ("emoji", "time")):
            target = found[1] if kind == "link" else found[0]
            return found.end(), [Span(target, Entity(kind, target, target if kind == "link" else ""))]
    return None


def _broadcast(source: str, at: int, place: Place) -> Found:
    found = re.compile("@(?:everyone|here)").match(source, at)
    return (found.end(), [Span(found[0], Entity("ping", found[0]))]) if found and not place.in_label else None


def _bare_link(source: str, at: int, place: Place) -> Found:
    found = re.compile(r"(?:https?|steam|discord)://[^\s<]+[^<.,:;\"'\]\s]").match(source, at)
    if found is None or place.in_label:
        return None
    url = found[0]
    if len(url) - len(url.rstrip(")")) > url.count("("):
        url = url[:-1]
    return at + len(url), [Span(url, Entity("link", url, url))]


def _masked_link(source: str, at: int, place: Place) -> Found:
    shape = re.compile(
        r"\[((?:\[[^\]]*\]|[^\[\]])*[^\[]*)\]\(\s*<?((?:\([^)]*\)|[^\s\\]|\\[^\n])*?)>?(?:\s+['\"].*?['\"])?\s*\)",
        re.DOTALL,
    )
    found = shape.match(source, at)
    if found is None or place.in_label:
        return None
    url = re.sub(r"\\([^A-Za-z0-9\s])", r"\1", found[2])
    if not re.match(r"(?:https?|discord)://\S", url, re.IGNORECASE) or _is_refused(found[1]):
        return None
    inside = list(_spans(re.sub("[\u200b-\u200f]", "", found[1]), Place(in_label=True)))
    label = "".join(span.text for span in inside)
    hidden = [Span("", span.entity) for span in inside if span.entity]
    return found.end(), [Span(label, Entity("link", url, label)), *hidden]


EMOJI = re.compile("[\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")


def _is_refused(label: str) -> bool:
    """Labels take no addresses and mentions, even in code, and no emoji but in code."""
    words = re.sub("`", "", label)
    bare = re.sub("`[^`]*`", "", label)
    made = list(_spans(words, Place(before="x")))
    known = {span.entity.kind for span in made if span.entity} - {"spoiler", "time"}
    return bool(known) or "```" in label or bool(EMOJI.search(bare)) or not label.strip("|*_~` ")


def _small(source: str, at: int, place: Place) -> Found:
    found = re.compile(r"-# +(?!-#)([^\n]+)\n?").match(source, at)
    if found is None or not _begins_line(source, at, place, may_indent=False):
        return None
    return found.end(), [*_inner(source, at, found[1], place), Span("\n")]


def _heading(source: str, at: int, place: Place) -> Found:
    found = re.compile(r"#{1,3}\s+(?!#)([^\n]*)\n?").match(source, at)
    if found is None or place.depth or not _begins_line(source, at, place, may_indent=False):
        return None
    title = found[1].rstrip().rstrip("#").rstrip()
    return found.end(), [*_inner(source, at, title, place), Span("\n")]


def _quotation(source: str, at: int, place: Place) -> Found:
    if place.in_quote or not _begins_line(source, at, place, may_indent=True):
        return None
    if source.startswith(">>> ", at):
        return len(source), _inner(source, at, source[at + 4 :], place, in_quote=True)
    lines, end = [], at
    while found := re.compile(r" *> ([^\n]*)(?:\n|\Z)" if lines else r"> ([^\n]*)(?:\n|\Z)").match(
        source, end
    ):
        lines.append(found[1])
        end = found.end()
        if end == len(source):
            break
    if not lines:
        return None
    return end, [*_inner(source, at, "\n".join(lines), place, in_quote=True), Span("\n")]


def _list(source: str, at: int, place: Place) -> Found:
    item = re.compile(r" *((?:[*-]|\d+\.) +)(.[^\n]*(?:\n [^\n]*)*)\n?", re.DOTALL)
    if place.depth >= LISTS or not _LIST.match(source, at):
        return None
    if not _begins_line(source, at, place, may_indent=True):
        return None
    spans, end = [], at
    while found := item.match(source, end):
        text = re.sub(rf"(?m)^ {{1,{len(found[1])}}}", "", found[2])
        sign = found[1].strip()
        spans.append(Span("• " if sign in "*-" else f"{sign} "))
        spans += [*_spans(text, replace(place, before="", depth=place.depth + 1)), Span("\n")]
        end = found.end()
        if end == len(source):
            break
    return end, spans


_RULES: dict[str, tuple[Callable[[str, int, Place], Found], ...]] = {
    "\\": (_escape,),
    "`": (_fence, _code),
    "*": (_list, _STARS),
    "_": (_UNDERSCORES,),
    "~": (_STRIKE,),
    "|": (_spoiler,),
    "<": (_sequence,),
    "@": (_broadcast,),
    **dict.fromkeys("hHsSdD", (_bare_link,)),
    "[": (_masked_link,),
    "-": (_small,),
    "#": (_heading,),
    ">": (_quotation,),
}
