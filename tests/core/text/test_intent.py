"""What a question wants, in six languages."""

from __future__ import annotations

import pytest

from core.text.intent import hands_over, intent_of


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What is a dependency with yield?", "definition"),
        ("what's middleware", "definition"),
        ("What does HSTS mean?", "definition"),
        ("Was ist ein Sprint?", "definition"),
        ("Qu'est-ce qu'un sprint ?", "definition"),
        ("¿Qué es un sprint?", "definition"),
        ("O que é um sprint?", "definition"),
        ("スプリントとは何ですか？", "definition"),
        ("How do I mount static files?", "instruction"),
        ("hi, how to add cors", "instruction"),
        ("Wie kann ich Urlaub beantragen?", "instruction"),
        ("Comment installer le client ?", "instruction"),
        ("¿Cómo puedo instalar el cliente?", "instruction"),
        ("Como posso instalar o cliente?", "instruction"),
        ("VPNの設定方法を教えてください", "instruction"),
        ("What is the limit of uploads?", None),
        ("What are our opening hours in May?", None),
        ("How many days of leave do I have?", None),
        ("How does it work?", None),
        ("Who founded the company?", None),
    ],
)
def test_intents(question, intent):
    assert intent_of(question) == intent


@pytest.mark.parametrize(
    "said",
    [
        "can you answer this?", "Could someone please help with this one?", "any idea?", "What about this?", "thoughts?",
        "Kannst du das beantworten?", "Könnt ihr ihm bitte helfen?", "peux-tu répondre à ça ?",
        "¿puedes responder a esto?", "você pode responder isso?", "これに答えてもらえますか？",
    ],
)  # fmt: skip
def test_what_only_hands_a_message_over(said):
    assert hands_over(said)


@pytest.mark.parametrize(
    "said",
    [
        "How tall is it?", "can you help me with my expenses?", "Can you answer this survey by Friday?", "",
        "any ideas on how to deploy?", "Kannst du das Handbuch erklären?", "これは何ですか",
    ],
)  # fmt: skip
def test_what_asks_something_itself(said):
    assert not hands_over(said)
