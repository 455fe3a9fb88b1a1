"""What a document, a model, a web page or a person might write to make Slack do something.

Each string on its own is hostile, or would be to a renderer that is a little careless.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

EVIL = "https://evil.example/x"

PINGS = (
    "<@U1>", "<@U1|ann>", "<@W0123456789>", "<@B1>", "< @U1>", "<@U1", "<<@U1>>", "<@U1><@U2>", "\\<@U1>",
    "&lt;@U1&gt;", "&#60;@U1&#62;", "&#x3c;@U1&#x3e;", "&LT;@U1&GT;", "&amp;lt;@U1&amp;gt;", "`<@U1>`",
    "``<@U1>``", "```\n<@U1>\n```", "~~~\n<@U1>\n~~~", "    <@U1>", "\t<@U1>", "**<@U1>**", "_<@U1>_",
    "~~<@U1>~~", "> <@U1>", "- <@U1>", "1. <@U1>", "# <@U1>", "[<@U1>](https://evil.example)",
    "![<@U1>](https://evil.example/a.png)", "| a |\n|---|\n| <@U1> |", "<\u200b@U1>", "<\u202e@U1>",
    "<\x00@U1>", "<@U1\n>", "<\r@U1>", "<@\nU1>", "text<@U1>text", "<!-- <@U1> -->", "<b><@U1></b>",
    "[1]: <@U1>", "<@U1>\n===", "*<*@U1>", "<**@U1**>", "`` ` `` <@U1>",
)  # fmt: skip
BROADCASTS = (
    "<!here>", "<!channel>", "<!everyone>", "<!here|here>", "<!channel|@channel>", "<!group>", "<! channel>",
    "<!HERE>", "<!subteam^S1>", "<!subteam^S1|@devs>", "<!date^1700000000^{date}^https://evil.example/|now>",
    "@here", "@channel", "@everyone", "@Channel now", "(@here)", "`<!channel>`", "```<!channel>```",
    "```\n<!everyone>", "<!channel>" * 50, "&lt;!here&gt;", "\\<!here\\>", "# <!here>", "> > <!here>",
    "- - - <!here>", "<!here><!channel>", "[x](<!here>)", "<!here\u2028>", "<\ufeff!here>", "|<!here>|",
)  # fmt: skip
CHANNELS = (
    "<#C1>", "<#C1|general>", "<#G1>", "`<#C1>`", "```\n<#C1|x>\n```", "&lt;#C1&gt;", "<#C1|<!here>>", "# <#C1>",
)  # fmt: skip
LINKS = (
    EVIL, f"<{EVIL}>", f"<{EVIL}|your bank>", f"[bank.example]({EVIL})", f"[https://good.example/]({EVIL})",
    f"[click]({EVIL} 'title')", f"[click](<{EVIL}>)", f"[click][1]\n\n[1]: {EVIL}", f"[1]: {EVIL}\n\n[1]",
    f"[1]\n\n[1]:\n{EVIL}", f"[foo\nbar]: {EVIL}\n\n[foo bar]", f"> [1]: {EVIL}\n\n[1]", f"- [1]: {EVIL}\n\n[1]",
    f"[a]: {EVIL} 'good'\n[a]", f"[![i]({EVIL}.png)]({EVIL})", f"[**b**]({EVIL})", f"[`c`]({EVIL})",
    f"*{EVIL}*", f"**{EVIL}**", f"({EVIL})", f'"{EVIL}"', f"{EVIL}.", f"a{EVIL}", f"`a`{EVIL}", f"{EVIL}`a`",
    f"a ` {EVIL}", f"\\{EVIL}", f"\\`{EVIL}\\`", f"`{EVIL}", f"``{EVIL}`", f"```{EVIL}", f"~~~ {EVIL}",
    "https\\://evil.example", "https:\\//evil.example", "https&colon;//evil.example", "&#104;ttps://evil.example",
    "https://e**vil**.example", "HTTPS://EVIL.EXAMPLE", "http:evil.com", "//evil.com", "[x](//evil.com)",
    "www.evil.com", "WWW.evil.com/x", "evil.com", "evil.com/path?x=1", "sub.evil.co.uk", "evil\\.com",
    "evil&period;com", "evil.md", "README.md", "xn--80ak6aa92e.com", "еvil.com", "evil\u3002com", "evil.com.",
    "mailto:a@evil.com", "a@evil.com", "<mailto:a@evil.com|mail>", "tel:+123456789", "<tel:+1|call>",
    "javascript:alert(1)", "<javascript:alert(1)|x>", "[x](javascript:alert(1))", "[x](data:text/html;base64,AA==)",
    "data:text/html,x", "slack://user?team=T1&id=U1", "<slack://channel?id=C1|open>", "file:///etc/passwd",
    "ftp://evil.com/x", "smb://evil.com", "https://good.example@evil.com", "https://good.example.evil.com/",
    "https://good.example/page\\@evil.com", "https://good.example/page/../../x", "https://good.example/other",
    "[good](https://good.example/page)<!here>", "[evil.com](https://good.example/page)",
    "[https://evil.com](https://good.example/page)", "https://good.example/page|<!here>", "https://[::1]/",
    "http://127.0.0.1:80/x", "http://2130706433/", "https://evil.com/" + "a" * 5_000, "https://evil.com/(a)(b",
    "https://evil.com/a_b_c*d*", "[a](https://evil.com/a b)", "[a] (https://evil.com)", "[a]\\(https://evil.com)",
    "]( https://evil.com)", "[x](\nhttps://evil.com\n)", "[x]( <https://evil.com> )", "C:\\https://evil.com",
    "[x](#evil)", "<a href='https://evil.com'>x</a>", "<img src=https://evil.com/a.png>",
)  # fmt: skip
IMAGES = (
    f"![x]({EVIL}.png)", f"![]({EVIL}.png)", f"![x][i]\n\n[i]: {EVIL}.png", f"!\\[x]({EVIL}.png)",
    f"![<!here>]({EVIL})", "![x](data:image/png;base64,AAAA)", "![x](a.png)", "![evil.com](a.png)",
    f"!{'['}x{']'}({EVIL})", f"[![x](a.png)]({EVIL})",
)  # fmt: skip
BREAKS = (
    "```", "````", "~~~", "```\n```\n```", "`", "``", "```py\nx\n", "> ```\nx", "- ```\n  x\n", "```\n````\n```",
    "`" * 300, "```" + "`" * 300 + "\nx", "***", "---", "a\n---", "a\n===", "\n\n\n", "   ", "\x1b[31mred\x1b[0m",
    "\x00\x01\x02", "\ud800", "\u202eevil\u202c", "\u200b\u200b", "\u2028\u2029", "|", "||||", "| a |\n|---|\n| b | c | <!here> |",
    "| a |\n|---|\n" + "| x |\n" * 400, "> " * 60 + "<!here>", "- " * 60 + "x", "*" * 500, "_" * 500, "[" * 500,
    "(" * 500, "<" * 500, "&" * 500, "!" * 500, "\\" * 501, "#" * 50, "1. " * 50, "[x](" * 200, "![" * 200,
    "x" * 13_000, "漢" * 13_000, "a b " * 4_000, "```\n" + "x\n" * 7_000 + "```", "🙂" * 12_500,
    ("> " + "y " * 900 + "\n") * 9,
)  # fmt: skip

#: As long, and slow to read as Markdown: each takes a second of CPU in a test.
FLOODS = ("\n".join("line" for _ in range(3_000)), "<!here>" * 1_800, "`a` " * 3_000, "&lt;" * 3_000)

KINDS = {
    "pings": PINGS,
    "broadcasts": BROADCASTS,
    "channels": CHANNELS,
    "links": LINKS,
    "images": IMAGES,
    "breaks": BREAKS,
    "floods": FLOODS,
}


#: What a chat client might obey.
_IN_DISCORD = (
    "<@1>", "<@!1>", "<@&1>", "<#1>", "<:name:1>", "</name:1>", "<t:1:R>", "<id:customize>", "@everyone", "@here",
    "\\@everyone", "`@everyone`", "<@\u200b1>", "||hidden||", "\\||hidden||", "```ansi\n\x1b[31mred\n```", "-# small",
    ">>> all of it\n\n<@1>", "*`*<t:1:R>`*", "**a `**`<#1>`**`**", "discord://-/channels/1", "steam://run/1",
    "discord.gg/x", "[bank.example [x](https://good.example/page)", "[🙂](https://good.example/page)", "[@everyone](https://good.example/page)", "https://good.example/page)", ":smile:",
    "```\n\n```\n<#1>\n```", "`" * 400, "*" * 999, "a\\", "1. a", "- a", "# a", "]" * 99 + "(https://evil.com)",
)  # fmt: skip
HOSTILE_IN_CHAT = KINDS | {"discord": _IN_DISCORD}


def by_kind(kinds: Mapping[str, tuple[str, ...]]) -> list:
    """A test of each kind, the floods in the long run."""
    return [
        pytest.param(texts, id=kind, marks=[pytest.mark.long] if kind == "floods" else [])
        for kind, texts in kinds.items()
    ]


HOSTILE = tuple(text for texts in KINDS.values() for text in texts)
BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
HOSTILE_HTML = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></textarea></style></svg><script src=//evil.example/x.js></script>",
    "[press](javascript:alert(1)) ![x](http://evil.example/x.png) <http://evil.example>",
    "[https://bank.example](https://evil.example)",
    "{{ 7 * 7 }}{% for x in 'a' %}{{ x }}{% endfor %}",
    "\u202egnp.exe\u2066\u2069\u200f",
    "<svg/onload=alert(1)><math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "&lt;script&gt;&#60;img src=x onerror=alert(1)&#62;",
    "]]><!--<iframe srcdoc='<script>alert(1)</script>'>-->",
    "x" * 1_000_000,
    "<b>" * 30_000,
    "[" * 30_000,
)  # fmt: skip
