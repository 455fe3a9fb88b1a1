"""The questions of a file, and what must hold of their answers: YAML, or one JSON object a line.

A file is read as text alone: every scalar is the text that stands there, so that ``contains: 18.50`` looks for "18.50".
Anchors, tags and deep nesting, which no question needs, are refused before anything is built from them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from bots.terminal.session import conversation_named
from core.conversation import check_question, value
from core.errors import FootnoteError, SettingsError

#: Looked for where no file is named.
CASE_FILES = ("footnote-test.yaml", "footnote-test.yml", "footnote-test.jsonl")
FILE_LIMIT = 4_000_000  # bytes
DEPTH_LIMIT = 8  # of lists and mappings within each other; a list in a question is the third

Fields = list[tuple[str, Any]]  # of one question, in order; a text, a list of texts, None, or something else


@value
class Case:
    """A question, and what must hold of its answer; with nothing that must, it is only asked."""

    line: int  #: counts from 1
    id: str  #: without one, the question, with its thread and whose rights
    question: str
    thread: str = ""  #: questions of one thread are asked in order, in one conversation
    whom: str = ""  #: whose rights; empty: the operator's
    contains: tuple[str, ...] = ()  #: each stands in the answer or its quotes, as whole words
    answer: str = ""  #: the answer says what this text says
    cites: tuple[str, ...] = ()  #: one of these is cited: a document, a document#heading, or words of a quote
    unanswerable: bool | None = None  #: None: not said
    tags: tuple[str, ...] = ()  #: the groups that it is counted in

    @property
    def is_answerable(self) -> bool | None:
        """True if it must be answered, False if it must not; None: not stated."""
        if self.unanswerable is not None:
            return not self.unanswerable
        return True if self.contains or self.answer or self.cites else None


KEYS = ("id", "question", "contains", "answer", "cites", "unanswerable", "as", "thread", "tags", "note")
#: Other names for them; ``answerable`` means the opposite.
ALIASES = {
    "source": "cites",
    "sources": "cites",
    "gold": "cites",
    "kind": "tags",
    "answerable": "unanswerable",
}
_KEYS = ", ".join(KEYS)
EXPECTED = ("contains", "answer", "cites")
LISTS = frozenset({"contains", "cites", "tags"})
SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def find_files(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The files in these folders that are named as such a file is."""
    found = (folder / name for folder in folders for name in CASE_FILES)
    return tuple(dict.fromkeys(file.resolve() for file in found if file.is_file()))


def read_cases(file: Path) -> tuple[Case, ...]:
    """All questions of a file; SettingsError names every fault with its line."""
    text = _text_of(file)
    split = _yaml_fields if file.suffix.lower() in (".yaml", ".yml") else _json_fields
    found: dict[str, Case] = {}
    threads: dict[str, Case] = {}
    faults: list[str] = []
    for line, fields in split(text):
        try:
            if isinstance(fields, str):
                raise SettingsError(fields)
            case = case_of(fields, line)
            if (first := found.setdefault(case.id, case)) is not case:
                own = "its question" if case.id.endswith(case.question) else f"the id “{case.id}”"
                raise SettingsError(f"{own} is on line {first.line} already; give it another “id”.")
            if case.thread and threads.setdefault(case.thread, case).whom != case.whom:
                raise SettingsError(f"the thread “{case.thread}” is asked as somebody else before.")
        except FootnoteError as fault:
            faults.append(f"Line {line}: {fault}")
    if faults:
        raise SettingsError(f"{file} cannot be used. " + " ".join(faults))
    if not found:
        raise SettingsError(f"{file} holds no questions.")
    return tuple(found.values())


def _text_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(FILE_LIMIT + 1)
        if len(content) > FILE_LIMIT:
            raise SettingsError(f"{file} is larger than {FILE_LIMIT // 1_000_000} MB.")
        return content.decode("utf-8-sig")
    except OSError as fault:
        raise SettingsError(f"{file} cannot be read: {(fault.strerror or 'unknown').lower()}.") from fault
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise SettingsError(f"{file} cannot be used. Line {line}: not UTF-8.") from fault


# The two notations: each question as its line and its fields, or as a sentence of what is wrong there


def _json_fields(text: str) -> Iterator[tuple[int, Fields | str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            read = json.loads(line, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            read = None
        yield number, list(read) if isinstance(read, _Pairs) else "not a JSON object."


class _Pairs(tuple[Any, ...]):
    """The pairs of a JSON object, also those of the same key."""

    __slots__ = ()


def _yaml_fields(text: str) -> Iterator[tuple[int, Fields | str]]:
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # texts alone, whatever they look like
    try:
        if fault := _refused(yaml.parse(text, loader)):
            yield fault
            return
        root = yaml.compose(text, loader)
    except yaml.YAMLError as trouble:
        mark = getattr(trouble, "problem_mark", None)
        line = mark.line if mark else text.count("\n", 0, getattr(trouble, "position", 0))
        what = getattr(trouble, "problem", None) or getattr(trouble, "reason", None) or "no YAML"
        yield line + 1, f"not YAML: {what}."
        return
    if root is None:
        return
    if not isinstance(root, yaml.SequenceNode):
        yield root.start_mark.line + 1, "not a list: each question begins with “- question: …”."
        return
    for item in root.value:
        is_mapping = isinstance(item, yaml.MappingNode)
        fields = [(str(_content(key)), _content(own)) for key, own in item.value] if is_mapping else []
        yield item.start_mark.line + 1, fields if is_mapping else "not a mapping with a “question”."


def _refused(events: Iterable[Any]) -> tuple[int, str] | None:
    """The first part that no question needs."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        named = getattr(event, "anchor", None) or (getattr(event, "tag", None) or "!").lstrip("!")
        if isinstance(event, yaml.AliasEvent) or named:
            return event.start_mark.line + 1, "anchors, aliases and tags are not used here."
        if depth > DEPTH_LIMIT:
            return event.start_mark.line + 1, "too many lists within each other."
    return None


def _content(node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        is_none = node.style is None and node.value in ("", "~", "null")
        return None if is_none else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_content(each) for each in node.value]
    return {}


# One question


def case_of(fields: Fields, line: int) -> Case:
    """A question of its fields; SettingsError says what is wrong."""
    keys, given = [key for key, _ in fields], dict[str, Any]()
    for key, content in fields:
        name = ALIASES.get(key, key)
        if name not in KEYS:
            near = difflib.get_close_matches(key, (*KEYS, *ALIASES), n=1)
            raise SettingsError(
                f"there is no “{key}”; " + (f"“{near[0]}”?" if near else f"there are {_KEYS}.")
            )
        if keys.count(key) > 1 or (name in given and name not in LISTS):
            raise SettingsError(f"“{key}” is given twice.")
        if content is None or name == "note":
            continue
        read: Any = (_several if name in LISTS else _switch if name == "unanswerable" else _one)(key, content)
        is_opposite = key == "answerable"
        given[name] = (*given.get(name, ()), *read) if name in LISTS else not read if is_opposite else read
    if "question" not in given:
        raise SettingsError("“question” is missing.")
    if given.get("unanswerable") and (name := next((each for each in EXPECTED if given.get(each)), "")):
        raise SettingsError(f"what is “unanswerable” has no “{name}”.")
    return _case(given, line)


def _case(given: Mapping[str, Any], line: int) -> Case:
    thread, whom, question = given.get("thread", ""), given.get("as", ""), check_question(given["question"])
    if thread:
        conversation_named(thread)  # raises if the name is not valid
    named = ": ".join(filter(None, (f"as {whom}" if whom else "", thread, question)))
    others = {name: own for name, own in given.items() if name in (*EXPECTED, "unanswerable", "tags")}
    return Case(line=line, id=given.get("id", named), question=question, thread=thread, whom=whom, **others)


def _one(key: str, content: Any) -> str:
    if not isinstance(content, str) or not content.strip():
        raise SettingsError(f"“{key}” must be a text.")
    return content.strip()


def _several(key: str, content: Any) -> tuple[str, ...]:
    texts = content if isinstance(content, list) else [content]
    if not all(isinstance(each, str) and each.strip() for each in texts):
        raise SettingsError(f"“{key}” must be a text or a list of texts.")
    return tuple(each.strip() for each in texts)


def _switch(key: str, content: Any) -> bool:
    switch = SWITCHES.get(str(content).lower())
    if switch is None:
        raise SettingsError(f"“{key}” must be true or false.")
    return switch
