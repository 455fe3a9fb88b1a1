"""Mails: those of Outlook (.msg), with the packages of the extra ``office``, and those of the Internet (.eml).

Under the subject stand who wrote to whom and when, what was written, and the names of what is attached.
"""

import io
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from core.errors import DocumentError
from core.library.documents import Document
from core.library.formats import plain, webpage
from core.library.formats.assembly import Part, assemble, parts_of
from core.library.formats.dates import plausible
from core.library.formats.encoding import decode

#: Properties of [MS-OXPROPS], by their ids.
SUBJECT, BODY, PAGE, TO, CC = "0037", "1000", "1013", "0E04", "0E03"
SENDER_NAME, SENDER_SMTP, SENDER_ADDRESS = "0C1A", "5D01", "0C1F"
CODE_PAGE, BODY_CODE_PAGE = 0x3FFD, 0x3FDE
FILE_NAMES = ("3707", "3704")  # of an attachment, long and short
TIMES = (0x0039, 0x0E06)  # when it was sent, and when it came
PROPERTIES = "__properties_version1.0"  # [MS-OXMSG], 2.4: a head of 32 bytes, then entries
ENTRY = struct.Struct("<IIQ")  # type and id, flags, value
TIME = 0x0040  # the type of a time: 100 nanoseconds since 1601
EPOCH = 11_644_473_600  # seconds from 1601 to 1970

_ATTACHED = re.compile(r"__substg1\.0_(\w{4})001([EF])")


def parse_outlook(data: bytes) -> Document:
    import olefile
    from markitdown import converters

    if not olefile.isOleFile(data):
        raise DocumentError("is not a mail of Outlook though it is named .msg")
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        return _outlook(file, converters.OutlookMsgConverter())


def _outlook(file: Any, converter: Any) -> Document:
    """markitdown's converter knows the code pages of the properties."""
    numbers = converter._get_long_properties(file)
    pages = [converter._get_codec_name(numbers.get(tag)) for tag in (CODE_PAGE, BODY_CODE_PAGE)]
    names, body = pages[0] or pages[1], pages[1] or pages[0]

    def said(tag: str, encoding: str | None = names) -> str:
        return (converter._get_property_data(file, tag, encoding) or "").replace("\0", "")

    address = next((each for each in map(said, (SENDER_SMTP, SENDER_ADDRESS)) if "@" in each), "")
    name = said(SENDER_NAME)
    stored = f"__substg1.0_{PAGE}0102"
    entries = file.openstream(PROPERTIES).read()[32:] if file.exists(PROPERTIES) else b""
    whole = len(entries) - len(entries) % ENTRY.size
    times = {tag >> 16: value for tag, _, value in ENTRY.iter_unpack(entries[:whole]) if tag & 0xFFFF == TIME}
    moments = (plausible(times[tag] / 1e7 - EPOCH) for tag in TIMES if tag in times)
    return _document(
        subject=said(SUBJECT), to=said(TO), cc=said(CC), text=said(BODY, body),
        sender=f"{name} <{address}>" if name and address and name != address else name or address,
        sent_at=next((moment for moment in moments if moment is not None), None),
        page=file.openstream(stored).read() if file.exists(stored) else said(PAGE, body),
        attached=_attachment_names(file, converter, names),
    )  # fmt: skip


def _attachment_names(file: Any, converter: Any, encoding: str | None) -> Iterator[str]:
    found: dict[str, dict[str, str]] = {}
    for path in file.listdir():
        kind = _ATTACHED.fullmatch(path[-1])
        if len(path) == 2 and path[0].startswith("__attach") and kind and kind[1] in FILE_NAMES:
            stream = "/".join(path)
            if kind[2] == "F":  # in Unicode
                name = converter._get_stream_data(file, stream)
            else:
                name = converter._get_ansi_stream_data(file, stream, encoding)
            found.setdefault(path[0], {})[kind[1]] = name or ""
    for names in found.values():
        yield next((names[tag] for tag in FILE_NAMES if names.get(tag)), "")


def parse_internet(data: bytes) -> Document:
    message = message_from_bytes(data, policy=policy.default)
    if not message.keys():
        raise DocumentError("is not a mail though it is named .eml")
    body, page = message.get_body(("plain",)), message.get_body(("html",))
    date: datetime | None = None
    with suppress(*_BROKEN_HEADER):
        date = message["date"].datetime
    if date and not date.tzinfo:
        date = date.replace(tzinfo=UTC)
    return _document(
        subject=_header(message, "subject"), sender=_header(message, "from"), to=_header(message, "to"),
        cc=_header(message, "cc"), sent_at=plausible(date.timestamp()) if date else None,
        text=_content(body) if body else "", page=_content(page) if page else b"",
        attached=[name for part in message.iter_attachments() if (name := part.get_filename())],
    )  # fmt: skip


#: What is raised about headers that no standard allows.
_BROKEN_HEADER = (LookupError, ValueError, TypeError, AttributeError)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except _BROKEN_HEADER:
        return ""


def _content(part: Any) -> str:
    try:
        return str(part.get_content())
    except (LookupError, ValueError):  # of an encoding that is unknown, or not the one that is named
        return decode(part.get_payload(decode=True) or b"")


def _document(
    *, subject: str, sender: str, to: str, cc: str, sent_at: float | None, text: str, page: bytes | str,
    attached: Iterable[str],
) -> Document:  # fmt: skip
    """``page``: the text as HTML, read where there is no other; ``attached``: names of files."""
    title = " ".join(subject.split())
    parts = [Part(kind="heading", text=f"# {title}", level=1)] if title else []
    sent = datetime.fromtimestamp(sent_at, UTC).strftime("%Y-%m-%d %H:%M UTC") if sent_at else ""
    heads = {"From": sender, "To": to, "Cc": cc, "Date": sent}
    lines = [f"{name}: {' '.join(said.split())}" for name, said in heads.items() if said.strip()]
    parts.append(Part(kind="prose", text="\n".join(lines)))
    if text.strip():
        parts += parts_of(plain.parse(text))
    elif page:
        parts += parts_of(webpage.parse(page, name=""), below=1)
    files = [" ".join(name.split()) for name in attached if name.strip()]
    if files:
        parts.append(Part(kind="prose", text=f"Attached: {', '.join(files)}"))
    return assemble(parts, title=title, changed_at=sent_at)
