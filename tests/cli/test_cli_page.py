"""``footnote page --link``: what a link may read is what was asked for, and never more by mistake."""

from __future__ import annotations

import re

import pytest

from bots.page.sessions import PageSessions, open_page_store
from core.settings import Settings
from core.storage.storage import open_storage

LINK = re.compile(r"http://127\.0\.0\.1:\d+/enter/\S+\n")


@pytest.mark.parametrize("named", ["", " ", ",,"])
async def test_a_list_of_no_collections_makes_no_link_that_reads_all(machine, named):
    refused = await machine.run("page", "--link", "--collections", named)

    assert (refused.code, refused.out) == (2, "")
    assert "--collections names none" in refused.err


@pytest.mark.parametrize(
    "limit", [("--role", "reader"), ("--role", "editor"), ("--collections", "default"), ("--name", "Ann")]
)
async def test_what_limits_a_link_is_refused_where_no_link_is_asked_for(machine, limit):
    """Else it would serve, with a link that lets edit all."""
    refused = await machine.run("page", *limit)

    assert (refused.code, refused.out) == (2, "")
    assert "add --link" in refused.err


async def test_a_link_is_made_with_limits_and_without(machine):
    await machine.run("ingest", "docs")

    made = [
        await machine.run("page", "--link", *limits)
        for limits in ((), ("--role", "reader", "--collections", "default,", "--name", "Ann"))
    ]

    assert [(ran.code, bool(LINK.fullmatch(ran.out))) for ran in made] == [(0, True)] * 2


async def test_who_is_in_is_listed_and_ended(machine):
    await machine.run("ingest", "docs")
    with (
        open_storage(Settings(data_dir=machine.folder / ".footnote")) as storage,
        open_page_store(storage) as database,
    ):
        sessions = PageSessions(database=database)
        for name in ("Ann", "Bob\x1b[31m"):
            token = await sessions.make_link("reader", collections=frozenset({"default"}), name=name)
            await sessions.enter(token, client="Firefox on Linux, 127.0.0.1")

    listed = await machine.run("page", "--sessions")
    ann = next(told.split()[0] for told in listed.out.splitlines() if "Ann" in told)
    ended = await machine.run("page", "--revoke", ann)
    unknown = await machine.run("page", "--revoke", ann)
    nobody = await machine.run("page", "--revoke", "all")

    assert (listed.code, listed.out.count("Firefox on Linux, 127.0.0.1"), "\x1b" in listed.out) == (
        0,
        2,
        False,
    )
    assert ("Ann" in ended.out, "Bob" in ended.out) == (False, True)
    assert (unknown.code, "There is no session" in unknown.err) == (2, True)
    assert (nobody.code, nobody.out) == (0, "Nobody is in.\n")


async def test_one_of_a_link_the_sessions_and_an_end_is_asked_for(machine):
    refused = await machine.run("page", "--link", "--sessions")

    assert (refused.code, refused.out) == (2, "")
    assert "not allowed with" in refused.err
