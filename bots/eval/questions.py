"""A file of one's own questions with what is expected of their answers, one JSON object a line.

``{"id", "question", "thread"?, "source"?, "answerable"?, "answer"?, "gold"?, "kind"?}``; other
fields are left alone.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bots.terminal.session import conversation_named
from core.conversation import check_question, value
from core.errors import SettingsError


@value
class Expected:
    """A question, and what its answer is judged by."""

    line: int  #: counts from 1
    id: str  #: the line's number where it names none
    question: str
    thread: str | None = None  #: questions of one thread are asked in order, in one conversation
    sources: tuple[str, ...] = ()  #: files that may be cited, by name or by the end of their path
    answerable: bool | None = None  #: whether the documents answer it; None: not judged
    words: tuple[str, ...] = ()  #: each should occur in the answer
    gold: tuple[str, ...] = ()  #: sentences of the documents, one of which should be quoted
    kind: str = ""  #: what it is counted with


def read_questions(file: Path) -> tuple[Expected, ...]:
    """All questions of a file; SettingsError names every line that cannot be read as one."""
    try:
        lines = file.read_bytes().split(b"\n")
    except OSError as fault:
        raise SettingsError(f"{file} cannot be read: {(fault.strerror or 'unknown').lower()}.") from fault
    found: dict[str, Expected] = {}
    faults: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            read = read_line(line, number)
        except SettingsError as fault:
            faults.append(f"Line {number}: {fault}")
            continue
        first = found.setdefault(read.id, read)
        if first is not read:
            faults.append(f"Line {number}: the id “{read.id}” stands on line {first.line} already.")
    if faults:
        raise SettingsError(f"{file} cannot be used. " + " ".join(faults))
    if not found:
        raise SettingsError(f"{file} holds no questions.")
    return tuple(found.values())


def read_line(line: bytes, number: int) -> Expected:
    """One line; SettingsError says what is wrong with it."""
    try:
        given = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise SettingsError("not a JSON object.")
    sources = _texts(given, "source", "sources")
    words, gold = _texts(given, "answer", "answers"), _texts(given, "gold")
    return Expected(
        line=number,
        id=_id(given, number),
        question=check_question(_text(given, "question")),
        thread=_thread(given),
        sources=sources,
        answerable=_answerable(given, or_else=True if sources or words or gold else None),
        words=words,
        gold=gold,
        kind=_text(given, "kind") if given.get("kind") is not None else "",
    )


def _id(given: dict[str, Any], number: int) -> str:
    named = given.get("id", number)
    if isinstance(named, bool) or not isinstance(named, str | int):
        raise SettingsError("“id” is neither a text nor a number.")
    return str(named)


def _thread(given: dict[str, Any]) -> str | None:
    if given.get("thread") is None:
        return None
    name = _text(given, "thread")
    conversation_named(name)  # says what is wrong with a name that cannot be one
    return name


def _answerable(given: dict[str, Any], *, or_else: bool | None) -> bool | None:
    named = given.get("answerable")
    if named is None:
        return or_else
    if not isinstance(named, bool):
        raise SettingsError("“answerable” is neither true nor false.")
    return named


def _text(given: dict[str, Any], key: str) -> str:
    found = given.get(key)
    if not isinstance(found, str):
        raise SettingsError(f"there is no “{key}” that is a text.")
    return found


def _texts(given: dict[str, Any], *keys: str) -> tuple[str, ...]:
    """What stands under these keys, each a text or a list of texts."""
    found: list[str] = []
    for key in keys:
        named = given.get(key)
        several = [named] if isinstance(named, str) else named or []
        if not isinstance(several, list) or not all(
            isinstance(each, str) and each.strip() for each in several
        ):
            raise SettingsError(f"“{key}” is neither a text nor a list of texts.")
        found += several
    return tuple(found)
