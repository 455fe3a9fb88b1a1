"""What the votes on a draft come to: who is believed, what is cut, which footnotes the rest shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.passages import documents, loose_strip, thorough
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.grounding.citations import to_answer
from core.grounding.claims import claims_of
from core.grounding.verdicts import Edited, Verdict, remove_unsupported, statements_of, verdicts_on
from core.reasoning.reasoner import Draft, Grounded, Statement
from core.text.inline import citation_numbers

STRIPS = (
    loose_strip("The tower in Paris is 300 metres tall.", number=1),
    loose_strip("The ferry leaves at seven in the morning.", number=2),
    loose_strip("A ticket for the ferry costs 12 euros.", number=3),
)


def voted(*votes: Grounded, cites: tuple[int, ...] = (1,)) -> Verdict:
    """What votes on a single sentence come to."""
    return verdicts_on([Statement(number=1, text="It is so.", cites=cites)], votes)[1]


def vote(**said: object) -> Grounded:
    return Grounded(**{"judged": (1,), **said})


YES, NO = vote(), vote(unsupported=(1,))


def edit(draft: str, **said: object) -> Edited:
    """A draft after one vote on all of its claims."""
    statements = statements_of(claims_of(draft), STRIPS)
    cast = Grounded(judged=tuple(statement.number for statement in statements), **said)
    return remove_unsupported(draft, verdicts_on(statements, [cast]), STRIPS)


# Gaps


@pytest.mark.parametrize(
    ("said", "names_gap"),
    [({"absent": (2,)}, True), ({}, False), ({"absent": (2,), "unsupported": (2,)}, False)],
)
def test_a_draft_names_a_gap_where_a_sentence_that_says_so_stands(said, names_gap):
    kept = edit("The tower is 300 metres tall. [1] Its weight is not stated.", **said)

    assert kept.names_gap == names_gap


def test_one_vote_of_three_is_enough_to_see_a_gap_and_nothing_else_is_no_answer():
    statements = statements_of(claims_of("Its weight is not stated."), STRIPS)
    votes = (YES, YES, vote(absent=(1,)))

    assert verdicts_on(statements, votes)[1].names_gap
    assert not edit("Its weight is not stated.", absent=(1,)).names_gap


# Votes


@pytest.mark.parametrize(
    ("votes", "is_supported"),
    [
        ((YES,), True),
        ((NO,), False),
        ((YES, NO), False),
        ((YES, YES, NO), True),
        ((YES, NO, NO), False),
        ((YES, YES, NO, NO), False),
        ((YES, YES, YES, NO), True),
        ((), True),
        ((Grounded(judged=(2,), unsupported=(1,)),), True),
        ((YES, Grounded(judged=()), Grounded(judged=())), True),
    ],
)
def test_half_of_the_votes_that_judged_a_sentence_reject_it(votes, is_supported):
    assert voted(*votes).is_supported == is_supported


@pytest.mark.parametrize(
    ("votes", "cites"),
    [
        ((vote(elsewhere={1: (2,)}),), (2,)),
        ((vote(elsewhere={1: (2, 3)}), vote(elsewhere={1: (2,)})), (2,)),
        ((vote(elsewhere={1: (2,)}), YES), (1,)),
        ((vote(elsewhere={1: (2,)}), vote(elsewhere={1: (2,)}), YES), (2,)),
        ((vote(elsewhere={1: (2,)}), NO, NO), (2,)),
        ((vote(elsewhere={2: (3,)}),), (1,)),
    ],
)
def test_a_footnote_is_corrected_by_most_of_those_who_find_the_sentence_supported(votes, cites):
    assert voted(*votes).cites == cites


def test_the_first_reason_given_is_the_one_that_is_told():
    reasons = [
        vote(unsupported=(1,)),
        vote(unsupported=(1,), lacking={1: "the price"}),
        vote(lacking={1: "all"}),
    ]

    assert voted(*reasons).reason == "the price"
    assert voted(YES).reason == ""


@pytest.mark.parametrize("field", ["idle", "absent", "leaning"])
def test_what_a_sentence_is_takes_most_of_the_votes(field):
    said, read = (
        vote(**{field: (1,)}),
        {"idle": "is_idle", "absent": "is_absent", "leaning": "needs_previous"}[field],
    )

    assert getattr(voted(said, said, YES), read)
    assert not getattr(voted(said, YES), read)
    assert not getattr(voted(), read)


# What is shown to the judge


def test_the_judge_sees_a_row_with_its_header_and_only_footnotes_that_exist():
    claims = claims_of("| Price | Town |\n|---|---|\n| 12 euros | Paris | [3][9]")

    assert statements_of(claims, STRIPS) == (
        Statement(number=1, text="| Price | Town |\n| 12 euros | Paris |", cites=(3,)),
    )


def test_doubts_are_about_the_strips_that_a_sentence_cites():
    right, wrong = statements_of(
        claims_of("It is 300 metres tall, they say. [1]\n\nIt is 300 metres tall. [2]"), STRIPS
    )

    assert right.doubts == ()
    assert wrong.doubts == ("the number 300",)


# Editing


@pytest.mark.parametrize(
    ("draft", "text"),
    [
        ("The tower is 300 metres tall. [1]", "The tower is 300 metres tall. [1]"),
        ("The tower is 300 metres tall [1][9].", "The tower is 300 metres tall. [1]"),
        ("The ferry leaves at seven sharp. A ticket of it costs 12 euros. [2][3]",
         "The ferry leaves at seven sharp. [2] A ticket of it costs 12 euros. [2][3]"),
        ("The ferry leaves at seven sharp.", "The ferry leaves at seven sharp. [2]"),
        ("Die Fähre legt um sieben ab. Das kostet zwölf Euro. [2]",
         "Die Fähre legt um sieben ab. [2] Das kostet zwölf Euro. [2]"),
        ("Steps are:\n\n- The ferry leaves at seven [2]\n- tickets cost 12 euros",
         "Steps are:\n\n- The ferry leaves at seven [2]\n- tickets cost 12 euros [2]"),
        ("Call it so: [1]\n\n```\nx[2]\n```", "Call it so: [1]\n\n```\nx[2]\n```"),
        ("Call it so:\n\n```\nx\n```\n\nThe tower is 300 metres tall. [1]",
         "Call it so:\n\n```\nx\n```\n\n[1]\n\nThe tower is 300 metres tall. [1]"),
        ("These are the prices of the ferry. [3]\n\n| a |\n|---|\n| 12 |\n| 13 |",
         "These are the prices of the ferry. [3]\n\n| a |\n|---|\n| 12 |\n| 13 |"),
    ],
)  # fmt: skip
def test_every_claim_gets_its_own_footnote_or_leans_on_one(draft, text):
    assert edit(draft) == Edited(text=text)


def test_a_wrong_footnote_is_corrected_and_the_sentence_stays():
    assert (
        edit("The tower is 300 metres tall. [2]", elsewhere={1: (1,)}).text
        == "The tower is 300 metres tall. [1]"
    )


def test_what_is_not_supported_is_left_out_with_its_reason():
    kept = edit(
        "The tower is 300 metres tall. [1] It was painted pink by nobody. [1]",
        unsupported=(2,),
        lacking={2: "pink"},
    )

    assert kept.text == "The tower is 300 metres tall. [1]"
    assert [(omission.text, omission.reason) for omission in kept.left_out] == [
        ("It was painted pink by nobody.", "pink")
    ]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("strip 1 says 300", "“Guide” says 300"),
        ("Strips 1 and 2 name no price", "“Guide” name no price"),
        ("der Streifen 3 nennt 12 Euro", "“Guide” nennt 12 Euro"),
        ("le strip [2] ne dit rien", "“Guide” ne dit rien"),
        ("ストリップ1には300とある", "“Guide”には300とある"),
        ("[1] has 300", "“Guide” has 300"),
        ("no strip names it", "no source names it"),
        ("strip 9 has it", ""),  # nobody knows what that is
        ("the value of x[1]", "the value of x[1]"),
        ("a strip of land", "a strip of land"),
    ],
)
def test_a_reason_names_documents_in_place_of_strips(said, told):
    kept = edit("The tower is 300 metres tall. [1] It is pink. [1]", unsupported=(2,), lacking={2: said})

    assert [omission.reason for omission in kept.left_out] == [told]


# A sentence that its strips do not look like

APART = "This also repaints all bridges. [1]"


@pytest.mark.parametrize(
    ("draft", "is_apart"),
    [
        (APART, True),
        ("The tower in Paris has 300 metres. [1]", False),
        ("Der Turm wird auch gestrichen und ist groß. [1]", False),  # another language shares no words
        ("This also repaints all bridges.", False),  # cites nothing
        ("All bridges are repainted so: [1]\n\n```\npaint\n```", False),  # introduces
    ],
)
def test_a_sentence_is_apart_whose_cited_strips_share_little_with_it(draft, is_apart):
    assert statements_of(claims_of(draft), STRIPS)[0].is_apart == is_apart


@pytest.mark.parametrize(
    ("against", "votes", "is_supported"), [(1, 3, False), (1, 4, False), (1, 5, True), (0, 3, True)]
)
def test_one_vote_of_three_rejects_it(against, votes, is_supported):
    apart = replace(Statement(number=1, text="It is so.", cites=(1,)), is_apart=True)

    assert verdicts_on([apart], [NO] * against + [YES] * (votes - against))[1].is_supported == is_supported


def test_a_judge_that_is_split_on_everything_does_not_save_it():
    statements = [Statement(number=n, text="It is so.", cites=(1,), is_apart=n == 1) for n in (1, 2, 3)]
    votes = [Grounded(judged=(1, 2, 3), unsupported=unsupported) for unsupported in ((1, 2, 3), (2, 3), (1,))]

    verdicts = verdicts_on(statements, votes)

    assert [verdicts[n].is_supported for n in (1, 2, 3)] == [False, True, True]


def test_an_introduction_stays_with_a_period_when_the_code_after_it_is_cut():
    kept = edit("The ferry leaves at seven in the morning: [2]\n\n```\nsail(7)\n```", unsupported=(2,))

    assert kept.text == "The ferry leaves at seven in the morning. [2]"
    assert [omission.text for omission in kept.left_out] == ["```\nsail(7)\n```"]


def test_a_claim_without_a_footnote_that_no_strip_comes_near_is_left_out():
    kept = edit("Zebras eat grass in the savannah.")

    assert kept.text == ""
    assert [omission.text for omission in kept.left_out] == ["Zebras eat grass in the savannah."]


def test_what_leans_on_a_sentence_that_goes_goes_too():
    draft = (
        "The tower is 999 metres tall. [1] That is why it sways so much. [1] The ferry leaves at seven. [2]"
    )

    kept = edit(draft, unsupported=(1,), leaning=(2,))

    assert kept.text == "The ferry leaves at seven. [2]"
    assert len(kept.left_out) == 2


def test_rows_keep_a_footnote_when_what_led_to_them_is_cut():
    kept = edit(
        "These are the prices of the year 1889. [3]\n\n| a |\n|---|\n| 12 euros |\n| 13 euros |",
        unsupported=(1,),
    )

    assert kept.text == "| a |\n|---|\n| 12 euros [3] |\n| 13 euros |"


def test_a_sentence_keeps_a_footnote_when_the_one_whose_mark_covered_it_is_cut():
    kept = edit("Die Fähre legt um sieben ab. Das kostet neunzig Euro. [2]", unsupported=(2,))

    assert kept.text == "Die Fähre legt um sieben ab. [2]"


@pytest.mark.parametrize(
    ("draft", "idle", "text"),
    [
        ("What a good question this is! The tower is 300 metres tall. [1] Let me know how it goes!", (1, 3),
         "The tower is 300 metres tall. [1]"),
        ("The tower is 300 metres tall. [1] Now to the matter of the ferry. The ferry leaves at seven. [2]", (2,),
         "The tower is 300 metres tall. [1] Now to the matter of the ferry. The ferry leaves at seven. [2]"),
        ("Good luck to you all, dear friends!", (1,), ""),
    ],
)  # fmt: skip
def test_what_claims_nothing_goes_from_the_ends_and_is_not_called_left_out(draft, idle, text):
    assert edit(draft, idle=idle) == Edited(text=text)


def test_what_the_strips_do_not_say_is_said_without_a_footnote():
    draft = "The tower is 300 metres tall. [1] The strips do not name its price. [1]"

    assert (
        edit(draft, absent=(2,)).text == "The tower is 300 metres tall. [1] The strips do not name its price."
    )


def test_an_introduction_to_nothing_is_not_called_left_out():
    kept = edit("The prices are:\n\n- pink [1]\n- green [1]", unsupported=(2, 3))

    assert kept.text == ""
    assert [omission.text for omission in kept.left_out] == ["pink", "green"]


# Any draft, any votes

MARKS = st.sampled_from(["", "", " [1]", " [2]", " [1][3]", "[3].", " [9]", " [2, 3]"])
SENTENCES = st.sampled_from(
    ["The tower in Paris is 300 metres tall.", "Yes.", "Die Fähre legt ab.", "The ferry leaves at seven in the morning.",
     "東京タワーは高い。", "Zebras eat grass in the savannah.", "It costs `12` euros."]
)  # fmt: skip
LINES = st.lists(st.builds("{}{}".format, SENTENCES, MARKS), min_size=1, max_size=3).map(" ".join)
BLOCKS = st.one_of(
    LINES,
    LINES.map("> {}".format),
    LINES.map("**Label**\n\n{}".format),
    st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "So:\n\n" + "\n".join(f"- {line}" for line in lines)),
    st.lists(LINES, min_size=1, max_size=3).map(lambda lines: "\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1))),
    st.builds("- {}\n  - {}\n  - {}".format, LINES, LINES, LINES),
    st.builds("{}\n\n```\nx[1] = 7\n```".format, LINES),
    st.builds("| a |\n|---|\n| {} |\n| {} |".format, LINES, LINES),
)  # fmt: skip
DRAFTS = st.lists(BLOCKS, max_size=4).map("\n\n".join)


@st.composite
def votes_on(draw: st.DrawFn, statements: tuple[Statement, ...]) -> Grounded:
    numbers = [statement.number for statement in statements]
    some = st.sets(st.sampled_from(numbers)).map(tuple) if numbers else st.just(())
    fields = {name: draw(some) for name in ("unsupported", "idle", "absent", "leaning")}
    moved = (
        draw(st.dictionaries(st.sampled_from(numbers), st.sampled_from([(1,), (2, 3)]))) if numbers else {}
    )
    return Grounded(judged=tuple(numbers), elsewhere=moved, **fields)


@thorough
@given(DRAFTS, st.data())
def test_every_claim_of_an_edited_draft_has_a_footnote_that_exists_or_needs_none(draft, data):
    statements = statements_of(claims_of(draft), STRIPS)
    verdicts = verdicts_on(statements, data.draw(st.lists(votes_on(statements), max_size=3)))
    silent = {s.text for s in statements if verdicts[s.number].is_idle or verdicts[s.number].is_absent}

    kept = remove_unsupported(draft, verdicts, STRIPS)

    assert set(citation_numbers(kept.text)) <= {1, 2, 3}
    shown = claims_of(kept.text)
    for before, claim in zip((None, *shown), shown, strict=False):
        said = f"{claim.above}\n{claim.text}" if claim.above else claim.text
        is_covered = (
            claim.takes_footnotes and before is not None and bool(before.own or before.takes_footnotes)
        )
        assert (
            claim.own or claim.announces or is_covered or any(said in text or text in said for text in silent)
        )


@thorough
@given(DRAFTS, st.data())
def test_nothing_rejected_is_shown_and_what_is_left_is_whole(draft, data):
    statements = statements_of(claims_of(draft), STRIPS)
    verdicts = verdicts_on(statements, [data.draw(votes_on(statements))])
    good = [s.text for s in statements if verdicts[s.number].is_supported]
    bad = [s.text for s in statements if not verdicts[s.number].is_supported]

    kept = remove_unsupported(draft, verdicts, STRIPS)

    assert not [text for text in bad if text in kept.text and not any(text in other for other in good)]
    kinds = [token.type for token in MarkdownIt("commonmark").enable("table").parse(kept.text)]
    assert kinds.count("tbody_open") == kinds.count("table_open")
    assert kept.text.count("```") % 2 == 0


@thorough
@given(documents)
def test_any_text_that_is_accepted_whole_becomes_an_answer(draft):
    kept = edit(draft)

    answer = to_answer(Draft(text=kept.text, composed=True), STRIPS)

    assert {citation.quote in STRIPS[int(citation.source[0]) - 1].text for citation in answer.citations} <= {
        True
    }


def test_a_mark_within_a_sentence_is_quoted_by_the_words_before_it():
    rows = (
        "| jury duty | as needed |",
        "| own wedding or civil partnership | 2 |",
        "| birth of own child (other parent) | 2 |",
    )
    special = loose_strip("| occasion | days |\n|---|---|\n" + "\n".join(rows), number=1)
    parental = loose_strip("The other parent may take parental leave after the birth of a child.", number=2)
    draft = (
        "A wedding gives 2 days [1], and the other parent has parental leave after the birth of a child [2]."
    )
    statements = statements_of(claims_of(draft), (special, parental))

    kept = remove_unsupported(draft, verdicts_on(statements, [Grounded(judged=(1,))]), (special, parental))
    answer = to_answer(Draft(text=kept.text, composed=True), (special, parental))

    assert answer.text == f"{draft.replace(' [1]', '').replace(' [2]', '')} [1][2]"
    assert [each.quote for each in answer.citations] == [rows[1], parental.text]
