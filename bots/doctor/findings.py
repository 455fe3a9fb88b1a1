"""What a checkup finds, and how a finding is made.

Findings as a person reads them, and as one JSON object; a secret is shown in neither.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Literal

from core.errors import FootnoteError

State = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at, and what to do where it is not as it should be."""

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


def told(check: str, error: FootnoteError, otherwise: str = "") -> Finding:
    """An error of ours: its first sentence says what is wrong, those after it what to do."""
    wrong, _, advice = str(error).partition(". ")
    return failed(check, f"{wrong.removesuffix('.')}.", advice or otherwise)


MARKS: Mapping[State, str] = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "–"}
COLUMN = 16  # characters of the longest name of a check
SHORTEST = 6  # characters of a secret: a shorter one would blot out words that are none

#: Tokens and keys by their shape: one may stand where a setting of another kind should.
_SHAPES = re.compile(
    r"\b(?:xox[a-z]|xoxe\.xox[a-z]|xapp|tvly|sk)-[\w.-]{6,}"
    r"|\bAIza[\w-]{10,}"
    r"|\b[\w-]{23,28}\.[\w-]{6}\.[\w-]{27,}"  # a bot's of Discord
)


class Concealer:
    """Takes out of a finding what is secret, wherever it came from."""

    def __init__(self, given: Mapping[str, str], names: Collection[str]) -> None:
        values = {given.get(name, "").strip() for name in names}
        self._secrets = sorted((each for each in values if len(each) >= SHORTEST), key=len, reverse=True)

    def __call__(self, finding: Finding) -> Finding:
        return replace(finding, text=self._conceal(finding.text), fix=self._conceal(finding.fix))

    def _conceal(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return _SHAPES.sub("…", text)


def lines(finding: Finding, width: int | None) -> Iterator[str]:
    """The finding and its fix below it; as long as they are where there is no width, in columns."""
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
    said = [f"{count} {one if count == 1 else many}" for count, one, many in parts if count]
    return f"{', '.join(said)}." if said else "Everything that was looked at works."


def record(findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "checks": [
            {"check": each.check, "state": each.state, "finding": each.text, "fix": each.fix or None}
            for each in findings
        ]
    }


def works(findings: Sequence[Finding]) -> bool:
    return all(finding.state != "failed" for finding in findings)
