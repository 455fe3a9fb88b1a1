import os
import random
import re
import stat
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from fakes.patience import PATIENCE
from fakes.shelf import open_store, scope
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.errors import SettingsError
from core.library.documents import Piece, Scope
from core.library.entries import NewDocument
from core.library.roots import ancestors, is_within
from core.library.store import DocumentStore
from core.library.tables import SCHEMA
from core.text.language import language_of
from core.text.terms import terms


@pytest.fixture
def store(storage):
    store = DocumentStore(storage.database("library", SCHEMA))
    yield store
    store.close()


def piece(text, path=()):
    return Piece(path=path, location="line 1", text=text, start=0, end=len(text))


def document(address, *texts, collection="default", title=""):
    return NewDocument(
        collection=collection,
        address=address,
        root=address,
        source=address.rpartition("/")[2],
        title=title,
        url=None,
        hash="hash",
        size=1,
        modified=1,
        pieces=[piece(text) for text in texts],
    )


def search(store, question, wanted=None):
    """Texts of the passages with any of the question's words, best first."""
    wanted = wanted or scope()
    hits = store.lexical.search(terms(question), wanted, limit=100)
    passages = store.passages((number for number, _ in hits), wanted)
    return [passages[number].text for number, _ in hits]


# Documents


def test_a_document_gives_its_passages_back_as_they_were_put(store):
    whole = Piece(path=("Guide", "Intro"), location="Guide > Intro", text="Cats purr.", start=7, end=17)
    store.put(replace(document("/docs/a.md"), title="A", url="https://example.org/a", pieces=[whole]))

    ((number, _),) = store.lexical.search(["cat"], scope(), limit=5)
    passage = store.passages([number], scope())[number]

    assert (passage.id, passage.collection, passage.source, passage.title) == (number, "default", "a.md", "A")
    assert (passage.path, passage.location, passage.url) == (
        ("Guide", "Intro"),
        "Guide > Intro",
        "https://example.org/a",
    )
    assert (passage.text, passage.start, passage.end) == ("Cats purr.", 7, 17)


def test_a_document_that_is_put_again_takes_the_place_of_the_older_version(store):
    store.put(document("/docs/a.md", "Cats purr.", "Dogs bark."))
    store.put(document("/docs/a.md", "The moon."))

    (entry,) = store.entries()
    assert entry.passages == store.count_passages(scope()) == 1
    assert (search(store, "cats dogs"), search(store, "moon")) == ([], ["The moon."])


def test_a_number_is_never_given_to_two_passages(store):
    """A vector that was left behind would be taken for the other one's."""
    store.put(document("/docs/a.md", "Cats purr."))
    before = store.ids(scope(), limit=9)["default"]
    store.remove("default", "/docs/a.md")
    store.put(document("/docs/b.md", "Dogs bark."))

    assert not set(before) & set(store.ids(scope(), limit=9)["default"])


def test_a_document_that_cannot_be_written_wholly_is_not_written_at_all(store):
    store.put(document("/docs/a.md", "Cats purr."))
    torn = document("/docs/a.md", "Dogs bark.", "Dogs \ud800.")

    with pytest.raises(UnicodeEncodeError):
        store.put(torn)

    assert search(store, "cats dogs") == ["Cats purr."]
    assert store.stale_vectors() == {}


def test_a_document_without_passages_is_listed_and_finds_nothing(store):
    store.put(document("/docs/empty.md"))

    assert [(entry.source, entry.passages) for entry in store.entries()] == [("empty.md", 0)]
    assert store.count_passages(scope()) == 0


def test_documents_are_listed_by_collection_and_source(store):
    for collection, address in (("b", "/x/a.md"), ("a", "/x/b.md"), ("a", "/x/a.md")):
        store.put(document(address, "Text.", collection=collection))

    assert [(e.collection, e.source) for e in store.entries()] == [
        ("a", "a.md"),
        ("a", "b.md"),
        ("b", "a.md"),
    ]
    assert [e.source for e in store.entries(collection="b")] == ["a.md"]
    assert store.entry("b", "/x/a.md").collection == "b"
    assert store.entry("b", "/x/b.md") is None


def test_removing_what_is_not_there_removes_nothing(store):
    store.put(document("/docs/a.md", "Cats purr."))

    assert store.remove("default", "/docs/b.md") == store.remove("other", "/docs/a.md") == 0
    assert search(store, "cats") == ["Cats purr."]


# Scopes


def animals(store):
    store.put(document("/docs/a/cats.md", "Cats purr."))
    store.put(document("/docs/a/more/cats.md", "Cats meow."))
    store.put(document("/docs/ab/cats.md", "Cats hiss."))
    store.put(document("/docs/a-old/cats.md", "Cats sleep."))
    store.put(document("https://example.org/a/cats", "Cats leap."))
    store.put(document("/docs/a/cats.md", "Cats plot.", collection="secret"))
    return store


EVERYTHING = {"Cats purr.", "Cats meow.", "Cats hiss.", "Cats sleep.", "Cats leap."}
SCOPES = {
    "one collection": (scope(), EVERYTHING),
    "another": (scope(collections=["secret"]), {"Cats plot."}),
    "both": (scope(collections=["default", "secret"]), EVERYTHING | {"Cats plot."}),
    "none": (scope(collections=[]), set()),
    "an unknown one": (scope(collections=["nobody", "Default", "default ", "c1x", "*", ""]), set()),
    "known and unknown": (scope(collections=["default", "nobody"]), EVERYTHING),
    "a folder": (scope("/docs/a"), {"Cats purr.", "Cats meow."}),
    "a folder with a slash": (scope("/docs/a/"), {"Cats purr.", "Cats meow."}),
    "a file": (scope("/docs/a/cats.md"), {"Cats purr."}),
    "a site": (scope("https://example.org"), {"Cats leap."}),
    "a file and a page": (
        scope("/docs/ab/cats.md", "https://example.org/a/cats"),
        {"Cats hiss.", "Cats leap."},
    ),
    "all of the disk": (scope("/"), EVERYTHING - {"Cats leap."}),
    "part of a name": (scope("/docs/a/cat", "/doc", "docs/a", "https://example.or"), set()),
    "a pattern": (scope("/docs/%", "/docs/_", "/docs/*"), set()),
    "an address elsewhere": (scope("/docs/ab", collections=["secret"]), set()),
    "an address and no collection": (scope("/docs/a", collections=[]), set()),
}


@pytest.mark.parametrize(("wanted", "expected"), SCOPES.values(), ids=SCOPES)
def test_a_scope_reads_what_it_names_and_nothing_else(store, wanted, expected):
    animals(store)
    everything = store.ids(scope(collections=["default", "secret"]), limit=99)

    assert set(search(store, "cats", wanted)) == expected
    assert store.count_passages(wanted) == len(expected)
    assert store.lexical.document_frequencies(["cat", "dog"], wanted) == {"cat": len(expected), "dog": 0}
    assert sum(map(len, store.ids(wanted, limit=99).values())) == len(expected)
    given_out = store.passages((i for ids in everything.values() for i in ids), wanted)
    assert {passage.text for passage in given_out.values()} == expected


def test_a_scope_is_read_from_the_beginning_of_each_of_its_documents(store):
    store.put(document("/docs/a.md", "Ants walk.", "Apes climb.", "Asps creep."))
    store.put(document("/docs/b.md", "Bees fly.", "Bats sleep."))
    store.put(document("/docs/c.md", "Cats purr."))

    first = store.beginning(scope("/docs/a.md", "/docs/b.md"), limit=3)

    assert [passage.text for passage in first] == ["Ants walk.", "Bees fly.", "Apes climb."]


def test_a_limit_bounds_the_ids_of_a_scope(store):
    animals(store)

    assert sum(map(len, store.ids(scope(), limit=3).values())) == 3


ADDRESSES = (
    "/",
    "/a",
    "/a/b",
    "/a/b/c.md",
    "/ab",
    "/a/bc.md",
    "https://x.org",
    "https://x.org/a",
    "https://x.org/a/",
)


def test_what_lies_within_a_place_is_what_has_it_for_an_ancestor():
    for address in ADDRESSES:
        for place in ADDRESSES:
            above = {ancestor.rstrip("/") for ancestor in ancestors(address)}
            assert is_within(address, place) == (place.rstrip("/") in above), (address, place)


# Words


def test_a_title_weighs_more_than_a_body(store):
    store.put(document("/docs/a.md", "Cats and dogs, dogs and cats, and other beasts."))
    store.put(replace(document("/docs/b.md", "Cats and other beasts."), title="Dogs"))
    store.put(document("/docs/c.md", "Nothing of interest."))

    assert search(store, "dogs")[0] == "Cats and other beasts."


def test_words_are_searched_for_and_not_obeyed(store):
    """Operators of the full-text language and of SQL are words like any others, or none."""
    texts = [
        'He said "NEAR" and left.',
        "a AND b OR NOT c",
        "scope : c1x",
        "Robert'); DROP TABLE passages;--",
        "100% of *stars* ^ {title} (x) - + :",
        "nul \0 byte",
        "🦊 fox 🦊",
        "x" * 10_000,
        "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(3_000)),
        random.Random(1).randbytes(5_000).hex(),
        "Straße ½ Ⅷ ﷺ ｆｕｌｌ 日本語の文書 हिन्दी ภาษาไทย",
    ]
    store.put(document("/docs/a.md", *texts))

    for text in texts:
        assert stored(store, text) in search(store, text), text
    assert store.count_passages(scope()) == len(texts)
    assert search(store, "🦊") == search(store, '"') == search(store, "") == []


def stored(store, text):
    """PostgreSQL stores no NUL."""
    return text if store.database.dialect == "sqlite" else text.replace("\0", "\ufffd")


def test_a_term_cannot_end_its_own_quotes(store):
    animals(store)

    assert len(store.lexical.search(["meow"], scope(), limit=9)) == 1
    assert store.lexical.search(['meow" OR "purr'], scope(), limit=9) == []


def test_the_terms_of_places_are_no_words(store):
    animals(store)

    assert search(store, "c1x default scope docs") == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=80))
@example("ᦵᦰ, vowels that stand where other scripts have marks")
def test_every_term_of_a_passage_finds_it(store, text):
    store.put(document("/docs/a.md", text))

    for term in set(terms(text, language_of(text))):
        assert len(store.lexical.search([term], scope(), limit=5)) == 1, term


def test_the_lexical_index_can_be_made_anew_from_the_passages(store):
    animals(store)
    with store.transaction() as writing:
        writing.execute(
            "DROP TABLE words"
            if store.database.dialect == "sqlite"
            else "TRUNCATE passage_terms, terms, postings"
        )

    store.reindex()

    assert set(search(store, "cats")) == EVERYTHING
    assert set(search(store, "cats", scope("/docs/a"))) == {"Cats purr.", "Cats meow."}


# Vectors to make and to drop


def test_passages_wait_for_their_vectors_oldest_first(store):
    store.put(document("/docs/a.md", "One.", "Two."))
    store.put(document("/docs/b.md", "Three."))

    first = store.pending_vectors(limit=2)
    gone = store.mark_embedded([passage.id for passage in first] + ["999"])

    assert ([p.text for p in first], gone) == (["One.", "Two."], ["999"])
    assert [passage.text for passage in store.pending_vectors(limit=9)] == ["Three."]
    assert (store.count_pending_vectors(), store.has_vectors()) == (1, True)
    store.forget_vectors()
    assert (store.count_pending_vectors(), store.has_vectors()) == (3, False)


def test_removed_passages_are_noted_until_their_vectors_are_dropped(store):
    for collection in ("one", "two"):
        store.put(document("/docs/a.md", "One.", "Two.", collection=collection))
    ids = store.ids(scope(collections=["one", "two"]), limit=9)

    store.remove("one", "/docs/a.md")
    store.remove("two", "/docs/a.md")

    assert store.stale_vectors() == ids
    store.clear_stale_vectors(ids["one"])
    assert store.stale_vectors() == {"two": ids["two"]}


def test_what_is_remembered_is_recalled_and_replaced(store):
    assert store.get_meta("key") is None

    store.set_meta("key", "first")
    store.set_meta("key", "second")

    assert store.get_meta("key") == "second"


# The file


def test_the_file_and_what_sqlite_puts_beside_it_are_readable_by_their_owner_alone(tmp_path):
    others = os.umask(0)
    try:
        store = open_store(tmp_path / "library.sqlite")
        store.put(document("/docs/a.md", "Cats purr."))
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(others)

    assert modes == dict.fromkeys(("library.sqlite", "library.sqlite-wal", "library.sqlite-shm"), 0o600)


def test_what_was_written_is_there_after_reopening(tmp_path):
    first = open_store(tmp_path / "library.sqlite")
    animals(first)
    first.close()

    second = open_store(tmp_path / "library.sqlite")

    assert set(search(second, "cats")) == EVERYTHING
    second.close()


@pytest.mark.parametrize("content", [b"not a database " * 400, b"SQLite format 3\0" + b"garbage" * 900])
def test_a_damaged_file_is_a_sentence(tmp_path, content):
    (tmp_path / "library.sqlite").write_bytes(content)

    with pytest.raises(
        SettingsError, match=r"library\.sqlite is damaged\. Run `footnote ingest --rebuild` with"
    ):
        open_store(tmp_path / "library.sqlite")


def test_damage_that_shows_later_is_a_sentence_too(tmp_path):
    first = open_store(tmp_path / "library.sqlite")
    first.put(document("/docs/a.md", *(f"Cats purr {number}." for number in range(500))))
    first.close()
    with (tmp_path / "library.sqlite").open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"garbage!" * 512 * 20)

    damaged = open_store(tmp_path / "library.sqlite")

    with pytest.raises(SettingsError, match="is damaged"):
        search(damaged, "cats")
    damaged.close()


def test_a_file_that_cannot_be_made_is_a_sentence(tmp_path):
    with pytest.raises(SettingsError, match=r"library\.sqlite cannot be made: no such file or directory\."):
        open_store(tmp_path / "missing" / "library.sqlite")


def test_a_folder_in_the_place_of_the_file_is_a_sentence(tmp_path):
    (tmp_path / "library.sqlite").mkdir()

    with pytest.raises(SettingsError, match=r"library\.sqlite cannot be opened\."):
        open_store(tmp_path / "library.sqlite")


# Side by side


def test_a_reader_does_not_wait_for_a_writer_and_sees_a_document_wholly_or_not_at_all(store):
    store.put(document("/docs/a.md", "Cats purr."))
    seen = []

    with store.transaction():
        store.put(document("/docs/a.md", "Dogs bark.", "Dogs howl."))
        reader = threading.Thread(target=lambda: seen.extend(search(store, "cats dogs")))
        reader.start()
        reader.join()

    assert seen == ["Cats purr."]
    assert set(search(store, "cats dogs")) == {"Dogs bark.", "Dogs howl."}


def test_threads_that_write_take_turns(store):
    def put(number):
        for version in range(10):
            store.put(document(f"/docs/{number}.md", f"Cats {version}.", f"Dogs {version}."))

    writers = [threading.Thread(target=put, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert sorted(search(store, "cats")) == ["Cats 9."] * 4
    assert store.count_passages(scope()) == 8


def test_another_process_can_list_documents_while_this_one_writes(tmp_path):
    """`footnote sources` asks for no ownership."""
    store = open_store(tmp_path / "library.sqlite")
    store.put(document("/docs/a.md", "Cats purr."))
    program = (
        "import sys; from pathlib import Path; from core.bootstrap import open_library; from core.settings import Settings\n"
        "library = open_library(Settings(data_dir=Path(sys.argv[1]).parent))\n"
        "print(*(entry.source for entry in library.store.entries()))"
    )

    with store.transaction():
        store.put(document("/docs/b.md", "Dogs bark."))
        listed = subprocess.run(
            [sys.executable, "-c", program, tmp_path / "library.sqlite"],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        ).stdout

    store.close()
    assert listed.split() == ["a.md"]


def test_a_nested_transaction_fails_with_the_outer_one(store):
    def interrupted():
        with store.transaction():
            store.put(document("/docs/a.md", "Cats purr."))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert store.entries() == []
    store.put(document("/docs/b.md", "Dogs bark."))
    assert search(store, "cats dogs") == ["Dogs bark."]


# Cost


@pytest.mark.parametrize("wanted", [scope(), scope("/docs/a", "https://example.org")], ids=["wide", "narrow"])
def test_no_question_reads_a_table_from_end_to_end(store, wanted):
    """Work in proportion to the scope is needed to count it; to the whole library never is."""
    animals(store)
    recording = RecordingDatabase(store.database)
    asking = DocumentStore(recording)

    asking.count_passages(wanted)
    asking.ids(wanted, limit=10)
    asking.passages(["1", "2"], wanted)
    asking.has_vectors()
    asking.count_pending_vectors()
    asking.pending_vectors(limit=10)
    asking.lexical.search(["cat"], wanted, limit=10)
    asking.lexical.document_frequencies(["cat"], wanted)

    assert len(recording.asked) >= 8
    steps = [step for query, values in recording.asked for step in plan_of(store.database, query, values)]
    scans = r"SCAN (p|d|passages|documents)\b|.*Seq Scan on (passages|documents|terms|postings|words)\b"
    assert [step for step in steps if re.match(scans, step)] == []


class RecordingDatabase:
    """Passes queries on and remembers them."""

    def __init__(self, database):
        self.dialect, self.database, self.asked = database.dialect, database, []

    def rows(self, query, values=()):
        self.asked.append((query, values))
        return self.database.rows(query, values)


def plan_of(database, query, values):
    """How the database carries a query out. PostgreSQL would read tables this small from end to end."""
    if database.dialect == "sqlite":
        return [row[3] for row in database.rows(f"EXPLAIN QUERY PLAN {query}", values)]
    return [row[0] for row in database.rows_with({"enable_seqscan": "off"}, f"EXPLAIN {query}", values)]


def test_a_scope_of_thousands_of_passages_can_be_asked_for_by_number(store):
    store.put(document("/docs/a.md", *(f"Cat {number}." for number in range(3_500))))
    ids = store.ids(scope(), limit=9_999)["default"]

    assert len(store.passages(ids, scope())) == 3_500
    assert store.passages([], scope()) == store.passages(["999999"], scope()) == {}
    assert store.passages(ids, Scope(collections=frozenset())) == {}
