"""From which score on a label is predicted."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier as Ridge
from sklearn.multiclass import OneVsRestClassifier

import labelwood
from labelwood._inputs import Labels
from labelwood import Grove, InputError, LabelTree, OneVsRest, TextTagger, datasets, metrics

QUESTIONS = datasets.load_questions()


def micro_f1(Y, scores, threshold):
    return metrics.evaluate(Y, scores, 1, threshold=threshold)["micro_f1"]


def test_the_threshold_is_learned_kept_and_used(estimator, tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=600)
    test_X, test_Y, _ = datasets.generate("eurlex-4k", rows=200, test=True)
    model = clone(estimator).fit(X, Y)
    scores = model.predict_scores(test_X)
    assert 0 < model.threshold_ < 1
    learned = micro_f1(test_Y, scores, model.threshold_)
    best = max(micro_f1(test_Y, scores, at) for at in np.quantile(scores.data, np.linspace(0.9, 1, 60)))
    assert learned > 0.8 * best
    predicted = model.predict(test_X)
    assert predicted.nnz == (scores.data >= np.float32(model.threshold_)).sum()
    model.save(tmp_path / "model")
    assert labelwood.load(tmp_path / "model").threshold_ == model.threshold_
    assert micro_f1(test_Y, scores, model.threshold_) == model.evaluate(test_X, test_Y, 100)["micro_f1"]


def test_a_number_is_taken_as_it_is_and_learns_nothing(rows):
    X, Y, _ = rows
    stated, learned = LabelTree(trees=1, threshold=0.3).fit(X, Y), LabelTree(trees=1).fit(X, Y)
    assert stated.threshold_ == 0.3 and stated.model_.threshold is None
    assert '"threshold": true' not in stated.model_.manifest and '"threshold": true' in learned.model_.manifest
    assert (stated.predict_top_k(X) != learned.predict_top_k(X)).nnz == 0


def test_too_few_rows_have_the_usual_threshold():
    assert OneVsRest().fit(np.eye(3), np.eye(3)).threshold_ == 0.5


def test_a_calibrated_model_and_a_grove_learn_it_anyway(rows):
    X, Y, _ = rows
    for model in (LabelTree(trees=1, calibrate=True), Grove(label_tree=LabelTree(trees=1))):
        assert '"threshold": true' not in model.fit(X, Y).model_.manifest
        assert 0 < model.threshold_ == model.model_.threshold


@pytest.mark.parametrize("threshold", [7, -0.1, 1.01, "best", float("nan"), None, True])
def test_what_is_no_score_is_refused(threshold):
    with pytest.raises(InputError, match="threshold is .*, but must be"):
        OneVsRest(threshold=threshold).fit(np.eye(3), np.eye(3))


def test_every_row_gets_so_many_labels(rows):
    X, Y, _ = rows
    model = LabelTree(trees=1, threshold=1.0).fit(X, Y)
    assert model.predict(X).nnz < len(Y.data) / 2
    for least in (1, 3, 200):
        predicted = model.set_params(min_labels=least).predict(X)
        assert (np.diff(predicted.indptr) >= min(least, 100)).all()
    best = model.predict_top_k(X, 1)
    assert (model.set_params(min_labels=1).predict(X)[np.arange(len(X.indptr) - 1), best.indices] == 1).all()
    with pytest.raises(InputError, match="min_labels is -1, but must be a whole number"):
        OneVsRest(min_labels=-1).fit(np.eye(3), np.eye(3))


def test_the_command_learns_the_same(rows, command, tmp_path):
    X, Y, _ = rows
    datasets.write(tmp_path / "train.txt", X, Y)
    command("train", tmp_path / "train.txt", "--model", tmp_path / "model", "--algorithm", "label-tree",
            "--threshold", "auto")
    read = datasets.read(tmp_path / "train.txt")
    model = LabelTree().fit(read)
    assert labelwood.load(tmp_path / "model").model_.files() == model.model_.files()
    lines = command("predict", tmp_path / "model", tmp_path / "train.txt", "--threshold", "auto",
                    "--min-labels", 2, "--labels-only", "--to", "jsonl").splitlines()
    assert len(lines) == 300
    predicted = model.set_params(min_labels=2).predict(read.X)
    assert (np.diff(predicted.indptr) >= 2).all()


@pytest.mark.parametrize("favour", ["none", "tail"])
def test_all_labels_above_the_threshold_are_measured_however_many_they_are(rows, favour):
    X, Y, _ = rows
    model = OneVsRest(threshold=0.001, favour=favour).fit(X, Y)
    predicted = model.predict(X)
    assert np.diff(predicted.indptr).max() > 30
    hits = predicted.multiply(Y).sum()
    expected = 2 * hits / (predicted.nnz + Y.nnz)
    assert model.evaluate(X, Y)["micro_f1"] == pytest.approx(expected)
    tagger = TextTagger(OneVsRest(threshold=0.001, favour=favour)).fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    tags = tagger.predict_indicator(QUESTIONS.test_texts)
    assert np.diff(tags.indptr).max() > 30
    expected = 2 * tags.multiply(tagger._truth(QUESTIONS.test_texts, QUESTIONS.test_tags, None)).sum()
    expected /= tags.nnz + sum(len(set(row)) for row in QUESTIONS.test_tags)
    assert tagger.evaluate(QUESTIONS.test_texts, QUESTIONS.test_tags)["micro_f1"] == pytest.approx(expected)


def test_a_tagger_goes_by_the_threshold_of_its_estimator():
    texts, tags = QUESTIONS.train_texts, QUESTIONS.train_tags
    tagger = TextTagger(OneVsRest(threshold=0.2, min_labels=1)).fit(texts, tags)
    assert tagger.threshold_ == 0.2
    scores, found = tagger.predict_scores(QUESTIONS.test_texts), tagger.predict_tags(QUESTIONS.test_texts)
    for row, names in enumerate(found):
        reaching = scores[[row]].data >= np.float32(0.2)
        assert len(names) == max(reaching.sum(), 1)
        assert set(names) == set(tagger.classes_[scores[[row]].indices[: len(names)]])
    learned = TextTagger(OneVsRest()).fit(texts, tags)
    assert learned.threshold_ == learned.model_.threshold != 0.5
    with pytest.raises(InputError, match="threshold is 7"):
        TextTagger(OneVsRest(threshold=7)).fit(texts, tags)


def test_indicators_have_room_for_scikit_learns_sums(rows):
    X, Y, _ = rows
    assert Y.dtype == np.int32
    assert LabelTree(trees=1).fit(X, Y).predict(X).dtype == np.int32
    # LabelBinarizer adds up the labels of a row in the type of the indicator.
    random = np.random.default_rng(1)
    X, lists = random.normal(size=(40, 6)), [list(random.permutation(400)[:200]) for _ in range(40)]
    lists[0].append(399)
    indicator = Labels(lists).indicator
    sparse, dense = (OneVsRestClassifier(Ridge()).fit(X, form) for form in (indicator, indicator.toarray()))
    assert (sparse.predict(X) != dense.predict(X)).sum() == 0
