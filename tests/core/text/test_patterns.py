"""The regular expressions of the packages mean the same in every Python 3.11.

In 3.11.0 to 3.11.4, a possessive or atomic group whose iteration fails does not go back to where that began
(cpython#106052): ``\\.(?: a(?=x))*+`` matches ". a" of ". ab". A possessive run of one character class is right.
"""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from re import _constants as codes
from re import _parser as parser
from typing import Any

import pytest

from core.text.blocks import QUOTATION_MARK

ROOT = Path(__file__).resolve().parents[3]
MODULES = [path for package in ("core", "bots") for path in sorted((ROOT / package).rglob("*.py"))]
TABLES = [path for package in ("core", "bots") for path in sorted((ROOT / package).rglob("*.toml"))]

FUNCTIONS = ("compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")
FLAGS_AT = {"compile": 1, "sub": 4, "subn": 4, "split": 3}  # the number of their argument; 2 elsewhere
COMMITTED = re.compile(r"[*+?}]\+|\(\?>")  # in a pattern, a group or a run that gives nothing back
MAY_HAVE_PATTERNS = re.compile(rf"^import re$|{COMMITTED.pattern}", re.MULTILINE)
ONE_CHARACTER = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)


def committed_groups(pattern: str, flags: int = 0) -> bool:
    """Whether more than one character is repeated possessively, or anything is atomic."""
    return any(
        code is codes.ATOMIC_GROUP or (code is codes.POSSESSIVE_REPEAT and not is_one_character(value[2]))
        for code, value in nodes(parser.parse(pattern, flags))
    )


def is_one_character(body: parser.SubPattern) -> bool:
    """Or nothing, as in "()*+,;=", the signs of addresses."""
    held = [code for code, _ in nodes(body)]
    return held == [codes.SUBPATTERN] or (len(body) == 1 and held[0] in ONE_CHARACTER)


def nodes(parsed: Any) -> Iterator[tuple[Any, Any]]:
    """Every node of a parsed pattern, with what it holds."""
    if isinstance(parsed, parser.SubPattern):
        for code, value in parsed:
            yield code, value
            yield from nodes(value)
    elif isinstance(parsed, tuple | list):
        for each in parsed:
            yield from nodes(each)


def patterns(tree: ast.Module, names: Mapping[str, Any]) -> Iterator[tuple[str, str, int]]:
    """The patterns of a module: where each stands, its text and its flags. ``names``: what the module defines.

    They are what is handed to a function of ``re``, and every other text that looks as if it were made for one.
    """
    for place, node in within(tree, "the module"):
        if is_call_of_re(node):
            yield place, written(node.args[0], names), flags_of(node, names)
        elif COMMITTED.search(constant_in(node)):
            text = written(node, names)
            yield from ((place, text, flags) for flags in (0, re.VERBOSE) if is_pattern(text, flags))


def within(node: ast.AST, place: str) -> Iterator[tuple[str, ast.AST]]:
    """Every node below, with the name of the constant or function that it is of."""
    for child in ast.iter_child_nodes(node):
        name = place
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = child.name
        elif isinstance(child, ast.Assign | ast.AnnAssign) and isinstance(node, ast.Module):
            name = ast.unparse(child.targets[0] if isinstance(child, ast.Assign) else child.target)
        yield name, child
        yield from within(child, name)


def is_call_of_re(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    is_of_re = (
        isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "re"
    )
    return is_of_re and called.attr in FUNCTIONS


def constant_in(node: ast.AST) -> str:
    """What is constant in a text; empty for what is none."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    told = (part.value for part in parts if isinstance(part, ast.Constant))
    return "".join(each for each in told if isinstance(each, str))


def written(node: ast.AST, names: Mapping[str, Any]) -> str:
    """The text that an expression stands for. What is known only when the code runs is some word in it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=value):
            return written(value, names)
        case ast.JoinedStr(values=parts):
            return "".join(written(each, names) for each in parts)
        case ast.BinOp(left=left, right=right):
            return written(left, names) + written(right, names)
    named = names.get(ast.unparse(node).removesuffix(".pattern"))
    text = named.pattern if isinstance(named, re.Pattern) else named
    return text if isinstance(text, str) else "word"


def flags_of(call: ast.Call, names: Mapping[str, Any]) -> int:
    last = FLAGS_AT.get(call.func.attr, 2)
    given = [each.value for each in call.keywords if each.arg == "flags"] or call.args[last : last + 1]
    return int(eval(compile(ast.Expression(given[0]), "<flags>", "eval"), dict(names))) if given else 0


def is_pattern(text: str, flags: int) -> bool:
    try:
        parser.parse(text, flags)
    except re.error:
        return False
    return True


def faults(path: Path, found: Iterable[tuple[str, str, int]]) -> list[str]:
    """The file, the name and the text of every pattern with a committed group, each once."""
    bad = ((name, pattern) for name, pattern, flags in found if committed_groups(pattern, flags))
    return [f"{path.relative_to(ROOT)}, {name}: {pattern}" for name, pattern in dict.fromkeys(bad)]


def texts(value: Any) -> Iterator[str]:
    """Every text of a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from texts(each)


def in_module(path: Path) -> list[str]:
    source = path.read_text(encoding="utf-8")
    if not MAY_HAVE_PATTERNS.search(source):
        return []
    name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    return faults(path, patterns(ast.parse(source), vars(importlib.import_module(name))))


def in_table(path: Path) -> list[str]:
    told = texts(tomllib.loads(path.read_text(encoding="utf-8")))
    return faults(
        path, (("a text", each, 0) for each in told if COMMITTED.search(each) and is_pattern(each, 0))
    )


def test_no_pattern_of_the_packages_repeats_a_group_possessively():
    found = [fault for path in MODULES for fault in in_module(path)]
    found += [fault for path in TABLES for fault in in_table(path)]

    assert found == []


FORBIDDEN = {
    "alone": r'_LEAD = re.compile(r"\.(?: a(?=x))*+")',
    "with a part of another": r'_GAP = re.compile(rf"(?:(?<=\n){QUOTATION_MARK}|\s)*+")',
    "as a part of another": r'_PART = r"(?:ab)?+"',
    "of several lines": '_LINES: object = re.compile(r"""(?:  # of code\n a b )++ c""", re.VERBOSE)',
    "in a table": r'TABLE = {"link": [(1, re.compile("(?i)x(?:ab|c){2,3}+"))]}',
    "in a function": r'def read(text): return re.sub("(?>ab?)", "", text, flags=re.I)',
    "with what only a function knows": r'def read(text, ids): return re.search(f"#(?:{ids})*+", text)',
    "put together": r'WORDS = re.compile("(?:a" + QUOTATION_MARK + ")*+")',
    "of what was matched": r'_SAME = re.compile(r"([ab])\1++")',
    "deep within": r'_DEEP = re.compile(r"(?=(?:a|(?:b(?:c\d)*+)))")',
}


@pytest.mark.parametrize("source", FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_possessive_group_is_found_wherever_it_stands(source):
    names = {"re": re, "QUOTATION_MARK": QUOTATION_MARK}
    name = re.match(r"(?:def )?(\w+)", source)[1]

    (fault,) = faults(ROOT / "core" / "module.py", patterns(ast.parse(source), names))

    assert fault.startswith(f"core/module.py, {name}: ")


@pytest.mark.parametrize("pattern", [r"[^\]]*+\]", r"\s++x", r"(?:a)?+", r".{2,3}+", r"(?:ab*+)*", "a+b"])
def test_a_possessive_run_of_one_class_is_none(pattern):
    assert not committed_groups(pattern)


#: Runs as the packages have them, {} in place of the run; each stands in a group that is repeated, too.
RUNS = ["a*+", "[ab]++", "[^a]?+", ".{2,3}+", r"\w{2,}+", r"[\sa]*+"]
AROUND = ["{}", "{}a", "b{}b", "(?:{}b)*a", "(?:b{}|a)+(?!b)", "(?<=a){}", "(?={}b)a", "(?i:A{}b)"]
TEXTS = ["".join(letters) for length in range(6) for letters in product("ab \n", repeat=length)]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("run", RUNS)
def test_this_python_matches_possessive_runs_right(run, around):
    """As their definition has it: what a look ahead has matched is not matched in another way."""
    possessive = re.compile(around.replace("{}", run))
    defined = re.compile(around.replace("{}", f"(?=({run[:-1]}))\\1"))

    for text in TEXTS:
        assert spans(possessive, text) == spans(defined, text), text


def spans(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [found.span() for found in pattern.finditer(text)]
