"""The intent of a message: whom it addresses, what it asks for, and what it needs of its thread.

Also what a question says without its politeness.

``core/text/words`` has the phrases and patterns, by language. What is left open here is decided by the evidence in the
documents.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from typing import Literal

from core.conversation import Exchange, ThreadMessage
from core.text.language import language_of, words_of
from core.text.terms import has_content, query_terms, terms

SmallTalk = Literal["greeting", "thanks", "help", "goodbye", "remark"]

#: ``question``: may be to the bot. ``doubtful``: a statement, or a question about what happens now: rarely to the
#: bot. ``talk``: never to the bot.
Kind = Literal["question", "doubtful", "talk"]

Intent = Literal["definition", "instruction"]

LONGEST = 120  # characters of small talk; a longer text also says something else
READ = 1_000  # characters of a message that are read
SHORT = 4  # words; a question this short needs its thread (CANARD: precision .978, recall .821)
REMEMBERED_QUESTIONS = 3  # earlier questions that are merged
REMEMBERED_ANSWER = 400  # characters of the last answer that are merged


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
    """The phrases by language, long ones first, with their kind; None for a filler."""
    kinds: dict[str, SmallTalk | None] = {
        "greeting": "greeting", "thanks": "thanks", "help": "help", "goodbye": "goodbye", "remark": "remark",
        "fillers": None,
    }  # fmt: skip
    found: dict[str, dict[str, SmallTalk | None]] = {}
    for name, kind in kinds.items():
        for language, phrases in words_of("small_talk", name).items():
            found.setdefault(language, {}).update(dict.fromkeys(map(_plain, phrases.split("|")), kind))
    return {
        name: {each: of[each] for each in sorted(of, key=len, reverse=True)} for name, of in found.items()
    }


def _plain(text: str) -> str:
    """A text in small letters, without accents and with single spaces."""
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
    """The pattern of a sign in any language, since a short message does not show its own. ``acknowledges``:
    phrases that alone need no answer; ``asks``: how a question begins that has
    no question mark; ``requests``: asks to be told something, which a bot can do; ``addresses``: speaks to a
    person; ``proposes``: suggests that people do something; ``seeks``: looks for somebody; ``knows``: looks
    for somebody who knows, which a bot may; ``present``: what is happening, which no document tells, and what
    only asks to be agreed with."""
    union = "|".join(f"(?:{pattern})" for pattern in words_of("addressee", name).values())
    if name == "acknowledges":
        union = rf"\W*(?:(?:{union})(?!\w)\W*)+"
    return re.compile(rf"{_BEFORE}(?:{union})" if name in _AT_START else union, re.IGNORECASE)


def asks(text: str) -> bool:
    """True if a text has the form of a question, or of a request to be told something."""
    said = _beginning(text)
    is_asked = _sign("asks").match(said) or _sign("requests").search(said)
    return any(sign in said for sign in "?？") or is_asked is not None


def kind_of(text: str) -> Kind:
    """The kind of a message without a mention of the bot: whether it may be a question to it."""
    said = _beginning(text)
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


def _beginning(text: str) -> str:
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
    stripped = _EMPTY.sub(" ", text) if language == "ja" else text
    return has_content(stripped, language)


def intent_of(question: str) -> Intent | None:
    """The intent of a question: how something is done, or what it is. None for “What is the size of X?”"""
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
    patterns = words_of("intent", "handing_over").values()
    return bool(asked) and any(re.fullmatch(each, asked) for each in patterns)


def asks_for_calculation(question: str) -> bool:
    """True if an answer may have to compute a figure from others."""
    patterns = words_of("intent", "calculation").values()
    return any(re.search(each, question, re.IGNORECASE) for each in patterns)


#: A number of something, and no year or version: "12 people", "12人分".
_COUNT = re.compile(r"(?<![\d.,/A-Za-z_-])(?!(?:19|20)\d\d\b)\d+(?:[.,]\d+)*\s?[^\W\d_]{2,}")


def gives_number(question: str) -> bool:
    """True if a rate may have to be multiplied by a number of the question."""
    spelled = {word for words in words_of("numbers", "from_zero").values() for word in words.split()[2:]}
    return bool(_COUNT.search(question)) or not spelled.isdisjoint(re.findall(r"\w+", question.lower()))


_POINTERS = re.compile(
    r"\b(?:it|its|they|them|their|theirs|this|that|these|those|he|she|him|her|his|hers|there|then|one|ones|"
    r"same|former|latter|else|such|instead|too|also|both|either|neither|another|previous|above)\b",
    re.IGNORECASE,
)
# "that" as a conjunction or relative pronoun, and "there is", do not point back.
_NOT_POINTERS = re.compile(
    r"\b(?:is|are|was|were)\s+there\b|\bthere\s+(?:is|are|a|any)\b|\b\w+\s+that\s+(?:\w+s|are|is|can|has|have|will)\b"
    r"|\bboth\s+\w+\s+and\b|\beither\s+\w+\s+or\b|\bthis\s+(?:file|page|project|library|framework)\b|\bone\s+of\b",
    re.IGNORECASE,
)
_OPENERS = re.compile(r"^\s*(?:and|but|or|so|what about|how about|why not|why\s*\?|then)\b", re.IGNORECASE)
_BARE = re.compile(
    r"^\s*(?:how\s+(?:many|much|long|often|far|old)|which|what\s+(?:kind|sort|type))\b", re.IGNORECASE
)
# A question that begins with a question word or verb; and one of the form “what is X”.
_WHOLE = re.compile(
    r"^\W*(?:what|who|whose|where|when|why|how|which|is|are|was|were|do|does|did|can|could|will|would|should|has|have|"
    r"wer|was|wo|wann|wie|warum|wieso|welche[rsnm]?|kann|darf|muss|ist|sind|gibt|"
    r"qui|que|où|quand|comment|pourquoi|combien|quel(?:le)?s?|"
    r"qué|quién|dónde|cuándo|cómo|cuántos?|cuál|quem|onde|quando|como|quantos?|qual)\b",
    re.IGNORECASE,
)
_SUBSTITUTION = re.compile(
    r"^\W*(?:(?:and|or|but|und|oder|aber|et|ou|mais|y|o|pero|e)\b(?!\W*(?:what|how) about\b)|"
    r"(?:(?:and|but)\s+)?(?:what|how) about\b|(?:und\s+)?(?:was ist|wie (?:ist es|sieht es)) mit\b)",
    re.IGNORECASE,
)
_OF_ONE = re.compile(
    r"^\s*(?:what|who|where|when|how)(?:'s|\s+(?:is|are|was|were))\s+(?!(?:more|most|less|least|better|best|worse)\b)\w",
    re.IGNORECASE,
)


@cache
def _pointers_of(language: str) -> re.Pattern[str] | None:
    """Pointer words anywhere, and openers at the beginning; None for English and languages without words of theirs."""
    pointers, openers = (words_of("follow_up", name).get(language) for name in ("pointers", "openers"))
    return re.compile(rf"{pointers}|^\W*(?:{openers})", re.IGNORECASE) if pointers else None


def needs_history(question: str, known: Collection[str] = ()) -> bool:
    """True if a question points back, or has at most four words and does not stand alone. ``known``: terms
    that the documents have."""
    return points_back(question) or (_words(question) <= SHORT and not _stands_alone(question, known))


def is_whole(question: str) -> bool:
    """True if it begins like a full question and names its subject."""
    return bool(_WHOLE.match(question)) and names_its_subject(question)


def _stands_alone(question: str, known: Collection[str]) -> bool:
    """True if a short question is complete and the documents know its words: “How fast is ingestion?”"""
    own = query_terms(question, language_of(question))
    is_found = all(term in known for term in own)
    return bool(is_whole(question) and is_found and (len(own) > 1 or _OF_ONE.match(question)))


def points_back(question: str) -> bool:
    """True if a word of the question refers to its history."""
    if elsewhere := _pointers_of(language_of(question)):
        return bool(elsewhere.search(question))
    return bool(_POINTERS.search(_NOT_POINTERS.sub(" ", question)) or _OPENERS.match(question))


def replaces_subject(question: str) -> bool:
    """True if it only names what takes the place of the subject before it: “And of mercury?”."""
    opened = _SUBSTITUTION.match(question)
    rest = question[opened.end() :] if opened else ""
    words = re.findall(r"\w+", rest)
    return bool(words) and not any(map(_WHOLE.match, words)) and not _POINTERS.search(rest)


def names_its_subject(question: str) -> bool:
    """True if it names a subject for later questions; “How many people?” does not."""
    return not points_back(question) and not (_words(question) < SHORT and _BARE.match(question))


def _words(question: str) -> int:
    """The number of words; of character pairs in a script without spaces."""
    return len(question.split()) if question.isascii() else max(len(question.split()), len(terms(question)))


def subjects(messages: Sequence[ThreadMessage]) -> tuple[ThreadMessage, ...]:
    """The questions among the messages; all messages if there are none."""
    questions = tuple(message for message in messages if "?" in message.text)
    return questions or tuple(messages)


def recent_questions(history: Sequence[Exchange]) -> str:
    """The last few questions, one a line."""
    return "\n".join(exchange.question for exchange in history[-REMEMBERED_QUESTIONS:])


def with_earlier(question: str, history: Sequence[Exchange]) -> str:
    """A question below those before it, if it needs them: “And the year before?”"""
    return f"{recent_questions(history)}\n{question}" if needs_history(question) else question


def recent_sources(history: Sequence[Exchange]) -> tuple[str, ...]:
    """The sources of the last answer with sources."""
    return next((exchange.sources for exchange in reversed(history) if exchange.sources), ())


def merge_history(question: str, history: Sequence[Exchange]) -> str:
    """The earlier questions, the beginning of the last answer, and the question."""
    last_answer = history[-1].answer[:REMEMBERED_ANSWER] if history else ""
    return "\n".join(part for part in (recent_questions(history), last_answer, question) if part)
