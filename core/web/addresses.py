"""Which IP addresses are public: the rule behind every page that is fetched.

IPv4 is public unless a registry says otherwise; IPv6 is public only inside 2000::/3, the
one block IANA hands out as global unicast, which leaves out mapped, compatible, local and
link-local spellings of an IPv4 address without naming them.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

# IANA IPv4 Special-Purpose Address Registry, multicast (RFC 5771) and the reserved class E.
SPECIAL_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT; also Alibaba's metadata service
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's host agent: a public number, answered inside its network only
            "169.254.0.0/16",  # link-local, and the metadata service of most clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments; also Oracle's metadata service
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # multicast tunnelling
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)

GLOBAL_UNICAST = IPv6Network("2000::/3")  # IANA IPv6 Global Unicast Address Assignments

# IANA IPv6 Special-Purpose Address Registry, as far as it lies inside 2000::/3.
SPECIAL_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, among them Teredo, which embeds an IPv4 address
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which embeds an IPv4 address; no site is reached this way any more (RFC 7526)
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)

NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: all of IPv4, as an IPv6-only network sees it
ISATAP = 0x5EFE  # RFC 5214: the third and fourth last groups are 0[2]00:5efe, then an IPv4 address


def is_public(address: Address) -> bool:
    """Whether anybody on the internet would reach the same machine at this address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in SPECIAL_V4)
    if address in NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return (
        address.scope_id is None
        and address in GLOBAL_UNICAST
        and not any(address in network for network in SPECIAL_V6)
        and not _is_isatap(address)
    )


def _is_isatap(address: IPv6Address) -> bool:
    return (int(address) >> 32) & 0xFDFF_FFFF == ISATAP
