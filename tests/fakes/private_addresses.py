"""Ways to write where nobody may be sent: machines of the operator's own network, and what only looks public.

Beside the table of the guard's own tests; none of these is in it. A name stands for the answers of a resolver
to one question after the other, the last of which is repeated.
"""

from __future__ import annotations

PUBLIC = "93.184.216.34"

NAMES = {
    "public.example": [[PUBLIC]],
    "localtest.example": [["127.0.0.1"]],
    "metadata": [["169.254.169.254"]],
    "instance-data": [["169.254.169.254"]],
    "host.docker.internal": [["172.17.0.1"]],
    "kubernetes.default.svc": [["10.96.0.1"]],
    "169-254-169-254.nip.example": [["169.254.169.254"]],
    "0.example": [["0.0.0.0"]],
    "six.example": [["fd00:ec2::254"]],
    "relay.example": [["2002:7f00:1::"]],
    "teredo.example": [["2001:0:7f00:1::1"]],
    "translated.example": [["64:ff9b::a9fe:a9fe"]],
    "second.example": [[PUBLIC, "10.0.0.1"]],
    "rebinding.example": [[PUBLIC], ["127.0.0.1"]],
    "rebinding6.example": [["2606:2800:220:1::1"], ["::1"]],
    "flapping.example": [[PUBLIC], ["169.254.169.254"], [PUBLIC], ["10.0.0.1"]],
}

NUMBERS = (
    "127.0.0.3", "127.1.1.1", "0177.0.0.01", "0x7F000001", "0x7f.1", "127.00.0.1", "127.0.0.0x1", "2130706434", "017700000002", "0x0a000001",
    "167772162", "10.1", "192.168.257", "172.1048577", "0300.0250.0.1", "0xac.0x10.0.1", "169.254.169.253", "0xa9fea9fe", "2852039165",
    "0251.254.0xa9.254", "100.100.100.201", "192.0.0.170", "198.18.0.2", "255.255.255.254", "224.0.0.251", "0.0.0.1", "00", "0x0",
    "[::2]", "[::ffff:127.0.0.2]", "[::ffff:a00:2]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[::ffff:0:10.0.0.1]", "[64:ff9b::7f00:2]",
    "[64:ff9b::192.168.0.1]", "[2002:a9fe:a9fe::]", "[2002:7f00:2::1]", "[2001:0:a00:1::1]", "[fe80::a9fe:a9fe]", "[fd12:3456::1]",
    "[ff05::1]", "[::127.0.0.2]", "[100::2]", "[2001:db8::2]", "[64:ff9b:1::1]", "[fec0::2]", "[2001:10::1]", "[fe80::1%251]",
    "\u2460\u2461\u2466.0.0.1", "\uff11\uff12\uff17.0.0.2", "127\u30020.0.2", "127\uff0e0\uff0e0\uff0e2", "127\uff610\uff610\uff612",
)  # fmt: skip
LOCAL_NAMES = (
    "localhost", "LocalHost", "localhost.", "localhost\u3002", "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3", "loc\u00adalhost",
    "local\u200bhost", "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
)  # fmt: skip
PORTS = (22, 25, 80, 443, 2375, 5432, 6379, 8080, 8443, 9200)
DISGUISED = (
    "http://public.example@127.0.0.2/", "http://public.example:x@127.0.0.2/", "http://public.example%2f@127.0.0.2/",
    "http://127.0.0.2%23@public.example/", "http://127.0.0.2;@public.example/", "http://127.0.0.2,public.example/",
    "http://127.0.0.2%20.public.example/", "http://public.example#@127.0.0.2/..", "http://[::1]@public.example/",
    "http://127.0.0.2:80:80/", "http://127.0.0.2:+80/", "http://127.0.0.2:80a/", "http://127.0.0.2:065536/", "http:\\/127.0.0.2/",
    "http:/\\127.0.0.2/", "HTTP://127.0.0.2/", "hTTps://127.0.0.2/", "http://\uff04\uff0e127.0.0.2/", "http://..127.0.0.2/", "http://127.0.0.2../",
    "http://public.example\\.127.0.0.2/", "http://0x7f.0.0.1.public.example@[::1]/", "http://\u00b9\u00b2\u2077.0.0.1/",
)  # fmt: skip
SCHEMES = (
    "file:///proc/self/environ", "file://localhost/etc/hosts", "ftp://localhost/", "gopher://127.0.0.2:6379/_INFO", "dict://127.0.0.2:11211/stat",
    "ldap://127.0.0.2/", "tftp://127.0.0.2/x", "ssh://127.0.0.2/", "ws://127.0.0.2/", "netdoc:///etc/passwd", "jar:file:///a.zip!/b",
    "view-source:http://127.0.0.2/", "blob:http://127.0.0.2/x", "about:blank", "unix:///var/run/docker.sock", "data:text/html,x",
)  # fmt: skip

URLS = tuple(
    dict.fromkeys(
        (
            *(f"http://{host}/latest/meta-data/" for host in (*NUMBERS, *LOCAL_NAMES)),
            *(f"http://{name}/" for name in NAMES if name != "public.example"),
            *(f"http://127.0.0.2:{port}/" for port in PORTS),
            *(f"https://[::1]:{port}/" for port in PORTS),
            *DISGUISED,
            *SCHEMES,
        )
    )
)
