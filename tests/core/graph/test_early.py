"""The first sentences of an answer are checked and shown while the rest is written."""

from __future__ import annotations

import asyncio
import re

import pytest
from fakes.scripted import (
    OTHER,
    ScriptedDocuments,
    ScriptedReasoner,
    ScriptedWeb,
    assistant_over,
    decision,
    hit,
    question,
    web_hit,
)

from core.conversation import Usage
from core.grounding.citations import merge_footnotes
from core.reasoning.reasoner import Draft, Plan
from core.wording import Sentence

LONG = hit(
    "The tower is 300 metres tall. It was built in 1889. It has three floors. Visitors climb 674 steps. "
    "Lifts run from nine. Tickets are sold below."
)
TALL, BUILT, FLOORS = (
    "The tower is 300 metres tall. [1]",
    "It was built in 1889. [1]",
    "It has three floors. [1]",
)
STEPS, LIFTS = "Visitors climb 674 steps. [1]", "Lifts run from nine. [1]"
FALSE = "It sank in 1890. [1]"


def writes(*sentences: str):
    return lambda _ask, _strips: Draft(text=" ".join(sentences), composed=True)


async def watched(folder, reasoner, *, documents=None, ask=question, turn=None, **more):
    """The outcome, and the texts that were shown before it."""
    seen = []
    folder.mkdir(exist_ok=True)

    async with assistant_over(
        folder, reasoner, documents or ScriptedDocuments(default=(LONG,)), **more
    ) as assistant:
        outcome = await assistant.run(turn or ask(), seen.append)
    return outcome, [each.answer.text if each.answer else "" for each in seen], seen


def words(text: str) -> str:
    return re.sub(r"\s*\[\d\]", "", text)


async def test_the_first_sentence_is_shown_while_the_rest_is_written_and_the_end_begins_with_it(tmp_path):
    reasoner = ScriptedReasoner(writes=writes(TALL, BUILT, FLOORS, STEPS, LIFTS))

    outcome, shown, seen = await watched(tmp_path, reasoner)

    first = next(filter(None, shown))
    assert words(first) == "The tower is 300 metres tall."
    assert next(each.stage for each in seen if each.answer) == "writing"
    assert all(merge_footnotes(outcome.answer).text.startswith(each) for each in shown)
    assert words(outcome.answer.text) == words(f"{TALL} {BUILT} {FLOORS} {STEPS} {LIFTS}")


async def test_a_note_that_comes_later_keeps_what_was_shown(tmp_path):
    _, shown, seen = await watched(tmp_path, ScriptedReasoner(writes=writes(TALL, BUILT, FLOORS)))

    begun = next(number for number, text in enumerate(shown) if text)
    assert seen[-1].stage == "verifying"
    assert all(shown[begun:])


async def test_a_sentence_is_confirmed_by_two_votes_and_not_judged_again(tmp_path):
    judged = []

    class Judge(ScriptedReasoner):
        async def confirm(self, statements, strips, ballot=0):
            judged.append(("early", ballot, [each.text for each in statements]))
            return await super().confirm(statements, strips, ballot)

        async def check_grounding(self, statements, strips, ballot=0):
            judged.append(("whole", ballot, [each.text for each in statements]))
            return await super().check_grounding(statements, strips, ballot)

    await watched(tmp_path, Judge(writes=writes(TALL, BUILT, FLOORS)))

    early = [one for one in judged if one[0] == "early"]
    later = [one for one in judged if one[0] == "whole"]
    assert [ballot for _, ballot, _ in early] == [0, 1]
    assert early[0][2] == ["The tower is 300 metres tall."]
    assert [texts for _, _, texts in later] == [["It was built in 1889.", "It has three floors."]] * 2


async def test_what_a_judge_does_not_confirm_is_never_shown_before_the_end(tmp_path):
    def unsupported(texts):
        return [place for place, text in enumerate(texts, start=1) if "sank" in text]

    reasoner = ScriptedReasoner(writes=writes(TALL, FALSE, FLOORS), unsupported=unsupported)
    outcome, shown, _ = await watched(tmp_path / "later", reasoner)

    assert any(shown)
    assert not any("sank" in each for each in shown)
    assert words(outcome.answer.text) == "The tower is 300 metres tall. It has three floors."

    reasoner = ScriptedReasoner(writes=writes(FALSE, TALL, FLOORS), unsupported=unsupported)
    outcome, shown, _ = await watched(tmp_path / "first", reasoner)

    assert not any(shown)
    assert words(outcome.answer.text) == "The tower is 300 metres tall. It has three floors."


async def test_one_judge_of_two_is_not_enough_to_show_a_sentence(tmp_path):
    class Doubting(ScriptedReasoner):
        async def confirm(self, statements, strips, ballot=0):
            return frozenset() if ballot else await super().confirm(statements, strips, ballot)

    outcome, shown, _ = await watched(tmp_path, Doubting(writes=writes(TALL, BUILT, FLOORS)))

    assert not any(shown)
    assert words(outcome.answer.text) == words(f"{TALL} {BUILT} {FLOORS}")  # the whole check decides


async def test_a_sentence_with_a_number_that_its_source_has_not_waits_for_the_whole_check(tmp_path):
    reasoner = ScriptedReasoner(writes=writes("The tower is 320 metres tall. [1]", BUILT, FLOORS))

    _, shown, _ = await watched(tmp_path, reasoner)

    assert not any(shown)
    assert "confirm" not in reasoner.calls


async def test_nothing_is_shown_where_the_documents_were_not_found_to_be_enough(tmp_path):
    reasoner = ScriptedReasoner(
        writes=writes(TALL, BUILT, FLOORS), sufficient=False, plans=lambda ask: Plan(route="documents", standalone=ask.question)
    )  # fmt: skip

    _, shown, _ = await watched(tmp_path, reasoner)

    assert not any(shown)


async def test_nothing_is_shown_of_an_answer_that_nobody_asked_for(tmp_path):
    reasoner = ScriptedReasoner(writes=writes(TALL, BUILT, FLOORS))
    documents = ScriptedDocuments(default=(LONG,), confidence=1.0)

    _, shown, _ = await watched(tmp_path, reasoner, documents=documents, turn=question(is_addressed=False))

    assert not any(shown)
    assert "confirm" not in reasoner.calls


async def test_nobody_who_watches_means_no_early_check(tmp_path):
    reasoner = ScriptedReasoner(writes=writes(TALL, BUILT, FLOORS))

    async with assistant_over(tmp_path, reasoner, ScriptedDocuments(default=(LONG,))) as assistant:
        await assistant.run(question())

    assert "confirm" not in reasoner.calls


async def test_a_collection_that_is_closed_meanwhile_shows_nothing_of_it(tmp_path):
    async def closed_by_now():
        return frozenset()

    reasoner = ScriptedReasoner(writes=writes(TALL, BUILT, FLOORS))

    outcome, shown, _ = await watched(tmp_path, reasoner, look_up_rights=closed_by_now)

    assert not any(shown)
    assert outcome.kind == "no_answer"


async def test_a_draft_ahead_of_its_grades_is_shown_once_they_are_there_and_never_if_they_reject_it(tmp_path):
    graded = asyncio.Event()

    class Slow(ScriptedReasoner):
        async def grade(self, ask, passages):
            await graded.wait()
            return await super().grade(ask, passages)

        async def confirm(self, statements, strips, ballot=0):
            graded.set()  # while the passages are graded, the sentence is judged
            return await super().confirm(statements, strips, ballot)

    documents = ScriptedDocuments(default=(LONG, OTHER), confidence=0.95)
    model = Usage(name="model")
    text = writes(TALL, BUILT, FLOORS)

    _, shown, _ = await watched(tmp_path / "kept", Slow(writes=text, usage=model), documents=documents)
    assert any(shown)

    graded.clear()
    rejecting = Slow(
        writes=text,
        usage=model,
        relevance=lambda found: "incorrect" if found.passage.id == "1" else "correct",
    )
    _, shown, _ = await watched(tmp_path / "dropped", rejecting, documents=documents)
    assert not any(shown)


async def test_after_an_approved_search_the_first_sentence_of_the_web_answer_is_shown_early_too(tmp_path):
    seen = []
    web = ScriptedWeb(hits=(web_hit(LONG.passage.text),))
    reasoner = ScriptedReasoner(
        sufficient=iter([False, False, False, True, True, True]).__next__, writes=writes(TALL, BUILT, FLOORS)
    )

    async with assistant_over(tmp_path, reasoner, ScriptedDocuments(default=()), web=web) as assistant:
        proposed = await assistant.run(question())
        reasoner.sufficient = True
        outcome = await assistant.run(decision(proposed.proposal.id), seen.append)

    assert outcome.answer.grounding == "web"
    assert any(each.answer for each in seen)


async def test_another_draft_replaces_what_was_shown_and_is_checked_as_a_whole(tmp_path):
    drafts = iter([(TALL, FALSE, FLOORS), (BUILT, FLOORS)])
    reasoner = ScriptedReasoner(
        useful=lambda: reasoner.calls.count("write") == 2,
        writes=lambda _ask, _strips: Draft(text=" ".join(next(drafts)), composed=True),
        unsupported=lambda texts: [place for place, text in enumerate(texts, start=1) if "sank" in text],
    )

    outcome, shown, _ = await watched(tmp_path, reasoner)

    assert words(shown[-1]) == "The tower is 300 metres tall."  # it stands until the end, and is true
    assert words(outcome.answer.text) == words(f"{BUILT} {FLOORS}")


@pytest.mark.parametrize("confidence", [0.6, 0.95], ids=["after the grades", "ahead of them"])
async def test_what_was_shown_stays_where_the_rest_never_comes_and_the_end_says_why(tmp_path, confidence):
    class Silent(ScriptedReasoner):
        """Its model falls silent in the middle of a draft."""

        async def write(self, ask, strips, before=None, hear=None):
            for text in (f"{TALL} It", f"{TALL} {BUILT} It"):
                hear(Draft(text=text, composed=True))
                for _ in range(5):
                    await asyncio.sleep(0)
            self.trouble = Sentence("model_silent")
            return Draft(text="", composed=False, quotes=tuple(strip.number for strip in strips))

    documents = ScriptedDocuments(default=(LONG,), confidence=confidence)
    reasoner = Silent(usage=Usage(name="model"))

    outcome, shown, _ = await watched(tmp_path, reasoner, documents=documents)

    assert words(shown[-1]) == "The tower is 300 metres tall."
    assert words(outcome.answer.text) == "The tower is 300 metres tall."
    assert outcome.answer.composed
    assert outcome.reason == "The model did not answer in time."


async def test_a_sentence_that_a_model_says_again_and_again_is_shown_once(tmp_path):
    outcome, shown, _ = await watched(tmp_path, ScriptedReasoner(writes=writes(TALL, *[BUILT] * 9)))

    assert max(each.count("1889") for each in shown) <= 1
    assert "1889" in outcome.answer.text
