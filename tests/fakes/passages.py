"""Passages and strips cut from documents as the library cuts them, and Markdown to try them with."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st

from core.library.chunking import cut
from core.library.documents import Passage, Retrieved
from core.library.formats.read import read_document
from core.reasoning.reasoner import Statement, Strip
from core.text.sentences import split_units

#: For property tests. The same examples in every run find what a change broke, and few do; those drawn anew are more.
thorough = settings(deadline=None, max_examples=150 if os.environ.get("HYPOTHESIS") == "random" else 25)


def passages_of(file: Path, *, collection: str = "default") -> list[Retrieved]:
    """The file's passages, best first: in their order."""
    document = read_document(file)
    return [
        Retrieved(
            passage=Passage(
                id=f"{file.name}:{ordinal}",
                collection=collection,
                source=file.name,
                title=document.title,
                path=piece.path,
                location=piece.location,
                text=piece.text,
                start=piece.start,
                end=piece.end,
            ),
            score=1 / (ordinal + 1),
        )
        for ordinal, piece in enumerate(cut(document))
    ]


def written(folder: Path, text: str, *, name: str = "guide.md") -> list[Retrieved]:
    """The passages of a document that holds this text."""
    file = folder / name
    file.write_bytes(text.encode())
    return passages_of(file)


def strip_of(hit: Retrieved, words: str | None = None, *, number: int = 1) -> Strip:
    """The strip that holds these words of the passage; all of it without them."""
    text = hit.passage.text if words is None else words
    start = hit.passage.start + hit.passage.text.index(text)
    return Strip(number=number, retrieved=hit, text=text, start=start, end=start + len(text))


def loose_strip(
    text: str, *, number: int = 1, title: str = "Guide", path: tuple[str, ...] = (), score: float = 1.0
) -> Strip:
    """A strip over the whole of a passage of its own."""
    passage = Passage(
        id=str(number),
        collection="default",
        source=f"{number}.md",
        title=title,
        path=path,
        location="Top",
        text=text,
        start=0,
        end=len(text),
    )
    return Strip(
        number=number,
        retrieved=Retrieved(passage=passage, score=score),
        text=text,
        start=0,
        end=len(text),
    )


def statements(*texts: str, cites: tuple[int, ...] = (1,)) -> tuple[Statement, ...]:
    """Sentences as a judge is shown them, each with these footnotes."""
    return tuple(Statement(number=n, text=text, cites=cites) for n, text in enumerate(texts, start=1))


def units_of(text: str) -> list[tuple[str, str]]:
    """(kind, words) of each unit."""
    return [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text)]


_WORDS = st.sampled_from(
    [
        *(
            "The cache",
            "keeps 3 entries",
            "e.g. this",
            "Mr. Smith",
            "v0.1 of file.py",
            "Use `x[1]` now",
            "[a link](b.md)",
        ),
        *(
            "see [3]",
            "the U.S. Army",
            "“quoted.”",
            "東京タワーは高い。",
            "そう？",
            "Überall ist Müll",
            "and so on...",
            "no. Then",
            "🎉",
        ),
        *(
            "**bold**",
            "a | b",
            "C# and C++",
            "half a `tick",
            "\\*",
            "<kbd>Ctrl</kbd>",
            "https://example.org/a_(b)",
            "2019",
        ),
    ]
)
_PROSE = st.lists(_WORDS, min_size=1, max_size=5).map(lambda words: ". ".join(words) + ".")
_CODE = st.sampled_from(
    ["x = 1. Y", "def f():\n    return 'a. B'", "", "| not | a table |", "# no heading", "- no item"]
)
_BLOCK = st.one_of(
    _PROSE,
    st.lists(_PROSE, min_size=2, max_size=3).map("\n".join),
    st.builds("{} {}".format, st.sampled_from(["#", "##", "######"]), _WORDS),
    st.builds("{}\n{}".format, _WORDS, st.sampled_from(["=====", "-----", "~~~~~~~~~~~~~~~~~~~~"])),
    st.lists(_PROSE, min_size=1, max_size=4).map(lambda items: "\n".join(f"- {item}" for item in items)),
    st.lists(_PROSE, min_size=1, max_size=3).map(
        lambda items: "\n".join(f"{n}. {item}" for n, item in enumerate(items, start=1))
    ),
    st.builds("- {}\n    - {}\n\n      {}".format, _PROSE, _PROSE, _PROSE),
    st.builds("```python\n{}\n```".format, _CODE),
    st.builds("~~~\n{}\n~~~".format, _CODE),
    st.builds("- {}\n\n    ```\n    {}\n    ```".format, _PROSE, st.sampled_from(["a. B", "x[1] = 2"])),
    _CODE.map(lambda code: "\n".join(f"    {line}" for line in code.split("\n"))),
    _PROSE.map(lambda prose: f"> {prose}\n> {prose}"),
    st.builds("| {} | {} |\n|---|---|\n| 1. A | 2 |".format, st.sampled_from(["a", "b. C"]), st.sampled_from(["d", ""])),
    st.builds("a | b\n--- | ---\n{} | 2".format, _WORDS),
    st.sampled_from(["/// tip", "{* ../../docs/x.py hl[1] *}", "<!-- a\nb. C -->", "---", "::: a.b\n    options:\n        c: true"]),
    st.text(max_size=40),
)  # fmt: skip

#: Documents of every kind of block, in any order, with either line end.
documents = st.builds(
    lambda blocks, gap, end: gap.join(blocks).replace("\n", end),
    st.lists(_BLOCK, max_size=7),
    st.sampled_from(["\n\n", "\n", "\n\n\n"]),
    st.sampled_from(["\n", "\n", "\r\n"]),
)
