"""How a network is run as its own configuration says, and how a cross-encoder ranks passages anew."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from fakes.hub import FakeHub
from fakes.shelf import open_library, scope
from fakes.tiny_network import (
    DIMENSION,
    SPECIAL,
    WORDS,
    cross_encoder,
    sentence_transformer,
    write_tiny_network,
)

from core.errors import SettingsError
from core.library.documents import Piece
from core.library.embedding.hub import Hub
from core.library.embedding.network import OnnxEmbedder
from core.library.embedding.reranker import Reranker, reranker_for
from core.library.entries import NewDocument
from core.library.retriever import FIRST, Query
from core.settings import Settings


def laid(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture
def network(tmp_path):
    def make(name="network", **configured):
        return OnnxEmbedder(laid(tmp_path / name, sentence_transformer(tmp_path / "scratch", **configured)))

    return make


def vectors_of(*words):
    """What the tiny network has for each word, before anything is pooled."""
    table = np.random.default_rng(7).normal(size=(len(SPECIAL) + len(WORDS), DIMENSION)).astype(np.float32)
    return np.array([table[len(SPECIAL) + WORDS.index(word)] for word in words])


def unit(vector):
    return vector / np.linalg.norm(vector)


TOKENS = ("cats", "purr", "at", "night")
POOLED = {
    "cls": lambda rows: rows[0],
    "mean": lambda rows: rows.mean(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "mean_sqrt_len_tokens": lambda rows: rows.sum(axis=0) / 2,
    "weightedmean": lambda rows: (rows * np.arange(1, 5)[:, None]).sum(axis=0) / 10,
    "lasttoken": lambda rows: rows[-1],
}


@pytest.mark.parametrize("mode", POOLED)
def test_tokens_are_pooled_as_the_configuration_says(network, mode):
    embedder = network(pooling={"pooling_mode": mode})
    longer = " ".join(TOKENS * 3)

    _, vector, _ = embedder.embed_documents([longer, " ".join(TOKENS), "dogs"])

    assert vector == pytest.approx(unit(POOLED[mode](vectors_of(*TOKENS))), abs=1e-6)


@pytest.mark.parametrize(
    ("stated", "modes"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, ("cls",)),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, ("mean",)),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, ("max", "mean")),
        ({"pooling_mode": ["cls", "mean"]}, ("cls", "mean")),
    ],
)
def test_the_older_and_the_newer_way_to_say_it_are_read(network, stated, modes):
    embedder = network(pooling=stated)
    rows = vectors_of(*TOKENS)

    vector = embedder.embed_query(" ".join(TOKENS))

    assert embedder.layout.pooling == modes
    assert embedder.dimension == DIMENSION * len(modes) == len(vector)
    assert vector == pytest.approx(unit(np.concatenate([POOLED[mode](rows) for mode in modes])), abs=1e-6)


def test_where_nothing_is_said_the_mean_is_taken_and_that_is_known(network):
    embedder = network(**{"modules.json": None})

    assert embedder.layout.pooling == ("mean",)
    assert not embedder.layout.states_pooling


def test_questions_and_passages_have_prefixes_of_their_own(network):
    embedder = network(prompts={"query": "the moon ", "document": "the night "})
    plain = network("plain")

    assert embedder.embed_query("cats purr") == pytest.approx(
        plain.embed_query("the moon cats purr"), abs=1e-6
    )
    assert embedder.embed_documents(["cats purr"]) == pytest.approx(
        plain.embed_documents(["the night cats purr"]), abs=1e-6
    )


@pytest.mark.parametrize(
    ("stated", "prefixes"),
    [
        ({"prompts": {"query": "q: ", "passage": "p: "}}, ("q: ", "p: ")),
        ({"prompts": {"query": "q: ", "corpus": "c: "}}, ("q: ", "c: ")),
        ({"prompts": {"search": "s: ", "query": ""}, "default_prompt_name": "search"}, ("s: ", "s: ")),
        ({"prompts": {"query": "", "document": ""}, "default_prompt_name": None}, ("", "")),
        ({"prompts": "none", "default_prompt_name": 7}, ("", "")),
    ],
)
def test_the_prompts_are_those_that_sentence_transformers_takes(network, stated, prefixes):
    layout = network(**{"config_sentence_transformers.json": stated}).layout

    assert (layout.query_prefix, layout.passage_prefix) == prefixes


@pytest.mark.parametrize(
    ("stated", "tokenizer", "limit"),
    [({"max_seq_length": 300}, {}, 300), ({"max_seq_length": 32_768}, {}, 512), ({}, {}, 256),
     ({"max_seq_length": 512}, {"model_max_length": 128}, 128), ({"max_seq_length": None}, {"model_max_length": 1e30}, 256)],
)  # fmt: skip
def test_so_much_is_read_as_is_said_but_no_more_than_512_tokens(network, stated, tokenizer, limit):
    configured = {"sentence_bert_config.json": stated, "tokenizer_config.json": tokenizer}

    assert network(**configured).layout.token_limit == limit


def test_lower_case_is_made_where_it_is_said(network):
    embedder = network(**{"sentence_bert_config.json": {"do_lower_case": True}})

    assert embedder.embed_query("CATS Purr") == pytest.approx(embedder.embed_query("cats purr"), abs=1e-6)


def test_what_makes_other_vectors_makes_another_name(network):
    names = [
        network("a").name, network("b", pooling={"pooling_mode": "cls"}).name,
        network("c", prompts={"query": "q: "}).name,
    ]  # fmt: skip

    assert len({name.partition("@")[2] for name in names}) == 3


def test_a_folder_without_configuration_is_named_as_it_always_was(tmp_path):
    folder = write_tiny_network(tmp_path / "tiny")
    import hashlib

    digest = hashlib.sha256((folder / "model.onnx").read_bytes()).hexdigest()

    assert OnnxEmbedder(folder).name == f"tiny@{digest[:12]}"


def test_a_damaged_configuration_is_a_sentence(tmp_path):
    folder = laid(tmp_path / "n", sentence_transformer(tmp_path / "scratch"))
    (folder / "1_Pooling" / "config.json").write_text("{")

    with pytest.raises(SettingsError, match=r"The embedding folder .* has a damaged config\.json\."):
        OnnxEmbedder(folder)


# A cross-encoder


@pytest.fixture
def ranker(tmp_path):
    return reranker_for(str(laid(tmp_path / "ranker", cross_encoder(tmp_path / "scratch"))))


@pytest.fixture
def library(tmp_path):
    library = open_library(Settings(data_dir=tmp_path / "data"))
    yield library
    library.close()


def put(library, number, text):
    piece = Piece(path=(), location="", text=text, start=0, end=len(text))
    library.store.put(
        NewDocument(
            collection="default", address=f"/{number:02}", root="/", source=f"/{number:02}", title="", url=None,
            hash="", size=1, modified=1, pieces=[piece],
        )
    )  # fmt: skip


def found(library, question, limit=8):
    passages = library.retrieve(Query(text=question, scope=scope(), limit=limit)).passages
    return [hit.passage.source for hit in passages], [hit.score for hit in passages]


def test_a_pair_has_a_score_and_the_better_passage_comes_first(ranker):
    passages = ["dogs bark", "cats purr at night", "the cats", "the moon"]

    assert ranker.scores("cats purr at night", passages) == [0.0, 4.0, 1.0, 0.0]
    assert ranker.order("cats purr at night", passages) == [1, 2, 0, 3]


def test_the_first_twenty_passages_are_ranked_anew_and_the_others_stay(library, ranker):
    for number in range(30):
        words = " ".join(("cats", "purr", "bark")[: 1 + (number % 3 == 0) + (number == 29)])
        put(library, number, f"{words} {'moon ' * (40 + number)}")
    before, scores = found(library, "cats purr bark moon", limit=15)
    library.reranker = ranker

    after, again = found(library, "cats purr bark moon", limit=15)

    passages = [hit.passage.text for hit in library.retrieve(
        Query(text="cats purr bark moon", scope=scope(), limit=15)
    ).passages]  # fmt: skip
    assert ranker.scores("cats purr bark moon", passages) == sorted(
        ranker.scores("cats purr bark moon", passages), reverse=True
    )
    assert FIRST == 20
    assert set(before) | set(after) <= {f"/{n:02}" for n in range(30)}
    assert again == scores


def test_what_the_words_put_last_can_come_first(library, ranker):
    put(library, 1, "moon moon moon moon dogs")
    put(library, 2, "cats moon purr " + "night " * 60)
    question = "the moon, cats that purr?"
    library.reranker = None
    first, _ = found(library, question)
    library.reranker = Reversed()

    assert found(library, question)[0] == first[::-1]


def test_never_more_than_twenty_are_read_and_the_scores_stay_those_of_the_search(library):
    for number in range(30):
        put(library, number, f"cats purr {'moon ' * (10 + number)}")
    before, scores = found(library, "cats purr moon", limit=30)
    sure = library.retrieve(Query(text="cats purr moon", scope=scope(), limit=30)).confidence
    library.reranker = Reversed()

    after, again = found(library, "cats purr moon", limit=30)

    assert len(before) == 30
    assert after == [*before[:20][::-1], *before[20:]]
    assert again == scores
    assert library.reranker.read == [20]
    assert library.retrieve(Query(text="cats purr moon", scope=scope(), limit=30)).confidence == sure


class Reversed(Reranker):
    def __init__(self):
        super().__init__(setting="reversed", location=Path("/"))
        self.read = []

    def order(self, question, passages):
        self.read.append(len(passages))
        return list(range(len(passages)))[::-1]


def test_without_one_nothing_is_loaded_and_nothing_changes(library, monkeypatch):
    monkeypatch.setattr(Reranker, "order", None)
    put(library, 1, "cats purr")

    assert library.reranker is None
    assert found(library, "cats purr") == (["/01"], [1.0])


def test_until_it_is_downloaded_passages_stay_as_they_were(library, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for number, text in enumerate(("cats purr", "cats purr at night")):
        put(library, number, text)
    before = found(library, "cats purr at night")
    with FakeHub() as hub:
        hub.add(
            "ann/ranker", cross_encoder(tmp_path / "scratch", words=(*WORDS, *(f"w{n}" for n in range(60))))
        )
        library.reranker = reranker_for("hf:ann/ranker")
        assert found(library, "cats purr at night") == before
        assert hub.asked == []

        library.reranker.fetch(Hub(endpoint=hub.url), announce=print, progress=lambda *_: None)

    assert library.reranker.is_here
    assert library.reranker.order("cats", ["dogs", "cats"]) == [1, 0]


def test_one_that_cannot_be_run_is_told_once_and_left(ranker, caplog):
    (ranker.location / "onnx" / "model.onnx").write_bytes(b"no network")

    with caplog.at_level(logging.WARNING):
        assert [ranker.order("cats", ["cats", "dogs"]) for _ in range(3)] == [None, None, None]

    assert sum("passages are not ranked anew" in record.message for record in caplog.records) == 1


def test_only_one_score_for_a_pair_makes_a_reranker(tmp_path):
    files = cross_encoder(tmp_path / "scratch", labels=3)
    with pytest.raises(SettingsError, match="is no cross-encoder that gives one score"):
        reranker_for(str(laid(tmp_path / "three", files))).scores("a", ["b"])
    with FakeHub() as hub:
        hub.add("ann/three", files)
        with pytest.raises(
            SettingsError, match="RERANKER=hf:ann/three cannot be used: it is no cross-encoder"
        ):
            reranker_for("hf:ann/three").fetch(Hub(endpoint=hub.url), announce=print, progress=print)
        assert hub.bytes_sent == 0


def test_off_is_none_and_nonsense_a_sentence():
    assert reranker_for("off") is None
    with pytest.raises(SettingsError, match="RERANKER must be hf:OWNER/NAME"):
        reranker_for("hf:nothing")
