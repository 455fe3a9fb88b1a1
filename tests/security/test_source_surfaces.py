"""Canaries of a source on the page, in its exports and in digests: :mod:`test_source_rights` has the answers."""

from __future__ import annotations

import re
import time
from random import Random
from urllib.parse import quote, urlencode

import pytest
from fakes.assistants import open_mcp_desk, over_http
from fakes.crews import ask_on_page, is_direct, is_shared, name, secret
from fakes.desk import open_desk, plain_paths
from fakes.mixed_source import Harbour
from fakes.sources import ADDRESS

from bots.digest import GapDigests, Week, channels_of, digest_of, in_slack
from core.conversation import Question
from core.gaps.questions import TimeSpan
from core.library.readers import READERS_MARK
from core.sources.source import ItemUnreadable
from core.sources.sources import SourceSyncs

HIDDEN = (READERS_MARK, quote(READERS_MARK), "\\x1f", "\\u001f")


async def fill_log(desk, harbour, count):
    """Questions of people and channels about what they may read; some are answered, some are not."""
    turns = []
    for number in range(count):
        asked = harbour.question(number)
        item = harbour.random.randrange(harbour.items)
        text = harbour.random.choice(
            (
                f"What is the passphrase of the {name(item)} mooring?",
                f"Whom may I tell that the passphrase of {name(item)} opens the door?",
            )
        )
        asked = Question(
            id=f"slack/T1/{asked.conversation.channel}/{number}", conversation=asked.conversation,
            author=asked.author, text=text, asked_at=time.time(),
        )  # fmt: skip
        await desk.footnote.assistant.run(asked)
        await desk.footnote.log.rate(asked.id, asked.author, is_positive=False, at=time.time())
        turns.append(asked.id)
    return turns


def paths_of(random, turns, groups, items):
    yield from plain_paths()
    yield from (
        "/gaps?state=all",
        "/sources?collection=default",
        "/questions?rated=down",
        "/feedback?state=all",
    )
    yield from ("/sources?collection=default&use=cited", "/sources/access?collection=default")
    yield from (f"/questions/{quote(turn, safe='')}" for turn in turns)
    yield from (f"/gaps/{quote(turn, safe='')}" for turn in groups)
    for number in random.sample(range(items), 12):
        yield f"/sources/document?{urlencode({'collection': 'default', 'source': f'harbour/m{number}.md'})}"
        named = {"collection": "default", "address": f"{ADDRESS}/m{number}.md"}
        yield f"/sources/document?{urlencode(named)}"
        yield f"/sources?{urlencode({'try': f'passphrase of the {name(number)} mooring'})}"
        yield f"/sources?{urlencode({'collection': 'default', 'try': name(number)})}"


async def digest(desk, channel):
    """What a channel is shown of the gaps of this hour."""
    (there,) = channels_of("slack", [f"slack/T1/{channel}"])
    digests = GapDigests(
        channels=[there], target=in_slack, is_private=is_direct, is_shared=is_shared, messages=None, finder=desk.gaps,
        channel_store=desk.channels, library=desk.footnote.library,
    )  # fmt: skip
    now = desk.gaps.now()

    async def may_read(questions):
        return await digests._readable(there, questions)

    return digest_of(await desk.gaps.report(TimeSpan(since=now - 3600, until=now + 1), may_read), Week())


@pytest.mark.parametrize(("items", "count"), [(40, 30), pytest.param(300, 600, marks=pytest.mark.long)])
async def test_a_reader_of_the_collection_sees_nothing_of_what_few_may_read_of_it(items, count, tmp_path):
    """Nor of what everybody might read when it was asked about, and few may read now."""
    random = Random(23)
    harbour = Harbour(random=random, items=items)
    async with open_desk(tmp_path, web_search="duckduckgo") as desk:
        desk.channels.people["slack"] = harbour
        syncs = SourceSyncs(
            library=desk.footnote.library, store=desk.footnote.sources.store,
            settings=desk.footnote.settings, kinds=harbour.shelf.kinds,
        )  # fmt: skip
        await syncs.ingest(ADDRESS, collection="default")
        turns = await fill_log(desk, harbour, count)
        for _ in range(3):
            harbour.change()
        await syncs.ingest(ADDRESS, collection="default")
        groups = [each.id for each in (await desk.gaps.report(desk.gaps.last(3600))).groups]
        closed = {number for number in range(items) if f"m{number}" in harbour.shelf.restricted}
        reader = await desk.browser("editor", collections=frozenset({"default"}))
        editor = await desk.browser("editor")
        asked = [
            await ask_on_page(desk, reader, f"What is the passphrase of the {name(number)} mooring?")
            for number in (min(closed), min(set(range(items)) - closed))
        ]
        pages = [("ask", page) for page in asked]
        every = []
        for path in paths_of(random, turns, groups, items):
            pages.append((path, (await reader.get(path))[1]))
            every.append((path, (await editor.get(path))[1]))
        pages += [("digest", await digest(desk, f"C{number}")) for number in range(4)]

    secrets = {number: secret(number) for number in range(items)}
    across = [(path, number) for path, page in pages for number in closed if secrets[number] in page]
    listed = dict(pages)["/sources?collection=default"]
    across += [("listed", number) for number in closed if name(number) in listed]
    shown = sum(secrets[number] in page for path, page in pages for number in secrets)
    by_editor = {number for path, page in every for number in secrets if secrets[number] in page}
    print(f"{len(pages)} pages, {shown} canaries of everybody, {len(across)} across; {len(closed)} closed")
    assert across == []
    assert shown > 3
    assert by_editor & closed  # an editor who reads everything reads this too
    assert [path for path, page in (*pages, *every) for sign in HIDDEN if sign in page] == []


async def _synced(footnote, shelf):
    syncs = SourceSyncs(
        library=footnote.library, store=footnote.sources.store, settings=footnote.settings, kinds=shelf.kinds
    )
    await syncs.ingest(ADDRESS, collection="default")


def _open_to_all(harbour):
    return min(number for number in range(harbour.items) if f"m{number}" not in harbour.shelf.restricted)


async def test_an_answer_on_the_page_is_withheld_once_few_may_read_its_document(tmp_path):
    harbour = Harbour(random=Random(23), items=8)
    opened = _open_to_all(harbour)
    async with open_desk(tmp_path, web_search="off") as desk:
        await _synced(desk.footnote, harbour.shelf)
        reader = await desk.browser("editor", collections=frozenset({"default"}))
        before = await ask_on_page(desk, reader, f"What is the passphrase of the {name(opened)} mooring?")
        harbour.shelf.restrict(frozenset({"p1@harbour.example"}), f"m{opened}")
        await _synced(desk.footnote, harbour.shelf)
        _, thread, _ = re.split(r'data-thread="([^"]+)"', before)
        after = (await reader.get(f"/threads/{thread}"))[1]

    assert secret(opened) in before
    assert secret(opened) not in after


async def test_an_answer_over_mcp_is_withheld_once_few_may_read_its_document(tmp_path):
    harbour = Harbour(random=Random(23), items=8)
    opened = _open_to_all(harbour)
    asked = f"What is the passphrase of the {name(opened)} mooring?"
    async with open_mcp_desk(tmp_path) as desk:
        await _synced(desk.footnote, harbour.shelf)
        token = await desk.token("default")
        async with over_http(desk.url, token) as assistant:
            before = await assistant.ask(asked, request_id="r1")
            harbour.shelf.restrict(frozenset({"p1@harbour.example"}), f"m{opened}")
            await _synced(desk.footnote, harbour.shelf)
            after = await assistant.ask(asked, request_id="r1")

    assert secret(opened) in before["text"]
    assert secret(opened) not in str(after)


async def test_an_item_that_cannot_be_read_is_named_to_those_alone_who_may_read_it(tmp_path):
    harbour = Harbour(random=Random(23), items=8)
    opened, closed = _open_to_all(harbour), min(int(each[1:]) for each in harbour.shelf.restricted)
    for number in (opened, closed):
        harbour.shelf.faults[f"m{number}"] = [ItemUnreadable(f"holds {secret(number)}")]
    async with open_desk(tmp_path, web_search="off") as desk:
        await _synced(desk.footnote, harbour.shelf)
        reader = await desk.browser("editor", collections=frozenset({"default"}))
        operator = await desk.browser("editor")
        pages = [
            "".join([(await each.get(path))[1] for path in ("/", "/sources", "/sources?collection=default")])
            for each in (reader, operator)
        ]

    assert [secret(opened) in page for page in pages] == [True, True]
    assert [secret(closed) in page for page in pages] == [False, True]
    assert [f"m{closed}.md" in page for page in pages] == [False, True]


async def test_a_change_of_what_few_may_read_is_named_to_nobody_else(tmp_path):
    harbour = Harbour(random=Random(23), items=8)
    opened, closed = _open_to_all(harbour), min(int(each[1:]) for each in harbour.shelf.restricted)
    async with open_desk(tmp_path, web_search="off") as desk:
        await _synced(desk.footnote, harbour.shelf)
        reader = await desk.browser("editor", collections=frozenset({"default"}))
        operator = await desk.browser("editor", name="Ann")
        for number in (opened, closed):
            named = urlencode({"collection": "default", "address": f"{ADDRESS}/m{number}.md"})
            status, _, _ = await operator.post(f"/sources/change?{named}", change="forget", sure="yes")
            assert status == 303
        pages = [
            (await each.get(path))[1] for each in (reader, operator) for path in ("/changes", "/changes.csv")
        ]

    assert [f"m{opened}.md" in page for page in pages] == [True] * 4
    assert [f"m{closed}.md" in page for page in pages] == [False, False, True, True]
