"""Whether an answer is put back into the section of the document that it was taken from.

Of each passage that a draft of the set rests on, the paragraph with most of the draft's words is taken out of its file
of the FastAPI documentation. The colleague's question and that paragraph, as if a person had said it, make a draft.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import open_library, open_model
from bots.testing.report import Section, Table, with_interval
from core.conversation import value
from core.gaps.drafts import Drafter, GapAnswer, GapDraft, Saying
from core.library.formats.markdown import heading_text
from core.library.formats.read import parse_file
from core.library.library import DEFAULT_COLLECTION
from core.settings import Settings
from core.sources.sources import open_source_store
from core.storage.storage import open_storage

SHORTEST, LONGEST = 80, 500  # characters of a paragraph that a person may have said
HERE = frozenset({DEFAULT_COLLECTION})


@value
class Taken:
    """A paragraph that was taken out of its document."""

    id: str
    question: str
    source: str
    section: str  #: the heading above it
    words: str


def run(say: Say, *, data: Path = DATA, model: str = "none") -> Section:
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder, "docs")
        shutil.copytree(data / "fastapi_docs", docs)
        taken = list(take(data / "drafts" / "drafts.jsonl", docs))
        data_dir = Path(folder, "data")
        data_dir.mkdir()
        made = asyncio.run(_drafts(taken, docs, data_dir, model, say))
        applies = [bool(each and each.patch and _applies(each, docs)) for each in made]
    found = [
        each is not None and bool(each.entry) and each.entry.source.endswith(one.source)
        for each, one in zip(made, taken, strict=True)
    ]
    placed = [
        is_found and each is not None and each.section[-1:] == (one.section,)
        for is_found, each, one in zip(found, made, taken, strict=True)
    ]
    rows = (
        ("into its document", len(made), with_interval(sum(found), len(made))),
        ("into its section", len(made), with_interval(sum(placed), len(made))),
        ("`git apply` takes it", len(made), with_interval(sum(applies), len(made))),
    )
    return Section(
        name="placing",
        title="Answers put back where they were taken from",
        what="A paragraph is taken out of a document, said by a person to a colleague's question, and drafted.",
        tables=(Table(title="Drafts", columns=("that went", "of", "share, 95% interval"), rows=rows),),
        figures={"document": sum(found) / len(made), "section": sum(placed) / len(made), "applies": sum(applies) / len(made)},
    )  # fmt: skip


def take(drafts: Path, docs: Path) -> Iterator[Taken]:
    """Take a paragraph of each question's first cited passage out of its file, unless it stands elsewhere too."""
    for line in drafts.read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        cited = {number for each in item["sentences"] if each["supported"] for number in each["cites"]}
        for passage in item["passages"] if item["language"] == "en" else ():
            file = docs / passage["source"]
            if (
                passage["n"] in cited
                and file.is_file()
                and (words := _paragraph(file, passage["text"], item["draft"]))
            ):
                text = file.read_text(encoding="utf-8")
                if (
                    text.count(words)
                    == sum(each.read_text().count(words) for each in docs.rglob("*.md"))
                    == 1
                ):
                    file.write_text(text.replace(words, ""), encoding="utf-8")
                    section = heading_text(passage["path"][-1])
                    yield Taken(id=item["id"], question=item["question"], source=passage["source"], section=section, words=words)  # fmt: skip
                break


def _paragraph(file: Path, passage: str, draft: str) -> str:
    """The paragraph of a passage that has most words of a draft; empty: none is of the right length."""
    text = file.read_text(encoding="utf-8")
    start = text.find(passage[:SHORTEST])
    blocks = parse_file(file, text.encode()).blocks
    paragraphs = [
        text[each.start : each.end]
        for each in blocks
        if each.kind == "prose" and start <= each.start < each.end <= start + len(passage)
        and SHORTEST < each.end - each.start < LONGEST
    ]  # fmt: skip
    wanted = _words(draft)
    return max(paragraphs, key=lambda each: len(wanted & _words(each)), default="") if start >= 0 else ""


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w{4,}", text.lower()))


async def _drafts(
    taken: list[Taken], docs: Path, data_dir: Path, model: str, say: Say
) -> list[GapDraft | None]:
    settings = Settings(data_dir=data_dir)
    with (
        open_storage(settings) as storage,
        open_source_store(storage) as sources,
        closing(open_library(data_dir, open_model(model, say))) as library,
    ):
        library.ingest([docs])
        library.embed_pending()
        drafter = Drafter(library=library, sources=sources, data_dir=data_dir)
        return [await drafter.draft(_answer(each)) for each in taken]


def _answer(taken: Taken) -> GapAnswer:
    said = (Saying(words=taken.words, by="Ann"),)
    return GapAnswer(id=taken.id, question=taken.question, said=said, within=HERE, targets=HERE)


def _applies(draft: GapDraft, docs: Path) -> bool:
    done = subprocess.run(
        ["git", "apply", "--check", "-"],
        input=draft.patch.encode(),
        cwd=docs,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0
