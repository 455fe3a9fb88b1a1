"""Answers as language models wrote them, sentence by sentence labelled, and the same with planted falsehoods.

A line of the set is a question, passages of real documents, and two drafts of an answer whose ``[n]`` name
the passages. What is shown of a draft is judged by its sentences: how many good ones came through, and
whether one that was planted did.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from core.conversation import value

Which = Literal["good", "bad"]
ENOUGH = 0.9  # share of the good sentences with which an answer counts as right
STRIPS = 3  # that stand for one passage in a footnote, at most
GRAM = 4  # characters; what two texts share of them says whether one comes from the other
PART = 12  # characters from which a part of a planted sentence is known for one

_MARKS = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")
_NUMBERED = re.compile(r"(?m)^\(\d+\) ")  # a sentence of a passage, as a grader sees it
_SENTENCE_END = re.compile(r"(?<=[.!?。！？:])\s|\n")


def plain(text: str) -> str:
    """Letters and digits alone: what two wordings must share to be the same."""
    return re.sub(r"[\W_]+", "", _MARKS.sub("", text)).lower()


@cache
def grams(text: str) -> frozenset[str]:
    letters = plain(text)
    return frozenset(letters[i : i + GRAM] for i in range(len(letters) - GRAM + 1))


@value
class Excerpt:
    """A passage of a document, as the draft's writer had it."""

    n: int  #: what the draft's ``[n]`` names
    title: str
    path: tuple[str, ...]  #: headings
    text: str


@value
class LabelledSentence:
    text: str  #: without marks
    supported: bool  #: False: it claims nothing (a greeting, a lead-in, what the documents don't say)
    cites: tuple[int, ...] = ()
    shown_by: tuple[tuple[int, int, int], ...] = ()  #: (passage, start, end): each alone shows it to a reader


@value
class Falsehood:
    text: str
    fault: str


@value
class Item:
    """One question with its passages and its two drafts."""

    id: str
    language: str
    document_language: str
    style: str
    question: str
    passages: tuple[Excerpt, ...]
    sentences: tuple[LabelledSentence, ...]
    drafts: tuple[str, str]  #: the good one, and the one with falsehoods
    planted: tuple[Falsehood, ...]

    def draft(self, which: Which) -> str:
        return self.drafts[which == "bad"]

    def falsehoods(self, which: Which) -> tuple[Falsehood, ...]:
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

    def passage_of(self, text: str) -> Excerpt:
        """The passage that a text comes from."""
        said = grams(_NUMBERED.sub("", text))
        return max(self.passages, key=lambda p: len(grams(p.title + p.text) & said))

    def cited(self) -> tuple[Excerpt, ...]:
        """The passages that the good draft rests on, the one that most sentences name first."""
        named = [n for sentence in self.sentences for n in sentence.cites]
        used = (passage for passage in self.passages if passage.n in named)
        return tuple(sorted(used, key=lambda passage: -named.count(passage.n)))

    def is_false(self, sentence: str, which: Which) -> bool | None:
        """Whether a sentence is a planted one, holds one or is a part of one; None: it is none of the draft's."""
        said = plain(sentence)
        false = [plain(p.text) for p in self.falsehoods(which)]
        if any(f in said or (len(said) > PART and said in f) for f in false):
            return True
        known = (plain(s.text) for s in self.sentences)
        return False if said in plain(self.draft(which)) or any(k and k in said for k in known) else None

    def sentence_of(self, text: str) -> LabelledSentence | None:
        """The labelled sentence that a text has or is; None: it is none of them."""
        said = plain(text)
        known = (
            s for s in self.sentences if (plain(s.text) and plain(s.text) in said) or said in plain(s.text)
        )
        return max(known, key=lambda sentence: len(sentence.text), default=None)

    def written_from(self, strips: Mapping[str, str], which: Which) -> str:
        """The draft with the names of strips in place of the numbers of passages; ``strips`` are texts by name."""
        of: dict[int, list[str]] = {}
        for name, text in strips.items():
            of.setdefault(self.passage_of(text).n, []).append(name)
        draft = self.draft(which)

        def marks(match: re.Match[str]) -> str:
            said = grams(_SENTENCE_END.split(draft[: match.start()])[-1])
            named: list[str] = []
            for n in map(int, match[1].split(",")):
                nearest = sorted(of.get(n, []), key=lambda name: -len(grams(strips[name]) & said))
                named += nearest[:STRIPS]
            return " " + "".join(f"[{name}]" for name in dict.fromkeys(named)) if named else ""

        return _MARKS.sub(marks, draft)


@value
class ShownSentences:
    """What came through of a draft."""

    kept: int  #: good sentences
    good: int  #: of so many
    false: int  #: planted ones
    planted: int

    @property
    def is_right(self) -> bool:
        return self.kept >= ENOUGH * self.good and not self.false


def shown(item: Item, which: Which, text: str) -> ShownSentences:
    said, good, untrue = plain(text), item.good(which), item.untrue(which)
    return ShownSentences(
        kept=sum(sentence in said for sentence in good),
        good=len(good),
        false=sum(sentence in said for sentence in untrue),
        planted=len(untrue),
    )


def read_items(file: Path) -> tuple[Item, ...]:
    """Of a file with an item a line, or of a JSON object that names their licence beside ``items``."""
    text = file.read_text(encoding="utf-8")
    lines: Sequence[Any] = (
        json.loads(text)["items"] if file.suffix == ".json" else [*map(json.loads, text.splitlines())]
    )
    return tuple(map(_item, lines))


def _item(line: dict[str, Any]) -> Item:
    return Item(
        id=line["id"],
        language=line["language"],
        document_language=line.get("document_language", line["language"]),
        style=line["style"],
        question=line["question"],
        passages=tuple(
            Excerpt(n=p["n"], title=p["title"], path=tuple(p.get("path") or ()), text=p["text"])
            for p in line["passages"]
        ),
        sentences=tuple(
            LabelledSentence(
                text=s["text"],
                supported=bool(s["supported"]),
                cites=tuple(s.get("cites") or ()),
                shown_by=tuple((n, start, end) for n, start, end in s.get("shown_by") or ()),
            )
            for s in line["sentences"]
        ),
        drafts=(line["draft"], line["bad"]["draft"]),
        planted=tuple(Falsehood(text=p["text"], fault=p["fault"]) for p in line["bad"]["planted"]),
    )
