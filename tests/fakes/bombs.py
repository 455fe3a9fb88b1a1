"""Files that are small to send and large, deep or endless to read: each a name and the bytes."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = (
    f'{XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    f'{XML}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
)


def word(body: str = "", *, document: str = "", more: dict[str, bytes] | None = None) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr(
            "word/document.xml", document or f"{XML}<w:document {W}><w:body>{body}</w:body></w:document>"
        )
        for name, data in (more or {}).items():
            archive.writestr(name, data)
    return packed.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def laughs(kind: str) -> str:
    """A thousand million times the same word, in ten definitions."""
    lines = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return f'<!DOCTYPE {kind} [<!ENTITY l0 "haha">{lines}]>'


def lying_word() -> bytes:
    """The archive declares a tenth of what is packed in it."""
    data = word(paragraph("x " * 2_000_000))
    real = zipfile.ZipFile(io.BytesIO(data)).getinfo("word/document.xml").file_size
    return data.replace(real.to_bytes(4, "little"), (real // 10).to_bytes(4, "little"))


def zip_in_zip() -> bytes:
    data = b"\0" * 1_000_000
    for _ in range(6):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(8):
                archive.writestr(f"{number}.zip", data)
        data = inner.getvalue()
    return word(paragraph("x"), more={"word/embeddings/a.zip": data})


def pdf(objects: dict[int, bytes], *, root: int = 1) -> bytes:
    made, places = bytearray(b"%PDF-1.7\n"), {}
    for number, body in objects.items():
        places[number] = len(made)
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start, size = len(made), max(objects) + 1
    made += b"xref\n0 %d\n0000000000 65535 f \n" % size
    made += b"".join(
        b"%010d 00000 %s \n" % (places.get(n, 0), b"n" if n in places else b"f") for n in range(1, size)
    )
    return bytes(made + b"trailer\n<< /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (size, root, start))


def stream(data: bytes, entries: bytes = b"", *, times: int = 1) -> bytes:
    for _ in range(times):
        data = zlib.compress(data, 9)
    filters = b"[" + b"/FlateDecode " * times + b"]"
    return b"<< /Length %d /Filter %s %s >>\nstream\n%s\nendstream" % (len(data), filters, entries, data)


FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def page(
    content: bytes,
    *,
    resources: bytes = b"/Font << /F1 5 0 R >>",
    more: dict[int, bytes] | None = None,
    kids: bytes = b"[3 0 R]",
    count: int = 1,
) -> bytes:
    return pdf(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids %s /Count %d >>" % (kids, count),
            3: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << %s >> >>"
            % resources,
            4: content,
            5: FONT,
        }
        | (more or {})
    )


def drawn(times: int) -> bytes:
    return b"BT /F1 9 Tf " + b"(words ) Tj " * times + b"ET"


def doing(name: bytes) -> dict[int, bytes]:
    """A drawing that draws itself, twice."""
    inner = b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>"
    return {6: stream(b"/X Do /X Do " + name, inner)}


def fan(levels: int) -> dict[int, bytes]:
    """Each drawing draws the next one ten times."""
    made = {}
    for level in range(levels):
        inner = (
            b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >> /XObject << /X %d 0 R >> >>"
            % (7 + level)
        )
        made[6 + level] = stream(b"/X Do " * 10, inner)
    made[6 + levels] = stream(
        drawn(1), b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /Font << /F1 5 0 R >> >>"
    )
    return made


def wide_map() -> bytes:
    """A font whose characters are said to be all numbers of four bytes."""
    ranges = b"\n".join(b"<%08x> <%08x> <0041>" % (n << 24, (n << 24) + 0xFFFFFF) for n in range(100))
    return stream(
        b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00000000> <ffffffff> endcodespacerange\n100 beginbfrange\n"
        + ranges
        + b"\nendbfrange endcmap"
    )


def slow_book() -> bytes:
    """Four thousand pages, each of which takes a twentieth of a second."""
    return page(stream(drawn(60_000)), kids=b"[" + b"3 0 R " * 4_000 + b"]", count=4_000)


def wide_word() -> bytes:
    """Within every limit of the format, and many times as large in memory."""
    return word("".join(f'<w:p w:rsidR="{number:08x}"/>' for number in range(250_000)))


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "a part that packs a thousandfold": ("a.docx", lambda: word(paragraph("a" * 28_000_000))),
    "archives in archives": ("b.docx", zip_in_zip),
    "many parts": ("c.docx", lambda: word(paragraph("x"), more={f"word/{n}.xml": b"<a/>" for n in range(20_000)})),
    "sizes that are not so": ("d.docx", lying_word),
    "entities of entities in Word": ("e.docx", lambda: word(document=f"{XML}{laughs('w:document')}<w:document {W}><w:body>{paragraph('&l9;')}</w:body></w:document>")),
    "an entity that is a file": ("f.docx", lambda: word(document=f'{XML}<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><w:document {W}><w:body>{paragraph("&f;")}</w:body></w:document>')),
    "boxes in boxes": ("g.docx", lambda: word("<w:sdt><w:sdtContent>" * 100_000 + "</w:sdtContent></w:sdt>" * 100_000)),
    "tables in tables": ("h.docx", lambda: word("<w:tbl><w:tr><w:tc>" * 3_000 + paragraph("x") + "</w:tc></w:tr></w:tbl>" * 3_000)),
    "a table of a million cells": ("i.docx", lambda: word("<w:tbl>" + ("<w:tr>" + "<w:tc/>" * 1_000 + "</w:tr>") * 1_000 + "</w:tbl>")),
    "another archive": ("j.docx", lambda: word()[:200] + b"\0" * 10_000),
    "brackets in brackets": ("k.pdf", lambda: pdf({1: b"<< /Type /Catalog /Pages 2 0 R /X " + b"[" * 200_000 + b"]" * 200_000 + b" >>", 2: b"<< /Type /Pages /Kids [] /Count 0 >>"})),
    "dictionaries in dictionaries": ("l.pdf", lambda: pdf({1: b"<< /A " * 50_000 + b"1" + b" >>" * 50_000, 2: b"<< /Type /Pages /Kids [] /Count 0 >>"})),
    "many objects": ("m.pdf", lambda: page(stream(drawn(1)), more=dict.fromkeys(range(6, 150000), b"[1 2 3]"))),
    "a stream that unpacks a thousandfold": ("n.pdf", lambda: page(stream(b" " * 300_000_000))),
    "streams in streams": ("o.pdf", lambda: page(stream(b"\0" * 100_000_000, times=8))),
    "much to draw": ("p.pdf", lambda: page(stream(drawn(15_000)))),
    "a drawing that draws itself": ("q.pdf", lambda: page(stream(b"/X Do"), resources=b"/XObject << /X 6 0 R >>", more=doing(b""))),
    "drawings that draw ten others": ("r.pdf", lambda: page(stream(b"/X Do"), resources=b"/XObject << /X 6 0 R >>", more=fan(4))),
    "pages in a circle": ("s.pdf", lambda: page(stream(drawn(1)), kids=b"[2 0 R 2 0 R 3 0 R]", count=3)),
    "one page a hundred thousand times": ("t.pdf", lambda: page(stream(drawn(400)), kids=b"[" + b"3 0 R " * 100_000 + b"]", count=100_000)),
    "a count that is not so": ("u.pdf", lambda: page(stream(drawn(1)), count=2_000_000_000)),
    "a font of all numbers": ("v.pdf", lambda: page(stream(drawn(10)), more={5: b"<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /ToUnicode 6 0 R /DescendantFonts [7 0 R] >>", 6: wide_map(), 7: b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A >>"})),
    "tags in tags": ("w.html", lambda: b"<article>" + b"<div>" * 300_000 + b"words"),
    "tables in tables of a page": ("x.html", lambda: b"<article><p>Words of a page.</p>" + b"<table><tr><td>" * 20_000),
    "emphasis never closed": ("y.html", lambda: b"<article><p>" + b"<b><i><u><font><a href=x>" * 11_000 + b"words"),
    "entities of entities in a page": ("z.xhtml", f"{XML}{laughs('html')}<html><body><article><p>Words. &l9;</p></article></body></html>".encode),
    "an attribute without an end": ("aa.html", lambda: b'<article><p class="' + b"a" * 7_000_000),
    "comments never closed": ("ab.html", lambda: b"<article><p>Words.</p>" + b"<!-- <p>" * 50_000),
    "links of a page that never end": ("ac.html", lambda: b"<main>" + b"<li><a href='a'>word</a><ul>" * 8_000),
    "a cell without an end": ("ad.csv", lambda: b'a,b\n1,"' + b"x" * 20_000_000),
    "a million columns": ("ae.csv", lambda: b"a," * 1_000_000 + b"\n" + b"1," * 1_000_000),
    "half a million rows": ("af.csv", lambda: b"a,b\n" + b"1,2\n" * 510_000),
    "one line": ("ag.md", lambda: b"word " * 4_000_000),
    "brackets of Markdown": ("ah.md", lambda: b"[" * 900_000),
    "quotations in quotations": ("ai.md", lambda: b"> " * 400_000 + b"x"),
    "lists in lists": ("aj.md", lambda: b"".join(b" " * (2 * n) + b"- x\n" for n in range(1_300))),
    "nothing but NUL": ("ak.txt", lambda: b"\0" * 3_000_000),
    "half of a sign": ("al.txt", lambda: b"\xff\xfe" + b"\xd8\x00" * 400_000),
    "a line of adornment": ("am.rst", lambda: b"=" * 3_000_000 + b"\nx\n" + b"=" * 3_000_000),
    "a log without an end of line": ("an.log", lambda: b"2026-01-01 ERROR " * 400_000),
}  # fmt: skip
