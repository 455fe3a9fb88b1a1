"""The addressee of a message that mentions nobody: the bot, or other people.

A table for each language; all of them are read, since a short message does not show its language. What is left
open here is decided by the evidence in the documents.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from core.text.smalltalk import LONGEST, is_courtesy

#: ``question``: may be to the bot. ``doubtful``: a statement, or a question about what happens now: seldom to the
#: bot. ``talk``: never to the bot.
Kind = Literal["question", "doubtful", "talk"]


READ = 1_000  # characters of a message that are read


class _Signs(NamedTuple):
    """Patterns of one language."""

    acknowledges: str  #: phrases of which a message may consist that calls for no answer
    asks: str  #: how a question begins that has no question mark
    requests: str  #: asks to be told something, which a bot can do
    addresses: str  #: speaks to a person
    proposes: str  #: suggests that people do something, at the beginning
    seeks: str  #: looks for somebody, at the beginning
    knows: str  #: looks for somebody who knows, which a bot may
    present: str  #: what is happening, which no document tells, and what only asks to be agreed with


_SIGNS = {
    "en": _Signs(
        acknowledges=r"yes|yep|yeah|yup|no|nope|ok(?:ay)?|k|sure|thanks|thank you|thx|ty|cheers|great|perfect|cool|nice|"
        r"good|right|agreed|done|same|lol|ha(?:ha)+|hm+|oh|ah|wow|got it|will do|sounds good|makes sense|of course|\+1|"
        r"lgtm|fine|fair enough|no worries|np|my bad|for sure|true|exactly|alright|works for me|me too|ship it",
        asks=r"(?:who|whom|whose|what|which|when|where|why|how)\b(?! (?:a|an|nice|cool|funny|great|weird|odd|i|is why|means)\b)"
        r"|(?:at|in|on|by|for|from|until|to|with|through|after) (?:what|which|whom|when|where)\b"
        r"|(?:is|are|was|were|do|does|did|can|could|will|would|should|may|must|has|have|had) "
        r"(?:i|we|you|he|she|it|they|there|this|that|these|those|the|an?|my|our|any|all|every)\b"
        r"|(?:explain|show|tell|list|find|compare|summari[sz]e)\b|(?:and|or) (?:for|with|in|on|what|how|when|if)\b",
        requests=r"(?:can|could|would|will) you (?:please |also |quickly )*(?:explain|show|tell|list|find|compare|summari[sz]e|"
        r"quote|look up|repeat|elaborate|say|name)\b|\bdo you know\b",
        addresses=r"\b(?:can|could|will|would|did|have|are|were|won't|can't|wouldn't|aren't|haven't|didn't|shall|may) (?:you|u)\b|"
        r"\bdo you (?:want|think|mind|like|remember|see|guys|all|also|still|feel|agree|plan|prefer|really|recall)\b|"
        r"\byou (?:guys|all|two|want|think|free|ok(?:ay)?|around|coming|there|up for)\b|\byours?\b|\byou're\b|\b(?:with|to|for|from) you\b|\bjust me\b",
        proposes=r"shall (?:we|i)|should we|could we|should i (?:just|wait|also|merge|start|go|do it)|let'?s|let me|how about (?:we|(?:an? |some )?(?:pizza|sushi|tacos?|burgers?|curry|pasta|lunch|dinner|breakfast|coffee|tea|cake|beers?|drinks?|walk|break))\b|why don'?t (?:we|you)|wanna",
        seeks=r"(?!if |when |what happens )(?:\w+ ){0,2}(?:any(?:one|body)|some(?:one|body)|every(?:one|body))\b|who else\b|"
        r"who(?:'s| is| wants| was) (?:in|up|coming|joining|going|there|next|free|to)\b|what time should",
        knows=r"(?:any(?:one|body)|some(?:one|body)) (?:here )?(?:knows?|remembers?|tell)\b",
        present=r"\b(?:right now|now|today|tonight|tomorrow|yesterday|this (?:morning|afternoon|evening|week|time)|next (?:week|time)|"
        r"last (?:night|week|time)|later|lunch|coffee|beers?|pizza|dinner|again|already|by the way|btw|lol|(?<=\w, )(?:right|no|yeah|huh|correct)(?=\W*$)|why (?:is|are|does|do) .+ so|"
        r"(?:on|until|till|since|by|from) (?:mon|tues|wednes|thurs|fri|satur|sun)day|at (?:\d|one|two|three|four|five|six|noon))\b"
        r"|^\W*(?:and |so )?who (?:broke|took|booked|pushed|has(?! to)|had(?! to)|did|was|left|is my|is our)\b"
        r"|^\W*(?:and |so )?who (?:changed|deleted|merged|wrote)\b(?: (?:it|them|something|my)\b|(?: (?:this|that|these|those|here))*\W*$)"
        r"|^\W*(?:and |but |so )?who\b.*\banyways?\b(?=\W*$)",
    ),
    "de": _Signs(
        acknowledges=r"ja|jo|jep|jup|nein|nö|nee|klar|gerne?|danke\w*|super|prima|perfekt|passt|gut|stimmt|genau|erledigt|"
        r"verstanden|alles klar|mach ich|wird gemacht|ergibt sinn|macht sinn|klingt gut|läuft|ach so|ich auch|dito|geht klar",
        asks=r"(?:wer|wen|wem|was|wann|wo|wohin|woher|wie|warum|wieso|weshalb|welche[rnsm]?|wieviele?)\b(?! (?:für ein|schön|cool|blöd|schade|toll|gesagt|immer)\b)"
        r"|(?:bis|ab|seit|um|für|von|in|nach|über|mit|an|auf|bei) (?:wann|wie|was|wen|wem|wo|welche[rnsm]?)\b"
        r"|(?:ist|sind|hat|haben|habe|kann|darf|muss|soll|gibt|gilt|gelten|zählt|zählen|bekomme|brauche|braucht|wird|werden|geht|gehen) (?:ich|man|es|das|der|die|den|dem|ein|eine|wir|mein|jede[rs]?)\b"
        r"|(?:erklär|zeig|nenn|vergleich|liste)e?\b|und (?:bei|für|mit|im?|wenn|wie|was|wann|am)\b",
        requests=r"(?:kannst|könntest|könnt|könntet|würdest) (?:du|ihr)\b.*\b(?:erklären|zeigen|sagen|auflisten|nennen|zusammenfassen|vergleichen|nachsehen)\b|"
        r"\bweißt du\b|\bkönnen sie\b.*\b(?:erklären|zeigen|sagen|nennen)\b",
        addresses=r"\b\w+st du\b|\bdu \w+st\b|\b(?:nur mir|an mir|dir|dich|dein\w*|euch|eure\w*)\b|\b(?:habt|könnt|wollt|seid|geht|kommt|macht|müsst|wart) ihr\b|\boder (?:willst|magst) du\b|\b(?:meint|denkt|sagt|haltet) ihr\b",
        proposes=r"soll(?:en|te|ten)? (?:ich|wir)|(?:könnten|wollen) wir|gehen wir|treffen wir|machen wir|lass(?:t)? uns|wie wär'?s",
        seeks=r"(?!wenn |falls |was passiert )(?:\w+ ){0,2}(?:(?:sonst )?(?:noch )?(?:jemand|irgendwer))\b|wer (?:kommt|fährt|geht|will|macht|ist|war) (?:noch|alles|mit|dabei|dran|da)\b|wer (?:kommt|fährt)(?=\W*$)",
        knows=r"we(?:iß|iss) (?:jemand|irgendwer|wer)\b|jemand,? der we(?:iß|iss)",
        present=r"\b(?:jetzt|gerade|heute|morgen|gestern|nachher|später|diese woche|nächste woche|letzte (?:nacht|woche)|diesmal|schon wieder|nochmal|übrigens|eigentlich|(?<=\w, )(?:oder|ne|nicht wahr|gell|richtig)(?=\W*$)|w(?:arum|ieso) (?:ist|sind) .+ so|"
        r"mittag|kaffee|bier|pizza|(?:am|bis|seit|ab) (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)|um (?:\d|eins|zwei|drei|vier|fünf))\b"
        r"|^\W*(?:und )?wer (?:hat(?! (?:den|die|das|diese[ns]?|eine[n]?|unsere?n?) (?!hier|da|denn|so\b)\w+ .*(?:geschrieben|verfasst|geändert))|war|ist (?:mein|unser))\w*\b|\bwem gehört\b"
        r"|^\W*(?:und |aber )?wer (?:will|möchte|mag|würde|braucht|liest|macht) (?:denn |das )?schon\b",
    ),
    "fr": _Signs(
        acknowledges=r"oui|ouais|non|d'accord|merci\w*|super|parfait|génial|nickel|bien|très bien|exact|c'est fait|compris|"
        r"ça marche|ça me va|c'est logique|je vois|bien sûr|pas de souci|moi aussi|pareil|mdr|top|carrément",
        asks=r"(?:qui|que|qu'|quoi|quand|où|comment|pourquoi|combien|quel(?:le)?s?|est-ce)\b(?! (?:sait|vivra|même|de neuf)\b)"
        r"|(?:à|en|de|par|pour|avec|jusqu'à|depuis|sur|dans) (?:qui|quoi|quand|où|combien|quel(?:le)?s?)\b"
        r"|(?:y a-t-il|peut-on|faut-il|doit-on|puis-je|a-t-on|dois-je|ai-je)\b|(?:explique|montre|liste|compare|résume)\b|et (?:pour|avec|si|les?|la|en|dans|quand)\b",
        requests=r"(?:(?:peux|pourrais|sais)-tu|tu (?:peux|pourrais|sais)|(?:pouvez|pourriez|savez)-vous|vous (?:pouvez|pourriez))\b"
        r".*\b(?:expliquer|montrer|dire|lister|résumer|comparer|citer|rappeler)\b|\b(?:sais-tu|tu sais|savez-vous)\b",
        addresses=r"\bc'est moi\b|\btu\b|-tu\b|\bt'(?:as|es|aurais|étais|avais)\b|\btoi\b|\bvous\b|\bvotre\b|\bvos\b|\bl[ea]s? (?:tien|vôtre)\w*\b|\bte\b",
        proposes=r"on (?:se |y |n')?(?:attend|va|fait|mange|voit|commence|fusionne|prend|réserve|part|déploie|essaie|devrait|pourrait|lance|merge|appelle)\b|et si on|je (?:prends|fais|déploie|commence)\b.*\bou\b|allons",
        seeks=r"(?!si |que |quand )(?:\w+ |[jl]'|est-ce qu'|il y a ){0,3}quelqu'un\b|qui (?:d'autre|vient|veut|va|est là)\b",
        knows=r"quelqu'un (?:d'ici )?(?:sait|connaît)",
        present=r"\b(?:maintenant|aujourd'hui|ce (?:matin|soir|midi)|cet après-midi|demain|hier|cette (?:semaine|fois|nuit)|tout à l'heure|(?<=\w, )(?:non|hein|n'est-ce pas)(?=\W*$)|pourquoi .+ (?:si|aussi)|plus tard|encore|déjà|au fait|"
        r"en ce moment|la semaine prochaine|déjeuner|café|bière|pizza|(?:depuis|jusqu'à) (?:lundi|mardi|mercredi|jeudi|vendredi))\b"
        r"|^\W*(?:et )?qui (?:a(?! (?:écrit|rédigé|changé|modifié) (?:l'|(?:les?|la|une?|notre|nos)\b))|est (?:mon|ma|notre))\b|\bà qui (?:est|sont)\b|\bc'est à qui\b|\bà (?:deux|trois|quatre|cinq|\d+) heures? ou\b",
    ),
    "es": _Signs(
        acknowledges=r"sí|si|no|vale|claro|gracias|genial|perfecto|bien|muy bien|exacto|hecho|entendido|de acuerdo|listo|"
        r"me parece bien|tiene sentido|suena bien|ya veo|yo también|ja(?:ja)+|guay|bueno|por supuesto",
        asks=r"(?:qué|quién(?:es)?|cuándo|dónde|adónde|cómo|cuál(?:es)?|cuánt[oa]s?)\b(?! (?:bien|bueno|buena|mal|malo|guay|pena|lástima|risa|raro|fuerte|tal)\b)|(?:a|con|de|en|hasta|desde|para|por|cada) (?:qué|quién|cuándo|dónde|cuál|cuánt[oa]s?)\b"
        r"|(?:puedo|se puede|hay que|tengo que|debo|necesito)\b.*\?|(?:explica|muestra|lista|compara|resume)(?:me)?\b|y (?:para|con|si|el|la|los|las|en|cuando)\b",
        requests=r"(?:puedes?|podrías?|me puedes|sabes)\b.*\b(?:explicar|mostrar|decir|listar|resumir|comparar|citar|recordar)\w*|\bsabes (?:si|cu|d[óo]nde|qu)",
        addresses=r"\b(?:puedes|podrías|quieres|vienes|vas|tienes|eres|estás|sabes|viste|crees|piensas|podéis|queréis|vais|tenéis|estáis|venís|te|ti|contigo|tú|tu|tuy[oa]s?|os|vosotr[oa]s|vuestr[oa]s?)\b|"
        r"\bsoy yo\b|\bqué (?:opin(?:as|áis|an)|pensáis|creéis)\b|\bhas \w+(?:ado|ido|to|cho)\b|\bme \w+[ae]s\b",
        proposes=r"(?!podemos|tenemos|debemos|necesitamos|hacemos|sabemos)\w+[aeiáéí]a?mos\b|\w+o yo\b|vamos a",
        seeks=r"(?!si |qué )(?:\w+ ){0,2}alguien\b|quién(?:es)? (?:más|viene|va|quiere|se apunta)\b",
        knows=r"alguien (?:sabe|conoce|recuerda)",
        present=r"\b(?:ahora|hoy|mañana|ayer|anoche|esta (?:mañana|tarde|noche|semana|vez)|luego|más tarde|otra vez|de nuevo|ya|por cierto|(?<=\w, ¿)(?:no|verdad|cierto)(?=\W*$)|por qué .+ tan|la semana que viene|comida|café|cerveza|pizza|"
        r"(?:(?:hasta|desde) (?:el )?|(?<![¿.] )(?<=\w )el )(?:lunes|martes|miércoles|jueves|viernes)|a las? (?:\d+|una|dos|tres|cuatro|cinco) o)\b"
        r"|^\W*(?:y )?qui[eé]n (?:ha(?! (?:escrito|redactado|cambiado|modificado) (?:el|las?|los|una?|nuestr[oa]s?)\b)|había|fue|es (?:mi|nuestr[oa]))\b|^\W*qui[eé]n (?:escribió|cambió|borró)(?: (?:esto|eso|aquí))?(?=\W*$)|\bde quién (?:es|son)\b|\bcuándo era\b",
    ),
    "pt": _Signs(
        acknowledges=r"sim|não|ok|claro|obrigad[oa]|valeu|perfeito|ótimo|beleza|certo|feito|entendi|combinado|faz sentido|"
        r"parece bom|eu também|k{2,}|legal|tranquilo|com certeza",
        asks=r"(?:o que|que|quem|quando|onde|aonde|como|por que|qual|quais|quant[oa]s?)\b(?! (?:bom|boa|legal|pena|estranho)\b)|(?:a|com|de|em|até|desde|para|por) (?:que|quem|quando|onde|qual|quant[oa]s?)\b"
        r"|(?:explica|mostra|lista|compara|resume)\b|e (?:para|com|se|o|a|os|as|em|no|na|quando)\b",
        requests=r"(?:você )?(?:pode|poderia|sabe)\b.*\b(?:explicar|mostrar|dizer|listar|resumir|comparar|citar|lembrar)\b|\bvocê sabe\b",
        addresses=r"\bvocês?\b|\bo que (?:acha[ms]?|achais)(?=\W*$)|\bcontigo\b|\bpra ti\b|\bteu\b|\btua\b",
        proposes=r"(?!podemos|temos|devemos|precisamos)\w+[aei]mos\b|bora",
        seeks=r"(?!se |o que )(?:\w+ ){0,2}alguém\b|quem (?:mais|vem|vai|quer)\b",
        knows=r"alguém (?:sabe|conhece|lembra)",
        present=r"\b(?:agora|hoje|amanhã|ontem|esta (?:manhã|tarde|noite|semana|vez)|depois|mais tarde|de novo|já|aliás|(?<=\w, )(?:né|não é|certo)(?=\W*$)|por que .+ tão|almoço|café|cerveja|pizza|semana que vem)\b"
        r"|^\W*(?:e )?quem (?:escreveu|mudou|alterou|apagou)(?: (?:isso|isto|aquilo|aqui))?(?=\W*$)",
    ),
    "ja": _Signs(
        acknowledges=r"はい|うん|いいえ|了解\w*|承知\w*|ありがと\w*|なるほど|わかりました|いいね|そうですね|確かに|お疲れ\w*|草|笑|助かります?|大丈夫です?",
        asks=r".*(?:ですか|ますか|でしょうか|の[?？]|かな)\W*$|(?:何|なに|いつ|どこ|誰|だれ|なぜ|どう|どの|どれ|いくつ|いくら)",
        requests=r".*(?:教えて|説明して|見せて|まとめて|比較して)",
        addresses=r"(?:もらえ|いただけ|くれ(?:る|ます|ない)|お願い|あなた|君|さん、|どう思(?:う|い)|^\W*(?:みんな|皆)(?:さん)?は?どう(?=\W*$)|^\W*(?:誰|だれ|いつ|どこ|何時)[がにへで]?(?:来る|行く|いる|帰る|着く|会う|食べる)(?:の|んだ)?(?=\W*$))",
        proposes=r".*(?:ましょう|行こう|しようか)",
        seeks=r".*誰か|だれか",
        knows=r".*(?:誰か|だれか|どなたか).*(?:知|わか)",
        present=r"今日|今夜|明日|昨日|今から|さっき|また後で|ランチ|飲み|ピザ|(?:これ|それ|あれ)(?:を|は)?誰が|誰が(?:これ|それ|あれ)を|よね[?？]?$",
    ),
}  # fmt: skip


def _any(sign: str, *, at_start: bool = False, whole: bool = False) -> re.Pattern[str]:
    """The pattern of a sign in any language."""
    union = "|".join(f"(?:{getattr(signs, sign)})" for signs in _SIGNS.values())
    if whole:
        union = rf"\W*(?:(?:{union})(?!\w)\W*)+"
    elif at_start:
        union = rf"{_BEFORE}(?:{union})"
    return re.compile(union, re.IGNORECASE)


_BEFORE = (
    r"^\W*(?:(?:and|but|so|or|then|also|oh|ok|und|aber|oder|also|et|mais|alors|y|pero|entonces|e|mas)\b\W+)?"
)
_ACKNOWLEDGES, _ASKS = _any("acknowledges", whole=True), _any("asks", at_start=True)
_REQUESTS, _ADDRESSES = _any("requests"), _any("addresses")
_PROPOSES, _SEEKS = _any("proposes", at_start=True), _any("seeks", at_start=True)
_KNOWS, _PRESENT = _any("knows"), _any("present")
#: A person's name before a comma, or after the last one.
_NAME = re.compile(
    r"^\W*(?:hey |hi |hallo |salut |hola )?[A-ZÀ-Þ][a-zß-ÿ-]+,\s|,\s*[A-ZÀ-Þ][a-zß-ÿ-]+\s*[?!.]*$"
)
_MENTION = re.compile(r"(?<![\w/.])@\w|<@|@(?:here|everyone|channel)\b")
_NOT_SAID = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)


def asks(text: str) -> bool:
    """True if a text has the form of a question, or of a request to be told something."""
    said = _said(text)
    return any(sign in said for sign in "?？") or bool(_ASKS.match(said) or _REQUESTS.search(said))


def begins_as_question(text: str) -> bool:
    """True if its first words ask, with or without a question mark."""
    return bool(_ASKS.match(text))


def kind_of(text: str) -> Kind:
    """The kind of a message without a mention of the bot: whether it may be a question to it."""
    said = _said(text)
    if is_acknowledgement(text) or _MENTION.search(said):
        return "talk"
    rest = _without_acknowledgement(said)
    if (name := _NAME.search(rest)) and not _ASKS.match(name[0].replace(",", " ")):
        return "talk"
    if not _REQUESTS.search(rest) and (
        _ADDRESSES.search(rest) or _PROPOSES.match(rest) or (_SEEKS.match(rest) and not _KNOWS.search(rest))
    ):
        return "talk"
    return "question" if asks(rest) and not _PRESENT.search(rest) else "doubtful"


def is_acknowledgement(text: str) -> bool:
    """True if a text calls for no answer: it has no words, or only thanks, agrees or greets."""
    if not any(sign.isalnum() for sign in text):
        return True
    return len(text) <= LONGEST and (bool(_ACKNOWLEDGES.fullmatch(text)) or is_courtesy(text))


def _said(text: str) -> str:
    """Its beginning, without code and addresses."""
    return _NOT_SAID.sub(" ", text)[:READ].replace("’", "'").strip()


def _without_acknowledgement(text: str) -> str:
    """ "Thanks, and how long?" -> "and how long?"."""
    first, sign, rest = text.partition(",")
    return rest.strip() if sign and is_acknowledgement(first) and rest.strip() else text
