"""Groups of questions that were not answered, as somebody reads them: a name, counts, what is near, what is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import log as logarithm
from typing import TYPE_CHECKING

import numpy as np

from core.conversation import value
from core.gaps.questions import CloseDocument, GapQuestion, TimeSpan
from core.gaps.store import GapMark, GapState
from core.text.terms import query_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMED_BY = 3  # words that tell a group from others
CLOSEST = 3  # documents of a group
MISSING = 3  # sentences about what is missing

_WORD = re.compile(r"\w[\w'’.-]*\w|\w")


@value
class GapGroup:
    """Questions of a span that mean much the same."""

    name: str  #: the question nearest to all others
    words: tuple[str, ...]  #: that tell it from the other groups
    questions: tuple[GapQuestion, ...]  #: newest first
    people: int
    before: int  #: questions of the same kind in the span before
    closest: tuple[CloseDocument, ...]  #: found most often
    missing: tuple[str, ...]  #: as judges and people said it, most often said first
    languages: tuple[str, ...]  #: most frequent first
    reasons: Mapping[str, int]
    mark: GapMark | None = None  #: what was last decided about it; None: nothing
    marks: Mapping[str, GapMark] = field(default_factory=dict)  #: the decisions about its questions, by turn

    @property
    def id(self) -> str:
        """The turn of its oldest question, so that it stays while the group grows."""
        return self.questions[-1].turn

    @property
    def state(self) -> GapState | None:
        return self.mark.state if self.mark else None

    @property
    def since_state(self) -> int:
        """How many of its questions no decision is about."""
        return len(self.undecided) if self.mark else 0

    @property
    def undecided(self) -> tuple[GapQuestion, ...]:
        return tuple(each for each in self.questions if each.turn not in self.marks)

    @property
    def is_open(self) -> bool:
        """Whether something is left to decide. A subject that was ignored stays so when it is asked about later; what was
        asked before that, and not shown to who ignored it, does not.
        """
        if self.mark is None or self.mark.state == "asked":
            return True
        is_ignored, decided_at = self.mark.state == "ignored", self.mark.set_at
        return any(not is_ignored or each.asked_at <= decided_at for each in self.undecided)

    @property
    def count(self) -> int:
        return len(self.questions)

    @property
    def turns(self) -> tuple[str, ...]:
        return tuple(question.turn for question in self.questions)


def make_groups(
    questions: Sequence[GapQuestion],
    labels: NDArray[np.int64],
    likeness: NDArray[np.float32],
    span: TimeSpan,
    marks: Mapping[str, GapMark],
) -> tuple[GapGroup, ...]:
    """The groups with a question of this span, those with most questions first.

    ``questions``: of this span and the one before, with the group of each and how alike each two are.
    """
    held = [frozenset(query_terms(each.text, each.language)) for each in questions]
    counts = Counter(term for terms in held for term in terms)
    groups = []
    for label in range(int(labels.max(initial=-1)) + 1):
        members = [int(at) for at in np.flatnonzero(labels == label)]
        now = [at for at in members if questions[at].asked_at >= span.since]
        if now:
            central = max(now, key=lambda at: (float(likeness[at, members].sum()), questions[at].turn))
            shared = Counter(term for at in members for term in held[at])
            group = _group([questions[at] for at in now], questions[central].text, len(members) - len(now))
            words = _telling_words([questions[at] for at in members], shared, counts, len(questions))
            every = [questions[at] for at in members]
            groups.append(_with_state(group, words, every, marks))
    return tuple(sorted(groups, key=lambda group: (-group.count, -group.questions[0].asked_at, group.id)))


def _group(questions: Sequence[GapQuestion], name: str, before: int) -> GapGroup:
    newest = sorted(questions, key=lambda each: (-each.asked_at, each.turn))
    documents = Counter(document for each in newest for document in each.closest)
    missing = Counter(said for each in newest for said in (each.missing, each.fault) if said)
    return GapGroup(
        name=name,
        words=(),
        questions=tuple(newest),
        people=len({each.author for each in newest}),
        before=before,
        closest=tuple(document for document, _ in documents.most_common(CLOSEST)),
        missing=tuple(said for said, _ in missing.most_common(MISSING)),
        languages=tuple(name for name, _ in Counter(each.language for each in newest).most_common()),
        reasons=dict(Counter(each.reason for each in newest).most_common()),
    )


def _telling_words(
    members: Sequence[GapQuestion], shared: Mapping[str, int], counts: Mapping[str, int], total: int
) -> tuple[str, ...]:
    """The words, as they are mostly written, that many members have and few other questions."""
    worth = {term: count * logarithm((1 + total) / counts[term]) for term, count in shared.items()}
    best = sorted(worth, key=lambda term: (-worth[term], term))[:NAMED_BY]
    written: dict[str, Counter[str]] = {term: Counter() for term in best}
    for each in members:
        for word in _WORD.findall(each.text):
            for term in query_terms(word, each.language):
                if term in written:
                    written[term][word] += 1
    return tuple(
        dict.fromkeys(max(forms, key=lambda w: (forms[w], w)) for forms in written.values() if forms)
    )


def _with_state(
    group: GapGroup, words: tuple[str, ...], members: Sequence[GapQuestion], marks: Mapping[str, GapMark]
) -> GapGroup:
    own = {turn: marks[turn] for turn in group.turns if turn in marks}
    return replace(group, words=words, mark=state_of(members, marks), marks=own)


def state_of(members: Sequence[GapQuestion], marks: Mapping[str, GapMark]) -> GapMark | None:
    """What was last decided about questions of a group, however it has grown since.

    It holds if it was decided about at least half of those members that had been asked by then: a small group
    that was ignored does not hide a large one that it now belongs to.
    """
    decided = [marks[each.turn] for each in members if each.turn in marks]
    if not decided:
        return None
    last = max(decided, key=lambda mark: mark.set_at)
    by_then = [each for each in members if each.asked_at <= last.set_at]
    return last if 2 * len(decided) >= len(by_then) else None
