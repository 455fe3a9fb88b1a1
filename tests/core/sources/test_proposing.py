"""A change of a file is proposed once on the host of its repository, and merged by nobody here."""

from __future__ import annotations

import ssl

import pytest
from fakes.code_hosts import Branches, FakeGitea, FakeGitHubEnterprise, FakeGitLab
from fakes.git_server import make_certificate

from core.sources.git.address import parse
from core.sources.git.proposing import ProposalRefused, ProposedChange, propose
from core.sources.source import SourceUnavailable

PATH = "docs/how we ship/größe.md"
WANTED = ProposedChange(
    path=PATH, branch="footnote/do-dogs-pay-1a2b", title="Answer “Do dogs pay?”", body="- `Ann`: `No.`"
)
BEFORE, AFTER = b"# Ferry\r\n\r\nIt leaves.\r\n", "# Ferry\r\n\r\nIt leaves.\r\n\r\nDogs – none.\r\n".encode()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Of 127.0.0.1, and its own authority."""
    return make_certificate(tmp_path_factory.mktemp("authority"))


@pytest.fixture(params=[FakeGitHubEnterprise, FakeGitLab, FakeGitea], ids=["github", "gitlab", "gitea"])
async def host(request, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with request.param(
        Branches(files={"main": {PATH: BEFORE}, "next": {PATH: BEFORE}}), tls=context
    ) as host:
        yield host


async def proposed(host, *, change=lambda content: AFTER, token="sesame", branch=""):
    address = parse(f"git+{host.url}/acme/handbook.git" + (f"#docs@{branch}" if branch else ""))
    return await propose(address, change, WANTED, token=token, private=("127.0.0.1",))


async def test_a_branch_has_the_change_and_a_person_is_asked_to_merge_it(host):
    page = await proposed(host)

    (pull,) = host.repository.pulls
    assert page == host.page_of(pull)
    assert (pull.title, pull.body, pull.head, pull.base) == (WANTED.title, WANTED.body, WANTED.branch, "main")
    assert host.repository.files[WANTED.branch][PATH] == AFTER
    assert host.repository.files["main"][PATH] == BEFORE


async def test_it_is_for_the_branch_that_is_read(host):
    await proposed(host, branch="next", token="bot:sesame")

    assert [each.base for each in host.repository.pulls] == ["next"]


@pytest.mark.parametrize("state", ["open", "closed", "merged"])
async def test_what_was_proposed_is_not_proposed_again(host, state):
    first = await proposed(host)
    host.repository.pulls[0].state = state
    host.writes.clear()

    assert await proposed(host) == first
    assert host.writes == []


async def test_a_process_killed_after_any_step_goes_on_the_next_time(host):
    whole = await _steps(host)
    for cut in range(1, whole):
        host.repository.pulls.clear()
        host.repository.files.pop(WANTED.branch, None)
        host.repository.messages.clear()
        await _killed_after(host, cut)
        host.may_write = True

        assert await proposed(host)
        assert len(host.repository.pulls) == 1
        assert host.repository.files[WANTED.branch][PATH] == AFTER
        assert len(host.repository.messages) == 1


async def _steps(host):
    await proposed(host)
    return len(host.writes)


async def _killed_after(host, cut):
    host.writes.clear()
    answer = host.answer

    async def until_killed(request):
        if request.method != "GET" and len(host.writes) == cut:
            request.transport.abort()
        return await answer(request)

    host.answer = until_killed
    with pytest.raises(SourceUnavailable):
        await proposed(host)
    host.answer = answer


async def test_nothing_is_made_where_the_file_has_it_by_now(host):
    assert await proposed(host, change=lambda content: None) is None
    assert host.writes == []


async def test_a_token_that_may_not_write_is_told_what_it_needs(host):
    host.may_write = False

    with pytest.raises(
        ProposalRefused,
        match=r"does not let the token of GIT_TOKENS propose a change to acme/handbook: it needs .+\.",
    ):
        await proposed(host)


async def test_a_wrong_token_is_refused_in_one_sentence(host):
    with pytest.raises(ProposalRefused):
        await proposed(host, token="guess")


async def test_a_file_that_is_gone_there_is_told(host):
    host.repository.files["main"].clear()

    with pytest.raises(ProposalRefused):
        await proposed(host)
    assert host.writes == []


@pytest.mark.parametrize("body", ["[]", "{}", "no JSON", '{"object": 1}', "null"])
async def test_answers_of_another_form_are_told_in_one_sentence(host, body):
    answer = host.answer

    async def garbled(request):
        if not request.path.endswith(("/version", "/meta")):
            host.will_answer(200, body)
            return await host._next.popleft()(request)
        return await answer(request)

    host.answer = garbled
    with pytest.raises(ProposalRefused, match="in a form that Footnote does not know"):
        await proposed(host)
