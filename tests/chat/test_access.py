"""Who may read the operator's collections: what rules open, to channels and in direct messages to people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from fakes.shelf import open_store

from bots.chat.access import AccessChange, access_rules, change_access, changed, check_name, forget_documents
from bots.chat.channels import AccessRule, open_channel_store, own_collection
from bots.chat.commands import ChatCommands
from bots.chat.incoming import ChatCommand
from bots.chat.people import state_email, stated_emails
from bots.discord.route import access_id as of_discord
from bots.slack.route import access_id as of_slack
from core.conversation import Conversation
from core.errors import SettingsError
from core.library.documents import Piece
from core.library.entries import NewDocument
from core.library.library import Library
from core.library.readers import ReaderSets, collection_for
from core.turns.messenger import Unreachable

CHANNEL = Conversation(platform="slack", space="T1", channel="C1", thread="1")
DIRECT = Conversation(platform="slack", space="T1", channel="D1", thread="1")
KNOWN = ("default", "hr", "plans", own_collection(CHANNEL))


@dataclass
class FakePeople:
    """A platform that knows who is in which group, or does not say."""

    groups: frozenset[str] = frozenset()
    emails: Mapping[str, str] = field(default_factory=dict)
    is_away: bool = False
    asked: list[str] = field(default_factory=list)  #: whose addresses

    def is_direct_message(self, conversation):
        return conversation.channel.startswith("D")

    async def member_of(self, space, user, among):
        if self.is_away:
            raise Unreachable
        return self.groups & frozenset(among) if user == "U1" else frozenset()

    async def email_of(self, space, user):
        self.asked.append(user)
        if self.is_away:
            raise Unreachable
        return self.emails.get(user, "")


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


# What sources open to e-mail addresses


PILOTS = collection_for("hr", {"ann@harbour.example"})
SKIPPERS = collection_for("default", {"@harbour.example"})


@pytest.fixture
def restricted(library):
    sets = ReaderSets(library.store.database)
    for collection, readers in ((PILOTS, {"ann@harbour.example"}), (SKIPPERS, {"@harbour.example"})):
        with library.store.transaction() as writing:
            entry = library.store.entries(collection="hr")[0]
            fields = {
                name: getattr(entry, name) for name in ("address", "root", "source", "title", "url", "hash")
            }
            piece = Piece(path=(), location="1", text="A line.", start=0, end=7)
            library.store.put(
                NewDocument(**fields, collection=collection, size=7, modified=0, pieces=[piece])
            )
            sets.note(writing, collection, readers)
    return library


def served(channel_store, **emails):
    channel_store.people["slack"] = people = FakePeople(emails=emails)
    return people


async def test_a_person_reads_in_direct_messages_what_a_source_opens_to_their_address(
    channel_store, restricted
):
    served(channel_store, U1="Ann@harbour.example", U2="bob@harbour.example", U3="eve@elsewhere.example")
    change(channel_store, "hr", opens=(("person", "U1"), ("person", "U3"), ("channel", "C1")))

    assert await reads(channel_store, restricted, DIRECT) == sorted(["default", "hr", PILOTS, SKIPPERS])
    assert await reads(channel_store, restricted, DIRECT, author="U2") == ["default", SKIPPERS]
    assert await reads(channel_store, restricted, DIRECT, author="U3") == ["default", "hr"]
    assert await reads(channel_store, restricted, CHANNEL) == ["default", "hr"]


async def test_who_has_more_to_read_in_direct_messages_is_known_without_any_question(
    channel_store, restricted
):
    people = served(channel_store, U1="ann@harbour.example", U3="eve@elsewhere.example")

    async def has_more(conversation, author):
        return await channel_store.has_more_directly(conversation, author, restricted)

    assert await has_more(CHANNEL, "U1")
    assert not await has_more(CHANNEL, "U3")
    assert not await has_more(DIRECT, "U1")
    change(channel_store, "default", closes=True)
    assert not await has_more(CHANNEL, "U1")
    change(channel_store, "hr", opens=(("channel", "C1"),))
    assert await has_more(CHANNEL, "U1")
    people.is_away = True
    assert not await has_more(CHANNEL, "U1")


async def test_help_in_a_channel_says_so_to_that_person_alone_and_the_same_to_all_others(
    channel_store, restricted
):
    people = served(channel_store, U1="ann@harbour.example", U3="eve@elsewhere.example")
    commands = ChatCommands(
        footnote=SimpleNamespace(library=restricted), channel_store=channel_store, people=people, upload_index=None
    )  # fmt: skip

    async def helped(author):
        return await commands._help(
            ChatCommand(id="1", conversation=CHANNEL, author=author, name="help", language="en", said_at=1.0),
            {},
        )

    (shown, told), (other,) = await helped("U1"), await helped("U3")

    assert shown == other
    assert (other.is_private, told.is_private) == (False, True)
    assert "direct messages alone" in told.text
    assert "direct messages alone" not in shown.text


async def test_an_address_opens_nothing_of_a_collection_that_is_closed(channel_store, restricted):
    served(channel_store, U1="ann@harbour.example")
    change(channel_store, "default", closes=True)

    assert await reads(channel_store, restricted, DIRECT) == []
    change(channel_store, "hr", opens=(("group", "S2"),))
    assert await reads(channel_store, restricted, DIRECT) == []


async def test_who_chose_a_collection_reads_what_is_theirs_of_it_and_of_no_other(channel_store, restricted):
    served(channel_store, U1="ann@harbour.example")
    change(channel_store, "hr", opens=(("person", "U1"),))

    names = await channel_store.open_to(DIRECT, "U1", restricted)
    assert await channel_store.use(DIRECT, "U1", "hr", restricted)
    assert not await channel_store.use(DIRECT, "U1", PILOTS, restricted)

    assert names == {"default", "hr"}
    assert await reads(channel_store, restricted, DIRECT) == ["hr", PILOTS]


async def test_no_address_is_asked_for_where_no_document_has_readers(channel_store, library):
    people = served(channel_store, U1="ann@harbour.example")

    await reads(channel_store, library, DIRECT)

    assert people.asked == []


async def test_in_a_channel_no_address_is_asked_for(channel_store, restricted):
    people = served(channel_store, U1="ann@harbour.example")

    await reads(channel_store, restricted, CHANNEL)

    assert people.asked == []


async def test_where_the_platform_does_not_say_whose_address_it_is_that_is_said(channel_store, restricted):
    channel_store.people["slack"] = FakePeople(is_away=True)

    readable = await channel_store.reads(DIRECT, "U1", restricted)

    assert readable.collections & {PILOTS, SKIPPERS} == set()
    assert readable.remark.key == "email_unknown"


@pytest.mark.parametrize(
    ("person", "counts"), [("U1", True), ("slack/T1/U1", True), ("slack/T2/U1", False), ("U2", False)]
)
async def test_what_an_operator_says_of_an_address_goes_first(channel_store, restricted, person, counts):
    people = served(channel_store, U1="eve@elsewhere.example")
    database = channel_store.database.database

    state_email(database, person, "Ann@harbour.example")
    stated = await reads(channel_store, restricted, DIRECT)
    asked = list(people.asked)
    state_email(database, person, "")

    assert (SKIPPERS in stated, asked == []) == (counts, counts)
    assert stated_emails(database) == []
    assert await reads(channel_store, restricted, DIRECT) == ["default"]


@pytest.mark.parametrize("email", ["ann", "@harbour.example", "a b@harbour.example", "ann@"])
def test_what_is_no_address_is_not_kept(channel_store, email):
    with pytest.raises(SettingsError, match="is no e-mail address"):
        state_email(channel_store.database.database, "U1", email)


def test_rules_are_of_collections_as_people_know_them(channel_store, restricted):
    known = restricted.store.collections()

    with pytest.raises(SettingsError, match="There are: default, hr, plans"):
        change_access(
            channel_store.database.database, PILOTS, AccessChange(opens_to_everyone=True), known=known
        )
    with pytest.raises(SettingsError):
        check_name(PILOTS)
    assert set(access_rules(channel_store.database.database, known)) == {"default", "hr", "plans"}
