"""What people taught beside documents that say the same, something else, or nothing about it, through the real client.

Each case of ``tests/benchmarks/evaluation/disputes.jsonl`` has what a language model replied, by hand, to the prompts of that
question: how it graded each passage, what it found disputed and what it wrote. Passages are named by words of theirs.
"""

from __future__ import annotations

import json
import re

import pytest
from benchmarks import EVALUATION
from fakes.gemini import FakeGemini, default_reply

from core.answers.store import KeptAnswer, id_of
from core.bootstrap import open_footnote, reads_everything
from core.conversation import Conversation, Question
from core.settings import Settings
from core.traces.log import DAY

NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
CASES = [
    json.loads(line) for line in (EVALUATION / "disputes.jsonl").read_text(encoding="utf-8").splitlines()
]
ALWAYS = ("number", "agrees", "two-people", "hostile")


def numbers_of(call, label):
    """The number of each quoted block, by its text without its title."""
    found = re.findall(rf"<<\w+ {label} (\d+)>>\n[^\n]*\n(.*?)\n<<\w+ end>>", call.prompt, re.DOTALL)
    return {text: int(number) for number, text in found}


def named(numbers, words):
    return next((number for text, number in numbers.items() if words in text), None)


def replies(case):
    """The model of a case: what was replied by hand, with the numbers that the prompts give."""

    def grade(call):
        passages = numbers_of(call, "passage")
        verdicts = [
            {"passage": number, **case["relevance"][words]}
            for words in case["relevance"]
            if (number := named(passages, words))
        ]
        disputed = [[named(passages, words) for words in each] for each in case["disputed"]]
        whole = [each for each in disputed if None not in each]
        return {"passages": verdicts, "sufficient": case["sufficient"], "missing": "", "disputed": whole}

    def write(call):
        strips = numbers_of(call, "strip")
        text = re.sub(r"\{(.*?)\}", lambda words: str(named(strips, words[1]) or ""), case["draft"])
        return text.replace(" []", "")

    steps = {"grade": grade, "write": write, "grounding": lambda _: {"unsupported": []}}
    return lambda step, call: steps.get(step, default_reply)(call)


def taught_in(case):
    for number, said in enumerate(case["taught"]):
        at = NOON + number * DAY
        yield KeptAnswer(
            id=id_of(str(number)), question=said["question"], text=said["text"], author=f"U{number}",
            name=said["name"], place="#help", conversation="", message=str(number), url=None, collection="default",
            language="en", said_at=at, kept_at=at, valid_until=at,
        )  # fmt: skip


async def asked(case, folder):
    """The outcome, and the sources that dispute each answer that was taught, by its id."""
    (folder / "docs").mkdir()
    for name, text in case["documents"].items():
        (folder / "docs" / name).write_text(text)
    async with FakeGemini(reply=replies(case), api_key="key") as gemini:
        settings = Settings(
            data_dir=folder / "data", google_api_key="key", google_gemini_base_url=gemini.base_url,
            embedding_model="none", web_search="off",
        )  # fmt: skip
        async with open_footnote(settings, purpose="test", reads=reads_everything) as footnote:
            footnote.answers.now = lambda: NOON
            footnote.library.ingest([folder / "docs"])
            for answer in taught_in(case):
                await footnote.answers.keep(answer)
                await footnote.answers.use(answer.id)
            place = Conversation(platform="test", space="s", channel="c", thread="1")
            question = Question(id="q", conversation=place, author="a", text=case["question"], asked_at=NOON)
            outcome = await footnote.assistant.run(question)
            listed = await footnote.answers.list_answers()
    return outcome, {each.answer.id: each.disputed_by for each in listed}


def expected(case):
    """The ids of the answers that documents dispute."""
    return {
        answer.id for answer in taught_in(case) if any(words in answer.text for words, *_ in case["disputed"])
    }


def words_of(text):
    """Without footnotes."""
    return re.sub(r"\[[^\]]*\]", "", text).split()


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["id"], marks=[] if case["id"] in ALWAYS else pytest.mark.long) for case in CASES],
)  # fmt: skip
async def test_an_answer_gives_each_side_and_editors_see_what_documents_dispute(case, tmp_path):
    outcome, disputed = await asked(case, tmp_path)

    assert words_of(outcome.answer.text) == words_of(case["draft"])
    assert {answer for answer, sources in disputed.items() if sources} == expected(case)
