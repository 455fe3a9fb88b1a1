"""Networks of a hub: downloaded once, at one commit, checked, and refused where they cannot be used."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.hub import FakeHub
from fakes.tiny_network import cross_encoder, sentence_transformer

from core.errors import SettingsError
from core.library.embedding.download import DownloadError
from core.library.embedding.embedder import embedder_for
from core.library.embedding.hub import Hub
from core.library.embedding.repository import Repository

ROOT = Path(__file__).resolve().parents[3]
REPO = "ann/tiny"


@pytest.fixture
def hub():
    with FakeHub() as hub:
        yield hub


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home" / ".cache" / "footnote" / "networks"


@pytest.fixture
def files(tmp_path):
    return sentence_transformer(tmp_path / "scratch")


def chosen(hub, setting=f"hf:{REPO}", *, sentences=None, steps=None):
    return embedder_for(
        setting,
        google_api_key=None,
        google_base_url=None,
        timeout=5.0,
        announce=(sentences if sentences is not None else []).append,
        progress=lambda done, total: (steps if steps is not None else []).append((done, total)),
        hub=hub.url,
    )


def refused(hub, setting=f"hf:{REPO}"):
    with pytest.raises(SettingsError) as refusal:
        chosen(hub, setting)
    return str(refusal.value)


def kept(home):
    """The files that are in place, without notes, locks and parts."""
    return {
        str(path.relative_to(home / "ann--tiny").relative_to(path.relative_to(home / "ann--tiny").parts[0]))
        for path in home.rglob("*")
        if path.is_file() and len(path.relative_to(home).parts) > 2 and path.suffix not in (".part", ".lock")
    } - {"footnote.json"}


def test_the_client_of_the_hub_reads_the_fake_as_it_would_the_hub(hub, files, tmp_path):
    """What we speak is spoken by its own client, to the same server."""
    from huggingface_hub import HfApi, hf_hub_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    commit = hub.add(REPO, files, "v1")
    hub.add("ann/gated", files)
    hub.repositories["ann/gated"].refuses = 401, "GatedRepo"
    api = HfApi(endpoint=hub.url, token=False)

    listed = api.model_info(REPO, revision="v1", files_metadata=True)
    got = {
        path: Path(
            hf_hub_download(
                REPO, path, revision="v1", endpoint=hub.url, token=False, cache_dir=tmp_path / "c"
            )
        )
        for path in ("modules.json", "1_Pooling/config.json", "onnx/model.onnx")
    }

    assert listed.sha == commit
    assert {each.rfilename for each in listed.siblings} == set(files)
    assert {path: file.read_bytes() for path, file in got.items()} == {path: files[path] for path in got}
    assert {file.resolve().parts[-3:-1] for file in got.values()} == {("models--ann--tiny", "blobs")}
    with pytest.raises(RepositoryNotFoundError):
        api.model_info("ann/none")
    with pytest.raises(RevisionNotFoundError):
        api.model_info(REPO, revision="v9")
    with pytest.raises(GatedRepoError):
        hf_hub_download("ann/gated", "modules.json", endpoint=hub.url, token=False, cache_dir=tmp_path / "c")


def test_a_network_is_downloaded_once_and_then_needs_no_hub(hub, files, home):
    commit = hub.add(REPO, files)
    sentences, steps = [], []

    first = chosen(hub, sentences=sentences, steps=steps)
    asked = len(hub.asked)
    vector = first.embed_query("cats purr")
    again = chosen(hub)

    assert len(hub.asked) == asked
    assert again.embed_query("cats purr").tobytes() == vector.tobytes()
    assert first.name == again.name == f"hf:{REPO}@{commit}"
    assert first.dimension == 128
    needed = set(files) - {"README.md", "pytorch_model.bin"}
    assert kept(home) == needed
    size = sum(len(files[path]) for path in needed)
    assert sentences == [f"Downloading ann/tiny at {commit[:12]} ({size / 1e6:.0f} MB, once)…"]
    done = [each for each, _ in steps]
    assert done == sorted(done)
    assert steps[-1] == (size, size)
    assert {total for _, total in steps} == {size}


def test_the_commit_that_was_newest_then_is_kept(hub, files, home):
    first = hub.add(REPO, files)
    assert chosen(hub).name.endswith(first)
    second = hub.add(REPO, files | {"README.md": b"# Better"}, "v2")

    assert chosen(hub).name.endswith(first)
    assert chosen(hub, f"hf:{REPO}@v2").name.endswith(second)
    assert chosen(hub, f"hf:{REPO}@{first}").name == f"hf:{REPO}@{first}"
    assert json.loads((home / "ann--tiny" / "revisions.json").read_text()) == {"main": first, "v2": second}


def test_a_commit_that_is_pinned_is_the_one_that_is_read(hub, files, home):
    first = hub.add(REPO, files)
    hub.add(REPO, files | {"onnx/model.onnx": b"not a network at all" * 1000})

    assert chosen(hub, f"hf:{REPO}@{first}").embed_query("cats").shape == (128,)


def test_an_onnx_file_may_be_named(hub, files, home):
    commit = hub.add(REPO, files | {"onnx/model_quint8.onnx": files["onnx/model.onnx"]})

    embedder = chosen(hub, f"hf:{REPO}/onnx/model_quint8.onnx")

    assert embedder.name == f"hf:{REPO}/onnx/model_quint8.onnx@{commit}"
    assert embedder.layout.model.name == "model_quint8.onnx"
    assert not any(path.endswith("/model.onnx") for path in hub.paths("HEAD"))


def test_weights_beside_the_network_are_fetched_with_it(hub, files, home):
    hub.add(REPO, files | {"onnx/model.onnx_data": b"weights" * 1000, "onnx/model.onnx.txt": b"a note"})

    chosen(hub)

    assert "onnx/model.onnx_data" in kept(home)
    assert "onnx/model.onnx.txt" not in kept(home)


def test_a_repository_that_was_renamed_is_followed(hub, files, home):
    commit = hub.add("ann/new", files)
    hub.renamed[REPO] = "ann/new"

    assert chosen(hub).name == f"hf:{REPO}@{commit}"


# Connections that break


def test_a_connection_that_is_cut_is_taken_up_where_it_broke(hub, files, home):
    hub.add(REPO, files)
    whole = len(files["onnx/model.onnx"])
    hub.cuts = [1_000, 500]

    embedder = chosen(hub)

    assert hub.ranges == [None, "bytes=1000-", "bytes=1500-"]
    assert hub.bytes_sent == whole
    assert embedder.embed_query("cats").shape == (128,)


def test_a_connection_that_brings_nothing_more_is_given_up_and_what_came_is_kept(hub, files, home):
    hub.add(REPO, files)
    hub.cuts = [1_000, 0]

    assert refused(hub).endswith("could not be downloaded: there is no connection to the server.")
    chosen(hub)

    assert hub.ranges == [None, "bytes=1000-", "bytes=1000-"]


def test_a_server_that_cannot_resume_sends_it_all_again(hub, files, home):
    hub.add(REPO, files)
    hub.cuts, hub.can_resume = [1_000], False

    chosen(hub)

    assert hub.ranges == [None, "bytes=1000-"]


FETCH = """
import sys
from core.library.embedding.hub import Hub
from core.library.embedding.repository import Repository
Repository.from_setting(sys.argv[1]).fetch(Hub(endpoint=sys.argv[2]), announce=print, progress=lambda *_: None)
"""


def test_a_killed_download_goes_on_where_it_was(hub, files, home, tmp_path):
    """The process is killed while the caches still send; the next one asks for the rest alone."""
    hub.add(
        REPO, files | {"onnx/model.onnx": files["onnx/model.onnx"], "onnx/model.onnx_data": b"w" * 60_000}
    )
    hub.hold_after = 40_000
    process = subprocess.Popen([sys.executable, "-c", FETCH, f"hf:{REPO}", hub.url], cwd=ROOT)
    assert hub.held.wait(60)
    while process.poll() is None and not any(each.stat().st_size > 30_000 for each in home.rglob("*.part")):
        pass
    (part,) = home.rglob("*.part")
    process.send_signal(signal.SIGKILL)
    process.wait()
    have, hub.hold_after = part.stat().st_size, None

    chosen(hub)

    assert hub.ranges[:2] == [None, f"bytes={have}-"]
    assert hub.repositories[REPO].commits
    assert not list(home.rglob("*.part"))


def test_remains_of_another_file_are_thrown_away(hub, files, home):
    commit = hub.add(REPO, files)
    part = home / "ann--tiny" / commit / "onnx" / "model.onnx.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"another file's beginning")

    chosen(hub)

    assert hub.ranges == ["bytes=24-", None]


def test_two_processes_do_not_download_the_same_network(hub, files, home):
    from filelock import FileLock

    hub.add(REPO, files)
    (home / "ann--tiny").mkdir(parents=True)

    with FileLock(home / "ann--tiny" / ".lock"):
        assert refused(hub).endswith("could not be downloaded: another process is downloading it.")


# What is not what the hub said


@pytest.mark.parametrize("path", ["onnx/model.onnx", "modules.json"])
def test_a_file_with_another_digest_is_refused_and_not_kept(hub, files, home, path):
    hub.add(REPO, files)
    whole = files[path]
    hub.swapped[path] = whole[:-1] + b"?"

    assert f"what arrived as {path} has not the digest that the hub gave" in refused(hub)

    assert path not in kept(home)
    hub.swapped.clear()
    assert chosen(hub).embed_query("cats").shape == (128,)


def test_more_than_was_announced_is_not_written(hub, files, home):
    hub.add(REPO, files)
    hub.swapped["onnx/model.onnx"] = files["onnx/model.onnx"] * 100

    refused(hub)

    written = [path.stat().st_size for path in home.rglob("model.onnx*")]
    assert all(size < 20 * len(files["onnx/model.onnx"]) for size in written)


def test_a_damaged_file_is_found_when_the_network_is_opened(hub, files, home):
    hub.add(REPO, files)
    chosen(hub)
    (network,) = home.rglob("model.onnx")
    content = bytearray(network.read_bytes())
    content[-100] ^= 1
    network.write_bytes(content)

    with pytest.raises(SettingsError, match=r"model\.onnx is damaged: .* Delete .* downloads it again"):
        chosen(hub).embed_query("cats")


def test_a_file_that_is_gone_is_downloaded_again(hub, files, home):
    hub.add(REPO, files)
    chosen(hub)
    (network,) = home.rglob("model.onnx")
    network.unlink()

    assert chosen(hub).embed_query("cats").shape == (128,)


@pytest.mark.parametrize(
    ("headers", "sentence"),
    [
        ({"X-Repo-Commit": "0" * 40}, "of another commit than"),
        ({"ETag": '"none"'}, "does not say the digest"),
    ],
)
def test_a_mirror_that_says_too_little_is_refused(hub, files, home, headers, sentence):
    hub.add(REPO, files)
    honest = hub._file
    hub._file = lambda *asked: _with(honest(*asked), headers)

    assert sentence in refused(hub)


def _with(answer, headers):
    answer.headers |= headers
    return answer


# What cannot be had, or not be used


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (401, "GatedRepo", "ann/tiny wants a login, and consent to its terms"),
        (403, "", "ann/tiny wants a login"),
        (401, "", "there is no repository ann/tiny, or it wants a login"),
        (503, "", "the server answered 503"),
    ],
)
def test_what_the_hub_refuses_is_told(hub, home, status, code, sentence):
    hub.add(REPO, {"onnx/model.onnx": b"", "tokenizer.json": b"{}"})
    hub.repositories[REPO].refuses = status, code

    assert sentence in refused(hub)


def test_what_does_not_exist_is_told(hub, files, home):
    hub.add(REPO, files)

    assert "there is no repository ann/none, or it wants a login" in refused(hub, "hf:ann/none")
    assert "ann/tiny has no revision v9" in refused(hub, f"hf:{REPO}@v9")
    assert f"ann/tiny has no revision {'0' * 40}" in refused(hub, f"hf:{REPO}@{'0' * 40}")
    assert "has no ONNX file onnx/other.onnx; hf:ann/tiny/onnx/model.onnx names one" in refused(
        hub, f"hf:{REPO}/onnx/other.onnx"
    )


@pytest.mark.parametrize(
    ("without", "sentence"),
    [
        (
            "onnx/model.onnx",
            "has no ONNX file onnx/model.onnx or model.onnx; hf:ann/tiny/onnx/q.onnx names one",
        ),
        ("tokenizer.json", "has no tokenizer.json"),
        ("1_Pooling/config.json", "has no 1_Pooling/config.json, which says how its tokens are pooled"),
    ],
)
def test_a_repository_that_lacks_something_is_refused(hub, files, home, without, sentence):
    hub.add(REPO, {path: data for path, data in files.items() if path != without} | {"onnx/q.onnx": b"q"})

    assert sentence in refused(hub)
    assert hub.bytes_sent == 0


MODULE = {"idx": 1, "name": "1", "path": "1_Pooling"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"modules.json": [MODULE | {"type": "custom_st.Transformer"}]}, "runs code of its own (custom_st.Transformer)"),
        ({"modules.json": [MODULE | {"type": "sentence_transformers.models.Dense"}]}, "has a module Dense"),
        ({"modules.json": [MODULE | {"type": "sentence_transformers.models.Pooling", "path": "../1"}]}, "damaged modules.json"),
        ({"1_Pooling/config.json": {"pooling_mode": "attention"}}, "pools its tokens in a way that is not known here"),
        (
            {
                "1_Pooling/config.json": {"pooling_mode": "mean", "include_prompt": False},
                "config_sentence_transformers.json": {"prompts": {"query": "query: "}},
            },
            "leaves prefixes out of its pooling",
        ),
        ({"config.json": {"architectures": ["BertForSequenceClassification"]}}, "judges texts and makes no vectors"),
    ],
)  # fmt: skip
def test_a_network_that_cannot_be_run_here_is_refused_before_it_is_downloaded(
    hub, home, tmp_path, changed, sentence
):
    hub.add(REPO, sentence_transformer(tmp_path / "scratch", **changed))

    assert f"EMBEDDING_MODEL=hf:{REPO} cannot be used: it " in refused(hub)
    assert sentence in refused(hub)
    assert hub.bytes_sent == 0


def test_no_hub_is_a_sentence(home):
    with pytest.raises(DownloadError, match="no connection"):
        Repository.from_setting(f"hf:{REPO}").fetch(
            Hub(endpoint="http://127.0.0.1:9"), announce=print, progress=lambda *_: None
        )


def test_what_is_no_hub_is_a_sentence(hub, home):
    hub._listing = lambda *_asked, **_more: _with_body(b"<html>A proxy wants you to log in</html>")

    assert "does not answer as a hub does" in refused(hub)


def _with_body(body):
    from fakes.hub import Answer

    return Answer(200, body)


@pytest.mark.parametrize(
    "setting", ["hf:tiny", "hf:ann/", "hf:ann/../x", "hf:ann/tiny@", "hf:ann/tiny/model.bin"]
)
def test_a_name_that_names_no_repository_is_a_sentence(hub, home, setting):
    assert "must be hf:OWNER/NAME or hf:OWNER/NAME@REVISION" in refused(hub, setting)


def test_a_cross_encoder_makes_no_vectors(hub, home, tmp_path):
    hub.add(REPO, cross_encoder(tmp_path / "scratch"))

    assert "judges texts and makes no vectors" in refused(hub)
