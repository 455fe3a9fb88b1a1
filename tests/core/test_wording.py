"""What is said in six languages: tables with the same keys, all of them used."""

from __future__ import annotations

import ast
import re
import tomllib
from datetime import date
from pathlib import Path
from string import Formatter

import pytest

from bots.chat.texts import LOCALES as BOTS
from bots.chat.texts import say_in
from core.errors import SearchTrouble
from core.wording import LANGUAGES, Sentence, in_language, wording
from core.wording import LOCALES as CORE

ROOT = Path(__file__).resolve().parents[2]
NOT_SENTENCES = {"thousands", "decimal", "counted_as_one", "months", "date", "words"}


def table(folder, language):
    return tomllib.loads((folder / f"{language}.toml").read_text(encoding="utf-8"))


def placeholders(entry):
    """Of each form; "one" may spell its number out."""
    forms = entry if isinstance(entry, dict) else {"other": entry}
    return {
        name: {field for _, field, _, _ in Formatter().parse(words) if field}
        - ({"count"} if isinstance(entry, dict) else set())
        for name, words in forms.items()
    }


def strings_in(package):
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.parametrize("folder", [CORE, BOTS], ids=["core", "bots"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_the_same_things_of_the_same_things(folder, language):
    english, other = table(folder, "en"), table(folder, language)

    assert list(other) == list(english)
    for key in english.keys() - NOT_SENTENCES:
        (expected,) = {frozenset(fields) for fields in placeholders(english[key]).values()}
        assert {frozenset(fields) for fields in placeholders(other[key]).values()} == {expected}, key


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_count_has_its_words(language):
    say = say_in(language)

    for key, entry in say.entries.items():
        if isinstance(entry, dict) and key != "words":
            assert entry.keys() == ({"one", "other"} if say.entries["counted_as_one"] else {"other"}), key


def test_no_sentence_is_unused():
    used = {*strings_in("core"), *strings_in("bots")}
    said = {*table(CORE, "en"), *table(BOTS, "en")}

    # What is said of web pages is named after what is said of documents.
    assert {key for key in said - used if key.removesuffix("_web") not in used} == set()


def test_core_names_no_platform_in_any_language():
    for file in CORE.iterdir():
        assert not re.search("slack|discord", file.read_text(encoding="utf-8"), re.IGNORECASE)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sign_of_work_ends_in_dots_and_nothing_else_does(language):
    english = table(BOTS, "en")
    for key, entry in table(BOTS, language).items():
        forms = entry.values() if isinstance(entry, dict) else [entry]
        source = english[key]["other"] if isinstance(english[key], dict) and key != "words" else english[key]
        assert key == "words" or {words.endswith("…") for words in forms} == {source.endswith("…")}, key


@pytest.mark.parametrize(
    ("language", "number", "half", "day", "passages"),
    [
        ("en", "1,024", "2.5", "12 Mar 2026", "1 passage"),
        ("de", "1.024", "2,5", "12. März 2026", "1 Textstelle"),
        ("fr", "1\u202f024", "2,5", "12 mars 2026", "1 passage"),
        ("es", "1.024", "2,5", "12 de marzo de 2026", "1 pasaje"),
        ("pt", "1.024", "2,5", "12 de março de 2026", "1 trecho"),
        ("ja", "1,024", "2.5", "2026年3月12日", "1か所"),
    ],
)
def test_numbers_and_dates_as_the_language_writes_them(language, number, half, day, passages):
    say = say_in(language)

    assert (say.number(1_024), say.number(2.5), say.date(date(2026, 3, 12))) == (number, half, day)
    assert say("passages", count=1) == passages
    assert number in say("passages", count=1_024)


def test_another_language_is_answered_in_english():
    assert wording("nl")("nothing_sent") == "Nothing was sent to the web."


def test_an_error_is_told_in_the_language_of_whoever_asked():
    wait = Sentence("minutes", count=3)
    trouble = SearchTrouble(Sentence("search_rate_limited", engine="Tavily", wait=wait))

    assert str(trouble) == "Tavily is rate-limiting this machine; try again in 3 minutes."
    assert in_language(trouble.sentence, "de") == (
        "Tavily lässt von hier gerade nicht mehr Suchen zu; versuch es in 3 Minuten noch einmal."
    )
    assert in_language("what a server said", "de") == "what a server said"


def test_what_is_put_in_is_never_read_as_a_placeholder():
    assert wording("en")("web_not_enough", query="{engine}") == (
        "The web search for “{engine}” was not enough either."
    )


def keys_said(package):
    """What is named where something is said; keys that are computed are not among them."""
    for file in (ROOT / package).rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if (
                not isinstance(node, ast.Call)
                or not node.args
                or ("say_in" not in source and "Sentence" not in source)
            ):
                continue
            speaker = ast.unparse(node.func)
            if speaker in ("say", "Sentence", "self._say") or speaker.startswith(("say_in(", "wording(")):
                parts = (part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant))
                yield from (part for part in parts if isinstance(part, str))


def test_nothing_is_said_that_no_table_has():
    core, bots = table(CORE, "en").keys(), table(BOTS, "en").keys()

    assert {*keys_said("core")} <= core
    assert {*keys_said("bots")} <= core | bots
