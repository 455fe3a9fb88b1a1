"""Pages and sitemaps of a website as values, and the addresses of websites.

A page has its links, its own address, whether it may be kept, and the anchors of its headings. Sitemaps follow
https://www.sitemaps.org/protocol.html. An address is ``site+https://HOST/PATH``; it says which URLs belong to it.

A damaged sitemap is refused whole: what its end would have listed must not be taken for gone.

People type ``https://HOST/PATH --follow``, or the address of a sitemap. A website is read from one origin, a scheme, a
host and a port, below the folder of its first page. Its items are named by what comes after that folder.
"""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, urljoin, urlsplit, urlunsplit
from xml.etree import ElementTree as ET

from core.conversation import value
from core.errors import DocumentError, FootnoteError, SettingsError
from core.library.documents import Document
from core.library.formats.encoding import decode
from core.library.formats.read import parse_html
from core.sources.documents import headings_of
from core.sources.source import SourceGuide, SourceItem, parse_as_file, with_scheme
from core.web.hosts import URL_LIMIT, canonical

PREFIXES = ("site+https://", "site+http://")
MARK = "site+"
DEFAULT_PORTS = {"http": 80, "https": 443}

_SITEMAP = re.compile(r"(?:/[^/]*sitemap[^/]*\.(?:xml|txt)|/[^/]+\.xml)(?:\.gz)?", re.IGNORECASE)
_PAGE = re.compile(r"/[^/]*\.\w{1,8}")  # a file, not a folder
_USER = re.compile(r"[^/]*//[^/?#]*@")  # before the host
_SAFE = "/!$&'()*+,;=:@-._~%"  # signs of a path that are not escaped; % because escapes are there already
_LINE_ENDS = re.compile(r"[\t\n\r]")  # are left out of a link, as browsers do
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
#: Addresses of files that hold no text. They are not asked for.
_NO_PAGES = re.compile(
    r"7z|aac|apk|avif?|bin|bmp|bz2|css|dmg|dll|docx?|eot|exe|flac|gif|gz|ico|iso|jar|jpe?g|js|json|m4[av]|map|mjs|mkv"
    r"|mov|mp[34]|mpe?g|msi|ogg|otf|png|pptx?|rar|rpm|deb|rss|svg|swf|tar|tgz|tiff?|ttf|wasm|wav|web[mp]|whl|woff2?"
    r"|xlsx?|xml|xz|zip|zst",
    re.IGNORECASE,
)


@value
class WebsiteAddress:
    """A website, and what is read of it."""

    origin: str  #: SCHEME://HOST, and the port where it is not the scheme's own
    path: str = ""  #: of the first page or the sitemap, without a slash at its end

    @property
    def address(self) -> str:
        """The form that is kept."""
        return f"{MARK}{self.origin}{self.path}"

    @property
    def url(self) -> str:
        """The URL of the first page or the sitemap, as typed but for a slash at its end."""
        return f"{self.origin}{self.path or '/'}"

    @property
    def is_sitemap(self) -> bool:
        return is_sitemap(self.path)

    @property
    def folder(self) -> str:
        """The path below which pages belong to it, without a slash at its end. A sitemap speaks for the whole host."""
        if self.is_sitemap:
            return ""
        parent, _, name = self.path.rpartition("/")
        return parent if _PAGE.fullmatch(f"/{name}") else self.path

    def item_of(self, url: str) -> str | None:
        """The name of a page within its folder; None for a page of others."""
        base = self.origin + self.folder
        if url == base:
            return "."  # the folder without its slash, which is another page than the one with it
        if not url.startswith((f"{base}/", f"{base}?")):
            return None
        return url.removeprefix(base).removeprefix("/") or "/"

    def normal(self, link: str, base: str) -> str | None:
        """The target of a link as a URL in normal form. None if it is no page of the website."""
        url = self.own(link, base)
        if url is None or self.item_of(url) is None:
            return None
        _, sign, suffix = urlsplit(url).path.rpartition("/")[2].rpartition(".")
        return None if sign and _NO_PAGES.fullmatch(suffix) else url

    def own(self, link: str, base: str) -> str | None:
        """The same, of anything on its host."""
        url = normal_url(link, base)
        if url and self.origin.startswith("https:") and url.startswith("http:"):
            url = f"https:{url.removeprefix('http:')}"  # an old link to the same site
        return url if url and url.startswith(f"{self.origin}/") else None


def is_sitemap(path: str) -> bool:
    return _SITEMAP.search(path) is not None and _SITEMAP.search(path[path.rfind("/") :]) is not None


def normal_url(link: str, base: str) -> str | None:
    """A link as a URL in the form of RFC 3986, 6.2.2, without fragment. None if it is no web address."""
    try:
        url = urlsplit(urljoin(base, _LINE_ENDS.sub("", link).strip()))
        port, host = url.port, canonical((url.hostname or "").encode("idna").decode() if url.hostname else "")
    except (ValueError, UnicodeError):
        return None
    if url.scheme not in DEFAULT_PORTS or not host or url.username is not None:
        return None
    netloc = f"[{host}]" if ":" in host else host
    if port is not None and port != DEFAULT_PORTS[url.scheme]:
        netloc += f":{port}"
    path, query = _escape(url.path or "/"), _escape(url.query)
    written = urlunsplit((url.scheme, netloc, path, query, ""))
    return written if len(written) <= URL_LIMIT else None


def _escape(text: str) -> str:
    """Escaped where it must be, and nowhere else."""

    def one(match: re.Match[str]) -> str:
        sign = chr(int(match[1], 16))
        return sign if _UNRESERVED.fullmatch(sign) else match[0].upper()

    return _ESCAPE.sub(one, quote(text, safe=_SAFE + "?"))


def parse(text: str) -> WebsiteAddress:
    """SettingsError for what is no address of a website, or has a password or a query in it."""
    bare = text.removeprefix(MARK)
    if _USER.match(bare):
        raise SettingsError("An address with a user or a password in it is not kept, and not followed.")
    url = normal_url(bare, bare) if bare.startswith(("http://", "https://")) else None
    if url is None:
        raise SettingsError(f"{bare} is not the address of a website: https://HOST/ --follow.")
    parts = urlsplit(url)
    if parts.query:
        raise SettingsError(f"{bare} holds a query: a website is followed from a page without one.")
    return WebsiteAddress(origin=f"{parts.scheme}://{parts.netloc}", path=parts.path.rstrip("/"))


def sitemap_address(name: str) -> str | None:
    """The address of the website whose sitemap a person named; None for anything else."""
    try:
        is_meant = name.startswith(("http://", "https://")) and is_sitemap(urlsplit(name).path)
    except ValueError:  # which addresses raise it differs between versions of Python
        return None
    return parse(name).address if is_meant else None


def label_of(address: str) -> str:
    """The name of a website for people: as they typed it."""
    return address.removeprefix(MARK)


AGENT = "footnote"  # the name under which robots.txt and pages may speak to us
SPEAK_TO_US = ("robots", AGENT)  # names of meta elements
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
    links, base = list[str](), url
    canonical = _CANONICAL.search(headers.get("link", ""))
    target = canonical[1] if canonical else None
    if tree is not None:
        metas = ((each, (each.get("name") or "").strip().lower()) for each in tree.iter("meta"))
        words |= _directives(each.get("content") or "" for each, name in metas if name in SPEAK_TO_US)
        base = _join(next((found for each in tree.iter("base") if (found := each.get("href"))), ""), url)
        for each in tree.iter("link"):
            if "canonical" in _relations(each) and each.get("href"):
                target = target or _join(each.get("href"), base)
        if "nofollow" not in words:
            followed = (each for each in tree.iter("a") if "nofollow" not in _relations(each))
            links = [link for each in followed if (link := each.get("href"))]
    found = (site.normal(each, base) for each in links[:LINK_LIMIT])
    own = site.normal(target, url) if target else None
    return PageHead(
        links=tuple(dict.fromkeys(each for each in found if each is not None and each != url)),
        canonical=own if own != url else None,
        is_hidden="noindex" in words,
    )


def _join(link: str, base: str) -> str:
    try:
        return urljoin(base, link.strip())
    except ValueError:
        return base


def _tree(data: bytes) -> Any:
    import trafilatura

    if len(data) > HTML_LIMIT:
        return None
    try:
        return trafilatura.load_html(decode(data, suffix=".html"))
    except DocumentError:
        return None


def _relations(element: Any) -> frozenset[str]:
    return frozenset((element.get("rel") or "").lower().split())


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


def anchors_of(document: Document, data: bytes) -> tuple[tuple[int, str], ...]:
    """The sections with an address on the page. Each has its offset in the document's text and its name, in
    order. Headings are found in the page by their words; one of the text alone, or without a name, has
    none."""
    tree = _tree(data)
    headings = () if tree is None else tree.iter(*HEADINGS)
    # The words of each, and its name there; empty if it has none.
    named = [(_words("".join(each.itertext()).strip(PERMALINK)), _name_of(each)) for each in headings]
    found, begin = [], 0
    for start, text in headings_of(document):
        words = _words(text)
        at = next((number for number in range(begin, len(named)) if named[number][0] == words), None)
        if at is not None:
            begin = at + 1
        found.append((start, named[at][1] if at is not None else ""))
    return tuple(found) if any(name for _, name in found) else ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.lower()))


def _name_of(heading: Any) -> str:
    """Its own id, that of a link in it, or of the section that it begins."""
    within = (each.get("id") or each.get("name") for each in heading.iter("a", "span"))
    if own := heading.get("id") or next(filter(None, within), ""):
        return str(own)
    section = heading.getparent()
    if section is None or section.tag not in ("section", "div"):
        return ""
    first = next((each for each in section if isinstance(each.tag, str)), None)
    return str(section.get("id") or "") if first is heading else ""


def parse_page(item: SourceItem, data: bytes) -> Document:
    """A page as it is read from the web, with the names of its sections."""
    if PurePosixPath(item.name).suffix != ".html":
        return parse_as_file(item, data)
    document = parse_html(data, url=item.url)
    return replace(document, anchors=anchors_of(document, data))


SIZE_LIMIT = 52_428_800  # bytes unpacked, "Sitemap file limits"
PACKED = b"\x1f\x8b"  # begins a gzip file
_WINDOW = zlib.MAX_WBITS | 16  # with gzip's header


class SitemapDamaged(FootnoteError):
    """The sitemap cannot be read to its end; the sentence completes "ADDRESS …"."""


class SitemapEntry(NamedTuple):
    """An address that a sitemap has."""

    url: str
    lastmod: str = ""  #: when it changed last, as the sitemap says; empty: it does not
    is_sitemap: bool = False


def read_sitemap(data: bytes) -> list[SitemapEntry]:
    """The entries of a sitemap. SitemapDamaged."""
    text = data
    if data.startswith(PACKED):
        inflate = zlib.decompressobj(_WINDOW)
        try:
            text = inflate.decompress(data, SIZE_LIMIT + 1)
        except zlib.error:
            raise SitemapDamaged("cannot be unpacked") from None
        if not inflate.eof and len(text) <= SIZE_LIMIT:
            raise SitemapDamaged("breaks off in its middle")
    if len(text) > SIZE_LIMIT:
        raise SitemapDamaged("is larger than a sitemap may be")
    if text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return list(_from_xml(text))
    try:
        lines = text.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise SitemapDamaged("is not a sitemap") from None
    return [SitemapEntry(url=line) for line in map(str.strip, lines) if line.startswith("http")]


def _from_xml(text: bytes) -> Iterator[SitemapEntry]:
    try:
        root = ET.fromstring(text)  # noqa: S314 - expat bounds what entities grow to, and reads nothing from outside
    except ET.ParseError:
        raise SitemapDamaged("is not XML to its end") from None
    kind = root.tag.rpartition("}")[2]  # without its namespace
    if kind not in ("urlset", "sitemapindex"):
        raise SitemapDamaged("is not a sitemap")
    for entry in root:
        values = {each.tag.rpartition("}")[2]: (each.text or "").strip() for each in entry}
        url, lastmod = values.get("loc"), values.get("lastmod", "")
        if url:
            yield SitemapEntry(url=url, lastmod=lastmod, is_sitemap=kind == "sitemapindex")


GUIDE = SourceGuide(
    title="A website, by its links and its sitemap", asks="The address of its first page, or of its sitemap",
    example="https://docs.example.org/guide/", address=lambda typed: parse(with_scheme(typed)).address,
    every="1d",
)  # fmt: skip
