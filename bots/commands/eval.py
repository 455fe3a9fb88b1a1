"""``footnote eval``: one's own questions through the real assistant, judged, and beside the last run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bots import process
from bots.chat.texts import ENGINE_NAMES, counted
from bots.commands.preparing import prepare
from bots.eval.answers import Judged, judge
from bots.eval.asking import outcomes_of
from bots.eval.costs import Prices, costs
from bots.eval.history import Run, changes, keep, place_of, recall, run_of
from bots.eval.outcomes import kind_of, outcomes, worst
from bots.eval.questions import Expected, read_questions
from bots.eval.reliability import reliability
from bots.eval.report import now, tell, write_report
from bots.eval.sections import Report, Section
from bots.eval.shelf import Shelf, shelf_of
from bots.indexing import Targets, read_targets
from bots.record import record_of
from bots.terminal.screen import Screen
from core.bootstrap import Footnote, open_footnote, reads_everything
from core.library.roots import is_within
from core.settings import Settings

#: Questions at a time: a model is waited for, while answers without one share the processor and slow each other.
WITH_A_MODEL, WITHOUT = 8, 1


def run(arguments: Namespace, settings: Settings) -> int:
    return process.run(_evaluate(arguments, settings))


async def _evaluate(arguments: Namespace, settings: Settings) -> int:
    file, screen = Path(arguments.questions), Screen()
    questions, targets = read_questions(file), read_targets(arguments.docs)
    async with open_footnote(settings, purpose="footnote eval", reads=reads_everything) as footnote:
        await prepare(footnote, targets, screen)
        concurrency = arguments.concurrency or (WITH_A_MODEL if settings.has_chat_model else WITHOUT)
        with _counting(screen, len(questions)) as on_done:
            ended = await outcomes_of(
                questions, footnote.assistant,
                sources=targets.addresses, concurrency=concurrency, on_done=on_done,
            )  # fmt: skip
        shelf = _shelf(footnote, targets)
        conditions = {"questions": str(file), **_conditions(footnote, shelf)}
    judged = [judge(each, outcome, shelf) for each, outcome in zip(questions, ended, strict=True)]
    sections = (
        outcomes(judged, limits=_not_there(questions, shelf)),
        reliability(judged),
        costs(ended, Prices(tokens_in=arguments.price_in, tokens_out=arguments.price_out), concurrency),
    )
    place, measured, made = place_of(settings.data_dir, file), tuple(filter(None, sections)), now()
    this = run_of(judged, measured, made, conditions)
    report = Report(
        title=f"Answers to {file.name}",
        made=made,
        conditions=conditions,
        sections=(*measured, *_compared(recall(place), this, judged), worst(judged)),
        records=tuple(_record(each, settings) for each in judged),
    )
    write_report(report, Path(arguments.out))
    keep(this, place)
    tell(report, Path(arguments.out), screen, as_object=arguments.json)
    return 0


@contextmanager
def _counting(screen: Screen, of: int) -> Iterator[Callable[[int], None]]:
    """One line that counts the questions, on a terminal; then it goes away."""
    if not screen.aside.is_terminal:
        yield lambda _done: None
        return
    with screen.aside.status(f"Asking {counted(of, 'question')}…", spinner_style="cyan") as status:
        yield lambda done: status.update(f"{done:,} of {counted(of, 'question')}…")


def _shelf(footnote: Footnote, targets: Targets) -> Shelf:
    """What the questions were asked over."""
    places = targets.addresses
    return shelf_of(
        (entry.source, entry.address)
        for entry in footnote.library.entries()
        if not places or any(is_within(entry.address, place) for place in places)
    )


def _conditions(footnote: Footnote, shelf: Shelf) -> dict[str, str]:
    settings, embedder = footnote.settings, footnote.library.embedder
    models = {"writes": settings.chat_model, "judges": settings.judging_model}
    return {
        "documents": counted(sum(map(len, shelf.files.values())), "document"),
        **(models if settings.has_chat_model else {"writes": "no model: quotes"}),
        "vectors": embedder.name if embedder else "none: words alone",
        "policy": settings.policy,
    }


def _not_there(questions: Sequence[Expected], shelf: Shelf) -> str:
    """Files that the questions name and the documents lack: no answer can be right by them."""
    lacking = (
        f"line {each.line} names {name}"
        for each in questions
        for name in each.sources
        if not shelf.meant_by(name)
    )
    named = "; ".join(lacking)
    return f"These files are not among the documents: {named}." if named else ""


def _compared(before: Run | None, this: Run, judged: Sequence[Judged]) -> tuple[Section, ...]:
    texts = {each.expected.id: each.expected.question for each in judged}
    return (changes(before, this, texts),) if before else ()


def _record(judged: Judged, settings: Settings) -> dict[str, Any]:
    """What `footnote ask --json` prints, with what is to be thought of it."""
    engine = ENGINE_NAMES[settings.web_search]
    return {
        "id": judged.expected.id,
        "line": judged.expected.line,
        "kind": kind_of(judged.expected),
        "question": judged.expected.question,
        "verdict": judged.verdict,
        "right_source": judged.right_source,
        "words_found": list(judged.words_found),
        "gold_quoted": judged.gold_quoted,
        "verbatim": list(judged.verbatim),
        **record_of(judged.outcome, thread=None, engine=engine),
    }
