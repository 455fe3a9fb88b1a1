"""What an operator can set, and what is said of what cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.passages import thorough
from hypothesis import given
from hypothesis import strategies as st

from core.errors import SettingsError
from core.graph.policy import AUTO, PRESETS
from core.reasoning.limits import Price
from core.settings import Settings, read_settings
from core.turns.rate_limits import Rate

SECRETS = {
    "GOOGLE_API_KEY": "sesame-google",
    "TAVILY_API_KEY": "sesame-tavily",
    "SEARXNG_URL": "https://ada:sesame-searxng@example.org",
    "GOOGLE_GEMINI_BASE_URL": "https://ada:sesame-gemini@example.org",
    "TAVILY_BASE_URL": "https://ada:sesame-base@example.org",
    "DATABASE_URL": "postgresql://ada:sesame-database@example.org/turns",
}


def read(**environment: str) -> Settings:
    return read_settings(environment, None)


def fault_of(**environment: str) -> str:
    with pytest.raises(SettingsError) as fault:
        read(**environment)
    return str(fault.value)


def test_nothing_needs_to_be_set():
    assert read() == Settings()
    assert not read().has_chat_model


def test_empty_and_blank_values_mean_the_default():
    assert read(POLICY="", WEB_SEARCH="  ", MODEL_TIMEOUT="\t") == Settings()


def test_what_is_not_ours_is_not_read():
    assert read(PATH="/bin", HOME="/root", NAME="x") == Settings()


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("data_dir", "/var/lib/footnote", Path("/var/lib/footnote")),
        ("google_api_key", " key ", "key"),
        ("chat_model", "gemini-3.5-flash", "google_genai:gemini-3.5-flash"),
        ("chat_model", "openai:gpt-5", "openai:gpt-5"),
        ("grader_model", "anthropic:claude", "anthropic:claude"),
        ("embedding_model", "None", "none"),
        ("embedding_model", "openai:text-embedding-3", "openai:text-embedding-3"),
        ("policy", "Self-RAG", "self-rag"),
        ("web_search", "OFF", "off"),
        ("web_approval", "anyone", "anyone"),
        ("web_approvers", "ada, bob ,,admins", ("ada", "bob", "admins")),
        ("web_trusted_hosts", "example.org, *.python.org", ("example.org", "*.python.org")),
        ("tavily_base_url", "http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("searxng_url", "HTTPS://search.example.org", "HTTPS://search.example.org"),
        ("model_timeout", "2.5", 2.5),
        ("search_timeout", "1e1", 10.0),
        ("turn_timeout", "3600", 3600.0),
        ("tokens_per_day", "2000000", 2_000_000),
        ("tokens_per_day_per_channel", "7", 7),
        ("tokens_per_day_per_person", "8", 8),
        (
            "prices",
            "gemini-3.5-flash = 1.5/9, openai:gpt-5=2/10.25",
            {"gemini-3.5-flash": Price(1.5, 9), "gpt-5": Price(2, 10.25)},
        ),
        ("currency", "eur", "EUR"),
        ("questions_per_person", "20/hour", Rate(count=20, period="hour")),
        ("questions_per_person", "OFF", None),
        ("questions_per_channel", "3/Day", Rate(count=3, period="day")),
        (
            "source_url_base",
            "https://a.dev/x/{source}, api=https://github.com/acme/api/blob/main\nwiki=https://w.dev/{page}?v={line}#a",
            {
                "default": "https://a.dev/x/{source}",
                "api": "https://github.com/acme/api/blob/main/{path}?plain=1#L{line}-L{last_line}",
                "wiki": "https://w.dev/{page}?v={line}#a",
            },
        ),
        ("log_level", "debug", "DEBUG"),
        ("log_format", "JSON", "json"),
    ],
)
def test_a_setting_is_read_from_the_environment(name, raw, value):
    assert getattr(read(**{name.upper(): raw}), name) == value


def test_a_home_folder_is_found():
    assert read(DATA_DIR="~/footnote").data_dir == Path.home() / "footnote"


@pytest.mark.parametrize("policy", PRESETS)
def test_every_policy_can_be_chosen(policy):
    assert read(POLICY=policy).policy == policy


@pytest.mark.parametrize(
    ("raw", "groups"), [("", ("confluence-users",)), ("off", ()), ("staff, crew", ("staff", "crew"))]
)
def test_groups_of_everybody_in_confluence_are_named_or_off(raw, groups):
    assert read(CONFLUENCE_EVERYONE=raw).confluence_everyone == groups


@pytest.mark.parametrize(("raw", "days"), [("off", 0), ("0", 0), ("90", 90)])
def test_after_how_many_days_a_document_is_marked(raw, days):
    assert read(STALE_AFTER=raw).stale_after == days


@pytest.mark.parametrize(
    ("name", "raw", "sentence"),
    [
        ("policy", "best", "POLICY must be one of auto, footnote, combined, crag-any, self-rag, crag-ratio, adaptive, brief, not “best”"),
        ("web_search", "google", "WEB_SEARCH must be one of duckduckgo, tavily, searxng, off, not “google”"),
        ("web_approval", "nobody", "WEB_APPROVAL must be one of asker, anyone, approvers, never_ask, not “nobody”"),
        ("log_level", "loud", "LOG_LEVEL must be one of debug, info, warning, error, not “loud”"),
        ("log_format", "xml", "LOG_FORMAT must be one of text, json, not “xml”"),
        ("model_timeout", "soon", "MODEL_TIMEOUT must be a number of seconds above 0 and at most 3600, not “soon”"),
        ("model_timeout", "0", "MODEL_TIMEOUT must be a number of seconds above 0 and at most 3600, not “0”"),
        ("model_timeout", "-1", "MODEL_TIMEOUT must be a number of seconds above 0 and at most 3600, not “-1”"),
        ("search_timeout", "nan", "SEARCH_TIMEOUT must be a number of seconds above 0 and at most 3600, not “nan”"),
        ("tokens_per_day", "-1", "TOKENS_PER_DAY must be a number of tokens, 0 for no limit, not “-1”"),
        *(
            ("prices", wrong, f"PRICES must be MODEL=IN/OUT, as in some-model=0.5/2, several with commas, not “{wrong}”")
            for wrong in ("m", "m=1", "m=-1/2", "m=1/two", "=1/2", "m=nan/1")
        ),
        ("prices", "m=1/2, openai:m=3/4", "PRICES names the model m twice"),
        ("currency", "€", "CURRENCY must be a currency's code of three letters, as USD, not “€”"),
        *(
            (
                "questions_per_person",
                wrong,
                ("QUESTIONS_PER_PERSON must be off, or a number with a period, as in 20/minute or 20/hour or 20/day, "
                f"not “{wrong}”"),
            )
            for wrong in ("20", "0/hour", "20/week", "٣/hour", "/hour", "-1/day")
        ),
        ("turn_timeout", "inf", "TURN_TIMEOUT must be a number of seconds above 0 and at most 3600, not “inf”"),
        ("chat_model", "google_genai:", "CHAT_MODEL must be a model, or provider:model, not “google_genai:”"),
        ("grader_model", ":gpt", "GRADER_MODEL must be a model, or provider:model, not “:gpt”"),
        ("data_dir", "~nobody-of-that-name/x", "DATA_DIR names a home folder that does not exist, “~nobody-of-that-name/x”"),
        ("embedding_model", "~nobody-of-that-name", "EMBEDDING_MODEL names a home folder that does not exist, “~nobody-of-that-name”"),
        ("web_trusted_hosts", "example.org, a b", "WEB_TRUSTED_HOSTS holds “a b”, which is not the name of a host"),
        ("stale_after", "soon", "STALE_AFTER must be a number of days, at most 3,650, not “soon”"),
        ("private_hosts", "wiki.corp.example, a b", "PRIVATE_HOSTS holds “a b”, which is not the name of a host"),
        *(
            ("git_tokens", wrong, "GIT_TOKENS must be HOST=TOKEN, or HOST=USER:TOKEN, several with commas")
            for wrong in ("sesame", "=sesame", "h.org=", "a b=sesame", "h.org=ses ame")
        ),
        ("confluence_tokens", "sesame", "CONFLUENCE_TOKENS must be HOST=TOKEN, or HOST=USER:TOKEN, several with commas"),
        ("git_tokens", "h.org=a, https://H.org=b", "GIT_TOKENS names the host h.org twice"),
        ("web_blocked_hosts", "http://", "WEB_BLOCKED_HOSTS holds “http://”, which is not the name of a host"),
        ("searxng_url", "example.org", "SEARXNG_URL must be an http or https address"),
        ("searxng_url", "http://", "SEARXNG_URL must be an http or https address"),
        ("searxng_url", "http://[", "SEARXNG_URL must be an http or https address"),
        ("searxng_url", "http://a b", "SEARXNG_URL must be an http or https address"),
        ("tavily_base_url", "http://a:0", "TAVILY_BASE_URL must be an http or https address"),
        ("tavily_base_url", "http://a:port", "TAVILY_BASE_URL must be an http or https address"),
        ("google_gemini_base_url", "ftp://a", "GOOGLE_GEMINI_BASE_URL must be an http or https address"),
        *(
            ("source_url_base", wrong, f"SOURCE_URL_BASE {said}")
            for wrong, said in (
                ("docs", "must be an http or https address, or COLLECTION=ADDRESS, several with commas"),
                ("a b=https://a.dev", "must be an http or https address, or COLLECTION=ADDRESS, several with commas"),
                ("https://a.dev,https://b.dev", "names the collection default twice"),
                ("x=https://u:sesame@a.dev", "of the collection x must name a host, without a password and placeholders"),
                ("https://{path}.dev", "of the collection default must name a host, without a password and placeholders"),
                ("https://a.dev/?p={line}", "of the collection default must say where the path goes: {path}, {page} or {source}"),
                ("https://a.dev/?p=1", "of the collection default must say where the path goes: {path}, {page} or {source}"),
                (
                    "https://a.dev/{file}",
                    ("of the collection default holds {file}; known are {path}, {page}, {source}, {line}, {last_line}, "
                    "{anchor}, {mkdocs_anchor}"),
                ),
            )
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_sentence_that_names_the_setting(name, raw, sentence):
    assert fault_of(**{name.upper(): raw}) == f"{sentence}."


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"WEB_SEARCH": "tavily"}, "TAVILY_API_KEY is needed for WEB_SEARCH=tavily."),
        ({"WEB_SEARCH": "searxng"}, "SEARXNG_URL is needed for WEB_SEARCH=searxng."),
        ({"WEB_APPROVAL": "approvers"}, "WEB_APPROVERS is needed for WEB_APPROVAL=approvers."),
        ({"NOTIFY_APPROVERS": "on"}, "WEB_APPROVERS is needed for NOTIFY_APPROVERS=on."),
        ({"SHOW_COST": "on"}, "PRICES is needed for SHOW_COST=on."),
        (
            {"PRICES": "gemini-3.5-flash=1/2", "GOOGLE_API_KEY": "x"},
            "PRICES names no price of gemini-3.5-flash-lite.",
        ),
        ({"NOTIFY_APPROVERS": "maybe"}, "NOTIFY_APPROVERS must be one of on, off, not “maybe”."),
    ],
)
def test_a_choice_that_needs_another_setting_says_so(environment, sentence):
    assert fault_of(**environment) == sentence


def test_all_faults_are_named_at_once():
    sentence = fault_of(
        POLICY="best", MODEL_TIMEOUT="soon", SEARXNG_URL="x", WEB_SEARCH="tavily", WEB_APPROVAL="approvers"
    )

    for name in ("POLICY", "MODEL_TIMEOUT", "SEARXNG_URL", "TAVILY_API_KEY", "WEB_APPROVERS"):
        assert f"{name} " in sentence


def test_an_address_that_cannot_be_read_is_not_repeated():
    assert "sesame" not in fault_of(SEARXNG_URL="ftp://ada:sesame@example.org")


def test_secrets_are_kept_out_of_sight():
    settings = read(**SECRETS)

    assert settings.google_api_key == SECRETS["GOOGLE_API_KEY"]
    assert "sesame" not in repr(settings)
    assert "sesame" not in str(settings)


def test_the_environment_wins_over_the_file(tmp_path):
    file = tmp_path / ".env"
    file.write_text("POLICY=self-rag\nWEB_SEARCH=off\nLOG_LEVEL\n# POLICY=adaptive\n")

    settings = read_settings({"POLICY": "crag-any"}, file)

    assert (settings.policy, settings.web_search, settings.log_level) == ("crag-any", "off", "WARNING")


def test_a_variable_that_is_set_to_nothing_takes_back_what_the_file_says(tmp_path):
    file = tmp_path / ".env"
    file.write_text("POLICY=self-rag\n")

    assert read_settings({"POLICY": ""}, file).policy == AUTO


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('GOOGLE_API_KEY="a b#c"', "a b#c"),
        ("export GOOGLE_API_KEY=abc", "abc"),
        ("GOOGLE_API_KEY=abc # a comment", "abc"),
        ("GOOGLE_API_KEY='ключ'", "ключ"),
    ],
)
def test_the_file_is_read_as_such_files_are(tmp_path, line, key):
    file = tmp_path / ".env"
    file.write_text(line, encoding="utf-8")

    assert read_settings({}, file).google_api_key == key


def test_a_file_that_is_missing_is_no_fault(tmp_path):
    assert read_settings({}, tmp_path / ".env") == Settings()


def test_a_file_in_another_encoding_is_a_sentence(tmp_path):
    file = tmp_path / ".env"
    file.write_bytes("GOOGLE_API_KEY=schlüssel".encode("utf-16"))

    with pytest.raises(SettingsError, match="could not be read: it must be text in UTF-8"):
        read_settings({}, file)


def test_faults_of_the_file_are_named_like_those_of_the_environment(tmp_path):
    file = tmp_path / ".env"
    file.write_text("POLICY=best\n")

    with pytest.raises(SettingsError, match="POLICY must be one of"):
        read_settings({}, file)


@pytest.mark.parametrize(
    ("environment", "judge", "has_model"),
    [
        ({}, "google_genai:gemini-3.5-flash-lite", False),
        ({"GOOGLE_API_KEY": "key"}, "google_genai:gemini-3.5-flash-lite", True),
        ({"CHAT_MODEL": "openai:gpt-5"}, "openai:gpt-5", True),
        ({"CHAT_MODEL": "openai:gpt-5", "GRADER_MODEL": "anthropic:claude"}, "anthropic:claude", True),
    ],
)
def test_a_model_writes_and_one_judges(environment, judge, has_model):
    settings = read(**environment)

    assert (settings.judging_model, settings.has_chat_model) == (judge, has_model)


@thorough
@given(
    st.dictionaries(st.sampled_from([f.upper() for f in Settings.__dataclass_fields__]), st.text(max_size=30))
)
def test_any_environment_is_read_or_refused_with_a_sentence(environment):
    said = "."
    try:
        read(**environment)
    except SettingsError as fault:
        said = str(fault)

    assert said.endswith(".")


def test_a_setting_that_is_wrong_is_not_told_missing_too():
    with pytest.raises(SettingsError) as told:
        read_settings({"WEB_SEARCH": "searxng", "SEARXNG_URL": "notaurl"}, None)

    assert str(told.value) == "SEARXNG_URL must be an http or https address."
