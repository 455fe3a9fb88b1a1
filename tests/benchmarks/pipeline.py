"""How the published systems index their documents: a loader, a recursive splitter, and Chroma.

What they call is LangChain's ``TextLoader``, ``RecursiveCharacterTextSplitter(1000, 200)`` and
``Chroma.from_documents``. The packages of the last two are not among ours, so that their steps stand
here: the same separators and the same merging, and the same calls of Chroma with the same batches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

SIZE, OVERLAP = 1_000, 200  # characters of a chunk, and how many of them the next one repeats
SEPARATORS = ("\n\n", "\n", " ", "")

Embed = Callable[[Sequence[str]], Any]  # one vector for each text


def index(files: Sequence[Path], folder: Path, embed: Embed) -> int:
    """Load, split and store the files; the number of chunks."""
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
    """Chunks of at most SIZE characters, cut at the first separator that occurs, and then at the next ones."""
    at = next(i for i, separator in enumerate(separators) if separator in text)
    finer = separators[at + 1 :]
    chunks: list[str] = []
    small: list[str] = []
    for part in _parts(text, separators[at]):
        if len(part) < SIZE:
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
    """Neighbours joined up to SIZE; each chunk begins with up to OVERLAP characters of the one before."""
    joined: list[str] = []
    total = 0
    for part in parts:
        if joined and total + len(part) > SIZE:
            yield from _said("".join(joined))
            while total > OVERLAP or (total and total + len(part) > SIZE):
                total -= len(joined.pop(0))
        joined.append(part)
        total += len(part)
    yield from _said("".join(joined))


def _said(text: str) -> Iterator[str]:
    if bare := text.strip():
        yield bare
