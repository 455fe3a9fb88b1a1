"""Links that say they lead elsewhere, and mentions that nobody may make: tables, multiplied with templates.

Every lie is a way to write a bank's host; every trap leads to somebody else. A reader who trusts what he
reads is deceived as soon as words that spell "bank" can be pressed.
"""

from __future__ import annotations

from itertools import product

CITED = "https://evil.example/x"  # a page of the attacker's that an answer cites, so that it may be a link
OTHER = "https://evil.example/y"  # one that nothing cites
TRAPS = (CITED, OTHER)

#: Ways to write the host of a bank.
LIES = (
    "https://bank.example", "http://bank.example/login", "HTTPS://BANK.EXAMPLE/", "bank.example", "BANK.EXAMPLE",
    "www.bank.example", "bank.com", "bank.finance", "my.bank", "bank.example:443", "bank.example.", "bank.example/a?b#c",
    "login@bank.example", "mailto:a@bank.example", "bank\u3002example", "bank\uff0eexample", "bank\u2024com",
    "\uff42\uff41\uff4e\uff4b\uff0e\uff43\uff4f\uff4d", "\U0001d41b\U0001d41a\U0001d427\U0001d424.\U0001d41c\U0001d428\U0001d426",
    "b\u0430nk.com", "bank.\u0441\u043em", "\u042cank.com bank.com", "ban\u00adk.com", "ba\u200bnk.com", "ba\u034fnk.com",
    "bank\u2060.com", "bank\ufe0f.com", "bank\u3164.com", "ba\U000e0061nk.com", "xn--bnk-7cd.com", "bank%2Ecom",
    "https%3A%2F%2Fbank.example", "https:\\/\\/bank.example", "https&colon;//bank.example", "&#98;ank.com", "bank&period;com",
    "https://bank.example@evil.example", "https://bank.example:x@evil.example/", "https://bank.example\\@evil.example",
    "https://bank.example%40evil.example", "//bank.example/", "evil.example/ bank.example", "\u202emoc.knab\u202c bank.com",
)  # fmt: skip

#: Ways to put words over a link or an image.
MASKS = (
    "[{lie}]({trap})", "[{lie}](<{trap}>)", '[{lie}]({trap} "{lie}")', "[{lie}](\n{trap}\n)", "[ {lie} ]( {trap} )",
    "[{lie}][1]\n\n[1]: {trap}", "[{lie}]\n\n[{lie}]: {trap}", "[{lie}][]\n\n[{lie}]: <{trap}>", "> [{lie}][a]\n>\n> [a]: {trap}",
    '<a href="{trap}">{lie}</a>', "<a href={trap}>{lie}</a>", "<{trap}|{lie}>", "<{trap}>", "{lie} ({trap})", "{lie}\n{trap}",
    "![{lie}]({trap}.png)", "![{lie}]({trap})", "[![{lie}](x.png)]({trap})", '<img src="{trap}" alt="{lie}">',
    "![{lie}][i]\n\n[i]: {trap}", "[**{lie}**]({trap})", "[`{lie}`]({trap})", "[a [{lie}] b]({trap})", "[_{lie}_ x]({trap})",
    "[~~{lie}~~]({trap})", "||[{lie}]({trap})||", "> [{lie}]({trap})", "# [{lie}]({trap})", "- [{lie}]({trap})", "-# [{lie}]({trap})",
    "| a |\n|---|\n| [{lie}]({trap}) |", "\\[{lie}]({trap})", "[{lie}\\]({trap})", "[{lie}](({trap}))", "[[{lie}]]({trap})",
    "**[{lie}**]({trap})", "[{lie}]`x`({trap})", "&lt;{trap}|{lie}&gt;", "&#91;{lie}&#93;({trap})", "[x]({trap})[{lie}]({trap})",
)  # fmt: skip

LINKS = tuple(
    dict.fromkeys(mask.format(lie=lie, trap=trap) for mask, lie, trap in product(MASKS, LIES, TRAPS))
)

#: What a platform makes into a mention, a broadcast, a channel, a time or a command.
CALLS = (
    "<@U1>", "<@U1|ann>", "<@W0123456789>", "<!here>", "<!channel>", "<!everyone>", "<!here|here>", "<!subteam^S1>",
    "<!subteam^S1|@devs>", "<!date^1700000000^{date}^https://evil.example/|now>", "<#C1>", "<#C1|general>", "@everyone", "@here",
    "@channel", "@EveryOne", "<@1>", "<@!1>", "<@&1>", "<#1>", "<t:1700000000:R>", "<id:customize>", "</ask:1>", "<:a:1>", "<a:a:1>",
    "\uff20everyone", "@\u200beveryone", "@\u2060here", "@every\u00adone", "@\x00everyone", "<\u200b@U1>", "<@\u200bU1>", "<!\u200bhere>",
    "<\u202e@U1>", "<@&\u20661>", "&lt;@U1&gt;", "&lt;!here&gt;", "&#60;@1&#62;", "&commat;everyone", "\\<@U1>", "\\@everyone", "@\U000e0001everyone",
)  # fmt: skip

#: Where it is hidden.
PLACES = (
    "{call}", "a{call}b", "`{call}`", "``{call}``", "```\n{call}\n```", "```{call}\n{call}\n```", "~~~\n{call}", "    {call}", "**{call}**",
    "> {call}", "- {call}", "# {call}", "-# {call}", "||{call}||", "[{call}](https://evil.example/x)", "[x](https://evil.example/x/{call})",
    "https://evil.example/{call}", "![{call}](https://evil.example/x)", "| a |\n|---|\n| {call} |", "<{call}>", "{call}{call}", "({call})",
    "<!-- {call} -->", "[1]: {call}", "*<*{call}", "\\{call}",
)  # fmt: skip

MENTIONS = tuple(dict.fromkeys(place.replace("{call}", call) for place, call in product(PLACES, CALLS)))

#: What a terminal obeys beside words, and what turns, hides or overwrites them.
SEQUENCES = (
    "\x1b[31m", "\x1b[2J\x1b[H", "\x1b[1A\x1b[2K", "\x1b[8m", "\x1b[?1049h", "\x1b[6n", "\x1b]0;owned\x07", "\x1b]2;owned\x1b\\",
    "\x1b]8;;https://evil.example/x\x1b\\bank.example\x1b]8;;\x1b\\", "\x1b]8;;https://evil.example/x\x07bank.example\x1b]8;;\x07",
    "\x1b]52;c;ZXZpbA==\x07", "\x1b]52;c;ZXZpbA==\x1b\\", "\x1b]1337;File=inline=1:AAAA\x07", '\x1bP$q"p\x1b\\', "\x1bPq#0\x1b\\", "\x1b_Ga=T;AAAA\x1b\\",
    "\x1b^pm\x1b\\", "\x1bX sos\x1b\\", "\x1bc", "\x1b#8", "\x1b(0", "\x1b=", "\x1b", "\x9b31m", "\x9b2J", "\x9d0;owned\x9c", "\x9d52;c;ZXZpbA==\x9c",
    "\x90q\x9c", "\x85", "\x84", "\x8d", "\x07", "\x08\x08\x08\x08", "\rovertyped", "\x0b", "\x0c", "\x0e", "\x0f", "\x7f", "\x00", "\x05", "\x1a",
    "\u202e", "\u202d", "\u202a", "\u2066", "\u2067", "\u2068", "\u200e", "\u200f", "\u061c", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u180e", "\U000e0041",
    "\u2028", "\u2029", "\ud800", "\x1b]8;id=1;file://evil.example/x\x1b\\", "\x1b[200~", "\x1b[>4;1m", "\x1b\x1b[31m", "\x1b[\x1b[31m31m", "\x1b]\x1b]0;x\x07",
    "&#27;[31m", "&#x1b;]52;c;ZXZpbA==&#7;", "&#8238;", "&#155;31m",
)  # fmt: skip
AROUND = (
    "{it}",
    "before {it} after",
    "[{it}](https://evil.example/x)",
    "`{it}`",
    "```\n{it}\n```",
    "# {it}",
    "| a |\n|---|\n| {it} |",
    "> - {it}",
)
ESCAPES = tuple(dict.fromkeys(around.replace("{it}", it) for around, it in product(AROUND, SEQUENCES)))
