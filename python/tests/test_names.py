"""Labels have names: in training, in predictions, in models and in figures."""


import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import labelwood
from labelwood import (
    InputError, LabelTree, Neighbours, OneVsRest, TextTagger, TextVectoriser, datasets, metrics,
)

X = np.eye(3)
Y = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
NAMES = ["birds", "cats", "maps", "owls"]
QUESTIONS = datasets.load_questions()


def test_columns_and_numbers_have_names_on_request(tmp_path):
    model = OneVsRest().fit(X, Y, label_names=NAMES)
    assert model.classes_.tolist() == NAMES == model.label_names()
    numbers = OneVsRest().fit(X, [[0, 2], [1], [2, 3]], label_names=NAMES)
    frame = OneVsRest().fit(X, pd.DataFrame(Y, columns=NAMES))
    assert model.model_.files() == numbers.model_.files() == frame.model_.files()
    more = OneVsRest().fit(X, [["owls"], ["birds"], ["owls"]], label_names=NAMES)
    assert more.classes_.tolist() == NAMES
    assert more.model_.label_counts.tolist() == [1, 0, 0, 2]
    model.save(tmp_path / "model")
    assert labelwood.load(tmp_path / "model").classes_.tolist() == NAMES


@pytest.mark.parametrize(
    ("labels", "names", "message"),
    [
        (Y, NAMES[:3], "label_names has 3 names, but Y has 4 labels"),
        (Y, [*NAMES, "dogs"], "label_names has 5 names, but Y has 4 labels"),
        (Y, ["a", "b", "a", "c"], "label_names has a name twice, 'a'"),
        (Y, "abcd", "label_names is 'abcd', but must be a list of names"),
        (Y, [1, 2, 3, 4], r"label_names\[0\] is 1, but must be a string"),
        (Y, ["a", "b", "", "c"], "is empty or has a TAB"),
        ([["dogs"]] * 3, NAMES, "Y has the label 'dogs', which is not among label_names"),
        (pd.DataFrame(Y, columns=NAMES), NAMES, "leave label_names out"),
        (pd.DataFrame(Y, columns=["a", "b", "a", "c"]), None, "several columns of one name, 'a'"),
    ],
)
def test_names_that_do_not_fit_are_refused(labels, names, message):
    with pytest.raises(InputError, match=message):
        OneVsRest().fit(X, labels, label_names=names)


def test_a_data_set_is_handed_over_whole_as_the_command_keeps_its_names(command, tmp_path):
    path = tmp_path / "train.txt"
    rows = datasets.Dataset(sparse.csr_array(X), sparse.csr_array(Y), [f"{name}\tthe {name}" for name in NAMES])
    datasets.write(path, rows)
    read = datasets.read(path)
    assert read.label_names == rows.label_names
    model = OneVsRest(threshold=0.5).fit(read)
    command("train", path, "--model", tmp_path / "theirs", "--algorithm", "one-vs-rest")
    model.save(tmp_path / "ours")
    theirs = labelwood.load(tmp_path / "theirs")
    assert theirs.model_.files() == model.model_.files()
    assert theirs.all_names(0) == ["the birds"]
    assert model.score(read.X, [["the birds"], ["cats"], ["owls"]]) > 0, "any name is found"


def test_labels_are_asked_for_by_name():
    model = OneVsRest().fit(X, Y, label_names=NAMES)
    by_name = model.predict_top_k(X, labels=["maps", "cats"])
    assert (by_name != model.predict_top_k(X, labels=[2, 1])).nnz == 0
    assert set(by_name.indices) == {1, 2}
    with pytest.raises(InputError, match=r"labels\[1\] is 'dogs', which is no label that training knew"):
        model.predict_top_k(X, labels=["maps", "dogs"])
    with pytest.raises(InputError, match="labels is 'maps', but must be a list"):
        model.predict_top_k(X, labels="maps")
    tagger = TextTagger(Neighbours(), min_df=1).fit(["old maps", "birds"], [["maps"], ["birds"]])
    assert set(tagger.predict_top_k(["old birds"], labels=["maps"]).indices) == {
        tagger.classes_.tolist().index("maps")
    }


def test_figures_take_names_and_count_unknown_ones_as_missed():
    scores = np.array([[0.9, 0.1, 0.2, 0.3], [0.1, 0.8, 0.2, 0.3], [0.1, 0.2, 0.3, 0.9]])
    expected = metrics.evaluate(Y, scores, Y_train=Y)
    names = [["birds", "maps"], ["cats"], ["owls", "maps"]]
    shuffled = pd.DataFrame(Y[:, ::-1], columns=NAMES[::-1])
    for truth in (names, shuffled, Y, pd.DataFrame(Y, columns=NAMES)):
        assert metrics.evaluate(truth, scores, classes=NAMES, Y_train=names) == expected
    assert metrics.evaluate(Y[:, ::-1], scores, classes=NAMES, label_names=NAMES[::-1], Y_train=Y) == expected
    assert metrics.recall_at_k(names, scores, 1, classes=NAMES) == pytest.approx(2 / 3)
    unknown = [[*row, "dogs"] for row in names]
    assert metrics.recall_at_k(unknown, scores, 1, classes=NAMES) == pytest.approx((1 / 3 + 1 / 2 + 1 / 3) / 3)
    model = OneVsRest().fit(X, Y, label_names=NAMES)
    found = [model.evaluate(X, truth)["recall@5"] for truth in (names, unknown)]
    assert found[0] == 1 and found[1] == pytest.approx((2 / 3 + 1 / 2 + 2 / 3) / 3)
    assert model.evaluate(X, Y[:, ::-1], label_names=NAMES[::-1])["recall@5"] == 1
    with pytest.raises(InputError, match="classes has 3 names, but Y_score has 4 columns"):
        metrics.evaluate(names, scores, classes=NAMES[:3])
    with pytest.raises(InputError, match="Y_true has names, .* with classes=model.classes_"):
        metrics.evaluate(names, scores)


def test_without_the_training_labels_there_are_no_figures_that_need_them():
    scores = np.array([[0.9, 0.1], [0.1, 0.8]])
    with_training = metrics.evaluate(np.eye(2), scores, 1, Y_train=np.eye(2))
    figures = metrics.evaluate(np.eye(2), scores, 1)
    assert {"p@1", "ndcg@1", "coverage@1"} <= figures.keys()
    assert not any(name.startswith(("psp", "psndcg", "head", "torso", "tail")) for name in figures)
    assert {"psp@1", "psndcg@1"} <= with_training.keys() and any("tail_" in name for name in with_training)
    assert figures == metrics.evaluate(np.eye(2), scores, [1])


def test_other_widths_are_refused():
    scores = np.ones((2, 3))
    with pytest.raises(InputError, match="Y_true has 2 columns, but Y_score has 3"):
        metrics.evaluate(np.eye(2), scores)
    with pytest.raises(InputError, match="Y_train has 2 columns, but Y_score has 3"):
        metrics.evaluate(np.eye(2, 3), scores, Y_train=np.eye(2))
    with pytest.raises(InputError, match="train_counts has 2 numbers, but Y_score has 3 columns"):
        metrics.evaluate(np.eye(2, 3), scores, train_counts=[1, 1], train_rows=2)
    with pytest.raises(InputError, match="train_counts needs train_rows"):
        metrics.evaluate(np.eye(2, 3), scores, train_counts=[1, 1, 1])


def test_a_tagger_has_every_figure_and_scorers_know_what_it_was_trained_on():
    tagger = TextTagger(LabelTree(trees=1))
    fitted = tagger.fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    scores = fitted.predict_top_k(QUESTIONS.test_texts, 30)
    classes = fitted.classes_
    expected = metrics.evaluate(
        QUESTIONS.test_tags, scores, classes=classes, Y_train=QUESTIONS.train_tags,
        threshold=fitted.threshold_,
    )
    found = fitted.evaluate(QUESTIONS.test_texts, QUESTIONS.test_tags)
    assert found == expected
    assert metrics.scorer("psp@3")(fitted, QUESTIONS.test_texts, QUESTIONS.test_tags) == found["psp@3"]
    pipeline = make_pipeline(TextVectoriser(), LabelTree(trees=1))
    pipeline.fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    piped = metrics.scorer("micro_f1")(pipeline, QUESTIONS.test_texts, QUESTIONS.test_tags)
    assert piped == pytest.approx(found["micro_f1"], abs=0.05) and piped > 0.2
    with pytest.raises(InputError, match="figure is 'p@', but must be one of p@1, "):
        metrics.scorer("p@")(fitted, QUESTIONS.test_texts, QUESTIONS.test_tags)


def test_searches_and_cross_validation_rank_by_any_figure(rows):
    features, labels, _ = rows
    search = GridSearchCV(
        LabelTree(trees=1), {"cost": [0.3, 1.0]}, cv=2, scoring=metrics.scorer("ndcg@5")
    )
    assert 0 < search.fit(features, labels).best_score_ <= 1
    lists = [labels.indices[start:end].tolist() for start, end in zip(labels.indptr, labels.indptr[1:])]
    scores = cross_val_score(LabelTree(trees=1), features, lists, cv=2, scoring=metrics.scorer("psp@5"))
    assert scores.shape == (2,) and (scores > 0).all()
    assert cross_val_score(TextTagger(OneVsRest()), QUESTIONS.test_texts, QUESTIONS.test_tags, cv=2).shape == (2,)


