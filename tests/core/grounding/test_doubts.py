"""What code finds odd about a sentence beside its strips: hints, cheap, few on what is true, in any language."""

from __future__ import annotations

import random
import re

import pytest
from benchmarks.draft_labels import Item, plain, read_items
from fakes.passages import documents, loose_strip, passages_of, thorough
from hypothesis import given
from hypothesis import strategies as st

from core.grounding.claims import claims_of
from core.grounding.doubts import doubts_of, oddity_of
from core.grounding.verdicts import statements_of

TOWER = (
    "The tower in Paris is 300 metres tall. Gustave Eiffel built it in March 1889 for 7,300,000 francs. "
    "Two lifts and seven painters serve it. It sways by 0.06 m. Call `tower.climb(max_steps=20)` or use the HTTPServer."
)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It is 300 metres tall.", TOWER),
        ("It cost 7300000 francs.", TOWER),
        ("Es kostete 7.300.000 Francs.", TOWER),
        ("Elle a coûté 7 300 000 francs.", TOWER),
        ("Elle a coûté 7\u202f300\u202f000 francs.", TOWER),
        ("Das Schwanken beträgt 0,06 m.", TOWER),
        ("There are 2 lifts and 7 painters.", TOWER),
        ("It is about 290 metres tall.", TOWER),
        ("Er ist rund 290 Meter hoch.", TOWER),
        ("高さは約290メートルです。", TOWER),
        ("高さは３００メートルです。", TOWER),
        ("Es hat zwölf Stufen.", "The stairs have 12 steps."),
        ("有三个门。", "It has 3 gates."),
        ("Tres puertas.", "It has 3 gates."),
        ("1. Climb the tower\n", TOWER),
        ("Call `tower.climb()` with `max_steps = 20`.", "Call `tower.climb()`, with max_steps=20."),
        ("He says “two lifts and seven painters”.", TOWER),
        ("He says “two lifts … serve it”.", TOWER),
        ("Er sagt „Two lifts and seven painters serve it“.", TOWER),
        ("彼は「東京の塔は高い」と言う。", "東京の塔は高い。"),
        ("A “thing” is here.", TOWER),
        ("It serves 1,00,000 people in version 1.2.3.", "Version 1.2.3 serves 100000 people."),
        ("Use APIs.", "Use an API."),
        ("The tower was never built by anyone in London.", TOWER),
    ],
)
def test_what_the_source_says_in_another_way_is_not_doubted(claim, source):
    assert doubts_of(claim, [source]) == ()


@pytest.mark.parametrize(
    ("claim", "doubt"),
    [
        ("It is 301 metres tall.", "the number 301"),
        ("Er ist 301 Meter hoch.", "the number 301"),
        ("高さは301メートルです。", "the number 301"),
        ("It is about 400 metres tall.", "the number 400"),
        ("It cost 7,300,001 francs.", "the number 7,300,001"),
        ("It sways by 0.6 m.", "the number 0.6"),
        ("It is version 30.0.", "the number 30.0"),
        ("Call `tower.jump()`.", "`tower.jump()`"),
        ("He says “two lifts and eight painters”.", "the words “two lifts and eight painters”"),
        ("Il dit « deux ascenseurs et huit peintres ».", "the words “deux ascenseurs et huit peintres”"),
        ("彼は「塔はとても低いです」と言う。", "the words “塔はとても低いです”"),
        ("Use the FTPServer.", "“FTPServer”"),
        ("Set max_stairs.", "“max_stairs”"),
    ],
)
def test_what_the_source_does_not_hold_is_named(claim, doubt):
    assert doubts_of(claim, [TOWER]) == (doubt,)


@pytest.mark.parametrize(
    ("source", "is_known"), [("See the description.", False), ("Its IPs.", True), ("clientIP", True)]
)
def test_a_short_name_is_known_by_a_word_that_begins_with_it_and_not_by_chance_within_one(source, is_known):
    assert doubts_of("Give the IP.", [source]) == (() if is_known else ("“IP”",))


def test_of_code_every_line_is_looked_for_but_not_its_comments():
    block = "```python\n# climb it\nclimb( tower )\njump(bridge)  # now\n\n```"

    assert doubts_of(block, ["climb(tower)"], is_code=True) == ("the line `jump(bridge)`",)


@pytest.mark.parametrize(
    ("code", "source"),
    [
        ("flask --app myapp run", "Start it with `flask --app hello run`."),
        (
            "curl -H 'Token: YOUR_TOKEN' https://example.com/hook",
            "Send `curl -H 'Token: abc' https://us.io/hook`.",
        ),
        ("uv init my-project --bare", "It is made with `uv init demo --bare`."),
        ("ssh <user>@<host>", "Use ssh root@server."),
        ("kubectl logs mein-pod", "kubectl logs private-image-test-1"),
    ],
)
def test_names_for_the_readers_own_are_not_doubted(code, source):
    assert doubts_of(f"Run `{code}`.", [source]) == ()
    assert doubts_of(f"```sh\n{code}\n```", [source], is_code=True) == ()


@pytest.mark.parametrize(
    "code",
    ["flask --debug myapp start", "mysql --app hello run", "mypy --app hello run", "flask --app hi run"],
)
def test_what_stands_beside_such_a_name_is_doubted(code):
    assert doubts_of(f"Run `{code}`.", ["Start it with `flask --app hello run`."])


LONG = "The request goes to your lead, who decides about it within 5 days, and payroll pays it with the next salary."


@pytest.mark.parametrize(
    ("draft", "question", "oddity"),
    [
        (f"{LONG} [1]", "Who decides about my request?", None),
        (f"{LONG} [1]", "Wer entscheidet über meinen Antrag und wann?", "language"),
        ("Die Leitung entscheidet in 5 Tagen darüber. [1]", "Who decides about my request?", "language"),
        ("はい、5日以内に決まります。[1]", "Who decides about my request?", "language"),
        ("`DEBUG=1` [1]", "Wie schalte ich die Ausgaben zum Debuggen ein?", None),
        (f"{LONG} [1]", "approval time?", None),  # too short to know its language
        (f"{LONG} [1]\n\nThat is all. [2]\n\n{LONG} [2]", "Who decides about it?", "twice"),
        (f"{LONG} [1]\n\n- {LONG.lower()} [1]", "Who decides about it?", "twice"),
        (f"{LONG} [1]\n\n{LONG.replace('next', 'coming')} [1]", "Who decides about it?", "twice"),
        (f"{LONG} [1]\n\n{LONG.replace('5', '7')} [1]", "Who decides about it?", None),
        ("Ask your lead. [1]\n\nAsk your lead. [1]", "Who decides about it?", None),  # short
    ],
)
def test_a_draft_in_another_language_or_with_a_paragraph_said_twice_is_found(draft, question, oddity):
    assert oddity_of(draft, question) == oddity


def test_nothing_is_wrong_with_whole_drafts_of_language_models(shared_data):
    for item in read_items(shared_data / "drafts" / "drafts.jsonl"):
        assert [oddity_of(draft, item.question) for draft in item.drafts] == [None, None], item.id


def test_an_oddity_is_named_once():
    assert doubts_of("It is 301 metres, yes 301.", [TOWER]) == ("the number 301",)


def test_a_sentence_without_footnotes_is_not_doubted_and_headings_count_as_its_source():
    strip = loose_strip("It is on.", title="HTTPServer 4", path=("Port 80",))
    (bare, cited) = claims_of("Nothing says 99.\n\nThe HTTPServer 4 is on at port 80. [1]")

    assert statements_of((cited,), (strip,))[0].doubts == ()
    assert statements_of((bare,), ())[0].doubts == ()


HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet="0123456789.,' \u00a0`“”\"«»「」_Aa|~#\n", max_size=80),
    st.sampled_from(["1" * 5_000, "²³", "١٢٣", "½", "1.2.3.4", "0x1F", "1e999999999", "٣.١٤", "①", "\ud800", "1,,2", "१२,३४"]),
)  # fmt: skip


@thorough
@given(HOSTILE, st.lists(HOSTILE, max_size=3), st.booleans())
def test_no_text_breaks_the_search_for_doubts(claim, sources, is_code):
    doubts = doubts_of(claim, sources, is_code=is_code)

    assert len(set(doubts)) == len(doubts)
    assert all(doubt.strip() for doubt in doubts)


@thorough
@given(st.one_of(documents, HOSTILE), HOSTILE, st.booleans())
def test_nothing_is_odd_about_a_text_beside_itself(text, more, is_code):
    assert doubts_of(text, [more, text], is_code=is_code) == ()


# Over real texts


def doubted(item: Item, draft: str) -> dict[str, bool]:
    """Whether each claim of a draft is doubted, by its letters and digits."""
    strips = [loose_strip(p.text, number=p.n, title=p.title, path=p.path) for p in item.passages]
    return {plain(said.text): bool(said.doubts) for said in statements_of(claims_of(draft), strips)}


def rate(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def test_few_good_sentences_and_most_wrong_numbers_are_doubted(shared_data):
    good, planted, numbers = [], [], []
    for item in read_items(shared_data / "drafts" / "drafts.jsonl"):
        good += doubted(item, item.draft("good")).values()
        claims = doubted(item, item.draft("bad"))
        for falsehood in item.planted:
            is_doubted = any(flag for said, flag in claims.items() if said in plain(falsehood.text) or plain(falsehood.text) in said)  # fmt: skip
            planted.append(is_doubted)
            if falsehood.fault == "number":
                numbers.append(is_doubted)

    assert rate(good) <= 0.04
    assert rate(planted) >= 0.30
    assert rate(numbers) >= 0.70


def test_true_sentences_of_a_documentation_are_rarely_doubted(shared_data):
    files = sorted((shared_data / "fastapi_docs").rglob("*.md"))[::3]
    strips = [loose_strip(hit.passage.text) for file in files for hit in passages_of(file)]

    flags = [
        bool(s.doubts) for strip in strips for s in statements_of(claims_of(f"{strip.text}\n\n[1]"), (strip,))
    ]

    assert len(flags) > 500
    assert rate(flags) < 0.005


def test_a_changed_number_is_nearly_always_doubted(shared_data):
    from benchmarks.evaluation_sets import lines

    dice = random.Random(7)
    flags = []
    for row in lines(shared_data / "squad2/paragraphs.jsonl")[::2]:
        for start, end in (
            match.span() for match in re.finditer(r"(?<![\d.,])\d{2,}(?![\d.,]*\d)", row["text"])
        ):
            changed = row["text"][:start] + dice.choice(["4711", "93", "2084", "361"]) + row["text"][end:]
            sentence = next(c.text for c in claims_of(changed) if c.end > start)
            if sentence not in row["text"]:
                flags.append(bool(doubts_of(sentence, [row["text"]])))

    assert len(flags) > 200
    assert rate(flags) > 0.97


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Er endet am 30.06.2025.", "Ends: 2025-06-30"),
        ("Er endet am 30.6.2025.", "Ends: 2025-06-30"),
        ("It ends on 30 June 2025.", "Ende: 30.06.2025"),
        ("It ends on 2025-06-30.", "Ende: 30.06.2025"),
    ],
)
def test_a_day_in_another_form_is_the_same_day(claim, source):
    assert doubts_of(claim, [source]) == ()


def test_another_day_or_version_stays_another_one():
    assert doubts_of("Er endet am 30.07.2025.", ["Ends: 2025-06-30"]) == ("the number 30.07.2025",)
    assert doubts_of("It came in 1.2.3.", ["Version 1.20.3"]) == ("the number 1.2.3",)
