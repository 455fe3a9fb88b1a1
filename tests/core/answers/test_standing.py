"""What became of a quote: it stands, it is said in other words, or it is gone."""

from __future__ import annotations

import pytest

from core.answers.standing import standing_of

PAGE = "# Leaving\n\nThe notice period is three months. It begins with the next month.\n"


@pytest.mark.parametrize(
    ("quote", "now"),
    [
        ("The notice period is three months.", PAGE),
        ("The notice period is three months.", "Text before.\n\nThe notice\nperiod is **three** months, says Ann."),
        ("Don't use `eval()` - ever.", "* don’t use eval() – ever!"),
        ("| Berlin | 30 days |", "| City | Leave |\n|:---|---:|\n|Berlin|  30 days  |\n"),
        ("See [the guide](a.md) first.", "See [the guide](../new/b.md#top) first."),
        ("Die Frist beträgt drei Monate.", "Die  Frist beträgt\ndrei Monate."),
        ("解約の予告期間は三か月です。", "解約の予告期間は\n三か月です。"),
        ("1. Open the file", "7. Open the file"),
        ("```sh\npip install harbour\n```", "Run:\n\n```sh\npip  install harbour\n```\n"),
    ],
)  # fmt: skip
def test_what_differs_in_case_markup_white_space_and_punctuation_alone_stands(quote, now):
    assert standing_of(quote, now).standing in ("stands", "reworded")


@pytest.mark.parametrize(
    ("quote", "now"),
    [
        (
            "The office opens at 9 and closes at noon on Fridays.",
            "On Fridays, the office opens at 9 and closes at noon.",
        ),
        ("You can request leave with the form.", "You can simply request leave by using the form."),
        (
            "Send the receipt to pay@acme.org within 30 days.",
            "Receipts are sent to pay@acme.org. This must be done within 30 days.",
        ),
        ("The notice period is three months.", "The notice period is 3 months."),
        ("Die Frist für die Kündigung beträgt drei Monate.", "Für die Kündigung beträgt die Frist 3 Monate."),
        ("The ferry leaves pier three at half past nine.", "The ferry to Sark leaves from pier three at half past nine."),
        (
            "Images are named by version, e.g. `harbour:0.4.18-alpine` in the registry.",
            "Images are named by version, e.g. `harbour:0.4.29-alpine` in the registry.",
        ),
        (
            "Windows 10 is needed at least ([Rust's support](https://blog.test/2024/02/26/w.html)).",
            "At least Windows 10 or Windows Server 2016 is needed ([Rust's support](https://blog.test/w.html)).",
        ),
        (
            "Set `HARBOUR_KEY` or `--key` to enable the signing of all berths.",
            "To enable the signing of all berths, pass `--key`, or set `HARBOUR_KEY`.",
        ),
        (
            "```py\nimport harbour\n\nberth = harbour.find()\nberth.book(3)\nberth.pay()\n```",
            "```py\nimport harbour\n\nberth = harbour.find()\nberth.book(3)\nberth.settle()\n```",
        ),
    ],
)  # fmt: skip
def test_a_claim_in_other_words_still_holds(quote, now):
    assert standing_of(quote, f"# Page\n\nSome first words stand here.\n\n{now}\n").standing == "reworded"


@pytest.mark.parametrize(
    ("quote", "now"),
    [
        ("The notice period is three months.", "The notice period is six months."),
        ("A night costs 1.5 euros.", "A night costs 15 euros."),
        ("A night costs 18 euros.", "A night costs 21 euros."),
        ("The current version of the harbour is 0.4.18 now.", "The current version of the harbour is 0.4.29 now."),
        ("Here **Gunicorn** manages all the workers.", "Here **Uvicorn** manages all the workers."),
        ("It must be below -5 degrees.", "It must be below 5 degrees."),
        ("Set `x >= 3` here for all of them.", "Set `x <= 3` here for all of them."),
        ("You can park in the yard.", "You cannot park in the yard."),
        ("Dogs are not allowed on board the ferry.", "Dogs are allowed on board the ferry."),
        ("Reports are due weekly, by the team lead.", "Reports are due monthly, by the team lead."),
        ("Ask the people at Lufthansa for the refund of a ticket.", "Ask the people at Ryanair for the refund of a ticket."),
        ("Call `connect()` with the token first.", "Call `open_session()` with the token first."),
        ("Send it to pay@acme.org as soon as you have it.", "Send it to money@acme.org as soon as you have it."),
        ("The ferry takes bicycles after nine.", "The ferry takes bicycles before nine."),
        ("Die Frist beträgt drei Monate.", "Die Frist beträgt sechs Monate."),
        ("Hunde sind an Bord nicht erlaubt.", "Hunde sind an Bord erlaubt."),
        ("Les chiens ne sont pas admis à bord.", "Les chiens sont admis à bord."),
        ("Los perros no pueden subir a bordo.", "Los perros pueden subir a bordo."),
        ("解約の予告期間は三か月です。", "解約の予告期間は六か月です。"),
        ("| Berlin | 30 days |", "| City | Leave |\n|---|---|\n| Berlin | 25 days |\n"),
        ("- Bring a passport to the pier.", "- Bring a ticket and some food.\n"),
        ("```sh\npip install harbour==1.2\n```", "```sh\npip install harbour==2.0\n```"),
    ],
)  # fmt: skip
def test_another_number_name_span_or_denial_is_another_claim(quote, now):
    found = standing_of(quote, f"# Page\n\nSome first words stand here.\n\n{now}\n")

    assert found.standing == "gone"


def test_what_was_removed_is_gone_and_nothing_took_its_place():
    found = standing_of("The notice period is three months.", "# Leaving\n\nAsk Ann about everything.\n")

    assert (found.standing, found.lost, found.instead) == ("gone", "The notice period is three months.", "")


def test_the_sentence_that_took_its_place_is_named():
    quote = "It is simple. The notice period is three months."

    found = standing_of(quote, "# Leaving\n\nIt is simple. The notice period is six months. Ask Ann.\n")

    assert found.lost == "The notice period is three months."
    assert found.instead == "The notice period is six months."


def test_of_two_sentences_that_are_as_near_none_is_named():
    now = "The notice period of workers is six weeks. The notice period of managers is six weeks."

    assert standing_of("The notice period is three months.", now).instead == ""


def test_what_moved_to_another_document_stands():
    found = standing_of("The notice period is three months.", "# Leaving\n", [PAGE])

    assert found.standing == "stands"


def test_an_empty_document_has_nothing():
    assert standing_of("The notice period is three months.", "").standing == "gone"
