"""The command line: what can be typed, and what a failure looks like from outside.

Only the standard library's cheap parts are imported here, so that ``--help`` is quick.

Exit codes: 0 done; 1 it failed; 2 wrong use or settings, nothing was done; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

CONCURRENCY_LIMIT = 64  # questions of one batch at a time
PASSAGES_LIMIT = 100  # retrieved passages that one answer may list

PLATFORMS = ("slack", "discord")

#: What a shell completes an argument with that `--help` shows as this.
COMPLETED_AS = {
    "PATH": "file",
    "PATH_OR_URL": "file",
    "FILE": "file",
    "QUESTIONS.jsonl": "file",
    "DIR": "directory",
}
SHELLS = ("bash", "zsh")

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130

#: Commands that run whatever the settings are: the doctor looks for faults in them, completion needs none.
WITHOUT_SETTINGS = ("doctor", "completion")

#: What a command loads lives until it ends: at Python's own (700, 10, 10), a tenth of its start goes into
#: looking through that for garbage.
COLLECTING = (50_000, 20, 100)


def main(given: Sequence[str] | None = None) -> int:
    """Carry out what was typed; the exit code."""
    gc.set_threshold(*COLLECTING)
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # it was closed before we began
            return FAILED
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _carry_out(build_parser().parse_args(given))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return FAILED


def _carry_out(arguments: argparse.Namespace) -> int:
    from bots.process import log_to_stderr
    from core.errors import FootnoteError, NotFound, SettingsError
    from core.settings import Settings, read_settings

    try:
        settings = Settings() if arguments.command in WITHOUT_SETTINGS else read_settings(os.environ)
        log_to_stderr(settings, quiet=True)
        return int(_command(arguments.command).run(arguments, settings))
    except (SettingsError, NotFound) as wrong:
        return _say(str(wrong), WRONG_USE)
    except FootnoteError as trouble:
        return _say(str(trouble), FAILED)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as fault:
        import logging

        # The boundary of the process: a person is told in a sentence, the log gets the rest.
        logging.getLogger(__name__).exception("%s failed", arguments.command)
        kind = type(fault).__name__
        return _say(f"Footnote has a fault of its own ({kind}); LOG_LEVEL=info shows where.", FAILED)


def _command(name: str) -> Any:
    """The command's module. What it stands on takes a second or two to load, so a person is told."""
    from importlib import import_module

    if not sys.stderr.isatty():
        return import_module(f"bots.commands.{name}")
    sys.stderr.write("Starting…")
    sys.stderr.flush()
    try:
        return import_module(f"bots.commands.{name}")
    finally:
        sys.stderr.write("\r\x1b[K")  # ECMA-48: to the line's start, and erase it
        sys.stderr.flush()


def _say(sentence: str, code: int) -> int:
    from shutil import get_terminal_size
    from textwrap import fill

    from bots.terminal.markdown import line

    told = line(sentence)
    if sys.stderr.isatty():
        told = fill(told, get_terminal_size().columns)
    print(told, file=sys.stderr)  # noqa: T201 - this is what a command line does
    return code


def _discard_output() -> None:
    """Nobody reads on: without this, the interpreter complains when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Says in one sentence what is wrong, and tells a shell which arguments are files."""

    def add_argument(self, *names: str, **options: Any) -> argparse.Action:
        action = super().add_argument(*names, **options)
        if (kind := COMPLETED_AS.get(str(action.metavar))) is not None:
            action.complete = kind  # type: ignore[attr-defined]  # shtab reads it
        return action

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # No platform named: Python 3.11.7 and 3.12.1 look for the empty list among the choices.
        if value != []:
            super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USE, f"{self.prog}: {message}. `{self.prog} --help` shows how it is used.\n")


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            known = version("footnote")
        except PackageNotFoundError:
            known = "(a checkout that was never installed)"
        print("footnote", known)  # noqa: T201 - this is the output
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="footnote",
        description="Answers questions from your own documents, with footnotes you can check.",
        epilog="Settings come from the environment or a .env file; none is needed to begin.",
    )
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="show the version and leave")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in (
        _chat,
        _ask,
        _decide,
        _ingest,
        _sources,
        _forget,
        _run,
        _doctor,
        _manifest,
        _completion,
        _graph,
        _eval,
    ):
        add(commands)
    return parser


def _chat(commands: Any) -> None:
    chat = commands.add_parser("chat", help="talk with your documents in the terminal")
    chat.add_argument("paths", nargs="*", metavar="PATH", help="files or folders to read; none: all indexed")
    _add_thread(chat, "come back to this conversation, or begin one of this name")


def _ask(commands: Any) -> None:
    ask = commands.add_parser("ask", help="ask one question, or many with --batch")
    ask.add_argument("question", nargs="?")
    ask.add_argument(
        "--batch", metavar="FILE", help='one {"id", "question", "thread"?} per line; "-": standard input'
    )
    ask.add_argument(
        "--concurrency",
        type=_from_1_to(CONCURRENCY_LIMIT),
        default=8,
        metavar="N",
        help="batch: at a time (8)",
    )
    _add_docs(ask)
    _add_thread(ask, "ask within this conversation")
    _add_json(ask)
    ask.add_argument(
        "--passages", type=_from_1_to(PASSAGES_LIMIT), default=0, metavar="N", help="list the N best passages"
    )


def _decide(commands: Any) -> None:
    decide = commands.add_parser("decide", help="allow or decline a proposed web search")
    decide.add_argument("proposal", metavar="PROPOSAL_ID")
    verdict = decide.add_mutually_exclusive_group(required=True)
    verdict.add_argument("--approve", dest="verdict", action="store_const", const="approve")
    verdict.add_argument("--deny", dest="verdict", action="store_const", const="deny")
    decide.add_argument("--query", help="search for this instead")
    _add_thread(decide, "the conversation that holds it; none: looked for in all")
    _add_json(decide)


def _ingest(commands: Any) -> None:
    ingest = commands.add_parser("ingest", help="index files, folders and web pages, or bring them in step")
    ingest.add_argument("targets", nargs="*", metavar="PATH_OR_URL")
    ingest.add_argument("--collection", metavar="NAME", help="put them into this part of the library")
    ingest.add_argument("--rebuild", action="store_true", help="read and embed everything indexed anew")


def _sources(commands: Any) -> None:
    sources = commands.add_parser("sources", help="list what is indexed")
    _add_json(sources)


def _forget(commands: Any) -> None:
    forget = commands.add_parser("forget", help="remove a document, folder or page from the index")
    forget.add_argument("source", metavar="SOURCE", help="as `footnote sources` names it, or its path or URL")


def _manifest(commands: Any) -> None:
    manifest = commands.add_parser("manifest", help="print what a platform is told of the bot")
    manifest.add_argument("platform", choices=PLATFORMS)
    manifest.add_argument("--sync", action="store_true", help="register Discord's commands")


def _completion(commands: Any) -> None:
    completion = commands.add_parser(
        "completion",
        help="print what lets a shell complete `footnote`",
        description='For every new shell: put eval "$(footnote completion bash)" into ~/.bashrc,'
        ' or eval "$(footnote completion zsh)" into ~/.zshrc after compinit.',
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh")


def _run(commands: Any) -> None:
    run = commands.add_parser("run", help="serve the platforms whose tokens are set")
    run.add_argument("platforms", nargs="*", choices=PLATFORMS, metavar="PLATFORM", help="slack, discord")
    run.add_argument(
        "--http", type=_port, metavar="PORT", help="take Slack's events over HTTP on this port, not a socket"
    )


def _doctor(commands: Any) -> None:
    doctor = commands.add_parser("doctor", help="check this installation, and say how to mend it")
    doctor.add_argument(
        "platforms", nargs="*", choices=PLATFORMS, metavar="PLATFORM", help="must work too: slack, discord"
    )
    _add_json(doctor)


def _graph(commands: Any) -> None:
    commands.add_parser("graph", help="how a question is answered, as Mermaid")


def _eval(commands: Any) -> None:
    evaluate = commands.add_parser("eval", help="ask a file of questions, and judge the answers")
    evaluate.add_argument(
        "questions",
        metavar="QUESTIONS.jsonl",
        help='one {"id", "question", "thread"?, "source"?, "answerable"?, "answer"?, "kind"?} per line',
    )
    _add_docs(evaluate)
    evaluate.add_argument(
        "--concurrency",
        type=_from_1_to(CONCURRENCY_LIMIT),
        metavar="N",
        help="at a time (8 with a model, else 1)",
    )
    for side in ("in", "out"):
        evaluate.add_argument(
            f"--price-{side}", type=_price, metavar="PRICE", help=f"of a million tokens {side}"
        )
    evaluate.add_argument(
        "--out", default="footnote-eval", metavar="DIR", help="where the report's files go (footnote-eval)"
    )
    _add_json(evaluate)


def _add_docs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--docs", nargs="+", action="extend", default=[], metavar="PATH", help="read these and nothing else"
    )


def _add_thread(parser: argparse.ArgumentParser, does: str) -> None:
    parser.add_argument("--thread", metavar="NAME", help=does)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")


def _port(given: str) -> int:
    number = int(given) if given.isdecimal() else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{given} is not a port")
    return number


def _price(given: str) -> float:
    try:
        price = float(given)
    except ValueError:
        price = -1.0
    if not 0 <= price < float("inf"):
        raise argparse.ArgumentTypeError(f"{given} is not a price")
    return price


def _from_1_to(most: int) -> Any:
    def parse(given: str) -> int:
        number = int(given) if given.isdecimal() else 0
        if not 1 <= number <= most:
            raise argparse.ArgumentTypeError(f"{given} is not a number from 1 to {most}")
        return number

    return parse
