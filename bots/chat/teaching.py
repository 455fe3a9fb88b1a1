"""Teaching by answering: experts are asked in the thread, and a reply of theirs is kept and cited from then on."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Generic

from bots.chat.access import experts_about
from bots.chat.channels import own_collection
from bots.chat.commands import ChatCommands
from bots.chat.incoming import ChatCommand, Feedback, unqueued
from bots.chat.people import named_messages
from bots.chat.platform import Refused, Said, Shown
from bots.chat.replies import Replies
from bots.chat.texts import clipped, language_of_turn, say_in
from core.answers.store import ExpertRequest, KeptAnswer, id_of
from core.conversation import QUESTION_LIMIT, Command, Conversation, Question, ThreadMessage
from core.errors import AnswerRejected
from core.gaps.questions import find_answered, open_gap_store
from core.text.language import language_of
from core.turns.archive import outcome_of, stored_turn
from core.turns.messenger import ReplyRoute
from core.wording import in_language

logger = logging.getLogger(__name__)


def reply_to_keep(
    said: Sequence[Said], *, chosen: str, presser: str, trusted: Collection[str], since: float
) -> Said | None:
    """The message that was chosen; else the presser's newest reply, else the newest of somebody trusted."""
    if chosen:
        return next((one for one in said if one.id == chosen), None)
    replies = [
        one
        for one in said
        if one.author in trusted and one.said_at > since and one.text
        if not one.calls_bot and not one.begins_thread
    ]
    return next(reversed([one for one in replies if one.author == presser] or replies), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Teaching(Generic[Shown]):
    """Carries out what teaches the bot. Everything may be done twice."""

    commands: ChatCommands
    replies: Replies[Shown]

    async def carry_out(self, command: Command, route: ReplyRoute, *, is_again: bool) -> None:
        """Ask experts, keep a reply or forget what was kept. Raises Unreachable."""
        chat_command = unqueued(command)
        try:
            if command.name == "consult":
                key = await self._consult(chat_command, route, is_again=is_again)
            elif command.name == "keep":
                key = await self._keep(chat_command, route)
            else:
                key = await self._unkeep(chat_command, route)
            sentence = say_in(chat_command.language)(key) if key else ""
        except Refused as refused:
            await self.replies.explain(command, route, refused, chat_command.language)
            return
        except AnswerRejected as rejected:
            sentence = in_language(rejected.sentence, chat_command.language)
        if sentence:
            note = self.replies.renderer.note(sentence)
            await self.replies.send_direct(command, route, note, may_be_public=True)

    async def ask_what_was_wrong(self, feedback: Feedback, route: ReplyRoute) -> None:
        """Open the form that asks what was wrong; it may be closed without an answer."""
        outcome, experts = await outcome_of(feedback.turn_id), self.commands.footnote.settings.experts
        language = outcome.language if outcome else "en"
        can_consult = bool(experts) and not self.commands.people.is_direct(route)
        form = self.replies.renderer.explanation(feedback.turn_id, language, can_consult, route)
        await self.replies.posts.open_editor(route, form)

    async def _consult(self, command: ChatCommand, route: ReplyRoute, *, is_again: bool) -> str:
        """Ask experts; returns the key of the sentence why nobody was asked, or nothing."""
        footnote, people = self.commands.footnote, self.commands.people
        turn = await stored_turn(command.argument)
        question = turn.text if isinstance(turn, Question) else ""
        if turn is not None and (proposal := await self.replies.proposal_of(turn)):
            question = proposal.question
        if turn is None or turn.conversation != command.conversation or not question:
            return "no_question_left"
        experts = await experts_about(
            turn, route, presser=command.author, footnote=footnote,
            channel_store=self.commands.channel_store, people=people,
        )  # fmt: skip
        if not experts:
            return "nobody_to_ask"
        (asked,) = await self._named([ThreadMessage(author=turn.author, text=question)], route, question)
        names = await people.names(route, [turn.author])
        asker, language = names[turn.author], language_of_turn(turn)
        shown = self.replies.renderer.consultation(asked.text, asker, experts, language)
        await self.replies.posts.say(route, command.id, 0, shown, is_again=is_again)
        request = ExpertRequest(
            turn=turn.id, conversation=command.conversation.id, question=asked.text, asked_at=command.said_at
        )
        await footnote.answers.note_request(request)
        return ""

    async def _keep(self, command: ChatCommand, route: ReplyRoute) -> str:
        """Keep a reply: stored, shown, and only then used. Returns a key as above."""
        if await self.commands.refusal(command, route) is not None:
            return "only_experts_keep"
        answers = self.commands.footnote.answers
        request = await answers.request_in(command.conversation)
        said = await self.replies.posts.said(route, command.argument)
        trusted = await self.commands.trusted_among({one.author for one in said}, command, route)
        reply = reply_to_keep(
            said, chosen=command.argument, presser=command.author, trusted=trusted,
            since=request.asked_at if request else 0.0,
        )  # fmt: skip
        if reply is None or not reply.text:
            return "nothing_to_keep"
        if reply.author not in trusted:
            return "keeps_experts_only"
        question = _asked_before(reply, said, request)
        if not question:
            return "no_question_to_keep"
        answer = await answers.keep(await self._answer(command.conversation, route, reply, question))
        card, shown = _card_of(answer), self.replies.renderer.kept(answer)
        if handle := await self.replies.posts.find(route, card, 0):  # it was kept before
            await self.replies.posts.change(route, handle, card, 0, shown)
        else:
            await self.replies.posts.say(route, card, 0, shown, is_again=False)
        await answers.use(answer.id)
        # What was not answered where the reply was said is answered now, for who reads it there.
        asked = request.turn if request and question == request.question else ""
        turns = await find_answered(self.commands.footnote.log, answer, asked=asked)
        with open_gap_store(self.commands.footnote.storage) as gaps:
            await gaps.mark(turns, "answered", author=answer.name, at=answers.now(), answer=answer.id)
        return ""

    async def _answer(
        self, conversation: Conversation, route: ReplyRoute, reply: Said, question: str
    ) -> KeptAnswer:
        people, answers = self.commands.people, self.commands.footnote.answers
        messages = [ThreadMessage(author="", text=question), ThreadMessage(author="", text=reply.text)]
        asked, answered = await self._named(messages, route, question)
        names = await people.names(route, [reply.author])
        now = answers.now()
        return KeptAnswer(
            id=id_of(reply.key), question=clipped(asked.text, QUESTION_LIMIT), text=answered.text, author=reply.author,
            name=names[reply.author], place=await people.channel_name(route), conversation=conversation.id,
            message=reply.key, url=await self.replies.posts.link(route, reply.id),
            collection=own_collection(conversation), language=language_of(question), said_at=reply.said_at,
            kept_at=now, valid_until=now,
        )  # fmt: skip

    async def _unkeep(self, command: ChatCommand, route: ReplyRoute) -> str:
        """Forget a kept answer. Its card says so first, so a kill in between changes nothing."""
        answers = self.commands.footnote.answers
        answer = await answers.get(command.argument)
        if answer is None:
            return "answer_gone"
        card, gone = _card_of(answer), self.replies.renderer.note(say_in(answer.language)("answer_forgotten"))
        handle = await self.replies.posts.find(route, card, 0)
        if handle:
            await self.replies.posts.change(route, handle, card, 0, gone)
        await answers.forget(answer)
        return "" if handle else "answer_forgotten"

    async def _named(
        self, messages: Sequence[ThreadMessage], route: ReplyRoute, question: str
    ) -> tuple[ThreadMessage, ...]:
        """The question and the reply with names in place of ids: no id goes into the library."""
        return await named_messages(messages, route, self.commands.people, language_of(question))


def _card_of(answer: KeptAnswer) -> str:
    """The id by which the message that shows it is found, like that of a turn."""
    channel, message = Conversation.parse(answer.conversation).channel_id, answer.message.rpartition("/")[2]
    return f"{channel}/{message}/kept"


def _asked_before(reply: Said, said: Sequence[Said], request: ExpertRequest | None) -> str:
    """The question of a reply: what experts were asked before it, else what it replies to, else how its thread begins."""
    if request is not None and reply.said_at > request.asked_at:
        return request.question
    beginning = next((one.text for one in said if one.begins_thread and one.id != reply.id), "")
    return clipped(reply.answers or beginning, QUESTION_LIMIT)
