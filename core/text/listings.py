"""Code blocks that a source must bear out line by line; a variable that a block sets may have another name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.text.vocabulary import STOP_WORDS

_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,}).*$", re.MULTILINE)
_NAME = re.compile(r"[^\W\d]\w{2,}")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_COMMENT = re.compile(r"(?:^|(?<=\s))(?:#|//).*$", re.MULTILINE)
_PROMPT = re.compile(r"^[ \t]*(?:[$%]|>>>)[ \t]", re.MULTILINE)
_SET = re.compile(r"\s*(?:(?:const|let|var)\s+)?(\w+)\s*(?::[^=\n]+)?=(?!=)")
_IMPORT = re.compile(r"(\s*from\s+[\w.]+\s+import)\s")
_TAG = re.compile(r"</?\w[^<>\n]{0,200}>")  # colours of a terminal
_LAST_COMMA = re.compile(r", (?=[)\]}])")
NAMES_FOUND = 0.8  # share of a block's names, those of its comments among them, that its source must hold


def holds_code_block(block: str, source: str) -> bool:
    """Whether every line of a code block stands in the source; its layout may differ, and what a comment says.

    Most names must be the source's, in comments too. Imports may be drawn together.
    """
    lines = _FENCE_LINE.sub("", block)
    known = set(_NAME.findall(source))
    code = _COMMENT.sub("", _PROMPT.sub("", lines)).split("\n")
    own = set(_set_in(code)) - known
    names = set(_NAME.findall(lines)) - own - STOP_WORDS
    if len(names & known) < NAMES_FOUND * len(names):
        return False
    flat = [_flat(_PROMPT.sub("", text)) for text in (source, _TAG.sub("", source))]
    return all(_stands_in(line, own, known, flat) for line in code)


def _set_in(lines: list[str]) -> Iterator[str]:
    """Variables that the code sets; what stands in brackets is an argument's name."""
    depth = 0
    for line in lines:
        if not depth and (match := _SET.match(line)):
            yield match[1]
        depth = max(
            0, depth + sum(line.count(sign) for sign in "([{") - sum(line.count(sign) for sign in ")]}")
        )


def _stands_in(line: str, own: set[str], known: set[str], sources: list[str]) -> bool:
    if module := _IMPORT.match(line):
        names = set(_TOKEN.findall(line[module.end() :]))
        return _stands_in(module[1], set(), known, sources) and names <= {*" ".join(sources).split(), ","}
    tokens = _flat(line).removesuffix(" ,").split()
    if not any(re.match(r"\w", token) for token in tokens):
        return True
    pattern = " ".join(r"\S+" if token in own else re.escape(token) for token in tokens)
    wanted = re.compile(rf"(?<!\S){pattern}(?!\S)")
    return any(wanted.search(source) for source in sources)


def _flat(code: str) -> str:
    """Its tokens with one blank between them."""
    return _LAST_COMMA.sub("", " ".join(_TOKEN.findall(code.replace("'", '"'))))
