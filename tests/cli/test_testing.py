"""The questions of ``footnote test``: read from a file, judged, compared with the last run, written as JUnit XML."""

from __future__ import annotations

import asyncio
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from bots.mcp.callers import Caller
from bots.testing import junit, last_run, render, sections
from bots.testing.asking import Examiner
from bots.testing.cases import Case, read_cases
from bots.testing.judging import Corpus, facts_missing, judge, normalized, occurs
from bots.testing.last_run import Changes, Ended, Run
from core.conversation import Answer, Citation, Outcome, Usage
from core.errors import SettingsError

SETS = Path(__file__).resolve().parents[1] / "benchmarks" / "evaluation"
CORPUS = Corpus.of([("docs/ferry.md", "/d/ferry.md"), ("docs/harbour.md", "/d/harbour.md")])


def case(id="a", **more):
    return Case(line=1, id=id, question="When does the ferry leave?", **more)


def citation(source="docs/ferry.md", quote="half past nine", location="Ferry > Times"):
    return Citation(
        number=1,
        title="Ferry timetable",
        location=location,
        source=source,
        quote=quote,
        start=0,
        end=len(quote),
    )


FERRY_CITED = (citation(),)


def answered(text="At half past nine. [1]", *, cites=FERRY_CITED, composed=False, **more):
    answer = Answer(text=text, citations=cites, grounding="documents", composed=composed)
    return Outcome(kind="answered", turn_id="t", answer=answer, **more)


def held_back(kind="no_answer", **more):
    return Outcome(kind=kind, turn_id="t", **more)


def judged(outcome, **more):
    return judge(case(**more), outcome, CORPUS)


# Files


def written(folder, text, name="footnote-test.yaml"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


YAML = """\
# What people ask most.
- id: 7
  question: When does the ferry leave?
  contains: [half past nine, 18.50]
  cites: ferry.md#tickets
  thread: sark
  tags: times
  note: {kept: as it is}
- question: Who won the cup?
  unanswerable: yes
  as: hr
- question: |
    How long is
    the notice period?
  answer: Three months.
"""


def test_yaml_is_read_as_the_texts_that_stand_there(tmp_path):
    ferry, cup, notice = read_cases(written(tmp_path, YAML))

    assert ferry == Case(
        line=2, id="7", question="When does the ferry leave?", contains=("half past nine", "18.50"),
        cites=("ferry.md#tickets",), thread="sark", tags=("times",),
    )  # fmt: skip
    assert (cup.unanswerable, cup.whom, cup.line) == (True, "hr", 9)
    assert (notice.question, notice.answer) == ("How long is\nthe notice period?", "Three months.")


def test_json_lines_say_the_same_and_the_older_names_are_understood(tmp_path):
    lines = (
        {"id": 7, "question": " When? ", "contains": "nine", "source": "ferry.md", "kind": "times"},
        {"question": "Who?", "answerable": False, "sources": []},
        {"question": "Where?", "answerable": True, "sources": ["a.md"], "gold": ["At pier three."]},
    )
    when, who, where = read_cases(written(tmp_path, "\n".join(map(json.dumps, lines)), "q.jsonl"))

    assert when == Case(
        line=1, id="7", question="When?", contains=("nine",), cites=("ferry.md",), tags=("times",)
    )
    assert (who.unanswerable, who.cites) == (True, ())
    assert (where.is_answerable, where.cites) == (True, ("a.md", "At pier three."))


def test_what_must_hold_says_whether_a_question_is_to_be_answered():
    expected = (
        {"contains": ("x",)},
        {"answer": "x"},
        {"cites": ("x",)},
        {"unanswerable": False},
        {"unanswerable": True},
        {},
    )

    assert [case(**each).is_answerable for each in expected] == [True, True, True, True, False, None]


def test_without_an_id_a_question_goes_by_its_words_its_thread_and_whose_rights(tmp_path):
    text = "- question: And on Sunday?\n  thread: sark\n- question: And on Sunday?\n  thread: herm\n- {question: And on Sunday?, as: hr}\n"

    assert [each.id for each in read_cases(written(tmp_path, text))] == [
        "sark: And on Sunday?", "herm: And on Sunday?", "as hr: And on Sunday?",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["everyday", "heldout", "questions", "training", "follow_ups"])
def test_the_sets_of_this_repository_are_read_as_they_are(name):
    file = SETS / f"fastapi_{name}.jsonl"

    assert len(read_cases(file)) == len(file.read_text().splitlines())


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("- question: When?\n  contians: nine", 1, "there is no “contians”; “contains”?"),
        ("- question: When?\n  zzz: nine", 1, "there is no “zzz”; there are id, question, "),
        ("- question: When?\n\n- question: When?", 3, "its question is on line 1 already; give it another “id”."),
        ("- {id: a, question: When?}\n- {id: a, question: Who?}", 2, "the id “a” is on line 1 already"),
        ("- question: When?\n  contains: nine\n  contains: ten", 1, "“contains” is given twice."),
        ("- question: When?\n  unanswerable: perhaps", 1, "“unanswerable” must be true or false."),
        ("- question: When?\n  unanswerable: true\n  cites: a.md", 1, "what is “unanswerable” has no “cites”."),
        ("- question: When?\n  cites: [a.md, {b: c}]", 1, "“cites” must be a text or a list of texts."),
        ("- question: [When?]", 1, "“question” must be a text."),
        ("- contains: nine", 1, "“question” is missing."),
        ("- When?", 1, "not a mapping with a “question”."),
        ("question: When?", 1, "not a list: each question begins with “- question: …”."),
        ("- question: When?\n  cites: a: b", 2, "not YAML: mapping values are not allowed"),
        ("- question: When?\n- question: 'Who", 2, "not YAML: "),
        ("- &a {question: When?}\n- *a", 1, "anchors, aliases and tags are not used here."),
        ("- question: When?\n- question: !!python/name:os.system x", 2, "anchors, aliases and tags are not used"),
        ("- " + "[" * 500 + "]" * 500, 1, "too many lists within each other."),
        ("- question: When?\n  thread: a\n- question: Who?\n  thread: a\n  as: hr", 3, "asked as somebody else before."),
        ("- question: a\x00b", 1, "not YAML: "),
        (b"- question: Wann?\n- question: Wof\xfcr?", 2, "not UTF-8."),
    ],
)  # fmt: skip
def test_a_fault_of_a_yaml_file_is_named_with_its_line(tmp_path, text, line, why):
    with pytest.raises(SettingsError) as refused:
        read_cases(written(tmp_path, text))

    assert f"footnote-test.yaml cannot be used. Line {line}: " in str(refused.value)
    assert why in str(refused.value)


def test_every_faulty_line_of_json_is_named_at_once(tmp_path):
    lines = (
        '{"id": "a", "question": "When?"}', "no JSON", "", '["a"]', '{"id": "b"}',
        '{"id": "a", "question": "Again?"}', '{"question": "?", "answerable": "perhaps"}',
        '{"question": "?", "source": [true]}', '{"question": "?", "thread": ""}', '{"question": " "}',
        '{"question": "?", "question": "!"}', f'{{"question": {"[" * 100_000}}}',
    )  # fmt: skip

    with pytest.raises(SettingsError) as refused:
        read_cases(written(tmp_path, "\n".join(lines), "q.jsonl"))

    assert re.findall(r"Line (\d+):", str(refused.value)) == [
        "2",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
        "11",
        "12",
    ]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "no such file"),
        ("\n# nothing\n", "holds no questions"),
        ("a" * 4_000_001, "is larger than 4 MB"),
    ],
)
def test_a_file_without_questions_or_with_too_many_is_told(tmp_path, content, why):
    file = tmp_path / "absent.yaml" if content is None else written(tmp_path, content)

    with pytest.raises(SettingsError, match=why):
        read_cases(file)


# Verdicts


@pytest.mark.parametrize(
    ("wanted", "outcome", "verdict", "broken"),
    [
        ({"unanswerable": False}, answered(), "holds", ()),
        ({"unanswerable": False}, held_back(), "fails", ("an answer",)),
        ({"unanswerable": True}, held_back(), "holds", ()),
        ({"unanswerable": True}, held_back("clarify"), "holds", ()),
        ({"unanswerable": True}, answered(), "fails", ("no answer: the documents have none",)),
        ({"contains": ("half past nine",)}, answered(), "holds", ()),
        ({"contains": ("nine", "pier three")}, answered(), "fails", ("“pier three”",)),
        ({"contains": ("nine",)}, held_back(), "fails", ("an answer",)),
        ({"cites": ("ferry.md",)}, answered(), "holds", ()),
        ({"cites": ("harbour.md", "docs/ferry.md")}, answered(), "holds", ()),
        ({"cites": ("harbour.md", "gone")}, answered(), "fails", ("a footnote of harbour.md or “gone”",)),
        ({"cites": ("ferry.md",)}, answered(cites=()), "fails", ("a footnote of ferry.md",)),
        ({"cites": ("ferry.md#Times",)}, answered(), "holds", ()),
        ({"cites": ("docs/ferry.md#ferry-timetable",)}, answered(), "holds", ()),
        ({"cites": ("ferry.md#Prices",)}, answered(), "fails", ("a footnote of ferry.md#Prices",)),
        ({"cites": ("Half past *nine*",)}, answered(), "holds", ()),
        ({"answer": "It leaves at half past nine."}, answered("It leaves at half past nine."), "holds", ()),
        ({"answer": "At ten."}, answered(), "fails", ("that it says: At ten.",)),
        ({}, answered(), "asked", ()),
        ({}, held_back(), "asked", ()),
        ({"unanswerable": True}, held_back("failed"), "failed", ("an answer",)),
    ],
)  # fmt: skip
def test_an_outcome_is_judged_by_what_must_hold(wanted, outcome, verdict, broken):
    judgement = judged(outcome, **wanted)

    assert (judgement.verdict, judgement.broken) == (verdict, broken)


def test_a_footnote_is_of_the_heading_over_its_quote_where_a_passage_goes_over_several(tmp_path):
    text = "# Handbook\n\n## Sick leave\n\nA note is needed.\n\n## Holidays\n\nEveryone has 30 days.\n"
    (tmp_path / "handbook.md").write_text(text)
    corpus = Corpus.of([("handbook.md", str(tmp_path / "handbook.md"))])
    quote = "Everyone has 30 days."
    start = text.index(quote)
    footnote = Citation(
        number=1, title="Handbook", location="Handbook", source="handbook.md", quote=quote, start=start,
        end=start + len(quote), collection="default",
    )  # fmt: skip

    headings = ("Handbook", "holidays", "Sick leave")
    assert [corpus.is_cited(f"handbook.md#{each}", footnote) for each in headings] == [True, True, False]


def test_a_source_is_meant_by_its_name_below_the_folder_before_all_that_end_so():
    names = ("index.md", "how-to/index.md", "how-to/a.md")
    corpus = Corpus.of(("docs/" + name, "/d/" + name) for name in names)

    assert corpus.sources_named("index.md") == {"docs/index.md"}
    assert corpus.sources_named("a.md") == {"docs/how-to/a.md"}
    assert (
        corpus.sources_named("/d/how-to/a.md")
        == corpus.sources_named("docs/how-to/a.md")
        == {"docs/how-to/a.md"}
    )
    assert corpus.sources_named("o/a.md") == corpus.sources_named("a") == frozenset()


@pytest.mark.parametrize(
    ("words", "is_there"),
    [("18 euros", True), ("18 Euros", True), ("18", True), ("1", False), ("8 euros", False), ("euro", False)],
)
def test_expected_words_occur_whole_whatever_their_case_and_emphasis(words, is_there):
    assert occurs(words, normalized("A night costs **18\neuros** [1].")) is is_there


SAID = "A night at the visitors' pontoon costs 18 euros for a boat of ten metres, with `shore power`. [1]"


@pytest.mark.parametrize(
    ("reference", "missing"),
    [
        ("18 euros", ()),
        ("A night costs 18 euros for boats of ten metres.", ()),
        ("It costs 18 euros. `shore power` is included.", ()),
        ("A night at the pontoon costs 21 euros.", ("A night at the pontoon costs 21 euros.",)),
        ("A night costs 18 euros. Pay at the `quay office`.", ("Pay at the `quay office`.",)),
        ("The office opens at seven in the morning.", ("The office opens at seven in the morning.",)),
    ],
)
def test_an_answer_says_a_reference_with_its_numbers_its_code_and_most_of_its_words(reference, missing):
    assert facts_missing(reference, SAID) == missing


# Several runs


class Replies:
    """An assistant whose replies to a question are given, run by run."""

    def __init__(self, **replies):
        self.replies, self.asked, self.forgotten = replies, [], []

    async def run(self, turn):
        assert turn.is_test
        self.asked.append((turn.conversation, turn.author, turn.text))
        own = self.replies[turn.text]
        return own.pop(0) if len(own) > 1 else own[0]

    async def forget(self, conversation):
        self.forgotten.append(conversation)


def examine(assistant, *cases, runs=3):
    async def judged(case, outcome):
        return judge(case, outcome, CORPUS)

    async def all_of_them():
        caller = Caller(platform="cli", space="local", channel="terminal", author="ada")
        examiner = Examiner(
            assistant=assistant, judge=judged, callers={"": caller, "hr": replace(caller, author="hr")}, sources=(),
            runs=runs, slots=asyncio.Semaphore(4), on_answer=lambda: None,
        )  # fmt: skip
        return await examiner.examine(cases)

    return asyncio.run(all_of_them())


def asks(text, **more):
    return Case(line=1, id=text, question=text, contains=("nine",), **more)


@pytest.mark.parametrize(
    ("texts", "runs", "verdict", "held", "asked"),
    [
        (["nine"], 3, "holds", 1, 1),
        (["ten", "ten", "nine"], 3, "fails", 0, 2),
        (["ten", "nine", "nine"], 3, "flaky", 2, 3),
        (["ten", "nine", "ten"], 3, "flaky", 1, 3),
        (["ten", "nine"], 2, "flaky", 1, 2),
        (["ten", "nine"], 1, "fails", 0, 1),
    ],
)
def test_a_question_that_fails_is_asked_until_two_runs_agree(texts, runs, verdict, held, asked):
    assistant = Replies(When=[answered(f"At {text}.", cites=()) for text in texts])

    (judgement,) = examine(assistant, asks("When"), runs=runs)

    assert (judgement.verdict, judgement.held, len(assistant.asked)) == (verdict, held, asked)
    assert "ten" in judgement.outcome.answer.text or verdict == "holds"  # the run that failed is shown


def test_a_thread_is_asked_in_order_in_one_conversation_and_again_as_far_as_it_failed():
    nine, ten = answered("At nine.", cites=()), answered("At ten.", cites=())
    assistant = Replies(One=[nine], Two=[ten, nine], Three=[nine], Alone=[nine])
    thread = [replace(asks(text), line=n, thread="sark") for n, text in enumerate(("One", "Two", "Three"))]

    judgements = examine(assistant, *thread, replace(asks("Alone"), line=9, whom="hr"), runs=2)

    assert [each.verdict for each in judgements] == ["holds", "flaky", "holds", "holds"]
    asked = {}
    for conversation, author, text in assistant.asked:
        asked.setdefault((conversation, author), []).append(text)
    assert sorted(map(tuple, asked.values())) == [("Alone",), ("One", "Two"), ("One", "Two", "Three")]
    assert {author for (_, author), texts in asked.items() if texts == ["Alone"]} == {"hr"}
    assert sorted(each.thread for each in assistant.forgotten) == sorted(each.thread for each, _ in asked)


# What has changed


def ended(verdict="holds", *quotes):
    return Ended(verdict=verdict, quotes=tuple((quote, "ferry.md") for quote in quotes))


def ran(**ended):
    return Run(made="yesterday", figures={"right": 0.5}, ended=ended)


def test_what_broke_what_is_mended_and_what_is_quoted_otherwise_is_told():
    before = ran(
        a=ended("holds"), b=ended("fails"), c=ended("holds", "At nine."), d=ended("flaky"), e=ended()
    )
    now = ran(a=ended("fails"), b=ended("holds"), c=ended("holds", "At ten."), d=ended("fails"), f=ended())

    changes = Changes.between(before, now)

    assert (changes.broke, changes.mended, changes.otherwise, changes.new, changes.gone) == (
        ("a",), ("b",), ("c",), ("f",), ("e",),
    )  # fmt: skip
    assert str(changes) == "1 broke, 1 mended, 1 answered otherwise, 1 new, 1 gone"
    assert str(Changes.between(now, now)) == "nothing has changed"
    rows = sections.since(changes, "T").tables[0].rows
    assert ("otherwise", "c", "holds: “At nine.” (ferry.md)", "holds: “At ten.” (ferry.md)") in rows


def test_a_run_is_loaded_as_it_was_saved_and_each_file_has_its_own(tmp_path):
    place, other = (last_run.file_for(tmp_path, tmp_path / name) for name in ("a.yaml", "b.yaml"))
    run = ran(a=ended("fails", "At nine.", "At ten."))

    last_run.save(ran(), place)
    last_run.save(run, place)

    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert last_run.load(place) == run
    assert last_run.load(other) is None
    place.write_text('{"made": ')
    assert last_run.load(place) is None


def shown(judgements, changes=None):
    console = Console(width=80, record=True, file=io.StringIO())
    for part in render.layouts("footnote-test.yaml", judgements, changes):
        console.print(part)
    return "\n".join(each.rstrip() for each in console.export_text().splitlines())


def test_a_failure_shows_what_was_expected_and_what_is_quoted_beside_what_was():
    judgement = judged(answered(cites=(citation(quote="It leaves at ten."),)), contains=("half past ten",))
    before = ran(a=ended("holds", "It leaves at half past ten."))

    told = shown([judgement], Changes.between(before, Run.of([judgement], "now", {})))

    assert told == (
        "\n✗ When does the ferry leave?  broke since the last run\n"
        "    expected  “half past ten”\n"
        "    was       “It leaves at half past ten.” (ferry.md)\n"
        "    answered  “It leaves at ten.” (docs/ferry.md)\n"
        "    where     a, footnote-test.yaml:1\n"
        "\nSince the run of yesterday: 1 broke."
    )


def test_of_two_long_quotes_the_part_that_differs_is_shown():
    alike = "The ferry is a boat. " * 20
    judgement = judged(answered(cites=(citation(quote=f"{alike}It leaves at ten."),)), unanswerable=False)
    before = ran(a=ended("holds", f"{alike}It leaves at nine."))

    told = shown([judgement], Changes.between(before, Run.of([judgement], "now", {})))

    assert "It leaves at nine." in told
    assert "It leaves at ten." in told
    assert "1 question as expected, answered otherwise" in told


# Figures


def some():
    """Ten questions whose shares are known."""
    held = {"cites": ("ferry.md",)}
    given = (
        *((answered(), held),) * 4,
        (answered(cites=(citation("docs/harbour.md"),)), held),
        (held_back(), held),
        (answered(), {"unanswerable": True}),
        *((held_back(), {"unanswerable": True, "tags": ("off topic",)}),) * 3,
    )
    return [judged(outcome, id=str(n), **wanted) for n, (outcome, wanted) in enumerate(given)]


def test_shares_are_counted_over_what_they_are_shares_of():
    section = sections.answers(some())

    assert section.figures == {
        "right": pytest.approx(4 / 6), "wrongly_held_back": pytest.approx(1 / 6), "held_back": pytest.approx(3 / 4),
    }  # fmt: skip
    assert {row[0]: row[1:5] for row in section.tables[0].rows} == {
        "without a tag": (7, 4, 0, 3), "off topic": (3, 3, 0, 0), "all": (10, 7, 0, 3),
    }  # fmt: skip


def test_time_and_cost_are_those_of_what_was_timed_and_paid():
    usage = Usage(
        name="m", calls=4, round_trips=3, input_tokens=2_000, output_tokens=500, cost=0.5, currency="EUR"
    )
    timed = [answered(timing_ms={"total": float(ms)}, usage=usage) for ms in range(1, 101)]

    section = sections.costs([*timed, held_back("failed")], "one at a time")

    assert section.figures == {
        "median_ms": 50.5, "p95_ms": 95.0, "calls": 400, "round_trips": 300, "input_tokens": 200_000,
        "output_tokens": 50_000, "cost": 50.0,
    }  # fmt: skip
    assert ("EUR in all", 50.0) in section.tables[0].rows
    assert sections.costs([answered()], "one at a time").figures.keys() == {"median_ms", "p95_ms"}


# JUnit

#: What both published schemas know: that of Ant's reports and Jenkins' junit-10. The attributes, then the parts in order.
SCHEMA = {
    "testsuites": (set(), ["testsuite"]),
    "testsuite": (
        {"name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"},
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), []), "system-out": (set(), []), "system-err": (set(), []), "skipped": (set(), []),
    "testcase": ({"classname", "name", "time"}, ["skipped", "error", "failure"]),
    "failure": ({"message", "type"}, []), "error": ({"message", "type"}, []),
}  # fmt: skip


def check(element):
    attributes, parts = SCHEMA[element.tag]
    assert set(element.attrib) == attributes
    order = [parts.index(part.tag) for part in element]
    assert order == sorted(order)
    for part in element:
        check(part)


def test_junit_has_the_elements_of_the_published_schemas_and_counts_them():
    flaky = replace(judged(answered()), verdict="flaky", held=1, runs=3)
    failed = judged(held_back("failed", reason="Out of reach."), unanswerable=False)
    judgements = [*some(), failed, judged(answered()), flaky]

    root = ET.fromstring(junit.as_xml({"q.yaml": judgements}, "2026-11-28T10:00:00"))

    check(root)
    (suite,) = root
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "13", "failures": "3", "errors": "1", "skipped": "1"}
    assert [each.tag for each in root.iter() if each.tag in ("failure", "error", "skipped")] == [
        "failure", "failure", "failure", "error", "skipped",
    ]  # fmt: skip
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp"))
    assert suite.find("system-out").text == "flaky: a held in 1 of 3 runs"
    assert suite.find("testcase[@name='5']/failure").get("message") == "expected an answer"


def test_no_sign_of_a_document_makes_xml_that_is_refused():
    hostile = "a\x00b\x1b[31m]]>&<\ud800\ufffe\"'\x85\u202e"
    judgement = judged(answered(cites=(citation(quote=hostile),)), contains=(f"other {hostile}",), id=hostile)

    root = ET.fromstring(junit.as_xml({hostile: [judgement]}, "2026-11-28T10:00:00").encode())

    check(root)
    assert "]]>&<\"'" in root.find("testsuite/testcase/failure").text
