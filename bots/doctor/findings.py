"""What a checkup finds, and how a finding is made."""

from __future__ import annotations

from dataclasses import dataclass
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
