"""Where the sentences of a passage begin and end."""

from __future__ import annotations

import re

import pytest
from fakes.passages import documents, passages_of, thorough, units_of
from hypothesis import given
from hypothesis import strategies as st

from core.text.blocks import LIST_MARKER
from core.text.sentences import split_sentences, split_units, units_within

BETWEEN = re.compile(rf"\s*(?:(?:>|{LIST_MARKER})\s*)*")


def sentences(text: str) -> list[str]:
    return [words for _, words in units_of(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Wait... Then go. And so on… Next.", ["Wait...", "Then go.", "And so on…", "Next."]),
        ("Wait... then go.", ["Wait... then go."]),
        ('He said "stop." Then (he left.) **Gone.** _So._ End.', ['He said "stop."', "Then (he left.)", "**Gone.**", "_So._", "End."]),
        ("One line\nruns on. Next\nline.", ["One line\nruns on.", "Next\nline."]),
        ("It is so.[3] Then that.[1][2] And this.[1, 2] End.", ["It is so.[3]", "Then that.[1][2]", "And this.[1, 2]", "End."]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("", []),
        (" \n\t ", []),
        ("...", ["..."]),
    ],
)  # fmt: skip
def test_a_sentence_ends_at_its_punctuation(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "Use a cache, e.g. Redis, i.e. something quick.",
        "Mr. Smith met Dr. Jones and Prof. Lee.",
        "It came with v0.1 of FastAPI and Python 3.11 on Linux.",
        "Put it into file.py or .env beside main.py.",
        "The U.S. Army and J. R. R. Tolkien and Michael P. Linfield agree.",
        "See Fig. 3, No. 5, pp. 12 and Vol. II, c. 1900, max. 10 of them.",
        "Brown v. Board is a case, as is Meyer vs. Nebraska.",
        "At 5 p.m. Monday it began, on Jan. 5 and Dec. 24.",
        "Apple Inc. Magazine and Wong et al. Nature are cited.",
        "Visit example.org/a.b?c=d for more.",
    ],
)
def test_abbreviations_initials_and_names_with_dots_end_nothing(sentence):
    assert sentences(f"{sentence} Next.") == [sentence, "Next."]


@pytest.mark.parametrize(
    "sentence",
    [
        "Das gilt z. B. für Redis, d. h. Sie brauchen i. d. R. keinen Server bzw. Rechner.",
        "Die Frist endet am 3. Juli und nicht am 5. Tag nach der Kündigung.",
        "Es kostet ca. 5 Euro inkl. MwSt. pro Monat, vgl. Abs. 3 und Nr. 7.",
        "Wir haben 5 Mio. Nutzer und auch mehr.",
        "Gegenüber 2023 (41,2 Mio. €) ist der Umsatz um 3 Tsd. € gestiegen, also um 5 Mio. (die Hälfte).",
        "Il y a p. ex. Redis, env. 3 serveurs, et M. Dupont avec Mme Durand qui sont là.",
        "Usamos p. ej. Redis y el Sr. Pérez con la Sra. Gómez, véase la pág. 5 del manual.",
        "Nós usamos p. ex. Redis e o Sr. Silva, veja a pág. 5 do manual.",
        "Er sagte nicht viel über die v. a. Englisch sprechenden Kollegen.",
    ],
)
def test_abbreviations_and_ordinals_of_other_languages_end_nothing(sentence):
    assert sentences(f"{sentence} {sentence}") == [sentence, sentence]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Es sind nicht mehr als 12. Die anderen sind weg.",
            ["Es sind nicht mehr als 12.", "Die anderen sind weg."],
        ),
        ("Das war im Jahr 2019. Danach kam nichts.", ["Das war im Jahr 2019.", "Danach kam nichts."]),
        ("Er sagte: „Das ist so.“ Dann ging er.", ["Er sagte: „Das ist so.“", "Dann ging er."]),
        ("Il dit : « C'est ainsi. » Ensuite il part.", ["Il dit : « C'est ainsi. »", "Ensuite il part."]),
        ("行けますか?はい!次です。", ["行けますか?", "はい!", "次です。"]),
        ("There are only 12. Foxes are more.", ["There are only 12.", "Foxes are more."]),
    ],
)
def test_sentences_of_other_languages_end_where_another_begins(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is no. Another is yes.", ["The answer is no.", "Another is yes."]),
        ("It was made in the U.S. The rest came later.", ["It was made in the U.S.", "The rest came later."]),
        ("Bought by Example Inc. In 2001 it closed.", ["Bought by Example Inc.", "In 2001 it closed."]),
        ("It takes 5 ms. Then it stops.", ["It takes 5 ms.", "Then it stops."]),
        ("Choose k. Next, choose x. Done.", ["Choose k.", "Next, choose x.", "Done."]),
        ("Apples, pears, etc. Nothing else.", ["Apples, pears, etc.", "Nothing else."]),
        ("Dates of the 1990's. Then more.", ["Dates of the 1990's.", "Then more."]),
    ],
)
def test_what_may_be_an_abbreviation_ends_a_sentence_where_another_begins(text, expected):
    assert sentences(text) == expected


def test_sentences_of_scripts_without_spaces_end_at_their_own_punctuation():
    text = "東京タワーは高い。「本当？」そうです！终わり｡हिन्दी है।और"

    assert sentences(text) == ["東京タワーは高い。", "「本当？」", "そうです！", "终わり｡", "हिन्दी है।", "और"]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("型定義を提供します。`.env.[mode]` で定義できます。", ["型定義を提供します。", "`.env.[mode]` で定義できます。"]),
        ("設定に移動します。**Build** の下にある。", ["設定に移動します。", "**Build** の下にある。"]),
        ("**重要です。**次の文です。", ["**重要です。**", "次の文です。"]),
    ],
)  # fmt: skip
def test_code_and_bold_that_begin_a_sentence_without_a_blank_before_it_belong_to_it(text, sentences):
    assert [text[unit.start : unit.end] for unit in split_units(text)] == sentences


def test_items_begin_after_their_markers_and_hold_their_sentences():
    text = "Steps:\n\n- One. Two.\n  goes on\n* Three\n1. Four\n2) Five\n• Six\n- [ ] Seven\n  - Eight"

    assert units_of(text) == [
        ("sentence", "Steps:"),
        ("item", "One."),
        ("item", "Two.\n  goes on"),
        ("item", "Three"),
        ("item", "Four"),
        ("item", "Five"),
        ("item", "Six"),
        ("item", "[ ] Seven"),
        ("item", "Eight"),
    ]


def test_each_item_of_a_list_of_html_is_one():
    text = "Bring along:\n<ul>\n<li>A passport</li>\n<li class='x'>A photo.\n  It is for the badge.</li>\n</ul>\nThat is all."

    assert [
        (text[unit.start : unit.end], unit.kind) for unit in split_units(text) if unit.kind != "markup"
    ] == [
        ("Bring along:", "sentence"),
        ("<li>A passport</li>", "item"),
        ("<li class='x'>A photo.", "item"),
        ("It is for the badge.</li>", "item"),
        ("That is all.", "sentence"),
    ]


def test_a_wrapped_line_that_begins_with_a_number_is_no_item():
    text = "It was rebuilt in\n2019. The tower stands.\n\n1. An item.\n2. Another."

    assert units_of(text)[:2] == [("sentence", "It was rebuilt in\n2019."), ("sentence", "The tower stands.")]
    assert units_of(text)[2:] == [("item", "An item."), ("item", "Another.")]


def test_paragraphs_and_code_inside_an_item_are_no_indented_code():
    text = "- Do this:\n\n    More = words. So.\n\n    ```\n    x = 1\n    ```\n- Next"

    assert [kind for kind, _ in units_of(text)] == ["item", "sentence", "sentence", "code", "item"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("# Title { #id }\n\nText.", ["heading", "sentence"]),
        ("Title\n=====\n\nText.\n\nPart\n---", ["heading", "sentence", "heading"]),
        ("=====\nTitle\n=====\n\nPart\n~~~~~~~\nText.", ["markup", "heading", "heading", "sentence"]),
        ("#hashtag is text.", ["sentence"]),
        ("Two lines\nof text.\n---", ["sentence", "markup"]),
    ],
)
def test_headings_with_hashes_or_lines_below(text, kinds):
    assert [kind for kind, _ in units_of(text)] == kinds


@pytest.mark.parametrize(
    "code",
    [
        "```python\nx = 1. Y\n\n\n# no heading\n- no item\n```",
        "~~~ console\n$ a. B\n```\nstill code\n~~~",
        "````\n```\ninner. Fence\n```\n````",
        "```\nthe passage ends before its fence. Does",
        "    def f():\n        return 1. Two\n\n    f()",
    ],
)
def test_code_is_one_unit(code):
    text = f"Before. It.\n\n{code}"

    assert units_of(text) == [("sentence", "Before."), ("sentence", "It."), ("code", code)]


def test_a_literal_block_of_restructuredtext_is_code():
    text = "For example::\n\n  one. Two\n\n  three\n\nAfter."

    assert units_of(text) == [
        ("sentence", "For example::"),
        ("code", "  one. Two\n\n  three"),
        ("sentence", "After."),
    ]


def test_three_ticks_within_a_line_are_inline_code():
    assert units_of("```x``` is code. So.") == [("sentence", "```x``` is code."), ("sentence", "So.")]


@pytest.mark.parametrize(
    "table",
    [
        "| a. B | c |\n|---|---|\n| 1. D | 2 |",
        "a | b. C\n--- | ---\n1 | d. E\n2 | f",
        "+---+---+\n| a. B | c |\n+===+===+",
    ],
)
def test_a_table_is_one_unit(table):
    assert units_of(f"Before.\n\n{table}\n\nAfter.") == [
        ("sentence", "Before."),
        ("table", table),
        ("sentence", "After."),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "{* ../../docs_src/body/tutorial001.py hl[2] *}",
        "{!> ../../docs_src/body/tutorial001.py !}",
        "/// tip | Titled so",
        "///",
        "::: fastapi.FastAPI\n    options:\n        members:\n            - get",
        "!!! note",
        '=== "Python 3.10+"',
        "{{< shortcode >}}",
        "<!-- a comment. With\nlines. -->",
        '<div class="termy">',
        '<a href="x"><img src="y"></a>',
        "![only an image](x.png)",
        "[![badge](x.svg)](https://example.org) ![another](y.svg)",
        "[label]: https://example.org",
        "***",
        ".. _label:",
        ".. note::",
    ],
)
def test_what_no_reader_wants_quoted_is_markup(line):
    assert units_of(f"Before.\n\n{line}\n\nAfter.") == [
        ("sentence", "Before."),
        ("markup", line),
        ("sentence", "After."),
    ]


def test_a_quotation_is_read_without_its_marks():
    text = "> One. Two\n> goes on.\n>\n> - item\n>\n> ```\n> code. Here\n> ```\n\nAfter."

    assert [kind for kind, _ in units_of(text)] == ["sentence", "sentence", "item", "code", "sentence"]
    assert units_of(text)[0] == ("sentence", "One.")
    assert units_of(text)[4] == ("sentence", "After.")


def test_an_indented_paragraph_without_a_sign_of_code_is_prose():
    text = "    Once upon a time there was a king. He slept."

    assert [kind for kind, _ in units_of(text)] == ["sentence", "sentence"]


@thorough
@given(documents)
def test_units_are_in_order_apart_and_leave_out_only_white_space_and_marks(text):
    position = 0
    for unit in split_units(text):
        assert position <= unit.start < unit.end
        assert BETWEEN.fullmatch(text, position, unit.start), text[position : unit.start]
        assert not text[unit.end - 1].isspace()
        position = unit.end

    assert BETWEEN.fullmatch(text, position), text[position:]


@thorough
@given(st.text(alphabet="`~-*#>|.! \n\tab1[](){}<>:=_\\/\"'。", max_size=300))
def test_any_text_at_all_is_covered(text):
    position = 0
    for unit in split_units(text):
        assert BETWEEN.fullmatch(text, position, unit.start), text[position : unit.start]
        position = unit.end

    assert BETWEEN.fullmatch(text, position), text[position:]


@thorough
@given(documents)
def test_sentences_are_the_units(text):
    assert split_sentences(text) == tuple((unit.start, unit.end) for unit in split_units(text))


@thorough
@given(documents, st.data())
def test_units_within_a_stretch_are_those_that_lie_in_it(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    within = units_within(text, start, end)

    assert within == tuple(unit for unit in split_units(text) if unit.start >= start and unit.end <= end)


def test_nothing_of_a_real_documentation_is_left_out(shared_data):
    left = set()
    for file in sorted((shared_data / "fastapi_docs").rglob("*.md")):
        for hit in passages_of(file):
            text, position = hit.passage.text, 0
            for unit in split_units(text):
                left.add(text[position : unit.start].strip())
                position = unit.end
            left.add(text[position:].strip())

    assert {words for words in left if not re.fullmatch(r"[*>-]?|\d\.", words)} == set()


def test_what_closes_a_sentence_stays_with_it_though_a_blank_stands_between():
    assert [words for _, words in units_of("`` It is so . '' Then ( lit. , so ) more . ) End.")] == [
        "`` It is so . ''",
        "Then ( lit. , so ) more . )",
        "End.",
    ]


def test_the_words_of_a_link_end_no_sentence_before_its_target():
    text = "違いが分からない場合は、[Async: *「急いでいますか？」*](../async.md)を確認してください。次の文。"

    assert [text[start:end] for start, end in split_sentences(text)] == [text[:-4], "次の文。"]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("stores/  copies\n  doctor/  checks\n```\n\nFile by file:", ["code", "sentence"]),
        ("x = 1\n```\n\nThen:\n\n```python\ny = 2\n```\n", ["code", "sentence", "code"]),
        ("Run it:\n\n```\nx = 1", ["sentence", "code"]),
        ("Run it:\n\n```\nx = 1\n```\n\nThen stop.", ["sentence", "code", "sentence"]),
        ("Run it:\n```", ["sentence", "code"]),
    ],
)
def test_code_that_an_earlier_passage_begins_ends_at_its_fence(text, kinds):
    assert [unit.kind for unit in split_units(text)] == kinds
