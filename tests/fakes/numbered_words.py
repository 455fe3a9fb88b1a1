"""Markdown in which every word is another one, so that none can be lost or move unseen."""

from __future__ import annotations

import re

from hypothesis import strategies as st

_WORDS = st.integers(1, 60)


def order(text: str, pattern: str = r"w\d+") -> list[str]:
    """The words in the order in which they first occur; ``h`` begins those in headings of tables."""
    return list(dict.fromkeys(re.findall(pattern, text)))


@st.composite
def documents(draw: st.DrawFn, *, has_code_within: bool = True) -> str:
    """``has_code_within``: whether code stands in lists and quotations too."""
    count = iter(range(10**6))

    def words(number: int) -> str:
        return " ".join(f"w{next(count)}" for _ in range(number))

    def paragraph() -> str:
        emphasis = draw(st.sampled_from(["", "**", "*", "~~", "`", "***"]))
        return f"{words(draw(_WORDS))} {emphasis}{words(draw(_WORDS))}{emphasis} {words(2)}"

    def heading() -> str:
        return f"{'#' * draw(st.integers(1, 6))} {words(draw(_WORDS))}"

    def fence() -> str:
        lines = (words(draw(st.integers(0, 6))) for _ in range(draw(_WORDS)))
        return "```py\n" + "\n".join([words(1), *lines]) + "\n```"

    def bullets(marker: str) -> str:
        items = []
        for number in range(draw(st.integers(1, 12))):
            mark = marker or f"{number + 1}."
            indent = " " * (len(mark) + 1)
            below = (f"- {words(3)}", f"> {words(3)}", f"```\n{indent}{words(3)}\n{indent}```")
            below = draw(st.sampled_from(below[: 2 + has_code_within]))
            items.append(f"{mark} {words(draw(_WORDS))}\n{indent}{below}")
        return "\n".join(items)

    def quotation() -> str:
        return "\n".join(f"> {words(draw(st.integers(1, 20)))}" for _ in range(draw(st.integers(1, 12))))

    def quoted_code() -> str:
        lines = (f"> {words(draw(st.integers(0, 9)))}" for _ in range(draw(_WORDS)))
        return "\n".join(["> ```", *lines, "> ```"])

    def table() -> str:
        body = "\n".join(f"| {words(2)} | {words(draw(st.integers(1, 5)))} |" for _ in range(draw(_WORDS)))
        return f"| h{next(count)} | h{next(count)} |\n|---|---|\n{body}"

    kinds = (
        paragraph, heading, fence, lambda: bullets("-"), lambda: bullets(""), quotation, table, quoted_code
    )  # fmt: skip
    kinds = kinds[: 7 + has_code_within]
    return "\n\n".join(draw(st.sampled_from(kinds))() for _ in range(draw(st.integers(1, 8))))
