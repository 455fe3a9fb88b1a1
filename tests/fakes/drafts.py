"""A model that writes the drafts of the labelled set, and judges by their labels.

It plans and grades kindly, writes the item's draft under the strip numbers of the prompt at hand, and finds
the planted sentences unsupported.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.draft_labels import Excerpt, Item, Which, grams
from fakes.gemini import Call

from core.conversation import value

QUOTED = ("strip", "passage", "source")  # kinds of blocks that hold pieces of documents
JUDGED = ("sentence", "claim", "statement")  # kinds of blocks that hold pieces of the draft

_BLOCK = re.compile(r"<<(\w{6,}) ([a-z]+) (\w+)[^>\n]*>>\n(.*?)\n<<\1 end>>", re.DOTALL)
_FROM = re.compile(r"\Afrom: .*\n")
_NUMBERED = re.compile(r"(?m)^\((\d+)\) ")  # a sentence of a passage, as the grader sees it
_LINE = re.compile(r"(?m)^\((\d+)\) (.*)$")
_EMPTY = {"string": "", "array": [], "boolean": False, "integer": 0, "number": 0.0, "object": {}}


def files_of(item: Item) -> dict[str, str]:
    """The passages as small documents, by name."""
    return {f"p{p.n}.md": f"# {p.title} (p{p.n})\n\n{_below_headings(p)}\n" for p in item.passages}


def _below_headings(excerpt: Excerpt) -> str:
    if re.match(r"\s*#", excerpt.text):
        return excerpt.text
    title = " ".join(excerpt.title.split())
    above = [heading for heading in dict.fromkeys(excerpt.path) if " ".join(heading.split()) != title]
    lines = [f"{'#' * min(level, 6)} {heading}" for level, heading in enumerate(above[-2:], start=2)]
    return "\n\n".join([*lines, excerpt.text])


@value
class PromptBlock:
    """A quoted part of a prompt."""

    kind: str
    name: str  #: its number, perhaps with letters before it
    text: str

    @property
    def number(self) -> int:
        return int(re.findall(r"\d+", self.name)[-1])


def blocks_of(prompt: str, kinds: Sequence[str]) -> list[PromptBlock]:
    found = (
        PromptBlock(kind=k, name=name, text=_FROM.sub("", text))
        for _, k, name, text in _BLOCK.findall(prompt)
    )
    return [block for block in found if block.kind in kinds]


@dataclass(slots=True)
class DraftModel:
    """What the model says about one item; ``error`` is how often its verdict on a sentence is wrong."""

    item: Item
    which: Which = "good"
    error: float = 0.0
    unmatched: list[str] = field(default_factory=list)  #: judged sentences that are none of the draft's
    _ballots: Counter[str] = field(default_factory=Counter)

    def reply(self, step: str, call: Call) -> dict[str, Any] | str:
        if step == "write":
            strips = {strip.name: strip.text for strip in blocks_of(call.prompt, QUOTED)}
            return self.item.written_from(strips, self.which)
        said: dict[str, Any] = {"useful": True}
        if step == "plan":
            question = self.item.question
            said = {"route": "documents", "standalone": question, "web_query": question}
        if step == "grade":
            said = self._grades(blocks_of(call.prompt, QUOTED))
        if step == "grounding":
            judged = blocks_of(call.prompt, JUDGED)
            said = {"unsupported": [block.number for block in judged if self.rejects(block.text)]}
            if "stated" in call.schema["properties"]:
                said["stated"] = [*self._stated(judged, blocks_of(call.prompt, QUOTED))]
        if step == "confirm":
            said = {
                "unstated": [one.number for one in blocks_of(call.prompt, JUDGED) if self.rejects(one.text)]
            }
        return _filled(call.schema) | said

    def _grades(self, passages: Iterable[PromptBlock]) -> dict[str, Any]:
        used, verdicts = self.item.cited(), []
        for block in passages:
            is_used = self.item.passage_of(block.text) in used
            evidence = [int(n) for n in _NUMBERED.findall(block.text)] if is_used else []
            relevance = "correct" if is_used else "incorrect"
            verdicts.append({"passage": block.number, "relevance": relevance, "evidence": evidence})
        return {"passages": verdicts, "sufficient": True}

    def _stated(self, sentences: Sequence[PromptBlock], strips: Sequence[PromptBlock]) -> Iterator[list[int]]:
        """Sentence, strip and the line that shows the sentence, as labelled, or where it errs another one."""
        for strip in strips:
            passage, lines = self.item.passage_of(strip.text), dict(_LINE.findall(strip.text))
            for sentence in sentences:
                labelled = self.item.sentence_of(sentence.text)
                parts = (
                    [passage.text[a:b] for n, a, b in labelled.shown_by if n == passage.n] if labelled else []
                )
                if parts and lines:
                    right = max(lines, key=lambda number: len(grams(lines[number]) & grams(parts[0])))
                    lot = random.Random(f"{self.item.id} {sentence.text} {strip.name} line")
                    wrong = lot.choice([*lines])
                    yield [sentence.number, strip.number, int(wrong if lot.random() < self.error else right)]

    def rejects(self, sentence: str) -> bool:
        """The verdict on a sentence; whether it is wrong falls by lot, anew each time it is asked."""
        is_false = self.item.is_false(sentence, self.which)
        if is_false is None:
            self.unmatched.append(sentence)
        self._ballots[sentence] += 1
        lot = f"{self.item.id} {self.which} {sentence} {self._ballots[sentence]}"
        return bool(is_false) != (random.Random(lot).random() < self.error)


def _filled(schema: dict[str, Any]) -> dict[str, Any]:
    """A value for every field of the reply's schema, whatever it is called."""
    fields: dict[str, dict[str, Any]] = schema.get("properties", {})
    return {
        name: (given.get("enum") or [_EMPTY.get(str(given.get("type")).lower())])[0]
        for name, given in fields.items()
    }
