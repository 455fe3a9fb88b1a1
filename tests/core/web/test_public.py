from ipaddress import ip_address, ip_network

import pytest

from core.web.hosts import SPECIAL_V4, SPECIAL_V6, is_public


@pytest.mark.parametrize("network", [*SPECIAL_V4, *SPECIAL_V6], ids=str)
def test_a_special_network_is_closed_from_its_first_address_to_its_last(network):
    assert not is_public(network.network_address)
    assert not is_public(network.broadcast_address)


@pytest.mark.parametrize(
    "just_outside",
    [
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
        "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
        "2000::", "2001:200::1", "2001:db7:ffff::1", "2001:db9::1", "2003::1", "2606:4700:4700::1111", "3ffe::1",
        "2a00:1450:4001:81b::200e",
    ],
)  # fmt: skip
def test_its_neighbours_are_public(just_outside):
    assert is_public(ip_address(just_outside))


@pytest.mark.parametrize(
    "address",
    [
        "::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "100::1", "64:ff9b:1::808:808",
        "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1", "1fff::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2002:7f00:1::", "2002:808:808::",
        "2a00::5efe:7f00:1", "2a00::200:5efe:a00:1", "2a00::1%eth0",
    ],
)  # fmt: skip
def test_ipv6_that_is_local_tunnelled_or_unassigned_is_not_public(address):
    assert not is_public(ip_address(address))


def test_nat64_is_as_public_as_the_ipv4_address_inside_it():
    assert is_public(ip_address("64:ff9b::8.8.8.8"))
    assert not is_public(ip_address("64:ff9b::127.0.0.1"))
    assert not is_public(ip_address("64:ff9b::169.254.169.254"))


def test_nothing_that_python_calls_private_is_public():
    private = ["10.1.2.3", "172.20.0.1", "192.168.1.1", "127.8.8.8", "fd12::1", "::1", "2001:db8::5"]

    assert all(ip_address(each).is_private and not is_public(ip_address(each)) for each in private)


def test_every_special_ipv6_network_lies_inside_global_unicast():
    assert all(network.subnet_of(ip_network("2000::/3")) for network in SPECIAL_V6)
