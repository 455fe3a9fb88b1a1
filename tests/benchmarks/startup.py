"""Processor time of a start: of a fresh process that imports nothing but what the product does."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import ParamSpec, TypeVar

from benchmarks.evaluation_sets import EVERYTHING, open_model
from benchmarks.synthetic import DrawnVectors, library_of, questions
from core.bootstrap import open_footnote, reads_everything
from core.library.retriever import Query
from core.settings import Settings

P = ParamSpec("P")
R = TypeVar("R")


def apart(measure: Callable[P, R], *given: P.args, **named: P.kwargs) -> R:
    """What the function returns in a fresh process; function, arguments and result are pickled."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(measure, *given, **named).result()


def measure(indexed: int, model: str) -> tuple[float, float]:
    """Seconds of CPU of a process until it could take a question, and of its first retrieval."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        apart(build, indexed, folder, model)
        return apart(start, folder / "library", model)


def build(indexed: int, folder: Path, model: str) -> None:
    with library_of(indexed, folder, model=model):
        pass


def start(data_dir: Path, model: str) -> tuple[float, float]:
    return asyncio.run(_start(data_dir, model))


async def _start(data_dir: Path, model: str) -> tuple[float, float]:
    network = open_model(model)
    settings = Settings(data_dir=data_dir, web_search="off")
    embedder = DrawnVectors(network) if network else None
    async with open_footnote(
        settings, purpose="bench", reads=reads_everything, embedder=embedder
    ) as footnote:
        taken = process_time()
        await asyncio.to_thread(footnote.library.retrieve, Query(text=next(questions(100)), scope=EVERYTHING))
        return taken, process_time() - taken
