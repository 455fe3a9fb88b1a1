"""Who may read the operator's collections: what rules open, to channels and in direct messages to people."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bots.chat.access import AccessChange, access_rules, change_access, changed, check_name, forget_documents
from bots.chat.channels import AccessRule, open_channel_store, own_collection
from bots.discord.route import access_id as of_discord
from bots.slack.route import access_id as of_slack
from core.conversation import Conversation
from core.errors import SettingsError
from core.library.library import Library
from core.turns.messenger import Unreachable
from tests.library.shelf import open_store

CHANNEL = Conversation(platform="slack", space="T1", channel="C1", thread="1")
DIRECT = Conversation(platform="slack", space="T1", channel="D1", thread="1")
KNOWN = ("default", "hr", "plans", own_collection(CHANNEL))


@dataclass
class FakePeople:
    """A platform that knows who is in which group, or does not say."""

    groups: frozenset[str] = frozenset()
    is_away: bool = False

    def is_direct_message(self, conversation):
        return conversation.channel.startswith("D")

    async def member_of(self, space, user, among):
        if self.is_away:
            raise Unreachable
        return self.groups & frozenset(among) if user == "U1" else frozenset()


@pytest.fixture
def library(tmp_path):
    (tmp_path / "note.md").write_text("# Note\n\nA line.\n")
    library = Library(store=open_store(tmp_path / "library.sqlite"), open_vectors=lambda: None, embedder=None)
    for name in KNOWN:
        library.ingest([tmp_path / "note.md"], collection=name)
    yield library
    library.store.close()


@pytest.fixture
def channel_store(storage):
    with open_channel_store(storage) as channel_store:
        channel_store.people["slack"] = FakePeople(groups=frozenset({"S1"}))
        yield channel_store


def change(channel_store, collection, **what):
    return change_access(channel_store.database.database, collection, AccessChange(**what), known=KNOWN)


async def reads(channel_store, library, conversation, author="U1"):
    readable = await channel_store.reads(conversation, author, library)
    return sorted(name for name in readable.collections if not name.startswith("channel-"))


@pytest.mark.parametrize(
    ("opens", "in_channel", "in_direct"),
    [
        ((("channel", "C1"),), True, False),
        ((("channel", "slack/T1/C1"),), True, False),
        ((("channel", "slack/T2/C1"),), False, False),
        ((("channel", "c1"),), False, False),
        ((("channel", "U1"),), False, False),
        ((("person", "U1"),), False, True),
        ((("person", "slack/T1/U1"),), False, True),
        ((("person", "slack/T2/U1"),), False, False),
        ((("person", "C1"),), False, False),
        ((("group", "S1"),), False, True),
        ((("group", "S2"),), False, False),
        ((("channel", "D1"),), False, True),
    ],
)
async def test_a_rule_opens_a_collection_to_whom_it_names_and_to_nobody_else(
    channel_store, library, opens, in_channel, in_direct
):
    change(channel_store, "hr", opens=opens)

    assert ("hr" in await reads(channel_store, library, CHANNEL)) is in_channel
    assert ("hr" in await reads(channel_store, library, DIRECT)) is in_direct
    assert await reads(channel_store, library, DIRECT, author="U2") == (
        ["default", "hr"] if opens == (("channel", "D1"),) else ["default"]
    )


async def test_everyone_reads_what_is_open_to_everyone_and_default_until_it_is_closed(channel_store, library):
    change(channel_store, "hr", opens_to_everyone=True)
    before = await reads(channel_store, library, CHANNEL)
    change(channel_store, "default", opens=(("channel", "C9"),))
    change(channel_store, "hr", closes=True)
    closed = await reads(channel_store, library, CHANNEL)
    change(channel_store, "default", opens_to_everyone=True)

    assert (before, closed) == (["default", "hr"], [])
    assert await reads(channel_store, library, CHANNEL) == ["default"]


async def test_a_person_reads_in_direct_messages_all_that_is_open_to_them(channel_store, library):
    change(channel_store, "hr", opens=(("person", "U1"),))
    change(channel_store, "plans", opens=(("group", "S1"),))

    assert await reads(channel_store, library, DIRECT) == ["default", "hr", "plans"]
    assert await channel_store.use(DIRECT, "U1", "plans", library)
    assert await reads(channel_store, library, DIRECT) == ["plans"]


async def test_where_the_platform_does_not_say_who_is_in_a_group_it_opens_nothing_and_that_is_said(
    channel_store, library
):
    change(channel_store, "hr", opens=(("group", "S1"),))
    change(channel_store, "plans", opens=(("person", "U1"),))
    channel_store.people["slack"] = FakePeople(groups=frozenset({"S1"}), is_away=True)

    readable = await channel_store.reads(DIRECT, "U1", library)

    assert readable.collections == {"default", "plans"}
    assert readable.remark.key == "groups_unknown"
    assert (await channel_store.reads(CHANNEL, "U1", library)).remark == ""


async def test_a_platform_that_is_not_served_opens_nothing_to_people(channel_store, library):
    change(channel_store, "hr", opens=(("person", "U1"),))
    del channel_store.people["slack"]

    assert await reads(channel_store, library, DIRECT) == ["default"]


async def test_what_a_channel_chose_is_not_read_once_it_is_closed(channel_store, library):
    change(channel_store, "hr", opens=(("channel", "C1"),))
    assert await channel_store.use(CHANNEL, "U1", "hr", library)
    change(channel_store, "hr", removes=("C1",))

    assert await reads(channel_store, library, CHANNEL) == []


async def test_no_rule_opens_what_a_channel_learned(channel_store, library):
    learned = own_collection(CHANNEL)
    with pytest.raises(SettingsError, match="is read there alone"):
        change(channel_store, learned, opens_to_everyone=True)
    with channel_store.database.database.transaction() as writing:  # as if written by another program
        writing.execute("INSERT INTO access VALUES (?, 'everyone', '')", (learned,))

    elsewhere = Conversation(platform="slack", space="T1", channel="C2", thread="1")
    assert learned in (await channel_store.reads(CHANNEL, "U1", library)).collections
    assert learned not in (await channel_store.reads(elsewhere, "U1", library)).collections


@pytest.mark.parametrize("name", ["HR", "hr ", "ｈｒ", "hг", "nothing", ""])
def test_rules_wait_for_no_collection_of_a_like_name(channel_store, name):
    with pytest.raises(SettingsError, match="There is no collection"):
        change(channel_store, name, opens_to_everyone=True)


async def test_a_collection_that_was_forgotten_and_made_anew_is_closed(
    channel_store, library, storage, tmp_path
):
    note = tmp_path / "note.md"
    (tmp_path / "other.md").write_text("# Other\n\nAnother line.\n")
    library.ingest([tmp_path / "other.md"], collection="plans")
    for name in ("hr", "plans", "default"):
        change(channel_store, name, opens=(("channel", "C1"),))

    forget_documents(library, storage, str(note))
    library.ingest([note], collection="hr")
    library.ingest([note])

    elsewhere = Conversation(platform="slack", space="T1", channel="C2", thread="1")
    assert await reads(channel_store, library, CHANNEL) == ["default", "plans"]  # a document of plans is left
    assert await reads(channel_store, library, elsewhere) == []  # default stays closed to others


PRIVATE = Conversation(platform="discord", space="7", channel="70", thread="70")  # a private thread in 71
PARENT = Conversation(platform="discord", space="7", channel="71", thread="1")


@pytest.mark.parametrize(
    ("named", "is_read"),
    [("71", True), ("discord/7/71", True), ("70", True), ("discord/8/71", False), ("7", False), ("1", False)],
)
async def test_a_private_thread_reads_what_its_channel_may_read(channel_store, library, named, is_read):
    change(channel_store, "hr", opens=(("channel", named),))
    before = await reads(channel_store, library, PRIVATE)

    for _ in range(2):  # with each message
        await channel_store.note_parent(PRIVATE, "71")
    await channel_store.note_parent(PARENT, "")

    assert ("hr" in before) is (named == "70")
    assert ("hr" in await reads(channel_store, library, PRIVATE)) is is_read
    assert ("hr" in await reads(channel_store, library, PARENT)) is (
        "71" in named and named != "discord/8/71"
    )


async def test_what_a_private_thread_learned_is_not_read_in_its_channel(channel_store, library, tmp_path):
    await channel_store.note_parent(PRIVATE, "71")
    for here in (PRIVATE, PARENT):
        library.ingest([tmp_path / "note.md"], collection=own_collection(here))

    own = {each: (await channel_store.reads(each, "U1", library)).collections for each in (PRIVATE, PARENT)}

    assert {own_collection(PRIVATE), own_collection(PARENT)} <= own[PRIVATE]
    assert own_collection(PRIVATE) not in own[PARENT]


@pytest.mark.parametrize("name", ["channel-slack-T1-C1", "channel-", "", " ", "hr ", "h\nr", "hr\u202e"])
def test_names_of_the_bots_own_and_names_that_cannot_be_written_are_refused(name):
    with pytest.raises(SettingsError, match="name"):
        check_name(name)


def rule(kind, name=""):
    return AccessRule(collection="hr", kind=kind, id=name)


@pytest.mark.parametrize(
    ("change", "after", "unknown"),
    [
        (AccessChange(opens=(("person", "U1"),)), {rule("channel", "C1"), rule("person", "U1")}, ()),
        (AccessChange(closes=True), set(), ()),
        (AccessChange(closes=True, opens=(("group", "S1"),)), {rule("group", "S1")}, ()),
        (AccessChange(removes=("C1", "C2")), set(), ("C2",)),
        (AccessChange(opens_to_everyone=True), {rule("channel", "C1"), rule("everyone")}, ()),
    ],
)
def test_options_add_to_the_readers_and_nobody_begins_anew(change, after, unknown):
    assert changed("hr", [rule("channel", "C1")], change) == (after, unknown)


def test_the_rules_are_listed_with_every_collection_of_the_operator(channel_store):
    change(channel_store, "hr", opens=(("person", "U1"), ("channel", "C1")))

    listed = access_rules(channel_store.database.database, KNOWN)

    assert {name: [each.kind for each in rules] for name, rules in listed.items()} == {
        "default": ["everyone"], "hr": ["channel", "person"], "plans": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "written", "known"),
    [
        ("channel", "C0123ABCD", "C0123ABCD"),
        ("channel", "T01/C0123ABCD", "slack/T01/C0123ABCD"),
        ("channel", "slack/T01/C0123ABCD", "slack/T01/C0123ABCD"),
        ("channel", "<#C0123ABCD|general>", "C0123ABCD"),
        ("channel", "https://acme.slack.com/archives/C0123ABCD/p17", "C0123ABCD"),
        ("channel", "https://app.slack.com/client/T01/C0123ABCD", "slack/T01/C0123ABCD"),
        ("person", "<@U0123ABCD>", "U0123ABCD"),
        ("group", "<!subteam^S0123ABCD|@hr>", "S0123ABCD"),
        ("channel", "12345678901234567", "12345678901234567"),
        (
            "channel",
            "https://discord.com/channels/12345678901234567/22345678901234567/3",
            "22345678901234567",
        ),
        ("person", "<@!12345678901234567>", "12345678901234567"),
        ("group", "12345678901234567/22345678901234567", "discord/12345678901234567/22345678901234567"),
        ("group", "22345678901234567", None),  # of which server
        ("channel", "#general", None),
        ("channel", "U0123ABCD", None),
        ("person", "C0123ABCD", None),
        ("channel", "c0123abcd", None),
        ("channel", "https://evil.example/archives/C0123ABCD", None),
        ("channel", "C0123ABCD\n", None),
    ],
)
def test_an_id_is_read_as_the_platform_writes_it(kind, written, known):
    assert (of_slack(kind, written) or of_discord(kind, written)) == known
