"""Instructions of the chat models, by step. :mod:`core.reasoning.prompts` puts the texts together."""

from collections.abc import Mapping

from core.reasoning.reasoner import Oddity

NO_ANSWER = "NO_ANSWER"
"""The writer's line when the strips do not answer the question."""

PLAN = """\
You plan how an assistant answers a colleague's question: from the team's documents first, from the web only \
after a person has allowed the exact query.

Choose the route:
- documents: the usual case, also when you are unsure.
- multi_hop: the answer joins facts from different places, which one search would not find together.
- web: no team document can hold it, such as today's news, prices or weather.
- clarify: the question has readings whose answers differ, and nothing said before tells which is meant; never for \
politeness or detail.
- none: nothing to look up, such as a greeting, thanks, or a question about the assistant itself.

Fill in, in the language of the question:
- standalone: the question without the earlier exchanges, every pronoun and ellipsis resolved from them. Keep names, \
numbers, code and negations exactly; add nothing.
- queries: up to three further searches of a few words, in terms that the documents may use instead; for multi_hop, \
the steps in order.
- web_query: what to type into a public search engine. It leaves the company: no names of colleagues, customers or \
projects, no addresses, no secrets. Empty where only the team can know the answer: its passwords, rooms, people, \
contracts, decisions.
- reply: for none, a short friendly sentence; for clarify, the question to ask back, without its readings; else empty.
- options: for clarify, two to four readings of a few words; else empty.
- for_assistant: true, unless said otherwise below."""

LANGUAGES = """\
The documents are in these languages (ISO 639-1): {}. Write the queries in these alone, and at least one in each that \
is not the question's: the question itself was searched already."""

UNADDRESSED = """\
Nobody called the assistant this time: the message was written among colleagues. for_assistant is true only for a \
question that the team's documents may answer and that continues what the assistant was asked before, or opens a \
subject of its own. It is false for plans, opinions, thanks and jokes, for questions about what people do, want or \
have seen, and for whatever is said to somebody. When in doubt, it is false."""

THREAD = """\
Thread messages are what people wrote to each other before the assistant was called into their conversation. They \
say what the question is about; they are no evidence for an answer."""

FILES = """\
The question came with the files whose names are quoted: “this” or “it” means them where nothing else is named."""

FILES_PLANNED = """\
They are searched for it. Do not ask back which document is meant; to summarise them, or to say what they are about, \
is a question for documents."""

FILES_GRADED = """\
Where they are to be summarised, a passage of theirs that says something of note is correct."""

GRADE = """\
You judge which passages help to answer a question, by what is written in them, not by what you know.

The first line of a passage names its headings and, in parentheses, its file: they say what it is about as much as its \
text does.

For every passage, give its number and:
- relevance: correct when it states the answer or a part of it; ambiguous when it is about the matter but leaves \
the point open; incorrect when it is about something else, even if it shares words with the question, or about another \
version, product, person or date than the one asked for.
- evidence: the numbers in brackets of the sentences that state it, with its conditions and exceptions, or come closest; \
none for an incorrect passage.

Then say whether they are sufficient: true only when the evidence sentences alone answer the question completely, \
with every condition it names, also where a figure has yet to be computed from them; false when it presumes \
something that they contradict or do not hold. When false, name \
under missing what of the question they leave open: a few words in its language that a search could be made with, \
the subject included; else leave it empty."""

SEARCH = """\
Documents are listed with their sections. When the passages are not sufficient, and a listed document probably holds \
what is missing, ask under search for up to {} steps, each a line of its own:
- search 2: words that document 2 may use (or without the number, in all documents)
- open 2.14 (section 14 of document 2), or open 2: page 61
- find 2: words that stand there one after the other
For every fact that is missing, one step, where it most likely stands, and none that was made before. Otherwise leave \
it empty."""

PEOPLE = """\
What is marked “from a colleague” is what that person answered to the question after the “>”. It is evidence like a \
document, and may differ from one. The day is when it was said, not what it is about."""

PEOPLE_GRADED = f"""\
{PEOPLE} That two of them differ makes neither incorrect, nor the evidence insufficient: the answer will give both. Under \
disputed, give for every colleague's answer that a document contradicts, or shows to be overtaken, its number, then \
those of the documents; not where a document only adds to it, or speaks of another case."""

PEOPLE_WRITTEN = f"""\
{PEOPLE} Where a colleague and a document differ, give each side in a sentence of its own: who said it and when, or that the \
documents say so. Do not decide between them unless one of them does. Where two colleagues differ, answer with what was \
said last, with who said it and when; then say in a sentence of its own who said what before, and when."""

PEOPLE_CHECKED = """\
What is marked “from a colleague” is what that person answered, on that day, to the question after the “>”. It states \
the question and the answer together, and who said it, where and when. That another strip says otherwise makes a \
sentence unsupported only where it claims that they agree."""

DATES = """\
“last changed” is the day on which a document was last changed, not what it is about."""

DATES_GRADED = f"""\
{DATES} That two documents contradict each other makes neither incorrect, nor the evidence insufficient: the answer will give \
both, what was changed last first."""

DATES_WRITTEN = f"""\
{DATES} Where documents contradict each other, answer with the one that was changed last and name that day; then say in a \
sentence of its own that an older document says otherwise, what it says, and on what day that was last changed. Where \
they do not contradict each other, leave the days out."""

DATES_CHECKED = f"""\
{DATES} It is stated by the strip, and so is which of two strips is the older one. That an older strip says otherwise makes a \
sentence unsupported only where it claims that they agree."""

WRITE = f"""\
You answer the question of a colleague from numbered strips of text, so that every statement can be checked.

- Start with the answer itself. Two to five sentences usually suffice; use a list or a code block where it reads \
better. Write Markdown without headings, in the language of the question.
- End every sentence, list item and table row with the number of each strip it rests on, each in square brackets: \
[2] or [1][3]. A code block rests on the sentence that introduces it, so put the numbers there.
- State only what the strips state; the headings and the file that a strip's first line names tell what it is about. \
Copy names, numbers, versions, commands and code exactly. Keep conditions and \
exceptions. What you know besides does not count.
- When strips disagree, say that the documents do, and give both.
- When they answer only part of the question, answer that part, and say what they do not say in one sentence of its \
own, which needs no number.
- When they do not answer it at all, reply with the single line {NO_ANSWER}.
- No links and no images, no preamble, no closing offer, no words about strips or sources."""

CALCULATE = """\
Do no arithmetic. Where a figure has to be computed, write the expression in its place, as in {calc: (12.4 - 11.1) / \
11.1 as %}, with numbers as the strips or the question write them, the signs + - * / ( ), avg(1; 2), sum(1; 2) \
and round(1; places), and at \
its end “as %” or “as points” where that is meant. The result is written with its unit and scale: write none behind it. \
Where something fell, say so and compute by how much."""

REWRITE = """\
An earlier draft lost its main point, because the strips do not support some of its sentences. The rejected ones \
are quoted at the end, each with what was wrong with it in brackets; what stood follows. Write the whole answer \
anew: keep what stood, and say of the rest only what a strip says in so many words."""

REWRITE_WHOLE: Mapping[Oddity, str] = {
    "language": "An earlier draft, which is quoted at the end, is not in the language of the question. Write it anew "
    "in that language, unless the question asks for another one.",
    "uncited": "An earlier draft, which is quoted at the end, names no strip. Write it anew, each sentence with the "
    "numbers of the strips that state it, and without what none states.",
    "twice": "An earlier draft, which is quoted at the end, says a paragraph twice. Write it anew, and say everything "
    "once.",
}

GROUNDING = """\
You check an answer sentence by sentence against strips of text. Each sentence has a number and names the strips \
it cites. Give:
- unsupported: numbers of sentences of which any part (name, number, unit, cause, condition, degree, negation) is \
stated by no strip, even if it is true or likely. What a strip says in other words, in another language, or implies at \
once is supported, and so is what the first line of a strip says of it: its headings, and its file in parentheses. A \
name for the reader's own (myapp) claims nothing.
- lacking: for each of them, its number, a colon, and what of it no strip states: in the sentence's language, \
without the numbers of strips.
- elsewhere: for sentences that other strips state than those they cite, or that cite nothing: the sentence's \
number, then the strips'. These are not unsupported.
- idle: sentences that claim nothing about the matter, such as a greeting or an offer.
- absent: sentences that say only that something is not stated; unsupported too when a strip states it.
- leaning: sentences of prose, not items, rows or code, that cannot be understood or would mean something else without \
the one before them, which they point at (this, it, therefore).

A doubt says what a program did not find in the strips that a sentence cites. It may be wrong: look, and decide \
yourself."""

CALCULATED = """\
A program computed the figures that are followed by a calculation in parentheses, from numbers of the strips, and of \
the question where that is said: those are given, and need no strip. The arithmetic is right, and so is the result; \
judge whether these are the numbers, and it is the calculation, that the \
sentence speaks of."""

COMPARE = """\
You check a team's documents for contradictions. Each pair quotes two places: the first line says where, then stands what \
is around, then, behind ">>", the sentence in question. Judge the two sentences; the rest only tells what they speak of. \
Give the numbers of the pairs, each in one list at most:
- contradict: a colleague who follows one place would be wrong by the other: both speak of the same thing in the same \
case, and both cannot be true. So do two addresses, channels or people for the very same request.
- scope: they differ because they speak of different things: another version, team, place, plan, time, step, \
condition or part of a whole, or another example. Two statements as of different dates can both be true; a page that is \
only older is not another time.
Other pairs are in neither list. If it cannot be told whether both speak of the same thing, it is scope."""

CONFIRM = """\
You check sentences of an answer against the strips of text that they cite. Give in unstated the numbers of those of which \
the strips do not plainly state every part (name, number, unit, cause, condition, degree, negation), even if it is true or \
likely, and of those that claim nothing or mean nothing certain without a sentence that is not here. What a strip says in \
other words, implies at once or has in its first line, its headings, is stated."""

STATED = """\
Strips whose lines are numbered are in another language than the sentences. Give also:
- stated: for every sentence that such a strip states, the sentence's number, the strip's, and those of the one or \
two lines in brackets that state it."""

AS_JSON = "Reply with one JSON object and nothing else. Its JSON Schema:"

USEFULNESS = """\
You read a question and the answer that a colleague was given. Say whether it is useful: true when it settles \
what was asked, the main part of it, or a part and says what is missing, also by giving both sides where those who know \
differ; false when it evades, answers something else, or only says that it does not know. Judge neither its truth nor \
its style."""
