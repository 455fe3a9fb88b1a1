"""Markdown: CommonMark with tables, and the directives of the usual site generators.

The text is the file itself. Every line that is not blank belongs to exactly one
block. What should not be quoted (front matter, directives, comments, lone images,
rules, link definitions) is "markup".
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from core.library.documents import Block, BlockKind, Document
from core.library.formats.assembly import LINE_END, LineSpan, Source, runs_of
from core.library.formats.dates import changed_in_fields

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

HEADING_LIMIT = 200  # characters; a longer one is a paragraph with a rule directly below it
BRACKET_LIMIT = 20  # in a heading; the time to find links grows with the square of their number
DIRECTIVE_LIMIT = 1_000  # characters; a longer line is not a directive

_FRONT_MATTER = re.compile(
    r"""\A(---|\+\+\+)[ \t]*(?:\r\n?|\n)
    (?=[ \t]*(?:\#|["'\w-]+[ \t]*[:=]))  # a key or a comment, or it is a rule
    (.*?)^\1[ \t]*(?=[\r\n]|\Z)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_TITLE_FIELD = re.compile(r"^title[ \t]*[:=](.*)$", re.MULTILINE)

_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "prose",
    "blockquote_open": "prose",
    "list_item_open": "item",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "hr": "markup",
    "html_block": "prose",
}

_DIRECTIVE = re.compile(
    r"""
      \{[*!%\#].*[*!%\#]\}                      # {* file *}, {! file !}, {% tag %}, {# comment #}
    | \{\{[<%].*[>%]\}\}                        # {{< shortcode >}}
    | \{/\*.*\*/\}                              # a comment of MDX
    | (?:import|export)\ .*\ from\ ["'].*["'];? # imports of MDX
    | /{3,}(?:\s.*)? | :{3,}.*                  # /// note | Title, ::: module.name
    | (?:!!!|\?\?\?\+?)\ .* | ===[!+]?\ +".*"   # !!! note, ??? details, === "Tab"
    | \[_{0,2}TOC_{0,2}\]
    | (?:(?:\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)     # badges, and images that say little (three words), nothing else
        |!\[[^\s\]]*(?:\s[^\s\]]*){0,2}\]\([^)]*\))(?:\{[^}]*\})?\s*)+
    """,
    re.VERBOSE | re.IGNORECASE,
)
_HAS_OPTIONS = re.compile(r"\s*(?::{3}|/{3})")  # indented lines directly below are its options
_HAS_BODY = re.compile(r"\s*(?:!!!|\?\?\?\+?|===[!+]?) ")  # indented paragraphs below are its text

_UNSEEN_HTML = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^>]*(?:>|\Z)", re.DOTALL | re.IGNORECASE
)
_HTML_KINDS: tuple[tuple[str, BlockKind], ...] = (("<pre", "code"), ("<table", "table"))

_ADORNMENT = re.compile(r"([^\w\s])\1*")  # the line below a heading, and above it in reStructuredText
_HASHES = re.compile(r"\A#{1,6}(?: |\Z)| #+\Z")
_ATTRIBUTES = re.compile(r" ?\{:? ?[#.][^{}]*\}\Z")  # { #anchor }, {#anchor .class}, {: .class }
_PERMALINK = re.compile(r"\[[¶#§🔗]?\]\(#[^)]*\)|[¶🔗]\Z")


def parse(text: str) -> Document:
    front = _FRONT_MATTER.match(text)
    source = Source(text)
    spans = _line_spans(source, front.end() if front else 0)
    blocks = tuple(block for span in spans if (block := source.block(span)))
    changed_at = changed_in_fields(front[2]) if front else None
    title = (_title_field(front) if front else "") or first_heading(text, blocks)
    return Document(title=title, text=text, blocks=blocks, changed_at=changed_at)


def without_front_matter(text: str) -> tuple[str, float | None, str]:
    """(the title and the last change that the front matter gives, what follows it); it stands in HTML too."""
    front = _FRONT_MATTER.match(text)
    if front is None:
        return "", None, text
    return _title_field(front), changed_in_fields(front[2]), text[front.end() :]


def _title_field(front: re.Match[str]) -> str:
    field = _TITLE_FIELD.search(front[2])
    return field[1].strip().strip("\"'") if field else ""


def heading_text(source: str) -> str:
    """A heading as a reader sees it, without hashes, underline, anchor, permalink and inline markup."""
    lines = [" ".join(line.split()) for line in LINE_END.split(source)]
    line = " ".join(line for line in lines if len(lines) == 1 or not _ADORNMENT.fullmatch(line))
    line = _HASHES.sub("", line[: 2 * HEADING_LIMIT])
    line = _PERMALINK.sub("", _ATTRIBUTES.sub("", line).strip())
    if line.count("[") > BRACKET_LIMIT:
        return line
    (inline,) = _parser(inline=True).parseInline(line)
    visible = (token.content for token in inline.children or () if token.type in {"text", "code_inline"})
    return " ".join("".join(visible).split())


@cache
def _parser(*, inline: bool) -> "MarkdownIt":
    """The parser, without inline rules unless needed: they take ten times longer than finding the blocks."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    if not inline:
        parser.core.ruler.enableOnly(["normalize", "block"])
    # Its first use puts its tables of rules together, and another thread would see them half done.
    parser.parse("a")
    return parser


def first_heading(text: str, blocks: Iterable[Block]) -> str:
    """The words of the first heading of level 1; empty without one."""
    return next((heading_text(text[block.start : block.end]) for block in blocks if block.level == 1), "")


def _line_spans(source: Source, front_end: int) -> Iterator[LineSpan]:
    """Spans in order, which contain every line of the file once."""
    reached = sum(1 for start in source.starts[:-1] if start < front_end) if front_end else 0
    if reached:
        yield LineSpan(0, reached, "markup")
    body = source.text[source.starts[reached] :]
    offset = reached
    in_admonition = False
    for token in _parser(inline=False).parse(body):
        # Lists count as their items; what is inside an item or a quotation belongs to it.
        is_top_level = token.level == (1 if token.type == "list_item_open" else 0)
        if token.map is None or token.type not in _KINDS or not is_top_level:
            continue
        first, last = (max(reached, offset + line) for line in token.map)
        yield from _markup_between(source, reached, first)
        indented = token.type == "code_block"
        for span in _of_token(source, token, first, last):
            yield LineSpan(span.first, span.last, "prose") if indented and in_admonition else span
            opens = span.kind == "markup" and _HAS_BODY.match(source.line(span.last - 1))
            in_admonition = bool(opens) or (in_admonition and indented)
        reached = last
    yield from _markup_between(source, reached, len(source))


def _of_token(source: Source, token: "Token", first: int, last: int) -> Iterator[LineSpan]:
    kind = _KINDS[token.type]
    if token.type == "paragraph_open":
        yield from _without_directives(source, first, last)
    elif token.type == "html_block":
        begins = token.content.lstrip().lower()
        shown: BlockKind = next((kind for tag, kind in _HTML_KINDS if begins.startswith(tag)), "prose")
        is_seen = _UNSEEN_HTML.sub("", token.content).strip()
        yield LineSpan(first, last, shown if is_seen else "markup")
    elif kind == "heading" and len(source.lines(first, last)) <= HEADING_LIMIT:
        yield LineSpan(first, last, kind, level=int(token.tag[1:]))
    else:
        yield LineSpan(first, last, "prose" if kind == "heading" else kind)


def _without_directives(source: Source, first: int, last: int) -> Iterator[LineSpan]:
    """The directive lines of a paragraph, and its text."""
    kinds: list[BlockKind] = []
    takes_options = False
    for number in range(first, last):
        line = source.line(number)
        is_option = takes_options and line.startswith(("    ", "\t"))
        is_directive = is_option or (len(line) <= DIRECTIVE_LIMIT and _DIRECTIVE.fullmatch(line.strip()))
        takes_options = is_option or bool(is_directive and _HAS_OPTIONS.match(line))
        kinds.append("markup" if is_directive else "prose")
    yield from runs_of(kinds, first)


def _markup_between(source: Source, first: int, last: int) -> Iterator[LineSpan]:
    """Lines of no token: link definitions, and footnotes of one word, which look like them."""
    for number in range(first, last):
        is_footnote = source.line(number).lstrip().startswith("[^")
        yield LineSpan(number, number + 1, "prose" if is_footnote else "markup")
