"""The benchmark of ``footnote test``: the same questions twice, with the same verdicts."""

from __future__ import annotations

from benchmarks import verdicts


def test_the_same_questions_end_the_same_twice(tmp_path):
    docs = tmp_path / "fastapi_docs" / "tutorial"
    docs.mkdir(parents=True)
    (docs / "static-files.md").write_text(
        "# Static files\n\nServe images and CSS files from a directory with `StaticFiles`.\n"
    )

    section = verdicts.run(lambda _: None, data=str(tmp_path), questions=2)

    assert (section.figures["questions"], section.figures["differing"]) == (2, 0)
    assert section.figures["seconds"] > 0
