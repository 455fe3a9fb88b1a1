"""AsciiDoc and Org: what is a heading, what is shown as it stands, and what is not quoted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.chunking import cut
from core.library.formats import plain
from core.library.formats.plain import ASCIIDOC, ORG
from core.library.formats.read import parse_file

HARBOUR = """\
= Harbour handbook
Ada Lovelace <ada@example.org>
:toc:
:icons: font

// not for readers
Guests moor at the north quay.

[#fees]
== Fees ==

.Fees by length
[cols="1,1"]
|===
|Boat |Fee

|small |40
|===

* Pay at the office
or by card.
** after six: by card
. First moor.

Water:: at each berth

NOTE: Ask first.

=== Script

[source,ruby]
----
= not a heading

puts "open"
----

====
An example of it.
====

include::more.adoc[]

Old style
~~~~~~~~~

....
-> as it stands
....
"""

NOTES = """\
#+TITLE: Harbour notes
#+AUTHOR: Ada

* TODO [#A] Fees                                             :money:quay:
  :PROPERTIES:
  :ID: 42
  :END:
  DEADLINE: <2026-03-01>
# not for readers
- Pay at the office
  or by card.
- By six.
** Script
#+BEGIN_SRC python
* not a heading
print("open")
#+END_SRC
#+begin_quote
Fair winds.
#+end_quote
| Boat  | Fee |
|-------+-----|
| small |  40 |
: as it stands
"""


def kinds(document) -> list[tuple[str, str]]:
    return [
        (block.kind, document.text[block.start : block.end])
        for block in document.blocks
        if block.kind != "markup"
    ]


def test_asciidoc_is_read_by_its_marks():
    document = parse_file(Path("harbour.adoc"), HARBOUR.encode())

    assert document.title == "Harbour handbook"
    assert document.text == HARBOUR
    assert kinds(document) == [
        ("heading", "Harbour handbook"),
        ("prose", "Ada Lovelace <ada@example.org>"),
        ("prose", "Guests moor at the north quay."),
        ("heading", "Fees"),
        ("prose", ".Fees by length"),
        ("table", "|Boat |Fee\n\n|small |40"),
        ("item", "* Pay at the office\nor by card."),
        ("item", "** after six: by card"),
        ("item", ". First moor."),
        ("item", "Water:: at each berth"),
        ("prose", "NOTE: Ask first."),
        ("heading", "Script"),
        ("code", '= not a heading\n\nputs "open"'),
        ("prose", "An example of it."),
        ("heading", "Old style\n~~~~~~~~~"),
        ("code", "-> as it stands"),
    ]
    assert cut(document)[-1].path[:2] == ("Harbour handbook", "Fees")
    assert cut(document)[-1].location.startswith("Harbour handbook > Fees")


def test_org_is_read_by_its_marks():
    document = parse_file(Path("notes.org"), NOTES.encode())

    assert document.title == "Harbour notes"
    assert document.text == NOTES
    assert kinds(document) == [
        ("heading", "Fees"),
        ("prose", "DEADLINE: <2026-03-01>"),
        ("item", "- Pay at the office\n  or by card."),
        ("item", "- By six."),
        ("heading", "Script"),
        ("code", '* not a heading\nprint("open")'),
        ("prose", "Fair winds."),
        ("table", "| Boat  | Fee |\n|-------+-----|\n| small |  40 |"),
        ("code", ": as it stands"),
    ]
    assert {piece.path for piece in cut(document)} <= {("Fees",), ("Fees", "Script"), ()}


@pytest.mark.parametrize(
    ("text", "notation"),
    [("----\nnever closed", ASCIIDOC), ("#+begin_src\nnever closed", ORG), (":a:\nnever", ORG)],
)
def test_a_block_that_is_never_closed_takes_nothing_with_it(text, notation):
    assert kinds(plain.parse_outlined(text, notation)) == [("prose", text.partition("\n")[2])]


@pytest.mark.parametrize(
    "line",
    ["include::" + "[" * 300_000, "* " + " " * 300_000, "[" + "] " * 150_000 + "x", "* a" + " :a" * 100_000],
)
@pytest.mark.parametrize("notation", [ASCIIDOC, ORG])
def test_a_long_line_of_marks_is_read_in_time_that_grows_with_it(line, notation):
    assert len(plain.parse_outlined(line, notation).blocks) == 1


@given(st.text(alphabet="a=-*.|#+/ \t\n\r[]~", max_size=60), st.sampled_from([ASCIIDOC, ORG]))
def test_every_letter_is_in_a_block_and_none_in_two(text, notation):
    document = plain.parse_outlined(text, notation)
    reached = 0

    for block in document.blocks:
        assert "a" not in text[reached : block.start]
        assert reached <= block.start < block.end
        reached = block.end

    assert "a" not in text[reached:]
