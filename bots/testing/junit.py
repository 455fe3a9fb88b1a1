"""The results as JUnit XML, as GitHub's, GitLab's and Jenkins' readers take it.

Elements and attributes are those that both published schemas have: that of Apache Ant's reports (windyroad/JUnit-Schema)
and Jenkins' (xunit-plugin, junit-10.xsd).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from bots.terminal.screen import line, plain
from bots.testing.judging import Judgement, Verdict
from bots.testing.sections import said
from core.errors import FootnoteError, reason_of

#: The element of each verdict; a question that holds, or is flaky, has none.
ELEMENTS: Mapping[Verdict, str] = {"fails": "failure", "failed": "error", "asked": "skipped"}


def write(suites: Mapping[str, Sequence[Judgement]], file: Path, made: str) -> Path:
    """Write the judgements by question file; returns the file written. FootnoteError if that fails."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(as_xml(suites, made), encoding="utf-8")
    except OSError as fault:
        raise FootnoteError(f"{file} cannot be written: {reason_of(fault)}.") from fault
    return file


def as_xml(suites: Mapping[str, Sequence[Judgement]], made: str) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>"]
    for number, (name, judgements) in enumerate(suites.items()):
        skipped = sum(each.verdict == "asked" for each in judgements)
        of_suite = {"name": name, "package": name, "id": number, "timestamp": made, "hostname": "localhost"}
        lines.append(f"<testsuite{_attributes(**of_suite, **_counts(judgements), skipped=skipped)}>")
        lines += ["<properties/>", *(_case(each, name) for each in judgements)]
        lines += [f"<system-out>{_text(_flaky(judgements))}</system-out>", "<system-err/>", "</testsuite>"]
    return "\n".join((*lines, "</testsuites>", ""))


def _counts(judgements: Sequence[Judgement]) -> dict[str, object]:
    verdicts = [each.verdict for each in judgements]
    seconds = f"{sum(map(_seconds, judgements)):.3f}"
    return {
        "tests": len(verdicts), "failures": verdicts.count("fails"), "errors": verdicts.count("failed"), "time": seconds,
    }  # fmt: skip


def _seconds(judgement: Judgement) -> float:
    return judgement.outcome.timing_ms.get("total", 0.0) / 1000


def _case(judgement: Judgement, suite: str) -> str:
    case, element = judgement.case, ELEMENTS.get(judgement.verdict)
    opening = _attributes(classname=suite, name=case.id, time=f"{_seconds(judgement):.3f}")
    if element is None:
        return f"<testcase{opening}/>"
    if element == "skipped":
        return f"<testcase{opening}><skipped/></testcase>"
    expected = f"expected {'; '.join(judgement.broken)}"
    details = f"{case.question}\n{expected}\nanswered {said(judgement)}\nline {case.line} of {suite}"
    inner = f"<{element}{_attributes(message=expected, type=judgement.verdict)}>{_text(details)}</{element}>"
    return f"<testcase{opening}>{inner}</testcase>"


def _flaky(judgements: Sequence[Judgement]) -> str:
    """A line for each question that held in some runs."""
    flaky = (each for each in judgements if each.verdict == "flaky")
    return "\n".join(f"flaky: {each.case.id} held in {each.held} of {each.runs} runs" for each in flaky)


def _text(content: object) -> str:
    """The text for XML 1.0, which refuses control characters and surrogates even as references."""
    return escape(plain(str(content)))


def _attributes(**named: object) -> str:
    return "".join(f" {name}={quoteattr(line(str(own)))}" for name, own in named.items())
