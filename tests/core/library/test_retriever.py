from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager

import pytest
from fakes.shelf import STORES, open_library, put, scope
from fakes.tiny_network import WORDS, write_tiny_network
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from core.conversation import Exchange
from core.library import pgvector
from core.library.documents import Retrieval, Scope
from core.library.embedding.network import OnnxEmbedder
from core.library.retriever import TERM_LIMIT, Query, limit_history
from core.library.roots import is_within
from core.settings import Settings
from core.storage import postgres

COLLECTIONS = ("public", "secret", "empty")
FOLDERS = ("/docs", "/docs/a", "/docs/ab", "/docs/a/b", "https://example.org/a")
QUESTION = "Which cats purr and which dogs bark at night under the moon?"


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    return OnnxEmbedder(write_tiny_network(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module", params=STORES)
def place(request, tmp_path_factory):
    """Where the libraries are that no test changes."""
    with ExitStack() as stack:

        def settings(name):
            is_embedded = request.param == "sqlite"
            url = "" if is_embedded else stack.enter_context(request.getfixturevalue("postgres").database())
            return Settings(data_dir=tmp_path_factory.mktemp(name), database_url=url)

        yield settings


@pytest.fixture(scope="module")
def by_words(place):
    yield from stocked(place("words"), None)


@pytest.fixture(scope="module")
def by_meaning(place, embedder):
    yield from stocked(place("meaning"), embedder)


def stocked(settings, embedder):
    """Two collections with the same documents, every one of which fits every question."""
    library = open_library(settings, embedder)
    for collection in COLLECTIONS[:2]:
        for place in FOLDERS:
            for name in ("one.md", "two.md"):
                put(library, f"{place}/{name}", "the cats purr", "dogs bark at night", collection=collection)
    library.embed_pending()
    yield library
    library.close()


@pytest.fixture(params=["by_words", "by_meaning"])
def library_of_either_kind(request, by_words, by_meaning):
    return {"by_words": by_words, "by_meaning": by_meaning}[request.param]


@pytest.fixture
def seeing(data, embedder):
    library = open_library(data, embedder)
    yield library
    library.close()


def ask(library, question, wanted=None, **more):
    return library.retrieve(Query(text=question, scope=wanted or scope(), **more))


# Scopes

scopes = st.builds(
    Scope,
    collections=st.frozensets(st.sampled_from((*COLLECTIONS, "unknown", "public ", "c1x"))),
    addresses=st.lists(
        st.sampled_from(
            (*FOLDERS, "/", "/docs/a/one.md", "/doc", "/docs/a/", "https://example.org", "/nowhere")
        ),
        max_size=3,
    ).map(tuple),
)
questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
unhurried = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@unhurried
@given(wanted=scopes, question=questions)
def test_nothing_outside_the_scope_is_ever_found_and_nothing_inside_is_barred(
    library_of_either_kind, wanted, question
):
    library = library_of_either_kind
    allowed = {
        (entry.collection, entry.address)
        for entry in library.store.entries()
        if entry.collection in wanted.collections
        and (not wanted.addresses or any(is_within(entry.address, place) for place in wanted.addresses))
    }

    some = ask(library, question, wanted, limit=3)
    every = ask(library, QUESTION, wanted, limit=99)

    assert {(hit.passage.collection, hit.passage.source) for hit in some.passages} <= allowed
    assert {(hit.passage.collection, hit.passage.source) for hit in every.passages} == allowed
    assert some.searched == every.searched == 2 * len(allowed)
    assert allowed or (some, every) == (Retrieval(), Retrieval())


def test_a_passage_that_is_near_in_meaning_but_outside_is_not_found(seeing):
    put(seeing, "/docs/secret.md", "cats purr at night", collection="secret")
    put(seeing, "/docs/public.md", "the moon", collection="public")
    seeing.embed_pending()

    hits = ask(seeing, "cats purr at night", scope(collections=["public"])).passages

    assert [hit.passage.source for hit in hits] == ["/docs/public.md"]


def test_a_scope_too_wide_to_compare_one_by_one_is_kept_to_all_the_same(seeing, monkeypatch):
    """More passages than are compared exactly; nearer ones, with no word in common, lie outside."""
    monkeypatch.setattr(pgvector, "GRAPH_ABOVE", 3_000)
    monkeypatch.setattr(pgvector.PgvectorIndex, "exact_limit", 3_000)
    put(seeing, "/docs/a.md", *["dogs bark"] * (seeing.vectors.exact_limit + 50), "at")
    put(seeing, "/other/b.md", *["at at at moon"] * 100)
    seeing.embed_pending()

    hits = ask(seeing, "moon at at at", scope("/docs"), limit=20).passages

    assert {hit.passage.source for hit in hits} == {"/docs/a.md"}
    assert hits[0].passage.text == "at"
    assert all(hit.dense is not None for hit in hits)


def test_how_often_a_term_occurs_is_counted_within_the_scope(by_words):
    narrow = ask(by_words, "cats", scope("/docs/a/b", collections=["public"]))
    wide = ask(by_words, "cats", scope(collections=["public", "secret"]))
    frequencies = by_words.store.lexical.document_frequencies

    assert (narrow.searched, wide.searched) == (4, 40)
    assert frequencies(["cat"], scope("/docs/a/b", collections=["public"])) == {"cat": 2}
    assert frequencies(["cat"], scope(collections=["public", "secret"])) == {"cat": 20}


# Questions

HOSTILE = (
    "", " ", "\n\t", "?", '"', "'", "''", "*", "a*", "^a", "-a", "+a", "NEAR(a b)", "a AND", "OR", "NOT NOT",
    "{scope}: c1x", "scope:c1x", "title : cats", "(", "((((", ")", "%s %d", "; DROP TABLE passages; --",
    "' OR 1=1 --", "\0", "a\0b", "🦊", "👩‍👩‍👧‍👦", "\ud800", "\udcff cats", "x" * 10_000, "cats " * 2_000, "_", "__init__",
    "ﷺ", "½", "İi", "日本語", "\u202ecats", "a" + "\u0301" * 500, "1e999", "\\", "\\x00", "${HOME}", "cats;dogs",
)  # fmt: skip


def test_no_question_is_a_fault_however_strange(library_of_either_kind):
    public = scope(collections=["public"])

    for question in HOSTILE:
        history = (Exchange(question=question, answer=question, author="me"),)
        plain = ask(library_of_either_kind, question, public)
        following = ask(library_of_either_kind, question, public, history=history)
        assert plain.searched == following.searched == 20, ascii(question)[:80]


@unhurried
@given(question=st.text(st.characters(exclude_categories=()), max_size=60))
@example(question='cats" OR scope : "c2x')
def test_no_question_raises_or_leaves_its_scope(library_of_either_kind, question):
    result = ask(library_of_either_kind, question, scope("/docs/a", collections=["public"]))

    assert all(hit.passage.source.startswith("/docs/a/") for hit in result.passages)
    assert {hit.passage.collection for hit in result.passages} <= {"public"}
    assert 0.0 <= result.confidence <= 1.0
    assert all(0.0 <= hit.score <= 1.0 for hit in result.passages)


def test_a_long_question_is_looked_for_by_its_first_terms(by_words):
    words = [f"word{number}" for number in range(TERM_LIMIT)]

    late = ask(by_words, " ".join([*words, "cats"]), scope(collections=["public"]))
    early = ask(by_words, " ".join(["cats", *words]), scope(collections=["public"]))

    assert (len(late.passages), len(early.passages)) == (0, 8)


def test_a_question_that_leans_on_its_thread_is_merged_with_it(by_words):
    history = (Exchange(question="What do cats do?", answer="They purr. [1]", author="me"),)

    alone = ask(by_words, "And when?", scope(collections=["public"]))
    following = ask(by_words, "And when?", scope(collections=["public"]), history=history)
    standing = ask(
        by_words,
        "Which animals bark at night in the harbour?",
        scope(collections=["public"]),
        history=history,
    )

    assert alone.passages == ()
    assert {hit.passage.text for hit in following.passages} == {"the cats purr"}
    assert "cat" in following.weights
    assert "cat" not in standing.weights


def test_a_short_question_finds_its_own_subject_whatever_the_thread_spoke_of(library):
    put(library, "/ferry.md", *(f"The moonlight ferry leaves the east pier at {hour}." for hour in range(70)))
    put(library, "/tools.md", "The spade hangs behind the blue door.")
    said = (
        "When does the moonlight ferry leave the east pier?",
        "The moonlight ferry leaves the east pier at 9.",
    )
    history = (Exchange(question=said[0], answer=said[1], author="me"),)

    switched = ask(library, "Where is the spade?", scope(), history=history)
    absent = ask(library, "Where is the anvil?", scope(), history=history)

    assert switched.passages[0].passage.source == "/tools.md"
    assert absent.confidence < switched.confidence / 2


def test_a_short_question_whose_words_are_known_is_asked_as_it_is(library):
    put(library, "/ferry.md", "The ferry is fast in summer.", "The ferry carries cars.")
    put(library, "/tools.md", "Ingestion of a folder is fast.")
    history = (Exchange(question="What does the ferry carry?", answer="Cars.", author="me"),)

    alone = ask(library, "How fast is ingestion?", scope())
    later = ask(library, "How fast is ingestion?", scope(), history=history)

    assert later == alone


def test_a_question_that_points_back_looks_first_where_the_talk_is(library):
    for place in ("/ferry.md", "/tram.md", "/train.md"):
        put(library, place, "The fare is paid on board.", "It leaves at noon.")
    told = Exchange(
        question="How does one travel?", answer="By tram. [1]", author="me", sources=("/tram.md",)
    )

    pointing = ask(library, "Where is its fare paid?", scope(), history=(told,))
    other = ask(library, "Where is the fare for travellers with luggage paid?", scope(), history=(told,))

    assert pointing.passages[0].passage.source == "/tram.md"
    assert other.passages[0].passage.source == "/ferry.md"


def test_the_history_weighs_no_more_than_its_share_and_decides_where_the_question_says_nothing():
    rarity = {"spade": 2.0, "ferry": 3.0, "pier": 1.0}

    assert limit_history(rarity, ("spade",), rarity, points_back=False) == {
        "spade": 2.0,
        "ferry": 0.75,
        "pier": 0.25,
    }
    assert limit_history(rarity, ("spade",), rarity, points_back=True) == {
        "spade": 2.0,
        "ferry": 1.5,
        "pier": 0.5,
    }
    assert limit_history(rarity, ("spade",), ("ferry", "pier"), points_back=True) == rarity
    assert limit_history(rarity, ("spade", "ferry"), rarity, points_back=False) == rarity
    assert limit_history(rarity, (), rarity, points_back=False) == rarity


def test_a_term_of_the_thread_weighs_less_than_one_of_the_question(by_words):
    history = (Exchange(question="cats", answer="", author="me"),)

    weights = ask(by_words, "bark", scope(collections=["public"]), history=history).weights

    assert 0 < weights["cat"] < weights["bark"]


# Ranking


def test_the_best_comes_first_and_the_limit_holds(by_words):
    hits = ask(by_words, "dogs bark at night", scope(collections=["public"]), limit=5).passages

    assert len(hits) == 5
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.passage.text for hit in hits} == {"dogs bark at night"}


def test_the_same_question_has_the_same_answer_in_the_same_order(by_meaning):
    first, second = (ask(by_meaning, QUESTION, scope(collections=["public", "secret"])) for _ in range(2))

    assert first == second


def test_words_decide_where_meaning_does_not_and_the_other_way_round(seeing):
    put(seeing, "/a.md", "cats purr", "unheardof", "moon")
    seeing.embed_pending()

    named, meant = ask(seeing, "unheardof").passages[0], ask(seeing, "cats").passages[0]

    assert (named.passage.text, meant.passage.text) == ("unheardof", "cats purr")


def test_a_passage_that_has_no_vector_yet_holds_its_place_by_its_words(seeing):
    """A file that was just changed is known by its words before its vector is made."""
    put(seeing, "/old.md", *["cats purr at night"] * 20)
    seeing.embed_pending()
    put(seeing, "/new.md", "cats purr loudly at the harbour")

    hits = ask(seeing, "cats purr harbour").passages

    assert [(hit.passage.source, hit.dense is None) for hit in hits[:2]] == [
        ("/new.md", True),
        ("/old.md", False),
    ]


def test_meaning_takes_no_part_while_too_many_passages_lack_a_vector(seeing):
    """The few that have one would push the others aside."""
    put(seeing, "/old.md", *["cats purr at night"] * 8)
    seeing.embed_pending()
    put(seeing, "/new.md", "cats purr loudly at the harbour")

    meanwhile = ask(seeing, "cats").passages
    seeing.embed_pending()

    assert {hit.dense for hit in meanwhile} == {None}
    assert None not in {hit.dense for hit in ask(seeing, "cats").passages}


def test_a_passage_that_was_found_by_words_alone_has_its_cosine_too(seeing):
    put(seeing, "/a.md", *["the moon at night"] * 100, "harbour dogs")
    seeing.embed_pending()

    hits = ask(seeing, "the moon at night harbour", limit=200).passages

    (hit,) = (hit for hit in hits if "harbour" in hit.passage.text)
    assert hit.dense is not None


def test_a_library_without_documents_finds_nothing(library):
    assert ask(library, "cats") == Retrieval()


def test_a_question_without_a_word_in_common_finds_nothing_and_is_unsure(by_words):
    result = ask(by_words, "zeppelin", scope(collections=["public"]))

    assert (result.passages, result.confidence, result.searched) == ((), 0.0, 20)


def test_the_languages_are_those_of_a_fair_part_of_what_may_be_read(library):
    put(library, "/en.md", *["cats purr at night and the dogs are not in the harbour"] * 250)
    put(library, "/fr.md", "le chat ronronne la nuit et les chiens ne sont pas dans le port")
    put(library, "/de.md", *["der Hund und die Katze sind nicht im Haus"] * 3)
    put(library, "/es.md", *["el gato y los perros no están en la casa"] * 9, collection="closed")

    english = ask(library, "cats purr", scope(collections=["default"]))
    every = ask(library, "cats purr", scope(collections=["default", "closed"]))
    narrow = ask(library, "cats purr", scope("/fr.md", "/de.md"))

    assert {hit.passage.source for hit in english.passages} == {"/en.md"}
    assert english.languages == ("en", "de")
    assert set(every.languages) == {"en", "de", "es"}
    assert set(narrow.languages) == {"de", "fr"}


# Cost


@pytest.mark.parametrize(
    "wanted",
    [scope(collections=["public"]), scope("/docs", collections=["public", "secret"])],
    ids=["wide", "narrow"],
)
def test_the_number_of_statements_does_not_grow_with_the_question(
    library_of_either_kind, wanted, monkeypatch
):
    library = library_of_either_kind
    counted = []
    for question in ("cats", QUESTION, " ".join(f"word{number} cats" for number in range(200))):
        with statements_of(library.store.database, monkeypatch) as statements:
            ask(library, question, wanted)
        counted.append(len(statements))

    assert max(counted) <= (10 if library.store.database.dialect == "sqlite" else 16)
    assert len(set(counted)) == 1


@contextmanager
def statements_of(database, monkeypatch):
    """What is asked of the database meanwhile."""
    asked = []
    if database.dialect == "sqlite":
        # FTS5's own reading of its tables is not ours to count.
        database._reading.set_trace_callback(
            lambda sql: re.search(r"^--|'main'\.('words_|data_version)", sql) or asked.append(sql)
        )
        yield asked
        database._reading.set_trace_callback(None)
        return
    translate = postgres.translate
    with monkeypatch.context() as patch:
        patch.setattr(postgres, "translate", lambda query: asked.append(query) or translate(query))
        yield asked


# Languages


def test_a_question_finds_documents_of_its_own_and_of_another_language(seeing):
    put(seeing, "/de", "Das Passwort wird alle neunzig Tage geändert, und zwar von den Anwendern selbst.")
    put(seeing, "/en", "The worker pool has four workers that listen on the same port as the others.")
    put(seeing, "/xx", "Nothing of all this is said in here, and it is said at some length as well.")

    german, english = (
        ask(seeing, question).passages[0].passage.source
        for question in ("Wie können Anwender die Passwörter ändern?", "Wie viele worker sind im pool?")
    )

    assert (german, english) == ("/de", "/en")
