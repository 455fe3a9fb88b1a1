"""Labelled drafts of language models, and a model that writes one of them.

A line of the set is a question, passages of real documents, the answer that a language model wrote from
them, and the same answer with planted falsehoods; every sentence is labelled. :class:`DraftModel` sits in
the model's place for one item: it plans and grades kindly, writes the draft under the strip numbers of the
prompt at hand, and judges by the labels.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from core.values import value
from tests.fakes.gemini import Call

Which = Literal["good", "bad"]
STRIPS = 3  # that stand for one passage in a footnote, at most
GRAM = 4  # characters; what two texts share of them says whether one comes from the other
QUOTED = ("strip", "passage", "source")  # kinds of blocks that hold pieces of documents
JUDGED = ("sentence", "claim", "statement")  # kinds of blocks that hold pieces of the draft
MARKS = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")

_BLOCK = re.compile(r"<<(\w{6,}) ([a-z]+) (\w+)[^>\n]*>>\n(.*?)\n<<\1 end>>", re.DOTALL)
_FROM = re.compile(r"\Afrom: .*\n")
_NUMBERED = re.compile(r"(?m)^\((\d+)\) ")  # a sentence of a passage, as the grader sees it
_SENTENCE_END = re.compile(r"(?<=[.!?。！？:])\s|\n")
_EMPTY = {"string": "", "array": [], "boolean": False, "integer": 0, "number": 0.0, "object": {}}


@value
class Excerpt:
    """A passage of a document, as the draft's writer had it."""

    n: int  #: what the draft's ``[n]`` names
    title: str
    path: tuple[str, ...]  #: headings
    text: str


@value
class Sentence:
    text: str  #: without marks
    supported: bool  #: False: it claims nothing (a greeting, a lead-in, what the documents don't say)
    cites: tuple[int, ...] = ()


@value
class Planted:
    text: str
    fault: str


@value
class Item:
    """One question with its passages and its two drafts."""

    id: str
    language: str
    style: str
    question: str
    passages: tuple[Excerpt, ...]
    sentences: tuple[Sentence, ...]
    drafts: tuple[str, str]  #: the good one, and the one with falsehoods
    planted: tuple[Planted, ...]

    def draft(self, which: Which) -> str:
        return self.drafts[which == "bad"]

    def falsehoods(self, which: Which) -> tuple[Planted, ...]:
        return self.planted if which == "bad" else ()

    def good(self, which: Which) -> list[str]:
        """The supported sentences of the draft, each as its letters and digits."""
        texts = [plain(s.text) for s in self.sentences if s.supported and plain(s.text)]
        false = [plain(p.text) for p in self.falsehoods(which)]
        whole = plain(self.draft(which))
        return [
            t for t in texts if which == "good" or (t in whole and not any(t in f or f in t for f in false))
        ]

    def untrue(self, which: Which) -> list[str]:
        """What may not be shown; right words under a wrong footnote may, under the right one."""
        moved = {plain(p.text) for p in self.falsehoods(which) if p.fault == "wrong-source"}
        return [t for p in self.falsehoods(which) if (t := plain(p.text)) and t not in moved]

    def files(self) -> dict[str, str]:
        """The passages as small documents, by name."""
        return {f"p{p.n}.md": f"# {p.title} (p{p.n})\n\n{_below_headings(p)}\n" for p in self.passages}


def _below_headings(excerpt: Excerpt) -> str:
    if re.match(r"\s*#", excerpt.text):
        return excerpt.text
    title = " ".join(excerpt.title.split())
    above = [heading for heading in dict.fromkeys(excerpt.path) if " ".join(heading.split()) != title]
    lines = [f"{'#' * min(level, 6)} {heading}" for level, heading in enumerate(above[-2:], start=2)]
    return "\n\n".join([*lines, excerpt.text])


def read_items(file: Path) -> tuple[Item, ...]:
    """Of a file with an item a line, or of a JSON object that names their licence beside ``items``."""
    text = file.read_text(encoding="utf-8")
    lines = json.loads(text)["items"] if file.suffix == ".json" else map(json.loads, text.splitlines())
    return tuple(map(_item, lines))


def _item(line: dict[str, Any]) -> Item:
    return Item(
        id=line["id"],
        language=line["language"],
        style=line["style"],
        question=line["question"],
        passages=tuple(
            Excerpt(n=p["n"], title=p["title"], path=tuple(p.get("path") or ()), text=p["text"])
            for p in line["passages"]
        ),
        sentences=tuple(
            Sentence(text=s["text"], supported=bool(s["supported"]), cites=tuple(s.get("cites") or ()))
            for s in line["sentences"]
        ),
        drafts=(line["draft"], line["bad"]["draft"]),
        planted=tuple(Planted(text=p["text"], fault=p["fault"]) for p in line["bad"]["planted"]),
    )


def plain(text: str) -> str:
    """Letters and digits alone: what two wordings must share to be the same."""
    return re.sub(r"[\W_]+", "", MARKS.sub("", text)).lower()


@cache
def _grams(text: str) -> frozenset[str]:
    letters = plain(text)
    return frozenset(letters[i : i + GRAM] for i in range(len(letters) - GRAM + 1))


@value
class Block:
    """A quoted part of a prompt."""

    kind: str
    name: str  #: its number, perhaps with letters before it
    text: str

    @property
    def number(self) -> int:
        return int(re.findall(r"\d+", self.name)[-1])


def blocks_of(prompt: str, kinds: Sequence[str]) -> list[Block]:
    found = (
        Block(kind=k, name=name, text=_FROM.sub("", text)) for _, k, name, text in _BLOCK.findall(prompt)
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
            return self._written(blocks_of(call.prompt, QUOTED))
        said: dict[str, Any] = {"useful": True}
        if step == "plan":
            question = self.item.question
            said = {"route": "documents", "standalone": question, "web_query": question}
        if step == "grade":
            said = self._grades(blocks_of(call.prompt, QUOTED))
        if step == "grounding":
            said = {"unsupported": self._unsupported(blocks_of(call.prompt, JUDGED))}
        return _filled(call.config) | said

    def _written(self, strips: Iterable[Block]) -> str:
        """The draft, with the numbers of strips in place of those of passages."""
        of: dict[int, list[Block]] = {}
        for strip in strips:
            of.setdefault(self._passage_of(strip.text), []).append(strip)
        draft = self.item.draft(self.which)

        def marks(match: re.Match[str]) -> str:
            said = _grams(_SENTENCE_END.split(draft[: match.start()])[-1])
            named: list[str] = []
            for n in map(int, match[1].split(",")):
                nearest = sorted(of.get(n, []), key=lambda strip: -len(_grams(strip.text) & said))
                named += [strip.name for strip in nearest[:STRIPS]]
            return " " + "".join(f"[{name}]" for name in dict.fromkeys(named)) if named else ""

        return MARKS.sub(marks, draft)

    def _passage_of(self, text: str) -> int:
        """Which of the item's passages a block comes from."""
        said = _grams(_NUMBERED.sub("", text))
        return max(self.item.passages, key=lambda p: len(_grams(p.title + p.text) & said)).n

    def _grades(self, passages: Iterable[Block]) -> dict[str, Any]:
        used = {n for sentence in self.item.sentences for n in sentence.cites}
        verdicts = []
        for block in passages:
            is_used = self._passage_of(block.text) in used
            evidence = [int(n) for n in _NUMBERED.findall(block.text)] if is_used else []
            relevance = "correct" if is_used else "incorrect"
            verdicts.append({"passage": block.number, "relevance": relevance, "evidence": evidence})
        return {"passages": verdicts, "sufficient": True}

    def _unsupported(self, judged: Iterable[Block]) -> list[int]:
        return [block.number for block in judged if self._is_false(block.text) != self._errs(block.text)]

    def _is_false(self, sentence: str) -> bool:
        """Whether a sentence is a planted one, holds one or is a part of one."""
        said = plain(sentence)
        false = [plain(p.text) for p in self.item.falsehoods(self.which)]
        if any(f in said or (len(said) > 12 and said in f) for f in false):
            return True
        known = (plain(s.text) for s in self.item.sentences)
        if said not in plain(self.item.draft(self.which)) and not any(k and k in said for k in known):
            self.unmatched.append(sentence)
        return False

    def _errs(self, sentence: str) -> bool:
        """By lot, anew each time it is asked."""
        self._ballots[sentence] += 1
        lot = f"{self.item.id} {self.which} {sentence} {self._ballots[sentence]}"
        return random.Random(lot).random() < self.error


def _filled(config: dict[str, Any]) -> dict[str, Any]:
    """A value for every field of the schema asked for, whatever it is called."""
    schema = config.get("responseJsonSchema", config.get("responseSchema")) or {}
    fields: dict[str, dict[str, Any]] = schema.get("properties", {})
    return {
        name: (given.get("enum") or [_EMPTY.get(str(given.get("type")).lower())])[0]
        for name, given in fields.items()
    }
