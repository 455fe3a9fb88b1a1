"""Withholding stored words where a conversation may no longer read the collections that they come from.

Rights are checked in the query; these functions check once more what was read earlier: exchanges of the history,
the work of a turn that was cut off, and an outcome before it is shown. What is unknown counts as not readable.
"""

from collections.abc import Collection
from dataclasses import replace

from core.conversation import Citation, Exchange, Outcome, Proposal, Question
from core.graph.context import Deps
from core.graph.state import State, Work
from core.wording import Sentence, in_language

WITHHELD = "(the answer is from documents that this conversation may not read any more)"


def collections_behind(work: Work, history: tuple[Exchange, ...] = ()) -> tuple[str, ...]:
    """The collections that a model's words may come from. These are those of the passages that a turn looked
    at, and of what was said before. What a turn decides about was proposed by an earlier one, whose query may
    have words of what that one looked at."""
    looked_at = {hit.passage.collection for hit in work.passages if hit.passage.origin == "documents"}
    proposed = work.proposal.collections if work.proposal else ()
    return tuple(sorted(looked_at.union(proposed, *(each.collections for each in history))))


def documents_behind(work: Work, history: tuple[Exchange, ...] = ()) -> tuple[str, ...]:
    """The sources of the documents that a model's words may come from, as :func:`collections_behind`."""
    looked_at = (hit.passage.source for hit in work.passages if hit.passage.origin == "documents")
    proposed = documents_of(work.proposal) if work.proposal else ()
    before = (source for each in history for source in (*each.sources, *each.documents))
    return tuple(dict.fromkeys((*looked_at, *proposed, *before)))


def documents_of(proposal: Proposal) -> tuple[str, ...]:
    """The sources of the documents that its query may quote, and of those shown with it."""
    closest = (each.source for each in proposal.closest if each.origin == "documents")
    return tuple(dict.fromkeys((*proposal.documents, *closest)))


def documents_in(outcome: Outcome) -> tuple[str, ...]:
    """The sources of the documents that an outcome quotes, that its proposal rests on, and that its words may
    come from besides."""
    cited = outcome.answer.citations if outcome.answer else ()
    quoted = (each.source for each in (*cited, *outcome.closest) if each.origin == "documents")
    proposed = documents_of(outcome.proposal) if outcome.proposal else ()
    return tuple(dict.fromkeys((*quoted, *proposed, *outcome.documents)))


def collections_of(outcome: Outcome) -> frozenset[str]:
    """The collections that an outcome may have words of."""
    cited = (*(outcome.answer.citations if outcome.answer else ()), *outcome.closest)
    proposed = outcome.proposal.collections if outcome.proposal else ()
    return frozenset((*outcome.collections, *proposed, *(each.collection for each in cited))) - {""}


async def may_go_on(state: State, deps: Deps) -> bool:
    """True if a turn that was cut off may continue with what it had found, and what was said before it; not with a
    search that nobody allowed, where people are asked by now."""
    work, history = state["work"], tuple(state.get("history", ()))
    if work.proposal is not None and isinstance(state["turn"], Question) and deps.approval != "never_ask":
        return False
    behind, readable = collections_behind(work, history), deps.documents.collections
    if not readable.issuperset(behind):
        return False
    return not await deps.withdrawn(documents_behind(work, history), behind, readable)


def history_within(
    history: tuple[Exchange, ...], readable: Collection[str], withdrawn: Collection[str] = ()
) -> tuple[Exchange, ...]:
    """The history without answers from other collections or withdrawn sources; questions are people's own."""
    kept: list[Exchange] = []
    for each in history:
        is_unknown = bool(each.sources) and not each.collections  # stored by an earlier version
        is_withdrawn = any(source in withdrawn for source in (*each.sources, *each.documents))
        is_readable = not (is_unknown or is_withdrawn) and all(name in readable for name in each.collections)
        withheld = replace(each, answer=WITHHELD, sources=(), collections=(), documents=())
        kept.append(each if is_readable else withheld)
    return tuple(kept)


async def outcome_by_now(outcome: Outcome, deps: Deps) -> Outcome:
    """An outcome as the conversation may read it by now."""
    readable = await deps.readable_now()
    withdrawn = await deps.withdrawn(documents_in(outcome), collections_of(outcome), readable)
    return outcome_within(outcome, readable, withdrawn)


def outcome_within(outcome: Outcome, readable: Collection[str], withdrawn: Collection[str] = ()) -> Outcome:
    """The outcome as it may be shown. A sentence replaces an answer from another collection, or from a source
    that was withdrawn. A model may have used words of sources that it looked at besides those it cites."""
    closest = tuple(one for one in _within(outcome.closest, readable) if one.source not in withdrawn)
    cited = outcome.answer.citations if outcome.answer else ()
    proposed = documents_of(outcome.proposal) if outcome.proposal else ()
    used = (*(one.source for one in cited if one.origin == "documents"), *proposed, *outcome.documents)
    is_whole = len(_within(cited, readable)) == len(cited) and not any(each in withdrawn for each in used)
    if is_whole and all(name in readable for name in outcome.collections):
        if closest == outcome.closest:
            return outcome
        proposal = outcome.proposal
        proposal = proposal and replace(proposal, closest=_within(proposal.closest, readable))
        return replace(outcome, closest=closest, proposal=proposal)
    reason = in_language(Sentence("no_longer_readable"), outcome.language)
    return replace(
        outcome, kind="no_answer", answer=None, proposal=None, closest=closest, reason=reason, options=(),
        ranked=(), documents=(),
    )  # fmt: skip


def _within(citations: tuple[Citation, ...], readable: Collection[str]) -> tuple[Citation, ...]:
    """A page of the web is in no collection: whoever allowed the search may read it."""
    return tuple(one for one in citations if one.origin == "web" or one.collection in readable)
