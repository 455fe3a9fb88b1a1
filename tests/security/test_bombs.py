"""Files made to burst or to hang whoever reads them: one sentence each, and everything else goes on."""

from __future__ import annotations

import os
import resource
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.bombs import BOMBS, RELATIONS, page, slow_book, stream, wide_word
from fakes.office import Office
from fakes.served import FERRY, FERRY_ANSWER, PATIENCE

from core.errors import DocumentError
from core.library.chunking import cut
from core.library.formats import parser_process
from core.library.formats.assembly import TEXT_LIMIT
from core.library.formats.parser_process import Worker, Workers
from core.library.formats.read import parse_html, read_document
from core.library.indexing import drop_surrogates
from core.library.lexical import text_terms

LEFT = "takes too much time or memory to read, so it was left"
OURS = 400_000_000  # bytes by which this process may grow: a file at its limit, and its text
#: Those that take seconds to make or to read.
LARGE = dict.fromkeys(
    (
        "half a million rows",
        "a line of adornment",
        "a stream that unpacks a thousandfold",
        "one line",
        "many parts",
        "many objects",
        "drawings that draw ten others",
    ),
    pytest.mark.long,
)
PLAIN = b"<article><h1>Ferry</h1><p>The ferry to Sark leaves pier three at half past nine.</p></article>"


def written(folder, name, data):
    file = folder / name
    file.write_bytes(data)
    return file


@pytest.fixture
def workers(monkeypatch):
    """Those for files, and every process that was started for one."""
    started = []

    def start():
        started.append(Worker.start())
        return started[-1]

    files = Workers(start=start)
    monkeypatch.setitem(parser_process._WORKERS, "files", files)
    yield started
    files.close()


def read(file):
    """The document, or the sentence that there is in its place."""
    try:
        return read_document(file), ""
    except DocumentError as fault:
        return None, str(fault)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_there_are_bombs_enough():
    assert len({file for file, _ in BOMBS.values()}) == len(BOMBS)
    assert len(BOMBS) - len(LARGE) >= 30


@pytest.mark.parametrize("name", [pytest.param(name, marks=LARGE.get(name, ())) for name in BOMBS])
def test_a_bomb_ends_in_a_sentence_or_in_its_few_words(name, tmp_path):
    suffix, make = BOMBS[name]
    file = written(tmp_path, suffix, make())
    before = peak()

    document, sentence = read(file)

    assert (document is None) == bool(sentence)
    assert "\n" not in sentence
    assert len(sentence) < 150
    if document:
        assert 0 < len(document.text) <= TEXT_LIMIT
        assert "root:" not in document.text
        assert cut(document)
    assert peak() - before < OURS


def test_what_takes_too_long_is_left_and_the_next_file_read(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(parser_process, "FILE_TIME", 1.0)

    with pytest.raises(DocumentError, match=LEFT):
        read_document(written(tmp_path, "slow.pdf", slow_book()))
    monkeypatch.undo()

    assert "half past nine" in read_document(written(tmp_path, "a.html", PLAIN)).text
    assert [worker.process.returncode for worker in workers][:1] == [-24]  # SIGXCPU


def test_what_takes_too_much_memory_is_left_and_the_next_file_read(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(parser_process, "MEMORY", 130_000_000)

    with pytest.raises(DocumentError, match=r"memory|damaged"):
        read_document(written(tmp_path, "wide.docx", wide_word()))

    assert "half past nine" in read_document(written(tmp_path, "a.html", PLAIN)).text
    monkeypatch.setattr(parser_process, "MEMORY", 2_000_000_000)
    with pytest.raises(DocumentError, match="is empty"):
        read_document(written(tmp_path, "wide.docx", wide_word()))


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.html", PLAIN), ("long.md", b"# Ferry\n\n" + b"It leaves at noon. \xed\xa0\x80\n\n" * 60_000)],
    ids=["a page", "a long text"],
)
def test_what_is_read_apart_comes_back_cut_as_it_would_be_here(name, data, tmp_path, workers):
    document = drop_surrogates(read_document(written(tmp_path, name, data)))

    assert len(workers) == 1
    assert document.pieces
    assert list(document.pieces) == [
        replace(piece, words=text_terms(piece.text)) for piece in cut(replace(document, pieces=None))
    ]


def test_a_worker_that_is_gone_is_replaced(tmp_path, workers):
    file = written(tmp_path, "a.html", PLAIN)
    read_document(file)
    (first,) = workers
    first.process.stdin.close()  # as it ends by itself when nobody has asked for long
    assert first.process.wait(PATIENCE) == 0

    assert "half past nine" in read_document(file).text
    assert len(workers) == 2


def test_one_worker_reads_file_after_file(tmp_path, workers):
    for number in range(5):
        read_document(written(tmp_path, f"{number}.html", PLAIN))

    assert len(workers) == 1


def test_a_page_and_a_small_file_are_read_while_bombs_hold_every_worker_for_files(tmp_path, workers):
    slow = written(tmp_path, "slow.pdf", slow_book())
    faults = []

    readers = [
        threading.Thread(target=lambda: faults.append(read(slow)[1])) for _ in range(parser_process.AT_ONCE)
    ]
    for reader in readers:
        reader.start()
    try:
        assert "half past nine" in parse_html(PLAIN, url="https://harbour.example/").text
        assert "noon" in read_document(written(tmp_path, "note.md", b"# Note\n\nIt closes at noon.\n")).text
        assert [reader.is_alive() for reader in readers] == [True] * len(readers)
    finally:
        for reader in readers:
            while reader.is_alive():
                for worker in workers:
                    worker.process.kill()
                reader.join(0.1)
    assert faults == [LEFT] * len(readers)


def test_a_file_that_is_left_at_a_stop_is_not_called_unreadable(tmp_path, workers):
    slow, ended = written(tmp_path, "slow.pdf", slow_book()), []

    def reading():
        with pytest.raises(parser_process.WorkerStopped):
            read_document(slow)
        ended.append(True)

    reader = threading.Thread(target=reading)
    reader.start()
    while reader.is_alive() and not parser_process._WORKERS["files"]._busy:
        reader.join(0.01)
    parser_process.close()
    reader.join(PATIENCE)

    assert ended == [True]


def test_the_worker_knows_no_secrets(tmp_path, workers, monkeypatch):
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    monkeypatch.setenv("GOOGLE_API_KEY", "secret")

    read_document(written(tmp_path, "a.html", PLAIN))

    environment = Path(f"/proc/{workers[0].process.pid}/environ")
    if not environment.exists():
        pytest.skip("this system does not show the environment of a process")
    assert b"secret" not in environment.read_bytes()


def test_what_a_parser_prints_is_no_reply(tmp_path, workers):
    """pypdf warns of what it mends, and some libraries print."""
    broken = page(stream(b"BT (words) Tj ET")).replace(b"startxref", b"startxxxx")

    for _ in range(2):
        with pytest.raises(DocumentError):
            read_document(written(tmp_path, "a.pdf", broken))
    assert RELATIONS
    assert len(workers) == 1


# The bot itself


def children(process):
    """The processes that it started itself."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process.pid:
            found.append(int(entry.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
async def test_the_bot_answers_while_somebody_teaches_it_a_bomb(template, tmp_path, slack):
    office = Office.copied(template, tmp_path, slack)
    ann = slack.add_user("ann")
    general = slack.add_channel("general", ann)
    office.has_own_parsers = True
    office.constants["core.turns.turns:open_turns.drain"] = 1.0  # seconds: the last bomb takes longer
    try:
        await office.open()
        running = office.process.pid
        taught = await slack.mention(ann, general, "learn", files=[("slow.pdf", slow_book())])
        (worker, *_) = await slack.until(lambda: children(office.process))

        for _ in range(3):
            asked = await slack.mention(ann, general, FERRY)
            (answer,) = await office.until_answered(asked)
            assert FERRY_ANSWER in answer.visible
        assert slack.finals(general, taught.ts) == []
        os.kill(worker, 9)  # as the system would at its limit, which a test does not wait for
        (told,) = await slack.until(lambda: slack.ephemerals(ann))
        again = await slack.mention(ann, general, FERRY)
        await office.until_answered(again)

        assert "takes too much time or memory" in told.visible
        assert office.process.pid == running
        await slack.mention(ann, general, "learn", files=[("slower.pdf", slow_book())])
        await slack.until(lambda: children(office.process))
        assert await office.stop() == 0  # it waits for nobody who still reads
        assert children(office.process) == []
    finally:
        await office.kill()
