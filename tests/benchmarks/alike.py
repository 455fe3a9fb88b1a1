"""Whether a question finds its document among others that say the same in the same words.

Three groups of 20 documents are made: yearly reports of five bodies (PDF, a page for each statement), the manual of a
product in 20 versions, and one handbook for each of 20 countries. Each says the same as the others of its group, but
for its figures, and most of its passages do not say which one it is. Each question names one document, as people do,
and asks for a figure that the others have too; or for one that is computed from figures of one to three reports.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import Say
from benchmarks.evaluation_sets import EVERYTHING, open_library, open_model
from benchmarks.retrieval import sides
from bots.testing.report import Cell, Section, Table
from core.library.documents import Passage
from core.library.library import Library
from core.library.retriever import Query

BODIES = (
    "Harbour Water Trust",
    "Meridian Water Trust",
    "Alder Water Board",
    "Northfield Rail Board",
    "Castor Rail Trust",
)
YEARS = (2020, 2021, 2022, 2023)
VERSIONS = tuple(f"{major}.{minor}" for major in range(2, 7) for minor in range(4))
COUNTRIES = (
    "Austria", "Belgium", "Canada", "Denmark", "Estonia", "Finland", "Germany", "Hungary", "Ireland", "Japan",
    "Kenya", "Latvia", "Mexico", "Norway", "Poland", "Portugal", "Romania", "Spain", "Sweden", "Uruguay",
)  # fmt: skip

#: What a report states, by the page it stands on: the label of its row, and how people ask for it.
STATEMENTS = {
    "Statement of income": {
        "Income from grants": "how much did public bodies give {} in grants in {}",
        "Income from charges": "what did customers of {} pay in charges in {}",
        "Staff costs": "what did {} spend on its staff in {}",
        "Depreciation": "how much did {} write off as depreciation in FY{}",
    },
    "Statement of position": {
        "Cash at bank": "how much cash did {} have at the bank at the end of FY{}",
        "Trade receivables": "what did trade customers still owe {} in receivables at the end of {}",
        "Long-term borrowings": "how large were the long-term borrowings of {} in {}",
        "Pension liabilities": "what were the pension liabilities on the balance sheet of {} in {}",
    },
    "Statement of cash flows": {
        "Purchase of equipment": "how much cash did {} spend to purchase equipment in {}",
        "Repayment of loans": "how much of its loans did {} repay in {}",
        "Interest paid": "how much interest has {} paid according to the report of {}",
    },
    "Performance": {
        "Complaints received": "how many complaints about {} were received in {}",
        "Sites inspected": "how many of the sites of {} were inspected in FY{}",
        "Days lost to accidents": "how many days were lost to accidents at {} during {}",
    },
}  # fmt: skip
SETTINGS = {
    "worker_timeout": ("Workers", "seconds that a worker may stay silent before it is restarted"),
    "backlog": ("Sockets", "connections that may wait before new ones are refused"),
    "keepalive": ("Sockets", "seconds that an idle connection is kept open"),
    "limit_request_line": ("Security", "bytes of the longest request line that is accepted"),
    "max_requests": ("Workers", "requests after which a worker is replaced"),
    "log_retention": ("Logging", "days that old logs are kept"),
    "cache_size": ("Cache", "megabytes that the cache may take"),
    "retry_delay": ("Upstreams", "milliseconds before a failed upstream is asked again"),
}
POLICIES = {
    "Annual leave": ("A full-time colleague has {n} days of annual leave in a calendar year.", "how many days of annual leave do we get"),
    "Notice": ("After the first year either side gives {n} days of notice.", "what is the notice period in days after the first year"),
    "Parental leave": ("A second parent may take {n} days of parental leave with full pay.", "how long is parental leave for a second parent"),
    "Meal allowance": ("On a business trip meals are paid up to {n} euros a day.", "what do we get for meals on a business trip"),
    "Remote work": ("Up to {n} days a year may be worked from a place abroad.", "how many days can be worked from abroad"),
    "Training": ("The yearly budget for training is {n} euros for each colleague.", "how much is the yearly training budget"),
    "Overtime": ("Overtime of more than {n} hours in a quarter is paid out.", "from how many hours is overtime paid out"),
}  # fmt: skip

DOCUMENTS_AT, PASSAGES_AT = (1, 8), (5, 20)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and where its answer stands."""

    question: str
    #: For each passage that answers: how the path of its document ends, and what it says.
    evidence: tuple[tuple[str, tuple[str, ...]], ...]
    answer: str


def figures(*seed: object) -> Iterator[str]:
    """Numbers of four or five digits, each once, the same in every run."""
    chosen = random.Random(repr(seed))
    return iter([f"{number:,}" for number in chosen.sample(range(1_000, 99_000), 200)])


def reports(folder: Path) -> list[Asked]:
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer
    from reportlab.platypus import Table as Grid

    look, asked = getSampleStyleSheet(), []
    for body in BODIES:
        for year in YEARS:
            stated, name = _stated(body, year), _name(body, year)
            flow: list[object] = [
                Paragraph("Annual report and accounts", look["Title"]), Paragraph(body, look["Title"]),
                Paragraph(f"for the year ended 31 March {year}", look["BodyText"]), PageBreak(),
            ]  # fmt: skip
            for title, rows in STATEMENTS.items():
                cells = [["", str(year), str(year - 1)]]
                for label, asks in rows.items():
                    cells.append([label, *stated[label]])
                    asked.append(_once(f"{asks.format(body, year)}?", name, stated[label][0], label))
                flow += [
                    Paragraph(title, look["Heading1"]), Paragraph(_prose(title), look["BodyText"]), Spacer(1, 12),
                    Grid(cells, colWidths=[220, 80, 80]), Spacer(1, 12),
                    *(Paragraph(_remark(title, label) * 3, look["BodyText"]) for label in rows), PageBreak(),
                ]  # fmt: skip
            SimpleDocTemplate(str(folder / name), title="Annual report").build(flow)
    return asked


def _name(body: str, year: int) -> str:
    return f"{body.upper().replace(' ', '_')}_{year}_annual_report.pdf"


def _stated(body: str, year: int) -> dict[str, tuple[str, str]]:
    """What a report states of its year and of the year before, by the label of the row."""
    numbers = figures(body, year)
    return {label: (next(numbers), next(numbers)) for rows in STATEMENTS.values() for label in rows}


def calculations() -> list[Asked]:
    """What is computed from rows of reports: a change, a ratio of two pages, an average of three reports, a difference
    of two.
    """
    lot, asked = random.Random("calculations"), []
    money = [label for title in tuple(STATEMENTS)[:3] for label in STATEMENTS[title]]
    for body in BODIES:
        others = [each for each in BODIES if each != body]
        for year in YEARS:
            label, other = lot.sample(money, 2)
            now, before = map(_number, _stated(body, year)[label])
            asked.append(
                Asked(
                    f"By how many percent did {label.lower()} of {body} change in {year} against the year before, going by "
                    f"the {year} report?",
                    ((_name(body, year), (label, *_stated(body, year)[label])),),
                    f"{100 * (now - before) / before:.2f} %",
                )
            )
            both = [_stated(body, year)[each][0] for each in (label, other)]
            asked.append(
                Asked(
                    f"What was the ratio of {label.lower()} to {other.lower()} at {body} in {year}?",
                    tuple((_name(body, year), pair) for pair in zip((label, other), both, strict=True)),
                    f"{_number(both[0]) / _number(both[1]):.3f}",
                )
            )
            beside = lot.choice(others)
            two = [_stated(each, year)[label][0] for each in (body, beside)]
            asked.append(
                Asked(
                    f"What was the difference between {label.lower()} of {body} and of {beside} in {year}?",
                    tuple(
                        (_name(each, year), (label, value))
                        for each, value in zip((body, beside), two, strict=True)
                    ),
                    f"{abs(_number(two[0]) - _number(two[1])):,}",
                )
            )
        label = lot.choice(money)
        three = [_stated(body, year)[label][0] for year in YEARS[-3:]]
        asked.append(
            Asked(
                f"What were {label.lower()} of {body} on average over {', '.join(map(str, YEARS[-3:-1]))} and {YEARS[-1]}?",
                tuple(
                    (_name(body, year), (label, value)) for year, value in zip(YEARS[-3:], three, strict=True)
                ),
                f"{sum(map(_number, three)) / 3:,.2f}",
            )
        )
    return asked


def _number(written: str) -> int:
    return int(written.replace(",", ""))


def _once(question: str, source: str, answer: str, *beside: str) -> Asked:
    """A question that one passage answers."""
    return Asked(question, ((source, (*beside, answer)),), answer)


def _prose(title: str) -> str:
    return (
        f"The {title.lower()} below covers the whole body and has been examined by the auditor. Amounts are in "
        "thousands. The accounting rules are those of the previous year, and the board approved them in June."
    )


def _remark(title: str, label: str) -> str:
    return (
        f"{label}: see the {title.lower()}. The change against the previous year follows from prices and from the "
        "number of sites, and is explained to the audit committee each quarter together with the risks that the board sees. "
    )


def manuals(folder: Path) -> list[Asked]:
    asked = []
    for version in VERSIONS:
        numbers, name = figures(version), f"gantry-{version}/settings.md"
        parts = [f"# Settings\n\nThis page is about Gantry {version}.\n\n" + _REFERENCE * 4]
        for setting, (chapter, what) in SETTINGS.items():
            value = next(numbers)
            parts.append(
                f"## {chapter}: {setting}\n\nThe {what}. The default is `{value}`.\n\n"
                f"Set `{setting}` on the command line, in the environment or in the file of the server.\n\n"
                + _REFERENCE
                * 4
            )
            asked.append(
                _once(f"what is the default of {setting} in gantry {version}", name, f"`{value}`", setting)
            )
        _write(folder / name, "\n\n".join(parts))
    return asked


_REFERENCE = (
    "A value on the command line goes before the environment, and that before the file. A value that the server does "
    "not understand stops it at the start with the line in which it stands. After a change the master is told to read "
    "its file again; workers that are busy finish their requests first, and are then replaced one after the other. "
)


def handbooks(folder: Path) -> list[Asked]:
    asked = []
    for country in COUNTRIES:
        numbers, name = figures(country), f"handbook/{country.lower()}.md"
        parts = [f"# Employee handbook\n\nThis handbook is for colleagues in {country}.\n\n" + _CUSTOM * 4]
        for title, (says, asks) in POLICIES.items():
            value = next(numbers)
            parts.append(f"## {title}\n\n{says.format(n=value)} {_CUSTOM}\n\n{_CUSTOM * 3}")
            asked.append(_once(f"{asks} in {country}?", name, value))
        _write(folder / name, "\n\n".join(parts))
    return asked


_CUSTOM = (
    "Talk to your manager first, and enter it in the portal at least two weeks before. The people team answers within "
    "three working days. Part-time colleagues have their share. Where the law of the land gives more, the law counts, "
    "and where a contract says otherwise in writing, the contract counts. Exceptions are approved by the head of the "
    "department and are noted in the file. "
)


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", encoding="utf-8")


GROUPS = {"reports": reports, "manuals": manuals, "handbooks": handbooks}


def placed(library: Library, asked: Asked) -> tuple[int, int]:
    """The ranks, from 1, of its document and of the passage that answers, of several the last; far behind where one was
    not found.
    """
    found = library.retrieve(Query(text=asked.question, scope=EVERYTHING, limit=max(PASSAGES_AT))).passages
    documents, passages = [], []
    for source, texts in asked.evidence:
        of_it = [
            (rank, hit.passage) for rank, hit in enumerate(found, 1) if hit.passage.source.endswith(source)
        ]
        documents.append(min((rank for rank, _ in of_it), default=1_000))
        passages.append(min((rank for rank, each in of_it if says(each, texts)), default=1_000))
    return max(documents), max(passages)


def says(passage: Passage, texts: Sequence[str]) -> bool:
    said = " ".join((*passage.path, passage.text))
    return all(text in said for text in texts)


def measured(library: Library, asked: Sequence[Asked]) -> list[float]:
    ranks = [placed(library, each) for each in asked]
    return [
        *(sum(document <= at for document, _ in ranks) / len(ranks) for at in DOCUMENTS_AT),
        *(sum(evidence <= at for _, evidence in ranks) / len(ranks) for at in PASSAGES_AT),
    ]


def put(folder: Path, count: int) -> dict[str, list[Asked]]:
    """Makes the documents; so many questions of each group."""
    folder.mkdir(parents=True)
    every = {name: make(folder) for name, make in GROUPS.items()} | {"calculations": calculations()}
    return {name: random.Random(name).sample(asked, min(count, len(asked))) for name, asked in every.items()}


def run(
    say: Say, *, model: str = "none", questions: int = 150, keep: str = "", quick: bool = False
) -> Section:
    """``keep``: a new folder for the documents and the questions with their answers, to ask them with a model."""
    embedder, rows = open_model(model, say), list[tuple[Cell, ...]]()
    count = (12 if quick else questions) // len(GROUPS)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(keep or scratch, "documents")
        chosen = put(folder, count)
        if keep:
            lines = [json.dumps(asdict(each)) for asked in chosen.values() for each in asked]
            Path(keep, "questions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        library = open_library(Path(scratch, "library"), embedder)
        say("60 documents: indexing")
        library.ingest([folder])
        library.embed_pending()
        for side, each in sides(library).items():
            for name, asked in chosen.items():
                rows.append((f"{name}, {side}", len(asked), *measured(each, asked)))
        library.close()
    columns = (
        "group", "questions", *(f"document among {at}" for at in DOCUMENTS_AT),
        *(f"evidence among {at}" for at in PASSAGES_AT),
    )  # fmt: skip
    return Section(
        name="alike",
        title="Documents that are alike",
        what="The share of the questions whose document, or whose passage that answers, is among so many found first.",
        tables=(Table(title="All 60 documents at once", columns=columns, rows=tuple(rows)),),
        figures={f"{row[0]}: {name}": float(share) for row in rows for name, share in zip(columns[2:], row[2:], strict=True)},
    )  # fmt: skip
