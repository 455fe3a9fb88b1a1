"""Greetings, thanks and goodbyes in several languages."""

from __future__ import annotations

import pytest

from core.text.intent import LONGEST, small_talk


@pytest.mark.parametrize(
    ("said", "reply"),
    [
        ("Perfect, works now, thanks", "You are welcome."),
        ("that works, thank you so much!", "You are welcome."),
        ("ok thanks anyway", "You are welcome."),
        ("Thanks for trying though", "You are welcome."),
        ("Trotzdem danke", "Gern geschehen."),
        ("merci quand même", "Avec plaisir."),
        ("gracias de todos modos", "De nada."),
        ("obrigado mesmo assim", "De nada."),
        ("とにかくありがとう", "どういたしまして。"),
        ("Danke, klappt jetzt", "Gern geschehen."),
        ("Vielen Dank, hat geklappt 🙂", "Gern geschehen."),
        ("Danke schön, jetzt geht’s", "Gern geschehen."),
        ("merci, ça marche", "Avec plaisir."),
        ("Merci beaucoup à tous", "Avec plaisir."),
        ("gracias, ya funciona", "De nada."),
        ("Muito obrigada, funcionou", "De nada."),
        ("ありがとうございます！助かりました", "どういたしまして。"),
        ("Good morning team", "Hello. Ask me something about your documents."),
        ("Hallo zusammen", "Hallo. Frag mich etwas zu deinen Dokumenten."),
        ("Bonjour à tous", "Bonjour. Pose-moi une question sur tes documents."),
        ("buenos dias", "Hola. Pregúntame algo sobre tus documentos."),
        ("Bom dia, pessoal", "Olá. Pergunte-me algo sobre os seus documentos."),
        ("こんにちは", "こんにちは。ドキュメントについて何でも聞いてください。"),
        ("TSCHÜSS, bis morgen", "Bis bald."),
        ("Au revoir", "Au revoir."),
        ("I am going home", "Goodbye."),
        ("I’m off, bye", "Goodbye."),
        ("lol", "I am here when you have a question about your documents."),
        ("Bin dann mal weg", "Bis bald."),
        ("Wie gehts?", "Hallo. Frag mich etwas zu deinen Dokumenten."),
        ("je rentre chez moi", "Au revoir."),
        ("me voy a casa", "Hasta luego."),
        ("kkkk", "Estou aqui se tiver uma pergunta sobre os seus documentos."),
        ("もう帰ります", "さようなら。"),
        ("元気?", "こんにちは。ドキュメントについて何でも聞いてください。"),
    ],
)
def test_small_talk_is_answered_in_its_language(said, reply):
    assert small_talk(said) == reply


@pytest.mark.parametrize(
    ("said", "reply"),
    [("Hi, thanks!", "You are welcome."), ("Thanks, bye", "Goodbye."), ("Thanks, lol", "You are welcome.")],
)
def test_the_last_phrase_is_the_one_that_is_answered(said, reply):
    assert small_talk(said) == reply


@pytest.mark.parametrize(
    "said",
    [
        "",
        "!!!",
        "that",
        "high",
        "works now?",
        "Geht das?",
        "how does it work",
        "thanks, does it work with postgres?",
        "danke, und wie lösche ich das?",
        "ありがとう、次の質問ですが",
        "thanks " * LONGEST,
    ],
)
def test_what_asks_for_more_is_no_small_talk(said):
    assert small_talk(said) is None
