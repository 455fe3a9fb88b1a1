"""The comparisons and findings, kept in the library beside the documents and deleted with them; and the baseline."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from shutil import copymode
from typing import Any

from core.conversation import value
from core.errors import SettingsError
from core.library.store import PASSAGE, DocumentStore, passage_from_row
from core.lint.findings import Kind, LintFinding, QuotedPlace, Reading, Verdict
from core.storage.database import Database, Tables, among, rows_among
from core.traces.trace import record_of

RULES = 1  # counts up when the same documents would give other findings: they are then compared again
STATE = "lint_state"  # key of the library's meta: the state of the documents that the findings are about
_PASSAGE = (
    f"SELECT p.document, p.line, {PASSAGE.format(join='JOIN')} WHERE {{}} ORDER BY p.document, p.ordinal"
)
BATCH = 500  # documents whose passages are read at a time

DAYS = 30  # of the questions whose answers hang on one passage
FEWEST = 3  # questions, from which a passage carries much alone

_ANSWERED = "SELECT turn FROM questions WHERE kind = 'question' AND outcome = 'answered' AND asked_at >= ?"
_TRACES = "SELECT turn, content FROM traces WHERE turn {}"


class LintStore:
    """Reads and writes the tables of the linter; safe to share between threads. It blocks."""

    def __init__(self, documents: DocumentStore) -> None:
        self.documents = documents
        self._database = documents.database

    def readings(self, numbers: Sequence[int]) -> Iterator[tuple[int, list[Reading]]]:
        """The passages of each document, in reading order."""
        for start in range(0, len(numbers), BATCH):
            condition, value = among(self._database.dialect, numbers[start : start + BATCH])
            rows = self._database.rows(_PASSAGE.format(f"p.document {condition}"), (value,))
            for document, own in groupby(rows, key=itemgetter(0)):
                yield int(document), [_reading(row) for row in own]

    def passage_at(self, collection: str, source: str, start: int) -> int | None:
        """The id of the passage of a document that holds an offset; None if none does any more."""
        rows = self._database.rows(
            "SELECT p.id FROM passages p JOIN documents d ON d.id = p.document"
            " JOIN collections c ON c.number = d.collection"
            ' WHERE c.name = ? AND d.source = ? AND p.start <= ? AND p."end" > ?',
            (collection, source, start, start),
        )
        return int(rows[0][0]) if rows else None

    def reading(self, condition: str, *values: object) -> Reading | None:
        """The passage ``p`` that a condition fits."""
        rows = self._database.rows(_PASSAGE.format(condition), values)
        return _reading(rows[0]) if rows else None

    def compared_documents(self) -> frozenset[int]:
        """The documents that were compared with all others of these, as they are now."""
        rows = self._database.rows("SELECT document FROM lint_documents WHERE rules = ?", (RULES,))
        return frozenset(int(document) for (document,) in rows)

    def keep(
        self,
        found: Iterable[LintFinding],
        compared: Iterable[int],
        *,
        drops: Iterable[Kind],
        state: str,
        now: float,
    ) -> None:
        """Adds findings, in place of those of some kinds. Those of documents that are gone are left out."""
        with self.documents.transaction() as writing:
            there = {int(row[0]) for row in writing.execute("SELECT id FROM documents").fetchall()}
            writing.executemany("DELETE FROM lint_findings WHERE kind = ?", ((kind,) for kind in drops))
            for each in found:
                first, last = each.places[0].document, each.places[-1].document
                if {first, last} <= there:
                    row = (each.id, each.kind, first, last, json.dumps(asdict(each), ensure_ascii=False))
                    query = "INSERT INTO lint_findings VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
                    writing.execute(query, row)
                    writing.execute(
                        "INSERT INTO lint_seen (id, found_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
                        (each.id, now),
                    )
            writing.executemany(
                "INSERT INTO lint_documents VALUES (?, ?) ON CONFLICT (document) DO UPDATE SET rules = excluded.rules",
                ((document, RULES) for document in compared if document in there),
            )
            self.documents.set_meta(STATE, state)

    def keep_verdicts(self, verdicts: Mapping[str, Verdict]) -> None:
        rows = ((said, id_) for id_, said in verdicts.items())
        Tables(self._database).write_all("UPDATE lint_seen SET verdict = ? WHERE id = ?", rows)

    def findings(self, *, since: float = 0.0) -> list[LintFinding]:
        """Findings that are newer than a moment, also those that are not shown; in no order of importance."""
        rows = self._database.rows(
            "SELECT f.content, s.found_at, s.verdict FROM lint_findings f JOIN lint_seen s ON s.id = f.id"
            " WHERE s.found_at >= ?",
            (since,),
        )
        found = [replace(_finding(content), found_at=at, verdict=verdict) for content, at, verdict in rows]
        found.sort(key=lambda each: [(place.source, place.start) for place in each.places])
        once = {each.id: each for each in reversed(found)}  # what stands in several places
        return list(reversed(once.values()))


def new_findings(documents: DocumentStore, since: float, readable: frozenset[str]) -> list[LintFinding]:
    """The findings of the last runs that are newer than a moment, for somebody who may read these collections."""
    found = LintStore(documents).findings(since=since)
    return [each for each in found if each.is_shown and each.collections <= readable]


def single_passages(questions: Database, store: LintStore, now: float) -> Iterator[LintFinding]:
    """Passages that most questions need first. ``questions``: the store of the log."""
    turns = [turn for (turn,) in questions.rows(_ANSWERED, (now - DAYS * 86_400,))]
    counts: Counter[int | None] = Counter()
    for _, content in rows_among(questions, _TRACES, turns) if turns else ():
        cited = [each for each in (record_of(content) or {}).get("citations") or () if each["number"]]
        if any(each["origin"] != "documents" for each in cited):
            continue
        found = {store.passage_at(each["collection"], each["source"], each["start"]) for each in cited}
        counts.update(found if len(found) == 1 else ())
    for passage, n in counts.most_common():
        reading = store.reading("p.id = ?", passage) if n >= FEWEST and passage is not None else None
        if reading is not None:
            place = reading.place(0, len(reading.passage.text))
            why = f"{n} questions of the last {DAYS} days were answered from this passage and nothing else."
            yield LintFinding(kind="single", why=why, places=(place,))


def _reading(row: Sequence[Any]) -> Reading:
    return Reading.of(int(row[0]), passage_from_row(row[2:]), row[1])


def _finding(content: str) -> LintFinding:
    record = json.loads(content)
    places = tuple(QuotedPlace(**{**each, "path": tuple(each["path"])}) for each in record.pop("places"))
    changes = tuple((one, other) for one, other in record.pop("changes"))
    return LintFinding(**record, places=places, changes=changes)


#: The baseline: a file of findings that were looked at and accepted, each with the reason.
USUAL = ".footnote-lint.json"  # in the folder where the command is typed


@value
class Accepted:
    """A finding that is not reported any more."""

    id: str
    kind: str
    where: str  #: for people: an entry counts wherever its words are
    reason: str = ""


def read_baseline(file: Path, *, must_exist: bool = False) -> tuple[Accepted, ...]:
    """The accepted findings; SettingsError for a file that is none, or cannot be read."""
    if not must_exist and not file.exists():
        return ()
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))["accepted"]
        return tuple(
            Accepted(**{name: str(each[name]) for name in ("id", "kind", "where", "reason")})
            for each in entries
        )
    except OSError as trouble:
        raise SettingsError(f"The baseline {file} cannot be read: {trouble.strerror}.") from trouble
    except (ValueError, KeyError, TypeError) as trouble:
        raise SettingsError(
            f"{file} is no baseline of footnote lint. `footnote lint --write-baseline` writes one to another file."
        ) from trouble


def write_baseline(file: Path, findings: Iterable[LintFinding], before: Iterable[Accepted]) -> None:
    """Accept these findings; what was said of one before stays. SettingsError where it cannot be written."""
    reasons: Mapping[str, str] = {each.id: each.reason for each in before}
    entries = [
        {"id": each.id, "kind": each.kind, "where": " · ".join(place.where for place in each.places),
         "reason": reasons.get(each.id, "")}
        for each in findings
    ]  # fmt: skip
    text = json.dumps({"accepted": entries}, ensure_ascii=False, indent=1) + "\n"
    unfinished = file.with_name(f"{file.name}.new")
    try:
        unfinished.write_text(text, encoding="utf-8")
        if file.exists():
            copymode(file, unfinished)
        unfinished.replace(file)  # a disk that is full must not cost the reasons
    except OSError as trouble:
        raise SettingsError(f"The baseline {file} cannot be written: {trouble.strerror}.") from trouble
