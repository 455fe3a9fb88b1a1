"""The storage format as Markdown, on what editors and programs write."""

from __future__ import annotations

import pytest

from core.errors import DocumentError
from core.library.formats import markdown
from core.sources.confluence.convert import markdown_of, mentions_in
from core.sources.confluence.markdown import anchors_of, style_of
from core.sources.confluence.source import parse_item
from core.sources.source import SourceItem


def macro(name: str, body: str = "", /, **told: str) -> str:
    parameters = "".join(f'<ac:parameter ac:name="{key}">{text}</ac:parameter>' for key, text in told.items())
    return (
        f'<ac:structured-macro ac:name="{name}" ac:schema-version="1" ac:macro-id="68b1d163">{parameters}{body}'
        "</ac:structured-macro>"
    )


def rich(body: str) -> str:
    return f"<ac:rich-text-body>{body}</ac:rich-text-body>"


def plain(body: str) -> str:
    return f"<ac:plain-text-body><![CDATA[{body}]]></ac:plain-text-body>"


TABLE = {
    "headings and text": (
        "<h1>Deploy &amp; run</h1><p>Hello&nbsp;<strong>wide </strong><em>world</em>, <code>a*b</code>.<br />Next&mdash;line</p>",
        "# Deploy & run\n\nHello **wide** *world*, `a*b`.\nNext—line\n",
    ),
    "what looks like Markdown and is none": (
        "<p># no heading</p><p>1. no item</p><p>a * b, snake_case, _x_, &lt;div&gt; and a [b](c)</p>",
        "\\# no heading\n\n1\\. no item\n\na \\* b, snake_case, \\_x\\_, \\<div> and a \\[b](c)\n",
    ),
    "links": (
        ('<p>See <ac:link><ri:page ri:content-title="Other Page" /><ac:plain-text-link-body><![CDATA[Custom Text]]>'
        '</ac:plain-text-link-body></ac:link>, <ac:link><ri:page ri:content-title="Runbook" ri:space-key="OPS" /></ac:link>,'
        ' <ac:link ac:anchor="top"><ac:link-body><strong>up</strong></ac:link-body></ac:link>,'
        ' <ac:link><ri:attachment ri:filename="plan v2.pdf" /></ac:link>, <a href="https://example.com/a?b=1">there</a>'
        ' and <a href="javascript:x()">nowhere</a>, <a href="HTTPS://[v1/">broken</a>.</p>'),
        "See Custom Text, Runbook, **up**, plan v2.pdf, [there](https://example.com/a?b=1) and nowhere, [broken](HTTPS://[v1/).\n",
    ),
    "people, dates and signs": (
        ('<p><ac:link><ri:user ri:account-id="712020:ann" /></ac:link> and <ac:link><ri:user ri:userkey="ff80" /></ac:link> on'
        ' <time datetime="2024-01-29" /> <ac:emoticon ac:name="tick" /> <ac:emoticon ac:name="blue-star" '
        'ac:emoji-shortname=":rocket:" ac:emoji-id="1f680" ac:emoji-fallback="🚀" /></p>'),
        "@Ann and on 2024-01-29 ✓ 🚀\n",
    ),
    "lists": (
        ("<ol><li>First step</li><li>Second step<ol><li>Sub-step A</li><li><p>Sub-step B</p></li></ol></li></ol>"
        "<ul><li><p>one</p><p>more</p></li><li>two<ul><li>deep</li></ul></li></ul>"),
        "1. First step\n2. Second step\n   1. Sub-step A\n   2. Sub-step B\n\n- one\n\n  more\n- two\n  - deep\n",
    ),
    "tasks": (
        ("<ac:task-list><ac:task><ac:task-id>169</ac:task-id><ac:task-uuid>u-1</ac:task-uuid><ac:task-status>complete"
        "</ac:task-status><ac:task-body>MSP</ac:task-body></ac:task><ac:task><ac:task-id>201</ac:task-id>"
        '<ac:task-status>incomplete</ac:task-status><ac:task-body><span class="placeholder-inline-tasks">MEDU</span>'
        "</ac:task-body></ac:task></ac:task-list>"),
        "- [x] MSP\n- [ ] MEDU\n",
    ),
    "code": (
        macro("code", plain("port: 8080\n# <not> a heading\n```\n"), language="yaml", title="app.yml")
        + macro("noformat", plain("as it is")),
        "**app.yml**\n\n````yaml\nport: 8080\n# <not> a heading\n```\n````\n\n```\nas it is\n```\n",
    ),
    "panels": (
        macro("info", rich("<p>Java 17 required.</p>"))
        + macro("expand", rich("<p>Inside</p><ul><li>x</li></ul>"), title="6:00 PM")
        + '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-attribute key="panel-type">note</ac:adf-attribute>'
        "<ac:adf-content><p>remember</p></ac:adf-content></ac:adf-node><ac:adf-fallback><p>remember</p></ac:adf-fallback>"
        "</ac:adf-extension>",
        "Java 17 required.\n\n**6:00 PM**\n\nInside\n\n- x\n\nremember\n",
    ),
    "a macro in a paragraph": (
        f"<p>Before {macro('status', colour='Green', title='DONE')} between</p><p>{macro('code', plain('x = 1'))}</p>",
        "Before DONE between\n\n```\nx = 1\n```\n",
    ),
    "pages that are included": (
        "<p>"
        + macro(
            "excerpt-include",
            '<ac:parameter ac:name=""><ac:link><ri:page ri:content-title="Capella Released Images"/></ac:link></ac:parameter>',
            name="references", nopanel="true",
        )
        + "</p>"
        + macro("include", '<ac:parameter ac:name=""><ac:link><ri:page ri:content-title="세부 계획"/></ac:link></ac:parameter>'),
        "→ Capella Released Images\n\n→ 세부 계획\n",
    ),
    "macros that are not known": (
        macro("mystery", rich("<p>Its own text</p>"), secret="not to be shown")
        + macro("toc", maxLevel="3") + macro("chart", plain("1,2"), type="pie")
        + f"<p>a {macro('gadget', url='https://x')} b</p>",
        "Its own text\n\n```\n1,2\n```\n\na b\n",
    ),
    "merged cells": (
        ('<table data-layout="default"><colgroup><col style="width: 68px;" /></colgroup><tbody>'
        '<tr><th><p>Ship</p></th><th colspan="2"><p>Berth</p></th></tr>'
        '<tr><td rowspan="2"><p>Aurora</p></td><td>7 | 8</td><td><ul><li>north</li><li>deep</li></ul></td></tr>'
        '<tr><td colspan="2"><p>closed</p><p>in May</p></td></tr></tbody></table>'),
        "| Ship | Berth | Berth |\n| --- | --- | --- |\n| Aurora | 7 \\| 8 | north; deep |\n| Aurora | closed in May |  |\n",
    ),
    "a table without a head": (
        "<table><tbody><tr><th>Key</th><td>1</td></tr><tr><th>Other</th><td><p /></td></tr></tbody></table>",
        "|  |  |\n| --- | --- |\n| Key | 1 |\n| Other |  |\n",
    ),
    "images": (
        ('<ac:image ac:alt="A crane over berth seven" ac:width="200"><ri:attachment ri:filename="crane 1.png" /><ac:caption>'
        '<p>Greased in May</p></ac:caption></ac:image><ac:image><ri:attachment ri:filename="b.png" /></ac:image>'),
        "![A crane over berth seven](crane%201.png) Greased in May\n",
    ),
    "layouts": (
        ('<ac:layout><ac:layout-section ac:type="two_equal"><ac:layout-cell><p>Left</p></ac:layout-cell><ac:layout-cell>'
        "<h2>Right</h2><blockquote><p>quoted</p></blockquote><hr /></ac:layout-cell></ac:layout-section></ac:layout>"),
        "Left\n\n## Right\n\n> quoted\n\n---\n",
    ),
    "comments beside the text": (
        ('<p>Mind the <ac:inline-comment-marker ac:ref="f1">crane</ac:inline-comment-marker>.<ac:placeholder>Type here'
        "</ac:placeholder></p>"),
        "Mind the crane.\n",
    ),
    "nothing": ('<p class="auto-cursor-target"><br /></p><p />', ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_storage_as_markdown(name):
    storage, text = TABLE[name]

    assert markdown_of(storage, {"712020:ann": "Ann"}) == text


def test_people_that_a_page_mentions():
    assert mentions_in(TABLE["people, dates and signs"][0]) == ["712020:ann", "ff80"]


@pytest.mark.parametrize(
    "storage", ["<p>never closed", "<p>&unknown;</p>", '<!DOCTYPE x [<!ENTITY y "z">]><p/>']
)
def test_a_damaged_page_is_told(storage):
    with pytest.raises(DocumentError, match="its storage format is damaged"):
        markdown_of(storage)


def test_a_page_nested_without_end_is_told():
    with pytest.raises(DocumentError, match="nested too deeply"):
        markdown_of("<div>" * 20_000 + "x" + "</div>" * 20_000)


def test_a_table_of_endless_cells_is_cut():
    cells = '<td rowspan="999999999" colspan="999999999">x</td>' * 5

    assert len(markdown_of(f"<table><tr>{cells}</tr></table>")) < 1_000_000


PAGE = "<h1>First steps</h1><p>One.</p><h2>Why?</h2><p>Two.</p><h2>Twice</h2><p>Three.</p><h2>Twice</h2><p>Four.</p>"


@pytest.mark.parametrize(
    ("storage", "is_cloud", "anchors"),
    [
        (PAGE, False, ["InstallGuide-Firststeps", "", "", ""]),
        (PAGE.replace("<p>", '<p local-id="8f2c">'), True, ["First-steps", "", "", ""]),
        (PAGE, True, []),
    ],
)
def test_sections_open_where_the_name_of_their_heading_is_known(storage, is_cloud, anchors):
    document = markdown.parse(markdown_of(storage))

    found = anchors_of(document, "Install Guide", style_of(storage, is_cloud=is_cloud))

    assert [name for _, name in found] == anchors
    assert all(document.text[start] == "#" for start, _ in found)


def test_an_attachment_is_parsed_as_the_file_that_it_is():
    item = SourceItem(id="pages/1/att2", version="1", name="sheet.csv", source="sheet.csv")

    assert "Aurora" in parse_item(item, b"name,berth\nAurora,7\n").text
