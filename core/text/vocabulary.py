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

#: Words that open a sentence before a name and are none: "Use FastAPI", "Like Flask".
INSTRUCTIONS = _words(
    "add allow apply avoid build call change check choose click configure connect consider contact copy create declare "
    "define delete deploy disable edit enable ensure export find follow get go import include inherit install keep like "
    "make mount move open override pass put read remember remove replace return run select send set start stop switch "
    "test treat try turn type unlike update upgrade use using via visit wrap write"
)

#: Words for numbers that a claim may write in digits.
NUMBER_WORDS = {
    "zero": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "thirteen": "13",
    "fourteen": "14",
    "fifteen": "15",
    "sixteen": "16",
    "seventeen": "17",
    "eighteen": "18",
    "nineteen": "19",
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "seventy": "70",
    "eighty": "80",
    "ninety": "90",
    "hundred": "100",
    "thousand": "1000",
}

#: Words of a date, which say when as numbers do.
DATE_WORDS = _words(
    "January February March April May June July August September October November December "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
)

#: Words that multiply the number before them.
SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "bn": 10**9, "trillion": 10**12}

#: Units of measure by their spellings, in small letters; "m" and "in" could be too many things.
UNITS = {
    spelling: unit
    for unit, spellings in {
        "microsecond": "µs μs microsecond microseconds",
        "millisecond": "ms msec millisecond milliseconds",
        "second": "s sec secs second seconds",
        "minute": "min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "yr yrs year years",
        "decade": "decade decades",
        "century": "century centuries",
        "percent": "% percent",
        "byte": "byte bytes",
        "kilobyte": "kb kib kilobyte kilobytes",
        "megabyte": "mb mib megabyte megabytes",
        "gigabyte": "gb gib gigabyte gigabytes",
        "terabyte": "tb tib terabyte terabytes",
        "millimetre": "mm millimetre millimetres millimeter millimeters",
        "centimetre": "cm centimetre centimetres centimeter centimeters",
        "metre": "metre metres meter meters",
        "kilometre": "km kilometre kilometres kilometer kilometers",
        "foot": "ft foot feet",
        "mile": "mi mile miles",
        "gram": "g gram grams",
        "kilogram": "kg kilogram kilograms",
        "tonne": "tonne tonnes ton tons",
        "celsius": "°c celsius",
        "fahrenheit": "°f fahrenheit",
        "dollar": "$ usd dollar dollars",
        "euro": "€ eur euro euros",
        "pound": "£ gbp pound pounds",
        "yen": "¥ jpy yen",
    }.items()
    for spelling in spellings.split()
}
