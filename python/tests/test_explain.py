"""Explanations."""

import numpy as np
import pytest

from labelwood import InputError, OneVsRest, TextTagger

TEXTS = ["old owls", "grey owls", "an old atlas", "the new atlas", "owls and herons"]
TAGS = [["birds"], ["birds"], ["maps"], ["maps"], ["birds"]]


@pytest.fixture(scope="module")
def tagger():
    return TextTagger(OneVsRest(), min_df=1).fit(TEXTS, TAGS)


def test_words_speak_for_their_label_and_are_marked(tagger):
    why = tagger.explain("Owls, <b>and</b> an atlas", "birds")
    words = dict(why.words("birds"))
    assert words["owls"] > 0 > words["atlas"]
    mark = why.labels[0]["marks"][0]
    assert (mark["term"], mark["start"], mark["end"]) == ("owls", 0, 4)
    html = why._repr_html_()
    assert "<mark" in html and "&lt;b&gt;" in html and "<b>and" not in html
    assert repr(why).startswith("birds 0.")
    assert why.to_dict()["text"] == why.text == "Owls, <b>and</b> an atlas"


def test_the_best_labels_are_those_of_a_prediction(tagger):
    why = tagger.explain("an atlas", k=2)
    assert [(best["label"]["name"], pytest.approx(best["score"])) for best in why.labels] == [
        (name, score) for name, score in tagger.predict("an atlas", k=2)
    ]


def test_rows_are_explained_by_their_features():
    X, Y = np.array([[1.0, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]]), [[0], [0], [1], [1]]
    model = OneVsRest().fit(X, Y)
    why = model.explain(X[0], 0)
    assert why.text is None and why.words(0)[0][0] == "0"
    assert model.explain(X[[0]], 0).to_dict() == why.to_dict()
    with pytest.raises(InputError, match="one is explained at a time"):
        model.explain(X, 0)
    with pytest.raises(InputError, match="training knew 2 labels"):
        model.explain(X[0], 2)
    with pytest.raises(InputError, match="trained on vectors"):
        model.explain("a text")


def test_what_is_wrong_is_said_in_a_line(tagger):
    with pytest.raises(InputError, match="there is no label `Birdz`: did you mean `birds`?"):
        tagger.explain("owls", "Birdz")
    with pytest.raises(InputError, match="must be one text"):
        tagger.explain(["owls"])
    with pytest.raises(InputError, match="must be a number or a name"):
        tagger.explain("owls", 1.5)
    with pytest.raises(InputError, match="not among the labels"):
        tagger.explain("owls", "birds").words("maps")
    why = tagger.explain("xyzzy")
    assert why.labels == [] and "knows no word" in why.note and why.words() == []
