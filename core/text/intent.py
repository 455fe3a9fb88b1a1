"""The intent of a message: small talk, said to the bot or to people, and what a question is after; and what a question
says once its politeness is taken away.

``core/text/words`` has the phrases and patterns, by language. What is left open here is decided by the evidence in the
documents.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

from core.text.language import language_of, words_of
from core.text.terms import has_content

SmallTalk = Literal["greeting", "thanks", "help", "goodbye", "remark"]

#: ``question``: may be to the bot. ``doubtful``: a statement, or a question about what happens now: seldom to the
#: bot. ``talk``: never to the bot.
Kind = Literal["question", "doubtful", "talk"]

Intent = Literal["definition", "instruction"]

LONGEST = 120  # characters of small talk; a longer text also says something else
READ = 1_000  # characters of a message that are read


def small_talk(text: str) -> str | None:
    """The reply to a greeting, thanks or goodbye, in its language; None for any other text."""
    found = _small_talk_in(text)
    return words_of("replies", found[1])[found[0]] if found else None


def small_talk_language(text: str) -> str | None:
    """The language of small talk, which is often too short for :func:`language_of`: “Danke!”"""
    found = _small_talk_in(text)
    return found[0] if found else None


def _small_talk_in(text: str) -> tuple[str, SmallTalk] | None:
    """Its language and its kind; None where a text says anything else."""
    plain_text = _plain(text) if len(text) <= LONGEST else ""
    for language, known in _phrases().items():
        if kinds := _kinds(plain_text, known):
            rest: list[SmallTalk] = [kind for kind in kinds if kind != "remark"]  # "Thanks, lol"
            kind = rest[-1] if rest else "remark"
            asks = kind == "thanks" and "?" in plain_text  # "Works now?"
            return None if asks else (language, kind)
    return None


def _kinds(text: str, known: dict[str, SmallTalk | None]) -> list[SmallTalk]:
    """The kinds of the phrases in a text; none if it holds anything else."""
    kinds: list[SmallTalk] = []
    position = 0
    while position < len(text):
        if not text[position].isalnum():
            position += 1
            continue
        here = (each for each in known if text.startswith(each, position))
        # None ends inside a word, except in a script without spaces.
        ends = ((each, text[position + len(each) :][:1]) for each in here)
        phrase = next((each for each, after in ends if not (after.isascii() and after.isalnum())), None)
        if phrase is None:
            return []
        if kind := known[phrase]:
            kinds.append(kind)
        position += len(phrase)
    return kinds


@cache
def _phrases() -> dict[str, dict[str, SmallTalk | None]]:
    """By language its phrases, long ones first, with their kind; None for a filler."""
    kinds: dict[str, SmallTalk | None] = {
        "greeting": "greeting", "thanks": "thanks", "help": "help", "goodbye": "goodbye", "remark": "remark",
        "fillers": None,
    }  # fmt: skip
    found: dict[str, dict[str, SmallTalk | None]] = {}
    for name, kind in kinds.items():
        for language, phrases in words_of("small_talk", name).items():
            found.setdefault(language, {}).update(dict.fromkeys(map(_plain, phrases.split("|")), kind))
    return {
        language: dict(sorted(of.items(), key=lambda pair: -len(pair[0]))) for language, of in found.items()
    }


def _plain(text: str) -> str:
    """In small letters, without accents and with single spaces."""
    apart = unicodedata.normalize("NFKD", text.replace("’", "'").casefold())
    return " ".join("".join(sign for sign in apart if not unicodedata.combining(sign)).split())


#: What may stand before a sign of a message that stands at its beginning.
_BEFORE = (
    r"^\W*(?:(?:and|but|so|or|then|also|oh|ok|und|aber|oder|also|et|mais|alors|y|pero|entonces|e|mas)\b\W+)?"
)
#: The signs that stand at the beginning of a message; others may stand anywhere.
_AT_START = frozenset({"asks", "proposes", "seeks"})
#: A person's name before a comma, or after the last one.
_NAME = re.compile(
    r"^\W*(?:hey |hi |hallo |salut |hola )?[A-ZÀ-Þ][a-zß-ÿ-]+,\s|,\s*[A-ZÀ-Þ][a-zß-ÿ-]+\s*[?!.]*$"
)
_MENTION = re.compile(r"(?<![\w/.])@\w|<@|@(?:here|everyone|channel)\b")
_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)


@cache
def _sign(name: str) -> re.Pattern[str]:
    """The pattern of a sign in any language, since a short message does not show its own.

    ``acknowledges``: phrases of which a message may consist that calls for no answer; ``asks``: how a question begins
    that has no question mark; ``requests``: asks to be told something, which a bot can do; ``addresses``: speaks to a
    person; ``proposes``: suggests that people do something; ``seeks``: looks for somebody; ``knows``: looks for
    somebody who knows, which a bot may; ``present``: what is happening, which no document tells, and what only asks to
    be agreed with.
    """
    union = "|".join(f"(?:{pattern})" for pattern in words_of("addressee", name).values())
    if name == "acknowledges":
        union = rf"\W*(?:(?:{union})(?!\w)\W*)+"
    return re.compile(rf"{_BEFORE}(?:{union})" if name in _AT_START else union, re.IGNORECASE)


def asks(text: str) -> bool:
    """True if a text has the form of a question, or of a request to be told something."""
    said = _said(text)
    return (
        any(sign in said for sign in "?？")
        or bool(_sign("asks").match(said))
        or bool(_sign("requests").search(said))
    )


def kind_of(text: str) -> Kind:
    """The kind of a message without a mention of the bot: whether it may be a question to it."""
    said = _said(text)
    if is_acknowledgement(text) or _MENTION.search(said):
        return "talk"
    first, sign, rest = said.partition(",")  # "Thanks, and how long?" asks how long
    rest = rest.strip() if sign and is_acknowledgement(first) and rest.strip() else said
    if (name := _NAME.search(rest)) and not _sign("asks").match(name[0].replace(",", " ")):
        return "talk"
    is_for_people = (
        _sign("addresses").search(rest)
        or _sign("proposes").match(rest)
        or (_sign("seeks").match(rest) and not _sign("knows").search(rest))
    )
    if is_for_people and not _sign("requests").search(rest):
        return "talk"
    return "question" if asks(rest) and not _sign("present").search(rest) else "doubtful"


def is_acknowledgement(text: str) -> bool:
    """True if a text calls for no answer: it has no words, or only thanks, agrees or greets."""
    if not any(sign.isalnum() for sign in text):
        return True
    talk = _small_talk_in(text)
    is_courtesy = talk is not None and talk[1] != "help"
    return len(text) <= LONGEST and (bool(_sign("acknowledges").fullmatch(text)) or is_courtesy)


def _said(text: str) -> str:
    """Its beginning, without code and addresses."""
    return _NOT_SAID.sub(" ", text)[:READ].replace("’", "'").strip()


#: What joins a question to the courtesy before it.
_JOINS = r"and|but|und|aber|et|mais|y|pero|e|mas|それで"
#: Japanese words that name nothing to search for.
_EMPTY = re.compile(
    r"[それこあ]れ|について|どう|何|なに|いつ|どこ|誰|だれ|なぜ|です|ます|でした|[はがのをにでもとかねよ]|教えて|ください"
)


@cache
def _courtesy() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A text of nothing else, courtesy at the beginning, and at the end."""
    ends = "|".join(words_of("courtesy", "polite").values())
    starts = f"{ends}|{'|'.join(words_of('courtesy', 'opening').values())}"
    patterns = (
        rf"\W*(?:(?:{starts})(?!\w)\W*)+",
        # In a script with spaces each phrase ends with its word.
        rf"\W*(?:(?:{starts})(?:(?<=[\u3040-\u9fff])|\b)[^\w¿¡]*)+(?:(?:{_JOINS})\b[^\w¿¡]*)?",
        # Thanks at the end stand behind a sign; “please” need not: “how do I say thank you” is about these words.
        (
            rf"(?:[,.;!?？。、–—-]\s*(?:(?:{ends})[\s,.;!?？。、]*)+"
            r"|\s(?:please|bitte|s'il (?:te|vous) pla[iî]t|svp|stp|por favor|porfa))\W*$"
        ),
    )
    alone, leading, trailing = (re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    return alone, leading, trailing


def without_courtesy(text: str) -> str:
    """The question in a text, without thanks, greetings and “please” around it; “” where nothing else is there."""
    alone, leading, trailing = _courtesy()
    plain = text.replace("’", "'")  # as long as the text
    if alone.fullmatch(plain):
        return ""
    if found := trailing.search(plain, max(0, len(plain) - LONGEST)):
        text, plain = text[: found.start()], plain[: found.start()]
    found = leading.match(plain)  # “Cool storage” and “Hello world” keep their words
    return text[found.end() :] if found and _sign("asks").match(plain[found.end() :]) else text


def names_something(text: str) -> bool:
    """True if a text without courtesy has a word that can be searched for."""
    language = language_of(text)
    told = _EMPTY.sub(" ", text) if language == "ja" else text
    return has_content(told, language)


def intent_of(question: str) -> Intent | None:
    """To be told how something is done, or what it is: “What is X?” and not “What is the size of X?”"""
    # A short question may pass for another language, so the English patterns count too.
    languages = {language_of(question), "en"}
    asked = question.strip(" ¿¡\"'“„«*_-–\n\t").lower()
    kinds: tuple[Intent, ...] = ("instruction", "definition")
    for kind in kinds:
        patterns = words_of("intent", kind)
        if any(re.match(patterns[name], asked) for name in languages & patterns.keys()):
            return kind
    return None


#: A question word, of the six languages.
_OPEN = re.compile(
    r"\b(?:what(?:['’]?s)?|how|why|where|when|which|who|whom|whose|was|wie|warum|wieso|wo|wann|welche[rsnm]?|wer|"
    r"que|qu['’]|comment|pourquoi|où|quand|quel(?:le)?s?|qui|qué|cómo|por qué|dónde|cuándo|cuál(?:es)?|quién|"
    r"como|onde|quando|qual|quais|quem)\b|何|なに|どう|なぜ|どこ|いつ|誰|どの|とは|方法",
    re.IGNORECASE,
)


def is_open(question: str) -> bool:
    """True if it asks for more than yes or no."""
    return _OPEN.search(question) is not None


def hands_over(question: str) -> bool:
    """True if it only asks to answer a message beside it: “Can you answer this?”"""
    asked = without_courtesy(question).strip(" ¿¡?!.,:;…、。\"'“„«*_-–\n\t").lower()
    return bool(asked) and any(
        re.fullmatch(each, asked) for each in words_of("intent", "handing_over").values()
    )


def asks_for_calculation(question: str) -> bool:
    """True if an answer may have to compute a figure from others."""
    patterns = words_of("intent", "calculation").values()
    return any(re.search(each, question, re.IGNORECASE) for each in patterns)
