"""Measurements of Footnote itself: `python -m benchmarks` lists them, README.md has their figures."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # of the repository
EVALUATION = ROOT / "tests" / "benchmarks" / "evaluation"  # sets of questions that are part of the repository

#: The folder of the public evaluation sets, which are not.
DATA = Path(os.environ.get("FOOTNOTE_DATA", ROOT.parent / "shared" / "data"))

Say = Callable[[str], None]  # is called with each sentence of progress

#: Every benchmark by the name of its module, and what it measures.
BENCHMARKS = {
    "retrieval": "how often a passage that answers is among the first found",
    "drafts_retrieval": "the same for questions as colleagues type them",
    "alike": "whether a question finds its document among others that say the same",
    "languages": "the same for questions and documents in several languages",
    "followups": "how well questions that need their history are recognised",
    "placing": "whether what a person answered is put back into the section that it was taken from",
    "gaps": "how well questions that were not answered are grouped into the subjects that they are about",
    "manners": "whether messages without a mention are answered where they are for the bot, and only there",
    "confidence": "whether the confidence separates questions that the documents answer from others",
    "extraction": "whether the offline reasoner quotes the sentences that answer",
    "lint": "what the linter finds of planted faults in two real handbooks, and its false alarms",
    "formats": "how much of the text and of the table cells of each kind of file comes through",
    "cells": "whether numbers in tables of PDF files come with their row and columns",
    "citations": "whether footnotes lead to the passages that answer, offline",
    "verdicts": "time of `footnote test` on 200 questions without a key, and whether its verdicts are the same twice",
    "quotes": "whether the quotes of footnotes show the sentences that they stand under",
    "judges": "right and wrong answers where judges err, beside five published graphs",
    "calculations": "whether computed figures that are shown are right, and how many right ones are shown",
    "stays_true": "whether answers are marked whose quotes no longer stand, and no others, over days of a real repository",
    "drafts": "what is shown of drafts by language models whose false sentences are known",
    "first_sentence": "when the first checked sentence of an answer is shown, and what that costs",
    "trips": "round trips to the model and time of a question, beside five published graphs",
    "tokens": "tokens of the models for one question, by step",
    "path": "the files and functions that a question, an approval and a repository enter",
    "overhead": "processor time of one turn, and where it is spent",
    "traces": "processor time and bytes of the log of questions, and of its figures",
    "week": "what a team is answered before and after what its experts taught, in a made-up week",
    "same_question": "whether a question in other words is taken for the one that was answered, and no other one",
    "page": "processor time of each view of the operators' page, with many questions stored",
    "search": "time and recall of a retrieval in large libraries",
    "reader_sets": "what a search costs somebody who reads hundreds of sets of readers of a source",
    "stores": "what SQLite and PostgreSQL find and take, side by side",
    "indexing": "passages indexed a second, beside the published pipeline; time to follow one change",
    "sources": "how soon a large source answers, what questions wait for meanwhile, and its memory",
    "embedding": "passages embedded a second, beside Chroma's own function; recall of the vector index",
    "growth": "disk and memory that questions take, and the time of a start",
    "soak": "memory and disk over many questions in one process",
    "replicas": "what is lost, doubled or swapped while three processes are killed, paused and replaced",
    "load": "questions a second through Slack, and what they wait for",
    "processes": "turns a second of one, two and three processes on one PostgreSQL",
    "shared_store": "what a question takes of processes that share one PostgreSQL, and of that",
    "bombs": "what questions wait for while hostile files are read beside them",
    "fuzz": "the properties of the tests, driven by coverage",
    "fit_confidence": "fits the coefficients of the confidence and judges them on what they have not seen",
    "fit_selection": "fits the credits that rank sentences and judges them on what they have not seen",
    "pictures": "draws the pictures of messages in the READMEs of Slack and Discord",
    "reader": "lets a person, or any model, reply in the model's place",
}
