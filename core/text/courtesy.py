"""Politeness at the beginning and the end of a question, which a search does not need: “Thanks, and when …, please?”"""

from __future__ import annotations

import re

from core.text.addressee import begins_as_question
from core.text.language import language_of
from core.text.smalltalk import LONGEST
from core.text.terms import has_content

#: What only makes a request polite, by language. It goes from either end.
_POLITE = {
    "en": r"please|thanks|thank you|many thanks|thx|in advance|so much|a lot|very much",
    "de": r"bitte|danke|dankeschön|danke schön|vielen dank|besten dank|im voraus",
    "fr": r"s'il (?:te|vous) pla[iî]t|svp|stp|merci|merci beaucoup|merci d'avance",
    "es": r"por favor|porfa|gracias|muchas gracias|de antemano",
    "pt": r"por favor|obrigad[oa]|muito obrigad[oa]|desde já",
    "ja": r"(?:よろしく)?お願いします|ありがとう(?:ございます)?|すみません",
}
#: What a message begins with besides: greetings, praise and names of the bot.
_OPENING = {
    "en": r"hi|hello|hey|good (?:morning|afternoon|evening)|great|perfect|cool|nice|ok|okay|got it|there|all|team|bot|footnote",
    "de": r"hallo|moin|servus|guten (?:morgen|tag|abend)|super|perfekt|prima|alles klar|zusammen",
    "fr": r"salut|bonjour|bonsoir|parfait|d'accord|très bien|à tous",
    "es": r"hola|buenas|buenos días|buenas (?:tardes|noches)|perfecto|vale|genial",
    "pt": r"oi|olá|bom dia|boa (?:tarde|noite)|perfeito|certo|beleza|pessoal",
    "ja": r"こんにちは|こんばんは|おはよう(?:ございます)?|なるほど|了解(?:です)?",
}  # fmt: skip
#: What joins the question to them.
_JOINS = r"and|but|und|aber|et|mais|y|pero|e|mas|それで"
#: Japanese words that name nothing to search for.
_EMPTY = re.compile(
    r"[それこあ]れ|について|どう|何|なに|いつ|どこ|誰|だれ|なぜ|です|ます|でした|[はがのをにでもとかねよ]|教えて|ください"
)
_ENDS = "|".join(_POLITE.values())
_STARTS = f"{_ENDS}|{'|'.join(_OPENING.values())}"
#: Phrases at the beginning; in a script with spaces each ends with its word.
_LEADING = re.compile(
    rf"\W*(?:(?:{_STARTS})(?:(?<=[\u3040-\u9fff])|\b)[^\w¿¡]*)+(?:(?:{_JOINS})\b[^\w¿¡]*)?", re.IGNORECASE
)
#: Thanks at the end stand behind a sign; “please” need not: “how do I say thank you” is about these words.
_TRAILING = re.compile(
    rf"(?:[,.;!?？。、–—-]\s*(?:(?:{_ENDS})[\s,.;!?？。、]*)+"
    r"|\s(?:please|bitte|s'il (?:te|vous) pla[iî]t|svp|stp|por favor|porfa))\W*$",
    re.IGNORECASE,
)
_POLITE_ALONE = re.compile(rf"\W*(?:(?:{_STARTS})(?!\w)\W*)+", re.IGNORECASE)


def without_courtesy(text: str) -> str:
    """The question in a text, without thanks, greetings and “please” around it; “” where nothing else is there."""
    plain = text.replace("’", "'")  # as long as the text
    if _POLITE_ALONE.fullmatch(plain):
        return ""
    if found := _TRAILING.search(plain, max(0, len(plain) - LONGEST)):
        text, plain = text[: found.start()], plain[: found.start()]
    found = _LEADING.match(plain)  # “Cool storage” and “Hello world” keep their words
    return text[found.end() :] if found and begins_as_question(plain[found.end() :]) else text


def names_something(text: str) -> bool:
    """Whether a text without courtesy has a word that can be searched for."""
    language = language_of(text)
    told = _EMPTY.sub(" ", text) if language == "ja" else text
    return has_content(told, language)
