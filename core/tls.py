"""Whom the certificates of servers are trusted by, for all clients of this process."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from core.errors import causes

if TYPE_CHECKING:
    import ssl


@cache
def default_tls() -> ssl.SSLContext:
    """Verifies with certifi or ``SSL_CERT_FILE``. The first call takes 40 ms: make it in a thread."""
    import httpx

    return httpx.create_ssl_context()


def certificate_fault(trouble: BaseException) -> str:
    """The reason why a certificate was not trusted, completing "HOST …"; empty for any other trouble."""
    import ssl

    for cause in causes(trouble):
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = cause.verify_message.removesuffix(".")
            return f"has a certificate that is not trusted ({reason}); SSL_CERT_FILE names authorities of your own"
    return ""
