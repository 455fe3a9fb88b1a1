"""Within a line of Markdown: code spans, footnote markers, links."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator

#: ``[1]`` or ``[1, 2]``: strips in a draft, footnotes in an answer.
MARKER = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")

LINK_DEPTH = 2  # an image within a link

_TICKS = re.compile(r"`++")
_ANY_MARKER = re.compile(
    rf"(?<!\s)\s*+(?:\(\s*+(?:{MARKER.pattern}[\s,;]*+)++\)|{MARKER.pattern})(?:\s++(?=[.,;:!?)]))?"
)
_NUMBERED = re.compile(r"\[(\s*\d{1,4}(?:[\s,;–-]+\d{1,4})*\s*)\]")
_LABEL = r"\[(?P<words>(?:[^\[\]`]|`[^`]*`|\[[^\[\]]*\])*+)\]"
_LINK = re.compile(
    rf"!?{_LABEL}\((?:<[^<>]*>|[^()\s]*+(?:\([^()\s]*\)[^()\s]*+)*+)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)(?:\{{[^{{}}]*\}})?"
)
_REFERENCE = re.compile(rf"(?<!\w)!?(?!{MARKER.pattern}){_LABEL}\[[^\[\]]*\]")
_TAG = re.compile(
    r"</?(?:a|abbr|b|br|cite|code|dd|del|details|dfn|div|dl|dt|em|font|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|"
    r"samp|small|span|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul|var)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the code spans, ticks included: a run of ticks closes one of the same length."""
    runs = list(_TICKS.finditer(text))
    by_length: dict[int, deque[int]] = defaultdict(deque)
    for number, run in enumerate(runs):
        by_length[len(run.group())].append(number)
    number = 0
    while number < len(runs):
        same = by_length[len(runs[number].group())]
        while same and same[0] <= number:
            same.popleft()
        if same:
            yield runs[number].start(), runs[same[0]].end()
            number = same[0]
        number += 1


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with what stands outside code spans changed."""
    return "".join(piece if is_code else change(piece) for piece, is_code in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in order, in pieces that are code spans and pieces that are not."""
    position = 0
    for start, end in code_spans(text):
        yield text[position:start], False
        yield text[start:end], True
        position = end
    yield text[position:], False


def code_in(text: str) -> list[str]:
    """What stands in the code spans of a text, in order."""
    return [piece.strip("`").strip() for piece, is_code in _pieces(text) if is_code]


def cited(text: str) -> tuple[int, ...]:
    """The distinct numbers that the markers of a text name, in order."""
    bare = without_code(text)
    return tuple(dict.fromkeys(int(n) for group in MARKER.findall(bare) for n in re.split(r"[,;]", group)))


def without_code(text: str, fill: str = " ") -> str:
    """The text with blanks, or another sign, in place of its code spans."""
    return "".join(fill * len(piece) if is_code else piece for piece, is_code in _pieces(text))


def without_markers(text: str) -> str:
    """The text without footnote markers, and without the brackets or the space that they leave."""
    return outside_code(text, lambda prose: _ANY_MARKER.sub("", prose))


def without_tags(text: str) -> str:
    """The text without the tags of HTML that stand outside code."""
    return outside_code(text, lambda prose: _TAG.sub("", prose))


def as_words(text: str) -> str:
    """A source's text as an answer shows it: links and tags reduced to their words.

    A link of a source leads nowhere from here, and its own ``[3]`` would pass for a footnote of
    ours: it is shown as ``(3)``.
    """
    for _ in range(LINK_DEPTH):
        text = _LINK.sub(_words_outside(without_code(text)), text)
    return outside_code(text, _plain)


def _words_outside(prose: str) -> Callable[[re.Match[str]], str]:
    """A link's words, unless it begins within code, which ``prose`` has blanked."""
    return lambda link: link[0] if prose[link.start()] == " " else link["words"]


def _plain(prose: str) -> str:
    for _ in range(LINK_DEPTH):
        prose = _REFERENCE.sub(r"\g<words>", prose)
    return _NUMBERED.sub(r"(\1)", _TAG.sub("", prose))
