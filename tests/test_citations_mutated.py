"""Answers that the checks accept, changed in one place: the change never reaches the final answer.

The judges of these tests accept everything, so that what stops a change is the structure.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

import pytest
from fakes.passages import loose_strip
from fakes.scripted import ScriptedDocuments, ScriptedReasoner, hit, question
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_graph import assistant_over

from core.claims import claims_of, faults_of
from core.reasoner import Draft
from core.text.sentences import split_units

TOWER = (
    "The tower in Paris is 300 metres tall. Gustave Eiffel built it in March 1889 for 7,300,000 francs. "
    "Repainting it takes 18 months, and seven painters do that in June."
)
CODE = "```python\nfrom store import Cache\n\ncache = Cache(max_entries=512, wait=60)\ncache.clear()\n```"
CACHE = (
    "The cache keeps 512 entries for 60 seconds. Entries leave the cache in the order in which they came. "
    f"Call `cache.clear()` or set `max_entries` to empty it.\n\n{CODE}"
)
FERRY = (
    "Ferries leave the old harbour at 7 in the morning. A ticket costs 12 euros on board. "
    "Dogs travel free of charge between 24 May and 30 September."
)
PASSAGES = (TOWER, CACHE, FERRY)
#: Claims that the checks accept, with the passage that each is about: word for word, or in other words.
CLAIMS = (
    (1, "The tower in Paris is 300 metres tall."),
    (1, "In March 1889 Gustave Eiffel built the tower for 7,300,000 francs."),
    (1, "Repainting takes 18 months and is done in June by seven painters."),
    (2, "The cache keeps 512 entries for 60 seconds."),
    (2, "Entries leave the cache in the order in which they came."),
    (2, "To empty the cache, call `cache.clear()` or set `max_entries`."),
    (3, "Ferries leave the old harbour at 7 in the morning."),
    (3, "On board, a ticket costs 12 euros."),
    (3, "Dogs travel free of charge between 24 May and 30 September."),
)
QUOTED = tuple(
    (number, f"The text says that “{text.rstrip('.')}”.")
    for number, text in CLAIMS
    if text in PASSAGES[number - 1]
)
STRIPS = {number: loose_strip(text, number=number) for number, text in enumerate(PASSAGES, start=1)}

NAMES = ("Zugdidi", "Kowalczyk", "Oberhausen", "Jean-Baptiste", "OAuth2", "Östersund")
INVENTED = ("a lamp of brass", "the guild of weavers", "nobody may enter", "as quiet as snow")
MONTHS = ("January", "March", "April", "May", "June", "July", "September", "December")
OTHER_UNITS = {
    "metres": "feet",
    "seconds": "minutes",
    "months": "years",
    "euros": "dollars",
    "francs": "euros",
}
NEGATIONS = ("not", "never", "no longer")

true_claims = st.sampled_from(CLAIMS + QUOTED)


def faults(draft: str) -> list[tuple[str, ...]]:
    return [faults_of(claim, STRIPS) for claim in claims_of(draft)]


def is_accepted(draft: str) -> bool:
    return not any(faults(draft))


def between(draw, text: str) -> int:
    """A place between two words."""
    return draw(st.sampled_from([match.start() for match in re.finditer(" ", text)]))


# Changes: each takes a claim and its passage, and returns a draft of that claim gone wrong


def fabricated_quote(draw, number, text):
    return f"{text.rstrip('.')}, “{draw(st.sampled_from(INVENTED))}”. [{number}]"


def changed_number(draw, number, text):
    figures = list(re.finditer(r"(?<![\w.,])\d[\d,]*(?![\w])", text))
    assume(figures)
    place = draw(st.sampled_from(figures))
    others = {match[0].rstrip(",") for match in re.finditer(r"\d[\d,]*", " ".join(PASSAGES))}
    stand_in = draw(st.one_of(st.sampled_from(sorted(others)), st.integers(0, 99_999).map(str)))
    assume(stand_in not in text)
    return f"{text[: place.start()]}{stand_in}{text[place.end() :]} [{number}]"


def changed_number_word(draw, number, text):
    assume("seven" in text)
    return (
        f"{text.replace('seven', draw(st.sampled_from(['two', 'eight', 'ninety', 'thirteen'])))} [{number}]"
    )


def added_number(draw, number, text):
    stand_in = draw(st.integers(101, 99_999))
    assume(str(stand_in) not in PASSAGES[number - 1].replace(",", ""))
    place = between(draw, text)
    return f"{text[:place]} {stand_in}{text[place:]} [{number}]"


def added_name(draw, number, text):
    place = between(draw, text)
    return f"{text[:place]} {draw(st.sampled_from(NAMES))}{text[place:]} [{number}]"


def wrong_footnote(draw, number, text):
    return f"{text} [{draw(st.sampled_from([n for n in STRIPS if n != number]))}]"


def footnote_too_many(draw, number, text):
    return f"{text} [{number}][{draw(st.sampled_from([n for n in STRIPS if n != number]))}]"


def footnote_not_offered(draw, number, text):
    marks = draw(st.sampled_from(["[{0}]", "[{1}][{0}]", "[{1}, {0}]"]))
    return f"{text} {marks.format(draw(st.integers(4, 99)), number)}"


def stitched_quote(draw, number, text):
    first, second = draw(
        st.lists(
            st.sampled_from([u for u in split_units(PASSAGES[number - 1]) if u.kind == "sentence"]),
            min_size=2,
            max_size=2,
            unique=True,
        )
    )
    begin, end = (PASSAGES[number - 1][u.start : u.end].rstrip(".").split() for u in (first, second))
    gap = draw(st.sampled_from([" ", " … ", " [...] "]))
    words = (
        " ".join(begin[: draw(st.integers(2, len(begin)))])
        + gap
        + " ".join(end[-draw(st.integers(2, len(end) - 1)) :])
    )
    begun, ended = (part.casefold() for part in words.split(gap, 1)) if gap != " " else ("", words.casefold())
    assume(
        not any(
            begun in said and ended in said for said in map(str.casefold, PASSAGES[number - 1].split(". "))
        )
    )
    return f"It says: “{words}”. [{number}]"


def altered_identifier(draw, number, text):
    assume("`" in text)
    name = draw(st.sampled_from(["cache.clear", "max_entries"]))
    letter = draw(st.integers(0, len(name) - 1))
    changed = name[:letter] + draw(st.sampled_from(["x", "q_", ""])) + name[letter + 1 :]
    assume(changed.casefold() != name)
    ticks = draw(st.sampled_from(["`", ""]))
    assume(ticks or "_" in changed or name == "cache.clear")  # else it is a word like any other
    return f"{text.replace(name, changed).replace('`', ticks)} [{number}]"


def altered_code(draw, number, text):
    place = draw(st.sampled_from(list(re.finditer(r"store|Cache|max_entries|512|wait|60|clear", CODE))))
    changed = CODE[: place.start()] + draw(st.sampled_from(["other", "7", "Store"])) + CODE[place.end() :]
    return f"Use it so: [2]\n\n{changed}"


def changed_month(draw, number, text):
    months = [month for month in MONTHS if re.search(rf"\b{month}\b", text)]
    assume(months)
    other = draw(st.sampled_from([month for month in MONTHS if month not in text]))
    return f"{text.replace(draw(st.sampled_from(months)), other)} [{number}]"


def changed_unit(draw, number, text):
    units = [unit for unit in OTHER_UNITS if unit in text]
    assume(units)
    return f"{text.replace(units[0], OTHER_UNITS[units[0]])} [{number}]"


def denied_quote(draw, number, text):
    assume("“" in text)
    quotation = text[text.index("“") :]
    place = text.index("“") + between(draw, quotation)
    return f"{text[:place]} {draw(st.sampled_from(NEGATIONS))}{text[place:]} [{number}]"


def fabricated_block_quote(draw, number, text):
    return f"> The passage tells of {draw(st.sampled_from(INVENTED))}. [{number}]"


CHANGES = (
    fabricated_quote, changed_number, changed_number_word, added_number, added_name, wrong_footnote, footnote_too_many,
    footnote_not_offered, stitched_quote, altered_identifier, altered_code, changed_month, changed_unit, denied_quote,
    fabricated_block_quote,
)  # fmt: skip


@pytest.mark.parametrize(("number", "text"), CLAIMS + QUOTED)
def test_what_is_changed_below_is_accepted_as_it_is(number, text):
    assert is_accepted(f"{text} [{number}]")
    assert is_accepted(f"Use it so: [2]\n\n{CODE}")


@pytest.mark.parametrize("change", [change for change in CHANGES if change is not footnote_too_many])
@settings(deadline=None, max_examples=60)
@given(st.data())
def test_a_changed_claim_is_faulted(change, data):
    number, text = data.draw(true_claims)
    changed = change(data.draw, number, text)

    assert not is_accepted(changed), changed


@settings(deadline=None, max_examples=8)
@given(st.data())
def test_a_footnote_that_says_nothing_of_a_claim_is_taken_from_it(data):
    number, text = data.draw(true_claims)

    answer = asyncio.run(answered(footnote_too_many(data.draw, number, text)))

    assert {citation.source for citation in answer.citations} == {f"{number}.md"}
    assert len(claims_of(answer.text)) == 1


@pytest.mark.parametrize("change", [change for change in CHANGES if change is not footnote_too_many])
@settings(deadline=None, max_examples=8)
@given(st.data())
def test_a_change_hidden_among_true_claims_is_cut_and_they_stay(change, data):
    number, text = data.draw(true_claims)
    changed = change(data.draw, number, text)
    honest = [
        f"{said} [{cited}]"
        for cited, said in data.draw(st.lists(true_claims, min_size=1, max_size=3, unique=True))
    ]
    place = data.draw(st.integers(0, len(honest)))
    draft = "\n\n".join((*honest[:place], changed, *honest[place:]))

    answer = asyncio.run(answered(draft))

    kept = {" ".join(claim.text.split()) for claim in claims_of(answer.text)}
    wrong = {" ".join(c.text.split()) for c in claims_of(changed) if faults_of(c, STRIPS)}
    honest_words = {" ".join(claim.text.split()) for claim in claims_of("\n\n".join(honest))}
    assert not kept & (wrong - honest_words)
    assert honest_words <= kept
    for citation in answer.citations:
        assert any(citation.quote == text[citation.start : citation.end] for text in PASSAGES)


async def answered(draft: str):
    """The answer of the real graph to a writer who insists on this draft, before judges who accept all."""
    documents = ScriptedDocuments(
        default=tuple(hit(text, id=str(n), score=1 / n) for n, text in enumerate(PASSAGES, start=1)),
        confidence=0.9,
    )
    reasoner = ScriptedReasoner(writes=lambda _ask, _strips: Draft(text=draft, composed=True))
    with tempfile.TemporaryDirectory() as folder:
        async with assistant_over(Path(folder), reasoner, documents) as assistant:
            outcome = await assistant.run(question("What is known of the tower, the cache and the ferries?"))
    assert outcome.answer, outcome
    return outcome.answer
