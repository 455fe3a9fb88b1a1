"""``footnote lint``: findings for people and machines, the baseline, exit codes, beside a running bot and without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.harbour import FERRY_QUESTION

from core.library.data_lock import lock_data_dir

ONE = "# Rules\n\nVisiting yachts may stay in the inner basin for at most 14 nights.\n"
OTHER = (
    "# Guide\n\nSee the [rules](rules.md).\n\nVisiting yachts may stay in the inner basin for 21 nights.\n"
)


async def ingest(machine, **pages):
    for name, text in pages.items():
        (machine.docs / f"{name}.md").write_text(text)
    await machine.run("ingest", "docs")


async def test_findings_are_shown_with_places_lines_and_both_quotes(machine):
    await ingest(machine, rules=ONE, guide=OTHER)

    ran = await machine.run("lint")

    assert ran.code == 1
    assert "Two places that differ (1)" in ran.out
    assert "docs/rules.md:3 (Rules)" in ran.out
    assert "docs/guide.md:5 (Guide)" in ran.out
    assert "“Visiting yachts may stay in the inner basin for 21 nights.”" in ran.out
    assert "One says “21”, the other “14”." in ran.out
    assert ran.err == "1 finding in 4 documents, of which 4 had changed.\n"
    assert all(len(line) <= 100 for line in ran.out.splitlines())


async def test_where_nothing_is_wrong_it_says_so(machine):
    await ingest(machine, rules=ONE)

    ran = await machine.run("lint")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "Nothing found in 3 documents, of which 3 had changed.\n"


async def test_the_record_has_both_places_with_offsets_links_and_collections(machine):
    machine.settings["SOURCE_URL_BASE"] = "https://github.com/o/r/blob/main/docs"
    await ingest(machine, rules=ONE, guide=OTHER)

    record = json.loads((await machine.run("lint", "--json")).out)

    (found,) = record["findings"]
    assert (found["kind"], found["verdict"], found["collections"]) == ("contradiction", None, ["default"])
    for place, text in zip(found["places"], (OTHER, ONE), strict=True):
        assert text[place["start"] : place["end"]] == place["quote"]
        assert place["url"].startswith("https://github.com/o/r/blob/main/docs/")
        assert place["url"].endswith(f"#L{place['line']}-L{place['line']}")


async def test_what_changed_on_the_disk_is_read_first(machine):
    await ingest(machine, rules=ONE, guide=OTHER)
    before = await machine.run("lint")
    (machine.docs / "guide.md").write_text(OTHER.replace("21", "14"))

    after = await machine.run("lint")

    assert (before.code, after.code) == (1, 0)
    assert "of which 1 had changed" in after.err


async def test_a_baseline_accepts_what_was_found_and_names_what_is_gone(machine):
    await ingest(machine, rules=ONE, guide=OTHER)
    file = machine.folder / ".footnote-lint.json"

    written = await machine.run("lint", "--write-baseline")
    kept = json.loads(file.read_text())
    kept["accepted"][0]["reason"] = "The basin was enlarged."
    file.write_text(json.dumps(kept))
    accepted = await machine.run("lint")
    again = await machine.run("lint", "--write-baseline")
    reason = json.loads(file.read_text())["accepted"][0]["reason"]
    (machine.docs / "guide.md").write_text(OTHER.replace("21", "28"))
    changed = await machine.run("lint")

    assert (written.code, accepted.code, again.code, changed.code) == (0, 0, 0, 1)
    assert "1 more finding accepted by the baseline" in accepted.err
    assert reason == "The basin was enlarged."
    assert "accepts what is not found any more" in changed.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
async def test_a_full_disk_costs_no_reasons_of_the_baseline(machine):
    await ingest(machine, rules=ONE, guide=OTHER)
    file = machine.folder / ".footnote-lint.json"
    file.write_text('{"accepted": [{"id": "1", "kind": "copy", "where": "a", "reason": "Both are read."}]}')
    before = file.read_text()
    (machine.folder / ".footnote-lint.json.new").symlink_to("/dev/full")

    written = await machine.run("lint", "--write-baseline")

    assert written.code == 2
    assert written.err == "The baseline .footnote-lint.json cannot be written: No space left on device.\n"
    assert file.read_text() == before


async def test_kinds_and_a_collection_are_chosen(machine):
    await ingest(machine, rules=ONE, guide=f"{OTHER}\n[gone](gone.md)\n")

    links = await machine.run("lint", "--kind", "link")
    both = await machine.run("lint", "--kind", "link", "contradiction", "--collection", "default")

    assert "Dead links (1)" in links.out
    assert "differ" not in links.out
    assert both.out.index("Two places") < both.out.index("Dead links")


async def test_wrong_use_is_one_sentence(machine):
    empty = await machine.run("lint")
    await ingest(machine, rules=ONE)
    (machine.folder / "broken.json").write_text("[1]")

    kind = await machine.run("lint", "--kind", "typo")
    collection = await machine.run("lint", "--collection", "hr")
    missing = await machine.run("lint", "--baseline", "none.json")
    broken = await machine.run("lint", "--baseline", "broken.json")

    assert {each.code for each in (empty, kind, collection, missing, broken)} == {2}
    assert "Nothing is indexed yet" in empty.err
    assert kind.err.startswith("There is no kind typo. There are: contradiction, drift,")
    assert collection.err == "There is no collection hr. There are: default.\n"
    assert missing.err == "The baseline none.json cannot be read: No such file or directory.\n"
    assert "is no baseline" in broken.err


async def test_beside_a_bot_it_reads_what_that_has_indexed(machine):
    await ingest(machine, rules=ONE, guide=OTHER)

    with lock_data_dir(machine.folder / ".footnote", "footnote run"):
        ran = await machine.run("lint", "--kind", "contradiction")

    assert ran.code == 1


async def test_a_passage_that_carries_many_answers_alone_is_named(machine):
    for _ in range(3):
        await machine.run("ask", FERRY_QUESTION, "--docs", "docs")

    ran = await machine.run("lint", "--kind", "single")

    assert "3 questions of the last 30 days were answered from this passage" in " ".join(ran.out.split())


async def test_private_words_count_only_where_everybody_reads(machine):
    (machine.docs / "wifi.md").write_text("# Wifi\n\nThe password is: kT9!vvQm2x for the office.\n")
    await machine.run("ingest", "docs", "--collection", "hr")

    closed = await machine.run("lint", "--kind", "private")
    await machine.run("access", "hr", "--everyone")
    opened = await machine.run("lint", "--kind", "private")

    assert closed.code == 0
    assert "kT9!…" in opened.out
    assert "vvQm2x" not in opened.out
