"""What the linter finds in documents, what it leaves alone, and that it compares only what has changed."""

from __future__ import annotations

import pytest
from fakes.shelf import open_library, write

from core.lint.findings import FINDING_KINDS
from core.lint.lint import in_collection, run_lint
from core.lint.store import LintStore, new_findings

#: Other sentences, so that words have a weight.
FILLER = [
    "The harbour office answers the telephone every morning of the week.",
    "Boats that come from abroad are looked at by customs before anything is unloaded.",
    "A pilot meets large ships outside of the breakwater and leads them to the quay.",
    "The crane at the northern quay lifts forty tons and is inspected each spring.",
    "Fishing is not permitted inside of the basin, because lines get into propellers.",
    "The sailing club rents dinghies to members who have passed the test.",
    "Rain water is collected on the roof of the warehouse and used to wash decks.",
    "Fuel is sold at the southern jetty by a company from the next town.",
]


@pytest.fixture
def library(tmp_path):
    opened = open_library(tmp_path / "data")
    write(tmp_path / "docs" / "filler.md", "# Filler", *FILLER)
    yield opened
    opened.close()


@pytest.fixture
def lint(library, tmp_path):
    """Write pages by their names, compare, and return what is shown of some kinds."""

    def run(pages, *kinds, everybody=("default",), at=1.0):
        for name, text in pages.items():
            write(tmp_path / "docs" / name, text)
        library.ingest([tmp_path / "docs"])
        run_lint(library.store, everybody=everybody, now=at)
        found = LintStore(library.store).findings()
        return [each for each in found if each.is_shown and each.kind in (kinds or FINDING_KINDS)]

    return run


def quotes(findings):
    return [tuple(place.quote for place in each.places) for each in findings]


DIFFER = {
    "a number": (
        "Visiting yachts may stay in the inner basin for at most 14 nights.",
        "Visiting yachts may stay in the inner basin for 21 nights.",
    ),
    "an amount of money": (
        "The yearly berth fee of a fishing boat is $1,200.",
        "The yearly berth fee of a fishing boat is $1,500.",
    ),
    "a unit": (
        "Winter storage contracts end four weeks after the boat show.",
        "Winter storage contracts end four months after the boat show.",
    ),
    "another unit of another length": (
        "The deposit for a gate key is returned within 30 days of departure.",
        "The deposit for a gate key is returned within 8 weeks of departure.",
    ),
    "a date": (
        "The lock beside the old mill closes for repairs on October 1.",
        "The lock beside the old mill closes for repairs on November 15.",
    ),
    "a weekday": (
        "Oil barrels are collected behind the workshop every Tuesday.",
        "Oil barrels are collected behind the workshop every Friday.",
    ),
    "a time": (
        "The evening ferry to the island leaves the quay at 6:30 pm.",
        "The evening ferry to the island leaves the quay at 7:15 pm.",
    ),
    "an address": (
        "Questions about mooring insurance go to insurance@harbour.example.",
        "Questions about mooring insurance go to office@harbour.example.",
    ),
    "a name": (
        "Applications for a permanent berth are decided by Martha Olsen.",
        "Applications for a permanent berth are decided by Henrik Dahl.",
    ),
    "a not": (
        "Dogs are not allowed on the floating pontoons.",
        "Dogs are allowed on the floating pontoons.",
    ),
    "an opposite": (
        "A life jacket is required on every rented dinghy.",
        "A life jacket is optional on every rented dinghy.",
    ),
    "a number in other words": (
        "Members of the club can borrow the rescue boat for three hours.",
        "The rescue boat can be borrowed by members of the club for 5 hours.",
    ),
    "a number in German": (
        "Gastlieger dürfen im inneren Becken höchstens 14 Nächte bleiben.",
        "Gastlieger dürfen im inneren Becken 21 Nächte bleiben.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", DIFFER)
def test_two_pages_that_differ_in_it_are_shown_with_both_quotes(lint, kind):
    one, other = DIFFER[kind]

    (found,) = lint({"one.md": f"# Rules\n\n{one}", "other.md": f"# Guide\n\n{other}"}, "contradiction")

    assert quotes([found]) == [(one, other)]


ALIKE = {
    "the same in another unit": (
        "The deposit for a gate key is returned within 2 weeks of departure.",
        "The deposit for a gate key is returned within 14 days of departure.",
    ),
    "a least and a most": (
        "A mooring line has at least 10 metres on every visiting yacht.",
        "A mooring line has at most 30 metres on every visiting yacht.",
    ),
    "another kind of the thing": (
        "A full-time pilot earns 26 days of annual leave each year.",
        "A part-time pilot earns 13 days of annual leave each year.",
    ),
    "another place": (
        "The Chicago office opens its doors at 8 am for visitors.",
        "The Boston office opens its doors at 9 am for visitors.",
    ),
    "a rate and a sum": (
        "The crane driver works 8 hours a day beside the quay.",
        "The crane driver works 40 hours a week beside the quay.",
    ),
    "a condition": (
        "Dogs are allowed on the floating pontoons.",
        "Dogs are not allowed on the floating pontoons if a regatta takes place.",
    ),
    "an example": (
        "Visiting yachts may stay in the inner basin for 14 nights.",
        "For example, visiting yachts may stay in the inner basin for 21 nights.",
    ),
    "a question": (
        "Visiting yachts may stay in the inner basin for 14 nights.",
        "May visiting yachts stay in the inner basin for 21 nights?",
    ),
    "code": (
        "The server of the tide table listens on port `8000` of the machine.",
        "The server of the tide table listens on port `9000` of the machine.",
    ),
    "the number of a section": (
        "The rules about visiting yachts are in section 4 of the handbook.",
        "The rules about visiting yachts are in section 9 of the handbook.",
    ),
    "a subject that stands before it": (
        "It is opened for 2 hours.",
        "It is opened for 6 hours.",
    ),
    "several of a list": (
        "Pontoons have a length of 8, 10 or 12 metres in the basin.",
        "Pontoons have a length of 10 metres in the basin.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ALIKE)
def test_it_is_no_contradiction(lint, kind):
    one, other = ALIKE[kind]

    assert lint({"one.md": f"# Rules\n\n{one}", "other.md": f"# Guide\n\n{other}"}, "contradiction") == []


def test_of_two_pages_that_differ_in_many_places_one_is_shown_and_the_others_are_counted(lint):
    pages = list(DIFFER.values())[:7]
    old, new = ("\n\n".join(each[number] for each in pages) for number in (0, 1))

    (found,) = lint({"old.md": f"# Rules\n\n{old}\n", "new.md": f"# Rules\n\n{new}\n"}, "contradiction")

    assert "These two pages differ in 7 such places" in found.why


def test_a_form_that_many_pages_fill_in_is_no_contradiction(lint):
    pages = {
        f"{town}.md": f"# Rules\n\nVisiting yachts may stay in the inner basin for {nights} nights."
        for town, nights in (("bergen", 7), ("oslo", 14), ("molde", 21), ("narvik", 28))
    }

    assert lint(pages, "contradiction") == []


RESCUE = [
    "The rescue boat lies at the head of the northern pier and is always fuelled.",
    "Whoever takes it out writes the time and the reason into the book on the bridge.",
    "Two persons at least go out, and one of them has passed the test of the coast guard.",
    "The radio stays on channel sixteen until the boat is back and tied up.",
    "After each trip the tank is filled and the battery is connected to the charger.",
]


def test_a_copy_that_drifted_is_shown_with_what_differs(lint):
    changed = [
        *RESCUE[:3],
        "The radio stays on channel twelve until the boat is back and tied up.",
        RESCUE[4],
    ]

    (found,) = lint(
        {"one.md": "# Rescue\n\n" + " ".join(RESCUE), "other.md": "# Safety\n\n" + " ".join(changed)}, "drift"
    )

    assert found.changes == ((RESCUE[3], changed[3]),)
    assert "one sentence differs" in found.why


def test_the_same_text_twice_is_a_copy_and_pages_of_one_pattern_are_not(lint):
    pattern = "# {0}\n\n" + " ".join(RESCUE).replace("rescue boat", "{0} boat").replace(
        "battery", "{0} battery"
    )

    found = lint(
        {
            "one.md": "# Rescue\n\n" + " ".join(RESCUE), "again.md": "# Rescue\n\n" + " ".join(RESCUE),
            "pilot.md": pattern.format("Pilot"), "mail.md": pattern.format("Mail"),
        },
        "copy", "drift",
    )  # fmt: skip

    sources = [{place.source for place in each.places} for each in found if each.kind == "copy"]
    assert sources == [{"docs/again.md", "docs/one.md"}]
    assert not any({"docs/pilot.md", "docs/mail.md"} <= {p.source for p in each.places} for each in found)


LINKS = """# Links

[same](#other-part) [own](#named) [tag](#spot) [file](there.md) [part](there.md#a-part) [mkdocs](there.md#a-part_1)
[folder](sub/) [outside](../elsewhere.md) [web](https://example.com/x#y) [disk](picture.txt) [page](sub/deep/#deep)
`[code](gone.md)` ![picture](gone.png)

## Other part
## Part {#named}
<a id="spot"></a>

[gone](gone.md) [lost](there.md#lost) [here](#nowhere)
"""


def test_links_that_lead_nowhere_are_found_and_no_others(lint, tmp_path):
    write(tmp_path / "docs" / "picture.txt", "Words.")

    found = lint(
        {
            "links.md": LINKS, "there.md": "# There\n\n## A part\n\nOne.\n\n## A part\n\nTwo.",
            "sub/index.md": "# Sub\n\nText.", "sub/deep.md": "# Deep\n\nText.",
        },
        "link",
    )  # fmt: skip

    assert [quote for (quote,) in quotes(found)] == [
        "[gone](gone.md)", "[lost](there.md#lost)", "[here](#nowhere)",
    ]  # fmt: skip
    assert {each.places[0].line for each in found} == {11}


def test_a_link_in_a_comment_leads_nobody_astray(lint):
    assert (
        lint({"one.md": "# One\n\nAll is well.\n\n<!-- [gone](gone.md)\n[too](too.md) -->\n"}, "link") == []
    )


def test_a_word_with_two_spellings_is_found_where_both_are_used(lint):
    forms = ["e-mail", "e-mail", "e-mail", "email", "email", "email", "email"]
    names = ["GitHub", "GitHub", "GitHub", "GitHub", "Github", "Github", "Github"]
    pages = {
        f"{n}.md": f"# Page {n}\n\nWrite an {form} to the harbour, or look at {name} for it."
        for n, (form, name) in enumerate(zip(forms, names, strict=True))
    }

    found = lint(pages, "spelling")

    assert [each.why for each in found] == [
        "“email” stands in 4 documents and “e-mail” in 3.", "“GitHub” stands in 4 documents and “Github” in 3.",
    ]  # fmt: skip


PRIVATE = {
    "a password": "The password is: kT9!vvQm2x for the weather station.",
    "a key of AWS": "Set AKIAQ7J5KLMN2P4RSTUV in the console.",
    "an account number (IBAN)": "Pay to DE89 3704 0044 0532 0130 00 before the season.",
    "a card number": "The card is 4539 1488 0343 6467 for fuel.",
    "a note that it is not for everybody": "Confidential: prices of the yard.",
}


@pytest.mark.parametrize("kind", PRIVATE)
def test_private_words_are_found_where_everybody_reads_and_masked(lint, kind):
    (found,) = lint({"one.md": f"# One\n\n{PRIVATE[kind]}"}, "private")

    assert kind in found.why
    assert kind == "a note that it is not for everybody" or found.places[0].quote.rstrip().endswith("…")


@pytest.mark.parametrize(
    "text",
    [
        "The password is required for the weather station.",
        "Set password: your-password-here in the form.",
        "Pay to DE89 3704 0044 0532 0130 01 before the season.",
        "The box has the number 4539 1488 0343 6468 on its lid.",
        "Set AKIAIOSFODNN7EXAMPLE in the console.",
        "Keep what you hear confidential.",
    ],
)
def test_it_is_not_private(lint, text):
    assert lint({"one.md": f"# One\n\n{text}"}, "private") == []


def test_where_not_everybody_reads_private_words_may_stand(lint):
    assert lint({"one.md": f"# One\n\n{PRIVATE['a password']}"}, "private", everybody=()) == []


def test_a_page_that_is_a_year_older_than_one_that_cites_it_is_found(lint):
    old, new = (
        "---\nupdated: 2023-01-05\n---\n\n# Old\n\nText.",
        "---\nupdated: {}\n---\n\n# New\n\n[old](old.md)",
    )

    none = lint({"old.md": old, "new.md": new.format("2023-06-01")}, "outdated")
    (found,) = lint({"new.md": new.format("2025-06-01")}, "outdated")

    assert none == []
    assert "2023-01-05" in found.why
    assert [place.source for place in found.places] == ["docs/old.md", "docs/new.md"]


PAGES = {
    name: f"# Page\n\n{text}" for name, text in zip(("one.md", "other.md"), DIFFER["a number"], strict=True)
}


def test_a_run_compares_what_has_changed_and_nothing_else(lint, library, tmp_path):
    def run():
        library.ingest([tmp_path / "docs"])
        return run_lint(library.store, everybody=["default"], now=1.0)

    lint(PAGES)
    again = run()
    write(tmp_path / "docs" / "filler.md", "# Filler", *FILLER[:-1])
    changed = run()
    library.rebuild()
    whole = run()

    assert (again.changed, again.comparisons) == (0, 0)
    assert changed.changed == 1
    assert 0 < changed.comparisons < whole.comparisons
    assert whole.changed == 3


def test_a_finding_keeps_its_id_and_its_first_day_while_its_words_stand(lint):
    (first,) = lint(PAGES, "contradiction", at=100.0)
    (moved,) = lint(
        {"one.md": f"# Page\n\nA new sentence stands above.\n\n{DIFFER['a number'][0]}"},
        "contradiction",
        at=200.0,
    )
    (reworded,) = lint(
        {"one.md": "# Page\n\nVisiting yachts may stay in the inner basin for at most 10 nights."},
        "contradiction",
        at=300.0,
    )

    assert (moved.id, moved.found_at) == (first.id, 100.0)
    assert (reworded.id != first.id, reworded.found_at) == (True, 300.0)


def test_what_is_mended_or_forgotten_is_found_no_more_and_leaves_no_words(lint, library, tmp_path):
    lint(PAGES)
    mended = lint({"other.md": PAGES["one.md"]}, "contradiction")
    lint(PAGES)
    library.forget("docs/other.md")

    assert mended == []
    assert library.store.database.rows("SELECT content FROM lint_findings WHERE kind = 'contradiction'") == []


def test_new_findings_are_told_to_those_alone_who_may_read_both_places(library, tmp_path):
    write(tmp_path / "hr" / "one.md", PAGES["one.md"])
    write(tmp_path / "docs" / "other.md", PAGES["other.md"])
    library.ingest([tmp_path / "docs"])
    library.ingest([tmp_path / "hr"], collection="hr")
    run_lint(library.store, everybody=["default"], now=50.0)

    def told(since, *readable):
        return len(new_findings(library.store, since, frozenset(readable)))

    (found,) = new_findings(library.store, 0.0, frozenset({"default", "hr"}))
    assert (told(40.0, "default", "hr"), told(60.0, "default", "hr"), told(40.0, "default")) == (1, 0, 0)
    assert in_collection(found, "hr")
