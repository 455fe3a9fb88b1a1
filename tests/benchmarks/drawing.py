"""Messages as HTML that looks like the client they are shown in: Slack's blocks, Discord's components."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from markdown_it import MarkdownIt

Json = Mapping[str, Any]

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
_MOMENT = "14:05"

_STYLE = """
* { box-sizing: border-box } body { margin: 0; padding: 14px 18px; width: 660px }
p, ul, ol { margin: 2px 0 } pre { margin: 4px 0; padding: 8px; border-radius: 4px; white-space: pre-wrap }
.said { display: flex; gap: 10px; margin: 0 0 16px } .words { flex: 1; min-width: 0 }
.face { flex: none; width: 36px; height: 36px; border-radius: 6px; font: 700 18px/36px sans-serif; text-align: center; color: #fff }
.person { background: #2a7f8e !important }
.row { display: flex; gap: 8px; margin: 6px 0; flex-wrap: wrap }
table { border-collapse: collapse; margin: 6px 0 } td, th { padding: 4px 12px; text-align: left }
"""
_SLACK_STYLE = """
body { font: 15px/22px Lato, "Noto Sans", "DejaVu Sans", sans-serif; color: #1d1c1d; background: #fff }
.small { font-size: 13px; line-height: 18px; color: #616061; margin: 3px 0 } a { color: #1264a3; text-decoration: none }
code, pre { font: 12px/18px "DejaVu Sans Mono", monospace; background: #f8f8f8; border: 1px solid #ddd }
code { color: #c01343; border-radius: 3px; padding: 1px 3px } pre code { border: 0; color: inherit; padding: 0 }
hr { border: 0; border-top: 1px solid #ddd; margin: 10px 0 } td, th { border: 1px solid #ddd }
.button { border: 1px solid #bbb; border-radius: 4px; padding: 3px 11px; font-weight: 700; font-size: 13px }
.primary { background: #007a5a; border-color: #007a5a; color: #fff } .icon { font-size: 15px; margin-right: 6px }
.face { background: #4a154b } .app { font-size: 10px; background: #ddd; border-radius: 2px; padding: 1px 3px }
"""
_DISCORD_STYLE = """
body { font: 15px/21px "gg sans", "Noto Sans", "DejaVu Sans", sans-serif; color: #dbdee1; background: #313338 }
.small { font-size: 12.5px; line-height: 17px; color: #a3a6aa } a { color: #00a8fc; text-decoration: none }
code, pre { font: 13px/18px "DejaVu Sans Mono", monospace; background: #2b2d31; border: 1px solid #1e1f22 }
code { border-radius: 3px; padding: 0 3px } pre code { border: 0; padding: 0 }
hr { border: 0; border-top: 1px solid #45474d; margin: 8px 0 } b.name { color: #fff }
.button { background: #4e5058; border-radius: 4px; padding: 5px 14px; font-size: 14px; color: #fff }
.primary { background: #5865f2 } .face { background: #5865f2; border-radius: 50% }
.box { background: #2b2d31; border-left: 4px solid; border-radius: 6px; padding: 10px 14px; margin: 4px 0 }
.app { font-size: 10px; background: #5865f2; color: #fff; border-radius: 3px; padding: 1px 4px }
.moment { background: #404249; border-radius: 3px; padding: 0 2px }
"""


def page(messages: list[str], platform: str) -> str:
    style = _STYLE + (_SLACK_STYLE if platform == "slack" else _DISCORD_STYLE)
    measured = "<script>document.title = document.body.scrollHeight</script>"
    return f"<!doctype html><meta charset=utf-8><style>{style}</style><body>{''.join(messages)}{measured}"


def said(name: str, content: str, *, is_app: bool) -> str:
    sign = ' <span class="app">APP</span>' if is_app else ""
    above = f'<b class="name">{escape(name)}</b>{sign}'
    face = f'<div class="face{"" if is_app else " person"}">{"F¹" if is_app else escape(name[0])}</div>'
    return f'<div class="said">{face}<div class="words">{above}{content}</div></div>'


def slack_message(blocks: tuple[Json, ...]) -> str:
    return "".join(_SLACK[block["type"]](block) for block in blocks)


def discord_message(components: tuple[Json, ...]) -> str:
    return "".join(_DISCORD[each["type"]](each) for each in components)


def _mrkdwn(text: str) -> str:
    text = re.sub(r"<!date[^|]*\|[^>]*>", f"{_MOMENT}, today", text)
    text = re.sub(r"<(https?://[^|>]+)\|([^>]+)>", r'<a href="\1">\2</a>', text)
    for sign, tag in (("*", "b"), ("_", "i"), ("`", "code")):
        text = re.sub(
            rf"(?<!\w){re.escape(sign)}(\S(?:.*?\S)?){re.escape(sign)}(?!\w)", rf"<{tag}>\1</{tag}>", text
        )
    return text.replace("\n", "<br>")


def _markdown(text: str) -> str:
    return str(_MARKDOWN.render(text))


def _button(label: str, *, is_primary: bool) -> str:
    return f'<span class="button{" primary" if is_primary else ""}">{label}</span>'


def _slack_buttons(block: Json) -> str:
    made = (
        _button(escape(each["text"]["text"]), is_primary=each.get("style") == "primary")
        for each in block["elements"]
    )
    return f'<div class="row">{"".join(made)}</div>'


def _slack_table(block: Json) -> str:
    def cell(of: Json) -> str:
        parts = (part for section in of["elements"] for part in section["elements"])
        return "".join(
            f"<b>{escape(part['text'])}</b>" if part.get("style", {}).get("bold") else escape(part["text"])
            for part in parts
        )

    rows = ("".join(f"<td>{cell(each)}</td>" for each in row) for row in block["rows"])
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


_SLACK: Mapping[str, Callable[[Json], str]] = {
    "markdown": lambda block: _markdown(block["text"]),
    "section": lambda block: f"<p>{_mrkdwn(block['text']['text'])}</p>",
    "context": lambda block: f'<p class="small">{_mrkdwn(block["elements"][0]["text"])}</p>',
    "divider": lambda _: "<hr>",
    "actions": _slack_buttons,
    "context_actions": lambda _: (
        '<div class="row small"><span class="icon">👍</span><span class="icon">👎</span></div>'
    ),
    "rich_text": lambda block: f"<pre>{escape(block['elements'][0]['elements'][0]['text'])}</pre>",
    "table": _slack_table,
}


def _discord_text(component: Json) -> str:
    """Small print is no Markdown that others know: line by line."""
    made, text = [], re.sub(r"<t:\d+:t>", "MOMENT", component["content"])
    for small, lines in _runs(text.split("\n")):
        html = _markdown("\n".join(lines))
        made.append(f'<div class="small">{html}</div>' if small else html)
    return "".join(made).replace("MOMENT", f'<span class="moment">{_MOMENT}</span>')


def _runs(lines: list[str]) -> list[tuple[bool, list[str]]]:
    runs: list[tuple[bool, list[str]]] = []
    for each in lines:
        is_small = each.startswith("-# ")
        if not runs or runs[-1][0] != is_small:
            runs.append((is_small, []))
        runs[-1][1].append(each.removeprefix("-# "))
    return runs


def _discord_button(component: Json) -> str:
    sign = component.get("emoji", {}).get("name", "")
    return _button(f"{sign} {escape(component['label'])}".strip(), is_primary=component["style"] == 1)


def _discord_box(component: Json) -> str:
    inner = discord_message(component["components"])
    return f'<div class="box" style="border-color: #{component["accent_color"]:06x}">{inner}</div>'


_DISCORD: Mapping[int, Callable[[Json], str]] = {
    1: lambda row: f'<div class="row">{"".join(map(_discord_button, row["components"]))}</div>',
    10: _discord_text,
    14: lambda _: "<hr>",
    17: _discord_box,
}
