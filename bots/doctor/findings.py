"""Findings of a checkup, as values, as lines for a person and as JSON; no secret is shown in either."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from textwrap import wrap
from typing import Literal

from core.conversation import value
from core.errors import FootnoteError
from core.settings import Settings

State = Literal["ok", "warning", "failed", "skipped"]


@value
class Finding:
    """The result of one check, and how to repair what is wrong."""

    check: str  #: what was looked at: "index"
    state: State
    text: str  #: what was found, as a sentence
    fix: str = ""  #: the command to run or the place to click; empty where nothing is to be done


def ok(check: str, text: str) -> Finding:
    return Finding(check=check, state="ok", text=text)


def warning(check: str, text: str, fix: str = "") -> Finding:
    """It works, but could be better."""
    return Finding(check=check, state="warning", text=text, fix=fix)


def failed(check: str, text: str, fix: str = "") -> Finding:
    """It does not work."""
    return Finding(check=check, state="failed", text=text, fix=fix)


def skipped(check: str, because: str) -> Finding:
    """It was not looked at."""
    return Finding(check=check, state="skipped", text=because)


def from_error(check: str, error: FootnoteError, default_fix: str = "") -> Finding:
    """The first sentence of our errors says what is wrong, the others what to do."""
    wrong, _, fix = str(error).partition(". ")
    return failed(check, f"{wrong.removesuffix('.')}.", fix or default_fix)


MARKS: Mapping[State, str] = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "–"}
COLUMN = 16  # characters of the longest name of a check
SHORTEST = 6  # characters of a secret; hiding a shorter one would hide ordinary words

#: Tokens and keys by their shape, as one may have been put into the wrong setting.
_SHAPES = re.compile(
    r"\b(?:xox[a-z]|xoxe\.xox[a-z]|xapp|tvly|sk)-[\w.-]{6,}"
    r"|\bAIza[\w-]{10,}"
    r"|\b[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}"  # a bot token of Discord
)


def secrets_in(values: Mapping[str, str], names: Collection[str]) -> list[str]:
    """The values of these settings, longest first."""
    secrets = {values.get(name, "").strip() for name in names}
    return sorted((each for each in secrets if len(each) >= SHORTEST), key=len, reverse=True)


def tokens_in(settings: Settings) -> list[str]:
    """The tokens in settings that have one for each host: alone, and without the user before it."""
    tables = (getattr(settings, each.name) for each in fields(settings) if not each.repr)
    tokens = {token for table in tables if isinstance(table, Mapping) for token in table.values()}
    tokens |= {token.partition(":")[2] for token in tokens}
    return sorted((each for each in tokens if len(each) >= SHORTEST), key=len, reverse=True)


def conceal(finding: Finding, secrets: Sequence[str]) -> Finding:
    return replace(finding, text=_conceal(finding.text, secrets), fix=_conceal(finding.fix, secrets))


def _conceal(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "…")
    return _SHAPES.sub("…", text)


def format_lines(finding: Finding, width: int | None) -> Iterator[str]:
    """The finding, and its fix below it; wrapped at ``width`` columns, if there is one."""
    yield from _hanging(f"{MARKS[finding.state]} {finding.check:<{COLUMN}} ", finding.text, width)
    if finding.fix:
        yield from _hanging(f"{'':{COLUMN + 3}}→ ", finding.fix, width)


def _hanging(start: str, text: str, width: int | None) -> Iterator[str]:
    if width is None or width < len(start) + COLUMN:
        yield start + text
        return
    first, *others = wrap(text, width - len(start), break_long_words=False, break_on_hyphens=False) or [""]
    yield start + first
    yield from (" " * len(start) + other for other in others)


def summary(findings: Sequence[Finding]) -> str:
    """ "1 does not work, 2 could be better."."""
    counts = Counter(finding.state for finding in findings)
    parts = (
        (counts["failed"], "does not work", "do not work"),
        (counts["warning"], "could be better", "could be better"),
    )
    phrases = [f"{count} {one if count == 1 else many}" for count, one, many in parts if count]
    return f"{', '.join(phrases)}." if phrases else "Everything that was looked at works."


def to_record(findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "checks": [
            {"check": each.check, "state": each.state, "finding": each.text, "fix": each.fix or None}
            for each in findings
        ]
    }


def all_work(findings: Sequence[Finding]) -> bool:
    return all(finding.state != "failed" for finding in findings)
