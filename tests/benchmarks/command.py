"""``footnote bench``: what the bot is worth, measured; every benchmark, or those that are named."""

from __future__ import annotations

import logging
import os
import platform
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from benchmarks import BENCHES, benchmark
from bots.chat.texts import counted, duration
from bots.eval.report import now, tell, write_report
from bots.eval.sections import Benchmark, Options, Report, require_whole
from bots.terminal.screen import Screen
from core.errors import FootnoteError, SettingsError

logger = logging.getLogger(__name__)


def run(arguments: Namespace) -> int:
    """Exit code 1 when a benchmark failed; the others are in the report all the same."""
    names = names_meant(arguments.names)
    screen, folder = Screen(), Path(arguments.out)
    options = Options(
        data=Path(arguments.data), model=arguments.model, quick=arguments.quick, say=screen.note
    )
    report = Report(title="Measured trust and speed", made=now(), conditions=_conditions(options))
    for so_far in measured(names, options, report):
        report = so_far
        write_report(report, folder)  # after each one: the last ones take long, and may be interrupted
    tell(report, folder, screen, as_object=arguments.json)
    return 1 if report.failures else 0


def names_meant(given: Sequence[str]) -> tuple[str, ...]:
    """The benchmarks in the order of the report; all of them where none is named."""
    unknown = [name for name in given if name not in BENCHES]
    if unknown:
        raise SettingsError(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHES)}.")
    return tuple(name for name in BENCHES if name in given or not given)


def _conditions(options: Options) -> dict[str, str]:
    return {
        "data": str(options.data),
        "vectors": "none: words alone" if options.model == "none" else options.model,
        "machine": f"{platform.machine()}, {counted(os.cpu_count() or 1, 'processor')}, Python {platform.python_version()}",
        **({"extent": "quick: the measuring was tried, its figures say little"} if options.quick else {}),
    }


def measured(
    names: Sequence[str], options: Options, report: Report, load: Callable[[str], Benchmark] = benchmark
) -> Iterator[Report]:
    """The report after each benchmark; one that fails is named in it, and the next begins."""
    for number, name in enumerate(names, start=1):
        options.say(f"{name} ({number} of {len(names)})…")
        began = perf_counter()
        try:
            section = require_whole(load(name).measure(options))
            report = replace(report, sections=(*report.sections, section))
            options.say(f"{name} took {duration((perf_counter() - began) * 1000)}")
        except Exception as fault:
            # The boundary of one benchmark: the others go on.
            logger.exception("benchmark %s failed", name)
            report = replace(report, failures={**report.failures, name: _why(fault)})
            options.say(f"{name} was not measured: {report.failures[name]}")
        yield report


def _why(fault: Exception) -> str:
    """A sentence, whatever broke."""
    match fault:
        case FootnoteError():
            return str(fault)
        case OSError(filename=str(file), strerror=str(reason)):
            return f"{file} cannot be read: {reason.lower()}."
    return f"it has a fault of its own ({type(fault).__name__}); LOG_LEVEL=info shows where."
