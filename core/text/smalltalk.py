"""Small talk, which needs no document: greetings, thanks, goodbyes, remarks, and the replies to them."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Literal, NamedTuple

Kind = Literal["greeting", "thanks", "help", "goodbye", "remark"]

LONGEST = 120  # characters; a longer text also says something else


class _SmallTalk(NamedTuple):
    """The phrases of a language, separated by bars, and the replies."""

    greeting: str
    thanks: str
    help: str
    goodbye: str
    remark: str  #: says nothing that a document could answer; the reply is the one to the other phrases
    fillers: str  #: phrases without a kind
    replies: dict[Kind, str]


_SMALL_TALK: dict[str, _SmallTalk] = {
    "en": _SmallTalk(
        greeting="hi|hello|hey|hiya|good morning|good afternoon|good evening|how are you|how are you doing|how is it going|"
        "how's it going|what's up|nice to meet you",
        thanks="thanks|thank you|thx|ty|cheers|great|perfect|cool|nice|super|awesome|ok|okay|got it|solved|all good|"
        "well done|good job|great job|nice work|good bot|brilliant|excellent|wonderful|amazing|"
        "works|worked|works fine|helps|helped",
        help="who are you|what are you|what can you do|help",
        goodbye="bye|bye bye|goodbye|see you|see ya|good night|take care|have a nice day|have a good weekend|i'm off|i am off|"
        "i'm out|i'm leaving|i am leaving|i'm going home|i am going home|going home|heading home|i'm heading home|"
        "i have to go|i need to go|gotta go|i'm done for today|signing off|talk to you",
        remark="lol|haha|hahaha|wow|oh|hm|hmm|never mind|nevermind|just testing|just kidding|what a day|i'm back|i am back|"
        "i'm tired|i'm hungry|good luck|congratulations|congrats|no worries|my bad|interesting|i see",
        fillers="many|there|all|everyone|everybody|team|folks|again|bot|footnote|a lot|so much|very much|later|soon|"
        "tomorrow|for the help|for your help|for the answer|for your answer|it|that|this|now|and|anyway|anyways|though|all the same|for trying|for looking|for checking",
        replies={
            "greeting": "Hello. Ask me something about your documents.",
            "thanks": "You are welcome.",
            "help": "I answer questions from your documents, with a footnote for every claim. When they are not enough, "
            "I ask before I search the web.",
            "goodbye": "Goodbye.",
            "remark": "I am here when you have a question about your documents.",
        },
    ),
    "de": _SmallTalk(
        greeting="hi|hallo|hey|moin|servus|grüß dich|grüß euch|grüß gott|guten morgen|guten tag|guten abend|wie geht's|wie gehts|wie geht es",
        thanks="danke|dank|dankeschön|super|perfekt|prima|klasse|toll|großartig|wunderbar|gut gemacht|guter bot|passt|cool|ok|okay|alles klar|klappt|"
        "klappt's|geklappt|funktioniert|geht|geht's|läuft|geholfen|hilft|gelöst|erledigt",
        help="wer bist du|was kannst du|was machst du|hilfe",
        goodbye="tschüss|tschüß|tschüssi|auf wiedersehen|ciao|bis dann|bis bald|bis später|bis morgen|gute nacht|schönen feierabend|"
        "feierabend|schönes wochenende|ich bin weg|bin weg|bin dann mal weg|ich gehe nach hause|ich geh nach hause|ich muss los|muss los",
        remark="lol|haha|hahaha|wow|oh|hm|hmm|egal|schon gut|nur ein test|war nur spaß|was für ein tag|bin wieder da|ich bin müde|"
        "ich habe hunger|viel glück|viel erfolg|glückwunsch|herzlichen glückwunsch|interessant|ach so",
        fillers="vielen|lieben|besten|herzlichen|zusammen|allerseits|alle|team|leute|nochmal|nochmals|schön|sehr|gut|dir|"
        "euch|ihnen|bot|footnote|für die hilfe|für deine hilfe|für ihre hilfe|für die antwort|es|das|hat|jetzt|nun|wieder|mir|und|trotzdem|dennoch|jedenfalls|fürs nachsehen",
        replies={
            "greeting": "Hallo. Frag mich etwas zu deinen Dokumenten.",
            "thanks": "Gern geschehen.",
            "help": "Ich beantworte Fragen aus deinen Dokumenten, mit einer Fußnote für jede Aussage. Wenn sie nicht "
            "ausreichen, frage ich, bevor ich im Web suche.",
            "goodbye": "Bis bald.",
            "remark": "Ich bin da, wenn du eine Frage zu deinen Dokumenten hast.",
        },
    ),
    "fr": _SmallTalk(
        greeting="salut|bonjour|bonsoir|coucou|hello|ça va|comment ça va|comment vas-tu|comment allez-vous|enchanté",
        thanks="merci|super|parfait|bravo|bien joué|excellent|génial|nickel|cool|ok|d'accord|très bien|ça marche|ça fonctionne|ça a marché|"
        "c'est bon|c'est parfait|résolu",
        help="qui es-tu|qui êtes-vous|que peux-tu faire|que sais-tu faire|que pouvez-vous faire|aide",
        goodbye="au revoir|à bientôt|à plus|à plus tard|à demain|bonne journée|bonne soirée|bonne nuit|bon week-end|je pars|je m'en vais|"
        "j'y vais|je rentre|je rentre chez moi|je dois y aller|je file",
        remark="lol|mdr|haha|wow|oh|hum|laisse tomber|peu importe|c'est un test|je plaisante|quelle journée|je suis de retour|"
        "je suis fatigué|je suis fatiguée|j'ai faim|bonne chance|félicitations|intéressant|je vois",
        fillers="un grand|tout le monde|tous|à tous|à toi|à vous|l'équipe|beaucoup|bien|encore|mille fois|bot|footnote|"
        "pour l'aide|pour votre aide|pour ton aide|pour la réponse|maintenant|et|quand même|tout de même|malgré tout",
        replies={
            "greeting": "Bonjour. Pose-moi une question sur tes documents.",
            "thanks": "Avec plaisir.",
            "help": "Je réponds aux questions à partir de tes documents, avec une note pour chaque affirmation. Quand ils "
            "ne suffisent pas, je demande avant de chercher sur le web.",
            "goodbye": "Au revoir.",
            "remark": "Je suis là si tu as une question sur tes documents.",
        },
    ),
    "es": _SmallTalk(
        greeting="hola|buenas|buenos días|buenas tardes|buenas noches|qué tal|cómo estás|cómo está|encantado|encantada",
        thanks="gracias|perfecto|bien hecho|buen trabajo|genial|estupendo|excelente|vale|listo|ok|de acuerdo|muy bien|funciona|funcionó|resuelto",
        help="quién eres|qué puedes hacer|qué haces|ayuda",
        goodbye="adiós|chao|hasta luego|hasta pronto|hasta mañana|nos vemos|me voy|me voy a casa|ya me voy|tengo que irme|buen fin de semana|"
        "que descanses",
        remark="lol|jaja|jajaja|vaya|oh|mm|da igual|no importa|es una prueba|es broma|qué día|ya estoy aquí|estoy cansado|estoy cansada|"
        "tengo hambre|buena suerte|suerte|felicidades|enhorabuena|interesante|ya veo",
        fillers="muchas|mil|a todos|a todas|todos|todas|equipo|otra vez|de nuevo|bot|footnote|por la ayuda|por tu ayuda|"
        "por su ayuda|por la respuesta|ya|ahora|y|de todos modos|de todas formas|igualmente",
        replies={
            "greeting": "Hola. Pregúntame algo sobre tus documentos.",
            "thanks": "De nada.",
            "help": "Respondo preguntas a partir de tus documentos, con una nota al pie para cada afirmación. Cuando no "
            "bastan, pregunto antes de buscar en la web.",
            "goodbye": "Hasta luego.",
            "remark": "Aquí estoy si tienes una pregunta sobre tus documentos.",
        },
    ),
    "pt": _SmallTalk(
        greeting="oi|olá|bom dia|boa tarde|boa noite|e aí|tudo bem|como vai|como vai você|prazer",
        thanks="obrigado|obrigada|valeu|bom trabalho|excelente|muito bom|perfeito|ótimo|beleza|certo|ok|muito bem|funciona|funcionou|deu certo|"
        "resolvido",
        help="quem é você|o que você faz|o que você pode fazer|ajuda",
        goodbye="tchau|adeus|até logo|até mais|até amanhã|até breve|vou embora|vou para casa|estou indo|estou saindo|"
        "tenho que ir|bom fim de semana|bom descanso",
        remark="lol|kkk|kkkk|nossa|oh|hum|deixa pra lá|tanto faz|é só um teste|brincadeira|que dia|voltei|estou cansado|estou cansada|"
        "estou com fome|boa sorte|parabéns|interessante|entendi",
        fillers="muito|a todos|a todas|pessoal|gente|equipe|de novo|bot|footnote|pela ajuda|pela resposta|agora|e|já|mesmo assim|de qualquer forma",
        replies={
            "greeting": "Olá. Pergunte-me algo sobre os seus documentos.",
            "thanks": "De nada.",
            "help": "Respondo a perguntas a partir dos seus documentos, com uma nota de rodapé para cada afirmação. Quando "
            "não bastam, pergunto antes de pesquisar na web.",
            "goodbye": "Até logo.",
            "remark": "Estou aqui se tiver uma pergunta sobre os seus documentos.",
        },
    ),
    "ja": _SmallTalk(
        greeting="こんにちは|こんばんは|おはよう|おはようございます|はじめまして|元気ですか|お元気ですか|元気|よろしく|よろしくお願いします",
        thanks="ありがとう|ありがとうございます|ありがとうございました|どうも|感謝します|助かりました|すごい|すごいです|さすが|完璧|完璧です|了解|了解です|"
        "了解しました|動きました|うまくいきました|できました|解決しました|ok|okです|なるほど",
        help="誰ですか|何ができますか|ヘルプ",
        goodbye="さようなら|さよなら|またね|また明日|また後で|お疲れ様|お疲れ様です|お疲れ様でした|おやすみ|おやすみなさい|帰ります|帰る|もう帰ります|"
        "お先に失礼します|失礼します|行ってきます|良い週末を",
        remark="笑|草|うける|へえ|ふーん|気にしないで|テストです|冗談です|ただいま|疲れた|疲れました|お腹すいた|頑張って|おめでとう|おめでとうございます",
        fillers="皆さん|みなさん|みんな|本当に|あなたは|ね|よ|とにかく|それでも|ともかく",
        replies={
            "greeting": "こんにちは。ドキュメントについて何でも聞いてください。",
            "thanks": "どういたしまして。",
            "help": "ドキュメントに基づいて質問に答え、すべての記述に脚注を付けます。足りないときは、ウェブを検索する前に確認します。",
            "goodbye": "さようなら。",
            "remark": "ドキュメントについて質問があれば、いつでもどうぞ。",
        },
    ),
}


def small_talk(text: str) -> str | None:
    """The reply to a greeting, thanks or goodbye, in its language; None for any other text."""
    found = _found(text)
    return _SMALL_TALK[found[0]].replies[found[1]] if found else None


def is_courtesy(text: str) -> bool:
    """True if it only greets, thanks, says goodbye or remarks."""
    found = _found(text)
    return found is not None and found[1] != "help"


def small_talk_language(text: str) -> str | None:
    """The language of small talk, which is often too short for :func:`language_of`: “Danke!”"""
    found = _found(text)
    return found[0] if found else None


def _found(text: str) -> tuple[str, Kind] | None:
    plain_text = _plain(text) if len(text) <= LONGEST else ""
    for language in _SMALL_TALK:
        if kinds := _kinds(plain_text, language):
            rest: list[Kind] = [kind for kind in kinds if kind != "remark"]  # "Thanks, lol"
            kind = rest[-1] if rest else "remark"
            asks = kind == "thanks" and "?" in plain_text  # "Works now?"
            return None if asks else (language, kind)
    return None


def _kinds(text: str, language: str) -> list[Kind]:
    """The kinds of the phrases in a text; none if it holds anything else."""
    kinds: list[Kind] = []
    position = 0
    while position < len(text):
        if not text[position].isalnum():
            position += 1
            continue
        known = _phrases(language)
        phrase = next(
            (p for p in known if text.startswith(p, position) and _ends(text, position + len(p))), None
        )
        if phrase is None:
            return []
        if kind := known[phrase]:
            kinds.append(kind)
        position += len(phrase)
    return kinds


@cache
def _phrases(language: str) -> dict[str, Kind | None]:
    """The phrases of a language, long ones first, with their kind; None for a filler."""
    talk = _SMALL_TALK[language]
    kinds: dict[Kind | None, str] = {
        "greeting": talk.greeting,
        "thanks": talk.thanks,
        "help": talk.help,
        "goodbye": talk.goodbye,
        "remark": talk.remark,
        None: talk.fillers,
    }
    of = {_plain(phrase): kind for kind, phrases in kinds.items() for phrase in phrases.split("|")}
    return dict(sorted(of.items(), key=lambda pair: -len(pair[0])))


def _ends(text: str, at: int) -> bool:
    """True if a phrase may end here: not inside a word, except in a script without spaces."""
    return at == len(text) or not (text[at].isascii() and text[at].isalnum())


def _plain(text: str) -> str:
    """In small letters, without accents and with single spaces."""
    apart = unicodedata.normalize("NFKD", text.replace("’", "'").casefold())
    return " ".join("".join(sign for sign in apart if not unicodedata.combining(sign)).split())
