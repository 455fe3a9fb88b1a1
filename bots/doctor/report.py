"""Findings as a person reads them, and as one JSON object; a secret is shown in neither."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap

from bots.doctor.findings import Finding, State

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
