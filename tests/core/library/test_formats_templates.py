"""Tags of site generators, components and pictures: what a reader of the site would see of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.formats.read import parse_file, parse_html
from core.library.formats.templates import clean_html, clean_markdown
from core.text.quoting import as_quoted

PIECES = (
    "{{ version }}", "{% if x %}", "{% endif %}", "{% for x in y %}\n", "{% endfor %}\n", "{{< note >}}", "{{< /note >}}",
    '{{< figure caption="The gateway stands first" >}}', "{# note #}", "{#anchor}", "{/* comment */}", "{", "}", "`", "```\n",
    '<Tabs items={["a"]}>\n', "</Tabs>", '<img src="x" alt="How it all hangs together">', "import A from 'b';\n",
    "export const a = {\n  b: 1,\n}\n", "{% raw %}", "{% endraw %}", "words ", "[link](", ")", "\n", "\n\n", "\r\n", "é🙂",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=10), max_size=14).map("".join)


def visible(text: str, *, is_mdx: bool = False) -> str:
    """The lines that are left, with single blanks."""
    lines = (" ".join(line.split()) for line in clean_markdown(text, is_mdx=is_mdx).splitlines())
    return "\n".join(line for line in lines if line)


@given(texts, st.booleans())
def test_offsets_and_lines_stay_where_they_are_in_the_file(text, is_mdx):
    shown = clean_markdown(text, is_mdx=is_mdx)

    assert len(shown) == len(text)
    assert [at for at, sign in enumerate(shown) if sign in "\r\n"] == [
        at for at, sign in enumerate(text) if sign in "\r\n"
    ]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("Install {{ version }} first.", "Install … first."),
        ("{% if x %}Text of it.{% endif %}", "Text of it."),
        ("{% include a.html %}\nText.", "Text."),
        ("{%- comment -%}\nText.", "Text."),
        ("# {{ page.title }}", "#"),
        ("# <%= current_page.data.title %>", "#"),
        ("<% if x do %>\nAsk <%= team %> first.\n<% end %>", "Ask … first."),
        ('A {{< glossary_tooltip text="Pod" term_id="pod" >}} runs.', "A Pod runs."),
        ("{{< note >}}\nMind it.\n{{< /note >}}", "Mind it."),
        ("{{% alert %}}Mind it.{{% /alert %}}", "Mind it."),
        ("Since {{< param version >}} it works.", "Since … it works."),
        ('{{< figure src="a.png"\n    caption="The gateway stands first" >}}', "The gateway stands first"),
        ('{% include figure.html caption="The way of a request" %}', "The way of a request"),
        ("{# a comment #}Text.", "Text."),
        ("## Part {#part}", "## Part {#part}"),
        ("{% for u in users %}\n<p>{{ u.name }} answered</p>\n{% endfor %}\nText.", "Text."),
        ("{% highlight ruby %}\nputs {{ x }}\n{% endhighlight %}", "```ruby\nputs {{ x }}\n```"),
        ("{% raw %}Write {{ name }}.{% endraw %}", "Write {{ name }}."),
        ("Add ${{ secrets.KEY }} there.", "Add ${{ secrets.KEY }} there."),
        (r"So $x^{{n}} = \frac{{a}}{b}$ holds.", r"So $x^{{n}} = \frac{{a}}{b}$ holds."),
        ("Open {{ brace", "Open {{ brace"),
        ('<Tabs items={["a", "b"]}>\n<Tab value="npm" label="With npm">\n\nRun it.\n\n</Tab>\n</Tabs>', "With npm\nRun it."),
        ("A <Term id='x'>word</Term> of it.", "A word of it."),
        ("Vec<String> and Map<K, V> are types.", "Vec<String> and Map<K, V> are types."),
        ('<Card\n  title="Start here"\n  icon={() => <I />}\n/>', "Start here"),
        ("import Tabs from '@theme/Tabs';\nimport {\n  A,\n  B,\n} from 'x'\n\nText.", "Text."),
        ("export const meta = {\n  a: [1,\n\n  2],\n}\n\nText.", "Text."),
        ("import taxes from China are high.", "import taxes from China are high."),
        ('<img src="a.png" alt="How a request passes the gateway">', "How a request passes the gateway"),
        ('<a href="x"><img src="a.svg" alt="Supported versions of this package"></a>', '<a href="x"><img src="a.svg" alt="Supported versions of this package"></a>'),
    ],
)  # fmt: skip
def test_tags_are_not_seen_and_the_words_they_show_are(source, seen):
    assert visible(source) == seen


@pytest.mark.parametrize(
    "code",
    [
        "`{{ name }}`",
        "```jinja\n{% for x in y %}{{ x }}{% endfor %}\n```",
        "~~~\n<Tabs items={a}>\n~~~",
        "- one\n\n  ```\n  {{ x }}\n  ```",
        "!!! note\n\n    ```html\n    {{ x }}\n    ```",
        "Text.\n\n    {{ indented }}\n",
        "<pre>{{ x }}</pre>",
        "Write <code>{% if %}</code>.",
        "{{</* figure */>}}",
        "``` \nimport a from 'b';\n```",
    ],
)
def test_code_that_documents_templates_stays(code):
    assert clean_markdown(code) == code


def test_the_braces_of_mdx_are_expressions_and_those_of_markdown_are_not():
    text = "Use {props.version} of `{x}` with {'{id}'} and \\{this}.\n\n## Part {#part}\n"

    assert clean_markdown(text) == text
    assert visible("Use {props.version} or {'this'} here.", is_mdx=True) == "Use … or this here."
    assert visible("## Part {#part}\n\n`{x}` stays.", is_mdx=True) == "## Part {#part}\n`{x}` stays."


def test_links_keep_their_words_where_their_address_is_a_tag():
    text = clean_markdown('Read [the guide]({{< ref "guide.md" >}}) and [more](/docs/{{ v }}/x).')

    assert as_quoted(text, 0, len(text), "[1]") == "Read the guide and more. [1]"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ('A {{< glossary_tooltip text="Pod" term_id="pod" >}}, which runs.', "A Pod, which runs. [1]"),
        ("{% if x %}It is set with x = 1.{% endif %}", "It is set with x = 1. [1]"),
        ("So {{ product }} starts.", "So … starts. [1]"),
        ("![How a request passes the gateway](a.png)", "How a request passes the gateway [1]"),
    ],
)
def test_a_quote_shows_no_tag_and_no_hole(source, shown):
    document = parse_file(Path("a.md"), f"# Title\n\n{source}\n".encode())
    block = document.blocks[-1]

    assert block.kind == "prose"
    assert as_quoted(document.text, block.start, block.end, "[1]") == shown


PAGE = b"""---
layout: default
title: Leave policy
---
{% include nav.html %}
<div class="content">
<h1>{{ page.title }}</h1>
<p>Everybody has 30 days of leave. {% if hr %}Ask {{ hr.name }}.{% endif %}</p>
<figure><img src="a.png" alt="How leave is asked for and granted"><figcaption>The way of a request</figcaption></figure>
<p>Use <code>{{ x }}</code> in a template.</p>
{% for post in site.posts %}<p>{{ post.title }}</p>{% endfor %}
</div>
"""


def test_html_with_front_matter_is_read_with_its_title_and_the_words_of_its_pictures():
    document = parse_file(Path("leave.html"), PAGE)

    assert document.title == "Leave policy"
    assert document.text.split("\n\n") == [
        "# Leave policy",
        "Everybody has 30 days of leave. Ask ….",
        "How leave is asked for and granted",
        "The way of a request",
        "Use `{{ x }}` in a template.",
    ]


def test_a_layout_without_words_is_empty_and_not_damaged():
    with pytest.raises(Exception, match=r"^is empty$"):
        parse_file(Path("layout.html"), b"---\nlayout: base\n---\n<main>{{ content }}</main>\n")


def test_a_page_that_documents_templates_keeps_its_code():
    page = "<main><h1>Loops</h1><p>Write this:</p><pre>{% for x in y %}{{ x }}{% endfor %}</pre></main>"

    assert "{% for x in y %}{{ x }}{% endfor %}" in parse_html(page, url="https://docs.example/loops").text


@given(texts)
def test_html_without_a_tag_of_a_template_is_not_touched(text):
    plain = text.replace("{", "(").replace("<", "(")

    assert clean_html(plain) == plain
