"""The claims of a draft: what they cite, what covers them, the draft without some of them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from fakes.passages import documents, thorough
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.grounding.claims import claims_of, dependent, marks_of, rewritten, without_lost_code


def read(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """(text, cited) of each claim."""
    return [(claim.text, claim.cited) for claim in claims_of(text)]


def cut(text: str, *doomed: str) -> str:
    """The draft without the claims that begin with these words, and without what depends on them."""
    claims = claims_of(text)
    named = [number for number, claim in enumerate(claims) if claim.text.startswith(doomed)]
    return rewritten(text, claims, dependent(claims, named), {})


@pytest.mark.parametrize(
    ("draft", "claims"),
    [
        ("One. [1] Two. [2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One [1]. Two [2].", [("One.", (1,)), ("Two.", (2,))]),
        ("One.[1] Two.[2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One. [1][2] Two. [2, 3]", [("One.", (1, 2)), ("Two.", (2, 3))]),
        ("One. [1]\n[2] Two.", [("One.", (1,)), ("Two.", (2,))]),
        ("[1] One. [2] Two.", [("One.", (1,)), ("Two.", (2,))]),
        ("- One\n- [1] Two", [("One", (1,)), ("Two", (1,))]),
        ("One.\n[1] Two. [2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One.\n\n[1]\n\nTwo. [2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One. [1]. Two. [2];", [("One.", (1,)), ("Two.", (2,))]),
        ("One ([1]). Two ([2]).", [("One.", (1,)), ("Two.", (2,))]),
        ("> One. [1]\n> Two. [2]\n> Three.", [("One.", (1,)), ("Two.", (2,)), ("Three.", (2,))]),
        ("高い。[1]そうだ。[2]", [("高い。", (1,)), ("そうだ。", (2,))]),
        ("Call `x[9]` so. [1]", [("Call `x[9]` so.", (1,))]),
        ("", []),
    ],
)
def test_a_marker_belongs_to_its_sentence(draft, claims):
    assert read(draft) == claims


@pytest.mark.parametrize(
    ("draft", "claims"),
    [
        ("The first of them is tall. The second of them is small. [1]", [("The first of them is tall.", (1,)), ("The second of them is small.", (1,))]),
        ("It is one. [1] So is two. It is three. [2]", [("It is one.", (1,)), ("So is two.", (2,)), ("It is three.", (2,))]),
        ("The first of them is tall. [1] The second of them is small.", [("The first of them is tall.", (1,)), ("The second of them is small.", (1,))]),
        ("The first of them is tall. [1]\n\nThe second of them is small.", [("The first of them is tall.", (1,)), ("The second of them is small.", (1,))]),
        ("The first of them is tall.\n\nThe second of them is small. [2]", [("The first of them is tall.", (2,)), ("The second of them is small.", (2,))]),
        ("- The first of them is tall. It is so. [1]\n- The second of them is small. [2]", [("The first of them is tall.", (1,)), ("It is so.", (1,)), ("The second of them is small.", (2,))]),
        ("Das eine ist hoch und alt. Das zweite auch. [3]", [("Das eine ist hoch und alt.", (3,)), ("Das zweite auch.", (3,))]),
        ("これは塔の高さです。これは駅の名前です。[1]", [("これは塔の高さです。", (1,)), ("これは駅の名前です。", (1,))]),
    ],
)  # fmt: skip
def test_a_mark_covers_the_sentences_before_it_that_have_none(draft, claims):
    assert read(draft) == claims


@pytest.mark.parametrize(
    ("draft", "joined"),
    [
        ("Yes. The tower is tall. [1]", "Yes. The tower is tall."),
        ("Short answer: no. The tower is small. [1]", "Short answer: no. The tower is small."),
        ("Ja. Der Turm ist hoch. [1]", "Ja. Der Turm ist hoch."),
        ("はい。この塔は高いです。[1]", "はい。この塔は高いです。"),
        ("是的。塔很高。[1]", "是的。塔很高。"),
        ("- No. The tower is small. [1]", "No. The tower is small."),
    ],
)
def test_a_short_answer_is_one_claim_with_the_sentence_that_follows(draft, joined):
    assert read(draft) == [(joined, (1,))]


def test_only_what_opens_a_block_is_joined_and_only_without_a_mark_of_its_own():
    assert read("The tower is tall. [1] Yes. So it is. [2]") == [
        ("The tower is tall.", (1,)),
        ("Yes.", (2,)),
        ("So it is.", (2,)),
    ]
    assert read("Yes. [2] The tower is tall. [1]") == [("Yes.", (2,)), ("The tower is tall.", (1,))]


def test_items_have_markers_of_their_own_or_those_that_cover_them():
    assert read("- One [1]\n- Two. [2]\n  [3]\n- Three") == [
        ("One", (1,)),
        ("Two.", (2, 3)),
        ("Three", (2, 3)),
    ]


def test_code_leans_on_what_introduces_it_or_on_what_follows():
    code = "```\nx[9]\n```"

    assert read(f"Use it so: [1]\n\n{code}") == [("Use it so:", (1,)), (code, (1,))]
    assert read(f"Use it so:\n\n{code}\n\n[2]\n\nMore. [1]") == [
        ("Use it so:", (2,)),
        (code, (2,)),
        ("More.", (1,)),
    ]
    assert read(f"Use it so: [1]\n\n{code}\n\n{code}")[1:] == [(code, (1,)), (code, (1,))]


def test_a_mark_below_code_is_that_of_the_sentence_which_announces_it():
    draft = (
        "1. Look. [1]\n2. Roll back:\n\n   ```bash\n   back\n   ```\n   [2]\n3. Call us if that fails. [3]"
    )
    claims = claims_of(draft)

    assert [(claim.text, claim.own) for claim in claims if claim.kind != "code"] == [
        ("Look.", (1,)),
        ("Roll back:", (2,)),
        ("Call us if that fails.", (3,)),
    ]
    marks = {number: marks_of(claim.own) for number, claim in enumerate(claims)}
    assert rewritten(draft, claims, (), marks) == draft.replace("\n   [2]", "").replace("back:", "back: [2]")


def test_code_before_a_list_keeps_what_introduces_it():
    draft = "A Dockerfile: [2][4]\n\n```\nFROM python\n```\n\n- One file: so. [8]\n- A proxy: so. [1]"

    assert [claim.cited for claim in claims_of(draft)] == [(2, 4), (2, 4), (8,), (1,)]


def test_an_introduction_leans_on_what_it_introduces():
    assert read("Steps:\n\n1. One [1]\n2. Two [2]") == [("Steps:", (1, 2)), ("One", (1,)), ("Two", (2,))]
    assert read("It ends. [3] To stop it:\n\n- One [1]\n- Two [2]") == [
        ("It ends.", (3,)), ("To stop it:", (1, 2)), ("One", (1,)), ("Two", (2,)),
    ]  # fmt: skip
    assert read("**Height**\n\nIt is tall. [2]\n\n**Cost**\n\nIt is dear. [1]") == [
        ("**Height**", (2,)),
        ("It is tall.", (2,)),
        ("**Cost**", (1,)),
        ("It is dear.", (1,)),
    ]


def test_an_item_takes_the_marks_of_its_inner_items():
    assert read("- Height:\n  - tall [1]\n- Cost:\n  - dear [2]") == [
        ("Height:", (1,)),
        ("tall", (1,)),
        ("Cost:", (2,)),
        ("dear", (2,)),
    ]


@pytest.mark.parametrize(
    "table", ["| a | b |\n|---|---|\n| 1 | 2 [1] |\n| 3 [2] | 4 |", "a | b\n--|--\n1 | 2 [1]\n3 [2] | 4"]
)
def test_a_row_of_a_table_is_a_claim_below_its_header(table):
    claims = claims_of(table)

    assert [claim.cited for claim in claims] == [(1,), (2,)]
    assert [claim.kind for claim in claims] == ["row", "row"]
    assert {claim.above.strip("| ") for claim in claims} == {"a | b"}


def test_rows_without_marks_lean_on_what_leads_to_the_table():
    claims = claims_of("The prices are these. [2]\n\n| a |\n|---|\n| 1 |\n| 2 |")

    assert [(claim.takes_footnotes, claim.cited) for claim in claims] == [
        (False, (2,)),
        (True, (2,)),
        (True, (2,)),
    ]


@pytest.mark.parametrize(
    ("draft", "doomed", "left"),
    [
        ("One. [1] Two. [2] Three. [3]", "Two", "One. [1] Three. [3]"),
        ("One. [1] Two. [2]", "One", "Two. [2]"),
        ("One. [1] Two. [2]", "Two", "One. [1]"),
        ("One. [1]\n\nTwo. [2]\n\nThree. [3]", "Two", "One. [1]\n\nThree. [3]"),
        ("One. [1]\nTwo. [2]\nThree. [3]", "Two", "One. [1]\nThree. [3]"),
        ("- One [1]\n- Two [2]\n- Three [3]", "Two", "- One [1]\n- Three [3]"),
        ("- One. [1] More. [1]\n- Two [2]", "One", "- More. [1]\n- Two [2]"),
        ("- One. [1]\n  More. [1]\n- Two [2]", "One", "- More. [1]\n- Two [2]"),
        ("1. One [1]\n2. Two [2]\n3. Three [3]", "One", "1. Two [2]\n2. Three [3]"),
        (
            "- One [1]\n    - inner [2]\n    - second [2]\n- Two [3]",
            "One",
            "- inner [2]\n- second [2]\n- Two [3]",
        ),
        ("> One. [1]\n>\n> Two. [2]", "Two", "> One. [1]\n>"),
        ("Before. [1]\n\n| a |\n|---|\n| b [2] |\n\nAfter. [3]", "| b", "Before. [1]\n\nAfter. [3]"),
        ("| a |\n|---|\n| b [1] |\n| c [2] |\n| d [3] |", "| c", "| a |\n|---|\n| b [1] |\n| d [3] |"),
        ("| a |\n|---|\n| b [1] |\n| c [2] |", "| b", "| a |\n|---|\n| c [2] |"),
        (
            "1. One [1]\n   1. inner [2]\n   2. second [2]\n2. Two [3]",
            "inner",
            "1. One [1]\n   1. second [2]\n2. Two [3]",
        ),
        ("> One. [1]\n> Two. [2]", "One", "> Two. [2]"),
        ("> One. [1]\n> Two. [2]", "Two", "> One. [1]"),
        ("Yes. One is. [1] Two is. [2]", "Yes", "Two is. [2]"),
        ("Only. [1]", "Only", ""),
    ],
)
def test_a_claim_is_cut_without_a_trace(draft, doomed, left):
    assert cut(draft, doomed) == left


def test_an_introduction_to_nothing_goes_too():
    assert cut("Before. [1]\n\nSteps:\n\n- One [1]\n- Two [2]", "One", "Two") == "Before. [1]"
    assert cut("Steps:\n\n- One [1]\n- Two [2]", "One") == "Steps:\n\n- Two [2]"


def test_code_and_quotations_go_with_the_sentence_that_they_lean_on():
    assert cut("One. [1]\n\nUse it so: [2]\n\n```\nx\n```\n\nTwo. [1]", "Use it") == "One. [1]\n\nTwo. [1]"
    assert cut("Use it so:\n\n```\nx\n```\n\n[1]\n\nTwo. [1]", "```") == "Two. [1]"
    assert cut("He says: [2]\n\n> It is.\n\nTwo. [1]", "He says") == "Two. [1]"


@pytest.mark.parametrize(
    ("introduction", "left"),
    [
        ("Restart it with the flag `--now`: [1]", "Restart it with the flag `--now`. [1]"),
        ("- Restart it with the flag `--now`: [1]", "- Restart it with the flag `--now`. [1]"),
        ("**Restart it with the flag now:** [1]", "**Restart it with the flag now.** [1]"),
        ("`--now`フラグ を 付けて 再起動：[1]", "`--now`フラグ を 付けて 再起動。[1]"),
        ("Relancez avec le drapeau `--now` : [1]", "Relancez avec le drapeau `--now`. [1]"),
        ("Call it so: [1]", ""),  # says nothing without the code
        ("Restart it with the flag `--now`:", ""),  # has no mark of its own
    ],
)
def test_an_introduction_with_a_mark_of_its_own_stays_when_the_code_after_it_is_cut(introduction, left):
    text = f"{introduction}\n\n```\nrestart\n```"
    claims = claims_of(text)
    gone = dependent(claims, {1})
    kept = without_lost_code(claims, gone)

    assert rewritten(text, kept, gone, {n: "[1]" for n in range(2) if n not in gone}) == left


def test_an_introduction_of_items_goes_with_all_of_them_though_it_has_a_mark():
    assert cut("The ways to restart it are: [1]\n\n- now [1]\n- later [1]", "now", "later") == ""


def test_an_introduction_keeps_its_colon_when_its_code_stays():
    claims = claims_of("Restart it with the flag: [1]\n\n```\nrestart\n```\n\nWait. [1]")

    assert without_lost_code(claims, {2}) == claims


def test_rows_stay_without_the_sentence_that_leads_to_them():
    table = "| a |\n|---|\n| b |"

    assert cut(f"The prices of 1889: [1]\n\n{table}", "The prices") == table


def test_a_label_above_nothing_goes_too():
    draft = "**One**\n\nOne is. [1]\n\n**Two**\n\nTwo is. [2]"

    assert cut(draft, "Two is") == "**One**\n\nOne is. [1]"
    assert cut("- **A:**\n  - x [1]\n  - y [2]\n- **B:**\n  - z [3]", "x", "y") == "- **B:**\n  - z [3]"


def test_code_that_stays_is_not_touched():
    code = "```python\nx  =  1   \n\n\n\ny = [1]\na | b\n--|--\n```"

    assert cut(f"One. [1] Two. [2]\n\nSo: [1]\n\n{code}", "Two") == f"One. [1]\n\nSo: [1]\n\n{code}"


@pytest.mark.parametrize(
    ("draft", "marked"),
    [
        ("One is [1]. Two is. [2]", "One is. [7] Two is. [8]"),
        ("One is.[1] Two ([2]) is.", "One is. [7] Two is. [8]"),
        ("- One [1]\n- Two\n  [2]", "- One [7]\n- Two [8]"),
        ("| a |\n|---|\n| 1 [1] |\n| 2 | [2]", "| a |\n|---|\n| 1 [7] |\n| 2 [8] |"),
        ("a | b\n-|-\n1 [1] | 2\n3 | 4", "a | b\n-|-\n1 | 2 [7]\n3 | 4 [8]"),
        ("One is [1]:\n\n```\nx[2]\n```", "One is: [7]\n\n```\nx[2]\n```\n\n[8]"),
        ("> One. [1]\n> Two.", "> One. [7]\n> Two. [8]"),
        ("これは塔です。[1]これは駅です。[2]", "これは塔です。[7] これは駅です。[8]"),
        ("これは塔です。 [1] これは駅です。 [2]", "これは塔です。[7] これは駅です。[8]"),
        ("これは「塔。」[1]これは駅です[2]。", "これは「塔。」[7] これは駅です。[8]"),
        ("**塔です。** [1]\n\n- 駅です [2]", "**塔です。**[7]\n\n- 駅です [8]"),
        ("Les options [1] :\n\n- une [2]", "Les options : [7]\n\n- une [8]"),
        ("Vraiment [1] ? Oui\u202f! [2]", "Vraiment ? [7] Oui\u202f! [8]"),
        ("One is [1] .\n\nTwo [2] , too", "One is. [7]\n\nTwo, too [8]"),
    ],
)
def test_a_claim_is_written_with_other_marks(draft, marked):
    assert rewritten(draft, claims_of(draft), (), {0: "[7]", 1: "[8]"}) == marked


def test_a_mark_that_is_taken_away_leaves_no_blank_in_a_script_without_them():
    draft = "これは塔です。[1] これは駅です。[1]"

    assert rewritten(draft, claims_of(draft), (), {0: "", 1: "[7]"}) == "これは塔です。これは駅です。[7]"


SENTENCE = st.sampled_from(
    ["The cache is quick. [1]", "It keeps `x[1]` there [2].", "So does Mr. Smith, e.g. here.", "[3] Done."]
)
PROSE = st.lists(SENTENCE, min_size=1, max_size=3).map(" ".join)
BLOCK = st.one_of(
    PROSE,
    st.lists(PROSE, min_size=1, max_size=4).map(
        lambda items: "Steps:\n\n" + "\n".join(f"- {item}" for item in items)
    ),
    st.lists(PROSE, min_size=1, max_size=4).map(
        lambda items: "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
    ),
    st.builds("- {}\n    - {}\n    - {}\n- {}".format, PROSE, PROSE, PROSE, PROSE),
    st.builds("{}\n\n```python\nx  =  [1]\n\n\n\ny\n```".format, PROSE),
    st.just("| a | b |\n|---|---|\n| 1 [1] | 2 |\n| 3 | 4 |"),
    PROSE.map("> {}".format),
)
DRAFTS = st.lists(BLOCK, max_size=6).map("\n\n".join)


def blocks_of(markdown: str) -> list[str]:
    return [token.type for token in MarkdownIt("commonmark").enable("table").parse(markdown)]


@thorough
@given(DRAFTS, st.data())
def test_what_is_left_of_a_draft_is_whole(text, data):
    claims = claims_of(text)
    numbers = data.draw(st.sets(st.sampled_from(range(len(claims))))) if claims else set()
    doomed = dependent(claims, numbers)

    left = rewritten(text, claims, doomed, {})

    kinds = blocks_of(left)
    empty = {("list_item_open", "list_item_close"), ("blockquote_open", "blockquote_close")}
    assert not empty & set(pairwise(kinds))
    assert "code_block" not in kinds
    assert kinds.count("tbody_open") == kinds.count("table_open")
    assert "  " not in re.sub(r"```.*?```|^ +", "", left, flags=re.DOTALL | re.MULTILINE)
    assert "\n\n\n" not in re.sub(r"```.*?```", "code", left, flags=re.DOTALL)
    kept = [claim.text for number, claim in enumerate(claims) if number not in doomed]
    said = re.sub(r"\W", "", "".join(claim.text for claim in claims_of(left)))
    assert said == re.sub(r"\W", "", "".join(kept))


@thorough
@given(DRAFTS)
def test_cutting_everything_leaves_nothing(text):
    claims = claims_of(text)

    assert rewritten(text, claims, range(len(claims)), {}) == "" or not claims


@thorough
@given(st.one_of(DRAFTS, documents))
def test_rewriting_nothing_changes_nothing(text):
    assert rewritten(text, claims_of(text), (), {}) == text.strip("\n").rstrip()


@thorough
@given(DRAFTS)
def test_rewriting_marks_changes_nothing_but_marks(text):
    claims = claims_of(text)

    marked = rewritten(text, claims, (), dict.fromkeys(range(len(claims)), "[5]"))

    assert [claim.text for claim in claims_of(marked)] == [claim.text for claim in claims]
    assert {claim.own for claim in claims_of(marked)} <= {(5,)}
    assert rewritten(marked, claims_of(marked), (), dict.fromkeys(range(len(claims)), "[5]")) == marked


@thorough
@given(documents)
def test_claims_are_in_order_and_apart(text):
    position = 0
    for claim in claims_of(text):
        assert position <= claim.start < claim.end
        position = claim.end
