"""The messages of both platforms: what they show of an outcome, a proposal or a reply, and in which order. Pure.

An adapter says in a :class:`Layout` how its blocks are built. ``words`` are untrusted text there, ``markup`` is safe.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Generic

from bots.chat import proposals
from bots.chat.markdown.blocks import plain_line
from bots.chat.markdown.safe import is_blank, line, web_link
from bots.chat.platform import CardContext, Shown, Sources
from bots.chat.proposals import notification, of_search
from bots.chat.texts import (
    FOOTNOTES_SHOWN,
    answered_in,
    asked_back,
    clipped,
    closest_shown,
    places_of,
    provenance,
    quotes_label,
    remarks,
    say_in,
    source_lists,
    text_of,
)
from core.answers.store import KeptAnswer, title_of
from core.conversation import Answer, Citation, Outcome, Proposal, Question, Verdict, value
from core.grounding.citations import by_place
from core.text.language import language_of
from core.wording import Wording

QUESTION_SHOWN = 300  # characters of a question in a request or a card
OPTIONS = 25  # buttons of a clarification; the text above them lists further options

Block = dict[str, Any]  #: as the platform's API takes it
Part = str | Block  #: Markdown that may share a block with its neighbours, or a block


@value
class Layout(Generic[Shown]):
    """How a platform builds its messages."""

    message: Callable[
        ..., Shown
    ]  #: of blocks, and what a notification says; if empty, what the blocks begin with
    packed: Callable[
        [Iterable[Part]], Iterator[list[Block]]
    ]  #: the blocks of as few messages as hold the parts
    fits: Callable[[Sequence[Block]], bool]  #: into one message
    pieces: Callable[[str, str, Collection[str]], Iterable[Part]]  #: Markdown, its language, and its links
    failure: Callable[[str, str], Iterable[Part]]  #: what went wrong, and its language
    words: Callable[[str], str]  #: as one line of markup
    text: Callable[[str], Block]  #: markup
    small: Callable[[str], Block]  #: markup in small print
    lines: Callable[
        ..., Iterator[Block]
    ]  #: of texts, with a ``bullet``, in few blocks; empty ones are left out
    exact: Callable[[str], Block]  #: a query, with exactly these characters
    quoted: Callable[[str], Iterable[Block]]  #: a text in a quotation
    footnote: Callable[[Citation, str, bool], Block]  #: in a language, with its quote or without
    #: A label, what a press does (up to a colon), what it is about, and whether it ``is_primary``.
    button: Callable[..., Block]
    rows: Callable[[Sequence[Block]], Iterable[Block]]  #: of buttons
    feedback: Callable[[str, Wording], Sequence[Block]]  #: on a turn
    choice: Callable[[str, str], str]  #: the value of an option's button, from its text and the turn
    boxed: Callable[[Sequence[Block], Verdict | None], list[Block]]  #: a card, by what was decided
    time: Callable[[float], str]  #: a moment, in seconds since the epoch
    bold: str  #: the mark on both sides
    italic: str
    code: str  #: the mark on both sides of code in small print; empty: none
    bullet: str
    line_size: int  #: characters of a line
    label_size: int  #: characters of a button's label
    divider: Block
    above_card: Sequence[Block] = ()  #: parts a card from an answer
    room: Sequence[Block]  #: as large as a card below an answer may become
    has_one_row: bool  #: whether all buttons of an outcome stand together at its end
    with_buttons: Collection[object]  #: the types of blocks in which there is something to press

    def messages(self, outcome: Outcome, card_context: CardContext) -> tuple[Shown, ...]:
        """The outcome as one message, or as several in order where it is longer than the platform takes."""
        if outcome.kind == "approval_needed" and outcome.proposal is not None:
            unreadable = [self.note("\n".join(outcome.unreadable))] if outcome.unreadable else []
            if card_context.is_forgotten:
                return (*unreadable, self.note(say_in(outcome.language)("card_forgotten")))
            return (*unreadable, self.proposal_card(outcome.proposal, card_context))
        if outcome.answer is not None:
            parts = self._answer(outcome, outcome.answer, card_context)
        else:
            endings = {"no_answer": self._no_answer, "clarify": self._clarify}
            # Every other outcome without an answer is shown as a failure.
            ending = endings.get(outcome.kind, self._failed)(outcome, card_context)
            parts = chain(self.lines(outcome.unreadable), ending)
        made = self._with_card([*self.packed(parts)], self._beneath(outcome, card_context))
        if card_context.is_forgotten:
            made = [[each for each in blocks if each["type"] not in self.with_buttons] for blocks in made]
        first, *others = made
        return (self.message(first, notification(outcome, card_context)), *map(self.message, others))

    def note(self, sentence: str) -> Shown:
        """A short message of the bot itself; cut to what one message takes."""
        return self.shown(self.lines(["…"] if is_blank(sentence) else sentence.split("\n")))[0]

    def shown(self, parts: Iterable[Part]) -> tuple[Shown, ...]:
        return tuple(map(self.message, self.packed(parts)))

    def proposal_card(self, proposal: Proposal, card_context: CardContext) -> Shown:
        """The card of a proposal, open or decided: what was searched for, the closest passages as far as they fit, and the
        exact query to send.
        """
        language = language_of(proposal.question)
        for shown in range(min(FOOTNOTES_SHOWN, len(proposal.closest)), -1, -1):
            above = [*self.lines([proposals.reason(proposal)]), *self._small(proposals.looked_for(proposal))]
            if closest := proposal.closest[:shown]:
                above += self._small(say_in(language)("closest"))
                above += [self.footnote(each, language, True) for each in closest]
            card = self.boxed([*above, *self._request(proposal, card_context)], proposal.verdict)
            if self.fits(card):
                break
        return self.message(card, of_search(proposal, card_context))

    def decided_already(self, proposal: Proposal, card_context: CardContext) -> Shown:
        sentence = proposals.decided_already(proposal, card_context, name=self.words, time=self.time)
        return self.message([self.text(sentence)])

    def reading_allowed(self, question: Question, card_context: CardContext) -> Shown:
        return self.message([self.text(self._allowed(question, card_context))])

    def sources(self, sources: Sources) -> tuple[Shown, ...]:
        return self.shown(self._source_lists(sources))

    def kept(self, answer: KeptAnswer) -> Shown:
        say = say_in(answer.language)
        since, until = (say.day(moment) for moment in (answer.kept_at, answer.valid_until))
        validity = f"{say('valid_from_until', since=since, until=until)} {say('read_here_only')}"
        made = [
            *self.lines([say("will_remember")]),
            self.text(self._bold(clipped(answer.question, QUESTION_SHOWN))),
            *self.quoted(answer.text),
            *self._small(f"{title_of(answer)} · {validity}"),
            *self.rows([self.button(say("forget_answer"), "unkeep", answer.id)]),
        ]
        return self.message(made, f"{say('will_remember')} {answer.question}")

    def _bold(self, words: str) -> str:
        return f"{self.bold}{self.words(words)}{self.bold}"

    def _small(self, words: str) -> Iterator[Block]:
        """A line of small print, if there are words."""
        if markup := self.words(clipped(line(words), self.line_size)):
            yield self.small(markup)

    def _source_lists(self, sources: Sources) -> Iterator[Part]:
        for name, size, lines, more in source_lists(sources.entries, say_in(sources.language)):
            yield self.text(f"{self._bold(name)}: {size}")
            yield from self.lines(lines, bullet=self.bullet)
            yield from self._small(more)

    def _with_card(self, made: list[list[Block]], card: Sequence[Block]) -> list[list[Block]]:
        """With the card at the end of the last message, or in one of its own. There has to be room for what it may become:
        open and decided, it stands in the same message.
        """
        if not card:
            return made
        *others, last = made
        if self.fits([*last, *self.room]):
            return [*others, [*last, *self.above_card, *card]]
        return [*made, [*card]]

    def _beneath(self, outcome: Outcome, card_context: CardContext) -> Sequence[Block]:
        """The card that goes with the outcome: to search the web, or to read the attached files."""
        say = say_in(outcome.language)
        if card_context.is_forgotten:
            return self.boxed([*self._small(say("card_forgotten"))], "deny")
        if outcome.proposal is not None:
            return self.boxed([*self._request(outcome.proposal, card_context)], outcome.proposal.verdict)
        if not outcome.unread or outcome.kind == "failed":  # a failed turn is asked again first
            return ()
        if question := card_context.reading:
            return self.boxed([self.small(self._allowed(question, card_context))], "approve")
        read = self.button(say("read_files", count=len(outcome.unread)), "read", outcome.turn_id)
        return self.boxed([*self._small(proposals.unread_files(outcome)), *self.rows([read])], None)

    def _allowed(self, question: Question, card_context: CardContext) -> str:
        """Who let the files be read, and when."""
        return proposals.reading_allowed(question, card_context, name=self.words, time=self.time)

    def _request(self, proposal: Proposal, card_context: CardContext) -> Iterator[Block]:
        """The exact query with the buttons, or once it is decided, who decided and when."""
        say = say_in(language_of(proposal.question))
        yield from self.lines([proposals.would_search(proposal, card_context)])
        yield self.exact(proposals.whole_query(proposal.query))
        if proposal.is_open:
            buttons = [
                self.button(say("search"), "approve", proposal.id, is_primary=True),
                self.button(say("edit"), "edit", proposal.id),
                self.button(say("deny"), "deny", proposal.id),
            ]
            if card_context.can_consult:
                buttons.append(self.button(say("ask_person"), "consult", proposal.turn_id))
            yield from self.rows(buttons)
            yield from self._small(proposals.waiting(proposal, card_context))
            return
        if proposal.allowed not in (None, proposal.query):
            yield from self._small(say("edited"))
            yield self.exact(proposals.whole_query(proposal.allowed or ""))
        yield self.small(proposals.decision(proposal, card_context, name=self.words, time=self.time))

    def _answer(self, outcome: Outcome, answer: Answer, card_context: CardContext) -> Iterator[Part]:
        answer = by_place(answer)
        if lead := provenance(outcome, answer):
            yield self.small(f"{self.italic}{self.words(lead)}{self.italic}")
        links = [url for one in answer.citations if (url := web_link(one.url))]
        yield from self.pieces(answer.text, outcome.language, links)
        if answer.citations:
            yield dict(self.divider)
            for place in places_of(answer.citations)[:FOOTNOTES_SHOWN]:
                # An answer of quotes alone has shown them above.
                yield self.footnote(place, outcome.language, answer.composed)
        quotes, person = self._quotes_button(outcome), self._person_button(outcome, card_context)
        yield from self._apart(quotes, person)
        # The reason: an answer in spite of an error, such as a model out of reach.
        for remark in (outcome.reason or "", *remarks(outcome), answered_in(outcome)):
            yield from self._small(plain_line(remark, code=self.code))
        if not outcome.is_small_talk:
            yield from self._ratings(outcome, card_context, [*quotes, *person])

    def _no_answer(self, outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
        say = say_in(outcome.language)
        yield from self.pieces(outcome.reason or say("not_found"), outcome.language, ())
        if closest := closest_shown(outcome):
            yield from self._small(say("closest"))
            yield from (self.footnote(each, outcome.language, True) for each in closest)
        quotes, person = self._quotes_button(outcome), self._person_button(outcome, card_context)
        yield from self._apart(quotes)
        if not outcome.unread:  # else what can be done stands beneath
            yield self.small(f"{say('what_else')} {say('how_to_add')}")
        yield from self._apart(person)
        yield from self._ratings(outcome, card_context, [*quotes, *person])

    def _clarify(self, outcome: Outcome, _card_context: CardContext) -> Iterator[Part]:
        asked, say = asked_back(outcome, buttons=OPTIONS, length=self.label_size), say_in(outcome.language)
        made = [*self.pieces(asked, outcome.language, ())]
        yield from made or self.pieces(say("which"), outcome.language, ())
        buttons = [
            self.button(option, f"choose:{number}", self.choice(option, outcome.turn_id))
            for number, option in enumerate(outcome.options[:OPTIONS], start=1)
            if not is_blank(option)
        ]
        yield from self.rows(buttons)

    def _failed(self, outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
        yield from self.failure(text_of(outcome), outcome.language)
        if card_context.can_retry:
            label = say_in(outcome.language)("try_again")
            yield from self.rows([self.button(label, "again", outcome.turn_id)])

    def _quotes_button(self, outcome: Outcome) -> list[Block]:
        label = quotes_label(outcome)
        return [self.button(label, "footnotes", outcome.turn_id)] if label else []

    def _person_button(self, outcome: Outcome, card_context: CardContext) -> list[Block]:
        """Where the outcome says so little that a person may be asked; with a proposed search, its card offers that."""
        is_unsure = outcome.answer is not None and not outcome.answer.is_sure
        is_little = outcome.kind == "no_answer" or is_unsure
        if not (card_context.can_consult and is_little and outcome.proposal is None):
            return []
        return [self.button(say_in(outcome.language)("ask_person"), "consult", outcome.turn_id)]

    def _apart(self, *rows: Sequence[Block]) -> Iterator[Block]:
        """Rows of buttons where they stand, unless all stand in one row."""
        for buttons in rows if not self.has_one_row else ():
            yield from self.rows(buttons)

    def _ratings(
        self, outcome: Outcome, card_context: CardContext, buttons: Sequence[Block]
    ) -> Iterable[Block]:
        say = say_in(outcome.language)
        ratings = self.feedback(outcome.turn_id, say)
        if card_context.is_unasked:
            ratings = [self.button(say("not_helpful_here"), "withdraw", outcome.turn_id)]
        if self.has_one_row:
            return self.rows([*ratings, *buttons])
        return self.rows(ratings) if card_context.is_unasked else ratings
