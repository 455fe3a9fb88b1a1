"""The messages of both platforms: what they show of an outcome, a proposal or a reply, and in which order. Pure.

An adapter says in a :class:`Layout` how its blocks are built. ``words`` are untrusted text there, ``markup`` is safe.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Generic, assert_never

from bots.chat import platform, proposals, texts
from bots.chat.markdown.blocks import plain_line, plain_quote
from bots.chat.markdown.safe import is_blank, line, web_link
from bots.chat.platform import CardContext, ChangedAnswer, Shown
from bots.chat.proposals import notification, of_search
from core.answers.store import KeptAnswer, title_of
from core.conversation import Answer, Citation, Outcome, Proposal, Question, Verdict, value
from core.grounding.citations import merge_footnotes
from core.text.language import language_of
from core.turns.messenger import ReplyRoute
from core.wording import Wording

QUESTION_SHOWN = 300  # characters of a question in a request or a card
OPTIONS = 25  # buttons of a clarification; the text above them lists further options

Block = dict[str, Any]  #: as the platform's API takes it
Part = str | Block  #: Markdown that may share a block with its neighbours, or a block


@value
class Layout(Generic[Shown]):
    """The functions and limits with which a platform builds its messages."""

    #: Of blocks, and what a notification says, if empty, their beginning. ``pings``: whom it notifies.
    message: Callable[..., Shown]
    markdown: Callable[[str], Block]  #: of an answer
    fits: Callable[[Sequence[Block]], bool]  #: into one message
    trimmed: Callable[[list[Block]], list[Block]]  #: what is shown of blocks that fit
    pieces: Callable[[str, str, Collection[str]], Iterable[Part]]  #: Markdown, its language, and its links
    failure: Callable[[str, str], Iterable[Part]]  #: what went wrong, and its language
    words: Callable[[str], str]  #: as one line of markup
    text: Callable[[str], Block]  #: markup
    small: Callable[[str], Block]  #: markup in small print
    #: Of texts, with a ``bullet``, in few blocks; empty ones are left out.
    lines: Callable[..., Iterator[Block]]
    exact: Callable[[str], Block]  #: a query, with exactly these characters
    quoted: Callable[[str], Iterable[Block]]  #: a text in a quotation
    footnote: Callable[[Citation, str, bool], Block]  #: in a language, with its quote or without
    #: A label, what a press does (up to a colon), what it is about, and whether it ``is_primary``.
    button: Callable[..., Block]
    rows: Callable[[Sequence[Block]], Iterable[Block]]  #: of buttons
    feedback: Callable[[str, Wording], Sequence[Block]]  #: on a turn
    mention: Callable[[platform.Approver], str]  #: of a person or a group
    #: A message that calls people: of a sentence in which a function writes names, blocks, and the people.
    call: Callable[
        [Callable[[Callable[[str], str]], str], Sequence[Block], Sequence[platform.Approver]], Shown
    ]
    #: Every quote in its paragraph, below its title, and the sentences that were left out.
    quoted_parts: Callable[[platform.Footnotes], Iterator[Part]]
    #: A form in which the query is changed before it is allowed.
    editor: Callable[[Proposal, ReplyRoute], Any]
    #: A form for what is wrong with a turn's answer, by its language, and whether experts can be asked.
    explanation: Callable[[str, str, bool, ReplyRoute], Any]
    #: The footnotes as a window of the platform's own; None where they are messages, or do not fit.
    window: Callable[[platform.Footnotes], Any | None]
    ended: Callable[[Shown, Outcome], Shown]  #: the first message of an outcome, with what the platform adds
    choice: Callable[[str, str], str]  #: the value of an option's button, from its text and the turn
    boxed: Callable[[Sequence[Block], Verdict | None], list[Block]]  #: a card, by what was decided
    time: Callable[[float], str]  #: a moment, in seconds since the epoch
    date: Callable[[float], str]  #: the same with its day
    bold: Callable[[str], str]  #: untrusted words of one line
    italic: str  #: the mark on both sides
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
            shown = [self.note("\n".join(outcome.unreadable))] if outcome.unreadable else []
            if card_context.is_forgotten:
                shown.append(self.note(texts.say_in(outcome.language)("card_forgotten")))
            else:
                shown.append(self.proposal_card(outcome.proposal, card_context))
        else:
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
            notified = notification(outcome, card_context)
            shown = [self.message(made[0], notified), *map(self.message, made[1:])]
        first, *others = shown
        return (self.ended(first, outcome), *others)

    def reply(self, reply: platform.CommandReply) -> tuple[Shown, ...]:
        """The reply to a command; never empty."""
        match reply:
            case platform.Note():
                return (self.note(reply.text),)
            case platform.Sources():
                none = texts.say_in(reply.language)("no_documents")
                return self.shown(self._source_lists(reply)) or (self.note(none),)
            case platform.Footnotes():
                none = texts.say_in(reply.outcome.language)("no_footnotes")
                return self.shown(self.quoted_parts(reply)) or (self.note(none),)
            case _:
                assert_never(reply)

    def note(self, sentence: str) -> Shown:
        """A short message of the bot itself; cut to what one message takes."""
        return self.shown(self.lines(["…"] if is_blank(sentence) else sentence.split("\n")))[0]

    def under_way(self, work: platform.ProgressNote) -> Shown:
        """The step of a turn, below what is checked of its answer by now."""
        if work.answer is None:
            return self.note(work.sentence)
        outcome = _outcome_with(work.answer, work.language)
        parts = [*self._said(outcome, work.answer), *self._footnotes(work.answer, work.language)]
        return self.message(next(iter(self.packed([*parts, *self._small(work.sentence)]))))

    def beginning(self, answer: Answer, language: str) -> list[Block]:
        """The blocks of the first part of an answer; the whole answer begins with the same."""
        return next(iter(self.packed(self._said(_outcome_with(answer, language), answer))))

    def packed(self, parts: Iterable[Part]) -> Iterator[list[Block]]:
        """The blocks of as few messages as hold the parts in order."""
        message: list[Part] = []
        for part in parts:
            last = message[-1] if message else None
            is_joined = isinstance(part, str) and isinstance(last, str)
            grown = [*message[:-1], f"{last}\n\n{part}"] if is_joined else [*message, part]
            if message and not self.fits(self._blocks(grown)):
                yield self.trimmed(self._blocks(message))
                grown = [part]
            message = grown
        if message:
            yield self.trimmed(self._blocks(message))

    def _blocks(self, parts: Iterable[Part]) -> list[Block]:
        return [self.markdown(part) if isinstance(part, str) else part for part in parts]

    def shown(self, parts: Iterable[Part]) -> tuple[Shown, ...]:
        return tuple(map(self.message, self.packed(parts)))

    def proposal_card(self, proposal: Proposal, card_context: CardContext) -> Shown:
        """The card of a search, open or decided: the closest passages that fit, and the exact query."""
        language = language_of(proposal.question)
        for shown in range(min(texts.FOOTNOTES_SHOWN, len(proposal.closest)), -1, -1):
            above = [*self.lines([proposals.reason(proposal)]), *self._small(proposals.looked_for(proposal))]
            if closest := proposal.closest[:shown]:
                above += self._small(texts.say_in(language)("closest"))
                above += [self.footnote(each, language, True) for each in closest]
            card = self.boxed([*above, *self._request(proposal, card_context)], proposal.verdict)
            if self.fits(card):
                break
        return self.message(card, of_search(proposal, card_context))

    def decided_already(self, proposal: Proposal, card_context: CardContext) -> Shown:
        """The sentence for a person who decides too late: who decided, and when."""
        time = self.time if proposal.verdict in ("approve", "deny") else self.date
        sentence = proposals.decision(proposal, card_context, name=self.words, time=time, is_late=True)
        return self.message([self.text(sentence)])

    def reading_allowed(self, question: Question, card_context: CardContext) -> Shown:
        """The sentence that says who let the attached files be read, and when."""
        return self.message([self.text(self._allowed(question, card_context))])

    def call_approvers(self, proposal: Proposal, approvers: Sequence[platform.Approver]) -> Shown:
        """A message that notifies these people and groups of a search that waits for them."""
        mentions = [*map(self.mention, approvers)]
        return self.call(
            lambda name: proposals.call_approvers(proposal, mentions=mentions, name=name), (), approvers
        )

    def consultation(
        self, question: str, asker: str, experts: Sequence[platform.Approver], language: str
    ) -> Shown:
        """Notifies the experts, and has the button with which a reply is kept."""
        say, asked = texts.say_in(language), texts.clipped(question, QUESTION_SHOWN)
        who = ", ".join(map(self.mention, experts))
        keep = self.button(say("keep_answer"), "keep", "reply")
        below = [*self.rows([keep]), *self._small(say("can_be_kept"))]
        return self.call(
            lambda name: say("call_experts", who=who, asker=name(asker), question=name(asked)),
            below, experts,
        )  # fmt: skip

    def kept(self, answer: KeptAnswer) -> Shown:
        """Everything that is kept, with the button that forgets it."""
        say = texts.say_in(answer.language)
        since, until = (say.day(moment) for moment in (answer.kept_at, answer.valid_until))
        validity = f"{say('valid_from_until', since=since, until=until)} {say('read_here_only')}"
        made = [
            *self.lines([say("will_remember")]),
            self.text(self.bold(texts.clipped(answer.question, QUESTION_SHOWN))),
            *self.quoted(answer.text),
            *self._small(f"{title_of(answer)} · {validity}"),
            *self.rows([self.button(say("forget_answer"), "unkeep", answer.id)]),
        ]
        return self.message(made, f"{say('will_remember')} {answer.question}")

    def _small(self, words: str) -> Iterator[Block]:
        if markup := self.words(texts.clipped(line(words), self.line_size)):
            yield self.small(markup)

    def _source_lists(self, sources: platform.Sources) -> Iterator[Part]:
        for name, size, lines, more in texts.source_lists(sources.entries, texts.say_in(sources.language)):
            yield self.text(f"{self.bold(name)}: {size}")
            yield from self.lines(lines, bullet=self.bullet)
            yield from self._small(more)

    def _with_card(self, made: list[list[Block]], card: Sequence[Block]) -> list[list[Block]]:
        """The messages with the card: in the last one if it has room for the decided card, else in its own."""
        if not card:
            return made
        *others, last = made
        if self.fits([*last, *self.room]):
            return [*others, [*last, *self.above_card, *card]]
        return [*made, [*card]]

    def _beneath(self, outcome: Outcome, card_context: CardContext) -> Sequence[Block]:
        """The card that goes with the outcome: to search the web, or to read the attached files."""
        say = texts.say_in(outcome.language)
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
        return proposals.reading_allowed(question, card_context, name=self.words, time=self.time)

    def _request(self, proposal: Proposal, card_context: CardContext) -> Iterator[Block]:
        """The exact query with the buttons, or once it is decided, who decided and when."""
        say = texts.say_in(language_of(proposal.question))
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
            if proposal.expires_at is not None:
                yield self.small(say("open_until", time=self.date(proposal.expires_at)))
            return
        if proposal.allowed not in (None, proposal.query):
            yield from self._small(say("edited"))
            yield self.exact(proposals.whole_query(proposal.allowed or ""))
        time = self.date if proposal.verdict == "expire" else self.time
        yield self.small(proposals.decision(proposal, card_context, name=self.words, time=time))

    def _answer(self, outcome: Outcome, answer: Answer, card_context: CardContext) -> Iterator[Part]:
        answer = merge_footnotes(answer)
        quotes, person = self._quotes_button(outcome), self._person_button(outcome, card_context)
        if changed := card_context.changed:
            yield from self._changed(changed, outcome.language)
            quotes = [self._ask_again(outcome), *quotes]
        yield from self._said(outcome, answer)
        yield from self._footnotes(answer, outcome.language)
        yield from self._apart(quotes, person)
        # The reason: an answer in spite of an error, such as a model out of reach.
        for remark in (outcome.reason or "", *texts.remarks(outcome), texts.answered_in(outcome)):
            yield from self._small(plain_line(remark, code=self.code))
        if not outcome.is_small_talk:
            yield from self._ratings(outcome, card_context, [*quotes, *person])

    def _said(self, outcome: Outcome, answer: Answer) -> Iterator[Part]:
        if lead := texts.provenance(outcome, answer):
            yield self.small(f"{self.italic}{self.words(lead)}{self.italic}")
        links = [url for one in answer.citations if (url := web_link(one.url))]
        yield from self.pieces(answer.text, outcome.language, links)

    def _footnotes(self, answer: Answer, language: str) -> Iterator[Block]:
        if answer.citations:
            yield dict(self.divider)
            for citation in texts.distinct_citations(answer.citations)[: texts.FOOTNOTES_SHOWN]:
                # An answer of quotes alone has shown them above.
                yield self.footnote(citation, language, answer.composed)

    def _no_answer(self, outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
        say = texts.say_in(outcome.language)
        yield from self.pieces(outcome.reason or say("not_found"), outcome.language, ())
        if closest := texts.closest_shown(outcome):
            yield from self._small(say("closest"))
            yield from (self.footnote(each, outcome.language, True) for each in closest)
        quotes, person = self._quotes_button(outcome), self._person_button(outcome, card_context)
        yield from self._apart(quotes)
        if not outcome.unread:  # else what can be done stands beneath
            yield self.small(f"{say('what_else')} {say('how_to_add')}")
        yield from self._apart(person)
        yield from self._ratings(outcome, card_context, [*quotes, *person])

    def _clarify(self, outcome: Outcome, _card_context: CardContext) -> Iterator[Part]:
        say = texts.say_in(outcome.language)
        asked = texts.asked_back(outcome, buttons=OPTIONS, length=self.label_size)
        made = [*self.pieces(asked, outcome.language, ())]
        yield from made or self.pieces(say("which"), outcome.language, ())
        buttons = [
            self.button(option, f"choose:{number}", self.choice(option, outcome.turn_id))
            for number, option in enumerate(outcome.options[:OPTIONS], start=1)
            if not is_blank(option)
        ]
        yield from self.rows(buttons)

    def _failed(self, outcome: Outcome, card_context: CardContext) -> Iterator[Part]:
        yield from self.failure(texts.text_of(outcome), outcome.language)
        if card_context.can_retry:
            label = texts.say_in(outcome.language)("try_again")
            yield from self.rows([self.button(label, "again", outcome.turn_id)])

    def answer_changed(self, changed: ChangedAnswer, outcome: Outcome, asker: str) -> Shown:
        """Notifies who asked that the answer above no longer holds; what was taken out is not repeated."""
        who, title = platform.Approver(id=asker, name=""), self._title(changed)
        text = texts.say_in(outcome.language)(
            "answer_changed", who=self.mention(who), title=title, time=self.date(changed.changed_at)
        )
        return self.message([self.text(text), *self.rows([self._ask_again(outcome)])], pings=(who,))

    def _changed(self, changed: ChangedAnswer, language: str) -> Iterator[Block]:
        """The line above an answer: the quote that its document no longer has, and what it says now."""
        say = texts.say_in(language)
        lost = self.words(texts.clipped(plain_quote(changed.lost), texts.QUOTE_SHOWN))
        yield self.text(
            say("no_longer_there", title=self._title(changed), time=self.date(changed.changed_at), quote=lost)
        )
        if changed.instead:
            yield from self._small(say("says_now"))
            yield self.footnote(replace(changed.citation, quote=changed.instead), language, True)
        yield dict(self.divider)

    def _title(self, changed: ChangedAnswer) -> str:
        return self.bold(texts.clipped(line(changed.citation.title)) or changed.citation.source)

    def _ask_again(self, outcome: Outcome) -> Block:
        return self.button(texts.say_in(outcome.language)("ask_again"), "again", outcome.turn_id)

    def _quotes_button(self, outcome: Outcome) -> list[Block]:
        label = texts.quotes_label(outcome)
        return [self.button(label, "footnotes", outcome.turn_id)] if label else []

    def _person_button(self, outcome: Outcome, card_context: CardContext) -> list[Block]:
        """The button "Ask a person" below an unhelpful outcome; with a proposed search, its card has it."""
        is_unsure = outcome.answer is not None and not outcome.answer.is_sure
        is_little = outcome.kind == "no_answer" or is_unsure
        if not (card_context.can_consult and is_little and outcome.proposal is None):
            return []
        return [self.button(texts.say_in(outcome.language)("ask_person"), "consult", outcome.turn_id)]

    def _apart(self, *rows: Sequence[Block]) -> Iterator[Block]:
        """Rows of buttons, or one row if all fit in it."""
        for buttons in rows if not self.has_one_row else ():
            yield from self.rows(buttons)

    def _ratings(
        self, outcome: Outcome, card_context: CardContext, buttons: Sequence[Block]
    ) -> Iterable[Block]:
        say = texts.say_in(outcome.language)
        ratings = self.feedback(outcome.turn_id, say)
        if card_context.is_unasked:
            ratings = [self.button(say("not_helpful_here"), "withdraw", outcome.turn_id)]
        if self.has_one_row:
            return self.rows([*ratings, *buttons])
        return self.rows(ratings) if card_context.is_unasked else ratings


def _outcome_with(answer: Answer, language: str) -> Outcome:
    return Outcome(kind="answered", turn_id="", answer=answer, language=language)
