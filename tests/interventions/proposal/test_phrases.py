"""The table of what shops write on buttons and links."""

from interventions.data_file import items, read_data
from interventions.proposal import phrases

ALL = {"add", "buy", "cart", "refuse", "close", "accept"}


def test_the_phrases_of_each_language_are_of_known_kinds() -> None:
    told = read_data(phrases.__file__, "phrases.yaml")
    for language, kinds in told.items():
        assert ALL <= set(kinds) <= ALL | {"checkout", "order"}, language
        for text in kinds.values():
            assert all(each and each == " ".join(each.split()) for each in items(text)), language
    assert len(told) > 25


def test_of_a_layer_s_buttons_those_that_refuse_come_first() -> None:
    labels = ["Alle akzeptieren", "×", "Einstellungen", "Schließen", "Nur notwendige", "Pay and accept"]
    assert [labels[n] for n in phrases.taking_away(labels)] == [labels[n] for n in (4, 3, 0, 1)]
    for language, kinds in read_data(phrases.__file__, "phrases.yaml").items():
        for kind in ("refuse", "close", "accept"):
            assert [phrases.taking_away([each]) for each in items(kinds[kind])] == [[0]] * len(
                items(kinds[kind])
            ), language
