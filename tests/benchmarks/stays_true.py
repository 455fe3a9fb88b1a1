"""Thirty days of a repository's real documentation, replayed under answers that were posted before the first of them.

The real command serves a Slack and a Discord at once, without a model. Each day's files are laid down and synced, and on
every other day the process is killed somewhere in between. Whether a quote still stands is told apart by a check of its own.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from datetime import date, timedelta
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Any

from fakes.discord import FakeDiscord
from fakes.served import Served, ingest
from fakes.slack import FakeSlack

from benchmarks import Say
from bots.testing.report import Section, Table
from core.errors import SettingsError

DAYS, ANSWERS, PLANTED = 30, 200, 15
GONE, TOLD = "This may no longer hold", "my answer above may no longer hold"
NEAR = 0.85  # of the letters of two sentences, above which the check takes them for the same in other words
WITHIN = 60.0  # seconds for an answer, and for a look
AT_ONCE = 10  # questions
DAY = 86_400.0  # seconds

WHAT = (
    "Sentences of the documentation, half of them of files that change within the days, are asked for before the first "
    "day, half in Slack and half in Discord, and are answered with quotes. Then the days follow: each is synced by a "
    "command beside the bot, which is killed on every other day. Gone: no file of the day has the letters of a quote, "
    "nor a sentence with the same digits and 85% of its letters in order. Afterwards, sentences that are quoted, "
    "and said nowhere else, are taken out of their files."
)


@dataclass
class ServedBoth(Served):
    """Both platforms in one process."""

    reached_by: dict[str, str] = field(default_factory=dict)
    connected: Any = None

    @property
    def platforms(self) -> dict[str, str]:
        return self.reached_by

    async def until_connected(self) -> None:
        await self.connected()


@dataclass
class Posted:
    """An answer in its thread."""

    question: str
    seen: Callable[[], Sequence[Any]]  #: the messages of its thread
    quotes: tuple[str, ...] = ()
    gone_on: date | None = None  #: the first day on which a quote is gone, as the check has it
    marked_on: date | None = None

    @property
    def shown(self) -> str:
        return "\n".join(each.visible for each in self.seen())

    def lines(self) -> tuple[int, int]:
        """How often its message says so, and whoever asked is told."""
        return self.shown.count(GONE), self.shown.count(TOLD)


def git(repo: str, *arguments: str) -> bytes:
    return subprocess.run(("git", "-C", repo, *arguments), check=True, capture_output=True).stdout


def versions(repo: str, folder: str, last: date, days: int) -> dict[date, str]:
    """The last commit of each day on which the folder changed, and the one before the first."""
    first = last - timedelta(days=days)
    log = git(repo, "log", "--format=%H %cs", f"--until={last}T23:59:59Z", "--", folder).decode().split("\n")
    found: dict[date, str] = {}
    for commit, day in (line.split() for line in log if line):
        on = date.fromisoformat(day)
        if on > first:
            found.setdefault(on, commit)
        else:
            found.setdefault(first, commit)
            break
    return dict(sorted(found.items()))


def lay_down(repo: str, commit: str, folder: str, into: Path) -> dict[str, str]:
    """The Markdown of the folder as it was then, by path; what is the same is not written anew."""
    texts: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as archived:
        packed = git(repo, "archive", commit, folder)
        subprocess.run(("tar", "-x", "-C", archived), input=packed, check=True)
        for file in sorted(Path(archived, folder).rglob("*.md")):
            name = str(file.relative_to(Path(archived, folder)))
            if "release-notes" not in name:
                texts[name] = file.read_text(encoding="utf-8", errors="replace")
    for known in [*into.rglob("*.md")]:
        if str(known.relative_to(into)) not in texts:
            known.unlink()
    for name, text in texts.items():
        file = into / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    return texts


def sentences(text: str) -> Iterator[str]:
    """Whole sentences of prose that stand on lines of their own."""
    prose = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n", prose):
        if re.match(r"[A-Z*`\[]", paragraph) and "|" not in paragraph:
            yield from (
                each
                for each in re.split(r"(?<=[.!?])\s+", paragraph)
                if 60 <= len(each) <= 240 and each[-1] == "."
            )


def letters(text: str) -> str:
    """Letters and digits alone, and no targets of links."""
    return re.sub(r"[\W_]+", "", re.sub(r"\]\([^)]*\)|\{[^}]*\}|<[^>]*>", "", text)).lower()


@dataclass
class Corpus:
    """The files of one day, as the check reads them."""

    texts: Mapping[str, str]
    _letters: str = ""
    _sentences: list[tuple[str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._letters = "\n".join(map(letters, self.texts.values()))
        pieces = (
            each for text in self.texts.values() for each in re.split(r"(?<=[.!?:])\s+|\n\s*\n|\n[-*] ", text)
        )
        self._sentences = [(letters(each), re.findall(r"\d+", each)) for each in pieces if len(each) > 20]

    def has(self, quote: str) -> bool:
        """True if every sentence of a quote stands in a file, or one that is almost it."""
        parts = [
            each for each in re.split(r"(?<=[.!?:])\s+|\n\s*\n|\n[-*] ", quote) if len(letters(each)) > 12
        ]
        return all(self._has(each) for each in parts or [quote])

    def _has(self, sentence: str) -> bool:
        wanted, digits = letters(sentence), re.findall(r"\d+", sentence)
        if wanted in self._letters:
            return True
        matcher = SequenceMatcher(None, "", wanted, autojunk=False)
        for other, its in self._sentences:
            if its == digits and abs(len(other) - len(wanted)) < 0.3 * len(wanted):
                matcher.set_seq1(other)
                if (
                    matcher.real_quick_ratio() > NEAR
                    and matcher.quick_ratio() > NEAR
                    and matcher.ratio() > NEAR
                ):
                    return True
        return False


@dataclass
class Replay:
    """The two platforms, the command that serves them, and the files that it reads."""

    folder: Path
    served: ServedBoth
    slack: FakeSlack
    discord: FakeDiscord
    say: Say
    posted: list[Posted] = field(default_factory=list)

    async def ask(self, questions: Sequence[str]) -> None:
        ann, asker = self.slack.add_user("ann"), self.discord.add_user("ann")
        general, channel = self.slack.add_channel("general", ann), self.discord.add_channel("general")
        for begin in range(0, len(questions), AT_ONCE):
            for number, question in enumerate(questions[begin : begin + AT_ONCE]):
                if number % 2:
                    asked = await self.slack.mention(ann, general, question)
                    self.posted.append(Posted(question, partial(self.slack.replies, general, asked.ts)))
                else:
                    written = await self.discord.mention(asker, channel, question)
                    self.posted.append(Posted(question, partial(self.discord.replies, written)))
            await self._until(lambda: all(map(self._is_answered, self.posted)))

    def _is_answered(self, posted: Posted) -> bool:
        seen = posted.seen()
        return bool(seen) and not any(each.visible.rstrip().endswith("…") for each in seen)

    async def _until(self, is_met: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN):
            while not is_met():  # noqa: ASYNC110 - the state of a platform is what is waited for
                await asyncio.sleep(0.05)

    def read_quotes(self) -> None:
        """Of the stored outcomes; answers without a quote of a document are left out."""
        by_question: dict[str, tuple[str, ...]] = {}
        with closing(sqlite3.connect(self.folder / ".footnote" / "turns.sqlite")) as turns:
            query = (
                "SELECT i.inputs, o.output FROM workflow_status s JOIN workflow_input i USING (workflow_uuid)"
                " JOIN workflow_output o USING (workflow_uuid) WHERE s.name = 'turn'"
            )
            for given, ended in turns.execute(query):
                turn, outcome = json.loads(given)["positionalArgs"][0], json.loads(ended)
                cited = (outcome.get("answer") or {}).get("citations", ())
                by_question[turn["text"]] = tuple(each["quote"] for each in cited)
        for each in self.posted:
            each.quotes = by_question.get(each.question, ())
        self.posted = [each for each in self.posted if each.quotes]

    async def sync(self, *, kill_after: float | None) -> None:
        await asyncio.to_thread(ingest, self.folder, "docs")
        if kill_after is not None:
            await asyncio.sleep(kill_after)
            await self.served.kill()
            await self.served.open()
        await self._until(self._has_looked)
        await self._until(self._is_quiet)

    def _has_looked(self) -> bool:
        """True if every answer that is looked at quotes the documents as they are."""
        home = self.folder / ".footnote"
        with closing(sqlite3.connect(home / "library.sqlite")) as library:
            now = set(library.execute("SELECT address, hash FROM documents"))
        with closing(sqlite3.connect(home / "questions.sqlite")) as log:
            query = "SELECT DISTINCT address, version FROM quoted_documents WHERE lost_at IS NULL AND address <> ''"
            return now.issuperset(log.execute(query))

    def _is_quiet(self) -> bool:
        with closing(sqlite3.connect(self.folder / ".footnote" / "turns.sqlite")) as turns:
            query = "SELECT count(*) FROM workflow_status WHERE status IN ('DELAYED', 'ENQUEUED', 'PENDING')"
            return turns.execute(query).fetchone() == (0,)

    def pass_a_day(self) -> None:
        """As many answers may be marked within an hour again as on another day."""
        with closing(sqlite3.connect(self.folder / ".footnote" / "questions.sqlite", timeout=10)) as log, log:
            log.execute("UPDATE quoted_documents SET lost_at = lost_at - ?", (DAY,))

    def note(self, day: date, corpus: Corpus) -> None:
        for each in self.posted:
            if each.gone_on is None and not all(map(corpus.has, each.quotes)):
                each.gone_on = day
            if each.marked_on is None and each.lines()[0]:
                each.marked_on = day
                if each.gone_on is None:
                    self.say(f"{day}: marked, though the check finds it: {' / '.join(each.quotes)!r}")
            if each.gone_on == day and each.marked_on is None:
                self.say(f"{day}: not marked, though the check misses it: {' / '.join(each.quotes)!r}")


def run(
    say: Say, *, repo: str = "", folder: str = "docs", last: str = "", days: int = DAYS, answers: int = ANSWERS,
    planted: int = PLANTED,
) -> Section:  # fmt: skip
    if not repo:
        raise SettingsError("Name a clone: --repo PATH --folder docs/en/docs --last 2024-08-26.")
    day = date.fromisoformat(last or git(repo, "log", "-1", "--format=%cs").decode().strip())
    return asyncio.run(
        _run(say, repo, folder, commits=versions(repo, folder, day, days), answers=answers, planted=planted)
    )


async def _run(
    say: Say, repo: str, folder: str, *, commits: Mapping[date, str], answers: int, planted: int
) -> Section:
    chance = random.Random(1)
    home = Path(tempfile.mkdtemp())
    docs = home / "docs"
    try:
        (before, first), *following = commits.items()
        texts = lay_down(repo, first, folder, docs)
        changed = git(repo, "diff", "--name-only", first, following[-1][1], "--", folder).decode()
        busy = [each for name in texts if f"{folder}/{name}\n" in changed for each in sentences(texts[name])]
        calm = [each for text in texts.values() for each in sentences(text)]
        chosen = chance.sample(busy, min(answers // 2, len(busy)))
        rest = [each for each in dict.fromkeys(calm) if each not in chosen]
        questions = [*dict.fromkeys(chosen), *chance.sample(rest, min(answers - len(chosen), len(rest)))]
        await asyncio.to_thread(ingest, home, "docs")
        async with AsyncExitStack() as stack:
            slack, discord = (
                await stack.enter_async_context(FakeSlack()),
                await stack.enter_async_context(FakeDiscord()),
            )
            discord.hasten()

            async def connected() -> None:
                await slack.until_connected(2, within=WITHIN)
                await discord.until(lambda: discord.gateway.live, within=WITHIN)

            served = await stack.enter_async_context(
                ServedBoth(
                    folder=home, settings={"QUIET_HOURS": "off", "LOG_LEVEL": "warning"},
                    reached_by={**slack.environment, **discord.environment}, connected=connected,
                )
            )  # fmt: skip
            await served.open()
            replay = Replay(home, served, slack, discord, say)
            await replay.ask(questions)
            await replay._until(replay._is_quiet)
            replay.read_quotes()
            say(f"{len(replay.posted)} of {len(questions)} questions were answered with quotes of {before}.")
            for number, (day, commit) in enumerate(following):
                texts = lay_down(repo, commit, folder, docs)
                await replay.sync(kill_after=chance.uniform(0.0, 6.0) if number % 2 else None)
                await asyncio.to_thread(replay.note, day, Corpus(texts))
                replay.pass_a_day()
                say(f"{day}: {sum(each.marked_on is not None for each in replay.posted)} are marked.")
            replayed = _figures(replay.posted)
            taken = await _plant(replay, docs, texts, chance, planted)
            await served.stop()
    finally:
        shutil.rmtree(home)
    return _section(commits, len(replay.posted), replayed, taken)


async def _plant(
    replay: Replay, docs: Path, texts: Mapping[str, str], chance: random.Random, planted: int
) -> tuple[int, int]:
    """Sentences that are quoted are taken out of their files: how many, and how many of them were noticed."""
    holding = [each for each in replay.posted if each.marked_on is None]
    chance.shuffle(holding)
    left = dict(texts)
    taken: list[Posted] = []
    for each in holding:
        names = [name for name, text in left.items() if each.quotes[0] in text]
        if len(taken) == planted or len(names) != 1:
            continue
        without = left[names[0]].replace(each.quotes[0], "")
        # What is said elsewhere too is not gone.
        if not await asyncio.to_thread(Corpus({**left, names[0]: without}).has, each.quotes[0]):
            left[names[0]] = without
            (docs / names[0]).write_text(left[names[0]], encoding="utf-8")
            taken.append(each)
    await replay.sync(kill_after=None)
    for each in taken:
        if not each.lines()[0]:
            replay.say(f"taken out, and not noticed: {each.quotes[0]!r}")
    return len(taken), sum(bool(each.lines()[0]) for each in taken)


def _figures(posted: Sequence[Posted]) -> dict[str, int]:
    gone = [each for each in posted if each.gone_on is not None]
    marked = [each for each in posted if each.marked_on is not None]
    return {
        "gone": len(gone),
        "noticed within one sync": sum(each.marked_on == each.gone_on for each in gone),
        "noticed later": sum(each.marked_on not in (None, each.gone_on) for each in gone),
        "not noticed": sum(each.marked_on is None for each in gone),
        "marked, though they stand": sum(each.gone_on is None for each in marked),
        "marked or told twice": sum(max(each.lines()) > 1 for each in posted),
        "marked, and nobody told": sum(not each.lines()[1] for each in marked),
    }


def _section(
    commits: Mapping[date, str], answers: int, replayed: Mapping[str, int], taken: tuple[int, int]
) -> Section:
    days, figures = [*commits], dict(replayed)
    figures |= {"taken out afterwards": taken[0], "of these noticed": taken[1]}
    title = f"{answers} answers, {days[0]} to {days[-1]}, {len(days) - 1} days with changes"
    table = Table(title=title, columns=("what", "answers"), rows=tuple(figures.items()))
    return Section(
        name="stays_true", title="Answers that stay true", what=WHAT, tables=(table,),
        figures={name: float(count) for name, count in figures.items()},
    )  # fmt: skip
