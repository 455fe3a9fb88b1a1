"""The names of a page's headings in its address, where they are known exactly.

A Data Center, and the older editor of the cloud, name a heading by the page's title and its own text without blanks:
``#InstallGuide-Firststeps``. The newer editor of the cloud writes its text with hyphens: ``#First-steps``; its pages are
known by the ``local-id`` of their elements. Other signs than letters and digits, and headings of which there are two,
are left out: what becomes of them is not written down.
https://confluence.atlassian.com/doc/anchor-macro-139517.html
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Literal

from core.library.documents import Document
from core.library.formats.markdown import heading_text

AnchorStyle = Literal["title", "hyphens", ""]

_PLAIN = re.compile(r"[^\W_]+(?: [^\W_]+)*")
_LOCAL_ID = re.compile(r"<[^>]*\blocal-id=")


def style_of(storage: str, *, is_cloud: bool) -> AnchorStyle:
    """How the headings of a page are named; empty: not known."""
    if not is_cloud:
        return "title"
    return "hyphens" if _LOCAL_ID.search(storage) else ""


def anchors_of(document: Document, title: str, style: AnchorStyle) -> tuple[tuple[int, str], ...]:
    """Where the sections begin, and their names; empty for a name that is not known for sure."""
    headings = [
        (block.start, heading_text(document.text[block.start : block.end]))
        for block in document.blocks
        if block.kind == "heading"
    ]
    counts = Counter(text for _, text in headings)
    found = tuple(
        (start, _anchor(text, title, style) if counts[text] == 1 else "") for start, text in headings
    )
    return found if any(anchor for _, anchor in found) else ()


def _anchor(heading: str, title: str, style: AnchorStyle) -> str:
    if not _PLAIN.fullmatch(heading):
        return ""
    if style == "hyphens":
        return heading.replace(" ", "-")
    return (
        f"{title.replace(' ', '')}-{heading.replace(' ', '')}"
        if style == "title" and _PLAIN.fullmatch(title)
        else ""
    )
