"""The intent of a question: to know what something is, how something is done, or that a message beside it is answered;
and what it says once its politeness is taken away.
"""

from __future__ import annotations

import re
from typing import Literal

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
    """True if a text without courtesy has a word that can be searched for."""
    language = language_of(text)
    told = _EMPTY.sub(" ", text) if language == "ja" else text
    return has_content(told, language)


Intent = Literal["definition", "instruction"]

#: “What is X?” and not “What is the size of X?”, by language.
_DEFINITION = {
    "en": r"what(?:['’]?s| is| are| exactly is| exactly are) (?!the\b|our\b|my\b|your\b|their\b|his\b|her\b|this\b|that\b|these\b|those\b|it\b|there\b|\w+ing\b)"
    r"(?!.*\b(?:for|of|in|on|at|by|when|if)\b)|what does .+ (?:mean|do)\b|(?:define|explain)\b|what (?:is|are) (?:a|an)\b",
    "de": r"was (?:ist|sind) (?!der\b|die\b|das\b|mit\b|los\b)|was (?:bedeutet|heißt|macht)\b|erkläre?\b",
    "fr": r"qu['’]est[- ]ce (?:que|qu['’])|c['’]est quoi|que (?:signifie|veut dire)\b|expliquez?\b",
    "es": r"qué (?:es|son) (?!el\b|la\b|los\b|las\b)|qué (?:significa|quiere decir|hace)\b|explica\b",
    "pt": r"(?:o )?que (?:é|são) (?!o\b|a\b|os\b|as\b)|o que (?:significa|quer dizer|faz)\b|explique\b",
    "ja": r".*(?:とは(?:何|なに|なん|どういう)?|って(?:何|なに|なん)|の意味)",
}
#: “How do I …?” and not “How does it …?” or “How many …?”.
_INSTRUCTION = {
    "en": r"(?:.*\b)?how (?:(?:do|can|could|should|would|might|must) (?:i|we|you|one|people|someone|somebody)|to)\b"
    r"|what(?:['’]?s| is) the (?:best |right |easiest |correct )?way to\b",
    "de": r"(?:.*\b)?wie (?:kann|könnte|können|soll|sollen|muss|müssen|darf|\w+e|\w+en) (?:ich|wir|man)\b|(?:.*\b)?wie (?:ich|wir|man)\b",
    "fr": r"(?:.*\b)?comment (?:\w+er|\w+ir|\w+re|(?:\w+-)?(?:je|on|nous)|(?:puis|peut|dois|doit|faut)\b|faire)\b",
    "es": r"(?:.*\b)?cómo (?:\w+[aei]r(?:lo|la|me|se)?|puedo|podemos|se puede|debo|hago|se \w+|\w+o)\b",
    "pt": r"(?:.*\b)?como (?:\w+[aei]r|posso|podemos|se pode|devo|faço|\w+o)\b",
    "ja": r".*(?:どうやって|どうすれば|どのように|方法|やり方|手順)",
}


def intent_of(question: str) -> Intent | None:
    language = language_of(question)
    asked = question.strip(" ¿¡\"'“„«*_-–\n\t").lower()
    if _matches(_INSTRUCTION, asked, language):
        return "instruction"
    return "definition" if _matches(_DEFINITION, asked, language) else None


def _matches(patterns: dict[str, str], asked: str, language: str) -> bool:
    """By the language's own pattern; a short question may pass for another language, so the English one counts too."""
    return any(re.match(patterns[name], asked) is not None for name in {language, "en"} if name in patterns)


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


#: “Can you answer this?”, and nothing that it asks itself, by language.
_HANDING_OVER = {
    "en": r"(?:(?:can|could|would|will) (?:you|anyone|anybody|someone|somebody|we|it) )?(?:please )?"
    r"(?:answer|help(?: (?:me|us|him|her|them|out|here))*(?: with)?|take|handle|look (?:at|into)|check|explain|reply to|respond to)"
    r"(?: (?:this|that|it|these|the)(?: (?:one|question|message|above|thread))?(?: above)?)?(?: for (?:me|us|him|her|them))?"
    r"|(?:any|your) (?:idea|ideas|thoughts|answer|answers|help|clue)(?: (?:on|about|for|with|to) (?:this|that|it))?"
    r"|do you know (?:this|that|the answer)(?: (?:one|to (?:this|that)))?|what do you (?:say|think)(?: (?:to|about|of) (?:this|that))?"
    r"|(?:see|question) above|thoughts|what about (?:this|that)(?: one)?",
    "de": r"(?:(?:kannst|könntest|können|könnten|könnt|weißt|wissen) (?:du|sie|ihr|jemand|wir) )?(?:bitte |mal )*"
    r"(?:(?:das|dies|dies[er]* frage|die frage|hier|da|dazu|darauf|ihm|ihr|ihnen|uns|mir)(?: oben)? ?)*(?:bitte |mal |kurz )*"
    r"(?:beantworte[n]?|antworten|helfen|weiterhelfen|etwas (?:dazu )?sagen|erklären|das)",
    "fr": r"(?:(?:peux|peut|pourrais|pouvez|pourriez)-(?:tu|on|vous) |(?:tu|vous|on) (?:peux|peut|pouvez) )(?:m['’]|nous |me |y )?(?:répondre|aider|expliquer)"
    r"(?: (?:à |avec )?(?:ça|cela|ceci|cette question|la question|lui|ce message))?|une idée",
    "es": r"¿?(?:(?:puedes|podrías|puede|podría|podéis|pueden|alguien puede) )(?:responder|contestar|ayudar(?:me|nos)?|explicar)(?:lo|la|le)?"
    r"(?: (?:a |con )?(?:esto|eso|ello|esta pregunta|la pregunta))?|alguna idea",
    "pt": r"(?:(?:você|alguém) )?(?:pode|poderia|consegue) (?:responder|ajudar|explicar)(?: (?:a |com )?(?:isso|isto|essa pergunta|esta pergunta|a pergunta))?"
    r"|alguma ideia",
    "ja": r"(?:これ|それ|この(?:質問|件)|上の(?:質問)?|上記)?(?:に|を|について)?(?:答えて|回答|教えて|お願い|わかり|分かり)(?:もらえ|くれ|いただけ|でき|ください|ます|し|る|ま|せん|か|？|\?)*",
}  # fmt: skip
_ALL_HANDING_OVER = re.compile("|".join(f"(?:{each})" for each in _HANDING_OVER.values()))


def hands_over(question: str) -> bool:
    """True if it only asks to answer a message beside it."""
    asked = without_courtesy(question).strip(" ¿¡?!.,:;…、。\"'“„«*_-–\n\t").lower()
    return bool(asked) and _ALL_HANDING_OVER.fullmatch(asked) is not None


#: That something is to be computed, by language.
_CALCULATION = {
    "en": r"\b(?:by how much|how (?:much|many|far) (?:more|less|fewer|higher|lower|larger|smaller|faster|longer)|percent(?:age)?|per cent|"
    r"(?:gr[eo]w|growth|increased?|decreased?|rose|rise|fell|dropped|changed?|declined?)\b.*\b(?:by|rate|since|from|between|over)|ratio|share of|"
    r"average|mean (?:of|value)|on average|altogether|in total|total|sum|difference between|compared (?:to|with)|times (?:as|more)|combined|calculate|compute)\b|%",
    "de": r"\b(?:um wie ?viel|wie ?viel (?:mehr|weniger|höher|niedriger|größer|kleiner|länger)|prozent\w*|gewachsen|gestiegen|gesunken|gefallen|zugenommen|"
    r"abgenommen|wachstum\w*|verhältnis|anteil|durchschnitt\w*|im (?:schnitt|mittel)|mittelwert|insgesamt|zusammen|summe|differenz|unterschied zwischen|"
    r"verglichen|im vergleich|(?:be|aus)?rechne\w*)\b",
    "fr": r"\b(?:de combien|combien (?:de )?(?:plus|moins)|pour ?cent\w*|augment\w+|diminu\w+|croissance|baissé|rapport entre|ratio|part (?:de|du)|moyenne|"
    r"au total|somme|différence entre|par rapport|calcul\w*)\b",
    "es": r"\b(?:en cuánto|cuánt[oa]s? (?:más|menos)|por ciento|porcentaje|creci\w+|aument\w+|disminuy\w+|bajó|subió|proporción|ratio|promedio|media|en total|"
    r"suma|diferencia entre|en comparación|calcul\w+)\b",
    "pt": r"\b(?:em quanto|quant[oa]s? (?:mais|menos)|quanto (?:cresceu|aumentou|caiu|subiu)|por cento|porcentagem|percentagem|cresc\w+|aument\w+|diminu\w+|caiu|"
    r"proporção|razão entre|média|no total|soma|diferença entre|em comparação|calcul\w+)\b",
    "ja": r"何(?:%|％|パーセント|倍|割|ポイント)|(?:どれ|どの)(?:だけ|くらい|ぐらい|ほど)(?:増|減|伸|上|下|多|少)|平均|合計|比率|割合|差(?:は|を|が)|伸び率|増減|計算",
}  # fmt: skip
_ALL_CALCULATION = re.compile("|".join(_CALCULATION.values()), re.IGNORECASE)


def asks_for_calculation(question: str) -> bool:
    """True if an answer may have to compute a figure from others."""
    return _ALL_CALCULATION.search(question) is not None
