"""What people taught, in its store and in a real library: found, quoted, ranked, moved, expired, forgotten."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from fakes.shelf import found, open_library, scope, write

from core.answers import store
from core.answers.answers import open_answers
from core.answers.store import TEXT_LIMIT, KeptAnswer, document_of, id_of, title_of
from core.conversation import Answer, Citation, Conversation, Outcome
from core.errors import AnswerRejected
from core.library.retriever import Query
from core.settings import Settings
from core.storage.storage import open_storage
from core.traces.log import DAY
from core.wording import LANGUAGES

NOON = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
HELP = Conversation(platform="test", space="s", channel="help", thread="1")
KEY = KeptAnswer(
    id=id_of("m1"), question="Who has the key to the boat shed?", author="U1", name="Ann", place="#help",
    text="Marta in the harbour office. Ring twice; she is slightly deaf.", conversation=HELP.id, message="m1",
    url="https://chat.test/help/m1", collection="default", language="en", said_at=NOON, kept_at=NOON,
    valid_until=0.0,
)  # fmt: skip


@pytest.fixture
def settings(tmp_path, request):
    kind = getattr(request, "param", "sqlite")
    url = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    return Settings(data_dir=tmp_path / "data", database_url=url)


both = pytest.mark.parametrize("settings", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def answers(settings):
    library = open_library(settings)
    with open_storage(settings) as storage, open_answers(storage, library, review_after=180) as answers:
        at(answers, NOON)
        yield answers
    library.close()


def at(answers, moment):
    answers.now = lambda: moment


async def taught(answers, answer=KEY):
    kept = await answers.keep(answer)
    await answers.use(kept.id)
    return await answers.get(kept.id)


def hits(library, question, collections=("default",)):
    return library.retrieve(Query(text=question, scope=scope(collections=collections))).passages


@both
async def test_an_answer_is_found_by_its_question_and_by_its_own_words_once_it_is_used(answers):
    await answers.keep(KEY)
    before = found(answers.library, "Who has the key to the boat shed?")
    await answers.use(KEY.id)

    by_question = found(answers.library, "Where do I get a key for the shed?")
    by_words = found(answers.library, "Is Marta deaf?")

    assert (before, by_question, by_words) == ([], [KEY.address], [KEY.address])


@both
async def test_its_passage_says_who_said_it_where_and_when_and_can_be_quoted(answers):
    await taught(answers)

    (hit,) = hits(answers.library, KEY.question)
    passage = hit.passage
    quoted = answers.library.store.find_quote(KEY.address, "Ring twice", passage.start, scope())

    assert (passage.title, passage.location) == ("Ann, in #help, 12 Mar 2026", "")
    assert (passage.path, passage.url) == ((KEY.question,), KEY.url)
    assert KEY.text in passage.text
    assert quoted == passage


async def test_an_answer_without_a_place_is_cited_by_who_and_when():
    assert title_of(replace(KEY, place="", language="de")) == "Ann, 12 März 2026".replace(
        "12 März", "12. März"
    )


async def test_a_long_answer_is_cut_with_its_question_above_every_piece():
    text = "\n\n".join(f"Rule {n}: " + "the tide decides, and nobody else does. " * 12 for n in range(6))

    document = document_of(replace(KEY, text=text))

    whole = f"# {KEY.question}\n\n{text}"
    assert len(document.pieces) > 2
    assert {piece.path for piece in document.pieces} == {(KEY.question,)}
    assert all(whole[piece.start : piece.end] == piece.text for piece in document.pieces)


async def test_it_goes_before_documents_where_it_is_the_same_question_and_only_there(answers, tmp_path):
    write(
        tmp_path / "docs" / "shed.md", "# The key to the boat shed",
        "Who has the key to the boat shed may open the boat shed. The key to the boat shed opens the slipway too.",
    )  # fmt: skip
    answers.library.ingest([tmp_path / "docs"])
    await taught(answers)

    same = found(answers.library, "who has the key to the boat shed")
    other = found(answers.library, "Does the key of the boat shed open the slipway?")

    assert same[0] == KEY.address
    assert other[0] == "docs/shed.md"


async def test_syncing_files_and_a_rebuild_leave_it_alone(answers, tmp_path):
    file = write(tmp_path / "docs" / "a.md", "The ferry leaves at noon.")
    answers.library.ingest([tmp_path / "docs"])
    await taught(answers)

    file.unlink()
    answers.library.refresh()
    refreshed = found(answers.library, KEY.question)
    answers.library.rebuild()

    assert refreshed == found(answers.library, KEY.question) == [KEY.address]


async def test_a_library_that_lost_everything_gets_its_answers_back(answers):
    await taught(answers)
    answers.library.store.remove("default", KEY.address)

    answers.sync()

    assert found(answers.library, KEY.question) == [KEY.address]


@both
async def test_an_expired_answer_is_due_and_not_used_until_somebody_extends_it(answers):
    await taught(answers)
    at(answers, NOON + 180 * DAY)

    retrieval = answers.library.retrieve(Query(text=KEY.question, scope=scope()))
    is_current = await answers.is_current(retrieval)
    gone, due = (
        found(answers.library, KEY.question),
        await answers.list_answers(await answers.find(store.AnswerFilter(due_at=answers.now()))),
    )
    await answers.extend(due[0].answer, by="Olga")

    assert (is_current, gone) == (False, [])
    assert [each.answer.id for each in due] == [KEY.id]
    assert found(answers.library, KEY.question) == [KEY.address]
    assert await answers.list_answers(await answers.find(store.AnswerFilter(due_at=answers.now()))) == []


async def test_a_retired_answer_is_not_used_and_stays_listed(answers):
    await answers.retire(await taught(answers), by="Olga")
    answers.sync()

    (listed,) = await answers.list_answers()

    assert listed.answer.state == "retired"
    assert found(answers.library, KEY.question) == []


@both
async def test_a_moved_answer_is_read_in_the_other_collection_alone(answers):
    kept = await taught(answers)

    await answers.edit(kept, question=kept.question, text=kept.text, by="Olga", collection="handbook")

    assert found(answers.library, KEY.question) == []
    assert found(answers.library, KEY.question, collections=("handbook",)) == [KEY.address]


@both
async def test_words_that_an_editor_changed_are_cited_with_both_names_and_lead_to_no_message(answers):
    kept = await taught(answers)
    at(answers, NOON + 3 * DAY)

    await answers.edit(kept, question=KEY.question, text="Olga has it since May.", by="Ben")

    (hit,) = hits(answers.library, KEY.question)
    assert (hit.passage.title, hit.passage.url) == ("Ann, edited by Ben, 15 Mar 2026", None)
    assert "Olga" in hit.passage.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_edit_is_told_in_every_language(language):
    title = title_of(replace(KEY, language=language, editor="Ben", edited_at=NOON))

    assert ("Ann" in title, "Ben" in title, "2026" in title, "#help" in title) == (True, True, True, False)


@both
async def test_who_changed_what_and_when_is_kept(answers):
    kept = await taught(answers)
    at(answers, NOON + DAY)
    edited = await answers.edit(kept, question=KEY.question, text="Olga.", by="Ben", collection="handbook")
    at(answers, NOON + 2 * DAY)
    await answers.retire(edited, by="Carla")

    versions = await answers.versions(kept.id)

    done = [(each.change.change, each.change.name, each.change.changed_at) for each in versions]
    assert done == [
        ("kept", "Ann", NOON),
        ("edited", "Ben", NOON + DAY),
        ("retired", "Carla", NOON + 2 * DAY),
    ]
    assert [each.text for each in versions] == [KEY.text, "Olga.", "Olga."]
    assert [each.collection for each in versions] == ["default", "handbook", "handbook"]
    assert [each.revision for each in versions] == [1, 2, 3]


async def test_who_moves_an_answer_or_says_that_it_holds_edits_nothing(answers):
    kept = await taught(answers)

    moved = await answers.edit(kept, question=kept.question, text=kept.text, by="Ben", collection="handbook")
    await answers.extend(moved, by="Ben")

    (hit,) = hits(answers.library, KEY.question, collections=("handbook",))
    assert (hit.passage.title, hit.passage.url) == ("Ann, in #help, 12 Mar 2026", KEY.url)


async def test_an_editor_who_changes_what_they_wrote_themselves_stays_its_author(answers):
    wrote = await answers.correct(
        question="Where is the winch?",
        text="In the loft.",
        collection="default",
        name="Ben",
        message="page/1",
    )
    at(answers, NOON + DAY)
    by_ben = await answers.edit(wrote, question=wrote.question, text="On the pier.", by="Ben")
    by_carla = await answers.edit(by_ben, question=wrote.question, text="On pier two.", by="Carla")

    assert title_of(by_ben) == "Ben, 13 Mar 2026"
    assert title_of(by_carla) == "Ben, edited by Carla, 13 Mar 2026"


@both
async def test_of_two_who_change_the_same_answer_the_second_overwrites_nothing(answers):
    seen = await taught(answers)
    first = await answers.edit(seen, question=KEY.question, text="Olga.", by="Ben")

    second = await answers.edit(seen, question=KEY.question, text="Nobody.", by="Carla")
    retired, extended = await answers.retire(seen, by="Carla"), await answers.extend(seen, by="Carla")

    assert (second, retired, extended) == (None, None, None)
    assert await answers.get(seen.id) == first
    assert [each.text for each in await answers.versions(seen.id)] == [KEY.text, "Olga."]
    assert "Olga" in hits(answers.library, KEY.question)[0].passage.text


@both
async def test_an_edit_that_is_told_again_after_a_crash_is_done_once(answers):
    seen = await taught(answers)

    told = [await answers.edit(seen, question=KEY.question, text="Olga.", by="Ben") for _ in range(2)]

    assert None not in told
    assert len(await answers.versions(seen.id)) == 2


async def test_a_reply_that_is_kept_anew_is_its_authors_and_what_was_edited_stays_known(answers):
    edited = await answers.edit(await taught(answers), question=KEY.question, text="Olga.", by="Ben")

    again = await taught(answers, replace(KEY, text="Marta, on weekdays."))
    same = await taught(answers, replace(KEY, text="Marta, on weekdays."))

    assert (again.editor, again.revision, same.revision) == ("", edited.revision + 1, edited.revision + 1)
    assert [each.text for each in await answers.versions(edited.id)] == [
        KEY.text,
        "Olga.",
        "Marta, on weekdays.",
    ]


@pytest.mark.parametrize("sign", ["a", "\N{HIRAGANA LETTER A}", "\N{WATER WAVE}"])
async def test_an_answer_has_one_limit_in_characters_of_any_script(answers, sign):
    kept = await taught(answers, replace(KEY, text=sign * TEXT_LIMIT))

    with pytest.raises(AnswerRejected, match=f"{TEXT_LIMIT + 1:,} characters, {TEXT_LIMIT:,} at most"):
        await answers.keep(replace(KEY, text=sign * (TEXT_LIMIT + 1)))
    with pytest.raises(AnswerRejected):
        await answers.edit(kept, question=KEY.question, text=sign * (TEXT_LIMIT + 1), by="Ben")
    assert len((await answers.get(KEY.id)).text) == TEXT_LIMIT


async def test_an_edited_answer_is_quoted_as_it_is_now(answers):
    await answers.edit(
        await taught(answers), question="Who has the shed's key?", text="Olga, since May.", by="Ben"
    )

    (hit,) = hits(answers.library, "Who has the key of the shed?")

    assert "Olga" in hit.passage.text
    assert "Marta" not in hit.passage.text


@both
async def test_a_forgotten_answer_leaves_nothing(answers, settings):
    kept = await taught(answers)
    await answers.note_uses("q1", cites(KEY))
    await answers.note_dispute(KEY.address, ["a.md"])

    await answers.forget(kept)
    answers.sync()

    assert found(answers.library, KEY.question) == []
    for table in ("answers", "answer_versions", "answer_uses", "answer_disputes"):
        assert answers.database.database.rows(f"SELECT * FROM {table}") == []


@both
async def test_an_answer_that_is_forgotten_while_it_is_indexed_leaves_nothing(answers, monkeypatch):
    kept = await answers.keep(KEY)
    put = answers.library.store.put

    def put_after_another_process_forgot_it(document):
        store.forget(answers.database.database, [kept.id])
        put(document)

    monkeypatch.setattr(answers.library.store, "put", put_after_another_process_forgot_it)
    await answers.use(kept.id)

    assert await answers.list_answers() == []
    assert answers.library.store.entries() == []


@both
async def test_an_answer_that_was_forgotten_meanwhile_is_not_changed_back_into_being(answers):
    kept = await taught(answers)

    await answers.forget(kept)
    await answers.extend(kept, by="Olga")

    assert await answers.list_answers() == []
    assert answers.library.store.entries() == []


async def test_an_answer_that_is_kept_again_while_it_is_forgotten_is_kept_whole(answers):
    kept = await taught(answers)

    await asyncio.gather(answers.forget(kept), taught(answers))

    assert [one.answer.state for one in await answers.list_answers()] == ["used"]
    assert found(answers.library, KEY.question) == [KEY.address]


async def test_the_document_of_an_answer_that_was_half_forgotten_goes_with_the_next_start(answers):
    kept = await taught(answers)
    forgotten = []
    answers.library.on_forget = forgotten.extend
    store.forget(answers.database.database, [kept.id])

    await asyncio.to_thread(answers.sync)

    assert answers.library.store.entries() == []
    assert forgotten == [KEY.address]


async def test_what_the_library_forgets_by_name_is_not_kept_either(answers):
    await taught(answers)

    answers.library.forget(KEY.address)

    assert await answers.list_answers() == []


def cites(answer):
    citation = Citation(
        number=1, title="Ann", location="", source=answer.address, quote="Marta", start=0, end=5,
    )  # fmt: skip
    text = Answer(text="Marta [1]", citations=(citation, citation), grounding="documents", composed=True)
    return Outcome(kind="answered", turn_id="q1", answer=text)


async def test_a_turn_that_cites_an_answer_counts_once(answers):
    await taught(answers)

    for turn in ("q1", "q1", "q2"):
        await answers.note_uses(turn, cites(KEY))
    (listed,) = await answers.list_answers()

    assert listed.used == 2


async def test_a_document_that_disputes_an_answer_is_listed_until_it_is_forgotten(answers, tmp_path):
    write(tmp_path / "docs" / "a.md", "Olga has the key.")
    answers.library.ingest([tmp_path / "docs"])
    await taught(answers)
    await answers.note_dispute(KEY.address, ["docs/a.md"])

    (before,) = await answers.list_answers()
    answers.library.forget("docs/a.md")
    (after,) = await answers.list_answers()

    assert (before.disputed_by, after.disputed_by) == (("docs/a.md",), ())
