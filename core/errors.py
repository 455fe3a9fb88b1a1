"""Errors, each with a sentence that helps a person.

FootnoteError
├── SettingsError        wrong use or settings (exit code 2)
│   ├── StoreUnavailable a database cannot be read or written now
│   ├── VersionMismatch  another version of Footnote, or another program, wrote a file
│   ├── IndexMismatch    the index was built with another embedding model
│   ├── IndexInUse       another process owns the index
│   ├── IndexDamaged     the index file is damaged
│   ├── QuestionRejected a question that cannot be asked
│   └── AnswerRejected   an answer that cannot be kept
├── DocumentError        one document could not be read
├── NotFound             a proposal, thread or source that does not exist
├── ModelTrouble         the model is busy, unreachable, silent or refuses
├── SearchTrouble        the web search failed or found nothing
├── StoreTrouble         checkpoints cannot be read or written
└── FetchRefused         an address that must not be visited

``str(error)`` is the sentence. Text of foreign exceptions is logged, never shown. For a channel,
:func:`for_people` replaces what only the operator can repair.
"""

from collections.abc import Iterator

from core.wording import Sentence


class FootnoteError(Exception):
    """The root; ``str()`` of it may be shown to the person who asked."""

    @property
    def sentence(self) -> str:
        """A Sentence, which can be translated, or plain text."""
        return self.args[0] if self.args else ""


class SettingsError(FootnoteError):
    """Wrong use or settings: nothing was done."""


class StoreUnavailable(SettingsError):
    """A database cannot be read or written now, because of its disk or the way to its server."""


class VersionMismatch(SettingsError):
    """A file or a database was written by another version of Footnote, or by another program."""


class IndexMismatch(SettingsError):
    """The index was built with another embedding model."""


class IndexInUse(SettingsError):
    """Another process owns this data folder."""


class IndexDamaged(SettingsError):
    """The index file is damaged."""


class QuestionRejected(SettingsError):
    """The question is empty or too long."""


class AnswerRejected(SettingsError):
    """The answer is empty or too long."""


class DocumentError(FootnoteError):
    """A document could not be read; the sentence completes "FILE: …"."""


class NotFound(FootnoteError):
    """A proposal, thread or source that does not exist."""


class ModelTrouble(FootnoteError):
    """The model did not give a usable reply."""


class SearchTrouble(FootnoteError):
    """The web search failed."""


class StoreTrouble(FootnoteError):
    """The checkpoints of conversations cannot be read or written now."""


class FetchRefused(FootnoteError):
    """The address must not be visited."""


def for_people(error: FootnoteError) -> str:
    """The sentence for a channel, whose people may not be able to rebuild the index."""
    return Sentence("index_unreadable") if isinstance(error, IndexDamaged) else error.sentence


def reason_of(fault: OSError) -> str:
    """The words of the operating system, as the end of a sentence."""
    return (fault.strerror or "the disk refused").lower()


#: What needs packages that an extra of Footnote installs, each of its name.
EXTRAS = frozenset({"openai", "anthropic", "ollama", "mcp"})


def how_to_install(name: str, package: str) -> str:
    """The missing package of a model's provider, or the missing extra, as the rest of a sentence."""
    if name in EXTRAS:
        return (
            f"needs packages that are not installed: .uv/bin/uv sync --no-dev --inexact --extra {name}, "
            f"or pip install '.[{name}]', in Footnote's folder."
        )
    return f"needs a package: pip install {package.partition('.')[0].replace('_', '-')}."


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and those it was raised from, outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def is_timeout(error: BaseException) -> bool:
    """True if something took too long, in whatever class a client's library puts that."""
    return any(isinstance(link, TimeoutError) or "Timeout" in type(link).__name__ for link in causes(error))
