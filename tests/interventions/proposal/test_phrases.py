"""The table of what shops write on buttons and links."""

from interventions.data_file import items, read_data
from interventions.proposal import phrases


def test_the_phrases_of_each_language_are_of_known_kinds() -> None:
    told = read_data(phrases.__file__, "phrases.yaml")
    for language, kinds in told.items():
        assert {"add", "buy", "cart"} <= set(kinds) <= {"add", "buy", "cart", "checkout", "order"}, language
        for text in kinds.values():
            assert all(each and each == " ".join(each.split()) for each in items(text)), language
    assert len(told) > 25
