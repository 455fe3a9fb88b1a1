"""Whether a question denies or turns round what a sentence says."""

from __future__ import annotations

import pytest

from core.text.sentences import is_opposed

SENTENCE = "The northern harbour accepted the largest ships before the war."


@pytest.mark.parametrize(
    "question",
    [
        "Which harbour did not accept large ships?",
        "What wasn't accepted by the harbour?",
        "What wasn’t accepted by the harbour?",
        "Which harbour rejected the largest ships?",
        "Which southern harbour accepted the largest ships?",
        "Which harbour accepted the smallest ships?",
        "What did the harbour accept after the war?",
    ],
)
def test_what_is_denied_or_turned_round_is_seen(question):
    assert is_opposed(question, SENTENCE)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Which harbour accepted the largest ships?", SENTENCE),
        ("Why does the harbour not accept ships?", SENTENCE),
        ("How do I accept what is not a ship?", SENTENCE),
        ("Which harbour did not accept ships?", "The harbour never accepted ships."),
        ("Did it happen before or after the war?", SENTENCE),
        ("", ""),
    ],
)
def test_what_agrees_or_asks_for_help_is_not(question, sentence):
    assert not is_opposed(question, sentence)
