"""Settings: what cannot be is named, with its value and what may be."""

import copy

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from labelwood import CraftML, Grove, InputError, LabelTree, OneVsRest, TextTagger, TextVectoriser
from labelwood import datasets, metrics

WHOLE = "must be a whole number of at least 0"


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (CraftML(trees=0), "trees is 0, but must be from 1 to 1,048,576"),
        (CraftML(trees="many"), 'trees is "many", but must be from 1 to 1,048,576'),
        (CraftML(trees=None), "trees is None, but must be from 1 to 1,048,576"),
        (CraftML(trees=2.5), "trees is 2.5, but must be from 1 to 1,048,576"),
        (CraftML(beam=-1), "beam is -1, but must be from 1 to 1,048,576"),
        (CraftML(metric="manhattan"), 'metric is "manhattan", but must be one of cosine, euclidean, linear'),
        (CraftML(metric=5), "metric is 5, but must be one of cosine, euclidean, linear"),
        (CraftML(repel=float("nan")), "repel is nan, but must be a finite number"),
        (CraftML(repel="x"), 'repel is "x", but must be from 0 to 1'),
        (CraftML(keep="x"), 'keep is "x", but must be above 0 and at most 1, or None'),
        (CraftML(leaf=CraftML), "leaf is <class .*, but must be a finite number, a name"),
        (CraftML(n_jobs=0), "n_jobs is 0"),
        (CraftML(random_state=-1), "random_state is -1"),
        (CraftML(calibrate="yes"), "calibrate is 'yes', but must be True or False"),
        (LabelTree(balanced=3), "balanced is 3, but must be True or False"),
        (LabelTree(calibrate=None), "calibrate is None, but must be True or False"),
        (Grove(CraftML(trees=-5)), "trees of craftml is -5, but must be from 1 to 1,048,576"),
        (Grove(label_tree=LabelTree(link="x")), 'link of label-tree is "x", but must be one of hinge'),
        (OneVsRest(threshold=float("nan")), "threshold is nan, but must be"),
        (OneVsRest(threshold=[1]), r"threshold is \[1\], but must be a finite number"),
        (OneVsRest(threshold=None), "threshold is None, but must be a finite number"),
        (OneVsRest(threshold="x"), "threshold is 'x', but must be \"auto\" or a score from 0 to 1"),
    ],
    ids=str,
)
def test_wrong_settings_are_named_when_they_are_used(estimator, message):
    with pytest.raises(InputError, match=message):
        estimator.fit(np.eye(3), np.eye(3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tokens": "x"}, 'tokens is "x", but must be one of auto, word, unicode'),
        ({"stem": "klingon"}, 'stem is "klingon", but must be one of auto, arabic, danish'),
        ({"lowercase": "no"}, 'lowercase is "no", but must be True or False'),
        ({"min_df": "few"}, 'min_df is "few", but must be a number of documents, such as 2, or a share'),
        ({"max_features": -3}, f"max_features is -3, but {WHOLE}"),
        ({"word_ngrams": (1,)}, r"word_ngrams is \[1\], but must be two whole numbers"),
        ({"word_ngrams": 3}, "word_ngrams is 3, but must be two whole numbers"),
        ({"max_df": float("inf")}, "max_df is inf, but must be a finite number"),
        ({"stop_words": "klingon"}, 'stop_words is "klingon", but must be one of none, auto, arabic'),
        ({"stop_words": ["the", 3]}, "stop_words is .*, but must be a language, auto, a list of words or None"),
        ({"stop_words": 7}, "stop_words is 7, but must be a language, auto, a list of words or None"),
    ],
    ids=str,
)
def test_wrong_settings_of_text_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        TextVectoriser(**settings).fit(["a text"])
    with pytest.raises(InputError, match=message):
        TextTagger(**settings).fit(["a text"], [["a tag"]])


def test_other_wrong_settings_are_named(tmp_path):
    with pytest.raises(InputError, match="separator is 5, but must be a string"):
        TextTagger(separator=5).fit(["a text"], [["a tag"]])
    (tmp_path / "books.jsonl").write_text('{"text": "maps", "labels": ["maps"]}\n')
    with pytest.raises(InputError, match="labels is 5, but must be a string or a list of strings"):
        datasets.read_documents(tmp_path / "books.jsonl", labels=5)
    for settings in ({"rows": -1}, {"start": -1}, {"seed": -1}, {"rows": 2.5}):
        [(name, value)] = settings.items()
        with pytest.raises(InputError, match=f"{name} is {value}, but must be a whole number"):
            datasets.generate("eurlex-4k", **{"rows": 3, **settings})


def test_what_predictions_are_asked_for_is_checked(estimator, rows):
    X, Y, _ = rows
    fitted = estimator.fit(X, Y)
    with pytest.raises(InputError, match="k is -1, but must be a whole number"):
        fitted.predict_top_k(X, k=-1)
    with pytest.raises(InputError, match="k is 2.5, but must be a whole number"):
        fitted.predict_top_k(X, k=2.5)
    with pytest.raises(InputError, match="beam is -1, but must be a whole number of at least 1"):
        fitted.predict_arrays(X.indptr, X.indices, X.data, beam=-1)
    with pytest.raises(InputError, match=r"labels\[1\] is -1, but must be"):
        fitted.predict_top_k(X, labels=[3, -1])
    with pytest.raises(InputError, match="threshold is nan, but must be"):
        copy.copy(fitted).set_params(threshold=float("nan")).predict(X)
    with pytest.raises(InputError, match="k is 2.5, but must be a whole number of at least 1"):
        metrics.precision_at_k(Y, Y, k=2.5)
    with pytest.raises(InputError, match=r"train_counts\[1\] is -3, but must be a whole number"):
        metrics.evaluate(Y, Y, train_counts=[1, -3], train_rows=5)
    if isinstance(fitted, LabelTree):
        with pytest.raises(InputError, match="tree is -1, but must be a whole number"):
            fitted.clusters(-1)
    assert fitted.predict_top_k(X, k=np.int64(3), beam=np.int8(2)).shape == Y.shape


def test_numpys_numbers_are_settings_of_text_too():
    questions = datasets.load_questions()
    texts, tags = questions.train_texts[:120], questions.train_tags[:120]
    plain = TextTagger(CraftML(trees=2), min_df=3, word_ngrams=(1, 2), lowercase=True)
    same = TextTagger(
        CraftML(trees=np.int32(2)), min_df=np.int64(3), word_ngrams=tuple(np.array([1, 2])),
        lowercase=np.bool_(True), stop_words=None,
    )
    assert plain.fit(texts, tags).model_.files() == same.fit(texts, tags).model_.files()
    search = GridSearchCV(plain, {"min_df": np.arange(1, 3), "estimator__trees": np.arange(1, 3)}, cv=2)
    assert search.fit(texts, tags).best_params_["min_df"] in (1, 2)


def test_the_settings_of_parts_that_are_left_open_can_be_set(rows):
    X, Y, _ = rows
    grove = Grove().set_params(forest__trees=2, label_tree__trees=1, favour="tail")
    assert (grove.forest.trees, grove.label_tree.trees, grove.favour) == (2, 1, "tail")
    assert Grove().forest is None, "parts are not shared"
    with pytest.raises(ValueError, match="Invalid parameter 'leaves' for estimator CraftML"):
        Grove().set_params(forest__leaves=2)
    tagger = TextTagger().set_params(estimator__forest__trees=3)
    assert isinstance(tagger.estimator, Grove) and tagger.estimator.forest.trees == 3
    search = GridSearchCV(Grove(label_tree=LabelTree(trees=1)), {"forest__trees": [1, 2]}, cv=2)
    assert search.fit(X, Y).best_estimator_.forest.trees in (1, 2)
