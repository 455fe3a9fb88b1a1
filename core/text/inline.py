"""The inline elements of Markdown: code spans, footnote markers, links."""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator

#: ``[1]`` or ``[1, 2]``: strips in a draft, footnotes in an answer.
MARKER = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")

LINK_DEPTH = 2  # an image within a link

_TICKS = re.compile(r"`++")
_ANY_MARKER = re.compile(
    rf"(?<!\s)\s*+(?:\(\s*+(?:{MARKER.pattern}[\s,;]*+)+\)|{MARKER.pattern})(?:\s++(?=[.,)]))?"
)
_NUMBERED = re.compile(r"\[(\s*\d{1,4}(?:[\s,;–-]+\d{1,4})*\s*)\]")
_LABEL = r"\[(?P<words>(?:[^\[\]`]++|`[^`]*+`|\[[^\[\]]*+\])*)\]"
_TARGET = r"\((?:<[^<>]*>|[^()\s]*+(?:\([^()\s]*+\)[^()\s]*+)*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
_LINK = re.compile(rf"!?{_LABEL}{_TARGET}(?:\{{[^{{}}]*\}})?")
_INNER_LINK = re.compile(rf"!?{_LABEL}(?!\(<?(?:https?:|mailto:)){_TARGET}(?:\{{[^{{}}]*\}})?")
_PICTURE = re.compile(rf"!{_LABEL}(?:{_TARGET}|\[[^\[\]]*\])")
_REFERENCE = re.compile(rf"(?<!\w)!?(?!{MARKER.pattern}){_LABEL}\[[^\[\]]*\]")
#: Elements of HTML's body whose tags show no words. Names that texts also use as placeholders, as in "cp <source>
#: <target>", are tags only with attributes or where they close.
_TAGS = re.compile(
    r"(?:</?(?:a|abbr|article|aside|audio|b|bdi|bdo|big|blockquote|br|caption|center|cite|code|col|colgroup|dd|del|details|"
    r"dfn|div|dl|dt|em|figcaption|figure|font|h[1-6]|hgroup|hr|i|iframe|img|ins|kbd|li|mark|nav|ol|p|picture|pre|q|rp|"
    r"rt|ruby|s|samp|section|small|span|strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|"
    r"video|wbr)(?:\s[^<>]*)?/?>"
    r"|<(?:embed|source|time|track)\s[^<>=]*=[^<>]*>|</(?:source|time|track)>)+",
    re.IGNORECASE,
)
#: Those of them that part words which no white space parts.
_PARTS = re.compile(
    r"</?(?:article|aside|blockquote|br|caption|dd|details|div|dl|dt|figcaption|figure|h[1-6]|hr|li|ol|p|pre|section|"
    r"summary|table|td|th|tr|ul)\b",
    re.IGNORECASE,
)
#: Where a tag of a template stood: core/library/formats/templates.py.
_MANY_BLANKS = re.compile(r"(?<=\S)[ \xa0]{2,}(?=[^\s.,;:!?)])|\xa0{2,}")
_BLANKS = re.compile(r"(?<=\S)[ \xa0]{3,}(?=[.,;:!?)])")


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the code spans, ticks included; opening and closing runs of ticks have the same length."""
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
    """The text with ``change`` applied outside code spans."""
    return "".join(piece if is_code else change(piece) for piece, is_code in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it is a code span."""
    position = 0
    for start, end in code_spans(text) if "`" in text else ():
        yield text[position:start], False
        yield text[start:end], True
        position = end
    yield text[position:], False


def code_in(text: str) -> list[str]:
    """The contents of the code spans, in order."""
    return [piece.strip("`").strip() for piece, is_code in _pieces(text) if is_code]


def citation_numbers(text: str) -> tuple[int, ...]:
    """The distinct numbers in the markers of a text, in order."""
    bare = without_code(text)
    return tuple(dict.fromkeys(int(n) for group in MARKER.findall(bare) for n in re.split(r"[,;]", group)))


def without_code(text: str) -> str:
    """The text with each character of a code span replaced by a blank."""
    return "".join(" " * len(piece) if is_code else piece for piece, is_code in _pieces(text))


def without_markers(text: str) -> str:
    """The text without footnote markers and the brackets or space around them."""
    return outside_code(text, lambda prose: _ANY_MARKER.sub("", prose))


def without_pictures(text: str) -> str:
    """The text without the pictures of Markdown and what is said for them."""
    return outside_code(text, lambda prose: _PICTURE.sub(" ", prose)) if "![" in text else text


def without_targets(text: str, *, inner_alone: bool = False) -> str:
    """The text with links reduced to their words; of ``inner_alone``, those that lead nowhere outside the document."""
    pattern, bare = _INNER_LINK if inner_alone else _LINK, text

    def link_text(link: re.Match[str]) -> str:
        """The words of a link, unless it begins inside code, which is blank there."""
        return link[0] if bare[link.start()] == " " else link["words"]

    for _ in range(LINK_DEPTH if "](" in text else 0):
        bare = without_code(text)
        text = pattern.sub(link_text, text)
    return text


def without_tags(text: str) -> str:
    """The text without HTML tags, except in code."""
    return outside_code(text, _remove_tags)


def _remove_tags(prose: str) -> str:
    def blank_between_words(tags: re.Match[str]) -> str:
        before, after = prose[max(0, tags.start() - 1) : tags.start()], prose[tags.end() : tags.end() + 1]
        is_inside = before and after and not (before.isspace() or after.isspace())
        return " " if is_inside and _PARTS.search(tags[0]) else ""

    return _TAGS.sub(blank_between_words, prose)


def as_words(text: str) -> str:
    """A source's text as an answer shows it: links and tags reduced to their words. A source's relative links
    do not work in an answer. Its ``[3]`` is shown as ``(3)``, so that nobody takes it for a footnote of the
    answer."""
    return outside_code(without_targets(text), _plain)


def _plain(prose: str) -> str:
    for _ in range(LINK_DEPTH):
        prose = _REFERENCE.sub(r"\g<words>", prose)
    return _BLANKS.sub("", _MANY_BLANKS.sub(" ", _NUMBERED.sub(r"(\1)", _remove_tags(prose))))
