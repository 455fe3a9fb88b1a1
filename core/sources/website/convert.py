"""A page of a website: its links, its own address, whether it may be kept, and the anchors of its headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from core.conversation import value
from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats.encoding import decode
from core.library.formats.markdown import heading_text
from core.library.formats.read import parse_html
from core.sources.source import SourceItem, parse_as_file

if TYPE_CHECKING:
    from core.sources.website.address import WebsiteAddress


AGENT = "footnote"  # the name under which robots.txt and pages may speak to us
HTML_LIMIT = 8_000_000  # bytes of a page that are read for its links
LINK_LIMIT = 5_000  # links of a page
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
PERMALINK = "¶🔗# "  # signs of links beside headings

_CANONICAL = re.compile(r"<([^<>]+)>[^,]*;\s*rel\s*=\s*\"?canonical\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


@value
class PageHead:
    """The head of a page: its links, and what it says of itself."""

    links: tuple[str, ...] = ()  #: normal URLs of the website, in order
    canonical: str | None = None  #: the page of the website that this one is a copy of
    is_hidden: bool = False  #: whether it asks not to be indexed


def head_of(data: bytes, url: str, site: WebsiteAddress, headers: Mapping[str, str]) -> PageHead:
    """The head of a page of HTML. ``headers``: of the response, with lower-case names."""
    tree = _tree(data)
    words = _directives([headers.get("x-robots-tag", "")])
    links: list[str] = []
    canonical = _CANONICAL.search(headers.get("link", ""))
    target = canonical[1] if canonical else None
    if tree is not None:
        words |= _directives(_meta(tree))
        base = next((found for each in tree.iter("base") if (found := each.get("href"))), "")
        base = _joined(base, url)
        for each in tree.iter("link"):
            if "canonical" in _relations(each) and each.get("href"):
                target = target or _joined(each.get("href"), base)
        if "nofollow" not in words:
            links = [each.get("href") for each in tree.iter("a") if each.get("href") and _is_followed(each)]
    else:
        base = url
    found = (site.normal(each, base) for each in links[:LINK_LIMIT])
    own = site.normal(target, url) if target else None
    return PageHead(
        links=tuple(dict.fromkeys(each for each in found if each is not None and each != url)),
        canonical=own if own != url else None,
        is_hidden="noindex" in words,
    )


def _joined(link: str, base: str) -> str:
    from urllib.parse import urljoin

    try:
        return urljoin(base, link.strip())
    except ValueError:
        return base


def _tree(data: bytes) -> Any:
    """The page as lxml parsed it; None if there is nothing to parse."""
    import trafilatura

    if len(data) > HTML_LIMIT:
        return None
    try:
        return trafilatura.load_html(decode(data, suffix=".html"))
    except DocumentError:
        return None


def _relations(element: Any) -> frozenset[str]:
    return frozenset((element.get("rel") or "").lower().split())


def _is_followed(link: Any) -> bool:
    return "nofollow" not in _relations(link)


def _meta(tree: Any) -> Iterator[str]:
    for each in tree.iter("meta"):
        if (each.get("name") or "").strip().lower() in ("robots", AGENT):
            yield each.get("content") or ""


def _directives(texts: Iterable[str]) -> frozenset[str]:
    """Directives that are meant for us: "noindex, otherbot: nofollow" asks for "noindex"."""
    found: set[str] = set()
    for text in texts:
        agent = AGENT
        for part in text.lower().split(","):
            name, sign, word = part.rpartition(":")
            if sign and not name.strip().startswith(("unavailable", "max-")):
                agent = name.strip()
            if agent in (AGENT, "*"):
                found.add(word.strip())
    return frozenset(found | ({"noindex", "nofollow"} if "none" in found else set()))


# Anchors


def anchors_of(document: Document, data: bytes) -> tuple[tuple[int, str], ...]:
    """The sections to which the page gives an address: where they begin in the document's text, and these names, in order.

    Headings of the text are found again in the page by their words. A heading that stands in the text alone, or
    without a name, belongs to none.
    """
    named = list(_named_headings(data))
    found, begin = [], 0
    for block in document.blocks:
        if block.kind != "heading":
            continue
        words = _words(heading_text(document.text[block.start : block.end]))
        at = next((number for number in range(begin, len(named)) if named[number][0] == words), None)
        if at is not None:
            begin = at + 1
        found.append((block.start, named[at][1] if at is not None else ""))
    return tuple(found) if any(name for _, name in found) else ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def _named_headings(data: bytes) -> Iterator[tuple[tuple[str, ...], str]]:
    """The words of each heading of a page, and its name there; empty if it has none."""
    tree = _tree(data)
    if tree is None:
        return
    for each in tree.iter(*HEADINGS):
        yield _words("".join(each.itertext()).strip(PERMALINK)), _name_of(each)


def _name_of(heading: Any) -> str:
    """Its own id, that of a link in it, or of the section that it begins."""
    own = heading.get("id") or next(
        (name for each in heading.iter("a", "span") if (name := each.get("id") or each.get("name"))), ""
    )
    if own:
        return str(own)
    section = heading.getparent()
    is_first = section is not None and section.tag in ("section", "div") and _first_child(section) is heading
    return str(section.get("id") or "") if is_first else ""


def _first_child(element: Any) -> Any:
    return next((each for each in element if isinstance(each.tag, str)), None)


def parse_page(item: SourceItem, data: bytes) -> Document:
    """A page as it is read from the web, with the names of its sections."""
    if PurePosixPath(item.name).suffix != ".html":
        return parse_as_file(item, data)
    document = parse_html(data, url=item.url)
    return replace(document, anchors=anchors_of(document, data))
