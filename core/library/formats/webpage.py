"""HTML files and fetched pages: their readable part, found by trafilatura, as Markdown."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import markdown, templates
from core.library.formats.assembly import Part, assemble, parts_of
from core.library.formats.dates import changed_in_head
from core.library.formats.encoding import decode

if TYPE_CHECKING:
    from configparser import ConfigParser

HTML_LIMIT = 8_000_000  # characters; trafilatura takes about half a second for a million
# In a page for trafilatura: the time of some of its steps grows with the square of their number.
TAG_LIMIT = 60_000
INLINE_LIMIT = 2_000  # of spans or links in such a page, for the same reason
FULL_PAGE = 250  # characters; if trafilatura finds less, the page probably has no article

_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset=["']?([\w-]+)|encoding=["']([\w-]+)["']""", re.IGNORECASE)
_CHARSET_WITHIN = 2_048  # bytes; the HTML Standard requires it within 1,024

_MAIN_PART = re.compile(r"""<(?:main|article)\b|\brole=["']?main\b""", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^<>]*>", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]*>([^<]*)", re.IGNORECASE)

_INLINE_TAGS = tuple(re.compile(rf"</?{tag}\b[^<>]*>", re.IGNORECASE) for tag in ("span", "a"))

#: What folds away, which trafilatura takes for headings: Sphinx writes notes and examples so.
_FOLDED = re.compile(r"<(/?)(details|summary)\b[^<>]*>", re.IGNORECASE)

_UNSHOWN = ("script", "style", "template", "noscript", "title", "svg")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = (
    "p", "div", "br", "li", "tr", "pre", "table", "ul", "ol", "dl", "dt", "dd", "blockquote",
    "section", "article", "main", "header", "footer", "nav", "aside",
)  # fmt: skip

_OWN_TAG = re.compile(r"(?<!\\)</?(?:sup|sub|u)>")
# code spans are matched to be left alone
_ESCAPE = re.compile(r"(`{1,3}).+?\1|\\([!-/:-@\[-`{-~])", re.DOTALL)
_SPACES = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_PERMALINK = "¶🔗 "


def parse(data: bytes | str, *, name: str, url: str | None = None) -> Document:
    """The page's text under a heading; ``name`` is used where the page has no title."""
    if isinstance(data, str):
        text = data
    else:
        named = _CHARSET.search(data[:_CHARSET_WITHIN])
        declared = (named[1] or named[2]).decode("ascii", "ignore") if named else None
        text = decode(data, suffix=".html", declared=declared)
    if len(text) > HTML_LIMIT:
        raise DocumentError(f"is larger than {HTML_LIMIT // 1_000_000} MB, the most a web page may have")
    front, changed_at, text = markdown.without_front_matter(text)
    text = templates.clean_html(text)
    extracted = markdown.parse(_readable(text, url))
    found = _TITLE.search(text)
    title = front or extracted.title or (" ".join(html.unescape(found[1]).split()) if found else "") or name
    changed_at = changed_in_head(text) if changed_at is None else changed_at
    return assemble(_parts(extracted, title), title=title, url=url, changed_at=changed_at)


def _readable(text: str, url: str | None) -> str:
    """The main part as Markdown, or an article of a fetched page; else all, with its tables."""
    if text.count("<") > TAG_LIMIT:
        return _all_text(text)
    for tag in _INLINE_TAGS:
        text = tag.sub("", text) if len(tag.findall(text)) > INLINE_LIMIT else text
    text = _FOLDED.sub(lambda tag: f"<{tag[1]}{'p' if tag[2].lower() == 'summary' else 'div'}>", text)
    opening = _BODY.search(text)
    whole = f"<html><body><article>{text[opening.end() :] if opening else text}"
    if _MAIN_PART.search(text):
        attempts = ((text, True), (whole, True))
    elif url:
        attempts = ((text, False), (whole, True))
    else:
        attempts = ((whole, True), (text, False))
    import trafilatura

    found: str = ""
    for page, trusts_structure in attempts:
        extracted = trafilatura.extract(
            page, url=url, output_format="markdown", include_comments=False, favor_recall=True,
            fast=trusts_structure, config=_settings(trusts_structure=trusts_structure),
        )  # fmt: skip
        found = extracted or found
        if found and (trusts_structure or len(found) >= FULL_PAGE):
            return found
    return found or _all_text(text)


def _all_text(text: str) -> str:
    """All text that a browser would show, in headings and paragraphs."""
    import trafilatura

    page = trafilatura.load_html(f"<html><body>{text}")
    if page is None:
        return ""
    for element in page.iter(*_UNSHOWN):
        element.text, element[:] = "", []
    for element in page.iter(*_BLOCKS, *_HEADINGS):
        element.text = f"\n\n{_HEADINGS.get(element.tag, '')}{(element.text or '').lstrip()}"
        element.tail = f"\n\n{element.tail or ''}"
    return str(page.text_content())


@cache
def _settings(*, trusts_structure: bool) -> "ConfigParser":
    from copy import deepcopy

    from trafilatura.settings import DEFAULT_CONFIG

    settings = deepcopy(DEFAULT_CONFIG)
    if trusts_structure:
        settings["DEFAULT"]["MIN_EXTRACTED_SIZE"] = "0"  # accept short text
    return settings


def _parts(extracted: Document, title: str) -> Iterator[Part]:
    if title and extracted.blocks and extracted.blocks[0].kind != "heading":
        yield Part(kind="heading", text=f"# {title}", level=1)
    for part in parts_of(extracted):
        kept = "|" if part.kind == "table" else ""
        text = part.text if part.kind == "code" else _plain(part.text, keep=kept)
        yield replace(part, text=text.rstrip(_PERMALINK) if part.kind == "heading" else text)


def _plain(text: str, *, keep: str) -> str:
    """A text without the escapes and tags of trafilatura: a quote reads as the page does."""
    text = _SPACES.sub(" ", _OWN_TAG.sub("", text))
    return _ESCAPE.sub(lambda match: match[2] if match[2] and match[2] != keep else match[0], text)
