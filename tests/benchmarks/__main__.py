"""The command: `python -m benchmarks NAME [options]`; without a name it lists what there is.

A benchmark is a module with a function ``run(say, *, …) -> Section | None``, whose keyword arguments
are its options on the command line.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from time import perf_counter

from benchmarks import BENCHMARKS
from benchmarks.printing import as_text
from bots.chat.texts import duration
from bots.testing.report import Section, as_json
from core.errors import FootnoteError

# Also in the processes that a benchmark starts: warnings about what it stops on purpose are no news.
logging.basicConfig(level=logging.ERROR)

WIDTH = 160  # columns of a file or a pipe

#: What the options mean that several benchmarks have.
HELP = {
    "data": "folder of the evaluation sets",
    "model": "folder with model.onnx and tokenizer.json, for vectors; “none”: words alone",
    "sets": "names of evaluation sets, with commas between them",
    "questions": "how many are asked",
    "subjects": "how many different things are asked for, at most",
    "counts": "sets of readers, with commas between them",
    "size": "passages",
    "asked": "questions of each",
    "sizes": "passages of large libraries, with commas between them",
    "watched": "count statements, calls in threads and callbacks too; takes CPU itself",
    "repo": "a clone whose history is replayed",
    "folder": "the folder of its documentation",
    "last": "the last day, as 2024-08-26; by default that of its newest commit",
    "days": "how many days before it",
    "answers": "how many are posted before the first day",
    "planted": "quoted sentences that are taken out at the end",
    "quick": "a small part, to see that it runs; its figures say little",
}


def main(given: Sequence[str]) -> int:
    # Not above: a process that a benchmark starts loads this module as well, and may be what is measured.
    from rich.console import Console

    from bots.terminal.screen import Screen

    names = argparse.ArgumentParser(
        prog="python -m benchmarks", description=listing(), formatter_class=argparse.RawTextHelpFormatter
    )
    names.add_argument("name", metavar="NAME", choices=tuple(BENCHMARKS), help="one of these")
    names.add_argument("options", nargs=argparse.REMAINDER, help="of that benchmark: NAME --help shows them")
    chosen = names.parse_args(given or ["--help"])
    run = import_module(f"benchmarks.{chosen.name}").run
    options = vars(options_of(chosen.name, run).parse_args(chosen.options))
    screen, is_json, began = Screen(), options.pop("json"), perf_counter()
    try:
        section: Section | None = run(screen.note, **options)
    except (FootnoteError, OSError) as fault:
        screen.fault(str(fault))
        return 1
    if section is None:
        return 0
    if is_json:
        sys.stdout.write(as_json(section))
    else:
        console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
        for part in as_text(section):
            console.print(part)
    screen.note(f"{chosen.name} took {duration(1000 * (perf_counter() - began))}")
    return 1 if section.figures.get("failed") else 0


def listing() -> str:
    width = max(map(len, BENCHMARKS))
    return "\n".join(f"{name:<{width}}  {what}" for name, what in BENCHMARKS.items())


def options_of(name: str, run: Callable[..., Section | None]) -> argparse.ArgumentParser:
    """An option for each keyword argument; one without a default is required."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=inspect.getmodule(run).__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    for parameter in inspect.signature(run, eval_str=True).parameters.values():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        flag, default, told = f"--{parameter.name}", parameter.default, HELP.get(parameter.name, "")
        if isinstance(default, bool):
            parser.add_argument(flag, action="store_true", help=told)
        elif default is parameter.empty:
            parser.add_argument(flag, type=parameter.annotation, required=True, help=told)
        else:
            parser.add_argument(flag, type=type(default), default=default, help=f"{told} ({default})".strip())
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
