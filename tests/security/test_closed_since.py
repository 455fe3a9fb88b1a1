"""What was written while it might be read, and is shown, sent or told once its document is closed.

A model's words may come from what was said before in the thread: of a document that its own turn neither cites nor
looked at.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from urllib.parse import quote

import pytest
from fakes.assistants import open_mcp_desk, over_http
from fakes.crews import ask_on_page, name, secret, turns_in
from fakes.desk import open_desk
from fakes.drafts import blocks_of
from fakes.gemini import FakeGemini, Hang, Paused, default_reply
from fakes.mixed_source import Harbour
from fakes.patience import PATIENCE
from fakes.sources import ADDRESS
from mcp_types import ElicitResult

from bots.mcp.callers import reader_named
from bots.testing import drafting
from core import priority
from core.conversation import Answer, Citation, Conversation, Outcome, Progress, Question
from core.graph import asking
from core.sources.sources import SourceSyncs
from core.traces.trace import Trace

FEW = frozenset({"p1@harbour.example"})
DEFAULT = frozenset({"default"})
ITEMS = 40  # more than one question looks at


async def synced(footnote, harbour):
    shelf = harbour.shelf
    syncs = SourceSyncs(
        library=footnote.library, store=footnote.sources.store, settings=footnote.settings, kinds=shelf.kinds
    )
    await syncs.ingest(ADDRESS, collection="default")


class Opened:
    """A document that everybody may read, until few may."""

    def __init__(self):
        self.harbour = Harbour(random=Random(23), items=ITEMS)
        restricted = self.harbour.shelf.restricted
        self.other, *_, self.number = (number for number in range(ITEMS) if f"m{number}" not in restricted)
        self.asked = f"What is the passphrase of the {name(self.number)} mooring?"
        self.secret = secret(self.number)

    async def close(self, footnote):
        self.harbour.shelf.restrict(FEW, f"m{self.number}")
        await synced(footnote, self.harbour)


@asynccontextmanager
async def modelled(opening, folder, opened, **settings):
    """The desk that ``opening`` opens over a model, and the model."""
    async with FakeGemini() as model:
        given = {"google_api_key": model.api_key, "google_gemini_base_url": model.base_url, **settings}
        async with opening(folder, **given) as desk:
            await synced(desk.footnote, opened.harbour)
            yield desk, model


def asking_back(opened):
    """What a planner says that read the answer before."""
    options = [f"Whether {opened.secret} opens the door", "Something else"]
    return planned(route="clarify", reply="Which?", options=options)


def planned(**more):
    return {
        "route": "documents", "standalone": "", "queries": [], "web_query": "", "reply": "", "options": [], **more,
    }  # fmt: skip


async def follow_up(desk, browser, thread, text):
    """The page of the thread once this is answered."""
    _, _, headers = await browser.post(f"/threads/{thread}", text=text)
    assert headers["Location"]
    async with asyncio.timeout(PATIENCE):
        while (await turns_in(desk, thread))[-1].outcome is None:  # noqa: ASYNC110 - no event says when
            await asyncio.sleep(0.02)
    return (await browser.get(f"/threads/{thread}"))[1]


def thread_in(page):
    _, thread, _ = re.split(r'data-thread="([^"]+)"', page)
    return thread


async def test_a_question_back_with_words_of_an_earlier_answer_is_withheld_on_the_page(tmp_path):
    opened = Opened()
    async with modelled(open_desk, tmp_path, opened) as (desk, model):
        reader = await desk.browser("editor", collections=DEFAULT)
        first = await ask_on_page(desk, reader, opened.asked)
        thread = thread_in(first)
        model.queue("plan", asking_back(opened))
        before = await follow_up(desk, reader, thread, "And what does it open?")
        await opened.close(desk.footnote)
        after = (await reader.get(f"/threads/{thread}"))[1]

    assert opened.secret in first
    assert f"Whether {opened.secret}" in before
    assert opened.secret not in after


async def test_a_question_back_with_words_of_an_earlier_answer_is_withheld_over_mcp(tmp_path):
    opened = Opened()
    async with (
        modelled(open_mcp_desk, tmp_path, opened) as (desk, model),
        over_http(desk.url, await desk.token("default")) as assistant,
    ):
        first = await assistant.ask(opened.asked)
        model.queue("plan", asking_back(opened))
        again = {"thread": first["thread"], "request_id": "r2"}
        before = await assistant.ask("And what does it open?", **again)
        await opened.close(desk.footnote)
        after = await assistant.ask("And what does it open?", **again)

    assert opened.secret in str(before)
    assert opened.secret not in str(after)


async def test_a_question_back_is_not_remembered_once_what_it_is_from_is_closed(tmp_path):
    opened = Opened()
    async with (
        modelled(open_mcp_desk, tmp_path, opened) as (desk, model),
        over_http(desk.url, await desk.token("default")) as assistant,
    ):
        first = await assistant.ask(opened.asked)
        model.queue("plan", asking_back(opened) | {"reply": f"Do you mean {opened.secret}?"})
        await assistant.ask("And what does it open?", thread=first["thread"])
        await opened.close(desk.footnote)
        model.calls.clear()
        await assistant.ask("The first of these, please: what is it?", thread=first["thread"])

    assert model.calls
    assert [call.step for call in model.calls if opened.secret in call.prompt] == []


@pytest.mark.parametrize("outcome", ["answered", "not answered"])
async def test_a_trace_and_a_gap_with_words_of_an_earlier_answer_are_closed_with_its_document(
    outcome, tmp_path
):
    opened = Opened()
    understood = f"What else does {opened.secret} open?"
    async with modelled(open_desk, tmp_path, opened, trace_texts=True) as (desk, model):
        reader = await desk.browser("editor", collections=DEFAULT)
        operator = await desk.browser("editor")
        page = await ask_on_page(desk, reader, opened.asked)
        thread = thread_in(page)
        model.queue("plan", planned(standalone=understood))
        if outcome == "not answered":
            model.reply = lambda step, call: "NO_ANSWER" if step == "write" else None
            model.queue(
                "grade", {"passages": [], "sufficient": False, "missing": f"what {opened.secret} opens"}
            )
        await follow_up(desk, reader, thread, f"What is the passphrase of the {name(opened.other)} mooring?")
        (_, second) = await turns_in(desk, thread)
        traced = f"/questions/{quote(second.turn.id, safe='')}"
        paths = (
            traced,
            "/gaps?state=all",
            f"/gaps/{quote(second.turn.id, safe='')}",
            "/questions",
            "/questions.csv",
        )
        before = [(await reader.get(path))[1] for path in (*paths, "/gaps.csv")]
        await opened.close(desk.footnote)
        after = {path: (await reader.get(path))[1] for path in (*paths, "/gaps.csv")}
        by_operator = (await operator.get(traced))[1]

    assert opened.secret in before[0]
    assert [path for path, shown in after.items() if opened.secret in shown] == []
    assert opened.secret in by_operator


def slowly(goes_on):
    """A writer that stops in the middle, after sentences that may be shown by then."""

    def reply(step, call):
        if step != "write":
            return None
        strips = [
            (each.number, each.text.partition("\n")[2].strip()) for each in blocks_of(call.prompt, ["strip"])
        ]
        text = " ".join(f"{text} [{number}]" for number, text in strips[:4])
        return Paused(text, at=len(text) - 30, goes_on=goes_on)

    return reply


async def test_a_turn_that_was_cut_off_shows_no_beginning_of_what_was_closed_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(
        asking, "may_pay", lambda *_: False
    )  # so that it is graded, and stored, before it is written
    opened = Opened()
    asked = Question(
        id="q1", conversation=Conversation(platform="slack", space="T1", channel="C0", thread="1"), author="U0",
        text=opened.asked, asked_at=time.time(),
    )  # fmt: skip
    shown, goes_on = [], asyncio.Event()

    async with modelled(open_desk, tmp_path, opened) as (desk, model):
        desk.channels.people["slack"] = opened.harbour
        assistant = desk.footnote.assistant
        model.reply = lambda step, _call: Hang() if step == "write" else None
        running = asyncio.create_task(assistant.run(asked, is_queued=True))
        await model.until_step("write")
        running.cancel()
        await asyncio.wait([running])
        cut_off = (await assistant._open(asked.conversation)).state["work"]
        await opened.close(desk.footnote)
        model.calls.clear()
        model.reply = slowly(goes_on)
        again = asyncio.create_task(
            assistant.run(asked, lambda each: shown.append(each.answer), is_queued=True)
        )
        async with asyncio.timeout(PATIENCE):
            while not any(shown):  # noqa: ASYNC110 - of what is still open, a beginning is shown
                await asyncio.sleep(0.02)
        goes_on.set()
        outcome = await again

    assert opened.secret in repr(cut_off.passages)
    assert opened.secret not in repr(outcome)
    assert [each for each in shown if opened.secret in repr(each)] == []


async def test_no_beginning_is_shown_of_what_is_closed_while_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(priority, "LONGEST_WAY", 0.001)  # seconds that the sync waits for the turn
    opened, shown, goes_on = Opened(), [], asyncio.Event()
    async with modelled(open_mcp_desk, tmp_path, opened) as (desk, model):
        writes = slowly(goes_on)

        async def reply(step, call):
            if step == "write":
                await opened.close(desk.footnote)
            return writes(step, call) or default_reply(call)

        model.reply = reply
        async with over_http(desk.url, await desk.token("default")) as assistant:
            asking = asyncio.create_task(assistant.ask(opened.asked))
            async with asyncio.timeout(PATIENCE):
                while sum(each.step == "confirm" and each.ended < math.inf for each in model.calls) < 2:  # noqa: ASYNC110 - no event says when
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.5)  # in which it would be shown
            goes_on.set()
            outcome = await asking
            shown = assistant.steps

    assert opened.secret not in str(outcome)
    assert [each for each in shown if opened.secret in each] == []


async def test_a_search_that_nobody_decided_about_is_shown_once_more_only_while_its_words_may_be_read(
    tmp_path,
):
    opened = Opened()
    async with modelled(open_mcp_desk, tmp_path, opened, web_search="duckduckgo") as (desk, model):

        async def close_the_form(_message, _schema):
            await opened.close(desk.footnote)
            return ElicitResult(action="cancel")

        token = await desk.token("default")
        async with over_http(desk.url, token, decide=close_the_form) as assistant:
            first = await assistant.ask(opened.asked)
            model.reply = lambda step, _call: "NO_ANSWER" if step == "write" else None
            model.queue("plan", planned(web_query=f"doors that {opened.secret} opens"))
            model.queue("grade", {"passages": [], "sufficient": False, "missing": ""})
            after = await assistant.ask("Which doors does it open?", thread=first["thread"])

    (shown,) = assistant.asked
    assert opened.secret in shown
    assert opened.secret not in str(after)


async def test_the_beginning_of_an_answer_stands_on_the_page_only_while_its_document_may_be_read(tmp_path):
    opened = Opened()
    async with modelled(open_desk, tmp_path, opened) as (desk, _):
        reader = await desk.browser("editor", collections=DEFAULT)
        thread = thread_in(await ask_on_page(desk, reader, opened.asked))
        (first,) = await turns_in(desk, thread)
        second = replace(first.turn, id="page-0002", asked_at=first.turn.asked_at + 1)
        await desk.threads.put(second)
        progress = Progress(stage="writing", answer=first.outcome.answer)
        await desk.threads.note(second.id, "Writing…", progress)
        path = f"/threads/{thread}/turns/{second.id}"
        before = (await reader.get(path))[1]
        await opened.close(desk.footnote)
        after = (await reader.get(path))[1]

    assert opened.secret in before
    assert opened.secret not in after


async def test_a_file_of_questions_has_none_whose_document_was_closed_nor_words_that_others_read(tmp_path):
    """It may go into a repository that anybody reads."""
    opened, here = Opened(), Conversation(platform="slack", space="T1", channel="C0", thread="1")
    answered = Outcome(kind="answered", turn_id="q0", answer=Answer(
        text="Ask Ann. [1]", grounding="documents", composed=True, citations=(Citation(
            number=1, title="Rest", location="Rest", source=f"harbour/m{opened.other}.md", quote="Ask Ann.",
            start=0, end=8, collection="default",
        ),),
    ))  # fmt: skip
    understood = Trace(
        collections=("default", "payroll"), standalone="What of the ninety thousand that he earns?"
    )
    async with modelled(open_desk, tmp_path, opened) as (desk, _):
        footnote = desk.footnote
        desk.channels.people["slack"] = opened.harbour
        texts = {"q1": opened.asked, "q2": "Whom do I ask?"}
        asked = {
            each: Question(id=each, conversation=here, author="U0", text=text, asked_at=time.time())
            for each, text in texts.items()
        }
        await footnote.assistant.run(asked["q1"])
        await footnote.log.record(
            asked["q2"], replace(answered, turn_id="q2", documents=("pay.md",)), understood
        )
        for each in texts:
            await footnote.log.rate(each, "U0", is_positive=True, at=time.time())
        reader = reader_named("everyone", "ann", {"default"})

        async def publics(channels):
            return frozenset(channels)

        async def drafted():
            found, _ = await drafting.rated_helpful(
                footnote.log, 0.0, reader, DEFAULT, publics, store=footnote.library.store
            )
            return [each.fields["question"] for each in found]

        before = await drafted()
        await opened.close(footnote)
        after = await drafted()

    assert before == [opened.asked, "Whom do I ask?"]
    assert after == ["Whom do I ask?"]


async def test_what_a_model_was_sent_of_an_earlier_answer_goes_with_its_document(tmp_path):
    opened = Opened()
    async with modelled(open_desk, tmp_path, opened, trace_texts=True) as (desk, _):
        footnote, reader = desk.footnote, await desk.browser("editor", collections=DEFAULT)
        thread = thread_in(await ask_on_page(desk, reader, opened.asked))
        await follow_up(desk, reader, thread, f"What is the passphrase of the {name(opened.other)} mooring?")
        (_, second) = await turns_in(desk, thread)
        looked_at = {each.source for each in (await footnote.log.trace(second.turn.id)).passages}
        before = repr(await footnote.log.exchanges(second.turn.id))
        await asyncio.to_thread(
            footnote.library.forget, f"{ADDRESS}/m{opened.number}.md", collection="default"
        )
        after = repr(await footnote.log.exchanges(second.turn.id))

    assert f"harbour/m{opened.number}.md" not in looked_at
    assert opened.secret in before
    assert opened.secret not in after
