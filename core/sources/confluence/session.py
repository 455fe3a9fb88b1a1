"""The session of a client that is built on requests: one host, at addresses that were checked.

Every connection goes to the IP addresses that :mod:`core.sources.http` found, under the host's own name for TLS and
for HTTP. There is no proxy, no cookie, no .netrc and no redirect, and no body larger or slower than a limit. Nothing
is asked for twice: the engine of sources waits and tries again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any

from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from requests.exceptions import ConnectionError as NoConnection
from requests.exceptions import RequestException

from core.library.formats.read import FILE_LIMIT

if TYPE_CHECKING:
    from urllib3.poolmanager import PoolManager

SILENCE = 30.0  # seconds in which nothing comes
BODY_TIME = 120.0  # seconds for a whole body


class BodyTooLarge(RequestException):
    """The answer is larger than a document may be."""


class _BoundedBody:
    """The body of a response as requests reads it, up to a limit."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, amount: int, decode_content: bool | None = None) -> Iterator[bytes]:
        size, deadline = 0, time.monotonic() + BODY_TIME
        for part in self._raw.stream(amount, decode_content=decode_content):
            size += len(part)
            if size > FILE_LIMIT:
                raise BodyTooLarge(f"more than {FILE_LIMIT} bytes")
            if time.monotonic() > deadline:
                raise NoConnection(f"more than {BODY_TIME:g} seconds for one answer")
            yield part


class PinnedAdapter(HTTPAdapter):
    """Connects to the IP addresses of one host, in their order."""

    poolmanager: PoolManager

    def __init__(self, host: str, addresses: Sequence[str], *, connections: int) -> None:
        self._host, self._addresses, self._at = host, tuple(addresses), 0
        super().__init__(pool_maxsize=connections, pool_connections=len(self._addresses) or 1)

    def send(self, request: PreparedRequest, *arguments: Any, **options: Any) -> Response:
        options["stream"] = True
        for left in reversed(range(len(self._addresses))):
            try:
                response = super().send(request, *arguments, **options)
            except NoConnection:
                if not left:
                    raise
                self._at = (self._at + 1) % len(self._addresses)
            else:
                response.raw = _BoundedBody(response.raw)
                return response
        raise NoConnection("there is no address to connect to")

    def build_connection_pool_key_attributes(
        self, request: PreparedRequest, verify: bool | str | None, cert: Any = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        where, how = super().build_connection_pool_key_attributes(request, verify or True, cert)
        if where["scheme"] != "https" or (where["host"] or "").strip("[]").lower() != self._host:
            raise ValueError("this session speaks to one host")
        pinned = {"server_hostname": self._host, "assert_hostname": self._host}
        return where | {"host": self._addresses[self._at]}, how | pinned

    def add_headers(self, request: PreparedRequest, **_: Any) -> None:
        """The name of the host, which the connection does not know."""
        url = (request.url or "").split("/")[2]
        request.headers["Host"] = url.rpartition("@")[2]


class _NoLogin(AuthBase):
    """Keeps requests from looking for a login in .netrc."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        return request


def pinned_session(host: str, addresses: Sequence[str], *, connections: int) -> Session:
    """A session that reaches nothing but this host. ``SSL_CERT_FILE`` names other authorities."""
    session = Session()
    session.trust_env = False
    session.verify = os.environ.get("SSL_CERT_FILE") or True
    session.auth = _NoLogin()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.adapters.clear()
    session.mount("https://", PinnedAdapter(host, addresses, connections=connections))
    return session
