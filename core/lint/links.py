"""Dead links inside the library: to a file that is missing, or a heading that its page lacks.

Also finds pages that are much older than what links to them.

Only Markdown is read, with the way that each kind of site names its headings and pages. A link counts as dead if no way
leads anywhere. What was not ingested may be there all the same: the disk is asked, within the ingested folder alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

from core.conversation import value
from core.errors import DocumentError
from core.library.documents import day_of
from core.library.entries import Entry
from core.library.formats.encoding import decode
from core.library.formats.includes import MARKDOWN
from core.library.formats.read import read_bytes
from core.library.links import anchors_of, github_slug, headings_of, mkdocs_slug
from core.lint.findings import LintFinding, QuotedPlace
from core.text.blocks import split_blocks
from core.text.inline import without_code

#: Share of the links from the root of a site that lead somewhere, if it is known where its pages are.
SITE = 0.8
OUTDATED = 365 * 86_400.0  # seconds
FEWEST = 5  # such links, from which that can be known

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE = re.compile(
    r"(?<!\\)\]\(\s*<?(?P<to>[^()\s<>{}]*(?:\([^()\s]*\)[^()\s<>{}]*)*)>?(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)"
)
_TEMPLATE = re.compile(
    r"\]\(\s*\{[{%][-\s]*(?:page|link|ref|relref|url|doc)\s+[\"'](?P<to>[^\"']+)[\"']\s*-?[%}]\}(?P<more>#[\w-]+)?\s*\)"
)
_DEFINED = re.compile(r"(?m)^ {0,3}\[[^\]\n^][^\]\n]*\]:\s*<?(?P<to>[^\s<>{}]+)>?")
_TAG = re.compile(r"<a\s[^<>]*\bhref=[\"'](?P<to>[^\"'{}]*)[\"']", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:id|name)=[\"']?([\w:.-]+)[\"']?|\{[:\s]*#([\w:.-]+)|^\s*\.\. _([\w .-]+):", re.MULTILINE
)
#: What a page may hold that is put in when the site is built, with headings of its own.
_BUILT = re.compile(
    r"^\s*:::\s|\{%[-\s]*(?:include|render|collections?|for|import)\b|\{[!<]|\{\{<|--8<--|^<[A-Z]\w*[\s/>]",
    re.MULTILINE,
)
_FRONT = re.compile(r"\A---\r?\n(.*?)\r?\n---", re.DOTALL)
_OTHER_ADDRESS = re.compile(r"(?m)^(?:permalink|slug|url|redirect_from|aliases):\s*(.*(?:\n\s+-\s.*)*)")
_SITE_PATH = re.compile(r"/[\w./-]*")
_ELSEWHERE = re.compile(r"\A(?:[a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)
_BLANK = re.compile(r"[A-Z_]*")  # or a word to be filled in
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_GENERATED = frozenset({"", ".html", ".htm", ".md", ".mdx", ".markdown"})


@value
class LinkedPage:
    """A Markdown file as its links are read."""

    entry: Entry
    text: str
    path: str  #: from the ingested folder, with /
    anchors: frozenset[str]
    is_built: bool  #: whether some of its headings may come from elsewhere


def page_of(entry: Entry) -> LinkedPage | None:
    """The page of a Markdown file of this disk. None for anything else, and for what cannot be read now."""
    path = Path(entry.address)
    if not entry.address.startswith("/") or path.suffix.lower() not in MARKDOWN:
        return None
    try:
        text = decode(read_bytes(path))
    except DocumentError:
        return None
    root = Path(entry.root)
    headings = [heading for _, heading in headings_of(text)]
    named = {group for found in _NAMED.findall(text) for group in found if group}
    ways = ((github_slug, "-"), (mkdocs_slug, "_"), (docutils_slug, "-"))
    slugs = {slug for way in ways for slug in anchors_of(headings, *way)}
    return LinkedPage(
        entry=entry, text=text, path=path.relative_to(root).as_posix() if path != root else path.name,
        anchors=frozenset(each.lower() for each in named | slugs), is_built=bool(_BUILT.search(text)),
    )  # fmt: skip


def docutils_slug(heading: str) -> str:
    """The anchor that Sphinx and Eleventy make."""
    return _NO_LETTER.sub("-", heading.lower()).strip("-")


@dataclass(slots=True)
class LinkedSite:
    """The pages below one ingested folder."""

    root: Path
    pages: Mapping[str, LinkedPage]  #: by path
    _by_address: dict[str, LinkedPage] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for path, page in self.pages.items():
            parts = PurePosixPath(_without_index(path)).parts
            for start in range(max(1, len(parts))):  # the root of the site may be a folder further down
                self._by_address.setdefault("/".join(parts[start:]).lower(), page)
        for page in self.pages.values():
            front = _FRONT.match(page.text)
            for found in _OTHER_ADDRESS.findall(front[1]) if front else ():
                for address in _SITE_PATH.findall(found):
                    self._by_address[address.strip("/").lower()] = page

    def at(self, page: LinkedPage, path: str) -> tuple[bool, LinkedPage | None]:
        """True if a path from a page leads anywhere, and the page there if it is one of these."""
        if path.startswith("/"):
            found = self._by_address.get(_without_index(path.strip("/")).lower())
            return found is not None or (self.root / path.strip("/")).exists(), found
        folder = PurePosixPath(page.path).parent
        here = folder / PurePosixPath(page.path).stem  # where a site has a folder for each page
        for base in (folder, here):
            target = normpath((base / path).as_posix())
            if target.startswith(".."):
                return True, None  # outside of what was ingested
            stem = target.removesuffix(".html").removesuffix(".htm")
            ends = (".md", ".mdx", "/index.md", "/README.md", "/_index.md")
            for name in (target, *(f"{stem}{end}" for end in ends)):
                if normpath(name) in self.pages:
                    return True, self.pages[normpath(name)]
            if (self.root / target).exists():
                return True, None
        return False, None


def _without_index(path: str) -> str:
    bare = re.sub(r"\.(?:md|mdx|markdown|html?)\Z", "", path)
    return re.sub(r"(?:\A|/)(?:index|readme|_index)\Z", "", bare, flags=re.IGNORECASE)


def find_sites(entries: Iterable[Entry]) -> list[LinkedSite]:
    """The Markdown pages of each ingested folder."""
    roots: dict[tuple[str, str], dict[str, LinkedPage]] = {}
    for entry in entries:
        if (page := page_of(entry)) is not None:
            roots.setdefault((entry.collection, entry.root), {})[page.path] = page
    folders = ((Path(root), pages) for (_, root), pages in roots.items())
    return [LinkedSite(root if root.is_dir() else root.parent, pages) for root, pages in folders]


def dead_links(site: LinkedSite) -> Iterator[LintFinding]:
    """The dead links of a site's pages, in their order."""
    dead, from_root, lost = list[tuple[bool, LintFinding]](), 0, 0
    for page in site.pages.values():
        for to, start, end in find_links(page.text):
            why, is_lost = _why_dead(site, page, to)
            from_root += to.startswith("/")
            lost += is_lost and to.startswith("/")
            if why:
                finding = LintFinding(kind="link", why=why, places=(_place(page, start, end),))
                dead.append((is_lost and to.startswith("/"), finding))
    # Where most links from the root lead nowhere, it is not known how the site is laid out.
    is_known = from_root >= FEWEST and from_root - lost >= SITE * from_root
    yield from (each for is_unsure, each in dead if is_known or not is_unsure)


def find_outdated(site: LinkedSite) -> Iterator[LintFinding]:
    """The pages that were changed long before a page that cites them, each with the newest of those."""
    newest: dict[str, tuple[float, LinkedPage, int, int]] = {}
    for page in site.pages.values():
        for to, start, end in find_links(page.text) if page.entry.changed_at else ():
            path = unquote(to.partition("#")[0].partition("?")[0])
            found = site.at(page, path)[1] if path else None
            if found is not None and found.entry.changed_at and page.entry.changed_at:
                known, own = newest.get(found.path), (page.entry.changed_at, page, start, end)
                newest[found.path] = own if known is None or own[0] > known[0] else known
    for path, (changed, page, start, end) in newest.items():
        entry = site.pages[path].entry
        assert entry.changed_at is not None
        if changed - entry.changed_at >= OUTDATED:
            why = f"It was changed last on {day_of(entry.changed_at)}; the page that sends readers there, on {day_of(changed)}."
            first = headings_of(site.pages[path].text)[:1] or [(0, "")]
            yield LintFinding(
                kind="outdated", why=why,
                places=(_place(site.pages[path], first[0][0], first[0][0] + len(first[0][1])), _place(page, start, end)),
            )  # fmt: skip


def find_links(text: str) -> Iterator[tuple[str, int, int]]:
    """The links of a Markdown text to pages of the same place, each with where it begins and ends."""
    bare = list(without_code(text))
    for block in split_blocks(text):
        if block.kind == "code":
            bare[block.start : block.end] = " " * (block.end - block.start)
    prose = _COMMENT.sub(lambda found: " " * len(found[0]), "".join(bare))
    for pattern in (_INLINE, _TEMPLATE, _DEFINED, _TAG):
        for found in pattern.finditer(prose):
            to = found["to"] + (found.groupdict().get("more") or "")
            if pattern is _TEMPLATE and not _ELSEWHERE.match(to) and not to.startswith(("/", "#", ".")):
                to = f"/{to}"
            start = found.start() if pattern in (_DEFINED, _TAG) else prose.rfind("[", 0, found.start())
            is_picture = start > 0 and prose[start - 1] == "!"
            if start >= 0 and not is_picture and not _ELSEWHERE.match(to) and not _BLANK.fullmatch(to):
                yield to, start, found.end()


def _why_dead(site: LinkedSite, page: LinkedPage, to: str) -> tuple[str, bool]:
    """A sentence, empty for a link that leads somewhere; and whether it is the page that is not there."""
    path, _, anchor = to.partition("#")
    path = unquote(path.partition("?")[0])
    there, found = (True, page) if not path else site.at(page, path)
    if not there:
        is_page = PurePosixPath(path).suffix.lower() in _GENERATED or not path.startswith("/")
        return (f"There is no {path} where this link leads.", True) if is_page else ("", False)
    wanted = unquote(anchor).lower()
    if found is None or found.is_built or wanted in found.anchors or wanted in ("", "top", "_top"):
        return "", False
    return f"{found.entry.source} has no heading that is called #{anchor}.", False


def _place(page: LinkedPage, start: int, end: int) -> QuotedPlace:
    entry = page.entry
    return QuotedPlace(
        document=entry.id, collection=entry.collection, source=entry.source, title=entry.title, url=entry.url,
        line=page.text.count("\n", 0, start) + 1, start=start, end=end, quote=page.text[start:end],
    )  # fmt: skip
