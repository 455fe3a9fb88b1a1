"""Approval of web searches: who may decide, which queries may go out, and the sentences of a refusal."""

from collections.abc import Iterable

from core.characters import hides_something, storable, without_shaping
from core.conversation import QUERY_LIMIT, Decision, Proposal, Question, WebApproval
from core.errors import QuestionRejected
from core.wording import Sentence, clock


def may_decide(
    proposal: Proposal, decision: Decision, *, approval: WebApproval, approvers: Iterable[str]
) -> bool:
    """The asker, anyone, or an approver (a person, or a group the person is in), as the operator chose. An
    approver may always decide; under ``never_ask`` everyone may."""
    is_asker = approval == "asker" and decision.author == proposal.asker
    return is_asker or _decides_for_others(decision.author, decision.groups, approval, approvers)


def may_allow_reading(
    question: Question, author: str, groups: Iterable[str], *, approval: WebApproval, approvers: Iterable[str]
) -> bool:
    """True if the author may let a question's attachments be read: its asker, or who may decide a search."""
    return author == question.author or _decides_for_others(author, groups, approval, approvers)


def _decides_for_others(
    author: str, groups: Iterable[str], approval: WebApproval, approvers: Iterable[str]
) -> bool:
    return approval in ("anyone", "never_ask") or bool({author, *groups} & set(approvers))


def fault_of_query(query: str | None) -> str | None:
    """The reason not to send an edited query, as a sentence; None if it can be sent."""
    if query is None:
        return None
    if not query.strip():
        return Sentence("query_empty")
    if len(query) > QUERY_LIMIT:
        return Sentence("query_too_long", length=len(query), limit=QUERY_LIMIT)
    return Sentence("query_hides") if hides_something(query) else None


def refusal(proposal: Proposal, *, approval: WebApproval) -> str:
    """The sentence for a person who may not decide."""
    if approval != "asker":
        return Sentence("only_approver")
    return Sentence("only_asker_or_approver", asker=proposal.asker)


def already_decided(proposal: Proposal) -> str:
    """The sentence for a press after the decision, or after the time for one."""
    key = {"approve": "already_allowed", "deny": "already_denied"}.get(proposal.verdict or "", "expired")
    return Sentence(key, who=proposal.decided_by, time=clock(proposal.decided_at or proposal.expires_at or 0))


def check_query(text: str) -> str:
    """A query on one line; QuestionRejected if it cannot be sent."""
    query = " ".join(without_shaping(storable(text)).split())
    if fault := fault_of_query(query):
        raise QuestionRejected(fault)
    return query
