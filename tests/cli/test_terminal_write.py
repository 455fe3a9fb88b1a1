"""Outcomes as a terminal shows them."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
from fakes.quotes import quotes_behind

from bots.terminal.render import (
    ScreenContext,
    card,
    footnotes,
    link_of,
    proposal_list,
    quotes,
    source_list,
    write,
)
from bots.terminal.screen import THEME, SafeConsole
from core.conversation import Answer, Citation, Outcome, Proposal
from core.library.entries import Entry


def citation(number=1, **fields):
    usual = {
        "title": "Harbour handbook",
        "location": "Harbour handbook > Mooring fees",
        "source": "docs/harbour.md",
        "quote": "A night costs 18 euros.",
        "start": 10,
        "end": 33,
    }
    return Citation(number=number, **{**usual, **fields})


NIGHT = citation()


def answered(text="A night costs 18 euros. [1]", citations=(NIGHT,), *, composed=True, **fields):
    answer = Answer(text=text, citations=citations, grounding="documents", composed=composed)
    return Outcome(kind="answered", turn_id="t", answer=answer, timing_ms={"total": 2_140.0}, **fields)


def shown(content, *, width=80, colours=None):
    console = SafeConsole(
        file=io.StringIO(),
        width=width,
        force_terminal=colours is not None,
        color_system=colours,
        theme=THEME,
        highlight=False,
        legacy_windows=False,
    )
    console.print(content)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_an_answer_stands_above_its_footnotes_and_their_quotes():
    assert shown(write(answered(), ScreenContext())) == (
        "A night costs 18 euros. [1]\n"
        "───\n"
        "1 Harbour handbook › Mooring fees · docs/harbour.md\n"
        "  “A night costs 18 euros.”\n"
        "Answered in 2.1 s from 1 passage · written by a language model"
    )


def test_a_quoted_answer_says_so_and_does_not_repeat_its_quotes():
    page = shown(write(answered(composed=False), ScreenContext()))

    assert page.startswith("Quoted from your documents, not composed.\n\n")
    assert "“" not in page


def test_an_answer_without_footnotes_says_so():
    page = shown(write(answered("Hello.", ()), ScreenContext()))

    assert page == "No footnotes: nothing here is taken from your documents.\n\nHello."


def test_at_most_five_footnotes_are_shown_and_the_rest_is_named():
    many = tuple(citation(number, source=f"docs/{number}.md") for number in range(1, 9))

    page = shown(write(answered(citations=many), ScreenContext()))

    assert "docs/5.md" in page
    assert "docs/6.md" not in page
    assert page.endswith("Answered in 2.1 s from 8 passages · written by a language model · 3 more: /more")


def test_a_long_quote_is_cut_beneath_an_answer_and_whole_in_more():
    long = citation(quote="word " * 200)
    behind = quotes_behind(answered(citations=(long,)), before="Before it. ", after="And after.")

    cut = shown(footnotes([long], "en", ScreenContext()))
    whole = shown(quotes(behind, ScreenContext()))

    assert cut.count("word") < 50
    assert "…”" in cut
    assert whole.count("word") == 200
    assert "Before it. “word word" in whole
    assert "And after." in whole


def test_a_web_answer_names_host_and_date():
    web = citation(
        title="Tides",
        location="example.org",
        source="https://example.org/t",
        url="https://example.org/t",
        origin="web",
        published="2026-03-12T09:00:00Z",
    )
    answer = Answer(text="High. [1]", citations=(web,), grounding="web", composed=True)

    page = shown(write(Outcome(kind="answered", turn_id="t", answer=answer), ScreenContext()))

    assert page.startswith("From the web, not from your documents.\n")
    assert "1 Tides · example.org · 12 Mar 2026" in page


def test_an_answer_given_in_spite_of_trouble_tells_the_trouble():
    page = shown(write(answered(reason="The model could not be reached."), ScreenContext()))

    assert "The model could not be reached.\nAnswered in" in page


def test_a_proposal_shows_the_exact_query_where_it_would_go_and_what_came_close():
    proposal = Proposal(
        id="p1",
        turn_id="q",
        question="?",
        asker="ada",
        query='tide "Sark" 2026 -[bold]',
        reason="Your documents don't answer this.",
        tried=(),
        closest=(citation(),),
    )
    outcome = Outcome(kind="approval_needed", turn_id="t", proposal=proposal, closest=proposal.closest)

    page = shown(write(outcome, ScreenContext(engine="DuckDuckGo")))

    assert page == (
        "Your documents don't answer this.\n"
        "The closest passages:\n"
        "1 Harbour handbook › Mooring fees · docs/harbour.md\n"
        "  “A night costs 18 euros.”\n"
        "\n"
        "I would search DuckDuckGo for:\n"
        '  tide "Sark" 2026 -[bold]\n'
        "Nothing is sent until you allow it."
    )


def test_no_answer_shows_the_closest_passages_and_what_else_to_try():
    outcome = Outcome(
        kind="no_answer", turn_id="t", closest=(citation(),), reason="I did not find this in your documents."
    )

    page = shown(write(outcome, ScreenContext()))

    assert page.startswith("I did not find this in your documents.\nThe closest passages:\n1 Harbour")
    assert page.endswith("You can rephrase, name the document, or add one.")


def test_readings_to_choose_from_are_numbered():
    outcome = Outcome(kind="clarify", turn_id="t", reason="Which cookies?", options=("Request", "Response"))

    page = shown(write(outcome, ScreenContext()))

    assert re.findall(r"(\d)\W+(\w+)", page) == [("1", "Request"), ("2", "Response")]


def test_a_failure_is_its_reason():
    outcome = Outcome(kind="failed", turn_id="t", reason="The model did not answer within 60 s.")

    assert shown(write(outcome, ScreenContext())) == "The model did not answer within 60 s."


def test_code_blocks_and_lists_are_laid_out():
    page = shown(
        write(answered("Do this: [1]\n\n```python\nmoor(boat)\n```\n\n- first\n- second"), ScreenContext())
    )

    assert " moor(boat)" in page
    assert "```" not in page
    assert " • first\n • second" in page


def test_html_that_a_browser_would_hide_is_hidden_and_what_is_no_html_stays():
    text = 'A <abbr title="x">map</abbr> is a `dict` or `map<K>` or vector<int>. [1]\n\n<div>note</div>'

    page = shown(write(answered(text), ScreenContext()))

    assert "A map is a dict or map<K> or vector<int>. [1]" in page
    assert "note" in page
    assert "<div>" not in page


@pytest.mark.parametrize("inner", ["<id:customize>", "<https://a.example>", "[b](c.md)"])
@pytest.mark.parametrize("outer", ["https://example.org/x", "guide.md"])
def test_an_address_within_the_words_of_a_link_does_not_upset_what_follows(inner, outer):
    text = shown(write(answered(f"See [{inner}]({outer}) and **this**. [1]"), ScreenContext()))

    assert "and this. [1]" in " ".join(text.split())


def test_links_inside_an_answer_lead_nowhere_by_themselves():
    text = "See [the guide](https://evil.example/x) or [here](other.md). [1]\n\n[1]: https://evil.example/y"

    page = shown(write(answered(text), ScreenContext()), colours="truecolor", width=200)

    assert "\x1b]8;" not in page
    bare = re.sub(r"\x1b\[[\d;]*m", "", page)
    assert "See the guide (https://evil.example/x) or here. [1]" in bare


def test_an_unmatched_closing_tag_does_not_break_the_layout():
    assert "done" in shown(write(answered("</kbd></kbd> done [1]"), ScreenContext()))


@pytest.mark.parametrize(
    "hostile",
    ["\x1b]0;title\x07x", "\x1b[31mx", "x\u202ey", "&#x202e;x", "&#27;[31mx", "\x9b31mx", "a\u2066b"],
)
def test_hostile_words_reach_the_screen_harmlessly_wherever_they_stand(hostile):
    bad = citation(title=hostile, location=hostile, source=hostile, quote=hostile, published=hostile)
    proposal = Proposal(
        id="p",
        turn_id="q",
        question=hostile,
        asker="a",
        query=hostile,
        reason=hostile,
        tried=(),
        closest=(bad,),
    )
    entry = Entry(
        id=1,
        collection=hostile,
        address=hostile,
        root="",
        source=hostile,
        title=hostile,
        url=None,
        hash="",
        size=1,
        modified=1,
    )
    outcomes = (
        answered(
            f"{hostile} [1] `{hostile}`\n\n```\n{hostile}\n```\n\n# {hostile}\n\n[{hostile}](https://x)",
            (bad,),
        ),
        Outcome(kind="failed", turn_id="t", reason=hostile),
        Outcome(kind="no_answer", turn_id="t", reason=hostile, closest=(bad,)),
        Outcome(kind="clarify", turn_id="t", reason=hostile, options=(hostile,)),
    )
    contents = [write(outcome, ScreenContext(files={hostile: f"/{hostile}"})) for outcome in outcomes]
    contents += [
        card(proposal, ScreenContext(engine=hostile)),
        proposal_list([proposal]),
        source_list([entry]),
    ]

    pages = [shown(content) for content in contents]

    assert all(
        sign in "\n\t\u200c\u200d" or unicodedata.category(sign)[0] != "C" for page in pages for sign in page
    )


def test_a_footnote_links_to_its_own_page_or_file_and_to_nothing_else():
    files = {"docs/harbour.md": "/home/ada/docs/har bour.md"}

    assert link_of(citation(), files) == "file:///home/ada/docs/har%20bour.md"
    assert link_of(citation(url="https://example.org/a"), files) == "https://example.org/a"
    assert link_of(citation(url="javascript:alert(1)"), files) is None
    assert link_of(citation(source="elsewhere.md"), files) is None
    assert link_of(citation(source="\ud800.md"), {"\ud800.md": "/home/ada/docs/\ud800.md"}) is None

    page = shown(write(answered(), ScreenContext(files=files)), colours="truecolor")
    assert re.findall(r"\x1b\]8;[^;]*;([^\x1b]+)\x1b", page) == ["file:///home/ada/docs/har%20bour.md"]
