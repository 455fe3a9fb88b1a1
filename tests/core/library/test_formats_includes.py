"""Code and text that a document includes: what is put in, what is not, and that its changes are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.shelf import found

from core.library.formats import includes
from core.library.formats.includes import with_includes
from core.library.sync import SyncReport

APP = "import os\n\n\ndef main():\n    return 1\n# --8<-- [start:tail]\nlast = 2\n# --8<-- [end:tail]\n"


@pytest.fixture
def root(tmp_path) -> Path:
    root = tmp_path / "project"
    (root / "docs" / "en").mkdir(parents=True)
    (root / "src").mkdir()
    (root / "src" / "app.py").write_text(APP)
    (root / "docs" / "part.md").write_text("Shared words.\n")
    (tmp_path / "outside.py").write_text("secret = 1\n")
    return root


def put_in(root: Path, text: str, *, name: str = "page.md") -> str:
    return with_includes(text, root / "docs" / "en" / name, root, lambda _: True).text


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("{* ../../src/app.py hl[1] ln[1,4:5] *}", "```py\nimport os\ndef main():\n    return 1\n```\n"),
        ("{! ../part.md !}", "Shared words.\n"),
        ("{!> ../../src/app.py!}", "```py\n" + APP.replace("# --8<-- [start:tail]\n", "").replace("# --8<-- [end:tail]\n", "") + "```\n"),
        ('--8<-- "src/app.py:tail"', "```py\nlast = 2\n```\n"),
        ('--8<-- "src/app.py:4:5"', "```py\ndef main():\n    return 1\n```\n"),
        ('```python\n--8<-- "src/app.py:tail"\n```', "```python\nlast = 2\n```"),
        ('    --8<-- "docs/part.md"', "    Shared words.\n"),
        ("```{literalinclude} ../../src/app.py\n:language: python\n:lines: 4-5\n```", "```py\ndef main():\n    return 1\n```\n"),
        ("```{include} ../part.md\n```", "Shared words.\n"),
    ],
)  # fmt: skip
def test_a_directive_becomes_what_it_names(root, directive, expected):
    assert put_in(root, directive) == expected


def test_restructured_text_includes_lines_between_marks(root):
    text = ".. literalinclude:: ../../src/app.py\n   :start-after: import os\n   :end-before: # --8<--\n\nText.\n"

    shown = put_in(root, text, name="page.rst")

    assert shown.startswith(".. code-block:: py\n\n")
    assert "   def main():\n       return 1\n" in shown
    assert "import os" not in shown
    assert shown.endswith("Text.\n")


def test_what_is_outside_of_the_root_stays_outside(root, tmp_path):
    (root / "src" / "link.py").symlink_to(tmp_path / "outside.py")
    (root / ".env").write_text("TOKEN=1\n")
    text = "{* ../../../outside.py *}\n{* ../../src/link.py *}\n{* /etc/passwd *}\n{* ../../.env *}\n"

    assert put_in(root, text) == text


def test_what_may_not_be_read_is_not_put_in(root):
    text = "{* ../../src/app.py *}\n"

    assert with_includes(text, root / "docs" / "en" / "page.md", root, lambda _: False).text == text


def test_a_file_that_was_ingested_alone_includes_nothing(root):
    page = root / "docs" / "page.md"

    assert with_includes("{! part.md !}", page, page, lambda _: True).text == "{! part.md !}"


def test_files_that_include_one_another_end(root):
    (root / "docs" / "a.md").write_text("A {\n{! b.md !}\n")
    (root / "docs" / "b.md").write_text("B\n{! a.md !}\n{! b.md !}\n")

    whole = with_includes("{! b.md !}\n", root / "docs" / "a.md", root, lambda _: True)

    assert whole.text == "B\n{! a.md !}\n{! b.md !}\n"


def test_doubling_files_are_bounded(root, monkeypatch):
    monkeypatch.setattr(includes, "COUNT_LIMIT", 10)
    for number in range(5):
        (root / "docs" / f"{number}.md").write_text(f"{number}\n" + f"{{! {number + 1}.md !}}\n" * 5)
    (root / "docs" / "5.md").write_text("the end\n")

    assert put_in(root, "{! ../0.md !}\n").count("\n") < 100


@pytest.mark.parametrize("content", [b"\0\1\2binary" * 100, b"x" * (includes.FILE_LIMIT + 1)])
def test_what_is_no_text_or_too_large_is_not_put_in(root, content):
    (root / "src" / "app.py").write_bytes(content)

    assert put_in(root, "{* ../../src/app.py *}\n") == "{* ../../src/app.py *}\n"


def test_each_line_knows_the_line_of_the_file_that_it_comes_from(root):
    whole = with_includes("One.\n{! ../part.md !}\n{* ../../src/app.py ln[4:5] *}\nLast.\n", root / "docs" / "en" / "p.md",
                          root, lambda _: True)  # fmt: skip

    assert whole.lines == (1, 2, 3, 3, 3, 3, 4)


def test_a_change_of_an_included_file_is_found_through_the_document(library, root):
    page = root / "docs" / "en" / "page.md"
    page.write_text("# Start\n\nThe program is this:\n\n{* ../../src/app.py *}\n")
    library.ingest([root])
    assert found(library, "return 1 in main")

    (root / "src" / "app.py").write_text("def main():\n    return zanzibar\n")
    changed = library.refresh()
    again = library.refresh()

    assert (changed.changed, changed.skipped) == (1, 1)
    assert again == SyncReport(skipped=2)
    assert found(library, "zanzibar")[0] == "project/docs/en/page.md"


def test_an_included_file_that_comes_later_is_read_then(library, root):
    (root / "docs" / "page.md").write_text("# Start\n\nThe program is this:\n\n{* later.py *}\n")
    library.ingest([root])

    (root / "docs" / "later.py").write_text("zanzibar = 1\n")

    assert library.refresh().changed == 1
    assert found(library, "zanzibar")[0] == "project/docs/page.md"


def test_what_was_forgotten_does_not_come_back_through_an_include(library, root):
    (root / "docs" / "page.md").write_text("# Start\n\nAnd then:\n\n{! part.md !}\n")
    library.ingest([root])

    library.forget("project/docs/part.md")
    os.utime(root / "docs" / "page.md")
    library.refresh()

    assert not any(
        "Shared words" in text for (text,) in library.store.database.rows("SELECT text FROM passages")
    )
