"""How fast documents come into the library, beside the published pipeline; and how fast it follows a change."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any
from uuid import uuid4

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import open_library, open_model
from benchmarks.synthetic import documents
from bots.testing.report import Cell, Section, Table
from core.conversation import value
from core.library.embedding.embedder import Embedder

LEXICAL_BAR, VECTORS_BAR = 5.0, 2.5  # times the published pipeline's passages per second, at least
SYNC_BAR = 1.0  # seconds for one changed file among all
DIMENSION = 384  # numbers of the constant vector, as of all-MiniLM-L6-v2
RUNS, EMBEDDED, KEPT = 5, 40, 10_000  # of each side; files that are embedded too; files that are kept in step
QUICK_FILES = 20
QUICK_RUNS, QUICK_EMBEDDED, QUICK_KEPT = 1, 2, 60

CHUNK, OVERLAP = 1_000, 200  # characters of a published chunk, and how many of them the next one repeats
SEPARATORS = ("\n\n", "\n", " ", "")

Embed = Callable[[Sequence[str]], Any]  # one vector for each text
#: Indexes files in an empty folder; the number of passages.
Index = Callable[[Sequence[Path], Path], int]


@value
class IndexRates:
    """Passages per second, one number for each run."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]  #: per second of CPU, every thread


def run(say: Say, *, data: Path = DATA, model: str = "none", quick: bool = False) -> Section:
    runs, embedded, kept = (QUICK_RUNS, QUICK_EMBEDDED, QUICK_KEPT) if quick else (RUNS, EMBEDDED, KEPT)
    files = sorted((data / "fastapi_docs").rglob("*.md"))[: QUICK_FILES if quick else None]
    network = open_model(model, say)
    rows: list[tuple[Cell, ...]] = []
    figures: dict[str, float] = {}
    for name, of, ours, published, bar in (
        ("words", files, _lexical, _constant, LEXICAL_BAR),
        *([("vectors too", files[:embedded], _whole(network), _chromas_own(model), VECTORS_BAR)] if network else []),
    ):  # fmt: skip
        say(f"{name}, {len(of)} files")
        mine, theirs = side_by_side(of, ours, published, runs)
        times, times_cpu = (
            median(a) / median(b) for a, b in ((mine.wall, theirs.wall), (mine.cpu, theirs.cpu))
        )
        rows.append((name, len(of), median(mine.wall), median(theirs.wall), times, times_cpu, bar))
        figures |= {f"times the published pipeline, {name}": times, f"times its CPU, {name}": times_cpu}
    seconds, cpu = one_change(kept)
    figures["seconds to follow one change"] = seconds
    return Section(
        name="indexing",
        title="Indexing",
        what=(
            "The same Markdown files into an empty library and into an empty Chroma by the published pipeline's steps, "
            f"in turn, {runs} runs each: by words against its loading, splitting and storing with a constant vector; "
            "with vectors against Chroma's own embedding function over the same network."
        ),
        tables=(
            Table(
                title="Passages per second",
                columns=("phase", "files", "ours", "published", "times", "times by CPU", "bar"),
                rows=tuple(rows),
            ),
            Table(
                title="One changed file",
                columns=("among", "seconds", "of it CPU", "bar, seconds"),
                rows=((kept, seconds, cpu, SYNC_BAR),),
            ),
        ),
        figures=figures,
        note="Reading Markdown by its grammar takes most of the first phase, the network nearly all of the second.",
    )


# Side by side


def side_by_side(
    files: Sequence[Path], ours: Index, published: Index, runs: int
) -> tuple[IndexRates, IndexRates]:
    """Ours and theirs in turn, so that both meet the same machine; a first run of each does not count."""
    sides: tuple[tuple[Index, list[tuple[float, float]]], ...] = ((ours, []), (published, []))
    for _ in range(1 + runs):
        for index, rates in sides:
            rates.append(_rates(files, index))
    mine, theirs = (
        IndexRates(wall=tuple(wall for wall, _ in rates[1:]), cpu=tuple(cpu for _, cpu in rates[1:]))
        for _, rates in sides
    )
    return mine, theirs


def _rates(files: Sequence[Path], index: Index) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as scratch:
        began, began_cpu = perf_counter(), process_time()
        passages = index(files, Path(scratch))
        return passages / (perf_counter() - began), passages / (process_time() - began_cpu)


def _lexical(files: Sequence[Path], folder: Path) -> int:
    return _ours(files, folder, None)


def _whole(network: Embedder) -> Index:
    return lambda files, folder: _ours(files, folder, network)


def _ours(files: Sequence[Path], folder: Path, network: Embedder | None) -> int:
    library = open_library(folder, network)
    try:
        library.ingest(files)
        library.embed_pending()
        return sum(entry.passages for entry in library.store.entries())
    finally:
        library.close()


def _constant(files: Sequence[Path], folder: Path) -> int:
    vector = [DIMENSION**-0.5] * DIMENSION
    return published_index(files, folder, lambda texts: [vector for _ in texts])


def _chromas_own(model: str) -> Index:
    """Chroma's function for all-MiniLM-L6-v2, over the network in this folder."""
    from chromadb.utils.embedding_functions.onnx_mini_lm_l6_v2 import ONNXMiniLM_L6_V2

    place = Path(model).resolve()

    class Placed(ONNXMiniLM_L6_V2):
        DOWNLOAD_PATH = place.parent
        EXTRACTED_FOLDER_NAME = place.name

    embed: Any = Placed()._forward

    def index(files: Sequence[Path], folder: Path) -> int:
        return published_index(files, folder, lambda texts: list(embed(list(texts))))

    return index


# One change


def one_change(files: int) -> tuple[float, float]:
    """Wall and CPU seconds from a change of one file among so many to a library in step."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "handbook")
        changed = _write(folder, files)
        library = open_library(Path(scratch, "library"), None)
        try:
            library.ingest([folder])
            changed.write_text("# Changed\n\nThe ferry leaves at nine.\n", encoding="utf-8")
            began, began_cpu = perf_counter(), process_time()
            report = library.refresh()
            taken = perf_counter() - began, process_time() - began_cpu
            assert (report.changed, report.skipped) == (1, files - 1)
            return taken
        finally:
            library.close()


def _write(folder: Path, files: int) -> Path:
    """So many short files; one of them."""
    folder.mkdir()
    texts = (text for _, _, texts in documents(files) for text in texts)
    for number, text in enumerate(texts):
        file = folder / f"{number}.md"
        file.write_text(f"# Part {number}\n\n{text}\n", encoding="utf-8")
    return file


# The published pipeline


def published_index(files: Sequence[Path], folder: Path, embed: Embed) -> int:
    """The published systems' steps: load, split and store the files; the number of chunks.

    They call LangChain's ``TextLoader``, ``RecursiveCharacterTextSplitter(1000, 200)`` and
    ``Chroma.from_documents``. The packages of the last two are not among ours, so their steps are
    repeated here: the same separators, the same merging, the same calls of Chroma in the same batches.
    """
    import chromadb
    from chromadb.config import Settings
    from chromadb.utils.batch_utils import create_batches

    texts: list[str] = []
    sources: list[dict[str, str]] = []
    for file in files:
        chunks = split(file.read_text(encoding="utf-8"))
        texts += chunks
        sources += [{"source": str(file)}] * len(chunks)
    settings = Settings(anonymized_telemetry=False)
    client: Any = chromadb.PersistentClient(str(folder), settings=settings)
    try:
        collection = client.get_or_create_collection("langchain", embedding_function=None)
        named = [str(uuid4()) for _ in texts]
        for ids, _, metadatas, documents in create_batches(
            api=client,
            ids=named,
            metadatas=sources,  # type: ignore[arg-type]
            documents=texts,
        ):
            vectors = embed(documents or ())
            collection.upsert(ids=ids, embeddings=vectors, metadatas=metadatas, documents=documents)
    finally:
        client.close()
    return len(texts)


def split(text: str, separators: Sequence[str] = SEPARATORS) -> list[str]:
    """Chunks of at most CHUNK characters, cut at the first separator that occurs, and then at the next ones."""
    at = next(i for i, separator in enumerate(separators) if separator in text)
    finer = separators[at + 1 :]
    chunks: list[str] = []
    small: list[str] = []
    for part in _parts(text, separators[at]):
        if len(part) < CHUNK:
            small.append(part)
            continue
        chunks += _merged(small)
        small = []
        chunks += split(part, finer) if finer else [part]
    return chunks + list(_merged(small))


def _parts(text: str, separator: str) -> list[str]:
    """Cut before each separator, which stays with what follows it."""
    cuts = re.split(f"(?={re.escape(separator)})", text) if separator else list(text)
    return [part for part in cuts if part]


def _merged(parts: Sequence[str]) -> Iterator[str]:
    """Neighbours joined up to CHUNK; each chunk begins with up to OVERLAP characters of the one before."""
    joined: list[str] = []
    total = 0
    for part in parts:
        if joined and total + len(part) > CHUNK:
            yield from _stripped("".join(joined))
            while total > OVERLAP or (total and total + len(part) > CHUNK):
                total -= len(joined.pop(0))
        joined.append(part)
        total += len(part)
    yield from _stripped("".join(joined))


def _stripped(text: str) -> Iterator[str]:
    if bare := text.strip():
        yield bare
