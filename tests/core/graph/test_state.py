"""What a conversation remembers: every value survives its checkpoint, and nothing else is built from one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import ormsgpack
import pytest
from fakes.passages import thorough
from fakes.scripted import HERE, decision, hit, question
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde import jsonplus

from core.conversation import Citation, Exchange, Omission, Outcome, Proposal
from core.graph import outcomes
from core.graph.graph import build_graph
from core.graph.policy import PRESETS
from core.graph.state import (
    HISTORY_LIMIT,
    PROPOSAL_LIMIT,
    State,
    Work,
    history_before,
    proposal_by_id,
    with_exchange,
    with_proposal,
)
from core.grounding.strips import SHORTENED
from core.reasoning.reasoner import Draft, Grade, Plan, Rejected
from core.turns.checkpoints import open_checkpoints

SIMPLE: dict[Any, st.SearchStrategy] = {
    str: st.text(max_size=8),
    bool: st.booleans(),
    int: st.integers(-(2**53), 2**53),
    float: st.floats(allow_nan=False),
    NoneType: st.none(),
}


def values_of(kind: Any) -> st.SearchStrategy:
    """Values of an annotation as State uses them."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in SIMPLE:
        return SIMPLE[kind]
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (Union, UnionType):
        return st.one_of(*map(values_of, inner))
    if origin is tuple:
        return st.lists(values_of(inner[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(values_of(inner[0]), values_of(inner[1]), max_size=2)
    hints = get_type_hints(kind)
    return st.builds(kind, **{each.name: values_of(hints[each.name]) for each in fields(kind)})


def kinds_in(kind: Any) -> set[type]:
    """The value types that an annotation reaches."""
    if not is_dataclass(kind):
        return set().union(*map(kinds_in, get_args(kind))) if get_args(kind) else set()
    return {kind}.union(*map(kinds_in, get_type_hints(kind).values()))


KINDS = sorted(set().union(*map(kinds_in, get_type_hints(State).values())), key=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def serializer() -> jsonplus.JsonPlusSerializer:
    """The one that the compiled graph gives its checkpointer: it knows the types of State."""
    return build_graph(InMemorySaver()).checkpointer.serde


def test_the_state_is_made_of_the_conversations_values():
    assert {
        "Work",
        "Plan",
        "Grade",
        "Draft",
        "Proposal",
        "Outcome",
        "Retrieved",
        "Passage",
        "Question",
        "Decision",
    } <= {kind.__name__ for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_value_comes_back_as_it_was(kind, serializer):
    @thorough
    @given(values_of(kind))
    def check(value):
        again = serializer.loads_typed(serializer.dumps_typed(value))

        assert type(again) is kind
        assert again == value
        assert types_in(again) == types_in(value)

    check()


def types_in(value: object) -> list[type]:
    """Types of a value's fields: what came back as raw data is a dict or a list."""
    return [type(getattr(value, each.name)) for each in fields(value)]


def a_whole_turn() -> Work:
    citation = Citation(number=1, title="T", location="L", source="s.md", quote="q", start=0, end=1)
    proposal = Proposal(
        id="p1",
        turn_id="q1",
        question="q",
        asker="ada",
        query="w",
        reason="r",
        tried=("q",),
        closest=(citation,),
    )
    return Work(
        question="How tall?",
        asker="ada",
        plan=Plan(route="multi_hop", standalone="s", queries=("a", "b"), options=("c",)),
        passages=(hit("Text.", id="a"), hit("More.", id="b", path=("X", "Y"))),
        weights={"tall": 1.5},
        confidence=0.5,
        grades={"a": Grade(relevance="correct", evidence=(1, 2)), "b": Grade(relevance="incorrect")},
        sufficient=(True, False),
        draft=Draft(text="It is. [1]", composed=False, quotes=(1,)),
        rejected=Rejected(failing=(Omission(text="It is not.", reason="It is."),), standing="It is. [1]"),
        proposal=proposal,
        tried=("How tall?",),
        next="regrade",
        steps=("open", "generate"),
    )


async def test_a_whole_turn_comes_back_from_the_file(tmp_path):
    config = {"configurable": {"thread_id": HERE.id}}
    work = a_whole_turn()
    outcome = Outcome(
        kind="approval_needed", turn_id="q1", proposal=work.proposal, closest=work.proposal.closest
    )
    stored = {"turn": question(), "work": work, "proposals": (work.proposal,), "outcome": outcome}

    async with open_checkpoints(tmp_path / "threads.sqlite") as saver:
        await build_graph(saver).aupdate_state(config, stored, as_node="enter")
    async with open_checkpoints(tmp_path / "threads.sqlite") as saver:
        read = (await build_graph(saver).aget_state(config)).values

    assert read["work"] == work
    assert read["outcome"] == outcome
    assert tuple(read["proposals"]) == (work.proposal,)
    assert read["turn"] == question()


class Trap:
    """A class of somebody else's: building one is noticed."""

    built = 0

    def __init__(self, *args: object, **kwargs: object) -> None:
        Trap.built += 1

    @classmethod
    def spring(cls, *args: object) -> None:
        cls.built += 1


def extension(code: int, *content: object) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(content)))


@pytest.mark.parametrize(
    "code",
    [
        jsonplus.EXT_CONSTRUCTOR_SINGLE_ARG,
        jsonplus.EXT_CONSTRUCTOR_POS_ARGS,
        jsonplus.EXT_CONSTRUCTOR_KW_ARGS,
        jsonplus.EXT_METHOD_SINGLE_ARG,
        jsonplus.EXT_PYDANTIC_V1,
        jsonplus.EXT_PYDANTIC_V2,
    ],
)
def test_a_crafted_checkpoint_builds_no_foreign_class_and_calls_nothing(code, serializer, tmp_path):
    mark = tmp_path / "called"
    blobs = [
        extension(code, "os", "system", f"touch {mark}"),
        extension(code, "os", "system", [f"touch {mark}"], "__call__"),
        extension(code, "subprocess", "run", {"args": ["touch", str(mark)]}),
        extension(code, "pathlib", "Path", str(mark), "touch"),
        extension(code, __name__, "Trap", "x"),
        extension(code, __name__, "Trap", ["x"]),
        extension(code, __name__, "Trap", {"x": 1}),
        extension(code, __name__, "Trap", "x", "spring"),
    ]

    for blob in blobs:
        loaded = serializer.loads_typed(("msgpack", blob))
        assert not isinstance(loaded, Trap)

    assert Trap.built == 0
    assert not mark.exists()


def test_a_crafted_checkpoint_in_json_builds_nothing_either(serializer, tmp_path):
    mark = tmp_path / "called"
    envelope = b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["touch %s"]}'

    loaded = serializer.loads_typed(("json", envelope % str(mark).encode()))

    assert isinstance(loaded, dict)
    assert not mark.exists()


def test_a_pickle_is_not_opened(serializer):
    with pytest.raises((ValueError, NotImplementedError)):
        serializer.loads_typed(("pickle", b"cos\nsystem\n(S'true'\ntR."))


def proposal(number: int, **more: object) -> Proposal:
    fields = {"turn_id": "q", "question": "q", "asker": "ada", "query": "w", "reason": "", "tried": ()}
    return Proposal(id=f"p{number}", **{**fields, **more})


def test_a_proposal_is_found_by_its_id():
    state: State = {"proposals": (proposal(1), proposal(2))}

    assert proposal_by_id(state, "p2") == proposal(2)
    assert proposal_by_id(state, "p3") is None
    assert proposal_by_id({}, "p1") is None


def test_a_settled_proposal_takes_the_place_of_the_open_one():
    decided = proposal(1).with_decision(decision("p1"))

    assert with_proposal((proposal(1), proposal(2)), decided) == (decided, proposal(2))


def test_an_open_proposal_is_not_forgotten_for_a_settled_one():
    decided = proposal(0, verdict="deny")
    many = (proposal(1), decided, *(proposal(number) for number in range(2, PROPOSAL_LIMIT)))

    kept = with_proposal(many, proposal(99))

    assert len(kept) == PROPOSAL_LIMIT
    assert decided not in kept
    assert (kept[0], kept[-1]) == (proposal(1), proposal(99))


@thorough
@given(st.lists(st.tuples(st.integers(0, 70), st.booleans()), max_size=120))
def test_proposals_are_bounded_and_distinct(steps):
    kept: tuple[Proposal, ...] = ()
    for number, is_open in steps:
        kept = with_proposal(kept, proposal(number, verdict=None if is_open else "deny"))

    assert len(kept) <= PROPOSAL_LIMIT
    assert len({each.id for each in kept}) == len(kept)


def exchange(number: int, **more: object) -> Exchange:
    return Exchange(**{"question": f"q{number}", "answer": f"a{number}", "author": "ada", **more})


def test_a_history_is_bounded_and_the_newest_comes_last():
    history: tuple[Exchange, ...] = ()
    for number in range(HISTORY_LIMIT + 5):
        history = with_exchange(history, exchange(number))

    assert len(history) == HISTORY_LIMIT
    assert history[-1] == exchange(HISTORY_LIMIT + 4)


def test_another_ending_of_one_question_replaces_the_first():
    history = with_exchange((exchange(1), exchange(2)), exchange(1, answer="found after all"))

    assert [each.answer for each in history] == ["a2", "found after all"]


def test_two_people_may_ask_the_same():
    history = with_exchange((exchange(1),), exchange(1, author="bob"))

    assert len(history) == 2


def test_what_was_said_before_a_question_is_what_came_before_it():
    history = (exchange(1), exchange(2), exchange(3))

    assert history_before({"history": history}, Work(question="q2", asker="ada")) == (exchange(1),)
    assert history_before({"history": history}, Work(question="new", asker="ada")) == history


POLICY = PRESETS["footnote"]


def looked(*texts: str, **more: object) -> Work:
    passages = tuple(hit(text, id=str(number)) for number, text in enumerate(texts, start=1))
    return replace(Work(question="q", asker="ada", passages=passages, confidence=0.4), **more)


def test_the_closest_passages_are_few_short_and_of_different_places():
    work = looked("One. " * 10, "x" * (SHORTENED + 1), "Three.", "Four.", "Five.")

    closest = outcomes.closest_of(work, POLICY)

    assert [citation.number for citation in closest] == [1, 2, 3]
    assert [citation.source for citation in closest] == ["1.md", "2.md", "3.md"]
    assert all(len(citation.quote) <= 2 * SHORTENED for citation in closest)


def test_the_closest_passages_are_those_judged_closest_cut_to_what_matters():
    long = "First. " * 200
    work = looked("Wrong.", "Open.", long, "Right.")
    verdicts = {"1": "incorrect", "2": "ambiguous", "3": "ambiguous", "4": "correct"}
    grades = {name: Grade(relevance=said, evidence=(1,)) for name, said in verdicts.items()}

    closest = outcomes.closest_of(replace(work, grades=grades), POLICY)

    assert [citation.quote for citation in closest] == ["Right.", "Open.", "First."]


LIST = "The fees are:\n\n- Rowing boats pay 2 euros.\n- Sailing boats pay 18 euros.\n- It is more for ships."


@pytest.mark.parametrize(
    ("text", "evidence", "shown"),
    [
        (LIST, (3,), "Sailing boats pay 18 euros."),
        (LIST, (4,), "It is more for ships."),
        (LIST, (2, 4), "Rowing boats pay 2 euros."),
        (LIST, (2, 3), "Rowing boats pay 2 euros.\n- Sailing boats pay 18 euros."),
        ("# Fees\n\nThey are low. All pay them.", (1, 3), "All pay them."),
        ("# Fees\n\nThey are low.", (1,), "# Fees\n\nThey are low."),
    ],
    ids=[
        "of a list",
        "the last",
        "the first of two apart",
        "two together",
        "not a heading",
        "nothing but a heading",
    ],
)
def test_the_closest_passage_shows_the_sentence_that_the_judge_named(text, evidence, shown):
    work = looked(text, grades={"1": Grade(relevance="ambiguous", evidence=evidence)})

    (closest,) = outcomes.closest_of(work, POLICY)

    assert closest.quote == shown == text[closest.start : closest.end]


def test_nothing_is_called_close_when_the_library_finds_nothing_close():
    assert outcomes.closest_of(looked("One.", confidence=0.01), POLICY) == ()
    assert outcomes.closest_of(
        looked("One.", confidence=0.01, grades={"1": Grade(relevance="correct")}), POLICY
    )


@pytest.mark.parametrize(
    ("work", "sentence"),
    [
        (looked(), "Nothing in your documents is about this."),
        (looked("x", confidence=0.01), "Your documents don't answer this."),
        (looked("One.", missing="its weight"), "Your documents come close, but do not say: its weight."),
        (looked("One."), "Your documents come close, but don't clearly answer this."),
    ],
)
def test_why_the_documents_were_not_enough(work, sentence):
    assert outcomes.why_not_enough(work, outcomes.closest_of(work, POLICY)) == sentence


def test_why_a_search_was_not_enough_names_the_query_that_went_out():
    work = looked(proposal=proposal(1).with_decision(decision("p1", query="other words")))

    assert outcomes.why_not_enough(work, ()) == "The web search for “other words” was not enough either."


def test_what_is_left_to_try_is_said():
    assert outcomes.nothing_left(looked(), has_web=True) == "I did not find this in your documents."
    assert outcomes.nothing_left(looked(), has_web=False).endswith("Web search is switched off.")
    assert (
        outcomes.nothing_left(looked(proposal=proposal(1)), has_web=True)
        == "I did not find this on the web either."
    )
