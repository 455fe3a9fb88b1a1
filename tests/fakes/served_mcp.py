"""The MCP server as people run it: ``footnote run --mcp``, in a process that can be killed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import httpx2
from fakes.fork_server import run_python
from fakes.ports import free_port
from fakes.served import Served, environment
from fakes.served_page import seen

ASKED_AT = "Assistants ask over MCP at "


@dataclass
class ServedMcp(Served):
    """One process, always on the same port."""

    port: int = field(default_factory=free_port)
    starts: int = 0

    def __post_init__(self) -> None:
        self.arguments = ("run", "--mcp", str(self.port))

    @property
    def platforms(self):
        return {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def until_connected(self) -> None:
        self.starts += 1

        async def printed():
            assert self.process is not None
            assert self.process.returncode is None, self.log
            return self.log.count(ASKED_AT) >= self.starts

        await seen(printed)

    async def token(self, name: str, stands_for: str) -> str:
        """As an operator makes one, beside whoever serves."""
        arguments = ("-m", "bots", "mcp", "--token", name, "--as", stands_for)
        env = environment(self.folder) | self.settings
        made = await asyncio.to_thread(run_python, *arguments, cwd=self.folder, env=env)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()


class Balancer(httpx2.AsyncHTTPTransport):
    """Sends every request to the next of several processes, as a load balancer does."""

    def __init__(self, ports: list[int]) -> None:
        super().__init__()
        self.ports, self.count = ports, 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        port = self.ports[self.count % len(self.ports)]
        self.count += 1
        request.url = request.url.copy_with(port=port)
        return await super().handle_async_request(request)
