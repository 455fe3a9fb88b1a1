"""What an assistant gets for a call, over both protocols: answers, passages, documents, searches that a person decides."""

from __future__ import annotations

import pytest
from fakes.assistants import PROTOCOLS, in_one_task, open_mcp_desk, over_http
from fakes.served import CUP, FERRY, FRANCE, HANDBOOK
from fakes.web_servers import FakeSearXNG
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from bots.mcp.tools import PART
from core.turns.rate_limits import Rate

PAYROLL = "# Payroll\n\n## Pay\n\nThe harbour master earns ninety thousand euros a year.\n"


@pytest.fixture
async def engine():
    async with FakeSearXNG([FRANCE]) as engine:
        yield engine


@pytest.fixture
async def desk(tmp_path, engine):
    opening = open_mcp_desk(tmp_path, web_search="searxng", searxng_url=engine.url)
    async with in_one_task(opening) as desk:
        desk.ingest(tmp_path / "docs", "handbook.md", HANDBOOK)
        desk.ingest(tmp_path / "docs", "payroll.md", PAYROLL, collection="payroll")
        yield desk


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_an_answer_has_quotes_that_stand_in_the_document_that_it_names(desk, mode):
    async with over_http(desk.url, await desk.token("ann@example.org"), mode=mode) as assistant:
        answer = await assistant.ask(FERRY)
        (cited,) = answer["citations"]
        document = await assistant.read(cited["document"])

    assert (answer["outcome"], answer["sure"], answer["approval_needed"]) == ("answered", True, None)
    assert "half past nine" in answer["text"]
    assert document[cited["start"] : cited["end"]] == cited["quote"] in HANDBOOK
    assert document == HANDBOOK.strip()


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_the_text_of_a_result_says_what_its_structure_says(desk, mode):
    async with over_http(desk.url, await desk.token("ann@example.org"), mode=mode) as assistant:
        result = await assistant.call("ask", question=FERRY)

    text, link = result.content
    assert result.structured_content["citations"][0]["quote"] in text.text
    assert "handbook.md" in text.text
    assert (link.uri, link.name) == (
        result.structured_content["citations"][0]["document"],
        "Harbour handbook",
    )


async def test_a_follow_up_goes_on_in_the_thread_that_the_answer_named(desk):
    async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
        first = await assistant.ask(FERRY)
        second = await assistant.ask("And does it take cars?", thread=first["thread"])

    assert second["thread"] == first["thread"]
    assert "no cars" in second["text"]


async def test_a_search_finds_passages_of_what_the_caller_reads(desk):
    async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
        found = (await assistant.call("search", query="ferry to Sark", limit=3)).structured_content
        payroll = (await assistant.call("search", query="harbour master euros a year")).structured_content

    assert "half past nine" in found["passages"][0]["text"]
    assert {each["source"] for each in payroll["passages"]} == {"handbook.md"}


async def test_a_token_for_a_collection_reads_that_one_alone(desk):
    async with over_http(desk.url, await desk.token("payroll", "bookkeeping")) as assistant:
        pay = await assistant.ask("What does the harbour master earn?")
        ferry = await assistant.ask(FERRY)
        listed = (await assistant.call("sources")).structured_content

    assert "ninety thousand" in pay["text"]
    assert ferry["citations"] == []
    assert [(each["source"], each["collection"]) for each in listed["documents"]] == [
        ("payroll.md", "payroll")
    ]


async def test_a_document_that_the_caller_may_not_read_is_not_there(desk):
    async with over_http(desk.url, await desk.token("payroll", "bookkeeping")) as reader:
        (secret,) = (await reader.call("sources")).structured_content["documents"]
    async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
        replies = [
            await _failure(assistant.read(uri))
            for uri in (secret["document"], "footnote://documents/999", "footnote://documents/x")
        ]

    assert set(replies) == {"There is no such document."}


async def test_documents_are_listed_by_a_part_of_their_name_and_counted(desk):
    async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
        found = (await assistant.call("sources", contains="HARBOUR")).structured_content
        none = (await assistant.call("sources", contains="payroll")).structured_content

    assert ([each["title"] for each in found["documents"]], found["total"]) == (["Harbour handbook"], 1)
    assert (none["documents"], none["total"]) == ([], 0)


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_without_a_form_a_search_waits_for_a_decision_that_the_assistant_passes_on(desk, engine, mode):
    async with over_http(desk.url, await desk.token("ann@example.org"), mode=mode) as assistant:
        first = await assistant.ask(CUP)
        waiting = first["approval_needed"]
        before = list(engine.requests)
        found = (
            await assistant.call("decide", proposal_id=waiting["proposal_id"], allow=True)
        ).structured_content

    assert (first["outcome"], waiting["engine"]) == ("approval_needed", "SearXNG")
    assert before == []
    assert [request.query["q"] for request in engine.requests] == [waiting["query"]]
    assert "France won" in found["text"]
    assert {each["origin"] for each in found["citations"]} == {"web"}


async def test_a_person_is_asked_by_the_client_declines_and_then_allows_another_query(desk, engine):
    replies = [
        ElicitResult(action="decline"),
        ElicitResult(action="accept", content={"query": "football world cup 1998 winner"}),
    ]

    def decide(_message, _form):
        return replies.pop(0)

    async with over_http(desk.url, await desk.token("ann@example.org"), decide=decide) as assistant:
        declined = await assistant.ask(CUP)
        nothing_sent = list(engine.requests)
        found = await assistant.ask(CUP)

    assert (declined["outcome"], declined["approval_needed"], nothing_sent) == ("no_answer", None, [])
    assert all("Nothing is sent until you allow it." in shown for shown in assistant.asked)
    assert [request.query["q"] for request in engine.requests] == ["football world cup 1998 winner"]
    assert "France won" in found["text"]


async def test_a_form_that_is_put_away_leaves_the_search_open(desk, engine):
    async with over_http(
        desk.url, await desk.token("ann@example.org"), decide=lambda *_: ElicitResult(action="cancel")
    ) as assistant:
        waiting = (await assistant.ask(CUP))["approval_needed"]
        declined = (
            await assistant.call("decide", proposal_id=waiting["proposal_id"], allow=False)
        ).structured_content

    assert declined["outcome"] == "no_answer"
    assert engine.requests == []


async def test_nobody_decides_the_search_of_another(desk, engine):
    async with over_http(desk.url, await desk.token("ann@example.org")) as ann:
        waiting = (await ann.ask(CUP))["approval_needed"]
    async with over_http(desk.url, await desk.token("bob@example.org")) as bob:
        refused = await bob.call("decide", proposal_id=waiting["proposal_id"], allow=True)

    assert (refused.is_error, engine.requests) == (True, [])


async def test_a_question_with_the_same_request_id_is_asked_once(desk):
    token = await desk.token("ann@example.org")
    async with over_http(desk.url, token) as first, over_http(desk.url, token) as again:
        answers = [await each.ask(FERRY, request_id="r1") for each in (first, again)]
        another = await first.ask("Does the ferry take bicycles?", request_id="r1")
    async with over_http(desk.url, await desk.token("bob@example.org")) as bob:
        other = await bob.ask(FERRY, request_id="r1")

    assert answers[0] == answers[1]
    assert len({each["turn"] for each in (answers[0], another, other)}) == 3
    assert "bicycles" in another["text"]
    assert len(await desk.footnote.log.database.rows("SELECT turn FROM questions")) == 3


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("ask", {"question": "  "}, "The question is empty."),
        ("ask", {"question": "x" * 4_001}, "4001"),
        ("ask", {"question": "When?", "thread": "../1"}, "A thread is called"),
        ("decide", {"proposal_id": "p", "allow": True}, "There is no proposed web search with the id p."),
        ("search", {"query": ""}, "The question is empty."),
    ],
)
async def test_what_cannot_be_done_is_told_in_a_sentence(desk, tool, arguments, says):
    async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
        result = await assistant.call(tool, **arguments)

    assert result.is_error
    assert says.replace("4001", "4,001") in result.content[0].text or says in result.content[0].text


async def test_a_question_beyond_the_rate_is_refused(tmp_path):
    async with open_mcp_desk(tmp_path, questions_per_person=Rate(count=1, period="hour")) as desk:
        desk.ingest(tmp_path / "docs", "handbook.md", HANDBOOK)
        async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
            await assistant.ask(FERRY)
            refused = await assistant.call("ask", question=FERRY)

    assert (refused.is_error, "1 question" in refused.content[0].text) == (True, True)


async def test_a_search_counts_and_is_logged_and_traced_like_a_question(tmp_path):
    async with open_mcp_desk(tmp_path, questions_per_person=Rate(count=2, period="hour")) as desk:
        desk.ingest(tmp_path / "docs", "handbook.md", HANDBOOK)
        async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
            await assistant.call("search", query="ferry to Sark")
            await assistant.call("search", query="zebra crossing of Alderney")
            refused = await assistant.call("ask", question=FERRY)
            searched = await assistant.call("search", query="ferry")
        rows = await desk.footnote.log.database.rows(
            "SELECT turn, question, author, is_sure, outcome FROM questions"
        )
        traces = [await desk.footnote.log.trace(turn) for turn, *_ in rows]

    assert (refused.is_error, searched.is_error) == (True, True)
    assert "2 questions" in searched.content[0].text
    assert [row[1:] for row in rows] == [
        ("ferry to Sark", "ann@example.org", 0, "answered"),
        ("zebra crossing of Alderney", "ann@example.org", 1, "no_answer"),
    ]
    assert traces[0].queries == ("ferry to Sark",)
    assert "handbook.md" in {each.source for each in traces[0].citations}


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("ask", {}, "`question` is needed."),
        ("ask", {"question": ["a"]}, "`question` must be text."),
        ("search", {"query": "ferry", "limit": 0}, "`limit` must be at least 1."),
        ("search", {"query": "ferry", "limit": 51}, "`limit` must be at most 50."),
        ("search", {"query": "ferry", "limit": "many"}, "`limit` must be a whole number."),
        ("sources", {"limit": 501}, "`limit` must be at most 500."),
        ("decide", {"proposal_id": "p", "allow": "perhaps"}, "`allow` must be true or false."),
        ("decide", {}, "`proposal_id` is needed. `allow` is needed."),
    ],
)
async def test_an_argument_that_is_none_is_told_in_a_plain_sentence(desk, tool, arguments, says):
    async with over_http(desk.url, await desk.token("ann@example.org"), mode="legacy") as assistant:
        result = await assistant.call(tool, **arguments)

    assert (result.is_error, [each.text for each in result.content]) == (True, [says])


@pytest.mark.parametrize("mode", PROTOCOLS)
async def test_a_long_document_is_read_in_parts_by_the_offsets_of_citations(tmp_path, mode):
    long = "# Log\n\n" + "\n\n".join(f"On day {day} the ferry left at noon." for day in range(3_000))
    long += "\n\n## Lighthouse\n\nThe lighthouse of Alderney was painted yellow by Ann.\n"
    async with open_mcp_desk(tmp_path) as desk:
        desk.ingest(tmp_path / "docs", "log.md", long)
        async with over_http(desk.url, await desk.token("ann@example.org"), mode=mode) as assistant:
            (listed,) = (await assistant.call("sources")).structured_content["documents"]
            address = listed["document"]
            first = await assistant.read(address)
            (cited, *_) = (await assistant.ask("What colour was the lighthouse of Alderney painted?"))[
                "citations"
            ]
            part = await assistant.read(f"{address}/{cited['start']}-{cited['end']}")
            next_one = await assistant.read(first.rpartition("Read on at ")[2].rstrip("]"))
            faults = [
                await _failure(assistant.read(f"{address}/{wrong}"))
                for wrong in ("9-3", "0-60001", "a-b", "-1-4")
            ]

    assert first[:PART] + next_one[:1_000] == long[: PART + 1_000]
    assert len(first) < PART + 200
    assert part == cited["quote"]
    assert set(faults) == {"A part is START-END in characters, at most 60,000 of them."}


async def test_tools_say_which_of_them_change_something(desk):
    async with over_http(desk.url, await desk.token("ann@example.org")) as assistant:
        tools = {each.name: each for each in (await assistant.client.list_tools()).tools}

    assert {name for name, tool in tools.items() if not tool.annotations.read_only_hint} == {"decide"}
    assert all(tool.output_schema and tool.description for tool in tools.values())


async def _failure(call):
    with pytest.raises(MCPError) as raised:
        await call
    return raised.value.error.message
