"""A quote in its paragraph, wherever that stands now, and nothing that the channel does not read."""

from __future__ import annotations

import pytest
from fakes.shelf import open_store

from bots.chat.platform import Excerpt
from bots.chat.proposals import AROUND, footnotes_of, marked_lines
from core.conversation import Answer, Citation, Outcome
from core.library.documents import Piece
from core.library.entries import NewDocument

GUIDE = """# Cache

The cache is quick. It keeps 300 entries. Restart it then.

- Clear it so.
- Or wait.

```python
cache.clear()
cache.wait()
```
"""
QUOTE = "It keeps 300 entries."


@pytest.fixture
def store(tmp_path):
    store = open_store(tmp_path / "library.sqlite")
    yield store
    store.close()


def put(store, text, *, collection="default", source="guide.md"):
    piece = Piece(path=(), location="Cache", text=text, start=0, end=len(text))
    store.put(
        NewDocument(
            collection=collection, address=f"/{collection}/{source}", root="/", source=source, title="Cache", url=None,
            hash=text, size=1, modified=1, pieces=(piece,),
        )
    )  # fmt: skip


def excerpts(store, quote, *, start=None, text=GUIDE, collections=("default",), **more):
    at = text.index(quote) if start is None else start
    cited = Citation(
        number=1, title="Cache", location="Cache", source="guide.md", quote=quote, start=at, end=at + len(quote),
        **{"collection": "default", **more},
    )  # fmt: skip
    answer = Answer(text="Yes. [1]", citations=(cited,), grounding="documents", composed=True)
    outcome = Outcome(kind="answered", turn_id="t", answer=answer)
    return footnotes_of(outcome, store, frozenset(collections)).excerpts


def shown(store, quote, **how):
    (excerpt,) = excerpts(store, quote, **how)
    return excerpt


@pytest.mark.parametrize(
    ("quote", "before", "after"),
    [
        (QUOTE, "The cache is quick. ", " Restart it then."),
        ("Clear it so.", "", ""),
        ("cache.wait()", "```python\ncache.clear()\n", "\n```"),
        ("Restart it then.\n\n- Clear it so.", "The cache is quick. It keeps 300 entries. ", ""),
    ],
)
def test_a_quote_is_shown_within_its_block(store, quote, before, after):
    put(store, GUIDE)

    excerpt = shown(store, quote)

    assert (excerpt.before, excerpt.after, excerpt.is_current) == (before, after, True)


def test_a_quote_that_has_moved_is_found_again(store):
    put(store, f"It is new.\n\n{GUIDE}")

    excerpt = shown(store, QUOTE)

    assert (excerpt.before, excerpt.after) == ("The cache is quick. ", " Restart it then.")


@pytest.mark.parametrize("now", [GUIDE.replace("300", "400"), None], ids=["changed", "forgotten"])
def test_a_quote_that_is_gone_is_shown_alone(store, now):
    if now:
        put(store, now)

    excerpt = shown(store, QUOTE)

    assert (excerpt.before, excerpt.after, excerpt.is_current) == ("", "", False)


@pytest.mark.parametrize("collection", ["board", ""], ids=["of another", "unknown"])
def test_a_quote_is_not_shown_where_its_collection_is_not_read_any_more(store, collection):
    put(store, GUIDE, collection="board")

    assert excerpts(store, QUOTE, collection=collection) == ()
    assert excerpts(store, QUOTE, collection=collection, collections=()) == ()


def test_nothing_of_a_collection_is_read_around_a_quote_of_another(store):
    put(store, GUIDE, collection="board")

    assert shown(store, QUOTE).before == ""
    assert shown(store, QUOTE, collection="board", collections=("board",)).before == "The cache is quick. "


def test_a_quote_of_a_web_page_stands_alone_and_is_not_said_to_have_changed(store):
    excerpt = shown(store, QUOTE, origin="web", url="https://a.example/")

    assert (excerpt.before, excerpt.after, excerpt.is_current) == ("", "", True)


def test_a_long_paragraph_is_cut_at_words_on_both_sides(store):
    text = f"{'before ' * 200}{QUOTE} {'after ' * 200}"
    put(store, text)

    excerpt = shown(store, QUOTE, text=text)

    assert excerpt.before.startswith("…before before")
    assert excerpt.after.endswith("after after…")
    assert max(len(excerpt.before), len(excerpt.after)) <= AROUND + 1


def test_lines_keep_their_indentation_and_what_is_quoted_in_them():
    cited = Citation(
        number=1,
        title="Cache",
        location="Cache",
        source="guide.md",
        quote="one():\n    two()",
        start=0,
        end=1,
    )

    lines = list(marked_lines(Excerpt(citation=cited, before="def ", after=" # three\n\n  four\n")))

    assert lines == [
        ("", [("def ", False), ("one():", True)]),
        ("    ", [("    two()", True), (" # three", False)]),
        ("  ", [("  four", False)]),
    ]
