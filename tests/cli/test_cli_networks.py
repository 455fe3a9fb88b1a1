"""Networks of a hub, as an operator names them in EMBEDDING_MODEL and RERANKER."""

from __future__ import annotations

import pytest
from fakes.harbour import FERRY_QUESTION
from fakes.hub import FakeHub
from fakes.tiny_network import WORDS, cross_encoder, sentence_transformer

FERRY_WORDS = (
    *WORDS,
    "ferry",
    "Sark",
    "leaves",
    "leave",
    "pier",
    "half",
    "nine",
    "tickets",
    "harbour",
    "office",
)


@pytest.fixture
def hub(machine, tmp_path):
    with FakeHub() as hub:
        machine.settings |= {
            "EMBEDDING_MODEL": "hf:ann/tiny", "RERANKER": "hf:ann/ranker", "HF_ENDPOINT": hub.url,
        }  # fmt: skip
        yield hub


async def checked(machine, name):
    ran = await machine.run("doctor", "--json")
    (finding,) = [each for each in ran.record["checks"] if each["check"] == name]
    return finding["state"], finding["finding"]


async def test_a_network_of_a_hub_is_downloaded_by_ingest_and_then_needs_none(machine, hub, tmp_path):
    commit = hub.add("ann/tiny", sentence_transformer(tmp_path / "scratch", words=FERRY_WORDS))
    ranking = hub.add(
        "ann/ranker", cross_encoder(tmp_path / "scratch", words=(*FERRY_WORDS, *map(str, range(50))))
    )
    before = await checked(machine, "embedding")
    assert hub.asked == []

    ingested = await machine.run("ingest", "docs")
    machine.settings["HF_ENDPOINT"] = "http://127.0.0.1:9"
    asked = await machine.run("ask", FERRY_QUESTION, "--json")

    assert before == (
        "warning",
        "hf:ann/tiny is not on this machine yet: passages are found by their words alone.",
    )
    assert ingested.code == 0, ingested.err
    assert f"Downloading ann/tiny at {commit[:12]} (0 MB, once)…" in ingested.err
    assert f"Downloading ann/ranker at {ranking[:12]} (0 MB, once)…" in ingested.err
    assert asked.record["citations"][0]["source"].endswith("ferry.md"), asked.err
    state, finding = await checked(machine, "embedding")
    assert (state, finding.partition(". ")[0]) == ("ok", f"hf:ann/tiny@{commit} is on this machine")
    assert "The confidence in what is found was not fitted for it" in finding
    assert await checked(machine, "reranker") == (
        "ok",
        f"hf:ann/ranker@{ranking} ranks the first twenty passages; the confidence in them stays that of the search.",
    )


async def test_what_cannot_be_downloaded_is_a_sentence(machine, hub, tmp_path):
    hub.add("ann/tiny", {"README.md": b"weights are elsewhere"})

    ingested = await machine.run("ingest", "docs")

    assert ingested.code == 2
    assert "EMBEDDING_MODEL=hf:ann/tiny could not be downloaded: ann/tiny has no ONNX file" in ingested.err
    assert "Passages are not ranked anew: RERANKER=hf:ann/ranker could not be downloaded: " in ingested.err
    assert "Traceback" not in ingested.err


async def test_names_that_name_nothing_are_told_together(machine):
    machine.settings |= {"EMBEDDING_MODEL": "hf:tiny", "RERANKER": "nowhere", "HF_ENDPOINT": "hub.example"}

    ran = await machine.run("sources")

    assert ran.code == 2
    assert "EMBEDDING_MODEL must be hf:OWNER/NAME or hf:OWNER/NAME@REVISION, not “hf:tiny”" in ran.err
    assert "RERANKER must be off, a folder that exists, or hf:OWNER/NAME, not “nowhere”" in ran.err
    assert "HF_ENDPOINT must be an http or https address" in ran.err
