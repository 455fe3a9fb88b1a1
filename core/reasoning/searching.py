"""A judge's bounded search: how documents are listed for it, and how the steps that it asks for are read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from core.characters import one_line
from core.conversation import QUERY_LIMIT
from core.library.contents import Contents
from core.reasoning.reasoner import SearchStep
from core.text.terms import query_terms

SECTIONS_SHOWN = 40  # of one document
PATH_SHOWN = 150  # characters of a section's path, the last ones

_KINDS: Mapping[str, Literal["search", "open", "find"]] = {"search": "search", "open": "open", "find": "find"}
_STEP = re.compile(
    r"\W*(search|open|find)\b\s*(?:in\s+)?(?:documents?\s+)?"
    r"(?:(\d{1,2})(?:\.(\d{1,4})\b|(?=\s*(?:[:,(]|p(?:age|\.)|$)|\s[–-])))?\W*(.*)",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\b(?:pages?|slides?|cells?|p\.?)\s*(\d{1,5})", re.IGNORECASE)


def listed(contents: Contents, question: str, seen: Collection[tuple[str, ...]], number: int) -> str:
    """A document's name and sections, one on each line, as "2.14 Item 8 > Cash flows (page 61)". ``seen``: the paths
    of those of which passages are there already.
    """
    lines = [" ".join(f"{contents.title} ({contents.source})".split())]
    for place, section in contents.shown(query_terms(question), seen, SECTIONS_SHOWN):
        path = " ".join(" > ".join(section.path).split())[-PATH_SHOWN:]
        lines.append(f"{number}.{place} {path}" + (f" ({section.pages})" if section.pages else ""))
    return "\n".join(lines)


def to_step(line: str, contents: Sequence[Contents]) -> SearchStep | None:
    """A step as a judge writes it: "search 2: words", "open 2.14", "open 2: page 61", "find 2: words"; None: it names
    nothing. A phrase to find in no document in particular is searched for.
    """
    found = _STEP.match(one_line(line, QUERY_LIMIT))
    if found is None:
        return None
    number, section, words = int(found[2] or 0), int(found[3] or 0), found[4]
    document = contents[number - 1] if 1 <= number <= len(contents) else None
    words = words.strip(" \"'“”")
    kind = _KINDS[found[1].casefold()]
    if document is None:
        return SearchStep(kind="search", words=words) if words and kind != "open" else None
    step = SearchStep(kind="search", address=document.address, source=document.source, words=words)
    if kind != "open":
        return replace(step, kind=kind) if words else None
    page = _PAGE.search(words)
    if page and not section:
        return replace(step, kind="open", page=int(page[1]))
    if 1 <= section <= len(document.sections):
        path = document.sections[section - 1].path
        return replace(step, kind="open", path=path, words=path[-1])
    return replace(step, words=words) if words else None  # a heading that is not numbered: it is searched for
