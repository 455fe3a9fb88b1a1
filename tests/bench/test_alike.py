from benchmarks import alike


def test_of_documents_that_are_alike_the_right_one_is_found():
    section = alike.run(lambda _: None, quick=True)

    assert all(share >= 0.75 for name, share in section.figures.items() if "document among" in name)
    assert len(section.figures) == 12
