"""The language of a text: by its script, else by its stop words and accents.

For short questions stop words work better than letter statistics, since the other words are often English
terms. ``tests/benchmarks/languages.py`` compares: of 86 questions in seven languages this gets none wrong;
py3langid gets 2 wrong and takes 0.6 s and 136 MB to load.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

#: Languages that core/text/words has a file for. A short message, which does not show its own, is tried in this order.
WORDED = ("en", "de", "fr", "es", "pt", "ja", "zh", "it", "nl")

READ = 4_000  # characters of a text that are looked at

#: Languages with a list of stop words; of several with as many votes the first wins.
_SPOKEN = (
    "en", "de", "es", "fr", "pt", "it", "nl", "pl", "ru", "tr", "sv", "da", "no", "fi", "cs", "hu", "ro", "ca",
    "el", "uk", "bg", "sk", "id", "vi", "ar", "fa", "he", "hi",
)  # fmt: skip
#: Scripts of one language. Kana comes first, since Japanese uses Chinese characters too.
_SCRIPTS = {
    "ja": re.compile(r"[\u3041-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u3400-\u9fff\U00020000-\U0003ffff]"),
    "th": re.compile(r"[\u0e01-\u0e5b]"),
}
LANGUAGES = (*_SPOKEN, *_SCRIPTS)
#: English words that other languages' lists contain and the English list does not.
_ENGLISH_TOO = (
    "alias bare bat bravo cam car care cat cent comparable conform contra design die dig diverse dock "
    "dog door email embargo era exact fan favor final fine fins font force god gross hat hit hon hop hum kin "
    "kit lite local logo male mayor met mind mint mire mod mode multiple multiples nice pan parole pen pod "
    "premier press prima probable pure quest rare relative sale sam sap sea sense sex sin sit son spate start "
    "store sue suit tack tag tar tenant tend tied tills ton tons total unique vice vlan war word"
)
#: Votes, and times as many as for any other language, with which none of 2,794 questions is taken for another's.
SURE, SURE_SHARE = 1.0, 2.0
LEAST = 0.05  # votes a word; prose has .13, and a table of names no language: "Owner: Ada" is not Indonesian
_SHARE = 0.1  # share of a text's letters above which a script decides
_CODE = re.compile(r"```.*?```|`[^`\n]*`|<[^<>\n]*>", re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]")
#: Words of prose: not the parts of an address, an identifier or an option.
_WORD = re.compile(r"(?<![\w./:@#\\-])[^\W\d_]++(?![/@\\_\d]|[.:-]\w)")


@lru_cache(maxsize=256)
def language_of(text: str) -> str:
    """ISO 639-1; "en" when unsure."""
    prose = _CODE.sub(" ", text[:READ])
    if script := _by_script(prose):
        return script
    votes = _votes(prose)
    return max(votes, key=votes.__getitem__)


@lru_cache(maxsize=256)
def sure_language(text: str) -> str:
    """ISO 639-1; empty when unsure."""
    prose = _CODE.sub(" ", text[:READ])
    if script := _by_script(prose):
        return script
    votes = _votes(prose)
    second, first = sorted(votes.values())[-2:]
    return max(votes, key=votes.__getitem__) if first >= max(SURE, SURE_SHARE * second) else ""


@cache
def stop_words(language: str) -> frozenset[str]:
    """Words too common to search for, in lower case; none for a language without a list."""
    import stopwordsiso

    return frozenset(stopwordsiso.stopwords(language))


@cache
def words_of(section: str, name: str) -> Mapping[str, str]:
    """The phrases or the pattern of this name in core/text/words by language, its pieces put together."""
    tables = {language: each.get(section, {}) for language, each in _words().items()}
    return {language: "".join(each[name]) for language, each in tables.items() if name in each}


@cache
def _words() -> dict[str, dict[str, Any]]:
    folder = Path(__file__).with_name("words")
    return {name: tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8")) for name in WORDED}


def _by_script(text: str) -> str | None:
    if text.isascii():
        return None
    letters = len(_LETTER.findall(text))
    return next((name for name, sign in _SCRIPTS.items() if len(sign.findall(text)) > _SHARE * letters), None)


def _votes(text: str) -> dict[str, float]:
    """The votes for languages: stop words and letters in a text, each shared by the languages that have it."""
    votes, speakers = dict.fromkeys(_SPOKEN, 0.0), _speakers()
    words = Counter(_WORD.findall(text.lower()))
    for word, times in words.items():
        spoken = speakers.get(word) or ([] if word.isascii() else _writers(word))
        for name in spoken:
            votes[name] += times / len(spoken)
    is_prose = max(votes.values()) >= LEAST * words.total()
    return votes if is_prose else dict.fromkeys(_SPOKEN, 0.0)


@cache
def _speakers() -> dict[str, list[str]]:
    """The languages of each stop word."""
    found: dict[str, list[str]] = {}
    for name in _SPOKEN:
        for word in stop_words(name).union(_ENGLISH_TOO.split() if name == "en" else ()):
            found.setdefault(word, []).append(name)
    return found


@cache
def _alphabet(language: str) -> frozenset[str]:
    return frozenset("".join(stop_words(language)))


@lru_cache(maxsize=4_096)
def _writers(word: str) -> list[str]:
    """The languages that use every non-ASCII letter of a word."""
    signs = {sign for sign in word if not sign.isascii()}
    return [name for name in _SPOKEN if _alphabet(name).issuperset(signs)]
