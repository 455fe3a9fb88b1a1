"""Templates that site generators write between the words, as a reader of the site sees them.

A tag becomes blanks, so every offset and every line stays where it is in the file. Where a tag shows words
(a caption, the title of a card) they stand in its place, and an inline expression becomes "…". Code stays as
it is: the documentation of a template language shows tags in it.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

from core.library.formats import markdown
from core.library.formats.assembly import LINE_END
from core.text.inline import code_spans

TAG_LIMIT = 2_000  # characters; a longer tag is text
STATEMENT_LIMIT = 5_000  # characters of an import or export of MDX
NO_BREAK_SPACE = "\xa0"
ALT_WORDS = 4  # fewer words name a picture ("the build badge") and say nothing

_CANDIDATE = re.compile(r"\{[{%#/]|<%|</?[A-Z]|<img\b|^(?:import|export)\s|\{[^{}\n]*\}", re.MULTILINE)
_OPENING = re.compile(r"\{\{|\{%|\{#|\{/\*|<%|</?(?=[A-Z])|<(?=(?i:img)\b)")
_CLOSINGS = {"{{": "}}", "{%": "%}", "{#": "#}", "{/*": "*/}", "<%": "%>"}
_PARAGRAPH_END = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)")

#: Components of JSX begin with a capital; what is in quotation marks and braces may hold any sign.
_COMPONENT = re.compile(
    r"""</?(?P<name>[A-Z][\w.]*+)(?=[\s/>])
        (?P<rest>(?:"[^"]*+"|'[^']*+'|\{(?:[^{}]++|\{(?:[^{}]++|\{[^{}]*+\})*\})*\}|[^<>{}"']++)*)>""",
    re.VERBOSE,
)
_IMAGE = re.compile(r"""<img\b(?P<rest>(?:"[^"]*+"|'[^']*+'|[^<>"']++)*)>""", re.IGNORECASE)
_SHOWN = re.compile(
    r"""(?i)(?<![\w-])(?:text|title|caption|label|summary|alt)\s*=\s*(?:"([^"\r\n{}<>]*)"|'([^'\r\n{}<>]*)')""",
)
_NAME = re.compile(r"\{[{%][<%-]?\s*(/?[\w.-]*)")
_RAW = frozenset({"raw", "verbatim"})  # statements whose block is shown as it is
_KEPT = _RAW | {"highlight"}
_HIGHLIGHT = re.compile(
    r"\{[{%][<%-]?\s*(?P<end>end|/)?(?:highlight|codeblock)\b[\s\"]*(?P<language>[\w+#-]*)"
)
_BLOCK = re.compile(r"\{%-?\s*(?P<end>end)?(?P<name>for|raw|verbatim|highlight)\b[^%]{0,200}%\}")
_CLOSING_TAG = re.compile(r"\{\{[<%]-?\s*(/[\w.-]+)|</([A-Z][\w.]*)")
_NOT_TEMPLATE = re.compile(r"(?:[$^_}]|\\[A-Za-z]*)\Z")  # ${{ secrets.KEY }}, and the braces of TeX
_LINK_OPENS = re.compile(r"<a\b[^<>]*>\s*\Z", re.IGNORECASE)
_WORD = re.compile(r"\w")
_DESTINATION = re.compile(r"\]\([^()\s]*\Z")

#: trafilatura leaves figures out, with what they say.
_FIGURE_AS = {"<figure": "<div", "</figure": "</div", "<figcaption": "<p", "</figcaption": "</p"}
_FIGURE = re.compile(r"</?fig(?:ure|caption)\b", re.IGNORECASE)

_IMPORT = re.compile(r"""import\s+(?:[\w*{][^'"]*?\sfrom\s+)?['"][^'"\n]+['"];?[ \t]*$""", re.MULTILINE)
_EXPORT = re.compile(r"export\s+(?:default|const|let|var|function|class|async)\b")
_BRACKETS = re.compile(r"[\[({]|([\])}])|\r\n?|\n")

_EXPRESSION = re.compile(r"(?<![\\{$])\{(?!\s*[#.:{/])([^{}\n]{1,500})\}(?!\})")  # of MDX, in the text
_LITERAL = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)"|`([^`$\\]*)`)\s*""")


@dataclass(frozen=True, slots=True)
class _Tag:
    """``text[start:end]``, and the words that stand in its place."""

    start: int
    end: int
    words: str = ""


def clean_markdown(text: str, *, is_mdx: bool = False) -> str:
    """Markdown of the same length, without tags and components. In MDX, braces are expressions."""
    if not _CANDIDATE.search(text):
        return text
    code = _code_in(text)
    tags = [*_template_tags(text, code, is_markdown=True), *_modules(text, code)]
    if is_mdx:
        taken = Spans([*code.spans, *((tag.start, tag.end) for tag in tags)])
        tags += _braces(text, taken)
    return _without(text, tags, _pad)


def clean_html(text: str) -> str:
    """HTML without the tags of template languages, with the words of its pictures and their captions as paragraphs."""
    text = _FIGURE.sub(lambda found: _FIGURE_AS[found[0].lower()], text)
    if not _CANDIDATE.search(text):
        return text
    code = Spans(match.span() for match in islice(_ELEMENT.finditer(text), ELEMENT_LIMIT))
    return _without(text, _template_tags(text, code, is_markdown=False), _as_paragraph)


def _without(text: str, tags: Iterable[_Tag], replaced: Callable[[_Tag, str], str]) -> str:
    parts, reached = [], 0
    for tag in sorted(tags, key=lambda tag: (tag.start, -tag.end)):
        if tag.start >= reached:
            parts += [text[reached : tag.start], replaced(tag, text)]
            reached = tag.end
    return "".join((*parts, text[reached:]))


def _as_paragraph(tag: _Tag, text: str) -> str:
    return f"<p>{tag.words}</p>" if text[tag.start] == "<" else tag.words


def _pad(tag: _Tag, text: str) -> str:
    """The words in the first line of the tag that has room for them; blanks for everything else.

    Before the text of a line they are no-break spaces, as other blanks there would make it code.
    """
    lines = text[tag.start : tag.end].splitlines(keepends=True)
    room = next((n for n, line in enumerate(lines) if len(line.rstrip("\r\n")) >= len(tag.words)), None)
    padded = []
    for number, line in enumerate(lines):
        bare = line.rstrip("\r\n")
        padded.append((tag.words if number == room else "").ljust(len(bare)) + line[len(bare) :])
    last = text.find("\n", tag.end)
    is_first = len(lines) > 1 or not text[text.rfind("\n", 0, tag.start) + 1 : tag.start].strip()
    if not padded[-1].strip() and is_first and text[tag.end : last if last >= 0 else None].strip():
        padded[-1] = NO_BREAK_SPACE * len(padded[-1])
    return "".join(padded)


def _template_tags(text: str, code: "Spans", *, is_markdown: bool) -> Iterator[_Tag]:
    ends = _Ends(text)
    position = 0
    while opening := _OPENING.search(text, position):
        at = opening.start()
        if inside := code.around(at):
            position = inside[1]
            continue
        tag = _tag(text, at, opening[0], ends, is_markdown=is_markdown)
        position = tag.end if tag else opening.end()
        if tag is None:
            continue
        end = ends.of_blocks.get(tag.start)
        if end and _name(text, tag) in _KEPT:
            position = end[0]
        elif end and _is_alone(text, tag):
            tag = _Tag(tag.start, end[1])  # the body of a loop is written once for each item of a list
            position = end[1]
        yield tag


class _Ends:
    """The ends of a text's blocks, found once."""

    def __init__(self, text: str) -> None:
        opened: dict[str, list[int]] = {name: [] for name in (*_KEPT, "for")}
        #: Of the closing statement, by where the opening one is.
        self.of_blocks: dict[int, tuple[int, int]] = {}
        for found in _BLOCK.finditer(text):
            if not found["end"]:
                opened[found["name"]].append(found.start())
            elif opened[found["name"]]:
                self.of_blocks[opened[found["name"]].pop()] = found.span()
        #: Where the last closing tag of a shortcode ("/note") or component ("Tab") is.
        self.last = {found[1] or found[2]: found.start() for found in _CLOSING_TAG.finditer(text)}

    def is_closed(self, name: str, after: int) -> bool:
        return self.last.get(name, -1) >= after


def _name(text: str, tag: _Tag) -> str:
    found = _NAME.match(text, tag.start, tag.end) if text[tag.start] == "{" else None
    return found[1] if found else ""


def _tag(text: str, at: int, opening: str, ends: _Ends, *, is_markdown: bool) -> _Tag | None:
    if opening in ("<", "</"):
        return _element(text, at, ends, is_markdown=is_markdown)
    end = text.find(_CLOSINGS[opening], at + len(opening), at + TAG_LIMIT)
    if end < 0 or _PARAGRAPH_END.search(text, at, end):
        return None
    tag = _Tag(at, end + len(_CLOSINGS[opening]))
    inner = text[at + len(opening) : end]
    if opening == "{#":
        return tag if "}" not in inner else None  # {#anchor} is no comment
    # A statement of ERB and EJS shows nothing, an expression does.
    if opening == "{/*" or (opening == "<%" and inner[:1] != "="):
        return tag
    if opening == "{%" or (opening == "{{" and inner[:1] in "<%"):
        return _directive(text, tag, inner, ends)
    is_text = opening == "{{" and _NOT_TEMPLATE.search(text, max(0, tag.start - 40), tag.start)
    return None if is_text else _Tag(tag.start, tag.end, _gap(text, tag))


def _directive(text: str, tag: _Tag, inner: str, ends: _Ends) -> _Tag | None:
    """A statement or a shortcode, with the words of its caption or title."""
    if inner[1:3] == "/*":
        return None  # {{</* … */>}} is how Hugo's documentation shows a shortcode
    if (block := _HIGHLIGHT.match(text, tag.start)) and _is_alone(text, tag):
        return _Tag(tag.start, tag.end, "```" + ("" if block["end"] else block["language"]))
    words = _words(inner)
    is_shortcode = text.startswith("{{", tag.start)
    if words or not is_shortcode or _is_alone(text, tag):
        return _Tag(tag.start, tag.end, words if not _within_address(text, tag) else _gap(text, tag))
    name = _name(text, tag)
    is_paired = name.startswith("/") or ends.is_closed(f"/{name}", tag.end)
    return _Tag(tag.start, tag.end, "" if is_paired else _gap(text, tag))


def _element(text: str, at: int, ends: _Ends, *, is_markdown: bool) -> _Tag | None:
    near = text[at : at + TAG_LIMIT]
    if image := _IMAGE.match(near):
        words = _words(image["rest"])
        is_badge = _LINK_OPENS.search(text, max(0, at - 300), at)
        return _Tag(at, at + image.end(), words) if len(words.split()) >= ALT_WORDS and not is_badge else None
    is_type = near[1:2] != "/" and text[max(0, at - 1) : at].isalnum()  # Map<K, V>
    component = _COMPONENT.match(near) if is_markdown and not is_type else None
    if component is None or _PARAGRAPH_END.search(component[0]):
        return None
    is_closed = "/" in near[:2] or component["rest"].endswith("/") or "=" in component["rest"]
    if not is_closed and not ends.is_closed(component["name"], at):
        return None  # Vec<T>
    return _Tag(at, at + component.end(), _words(component["rest"]))


def _words(attributes: str) -> str:
    """The words of a tag that a reader sees: the longest of its texts."""
    found = [" ".join((a or b).split()) for a, b in _SHOWN.findall(attributes)]
    return max(found, key=len, default="")


def _gap(text: str, tag: _Tag) -> str:
    """A sign for words that are not known here. In an address, which is not shown, it is what keeps that
    whole."""
    if _within_address(text, tag):
        return "_" * (tag.end - tag.start) if "\n" not in text[tag.start : tag.end] else ""
    before = text[text.rfind("\n", 0, tag.start) + 1 : tag.start]
    in_attribute = before.rfind("<") > before.rfind(">")
    return "" if in_attribute or _is_alone(text, tag) else "…"


def _within_address(text: str, tag: _Tag) -> bool:
    return bool(_DESTINATION.search(text[max(0, tag.start - 300) : tag.start]))


def _is_alone(text: str, tag: _Tag) -> bool:
    """True if no word stands beside it, on its lines or in its element of HTML."""
    line = text.rfind("\n", 0, tag.start) + 1
    following = text.find("\n", tag.end)
    line_end = following if following >= 0 else len(text)
    first = max(line, text.rfind(">", line, tag.start) + 1)
    element_end = text.find("<", tag.end, line_end)
    last = element_end if element_end >= 0 else line_end
    return not _WORD.search(text[first : tag.start]) and not _WORD.search(text[tag.end : last])


def _modules(text: str, code: "Spans") -> Iterator[_Tag]:
    """The imports and exports of MDX, which begin a line and may go over several."""
    for line in re.finditer(r"^(?=(?:import|export)\s)", text, re.MULTILINE):
        start = line.start()
        if code.around(start):
            continue
        if found := _IMPORT.match(text, start, start + STATEMENT_LIMIT):
            yield _Tag(*found.span())
        elif _EXPORT.match(text, start):
            end = _end_of_balance(text, start)
            if end is None:
                return  # this is no MDX, and what follows is not looked at
            yield _Tag(start, end)


def _end_of_balance(text: str, start: int) -> int | None:
    """The end of the first line on which every bracket is closed; None where that is too far."""
    depth = 0
    for found in _BRACKETS.finditer(text, start, start + STATEMENT_LIMIT):
        if found[0] in "\r\n":
            if depth <= 0:
                return found.start()
        else:
            depth += -1 if found[1] else 1
    return len(text) if depth <= 0 and len(text) <= start + STATEMENT_LIMIT else None


def _braces(text: str, taken: "Spans") -> Iterator[_Tag]:
    """The expressions of MDX: a literal is its words."""
    for found in _EXPRESSION.finditer(text):
        if not taken.around(found.start()):
            literal = _LITERAL.fullmatch(found[1])
            words = next((group for group in literal.groups() if group is not None), "") if literal else None
            yield _Tag(*found.span(), _gap(text, _Tag(*found.span())) if words is None else words)


ELEMENT_LIMIT = 5_000  # elements of a page that are looked at

FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?!.*`)|~{3,})")
_ELEMENT = re.compile(r"(?is)<(pre|code|samp|kbd|textarea|script|style)\b[^<>]*>.*?</\1\s*>")
_BLANK_LINES = re.compile(r"(?:\r\n?|\n)(?:[ \t]*(?:\r\n?|\n))+")


class Spans:
    """Spans of a text, in order, none within another."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self.spans: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if self.spans and start < self.spans[-1][1]:
                self.spans[-1] = (self.spans[-1][0], max(end, self.spans[-1][1]))
            else:
                self.spans.append((start, end))

    def around(self, at: int) -> tuple[int, int] | None:
        """The span that holds this offset."""
        index = bisect_right(self.spans, at, key=lambda span: span[0]) - 1
        return self.spans[index] if index >= 0 and at < self.spans[index][1] else None

    def gaps(self, end: int) -> Iterator[tuple[int, int]]:
        """The spans between them, up to ``end``."""
        reached = 0
        for start, last in self.spans:
            if reached < start:
                yield reached, start
            reached = last
        if reached < end:
            yield reached, end


def _code_in(text: str) -> Spans:
    """The code of Markdown: fences at any depth, indented blocks, code spans and elements of HTML."""
    indented = (
        (block.start, block.end)
        for block in markdown.parse(text).blocks
        if block.kind == "code" and not FENCE.match(text, block.start)
    )
    blocks = Spans([*_fenced_spans(text), *indented])
    found = [*blocks.spans]
    for start, end in blocks.gaps(len(text)):
        # No blank line interrupts a code span.
        edges = [start, *(match.end() for match in _BLANK_LINES.finditer(text, start, end)), end]
        for first, last in pairwise(edges):
            found += ((first + a, first + b) for a, b in code_spans(text[first:last]))
        found += (match.span() for match in islice(_ELEMENT.finditer(text, start, end), ELEMENT_LIMIT))
    return Spans(found)


def _fenced_spans(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each fenced block, also an indented one; one that is not closed runs to the end."""
    opened, fence, position = 0, "", 0
    for end in (*(match.end() for match in LINE_END.finditer(text)), len(text)):
        below = fence_after(text[position:end], fence)
        if below and not fence:
            opened = position
        elif fence and not below:
            yield opened, end
        fence, position = below, end
    if fence:
        yield opened, len(text)


def fence_after(line: str, fence: str) -> str:
    """The fence that is open below this line; empty: none."""
    if not fence:
        found = FENCE.match(line)
        return found[1] if found else ""
    bare = line.strip(" \t\r\n>")
    return "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
