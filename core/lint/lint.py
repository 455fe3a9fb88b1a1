"""The linter: reads the library and notes what may be wrong with it.

Two documents are compared once: as long as neither changes, what was found is kept. What each page says for itself, and
what depends on all pages together, as links and spellings, is read again when any document has changed.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from core.conversation import value
from core.library.entries import Entry
from core.library.readers import base_of
from core.library.store import DocumentStore
from core.lint.assertions import Assertion, find_assertions
from core.lint.contradictions import Index, Pair, compare, is_likely, is_sure
from core.lint.duplicates import Copy, Line, Runs, Text, find_copy, text_of
from core.lint.findings import Kind, LintFinding, Reading
from core.lint.links import dead_links, find_outdated, find_sites
from core.lint.private import private_words
from core.lint.spellings import spellings
from core.lint.store import RULES, STATE, LintStore
from core.priority import throttle
from core.sources.kinds import SOURCE_KINDS

#: Kinds that are looked for again at every change.
ALL_PAGES: Sequence[Kind] = ("link", "outdated", "spelling", "private")
PATTERN = 4  # values in one sentence of several documents, from which these are forms and not about one thing
VARIANTS = 5  # pairs of the same two documents, from which these may be versions of one text: one pair stands for all
TALK = ("github",)  # sources of what people say to each other, which contradicts itself

#: Called with how many of how many documents were compared.
Notify = Callable[[int, int], None]


@value
class LintRun:
    """The amount of work of a run of the linter."""

    documents: int
    changed: int  #: that were compared with the rest
    comparisons: int  #: pairs of sentences or passages that were looked at


def run_lint(
    store: DocumentStore, *, everybody: Collection[str], now: float, notify: Notify = lambda *_: None
) -> LintRun:
    """Compare what has changed, and keep what is found. ``everybody``: the collections that everybody may read."""
    kept = LintStore(store)
    entries = [entry for entry in store.entries() if is_document(entry)]
    numbers = [entry.id for entry in entries]
    state = hashlib.sha256(json.dumps([RULES, sorted(numbers), sorted(everybody)]).encode()).hexdigest()
    if store.get_meta(STATE) == state:
        return LintRun(documents=len(entries), changed=0, comparisons=0)
    changed = frozenset(numbers) - kept.compared_documents()
    claims, texts, private = list[Assertion](), list[Text](), list[LintFinding]()
    readable = {entry.id for entry in entries if entry.collection in everybody}

    def read() -> Iterator[Reading]:
        for done, (document, readings) in enumerate(throttle(kept.readings(numbers)), start=1):
            for reading in readings:
                claims.extend(find_assertions(reading))
                texts.extend(filter(None, (text_of(reading),)))
                private.extend(private_words(reading) if document in readable else ())
                yield reading
            notify(done, len(numbers))

    found = list(spellings(read()))
    pairs, looked = contradictions(claims, changed)
    copies, beside = duplicates(texts, changed)
    sites = find_sites(entries)
    found += chain(private, *map(dead_links, sites), *map(find_outdated, sites), pairs, copies)
    kept.keep(found, numbers, drops=ALL_PAGES, state=state, now=now)
    return LintRun(documents=len(entries), changed=len(changed), comparisons=looked + beside)


def is_document(entry: Entry) -> bool:
    """True unless it is what people say to each other, as in a channel."""
    scheme, known = entry.address.partition(":")[0], ("http", "https", "answer", *SOURCE_KINDS)
    return scheme not in TALK and (scheme in known or scheme.startswith("/"))


def contradictions(claims: Sequence[Assertion], changed: Collection[int]) -> tuple[list[LintFinding], int]:
    """Claims that differ, and the number of compared pairs. One of each pair is in a document that changed."""
    index, pairs, looked = Index(claims), list[Pair](), 0
    for one, other in _near(claims, index.near, changed):
        looked += 1
        if (pair := compare(index, one, other)) and (is_sure(pair) or is_likely(pair)):
            pairs.append(pair)
    return [_contradiction(pair, places) for pair, places in _weigh(pairs)], looked


Compared = TypeVar("Compared", Assertion, Text)


def _near(
    some: Sequence[Compared], near: Callable[[int], Iterable[int]], changed: Collection[int]
) -> Iterator[tuple[Compared, Compared]]:
    """Pairs in their order, each once, with at least one in a document that changed."""
    for number, one in enumerate(throttle(some)):
        for other in near(number) if one.place.document in changed else ():
            if other > number:
                yield one, some[other]
            elif some[other].place.document not in changed:  # else compared from its side
                yield some[other], one


def _weigh(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, int]]:
    """The pairs, each with the number of pairs that it stands for; 0: it is not sure. So is a sentence that is a form, filled
    in differently in many places, and of two versions of one text every pair but the first."""
    said: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        for claim, words in ((pair.one, pair.words), (pair.other, pair.words)):
            said[f"{pair.difference} {claim.place.quote}"] |= {*words}

    def counts(pair: Pair) -> bool:
        forms = (f"{pair.difference} {each.place.quote}" for each in (pair.one, pair.other))
        is_form = any(pair.words) and any(len(said[each]) >= PATTERN for each in forms)
        return is_sure(pair) and not is_form

    documents = Counter(_documents(pair) for pair in pairs if counts(pair))
    reported = set[tuple[int, int]]()
    for pair in pairs:
        both = _documents(pair)
        are_variants = documents[both] >= VARIANTS
        is_reported = counts(pair) and not (are_variants and both in reported)
        reported |= {both} if is_reported else set()
        yield pair, (documents[both] if are_variants else 1) if is_reported else 0


def _documents(pair: Pair) -> tuple[int, int]:
    return pair.one.place.document, pair.other.place.document


_WHY = "One says “{}”, the other “{}”."
_WHY_DENIED = "One says that it is so, the other that it is not."


def _contradiction(pair: Pair, count: int) -> LintFinding:
    why = _WHY_DENIED if pair.difference == "denial" else _WHY.format(*pair.words)
    if count > 1:
        why += f" These two pages differ in {count} such places: one may be an older version of the other."
    both = (pair.one.place, pair.other.place)
    return LintFinding(kind="contradiction", why=why, places=both, is_sure=count > 0)


def duplicates(texts: Sequence[Text], changed: Collection[int]) -> tuple[list[LintFinding], int]:
    """Passages that are copies, and the number of compared pairs. One of each pair is in a document that changed."""
    found, looked = list[LintFinding](), 0
    for one, other in _near(texts, Runs(texts).near, changed):
        looked += 1
        is_elsewhere = one.place.document != other.place.document
        if (copy := find_copy(one, other)) is not None:
            found.append(_drift(copy))
        elif is_elsewhere and [line.words for line in one.lines] == [line.words for line in other.lines]:
            why = f"The same {one.length} words stand in both; a change of one leaves the other behind."
            found.append(LintFinding(kind="copy", why=why, places=(one.place, other.place)))
    return found, looked


def _drift(copy: Copy) -> LintFinding:
    def said(line: Line | None) -> str:
        return line.place.quote if line else ""

    count = len(copy.changes)
    changes = f"{count} sentences differ" if count > 1 else "one sentence differs"
    return LintFinding(
        kind="drift", why=f"{copy.alike:.0%} of the words are the same, and {changes}.",
        places=(copy.one.place, copy.other.place), changes=tuple((said(a), said(b)) for a, b in copy.changes),
    )  # fmt: skip


def in_collection(finding: LintFinding, collection: str) -> bool:
    return any(base_of(each.collection) == collection for each in finding.places)
