"""An outcome -> what a terminal shows. Pure; everything untrusted passes through :mod:`bots.terminal.screen`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from bots.chat import texts
from bots.chat.markdown.blocks import plain_quote
from bots.chat.markdown.safe import names_another_host, web_link
from bots.chat.platform import Footnotes
from bots.chat.proposals import excerpts_by_citation, marked_lines
from bots.terminal.receive import COMMANDS
from bots.terminal.screen import AnswerMarkdown, line, link
from core.conversation import Answer, Citation, Outcome, Proposal, Ranked, value
from core.grounding.citations import merge_footnotes
from core.library.entries import Entry
from core.text.language import language_of

QUOTE_SHOWN = 200  # characters of a quote beneath an answer; /more shows it in full
LISTED = 40  # documents; more would only scroll away
_RULE = Text("───", style="dim")


@value
class ScreenContext:
    """The facts that the layout depends on, apart from the outcome."""

    engine: str = "the web"  #: the search engine, as people know it
    files: Mapping[str, str] = field(default_factory=dict)  #: absolute path of a document, by its source


def write(outcome: Outcome, context: ScreenContext) -> RenderableType:
    """The outcome with its footnotes, the answer first and everything else smaller."""
    return Group(*_parts(outcome, context))


def _parts(outcome: Outcome, context: ScreenContext) -> Iterator[RenderableType]:
    if outcome.answer is not None:
        yield from _answered(outcome, outcome.answer, context)
    elif outcome.kind == "approval_needed" and outcome.proposal is not None:
        yield card(outcome.proposal, context)
    elif outcome.kind == "no_answer":
        say = texts.say_in(outcome.language)
        yield Text(line(outcome.reason or ""), style="bold")
        if closest := texts.closest_shown(outcome):
            yield Text(say("closest"), style="dim")
            yield footnotes(closest, outcome.language, context)
        yield Text(say("what_else"), style="dim")
    elif outcome.kind == "clarify":
        yield AnswerMarkdown(texts.text_of(outcome))
    else:
        yield Text(line(texts.text_of(outcome)), style="yellow")


def _answered(outcome: Outcome, answer: Answer, context: ScreenContext) -> Iterator[RenderableType]:
    if lead := texts.provenance(outcome, answer):
        yield Text(lead, style="dim italic")
        yield Text()
    answer = merge_footnotes(answer)
    yield AnswerMarkdown(answer.text)
    citations = texts.distinct_citations(answer.citations)
    if citations:
        yield _RULE
        shown = citations[: texts.FOOTNOTES_SHOWN]
        # An answer of quotes shows them already; a composed one has them below.
        yield footnotes(shown, outcome.language, context, with_quotes=answer.composed)
    hidden = len(citations) - texts.FOOTNOTES_SHOWN
    more = texts.say_in(outcome.language)("more_in_terminal", count=hidden) if hidden > 0 else ""
    if outcome.reason:  # an answer in spite of a problem, for example an unreachable model
        yield Text(line(outcome.reason), style="yellow")
    yield from (Text(line(remark)) for remark in texts.remarks(outcome))
    yield from (Text(f"  {line(sentence)}", style="dim") for sentence in texts.omissions(outcome))
    if answer.citations:
        yield Text(" · ".join(filter(None, (texts.answered_in(outcome), more))), style="dim")
    if outcome.proposal is not None:
        yield from request(outcome.proposal, context)


def footnotes(
    citations: Sequence[Citation], language: str, context: ScreenContext, *, with_quotes: bool = True
) -> RenderableType:
    """Numbers, titles and sources, with the beginning of each quote below."""
    table = _numbered()
    for citation in citations:
        table.add_row(str(citation.number), _title_line(citation, language, context.files))
        if with_quotes:
            quote = f"{texts.columns_of(citation)}“{texts.clipped(plain_quote(citation.quote), QUOTE_SHOWN)}”"
            table.add_row("", Text(quote, style="dim"))
    return table


def quotes(shown: Footnotes, context: ScreenContext) -> RenderableType:
    """Every footnote with its quotes, each marked in its paragraph."""
    table, language = _numbered(), shown.outcome.language
    for citation, excerpts in excerpts_by_citation(shown):
        table.add_row(str(citation.number), _title_line(citation, language, context.files))
        for excerpt in excerpts:
            # Without colours, as in a pipe, the quotation marks alone say what is quoted.
            marked = replace(excerpt, before=f"{excerpt.before}“", after=f"”{excerpt.after}")
            table.add_row("", Text("\n").join(_marked(*each) for each in marked_lines(marked)))
            if not excerpt.is_current:
                table.add_row("", Text(texts.say_in(language)("source_changed"), style="yellow"))
    return table


def _marked(indentation: str, pieces: Sequence[tuple[str, bool]]) -> Text:
    text = Text(" " * len(indentation.expandtabs(4)))
    for content, is_quote in pieces:
        gap = " " if text.plain.strip() and content[:1].isspace() else ""
        text.append(gap + line(content) + " " * content[-1:].isspace(), style="bold" if is_quote else "dim")
    return text


def _numbered() -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", style="bold cyan", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _title_line(citation: Citation, language: str, files: Mapping[str, str]) -> Text:
    """ "Title › location · source · changed 12 Mar 2026", linked to the page or the file where there is one."""
    address, title = link_of(citation, files), line(texts.headings(citation))
    # A title that names another host than its link is not linked; the real host is shown and linked after it.
    is_forged = address is not None and not address.startswith("file:") and names_another_host(title, address)
    shown = Style(link=address) if address else Style()
    entry = Text().append(title, style="" if is_forged else shown)
    if is_forged:
        entry.append(f" · {urlsplit(address or '').hostname}", style=shown + Style(dim=True))
    if (origin := line(texts.origin_of(citation, language))) and origin != title:
        entry.append(f" · {origin}", style="dim")
    if fresh := texts.freshness_of(citation, language):
        entry.append(f" · {fresh}", style="dim")
    return entry


def link_of(citation: Citation, files: Mapping[str, str]) -> str | None:
    """The link of a footnote: the citation's own URL, or its file on this machine."""
    if citation.url:
        return link(citation.url) if web_link(citation.url) else None
    path = files.get(citation.source)
    try:
        return link(Path(path).as_uri()) if path and Path(path).is_absolute() else None
    except UnicodeEncodeError:  # no file has such a name
        return None


def card(proposal: Proposal, context: ScreenContext) -> RenderableType:
    """ "May I search the web for this?", with the exact query."""
    language = language_of(proposal.question)
    parts: list[RenderableType] = [Text(line(proposal.reason), style="bold")]
    if proposal.closest:
        closest = footnotes(proposal.closest, language, context)
        parts += [Text(texts.say_in(language)("closest"), style="dim"), closest]
    return Group(*parts, *request(proposal, context))


def request(proposal: Proposal, context: ScreenContext) -> Iterator[RenderableType]:
    """The exact query that would be sent."""
    say = texts.say_in(language_of(proposal.question))
    yield Text()
    yield Text(say("would_search", engine=context.engine))
    yield Padding(Text(line(proposal.query), style="bold cyan"), (0, 0, 0, 2), expand=False)
    yield Text(say("nothing_sent_yet"), style="dim")
    if until := texts.open_until(proposal):
        yield Text(until, style="dim")


def proposal_list(proposals: Sequence[Proposal]) -> RenderableType:
    """Open proposals, numbered to be decided by ``/proposals NUMBER``."""
    table = _numbered()
    for number, proposal in enumerate(proposals, start=1):
        asked = Text(f"  for: {texts.clipped(line(proposal.question))}", style="dim")
        table.add_row(str(number), Text(line(proposal.query)).append_text(asked))
    return Group(table, Text("/proposals 1 shows the first one and takes your y, n or e.", style="dim"))


def source_list(
    entries: Sequence[Entry], *, limit: int | None = LISTED, unseen: Mapping[int, float] = MappingProxyType({})
) -> RenderableType:  # fmt: skip
    """Documents by collection, each with its title and number of passages, and since when it was not seen."""
    collections = groupby(entries, lambda entry: entry.collection)
    return Group(*(_collection(name, list(members), limit, unseen) for name, members in collections))


def _collection(
    name: str, entries: Sequence[Entry], limit: int | None, unseen: Mapping[int, float]
) -> RenderableType:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for entry in entries[:limit]:
        document = Text.assemble(line(entry.source), (f"  {line(entry.title)}", "dim"))
        if entry.id in unseen:
            document.append(f"  {texts.unseen_note(unseen[entry.id])}", style="yellow")
        table.add_row(f"{entry.passages:,}", document)
    passages = texts.counted(sum(entry.passages for entry in entries), "passage")
    heading = Text(f"{line(name)}: {texts.counted(len(entries), 'document')}, {passages}", style="bold")
    rest = len(entries) - len(entries[:limit])
    note = [Text(f"and {rest:,} more; `footnote sources` lists all of them", style="dim")] if rest else []
    return Group(heading, table, *note)


def ranking(ranked: Sequence[Ranked]) -> RenderableType:
    """The best retrieved passages, best first."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for number, each in enumerate(ranked, start=1):
        location = Text(f"{line(each.source)}  {line(each.location)}  {each.start:,} to {each.end:,}")
        table.add_row(Text(str(number), style="bold cyan"), Text(f"{each.score:.3f}", style="dim"), location)
    return Group(Text("Passages retrieved, best first:", style="dim"), table)


def banner(*, documents: int, passages: int, thread: str) -> RenderableType:
    """The first lines of a conversation."""
    reads = f"{texts.counted(documents, 'document')}, {texts.counted(passages, 'passage')}"
    return Group(
        Text.assemble(("Footnote", "bold"), (f" · {reads} · thread {line(thread)}", "dim")),
        Text("Ask a question. /help lists what else there is.", style="dim"),
    )


def help_text(*, documents: int) -> RenderableType:
    """The help: what it reads, how to ask, and the commands."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    for name, (_, does) in COMMANDS.items():
        table.add_row(name, Text(does, style="dim"))
    return Group(
        Text(
            f"Footnote answers from {texts.counted(documents, 'document')} and shows where each claim stands."
        ),
        Text("Ask in your own words; a follow-up may lean on what was said before."),
        Text(
            "When the documents are not enough, it asks before it searches the web: y, n, or e to edit the query."
        ),
        Text(),
        table,
    )
