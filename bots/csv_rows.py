"""Tables as comma-separated values (RFC 4180), for spreadsheets and scripts.

A spreadsheet carries out a cell that begins like a formula, and what people asked may begin so. Such a text gets
an apostrophe before it, which spreadsheets read as "this is text" (OWASP, "CSV Injection"). Numbers stay numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import TextIO

from bots.terminal.markdown import plain

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_csv(stream: TextIO, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([cell(each) for each in row] for row in rows)


def cell(content: object) -> object:
    """A number as it is, nothing for None, and a text that no spreadsheet carries out or reorders."""
    if not isinstance(content, str):
        return "" if content is None else content
    text = plain(content)
    return f"'{text}" if text.lstrip().startswith(FORMULA) or text.startswith(FORMULA) else text
