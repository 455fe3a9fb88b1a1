"""Decoding the bytes of a text file.

Line ends stay as they are ("\\r\\n" counts two characters), so an offset into the decoded
text is an offset into the file read with ``newline=""``, without its byte order mark.
"""

import codecs

from core.errors import DocumentError

BYTE_ORDER_MARKS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

#: Common encodings before UTF-8. Without this list, charset-normalizer finds Mac and DOS code pages in short texts.
LEGACY_ENCODINGS = (
    "cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257",
    "koi8_r", "cp932", "euc_jp", "gb18030", "big5", "cp949",
)  # fmt: skip

#: Codec families that a page may name; others (punycode, unicode_escape) are slow or not character sets.
DECLARABLE = ("cp", "iso8859", "iso2022", "koi8", "euc", "shift_jis", "gb", "big5")

CONTROL_BYTES = bytes(code for code in range(32) if code not in b"\b\t\n\v\f\r\x1b")
CONTROL_SHARE = 0.05  # of all bytes; with more, the file is binary
SAMPLE = 256 * 1024  # bytes from which an encoding is guessed


def decode(data: bytes, *, suffix: str = "", declared: str | None = None) -> str:
    """The characters of a text file; DocumentError when it is binary.

    ``suffix`` is the file's, for the error; ``declared`` is the encoding that a page names,
    used only if the bytes are not UTF-8.
    """
    marked = next((each for each in BYTE_ORDER_MARKS if data.startswith(each[0])), None)
    text = _decode(data.removeprefix(marked[0]), marked[1]) if marked else _decode_unmarked(data, declared)
    if text is None:
        raise DocumentError(
            "is not text: it looks binary" + (f" though it is named {suffix}" if suffix else "")
        )
    return text


def _decode_unmarked(data: bytes, declared: str | None) -> str | None:
    sample = data[:SAMPLE]
    controls = len(sample) - len(sample.translate(None, CONTROL_BYTES))
    if b"\0" in data or controls > CONTROL_SHARE * len(sample):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    # A few broken bytes, as in a log cut within a character, become U+FFFD; with many, this is not UTF-8.
    if len(text) - len(text.encode("ascii", "ignore")) > 10 * text.count("\ufffd"):
        return text
    return _decode_declared(data, declared) or _decode(data, _guess(data))


def _decode_declared(data: bytes, name: str | None) -> str | None:
    try:
        codec = codecs.lookup(name or "").name
        # A page that says Latin-1 means Windows-1252: WHATWG Encoding Standard, "Names and labels".
        codec = "cp1252" if codec in {"iso8859-1", "ascii"} else codec
        return data.decode(codec) if codec.startswith(DECLARABLE) else None
    except (LookupError, UnicodeDecodeError):
        return None


def _guess(data: bytes) -> str | None:
    from charset_normalizer import from_bytes

    sample = data if len(data) <= SAMPLE else data[:SAMPLE].rpartition(b"\n")[0]  # cut between characters
    matches = from_bytes(sample, cp_isolation=list(LEGACY_ENCODINGS), enable_fallback=False)
    best = matches.best()
    if best is None:
        return None
    for match in matches:
        # Measured on single sentences: cp1250 (Central European) wins ties on Western text.
        western = "cp1252" in (match.encoding, *match.could_be_from_charset)
        if western and match.chaos <= best.chaos + 0.05 and match.coherence >= best.coherence - 0.1:
            return "cp1252"
    return best.encoding


def _decode(data: bytes, encoding: str | None) -> str | None:
    try:
        return data.decode(encoding) if encoding else None
    except UnicodeDecodeError:
        return None
