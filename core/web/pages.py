"""What a public address served, and the readable part of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from core.errors import DocumentError, SearchTrouble
from core.web.hosts import host_of
from core.web.results import Page

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
READABLE_TYPES = HTML_TYPES | {"text/plain", "text/markdown", "text/x-markdown"}
INGESTED_TYPES = READABLE_TYPES | {"application/pdf"}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a public address served."""

    url: str  #: after redirects
    content_type: str  #: lower case, without parameters
    data: bytes = field(repr=False)
    charset: str | None = None  #: as the server named it


def page_of(resource: Resource) -> Page:
    """The readable part of a fetched page; SearchTrouble when there is none."""
    host = host_of(resource.url)
    read = html_page if resource.content_type in HTML_TYPES else text_page
    try:
        title, text = read(resource)
    except DocumentError as trouble:
        logger.info("%s: %s", host, trouble)
        text = ""
    if not text.strip():
        raise SearchTrouble(f"{host} sent a page without readable text.")
    return Page(url=resource.url, title=title or host, text=text)


def text_page(resource: Resource) -> tuple[str, str]:
    """No title, and the text as sent."""
    from core.library.encoding import decode

    return "", decode(resource.data, declared=resource.charset)


def html_page(resource: Resource) -> tuple[str, str]:
    """Title and readable text. What the server calls the charset outranks the page's word (HTML, 13.2.3.2)."""
    from core.library.formats.read import parse_html

    data = text_page(resource)[1] if resource.charset else resource.data
    document = parse_html(data, url=resource.url)
    return document.title, document.text
