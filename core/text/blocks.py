"""A passage as blocks of whole lines: prose, list items, code, tables, headings, markup.

It reads CommonMark and tables, the titles and literal blocks of reStructuredText, and the directives of
common site generators. It accepts broken blocks, since a passage may begin and end anywhere, and takes
linear time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

TextBlockKind = Literal["prose", "item", "code", "table", "heading", "markup"]

CODE_INDENT = 4  # columns, CommonMark 0.31, "Indented code blocks"; a tab is four
MARKUP_LIMIT = 1_000  # characters of a line that is tried as markup

#: Opens a list item; some of the bullets come from PDF and Word files.
LIST_MARKER = r"(?:[-*+•‣◦▪●]|\d{1,9}[.)])"
#: Before each line of a block quotation.
QUOTATION_MARK = r"[ \t>]*>[ \t]?"

_LINE = re.compile(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")
_QUOTATION = re.compile(QUOTATION_MARK)
_ITEM = re.compile(rf"{LIST_MARKER}(?:\s++|\Z)")
_TAGGED_ITEM = re.compile(r"<(?:li|dt|dd)(?:\s[^<>]*)?>", re.IGNORECASE)  # of HTML, which Markdown may hold
_LATER_NUMBER = re.compile(r"(?!1[.)])\d")  # no list item inside a paragraph: "… in\n2019. The …"
_FENCE = re.compile(rf"(?:{LIST_MARKER}\s++)?(`{{3,}}+(?!.*`)|~{{3,}}+)")  # "```x``` is" is inline code
_COMMENT = re.compile(r"<!--(?!.*-->)")
_HEADING = re.compile(r"#{1,6}(?:\s|\Z)")
_UNDERLINE = re.compile(r"([^\w\s])\1+")  # below a title, and over it in reStructuredText
_TABLE_ROW = re.compile(r"\||\+[-=]{2,}[-=+]*\+\Z")
#: Below the header of a table without outer bars.
_DELIMITER_ROW = re.compile(r":?-++:?\s*+(?:\|\s*+:?-++:?\s*+)+")
_MARKUP = re.compile(
    r"""
      \{[*!%\#].*[*!%\#]\} | \{\{[<%].*[>%]\}\} | \{/\*.*\*/\}  # {* file *}, {% tag %}, {{< shortcode >}}
    | (?:import|export)\ .*\ from\ ["'].*["'];?                # of MDX
    | /{3,}.* | :{3,}.* | (?:!!!|\?\?\?\+?)\ .* | ===[!+]?\ +".*"  # /// note, ::: module, !!! note, === "Tab"
    | \.\.\ (?:_.*:.*|[\w:+-]+::(?:\s.*)?)                      # .. _label:, .. note:: of reStructuredText
    | \[_{0,2}TOC_{0,2}\] | (?:[-*_=]\s*+){3,}                 # a table of contents, rules
    | (?:(?:\[!\[[^\]]*+\]\([^)]*+\)\]\([^)]*+\)            # badges, and images that say little, nothing else
        |!\[[^\s\]]*+(?:\s[^\s\]]*+){0,2}\]\([^)]*+\))(?:\{[^}]*+\})?\s*+)+
    | \[(?!\^)[^\]]++\]:\s*+\S.*                               # the address of a link
    | (?:<[/!a-zA-Z][^>]*+>\s*+)+                              # tags and comments, nothing else
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CODE_SIGN = re.compile(  # an indented line without one of these is prose
    r"[={}<>\\|`]|\w\(|\w_\w|::|;\Z|\A(?:[$#@]|--?\w|\w+:\Z)"
    r"|\A(?:import|from|def|class|return|pip|npm|git|docker|curl|cd|sudo|make|python\d?)\b"
)
#: Of reStructuredText.
_LITERAL = re.compile(r"\A(?!\.\. )(?:.*[^:])?::\Z|\A\.\. (?:code|sourcecode|parsed-literal)")
_HAS_OPTIONS = re.compile(r":{3}|/{3}")  # indented lines right below are its options
#: Indented lines below are its text.
_HAS_BODY = re.compile(r"(?:!!!|\?\?\?\+?|===[!+]?) |\.\. (?!code|sourcecode|parsed-literal)")


@dataclass(frozen=True, slots=True)
class TextBlock:
    """``text[start:end]``, without white space, list marker or quotation mark at its beginning."""

    start: int
    end: int
    kind: TextBlockKind


@dataclass(frozen=True, slots=True)
class _Line:
    start: int  #: after the quotation marks
    at: int  #: where its words begin
    words: str  #: without white space around them; empty: a blank line
    indent: int  #: columns before the words
    is_quoted: bool
    fence: int | None  #: where the fence of a code block stands, if it is one


def split_blocks(text: str) -> Iterator[TextBlock]:
    """The blocks in order; only white space, list markers and quotation marks lie between them."""
    lines = [_line(text, match) for match in _LINE.finditer(text)]
    margin: int | None = None  # columns from which a line belongs to the list or directive above
    fences = [number for number, line in enumerate(lines) if line.fence is not None]
    number = _lines_of_cut_code(lines, fences[0]) if len(fences) % 2 else 0
    if number:
        yield TextBlock(lines[0].start, lines[number - 1].at + len(lines[number - 1].words), "code")
    while number < len(lines):
        line = lines[number]
        if line.words:
            is_nested = margin is not None and line.indent >= margin
            kind = _kind_opened(line.words)
            if _is_indented_code(lines, number, is_nested=is_nested):
                kind = "code"
            elif _is_title(lines, number):
                kind = "heading"
            elif _heads_table(lines, number):
                kind = "table"
            last = _last(lines, number, kind)
            marker = _ITEM.match(line.words) if kind == "item" else None
            start = line.at + marker.end() if marker else line.at
            if kind == "code":  # what is indented keeps its indentation
                start = line.start if line.fence is None else line.fence
            yield TextBlock(start, lines[last].at + len(lines[last].words), kind)
            if marker and not is_nested:
                sign = len(marker.group().rstrip())
                margin = line.indent + min(max(marker.end(), sign + 1), sign + CODE_INDENT)
            elif not is_nested:
                margin = line.indent + 1 if kind == "markup" and _HAS_BODY.match(line.words) else None
            number = last
        number += 1


def _line(text: str, match: re.Match[str]) -> _Line:
    quotation = _QUOTATION.match(text, *match.span())
    start = quotation.end() if quotation else match.start()
    raw = text[start : match.end()]
    words = raw.strip()
    space = raw[: len(raw) - len(raw.lstrip())]
    columns = len(space.partition("\xa0")[0].expandtabs(CODE_INDENT))  # a no-break space indents nothing
    at, fence = start + len(space), _FENCE.match(words)
    return _Line(start, at, words, columns, quotation is not None, at + fence.start(1) if fence else None)


def _lines_of_cut_code(lines: Sequence[_Line], first: int) -> int:
    """The number of lines at the beginning that end code which began in an earlier passage: the ``first`` fence, one
    without a language and without another to end it, stands right behind the code, and below it a blank line."""
    if not 0 < first < len(lines) - 1:
        return 0
    before, fence, after = lines[first - 1 : first + 2]
    is_bare = not fence.words.strip("`~")
    return first + 1 if is_bare and before.words and not after.words else 0


def _is_indented_code(lines: Sequence[_Line], number: int, *, is_nested: bool) -> bool:
    line, above = lines[number], number - 1
    if not line.indent:
        return False
    while above >= 0 and not lines[above].words:
        above -= 1
    if above >= 0 and _LITERAL.search(lines[above].words):
        return True
    return line.indent >= CODE_INDENT and not is_nested and bool(_CODE_SIGN.search(line.words))


def _kind_opened(words: str) -> TextBlockKind:
    """The kind of block that a line opens, without looking at its neighbours."""
    if _FENCE.match(words):
        return "code"
    if _HEADING.match(words):
        return "heading"
    if _TABLE_ROW.match(words):
        return "table"
    if _COMMENT.match(words) or (len(words) <= MARKUP_LIMIT and _MARKUP.fullmatch(words)):
        return "markup"
    return "item" if _ITEM.match(words) or _TAGGED_ITEM.match(words) else "prose"


def _is_title(lines: Sequence[_Line], number: int) -> bool:
    """True if a line of prose is underlined. The line below has = or -, or another sign over its whole length."""
    if number + 1 == len(lines):
        return False
    title, below = lines[number], lines[number + 1]
    if not _UNDERLINE.fullmatch(below.words) or _kind_opened(title.words) != "prose":
        return False
    return below.words[0] in "=-" or (len(below.words) > 3 and len(below.words) >= len(title.words))


def _heads_table(lines: Sequence[_Line], number: int) -> bool:
    """True if the line is the header of a table without outer bars."""
    if "|" not in lines[number].words or number + 1 == len(lines):
        return False
    return bool(_DELIMITER_ROW.fullmatch(lines[number + 1].words.strip("| ")))


def _last(lines: Sequence[_Line], number: int, kind: TextBlockKind) -> int:
    """The number of the last line of the block that this line opens."""
    words = lines[number].words
    if kind == "code":
        fence = _FENCE.match(words)
        return _last_of_fence(lines, number, fence) if fence else _last_indented(lines, number)
    if kind == "heading":
        return number + _is_title(lines, number)
    last = number
    if kind == "markup":
        # The end of a comment, or of the options of a directive.
        if _COMMENT.match(words):
            return next((n for n in range(number, len(lines)) if "-->" in lines[n].words), len(lines) - 1)
        if _HAS_OPTIONS.match(words):
            while last + 1 < len(lines) and lines[last + 1].words and lines[last + 1].indent >= CODE_INDENT:
                last += 1
        return last
    while last + 1 < len(lines) and _joins(lines, last + 1, kind):
        last += 1
    return last


def _joins(lines: Sequence[_Line], number: int, kind: TextBlockKind) -> bool:
    """True if a line continues the prose, item or table above it."""
    line = lines[number]
    if not line.words or (line.is_quoted and not lines[number - 1].is_quoted):
        return False
    opened = _kind_opened(line.words)
    if kind == "table":
        return opened == "table" or (opened == "prose" and "|" in line.words)
    if opened == "item" and kind == "prose":
        is_wrapped = not lines[number - 1].words.endswith((".", ":", "!", "?", ";", "]"))
        return is_wrapped and bool(_LATER_NUMBER.match(line.words))
    return opened == "prose" and not _heads_table(lines, number)


def _last_of_fence(lines: Sequence[_Line], number: int, opening: re.Match[str]) -> int:
    """The closing fence, or else the end of the passage or of the quotation around it."""
    fence, opened = opening.group(1), lines[number]
    furthest = opened.indent + opening.start(1) + CODE_INDENT  # columns before a closing fence
    for last in range(number + 1, len(lines)):
        line = lines[last]
        if opened.is_quoted and not line.is_quoted:
            return last - 1
        if line.words.startswith(fence) and not line.words.strip(fence[0]) and line.indent < furthest:
            return last
    return len(lines) - 1


def _last_indented(lines: Sequence[_Line], number: int) -> int:
    """The last line of indented code, which may contain blank lines."""
    last, least = number, min(CODE_INDENT, lines[number].indent)
    for following in range(number + 1, len(lines)):
        if lines[following].words:
            if lines[following].indent < least:
                break
            last = following
    return last
