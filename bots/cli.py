"""The command line: commands, arguments, and how failures are shown.

Only the standard library's cheap parts are imported here, so that ``--help`` is quick.

Exit codes: 0 done; 1 it failed; 2 wrong use or settings, nothing was done; 130 stopped by Ctrl-C.
"""

import argparse
import errno
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from bots.arguments import (
    FAILED,
    INTERRUPTED,
    WRONG_USE,
    Parser,
    every_of,
    from_1_to,
    port,
    span,
)

CONCURRENCY_LIMIT = 64  # questions of one batch at a time
PASSAGES_LIMIT = 100  # retrieved passages that one answer may list

PLATFORMS = ("slack", "discord")
PORT_OF_HOST = -1  # `--http` without a number: the port is the one that the host names in PORT

SHELLS = ("bash", "zsh")
LINT_KINDS = (  # core.lint.findings
    "contradiction", "drift", "copy", "link", "spelling", "outdated", "single", "private",
)  # fmt: skip
ENDINGS = (  # bots.record
    "answered", "half_answered", "unsure", "approval_needed", "no_answer", "clarify", "failed",
)  # fmt: skip

#: Thresholds of the garbage collector. What a command loads lives until it ends; at Python's own
#: (700, 10, 10), a tenth of the start-up time is spent on scanning it.
GC_THRESHOLDS = (50_000, 20, 100)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that was typed; the exit code."""
    gc.set_threshold(*GC_THRESHOLDS)
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # closed before the process started
            return FAILED
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        code = _run_command(build_parser().parse_args(arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as fault:
        # The reader has gone, or the disk is full. Without this the interpreter complains when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(fault, BrokenPipeError):
            return FAILED
        return _print_error(f"Not everything could be written: {os.strerror(fault.errno or 0).lower()}.")


def _run_command(arguments: argparse.Namespace) -> int:
    import logging
    from inspect import iscoroutine

    from bots.process import log_to_stderr, run
    from core.errors import FootnoteError, NotFound, SettingsError
    from core.settings import Settings, read_settings

    try:
        settings = Settings()
        # It warns of one line at a time, without the file's name.
        logging.getLogger("dotenv").setLevel(logging.ERROR)
        if arguments.needs_settings:
            _report_ignored_lines()
            settings = read_settings(os.environ)
        log_to_stderr(settings, quiet=True)
        ended = _load(arguments.handler)(arguments, settings)
        return run(ended) if iscoroutine(ended) else int(ended)
    except (SettingsError, NotFound) as error:
        return _print_error(str(error), WRONG_USE)
    except FootnoteError as error:
        return _print_error(str(error), FAILED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC):
            raise
        # The boundary of the process: the person gets a sentence, the log gets the rest.
        logging.getLogger(__name__).exception("%s failed", arguments.command)
        kind = type(error).__name__
        return _print_error(f"Footnote has a fault of its own ({kind}); LOG_LEVEL=info shows where.", FAILED)


def _report_ignored_lines() -> None:
    from core.settings import ENV_FILE, broken_lines

    if numbers := broken_lines(ENV_FILE):
        lines, are = ("Line", "is") if len(numbers) == 1 else ("Lines", "are")
        named = ", ".join(map(str, numbers))
        _print_error(f"{lines} {named} of {ENV_FILE} {are} not NAME=value and {are} ignored.")


def _load(handler: str) -> Any:
    """The function of ``module:function``. Loading it may take a second or two, so a terminal shows that something happens."""
    from importlib import import_module

    module, _, function = handler.partition(":")
    is_terminal = sys.stderr.isatty()
    if is_terminal:
        print("Starting…", end="", file=sys.stderr, flush=True)  # noqa: T201 - a progress note
    try:
        return getattr(import_module(f"bots.commands.{module}"), function)
    finally:
        if is_terminal:  # ECMA-48: to the line's start, and erase it
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)  # noqa: T201 - same


def _print_error(sentence: str, code: int = FAILED) -> int:
    """On standard error, wrapped on a terminal; the exit code."""
    from shutil import get_terminal_size
    from textwrap import fill

    from bots.terminal.screen import line

    text = line(sentence)
    if sys.stderr.isatty():
        text = fill(text, get_terminal_size().columns)
    print(text, file=sys.stderr)  # noqa: T201 - this is what a command line does
    return code


class _Version(argparse.Action):
    """Looks the version up only when it is needed."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("footnote")
        except PackageNotFoundError:
            number = "(a checkout that was never installed)"
        print("footnote", number)  # noqa: T201 - this is the output
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="footnote",
        description="Answers questions from your own documents, with footnotes you can check.",
        epilog="Settings come from the environment or a .env file; none is needed to begin.",
    )
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (handler, help_text, arguments) in COMMANDS.items():
        command = commands.add_parser(name, help=help_text, description=DESCRIPTIONS.get(name))
        command.set_defaults(handler=handler, needs_settings=name not in WITHOUT_SETTINGS)
        for add in arguments:
            add(command)
    return parser


def arg(*names: str, **options: Any) -> Callable[[Any], object]:
    """Adds an argument to a parser, or to a group of it."""
    return lambda parser: parser.add_argument(*names, **options)


def one_of(*arguments: Callable[[Any], object], required: bool = False) -> Callable[[Any], object]:
    """A group of arguments that exclude each other."""

    def add(parser: Parser) -> None:
        group = parser.add_mutually_exclusive_group(required=required)
        for each in arguments:
            each(group)

    return add


def listed(*names: str, metavar: str, help: str) -> Callable[[Any], object]:  # noqa: A002 - argparse's name
    """An option that takes several, and may be given several times."""
    return arg(*names, nargs="+", action="extend", default=[], metavar=metavar, help=help)


def concurrency(help_text: str, default: int | None = None) -> Callable[[Any], object]:
    most = from_1_to(CONCURRENCY_LIMIT)
    return arg("--concurrency", type=most, default=default, metavar="N", help=help_text)


def since(help_text: str, default: str = "7d") -> Callable[[Any], object]:
    return arg(
        "--since", type=span, default=span(default), metavar="SPAN", help=f"{help_text}; by default {default}"
    )


DOCS = listed("--docs", metavar="PATH", help="read these and nothing else")
JSON = arg("--json", action="store_true", help="print JSON and nothing else")
ARCHIVE = arg("file", metavar="FILE")

#: What can be typed after ``footnote``: the module and function in ``bots.commands`` that carry it out, its line of
#: help, and its arguments.
COMMANDS: Mapping[str, tuple[str, str, Sequence[Callable[[Any], object]]]] = {
    "chat": ("ask:chat", "talk with your documents in the terminal", [
        arg("paths", nargs="*", metavar="PATH", help="files or folders to read; none: all indexed"),
        arg("--thread", metavar="NAME", help="come back to this conversation, or begin one of this name"),
    ]),
    "ask": ("ask:ask_questions", "ask one question, or many with --batch", [
        arg("question", nargs="?"),
        arg("--batch", metavar="FILE", help='one {"id", "question", "thread"?} per line; "-": standard input'),
        concurrency("batch: at a time (8)", default=8),
        DOCS,
        arg("--thread", metavar="NAME", help="ask within this conversation"),
        JSON,
        arg("--passages", type=from_1_to(PASSAGES_LIMIT), default=0, metavar="N", help="list the N best passages"),
    ]),
    "decide": ("ask:decide_proposal", "allow or decline a proposed web search", [
        arg("proposal", metavar="PROPOSAL_ID"),
        one_of(
            arg("--approve", dest="verdict", action="store_const", const="approve"),
            arg("--deny", dest="verdict", action="store_const", const="deny"),
            required=True,
        ),
        arg("--query", help="search for this instead"),
        arg("--thread", metavar="NAME", help="the conversation that holds it; none: looked for in all"),
        JSON,
    ]),
    "ingest": ("documents:ingest", "index files, folders and web pages, or update them", [
        arg("targets", nargs="*", metavar="PATH_OR_URL"),
        arg("--collection", metavar="NAME", help="put them into this part of the library"),
        arg("--follow", action="store_true", help="read the website of which an address is the first page"),
        arg("--every", type=every_of, metavar="SPAN", help="read a source again after each 1h, 30m or 7d; off: no more"),
        arg("--rebuild", action="store_true", help="read and embed everything indexed again"),
        JSON,
    ]),
    "sources": ("sources:list_sources", "list what is indexed", [JSON]),
    "forget": ("documents:forget", "remove a document, folder or page from the index", [
        arg("source", metavar="SOURCE", help="as `footnote sources` names it, or its path or URL"),
    ]),
    "questions": ("questions:questions", "list what was asked and how it ended", [
        since("as 90m, 12h, 7d or 4w"),
        arg("--outcome", choices=ENDINGS, metavar="OUTCOME", help=", ".join(ENDINGS)),
        arg("--csv", action="store_true", help="print comma-separated values and nothing else"),
    ]),
    "gaps": ("questions:gaps", "group what was not answered by meaning", [
        since("as 12h, 7d or 4w, compared with as long before"),
        arg("--csv", action="store_true", help="print a line for each question and nothing else"),
        arg(
            "--draft", nargs="?", const="footnote-drafts", metavar="DIR",
            help="write what people answered as patches of the documents into this folder",
        ),
        arg("--pull-requests", action="store_true", help="with --draft: open one for each in a repository, by GIT_TOKENS"),
    ]),
    "lint": ("lint:lint", "find what contradicts, drifts, leads nowhere or is private in the documents", [
        arg("--collection", metavar="NAME", help="show what concerns this part of the library"),
        listed("--kind", metavar="KIND", help=", ".join(LINT_KINDS)),
        arg("--baseline", metavar="FILE", help="of what is accepted (.footnote-lint.json, where there is one)"),
        arg("--write-baseline", action="store_true", help="accept all that is found, in that file"),
        JSON,
    ]),
    "access": ("sources:access", "list or change who may read which collection", [
        arg("collection", nargs="?", metavar="COLLECTION"),
        listed("--channels", metavar="ID", help="open it to these channels"),
        listed("--people", metavar="ID", help="open it to these people"),
        listed("--groups", metavar="ID", help="open it to these groups"),
        arg("--everyone", action="store_true", help="open it to all channels and people"),
        arg("--nobody", action="store_true", help="close it first"),
        listed("--remove", metavar="ID", help="close it to these"),
        listed(
            "--email", metavar="PERSON_ID=ADDRESS",
            help="whose e-mail address this is, for what sources open to it; without an ADDRESS: as the platform says",
        ),
    ]),
    "run": ("run:run", "serve the platforms whose tokens are set", [
        arg("platforms", nargs="*", choices=PLATFORMS, metavar="PLATFORM", help="slack, discord"),
        arg(
            "--http", nargs="?", type=port, const=PORT_OF_HOST, metavar="PORT",
            help="take Slack's events over HTTP on this port, or on the one in the variable PORT, not a socket",
        ),
        arg(
            "--page", metavar="[HOST:]PORT",
            help="serve the operators' page too, on this machine unless HOST says otherwise",
        ),
        arg(
            "--mcp", metavar="[HOST:]PORT",
            help="answer assistants over MCP there, at /mcp; the page's port serves both",
        ),
    ]),
    "mcp": ("mcp:run", "answer an assistant over MCP, or make tokens for those that ask over HTTP", [
        one_of(
            arg("--token", metavar="NAME", help="make a token of this name, and print it once"),
            arg("--tokens", action="store_true", help="list the tokens, and end"),
            arg("--revoke", metavar="NAME", help="end this token"),
        ),
        arg(
            "--as", dest="stands_for", metavar="WHOM",
            help="who asks with the token: a person of Slack (U0123ABCDE, slack/T0123/U0123ABCDE) or Discord (123456789012345678,"
            " discord/123456789012345678), an e-mail address, or the collection that it reads alone",
        ),
        arg("--expires", type=span, metavar="SPAN", help="of the token: 12h, 7d or 4w (90d)"),
    ]),
    "page": ("page:run", "serve the operators' page, or print a link to it", [
        arg("--page", metavar="[HOST:]PORT", help="where it is served (127.0.0.1:8467)"),
        one_of(
            arg("--link", action="store_true", help="print a link that lets one browser in, and end"),
            arg("--sessions", action="store_true", help="list who is in, and end"),
            arg("--revoke", metavar="SESSION", help="end this session, or all of them with all"),
        ),
        arg("--role", choices=("reader", "editor"), help="of the link (editor)"),
        arg("--name", help="of the person whom the link is for"),
        arg("--collections", metavar="NAME,…", help="all that the link lets them read"),
    ]),
    "migrate": ("backup:migrate", "make or migrate every store, as before a deploy", []),
    "move": ("backup:move", "copy every store into a PostgreSQL, or back into a folder", [
        arg("--to", required=True, metavar="PLACE", help="postgresql://…, or a folder when DATABASE_URL is set"),
    ]),
    "backup": ("backup:back_up", "write all that the stores hold into one file", [ARCHIVE]),
    "restore": ("backup:restore", "lay such a file down in empty stores", [ARCHIVE]),
    "doctor": ("describe:doctor", "check this installation, and say how to repair it", [
        arg(
            "platforms", nargs="*", choices=(*PLATFORMS, "sources", "models"), metavar="PART",
            help="also require these to be there and to work: slack, discord; sources or models alone: look at nothing else",
        ),
        JSON,
    ]),
    "manifest": ("describe:manifest", "print what a platform has to know about the bot", [
        arg("platform", choices=PLATFORMS),
        arg("--sync", action="store_true", help="register Discord's commands"),
        arg("--http", metavar="ADDRESS", help="for Slack over HTTP at https://your.host"),
        arg("--mcp", metavar="ADDRESS", help="lets Slackbot ask at https://your.host/mcp"),
    ]),
    "completion": ("describe:completion", "print what lets a shell complete `footnote`", [
        arg("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh"),
    ]),
    "graph": ("describe:graph", "how a question is answered, as Mermaid", []),
    "test": ("test:run", "ask the questions of a file, and check what must hold of the answers", [
        arg("files", nargs="*", metavar="FILE", help="YAML or JSON lines; none: footnote-test.yaml here or beside the documents"),
        DOCS,
        arg(
            "--as", dest="stands_for", metavar="WHOM",
            help="with whose rights, where a question names nobody: everyone, a collection, a channel, or as `footnote mcp`",
        ),
        concurrency("at a time (8 with a model, else 1)"),
        arg("--runs", type=from_1_to(3), default=3, metavar="N", help="with a model: of a question that fails, at most (3)"),
        arg("--strict", action="store_true", help="flaky questions fail too"),
        arg("--junit", metavar="FILE", help="write JUnit XML"),
        arg("--report", metavar="DIR", help="write report.html and report.json there"),
        arg(
            "--from", dest="drawn_from", choices=("questions", "answers"), metavar="WHAT",
            help="write a first file: of the questions that were rated helpful, or the answers that people keep",
        ),
        since("with --from", "30d"),
        arg("--out", metavar="FILE", help="with --from: the new file (footnote-test.yaml)"),
        JSON,
    ]),
}  # fmt: skip
DESCRIPTIONS = {
    "ingest": "Without arguments, in a terminal, it asks what to add and looks at it first.",
    "access": (
        "Without options: who may read each collection. The default one is open, every other is closed until "
        "you open it; options add to those who may read it. --nobody with others sets exactly those."
    ),
    "mcp": (
        "Without options: serve an assistant on this machine, over standard input and output, with all that you may read. "
        "For others, `footnote run --mcp [HOST:]PORT` serves it over HTTP; tokens say who asks there."
    ),
    "completion": (
        'For every new shell: put eval "$(footnote completion bash)" into ~/.bashrc,'
        ' or eval "$(footnote completion zsh)" into ~/.zshrc after compinit.'
    ),
}

#: The doctor looks for faults in the settings itself, completion uses none.
WITHOUT_SETTINGS = ("doctor", "completion")
