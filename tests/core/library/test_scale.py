"""Cosines of other networks, brought to the scale on which the confidence was fitted."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
from benchmarks import fit_confidence
from fakes.tiny_network import write_tiny_network

from core.library.confidence import WORDS_ALONE, load_coefficients
from core.library.embedding.embedder import on_scale
from core.library.embedding.network import OnnxEmbedder
from core.library.embedding.scale import (
    FITTED,
    PAIRS,
    REFERENCE,
    CosineRange,
    measure_range,
    network_name,
    rescale,
)


class Leaning:
    """Vectors that lean all one way, as those of some networks do: unrelated texts have the cosine ``lean``."""

    def __init__(self, lean, *, name="leaning", tells_apart=True):
        self.lean, self.name, self.tells_apart, self.asked = lean, name, tells_apart, 0

    @property
    def cosine_range(self):
        self.asked += 1
        return measure_range(self.embed_query, self.embed_documents)

    def embed_query(self, text):
        (number,) = [n for n, pair in enumerate(PAIRS) if text in pair] if self.tells_apart else (0,)
        vector = np.zeros(len(PAIRS) + 1, np.float32)
        vector[number], vector[-1] = (1 - self.lean) ** 0.5, self.lean**0.5
        return vector

    def embed_documents(self, texts):
        return np.stack([self.embed_query(text) for text in texts])


class OfProvider(Leaning):
    cosine_range = None


@pytest.mark.parametrize(
    ("name", "network"),
    [
        ("minilm", REFERENCE),
        ("all-MiniLM-L6-v2@0123456789ab", REFERENCE),
        ("hf:sentence-transformers/all-MiniLM-L6-v2@" + "0" * 40, REFERENCE),
        ("hf:ann/tiny/onnx/model_q8.onnx@" + "0" * 40, "tiny"),
        ("google_genai:gemini-embedding-001", "google_genai:gemini-embedding-001"),
    ],
)
def test_a_network_is_known_by_its_own_name(name, network):
    assert network_name(name) == network


def test_the_network_of_the_fit_is_one_that_a_fit_has_seen():
    assert REFERENCE in load_coefficients()


def test_what_leans_is_brought_upright():
    own = Leaning(0.7).cosine_range

    usual, best = on_scale([own.unrelated, own.related], Leaning(0.7))

    assert own.unrelated == pytest.approx(0.7)
    assert own.related == pytest.approx(1.0)
    assert (usual, best) == pytest.approx((FITTED.unrelated, FITTED.related))


def test_the_order_of_cosines_stays():
    cosines = [0.9, 0.85, 0.8, 0.7]

    assert rescale(cosines, CosineRange(unrelated=0.75, related=0.85)) == sorted(
        rescale(cosines, CosineRange(unrelated=0.75, related=0.85)), reverse=True
    )


def test_a_network_that_tells_nothing_apart_says_nothing():
    blind = Leaning(0.7, tells_apart=False)

    assert on_scale([0.9, 0.8], blind) == []


def test_the_cosines_of_the_fit_and_of_a_provider_stay_as_they_are():
    fitted = Leaning(0.7, name=f"{REFERENCE}@0123456789ab")

    assert on_scale([0.9, 0.8], fitted) == on_scale([0.9, 0.8], None) == [0.9, 0.8]
    assert fitted.asked == 0
    assert on_scale([], Leaning(0.7)) == []

    assert on_scale([0.9, 0.8], OfProvider(0.7)) == [0.9, 0.8]


def test_the_range_of_a_network_is_measured_once(tmp_path, monkeypatch):
    embedder = OnnxEmbedder(write_tiny_network(tmp_path / "tiny"))
    once = embedder.cosine_range
    monkeypatch.setattr(OnnxEmbedder, "embed_query", None)

    assert embedder.cosine_range is once


def test_a_fit_of_another_network_is_written_beside_the_first(tmp_path):
    file = tmp_path / "coefficients.toml"
    file.write_text(fit_confidence.COEFFICIENTS.read_text(encoding="utf-8"), encoding="utf-8")
    rows = [("mtrag", 1, 0.9, 0.1, *["0.9, 0.9, 0.1"] * len(fit_confidence.THRESHOLDS))]

    for bias in (-1.0, -2.0):
        fit_confidence.write_coefficients("multilingual-e5-small", (bias, {"cosine": 2.0}), rows, file)
    fit_confidence.write_coefficients(REFERENCE, (-3.0, {"cosine": 3.0}), rows, file)
    fit_confidence.write_coefficients("", (-4.0, {"bm25": 4.0}), rows, file)

    assert tomllib.loads(file.read_text(encoding="utf-8")) == {
        "multilingual-e5-small": {"bias": -2.0, "cosine": 2.0},
        REFERENCE: {"bias": -3.0, "cosine": 3.0},
        WORDS_ALONE: {"bias": -4.0, "bm25": 4.0},
    }
