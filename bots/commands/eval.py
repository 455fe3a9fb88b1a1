"""``footnote eval``: a team's own questions through the real assistant, judged, and compared with the last run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from bots.chat.indexing import Targets, read_targets
from bots.chat.texts import ENGINE_NAMES, counted
from bots.commands.backend import open_backend
from bots.eval import outcomes
from bots.eval.questions import Corpus, EvalQuestion, Judgement, ask_all, judge, read_questions
from bots.eval.report import Report, now, print_report, write_report
from bots.record import record_of
from bots.terminal.receive import Backend
from bots.terminal.screen import Screen
from core.library.roots import is_within
from core.reasoning.limits import Price
from core.settings import Settings

#: Questions at a time: a model has to be waited for; without one, parallel answers only slow each other.
WITH_MODEL, WITHOUT_MODEL = 8, 1


async def run(arguments: Namespace, settings: Settings) -> int:
    file, screen = Path(arguments.questions), Screen()
    questions, targets = read_questions(file), read_targets(arguments.docs, settings=settings)
    concurrency = arguments.concurrency or (WITH_MODEL if settings.has_chat_model else WITHOUT_MODEL)
    async with open_backend(settings, purpose="footnote eval", screen=screen, must_match=True) as backend:
        await backend.prepare(targets, screen, with_vectors=True)
        with _progress(screen, len(questions)) as on_answer:
            ended = await ask_all(
                questions, backend.assistant,
                sources=targets.addresses, concurrency=concurrency, on_answer=on_answer,
            )  # fmt: skip
        corpus = _corpus(backend, targets)
        conditions = {"questions": str(file), **_conditions(backend, corpus)}
    judgements = [judge(each, outcome, corpus) for each, outcome in zip(questions, ended, strict=True)]
    price = None
    if (arguments.price_in, arguments.price_out) != (None, None):  # one that is not named costs nothing
        price = Price(arguments.price_in or 0.0, arguments.price_out or 0.0)
    sections = [
        outcomes.answers(judgements, note=_missing_files(questions, corpus)),
        outcomes.confidence(judgements),
        outcomes.costs(ended, price, concurrency),
    ]
    measured, made = [each for each in sections if each], now()
    last_run = outcomes.file_for(settings.data_dir, file)
    this_run = outcomes.EvalRun.of(judgements, measured, made, conditions)
    if before := outcomes.load(last_run):
        texts = {each.id: each.question for each in questions}
        measured.append(outcomes.changes(before, this_run, texts))
    report = Report(
        title=f"Answers to {file.name}", made=made, conditions=conditions,
        sections=(*measured, outcomes.worst_cases(judgements)),
        questions=tuple(_record(each, settings) for each in judgements),
    )  # fmt: skip
    files = write_report(report, Path(arguments.out))
    outcomes.save(this_run, last_run)
    print_report(report, files, screen, as_object=arguments.json)
    return 0


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
        if not targets.addresses or any(is_within(entry.address, place) for place in targets.addresses)
    )


def _conditions(backend: Backend, corpus: Corpus) -> dict[str, str]:
    settings = backend.settings
    models = {"writes": settings.chat_model, "judges": settings.judging_model}
    return {
        "documents": counted(sum(map(len, corpus.files.values())), "document"),
        **(models if settings.has_chat_model else {"writes": "no model: quotes"}),
        "vectors": backend.vectors_of or "none: words only",
        "policy": settings.policy,
    }


def _missing_files(questions: Sequence[EvalQuestion], corpus: Corpus) -> str:
    """A note about files that the questions name but the corpus does not have."""
    named = "; ".join(
        f"line {each.line} names {name}"
        for each in questions
        for name in each.sources
        if not corpus.sources_named(name)
    )
    return f"These files are not among the documents: {named}." if named else ""


def _record(judgement: Judgement, settings: Settings) -> dict[str, Any]:
    """The record of `footnote ask --json`, with the verdict."""
    question = judgement.question
    return {
        "id": question.id,
        "line": question.line,
        "kind": outcomes.kind_of(question),
        "question": question.question,
        "verdict": judgement.verdict,
        "right_source": judgement.right_source,
        "words_found": list(judgement.words_found),
        "gold_quoted": judgement.gold_quoted,
        "verbatim": list(judgement.verbatim),
        **record_of(judgement.outcome, thread=None, engine=ENGINE_NAMES[settings.web_search]),
    }
