"""The simulation of fallible judges: the errors it makes, the published graphs, and what is counted."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count

import pytest
from benchmarks import judges, published
from benchmarks.draft_labels import read_items, shown
from benchmarks.fallible import Script
from benchmarks.our_graph import OurGraph
from benchmarks.world import MIX, World, WorldQuestion, open_world
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.graph.policy import PRESETS
from core.library.documents import Passage, Retrieval, Retrieved

GOLD = "The tower is 300 metres tall. Visitors may enter it."
BESIDE = [f"Bridge {name} spans the river." for name in ("Alpha", "Beta", "Gamma", "Delta")]
HELD = WorldQuestion(id="q", text="How tall is the tower?", kind="held", gold=GOLD, sentences=((0, 29),))
NEAR = replace(HELD, kind="near", gold="", sentences=())


def retrieval(*texts: str, confidence: float = 0.5) -> Retrieval:
    hits = (
        Retrieved(
            passage=Passage(
                id=text,
                collection="default",
                source=text,
                title="T",
                location="",
                text=text,
                start=0,
                end=len(text),
            ),
            score=1 - rank / 10,
        )
        for rank, text in enumerate(texts)
    )
    return Retrieval(passages=tuple(hits), confidence=confidence)


def world(*texts: str, web: tuple[str, ...] = (), confidence: float = 0.5) -> World:
    return World(
        questions=(),
        documents=lambda _query, *_within: retrieval(*texts, confidence=confidence),
        everything=lambda _query: retrieval(*web),
    )


class Told(Script):
    """Judges that say what they are told, and a count of what each was asked."""

    def __init__(
        self, where: World, question: WorldQuestion = HELD, *, irrelevant=(), grounded=True, useful=True
    ) -> None:
        super().__init__(world=where, question=question, error=0.0, seed=0)
        self.said = {"route": True, "sufficiency": True, "grounding": grounded, "usefulness": useful}
        self.irrelevant = irrelevant

    def says(self, truth, judge, *seen):
        return seen[0] not in self.irrelevant if judge == "relevance" else self.said[judge]

    def _draft(self, given, *, has_answer, once_more):
        return "right", "draft"


# The judge


@pytest.mark.parametrize("error", [0.05, 0.3])
def test_a_verdict_is_wrong_as_often_as_is_set(error):
    seeds = range(4_000)

    wrong = [not _script(error, seed).finds_relevant(GOLD) for seed in seeds]

    assert sum(wrong) / len(seeds) == pytest.approx(error, abs=0.03)


def test_repeated_verdicts_share_half_of_their_error():
    error, pairs = 0.2, []
    for seed in range(4_000):
        script = _script(error, seed)
        pairs.append((not script.finds_relevant(GOLD), not script.finds_relevant(GOLD)))

    both = sum(first and second for first, second in pairs) / len(pairs)

    correlation = (both - error**2) / (error * (1 - error))
    assert correlation == pytest.approx(0.5, abs=0.1)


def test_verdicts_on_different_things_err_apart():
    error, pairs = 0.2, []
    for seed in range(4_000):
        script = _script(error, seed)
        pairs.append((not script.finds_relevant(GOLD), script.finds_relevant(BESIDE[0])))

    both = sum(first and second for first, second in pairs) / len(pairs)

    assert both == pytest.approx(error**2, abs=0.02)


@thorough
@given(st.floats(0, 1), st.integers(0, 99))
def test_the_same_lots_fall_the_same_way_again(error, seed):
    first, again = ([_script(error, seed).finds_relevant(text) for text in (GOLD, *BESIDE)] for _ in range(2))

    assert first == again


def test_no_search_finds_the_answer_to_a_near_miss():
    where = world(web=(GOLD, *BESIDE))

    found = {where.search_web(HELD, "tower", seed)[:4] for seed in range(50)}
    near = [where.search_web(NEAR, "tower", seed) for seed in range(50)]

    assert any(GOLD in hits for hits in found)
    assert any(GOLD not in hits for hits in found)
    assert all(hits == (GOLD, *BESIDE[:3]) for hits in near), (
        "to a near-miss it is one paragraph among others"
    )


def _script(error: float, seed: int) -> Script:
    return Script(world=world(), question=HELD, error=error, seed=seed)


# The published graphs


@pytest.mark.parametrize(
    ("name", "calls"),
    [("combined", 8), ("crag-any", 5), ("self-rag", 7), ("crag-ratio", 5), ("adaptive", 8)],
)
async def test_the_calls_of_a_published_graph_when_all_is_well(name, calls):
    script = Told(world(GOLD, *BESIDE))

    ended = await judges.run_published(published.build(name), script)

    assert (ended.right, ended.calls, ended.trips) == (1, calls, calls)
    assert not ended.needless


@pytest.mark.parametrize(
    ("name", "irrelevant", "calls"),
    [("combined", 1, 8), ("crag-any", 1, 6), ("self-rag", 4, 22), ("crag-ratio", 2, 6)],
)
async def test_the_calls_of_a_published_graph_on_its_way_over_the_web(name, irrelevant, calls):
    web = tuple(f"Page {n}." for n in range(4))
    script = Told(world(*BESIDE, web=web), irrelevant=BESIDE[:irrelevant])

    ended = await judges.run_published(published.build(name), script)

    assert ended.calls == calls
    assert ended.needless
    assert script.searches == 1


@pytest.mark.parametrize(
    ("name", "irrelevant", "searches"),
    [("combined", 0, 0), ("crag-any", 0, 0), ("self-rag", 3, 0), ("crag-ratio", 1, 0), ("adaptive", 3, 0)],
)
async def test_a_published_graph_that_finds_enough_stays_with_the_documents(name, irrelevant, searches):
    script = Told(world(*BESIDE), irrelevant=BESIDE[:irrelevant])

    await judges.run_published(published.build(name), script)

    assert script.searches == searches


@pytest.mark.parametrize("name", ["combined", "self-rag", "adaptive"])
async def test_a_graph_that_writes_again_until_it_passes_ends_at_the_recursion_limit_without_an_answer(name):
    script = Told(world(GOLD, *BESIDE), grounded=False)

    ended = await judges.run_published(published.build(name), script)

    assert ended.abstained
    assert ended.calls > 40


async def test_self_rag_gives_up_after_three_attempts_with_documents_and_three_with_the_web():
    web = tuple(f"Page {n}." for n in range(4))
    script = Told(world(*BESIDE, web=web), NEAR, irrelevant=(*BESIDE, *web))

    ended = await judges.run_published(published.build("self-rag"), script)

    assert ended.abstained
    assert script.searches == 3
    assert ended.calls == 6 * (4 + 1)


# Ours


async def test_ours_is_run_on_the_real_graph_and_counted_as_the_chat_model_is():
    footnote = OurGraph.build(PRESETS["footnote"])
    first, again = (Script(world=world(GOLD, *BESIDE), question=HELD, error=0.0, seed=0) for _ in range(2))

    ended = await judges.run_ours(footnote, first)
    _, usage = await footnote.run(again)

    assert (ended.right, ended.wrong, ended.needless) == (1, 0, 0)
    assert (ended.calls, ended.trips) == (usage.calls, 3)


async def test_ours_asks_for_the_web_when_the_documents_do_not_hold_it_and_each_turn_is_counted():
    question = replace(HELD, kind="away")
    seed = next(s for s in count() if GOLD in world(web=BESIDE).search_web(question, question.wordings[1], s))
    script = Script(
        world=world(*BESIDE, web=tuple(BESIDE), confidence=0.1), question=question, error=0.0, seed=seed
    )

    ended = await judges.run_ours(OurGraph.build(PRESETS["footnote"]), script)

    assert ended.right
    assert script.searches == 1
    assert ended.trips == 1 + 3
    assert not ended.needless


async def test_a_quote_beside_the_question_is_a_wrong_answer():
    class Misled(Told):
        def _draft(self, given, *, has_answer, once_more):
            return "beside", "draft"

    script = Misled(world(*BESIDE, confidence=0.9), NEAR)

    ended = await judges.run_ours(OurGraph.build(PRESETS["footnote"]), script)

    assert ended.wrong


# Drafts of language models


@pytest.fixture
def drafted_question(data):
    """A question whose draft says two things, and whose bad draft says one of them falsely."""
    item = read_items(data / "drafts" / "drafts.jsonl")[0]
    return WorldQuestion(id="d", text=item.question, kind="held", gold=item.passages[0].text, item=item)


def writing(what, question, error=0.0, seed=0):
    """A script whose writer writes this of the two drafts, over the passages that it rests on."""

    class Writing(Script):
        def _draft(self, given, *, has_answer, once_more):
            return what, "draft"

    texts = [passage.text for passage in question.item.passages]
    return Writing(world=world(*texts, confidence=0.9), question=question, error=error, seed=seed)


@pytest.mark.parametrize(("what", "right", "wrong"), [("right", 1, 0), ("planted", 0, 1)])
async def test_a_published_graph_is_judged_on_the_draft_that_it_shows_whole(
    drafted_question, what, right, wrong
):
    ended = await judges.run_published(published.build("crag-any"), writing(what, drafted_question))

    assert (ended.right, ended.wrong) == (right, wrong)


@pytest.mark.parametrize("what", ["right", "planted"])
async def test_ours_shows_what_stands_and_leaves_out_what_was_planted(drafted_question, what):
    ended = await judges.run_ours(OurGraph.build(PRESETS["footnote"]), writing(what, drafted_question))

    assert (ended.right, ended.wrong) == (1, 0)


def test_a_verdict_on_one_sentence_says_nothing_of_another(drafted_question):
    good = [sentence.text for sentence in drafted_question.item.sentences]
    pairs = []
    for seed in range(2_000):
        script = writing("right", drafted_question, error=0.2, seed=seed)
        draft = script.writes([], has_answer=True)
        pairs.append([not script.supports(sentence, draft) for sentence in good])

    assert sum(first for first, _ in pairs) / len(pairs) == pytest.approx(0.2, abs=0.03)
    assert sum(first and second for first, second in pairs) / len(pairs) == pytest.approx(0.04, abs=0.02)


@pytest.mark.parametrize(
    ("text", "is_right", "false"),
    [
        ("Hall 0 opens at **nine**. [1]\n\n- Tickets for hall 0 are free. [2]", True, 0),
        ("Hall 0 opens at nine. [1]", False, 0),
        ("Hall 0 opens at ten. [1] Tickets for hall 0 are free. [2]", False, 1),
        ("", False, 0),
    ],
)
def test_what_is_shown_is_right_when_nine_of_ten_good_sentences_are_and_nothing_planted(
    drafted_question, text, is_right, false
):
    item = drafted_question.item

    assert shown(item, "good", text).is_right is is_right
    assert shown(item, "bad", text).false == false


# The world and the report


@pytest.fixture
def data(tmp_path):
    """Ten articles of two paragraphs, each answering one question and missing another; two CLAPNQ passages."""
    squad, clapnq = tmp_path / "squad2", tmp_path / "clapnq"
    squad.mkdir()
    clapnq.mkdir()
    paragraphs, questions = [], []
    for n in range(20):
        place = {
            "id": f"a{n}#0",
            "title": f"a{n}",
            "text": f"River {n} is long. River {n} rises in Hills {n}.",
        }
        paragraphs.append(place)
        asked = {"article": f"a{n}", "paragraph": f"a{n}#0"}
        questions += [
            {**asked, "id": f"y{n}", "question": f"Where does River {n} rise?", "answers": [f"Hills {n}"], "answerable": True},
            {**asked, "id": f"n{n}", "question": f"Where does River {n} end?", "answers": [], "answerable": False},
        ]  # fmt: skip
    _write(squad / "paragraphs.jsonl", paragraphs)
    _write(squad / "questions.jsonl", questions)
    for name, said in (("answerable", ["Lakes are deep ."]), ("unanswerable", [])):
        lines = [
            {
                "id": f"{name}{n}",
                "input": f"how deep are lakes {n}",
                "passages": [{"title": f"{name} {n}", "text": f"Lake {n} is {name} . Lakes are deep ."}],
                "output": [{"selected_sentences": said}],
            }
            for n in range(20)
        ]
        _write(clapnq / f"{name}.jsonl", lines)
    (tmp_path / "drafts").mkdir()
    _write(tmp_path / "drafts" / "drafts.jsonl", [drafted(n) for n in range(10)])
    return tmp_path


def drafted(n):
    """A question that a language model answered in two sentences, and the same with one of them turned false."""
    good = [f"Hall {n} opens at nine.", f"Tickets for hall {n} are free."]
    passages = [
        {"n": 1, "text": f"Hall {n}: it opens at nine in the morning."},
        {"n": 2, "text": f"Hall {n} takes no money for tickets."},
    ]
    bad = f"Hall {n} opens at ten."
    return {
        "id": f"d{n}", "language": "en", "style": "plain", "question": f"When does hall {n} open?",
        "passages": [{"title": f"Hall {n}", "path": [], **passage} for passage in passages],
        "draft": f"{good[0]} [1] {good[1]} [2]",
        "sentences": [{"text": text, "supported": True, "cites": [n]} for n, text in enumerate(good, start=1)],
        "bad": {"draft": f"{bad} [1] {good[1]} [2]", "planted": [{"text": bad, "fault": "number"}]},
    }  # fmt: skip


def _write(file, lines):
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_the_world_keeps_the_mix_and_leaves_the_answers_of_some_out(data, tmp_path):
    with open_world(data, tmp_path / "libraries", count=20) as opened:
        kinds = {kind: [k for k in opened.questions if k.kind == kind] for kind in MIX}
        found = {
            kind: [k.gold in [hit.passage.text for hit in opened.retrieve(k, k.text).passages] for k in held]
            for kind, held in kinds.items()
        }

    assert [len(kinds[kind]) for kind in MIX] == [10, 6, 4]
    assert all(found["held"])
    assert not any(found["away"])
    assert all(question.item and question.gold.startswith("Hall") for question in kinds["held"])
    assert all("Hills" in k.answer or "deep" in k.answer for k in kinds["away"])


def test_the_section_tells_every_graph_at_every_error_with_an_interval(data, tmp_path):
    section = judges.run(print, data=data, quick=True)

    told, leads = section.tables
    assert [row[0] for row in told.rows] == ["footnote", *published.MODULES]
    assert all(" to " in cell for row in told.rows for cell in row[1:])
    assert section.figures["crag-any at 0.2: calls"] <= 6
    assert {row[1] for row in leads.rows} == set(judges.KINDS.values())


def test_the_lead_is_over_the_best_of_the_others():
    def run(right, trips):
        return {HELD: [judges.Result(right=right, wrong=1 - right, calls=trips, trips=trips)]}

    runs = {("footnote", 0.1): run(1, 3), ("one", 0.1): run(0, 4), ("two", 0.1): run(1, 6)}

    *_, leads = judges.section(runs).tables

    both = next(row for row in leads.rows if row[1] == "all")
    assert [cell.split()[0] for cell in both[2:]] == ["0.000", "0.000", "1.000"]
