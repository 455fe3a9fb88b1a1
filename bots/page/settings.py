"""The settings of the operators' page: address, proxies and probes."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from core.conversation import value
from core.errors import SettingsError
from core.setting_values import is_address
from core.settings import ENV_FILE, read_env_file

LOOPBACK = "127.0.0.1"
PORT = 8467  # of `footnote page` where no other is given
PAGE_SETTINGS = ("PAGE_URL", "PAGE_PROXIES", "PAGE_PROBES")

Network = IPv4Network | IPv6Network


@value
class PageSettings:
    """The address of the page, its proxies and probes."""

    host: str = LOOPBACK
    port: int = PORT  #: 0: a free one
    url: str = ""  #: its https address behind a proxy that ends TLS; empty: on this machine only
    proxies: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1"))  #: whose headers count
    probes: tuple[Network, ...] = ()  #: what asks for readiness and figures, beside this machine

    @property
    def is_on_loopback(self) -> bool:
        return is_loopback(self.host)

    def trusts(self, peer: str) -> bool:
        """True if this peer is a proxy of the operator's."""
        return _is_in(peer, self.proxies)

    def is_probe(self, peer: str) -> bool:
        """True if this peer may ask for readiness and figures without being in."""
        return _is_in(peer, self.probes)

    def is_secure(self, peer: str, proto: str) -> bool:
        """True if the browser spoke TLS, as a trusted proxy says (``X-Forwarded-Proto``)."""
        return self.url.startswith("https://") and self.trusts(peer) and proto.strip().lower() == "https"

    def origin_of(self, host: str) -> str | None:
        """The origin of a request with this ``Host``, which a change must come from; None for a foreign name.

        A browser that a foreign name leads to this machine names the foreign host.
        """
        if self.url and host == urlsplit(self.url).netloc:
            return self.url
        return f"http://{host}" if self.is_on_loopback and names_this_machine(host) else None

    def stands_for_many(self, peer: str) -> bool:
        """True for a proxy, whose connections are other people's."""
        return bool(self.url) and self.trusts(peer)


def _is_in(peer: str, networks: tuple[Network, ...]) -> bool:
    try:
        address = ip_address(peer)
    except ValueError:
        return False
    return any(address in network for network in networks)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def names_this_machine(host: str) -> bool:
    """True for a ``Host`` that is this machine's own name or address."""
    try:
        parts = urlsplit(f"//{host}")
        return is_loopback(parts.hostname or "") and parts.port != 0
    except ValueError:
        return False


def read_page_settings(
    listen: str | None, environment: Mapping[str, str], env_file: Path | None = ENV_FILE
) -> PageSettings:
    """The settings for ``[HOST:]PORT`` as it was typed; SettingsError names what is wrong."""
    values = {**read_env_file(env_file), **environment}
    host, port = _host_and_port(listen) if listen else (LOOPBACK, PORT)
    url = values.get("PAGE_URL", "").strip().rstrip("/")
    parts = urlsplit(url)
    if url and (not is_address(url) or parts.path or parts.query or parts.fragment or parts.username):
        raise SettingsError(
            "PAGE_URL must be an address such as https://footnote.example.com, without a path."
        )
    settings = PageSettings(host=host, port=port, url=url, probes=_networks("PAGE_PROBES", values))
    if proxies := _networks("PAGE_PROXIES", values):
        settings = replace(settings, proxies=proxies)
    if not settings.is_on_loopback and not url.startswith("https://"):
        raise SettingsError(
            f"On {host} others reach the page, so it needs TLS in front: set PAGE_URL=https://… and PAGE_PROXIES "
            f"to the proxy's address, or serve it on {LOOPBACK}."
        )
    return settings


def _host_and_port(typed: str) -> tuple[str, int]:
    host, _, port = typed.rpartition(":")
    host = host.strip("[]") or LOOPBACK
    if not (port.isascii() and port.isdecimal() and int(port) <= 65535) or any(
        sign in host for sign in " /@"
    ):
        raise SettingsError(f"{typed} is no port, and no host and a port, as in {LOOPBACK}:{PORT}.")
    return host, int(port)


def _networks(name: str, values: Mapping[str, str]) -> tuple[Network, ...]:
    try:
        return tuple(ip_network(part.strip()) for part in values.get(name, "").split(",") if part.strip())
    except ValueError:
        raise SettingsError(f"{name} must be addresses or networks, as in 10.0.0.5 or 10.0.0.0/24.") from None
