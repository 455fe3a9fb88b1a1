"""Embedding and the vector index: speed, recall, and what a cold process pays.

The model is all-MiniLM-L6-v2, so that Chroma's own function can run it too; the texts are paragraphs of
SQuAD 2. --vectors N builds and searches an index of N clustered vectors as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import DATA, ROOT, Say
from benchmarks.evaluation_sets import lines
from bots.testing.report import Cell, Section, Table
from core.library.chroma import ChromaIndex
from core.library.embedding.network import OnnxEmbedder
from core.library.embedding.session import batches

PASSAGES = 300
QUERIES = 200
BUDGETS = (1, 256, 512, 1024, 2048, 4096, 8192)  # padded tokens of one batch
COLD = """
import sys, time
from pathlib import Path
import numpy as np
from core.library.chroma import ChromaIndex
vector = np.ones({dimension}, np.float32) / {dimension} ** 0.5
for _ in range(2):
    before = time.process_time()
    index = globals().get("index") or ChromaIndex(Path(sys.argv[1]))
    index.search(vector, collections=["bench"], limit=10)
    print(time.process_time() - before)
"""


def run(say: Say, *, model: str, data: Path = DATA, vectors: int = 0) -> Section:
    texts = [line["text"] for line in lines(data / "squad2/paragraphs.jsonl")[:PASSAGES]]
    folder = Path(model).resolve()
    say("beside Chroma's own function")
    functions, cosines = compare_with_chroma(folder, texts)
    tables = [
        functions,
        Table(title="Batches", columns=("tokens", "passages/s"), rows=tuple(budgets(folder, texts))),
    ]
    if vectors:
        say(f"an index of {vectors:,} vectors")
        with tempfile.TemporaryDirectory() as scratch:
            rows = tuple(measure_index(Path(scratch) / "vectors", vectors))
        tables.append(Table(title=f"An index of {vectors:,} vectors", columns=("of", "measured"), rows=rows))
    return Section(
        name="embedding",
        title="Embedding",
        what=f"{len(texts)} passages and {QUERIES} questions, by Chroma's own function and by ours over one network.",
        tables=tuple(tables),
        note=f"Cosine between the vectors of the two: {cosines}.",
    )  # fmt: skip


def seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    action()
    return clock() - start


def compare_with_chroma(folder: Path, texts: list[str]) -> tuple[Table, str]:
    """The times of both, and how near their vectors are."""
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    class ChromasOwn(ONNXMiniLM_L6_V2):
        DOWNLOAD_PATH = folder.parent
        EXTRACTED_FOLDER_NAME = folder.name

    theirs, ours = ChromasOwn(), OnnxEmbedder(folder)
    questions = [" ".join(text.split()[:9]) for text in texts[:QUERIES]]
    theirs._forward(texts[:1])
    ours.embed_query(texts[0])
    rows = []
    for name, passages, query, asked in (
        ("Chroma", theirs._forward, lambda text: theirs._forward([text]), questions[:40]),
        ("ours", ours.embed_documents, ours.embed_query, questions),
    ):
        rate = len(texts) / seconds(lambda embed=passages: embed(texts))
        cpu = seconds(lambda embed=passages: embed(texts), time.process_time) / len(texts)
        one = seconds(lambda embed=query, asked=asked: [embed(text) for text in asked]) / len(asked)
        rows.append((name, rate, 1000 * cpu, 1000 * one))
    cosines = (theirs._forward(texts[:50]) * ours.embed_documents(texts[:50])).sum(axis=1)
    columns = ("function", "passages/s", "CPU ms a passage", "ms a question")
    return Table(
        title="Two functions over one network", columns=columns, rows=tuple(rows)
    ), f"mean {cosines.mean():.4f}, least {cosines.min():.4f}"


def budgets(folder: Path, texts: list[str]) -> Iterator[tuple[Cell, ...]]:
    """Passages a second, by the padded tokens of one batch."""
    session = OnnxEmbedder(folder)._session
    encodings = session.tokenizer.encode_batch(texts)
    for budget in BUDGETS:
        groups = batches([len(encoding.ids) for encoding in encodings], budget)
        began = time.perf_counter()
        for group in groups:
            session._run([encodings[index] for index in group])
        yield budget, len(texts) / (time.perf_counter() - began)


def clustered(count: int, dimension: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors in 2,000 clusters of 50 families, as passages of one library lie."""
    fixed, free = np.random.default_rng(0), np.random.default_rng(seed)

    def noise(source: np.random.Generator, rows: int) -> NDArray[np.float32]:
        return source.normal(size=(rows, dimension)).astype(np.float32) / np.float32(dimension**0.5)

    families = noise(fixed, 50)
    clusters = 0.8 * families[fixed.integers(50, size=2000)] + 0.7 * noise(fixed, 2000)
    rows = 0.7 * clusters[free.integers(2000, size=count)] + noise(free, count)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def measure_index(folder: Path, count: int, dimension: int = 384) -> Iterator[tuple[Cell, ...]]:
    vectors, queries = clustered(count, dimension, seed=1), clustered(QUERIES, dimension, seed=2)
    index = ChromaIndex(folder)
    ids = [f"{number}" for number in range(count)]

    def build() -> None:
        for start in range(0, count, 128):
            index.add("bench", ids[start : start + 128], vectors[start : start + 128])

    yield "built in, s", seconds(build)
    cosines = queries @ vectors.T
    for limit in (10, 60):
        best = np.argpartition(-cosines, limit, axis=1)[:, :limit]
        start = time.perf_counter()
        found = [index.search(query, collections=["bench"], limit=limit) for query in queries]
        yield f"a query for {limit}, ms", (time.perf_counter() - start) / len(queries) * 1000
        right = sum(
            len({int(i) for i, _ in hits} & set(row.tolist())) for hits, row in zip(found, best, strict=True)
        )
        yield f"recall at {limit}", right / limit / len(queries)
    candidates = {"bench": ids[:60]}
    took = seconds(lambda: [index.similarities(query, candidates) for query in queries]) / len(queries)
    yield "exact cosines of 60 ids, ms", 1000 * took
    index.close()
    yield "on the disk, MB", sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    command = [sys.executable, "-c", COLD.format(dimension=dimension), str(folder)]
    cold = subprocess.run(
        command, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    opened, second = map(float, cold.stdout.split())
    yield "open and first query in a cold process, ms of CPU", 1000 * opened
    yield "its second query, ms of CPU", 1000 * second
