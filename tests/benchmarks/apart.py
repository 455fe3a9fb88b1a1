"""A measurement in a process of its own, so that nothing of this one is counted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")


def apart(measure: Callable[P, Result], *given: P.args, **named: P.kwargs) -> Result:
    """What the function returns in a fresh process; function, arguments and result are pickled."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(measure, *given, **named).result()
