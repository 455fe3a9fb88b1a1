"""Blocks and properties as Notion sends them, and the Markdown that is made of them."""

from __future__ import annotations

import pytest
from fakes.notion import rich

from core.library.formats import markdown
from core.sources.documents import join_parts, parse_item, to_bytes
from core.sources.notion.convert import PageBlock, cells_of, parts_of, table, title_of
from core.sources.notion.page import parse_page, text_of_page

HOSTED = {
    "type": "file",
    "file": {"url": "https://prod-files-secure.s3.example/x?sig=1", "expiry_time": "2026"},
}


def block(kind, *children, id="1" * 32, **content) -> PageBlock:
    return PageBlock(data={"id": id, "type": kind, kind: content}, children=tuple(children))


def text(kind, said, *children, **content) -> PageBlock:
    return block(kind, *children, rich_text=rich(said), **content)


def row(*cells) -> PageBlock:
    return block("table_row", cells=[rich(each) for each in cells])


def written(*blocks) -> str:
    return join_parts(parts_of(blocks)).text


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([text("paragraph", "One."), text("paragraph", "Two.")], "One.\n\nTwo."),
        ([text("paragraph", "Outer.", text("paragraph", "Inner."))], "Outer.\n\nInner."),
        ([text("heading_1", "Fares"), text("heading_3", "By sea")], "## Fares\n\n#### By sea"),
        ([text("heading_2", "Folded", text("paragraph", "Inside."), is_toggleable=True)], "### Folded\n\nInside."),
        (
            [
                text("bulleted_list_item", "A", text("bulleted_list_item", "A1"), text("bulleted_list_item", "A2")),
                text("bulleted_list_item", "B"),
            ],
            "- A\n  - A1\n  - A2\n- B",
        ),
        (
            [text("numbered_list_item", "A", text("paragraph", "More.")), text("numbered_list_item", "B")],
            "1. A\n\n   More.\n2. B",
        ),
        ([text("numbered_list_item", "A"), text("paragraph", "-"), text("numbered_list_item", "B")], "1. A\n\n\\-\n\n1. B"),
        ([text("to_do", "Rope", checked=True), text("to_do", "Chain", checked=False)], "- ☑ Rope\n- ☐ Chain"),
        ([text("toggle", "More", text("paragraph", "Hidden."))], "- More\n\n  Hidden."),
        ([text("quote", "Said\ntwice", text("paragraph", "so"))], "> Said\n> twice\n>\n> so"),
        ([text("callout", "Mind the gap", icon={"type": "emoji", "emoji": "⚠️"})], "> ⚠️ Mind the gap"),
        ([text("code", "a = 1\nb", language="python", caption=rich("Sums"))], "```python\na = 1\nb\n```\n\nSums"),
        ([text("code", "```\nx\n```", language="plain text", caption=[])], "````\n```\nx\n```\n````"),
        ([block("equation", expression="e=mc^2")], "$$\ne=mc^2\n$$"),
        ([block("divider")], "---"),
        (
            [block("table", row("Day", "Fare"), row("Mon|Tue", "4"), has_column_header=True)],
            "| Day | Fare |\n| --- | --- |\n| Mon\\|Tue | 4 |",
        ),
        ([block("table", row("Mon", "4"), has_column_header=False)], "|  |  |\n| --- | --- |\n| Mon | 4 |"),
        (
            [block("column_list", block("column", text("paragraph", "Left.")), block("column", text("paragraph", "Right.")))],
            "Left.\n\nRight.",
        ),
        ([block("synced_block", text("paragraph", "The same."), synced_from=None)], "The same."),
        ([block("child_page", title="Fares", id="2" * 32)], f"[Fares](https://www.notion.so/{'2' * 32})"),
        ([block("child_database", title="Register", id="3" * 32)], f"[Register](https://www.notion.so/{'3' * 32})"),
        ([block("image", caption=rich("The quay"), **HOSTED)], "The quay"),
        ([block("image", caption=[], **HOSTED)], ""),
        ([block("pdf", caption=rich("Tides"), name="tides.pdf", **HOSTED)], "tides.pdf – Tides"),
        (
            [block("video", type="external", external={"url": "https://a.example/v(1)"}, caption=rich("Film"))],
            "[Film](https://a.example/v%281%29)",
        ),
        ([block("bookmark", url="https://a.example", caption=[])], "[https://a.example](https://a.example)"),
        ([block("link_preview", url="https://a.example/1")], "[https://a.example/1](https://a.example/1)"),
        ([block("table_of_contents"), block("breadcrumb"), block("unsupported")], ""),
        ([text("holo_deck", "Kept.", text("paragraph", "This too."))], "Kept.\n\nThis too."),
        ([block("transcription", text("paragraph", "We agreed."), title=rich("Monday"))], "Monday\n\nWe agreed."),
    ],
)  # fmt: skip
def test_each_kind_of_block_is_written(blocks, expected):
    assert written(*blocks) == expected


@pytest.mark.parametrize(
    "said",
    ["# no heading", "1. no list", "- no item", "> no quote", "---", "    no code", "| no | table |\n| --- | --- |",
     "<div>no markup</div>", "```", "$$", "[no]: https://link.example", "no heading\n==="],
)  # fmt: skip
def test_what_looks_like_markup_stays_a_paragraph(said):
    document = markdown.parse(written(text("paragraph", said)))

    assert {each.kind for each in document.blocks} == {"prose"}


def test_styles_and_links_are_kept():
    link = rich("the fares")[0] | {"href": "https://a.example/x y"}
    mention = rich("Ann")[0] | {"type": "mention", "href": None}
    spans = [
        *rich("See "), link, *rich(" and "), *rich(" now ", bold=True), *rich("f(x)", code=True), mention,
        rich("x^2")[0] | {"type": "equation", "equation": {"expression": "x^2"}},
    ]  # fmt: skip

    assert written(block("paragraph", rich_text=spans)) == (
        "See [the fares](https://a.example/x%20y) and  **now** `f(x)`Ann$x^2$"
    )


def test_each_block_of_the_page_has_its_name_in_the_address():
    blocks = [
        text("heading_1", "Fares", id="a" * 32),
        block("column_list", block("column", text("paragraph", "Left.", id="b" * 32)), id="c" * 32),
        text("paragraph", "", id="d" * 32),
        text("bulleted_list_item", "Rope", id="e" * 32),
        text("bulleted_list_item", "Chain", id="f" * 32),
    ]

    document = parse_item(None, to_bytes(join_parts(parts_of(blocks))))

    assert [(document.text[begin:][:6], name[0]) for begin, name in document.anchors] == [
        ("## Far", "a"), ("Left.\n", "b"), ("- Rope", "e"), ("- Chai", "f"),
    ]  # fmt: skip


PROPERTIES = {
    "Task": {"id": "title", "type": "title", "title": rich("Crane 7")},
    "Status": {"id": "1", "type": "status", "status": {"name": "Open", "color": "red"}},
    "Tags": {"id": "2", "type": "multi_select", "multi_select": [{"name": "north"}, {"name": "a|b"}]},
    "Due": {"id": "3", "type": "date", "date": {"start": "2026-01-02", "end": "2026-01-03", "time_zone": None}},
    "Load": {"id": "4", "type": "number", "number": 12.0},
    "Done": {"id": "5", "type": "checkbox", "checkbox": False},
    "Who": {"id": "6", "type": "people", "people": [{"object": "user", "id": "1", "name": "Ann"}, {"id": "2"}]},
    "Plan": {"id": "7", "type": "files", "files": [{"name": "plan.pdf", **HOSTED}]},
    "Cost": {"id": "8", "type": "formula", "formula": {"type": "number", "number": 4.5}},
    "Sum": {
        "id": "9", "type": "rollup",
        "rollup": {"type": "array", "array": [{"type": "number", "number": 1}, {"type": "title", "title": rich("x")}]},
    },
    "No": {"id": "10", "type": "unique_id", "unique_id": {"prefix": "CR", "number": 7}},
    "Note": {"id": "11", "type": "rich_text", "rich_text": []},
    "Push": {"id": "12", "type": "button", "button": {}},
    "Link": {"id": "13", "type": "url", "url": None},
}  # fmt: skip


def test_the_properties_of_a_row_are_a_table():
    rows = [(each.name, each.text) for each in cells_of(PROPERTIES)]

    assert table(title_of(PROPERTIES), rows).split("\n") == [
        "| Task | Crane 7 |",
        "| --- | --- |",
        "| Cost | 4.5 |",
        "| Done | ☐ |",
        "| Due | 2026-01-02 – 2026-01-03 |",
        "| Load | 12 |",
        "| No | CR-7 |",
        "| Plan | plan.pdf |",
        "| Status | Open |",
        "| Sum | 1, x |",
        "| Tags | north, a\\|b |",
        "| Who | Ann |",
    ]


def test_an_address_that_expires_is_no_part_of_the_text():
    sent = {
        "object": "page", "id": "1" * 32, "last_edited_time": "2026-01-02T03:04:00.000Z", "in_trash": False,
        "parent": {"type": "workspace", "workspace": True}, "properties": PROPERTIES, "url": "https://www.notion.so/x",
    }  # fmt: skip
    page = parse_page(sent)
    blocks = [
        block(kind, caption=rich("It"), **HOSTED) for kind in ("image", "file", "audio", "video", "pdf")
    ]

    assert "sig=" not in text_of_page(page, blocks, {}).text
    assert parse_page(sent | {"in_trash": True}) is None
