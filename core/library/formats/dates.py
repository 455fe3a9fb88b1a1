"""The date of a document's last change, from its front matter or the head of a page.

The date of a file on the disk says less. In a clone, a copy and an unpacked archive it is the day on which these were
made, and a wrong date is worse than none where it decides which of two documents speaks first.
"""

import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

#: Fields of front matter, the surest first; in lower case, without hyphens and underscores. Below another field:
#: ``last_update: {date: …}`` of Docusaurus, ``date: {updated: …}`` of MkDocs. ``date`` alone is when it was written.
FIELDS = (
    "updated", "lastupdated", "updatedat", "lastmodified", "lastmodifiedat", "lastmod", "modified", "modifiedat",
    "datemodified", "lastupdate.date", "lastupdate", "date.updated",
)  # fmt: skip
#: Names and properties of ``<meta>``: Open Graph, schema.org, Dublin Core, and one that only pages of old have.
#: ``date`` alone is when the page was written, as in front matter.
META = frozenset(
    {"article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified"}
)
AHEAD = 86_400.0  # seconds that a clock elsewhere, or a day without a zone, may be ahead of ours
HEAD = 200_000  # characters of a page, in which its head is

_FIELD = re.compile(r"""^([ \t]*)["']?(\w[\w.-]*)["']?[ \t]*[:=][ \t]*(.*?)[ \t]*$""", re.MULTILINE)
_MOMENT = re.compile(
    r"""["'\[]?(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})
    (?:(?:T|t|\s+)(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(Z|z|UTC|[+-]\d{2}:?\d{2})?)?
    ["'\]]?\s*(?:\#.*)?""",
    re.VERBOSE,
)
_PDF_MOMENT = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?P<zone>Z|[+-]\d\d'?\d\d)?")
_META = re.compile(r"<meta\b([^<>]*)>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""\b(name|property|itemprop|http-equiv|content)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE
)


def plausible(moment: float | None, now: Callable[[], float] = time.time) -> float | None:
    """A moment that can be one of a change; not one to come, whatever sources and files say."""
    return moment if moment is not None and 0 < moment <= now() + AHEAD else None


def earliest(*moments: float | None) -> float | None:
    """The earliest of the known moments: a source may have got its documents later than they were written."""
    return min((moment for moment in moments if moment is not None), default=None)


def moment_in(text: str, now: Callable[[], float] = time.time) -> float | None:
    """Seconds since the epoch of "2026-03-12", "2026/3/12 09:30", "2026-03-12T09:30:00+01:00"; None for anything else.

    A date without a time is midnight, and a time without a zone, in UTC: dates are shown in UTC too.
    """
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    sign, digits = (found[7] or " ")[0], (found[7] or "").replace(":", "")[1:]
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) if sign in "+-" else timedelta()
    try:
        zone = timezone(-ahead if sign == "-" else ahead)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
    return plausible(moment, now)


def pdf_moment(text: str, now: Callable[[], float] = time.time) -> float | None:
    """The same of "D:20260312093000+01'00'" (ISO 32000-1, 7.9.4); everything after the year may be missing."""
    found = _PDF_MOMENT.match(text.strip())
    if found is None:
        return None
    year, month, day, *clock = found.groups()
    zone = "".join(found["zone"].split("'")) if found["zone"] else ""
    hour, minute, second = (part or "00" for part in clock[:3])
    return moment_in(f"{year}-{month or '01'}-{day or '01'}T{hour}:{minute}:{second}{zone}", now)


def changed_in_fields(front_matter: str, now: Callable[[], float] = time.time) -> float | None:
    """The last change by the fields of front matter, YAML or TOML."""
    values: dict[str, str] = {}
    above = ""
    for indent, name, text in _FIELD.findall(front_matter):
        plain = re.sub(r"[_-]", "", name).lower()
        above = above if indent else plain
        values.setdefault(f"{above}.{plain}" if indent else plain, text)
    moments = (moment_in(values[name], now) for name in FIELDS if name in values)
    return next((moment for moment in moments if moment is not None), None)


def changed_in_head(page: str, now: Callable[[], float] = time.time) -> float | None:
    """The last change by the head of a page of HTML."""
    for tag in _META.finditer(page, 0, HEAD):
        given = {name.lower(): first or second for name, first, second in _ATTRIBUTE.findall(tag[1])}
        names = {given.get(name, "").lower() for name in ("name", "property", "itemprop", "http-equiv")}
        moment = moment_in(given.get("content", ""), now) if names & META else None
        if moment is not None:
            return moment
    return None
