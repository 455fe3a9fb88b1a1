"""What only a Discord does to a channel that was learned: threads, purges and roles."""

from __future__ import annotations

import sqlite3
from contextlib import closing

LOCK = "What opens the lock of the boathouse?"


def rows(server, store, query):
    with closing(sqlite3.connect(server.folder / ".footnote" / f"{store}.sqlite")) as database:
        return [each for (each,) in database.execute(query)]


def items(server, where="TRUE"):
    return rows(server, "sources", f"SELECT id FROM source_items WHERE {where}")


def has_north_mole(server):
    return rows(server, "library", "SELECT id FROM passages WHERE text LIKE '%north mole%'")


async def test_threads_purges_and_roles_are_followed_without_a_sync(server, fake, ann, bob, general):
    server.settings |= {"WEB_SEARCH": "off"}
    kept = await fake.post(ann, general, "The crane stands at the north mole.")
    asked = await fake.post(ann, general, LOCK)
    thread = fake.open_thread(general, "boathouse", ann, starter=asked)
    await fake.post(bob, thread, "It opens with the green key.")
    await server.open()
    await server.until_answered(await fake.mention(ann, general, "learn channel"))
    at_first = await fake.until(lambda: has_north_mole(server) and not items(server, "state != 'read'"))

    fake.delete_channel(thread)
    await fake.until(lambda: all(str(thread.id) not in each for each in items(server)))
    late = await fake.post(ann, general, "A late word.")
    fake.open_thread(general, "late", ann, starter=late)
    await fake.until(lambda: any(str(late.id) in each for each in items(server)))
    await fake.purge(late, kept)
    await fake.until(lambda: not has_north_mole(server))
    (answer,) = await server.until_answered(await fake.mention(ann, general, "Where does the crane stand?"))
    fake.deny_everywhere("read_message_history")
    gone = await fake.until(lambda: not items(server))

    assert at_first
    assert gone
    assert "north mole" not in answer.visible
    assert server.faults == []
