"""Word lists of English: what says too little to be searched for, and what a full stop may follow."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Question words and glue: too common to find anything by.
STOP_WORDS = _words(
    "a about above after again all also am an and any are as at be because been before being below between both but "
    "by can could d did do does doing don down during each few for from further get had has have having he her here "
    "hers him his how i if in into is it its just know let ll m me more most my need no nor not now of off on once "
    "only or other our ours out over own please re s same she should so some such t tell than that the their theirs "
    "them then there these they this those through to too under until up us ve very want was we were what when where "
    "which while who whom whose why will with would you your yours"
)

#: Never the end of a sentence, by language; the English ones hold in all. Those with capitals only as written:
#: "ms" and "st" are none.
ABBREVIATIONS = {
    "en": _words(
        "e.g i.e eg ie v vs cf approx dept fig figs vol resp incl excl al ed eds lit "
        "Mr Mrs Ms Dr Prof Sr St Rev Gen Gov Maj Capt Col Lt Sgt Adm Hon"
    ),
    "de": _words(
        "abb abs anm bd bsp bspw bzw d.h einschl entspr evtl exkl ggf hrsg i.d.r inkl insb kap lt mind nr o.ä o.g s.o "
        "s.u sog tel u.a u.u v.a vgl z.b z.t zzgl Fr Hr"
    ),
    "fr": _words("apr av c.-à-d chap env ex mlle mme n° p.ex réf tél éd Mgr Pr Ste"),
    "es": _words("aprox av cap dra ej máx mín núm p.ej pág págs sra srta tel ud uds"),
    "pt": _words("av cap dra ex máx mín nº núm p.ex pág págs profa sra tel"),
    "it": _words("avv cap cfr dott es ing pag pagg p.es sig sigg tel"),
    "nl": _words("bijv blz bv d.w.z dhr evt m.b.t m.b.v mevr mw nr o.a t.a.v tel v.a"),
}
#: Abbreviations before a number: "No. 5", "max. 10", but "The answer is no."
BEFORE_NUMBERS = _words(
    "no nos p pp c ca ch sec art est max min jan feb mar apr jun jul aug sep sept oct nov dec"
)
#: Abbreviations that may end a sentence too, as initials and "U.S." may.
MAYBE_LAST = _words("inc ltd co corp jr mio mrd")
#: Words that show, after one of those, that a sentence has begun.
OPENERS = _words(
    "the this that these those it its they their he his she her we our you your in on at for from to by with as if "
    "when while after before since although and but or so however there then some many most both each such "
    "one another"
)

#: Nouns among the German stop words, which open no sentence by their capitals: "am 3. Tag".
GERMAN_NOUNS = _words(
    "beispiel jahr jahre jahren mal mann mensch menschen mittel ordnung recht sache schluss startseite suche tag tage "
    "tagen teil uhr zeit"
)
