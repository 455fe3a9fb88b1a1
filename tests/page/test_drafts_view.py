"""A kept answer as a change of a document, on the page: shown, downloaded, and proposed by an operator alone."""

from __future__ import annotations

import ssl
from dataclasses import replace

import pytest
from fakes.code_hosts import Branches, FakeGitHubEnterprise
from fakes.desk import NOON, open_desk
from fakes.git_server import Repository, git, make_certificate

from core.answers.store import KeptAnswer
from core.library.chunking import cut
from core.library.entries import NewDocument
from core.library.formats.markdown import parse
from core.sources.sources import folder_of
from core.tls import default_tls

PAGE = "# Ferries\n\n## Dogs\n\nA dog on the ferry <b>needs</b> a ticket.\n\n## Harbour\n\nThe harbour master sits in the tower.\n"
KEY = KeptAnswer(
    id="k1a2b3c4", question="Does a dog need a <b>ticket</b> for the ferry?", text="Only dogs above 20 kg need one.",
    author="U1", name="Ann", place="#help", conversation="slack/T1/C1/1.0", message="slack/T1/C1/1.0", url=None,
    collection="default", language="en", said_at=NOON, kept_at=NOON, valid_until=0.0,
)  # fmt: skip
PATH = f"/answers/{KEY.id}/draft"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of 127.0.0.1, and its own authority."""
    return make_certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def authorities():
    """Those that are trusted in one test are not in another: a process reads them once."""
    default_tls.cache_clear()
    yield
    default_tls.cache_clear()


@pytest.fixture
async def host(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with FakeGitHubEnterprise(
        Branches(files={"main": {"docs/ferries.md": PAGE.encode()}}), tls=context
    ) as host:
        yield host


@pytest.fixture
async def desk(tmp_path, host):
    async with open_desk(tmp_path, git_tokens={"127.0.0.1": "sesame"}, private_hosts=("127.0.0.1",)) as desk:
        yield desk


async def teach(desk, answer=KEY):
    await desk.footnote.answers.keep(answer)
    await desk.footnote.answers.use(answer.id)


def read_from(desk, host, tmp_path, collection="default"):
    """As if a source had read the repository of the host."""
    address, folder = f"git+{host.url}/acme/handbook#docs@main", tmp_path / "data"
    number, _ = desk.footnote.sources.store.add(collection, address, every=None, now=NOON)
    repository = Repository.made(tmp_path / "host.git")
    repository.commit({"docs/ferries.md": PAGE})
    git(tmp_path, "clone", "-q", "--bare", str(repository.folder), str(folder_of(folder, number)))
    git(folder_of(folder, number), "update-ref", "refs/footnote/tip", "main")
    document = parse(PAGE)
    desk.footnote.library.store.put(
        NewDocument(
            collection=collection, address=f"{address}/ferries.md", root=address, source="acme/handbook/ferries.md",
            title="Ferries", url=None, hash="1", size=len(PAGE), modified=0, pieces=cut(document),
        )
    )  # fmt: skip


async def test_a_reader_sees_and_downloads_it_and_its_words_are_no_markup(desk, tmp_path):
    desk.ingest(tmp_path / "docs", "ferries.md", PAGE, collection="default")
    await teach(desk)
    browser = await desk.browser("reader")

    _, answer = await browser.get(f"/answers/{KEY.id}")
    _, page = await browser.get(PATH)
    _, file, headers = await browser.send("GET", f"{PATH}/file")

    assert f'href="{PATH}"' in answer
    assert "<ins>+Only dogs above 20 kg need one.</ins>" in page
    assert "<b>ticket" not in page
    assert "<b>needs" not in page
    assert "Open a pull request" not in page
    assert "\n+Only dogs above 20 kg need one.\n" in file
    assert (
        headers["Content-Disposition"]
        == 'attachment; filename="does-a-dog-need-a-b-ticket-b-for-the-ferry-k1a2b3c4.patch"'
    )
    assert headers["Content-Type"].startswith("text/plain")


async def test_an_operator_opens_a_pull_request_once(desk, host, tmp_path):
    read_from(desk, host, tmp_path)
    await teach(desk)
    browser = await desk.browser()

    _, before = await browser.get(PATH)
    _, opened, _ = await browser.post(PATH)
    _, again, _ = await browser.post(PATH)

    (pull,) = host.repository.pulls
    assert "Open a pull request" in before
    assert f'href="{host.page_of(pull)}">It was proposed' in opened
    assert f'href="{host.page_of(pull)}">It was proposed' in again
    changed = host.repository.files[pull.head]["docs/ferries.md"].decode()
    assert changed == PAGE.replace("a ticket.\n", "a ticket.\n\nOnly dogs above 20 kg need one.\n")


async def test_it_is_asked_first_where_others_will_read_what_was_said(desk, host, tmp_path):
    read_from(desk, host, tmp_path)
    await teach(desk, replace(KEY, collection="channel-slack-T1-C1"))
    browser = await desk.browser()

    _, asked, _ = await browser.post(PATH)
    before = list(host.writes)
    _, opened, _ = await browser.post(PATH, sure="yes")

    assert "Whoever reads acme/handbook/ferries.md will read what was said by Ann, in #help" in asked
    assert before == []
    assert "It was proposed" in opened


@pytest.mark.parametrize(
    ("who", "status"), [(("reader", None), 403), (("editor", frozenset({"default"})), 404)], ids=["reader", "editor"]
)  # fmt: skip
async def test_nobody_else_opens_one(desk, host, tmp_path, who, status):
    read_from(desk, host, tmp_path)
    await teach(desk)
    browser = await desk.browser(who[0], collections=who[1])

    _, page = await browser.get(PATH)
    refused, _, _ = await browser.post(PATH, sure="yes")

    assert "Open a pull request" not in page
    assert (refused, host.writes) == (status, [])


async def test_a_refusal_of_the_host_is_said_and_the_draft_is_there_still(desk, host, tmp_path):
    read_from(desk, host, tmp_path)
    await teach(desk)
    host.may_write = False
    browser = await desk.browser()

    status, page, _ = await browser.post(PATH)

    assert status == 502
    assert "it needs Contents and Pull requests: read and write" in page
    assert "Only dogs above 20 kg need one." in page


async def test_who_may_not_read_the_answer_or_the_document_sees_nothing_of_it(desk, tmp_path):
    desk.ingest(tmp_path / "docs", "ferries.md", PAGE, collection="default")
    await teach(desk)
    await teach(desk, replace(KEY, id="k2", message="m2", collection="board"))
    stranger = await desk.browser(collections=frozenset({"other"}))
    board = await desk.browser(collections=frozenset({"board"}))

    status, page = await stranger.get(PATH)
    file, text = await stranger.get(f"{PATH}/file")
    _, elsewhere = await board.get("/answers/k2/draft")

    assert (status, file) == (404, 404)
    assert "20 kg" not in page + text
    assert "needs" not in elsewhere
    assert "No document is near." in elsewhere


async def test_what_is_stated_or_retired_is_not_proposed(desk, tmp_path):
    desk.ingest(
        tmp_path / "docs",
        "ferries.md",
        PAGE.replace("A dog", "Only dogs above 20 kg need one. A dog"),
        collection="default",
    )
    await teach(desk)
    browser = await desk.browser()

    _, stated = await browser.get(PATH)
    await desk.footnote.answers.retire(await desk.footnote.answers.get(KEY.id), by="Olga")
    status, _ = await browser.get(PATH)

    assert "The documents state this answer by now." in stated
    assert status == 404
