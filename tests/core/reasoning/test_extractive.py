"""The offline reasoner: finds, quotes and cites; composes nothing."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest
from fakes.passages import documents, loose_strip, passages_of, statements, thorough, written
from fakes.scripted import hit
from hypothesis import given
from hypothesis import strategies as st

from core.conversation import QUERY_LIMIT, Exchange
from core.grounding.citations import to_answer
from core.grounding.strips import refine
from core.reasoning.extractive import (
    QUOTES,
    ExtractiveReasoner,
    keywords,
    lists_pages,
    standalone_question,
    web_query,
)
from core.reasoning.reasoner import Ask

GUIDE = """# Caching

Responses are cached in memory. They are kept for 300 seconds.

Clear the cache so:

```python
cache.clear()
```

# Logs

Logs are written to a file. Nothing else is written there.
"""


def asked(question: str, *earlier: str) -> Ask:
    history = tuple(Exchange(question=text, answer="It is so.", author="ada") for text in earlier)
    return Ask(question=question, history=history)


async def answered(question: str, hits) -> str | None:
    """The text of the answer; None when the reasoner will not answer."""
    reasoner, ask = ExtractiveReasoner(), asked(question)
    grades = await reasoner.grade(ask, tuple(hits))
    strips = refine(hits, grades.of, around=0)
    draft = await reasoner.write(ask, strips)
    return to_answer(draft, strips).text if draft.answers else None


async def test_the_sentence_that_answers_is_quoted(tmp_path):
    hits = written(tmp_path, GUIDE)

    assert await answered("Where are the logs written?", hits[::-1]) == "Logs are written to a file. [1]"


async def test_a_pronoun_comes_with_what_it_stands_for(tmp_path):
    text = await answered("For how many seconds are they kept?", written(tmp_path, GUIDE))

    assert text == "Responses are cached in memory. They are kept for 300 seconds. [1]"


async def test_code_comes_with_the_sentence_that_introduces_it(tmp_path):
    text = await answered("How do I clear the cache?", written(tmp_path, GUIDE))

    assert text == "Clear the cache so: [1]\n\n```python\ncache.clear()\n```"


async def test_nothing_is_answered_from_nothing():
    draft = await ExtractiveReasoner().write(asked("Where are the logs?"), ())

    assert (draft.answers, draft.quotes, draft.composed) == (False, (), False)


async def test_headings_and_markup_alone_answer_nothing():
    strips = (loose_strip("# Where are the logs?"), loose_strip("/// logs\n\n///", number=2))

    draft = await ExtractiveReasoner().write(asked("Where are the logs?"), strips)

    assert not draft.answers


async def test_code_is_quoted_though_its_words_score_low():
    strip = loose_strip("```\nx = 1\n```")
    poor = replace(strip, retrieved=replace(strip.retrieved, score=0.0))

    draft = await ExtractiveReasoner().write(asked("Where are the logs?"), (poor,))

    assert draft.quotes == (1,)


async def test_the_same_words_are_quoted_once():
    strips = tuple(loose_strip("Logs are in a file.", number=number) for number in (1, 2, 3))

    draft = await ExtractiveReasoner().write(asked("Where are the logs?"), strips)

    assert draft.quotes == (1,)


async def test_there_are_few_quotes():
    strips = tuple(loose_strip(f"Logs are in file {number}.", number=number) for number in range(1, 9))

    draft = await ExtractiveReasoner().write(asked("Where are the logs?"), strips)

    assert 1 <= len(draft.quotes) <= QUOTES


async def test_a_follow_up_prefers_what_was_not_said():
    said, new = (
        loose_strip("Logs are kept in a long file on the first disk of the server."),
        "Logs are kept in a folder.",
    )
    ask = Ask(
        question="Where are logs kept?", history=(Exchange(question="Logs?", answer=said.text, author="ada"),)
    )

    draft = await ExtractiveReasoner().write(ask, (said, loose_strip(new, number=2)))

    assert draft.quotes[0] == 2


async def test_meaning_finds_what_words_do_not(tmp_path):
    hits = written(tmp_path, "# Limits\n\nAlpha beta gamma delta. Epsilon zeta eta theta. Iota kappa mu.")

    async def similarity(question, texts):
        return [0.9 if "zeta" in text else 0.1 for text in texts]

    grades = await ExtractiveReasoner(similarity=similarity).grade(asked("How quick is it?"), tuple(hits))

    assert [strip.text for strip in refine(hits, grades.of, around=0)] == ["Epsilon zeta eta theta."]


async def test_the_best_passages_survive_a_question_in_other_words():
    hits = tuple(loose_strip(f"Fact {number} is so.", number=number).retrieved for number in (1, 2, 3))

    grades = await ExtractiveReasoner().grade(asked("Zebra quagga okapi?"), hits)

    assert [grades.of[hit.passage.id].relevance for hit in hits] == ["ambiguous", "ambiguous", "incorrect"]
    assert grades.sufficient is None


async def test_grounding_is_judged_by_words():
    grounded = await ExtractiveReasoner().check_grounding(
        statements("Logs are in a file.", "Zebras eat grass."), (loose_strip("Logs are in a file on disk."),)
    )

    assert grounded.judged == (1, 2)
    assert grounded.unsupported == (2,)


async def test_usefulness_is_left_to_the_confidence_of_the_library():
    assert await ExtractiveReasoner().check_usefulness(asked("Where?"), "There.") is None


@thorough
@given(documents, st.text(max_size=60))
async def test_quotes_stand_in_their_document_and_are_the_same_every_time(text, question):
    hits = [loose_strip(text).retrieved]
    reasoner, ask = ExtractiveReasoner(), asked(question)
    drafts = []
    for _ in range(2):
        grades = await reasoner.grade(ask, tuple(hits))
        strips = refine(hits, grades.of, around=0)
        drafts.append(await reasoner.write(ask, strips))

    answer = to_answer(drafts[0], strips)

    assert drafts[0] == drafts[1]
    assert all(citation.quote == text[citation.start : citation.end] for citation in answer.citations)
    assert drafts[0].answers == bool(answer.citations)


async def test_questions_about_a_real_documentation_are_answered_verbatim(shared_data):
    file = shared_data / "fastapi_docs/tutorial/background-tasks.md"
    text = file.read_text(encoding="utf-8")
    reasoner, ask, hits = ExtractiveReasoner(), asked("How do I add a background task?"), passages_of(file)

    grades = await reasoner.grade(ask, tuple(hits))
    strips = refine(hits, grades.of, around=0)
    answer = to_answer(await reasoner.write(ask, strips), strips)

    assert answer.citations
    assert all(citation.quote == text[citation.start : citation.end] for citation in answer.citations)


@pytest.mark.parametrize(
    ("question", "pages", "begins"),
    [
        (
            "How do I mount static files?", ("advanced/templates.md", "tutorial/static-files.md"),
            '"Mount" a `StaticFiles()` instance in a specific path.',
        ),
        (
            "What is a dependency with yield?", ("tutorial/dependencies/dependencies-with-yield.md",),
            "FastAPI supports dependencies that do some ",
        ),
        (
            "What is middleware?", ("reference/middleware.md", "advanced/middleware.md", "tutorial/middleware.md"),
            "You can add middleware to **FastAPI** applications.",
        ),
        ("What are lifespan events?", ("advanced/events.md",), "You can define logic (code) that should be executed "),
    ],
)  # fmt: skip
async def test_what_explains_and_instructs_is_quoted_before_what_shares_the_words(
    shared_data, question, pages, begins
):
    hits = [hit for page in pages for hit in passages_of(shared_data / "fastapi_docs" / page)]
    reasoner, ask = ExtractiveReasoner(), asked(question)

    grades = await reasoner.grade(ask, tuple(hits))
    strips = refine(hits, grades.of, around=0)
    answer = to_answer(await reasoner.write(ask, strips), strips)

    assert any(citation.quote.startswith(begins) for citation in answer.citations)
    assert {citation.source for citation in answer.citations} == {pages[-1].rpartition("/")[2]}


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("hello", "Hello."),
        ("Hi there!", "Hello."),
        ("Good morning, everyone 👋", "Hello."),
        ("hey hey", "Hello."),
        ("Thanks!", "You are welcome."),
        ("ok, thank you so much", "You are welcome."),
        ("Perfect, thanks for the help.", "You are welcome."),
        ("who are you?", "I answer questions"),
        ("help", "I answer questions"),
        ("Bye, see you later", "Goodbye."),
    ],
)
async def test_small_talk_is_answered_with_a_word(said, reply):
    plan = await ExtractiveReasoner().plan(asked(said))

    assert plan.route == "none"
    assert plan.reply.startswith(reply)


@pytest.mark.parametrize(
    "question",
    [
        "hi what is CORS?",
        "Hello, where are logs?",
        "Thanks, and cookies?",
        "great, how about headers?",
        "Great Expectations author?",
        "Perfect forward secrecy?",
        "OK response codes",
        "nice value of a process",
        "help with cookies",
        "bye bye birdie release year",
        "What can you do with middleware?",
    ],
)
async def test_a_question_with_a_polite_word_is_still_a_question(question):
    plan = await ExtractiveReasoner().plan(asked(question))

    assert plan.route == "documents"


def test_a_follow_up_takes_its_subject_from_the_thread():
    ask = asked("And for cookies?", "What is CORS?")

    assert standalone_question(ask) == "What is CORS – And for cookies?"


def test_a_follow_up_of_a_follow_up_takes_the_first_subject():
    ask = asked("And for cookies?", "What is CORS?", "How do I enable it?")

    assert standalone_question(ask) == "What is CORS – And for cookies?"


def test_a_follow_up_takes_the_newest_subject():
    ask = asked("How do I test it?", "How do I enable CORS in a new project?", "What is a background task?")

    assert standalone_question(ask) == "What is a background task – How do I test it?"


def test_a_question_that_stands_alone_takes_nothing():
    question = "How do I declare a request body in FastAPI?"

    assert standalone_question(asked(question, "What is CORS?")) == question
    assert standalone_question(asked("Why?")) == "Why?"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How do I set a header in .env with C# or node.js?", "set header .env C node.js"),
        ("What is it?", "What is it?"),
        ("", ""),
    ],
)
def test_keywords_are_the_telling_words_in_order(question, words):
    assert keywords(question) == words


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Hi, can you please tell me how CORS works?", "how CORS works"),
        ("Could you explain preflight requests?", "preflight requests"),
        ("I would like to know what\nCORS\tis.", "what CORS is"),
        ("Tell me about cookies!", "cookies"),
        ("please", "please"),
        ("what\u202e is\x00 CORS\u200b?", "what is CORS"),
        ("???", "???"),
    ],
)
def test_a_web_query_is_the_question_without_its_politeness(question, query):
    assert web_query(question) == query


def test_a_long_web_query_ends_with_a_whole_word():
    query = web_query("many words of a long question " * 40)

    assert len(query) <= QUERY_LIMIT
    assert query.split()[-1] in {"many", "words", "of", "a", "long", "question"}


@thorough
@given(st.text(max_size=600))
def test_any_web_query_is_one_short_line_without_hidden_signs(question):
    query = web_query(question)

    assert len(query) <= QUERY_LIMIT
    assert query == query.strip()
    assert not any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in query)
    query.encode()  # no half of a character is left


# One quote, and others that add to it


async def test_one_quote_stands_alone_where_another_says_no_more_of_what_was_asked():
    strips = (
        loose_strip("Logs of the server are kept in the archive for a year."),
        loose_strip("The archive of logs is kept by the server.", number=2),
    )

    draft = await ExtractiveReasoner().write(
        asked("Where are the server's logs kept, in which archive?"), strips
    )

    assert draft.quotes == (1,)


async def test_a_quote_that_holds_what_the_first_lacks_stands_beside_it():
    strips = (
        loose_strip("Logs are kept in the archive for a year."),
        loose_strip("Backups are kept in the vault.", number=2),
    )

    draft = await ExtractiveReasoner().write(asked("Where are logs and backups kept?"), strips)

    assert draft.quotes == (1, 2)


async def test_a_quote_that_goes_on_from_the_first_stands_beside_it():
    first = loose_strip("Logs are kept in the archive.")
    second = loose_strip("The archive is where the logs are.")
    passage = replace(second.retrieved.passage, start=first.end + 1, end=first.end + 1 + len(second.text))
    after = replace(
        second,
        number=2,
        retrieved=replace(second.retrieved, passage=passage),
        start=passage.start,
        end=passage.end,
    )

    draft = await ExtractiveReasoner().write(asked("Where are logs kept?"), (first, after))

    assert draft.quotes == (1, 2)


async def test_the_first_quote_is_from_the_passage_that_fits_the_question_best():
    near, far = (
        loose_strip("Logs are kept in the attic."),
        loose_strip("Logs are kept in the cellar.", number=2),
    )
    strips = (replace(near, retrieved=replace(near.retrieved, score=0.7)), far)

    draft = await ExtractiveReasoner().write(asked("Where are logs kept?"), strips)

    assert draft.quotes[0] == 2


async def test_a_question_that_points_back_is_answered_from_where_the_talk_is():
    strips = (loose_strip("It is kept in the attic."), loose_strip("It is kept in the cellar.", number=2))
    before = Exchange(question="What is a log?", answer="A book. [1]", author="ada", sources=("2.md",))

    pointing = await ExtractiveReasoner().write(Ask(question="Where is it kept?", history=(before,)), strips)
    other = await ExtractiveReasoner().write(Ask(question="Where is it kept?"), strips)

    assert (pointing.quotes[0], other.quotes[0]) == (2, 1)


async def test_a_follow_up_quotes_the_document_of_its_best_passage_alone():
    strips = (
        loose_strip("It may be switched off in the settings.", score=1.0),
        loose_strip("You could switch the server for any other one.", number=2, score=0.5),
    )
    before = Exchange(question="How do I set the title of the documentation?", answer="So. [1]", author="ada")

    draft = await ExtractiveReasoner().write(
        Ask(question="Can I switch it for another?", history=(before,)), strips
    )

    assert draft.quotes == (1,)


def test_questions_that_name_no_subject_are_not_joined_to_each_other():
    ask = asked("How fast is it?", "Which files can it read?")

    assert standalone_question(ask) == "How fast is it?"


def test_a_short_question_is_joined_where_the_documents_were_asked_for_what_came_before():
    joined = replace(asked("Parking?", "Where is the library?"), weights={"park": 2.0, "librari": 1.0})
    alone = replace(joined, weights={"park": 2.0})

    assert standalone_question(joined) == "Where is the library – Parking?"
    assert standalone_question(alone) == "Parking?"


@pytest.mark.parametrize(
    ("text", "location", "is_contents"),
    [
        ("- 1 Wages 4\n- 2 Leave 7\n- 3 Travel 7\n- 4 Ends 12", "page 3", True),
        ("# Contents\n\n- 1 Wages 4\n- 2 Leave 7\n- 3 Travel 7\n- 4 Ends 12", "page 3", True),
        ("- Espresso 2\n- Cake 5\n- Water 1\n- Tea 3", "page 3", False),
        ("- 1 Wages 4\n- 2 Leave 7\n- 3 Travel 7\n- 4 Ends 12", "Prices", False),
    ],
)
def test_a_part_of_a_table_of_contents_is_known_by_its_pages(text, location, is_contents):
    assert lists_pages(hit(text, location=location).passage) == is_contents
