"""The claims of a draft: what they cite, what is wrong with them, the draft without them."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from fakes.passages import documents, loose_strip, passages_of, thorough
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from core.claims import claims_of, faults_of, without, without_unfounded_headings
from core.text.sentences import split_units

SOURCE = "The tower in Paris is 300 metres tall. Gustave Eiffel built it in 1889 for 7,300,000 francs.\n\n```python\nclimb(tower)\n```"
STRIPS = {1: loose_strip(SOURCE), 2: loose_strip("London is older.", number=2)}


def read(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """(text, cited) of each claim."""
    return [(claim.text, claim.cited) for claim in claims_of(text)]


def cut(text: str, *doomed: str) -> str:
    """The draft without the claims that begin with these words."""
    return without(text, [claim for claim in claims_of(text) if claim.text.startswith(doomed)])


@pytest.mark.parametrize(
    ("draft", "claims"),
    [
        ("One. [1] Two. [2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One [1]. Two [2].", [("One.", (1,)), ("Two.", (2,))]),
        ("One.[1] Two.[2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One. [1][2] Two. [2, 3]", [("One.", (1, 2)), ("Two.", (2, 3))]),
        ("One. [1]\n[2] Two.", [("One.", (1,)), ("Two.", (2,))]),
        ("[1] One. [2] Two.", [("One.", (1,)), ("Two.", (2,))]),
        ("One.\n[1] Two. [2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One.\n\n[1]\n\nTwo. [2]", [("One.", (1,)), ("Two.", (2,))]),
        ("One. [1]. Two. [2];", [("One.", (1,)), ("Two.", (2,))]),
        ("One ([1]). Two ([2]).", [("One.", (1,)), ("Two.", (2,))]),
        ("One. Two. [1]", [("One.", ()), ("Two.", (1,))]),
        ("# Title [1]\n\nOne. [2]\n\n---", [("One.", (2,))]),
        ("高い。[1]そうだ。[2]", [("高い。", (1,)), ("そうだ。", (2,))]),
        ("Call `x[9]` so. [1]", [("Call `x[9]` so.", (1,))]),
        ("", []),
    ],
)
def test_a_marker_belongs_to_its_sentence(draft, claims):
    assert read(draft) == claims


def test_items_have_markers_of_their_own():
    assert read("- One [1]\n- Two. [2]\n  [3]\n- Three") == [("One", (1,)), ("Two.", (2, 3)), ("Three", ())]


def test_code_leans_on_what_introduces_it_or_on_what_follows():
    code = "```\nx[9]\n```"

    assert read(f"Use it so: [1]\n\n{code}") == [("Use it so:", (1,)), (code, (1,))]
    assert read(f"Use it so:\n\n{code}\n\n[2]\n\nMore. [1]") == [
        ("Use it so:", (2,)),
        (code, (2,)),
        ("More.", (1,)),
    ]
    assert read(f"Use it so: [1]\n\n{code}\n\n{code}")[1:] == [(code, (1,)), (code, (1,))]


def test_an_introduction_leans_on_what_it_introduces():
    assert read("Steps:\n\n1. One [1]\n2. Two [2]") == [("Steps:", (1,)), ("One", (1,)), ("Two", (2,))]


def test_a_table_cites_in_its_cells():
    table = "| a | b |\n|---|---|\n| 1 [1] | 2 [2] |"

    assert [claim.cited for claim in claims_of(table)] == [(1, 2)]


@pytest.mark.parametrize(
    "claim",
    [
        "The tower is 300 metres tall. [1]",
        "It was built for 7300000 francs. [1]",
        "It was built for 7.3 million francs, said nobody. [2]",
        "Eiffel's tower stands in Paris. [1]",
        "Call `climb(tower)`. [1]",
        "Call it so: [1]\n\n```python\nclimb(tower)\n```",
    ],
)
def test_what_the_source_says_is_not_faulted(claim):
    strips = STRIPS | {2: loose_strip("It cost 7.3 million francs.", number=2)}

    assert [faults_of(claim, strips) for claim in claims_of(claim)] == [()] * len(claims_of(claim))


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        ("The tower is tall.", "it has no footnote"),
        ("The tower is tall. [7]", "its footnote does not exist"),
        ("The tower is tall. [1][7]", "its footnote does not exist"),
        ("The tower is 301 metres tall. [1]", "the number 301 metres is not in its source"),
        ("The tower is 300 feet tall. [1]", "the number 300 feet is not in its source"),
        ("It cost 7,300,001 francs. [1]", "the number 7,300,001 is not in its source"),
        ("It was built by Auguste there. [1]", "“Auguste” is not in its source"),
        ("London's tower is tall. [1]", "“London” is not in its source"),
        ("The city: London. [1]", "“London” is not in its source"),
        ("Call `jump(tower)`. [1]", "“jump(tower)” is not in its source"),
        ("```python\njump(bridge)\n```\n\n[1]", "its code is not in the source"),
        ("| City | Height |\n|---|---|\n| London [1] | 300 |", "“London” is not in its source"),
    ],
)
def test_what_the_source_does_not_say_is_named(claim, fault):
    assert [faults_of(claim, STRIPS) for claim in claims_of(claim)] == [(fault,)]


def test_a_claim_may_rest_on_headings_and_dates_of_its_source():
    strip = loose_strip("It is on.", title="Caching in FastAPI", path=("Redis",))

    (claim,) = claims_of("Caching with Redis in FastAPI is on. [1]")

    assert faults_of(claim, {1: strip}) == ()


def true_claims(texts):
    """Each sentence of the texts as a draft would quote it, with a strip of this sentence alone."""
    for text, title, path in texts:
        for unit in split_units(text):
            if unit.kind in ("heading", "markup"):
                continue
            words = text[unit.start : unit.end]
            said = words if unit.kind == "code" else re.sub(r"\[\d{1,3}\]", "", words)
            gap = "\n\n" if unit.kind in ("code", "table") else " "
            strip = loose_strip(words, title=title, path=path)
            yield from ((claim, strip) for claim in claims_of(f"{said}{gap}[1]"))


def rate_of_alarms(texts) -> float:
    verdicts = [bool(faults_of(claim, {1: strip})) for claim, strip in true_claims(texts)]
    return sum(verdicts) / len(verdicts)


def test_true_sentences_of_a_documentation_are_rarely_faulted(shared_data):
    files = sorted((shared_data / "fastapi_docs").rglob("*.md"))
    passages = [hit.passage for file in files for hit in passages_of(file)]

    assert rate_of_alarms((p.text, p.title, p.path) for p in passages) < 0.005


def paragraphs(shared_data):
    from bots.bench.corpora import lines

    return [
        (row["text"], row["title"].replace("_", " "), ())
        for row in lines(shared_data / "squad2/paragraphs.jsonl")
    ]


def test_true_sentences_of_an_encyclopaedia_are_not_faulted(shared_data):
    assert rate_of_alarms(paragraphs(shared_data)) < 0.005


@pytest.mark.parametrize(
    ("pattern", "stand_ins"),
    [
        (r"(?<!^)\b\d{2,}\b(?![.,]\d)", ["4711", "93", "2084", "361"]),
        (r"(?<=[a-z,] )[A-Z][a-z]{3,}\b", ["Zugdidi", "Kowalczyk", "Jean-Baptiste", "Oberhausen"]),
    ],
    ids=["number", "name"],
)
def test_a_changed_number_or_name_is_caught(shared_data, pattern, stand_ins):
    random = Random(7)
    missed, tried = [], 0
    for text, title, _ in paragraphs(shared_data)[::2]:
        strip = loose_strip(text, title=title)
        for unit in split_units(text):
            words = re.sub(r"\[\d{1,3}\]", "", text[unit.start : unit.end])
            found = list(re.finditer(pattern, words))
            stand_in = random.choice(stand_ins)
            if found and stand_in not in text:
                place = random.choice(found)
                changed = words[: place.start()] + stand_in + words[place.end() :]
                tried += 1
                if not any(faults_of(claim, {1: strip}) for claim in claims_of(f"{changed} [1]")):
                    missed.append(changed)

    assert tried > 500
    assert missed == []


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
        ("Before. [1]\n\n| a |\n|---|\n| b [2] |\n\nAfter. [3]", "| a", "Before. [1]\n\nAfter. [3]"),
        ("Only. [1]", "Only", ""),
    ],
)
def test_a_claim_is_cut_without_a_trace(draft, doomed, left):
    assert cut(draft, doomed) == left


def test_an_introduction_to_nothing_goes_too():
    assert cut("Before. [1]\n\nSteps:\n\n- One [1]\n- Two [2]", "One", "Two") == "Before. [1]"
    assert cut("Steps:\n\n- One [1]\n- Two [2]", "One") == "Steps:\n\n- Two [2]"


def test_code_goes_with_the_sentence_it_leans_on():
    assert cut("One. [1]\n\nUse it so: [2]\n\n```\nx\n```\n\nTwo. [1]", "Use it") == "One. [1]\n\nTwo. [1]"
    assert cut("Use it so:\n\n```\nx\n```\n\n[1]\n\nTwo. [1]", "```") == "Two. [1]"


def test_a_heading_above_nothing_goes_too():
    assert cut("## One\n\nOne. [1]\n\n## Two\n\n### Inner\n\nTwo. [2]", "Two") == "## One\n\nOne. [1]"
    assert cut("## One\n\nOne. [1]\n\n## Two\n\nTwo. [2]", "One") == "## Two\n\nTwo. [2]"


@pytest.mark.parametrize(
    "heading", ["## A tower of 301 metres", "### Why there is one in Rome", "# Call `jump(tower)`"]
)
def test_a_heading_that_states_what_no_source_says_goes(heading):
    assert without_unfounded_headings(f"{heading}\n\nOne. [1]", list(STRIPS.values())) == "One. [1]"


@pytest.mark.parametrize(
    "heading", ["## Step 2: climb", "## 3. Height of 300 metres", "## How To Climb The Tower"]
)
def test_a_heading_that_states_nothing_new_stays(heading):
    draft = f"{heading}\n\nOne. [1]"

    assert without_unfounded_headings(draft, list(STRIPS.values())) == draft


def test_words_in_a_block_quotation_are_the_source_s():
    (true,) = claims_of("> The tower in Paris is 300 metres tall. [1]")
    (false,) = claims_of("> The tower is of iron. [1]")

    assert faults_of(true, STRIPS) == ()
    assert faults_of(false, STRIPS) == ("it is no quotation of its source",)


def test_code_that_stays_is_not_touched():
    code = "```python\nx  =  1   \n\n\n\ny = [1]\n```"

    assert cut(f"One. [1] Two. [2]\n\nSo: [1]\n\n{code}", "Two") == f"One. [1]\n\nSo: [1]\n\n{code}"


SENTENCE = st.sampled_from(
    ["The cache is quick. [1]", "It keeps `x[1]` there [2].", "So does Mr. Smith, e.g. here.", "[3] Done."]
)
PROSE = st.lists(SENTENCE, min_size=1, max_size=3).map(" ".join)
BLOCK = st.one_of(
    PROSE,
    PROSE.map("## {}".format),
    st.lists(PROSE, min_size=1, max_size=4).map(
        lambda items: "Steps:\n\n" + "\n".join(f"- {item}" for item in items)
    ),
    st.lists(PROSE, min_size=1, max_size=4).map(
        lambda items: "\n".join(f"{number}. {item}" for number, item in enumerate(items, start=1))
    ),
    st.builds("- {}\n    - {}\n    - {}\n- {}".format, PROSE, PROSE, PROSE, PROSE),
    st.builds("{}\n\n```python\nx  =  [1]\n\n\n\ny\n```".format, PROSE),
    st.just("| a | b |\n|---|---|\n| 1 [1] | 2 |"),
    PROSE.map("> {}".format),
)
DRAFTS = st.lists(BLOCK, max_size=6).map("\n\n".join)


def blocks_of(markdown: str) -> list[str]:
    return [token.type for token in MarkdownIt("commonmark").enable("table").parse(markdown)]


@thorough
@given(DRAFTS, st.data())
def test_what_is_left_of_a_draft_is_whole(text, data):
    claims = claims_of(text)
    doomed = data.draw(st.lists(st.sampled_from(claims), unique=True)) if claims else []

    left = without(text, doomed)

    kinds = blocks_of(left)
    empty = {("list_item_open", "list_item_close"), ("blockquote_open", "blockquote_close")}
    assert not empty & set(pairwise(kinds))
    assert "code_block" not in kinds
    assert "  " not in re.sub(r"```.*?```|^ +", "", left, flags=re.DOTALL | re.MULTILINE)
    assert "\n\n\n" not in re.sub(r"```.*?```", "code", left, flags=re.DOTALL)
    left_over = Counter(claim.text for claim in claims_of(left))
    assert left_over <= Counter(claim.text for claim in claims if claim not in doomed)


@thorough
@given(DRAFTS)
def test_cutting_everything_leaves_nothing(text):
    assert without(text, claims_of(text)) == "" or not claims_of(text)


@thorough
@given(DRAFTS)
def test_cutting_nothing_changes_nothing(text):
    assert without(text, []) == text


@thorough
@given(documents)
def test_claims_are_in_order_and_apart(text):
    position = 0
    for claim in claims_of(text):
        assert position <= claim.start < claim.end
        position = claim.end
