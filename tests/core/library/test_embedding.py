import hashlib
import io
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tarfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from fakes.patience import PATIENCE
from fakes.tiny_network import write_tiny_network

from core.errors import ModelTrouble, SettingsError
from core.library.embedding.download import DownloadError
from core.library.embedding.embedder import embedder_for
from core.library.embedding.minilm import Archive, fetch
from core.library.embedding.network import OnnxEmbedder
from core.library.embedding.provider import connect, within
from core.library.embedding.session import BATCH_TOKENS, batches

ROOT = Path(__file__).resolve().parents[3]

# A network in a folder


@pytest.fixture
def embedder(tmp_path):
    return OnnxEmbedder(write_tiny_network(tmp_path / "tiny"))


def test_vectors_have_length_one_and_stand_in_the_order_of_the_texts(embedder):
    texts = ["the cats purr at night", "dogs", "the moon"]

    rows = embedder.embed_documents(texts)

    assert rows.dtype == np.float32
    assert rows.shape == (3, embedder.dimension) == (3, 8)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
    for text, row in zip(texts, rows, strict=True):
        assert embedder.embed_query(text) == pytest.approx(row, abs=1e-6)


def test_padding_does_not_reach_the_vector(embedder):
    longer = " ".join(["dogs bark at night"] * 20)

    alone = embedder.embed_documents(["cats"])[0]
    beside = embedder.embed_documents([longer, "cats", longer])[1]

    assert beside == pytest.approx(alone, abs=1e-6)


def test_the_mean_is_taken_over_the_words(embedder):
    cats, dogs = (embedder.embed_query(word) for word in ("cats", "dogs"))

    both = embedder.embed_query("cats cats dogs dogs")

    assert both == pytest.approx(embedder.embed_query("dogs cats"), abs=1e-6)
    assert both @ cats > cats @ dogs


def test_the_same_texts_give_the_same_bytes(embedder, tmp_path):
    texts = ["the moon", "cats purr", "the dogs bark at the moon"]
    again = OnnxEmbedder(write_tiny_network(tmp_path / "again" / "tiny"))

    rows = embedder.embed_documents(texts)

    assert embedder.embed_documents(texts).tobytes() == rows.tobytes()
    assert again.embed_documents(texts).tobytes() == rows.tobytes()
    assert again.name == embedder.name


def test_a_text_is_read_up_to_256_words(embedder):
    start = "cats " * 256

    assert embedder.embed_query(start + "dogs " * 300) == pytest.approx(embedder.embed_query(start), abs=1e-6)
    assert embedder.embed_query("cats " * 255 + "dogs") != pytest.approx(
        embedder.embed_query(start), abs=1e-6
    )


def test_a_folder_may_say_that_its_network_reads_less(tmp_path):
    folder = write_tiny_network(tmp_path / "tiny")
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 3}))
    embedder = OnnxEmbedder(folder)

    assert embedder.embed_query("cats cats cats dogs dogs") == pytest.approx(
        embedder.embed_query("cats"), abs=1e-6
    )


def test_a_ready_sentence_vector_is_taken_as_it_is(tmp_path):
    embedder = OnnxEmbedder(write_tiny_network(tmp_path / "pooled", pooled=True))

    cats, dogs, both = (embedder.embed_query(text) for text in ("cats", "dogs", "cats dogs"))

    assert embedder.dimension == 8
    assert embedder.embed_query("dogs cats cats") == pytest.approx(both, abs=1e-6)
    assert not np.allclose(both, (cats + dogs) / np.linalg.norm(cats + dogs), atol=0.01)


def test_no_texts_and_empty_texts_are_no_trouble(embedder):
    assert embedder.embed_documents([]).shape == (0, 8)
    assert np.isfinite(embedder.embed_documents(["", "cats"])).all()


def test_batches_hold_every_text_once_and_keep_to_the_budget():
    lengths = [7, 256, 1, 90, 90, 3, 256, 256, 256, 256, 12, 5000]

    groups = batches(lengths)

    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    assert all(
        len(group) * max(lengths[i] for i in group) <= BATCH_TOKENS for group in groups if len(group) > 1
    )
    assert [len(group) for group in batches([10] * 8, budget=40)] == [4, 4]


def test_threads_may_share_an_embedder(embedder):
    expected = embedder.embed_query("cats purr")
    fresh = OnnxEmbedder(embedder._folder)

    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(fresh.embed_query, ["cats purr"] * 40))

    assert all(vector.tobytes() == expected.tobytes() for vector in vectors)


def test_the_name_follows_the_contents_of_the_network(tmp_path):
    one = OnnxEmbedder(write_tiny_network(tmp_path / "a" / "tiny"))
    same = OnnxEmbedder(write_tiny_network(tmp_path / "b" / "tiny"))
    other = OnnxEmbedder(write_tiny_network(tmp_path / "c" / "tiny", dimension=5))

    assert one.name.startswith("tiny@")
    assert one.name == same.name != other.name


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_its_files_is_refused(tmp_path, file):
    folder = write_tiny_network(tmp_path / "tiny")
    (folder / file).unlink()

    with pytest.raises(SettingsError, match=f"has no {file}"):
        OnnxEmbedder(folder)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
def test_a_damaged_network_is_a_sentence(tmp_path, file):
    folder = write_tiny_network(tmp_path / "tiny")
    whole = (folder / file).read_bytes()
    (folder / file).write_bytes(whole[: len(whole) // 2])

    with pytest.raises(SettingsError, match=r"damaged or not ONNX"):
        OnnxEmbedder(folder).embed_query("cats")


def test_a_network_that_cannot_read_the_text_is_a_sentence(tmp_path):
    embedder = OnnxEmbedder(write_tiny_network(tmp_path / "tiny", fixed_length=5))

    with pytest.raises(SettingsError, match=r"cannot be run on 3 tokens.*model_max_length"):
        embedder.embed_query("cats at night")


# The download


@contextmanager
def served(respond):
    """A loopback server; ``respond(handler)`` answers each request. Gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            respond(self)

        def do_POST(self):
            respond(self)

        def log_message(self, *_args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class FileServer:
    """Answers with a file, honouring ranges; can break off, or know no ranges."""

    def __init__(self, content, *, break_at=None, ranges=True):
        self.content = content
        self.break_at = break_at
        self.ranges = ranges
        self.asked = []

    def __call__(self, handler):
        wanted = handler.headers.get("Range")
        self.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and self.ranges else 0
        if start and start >= len(self.content):
            handler.send_response(416)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(self.content) - start))
        handler.end_headers()
        handler.wfile.write(self.content[start : self.break_at])


@pytest.fixture
def packed(tmp_path):
    """A packed network, as bytes."""
    folder = write_tiny_network(tmp_path / "published" / "onnx")
    (folder / "ballast.bin").write_bytes(np.random.default_rng(0).bytes(300_000))
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        tar.add(folder, "onnx")
    return archive.getvalue()


def archive_at(url, content, home):
    return Archive(
        url=url,
        sha256=hashlib.sha256(content).hexdigest(),
        packed=home / "onnx.tar.gz",
        folder=home / "onnx",
    )


class Notes:
    """What a download said."""

    def __init__(self):
        self.sentences = []
        self.steps = []

    def fetch(self, archive, *, timeout=5.0):
        fetch(
            archive,
            announce=self.sentences.append,
            progress=lambda done, total: self.steps.append((done, total)),
            timeout=timeout,
        )


def test_a_download_is_announced_followed_checked_and_unpacked(packed, tmp_path):
    server, notes = FileServer(packed), Notes()

    with served(server) as url:
        archive = archive_at(url, packed, tmp_path / "cache")
        notes.fetch(archive)
        notes.fetch(archive)

    assert len(server.asked) == 1
    assert notes.sentences == ["Downloading the embedding network all-MiniLM-L6-v2 (0 MB, once)…"]
    done = [step for step, _ in notes.steps]
    assert done == sorted(done)
    assert notes.steps[-1] == (len(packed), len(packed))
    assert OnnxEmbedder(archive.folder).embed_query("cats").shape == (8,)


def test_a_file_that_was_not_published_is_refused_and_not_kept(packed, tmp_path):
    with served(FileServer(packed[:-1] + b"?")) as url:
        archive = archive_at(url, packed, tmp_path / "cache")
        with pytest.raises(DownloadError, match="not the file that was published"):
            Notes().fetch(archive)

    assert not archive.is_unpacked
    assert {path.name for path in (tmp_path / "cache").iterdir()} <= {"onnx.tar.gz.lock"}


def test_a_download_goes_on_where_it_broke_off(packed, tmp_path):
    half = len(packed) // 2
    broken = FileServer(packed, break_at=half)
    with served(broken) as url, pytest.raises(DownloadError, match="no connection"):
        Notes().fetch(archive_at(url, packed, tmp_path / "cache"))
    server, notes = FileServer(packed), Notes()

    with served(server) as url:
        archive = archive_at(url, packed, tmp_path / "cache")
        notes.fetch(archive)

    assert server.asked == [f"bytes={half}-"]
    assert notes.steps[0] == (half, len(packed))
    assert archive.is_unpacked


def test_a_server_that_cannot_resume_sends_it_all_again(packed, tmp_path):
    archive = archive_at("", packed, tmp_path / "cache")
    archive.packed.parent.mkdir()
    (tmp_path / "cache" / "onnx.tar.gz.part").write_bytes(packed[:1000])

    server = FileServer(packed, ranges=False)
    with served(server) as url:
        archive = archive_at(url, packed, tmp_path / "cache")
        Notes().fetch(archive)

    assert server.asked == ["bytes=1000-"]
    assert archive.is_unpacked


@pytest.mark.parametrize("left_behind", [b"another file's beginning", b"x" * 900_000])
def test_remains_that_do_not_fit_are_thrown_away(packed, tmp_path, left_behind):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "onnx.tar.gz.part").write_bytes(left_behind)
    server = FileServer(packed)

    with served(server) as url:
        archive = archive_at(url, packed, tmp_path / "cache")
        Notes().fetch(archive)

    assert server.asked == [f"bytes={len(left_behind)}-", None]
    assert archive.is_unpacked


def test_a_crash_between_download_and_unpacking_costs_no_second_download(packed, tmp_path):
    archive = archive_at("http://127.0.0.1:9", packed, tmp_path / "cache")
    archive.packed.parent.mkdir()
    archive.packed.write_bytes(packed)
    (tmp_path / "cache" / "onnx.unpacking").mkdir()
    (tmp_path / "cache" / "onnx.unpacking" / "half").write_bytes(b"")

    Notes().fetch(archive)

    assert archive.is_unpacked
    assert not (tmp_path / "cache" / "onnx.unpacking").exists()


def write_hostile_archive(path):
    """What a network needs, behind names and links that lead out of the folder, and devices."""
    members = {
        "onnx/../../escaped": {}, f"{path.parents[1]}/absolute": {}, "onnx/sub/model.onnx": {}, "onnx/run.py": {},
        "onnx/config.json": {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"},
        "onnx/vocab.txt": {"type": tarfile.LNKTYPE, "linkname": "../../outside"},
        "onnx/special_tokens_map.json": {"type": tarfile.FIFOTYPE},
        "./onnx/model.onnx": {}, "onnx/tokenizer.json": {"mode": 0o4777},
    }  # fmt: skip
    with tarfile.open(path, "w:gz") as tar:
        for name, given in members.items():
            info = tarfile.TarInfo(name)
            info.size = 0 if "type" in given else len(name)
            for attribute, setting in given.items():
                setattr(info, attribute, setting)
            tar.addfile(info, io.BytesIO(name.encode()))


UNPACK = """
import sys
from pathlib import Path
from core.library.embedding.minilm import Archive, unpack
home = Path(sys.argv[1])
unpack(Archive(url="", sha256="", packed=home / "onnx.tar.gz", folder=home / "onnx"))
"""
INTERPRETERS = sorted({sys.executable, *filter(None, [shutil.which("python3", path="/usr/bin")])})


@pytest.mark.parametrize("python", INTERPRETERS)
def test_only_the_files_of_a_network_are_taken_out_of_an_archive(python, tmp_path):
    """By the system's own Python too, which may be older than the one that runs the tests."""
    if subprocess.run(
        [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"], check=False
    ).returncode:
        pytest.skip(f"{python} is older than 3.11")
    home = tmp_path / "cache"
    home.mkdir()
    (tmp_path / "outside").write_bytes(b"nobody's business")
    write_hostile_archive(home / "onnx.tar.gz")

    subprocess.run([python, "-S", "-c", UNPACK, home], check=True, cwd=ROOT)

    assert {path.name for path in tmp_path.iterdir()} == {"cache", "outside"}
    assert {path.name for path in home.iterdir()} == {"onnx", "onnx.tar.gz"}
    found = {path.name: path.read_bytes() for path in (home / "onnx").iterdir()}
    assert found == {"model.onnx": b"./onnx/model.onnx", "tokenizer.json": b"onnx/tokenizer.json"}
    assert not (home / "onnx" / "tokenizer.json").stat().st_mode & stat.S_ISUID


def test_an_archive_without_a_network_is_told_and_not_kept(tmp_path):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("onnx/config.json"))

    with served(FileServer(content.getvalue())) as url:
        archive = archive_at(url, content.getvalue(), tmp_path / "cache")
        with pytest.raises(DownloadError, match="holds no network"):
            Notes().fetch(archive)

    assert not archive.folder.exists()


def test_a_network_that_swallows_everything_is_given_up(packed, tmp_path):
    notes = Notes()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        archive = archive_at(f"http://127.0.0.1:{silent.getsockname()[1]}", packed, tmp_path / "cache")

        with pytest.raises(DownloadError, match=r"nothing came from the network for 0\.2 s"):
            notes.fetch(archive, timeout=0.2)

    assert notes.sentences == []


@pytest.mark.parametrize(("status", "sentence"), [(404, "answered 404"), (503, "answered 503")])
def test_a_server_that_refuses_is_quoted(packed, tmp_path, status, sentence):
    refusing = served(lambda handler: handler.send_error(status))
    with refusing as url, pytest.raises(DownloadError, match=sentence):
        Notes().fetch(archive_at(url, packed, tmp_path / "cache"))


def test_a_place_that_cannot_be_written_is_named(packed, tmp_path):
    (tmp_path / "cache").write_bytes(b"a file, not a folder")

    with pytest.raises(DownloadError, match="cache cannot be written"):
        Notes().fetch(archive_at("http://127.0.0.1:9", packed, tmp_path / "cache"))


def test_a_call_that_never_returns_is_left_behind():
    release = threading.Event()

    with pytest.raises(TimeoutError):
        within(0.05, release.wait)

    release.set()
    assert within(5, lambda: "an answer") == "an answer"


# The setting


def choose(setting, *, key=None, url=None, timeout=5.0, sentences=None):
    return embedder_for(
        setting,
        google_api_key=key,
        google_base_url=url,
        timeout=timeout,
        announce=(sentences if sentences is not None else []).append,
        progress=lambda _done, _total: None,
    )


def test_none_means_lexical_search_alone():
    assert choose("none") is None


def test_a_folder_is_taken_for_a_network(tmp_path):
    folder = write_tiny_network(tmp_path / "tiny")

    assert choose(str(folder)).name.startswith("tiny@")


@pytest.mark.parametrize("setting", ["minilmm", "no/such/folder"])
def test_an_unknown_setting_is_a_sentence(setting):
    with pytest.raises(SettingsError, match=f"EMBEDDING_MODEL={setting} is neither"):
        choose(setting)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("nobody:model", "could not be set up"),
        ("cohere:embed", "needs a package: pip install langchain-cohere"),
        ("google_genai:gemini-embedding-001", "needs GOOGLE_API_KEY"),
    ],
)
def test_a_provider_that_cannot_be_set_up_is_a_sentence(setting, sentence):
    with pytest.raises(SettingsError, match=sentence):
        choose(setting)


WITHOUT_NETWORK = """
import sys
from core.errors import SettingsError
from core.library.embedding.embedder import embedder_for

for setting in ("auto", "minilm"):
    try:
        embedder = embedder_for(
            setting, google_api_key="", google_base_url="", timeout=5, announce=print, progress=print
        )
        print(embedder and embedder.name)
    except SettingsError as sentence:
        print("refused:", sentence)
"""


def choose_at_home(home):
    """``auto``, then ``minilm``, in a process whose home is ``home`` and whose only way out is closed."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        proxy = f"http://127.0.0.1:{closed.getsockname()[1]}"
    environment = os.environ | {"HOME": str(home), "HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": ""}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return done.stdout.splitlines()


def test_without_a_network_auto_says_once_that_it_searches_by_words_alone_and_minilm_is_refused(tmp_path):
    sentence, embedder, refusal = choose_at_home(tmp_path)

    assert sentence.startswith("Searching by words alone, because the embedding network is not here: ")
    assert embedder == "None"
    assert refusal.startswith("refused: EMBEDDING_MODEL=minilm could not be downloaded: ")


def test_minilm_is_used_where_chroma_put_it(tmp_path):
    write_tiny_network(tmp_path / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")

    assert choose_at_home(tmp_path) == ["minilm", "minilm"]


def test_choosing_loads_nothing_heavy():
    heavy = "{'numpy', 'onnxruntime', 'tokenizers', 'chromadb', 'httpx', 'langchain', 'tenacity'}"
    modules = "import sys, core.library.embedding.embedder, core.library.chroma, core.library.pgvector"

    done = subprocess.run(
        [sys.executable, "-c", f"{modules}; print({heavy} & set(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "set()"


# A provider


class GeminiEmbeddings:
    """Speaks Gemini's batchEmbedContents: a vector that depends on the text and on the task."""

    def __init__(self, *statuses, spare=0):
        self.statuses = list(statuses)  # answered first, one each
        self.spare = spare  # vectors too many
        self.requests = []

    def __call__(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        self.requests.append((handler.path, handler.headers["x-goog-api-key"], body["requests"]))
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200:
            vectors = [self.vector(request) for request in body["requests"]]
            reply = {"embeddings": [{"values": values} for values in vectors + vectors[:1] * self.spare]}
        else:
            reply = {"error": {"code": status, "message": "scripted", "status": "SCRIPTED"}}
        content = json.dumps(reply).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    @staticmethod
    def vector(request):
        text, task = request["content"]["parts"][0]["text"], request["taskType"]
        return [float(len(text)), 3.0, 4.0 if task == "RETRIEVAL_QUERY" else 0.0]


def gemini_at(url, *, timeout=5.0):
    embedder = connect(
        "google_genai:gemini-embedding-001", google_api_key="key", google_base_url=url, timeout=timeout
    )
    embedder._pause = 0.001
    return embedder


def test_auto_with_a_key_embeds_with_gemini():
    gemini = GeminiEmbeddings()
    with served(gemini) as url:
        embedder = choose("auto", key="secret", url=url)

        rows = embedder.embed_documents(["four", "sixsix"])
        query = embedder.embed_query("four")

    assert embedder.name == "google_genai:gemini-embedding-001"
    assert embedder.dimension == 3
    assert rows == pytest.approx(np.array([[0.8, 0.6, 0.0], [2 / 5**0.5, 1 / 5**0.5, 0.0]]), abs=1e-6)
    assert np.linalg.norm(query) == pytest.approx(1.0)
    assert query @ rows[0] < 0.99
    path, key, _ = gemini.requests[0]
    assert path.endswith("/models/gemini-embedding-001:batchEmbedContents")
    assert key == "secret"


def test_texts_travel_in_hundreds_and_come_back_in_order():
    gemini = GeminiEmbeddings()
    texts = ["x" * (number + 1) for number in range(250)]
    with served(gemini) as url:
        rows = gemini_at(url).embed_documents(texts)

    assert [len(requests) for _, _, requests in gemini.requests] == [100, 100, 50]
    assert (rows[:, 0] / rows[:, 1] * 3).round().tolist() == [len(text) for text in texts]


@pytest.mark.parametrize("passing", [429, 500, 503])
def test_a_passing_trouble_is_tried_again(passing):
    gemini = GeminiEmbeddings(passing)
    with served(gemini) as url:
        vector = gemini_at(url).embed_query("four")

    assert vector.shape == (3,)
    assert len(gemini.requests) == 2


@pytest.mark.parametrize(
    ("status", "requests", "sentence"),
    [
        (400, 1, "refused the request: check its name and its key"),
        (403, 1, "refused the request"),
        (429, 2, "is busy"),
        (503, 2, "could not be reached"),
    ],
)
def test_a_lasting_trouble_is_a_sentence_after_bounded_attempts(status, requests, sentence):
    gemini = GeminiEmbeddings(*[status] * 20)
    with served(gemini) as url, pytest.raises(ModelTrouble, match=sentence):
        gemini_at(url).embed_query("four")

    assert len(gemini.requests) == requests


def test_indexing_is_more_patient_than_asking():
    gemini = GeminiEmbeddings(*[429] * 5)
    with served(gemini) as url:
        rows = gemini_at(url).embed_documents(["four"])

    assert rows.shape == (1, 3)
    assert len(gemini.requests) == 6


def test_a_silent_provider_is_given_up_and_nothing_keeps_waiting_for_it():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        embedder = gemini_at(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=2.0)

        with pytest.raises(ModelTrouble, match=r"did not answer within 2 s"):
            embedder.embed_query("four")

        waiting = [thread for thread in threading.enumerate() if thread.name == "within"]
        for thread in waiting:
            thread.join(5)
        assert not any(thread.is_alive() for thread in waiting)


def test_where_the_client_gives_up_first_the_sentence_is_the_same():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        embedder = gemini_at(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
        embedder._timeout = 30.0

        with pytest.raises(ModelTrouble, match=r"did not answer within 30 s"):
            embedder.embed_query("four")


def test_a_reply_of_another_length_is_refused():
    with served(GeminiEmbeddings(spare=1)) as url, pytest.raises(ModelTrouble, match="one vector for each"):
        gemini_at(url).embed_documents(["four", "five"])
