"""What documents are called, and which of them a question means."""

import pytest
from fakes.shelf import found, open_library, put, scope, write

from core.conversation import Exchange
from core.library import names
from core.library.documents import Piece
from core.library.names import find_meant, names_in, names_of
from core.library.retriever import Query

CUSTOM = "Talk to your manager first, and enter it in the portal. " * 30


def pieces(*texts):
    return [Piece(path=(), location="", text=text, start=0, end=len(text)) for text in texts]


@pytest.fixture
def handbooks(tmp_path):
    """One for each country, of which only the first lines say which one it is."""
    with_them = open_library(tmp_path / "data")
    for number, country in enumerate(("Austria", "Kenya", "Norway", "Portugal"), 20):
        write(
            tmp_path / f"docs/{country.lower()}.md", "# Employee handbook", f"This book is for people in {country}.",
            *(f"## {part}\n\n{CUSTOM}" for part in ("Trips", "Pay", "Desk")),
            f"## Leave\n\nThere are {number} days of annual leave. {CUSTOM}",
        )  # fmt: skip
    with_them.ingest([tmp_path / "docs"])
    yield with_them
    with_them.close()


@pytest.mark.parametrize("country", ["Austria", "Kenya", "Norway", "Portugal"])
def test_of_handbooks_that_are_alike_the_one_of_the_country_is_found_first(handbooks, country):
    assert found(handbooks, f"how many days of annual leave are there in {country.lower()}?")[0].endswith(
        f"{country.lower()}.md"
    )


def test_a_question_that_compares_two_means_both(handbooks):
    both = find_meant(handbooks.store.database, "annual leave in Kenya and in Norway", scope())

    assert {source.rsplit("/", 1)[-1] for _, source in both.likeness} == {"kenya.md", "norway.md"}
    assert len(both.addresses) == 2


@pytest.mark.parametrize("then", ["and in Norway?", "what about norway?"])
def test_a_follow_up_means_the_document_that_it_names_itself(handbooks, then):
    before = Exchange(
        author="ann",
        question="how many days of annual leave are there in Kenya?",
        answer="There are 21 days.",
    )

    hits = handbooks.retrieve(Query(text=then, scope=scope(), history=(before,))).passages

    assert hits[0].passage.source.endswith("norway.md")
    assert any("22 days" in hit.passage.text for hit in hits[:3])


def test_a_follow_up_that_names_a_year_stays_with_who_it_was_about():
    rows = [
        ("c", f"/{body}_{year}", f"/{body}_{year}", name, 1.0)
        for body in ("adobe", "boeing") for year in ("2021", "2022") for name in (body, year)
    ]  # fmt: skip
    asked = [
        row for row in rows if row[3] in ("adobe", "2021", "2022")
    ]  # "Adobe's revenue in 2021?" "The 2022 one?"

    then = names.choose_meant(asked, dict.fromkeys(("adobe", "2021", "2022"), 1.0), frozenset({"2022"}))

    assert then.addresses == ("/adobe_2022",)


def test_a_question_that_names_none_means_none(handbooks):
    assert find_meant(handbooks.store.database, "how many days of annual leave?", scope()).addresses == ()


def test_years_quarters_and_versions_are_read_as_people_write_them():
    assert {"2022", "q3"} <= set(names_in("what was FY22 revenue in Q3?"))
    assert "2023" in names_in("fiscal year 2022/23")
    assert "v2.3" in names_in("is it on in v2.3.1?")
    assert "2022" not in names_in("it costs $2022.50")


def test_a_version_belongs_to_the_shorter_one_and_no_other():
    called = names_of("/manuals/gantry-2.3/settings.md", "Settings", pieces(*["It is set in the file."] * 5))

    assert {"v2.3"} <= called.keys()
    assert "v2.4" not in called


def test_the_ordinary_words_of_a_title_are_no_names():
    text = "The annual report covers the body. Harbour Trust is in a report. See Harbour for it."

    called = names_of("/harbour_2022_annual_report.pdf", "Annual report", pieces(*[text] * 5))

    assert {"2022", "harbour"} <= called.keys()
    assert not {"annual", "report"} & called.keys()


def test_a_document_of_a_few_passages_has_no_name_but_its_words():
    assert names_of("/harbour_2022.md", "Harbour 2022", pieces("In Harbour we work.")) == {}


@pytest.mark.parametrize("count", [1, 2])
def test_what_may_not_be_read_is_not_meant(library, count):
    database = library.store.database
    for number in range(count):
        put(library, f"/veiled_{number}_2031.md", *["It is for 2031."] * 5, collection="hers")
    for year in (2029, 2030):
        put(library, f"/open_{year}.md", *[f"It is for {year}."] * 5, collection="ours")

    def addresses(*collections):
        return find_meant(database, "who paid in 2031?", scope(collections=collections)).addresses

    assert addresses("ours") == ()
    assert len(addresses("ours", "hers")) == count


def test_what_is_forgotten_leaves_no_name(handbooks, tmp_path):
    rows = "SELECT count(*) FROM document_names"
    before = handbooks.store.database.rows(rows)
    (tmp_path / "docs/kenya.md").unlink()
    handbooks.refresh()

    assert handbooks.store.database.rows(rows) < before
    assert not handbooks.store.database.rows("SELECT 1 FROM document_names WHERE name LIKE 'kenya%'")


def test_more_documents_than_are_searched_on_their_own_are_none_in_particular():
    many = [("default", f"/{number}", f"/{number}", "kenya", 1.0) for number in range(names.MEANT + 1)]

    assert names.choose_meant(many, {"kenya": 1.0}).addresses == ()
