import logging
import os
import sqlite3
import threading
from contextlib import suppress

import numpy as np
import pytest
from fakes.shelf import files_read, found, open_library, scope, sources, write
from fakes.tiny_network import write_tiny_network

from core.errors import IndexMismatch, ModelTrouble, NotFound, SettingsError
from core.library.documents import Document, embedded_text
from core.library.embedding.network import OnnxEmbedder
from core.library.formats import markdown
from core.library.library import EMBED_BATCH
from core.library.retriever import Query
from core.library.sync import SyncReport
from core.settings import Settings


@pytest.fixture
def embedder(tmp_path):
    return OnnxEmbedder(write_tiny_network(tmp_path / "tiny"))


@pytest.fixture
def other_embedder(tmp_path):
    return OnnxEmbedder(write_tiny_network(tmp_path / "wide", dimension=12))


@pytest.fixture
def seeing(data, embedder):
    """A library that searches by meaning too."""
    library = open_library(data, embedder)
    yield library
    library.close()


def page(text, title="Page"):
    return Document(title=title, text=text, blocks=markdown.parse(text).blocks)


# Forgetting


def animals(docs):
    write(docs / "cats.md", "Cats purr.")
    write(docs / "dogs.md", "Dogs bark.")
    write(docs / "sub" / "moon.md", "The moon is up.")
    return docs


@pytest.mark.parametrize("name", ["docs/cats.md", "{docs}/cats.md", "{docs}/sub/../cats.md"])
def test_a_document_is_forgotten_by_its_source_or_its_path(library, docs, name):
    library.ingest([animals(docs)])

    gone = library.forget(name.format(docs=docs))

    assert [(entry.source, entry.passages) for entry in gone] == [("docs/cats.md", 1)]
    assert found(library, "cats purr") == []
    assert sources(library) == ["docs/dogs.md", "docs/sub/moon.md"]


def test_no_word_of_a_forgotten_document_is_left_in_the_file(embedded, docs):
    library = embedded
    library.ingest([animals(docs)])
    for number in range(60):
        write(docs / f"other{number}.md", f"Nothing of note, number {number}.")
    secret = write(docs / "secret.md", "The zyxquartz hint is aardvarkian.")
    library.refresh()
    (file,) = docs.parent.rglob("library.sqlite")
    held = [
        word for word in (b"zyxquartz", b"aardvarkian") if word in file.read_bytes() or word in wal_of(file)
    ]

    library.forget(str(secret))

    assert held != []
    assert not [word for word in (b"zyxquartz", b"aardvark") if word in file.read_bytes() + wal_of(file)]


def test_no_row_of_a_forgotten_document_is_left(seeing, docs):
    seeing.ingest([animals(docs)])
    secret = write(docs / "secret.md", "The zyxquartz hint is aardvarkian.")
    seeing.refresh()
    seeing.embed_pending()
    database = seeing.store.database
    words = "words" if database.dialect == "sqlite" else "passage_terms"
    query = (
        "SELECT count(*) FROM passages WHERE text LIKE '%zyxq%' UNION ALL"
        " SELECT count(*) FROM documents WHERE address LIKE '%secret%' UNION ALL"
        f" SELECT count(*) FROM {words} WHERE body LIKE '%zyxq%'"
    )
    if database.dialect == "postgresql":
        query += (
            " UNION ALL SELECT count(*) FROM terms WHERE term LIKE '%zyxq%'"
            " UNION ALL SELECT count(*) FROM postings WHERE passage NOT IN (SELECT id FROM passages WHERE text"
            " NOT LIKE '%zyxq%') UNION ALL SELECT count(*) - 3 FROM vectors"
        )
    before = {count for (count,) in database.rows(query)}

    seeing.forget(str(secret))

    assert min(before) >= 1
    assert {count for (count,) in database.rows(query)} == {0}


@pytest.mark.parametrize("others", [0, 30])
def test_no_vector_of_a_forgotten_document_is_left_in_any_file(embedded, embedder, docs, others):
    seeing = embedded
    seeing.embedder = embedder
    secret = write(docs / "secret.md", "The zyxquartz hint is aardvarkian.")
    seeing.ingest([secret, *(write(docs / f"{number}.md", f"Note {number}.") for number in range(others))])
    (passage,) = [each for each in seeing.store.pending_vectors(limit=99) if "zyxquartz" in each.text]
    (vector,) = embedder.embed_documents([embedded_text(passage)])
    seeing.embed_pending()
    assert seeing.vectors.count("default") == 1 + others
    folder = docs.parent / "data"
    held = [file for file in folder.rglob("*") if file.is_file() and vector.tobytes() in file.read_bytes()]

    seeing.forget(str(secret))

    assert held != []
    assert not [f for f in folder.rglob("*") if f.is_file() and vector.tobytes() in f.read_bytes()]
    assert seeing.vectors.count("default") == others


def test_a_forgetting_that_was_cut_off_is_finished_by_the_next_one(seeing, embedder, docs, monkeypatch):
    class Killed(BaseException):
        pass

    def die(self, collection):
        raise Killed

    secret = write(docs / "secret.md", "The zyxquartz hint is aardvarkian.")
    seeing.ingest([secret])
    seeing.embed_pending()
    with monkeypatch.context() as patch:
        patch.setattr(type(seeing.vectors), "drop", die)
        with pytest.raises(Killed):
            seeing.forget(str(secret))
    left = seeing.vectors.count("default")

    with pytest.raises(NotFound):
        seeing.forget(str(secret))

    assert (left, seeing.vectors.count("default")) == (1, 0)


def wal_of(file):
    log = file.with_name(f"{file.name}-wal")
    return log.read_bytes() if log.exists() else b""


def test_a_document_is_forgotten_by_a_path_from_where_one_stands(library, docs, monkeypatch):
    library.ingest([animals(docs)])
    monkeypatch.chdir(docs / "sub")

    library.forget("../cats.md")
    library.forget("moon.md")

    assert sources(library) == ["docs/dogs.md"]


@pytest.mark.parametrize("name", ["docs/sub", "docs/sub/", "{docs}/sub"])
def test_a_folder_is_forgotten_with_all_below_it(library, docs, name):
    library.ingest([animals(docs)])
    write(docs / "subway.md", "Trains.")
    library.refresh()

    gone = library.forget(name.format(docs=docs))

    assert [entry.source for entry in gone] == ["docs/sub/moon.md"]
    assert sources(library) == ["docs/cats.md", "docs/dogs.md", "docs/subway.md"]


def test_a_forgotten_file_of_a_kept_folder_stays_forgotten(library, docs):
    library.ingest([animals(docs)])
    library.forget("docs/cats.md")
    write(docs / "cats.md", "Cats purr louder.")

    refreshed, ingested = library.refresh(), library.ingest([docs])

    assert refreshed == ingested == SyncReport(skipped=2)
    assert found(library, "cats purr") == []


def test_a_forgotten_folder_of_a_kept_one_takes_nothing_new_in(library, docs):
    library.ingest([animals(docs)])
    library.forget("docs/sub")
    write(docs / "sub" / "stars.md", "Stars too.")

    assert library.refresh() == SyncReport(skipped=2)


def test_a_forgotten_file_is_back_once_it_is_ingested_by_name(library, docs):
    library.ingest([animals(docs)])
    library.forget("docs/cats.md")
    library.forget("docs/sub")

    back = library.ingest([docs / "cats.md", docs / "sub"])

    assert back == SyncReport(added=2)
    assert library.refresh() == SyncReport(skipped=3)
    assert sources(library) == ["docs/cats.md", "docs/dogs.md", "docs/sub/moon.md"]


def test_one_file_of_a_forgotten_folder_can_be_had_back_alone(library, docs):
    library.ingest([animals(docs)])
    write(docs / "sub" / "stars.md", "Stars too.")
    library.forget("docs/sub")

    library.ingest([docs / "sub" / "stars.md"])
    library.refresh()

    assert sources(library) == ["docs/cats.md", "docs/dogs.md", "docs/sub/stars.md"]


def test_a_forgotten_root_is_no_longer_kept_in_step_and_begins_anew_when_it_is_ingested(library, docs):
    library.ingest([animals(docs)])
    library.forget("docs/cats.md")
    library.forget("docs")

    assert library.refresh() == SyncReport()
    assert library.ingest([docs]) == SyncReport(added=3)


def test_what_was_forgotten_below_no_root_is_read_with_a_folder_ingested_later(library, docs):
    library.ingest([animals(docs) / "sub"])
    library.forget("sub")

    assert library.ingest([docs]) == SyncReport(added=3)


def test_forgetting_survives_a_restart_and_a_rebuild(data, docs):
    first = open_library(data)
    first.ingest([animals(docs)])
    first.forget("docs/cats.md")
    first.close()

    second = open_library(data)
    second.rebuild()

    assert sources(second) == ["docs/dogs.md", "docs/sub/moon.md"]
    second.close()


def test_a_file_that_could_not_be_read_can_be_forgotten_too(library, docs):
    write(animals(docs) / "broken.md", "")
    library.ingest([docs])

    gone = library.forget("docs/broken.md")

    assert gone == []
    assert library.refresh() == SyncReport(skipped=3)


def test_a_folder_that_is_gone_can_be_forgotten_too(library, docs, tmp_path):
    library.ingest([animals(docs)])
    docs.rename(tmp_path / "away")
    library.refresh()

    library.forget("docs")
    (tmp_path / "away").rename(docs)

    assert library.refresh() == SyncReport()


@pytest.mark.parametrize(
    "name", ["unknown.md", "cats", "docs/cat", "", "  ", "~nobody-of-this-name", "a\0b", "%", "doc_/cats.md"]
)
def test_a_name_that_nothing_has_is_a_sentence(library, docs, name):
    library.ingest([animals(docs)])

    with pytest.raises(NotFound, match=r"Nothing is indexed under “.*”\. `footnote sources` lists"):
        library.forget(name)

    assert len(sources(library)) == 3


def test_what_a_name_means_as_a_path_goes_before_what_documents_are_called(library, tmp_path, monkeypatch):
    for place in ("one", "two"):
        write(tmp_path / place / "docs" / "cats.md", "Cats purr.")
        library.ingest([tmp_path / place / "docs"])
    monkeypatch.chdir(tmp_path / "one")

    by_path = library.forget("docs/cats.md")
    monkeypatch.chdir(tmp_path)
    by_source = library.forget("docs/cats.md")

    assert [entry.address for entry in by_path] == [str(tmp_path / "one" / "docs" / "cats.md")]
    assert [entry.address for entry in by_source] == [str(tmp_path / "two" / "docs" / "cats.md")]


def test_a_page_is_forgotten_by_its_address_or_by_what_it_lies_in(library):
    for url in ("https://example.org/docs/a", "https://example.org/docs/b", "https://example.org/docs-old"):
        library.ingest_page(url, page(f"Text of {url}."))

    library.forget("https://example.org/docs/")

    assert sources(library) == ["https://example.org/docs-old"]


# Collections


def test_the_same_file_may_be_in_two_collections_and_be_forgotten_in_one(library, docs):
    write(docs / "a.md", "Cats purr.")
    for collection in ("one", "two"):
        assert library.ingest([docs], collection=collection) == SyncReport(added=1)

    library.forget("docs/a.md", collection="one")
    library.refresh()

    assert [found(library, "cats", collections=[name]) for name in ("one", "two")] == [[], ["docs/a.md"]]


def test_both_collections_follow_their_common_file(library, docs):
    file = write(docs / "a.md", "Cats purr.")
    for collection in ("one", "two"):
        library.ingest([docs], collection=collection)
    write(file, "Dogs bark.")

    assert library.refresh() == SyncReport(changed=2)
    assert [found(library, "cats", collections=[name]) for name in ("one", "two")] == [[], []]


# Pages


def test_a_page_is_replaced_when_it_says_something_else_and_only_then(library):
    url = "https://example.org/"
    reports = [library.ingest_page(url, page(text)) for text in ("Cats purr.", "Cats purr.", "Dogs bark.")]

    assert reports == [SyncReport(added=1), SyncReport(skipped=1), SyncReport(changed=1)]
    assert (found(library, "cats"), found(library, "dogs")) == ([], [url])
    assert library.refresh() == SyncReport()


def test_lone_surrogates_become_signs_that_can_be_stored_and_offsets_stay(library):
    library.ingest_page("https://example.org/", page("Cats \ud83d purr.", title="\udcff"))

    (hit,) = library.retrieve(Query(text="cats", scope=scope())).passages
    assert (hit.passage.text, hit.passage.title) == ("Cats \ufffd purr.", "\ufffd")


# Vectors


def test_passages_are_found_by_meaning_once_they_have_vectors(seeing, docs, embedder):
    write(docs / "a.md", "cats purr")
    seeing.ingest([docs])
    before = seeing.retrieve(Query(text="cats purr", scope=scope())).passages[0].dense

    made = seeing.embed_pending()

    (hit,) = seeing.retrieve(Query(text="cats purr", scope=scope())).passages
    expected = embedder.embed_documents(["A\ncats purr"])[0] @ embedder.embed_query("cats purr")
    assert (before, made) == (None, 1)
    # Half precision in PostgreSQL.
    assert hit.dense == pytest.approx(float(expected), abs=1e-5 if is_embedded(seeing) else 1e-3)
    assert seeing.embed_pending() == 0


def is_embedded(library):
    return library.store.database.dialect == "sqlite"


def many(docs, count=EMBED_BATCH + 20):
    for number in range(count):
        write(docs / f"{number:03}.md", f"cats purr at night {number}")
    return docs


def test_vectors_are_made_batch_by_batch_with_progress(seeing, docs):
    seeing.ingest([many(docs)])
    notes = []

    seeing.embed_pending(notify=lambda *note: notes.append(note))

    total = EMBED_BATCH + 20
    assert notes == [("embedding", EMBED_BATCH, total), ("embedding", total, total)]
    assert seeing.vectors.count("default") == total


def test_embedding_goes_on_where_it_was_broken_off(seeing, docs):
    seeing.ingest([many(docs)])

    def interrupt(*_note):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seeing.embed_pending(notify=interrupt)

    assert seeing.store.count_pending_vectors() == 20
    assert seeing.embed_pending() == 20
    assert seeing.vectors.count("default") == EMBED_BATCH + 20


def test_a_crash_between_storing_vectors_and_noting_them_costs_only_their_batch(data, embedder, docs):
    """The process died after the vectors were added and before their passages were marked."""
    first = open_library(data, embedder)
    first.ingest([write(docs / "a.md", "cats purr"), write(docs / "b.md", "dogs bark")])
    batch = first.store.pending_vectors(limit=10)
    first.store.set_meta("embedding_model", embedder.name)
    first.vectors.add("default", [p.id for p in batch], embedder.embed_documents([p.text for p in batch]))
    first.close()

    second = open_library(data, embedder)
    second.check_model()

    assert second.embed_pending() == 2
    assert second.vectors.count("default") == 2
    assert found(second, "cats") == ["a.md", "b.md"]
    second.close()


def test_a_removed_passage_s_vector_never_surfaces(seeing, docs):
    """Between the removal and the next embedding its vector still lies in the index."""
    write(docs / "a.md", "cats purr at night")
    write(docs / "b.md", "dogs bark")
    seeing.ingest([docs])
    seeing.embed_pending()
    before = seeing.retrieve(Query(text="cats purr at night", scope=scope())).confidence
    (docs / "a.md").unlink()
    seeing.refresh()

    left = seeing.vectors.count("default")
    after = seeing.retrieve(Query(text="cats purr at night", scope=scope()))
    seeing.embed_pending()

    assert [hit.passage.source for hit in after.passages] == ["docs/b.md"]
    assert after.confidence < before
    assert (left, seeing.vectors.count("default")) == (2, 1)


def test_a_passage_removed_while_its_vector_was_made_leaves_none_behind(data, docs, embedder):
    class ForgetfulEmbedder:
        """The owner of a document forgets it while the model is at work."""

        name, dimension, embed_query = embedder.name, embedder.dimension, embedder.embed_query

        def embed_documents(self, texts):
            library.forget("docs/a.md")
            return embedder.embed_documents(texts)

    library = open_library(data, ForgetfulEmbedder())
    write(docs / "a.md", "cats purr")
    write(docs / "b.md", "dogs bark")
    library.ingest([docs])

    library.embed_pending()

    assert library.vectors.count("default") == 1
    assert library.store.count_pending_vectors() == 0
    library.close()


def test_without_an_embedding_model_documents_are_found_by_words_though_vectors_exist(data, docs, embedder):
    with_vectors = open_library(data, embedder)
    with_vectors.ingest([write(docs / "a.md", "cats purr")])
    with_vectors.embed_pending()
    with_vectors.close()

    by_words = open_library(data)
    by_words.ingest([write(docs / "b.md", "dogs bark")])

    assert (found(by_words, "cats"), found(by_words, "dogs"), found(by_words, "moon")) == (
        ["a.md"],
        ["b.md"],
        [],
    )
    assert by_words.embed_pending() == 0
    by_words.close()
    again = open_library(data, embedder)
    again.check_model()
    assert again.embed_pending() == 1
    again.close()


def test_a_library_without_vectors_never_makes_their_folder(library, docs, tmp_path):
    write(docs / "a.md", "Cats purr.")
    library.ingest([docs])
    library.embed_pending()
    library.forget("docs")

    assert not (tmp_path / "data" / "vectors").exists()


# What the index was built with


def test_another_embedding_model_is_refused_with_what_to_run(data, docs, embedder, other_embedder):
    first = open_library(data, embedder)
    first.ingest([write(docs / "a.md", "cats purr")])
    first.embed_pending()
    first.close()
    second = open_library(data, other_embedder)

    expected = rf"{embedder.name}, but EMBEDDING_MODEL now means {other_embedder.name}\..*ingest --rebuild"
    with pytest.raises(IndexMismatch, match=expected):
        second.check_model()
    second.ingest([write(docs / "b.md", "dogs bark")])
    with pytest.raises(IndexMismatch, match=expected):
        second.embed_pending()

    second.rebuild()
    second.check_model()
    assert second.embed_pending() == 2
    assert found(second, "cats purr")[0] == "a.md"
    second.close()


def test_another_model_may_be_taken_up_when_nothing_is_left_of_the_first(
    data, docs, embedder, other_embedder
):
    first = open_library(data, embedder)
    first.ingest([write(docs / "a.md", "cats purr")])
    first.embed_pending()
    first.forget("a.md")
    first.close()

    second = open_library(data, other_embedder)
    second.check_model()
    second.ingest([write(docs / "b.md", "dogs bark")])

    assert second.embed_pending() == 1
    assert found(second, "dogs") == ["b.md"]
    second.close()


def test_a_rebuild_reads_every_file_and_enters_the_words_of_pages_anew(library, docs):
    write(docs / "a.md", "Cats purr.")
    library.ingest([docs])
    library.ingest_page("https://example.org/", page("Dogs bark."))
    with library.store.transaction() as writing:  # as other terms would have cut them
        table = "words" if library.store.database.dialect == "sqlite" else "passage_terms"
        writing.execute(f"UPDATE {table} SET body = 'nonsense'")

    report = library.rebuild()

    assert report == SyncReport(added=1)
    assert (found(library, "cats"), found(library, "dogs")) == (["docs/a.md"], ["https://example.org/"])


def test_a_rebuild_reads_every_file_even_where_nothing_changed(library, docs):
    write(docs / "a.md", "Cats purr.")
    write(docs / "b.md", "")
    library.ingest([docs])

    with files_read(docs) as read:
        report = library.rebuild()

    assert set(read) == {"a.md", "b.md"}
    assert (report.added, [failure.source for failure in report.failed]) == (1, ["docs/b.md"])


def test_a_rebuild_makes_the_vectors_of_pages_anew_too(seeing, docs):
    seeing.ingest([write(docs / "a.md", "cats purr")])
    seeing.ingest_page("https://example.org/", page("dogs bark"))
    seeing.embed_pending()

    seeing.rebuild()

    assert seeing.embed_pending() == seeing.vectors.count("default") == 2


def test_a_rebuild_that_was_broken_off_can_be_made_again(seeing, docs):
    seeing.ingest([many(docs, 5)])
    seeing.embed_pending()

    def interrupt(*_note):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        seeing.rebuild(notify=interrupt)
    seeing.rebuild()

    assert seeing.embed_pending() == 5
    assert len(sources(seeing)) == seeing.vectors.count("default") == 5


# Damage


def damage(data):
    database = data / "vectors" / "chroma.sqlite3"
    os.truncate(database, database.stat().st_size // 3)
    for graph in (data / "vectors").glob("*/*"):
        graph.write_bytes(b"garbage")


@pytest.fixture
def damaged(tmp_path, docs, embedder):
    """A library whose vector index was cut short while nobody looked."""
    before = open_library(tmp_path / "data", embedder)
    before.ingest([many(docs)])
    before.embed_pending()
    before.close()
    damage(tmp_path / "data")
    library = open_library(tmp_path / "data", embedder)
    yield library
    library.close()


def test_a_damaged_vector_index_does_not_lose_the_question_and_is_told_once(damaged, caplog):
    damaged.check_model()

    with caplog.at_level(logging.WARNING, logger="core.library.library"):
        answers = [damaged.retrieve(Query(text="cats purr 7", scope=scope())) for _ in range(3)]

    told = [record.message for record in caplog.records if record.name == "core.library.library"]
    assert [answer.passages[0].passage.text for answer in answers] == ["cats purr at night 7"] * 3
    assert all(hit.dense is None for answer in answers for hit in answer.passages)
    assert len(told) == 1
    assert "by words alone" in told[0]
    assert "footnote ingest --rebuild" in told[0]


def test_a_damaged_vector_index_is_a_sentence_where_vectors_are_wanted(damaged, docs):
    damaged.ingest([write(docs / "new.md", "dogs bark")])

    with pytest.raises(SettingsError, match=r"is damaged\. Run `footnote ingest --rebuild`\."):
        damaged.embed_pending()


def test_a_rebuild_mends_a_damaged_vector_index(damaged):
    damaged.retrieve(Query(text="cats", scope=scope()))

    damaged.rebuild()
    made = damaged.embed_pending()

    hits = damaged.retrieve(Query(text="cats purr", scope=scope())).passages
    assert made == EMBED_BATCH + 20
    assert all(hit.dense is not None for hit in hits)


def test_forgetting_works_with_a_damaged_vector_index(damaged, docs):
    gone = damaged.forget(str(docs / "007.md"))

    assert [entry.source for entry in gone] == ["docs/007.md"]
    assert "docs/007.md" not in (*sources(damaged), *found(damaged, "cats purr at night 7"))


def test_vectors_of_another_dimension_do_not_lose_the_question(data, docs, embedder, other_embedder, caplog):
    """Somebody replaced the network in its folder: same place, other vectors."""
    first = open_library(data, embedder)
    first.ingest([write(docs / "a.md", "cats purr")])
    first.embed_pending()
    first.close()
    second = open_library(data, other_embedder)

    assert found(second, "cats") == ["a.md"]
    assert "by words alone" in caplog.text
    second.close()


def test_a_model_that_does_not_answer_is_asked_again_with_the_next_question(data, docs, embedder, caplog):
    class FickleEmbedder:
        """Its provider is away for one question."""

        name, dimension, embed_documents = embedder.name, embedder.dimension, embedder.embed_documents
        is_away, cosine_range = True, None

        def embed_query(self, text):
            if self.is_away:
                raise ModelTrouble("The embedding model is busy.")
            return embedder.embed_query(text)

    fickle = FickleEmbedder()
    library = open_library(data, fickle)
    library.ingest([write(docs / "a.md", "cats purr")])
    library.embed_pending()

    (by_words,) = library.retrieve(Query(text="cats", scope=scope())).passages
    fickle.is_away = False
    (by_meaning,) = library.retrieve(Query(text="cats", scope=scope())).passages

    assert (by_words.dense, by_meaning.dense is None) == (None, False)
    assert "The embedding model is busy." in caplog.text
    library.close()


# Side by side


def test_questions_are_answered_while_documents_come_and_go(seeing, docs):
    write(docs / "kept.md", "the moon at night")
    seeing.ingest([many(docs, 60)])
    seeing.embed_pending()
    troubles, done = [], threading.Event()

    def ask():
        while True:
            is_last = done.is_set()
            try:
                hits = seeing.retrieve(Query(text="the moon at night", scope=scope())).passages
                assert hits[0].passage.source == "docs/kept.md"
            except Exception as trouble:  # noqa: BLE001 - whatever a thread raises fails the test
                troubles.append(trouble)
                return
            if is_last:
                return

    readers = [threading.Thread(target=ask) for _ in range(3)]
    for reader in readers:
        reader.start()
    for generation in range(3):
        for number in range(0, 60, 2):
            write(docs / f"{number:03}.md", f"cats purr {generation} {number}")
        (docs / f"{2 * generation + 1:03}.md").unlink()
        seeing.refresh()
        seeing.embed_pending()
    done.set()
    for reader in readers:
        reader.join()

    assert troubles == []
    assert seeing.vectors.count("default") == len(sources(seeing)) == 58


def test_two_threads_open_the_vectors_once(tmp_path, docs, embedder):
    opened = []
    library = open_library(tmp_path / "data", embedder)
    make = library.open_vectors
    barrier = threading.Barrier(8)

    meeting = threading.Barrier(2)

    def open_vectors():
        opened.append(1)
        with suppress(threading.BrokenBarrierError):
            meeting.wait(timeout=0.2)  # a second thread that comes in would be met here
        return make()

    library.open_vectors = open_vectors

    def use():
        barrier.wait()
        library.vectors.count("default")

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert opened == [1]
    library.close()


# Similarity


def test_similarity_is_the_cosine_with_the_question_and_needs_a_model(library, seeing, embedder):
    vectors = embedder.embed_documents(["cats", "dogs bark", "the moon"])

    cosines = seeing.similarity("cats", ["cats", "dogs bark", "the moon"])

    assert cosines == pytest.approx((vectors @ vectors[0]).tolist(), abs=1e-5)
    assert np.argmax(cosines) == 0
    with pytest.raises(SettingsError, match="no embedding model"):
        library.similarity("cats", ["cats"])


def test_a_library_closes_its_files(tmp_path, docs, embedder):
    library = open_library(tmp_path / "data", embedder)
    library.ingest([write(docs / "a.md", "cats")])
    library.embed_pending()

    library.close()

    with pytest.raises(sqlite3.ProgrammingError):
        library.store.entries()


# Several processes on one PostgreSQL


@pytest.fixture
def pair(tmp_path, postgres_url, embedder):
    """Two libraries over one store, as two processes have them."""
    settings = [Settings(data_dir=tmp_path / name, database_url=postgres_url) for name in ("one", "two")]
    libraries = [open_library(each, embedder) for each in settings]
    yield libraries
    for library in libraries:
        library.close()


def test_what_one_process_synced_another_finds_by_words_and_by_meaning(pair, docs):
    leading, following = pair
    write(docs / "a.md", "cats purr")
    leading.ingest([docs])
    by_words = following.retrieve(Query(text="cats", scope=scope())).passages
    leading.embed_pending()
    by_meaning = following.retrieve(Query(text="cats", scope=scope())).passages
    write(docs / "a.md", "dogs bark")
    leading.refresh()

    assert [hit.dense for hit in by_words] == [None]
    assert by_meaning[0].dense is not None
    assert (found(following, "cats"), found(following, "dogs")) == ([], ["docs/a.md"])
    leading.forget("docs")
    assert found(following, "dogs") == []


def test_a_process_uses_the_vectors_again_that_another_one_made_anew(pair, docs, other_embedder):
    leading, following = pair
    follower_model = following.embedder
    leading.embedder = other_embedder
    leading.ingest([write(docs / "a.md", "cats purr")])
    leading.embed_pending()
    with_others = following.retrieve(Query(text="cats", scope=scope())).passages

    leading.embedder = follower_model
    leading.rebuild()
    leading.embed_pending()
    with_own = following.retrieve(Query(text="cats", scope=scope())).passages

    assert ([hit.dense for hit in with_others], len(with_own)) == ([None], 1)
    assert with_own[0].dense is not None


def test_two_processes_may_add_and_remove_at_once(pair, docs):
    files = [write(docs / f"{number}.md", f"cats purr {number}") for number in range(20)]

    def work(library, some):
        library.ingest(some)
        library.embed_pending()
        library.forget(str(some[0]))

    workers = [threading.Thread(target=work, args=(library, files[n::2])) for n, library in enumerate(pair)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    one, two = pair
    assert sorted(sources(one)) == sorted(file.name for file in files[2:])
    assert one.store.lexical.document_frequencies(["cat"], scope()) == {"cat": 18}
    two.embed_pending()
    assert two.vectors.count("default") == 18
