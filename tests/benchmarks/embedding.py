"""Measure embedding and the vector index: speed, recall, and what a cold process pays.

    python tests/benchmarks/embedding.py NETWORK TEXTS [--vectors N]

NETWORK is a folder with model.onnx and tokenizer.json (all-MiniLM-L6-v2, so that Chroma's own
function can run it too), TEXTS a JSON-lines file whose objects have a "text". With
``--vectors`` an index of N clustered vectors is built and searched as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.library.embedding import network
from core.library.embedding.embedder import OnnxEmbedder
from core.library.vectors import VectorIndex

PASSAGES = 300
QUERIES = 200
BUDGETS = (1, 256, 512, 1024, 2048, 4096, 8192)  # padded tokens of one batch
COLD = """
import sys, time
from pathlib import Path
import numpy as np
from core.library.vectors import VectorIndex
vector = np.ones({dimension}, np.float32) / {dimension} ** 0.5
before = time.process_time()
index = VectorIndex(Path(sys.argv[1]))
index.search(vector, collections=["bench"], limit=10)
print(f"open and first query in a cold process: {{time.process_time() - before:.2f}} s CPU")
before = time.process_time()
index.search(vector, collections=["bench"], limit=10)
print(f"second query: {{(time.process_time() - before) * 1000:.1f}} ms CPU")
"""


def seconds(action: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    action()
    return clock() - start


def compare_with_chroma(folder: Path, texts: list[str]) -> None:
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    class Padding(ONNXMiniLM_L6_V2):  # Chroma's own way with the same file
        DOWNLOAD_PATH = folder.parent
        EXTRACTED_FOLDER_NAME = folder.name

    theirs, ours = Padding(), OnnxEmbedder(folder)
    questions = [" ".join(text.split()[:9]) for text in texts[:QUERIES]]
    theirs._forward(texts[:1])
    ours.embed_query(texts[0])
    by_both = {
        "Chroma": (
            lambda: theirs._forward(texts),
            lambda: [theirs._forward([q]) for q in questions[:40]],
            40,
        ),
        "ours": (
            lambda: ours.embed_documents(texts),
            lambda: [ours.embed_query(q) for q in questions],
            len(questions),
        ),
    }
    for name, (passages, queries, asked) in by_both.items():
        rate = len(texts) / seconds(passages)
        work = seconds(passages, time.process_time) / len(texts) * 1000
        print(f"{name}: {rate:.0f} passages/s ({work:.1f} ms CPU each)", end=", ")
        print(f"{seconds(queries) / asked * 1000:.2f} ms a query")
    cosines = (theirs._forward(texts[:50]) * ours.embed_documents(texts[:50])).sum(axis=1)
    print(f"cosine between the two: mean {cosines.mean():.4f}, least {cosines.min():.4f}")


def compare_budgets(folder: Path, texts: list[str]) -> None:
    embedder = OnnxEmbedder(folder)
    tokens = [encoding.ids for encoding in embedder._network.tokenizer.encode_batch(texts)]
    for budget in BUDGETS:
        groups = network.batches([len(ids) for ids in tokens], budget)
        taken = seconds(
            lambda groups=groups: [
                embedder._run(embedder._network, [tokens[i] for i in group]) for group in groups
            ]
        )
        print(f"batches of {budget} tokens: {len(texts) / taken:.0f} passages/s")


def clustered(count: int, dimension: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors in 2,000 clusters of 50 families, as passages of one library lie."""
    fixed, free = np.random.default_rng(0), np.random.default_rng(seed)

    def noise(source: np.random.Generator, rows: int) -> NDArray[np.float32]:
        return source.normal(size=(rows, dimension)).astype(np.float32) / np.float32(dimension**0.5)

    families = noise(fixed, 50)
    clusters = 0.8 * families[fixed.integers(50, size=2000)] + 0.7 * noise(fixed, 2000)
    rows = 0.7 * clusters[free.integers(2000, size=count)] + noise(free, count)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def measure_index(folder: Path, count: int, dimension: int = 384) -> None:
    vectors, queries = clustered(count, dimension, seed=1), clustered(QUERIES, dimension, seed=2)
    index = VectorIndex(folder)
    ids = [f"{number}" for number in range(count)]

    def build() -> None:
        for start in range(0, count, 128):
            index.add("bench", ids[start : start + 128], vectors[start : start + 128])

    print(f"{count} x {dimension}: built in {seconds(build):.0f} s")
    cosines = queries @ vectors.T
    for limit in (10, 60):
        best = np.argpartition(-cosines, limit, axis=1)[:, :limit]
        start = time.perf_counter()
        found = [index.search(query, collections=["bench"], limit=limit) for query in queries]
        took = (time.perf_counter() - start) / len(queries) * 1000
        right = sum(
            len({int(i) for i, _ in hits} & set(row.tolist())) for hits, row in zip(found, best, strict=True)
        )
        print(f"recall at {limit}: {right / limit / len(queries):.3f}, {took:.2f} ms a query")
    candidates = {"bench": ids[:60]}
    took = seconds(lambda: [index.similarities(query, candidates) for query in queries]) / len(queries) * 1000
    print(f"exact cosines of 60 ids: {took:.2f} ms")
    index.close()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"on the disk: {size / 1e6:.0f} MB")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    cold = [sys.executable, "-c", COLD.format(dimension=dimension), str(folder)]
    subprocess.run(cold, check=True, env=environment)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("network", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--vectors", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    with arguments.texts.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line, _ in zip(file, range(PASSAGES), strict=False)]
    compare_with_chroma(arguments.network.resolve(), texts)
    compare_budgets(arguments.network, texts)
    if arguments.vectors:
        with tempfile.TemporaryDirectory() as folder:
            measure_index(Path(folder) / "vectors", arguments.vectors)


if __name__ == "__main__":
    main()
