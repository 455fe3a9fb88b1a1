"""Replies that say the right thing in another form than the schema asks for, field by field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from core.reasoning.replies import (
    GradeBesidePeopleReply,
    GroundingReply,
    PassageReply,
    PlanReply,
    Reply,
    UsefulnessReply,
)

#: A reply of each shape as its schema wants it.
PLAIN: dict[type[Reply], dict[str, object]] = {
    PlanReply: {
        "route": "web", "standalone": "q", "queries": ["a"], "web_query": "w", "reply": "r", "options": ["o"],
        "for_assistant": True,
    },
    PassageReply: {"passage": 1, "relevance": "correct", "evidence": [1]},
    GradeBesidePeopleReply: {"passages": [], "sufficient": True, "missing": "m", "disputed": [[1, 2]]},
    GroundingReply: {
        "unsupported": [1], "lacking": ["1: x"], "elsewhere": [[1, 2]], "idle": [1], "absent": [1], "leaning": [1],
    },
    UsefulnessReply: {"useful": True},
}  # fmt: skip

TEXTS = [(None, ""), (5, "5"), (["one", "two"], "one, two"), ("as it is", "as it is")]
LISTS_OF_TEXTS = [(None, []), ("", []), ("None", []), ("one", ["one"]), (["one", None, 2], ["one", "2"])]
NUMBER = [
    ("3", 3),
    (3.0, 3),
    ("3.0", 3),
    ("(3)", 3),
    ("[3]", 3),
    ("sentence 3", 3),
    ("#3", 3),
    ({"number": 3}, 3),
]
NUMBERS = [
    (None, []), ("", []), ("none", []), ("[]", []), (3, [3]), ("3", [3]), ("1, 2", [1, 2]), ("1 and 2", [1, 2]),
    ("sentences 1, 2 and 14", [1, 2, 14]), (["1", 2.0, "(3)"], [1, 2, 3]),
    ([{"sentence": "2", "reason": "no 5 there"}], [2]),
]  # fmt: skip
ROWS = [
    (None, []), ([], []), ([["1", "2"]], [[1, 2]]), (["3: 1, 2"], [[3, 1, 2]]), (["3 -> 1"], [[3, 1]]),
    ([{"sentence": 3, "strips": ["1", 2]}], [[3, 1, 2]]), ({"3": [1, 2], "4": 5}, [[3, 1, 2], [4, 5]]),
]  # fmt: skip
FLAG = [
    ("yes", True), ("True", True), ("no.", False), ("false", False), (1, True), (0, False), (" YES\n", True),
]  # fmt: skip

#: What each field may be given, and how that is read.
READ: dict[type[Reply], dict[str, list[tuple[object, object]]]] = {
    PlanReply: {
        "route": [("Documents", "documents"), ("multi-hop", "multi_hop"), ("Multi hop.", "multi_hop"), (None, "documents")],
        "standalone": TEXTS, "queries": LISTS_OF_TEXTS, "web_query": TEXTS, "reply": TEXTS, "options": LISTS_OF_TEXTS,
        "for_assistant": [*FLAG, (None, True)],
    },
    PassageReply: {
        "passage": NUMBER, "relevance": [("Correct", "correct"), ("`incorrect`", "incorrect")], "evidence": NUMBERS,
    },
    GradeBesidePeopleReply: {
        "passages": [
            (None, []),
            ({"passage": "1", "relevance": "Ambiguous", "evidence": None},
             [PassageReply(passage=1, relevance="ambiguous", evidence=[])]),
        ],
        "sufficient": [*FLAG, (None, False)], "missing": TEXTS, "disputed": ROWS,
    },
    GroundingReply: {
        "unsupported": NUMBERS,
        "lacking": [
            *LISTS_OF_TEXTS, ([{"sentence": 1, "what": "the year"}], ["1: the year"]), ({"1": "the year"}, ["1: the year"]),
        ],
        "elsewhere": ROWS, "idle": NUMBERS, "absent": NUMBERS, "leaning": NUMBERS,
    },
    UsefulnessReply: {"useful": FLAG},
}  # fmt: skip

#: What says nothing that could be relied on: the model is asked again.
REFUSED = [
    (PlanReply, "route", "sideways"), (PlanReply, "standalone", {"question": "q"}), (PlanReply, "for_assistant", "maybe"),
    (PassageReply, "passage", None), (PassageReply, "passage", "the third"), (PassageReply, "relevance", None),
    (PassageReply, "evidence", [True]), (PassageReply, "evidence", "2 (wrong number 5)"),
    (GradeBesidePeopleReply, "passages", "all"), (GradeBesidePeopleReply, "sufficient", "partly"),
    (GradeBesidePeopleReply, "disputed", [1, 2]), (GroundingReply, "unsupported", ["1", "the last one"]),
    (GroundingReply, "unsupported", "-4"), (GroundingReply, "elsewhere", [1, 2]), (GroundingReply, "elsewhere", ["both"]),
    (UsefulnessReply, "useful", None), (UsefulnessReply, "useful", "partly"), (UsefulnessReply, "useful", 2),
]  # fmt: skip


def test_the_table_names_every_field_of_every_reply():
    assert {shape: set(fields) for shape, fields in READ.items()} == {
        shape: set(shape.model_fields) for shape in PLAIN
    }


@pytest.mark.parametrize(
    ("shape", "name", "written", "meant"),
    [
        pytest.param(shape, name, written, meant, id=f"{shape.__name__}.{name}: {written!r}")
        for shape, fields in READ.items()
        for name, forms in fields.items()
        for written, meant in forms
    ],
)
def test_a_field_is_read_as_it_was_meant(shape, name, written, meant):
    reply = shape.model_validate({**PLAIN[shape], name: written})

    assert getattr(reply, name) == meant


@pytest.mark.parametrize(("shape", "name", "written"), REFUSED)
def test_what_cannot_be_read_is_refused(shape, name, written):
    with pytest.raises(ValidationError):
        shape.model_validate({**PLAIN[shape], name: written})


@pytest.mark.parametrize("shape", PLAIN)
def test_a_reply_in_the_asked_form_is_kept_as_it_is(shape):
    assert shape.model_validate(PLAIN[shape]).model_dump() == PLAIN[shape]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(written=st.lists(st.integers(1, 99) | st.integers(1, 99).map(str) | st.text(max_size=6), max_size=5))
def test_no_number_of_a_sentence_is_ever_lost(written):
    try:
        reply = GroundingReply.model_validate({"unsupported": written})
    except ValidationError:
        return

    assert len(reply.unsupported) == len(written)


@given(written=JSON)
def test_any_json_is_read_or_refused(written):
    for shape, fields in READ.items():
        for name in fields:
            try:
                shape.model_validate({**PLAIN[shape], name: written})
            except ValidationError:
                continue
