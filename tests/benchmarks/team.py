"""A made-up team of 200 people: what its documents hold, and who asks what, when and where, in a week.

The questions are those of SQuAD 2, of CLAPNQ and about the FastAPI documentation; one of eight has no answer anywhere.
A part of the documents that answer the others is withheld, so that there are gaps that somebody could fill.

Which question comes next follows Simon's model of repetition (1955): with a fixed chance it is one that was asked
before, each earlier asking as likely as the other, so that what was asked often is asked oftener; else it is a new
one. It comes back from another person, in other words where the sets have some that were not used yet, else in the
same words; mostly in the channel where it was asked first.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Literal

from benchmarks import evaluation_sets, rewordings
from benchmarks.evaluation_sets import EvaluationSet, LabelledQuestion, lines
from core.conversation import value
from core.library.library import Library

PEOPLE = 200
AGAIN = 0.4  # chance that a question was asked before
ELSEWHERE = 0.1  # chance that one is asked in another channel than before
WITHHELD = 1 / 3  # of the documents that answer
HOPELESS = 1 / 8  # of what is asked: nothing that the sets have answers it
SEED = 7
SETS = ("squad", "clapnq", "fastapi")

DAY, HOUR = 86_400.0, 3_600.0
#: How much is asked on each day, Monday first, and in each hour of it.
DAYS = (20, 22, 21, 19, 16, 1, 1)
HOURS = (0, 0, 0, 0, 0, 0, 1, 3, 8, 12, 13, 11, 6, 8, 12, 12, 9, 6, 3, 2, 1, 1, 0, 0)

FOLDER = "fastapi_docs"
OFF_TOPIC = "random"  # the channel that no set is about

Kind = Literal["new", "reworded", "repeated"]  # "repeated": asked again in the same words


@value
class Subject:
    """What one or several wordings ask for."""

    id: str
    channel: str
    wordings: tuple[str, ...]
    sources: frozenset[str] = frozenset()  #: documents that answer; empty where none does
    spans: tuple[str, ...] = ()  #: one of which a quote must hold; empty: any quote of the document will do
    reference: str = ""  #: the set's answer, which an expert gives; empty where the set has none


@value
class Asked:
    """A question of the week."""

    subject: str  #: its id
    text: str
    kind: Kind
    author: str
    channel: str
    at: float  #: seconds since Monday, midnight


@value
class Team:
    """Documents without those withheld, and the questions of a week in time order."""

    subjects: Mapping[str, Subject]
    documents: tuple[tuple[str, str, tuple[str, ...]], ...]  #: (source, title, paragraphs)
    files: Path | None  #: the folder of the FastAPI documentation
    withheld: frozenset[str]  #: sources
    asked: tuple[Asked, ...]

    def is_answerable(self, subject: str) -> bool:
        """Whether a document of the team answers."""
        return not self.subjects[subject].sources <= self.withheld

    def fill(self, library: Library, scratch: Path) -> None:
        """Index the documents."""
        for source, title, paragraphs in self.documents:
            if source not in self.withheld:
                evaluation_sets.add_paragraphs(library, source, title, paragraphs)
        if self.files is not None:
            folder = scratch / self.files.name
            shutil.copytree(self.files, folder)
            for source in self.withheld:
                (scratch / source).unlink(missing_ok=True)
            library.ingest([folder])
        library.embed_pending()


def team(data: Path, questions: int, subjects: int, *, sets: Sequence[str] = SETS, seed: int = SEED) -> Team:
    """So many questions about so many subjects at most. The same seed makes the same week."""
    dice = Random(seed)
    corpora = {name: read(data) for name, read in CORPORA.items() if name in sets}
    found = [subject for name, corpus in corpora.items() for subject in READERS[name](corpus, data)]
    found += _of_fastapi(data) if "fastapi" in sets else []
    chosen = _chosen(found, subjects, dice)
    sources = sorted({source for subject in found for source in subject.sources})
    return Team(
        subjects={subject.id: subject for subject in chosen},
        documents=tuple(document for corpus in corpora.values() for document in corpus.documents),
        files=data / FOLDER if "fastapi" in sets else None,
        withheld=frozenset(dice.sample(sources, round(WITHHELD * len(sources)))),
        asked=_Week(dice=dice, waiting=chosen).ask(questions),
    )


def _chosen(subjects: Sequence[Subject], count: int, dice: Random) -> list[Subject]:
    """As many of each channel, as far as it has so many, in no order."""
    chosen = []
    for is_answered in (True, False):
        by_channel: dict[str, list[Subject]] = {}
        for subject in subjects:
            if bool(subject.sources) == is_answered:
                by_channel.setdefault(subject.channel, []).append(subject)
        for some in by_channel.values():
            dice.shuffle(some)
        in_turn = [subject for row in zip_longest(*by_channel.values()) for subject in row if subject]
        chosen += in_turn[: round(count * (1 - HOPELESS if is_answered else HOPELESS))]
    dice.shuffle(chosen)
    return chosen


@dataclass(slots=True, kw_only=True)
class _Week:
    """Questions as they come."""

    dice: Random
    waiting: list[Subject]  #: not asked yet
    asked: list[Asked] = field(default_factory=list)
    unused: dict[str, list[str]] = field(default_factory=dict)  #: wordings, by subject

    def ask(self, questions: int) -> tuple[Asked, ...]:
        channels = sorted({OFF_TOPIC, *(subject.channel for subject in self.waiting)})
        subjects = {subject.id: subject for subject in self.waiting}
        times = sorted(_moment(self.dice) for _ in range(questions))
        for at in times:
            if self.asked and (self.dice.random() < AGAIN or not self.waiting):
                before = self.dice.choice(self.asked)
                others = [name for name in channels if name != subjects[before.subject].channel]
                is_elsewhere = self.dice.random() < ELSEWHERE
                channel = self.dice.choice(others) if is_elsewhere else subjects[before.subject].channel
                self._add(before.subject, channel, at, author_before=before.author, text=before.text)
            else:
                new = self.waiting.pop()
                self.unused[new.id] = list(new.wordings)
                self._add(new.id, new.channel, at)
        return tuple(self.asked)

    def _add(self, subject: str, channel: str, at: float, *, author_before: str = "", text: str = "") -> None:
        unused = self.unused[subject]
        kind: Kind = ("reworded" if unused else "repeated") if text else "new"
        people = [each for each in map(str, range(PEOPLE)) if each != author_before]
        self.asked.append(
            Asked(
                subject=subject, text=unused.pop(0) if unused else text, kind=kind,
                author=f"U{self.dice.choice(people)}", channel=channel, at=at,
            )
        )  # fmt: skip


def _moment(dice: Random) -> float:
    day = dice.choices(range(len(DAYS)), DAYS)[0]
    hour = dice.choices(range(len(HOURS)), HOURS)[0]
    return day * DAY + hour * HOUR + dice.random() * HOUR


# Sets


def _of_squad(corpus: EvaluationSet, data: Path) -> list[Subject]:
    """The channel is the article. An impossible question is one that nobody can answer."""
    first = {each["question"]: each["answers"][:1] for each in lines(data / "squad2/questions.jsonl")}
    groups = {text: group for group in rewordings.labels()["squad2"] for text in group}
    subjects: dict[str, Subject] = {}
    for each in (*corpus.questions, *corpus.near):
        text = each.question.strip()
        key = groups[text][0] if text in groups else each.id
        known = subjects.get(key)
        wordings = (*known.wordings, text) if known else (text,)
        reference = known.reference if known else next(iter(first[each.question]), "")
        subjects[key] = replace(_subject(each, each.group.rpartition("/")[2], reference), wordings=wordings)
    return list(subjects.values())


def _of_clapnq(corpus: EvaluationSet, data: Path) -> list[Subject]:
    written = {each["id"]: each["output"][0]["answer"] for each in lines(data / "clapnq/answerable.jsonl")}
    return [
        _subject(each, "general", written.get(each.id, "") if each.gold else "")
        for each in (*corpus.questions, *corpus.near)
    ]


def _subject(asked: LabelledQuestion, channel: str, reference: str) -> Subject:
    return Subject(
        id=asked.id, channel=channel, wordings=(asked.question.strip(),), spans=asked.answers,
        sources=frozenset(source for source, _ in asked.gold), reference=reference,
    )  # fmt: skip


def _of_fastapi(data: Path) -> list[Subject]:
    """Questions that ask for the same are one subject."""
    asked = rewordings.documented(data)
    groups = [*rewordings.labels()["same"]]
    grouped = {each for group in groups for each in group}
    groups += [[each] for each in asked if each not in grouped]
    return [
        Subject(
            id=group[0], channel="fastapi", wordings=tuple(dict.fromkeys(asked[each].text for each in group)),
            sources=frozenset(f"{FOLDER}/{source}" for each in group for source in asked[each].sources),
            reference=next((asked[each].reference for each in group if asked[each].reference), ""),
        )
        for group in groups
    ]  # fmt: skip


CORPORA: Mapping[str, Callable[[Path], EvaluationSet]] = {
    "squad": evaluation_sets.squad,
    "clapnq": evaluation_sets.clapnq,
}
READERS: Mapping[str, Callable[[EvaluationSet, Path], list[Subject]]] = {
    "squad": _of_squad,
    "clapnq": _of_clapnq,
}
