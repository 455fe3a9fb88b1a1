"""What `footnote lint` finds of faults that were planted into two real handbooks, and what else it reports there.

The FastAPI documentation is taken from the evaluation sets; the handbook of GSA's Technology Transformation Services
(github.com/18F/handbook, in the public domain) from --handbook, a folder with its `pages`. Sixty contradictions of six kinds,
13 of them in other words than the page's, stand in lint_contradictions.jsonl. Copies of sections with one sentence changed
and links to headings that are not there are made, the same in every run. What is found in the documents as they are was
read once: the true findings are in lint_true.txt, every other one counts as a false alarm.
"""

from __future__ import annotations

import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks import DATA, Say
from benchmarks.evaluation_sets import open_library
from bots.testing.report import Cell, Section, Table
from core.lint.findings import LintFinding
from core.lint.judging import AT_ONCE
from core.lint.lint import LintRun, run_lint
from core.lint.store import LintStore

HERE = Path(__file__).parent
COPIES = LINKS = 20
SECTION = re.compile(r"(?m)^#{2,4} .+\n\n((?:[A-Z].+\n?\n?){2,12})")
SENTENCE = re.compile(r"(?<=[.]) (?=[A-Z])")
FEWEST = 60  # words of a section that is copied


def plant_contradictions(root: Path, name: str) -> list[tuple[str, str]]:
    """The kind of each, and the sentence that was added to a page."""
    planted = []
    for line in (HERE / "lint_contradictions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["docs"] == name:
            _append(root / row["into"], row["planted"])
            planted.append((row["kind"], row["planted"]))
    return planted


def plant_copies(root: Path, dice: random.Random, count: int) -> list[tuple[str, str]]:
    """Pages of each copy: where the section is from, and where it was put with one sentence changed."""
    files, planted = sorted(root.rglob("*.md")), list[tuple[str, str]]()
    dice.shuffle(files)
    for file in files:
        text = file.read_text(encoding="utf-8")
        sections = [each[1] for each in SECTION.finditer(text) if len(each[1].split()) >= FEWEST]
        if sections and len(planted) < count and "```" not in sections[0]:
            sentences = SENTENCE.split(sections[0].strip())
            middle = max(range(len(sentences)), key=lambda at: len(sentences[at].split()))
            words = sentences[middle].split()
            sentences[middle] = " ".join(
                [*words[: len(words) // 2], "nowadays", "mostly", *words[len(words) // 2 + 1 :]]
            )
            target = dice.choice([each for each in files if each != file])
            _append(target, "## Further\n\n" + " ".join(sentences))
            planted.append((file.name, target.name))
    return planted


def plant_links(root: Path, dice: random.Random, count: int) -> list[str]:
    """The links that were added, to headings that are not there."""
    files = dice.sample(sorted(root.rglob("*.md")), 2 * count)
    planted = []
    for number, (file, target) in enumerate(zip(files[:count], files[count:], strict=True)):
        to = (
            ""
            if number % 2
            else Path(*([".."] * len(file.parent.relative_to(root).parts)), target.relative_to(root))
        )
        planted.append(f"[more of this]({to}#section-{number}-was-renamed)")
        _append(file, f"There is {planted[-1]}.")
    return planted


def _append(file: Path, text: str) -> None:
    file.write_text(f"{file.read_text(encoding='utf-8').rstrip()}\n\n{text}\n", encoding="utf-8")


def linted(root: Path, scratch: Path) -> tuple[list[LintFinding], LintRun, float]:
    """What is found in a folder, also what only a model would be asked about; how much was compared, and its time."""
    library = open_library(scratch, None)
    library.ingest([root])
    began = time.process_time()
    run = run_lint(library.store, everybody=["default"], now=0.0)
    took = time.process_time() - began
    found = LintStore(library.store).findings()
    library.close()
    return found, run, took


def has(found: Sequence[LintFinding], kind: str, quote: str) -> bool:
    return any(each.kind == kind and any(quote in place.quote for place in each.places) for each in found)


def has_copy(found: Sequence[LintFinding], pages: tuple[str, str]) -> bool:
    return any(
        each.kind == "drift" and {*pages} <= {Path(place.source).name for place in each.places}
        for each in found
    )


def measured(
    say: Say, name: str, origin: Path, scratch: Path, known: frozenset[str]
) -> list[tuple[Cell, ...]]:
    """Rows: what was planted, how much, and the share that was found; and the alarms in the documents as they are."""
    dice, clean, planted = random.Random(name), scratch / "clean" / name, scratch / "planted" / name
    for folder in (clean, planted):
        for file in sorted(origin.rglob("*.md")):  # the sets may be read-only
            (folder / file.relative_to(origin)).parent.mkdir(parents=True, exist_ok=True)
            (folder / file.relative_to(origin)).write_bytes(file.read_bytes())
    say(f"{name}: as it is")
    before, run, took = linted(clean, scratch / f"{name}-clean")
    asked = sum(each.kind == "contradiction" for each in before)
    before = [each for each in before if each.is_shown]
    false = [each for each in before if each.id not in known]
    for each in false:
        say(f"not known as true: {each.kind} {each.id} {' · '.join(place.where for place in each.places)}")
    half = COPIES // 2
    copies, links = plant_copies(planted, dice, half), plant_links(planted, dice, half)
    contradictions = plant_contradictions(planted, name)
    say(f"{name}: with faults")
    every, _, _ = linted(planted, scratch / f"{name}-planted")
    found = [each for each in every if each.is_shown]
    shares: dict[str, list[bool]] = {}
    for kind, sentence in contradictions:
        shares.setdefault(f"contradiction: {kind}", []).append(has(found, "contradiction", sentence))
    shares["contradictions that a model would be asked about"] = [
        has(every, "contradiction", sentence) for _, sentence in contradictions
    ]
    shares["drifted copy"] = [has_copy(found, pages) for pages in copies]
    shares["dead anchor"] = [has(found, "link", link) for link in links]
    rows: list[tuple[Cell, ...]] = [
        (name, kind, len(each), sum(each) / len(each)) for kind, each in shares.items()
    ]
    alarms = Counter(each.kind for each in false)
    told = ", ".join(f"{count} {kind}" for kind, count in alarms.items())
    rows.append(
        (
            name,
            f"false alarms a hundred pages ({told or 'none'})",
            len(before),
            100 * len(false) / run.documents,
        )
    )
    calls = (asked + AT_ONCE - 1) // AT_ONCE
    rows.append((name, "calls of a model a thousand pages", asked, 1_000 * calls / run.documents))
    rows.append((name, "processor seconds a thousand pages", run.documents, 1_000 * took / run.documents))
    return rows


def run(say: Say, *, data: Path = DATA, handbook: str = "") -> Section:
    known = frozenset((HERE / "lint_true.txt").read_text(encoding="utf-8").split())
    origins = {"fastapi_docs": data / "fastapi_docs"}
    if handbook:
        origins["handbook"] = Path(handbook)
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row
            for name, origin in origins.items()
            for row in measured(say, name, origin, Path(folder), known)
        ]
    return Section(
        name="lint", title="Faults in documents",
        what="The share of the planted faults that is found without a model, and what else is reported.",
        tables=(Table(title="Two handbooks", columns=("documents", "what", "count", "figure"), rows=tuple(rows)),),
        figures={f"{row[0]}: {row[1]}": float(row[3]) for row in rows},
    )  # fmt: skip
