"""Markdown that others wrote, on every platform: whole, within the limit, and harmless whoever wrote it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
from fakes import discord_markdown
from fakes.hostile import KINDS, by_kind
from fakes.numbered_words import documents, order
from fakes.passages import thorough
from fakes.slack.rendering import entities_of, visible_text
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bots.chat.markdown.inline import Dialect
from bots.chat.markdown.pieces import pieces
from bots.chat.markdown.safe import names_another_host, web_link
from bots.discord.dialect import DISCORD
from bots.slack.dialect import SLACK

GOOD = "https://good.example/page"
EVIL = "https://evil.example/x"
OURS = "\u200b"  # the space of no width that a dialect may put between signs
JOINERS = "\u200c\u200d"  # they carry meaning in some scripts and in emoji


@dataclass(frozen=True, slots=True)
class Platform:
    """A dialect, and a reader that was not written from it."""

    dialect: Dialect
    order: str  #: a pattern of the words whose order it keeps; headings of tables may stand beside each value
    visible: Callable[[str], str]
    entities: Callable[[str], list]
    heading: str  #: of a table of names and uses


def in_slack(markdown):
    return [{"type": "markdown", "text": markdown}]


PLATFORMS = {
    "slack": Platform(
        SLACK,
        r"[wh]\d+",
        lambda text: visible_text("", in_slack(text), str),
        lambda text: entities_of("", in_slack(text), str),
        "| name | use |\n|---|---|\n",
    ),
    "discord": Platform(
        DISCORD, r"w\d+", discord_markdown.visible, discord_markdown.entities, "```\nname  use\n----  ---\n"
    ),
}

#: What one platform obeys must not appear on it, and does no harm on the others.
ENTITIES = (
    "<@1>", "<@!1>", "<@&1>", "<#1>", "<:name:1>", "<a:name:1>", "</name:1>", "</name sub:1>", "<t:1>", "<t:1:R>",
    "<id:customize>", "<id:linked-roles:1>", "\\<@1>", "\\\\<@1>", "\\\\\\<#1>", "&lt;@1&gt;", "`<@1>`", "``<@&1>``",
    "```\n<@1>\n```", "    <@1>", "**<t:1:R>**", "*`*<t:1:R>`*", "*a `*`<#1>`*`*", "**a `**`<#1>`**`**",
    "~~a `~~`<#1>`~~`~~", "**b***i* `**<t:1:R>`", "*[](a.md)x* `*<#1>`", "*[](a.md) x*y `*<#1>`", "*a *b* c*d `*<#1>`",
    "**b**_i_. `.*<t:1:R>`", "x" + "a" * 40 + "steam://run/1", "[<t:1:R>](https://good.example/page)", "[<@1>](https://good.example/page)", "<@\u200b1>", "<@1", "<<@1>>",
    "`@everyone`", "```\n@here\n```", "\\@everyone", "@\u200beveryone", "@EVERYONE", "a@here", "@everyones",
    "[@everyone](https://good.example/page)", "`` ` <@1> ` ``", "``` <@1>", "> ```\n> <@1>", "- ```\n  <@1>\n\n  <#1>\n  ```",
    "> ```\n>\n> <#1>\n> ```", "1. a\n\n       <#1>\n\n       <t:1>", "- > ```\n  > a\n  >\n  > <#1>\n  > ```",
    "```\n\n```\n<#1>\n```\n<t:1>\n```", "```\n`````\n<#1>\n```", "> ```\n> ```\n>\n> ||x||\n>\n> ```\n> <#1>\n> ```", "- ```\n  ```\n- ||x||\n- ```\n  ```", "````\n```\n<#1>\n````", "<https://evil.example>",
    "<discord:/x>", "<steam://run/1>", "steam://run/1", "discord://-/channels/1", "<mailto:a@evil.com>", "<+123456789>",
)  # fmt: skip
HIDING = (
    "||hidden||", "|| <@1> ||", "\\||hidden||", "|\\|hidden||", "&#124;|x||", "*||x||*", "||*x*||", "`||x||`",
    "|`a`|b||", "||`a`||", "| ||a|| |\n|---|\n| ||b|| |", "[||x||](https://good.example/page)", "# ||x||",
    "||" + "x" * 5_000 + "||", "||\n\nx\n\n||", "```ansi\n\x1b[31mred\n```", "```ANSI\nx\n```", "~~~ansi\nx\n~~~",
    "```ansi extra\n[2;30mdark\n```", "\U000e0041\U000e0042", "\u2066evil\u2069", "\u200e\u200f\u061c", "a\u00adb",
)  # fmt: skip
STRUCTURE = (
    ">>> all of it\n\n<@1>", "\\>>> x", "**>>> x**", "*> x*", "-# small", "-# -# small", "*-# x*", "**# x**", "~~- x~~",
    "# # x", "# - x", "# > x", "# `a`#", "# C#", "## ", "###### deep **bold** `*`", "- # x", "- - - - x", "> > > x",
    "0. a\n1. b", "99999999999. x", "1) a\n2) b", "+ a\n+ b", "* a\n\n* b", "- ", "-\n\n  x", "1.\n\n   x",
    "a  \n- b  \n> c  \n# d", "a\\\n-# b", "- a\n\n  | x | y |\n  |---|---|\n  | 1 | 2 |", "***a***", "**a**b", "__a__",
    "_a_", "a_b_c", "__init__.py", "_a_b", "snake_case `_<#1>`", "a_b `_||x||`", "*a*b*c*", "**a**" * 300, "*a***b**" * 200, "~~a~~_b_", "\\~~~a~~",
    "````", "`` ` ``", "`` `` ` `` ``", "` `", "`a``b`", "`` a` ``", "``` a ```", "text ```code``` text", ":smile: :a:b:",
    "12:30:45", "std::vector::x", "&lt;b&gt; &amp;amp;", "&#42;a&#42;", "\\*a\\*", "\\", "a\\", "`\\`", "**`\\`**", "*`\\`*",
    "C:\\docs\\x", "¯\\_(ツ)_/¯", "\\" * 999, "*" * 999, "|" * 999, "\\|" * 999, "_a" * 900, "`" * 2_999, "`*" * 999,
)  # fmt: skip
LINKS = (
    f"[a [b] c]({GOOD})", f"[a ] b]({GOOD})", f"[a \\[ b]({GOOD})", f"[[a]]({GOOD})", f"[a]({GOOD})[b]({GOOD})", f"[a](<{GOOD}>)",
    f"[a](<{EVIL}>)", f"[`code`]({GOOD})", f"[a*b_c~d|e`f]({GOOD})", f"[🙂]({GOOD})", f"[🙂]({EVIL})", f"[{GOOD}]({GOOD})",
    f"[see {GOOD} there]({GOOD})", f"[{GOOD}]({EVIL})", f"[{EVIL}]({GOOD})", f"[evil.example]({GOOD})", f"<{GOOD}>", f"({GOOD})",
    f"**{GOOD}**", f"*[a]({GOOD})*", f"**[a\\*b]({GOOD})**", f"[bank]{{}}({EVIL})", f"[bank]\\({EVIL})", f"\\[bank]({EVIL})",
    f"[bank\\]({EVIL})", f"[bank]<!-- -->({EVIL})", f"*[bank \\*]*({EVIL})", f"*[bank \\*]*({GOOD})", f"*[bank.com \\*]*({GOOD})", f"[bank.com [x]({GOOD})",
    f"[bank]&#40;{EVIL})", f"[bank]&lpar;{GOOD})", f"![a]({GOOD})", f"[![a]({GOOD})]({GOOD})", f"[a]({GOOD} 'title')",
    f"[discord.gg/x]({GOOD})", f"{GOOD})", f"{GOOD}|<@1>", f"{GOOD}||x||", f"[a]({GOOD}\n)", f"[a\nb]({GOOD})", f"`[a](`{EVIL}`)`",
    f"[a]({GOOD}/(x))", f"[- a]({GOOD})", f"[# a]({GOOD})", f"- [a]({GOOD})\n- [b]({EVIL})", f"| a |\n|---|\n| [x]({GOOD}) |",
    f"| a |\n|---|\n| [x]({EVIL}) |", f"| a |\n|---|\n| {GOOD} |", f"| {EVIL} |\n|---|\n| {'x ' * 90} |", f"[*]({GOOD}) `*<#1>`",
    f"[bank `]({EVIL})`", f"[1] and `a]({EVIL})`", f"[a]({GOOD}) `]({EVIL})`", f"[bank `[x [y] z]({EVIL})`", f"[1]\n\n```\n]({EVIL})\n```",
)  # fmt: skip

OURS_TOO = {"entities": ENTITIES, "hiding": HIDING, "structure": STRUCTURE, "more links": LINKS}
HOSTILE = KINDS | OURS_TOO
ALL_HOSTILE = tuple(dict.fromkeys(text for texts in HOSTILE.values() for text in texts))

every_kind = pytest.mark.parametrize("texts", by_kind(HOSTILE))
every_platform = pytest.mark.parametrize("platform", PLATFORMS.values(), ids=PLATFORMS)


def assert_harmless(piece, platform, links=()):
    for entity in platform.entities(piece):
        assert entity.kind == "link", entity
        assert entity.target.replace("%28", "(").replace("%29", ")") in links, entity
        assert not names_another_host(entity.label, entity.target), entity
    assert not invisible(piece), piece


def invisible(text):
    kept = {"\n", "\t", OURS, *JOINERS}
    return [
        sign for sign in text if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co") and sign not in kept
    ]


def assert_stands_alone(piece, limit, platform):
    """What follows it, words or code, is read as if it stood alone."""
    below = f"[below]({GOOD})\n\n```\n[code]({GOOD})\n```"

    assert 0 < len(piece) <= limit
    labels = [entity.label for entity in platform.entities(f"{piece}\n\n{below}") if entity.kind == "link"]
    assert labels[-1:] == ["below"], piece


def test_there_are_hostile_strings_enough():
    assert len(ALL_HOSTILE) >= 430


@every_platform
@every_kind
def test_nothing_that_others_wrote_does_anything(texts, platform):
    for text, limit in product(texts, (200, 2_000, 4_000)):
        for piece in pieces(text, limit=limit, dialect=platform.dialect):
            assert_stands_alone(piece, limit, platform)
            assert_harmless(piece, platform)


@every_platform
@every_kind
def test_only_given_links_lead_anywhere(texts, platform):
    for text in (text for text in texts if len(text) < 1_000):
        given_links = {GOOD} | {one for one in (web_link(text),) if one}
        allowed = given_links | {f"{one}/" for one in given_links}

        for piece in pieces(text, links=given_links, limit=2_000, dialect=platform.dialect):
            assert_harmless(piece, platform, allowed)


@every_platform
def test_hostile_strings_do_nothing_together_either(platform):
    short = [text for text in ALL_HOSTILE if len(text) < 200]

    for start in range(0, len(short), 7):
        text = "\n".join(short[start : start + 7])
        for piece in pieces(text, links=(GOOD,), limit=4_000, dialect=platform.dialect):
            assert_harmless(piece, platform, (GOOD,))


@every_platform
def test_an_address_is_shown_as_code(platform):
    (piece,) = pieces(f"see {EVIL} or [this]({EVIL})", limit=500, dialect=platform.dialect)

    assert piece == f"see `{EVIL}` or this (`{EVIL}`)"


@every_platform
def test_a_given_link_keeps_its_words(platform):
    (piece,) = pieces(f"see [the page]({GOOD})", links=(GOOD,), limit=500, dialect=platform.dialect)

    (link,) = platform.entities(piece)
    assert (link.target, link.label) == (GOOD, "the page")
    assert platform.visible(piece).strip() == "see the page"


@every_platform
@pytest.mark.parametrize("limit", [200, 2_000, 4_000])
def test_a_word_without_end_is_cut_and_lost_nowhere(limit, platform):
    made = pieces("x" * 13_000, limit=limit, dialect=platform.dialect)

    assert "".join(platform.visible(piece) for piece in made).count("x") == 13_000
    assert all(len(piece) <= limit for piece in made)


NASTY = st.sampled_from(
    [*"<>@#!|`~*_[]()\\&;:/.-+= \n\t\"'0aUC", "http", "https://", "evil.com", GOOD, "<!here>", "<@U1>", "<@1>", "<#1>",
     "<t:1:R>", "<:a:1>", "</a:1>", "<id:guide>", "@everyone", "@here", "||", "**", "~~", "__", "&lt;", "&#60;", "&#42;",
     "```", "```ansi\n", "~~~", "](", "[1]:", "\n\n", "    ", "- ", "1. ", "> ", ">>> ", "-# ", "# ", "|---|", "\n|",
     "www.", "mailto:", "\u200b", "`*`", "\\*", "[](a.md)", f"[a]({GOOD})"]
)  # fmt: skip


@every_platform
@given(text=st.lists(NASTY, max_size=60).map("".join))
@example(text="[a](b)`[`https://evil.com")
@thorough
def test_no_mixture_of_signs_does_anything(text, platform):
    for piece in pieces(text, links=(GOOD,), limit=300, dialect=platform.dialect):
        assert_stands_alone(piece, 300, platform)
        assert_harmless(piece, platform, (GOOD,))


@every_platform
@given(text=documents(), limit=st.sampled_from([200, 300, 900, 2_000, 4_000]))
@settings(max_examples=40, deadline=None)
def test_pieces_hold_every_word_in_order_and_stand_alone(text, limit, platform):
    made = pieces(text, limit=limit, dialect=platform.dialect)

    shown = " ".join(map(platform.visible, made))
    assert order(shown, platform.order) == order(text, platform.order)
    assert set(re.findall(r"h\d+", shown)) == set(re.findall(r"h\d+", text))
    for piece in made:
        assert_stands_alone(piece, limit, platform)
        # What would have to be cut very small is shown as its source.
        assert limit < 900 or not re.search(r"```|\*\*|~~|(?m:^#)", platform.visible(piece))


@every_platform
def test_code_keeps_its_language_and_its_lines(platform):
    text = "```python\n" + "".join(f"line {n}\n\n" for n in range(200)) + "```"

    made = pieces(text, limit=500, dialect=platform.dialect)

    assert all(piece.startswith("```python\n") and piece.endswith("\n```") for piece in made)
    assert "".join(piece[10:-3] for piece in made) == text[10:-3]
    assert re.findall(r"line \d+", "".join(made)) == [f"line {n}" for n in range(200)]


@every_platform
def test_a_numbered_list_goes_on_counting(platform):
    text = "\n".join(f"{n}. {'word ' * 20}" for n in range(1, 21))

    made = pieces(text, limit=500, dialect=platform.dialect)

    assert re.findall(r"(?m)^(\d+)\.", "\n".join(made)) == [str(n) for n in range(1, 21)]


@every_platform
def test_more_cells_than_columns_are_shown_rather_than_dropped(platform):
    (piece,) = pieces("| a |\n|---|\n| b | c |", limit=500, dialect=platform.dialect)

    assert "c" in platform.visible(piece)


@every_platform
def test_a_table_repeats_its_heading_in_every_piece(platform):
    text = "| name | use |\n|---|---|\n" + "\n".join(f"| n{n} | u{n} |" for n in range(100))

    made = pieces(text, limit=400, dialect=platform.dialect)

    assert len(made) > 1
    assert all(piece.startswith(platform.heading) for piece in made)


@every_platform
def test_code_in_angle_brackets_is_shown_as_it_is(platform):
    text = "`Vec<T>` and `std::vector<std::string>`\n\n```html\n<!-- c --><!DOCTYPE html><p>x</p>\n```"

    made = pieces(text, limit=500, dialect=platform.dialect)

    assert "\n\n".join(made) == text


@pytest.mark.parametrize(
    "label",
    [
        "https:/bank.example/login", "http:/bank.example", "@bank.example", ".bank.example", "see /bank.example",
        "1.2.3.4", "[::1]", "bank\u2022com", "bank\u2219com",
    ],
)  # fmt: skip
def test_a_label_names_another_host_in_whatever_way_a_reader_would_mend_it(label):
    assert names_another_host(label, "https://evil.example/x")


@pytest.mark.parametrize(
    "label", ["@ann", "std::vector", "at 10:20:30", "Python 3.11.4", "/etc/hosts", "evil.example"]
)
def test_a_label_that_names_no_other_host_stays(label):
    assert not names_another_host(label, "https://evil.example/x")
