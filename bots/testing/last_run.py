"""The last run of a file, kept in the data folder, and what has changed since."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from bots.testing.judging import GOOD, Judgement, Quotes
from core.conversation import value
from core.errors import FootnoteError, reason_of

FOLDER = "tests"  # in DATA_DIR
NAME_LENGTH = 12  # hexadecimal digits of the hash of the question file's path


@value
class Ended:
    """The result of one question in a run."""

    verdict: str
    quotes: Quotes

    @property
    def is_good(self) -> bool:
        return self.verdict in GOOD


@value
class Run:
    """The stored results of a run."""

    made: str  #: ISO 8601
    figures: Mapping[str, float]
    ended: Mapping[str, Ended]  #: by the id of the question

    @classmethod
    def of(cls, judgements: Sequence[Judgement], made: str, figures: Mapping[str, float]) -> Run:
        ended = {each.case.id: Ended(verdict=each.verdict, quotes=each.quotes) for each in judgements}
        return cls(made=made, figures=figures, ended=ended)


@value
class Changes:
    """The changes since a run, as ids of questions."""

    before: Run
    now: Run
    broke: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()  #: the verdict is the same, what is quoted is not
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @classmethod
    def between(cls, before: Run, now: Run) -> Changes:
        both = [(name, before.ended[name], one) for name, one in now.ended.items() if name in before.ended]
        return cls(
            before=before,
            now=now,
            broke=tuple(name for name, was, one in both if was.is_good and not one.is_good),
            mended=tuple(name for name, was, one in both if one.is_good and not was.is_good),
            otherwise=tuple(
                name for name, was, one in both if was.is_good == one.is_good and was.quotes != one.quotes
            ),
            new=tuple(name for name in now.ended if name not in before.ended),
            gone=tuple(name for name in before.ended if name not in now.ended),
        )

    def __str__(self) -> str:
        """ "2 broke, 1 mended"."""
        said = {
            "broke": "broke",
            "mended": "mended",
            "otherwise": "answered otherwise",
            "new": "new",
            "gone": "gone",
        }
        counts = ((len(getattr(self, name)), what) for name, what in said.items())
        return ", ".join(f"{count} {what}" for count, what in counts if count) or "nothing has changed"


def file_for(data_dir: Path, questions: Path) -> Path:
    """The file that stores the last run of a question file, by that file's path."""
    path = str(questions.resolve()).encode("utf-8", "surrogateescape")
    return data_dir / FOLDER / f"{sha256(path).hexdigest()[:NAME_LENGTH]}.json"


def load(file: Path) -> Run | None:
    """The last run; None if there was none or its file is damaged."""
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        found = {
            name: Ended(
                verdict=each["verdict"], quotes=tuple((quote, source) for quote, source in each["quotes"])
            )
            for name, each in content.pop("ended").items()
        }
        return Run(**content, ended=found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def save(run: Run, file: Path) -> None:
    """Replace the last run; FootnoteError if it cannot be written."""
    unfinished = file.with_suffix(".new")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished.touch(mode=0o600)  # it holds words of documents
        unfinished.write_text(json.dumps(asdict(run)), encoding="utf-8")
        unfinished.replace(file)
    except OSError as fault:
        raise FootnoteError(f"{file} cannot be written: {reason_of(fault)}.") from fault
