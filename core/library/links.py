"""Links from footnotes to where people read the documents, as SOURCE_URL_BASE says.

A base becomes a template, an address with placeholders. A ``?…`` or ``#…`` of it is left out when nothing
is known for a placeholder in it. Names of files are percent-encoded, so that they cannot change the link.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote, urlsplit

from core.conversation import Citation, Outcome
from core.errors import DocumentError
from core.library.entries import Entry
from core.library.formats import includes, markdown, templates
from core.library.formats.assembly import line_starts
from core.library.formats.encoding import decode
from core.library.formats.includes import MARKDOWN
from core.library.formats.parser_process import FOREIGN
from core.library.formats.read import read_bytes
from core.library.store import DocumentStore

#: What follows the path on hosts of code, by how the name of the host begins, and on every other host.
TAILS: Mapping[str, str] = {
    "github.": "?plain=1#L{line}-L{last_line}",
    "gitlab.": "?plain=1#L{line}-{last_line}",
    "bitbucket.org": "#lines-{line}:{last_line}",
    "bitbucket.": "#{line}-{last_line}",
    "codeberg.org": "?display=source#L{line}-L{last_line}",
    "gitea.": "?display=source#L{line}-L{last_line}",
    "forgejo.": "?display=source#L{line}-L{last_line}",
    "": "#{anchor}",
}
DOCUMENT = frozenset({"path", "page", "source"})  #: placeholders; a template has at least one
PLACEHOLDERS = ("path", "page", "source", "line", "last_line", "anchor", "mkdocs_anchor")

ANCHOR_LIMIT = 1_000_000  # characters of a file whose headings are read for a link
OTHER_TEXT = FOREIGN | {".ipynb"}  #: suffixes; their text is not the file
_INDEX = frozenset({"index", "readme"})  #: pages that sites show for their folder

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PAGE = re.compile(r"pages? (\d+)")
_OWN_ANCHOR = re.compile(r"\{:? ?#([\w.:-]+)[^{}]*\}\s*\Z")  # { #anchor }, {#anchor .class}
_IN_FRAGMENT = "!$&'()*+,;=:@/?"  # signs that are not escaped there, RFC 3986, 3.5
_SLASHES = re.compile(r"(?<!:)//+")


def parse_template(base: str) -> str:
    """A base as a template; ValueError with what is wrong with it."""
    used = set(_PLACEHOLDER.findall(base))
    if unknown := used - set(PLACEHOLDERS):
        raise ValueError(f"holds {{{min(unknown)}}}; known are {{{'}, {'.join(PLACEHOLDERS)}}}")
    host = urlsplit(base).netloc
    if "@" in host or "{" in host:
        raise ValueError("must name a host, without a password and placeholders")
    if used & DOCUMENT:
        return base
    if used or "?" in base or "#" in base:
        raise ValueError("must say where the path goes: {path}, {page} or {source}")
    tail = next(tail for begin, tail in TAILS.items() if host.startswith(begin))
    return f"{base.rstrip('/')}/{{path}}{tail}"


def fill_template(template: str, values: Mapping[str, str]) -> str | None:
    """The address for these values of placeholders; None if it cannot be made."""
    address, _, fragment = template.partition("#")
    path, _, query = address.partition("?")
    written = _fill(path, values)
    if written is None:
        return None
    written = _SLASHES.sub("/", written)  # the page of a folder's index is empty
    if asked := _fill(query, values):
        written += f"?{asked}"
    anchor = f"page={values['pdf_page']}" if "pdf_page" in values else _fill(fragment, values)
    return f"{written}#{anchor}" if anchor else written


def _fill(part: str, values: Mapping[str, str]) -> str | None:
    if any(name not in values for name in _PLACEHOLDER.findall(part)):
        return None
    return _PLACEHOLDER.sub(lambda found: quote(values[found[1]], safe="/"), part)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLinks:
    """Links for the documents of the collections that have a template. Its methods block."""

    templates: Mapping[str, str]  #: by collection
    store: DocumentStore
    private: Path  #: a folder whose files people cannot reach: uploads are below it

    def add_links(self, outcome: Outcome) -> Outcome:
        """The outcome with links in its citations."""
        return outcome.with_citations(lambda cited: tuple(replace(c, url=self.address(c)) for c in cited))

    def address(self, citation: Citation) -> str | None:
        """The URL of what a citation quotes; None if it is not known."""
        return self._in_page(citation, citation.url) if citation.url else self._link(citation)

    def line(self, citation: Citation) -> int | None:
        """The line of its file on which the quote begins; None: it has none, or the file has changed."""
        line = self.store.line_of(citation.collection, citation.source, citation.quote, citation.start)
        entries = self.store.find_named(citation.collection, citation.source) if line is None else ()
        if len(entries) == 1 and entries[0].address.startswith("/"):
            may_read = self.store.roots.rules(citation.collection).includes
            return int(_location_fields(entries[0], citation, may_read).get("line", "0")) or None
        return line

    def _in_page(self, citation: Citation, url: str) -> str:
        """The address with the lines or the section of the quote. A file in a repository is opened at the
        lines, where the host can show them, and a page at its section, where it names one; a section may have
        an address of its own."""
        if citation.origin != "documents":
            return url
        collection, source, host = citation.collection, citation.source, urlsplit(url).netloc
        tail = next((tail for begin, tail in TAILS.items() if begin and host.startswith(begin)), None)
        line = self.store.line_of(collection, source, citation.quote, citation.start) if tail else None
        if tail and line is not None:  # what an API gave, as an issue, has no lines
            return url + tail.format(line=line, last_line=line + citation.quote.count("\n"))
        anchor = self.store.anchor_of(collection, source, citation.start)
        # pages name their sections: of the same host
        if anchor and anchor.startswith(("https://", "http://")):
            return anchor if urlsplit(anchor).netloc == host else url
        return f"{url}#{quote(anchor, safe=_IN_FRAGMENT)}" if anchor and "#" not in url else url

    def _link(self, citation: Citation) -> str | None:
        template = self.templates.get(citation.collection)
        if template is None or citation.origin != "documents":
            return None
        entries = self.store.find_named(citation.collection, citation.source)
        if len(entries) != 1 or entries[0].url:  # of two files with one name, it is not known which is meant
            return None
        (entry,) = entries
        if Path(entry.address).is_relative_to(self.private.resolve()):
            return None
        address, root = PurePosixPath(entry.address), PurePosixPath(entry.root)
        path = PurePosixPath(address.name) if address == root else address.relative_to(root)
        page = path.parent if path.stem.lower() in _INDEX else path.with_suffix("")
        names = {"path": str(path), "page": str(page) if page.parts else "", "source": entry.source}
        may_read = self.store.roots.rules(citation.collection).includes
        return fill_template(template, names | _location_fields(entry, citation, may_read))


def _location_fields(entry: Entry, citation: Citation, may_read: Callable[[str], bool]) -> dict[str, str]:
    """The lines and the heading of a quote, or its page; nothing for a file that has changed."""
    suffix = PurePosixPath(entry.address).suffix.lower()
    if suffix in OTHER_TEXT:
        page = _PAGE.match(citation.location) if suffix == ".pdf" else None
        return {"pdf_page": page[1]} if page else {}
    try:
        path = Path(entry.address)
        data, whole = includes.bytes_with_includes(read_bytes(path), path, Path(entry.root), may_read)
        text = decode(data)
    except DocumentError:
        return {}
    if suffix in MARKDOWN:
        text = templates.clean_markdown(text, is_mdx=suffix == ".mdx")
    if text[citation.start : citation.end] != citation.quote:
        return {}
    starts = line_starts(text)[:-1]
    first, last = (bisect_right(starts, at) for at in (citation.start, citation.end - 1))
    if whole and whole.lines:
        first, last = whole.lines[first - 1], whole.lines[last - 1]
    lines = {"line": str(first), "last_line": str(last)}
    is_markdown = suffix in MARKDOWN and len(text) <= ANCHOR_LIMIT
    return lines | _anchors(text, citation.start) if is_markdown else lines


def _anchors(text: str, start: int) -> dict[str, str]:
    """The anchors of the heading above an offset, as GitHub and most sites name it, and as MkDocs does."""
    headings = [heading for at, heading in headings_of(text) if at <= start]
    found = {
        "anchor": anchors_of(headings, github_slug, "-"),
        "mkdocs_anchor": anchors_of(headings, mkdocs_slug, "_"),
    }
    return {name: anchors[-1] for name, anchors in found.items() if anchors and anchors[-1]}


def headings_of(text: str) -> list[tuple[int, str]]:
    """The headings of a Markdown text: offset and line of each."""
    blocks = (block for block in markdown.parse(text).blocks if block.kind == "heading")
    return [(block.start, text[block.start : block.end]) for block in blocks]


def anchors_of(headings: Iterable[str], slug: Callable[[str], str], mark: str) -> list[str]:
    """The anchor of each heading: its own, or its slug, with a number where one before it has that."""
    anchors: dict[str, None] = {}
    for heading in headings:
        own = _OWN_ANCHOR.search(heading)
        anchor = plain = own[1] if own else slug(markdown.heading_text(heading))
        number = 0
        while anchor in anchors:
            number += 1
            anchor = f"{plain}{mark}{number}"
        anchors[anchor] = None
    return list(anchors)


def github_slug(heading: str) -> str:
    """The anchor that the package github-slugger makes, which Docusaurus uses too."""
    kept = (sign for sign in heading.lower() if sign in " _-" or unicodedata.category(sign)[0] in "LMN")
    return "".join(kept).replace(" ", "-")


def mkdocs_slug(heading: str) -> str:
    """The anchor that ``markdown.extensions.toc.slugify`` of Python-Markdown makes."""
    ascii_only = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
