"""Addresses that must never be visited, in every spelling that was thought of."""

from __future__ import annotations

LOOPBACK_SPELLINGS = [
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "127.0.1", "0", "0.0.0.0", "2130706433", "0x7f000001",
    "0x7F.1", "0x7f.0.0.1", "0x7f.0x0.0x0.0x1", "017700000001", "0177.0.0.1", "0177.1", "127.0.0.1.", "127.0.0x1",
    "000177.0x0.1", "127.65535.1", "127。0。0。1", "１２７.０.０.１", "①②⑦.⓪.⓪.①", "127.0.0.1%00.example.org", "127.0.0.1%2eexample.org",
]  # fmt: skip
METADATA_SPELLINGS = [
    "169.254.169.254", "2852039166", "0xA9FEA9FE", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.254.43518",
    "169.16689662", "025177524776", "169.254.170.2", "100.100.100.200", "192.0.0.192", "168.63.129.16",
]  # fmt: skip
PRIVATE_V4 = [
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.1.254", "100.64.0.1",
    "100.127.255.254", "192.0.2.1", "198.51.100.7", "203.0.113.9", "198.18.0.1", "198.19.255.255", "192.88.99.1",
    "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "0.1.2.3", "167772161", "0xc0a80001", "012.1",
]  # fmt: skip
V6 = [
    "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::7f00:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]", "[64:ff9b::a00:1]", "[64:ff9b::169.254.169.254]", "[64:ff9b:1::8.8.8.8]",
    "[2002:7f00:1::]", "[2002:a00:1::1]", "[2002:c0a8:101::1]", "[2001:0:7f00:1::1]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[2a00::5efe:127.0.0.1]", "[2a00::200:5efe:10.0.0.1]", "[2001:db8::1]",
    "[3fff::1]", "[100::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[ff02::1]",
    "[5f00::1]",
]  # fmt: skip
NAMES = {
    "localhost": ["127.0.0.1", "::1"],
    "metadata.google.internal": ["169.254.169.254"],
    "127.0.0.1.dns.example": ["127.0.0.1"],
    "intranet": ["10.1.2.3"],
    "printer.local": ["192.168.1.9"],
    "mixed.example": ["93.184.216.34", "127.0.0.1"],
    "mixed6.example": ["2606:2800:220:1::1", "::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "scoped.example": ["fe80::1%lo"],
    "xn--bcher-kva.example": ["127.0.0.1"],
    "public.example": ["93.184.216.34"],
}
BY_NAME = [
    "localhost", "LOCALHOST", "localhost.", "metadata.google.internal", "metadata.google.internal.", "127.0.0.1.dns.example",
    "intranet", "printer.local", "mixed.example", "mixed6.example", "mapped.example", "nat64.example", "scoped.example",
    "bücher.example", "xn--bcher-kva.example", "XN--BCHER-KVA.EXAMPLE.",
]  # fmt: skip
DISGUISED = [
    "http://public.example@127.0.0.1:{port}/", "http://public.example:80@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@public.example/", "http://a:b@public.example/", "http://@127.0.0.1:{port}/",
    "http://public.example\\@127.0.0.1:{port}/", "http://127.0.0.1:{port}\\@public.example/",
    "http://127.0.0.1:{port}\\.public.example/", "http://public.example%40127.0.0.1:{port}/", "http://127.0.0.1 :{port}/",
    "http://127.0.0.1\t:{port}/", "http://127.0.0.1\r\nHost: public.example:{port}/", "http://127.0.0.1\x00:{port}/",
    "http://[::1]public.example:{port}/", "http://[127.0.0.1]:{port}/", "http://:{port}/", "http://#@127.0.0.1:{port}/",
    "http:///127.0.0.1:{port}/", "http:/127.0.0.1:{port}/", "http:127.0.0.1:{port}/", "http:\\\\127.0.0.1:{port}/",
    "//127.0.0.1:{port}/", "127.0.0.1:{port}", "/127.0.0.1:{port}", "", " ", "http://", "https://",
]  # fmt: skip
OTHER_SCHEMES = [
    "file:///etc/passwd", "file://127.0.0.1:{port}/etc/passwd", "ftp://127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/_x",
    "dict://127.0.0.1:{port}/", "ldap://127.0.0.1:{port}/", "ws://127.0.0.1:{port}/", "unix:///var/run/docker.sock",
    "javascript:alert(1)", "data:text/html,<p>x", "jar:http://127.0.0.1:{port}!/", "httpx://127.0.0.1:{port}/",
]  # fmt: skip
OTHER_PORTS = [
    f"http://public.example:{port}/"
    for port in (
        0,
        1,
        21,
        22,
        25,
        53,
        111,
        445,
        2375,
        3306,
        5432,
        6379,
        9200,
        11211,
        27017,
        65535,
        65536,
        99999,
    )
]
REFUSED = [
    *(f"http://{host}:{{port}}/" for host in LOOPBACK_SPELLINGS + V6),
    *(f"http://{host}/latest/meta-data/" for host in METADATA_SPELLINGS),
    *(f"https://{host}/" for host in PRIVATE_V4),
    *(f"http://{host}:{{port}}/" for host in BY_NAME),
    *DISGUISED,
    *OTHER_SCHEMES,
    *OTHER_PORTS,
]
