"""What one channel learned stays there: canaries in thousands, and everybody asks for everybody's."""

from __future__ import annotations

import json
from hashlib import blake2b
from random import Random

import pytest
from benchmarks.evaluation_sets import add_paragraphs

from bots.chat.access import AccessChange, change_access
from bots.chat.channels import open_channel_store, own_collection, thread_collection
from core.bootstrap import open_footnote
from core.conversation import Conversation, Question
from core.settings import Settings
from core.storage.storage import Storage
from core.turns.archive import plain

DEFAULT = "default"


def secret(place: tuple[int, int, int]) -> str:
    """What a document alone says, and nobody who asks."""
    return blake2b(repr(place).encode(), digest_size=6).hexdigest()


def name(place: tuple[int, int, int]) -> str:
    return f"Buoy{blake2b(repr(place).encode(), digest_size=5, person=b'name').hexdigest()}"


def channel(workspace: int, number: int, thread: str = "t") -> Conversation:
    platform = ("slack", "discord")[workspace % 2]
    return Conversation(platform=platform, space=f"W{workspace}", channel=f"C{number}", thread=thread)


def fill(library, workspaces: int, channels: int, documents: int) -> list[tuple[int, int, int]]:
    places = [(w, c, d) for w in range(workspaces) for c in range(channels) for d in range(documents)]
    for place in places:
        text = f"The passphrase of the {name(place)} mooring is {secret(place)}. Only its crew knows it."
        add_paragraphs(
            library, f"/learned/{'-'.join(map(str, place))}.md", f"{name(place)} mooring", [text],
            collection=own_collection(channel(*place[:2])),
        )  # fmt: skip
    add_paragraphs(
        library, "/handbook.md", "Handbook", ["Every mooring has a passphrase that only its crew knows."]
    )
    return places


FORGED = (
    "channel-slack-W0-C0",
    "default' OR 1=1 --",
    "*",
    "channel-%",
    "../channel-slack-W0-C0",
    "CHANNEL-slack-W0-C0",
    "",
)


@pytest.mark.parametrize(
    ("size", "count"), [((3, 4, 5), 120), pytest.param((5, 20, 50), 10_000, marks=pytest.mark.long)]
)
async def test_no_channel_hears_what_another_learned(size, count, tmp_path, caplog):
    """``size``: workspaces, channels of each, documents of each channel."""
    caplog.set_level("DEBUG")
    workspaces, channels, documents = size
    random, heard, leaked, shown = Random(3), 0, [], []
    settings = Settings(data_dir=tmp_path / "data", embedding_model="none", web_search="duckduckgo")
    settings.data_dir.mkdir()
    with open_channel_store(Storage(data_dir=settings.data_dir)) as channel_store:
        async with open_footnote(settings, purpose="test", reads=channel_store.reads) as footnote:
            places = fill(footnote.library, workspaces, channels, documents)
            all_secrets = {secret(place): place for place in places}
            for number in range(count):
                here = channel(
                    random.randrange(workspaces), random.randrange(channels), f"t{random.randrange(3)}"
                )
                own = (int(here.space[1:]), int(here.channel[1:]))
                place = (
                    random.choice(places) if random.random() < 0.7 else (*own, random.randrange(documents))
                )
                text = random.choice(
                    (
                        f"What is the passphrase of the {name(place)} mooring?",
                        f"And that of the {name(place)} mooring?",
                        f"Tell me about channel-slack-W{place[0]}-C{place[1]} and its passphrase.",
                        "What is its passphrase?",
                    )
                )
                asked = Question(id=f"q{number}", conversation=here, author="ann", text=text, asked_at=0.0)
                outcome = await footnote.assistant.run(asked, lambda noted: shown.append(repr(noted)))
                said = json.dumps(plain(outcome))
                told = {all_secrets[word] for word in all_secrets if word in said}
                heard += any(found[:2] == own for found in told)
                leaked += [(here.id, found) for found in told if found[:2] != own]
            refused = [
                await channel_store.use(channel(1, 1), "ann", forged, footnote.library) for forged in FORGED
            ]

    print(f"{count} questions, {heard} answered from what the channel itself learned")
    assert leaked == []
    assert heard > count / 20
    assert not any(refused)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith(("core.", "bots."))]
    written = "\n".join([*ours, *shown])
    assert not [word for word in all_secrets if word in written]


async def test_a_file_of_a_thread_is_read_in_that_thread_alone(tmp_path):
    settings = Settings(data_dir=tmp_path / "data", embedding_model="none", web_search="off")
    settings.data_dir.mkdir()
    threads = [channel(0, 0, "t1"), channel(0, 0, "t2"), channel(0, 1, "t1"), channel(2, 0, "t1")]
    with open_channel_store(Storage(data_dir=settings.data_dir)) as channel_store:
        async with open_footnote(settings, purpose="test", reads=channel_store.reads) as footnote:
            library = footnote.library
            add_paragraphs(
                library, "/lease.md", "Lease", ["The lease of the boathouse ends on the ninth of October."],
                collection=thread_collection(threads[0]),
            )  # fmt: skip
            told = []
            for number, here in enumerate(threads):
                asked = Question(
                    id=f"q{number}", conversation=here, author="ann", text="When does the lease of the boathouse end?",
                    asked_at=0.0,
                )  # fmt: skip
                told.append("ninth of October" in json.dumps(plain(await footnote.assistant.run(asked))))
            used = [
                await channel_store.use(here, "ann", thread_collection(threads[0]), library)
                for here in threads
            ]

    assert told == [True, False, False, False]
    assert not any(used)


async def test_what_a_channel_may_no_longer_read_is_gone_with_the_next_question(tmp_path):
    settings = Settings(data_dir=tmp_path / "data", embedding_model="none", web_search="off")
    settings.data_dir.mkdir()
    here = channel(0, 0)
    with open_channel_store(Storage(data_dir=settings.data_dir)) as channel_store:
        async with open_footnote(settings, purpose="test", reads=channel_store.reads) as footnote:
            library = footnote.library
            add_paragraphs(
                library, "/a.md", "Fees", ["A night at the pontoon costs 18 euros."], collection="fees"
            )
            add_paragraphs(library, "/b.md", "Birds", ["Puffins nest on the pier."])
            told = []
            opened = AccessChange(opens=(("channel", here.channel_id),))
            change_access(channel_store.database.database, "fees", opened, known=["fees"])
            for number, collection in enumerate(("fees", DEFAULT)):
                assert await channel_store.use(here, "ann", collection, library)
                if collection == DEFAULT:
                    change_access(
                        channel_store.database.database, "fees", AccessChange(closes=True), known=["fees"]
                    )
                asked = Question(
                    id=f"q{number}", conversation=here, author="ann", text="What does a night at the pontoon cost?",
                    asked_at=0.0,
                )  # fmt: skip
                told.append(json.dumps(plain(await footnote.assistant.run(asked))))

    assert "18 euros" in told[0]
    assert "18 euros" not in told[1]
