"""The storage format of Confluence as Markdown.

It is XHTML with elements of Confluence's own: ``ac:structured-macro``, ``ac:link``, ``ac:image``, ``ac:task-list``.
https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html
What a macro shows of its own text is kept; its parameters, and what it would fetch from elsewhere, is
not. A page that another includes is named.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.entities import name2codepoint
from urllib.parse import quote
from xml.etree.ElementTree import Element, ParseError, XMLParser

from core.errors import DocumentError
from core.sources.confluence import markdown

DEPTH_LIMIT = 200  # elements within one another

_HEAD = (
    "<!DOCTYPE page ["
    + "".join(
        f'<!ENTITY {name} "&#{code};">' for name, code in name2codepoint.items()
        if name not in ("lt", "gt", "amp", "quot")
    )
    + ']><page xmlns:ac="ac" xmlns:ri="ri" xmlns:at="at">'
)  # fmt: skip
_ITEM = re.compile(r"(?:- (?:\[[ x]\] )?|\d+\. )")
_SHORTCUT = re.compile(r":[\w+-]+:")

#: Elements that stand in a line of text.
_INLINE = frozenset(
    {"a", "b", "strong", "i", "em", "u", "s", "del", "ins", "code", "tt", "span", "sub", "sup", "small", "big", "br",
     "time", "q", "cite", "abbr", "font", "kbd", "samp", "var", "mark", "ac:link", "ac:emoticon", "ac:image",
     "ac:inline-comment-marker", "ac:placeholder", "ac:link-body", "ac:plain-text-link-body", "ri:user", "ri:page",
     "ac:parameter", "label", "wbr", "strike"}
)  # fmt: skip
_MARKS: Mapping[str, str] = {
    "b": "**", "strong": "**", "i": "*", "em": "*", "s": "~~", "del": "~~", "strike": "~~",
}  # fmt: skip
#: What is never shown: parameters of macros, and copies of what is shown.
_HIDDEN = frozenset(
    {"ac:parameter", "ac:placeholder", "ac:adf-fallback", "ac:adf-attribute", "ac:adf-mark", "ac:task-id",
     "ac:task-uuid", "ac:task-status", "script", "style", "colgroup", "ac:default-parameter"}
)  # fmt: skip
_NAMING_MACROS = frozenset({"profile", "view-file", "viewpdf", "viewdoc", "viewxls", "viewppt"})
_INLINE_MACROS = _NAMING_MACROS | {"status", "jira", "anchor"}
#: The attributes that name what references lead to.
_NAMES: Mapping[str, str] = {
    "ri:page": "content-title", "ri:blog-post": "content-title", "ri:attachment": "filename",
    "ri:space": "space-key", "ri:url": "value",
}  # fmt: skip
_SIGNS: Mapping[str, str] = {
    "tick": "✓", "cross": "✗", "warning": "⚠", "information": "ℹ", "question": "?", "plus": "+", "minus": "-",
    "yellow-star": "★", "red-star": "★", "green-star": "★", "blue-star": "★", "light-on": "💡", "light-off": "💡",
    "thumbs-up": "👍", "thumbs-down": "👎", "smile": "🙂", "sad": "🙁", "cheeky": "😛", "laugh": "😀", "wink": "😉",
    "heart": "❤", "broken-heart": "💔",
}  # fmt: skip


def tag_of(element: Element) -> str:
    """Its name, with the prefix that Confluence writes."""
    return element.tag.replace("{ac}", "ac:").replace("{ri}", "ri:").replace("{at}", "at:")


def attribute(element: Element, name: str, space: str = "ac") -> str:
    return element.get(f"{{{space}}}{name}") or element.get(name) or ""


def markdown_of(storage: str, names: Mapping[str, str] | None = None) -> str:
    """A page's text. ``names``: of the people that it mentions, by account id or user key. DocumentError."""
    parser = XMLParser()  # noqa: S314 - the declarations are ours, and none can follow them
    try:
        parser.feed(_HEAD + storage + "</page>")
        parts = StorageText(names or {}).blocks(parser.close())
    except ParseError as error:
        raise DocumentError("could not be read: its storage format is damaged") from error
    except RecursionError:
        raise DocumentError("could not be read: it is nested too deeply") from None
    return "\n\n".join(parts) + "\n" if parts else ""


def mentions_in(storage: str) -> list[str]:
    """The account ids or user keys of the people that a page mentions, each once."""
    return list(dict.fromkeys(_MENTION.findall(storage)))


_MENTION = re.compile(r'<ri:user\b[^>]*?\bri:(?:account-id|userkey)="([^"]+)"')


@dataclass(frozen=True, slots=True)
class StorageText:
    """Writes elements as Markdown."""

    names: Mapping[str, str] = field(default_factory=dict)

    def blocks(self, parent: Element) -> list[str]:
        """The content of an element as blocks of Markdown."""
        found, line = list[str](), [markdown.escape(parent.text)]
        for child in parent:
            if self._is_inline(child):
                line.append(self.inline(child))
            else:
                found += [*markdown.paragraph(line), *self._block(child)]
                line = []
            line.append(markdown.escape(child.tail))
        return [*found, *markdown.paragraph(line)]

    def _is_inline(self, element: Element) -> bool:
        tag = tag_of(element)
        if tag in _MACROS:
            name = attribute(element, "name")
            return name in _INLINE_MACROS or (name not in _WRITERS and not _bodies(element))
        if tag in ("a", "span", "b", "strong", "i", "em", "font", "u"):
            return all(self._is_inline(child) for child in element)
        return tag in _INLINE or tag in _HIDDEN

    def _block(self, element: Element) -> list[str]:
        tag = tag_of(element)
        if tag in _HIDDEN:
            return []
        if tag in _MACROS:
            writer = _WRITERS.get(attribute(element, "name"))
            return writer(self, element) if writer is not None else self._body(element)
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            text = markdown.SPACES.sub(" ", self.inside(element)).strip()
            return [f"{'#' * int(tag[1])} {text}"] if text else []
        writer = _BLOCKS.get(tag)
        return writer(self, element) if writer is not None else self.blocks(element)

    def inside(self, element: Element) -> str:
        """The content of an element in one line of text."""
        parts = [markdown.escape(element.text)]
        for child in element:
            written = self.inline(child) if self._is_inline(child) else f" {' '.join(self._block(child))} "
            parts += [written, markdown.escape(child.tail)]
        return "".join(parts)

    def inline(self, element: Element) -> str:
        tag = tag_of(element)
        if tag in _HIDDEN or tag == "wbr":
            return ""
        if tag in _MARKS:
            return markdown.wrap(self.inside(element), _MARKS[tag])
        if tag in _MACROS:
            return self._inline_macro(element)
        writer = _IN_LINE.get(tag)
        return writer(self, element) if writer is not None else self.inside(element)

    def sign(self, element: Element) -> str:
        fallback = attribute(element, "emoji-fallback")
        if fallback and not _SHORTCUT.fullmatch(fallback):
            return fallback
        return _SIGNS.get(attribute(element, "name"), "")

    def own_link(self, element: Element) -> str:
        """A link within Confluence, as its text: where it leads is known by a title, not by an address."""
        bodies = (each for each in element if tag_of(each) in ("ac:link-body", "ac:plain-text-link-body"))
        if text := next(filter(None, (self.inline(each).strip() for each in bodies)), ""):
            return text
        named = "".join(self.name_of(child) for child in element)
        return named or markdown.escape(attribute(element, "anchor"))

    def name_of(self, element: Element) -> str:
        """The name behind a reference: of a person, a page, a file, a space."""
        tag = tag_of(element)
        if tag != "ri:user":
            return markdown.escape(attribute(element, _NAMES[tag], "ri")) if tag in _NAMES else ""
        user = attribute(element, "account-id", "ri") or attribute(element, "userkey", "ri")
        name = self.names.get(user) or attribute(element, "username", "ri")
        return markdown.escape(f"@{name}") if name else ""

    def image(self, element: Element) -> str:
        """Its alternative text and its caption; an image without either says nothing."""
        alt = attribute(element, "alt") or attribute(element, "title")
        files = (child for child in element if tag_of(child).startswith("ri:"))
        names = (attribute(each, "filename", "ri") or attribute(each, "value", "ri") for each in files)
        named = next(names, "")
        target = quote(named, safe="/:?&=#%+,;@!$'*")
        caption = "".join(self.inside(child) for child in element if tag_of(child) == "ac:caption").strip()
        shown = f"![{markdown.escape(alt).replace(']', '')}]({target})" if alt.strip() else ""
        return " ".join(part for part in (shown, caption) if part)

    def _inline_macro(self, element: Element) -> str:
        name = attribute(element, "name")
        if name in ("status", "jira"):
            return markdown.escape(_parameter(element, "title" if name == "status" else "key"))
        parameters = (
            (each for each in element if tag_of(each) == "ac:parameter") if name in _NAMING_MACROS else ()
        )
        return "".join(self.name_of(child) for each in parameters for child in each)

    def _body(self, element: Element) -> list[str]:
        found = list[str]()
        for body in _bodies(element):
            found += _fence(_text(body)) if tag_of(body) == "ac:plain-text-body" else self.blocks(body)
        return found

    def code_macro(self, element: Element) -> list[str]:
        language = _parameter(element, "language") if attribute(element, "name") == "code" else ""
        return [*self._title(element), *_fence("".join(map(_text, _bodies(element))), language)]

    def titled_macro(self, element: Element) -> list[str]:
        return [*self._title(element), *self._body(element)]

    def _title(self, element: Element) -> list[str]:
        title = markdown.escape(_parameter(element, "title")).strip()
        return [markdown.wrap(title, "**")] if title else []

    def include_macro(self, element: Element) -> list[str]:
        """The page that is shown here: it is an item of its own, if it may be read."""
        links = [child for child in element.iter() if tag_of(child) in ("ri:page", "ri:blog-post")]
        titles = [self.name_of(child) for child in links] or [markdown.escape(_parameter(element, "page"))]
        return [f"→ {title}" for title in titles if title]

    def raw_macro(self, element: Element) -> list[str]:
        """Markdown in Markdown."""
        text = "".join(map(_text, _bodies(element))).strip("\n")
        return [text] if text.strip() else []

    def list_(self, element: Element) -> list[str]:
        begin = element.get("start") or "1"
        number = int(begin) if begin.isdecimal() and len(begin) < 9 else 1
        items, is_ordered = list[str](), tag_of(element) == "ol"
        for child in element:
            if tag_of(child) in ("ul", "ol"):  # a list directly in a list, which belongs to the item before
                items += [markdown.indent("\n".join(self.list_(child)), "  ", "  ")]
                continue
            mark = f"{number}. " if is_ordered else "- "
            items += self._item(mark, child)
            number += 1
        return ["\n".join(items)] if items else []

    def _item(self, mark: str, element: Element) -> list[str]:
        """An item, whose first lines stand together with lists in it, as one writes them."""
        text = ""
        for part in self.blocks(element):
            is_list = _ITEM.match(part) is not None
            text += ("" if not text else "\n" if is_list else "\n\n") + part
        return [markdown.indent(text, mark, " " * len(mark))] if text else []

    def tasks(self, element: Element) -> list[str]:
        items = list[str]()
        for task in element:
            parts = {tag_of(child): child for child in task}
            if "ac:task-body" not in parts:
                continue
            status = parts.get("ac:task-status")
            is_done = status is not None and (status.text or "").strip() == "complete"
            items += self._item(f"- [{'x' if is_done else ' '}] ", parts["ac:task-body"])
        return ["\n".join(items)] if items else []

    def table(self, element: Element) -> list[str]:
        return [*filter(None, (markdown.merged_table(element, self._cell),))]

    def _cell(self, element: Element) -> str:
        parts = list[str]()
        for part in self.blocks(element):
            lines = [line.strip() for line in part.split("\n") if not line.startswith("```")]
            items = [_ITEM.sub("", line) for line in lines if line]
            parts.append(("; " if _ITEM.match(part) else " ").join(items))
        return " ".join(filter(None, parts))

    def quote(self, element: Element) -> list[str]:
        text = "\n\n".join(self.blocks(element))
        return ["\n".join(f"> {line}".rstrip() for line in text.split("\n"))] if text else []


_MACROS = frozenset({"ac:structured-macro", "ac:macro"})
_IN_LINE: Mapping[str, Callable[[StorageText, Element], str]] = {
    "br": lambda _writer, _element: "\n", "time": lambda _writer, element: element.get("datetime") or "",
    "a": lambda writer, element: markdown.link_to(writer.inside(element), element.get("href") or ""),
    **dict.fromkeys(("code", "tt", "kbd", "samp"), lambda _, element: markdown.code_span(" ".join(_text(element).split()))),
    "ac:emoticon": StorageText.sign, "ac:link": StorageText.own_link, "ac:image": StorageText.image,
    "ac:plain-text-link-body": lambda _writer, element: markdown.escape(_text(element)),
    "ri:user": StorageText.name_of, "ri:page": StorageText.name_of,
}  # fmt: skip
_Writer = Callable[[StorageText, Element], list[str]]
_BLOCKS: Mapping[str, _Writer] = {
    "ul": StorageText.list_, "ol": StorageText.list_, "ac:task-list": StorageText.tasks, "table": StorageText.table,
    "blockquote": StorageText.quote, "pre": lambda _writer, element: _fence(_text(element)),
    "hr": lambda _writer, _element: ["---"],
}  # fmt: skip
_WRITERS: Mapping[str, _Writer] = {
    "code": StorageText.code_macro, "noformat": StorageText.code_macro,
    **dict.fromkeys(("info", "note", "tip", "warning", "panel", "expand", "ui-expand"), StorageText.titled_macro),
    **dict.fromkeys(("include", "excerpt-include"), StorageText.include_macro),
    "markdown": StorageText.raw_macro,
}  # fmt: skip


def _text(element: Element) -> str:
    return "".join(element.itertext())


def _fence(text: str, language: str = "") -> list[str]:
    return [markdown.fence(text, language)] if text.strip() else []


def _bodies(element: Element) -> list[Element]:
    return [child for child in element if tag_of(child) in ("ac:rich-text-body", "ac:plain-text-body")]


def _parameter(element: Element, name: str) -> str:
    for child in element:
        if tag_of(child) == "ac:parameter" and attribute(child, "name") == name:
            return " ".join(_text(child).split())
    return ""
