"""Files as they are found on disks: encodings, wrong names, faults, and the sentence for each."""

from __future__ import annotations

import io
import os
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.permissions import bound_by_permissions
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DocumentError
from core.library.formats.encoding import decode
from core.library.formats.read import FILE_LIMIT, SUFFIXES, read_document

FRENCH = "L'équipe a décidé d'accélérer le déploiement à l'été prochain, où les coûts sont réduits."


def written(folder: Path, name: str, data: bytes | str) -> Path:
    file = folder / name
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file


@pytest.fixture
def unreadable(tmp_path) -> Iterator[Path]:
    file = written(tmp_path, "secret.md", "# Secret")
    file.chmod(0)
    with bound_by_permissions():
        yield file


@pytest.mark.parametrize(
    ("name", "data", "blocks"),
    [
        ("a.md", "# Title\n\nText.", ["heading", "prose"]),
        ("a.MD", "# Title", ["heading"]),
        ("a.mdx", "* item", ["item"]),
        ("a.txt", "# no heading here", ["prose"]),
        ("a.log", "line one\nline two", ["code"]),
        ("a.rst", "Title\n=====\n\nText.", ["heading", "prose"]),
        ("a.html", "<main><h1>Title</h1><p>Text of it.</p></main>", ["heading", "prose"]),
        ("a.csv", "a,b\n1,2\n", ["table"]),
        ("a.tsv", "a\tb, c\n1\t2\n", ["table"]),
    ],
)
def test_the_suffix_decides_how_a_file_is_read(tmp_path, name, data, blocks):
    document = read_document(written(tmp_path, name, data))

    assert [block.kind for block in document.blocks] == blocks


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("background-tasks.md", "Background tasks"),
        ("API_v2.md", "API v2"),
        ("2026-01-report.txt", "2026 01 report"),
        ("README.md", "README"),
    ],
)
def test_a_document_that_does_not_name_itself_is_named_after_its_file(tmp_path, name, title):
    assert read_document(written(tmp_path, name, "Text.")).title == title


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_offsets_count_characters_of_the_file_as_it_is(tmp_path, ending):
    file = written(tmp_path, "a.md", "\ufeff" + ending.join(["# Größe 🙂", "", "Zeile eins", "Zeile zwei."]))

    document = read_document(file)

    with file.open(encoding="utf-8-sig", newline="") as reader:
        assert document.text == reader.read()
    prose = document.blocks[-1]
    assert document.text[prose.start : prose.end] == f"Zeile eins{ending}Zeile zwei."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1"])
def test_the_encoding_is_found(tmp_path, encoding):
    assert read_document(written(tmp_path, "note.txt", FRENCH.encode(encoding))).text == FRENCH


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Café résumé naïve – 10 €. “Quoted”", "cp1252"),
        ("The price is 5 £ per seat and the café is open. It’s “fine”.", "cp1252"),
        ("Die Größe der Straße ändert sich. Übermäßig schöne Häuser für Bürger.", "cp1252"),
        ("Команда решила ускорить развертывание этим летом, когда расходы ниже.", "cp1251"),
        ("Η ομάδα αποφάσισε να επιταχύνει την ανάπτυξη το καλοκαίρι.", "cp1253"),
        ("チームはこの夏に展開を加速することを決めました。費用が低いためです。", "cp932"),
        ("团队决定今年夏天加快部署，因为成本较低。" * 4, "gb18030"),
    ],
)
def test_old_encodings_are_recognised_in_short_texts(text, encoding):
    assert decode(text.encode(encoding)) == text


def test_a_few_broken_bytes_do_not_turn_utf_8_into_something_else():
    data = ("Größe und Maß. " * 20).encode() + b"\xc3"

    assert decode(data) == "Größe und Maß. " * 20 + "\ufffd"


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_utf_8_is_read_as_it_was_written(text):
    assert decode(text.encode()) == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    "data",
    [
        b"%PDF-1.7\n\0\0\0",
        random.Random(1).randbytes(4_000),
        b"\xff\xfe\x00",
        bytes(range(1, 32)) * 10,
        b"\x7fELF\x02\x01\x01\0",
    ],
    ids=["nul", "noise", "half a UTF-16 character", "controls", "program"],
)
def test_a_binary_file_named_md_is_refused(tmp_path, data):
    with pytest.raises(DocumentError, match=r"^is not text: it looks binary though it is named \.md$"):
        read_document(written(tmp_path, "photo.md", data))


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", "\ufeff".encode(), "\n".encode("utf-16")])
def test_an_empty_file_is_said_to_be_empty(tmp_path, data):
    with pytest.raises(DocumentError, match=r"^is empty$"):
        read_document(written(tmp_path, "a.md", data))


def test_a_large_file_is_refused(tmp_path):
    file = tmp_path / "a.md"
    with file.open("wb") as sparse:
        sparse.truncate(FILE_LIMIT + 1)

    with pytest.raises(DocumentError, match=r"^is larger than 32 MB$"):
        read_document(file)


def test_a_file_that_is_gone_is_said_to_have_disappeared(tmp_path):
    with pytest.raises(DocumentError, match=r"^disappeared while it was read$"):
        read_document(tmp_path / "gone.md")


def test_a_file_that_may_not_be_read_is_said_to_be_so(unreadable):
    with pytest.raises(DocumentError, match=r"^could not be read: permission denied$"):
        read_document(unreadable)


def test_folders_pipes_and_circles_are_not_files(tmp_path):
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "circle.md").symlink_to(tmp_path / "circle.md")

    for name, said in (
        ("folder.md", "is not a file"),
        ("pipe.md", "is not a file"),
        ("circle.md", "could not be read: its links go in a circle"),
    ):
        with pytest.raises(DocumentError, match=f"^{said}$"):
            read_document(tmp_path / name)


def test_an_unknown_suffix_is_named(tmp_path):
    with pytest.raises(DocumentError, match=r"is of a kind that is not read \(\.exe\)"):
        read_document(written(tmp_path, "setup.exe", b"MZ"))


@pytest.mark.parametrize(
    "data", [b"no PDF at all", b"%PDF-1.4\n1 0 obj <<>> endobj trailer <<>>\nstartxref\n9\n%%EOF\n"]
)
def test_a_damaged_pdf_is_said_to_be_damaged(tmp_path, data, caplog):
    with pytest.raises(DocumentError, match=r"^could not be read: it is damaged, or not what \.pdf says$"):
        read_document(written(tmp_path, "a.pdf", data))

    assert "a.pdf" in caplog.text


def test_a_broken_file_of_an_archive_is_left_out_and_its_cause_is_logged(tmp_path, caplog):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writing:
        writing.writestr("letter.rtf", f"{{\\rtf1 \\u{10**8} x}}")
        writing.writestr("quay.md", "The ferry leaves at nine.\n")

    document = read_document(written(tmp_path, "port.zip", archive.getvalue()))

    assert document.text.strip() == "The ferry leaves at nine."
    assert "port.zip: letter.rtf could not be parsed: ValueError" in caplog.text


@pytest.mark.parametrize("data", [b"%PDF-1.7\n%nothing more", b"%PDF-1.4\n1 0 obj <<>> endobj trailer <<>>"])
def test_a_pdf_without_its_end_is_said_to_be_cut_off(tmp_path, data):
    with pytest.raises(DocumentError, match=r"^is cut off: its end is missing; copy or download it again$"):
        read_document(written(tmp_path, "a.pdf", data))


def test_every_suffix_is_lower_case_and_begins_with_a_dot():
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in SUFFIXES)
