from benchmarks import alike


def test_of_documents_that_are_alike_the_right_one_is_found():
    section = alike.run(lambda _: None, quick=True)

    found = {name: share for name, share in section.figures.items() if "document among" in name}
    of_one = [share for name, share in found.items() if not name.startswith("calculations")]
    assert min(of_one) >= 0.75
    assert found["calculations, words: document among 8"] >= 0.75
    assert len(section.figures) == 16
