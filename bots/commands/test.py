"""``footnote test``: a team's own questions through the real assistant, judged, and compared with the last run."""

from __future__ import annotations

import asyncio
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from bots.arguments import span_of
from bots.chat.channels import open_channel_store
from bots.chat.indexing import Targets, read_targets
from bots.chat.texts import ENGINE_NAMES, counted
from bots.commands.backend import open_backend, reads_for
from bots.mcp.callers import EVERYONE, Caller, reader_named, remembered_people
from bots.record import record_of
from bots.terminal.operations import Backend
from bots.terminal.screen import Screen
from bots.terminal.session import CHANNEL, SPACE, TERMINAL, author
from bots.testing import drafting, junit, last_run, render, report, sections
from bots.testing.asking import Examiner
from bots.testing.cases import CASE_FILES, Case, find_files, read_cases
from bots.testing.judging import Corpus, Judgement, facts_unsaid, judge, said_by, together
from core.answers.answers import open_answers
from core.bootstrap import open_judge, open_library
from core.conversation import Outcome
from core.errors import ModelTrouble, SettingsError
from core.library.readers import base_of
from core.library.roots import is_within
from core.settings import Settings
from core.storage.storage import open_storage
from core.traces.log import open_question_log

#: Questions at a time: a model has to be waited for; without one, parallel answers only slow each other.
WITH_MODEL, WITHOUT_MODEL = 8, 1


async def run(arguments: Namespace, settings: Settings) -> int:
    if arguments.drawn_from is not None:
        return await _draft(arguments, settings)
    screen, targets = Screen(), read_targets(arguments.docs, settings=settings)
    asked = {file: read_cases(file) for file in _files(arguments, targets, settings)}
    concurrency = arguments.concurrency or (WITH_MODEL if settings.has_chat_model else WITHOUT_MODEL)
    async with (
        open_backend(settings, purpose="footnote test", screen=screen, must_match=True) as backend,
        open_judge(settings) as make_judge,
    ):
        await backend.prepare(targets, screen, with_vectors=True)
        corpus, total = _corpus(backend, targets), sum(map(len, asked.values()))

        async def judged(case: Case, outcome: Outcome) -> Judgement:
            if make_judge is None or outcome.answer is None or not case.answer:
                return judge(case, outcome, corpus)
            model, unsaid = make_judge(), None
            with suppress(ModelTrouble):  # then code looks
                unsaid = await facts_unsaid(model, case.answer, said_by(outcome.answer))
            return judge(case, replace(outcome, usage=together(outcome.usage, model.usage)), corpus, unsaid)

        with _progress(screen, total) as on_answer:
            examiner = Examiner(
                assistant=backend.assistant, judge=judged, callers=_callers(asked, arguments.stands_for, backend),
                sources=targets.addresses, runs=arguments.runs if settings.has_chat_model else 1,
                slots=asyncio.Semaphore(concurrency), on_answer=on_answer,
            )  # fmt: skip
            found = {file: await examiner.examine(cases) for file, cases in asked.items()}
        conditions = _conditions(backend, corpus)
    how = "one at a time" if concurrency == 1 else f"up to {concurrency} at a time"
    return _report(found, conditions, how, arguments, settings)


def _files(arguments: Namespace, targets: Targets, settings: Settings) -> tuple[Path, ...]:
    """The files that were named, else those here or beside the documents. SettingsError where there is none."""
    if arguments.files:
        return tuple(dict.fromkeys(map(Path, arguments.files)))
    beside = (path if path.is_dir() else path.parent for path in targets.paths)
    found = find_files((Path.cwd(), *beside))
    if not found and settings.data_dir.exists():
        with closing(open_library(settings)) as library:
            roots = sorted({entry.root for entry in library.store.entries() if "://" not in entry.root})
        found = find_files(Path(root) if Path(root).is_dir() else Path(root).parent for root in roots)
    if not found:
        raise SettingsError(
            f"There is no {CASE_FILES[0]} here or beside the documents; `footnote test --from questions` writes a first one "
            "of what was asked."
        )
    return found


def _callers(asked: Mapping[Path, Sequence[Case]], whom: str | None, backend: Backend) -> dict[str, Caller]:
    """The callers by the ``as`` of the questions. ``whom`` asks those without one; None: the operator."""
    collections = set(map(base_of, backend.library.store.collections()))
    operator = Caller(platform=TERMINAL, space=SPACE, channel=CHANNEL, author=author())
    callers = {"": operator if whom is None else reader_named(whom, author(), collections)}
    for file, cases in asked.items():
        for case in cases:
            try:
                if case.whom not in callers:
                    callers[case.whom] = reader_named(case.whom, author(), collections)
            except SettingsError as fault:
                raise SettingsError(f"{file} cannot be used. Line {case.line}: {fault}") from fault
    return callers


async def _draft(arguments: Namespace, settings: Settings) -> int:
    """Write a first file; the exit code."""
    file, screen, whom = _new_file(arguments.out), Screen(), arguments.stands_for
    async with open_backend(settings, purpose="footnote test", screen=screen) as backend:
        drafts, private = await _drafts(arguments, backend)
    if private:
        screen.note(
            f"{counted(private, 'question')} of channels that are not known to be public left out: `footnote run` asks "
            "their platform while it serves, and --as names one."
        )
    if not drafts:
        screen.note(f"There are no such {arguments.drawn_from} that {whom or 'everybody'} may read.")
        return 1
    command = f"footnote test --from {arguments.drawn_from} --since {span_of(arguments.since)}"
    drafting.write(drafts, file, whom, command)
    screen.note(f"Written to {file}: {counted(len(drafts), 'question')}.")
    return 0


def _new_file(name: str | None) -> Path:
    file = Path(name or CASE_FILES[0])
    if file.exists():
        raise SettingsError(f"{file} is there already: --out names another.")
    return file


async def _drafts(arguments: Namespace, backend: Backend) -> tuple[list[drafting.NewCase], int]:
    """Drafts from questions and kept answers that the reader may see, and how many may not be public."""
    library, settings, since = backend.library, backend.settings, time.time() - arguments.since

    async def publics(channels: Collection[str]) -> frozenset[str]:
        return frozenset((await backend.carry_out("public", {"channels": sorted(channels)}))["public"])

    collections = map(base_of, library.store.collections())
    reader = reader_named(arguments.stands_for or EVERYONE, author(), set(collections))
    with (
        open_storage(settings) as storage,
        open_channel_store(storage) as channels,
        open_question_log(storage, days=settings.trace_days) as log,
        open_answers(storage, library, review_after=settings.review_after) as answers,
    ):
        channels.people.update(remembered_people())
        reads = reads_for(channels, channels.people)
        readable = (await reads(reader.conversation("-"), reader.author, library)).collections
        if arguments.drawn_from == "answers":
            return await drafting.kept(answers, since, readable), 0
        return await drafting.rated_helpful(log, since, reader, readable, publics, store=library.store)


@contextmanager
def _progress(screen: Screen, total: int) -> Iterator[Callable[[], None]]:
    """A line that counts the outcomes while they come in, on a terminal."""
    if not screen.err.is_terminal:
        yield lambda: None
        return
    with screen.err.status(f"Asking {counted(total, 'question')}…", spinner_style="cyan") as status:
        done = count(1)
        yield lambda: status.update(f"{next(done):,} of {counted(total, 'question')}…")


def _corpus(backend: Backend, targets: Targets) -> Corpus:
    """The documents that were searched for the answers."""
    return Corpus.of(
        (entry.source, entry.address)
        for entry in backend.library.store.entries()
        if not targets.addresses or any(is_within(entry.address, target) for target in targets.addresses)
    )


def _conditions(backend: Backend, corpus: Corpus) -> dict[str, str]:
    settings = backend.settings
    models = {"writes": settings.chat_model, "judges": settings.judging_model}
    return {
        "documents": counted(sum(map(len, corpus.files.values())), "document"),
        **(models if settings.has_chat_model else {"writes": "no model: quotes"}),
        "vectors": backend.vectors_of or "words only",
        "policy": settings.policy,
    }


def _report(
    found: Mapping[Path, tuple[Judgement, ...]], conditions: Mapping[str, str], how: str,
    arguments: Namespace, settings: Settings,
) -> int:  # fmt: skip
    """Show, write and keep the results; the exit code."""
    every, made, screen = [each for own in found.values() for each in own], report.now(), Screen()
    measured = [sections.answers(every), sections.costs([each.outcome for each in every], how)]
    figures = {name: figure for section in measured for name, figure in section.figures.items()}
    changed: dict[Path, last_run.Changes | None] = {}
    for file, own in found.items():
        kept, now = last_run.file_for(settings.data_dir, file), last_run.Run.of(own, made, figures)
        before = last_run.load(kept)
        changed[file] = last_run.Changes.between(before, now) if before else None
        last_run.save(now, kept)
    since = [
        sections.since(each, f"{_name(file)} since the last run") for file, each in changed.items() if each
    ]
    whole = report.Report(
        title=f"Answers to {', '.join(map(_name, found))}", made=made, conditions=conditions,
        sections=(*measured, *since, sections.failures(every)),
        questions=tuple(_record(each, file, settings) for file, own in found.items() for each in own),
    )  # fmt: skip
    if arguments.json:
        sys.stdout.write(report.as_json(whole))
    else:
        for file, own in found.items():
            screen.show(render.heading(_name(file), conditions))
            for part in render.layouts(_name(file), own, changed[file]):
                screen.show(part)
        screen.show(render.summary(every, measured[0]))
        screen.note(render.costs(measured[1]))
    for file in _written(whole, found, arguments):
        screen.note(f"Written to {file}")
    bad = ("fails", "failed", "flaky") if arguments.strict else ("fails", "failed")
    return 1 if any(each.verdict in bad for each in every) else 0


def _written(
    whole: report.Report, found: Mapping[Path, tuple[Judgement, ...]], arguments: Namespace
) -> Iterator[Path]:
    if arguments.junit:
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        yield junit.write({_name(file): own for file, own in found.items()}, Path(arguments.junit), moment)
    if arguments.report:
        yield from report.write_report(whole, Path(arguments.report))


def _name(file: Path) -> str:
    """The path of a file from the current folder."""
    whole, here = file.resolve(), Path.cwd()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def _record(judgement: Judgement, file: Path, settings: Settings) -> dict[str, Any]:
    """The record of `footnote ask --json`, with the verdict."""
    case = judgement.case
    return {
        "id": case.id, "file": _name(file), "line": case.line, "tags": list(case.tags), "question": case.question,
        "verdict": judgement.verdict, "expected": list(judgement.broken), "held": judgement.held, "runs": judgement.runs,
        **record_of(judgement.outcome, thread=None, engine=ENGINE_NAMES[settings.web_search]),
    }  # fmt: skip
