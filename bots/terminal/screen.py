"""The two consoles of a terminal: answers go to standard output, everything else to standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import RenderableType
from rich.constrain import Constrain
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text
from rich.theme import Theme

from bots.chat.texts import progress_note
from bots.terminal.markdown import SafeConsole, line, plain
from core.conversation import Progress
from core.library.library import Notify, Phase

WIDTH = 100  # columns; longer lines are hard to read

THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "cyan",
        "markdown.mark": "bold cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.link": "none",
        "markdown.link_url": "dim",
        "bar.complete": "cyan",
        "bar.finished": "cyan",
    }
)
_PHASES: Mapping[Phase, str] = {
    "reading": "Reading {done:,} of {total:,} documents…",
    "embedding": "Indexing {done:,} of {total:,} passages by meaning…",
    "downloading": "Downloading…",
}
#: The same where it is not known how many there are.
_UNCOUNTED: Mapping[Phase, str] = {
    "reading": "Reading {done:,} documents…",
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
        """Whether answers are laid out for a terminal; otherwise they are plain text for a file or a pipe."""
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
        """What did not work."""
        self._say(sentence, "yellow")

    def _say(self, sentence: str, style: str) -> None:
        self.err.print(Text(line(sentence), style=style), soft_wrap=not self.err.is_terminal)

    def blank(self) -> None:
        """An empty line after an answer."""
        self.out.print()

    @contextmanager
    def waiting(self, language: str, passages: int | None = None) -> Iterator[Callable[[Progress], None]]:
        """One line that shows progress while a turn runs, then disappears."""
        if not self.err.is_terminal:
            yield lambda _progress: None
            return

        def drawn(progress: Progress) -> Text:
            return Text(progress_note(progress, language), style="dim")

        first = drawn(Progress(stage="reading", count=passages))
        with self.err.status(first, spinner="dots", spinner_style="cyan") as status:
            yield lambda progress: status.update(drawn(progress))

    @contextmanager
    def looking(self, sentence: str) -> Iterator[None]:
        """One line while something is waited for, then it disappears."""
        if not self.err.is_terminal:
            yield
            return
        with self.err.status(Text(sentence, style="dim"), spinner="dots", spinner_style="cyan"):
            yield

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
            bars.update(tasks[phase], description=description, completed=done, total=total or None)

        try:
            yield notify
        finally:
            bars.stop()
