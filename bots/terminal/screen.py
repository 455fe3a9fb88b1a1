"""The two consoles of a terminal, and what may reach them: text without control characters, and Markdown without
links that hide where they lead.

Documents, web pages and questions are untrusted text, and a terminal obeys control characters in it.
They are removed on the way into every layout, and once more on the way out of the console.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar
from urllib.parse import quote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.constrain import Constrain
from rich.live import Live
from rich.markdown import Heading, Markdown
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.spinner import Spinner
from rich.text import Text
from rich.theme import Theme

from bots.chat.markdown.safe import web_link
from bots.chat.texts import progress_note
from core.conversation import Answer, Progress, ignore_progress
from core.library.indexing import Notify, Phase

#: ECMA-48 sequences with their parameters: CSI, then OSC and other strings up to their end, then the rest.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_KEPT = frozenset("\n\t\u200c\u200d")  # the joiners carry meaning in Persian, in Indic scripts and in emoji
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_URL_SAFE = "%/:?#[]@!$&'()*+,;=-._~"  # RFC 3986: everything that a URL may hold unescaped


def plain(text: str) -> str:
    """The text without escape sequences, control characters, bidirectional overrides and other invisibles."""
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", _SEQUENCE.sub("", text))
    return "".join(sign for sign in text if sign in _KEPT or unicodedata.category(sign)[0] != "C")


def line(text: str) -> str:
    """The same on one line."""
    return " ".join(plain(text).split())


def link(address: str) -> str | None:
    """A URL that text may link to: http, https or a file of this machine; None for anything else."""
    try:
        parts = urlsplit(plain(address))
        host = parts.hostname or ""
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    is_web = scheme in ("http", "https") and web_link(address) is not None
    # Some systems would request a file URL with a host from that host, and send the user's name.
    return quote(line(address), safe=_URL_SAFE) if is_web or (scheme == "file" and not host) else None


class SafeConsole(Console):
    """Prints only plain text; styles and links come from our own layouts."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


_MARKER = re.compile(r"(\[\d+\])")
_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)\b[^<>]*>|<!--.*?-->", re.DOTALL)

#: HTML tags, which a browser would not show either; ``vector<int>`` is none and stays.
_HTML = frozenset(
    """
    a abbr b big br center cite code dd del details dfn div dl dt em embed figcaption figure font h1 h2 h3 h4
    h5 h6 hr i iframe img ins kbd li mark ol p picture pre q s samp script section small source span strike
    strong style sub summary sup svg table tbody td th thead tr tt u ul var video
    """.split()  # noqa: SIM905 - easier to read than a list of strings
)


class LeftHeading(Heading):
    """A heading at the left margin whatever its level."""

    LEVEL_ALIGN: ClassVar = {}


class AnswerMarkdown(Markdown):
    """CommonMark from an untrusted source."""

    elements: ClassVar = {**Markdown.elements, "heading_open": LeftHeading}
    inlines = {*Markdown.inlines, "mark"}  # noqa: RUF012 - rich's own declaration; _split_markers makes the "mark"

    def __init__(self, text: str) -> None:
        # The palette of the terminal itself, so that code is readable on light and dark backgrounds.
        super().__init__("", code_theme="ansi_dark", hyperlinks=False)
        # A link definition in a quoted document could turn our [1] into its link.
        parser = MarkdownIt().enable("strikethrough").enable("table").disable("reference")
        self.parsed = _sanitize(parser.parse(plain(text)))


def _sanitize(tokens: Iterable[Token]) -> list[Token]:
    return [safe for token in tokens for safe in _sanitize_token(token)]


def _sanitize_token(token: Token) -> Iterator[Token]:
    if token.children:
        token.children = _sanitize(_without_local_links(token.children))
    # The parser has decoded entities, which may spell control characters.
    token.content = plain(token.content)
    if token.type == "text":
        yield from _split_markers(token.content)
    elif token.type == "html_inline":
        yield _text(_without_tags(token.content))
    elif token.type == "html_block":
        if text := _without_tags(token.content).strip():
            yield Token("paragraph_open", "p", 1, block=True)
            yield Token("inline", "", 0, children=[_text(text)], block=True)
            yield Token("paragraph_close", "p", -1, block=True)
    else:
        yield token


def _without_local_links(tokens: Iterable[Token]) -> Iterator[Token]:
    """Links within a documentation tree lead nowhere here; only their text is kept."""
    # Of the links that are open: an address in angle brackets may be inside another link.
    are_shown: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            are_shown.append(str(token.attrs.get("href", "")).lower().startswith(("http://", "https://")))
        if token.type not in ("link_open", "link_close") or are_shown[-1]:
            yield token
        if token.type == "link_close":
            are_shown.pop()


def _split_markers(text: str) -> Iterator[Token]:
    """Text with each ``[n]`` as a separate token."""
    for part in _MARKER.split(text):
        yield Token("marker", "mark", 0, content=part) if _MARKER.fullmatch(part) else _text(part)


def _without_tags(html: str) -> str:
    return _TAG.sub(lambda tag: tag[0] if tag[1] and tag[1].lower() not in _HTML else "", html)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


WIDTH = 100  # columns; longer lines are hard to read

THEME = Theme(
    {
        "markdown.code": "cyan", "markdown.code_block": "cyan", "markdown.mark": "bold cyan",
        "markdown.h1": "bold", "markdown.h2": "bold", "markdown.h3": "bold", "markdown.h4": "bold",
        "markdown.link": "none", "markdown.link_url": "dim",
        "bar.complete": "cyan", "bar.finished": "cyan",
    }
)  # fmt: skip
_PHASES: Mapping[Phase, str] = {
    "reading": "Reading {done:,} of {total:,} documents…",
    "pages": "Page {done:,} of {total:,}…",
    "embedding": "Indexing {done:,} of {total:,} passages by meaning…",
    "comparing": "Comparing {done:,} of {total:,} documents…",
    "judging": "Asking the model about {done:,} of {total:,} pairs…",
    "downloading": "Downloading…",
}
#: The same where it is not known how many there are.
_UNCOUNTED: Mapping[Phase, str] = {
    "reading": "Reading {done:,} documents…",
    "pages": "Page {done:,}…",
    "embedding": "Indexing {done:,} passages by meaning…",
    "downloading": "Downloading…",
}


class Screen:
    """``out`` shows answers; ``err`` shows progress (on a terminal only), notes and errors."""

    def __init__(self) -> None:
        self.out = SafeConsole(theme=THEME, highlight=False)
        self.err = SafeConsole(theme=THEME, highlight=False, stderr=True)

    @property
    def is_drawn(self) -> bool:
        """True if answers are laid out for a terminal; otherwise they are plain text for a file or a pipe."""
        return self.out.is_terminal

    def show(self, content: RenderableType) -> None:
        """A layout; in a file or a pipe without the trailing spaces of its lines."""
        if self.is_drawn:
            self.out.print(Constrain(content, WIDTH))
            return
        with self.out.capture() as laid_out:
            self.out.print(content, width=WIDTH)
        self.write("\n".join(each.rstrip() for each in laid_out.get().splitlines()))

    def write(self, text: str) -> None:
        """Text for a file or a pipe, without control characters."""
        # Not through the console, which expands tabs and wraps lines.
        print(plain(text), file=self.out.file, flush=True)

    def note(self, sentence: str) -> None:
        """Print a note to standard error."""
        self._say(sentence, "dim")

    def fault(self, sentence: str) -> None:
        """Notes a failure."""
        self._say(sentence, "yellow")

    def _say(self, sentence: str, style: str) -> None:
        self.err.print(Text(line(sentence), style=style), soft_wrap=not self.err.is_terminal)

    def blank(self) -> None:
        """An empty line after an answer."""
        self.out.print()

    @contextmanager
    def waiting(self, language: str, passages: int | None = None) -> Iterator[Callable[[Progress], None]]:
        """One line that shows progress while a turn runs, below what is checked of its answer; then they disappear."""
        if not self.err.is_terminal:
            yield ignore_progress
            return
        with self._status(progress_note(Progress(stage="reading", count=passages), language)) as update:
            yield lambda progress: update(progress_note(progress, language), progress.answer)

    @contextmanager
    def looking(self, sentence: str) -> Iterator[None]:
        """One line while something is waited for, then it disappears."""
        with self._status(sentence):
            yield

    @contextmanager
    def _status(self, sentence: str) -> Iterator[Callable[..., None]]:
        if not self.err.is_terminal:
            yield lambda *_: None
            return
        spinner = Spinner("dots", Text(sentence, style="dim"), style="cyan")
        with Live(spinner, console=self.err, transient=True, vertical_overflow="ellipsis") as live:

            def update(newer: str, answer: Answer | None = None) -> None:
                spinner.update(text=Text(newer, style="dim"))
                if answer is not None:
                    live.update(Group(Constrain(AnswerMarkdown(answer.text), WIDTH), "", spinner))

            yield update

    @contextmanager
    def indexing(self) -> Iterator[Notify]:
        """A progress bar for each phase, from its first note of progress until the end."""
        columns = (TextColumn("{task.description}", style="dim"), BarColumn(), TaskProgressColumn())
        bars = Bars(*columns, console=self.err, transient=True, disable=not self.err.is_terminal)
        tasks: dict[Phase, TaskID] = {}

        def notify(phase: Phase, done: int, total: int) -> None:
            if phase not in tasks:
                bars.start()
                tasks[phase] = bars.add_task("")
            description = (_PHASES if total else _UNCOUNTED)[phase].format(done=done, total=total)
            is_over = phase == "pages" and done >= total  # of these files; others may follow
            bars.update(
                tasks[phase], description=description, completed=done, total=total or None, visible=not is_over
            )  # fmt: skip

        try:
            yield notify
        finally:
            bars.stop()
