"""Addresses of websites: ``site+https://HOST/PATH``, and which of their URLs belong to them.

People type ``https://HOST/PATH --follow``, or the address of a sitemap. A website is read from one origin, a scheme, a
host and a port, below the folder of its first page. Its items are named by what comes after that folder.
"""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from core.conversation import value
from core.errors import SettingsError
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
        """The URL of the first page or the sitemap, as it was typed but for a slash at its end."""
        return f"{self.origin}{self.path or '/'}"

    @property
    def is_sitemap(self) -> bool:
        return is_sitemap(self.path)

    @property
    def folder(self) -> str:
        """The path below which pages belong to it, without a slash at its end; a sitemap speaks for the whole host."""
        if self.is_sitemap:
            return ""
        parent, _, name = self.path.rpartition("/")
        return parent if _PAGE.fullmatch(f"/{name}") else self.path

    def has(self, url: str) -> bool:
        """True if a normal URL belongs to it."""
        return self.item_of(url) is not None

    def item_of(self, url: str) -> str | None:
        """The name of a page within its folder; None for a page of others."""
        base = self.origin + self.folder
        if url == base:
            return "."  # the folder without its slash, which is another page than the one with it
        if not url.startswith((f"{base}/", f"{base}?")):
            return None
        return url.removeprefix(base).removeprefix("/") or "/"

    def normal(self, link: str, base: str) -> str | None:
        """The URL that a link leads to, in the one form that is compared; None for what is no page of the website."""
        url = normal_url(link, base)
        if url is None:
            return None
        if self.origin.startswith("https:") and url.startswith("http:"):
            url = f"https:{url.removeprefix('http:')}"  # an old link to the same site
        return url if self.has(url) and not is_other_file(url) else None


def is_sitemap(path: str) -> bool:
    return _SITEMAP.search(path) is not None and _SITEMAP.search(path[path.rfind("/") :]) is not None


def is_other_file(url: str) -> bool:
    """True if the name of a file says that it holds no text."""
    name = urlsplit(url).path.rpartition("/")[2]
    return "." in name and _NO_PAGES.fullmatch(name.rpartition(".")[2]) is not None


def normal_url(link: str, base: str) -> str | None:
    """A link as a URL without its fragment, in the form of RFC 3986, 6.2.2; None for what is no web address."""
    try:
        url = urlsplit(urljoin(base, _LINE_ENDS.sub("", link).strip()))
        port, host = url.port, canonical((url.hostname or "").encode("idna").decode() if url.hostname else "")
    except (ValueError, UnicodeError):
        return None
    if url.scheme not in DEFAULT_PORTS or not host or url.username is not None:
        return None
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != DEFAULT_PORTS[url.scheme]:
        place += f":{port}"
    path, query = _escaped(url.path or "/"), _escaped(url.query)
    written = urlunsplit((url.scheme, place, path, query, ""))
    return written if len(written) <= URL_LIMIT else None


def _escaped(text: str) -> str:
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


def canonical_address(text: str) -> str:
    """An address as it is kept; SettingsError for what is none."""
    return parse(text).address


def sitemap_address(name: str) -> str | None:
    """The address of the website whose sitemap a person named; None for anything else."""
    try:
        is_meant = name.startswith(("http://", "https://")) and is_sitemap(urlsplit(name).path)
    except ValueError:  # which addresses raise it differs between versions of Python
        return None
    return canonical_address(name) if is_meant else None


def label_of(address: str) -> str:
    """The name of a website for people: as they typed it."""
    return address.removeprefix(MARK)


def place_of(address: str) -> str:
    """The place that is read, over https or without."""
    return address.partition("://")[2]


def options_of(address: str) -> tuple[str, ...]:
    """Without it, the address of a first page would mean that page alone."""
    return () if parse(address).is_sitemap else ("--follow",)


def typed_address(typed: str) -> str:
    """The address of a website as it is kept, with its scheme or without."""
    return canonical_address(typed if "://" in typed else f"https://{typed}")
