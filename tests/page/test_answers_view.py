"""The page's view of what people taught: listed, corrected, moved, extended, retired and forgotten."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fakes.desk import open_desk
from fakes.shelf import found

from bots.page.views import answers as view
from core.answers.store import KeptAnswer, id_of

KEY = KeptAnswer(
    id=id_of("slack/T1/C1/1.0"), question="Who has the key to the <b>boat shed</b>?", author="U1", name="Ann",
    place="#help", text="Marta in the harbour office.", conversation="slack/T1/C1/1.0",
    message="slack/T1/C1/1.0", url="https://chat.test/1", collection="channel-slack-T1-C1", language="en",
    said_at=1_773_316_800.0, kept_at=1_773_316_800.0, valid_until=0.0,
)  # fmt: skip
ASKED = "Who has the key to the boat shed?"
PATH = f"/answers/{KEY.id}"


@pytest.fixture
async def desk(tmp_path):
    async with open_desk(tmp_path) as desk:
        answers = desk.footnote.answers
        await answers.keep(KEY)
        await answers.use(KEY.id)
        yield desk


def read_in(desk, collection):
    return found(desk.footnote.library, ASKED, collections=(collection,))


async def test_an_answer_is_listed_with_who_where_and_how_often_and_its_words_are_no_markup(desk):
    browser = await desk.browser("reader")

    _, page = await browser.get("/answers")
    _, one = await browser.get(PATH)

    for text in (page, one):
        assert "&lt;b&gt;boat shed" in text
        assert "<b>boat" not in text
        assert ("Ann" in text, "#help" in text) == (True, True)
    assert "textarea" not in one
    assert KEY.text in one


async def test_an_editor_corrects_it_and_moves_it_to_a_collection(desk, tmp_path):
    desk.ingest(tmp_path / "docs", "ropes.md", "# Ropes\n\nRopes hang in the loft.\n", collection="handbook")
    browser = await desk.browser()

    status, _, _ = await browser.post(
        PATH, change="edit", question=ASKED, text="Olga.", collection="handbook"
    )
    changed = await desk.footnote.answers.get(KEY.id)

    assert status == 303
    assert (changed.text, changed.collection, changed.state) == ("Olga.", "handbook", "used")
    assert read_in(desk, KEY.collection) == []
    assert read_in(desk, "handbook") == [KEY.address]


@pytest.mark.parametrize("collection", ["defualt", "channel-slack-T1-C9"])
async def test_an_answer_is_not_kept_in_a_collection_that_is_not_there_and_nobody_could_read(
    desk, collection
):
    browser = await desk.browser()
    before = desk.footnote.library.store.collections()

    fields = {"question": "Where is the winch?", "text": "Below the pier.", "collection": collection}
    taught, said, _ = await browser.post("/answers", **fields)
    moved, _, _ = await browser.post(PATH, change="edit", **fields)

    assert (taught, moved) == (422, 422)
    assert "a collection that is there" in said
    assert desk.footnote.library.store.collections() == before


async def test_a_retired_answer_is_not_found_until_it_holds_again_and_a_forgotten_one_is_gone(desk):
    browser = await desk.browser()

    await browser.post(PATH, change="retire")
    retired = read_in(desk, KEY.collection)
    await browser.post(PATH, change="extend")
    extended = read_in(desk, KEY.collection)
    await browser.post(PATH, change="forget", sure="yes")
    status, _ = await browser.get(PATH)

    assert (retired, extended, read_in(desk, KEY.collection)) == ([], [KEY.address], [])
    assert status == 404


async def test_what_an_editor_answers_is_found_and_cited_with_the_name_of_the_link(desk):
    browser = await desk.browser(name="Olga")

    await browser.post(
        "/answers", question="Where is the winch?", text="Below the pier.", collection="default"
    )
    (source,) = found(desk.footnote.library, "Where is the winch?")
    (entry,) = desk.footnote.library.store.find_named("default", source)

    assert entry.title.startswith("Olga, ")


async def test_due_and_disputed_answers_can_be_looked_at_alone(desk):
    browser, answers = await desk.browser(), desk.footnote.answers
    other = replace(KEY, id=id_of("m2"), message="m2", question="When is the crane free?")
    await answers.keep(other)
    await answers.use(other.id)
    await answers.note_dispute(KEY.address, ["rules.md"])

    _, disputed = await browser.get("/answers?show=disputed")
    _, one = await browser.get(PATH)
    _, due = await browser.get("/answers?show=due")

    assert ("boat shed" in disputed, "crane" in disputed) == (True, False)
    assert "rules.md" in one
    assert "There is none." in due


async def test_who_may_not_read_its_collection_neither_sees_nor_changes_it(desk):
    browser = await desk.browser(collections=frozenset({"default"}))

    _, page = await browser.get("/answers")
    status, one = await browser.get(PATH)
    changed, _, _ = await browser.post(PATH, change="forget", sure="yes")
    await browser.post("/answers", question="Where?", text="There.", collection=KEY.collection)

    assert (status, changed) == (404, 404)
    assert "Marta" not in page + one
    assert "boat shed" not in page + one
    assert [each.answer.id for each in await desk.footnote.answers.list_answers()] == [KEY.id]


async def test_a_reader_changes_nothing(desk):
    browser = await desk.browser("reader")

    status, _, _ = await browser.post(PATH, change="forget", sure="yes")

    assert status == 403
    assert await desk.footnote.answers.get(KEY.id) is not None


async def test_answers_are_found_by_their_words_and_shown_a_page_at_a_time(desk, monkeypatch):
    monkeypatch.setattr(view, "SHOWN", 3)
    for number in range(7):
        message = f"slack/T1/C1/2.{number}"
        text = f"Crème is in drawer {number}."
        await desk.footnote.answers.keep(
            replace(KEY, id=id_of(message), message=message, text=text, kept_at=KEY.kept_at + number)
        )
    browser = await desk.browser()

    seen, path = [], "/answers?text=creme+drawer"
    while path:
        _, page = await browser.get(path)
        seen.append(page.count("data-row"))
        older = re.search(r'rel="next" href="([^"]+)"', page)
        path = older and older[1].replace("&amp;", "&")
    _, one = await browser.get("/answers?text=DRAWER+4")
    _, none = await browser.get("/answers?text=zeppelin")
    _, odd = await browser.get("/answers?from=-1")

    assert seen == [3, 3, 1]
    assert [page.count("data-row") for page in (one, none, odd)] == [1, 0, 3]


async def test_a_document_that_states_an_answer_is_named_to_those_alone_who_may_read_it(desk, tmp_path):
    desk.ingest(tmp_path / "docs", "layoffs.md", "# Pay\n\nOlga has the key.\n", collection="payroll")
    answers = desk.footnote.answers
    answer = await answers.correct(
        question="Who has the key?", text="Olga.", collection="default", name="Ann", message="m1"
    )
    await answers.retire(answer, by="layoffs.md")
    limited = await desk.browser("editor", collections=frozenset({"default"}))
    everything = await desk.browser("editor", name="Bob")

    closed, opened = [(await each.get(f"/answers/{answer.id}"))[1] for each in (limited, everything)]

    assert "layoffs.md</b> retired it" in opened
    assert "layoffs.md" not in closed
    assert "<b>A document</b> retired it" in closed
