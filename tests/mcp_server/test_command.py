"""``footnote mcp``: the tokens of those who ask over HTTP, and what may not be typed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.patience import PATIENCE

from bots.cli import build_parser
from bots.commands import mcp
from bots.commands.mcp import NO_TOKENS
from bots.mcp.callers import caller_named
from bots.mcp.settings import NO_EXTRA, read_mcp_settings
from core.errors import SettingsError
from core.settings import Settings


@pytest.fixture
def footnote(tmp_path, capsys):
    """Runs the command; what it printed."""
    settings = Settings(data_dir=tmp_path / "data", embedding_model="none")

    def run(*typed):
        assert mcp.run(build_parser().parse_args(["mcp", *typed]), settings) == 0
        return capsys.readouterr().out

    return run


#: Runs commands one after another, and prints the exit code of each below what it said.
WITHOUT_EXTRA = """
import sys
sys.modules |= dict.fromkeys(("mcp", "mcp_types", "jwt"))  # as where they are not installed
from bots.cli import main
for command in sys.argv[1:]:
    print(main(command.split()), file=sys.stderr, flush=True)
"""


def test_without_the_extra_it_says_what_to_install(tmp_path):
    root = Path(__file__).resolve().parents[2]

    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, "mcp", "run --mcp 127.0.0.1:0", "mcp --tokens"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=True, timeout=PATIENCE,
    )  # fmt: skip

    assert ran.stdout.splitlines() == [NO_EXTRA, "2", NO_EXTRA, "2", NO_TOKENS, "0"]


def test_no_folder_of_the_tests_passes_for_the_extra():
    """In a checkout the folder of the tests is on Python's path."""
    tests = Path(__file__).resolve().parents[1]

    assert not {"mcp", "mcp_types", "jwt"} & {each.name for each in tests.iterdir()}


def test_a_token_is_printed_once_listed_without_it_and_revoked(footnote):
    token = footnote("--token", "laptop", "--as", "ann@example.org", "--expires", "7d").strip()
    listed = footnote("--tokens")
    after = footnote("--revoke", "laptop")

    assert token.startswith("fnt_")
    assert token not in listed
    assert listed.startswith("laptop · as ann@example.org · until ")
    assert "never used" in listed
    assert after == "There are no tokens. `footnote mcp --token NAME --as WHOM` makes one.\n"


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (("--token", "x"), "Say for whom the token stands"),
        (("--as", "U0ANN12345"), "--as and --expires are of a token"),
        (("--token", "x", "--as", "payroll"), "no person's id, no e-mail address and no collection"),
        (("--token", "x", "--as", "@example.org"), "is no e-mail address"),
        (("--token", "", "--as", "a@b.org"), "1 to 40 printable characters"),
        (("--token", "x\n", "--as", "a@b.org"), "1 to 40 printable characters"),
        (("--token", "x", "--as", "123456789012345678"), "Discord is not served here"),
        (("--revoke", "x"), "There is no token x"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_made(footnote, typed, says):
    with pytest.raises(SettingsError, match=says):
        footnote(*typed)

    assert footnote("--tokens").startswith("There are no tokens.")


def test_a_name_is_taken_once(footnote):
    footnote("--token", "laptop", "--as", "ann@example.org")

    with pytest.raises(SettingsError, match="There is a token laptop already"):
        footnote("--token", "laptop", "--as", "bob@example.org")


@pytest.mark.parametrize(
    ("typed", "channel", "author"),
    [
        ("U0ANN12345", "slack//DmcpU0ANN12345", "U0ANN12345"),
        ("slack/T0HARBOUR/W0BOB12345", "slack/T0HARBOUR/DmcpW0BOB12345", "W0BOB12345"),
        ("123456789012345678", "discord/@me/mcp123456789012345678", "123456789012345678"),
        ("Ann@Example.org", "mcp/email/ann%40example.org", "ann@example.org"),
        ("default", "page/mcp-laptop/only:default", "laptop"),
    ],
)
def test_whom_a_token_stands_for(typed, channel, author):
    caller = caller_named(typed, "laptop", ["default"])

    assert (f"{caller.platform}/{caller.space}/{caller.channel}", caller.author) == (channel, author)


@pytest.mark.parametrize(
    ("listen", "values", "says"),
    [
        ("x", {}, "x is no port"),
        ("0.0.0.0:80", {}, "needs TLS in front"),
        ("80", {"MCP_ISSUER": "https://login.example"}, "MCP_ISSUER needs MCP_URL"),
        (
            "80",
            {"MCP_ISSUER": "http://login.example", "MCP_URL": "https://f.example"},
            "must be the https address",
        ),
        ("80", {"MCP_URL": "https://f.example/mcp"}, "without a path"),
    ],
)
def test_a_place_that_is_none_is_refused(listen, values, says):
    with pytest.raises(SettingsError, match=says):
        read_mcp_settings(listen, values, None)


def test_its_address_is_the_pages_unless_it_has_its_own():
    page = {"PAGE_URL": "https://page.example"}

    assert read_mcp_settings("80", page, None).http.url == "https://page.example"
    assert (
        read_mcp_settings("80", {**page, "MCP_URL": "https://m.example"}, None).http.url
        == "https://m.example"
    )
