"""Who is answered in a thread: messages without a mention that are for the bot, and talk among people.

In each thread the bot has answered one question from a handbook. A message is judged as it would be in a channel:
by its words, then by what the documents say. The rules were made with one part of the messages, ``tuning``, in view. The
other part, ``heldout``, was written and judged when they were done: of 144 messages of talk 5 were answered, all of
them the asker's own (“why is the build so slow”, “…, right?”), for which there are two more rules since.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import EVALUATION, Say
from benchmarks.evaluation_sets import lines
from bots.chat.incoming import Follow, ThreadState
from bots.testing.report import Section, Table
from core.bootstrap import Footnote, make_embedder, open_footnote, reads_everything
from core.conversation import Conversation, Question, value
from core.graph.context import Deps
from core.reasoning.reasoner import Reasoner
from core.settings import Settings

SET = EVALUATION / "manners"
LANGUAGES = ("en", "de", "fr", "es")
HALVES = ("tuning", "heldout")

Judge = Callable[[Reasoner, "Message"], Reasoner]  # the reasoner that considers a message


@value
class Message:
    """A message in a thread that began with a question to the bot."""

    half: str
    language: str
    question: str  #: the first of the thread
    author: str  #: "asker" or "other"
    follow: Follow  #: what the channel chose
    message: str
    answered: bool  #: whether the bot is meant


@value
class Verdict:
    """What became of a message."""

    message: Message
    is_answered: bool
    confidence: float = 0.0

    @property
    def is_right(self) -> bool:
        return self.is_answered == self.message.answered


def run(say: Say, *, model: str = "none") -> Section:
    """``model`` is the folder of the embedding network; “none”: words alone."""
    verdicts = asyncio.run(verdicts_on(read_messages(), model, say))
    return section_of(verdicts, "quotes alone" if model == "none" else "quotes, with vectors")


def read_messages() -> tuple[Message, ...]:
    return tuple(Message(**row) for row in lines(SET / "messages.jsonl"))


def section_of(verdicts: Sequence[Verdict], title: str) -> Section:
    rows = tuple((half, *figures_of(verdicts, half).values()) for half in HALVES)
    wrong = tuple(
        (each.message.half, each.message.language, each.message.author, "not answered" if each.message.answered else "answered", each.message.message)
        for each in verdicts
        if not each.is_right
    )  # fmt: skip
    return Section(
        name="manners",
        title="Manners in threads",
        what="Messages without a mention: follow-ups that were answered, and talk that was.",
        tables=(
            Table(title=title, columns=("half", *figures_of(verdicts, "tuning")), rows=rows),
            Table(title="Wrong", columns=("half", "language", "author", "was", "message"), rows=wrong),
        ),
        figures={
            f"{what}, {half}": figure
            for half in HALVES
            for what, figure in figures_of(verdicts, half).items()
        },
    )


def figures_of(verdicts: Sequence[Verdict], half: str) -> dict[str, float]:
    counts = Counter(
        (each.message.answered, each.is_answered) for each in verdicts if each.message.half == half
    )
    meant, talk = counts[True, True] + counts[True, False], counts[False, True] + counts[False, False]
    return {
        "follow-ups": meant,
        "answered": counts[True, True] / max(meant, 1),
        "talk": talk,
        "wrongly answered": counts[False, True] / max(talk, 1),
    }


async def verdicts_on(
    messages: Sequence[Message], model: str = "none", say: Say = lambda _: None, judge: Judge | None = None
) -> list[Verdict]:
    """With ``judge``, the reasoner that it returns considers what nobody addressed to the bot."""
    verdicts: list[Verdict] = []
    for language in LANGUAGES:
        say(f"reading the handbook in {language}")
        async with handbook(language, model) as footnote:
            told = [each for each in messages if each.language == language]
            verdicts += [await _verdict(footnote, message, judge) for message in told]
    return verdicts


@asynccontextmanager
async def handbook(language: str, model: str) -> AsyncIterator[Footnote]:
    with TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), embedding_model=model, web_search="off")
        embedder = make_embedder(settings, announce=lambda _: None, progress=lambda _done, _all: None)
        async with open_footnote(
            settings, purpose="a benchmark", reads=reads_everything, embedder=embedder
        ) as footnote:
            footnote.library.ingest([SET / f"handbook_{language}.md"])
            footnote.library.embed_pending()
            yield footnote


async def _verdict(footnote: Footnote, message: Message, judge: Judge | None) -> Verdict:
    state = ThreadState(follow=message.follow, knows_thread=True, asker="asker")
    follow_up = state.follow_up(message.author, message.message, 1.0)
    if follow_up != "unaddressed":
        return Verdict(message=message, is_answered=follow_up is not None)
    assistant = footnote.assistant
    await assistant.run(_question(message, message.question))  # which ended already where the thread is known
    if judge is not None:
        assistant = replace(assistant, make_deps=_judging(assistant.make_deps, message, judge))
    turn = replace(_question(message, message.message), author=message.author, is_addressed=False)
    outcome = await assistant.run(turn)
    if outcome.is_shown:  # else the thread stays as it was
        await assistant.checkpoints.forget(turn.conversation.id)
    return Verdict(message=message, is_answered=outcome.is_shown, confidence=outcome.confidence)


def _judging(
    make_deps: Callable[..., Awaitable[Deps]], message: Message, judge: Judge
) -> Callable[..., Awaitable[Deps]]:
    async def make(turn: object, report: object) -> Deps:
        deps = await make_deps(turn, report)
        return replace(deps, reasoner=judge(deps.reasoner, message))

    return make


def _question(message: Message, text: str) -> Question:
    conversation = Conversation(platform="test", space="s", channel="c", thread=message.question)
    return Question(
        id=f"{message.question} {text}", conversation=conversation, author="asker", text=text, asked_at=1.0
    )
