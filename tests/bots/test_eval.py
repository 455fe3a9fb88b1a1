"""``footnote eval``: one's own questions read, judged, counted and compared with the last run."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest
from fakes.gemini import FakeGemini
from harbour import CUP_QUESTION, FERRY_QUESTION, PONTOON_QUESTION

from bots.eval import outcomes
from bots.eval.questions import Corpus, EvalQuestion, judge, normalized, occurs, read_line, read_questions
from bots.eval.report import bins, brier
from core.conversation import Answer, Citation, Outcome, Usage
from core.errors import SettingsError
from core.reasoning.limits import Price

SETS = Path(__file__).resolve().parents[1] / "evaluation"
NO_CORPUS = Corpus.of(())


def question(id="a", **more):
    return EvalQuestion(line=1, id=id, question="When does the ferry leave?", **more)


def citation(source="docs/ferry.md", quote="half past nine", start=0, **more):
    return Citation(
        number=1, title="Ferry", location="Ferry", source=source, quote=quote,
        start=start, end=start + len(quote), **more,
    )  # fmt: skip


FERRY_CITED = (citation(),)


def answered(text="At half past nine. [1]", *, cites=FERRY_CITED, grounding="documents", **more):
    answer = Answer(text=text, citations=cites, grounding=grounding, composed=False)
    return Outcome(kind="answered", turn_id="t", answer=answer, **more)


def held_back(kind="approval_needed", **more):
    return Outcome(kind=kind, turn_id="t", **more)


def judged(outcome, corpus=NO_CORPUS, **more):
    return judge(question(**more), outcome, corpus)


# Questions


def test_a_line_tells_what_is_expected_of_its_answer():
    line = {
        "id": 7, "question": " When? ", "thread": "sark", "source": "ferry.md",
        "answerable": True, "answer": ["nine", "pier three"], "kind": "times", "note": "left alone",
    }  # fmt: skip

    assert read_line(json.dumps(line).encode(), 3) == EvalQuestion(
        line=3, id="7", question="When?", thread="sark", sources=("ferry.md",),
        answerable=True, words=("nine", "pier three"), kind="times",
    )  # fmt: skip


def test_what_names_a_source_or_an_answer_is_answerable_and_what_names_nothing_is_not_judged():
    assert read_line(b'{"question": "?", "sources": ["a.md"]}', 1).answerable
    assert read_line(b'{"question": "?", "answer": "nine"}', 1).answerable
    assert read_line(b'{"question": "?"}', 1).answerable is None
    assert read_line(b'{"question": "?", "answerable": false, "sources": []}', 1).answerable is False


@pytest.mark.parametrize("name", [file.name for file in SETS.glob("*.jsonl")])
def test_the_sets_of_this_repository_are_read_as_they_are(name):
    questions = read_questions(SETS / name)

    assert len(questions) == len((SETS / name).read_text().splitlines())
    assert all(each.sources for each in questions if each.answerable)
    assert not any(each.sources for each in questions if not each.answerable)


def test_every_faulty_line_is_named_at_once(tmp_path):
    lines = (
        '{"id": "a", "question": "When?"}', "no JSON", "", '["a"]', '{"id": "b"}',
        '{"id": "a", "question": "Again?"}', '{"question": "?", "answerable": "yes"}',
        '{"question": "?", "source": [1]}', '{"question": "?", "thread": ""}',
        '{"question": " "}', '{"id": true, "question": "?"}', '{"question": "?", "kind": 1}',
    )  # fmt: skip
    (tmp_path / "q.jsonl").write_text("\n".join(lines))

    with pytest.raises(SettingsError) as refused:
        read_questions(tmp_path / "q.jsonl")

    told = str(refused.value)
    assert re.findall(r"Line (\d+):", told) == ["2", "4", "5", "6", "7", "8", "9", "10", "11", "12"]
    assert "Line 6: the id “a” is used on line 1 already." in told
    assert "Line 8: “source” must be a text or a list of texts." in told


@pytest.mark.parametrize(("content", "why"), [(None, "no such file"), ("\n \n", "holds no questions")])
def test_a_file_without_questions_is_told(tmp_path, content, why):
    if content is not None:
        (tmp_path / "q.jsonl").write_text(content)

    with pytest.raises(SettingsError, match=why):
        read_questions(tmp_path / "q.jsonl")


# Files


def test_a_source_is_meant_by_its_name_below_the_folder_before_all_that_end_so():
    corpus = Corpus.of(
        ("docs/" + name, "/d/" + name) for name in ("index.md", "how-to/index.md", "how-to/a.md")
    )

    assert corpus.sources_named("index.md") == {"docs/index.md"}
    assert corpus.sources_named("a.md") == {"docs/how-to/a.md"}
    assert (
        corpus.sources_named("/d/how-to/a.md")
        == corpus.sources_named("docs/how-to/a.md")
        == {"docs/how-to/a.md"}
    )
    assert corpus.sources_named("o/a.md") == corpus.sources_named("a") == frozenset()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", b"one\r\nhalf past nine"),
        ("a.txt", b"\xef\xbb\xbfone\r\nhalf past nine"),
        ("a.rst", "one\r\nhalf past nine – caf\u00e9s open".encode("cp1252")),
    ],
)
def test_a_quote_is_looked_up_in_its_file_character_for_character(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    corpus = Corpus.of([(f"docs/{name}", str(tmp_path / name))])

    assert corpus.contains(citation(f"docs/{name}", start=5)) is True
    assert corpus.contains(citation(f"docs/{name}", start=4)) is False
    assert corpus.contains(citation(f"docs/{name}", quote="Half past nine", start=5)) is False


def test_a_quote_of_a_file_that_is_gone_does_not_stand_and_one_of_a_page_is_not_judged(tmp_path):
    page = "https://harbour.example/ferry"
    corpus = Corpus.of([("docs/ferry.md", str(tmp_path / "ferry.md")), (page, page)])

    assert corpus.contains(citation()) is False
    assert corpus.contains(citation(page)) is None
    assert corpus.contains(citation("unheard of")) is None


# Verdicts


@pytest.mark.parametrize(
    ("wanted", "outcome", "verdict"),
    [
        ({"answerable": True}, answered(), "right"),
        ({"answerable": True, "sources": ("ferry.md",)}, answered(), "right"),
        ({"answerable": True, "sources": ("harbour.md",)}, answered(), "wrong file"),
        ({"answerable": True, "sources": ("ferry.md",)}, answered(cites=()), "wrong file"),
        ({"answerable": True, "words": ("half past nine",)}, answered(), "right"),
        ({"answerable": True, "words": ("nine", "pier three")}, answered(), "words missing"),
        ({"answerable": True}, answered(grounding="web"), "from the web"),
        ({"answerable": True}, held_back(), "held back"),
        ({"answerable": True}, held_back("no_answer"), "held back"),
        ({"answerable": False}, answered(), "falsely answered"),
        ({"answerable": False}, answered(grounding="web"), "from the web"),
        ({"answerable": False}, held_back(), "rightly held back"),
        ({"answerable": False}, held_back("failed"), "failed"),
        ({}, answered(), "answered"),
        ({}, held_back("clarify"), "not answered"),
    ],
)
def test_an_outcome_is_judged_by_what_was_expected(wanted, outcome, verdict):
    corpus = Corpus.of([("docs/ferry.md", "/d/ferry.md"), ("docs/harbour.md", "/d/harbour.md")])

    assert judged(outcome, corpus, **wanted).verdict == verdict


@pytest.mark.parametrize(
    ("words", "is_there"),
    [("18 euros", True), ("18 Euros", True), ("18", True), ("1", False), ("8 euros", False), ("euro", False)],
)
def test_expected_words_occur_whole_whatever_their_case_and_emphasis(words, is_there):
    assert occurs(words, normalized("A night costs **18\neuros** [1].")) is is_there


def test_words_and_gold_sentences_may_stand_in_the_quotes():
    outcome = answered("See there. [1]", cites=(citation(quote="It leaves at `half past nine`."),))

    found = judged(outcome, answerable=True, words=("nine",), gold=("Elsewhere.", "at half past nine."))

    assert (found.words_found, found.gold_quoted) == ((True,), True)


# All together


def some():
    """Ten questions whose shares are known."""
    corpus = Corpus.of([("docs/ferry.md", "/d/ferry.md")])
    held = {"answerable": True, "sources": ("ferry.md",)}
    given = (
        *((answered(confidence=0.9), held),) * 4,
        (answered(confidence=0.8, cites=(citation("docs/harbour.md"),)), held),
        (held_back(confidence=0.3), held),
        (answered(confidence=0.7), {"answerable": False}),
        *((held_back(confidence=0.1), {"answerable": False, "kind": "off topic"}),) * 3,
    )
    return [judged(outcome, corpus, id=str(n), **wanted) for n, (outcome, wanted) in enumerate(given)]


def test_shares_are_counted_over_what_they_are_shares_of():
    section = outcomes.answers(some())

    assert section.figures == {
        "right": pytest.approx(4 / 6),
        "right_file": pytest.approx(4 / 6),
        "right_file_of_answered": pytest.approx(4 / 5),
        "wrongly_held_back": pytest.approx(1 / 6),
        "held_back": pytest.approx(3 / 4),
        "falsely_answered": pytest.approx(1 / 4),
        "verbatim": 0.0,
    }
    by_kind = {row[0]: row[1:5] for row in section.tables[0].rows}
    assert by_kind == {
        "answerable": (6, 5, 1, 0),
        "unanswerable": (1, 1, 0, 0),
        "off topic": (3, 0, 3, 0),
        "all": (10, 6, 4, 0),
    }


def test_the_worst_cases_are_false_answers_and_then_wrong_files():
    (table,) = outcomes.worst_cases(some()).tables

    assert [(row[0], row[2]) for row in table.rows] == [
        ("6", "falsely answered"),
        ("4", "wrong file"),
        ("5", "held back"),
    ]
    assert table.rows[0][4] == "At half past nine. [1]"


def test_the_brier_score_is_the_mean_squared_error():
    assert brier([(1.0, True), (0.0, True), (0.5, False)]) == pytest.approx((0 + 1 + 0.25) / 3)
    section = outcomes.confidence(some())
    assert section is not None
    squares = [*[0.01] * 4, 0.04, 0.49, 0.49, *[0.01] * 3]
    assert section.figures["brier"] == pytest.approx(sum(squares) / 10)


def test_every_confidence_falls_into_one_bin():
    told = [(number / 20, True) for number in range(21)]

    assert [(low, high, len(those)) for low, high, those in bins(told)] == [
        (0.0, 0.2, 4), (0.2, 0.4, 4), (0.4, 0.6, 4), (0.6, 0.8, 4), (0.8, 1.0, 5),
    ]  # fmt: skip


def test_a_confidence_is_not_judged_where_everything_is_answerable():
    assert outcomes.confidence([judged(answered(), answerable=True), judged(answered())]) is None


def test_tokens_cost_what_the_prices_say():
    asked = [
        answered(
            usage=Usage(name="m", calls=4, round_trips=3, input_tokens=2_000_000, output_tokens=500_000)
        ),
        held_back(usage=Usage(name="m", calls=2, round_trips=1)),
    ]

    section = outcomes.costs(asked, Price(0.5, 4.0), concurrency=8)

    assert section.figures["cost"] == pytest.approx(3.0)
    usage = {row[0]: row[1:] for row in section.tables[1].rows}
    assert usage["round trips, one after the other"] == (4, 2, 3)
    assert usage["cost, at the prices given"][:2] == pytest.approx((3.0, 1.5))
    assert "cost" not in outcomes.costs(asked, None, concurrency=8).figures


def test_latency_is_the_median_and_the_95th_percentile_of_what_was_timed():
    timed = [answered(timing_ms={"total": float(ms)}) for ms in range(1, 101)]

    section = outcomes.costs([*timed, held_back("failed")], None, concurrency=1)

    assert section.figures == {"median_ms": 50.5, "p95_ms": 95.0}


# The last run


def run(verdicts, figures=None, **conditions):
    return outcomes.EvalRun(made="yesterday", conditions=conditions, figures=figures or {}, verdicts=verdicts)


def test_what_changed_since_the_last_run_is_told_losses_first():
    before = run(
        {"a": "held back", "b": "right", "c": "right", "gone": "right"}, {"right": 0.5}, vectors="none"
    )
    now = run(
        {"a": "right", "b": "falsely answered", "c": "right", "new": "right"}, {"right": 0.75}, vectors="mini"
    )

    section = outcomes.changes(before, now, dict.fromkeys("abc", "When?"))

    questions, figures, conditions = section.tables
    assert [(row[0], row[2], row[3]) for row in questions.rows] == [
        ("b", "right", "falsely answered"),
        ("a", "held back", "right"),
    ]
    assert figures.rows == (("right", 0.5, 0.75, "↑ 0.250"),)
    assert conditions.rows == (("vectors", "none", "mini"),)
    assert section.figures == {"better": 1, "worse": 1}
    assert "2 of 3 questions ended differently, 1 better and 1 worse" in section.what


@pytest.mark.parametrize(("before", "now", "sign"), [(0.5, 0.5, "="), (90.0, 60.0, "↓ 30.0"), (0, 2, "↑ 2")])
def test_an_arrow_shows_where_a_figure_went(before, now, sign):
    assert outcomes.arrow(before, now) == sign


def test_a_run_is_loaded_as_it_was_saved_and_each_file_has_its_own(tmp_path):
    place, other = (outcomes.file_for(tmp_path, tmp_path / name) for name in ("a.jsonl", "b.jsonl"))
    first, second = run({"a": "right"}), run({"a": "failed"}, {"right": 0.0})

    outcomes.save(first, place)
    outcomes.save(second, place)

    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert outcomes.load(place) == second
    assert outcomes.load(other) is None
    place.write_text('{"made": ')
    assert outcomes.load(place) is None


# The command

QUESTIONS = (
    {
        "id": "ferry",
        "question": FERRY_QUESTION,
        "source": "ferry.md",
        "answer": "half past nine",
        "thread": "sark",
    },
    {"id": "cars", "question": "Does it take cars?", "source": "ferry.md", "thread": "sark"},
    {
        "id": "pontoon",
        "question": PONTOON_QUESTION,
        "source": "harbour.md",
        "answer": "18 euros",
        "kind": "fees",
    },
    {"id": "wrong", "question": PONTOON_QUESTION, "source": "nowhere.md", "kind": "fees"},
    {"id": "cup", "question": CUP_QUESTION, "answerable": False},
)


@pytest.fixture
def machine(machine):
    (machine.folder / "q.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)))
    return machine


async def test_questions_go_through_the_assistant_and_are_judged(machine):
    ran = await machine.run("eval", "q.jsonl", "--docs", "docs", "--json")

    assert ran.code == 0
    assert ran.err == "Written to footnote-eval/report.html and footnote-eval/report.json\n"
    report = ran.record
    assert {each["id"]: each["verdict"] for each in report["questions"]} == {
        "ferry": "right",
        "cars": "right",
        "pontoon": "right",
        "wrong": "wrong file",
        "cup": "rightly held back",
    }
    figures = {section["name"]: section["figures"] for section in report["sections"]}
    assert figures["answers"]["right"] == 0.75
    assert figures["answers"]["verbatim"] == 1.0
    assert [section["name"] for section in report["sections"]] == ["answers", "confidence", "costs", "worst"]
    assert report["sections"][0]["note"] == (
        "These files are not among the documents: line 4 names nowhere.md."
    )
    assert json.loads((machine.folder / "footnote-eval" / "report.json").read_text()) == report
    assert "falsely" not in (machine.folder / "footnote-eval" / "report.html").read_text()


async def test_a_second_run_is_compared_with_the_first_and_neither_leaves_a_conversation(machine):
    await machine.run("eval", "q.jsonl", "--docs", "docs")
    harbour = machine.docs / "harbour.md"
    harbour.write_text(harbour.read_text().replace("18 euros", "21 euros"))

    ran = await machine.run("eval", "q.jsonl", "--docs", "docs", "--out", "second")

    assert ran.code == 0
    assert "1 of 5 questions ended differently, 0 better and 1 worse" in " ".join(ran.out.split())
    assert re.search(r"pontoon .* right +words missing", ran.out)
    assert (machine.folder / "second" / "report.json").is_file()
    with sqlite3.connect(machine.folder / ".footnote" / "conversations.sqlite") as kept:
        assert kept.execute("SELECT count(*) FROM checkpoints").fetchone() == (0,)
    kept.close()


async def test_a_models_tokens_are_counted_and_paid_for(machine):
    async with FakeGemini() as model:
        machine.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        ran = await machine.run(
            "eval", "q.jsonl", "--docs", "docs", "--json", "--price-in", "1", "--price-out", "2"
        )

    figures = {section["name"]: section["figures"] for section in ran.record["sections"]}["costs"]
    assert figures["model_calls"] == len(model.steps)
    paid = (figures["input_tokens"] + 2 * figures["output_tokens"]) / 1_000_000
    assert figures["cost"] == pytest.approx(paid)
    assert paid > 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("absent.jsonl",), "absent.jsonl cannot be read: no such file or directory."),
        (("q.jsonl", "--price-in", "-1"), "-1 is not a price"),
        (("q.jsonl", "--docs", "absent"), "absent does not exist."),
    ],
)
async def test_wrong_use_is_told_before_anything_is_asked(machine, arguments, why):
    ran = await machine.run("eval", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert why in ran.err
    assert not (machine.folder / ".footnote").exists()
