"""A model that several processes share, and that sees which of them thinks about what at the same time."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations

from fakes.gemini import Answer, Call, FakeGemini, Step, default_reply

from core.reasoning.instructions import NO_ANSWER

WAKING = 5.0  # seconds that a process which slept may take to notice it
BARELY = 0.1  # seconds by which two thoughts seem to overlap where one has just ended

UNKNOWN = -1  # what the judge of the sentences is asked about, who does not see the question

_NUMBER = re.compile(r"\(no\. (\d+)\)")
_NAME = re.compile(r"[A-Z]\w{3,}")


def numbered(question: str, number: int) -> str:
    return f"{question} (no. {number})"


def _relevant(call: Call) -> str:
    """The sentence of a strip that shares a name with the question, with its footnote."""
    (question,), strips = call.blocks("question"), call.blocks("strip")
    for number, text in enumerate(strips, start=1):
        for sentence in re.split(r"(?<=[.!?])\s", text.partition("\n")[2].strip()):
            if any(name in question for name in _NAME.findall(sentence[1:])):
                return f"{sentence} [{number}]"
    return NO_ANSWER


def _graded(call: Call) -> Answer:
    """A passage that holds a name of the question answers it, and no other does."""
    names = _NAME.findall((call.blocks("question") or [""])[0][1:])
    holds = [any(name in passage for name in names) for passage in call.blocks("passage")]
    verdicts = [
        {"passage": number, "relevance": "correct" if held else "incorrect", "evidence": [1] if held else []}
        for number, held in enumerate(holds, start=1)
    ]
    return {"passages": verdicts, "sufficient": any(holds), "missing": "" if any(holds) else "any of it"}


@dataclass(eq=False)
class Thought:
    """One call about a question."""

    question: int
    process: str
    began: float  #: monotonic seconds
    ended: float = math.inf

    def overlaps(self, other: Thought) -> float:
        """Seconds."""
        return min(self.ended, other.ended) - max(self.began, other.began)


@dataclass(repr=False)
class WatchedModel(FakeGemini):
    """Remembers of each call who asked, about which question, and when; its text would fill the memory."""

    thoughts: list[Thought] = field(default_factory=list)
    taking: float = 0.8  #: seconds of one reply; a question takes three, one after the other
    _open: dict[str, list[Thought]] = field(default_factory=lambda: defaultdict(list))  #: by process
    _sleeps: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.reply = self._think

    async def _think(self, _step: Step, call: Call) -> Answer:
        self.calls.clear()
        found = _NUMBER.search((call.blocks("question") or [""])[0])
        thought = Thought(int(found[1]) if found else UNKNOWN, call.client, call.started)
        if found:
            self.thoughts.append(thought)
        self._open[call.client].append(thought)
        try:
            await asyncio.sleep(self.taking)
            return {"write": _relevant, "grade": _graded}.get(call.step, default_reply)(call)
        finally:
            thought.ended = time.monotonic()
            self._open[call.client].remove(thought)

    def asked_by(self, process: str) -> set[int]:
        """The questions about which it thinks now."""
        return {each.question for each in self._open[process]} - {UNKNOWN}

    def until_again(self, question: int, since: float) -> float:
        """Seconds from a moment until somebody thinks about a question anew; nan if nobody did."""
        again = [each.began for each in self.thoughts if each.question == question and each.began > since]
        return min(again, default=math.nan) - since

    @contextmanager
    def excused(self, process: str) -> Iterator[None]:
        """A process sleeps within the block. What it thinks then, and until it has noticed, comes to nothing."""
        began = time.monotonic()
        self._sleeps[process].append((began, math.inf))
        try:
            yield
        finally:
            self._sleeps[process][-1] = began, time.monotonic() + WAKING

    def side_by_side(self, conversation_of: Callable[[int], str]) -> list[tuple[Thought, Thought]]:
        """Thoughts in one conversation at one time, of two processes or about two questions."""
        by_conversation: dict[str, list[Thought]] = defaultdict(list)
        for thought in self.thoughts:
            by_conversation[conversation_of(thought.question)].append(thought)
        return [pair for thoughts in by_conversation.values() for pair in self._beside(thoughts)]

    def _beside(self, thoughts: Iterable[Thought]) -> Iterator[tuple[Thought, Thought]]:
        for one, other in combinations(thoughts, 2):
            is_same = (one.process, one.question) == (other.process, other.question)
            if not is_same and one.overlaps(other) > BARELY and not (self._slept(one) or self._slept(other)):
                yield one, other

    def _slept(self, thought: Thought) -> bool:
        return any(
            thought.began < woken and thought.ended > began for began, woken in self._sleeps[thought.process]
        )
