"""The checkup as an operator types it: everything that can be wrong is really made wrong."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import sqlite3
import sys
from contextlib import closing

import pytest
from fakes.gemini import Blocked, FakeGemini, Hang, Status
from fakes.permissions import NO_LINUX
from fakes.tiny_network import write_tiny_network
from fakes.web_servers import FakeSearXNG, FakeSite, FakeTavily

from bots.doctor.findings import conceal, failed, format_lines, ok, secrets_in, summary
from bots.doctor.models import report_time
from bots.doctor.settings import Configuration, read_configuration
from bots.doctor.settings import examine as examine_settings
from core.settings import Settings

SECRETS = {
    "GOOGLE_API_KEY": "AIzaSesameSesameSesame",
    "TAVILY_API_KEY": "tvly-sesame-sesame",
    "SEARXNG_URL": "http://ada:sesame@127.0.0.1:9",
    "DATABASE_URL": "postgresql://ada:sesame@127.0.0.1:9/footnote",
    "GOOGLE_GEMINI_BASE_URL": "http://ada:sesame@127.0.0.1:9",
    "SLACK_BOT_TOKEN": "xoxp-sesame-sesame",
    "SLACK_APP_TOKEN": "xapp-sesame-sesame",
    "SLACK_API_URL": "http://ada:sesame@127.0.0.1:9/api",
    "CHAT_MODEL": "xoxb-sesame-sesame",
    "LOG_FORMAT": "xoxb-sesame-sesame",
    "POLICY": "AIzaSesameSesameSesame",
}


async def examined(machine, *named):
    """What the checkup finds, by check; its exit code agrees with it."""
    ran = await machine.run("doctor", *named, "--json")
    assert ran.err == ""
    found = {}
    for each in ran.record["checks"]:
        assert set(each) == {"check", "state", "finding", "fix"}
        found.setdefault(each["check"], []).append(each)
    has_failed = any(each["state"] == "failed" for each in ran.record["checks"])
    assert ran.code == int(has_failed)
    return found


def states(found):
    return [(check, each["state"]) for check, several in found.items() for each in several]


def only(found, check):
    (finding,) = found[check]
    return finding


def with_state(found, check, state):
    (finding,) = [each for each in found[check] if each["state"] == state]
    return finding


@pytest.fixture
async def gemini(machine):
    async with FakeGemini() as model:
        machine.settings |= {"GOOGLE_API_KEY": model.api_key, "GOOGLE_GEMINI_BASE_URL": model.base_url}
        yield model


@pytest.fixture
async def indexed(machine):
    """A machine whose documents are indexed."""
    assert (await machine.run("ingest", "docs")).code == 0
    return machine


@pytest.fixture
def closed_port():
    with socket.socket() as taken:  # bound and not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def everything_in(folder):
    """Every file's bytes, but for what SQLite keeps beside its files while it reads them."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith(("-wal", "-shm"))
    }


# The whole


async def test_in_an_empty_folder_it_says_how_to_begin_and_leaves_the_folder_empty(machine):
    shutil.rmtree(machine.docs)

    found = await examined(machine)

    assert states(found) == [
        ("settings", "ok"),
        ("data folder", "ok"),
        ("index", "warning"),
        ("model", "warning"),
        ("embedding", "ok"),
        ("search", "ok"),
        ("turns", "ok"),
        ("Slack", "skipped"),
        ("Discord", "skipped"),
    ]
    assert only(found, "index")["fix"] == "`footnote ingest PATH`"
    assert "GOOGLE_API_KEY" in only(found, "model")["fix"]
    assert "footnote manifest slack" in only(found, "Slack")["finding"]
    assert list(machine.folder.iterdir()) == []


async def test_a_platform_that_is_named_must_be_set_up(machine):
    found = await examined(machine, "slack")

    assert only(found, "Slack")["state"] == "failed"


async def test_where_all_is_well_it_says_so_with_two_tiny_calls_and_no_query(
    indexed, gemini, searxng, empty_queue
):
    shutil.copy(empty_queue, indexed.folder / ".footnote")
    before = everything_in(indexed.folder)

    found = await examined(indexed)

    assert {state for _, state in states(found)} == {"ok", "skipped"}
    assert "2 documents with 4 passages in 1 collection: default." in only(found, "index")["finding"]
    assert sorted(call.model for call in gemini.calls) == ["gemini-3.5-flash", "gemini-3.5-flash-lite"]
    assert [dict(request.query) for request in searxng.requests] == [{"format": "json"}]
    assert everything_in(indexed.folder) == before


async def test_for_a_person_each_finding_is_a_line_with_its_fix_below(machine):
    machine.settings |= {"DATA_DIR": "docs/harbour.md"}

    ran = await machine.run("doctor")

    told = ran.out.splitlines()
    place = told.index("✗ data folder      DATA_DIR docs/harbour.md is a file.")
    assert told[place + 1].strip() == "→ Move it away, or set DATA_DIR to another folder."
    assert told[-1] == "1 does not work, 1 could be better."
    assert (ran.code, ran.err) == (1, "")
    assert "\x1b" not in ran.out


async def test_no_secret_is_shown_wherever_it_stands(machine):
    machine.settings |= SECRETS | {"WEB_SEARCH": "searxng", "LOG_LEVEL": "debug"}

    told, printed = await machine.run("doctor"), await machine.run("doctor", "--json")

    assert told.code == printed.code == 1
    assert "Sesame" not in (told.out + printed.out).replace("sesame", "Sesame")


async def test_with_a_debugging_log_no_token_reaches_standard_error(machine, gemini):
    machine.settings |= {"LOG_LEVEL": "debug", "SEARXNG_URL": "http://ada:sesame@127.0.0.1:9"}
    machine.settings |= {"WEB_SEARCH": "searxng"}

    ran = await machine.run("doctor")

    assert gemini.api_key not in ran.err
    assert "sesame" not in ran.err


# Settings


async def test_every_wrong_setting_is_named_and_what_stands_on_none_is_examined(indexed):
    indexed.settings |= {
        "WEB_SEARCH": "tavily",
        "MODEL_TIMEOUT": "soon; or later",
        "WEB_APPROVAL": "approvers",
    }
    (indexed.folder / ".env").write_text("POLICY=best\n")
    (indexed.folder / ".env").chmod(0o600)

    found = await examined(indexed)

    wrong = {each["finding"].split()[0]: each for each in found["settings"] if each["state"] == "failed"}
    assert set(wrong) == {"MODEL_TIMEOUT", "POLICY", "TAVILY_API_KEY", "WEB_APPROVERS"}
    assert "“soon; or later”" in wrong["MODEL_TIMEOUT"]["finding"]
    assert "in the environment" in wrong["MODEL_TIMEOUT"]["fix"]
    assert "in .env" in wrong["POLICY"]["fix"]
    assert only(found, "model")["finding"] == "Not looked at until MODEL_TIMEOUT can be read."
    assert only(found, "search")["state"] == "skipped"
    assert only(found, "index")["state"] == "ok"


async def test_what_looks_like_a_setting_in_the_env_file_and_is_none_is_told(machine):
    (machine.folder / ".env").write_text(
        "SLACK_BOT_TOKN=xoxb-sesame-sesame\nWEB_ENGINE=tavily\nNOT OURS\nHARBOUR=1\nEMBEDDING_MODEL=auto\n"
        "GEMINI_API_KEY=sesame\n"
    )
    (machine.folder / ".env").chmod(0o644)

    found = await examined(machine)

    told = [(each["finding"], each["fix"]) for each in found["settings"]]
    assert told[0][0] == ".env was read; given are EMBEDDING_MODEL, WEB_SEARCH."
    assert told[1:] == [
        (
            "Line 3 of .env is not NAME=value and is ignored.",
            "Correct it, or begin it with # if it is a note.",
        ),
        (".env can be read by others on this machine.", "`chmod 600 .env`"),
        (
            "GEMINI_API_KEY in .env is no setting of Footnote and does nothing.",
            "Gemini's is called GOOGLE_API_KEY here; other providers need `export GEMINI_API_KEY=…`",
        ),
        (
            "SLACK_BOT_TOKN in .env is no setting of Footnote and does nothing.",
            "Call it SLACK_BOT_TOKEN, or take it out.",
        ),
        (
            "WEB_ENGINE in .env is no setting of Footnote and does nothing.",
            "Compare with `.env.example`, which lists them all, or take it out.",
        ),
        (
            "EMBEDDING_MODEL is set in .env and, differently, in the environment, which wins.",
            "`unset EMBEDDING_MODEL`, or take it out of .env.",
        ),
    ]


async def test_an_env_file_that_is_no_text_is_told_and_the_rest_is_examined(machine):
    (machine.folder / ".env").write_bytes("POLICY=schlüssel".encode("utf-16"))

    found = await examined(machine)

    assert "must be text in UTF-8" in with_state(found, "settings", "failed")["finding"]
    assert only(found, "index")["state"] == "warning"


# The data folder


async def test_what_needs_the_data_folder_is_left_out_when_it_is_a_file(machine):
    (machine.folder / ".footnote").write_text("not a folder")

    found = await examined(machine)

    assert only(found, "data folder")["state"] == "failed"
    for check in ("index", "turns"):
        assert only(found, check)["finding"] == "Not looked at until the data folder can be used."


async def test_a_data_folder_that_others_may_read_or_that_cannot_be_made_is_told(machine):
    (machine.folder / ".footnote").mkdir()
    (machine.folder / ".footnote").chmod(0o755)
    readable = await examined(machine)
    machine.settings |= {"DATA_DIR": "docs/harbour.md/below"}

    impossible = await examined(machine)

    assert with_state(readable, "data folder", "warning")["fix"] == "`chmod 700 .footnote`"
    assert only(impossible, "data folder")["state"] == "failed"


@pytest.mark.skipif(os.geteuid() == 0 and sys.platform != "linux", reason=NO_LINUX)
async def test_a_data_folder_that_is_closed_is_told_with_a_command_that_can_be_pasted(machine):
    machine.is_bound = True
    closed = machine.folder / "data of ours"
    closed.mkdir(mode=0o500)
    machine.settings |= {"DATA_DIR": str(closed)}
    unwritable = await examined(machine)
    closed.chmod(0)
    machine.settings |= {"DATA_DIR": str(closed / "below")}

    hidden = await examined(machine)
    closed.chmod(0o700)

    assert only(unwritable, "data folder")["fix"] == f"`chmod -R u+rwX '{closed}'`"
    assert (
        only(hidden, "data folder")["finding"]
        == f"DATA_DIR {closed / 'below'} cannot be looked at: permission denied."
    )


async def test_stores_that_were_cut_off_are_told_with_what_to_do(indexed):
    await indexed.run("ask", "When does the ferry to Sark leave?")
    for name in ("conversations", "rooms"):
        file = indexed.folder / ".footnote" / f"{name}.sqlite"
        os.truncate(file, file.stat().st_size // 2)

    found = [each for each in (await examined(indexed))["data folder"] if each["state"] == "failed"]

    assert [each["finding"] for each in found] == [
        ".footnote/conversations.sqlite is damaged.", ".footnote/rooms.sqlite is damaged.",
    ]  # fmt: skip
    assert all(each["fix"].startswith("Move it away") for each in found)


async def test_beside_a_process_that_owns_the_folder_everything_is_read_and_it_is_named(indexed):
    owner = await indexed.start("chat")
    owner.stdin.write(b"/help\n")
    await owner.stdout.readline()
    before = everything_in(indexed.folder)

    found = await examined(indexed)
    after = everything_in(indexed.folder)
    owner.kill()
    await owner.wait()
    once_killed = await examined(indexed)

    used = f".footnote is used by process {owner.pid}, footnote chat."
    assert only(found, "data folder")["finding"] == used
    assert only(found, "index")["state"] == "ok"
    assert after == before
    assert only(once_killed, "data folder")["finding"] == ".footnote can be used; nobody uses it now."


# The index


async def test_documents_that_are_gone_are_named(indexed):
    (indexed.docs / "ferry.md").unlink()
    one = await examined(indexed)
    shutil.rmtree(indexed.docs)

    all_of_them = await examined(indexed)

    assert with_state(one, "index", "warning")["finding"] == "1 document gone from the disk: docs/ferry.md."
    folder, documents = [each["finding"] for each in all_of_them["index"] if each["state"] == "warning"]
    assert folder == f"Indexed, but not on the disk any more: {indexed.docs}."
    assert documents.startswith("2 documents gone from the disk:")


async def test_files_that_cannot_be_read_are_named_with_the_reason(machine):
    (machine.docs / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    await machine.run("ingest", "docs")

    found = await examined(machine)

    told = with_state(found, "index", "warning")["finding"]
    assert told.startswith("1 file cannot be read: docs/broken.pdf (")


def overwrite(file, start, stop):
    with file.open("r+b") as damaged:
        damaged.seek(start)
        damaged.write(b"\x55" * (stop - start))


@pytest.mark.parametrize("place", [(0, 4096), (8192, 40960)], ids=["its head", "its pages"])
async def test_an_index_that_is_damaged_is_told_with_what_to_do(indexed, place):
    file = indexed.folder / ".footnote" / "library.sqlite"
    overwrite(file, *place)

    found = await examined(indexed)

    damage = [each for each in found["index"] if each["state"] == "failed"]
    assert damage[0]["finding"] == ".footnote/library.sqlite is damaged."
    assert damage[0]["fix"] == "Run `footnote ingest --rebuild` with your documents."
    assert only(found, "turns")["state"] == "ok"


async def change(machine, statement):
    with closing(sqlite3.connect(machine.folder / ".footnote" / "library.sqlite")) as database, database:
        database.execute(statement)


async def test_an_index_of_another_version_is_told_with_what_to_run(indexed):
    await change(indexed, "PRAGMA user_version = 99")
    newer = await examined(indexed)
    await change(indexed, "PRAGMA application_id = 7")
    foreign = await examined(indexed)

    assert only(newer, "index")["state"] == "failed"
    assert "a newer version of Footnote" in only(newer, "index")["finding"]
    assert only(newer, "index")["fix"].startswith("Install that version again")
    assert only(foreign, "index")["state"] == "failed"
    assert "belongs to another program" in only(foreign, "index")["finding"]
    assert only(foreign, "index")["fix"].startswith("Set DATA_DIR")


async def test_another_file_of_another_version_is_told_too(indexed):
    file = indexed.folder / ".footnote" / "conversations.sqlite"
    with closing(sqlite3.connect(file)) as database:
        database.executescript("CREATE TABLE checkpoints (thread_id TEXT); PRAGMA user_version = 1;")

    found = await examined(indexed)

    told = with_state(found, "data folder", "failed")
    assert told["finding"] == ".footnote/conversations.sqlite belongs to another program."
    assert told["fix"].startswith("Set DATA_DIR")


async def test_vectors_of_another_model_missing_ones_and_an_index_without_its_vectors_are_told(machine):
    networks = [
        write_tiny_network(machine.folder / name, dimension=size) for name, size in (("a", 8), ("b", 6))
    ]
    machine.settings |= {"EMBEDDING_MODEL": str(networks[0])}
    await machine.run("ingest", "docs")
    fits = await examined(machine)
    await change(machine, "UPDATE passages SET embedded = 0 WHERE id = 1")
    lacks = await examined(machine)
    machine.settings |= {"EMBEDDING_MODEL": "none"}
    unused = await examined(machine)
    machine.settings |= {"EMBEDDING_MODEL": str(networks[0])}
    shutil.rmtree(machine.folder / ".footnote" / "vectors")
    gone = await examined(machine)
    machine.settings |= {"EMBEDDING_MODEL": str(networks[1])}

    mismatch = await examined(machine)

    assert states(fits)[1:6] == [
        ("data folder", "ok"), ("index", "ok"), ("model", "warning"), ("embedding", "ok"), ("search", "ok"),
    ]  # fmt: skip
    assert with_state(lacks, "index", "warning")["finding"].startswith(
        "1 passage can be found by words alone"
    )
    assert with_state(unused, "index", "warning")["finding"].startswith("It holds vectors of a@")
    assert with_state(gone, "index", "failed")["fix"] == "`footnote ingest --rebuild`"
    told = [each["finding"] for each in mismatch["index"] if each["state"] == "failed"]
    assert told[1].startswith("The index was built with the embedding model a@")


async def test_an_embedding_model_that_cannot_be_had_is_told(machine):
    (machine.folder / "network").mkdir()
    machine.settings |= {"EMBEDDING_MODEL": "network"}
    folder = await examined(machine)
    machine.settings |= {"EMBEDDING_MODEL": "cohere:embed"}
    package = await examined(machine)
    machine.settings |= {"EMBEDDING_MODEL": "auto"}

    absent = await examined(machine)

    assert only(folder, "embedding")["finding"] == "The embedding folder network has no model.onnx."
    assert "needs a package: pip install langchain-cohere" in only(package, "embedding")["finding"]
    assert only(absent, "embedding")["state"] == "warning"
    assert not (machine.folder / ".cache").exists()


# The model


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (Status(400, reason="API_KEY_INVALID"), ("failed", "The model key was refused.", "GOOGLE_API_KEY")),
        (Status(404), ("failed", "The model is not known to its provider.", "Set CHAT_MODEL to")),
        (Status(429), ("warning", "The model is busy.", "Try again in a minute")),
        (Status(503), ("warning", "The model is busy.", "Try again in a minute")),
        (Blocked(), ("failed", "The model refused this question.", "Choose another CHAT_MODEL")),
        (Hang(), ("failed", "The model did not answer in time.", "Check the network")),
    ],
)
async def test_a_model_that_does_not_answer_is_told_and_the_other_one_still_tried(
    machine, gemini, answer, ending
):
    machine.settings |= {"MODEL_TIMEOUT": "1"}
    gemini.reply = lambda _step, call: None if call.model.endswith("-lite") else answer

    found = await examined(machine)

    chat, grader = found["model"]
    state, told, cure = ending
    assert (chat["state"], chat["finding"]) == (state, f"CHAT_MODEL=google_genai:gemini-3.5-flash: {told}")
    assert cure in chat["fix"]
    assert grader["state"] == "ok"
    assert grader["finding"].startswith("GRADER_MODEL=google_genai:gemini-3.5-flash-lite answered in ")


async def test_a_model_that_cannot_be_reached_and_one_whose_package_is_missing_are_told(machine, closed_port):
    machine.settings |= {
        "GOOGLE_API_KEY": "test-key",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{closed_port}",
        "GRADER_MODEL": "mistralai:small",
    }

    found = await examined(machine)

    chat, grader = found["model"]
    assert chat["finding"].endswith("The model cannot be reached.")
    assert "GRADER_MODEL=mistralai:small needs a package" in grader["finding"]


def test_a_model_that_takes_its_time_could_be_better():
    quick, slow = report_time("CHAT_MODEL", "m", 0.8), report_time("CHAT_MODEL", "m", 6.1)

    assert (quick.state, quick.text) == ("ok", "CHAT_MODEL=m answered in 0.8 s.")
    assert (slow.state, slow.text) == ("warning", "CHAT_MODEL=m answered in 6.1 s.")


# The web search


async def test_a_search_engine_that_cannot_be_used_is_told_without_a_query(machine, closed_port):
    machine.settings |= {"WEB_SEARCH": "searxng"}
    told = []
    async with FakeSearXNG(formats=("html",)) as without_json, FakeSite() as no_searxng:
        for address in (without_json.url, no_searxng.url, f"http://127.0.0.1:{closed_port}"):
            machine.settings |= {"SEARXNG_URL": address}
            told.append(only(await examined(machine), "search"))
        asked = [request.query for request in (*without_json.requests, *no_searxng.requests)]

    assert [each["state"] for each in told] == ["failed"] * 3
    assert told[0]["fix"] == "add json to search.formats in its settings.yml."
    assert told[1]["finding"] == "There is no SearXNG at SEARXNG_URL."
    assert told[2]["finding"] == "SearXNG (127.0.0.1) cannot be reached."
    assert not any("q" in query for query in asked)


async def test_a_search_engine_that_keeps_silent_is_given_up(machine, searxng):
    machine.settings |= {"SEARCH_TIMEOUT": "0.5"}
    searxng.will_hang()

    found = await examined(machine)

    assert only(found, "search")["finding"] == "SearXNG (127.0.0.1) cannot be reached."


async def test_of_tavily_only_its_host_is_tried(machine):
    async with FakeTavily() as tavily:
        machine.settings |= {
            "WEB_SEARCH": "tavily", "TAVILY_API_KEY": "tvly-sesame", "TAVILY_BASE_URL": tavily.url,
        }  # fmt: skip

        found = await examined(machine)

        (request,) = tavily.requests
    assert only(found, "search")["state"] == "ok"
    assert (request.method, request.path, dict(request.query)) == ("GET", "/", {})
    assert "Authorization" not in request.headers


async def test_duckduckgo_out_of_reach_is_told(machine):
    machine.settings |= {"WEB_SEARCH": "duckduckgo"}

    found = await examined(machine)

    assert only(found, "search")["finding"] == "DuckDuckGo (html.duckduckgo.com) cannot be reached."


async def test_settings_of_the_search_that_do_nothing_are_told(machine):
    machine.settings |= {
        "WEB_APPROVAL": "anyone",
        "WEB_APPROVERS": "ada",
        "TAVILY_API_KEY": "tvly-sesame",
        "WEB_TRUSTED_HOSTS": "a.org,b.org",
        "WEB_BLOCKED_HOSTS": "b.org",
    }

    found = await examined(machine)

    assert [each["finding"].split()[0] for each in found["search"] if each["state"] == "warning"] == [
        "WEB_APPROVERS",
        "TAVILY_API_KEY",
        "Trusted",
    ]


# Turns


async def test_turns_that_wait_are_counted(machine, empty_queue):
    (machine.folder / ".footnote").mkdir()
    file = shutil.copy(empty_queue, machine.folder / ".footnote")
    with closing(sqlite3.connect(file)) as database, database:
        names = "workflow_uuid, status, created_at, updated_at, priority"
        rows = [("1", "ENQUEUED"), ("2", "PENDING"), ("3", "SUCCESS")]
        database.executemany(f"INSERT INTO workflow_status ({names}) VALUES (?, ?, 0, 0, 0)", rows)

    found = await examined(machine)

    assert only(found, "turns")["state"] == "warning"
    assert "2 turns without an answer" in only(found, "turns")["finding"]
    assert only(found, "turns")["fix"] == "`footnote run` answers them."


async def test_a_database_of_turns_that_does_not_open_is_told(machine, closed_port):
    machine.settings |= {"DATABASE_URL": f"postgresql://ada:sesame@127.0.0.1:{closed_port}/footnote"}
    server = await examined(machine)
    machine.settings |= {"DATABASE_URL": "sqlite:///docs/ferry.md"}
    damaged = await examined(machine)
    machine.settings |= {"DATABASE_URL": "sqlite:////nowhere/turns.sqlite"}

    nowhere = await examined(machine)

    assert only(server, "turns")["finding"] == "DATABASE_URL names a database that cannot be opened."
    assert only(damaged, "turns")["finding"] == "docs/ferry.md cannot be opened or is damaged."
    assert only(nowhere, "turns")["finding"] == "/nowhere/turns.sqlite cannot be made."


# How it is told


def test_a_line_that_is_too_long_goes_on_below_its_beginning():
    finding = failed("index", "It is damaged beyond repair, as it seems.", "`footnote ingest --rebuild`")

    assert list(format_lines(finding, 40)) == [
        "✗ index            It is damaged beyond",
        "                   repair, as it seems.",
        "                   → `footnote ingest",
        "                     --rebuild`",
    ]
    assert list(format_lines(finding, None)) == [
        "✗ index            It is damaged beyond repair, as it seems.",
        "                   → `footnote ingest --rebuild`",
    ]


def test_the_end_counts_what_is_to_be_done():
    assert summary([ok("a", "")]) == "Everything that was looked at works."
    assert summary([failed("a", ""), failed("b", "")]) == "2 do not work."


def test_a_short_secret_does_not_blot_out_words():
    secrets = secrets_in({"GOOGLE_API_KEY": "in", "TAVILY_API_KEY": "sesame-sesame"}, SECRETS)

    hidden = conceal(failed("a", "in sesame-sesame xoxb-1234567", "AIza0123456789"), secrets)

    assert (hidden.text, hidden.fix) == ("in … …", "…")


def test_a_name_of_no_family_that_is_like_none_is_left_alone():
    configuration = Configuration(in_file={"PORT": "80", "NODE_ENV": "x"}, settings=Settings())

    (summary_,) = examine_settings(configuration, ("SLACK_BOT_TOKEN",))

    assert summary_.state == "ok"


def test_what_is_sound_is_kept_beside_what_is_not(tmp_path):
    seen = read_configuration(
        {"WEB_SEARCH": "searxng", "POLICY": "best", "MODEL_TIMEOUT": "5"}, tmp_path / ".env"
    )

    assert set(seen.faults) == {"POLICY", "SEARXNG_URL"}
    assert seen.settings == Settings(model_timeout=5.0)


async def test_models_that_are_named_alone_are_all_that_is_looked_at(machine):
    found = await examined(machine, "models")

    assert set(found) == {"settings", "model", "embedding"}
