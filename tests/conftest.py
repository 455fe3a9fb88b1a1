"""What every test stands on: no key, no tracing, and no way off this machine."""

from __future__ import annotations

import gc
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fakes.memory import memory
from hypothesis import settings

if TYPE_CHECKING:
    from fakes.chats import Chat
    from fakes.discord import FakeDiscord
    from fakes.postgres import PostgresServer
    from fakes.slack import FakeSlack

    from core.storage.storage import Storage

# Where it is set, as in many images, every process would compile its libraries and rewrite all tests anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

#: What hypothesis draws is the same in every run, so that a red run is a change's fault. HYPOTHESIS=random draws anew,
#: and more: what the same examples find again and again, few of them find.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS", "same"))

# Imported modules and collected tests are millions of objects: to look for garbage while they are made, and then as
# often as Python does by itself, took a tenth of the CPU of all tests.
gc.disable()
gc.set_threshold(50_000, 20, 20)

ROOT = Path(__file__).resolve().parents[1]
LOOPBACK = ("127.", "::1", "localhost")
DEAD_END = "http://127.0.0.1:9"  # the discard port: a client that goes through a proxy ends here

for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN")) or name.startswith("WEB_")]:
    del os.environ[name]
os.environ.update(
    HTTP_PROXY=DEAD_END, HTTPS_PROXY=DEAD_END, ALL_PROXY=DEAD_END, NO_PROXY="127.0.0.1,localhost,::1"
)
os.environ.update(EMBEDDING_MODEL="none", WEB_SEARCH="off")


# Where the folders of tests are: on a disk they wait for it at each commit. pytest reads this where it makes them.
if (place := memory()) is not None:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place))

#: Folders and files of tests, those that take longest first, so that no process ends alone with a long file.
LONGEST = (
    "stories", "test_readme.py", "security", "core/graph", "slack", "discord", "core/turns", "cli", "page", "benchmarks",
    "core/library", "core/reasoning", "core/traces",
)  # fmt: skip


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """In a new checkout, one process compiles what all are about to import, and not each of them."""
    if not Path(cache_from_source(ROOT / "core" / "conversation.py")).exists():
        subprocess.run(
            [sys.executable, "-c", "from fakes.fork_server import import_all; import_all()"],
            cwd=ROOT / "tests",
            check=True,
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folders = [Path(__file__).parent / name for name in LONGEST]

    @cache
    def rank(file: Path) -> int:
        return next((rank for rank, each in enumerate(folders) if file.is_relative_to(each)), len(folders))

    items.sort(key=lambda item: rank(item.path))


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end, and need not be looked through for garbage again."""
    gc.freeze()
    gc.enable()


def _refuse_the_world(event: str, args: tuple) -> None:
    """An audit hook: a connection that would leave this machine fails the test that made it."""
    if event == "socket.connect":
        address = args[1]
        if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
            raise PermissionError(f"a test tried to reach {address[0]}")


sys.addaudithook(_refuse_the_world)


class Discreet(logging.Handler):
    """Reads what the product logs in this process, at its most talkative, for the secrets that tests hand it."""

    SECRET = re.compile(
        r"xox[abp]-[\w-]{8,}|xapp-[\w-]{8,}|AIza\w{8,}|tvly-[\w-]{8,}|a-fake-token|test-key|sesame"
    )

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if self.SECRET.search(line := f"{self.format(record)} {vars(record)}"):
            self.told.append(line)


discreet = Discreet()
for ours in ("core", "bots"):
    logging.getLogger(ours).addHandler(discreet)
    logging.getLogger(ours).setLevel(logging.DEBUG)


@pytest.fixture(autouse=True)
def nothing_secret_is_logged() -> Iterator[None]:
    discreet.told.clear()
    yield
    assert discreet.told == []


@pytest.fixture(scope="session", autouse=True)
def warm_parsers() -> None:
    """Files are parsed in real processes of their own, which begin with their libraries loaded."""
    from fakes.fork_server import use_parsers

    use_parsers()


SHARED = Path(os.environ.get("FOOTNOTE_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A certificate store of one: reading all of them for each model client takes longer than its test."""
    import certifi

    store = Path(certifi.where()).read_text(encoding="ascii", errors="ignore")
    first = store[store.index("-----BEGIN") : store.index("-----END CERTIFICATE-----")]
    small = tmp_path_factory.mktemp("certificates") / "one.pem"
    small.write_text(f"{first}-----END CERTIFICATE-----\n", encoding="ascii")
    os.environ["SSL_CERT_FILE"] = str(small)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL, one for each process of tests."""
    from fakes.postgres import PostgresServer

    with PostgresServer.started(in_memory=True) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """An empty database of the test's own."""
    with postgres.database() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    """Where the stores of a test are: files in its folder, or a PostgreSQL."""
    from core.settings import Settings
    from core.storage.storage import open_storage

    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    with open_storage(Settings(data_dir=tmp_path, database_url=url)) as storage:
        yield storage


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    """A local Slack with one workspace."""
    from fakes.slack import FakeSlack

    async with FakeSlack() as server:
        yield server


@pytest.fixture
async def discord() -> AsyncIterator[FakeDiscord]:
    """A local Discord with one server."""
    from fakes.discord import FakeDiscord

    async with FakeDiscord() as server:
        yield server


@pytest.fixture(params=["slack", "discord"])
async def chat(request: pytest.FixtureRequest, template: Path, tmp_path: Path) -> AsyncIterator[Chat]:
    """Footnote, which is not yet begun, for a Slack and for a Discord in turn."""
    from fakes.chats import open_chat

    async with open_chat(request.param, template, tmp_path) as chat:
        yield chat


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The evaluation sets, where this checkout has them beside it."""
    if not SHARED.is_dir():
        pytest.skip("the evaluation sets are not beside this checkout; set FOOTNOTE_DATA to their folder")
    return SHARED


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the handbook, to be copied: to index it takes a process of its own."""
    from fakes.served import make_data_dir

    return make_data_dir(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def empty_queue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of a queue in which nothing is, to be copied."""
    from fakes.queues import make_empty_queue

    return make_empty_queue(tmp_path_factory.mktemp("queue"))


@pytest.fixture
def folder(tmp_path: Path, empty_queue: Path) -> Path:
    """Where a queue of the test's own is."""
    shutil.copy(empty_queue, tmp_path)
    return tmp_path
