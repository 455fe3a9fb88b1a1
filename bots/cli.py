"""The command line: what can be typed, and what a failure looks like from outside.

Only the standard library's cheap parts are imported here, so that ``--help`` is quick.

Exit codes: 0 done; 1 it failed; 2 wrong use or settings, nothing was done; 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
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
    price,
    span,
)

CONCURRENCY_LIMIT = 64  # questions of one batch at a time
PASSAGES_LIMIT = 100  # retrieved passages that one answer may list

PLATFORMS = ("slack", "discord")
PORT_OF_HOST = -1  # `--http` without a number: the port is the one that the host names in PORT

SHELLS = ("bash", "zsh")
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
    except BrokenPipeError:
        _discard_output()
        return FAILED


def _run_command(arguments: argparse.Namespace) -> int:
    from bots.process import log_to_stderr
    from core.errors import FootnoteError, NotFound, SettingsError
    from core.settings import Settings, read_settings

    try:
        settings = Settings()
        if arguments.needs_settings:
            _report_ignored_lines()
            settings = read_settings(os.environ)
        log_to_stderr(settings, quiet=True)
        return int(_load(arguments.handler)(arguments, settings))
    except (SettingsError, NotFound) as error:
        return _print_error(str(error), WRONG_USE)
    except FootnoteError as error:
        return _print_error(str(error), FAILED)
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        import logging

        # The boundary of the process: the person gets a sentence, the log gets the rest.
        logging.getLogger(__name__).exception("%s failed", arguments.command)
        kind = type(error).__name__
        return _print_error(f"Footnote has a fault of its own ({kind}); LOG_LEVEL=info shows where.", FAILED)


def _report_ignored_lines() -> None:
    import logging

    from core.settings import ENV_FILE, broken_lines

    logging.getLogger("dotenv").setLevel(
        logging.ERROR
    )  # it warns of one line at a time, without the file's name
    if numbers := broken_lines(ENV_FILE):
        lines, are = ("Line", "is") if len(numbers) == 1 else ("Lines", "are")
        named = ", ".join(map(str, numbers))
        _print_line(f"{lines} {named} of {ENV_FILE} {are} not NAME=value and {are} ignored.")


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


def _print_error(sentence: str, code: int) -> int:
    _print_line(sentence)
    return code


def _print_line(sentence: str) -> None:
    """On standard error, wrapped on a terminal."""
    from shutil import get_terminal_size
    from textwrap import fill

    from bots.terminal.screen import line

    text = line(sentence)
    if sys.stderr.isatty():
        text = fill(text, get_terminal_size().columns)
    print(text, file=sys.stderr)  # noqa: T201 - this is what a command line does


def _discard_output() -> None:
    """The reader has gone: without this, the interpreter complains when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
    for name, (handler, add_arguments, help_text) in COMMANDS.items():
        command = commands.add_parser(name, help=help_text)
        command.set_defaults(handler=handler, needs_settings=name not in WITHOUT_SETTINGS)
        add_arguments(command)
    return parser


def _add_concurrency(parser: Parser, help_text: str, default: int | None = None) -> None:
    parser.add_argument(
        "--concurrency",
        type=from_1_to(CONCURRENCY_LIMIT),
        default=default,
        metavar="N",
        help=help_text,
    )


def _add_docs(parser: Parser) -> None:
    parser.add_argument(
        "--docs", nargs="+", action="extend", default=[], metavar="PATH", help="read these and nothing else"
    )


def _add_thread(parser: Parser, help_text: str) -> None:
    parser.add_argument("--thread", metavar="NAME", help=help_text)


def _add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")


def _define_chat(chat: Parser) -> None:
    chat.add_argument("paths", nargs="*", metavar="PATH", help="files or folders to read; none: all indexed")
    _add_thread(chat, "come back to this conversation, or begin one of this name")


def _define_ask(ask: Parser) -> None:
    ask.add_argument("question", nargs="?")
    ask.add_argument(
        "--batch", metavar="FILE", help='one {"id", "question", "thread"?} per line; "-": standard input'
    )
    _add_concurrency(ask, "batch: at a time (8)", default=8)
    _add_docs(ask)
    _add_thread(ask, "ask within this conversation")
    _add_json(ask)
    ask.add_argument(
        "--passages", type=from_1_to(PASSAGES_LIMIT), default=0, metavar="N", help="list the N best passages"
    )


def _define_decide(decide: Parser) -> None:
    decide.add_argument("proposal", metavar="PROPOSAL_ID")
    verdict = decide.add_mutually_exclusive_group(required=True)
    verdict.add_argument("--approve", dest="verdict", action="store_const", const="approve")
    verdict.add_argument("--deny", dest="verdict", action="store_const", const="deny")
    decide.add_argument("--query", help="search for this instead")
    _add_thread(decide, "the conversation that holds it; none: looked for in all")
    _add_json(decide)


def _define_ingest(ingest: Parser) -> None:
    ingest.description = "Without arguments, in a terminal, it asks what to add and looks at it first."
    ingest.add_argument("targets", nargs="*", metavar="PATH_OR_URL")
    ingest.add_argument("--collection", metavar="NAME", help="put them into this part of the library")
    ingest.add_argument(
        "--follow", action="store_true", help="read the website of which an address is the first page"
    )
    ingest.add_argument(
        "--every",
        type=every_of,
        metavar="SPAN",
        help="read a source again after each 1h, 30m or 7d; off: no more",
    )
    ingest.add_argument("--rebuild", action="store_true", help="read and embed everything indexed again")
    _add_json(ingest)


def _define_archive(command: Parser) -> None:
    command.add_argument("file", metavar="FILE")


def _define_move(move: Parser) -> None:
    move.add_argument(
        "--to", required=True, metavar="PLACE", help="postgresql://…, or a folder when DATABASE_URL is set"
    )


def _define_forget(forget: Parser) -> None:
    forget.add_argument("source", metavar="SOURCE", help="as `footnote sources` names it, or its path or URL")


def _define_access(access: Parser) -> None:
    access.description = (
        "Without options: who may read each collection. The default one is open, every other is closed until "
        "you open it; options add to those who may read it. --nobody with others sets exactly those."
    )
    access.add_argument("collection", nargs="?", metavar="COLLECTION")
    for kind in ("channels", "people", "groups"):
        access.add_argument(
            f"--{kind}", nargs="+", action="extend", default=[], metavar="ID", help=f"open it to these {kind}"
        )
    access.add_argument("--everyone", action="store_true", help="open it to all channels and people")
    access.add_argument("--nobody", action="store_true", help="close it first")
    access.add_argument(
        "--remove", nargs="+", action="extend", default=[], metavar="ID", help="close it to these"
    )
    access.add_argument(
        "--email", nargs="+", action="extend", default=[], metavar="PERSON_ID=ADDRESS",
        help="whose e-mail address this is, for what sources open to it; without an ADDRESS: as the platform says",
    )  # fmt: skip


def _define_run(run: Parser) -> None:
    run.add_argument("platforms", nargs="*", choices=PLATFORMS, metavar="PLATFORM", help="slack, discord")
    run.add_argument(
        "--http",
        nargs="?",
        type=port,
        const=PORT_OF_HOST,
        metavar="PORT",
        help="take Slack's events over HTTP on this port, or on the one in the variable PORT, not a socket",
    )
    _add_page(run, "serve the operators' page too, on this machine unless HOST says otherwise")
    run.add_argument(
        "--mcp",
        metavar="[HOST:]PORT",
        help="answer assistants over MCP there, at /mcp; the page's port serves both",
    )


def _add_page(parser: Parser, help_text: str) -> None:
    parser.add_argument("--page", metavar="[HOST:]PORT", help=help_text)


def _define_page(page: Parser) -> None:
    _add_page(page, "where it is served (127.0.0.1:8467)")
    instead = page.add_mutually_exclusive_group()
    instead.add_argument("--link", action="store_true", help="print a link that lets one browser in, and end")
    instead.add_argument("--sessions", action="store_true", help="list who is in, and end")
    instead.add_argument("--revoke", metavar="SESSION", help="end this session, or all of them with all")
    page.add_argument("--role", choices=("reader", "editor"), help="of the link (editor)")
    page.add_argument("--name", help="of the person whom the link is for")
    page.add_argument("--collections", metavar="NAME,…", help="all that the link lets them read")


def _define_mcp(mcp: Parser) -> None:
    mcp.description = (
        "Without options: serve an assistant on this machine, over standard input and output, with all that you may read. "
        "For others, `footnote run --mcp [HOST:]PORT` serves it over HTTP; tokens say who asks there."
    )
    instead = mcp.add_mutually_exclusive_group()
    instead.add_argument("--token", metavar="NAME", help="make a token of this name, and print it once")
    instead.add_argument("--tokens", action="store_true", help="list the tokens, and end")
    instead.add_argument("--revoke", metavar="NAME", help="end this token")
    mcp.add_argument(
        "--as",
        dest="stands_for",
        metavar="WHOM",
        help="who asks with the token: a person's id (U0123ABCDE), an e-mail address, or the collection it reads",
    )
    mcp.add_argument("--expires", type=span, metavar="SPAN", help="of the token: 12h, 7d or 4w (90d)")


def _define_doctor(doctor: Parser) -> None:
    doctor.add_argument(
        "platforms",
        nargs="*",
        choices=(*PLATFORMS, "sources"),
        metavar="PART",
        help="also require these to be there and to work: slack, discord; sources alone: look at nothing else",
    )
    _add_json(doctor)


def _define_manifest(manifest: Parser) -> None:
    manifest.add_argument("platform", choices=PLATFORMS)
    manifest.add_argument("--sync", action="store_true", help="register Discord's commands")
    manifest.add_argument("--http", metavar="ADDRESS", help="for Slack over HTTP at https://your.host")
    manifest.add_argument("--mcp", metavar="ADDRESS", help="lets Slackbot ask at https://your.host/mcp")


def _define_questions(questions: Parser) -> None:
    questions.add_argument(
        "--since",
        type=span,
        default=span("7d"),
        metavar="SPAN",
        help="as 90m, 12h, 7d or 4w; by default 7d",
    )
    questions.add_argument("--outcome", choices=ENDINGS, metavar="OUTCOME", help=", ".join(ENDINGS))
    questions.add_argument("--csv", action="store_true", help="print comma-separated values and nothing else")


def _define_gaps(gaps: Parser) -> None:
    gaps.add_argument(
        "--since",
        type=span,
        default=span("7d"),
        metavar="SPAN",
        help="as 12h, 7d or 4w, compared with as long before; by default 7d",
    )
    gaps.add_argument("--csv", action="store_true", help="print a line for each question and nothing else")


def _define_completion(completion: Parser) -> None:
    completion.description = (
        'For every new shell: put eval "$(footnote completion bash)" into ~/.bashrc,'
        ' or eval "$(footnote completion zsh)" into ~/.zshrc after compinit.'
    )
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh")


def _define_eval(evaluate: Parser) -> None:
    evaluate.add_argument(
        "questions",
        metavar="QUESTIONS.jsonl",
        help='one {"id", "question", "thread"?, "source"?, "answerable"?, "answer"?, "kind"?} per line',
    )
    _add_docs(evaluate)
    _add_concurrency(evaluate, "at a time (8 with a model, else 1)")
    for side in ("in", "out"):
        evaluate.add_argument(
            f"--price-{side}", type=price, metavar="PRICE", help=f"of a million tokens {side}"
        )
    evaluate.add_argument(
        "--out", default="footnote-eval", metavar="DIR", help="where the report's files go (footnote-eval)"
    )
    _add_json(evaluate)


#: What can be typed after ``footnote``: the module and function in ``bots.commands`` that carry it out, what adds
#: its arguments, and its line of help.
COMMANDS: Mapping[str, tuple[str, Callable[[Parser], None], str]] = {
    "chat": ("ask:chat", _define_chat, "talk with your documents in the terminal"),
    "ask": ("ask:ask_questions", _define_ask, "ask one question, or many with --batch"),
    "decide": ("ask:decide_proposal", _define_decide, "allow or decline a proposed web search"),
    "ingest": ("documents:ingest", _define_ingest, "index files, folders and web pages, or update them"),
    "sources": ("sources:list_sources", _add_json, "list what is indexed"),
    "forget": ("documents:forget", _define_forget, "remove a document, folder or page from the index"),
    "questions": ("questions:questions", _define_questions, "list what was asked and how it ended"),
    "gaps": ("questions:gaps", _define_gaps, "group what was not answered by meaning"),
    "access": ("sources:access", _define_access, "list or change who may read which collection"),
    "run": ("run:run", _define_run, "serve the platforms whose tokens are set"),
    "mcp": (
        "mcp:run",
        _define_mcp,
        "answer an assistant over MCP, or make tokens for those that ask over HTTP",
    ),
    "page": ("page:run", _define_page, "serve the operators' page, or print a link to it"),
    "migrate": ("backup:migrate", lambda _: None, "make or migrate every store, as before a deploy"),
    "move": ("backup:move", _define_move, "copy every store into a PostgreSQL, or back into a folder"),
    "backup": ("backup:back_up", _define_archive, "write all that the stores hold into one file"),
    "restore": ("backup:restore", _define_archive, "lay such a file down in empty stores"),
    "doctor": ("describe:doctor", _define_doctor, "check this installation, and say how to repair it"),
    "manifest": ("describe:manifest", _define_manifest, "print what a platform has to know about the bot"),
    "completion": ("describe:completion", _define_completion, "print what lets a shell complete `footnote`"),
    "graph": ("describe:graph", lambda _: None, "how a question is answered, as Mermaid"),
    "eval": ("eval:run", _define_eval, "ask a file of questions, and judge the answers"),
}

#: The doctor looks for faults in the settings itself, completion uses none.
WITHOUT_SETTINGS = ("doctor", "completion")
