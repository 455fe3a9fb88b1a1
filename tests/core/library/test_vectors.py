import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from core.bootstrap import open_vectors
from core.errors import IndexMismatch, SettingsError
from core.library import pgvector
from core.library.chroma import ChromaIndex
from core.library.tables import SCHEMA
from core.settings import Settings
from core.storage.storage import open_storage


def directions(count, dimension=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def ids_of(count, prefix=""):
    """Ids of passages are numbers; those of another prefix are others."""
    return [f"{prefix}{1000 + number}" for number in range(count)]


@pytest.fixture
def index(storage, tmp_path):
    index = open_vectors(storage.database("library", SCHEMA), tmp_path / "vectors")
    yield index
    index.close()


@pytest.fixture
def chroma(tmp_path):
    index = ChromaIndex(tmp_path / "vectors")
    yield index
    index.close()


def near(cosines, index):
    """PostgreSQL keeps vectors in half precision."""
    return pytest.approx(cosines, abs=1e-5 if isinstance(index, ChromaIndex) else 1e-3)


def test_finds_the_nearest_first_with_their_cosines(index):
    vectors = directions(50)
    index.add("docs", ids_of(50), vectors)

    hits = index.search(vectors[7], collections=["docs"], limit=5)

    expected = vectors @ vectors[7]
    best = np.argsort(-expected)[:5]
    assert [hit for hit, _ in hits] == [f"{1000 + number}" for number in best]
    assert [cosine for _, cosine in hits] == near(expected[best], index)


def test_an_index_that_was_never_written_holds_nothing_and_makes_no_file(index, tmp_path):
    vector = directions(1)[0]

    assert index.search(vector, collections=["docs"], limit=5) == []
    assert index.similarities(vector, {"docs": ["1001"]}) == {}
    assert index.count("docs") == 0
    index.remove("docs", ["1001"])
    index.drop("docs")
    assert not (tmp_path / "vectors").exists()


def test_an_emptied_collection_gives_no_results(index):
    vectors = directions(3)
    index.add("docs", ids_of(3), vectors)

    index.remove("docs", ids_of(3))

    assert index.search(vectors[0], collections=["docs"], limit=5) == []
    assert index.count("docs") == 0


def test_adding_nothing_and_asking_for_nothing_do_nothing(index):
    index.add("docs", [], directions(0))

    assert index.search(directions(1)[0], collections=["docs"], limit=0) == []


def test_what_was_written_is_there_after_reopening(tmp_path):
    vectors = directions(20)
    first = ChromaIndex(tmp_path / "vectors")
    first.add("docs", ids_of(20), vectors)
    first.close()

    second = ChromaIndex(tmp_path / "vectors")
    hits = second.search(vectors[3], collections=["docs"], limit=1)
    second.close()

    assert hits == [("1003", near(1.0, index))]


def test_a_collection_never_shows_another_ones_passages(index):
    vectors = directions(30)
    index.add("public", ids_of(10, "1"), vectors[:10])
    index.add("secret", ids_of(20, "2"), vectors[10:])

    hits = index.search(vectors[15], collections=["public"], limit=100)

    assert {hit for hit, _ in hits} == set(ids_of(10, "1"))
    assert index.similarities(vectors[15], {"public": ["21005"]}) == {}


def test_several_collections_are_ranked_together(index):
    vectors = directions(30)
    index.add("one", ids_of(15, "1"), vectors[:15])
    index.add("two", ids_of(15, "2"), vectors[15:])

    hits = index.search(vectors[20], collections=["one", "two", "one"], limit=4)

    assert hits[0][0] == "21005"
    assert [cosine for _, cosine in hits] == sorted((c for _, c in hits), reverse=True)
    assert len({hit for hit, _ in hits}) == 4


def test_an_unknown_collection_is_empty_beside_a_known_one(index):
    vectors = directions(5)
    index.add("docs", ids_of(5), vectors)

    assert index.search(vectors[0], collections=["nobody"], limit=5) == []
    assert index.search(vectors[0], collections=[], limit=5) == []
    assert len(index.search(vectors[0], collections=["docs", "nobody"], limit=5)) == 5


@pytest.mark.parametrize("name", ["a", "Böse / Namen…", "x" * 1000, "docs ", "docs"])
def test_a_collection_may_have_any_name(index, name):
    index.add(name, ["1000"], directions(1))
    index.add(name + "-", ["1001"], directions(1))

    assert [hit for hit, _ in index.search(directions(1)[0], collections=[name], limit=9)] == ["1000"]


def test_an_id_that_is_added_again_has_its_new_vector(index):
    vectors = directions(4)
    index.add("docs", ["1000", "1001"], vectors[:2])

    index.add("docs", ["1000", "1002", "1000"], vectors[1:])

    assert index.count("docs") == 3
    assert index.similarities(vectors[3], {"docs": ["1000"]}) == {"1000": near(1.0, index)}


def test_removed_passages_are_gone_at_once_and_for_good(tmp_path):
    vectors = directions(600)
    first = ChromaIndex(tmp_path / "vectors")
    first.add("docs", ids_of(600), vectors)

    first.remove("docs", [*ids_of(590), "9999999", "1001"])
    found = first.search(vectors[0], collections=["docs"], limit=50)
    first.close()
    second = ChromaIndex(tmp_path / "vectors")
    found_later = second.search(vectors[0], collections=["docs"], limit=50)
    second.close()

    assert {hit for hit, _ in found} == {f"{1000 + number}" for number in range(590, 600)}
    assert dict(found_later).keys() == dict(found).keys()


def held_in(folder, vectors):
    """How many of them stand in each file, by its name."""
    needles = [vector.tobytes() for vector in vectors]
    files = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    counts = {file.name: sum(needle in data for needle in needles) for file, data in files.items()}
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("count", [1, 40, 250])
def test_nothing_of_removed_vectors_is_left_in_chromas_files(chroma, tmp_path, count):
    index = chroma
    vectors = directions(333, dimension=64)
    index.add("docs", ids_of(333), vectors)  # some in the graph, the last ones in the queue
    before = held_in(tmp_path / "vectors", vectors[-count:])

    index.remove("docs", ids_of(333)[-count:])

    assert before != {}
    assert held_in(tmp_path / "vectors", vectors[-count:]) == {}
    assert index.count("docs") == 333 - count
    nearest = [index.search(vector, collections=["docs"], limit=1)[0][0] for vector in vectors[:50]]
    assert nearest == ids_of(50)


def test_nothing_of_a_dropped_collection_is_left_in_chromas_files(chroma, tmp_path):
    index = chroma
    vectors = directions(333, dimension=64)
    index.add("docs", ids_of(333), vectors)
    index.add("kept", ids_of(20), directions(20, dimension=64, seed=1))

    index.drop("docs")

    assert held_in(tmp_path / "vectors", vectors) == {}
    assert index.count("kept") == 20


HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("BEGIN")
database.execute("SELECT count(*) FROM collections").fetchall()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_file_that_is_busy_is_told_and_emptied_the_next_time(chroma, tmp_path, monkeypatch):
    index = chroma
    monkeypatch.setattr("core.library.chroma.LOCK_TIMEOUT", 0.0)
    vectors = directions(20)
    index.add("docs", ids_of(20), vectors)
    file = str(tmp_path / "vectors" / "chroma.sqlite3")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as reader:
        reader.stdout.readline()

        with pytest.raises(SettingsError, match=r"may still lie in .*: database is locked\."):
            index._vacuum()
        reader.stdin.close()

    index.drop("docs")
    assert held_in(tmp_path / "vectors", vectors) == {}


def test_similarities_are_exact_for_the_ids_that_have_a_vector(index):
    vectors = directions(700)
    index.add("one", ids_of(600, "1"), vectors[:600])
    index.add("two", ids_of(100, "2"), vectors[600:])

    cosines = index.similarities(
        vectors[0], {"one": [*ids_of(600, "1"), "11001", "8888888"], "two": ["21003"], "nobody": ["11001"]}
    )

    assert len(cosines) == 601
    assert cosines["11042"] == near(float(vectors[42] @ vectors[0]), index)
    assert cosines["21003"] == near(float(vectors[603] @ vectors[0]), index)


def test_a_dropped_collection_is_gone_and_frees_its_room(chroma, tmp_path):
    index = chroma
    vectors = directions(300)
    index.add("old", ids_of(300), vectors)
    index.add("kept", ids_of(300, "3"), vectors)
    graphs_before = [path for path in (tmp_path / "vectors").iterdir() if path.is_dir()]

    index.drop("old")

    graphs = [path for path in (tmp_path / "vectors").iterdir() if path.is_dir()]
    assert (len(graphs_before), len(graphs)) == (2, 1)
    assert index.count("old") == 0
    assert index.search(vectors[4], collections=["old", "kept"], limit=1)[0][0] == "31004"
    index.add("old", ["7777777"], directions(1, dimension=3))
    assert index.count("old") == 1


def test_a_dropped_collection_is_empty_and_may_get_other_vectors(index):
    vectors = directions(30)
    index.add("old", ids_of(30), vectors)
    index.add("kept", ids_of(30, "3"), vectors)

    index.drop("old")

    assert index.count("old") == 0
    assert index.search(vectors[4], collections=["old", "kept"], limit=1)[0][0] == "31004"
    index.add("old", ["7777777"], directions(1, dimension=3))
    assert index.count("old") == 1


@pytest.mark.parametrize("attempt", range(3))
def test_hundreds_of_equal_vectors_hide_no_other(index, attempt):
    """Threads that add them make another graph each time, parts of which no search reaches."""
    equal, others = np.repeat(directions(1), 1_500, axis=0), directions(20, seed=1 + attempt)
    index.add("docs", ids_of(1_520), np.concatenate([equal, others]))

    hits = index.search(others[7], collections=["docs"], limit=1_520)

    assert len(hits) == 1_520
    assert hits[0] == ("2507", near(1.0, index))


def test_a_large_collection_gets_a_graph_that_finds_the_same(index, monkeypatch):
    monkeypatch.setattr(pgvector, "GRAPH_ABOVE", 300)
    vectors = directions(400, dimension=16)
    index.add("large", ids_of(400), vectors)
    index.add("small", ids_of(50, "1"), directions(50, dimension=16, seed=1))
    before = index.search(vectors[3], collections=["large", "small"], limit=20)

    index.build_graphs()
    index.build_graphs()
    index.remove("large", ["1003"])
    after = index.search(vectors[3], collections=["large", "small"], limit=19)

    assert [hit for hit, _ in after] == [hit for hit, _ in before if hit != "1003"]
    index.erase()
    index.add("large", ["1003"], directions(1, dimension=5))
    assert index.count("large") == 1


def test_a_graph_is_what_is_searched_in_a_large_collection(postgres_url, tmp_path, monkeypatch):
    monkeypatch.setattr(pgvector, "GRAPH_ABOVE", 300)
    with open_storage(Settings(data_dir=tmp_path, database_url=postgres_url)) as storage:
        database = storage.database("library", SCHEMA)
        index = open_vectors(database, tmp_path)
        index.add("large", ids_of(400), directions(400))
        index.build_graphs()
        asked = []
        rows_with = database.rows_with
        monkeypatch.setattr(
            database, "rows_with", lambda *given: asked.append(given) or rows_with(*given), raising=False
        )
        index.search(directions(1)[0], collections=["large"], limit=5)

        ((settings, query, values),) = asked
        plan = rows_with(settings, f"EXPLAIN {query}", values)

    assert "Index Scan using vectors_graph_1" in str(plan)


def test_another_dimension_is_refused_with_what_to_run(index):
    index.add("docs", ids_of(5), directions(5, dimension=8))
    wide = directions(5, dimension=12)

    for attempt in (
        lambda: index.add("docs", ids_of(5), wide),
        lambda: index.search(wide[0], collections=["docs"], limit=3),
        lambda: index.similarities(wide[0], {"docs": ["1001"]}),
    ):
        with pytest.raises(IndexMismatch, match=r"8 dimensions.*12.*ingest --rebuild"):
            attempt()


def test_a_damaged_database_is_a_sentence_and_can_be_erased(tmp_path):
    folder = tmp_path / "vectors"
    first = ChromaIndex(folder)
    first.add("docs", ids_of(5), directions(5))
    first.close()
    (folder / "chroma.sqlite3").write_bytes(b"not a database" * 1000)
    damaged = ChromaIndex(folder)

    with pytest.raises(SettingsError, match=r"is damaged\. Run `footnote ingest --rebuild`\."):
        damaged.search(directions(1)[0], collections=["docs"], limit=3)

    damaged.erase()
    damaged.add("docs", ids_of(2), directions(2))
    assert damaged.count("docs") == 2
    damaged.close()


def test_a_damaged_graph_is_a_sentence(tmp_path):
    folder = tmp_path / "vectors"
    first = ChromaIndex(folder)
    first.add("docs", ids_of(300), directions(300))
    first.close()
    (graph,) = (path for path in folder.iterdir() if path.is_dir())
    (graph / "index_metadata.pickle").write_bytes(b"garbage")
    damaged = ChromaIndex(folder)

    with pytest.raises(SettingsError, match="is damaged"):
        damaged.search(directions(1)[0], collections=["docs"], limit=3)

    damaged.close()


def test_settings_of_the_surroundings_do_not_reach_chroma(tmp_path, monkeypatch):
    monkeypatch.setenv("CHROMA_API_IMPL", "chromadb.api.fastapi.FastAPI")
    monkeypatch.setenv("CHROMA_SERVER_HOST", "127.0.0.1")
    monkeypatch.setenv("CHROMA_OTEL_GRANULARITY", "all")
    index = ChromaIndex(tmp_path / "vectors")

    index.add("docs", ["1000"], directions(1))

    assert index.count("docs") == 1
    index.close()


def test_searches_and_writes_may_meet(index):
    vectors = directions(1000, dimension=16)
    index.add("docs", ids_of(200), vectors[:200])
    troubles = []

    def search():
        for row in range(50):
            try:
                index.search(vectors[row], collections=["docs"], limit=5)
            except SettingsError as trouble:
                troubles.append(trouble)

    readers = [threading.Thread(target=search) for _ in range(3)]
    for reader in readers:
        reader.start()
    index.add("docs", ids_of(1000), vectors)
    index.remove("docs", ids_of(1000)[-50:])
    for reader in readers:
        reader.join()

    assert troubles == []
    assert index.count("docs") == 950


def test_the_real_name_of_a_collection_is_kept_beside_its_vectors(chroma, tmp_path):
    index = chroma
    index.add("Team – Handbook", ["1000"], directions(1))
    index.close()

    database = sqlite3.connect(tmp_path / "vectors" / "chroma.sqlite3")
    names = database.execute("SELECT str_value FROM collection_metadata WHERE key = 'collection'").fetchall()
    database.close()

    assert names == [("Team – Handbook",)]
