"""The settings of the MCP server over HTTP: where it listens, and who issues OAuth tokens for it."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from bots.page.settings import PageSettings, is_loopback, read_page_settings
from core.conversation import value
from core.errors import SettingsError, how_to_install
from core.setting_values import is_address
from core.settings import ENV_FILE, read_env_file

NO_EXTRA = f"The MCP server {how_to_install('mcp', 'mcp')}"
MCP_SETTINGS = ("MCP_URL", "MCP_ISSUER")


@value
class McpSettings:
    """The address of the server, and the issuer it trusts."""

    http: PageSettings
    issuer: str = ""  #: whose tokens name people by their e-mail addresses; empty: nobody's


def read_mcp_settings(
    listen: str, environment: Mapping[str, str], env_file: Path | None = ENV_FILE
) -> McpSettings:
    """The settings for ``[HOST:]PORT`` as it was typed; SettingsError names what is wrong."""
    values = {**read_env_file(env_file), **environment}
    url = values.get("MCP_URL", "").strip() or values.get("PAGE_URL", "")
    http = read_page_settings(listen, {**values, "PAGE_URL": url}, None)
    issuer = values.get("MCP_ISSUER", "").strip()
    if issuer and not (
        is_address(issuer) and (issuer.startswith("https://") or is_loopback(urlsplit(issuer).hostname or ""))
    ):
        raise SettingsError("MCP_ISSUER must be the https address of who issues tokens.")
    if issuer and not http.url:
        raise SettingsError("MCP_ISSUER needs MCP_URL: tokens must be for the address of this server.")
    return McpSettings(http=http, issuer=issuer)


def check_extra() -> None:
    """SettingsError without the packages of the MCP server."""
    if find_spec("mcp") is None:
        raise SettingsError(NO_EXTRA)
