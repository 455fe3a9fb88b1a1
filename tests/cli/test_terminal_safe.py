"""Hostile text, on its way to a person's screen."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group
from rich.table import Table
from rich.text import Text

from bots.terminal.screen import SafeConsole, line, link, plain

HOSTILE = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;your title\x07after",
    "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x9b2Jcleared",
    "\x1b[2J\x1b[Hhome",
    "\x1bcreset",
    "\x90q\x1b\\sixel",
    "bell\x07 back\x08space \x7f",
    "left\u202eright\u2066isolate\u200f",
    "zero\u200bwidth\ufeffmark\u00ad",
    "tag\U000e0041s",
    "lone \ud800 surrogate",
)


def is_harmless(text):
    return all(sign in "\n\t\u200c\u200d" or unicodedata.category(sign)[0] != "C" for sign in text)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_a_terminal_obeys_is_left(text):
    assert is_harmless(plain(text))


def test_an_escape_sequence_goes_whole_and_the_words_around_it_stay():
    assert plain("a \x1b[1;31mred\x1b[0m b") == "a red b"
    assert plain("a \x1b]8;;https://evil.example\x07word\x1b]8;;\x07 b") == "a word b"
    assert plain("a \x1b]0;cut off\nb") == "a \nb"


def test_what_people_write_stays():
    persian, family = "می\u200cخواهم", "👨\u200d👩\u200d👧"

    assert plain(f"naïve – „Grüße“ {persian} {family}\n\tindented") == (
        f"naïve – „Grüße“ {persian} {family}\n\tindented"
    )


def test_every_kind_of_line_end_is_one():
    assert plain("a\r\nb\rc\u2028d\x0be") == "a\nb\nc\nd\ne"
    assert line(" a\r\n  b\u2029c ") == "a b c"


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_plain_is_harmless_and_says_no_more_when_repeated(text):
    once = plain(text)

    assert is_harmless(once)
    assert plain(once) == once


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "ssh://host", "\x1b]8;;https://x\x07", "no scheme"]
)
def test_only_pages_and_files_are_linked(address):
    assert link(address) is None


def test_a_link_carries_nothing_but_its_address():
    assert link("https://example.org/a?b=c#d") == "https://example.org/a?b=c#d"
    assert link("file:///tmp/a%20b.md") == "file:///tmp/a%20b.md"
    assert link("https://example.org/\x1b\\\x07 \u202eü") == "https://example.org/%20%C3%BC"


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("colours", [None, "truecolor"])
def test_the_console_prints_hostile_text_harmlessly_however_it_is_laid_out(text, colours):
    table = Table.grid()
    table.add_row(Text(text), Text(text))
    console = SafeConsole(
        file=io.StringIO(), force_terminal=colours is not None, color_system=colours, highlight=False
    )

    console.print(Group(Text(text, style="red"), table, f"plainly {text}"), markup=False)

    printed = console.file.getvalue()
    for code in ("\x1b[31m", "\x1b[0m"):  # the console's own red, and its end
        printed = printed.replace(code, "")
    assert is_harmless(printed)
