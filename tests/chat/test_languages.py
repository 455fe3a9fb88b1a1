"""Words to the bot in six languages, and a search beside an answer on the other platforms."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from fakes.cards import ANSWER, IN_PART, PROPOSAL, QUERY, SETTING, decided
from fakes.discord.limits import check_modal
from fakes.slack.blocks import view_faults
from rich.console import Console

from bots.chat.incoming import IncomingMessage, interpret
from bots.chat.platform import Excerpt, Footnotes
from bots.chat.texts import omissions, page_of, say_in
from bots.discord import render as discord
from bots.discord.render import LAYOUT as DISCORD
from bots.record import record_of
from bots.slack import render as slack
from bots.terminal import render as terminal
from core.conversation import Conversation, Omission, Question
from core.wording import LANGUAGES

HERE = Conversation(platform="x", space="1", channel="2", thread="3")


def heard(text, *, is_called=True):
    return interpret(
        IncomingMessage(id="m", conversation=HERE, author="U1", text=text, said_at=1.0, is_called=is_called)
    )


@pytest.mark.parametrize(
    ("said", "name", "language"),
    [
        ("help", "help", "en"),
        ("Hilfe!", "help", "de"),
        ("aide", "help", "fr"),
        ("ayuda", "help", "es"),
        ("ajuda?", "help", "pt"),
        ("ヘルプ。", "help", "ja"),
        ("quellen", "sources", "de"),
        ("oublie", "forget", "fr"),
        ("ablehnen", "deny", "de"),
        ("承認", "approve", "ja"),
    ],
)
def test_a_word_of_another_language_is_obeyed_and_answered_in_it(said, name, language):
    word = heard(said)

    assert (word.name, word.language) == (name, language)


@pytest.mark.parametrize(
    "said",
    ["Hilfe bei der Installation?", "Erlauben wir Haustiere?", "Quellen für Rost", "Erlauben?", "approve?"],
)
def test_a_sentence_that_begins_with_such_a_word_is_a_question(said):
    assert isinstance(heard(said), Question)


@pytest.mark.parametrize("words", [1, 60, 70, 75, 80, 90, 120, 400])
@pytest.mark.parametrize("query", [None, "`" * 400])
def test_in_discord_too_a_decision_stays_in_the_message_that_asked_for_it(words, query):
    long = replace(IN_PART, answer=replace(ANSWER, text="Das Betriebsteam liest Protokolle. " * words))
    after = replace(long, proposal=PROPOSAL.with_decision(decided(query=query)))

    asked, told = DISCORD.messages(long, SETTING), DISCORD.messages(after, SETTING)

    assert len(asked) == len(told)
    assert [one.components for one in asked[:-1]] == [one.components for one in told[:-1]]
    assert QUERY in asked[-1].text
    assert "Im Web suchen" in str(asked[-1].components)
    assert "Im Web suchen" not in str(told[-1].components)
    assert "Ann hat diese Suche um" in told[-1].text


def test_the_terminal_shows_what_was_left_out_beneath_and_the_query_last():
    console = Console(file=io.StringIO(), width=100)

    console.print(terminal.write(IN_PART, terminal.ScreenContext(engine="DuckDuckGo")))
    shown = [line.rstrip() for line in console.file.getvalue().splitlines()]

    assert shown[-8:] == [
        "Nicht in deinen Dokumenten: wie lange Protokolle aufbewahrt werden",
        "Weggelassen: ein Satz, den deine Dokumente nicht belegen.",
        "  “Sie werden 90 Tage aufbewahrt.” (keine Frist in der Quelle)",
        "Beantwortet in 2,1 s aus 1 Textstelle · von einem Sprachmodell verfasst",
        "",
        "Ich würde mit DuckDuckGo suchen nach:",
        f"  {QUERY}",
        "Es wird nichts gesendet, bevor du es erlaubst.",
    ]


@pytest.mark.parametrize(
    ("text", "reason", "shown"),
    [
        (
            "| Gold | bis 2500 € |",
            "die Höhe steht dort nicht",
            "“Gold · bis 2500 €” (die Höhe steht dort nicht)",
        ),
        ("```sh\nrun --now\n```", "| Gold | 300 € |", "“run --now” (Gold · 300 €)"),
        (
            "Es sind **90** Tage.",
            "the period is not given in the source",
            "“Es sind 90 Tage.”",
        ),  # another language
        ("Nimm `--now`.", "`--now`", "“Nimm `--now`.” (`--now`)"),
        ("Es ist so.", "", "“Es ist so.”"),
    ],
)
def test_what_was_left_out_is_told_in_plain_words_of_the_readers_language(text, reason, shown):
    answer = replace(ANSWER, left_out=(Omission(text=text, reason=reason),))

    assert omissions(replace(IN_PART, answer=answer)) == (shown,)


def test_a_record_and_a_page_say_it_all():
    record = record_of(IN_PART, thread="t", engine="DuckDuckGo")

    assert record["proposal"]["query"] == QUERY
    assert record["left_out"] == [
        {"text": "Sie werden 90 Tage aufbewahrt.", "reason": "keine Frist in der Quelle"}
    ]
    assert (record["missing"], record["sure"]) == ("wie lange Protokolle aufbewahrt werden", True)
    assert record["reason"] == (
        "Nicht in deinen Dokumenten: wie lange Protokolle aufbewahrt werden · "
        "Weggelassen: ein Satz, den deine Dokumente nicht belegen. · "
        "“Sie werden 90 Tage aufbewahrt.” (keine Frist in der Quelle)"
    )
    assert f"> {QUERY}" in page_of(IN_PART)
    assert "Sie werden 90 Tage aufbewahrt." in page_of(IN_PART)


QUESTIONS = {
    "en": "Who reads the logs, and how long are they kept?",
    "de": "Wer liest die Protokolle, und wie lange werden sie aufbewahrt?",
    "fr": "Qui lit les journaux, et combien de temps sont-ils conservés ?",
    "es": "¿Quién lee los registros y cuánto tiempo se guardan?",
    "pt": "Quem lê os registros e por quanto tempo eles são guardados?",
    "ja": "ログは誰が読み、どのくらい保存されますか。",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_forms_of_each_language_are_as_short_as_the_platforms_ask(language):
    proposal = replace(PROPOSAL, question=QUESTIONS[language])
    shown = tuple(Excerpt(citation=each) for each in ANSWER.citations)
    footnotes = Footnotes(outcome=replace(IN_PART, language=language), excerpts=shown)
    windows = [
        slack.editor(proposal, {}), slack.explanation("q1", language, True, {}), slack.window(footnotes)
    ]  # fmt: skip
    forms = [
        discord.editor(proposal, {}), discord.explanation("q1", language, True, {}), discord.uploading(language)
    ]  # fmt: skip

    assert [view_faults(view) for view in windows] == [[]] * 3
    for form in forms:
        check_modal(form)
    titles = {form["title"] for form in forms} & {view["title"]["text"] for view in windows}
    assert titles == {say_in(language)(name) for name in ("edit_title", "what_was_wrong")}
