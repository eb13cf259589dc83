"""The estimators keep scikit-learn's contract."""

import json
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import check_estimator

from conftest import SMALL
from labelwood import (
    CraftML,
    Grove,
    InputError,
    LabelTree,
    Names,
    OneVsRest,
    _native,
    datasets,
    load,
    metrics,
)
from labelwood.estimators import BY_ALGORITHM

#: Checks that hand over one column of ones and twos, which is no indicator of labels.
COLUMN = "one column of 1 and 2 is no indicator: refused rather than guessed at"
EXPECTED_FAILURES = {"check_estimators_dtypes": COLUMN, "check_fit2d_1feature": COLUMN}


def same(left, right):
    return left.shape == right.shape and all(
        np.array_equal(getattr(left, name), getattr(right, name))
        for name in ("indptr", "indices", "data")
    )


def assert_same_settings(ours, library):
    assert ours.keys() == library.keys()
    for name, value in library.items():
        if name == "parts":
            assert len(ours[name]) == len(value)
            for our_part, part in zip(ours[name], value):
                assert_same_settings(our_part, part)
        elif isinstance(value, float):
            assert np.float32(ours[name]) == np.float32(value), name
        else:
            assert ours[name] == value, name


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks_pass(estimator):
    check_estimator(estimator, expected_failed_checks=EXPECTED_FAILURES)


def test_every_algorithm_has_its_estimator():
    assert list(BY_ALGORITHM) == _native.algorithms()


@pytest.mark.parametrize("cls", BY_ALGORITHM.values(), ids=lambda cls: cls.__name__)
def test_settings_and_defaults_are_those_of_the_library(cls):
    library = json.loads(_native.preset(cls.algorithm, "default"))
    assert_same_settings(json.loads(cls()._settings()), library)


@pytest.mark.parametrize("cls", BY_ALGORITHM.values(), ids=lambda cls: cls.__name__)
def test_every_preset_is_an_estimator(cls):
    for name in cls.presets():
        settings = json.loads(cls.preset(name)._settings())
        assert_same_settings(settings, json.loads(_native.preset(cls.algorithm, name)))
    with pytest.raises(InputError, match='preset is "no-such", but those of'):
        cls.preset("no-such")


def test_an_estimator_learns_and_knows_how_well(estimator, rows):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    best = fitted.predict_top_k(X, k=3)
    assert best.shape == Y.shape and best.dtype == np.float32
    assert (np.diff(best.indptr) <= 3).all()
    assert all(np.all(np.diff(best[[row]].data) <= 0) for row in range(20)), "best come first"
    assert fitted.score(X, Y) == metrics.precision_at_k(Y, best, k=1) > 0.5
    predicted = fitted.predict(X)
    scores = fitted.predict_scores(X)
    assert predicted.shape == Y.shape and set(predicted.data) <= {1}
    assert predicted.nnz == (scores.data >= fitted.threshold_).sum()
    assert (np.diff(scores.indptr) <= 100).all()


def test_the_number_of_threads_and_a_second_fit_change_nothing(estimator, rows):
    X, Y, _ = rows
    one = clone(estimator).set_params(n_jobs=1).fit(X, Y)
    two = clone(estimator).set_params(n_jobs=2).fit(X, Y)
    assert one.model_.files() == two.model_.files()
    assert same(one.predict_top_k(X), two.predict_top_k(X))
    other = clone(estimator).set_params(random_state=7).fit(X, Y)
    assert other.model_.files() != one.model_.files()


def test_every_form_of_rows_gives_the_same_model(estimator, rows):
    X, Y, _ = rows
    X, Y = X[:80, :200], Y[:80, :150]
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    unsorted = X.copy()
    for start, end in zip(X.indptr, X.indptr[1:]):
        unsorted.indices[start:end] = X.indices[start:end][::-1]
        unsorted.data[start:end] = X.data[start:end][::-1]
    unsorted.has_sorted_indices = unsorted.has_canonical_format = False
    zeros = Y.astype(float)
    zeros.data[-1] = 0
    expected = clone(estimator).fit(X, Y).model_.files()
    for other in [wide, unsorted, X.tocsc(), X.tocoo(), sparse.csr_matrix(X), X.toarray(),
                  X.astype(np.float64), pd.DataFrame(X.toarray())]:
        assert clone(estimator).fit(other, Y).model_.files() == expected
    assert not unsorted.has_sorted_indices, "what was given stays as it was"
    for other in [Y.tocsc(), sparse.csr_matrix(Y), Y.toarray(), Y.toarray().astype(bool),
                  Y.astype(float)]:
        assert clone(estimator).fit(X, other).model_.files() == expected
    dropped = zeros.copy()
    dropped.eliminate_zeros()
    assert (clone(estimator).fit(X, zeros).model_.files()
            == clone(estimator).fit(X, dropped).model_.files())


def test_predictions_do_not_depend_on_the_form_of_rows_or_their_number(estimator, rows):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    expected = fitted.predict_top_k(X)
    for other in [X.tocsc(), X.astype(np.float64), X.toarray()]:
        assert same(fitted.predict_top_k(other), expected)
    one_by_one = sparse.vstack([fitted.predict_top_k(X[[row]]) for row in range(70)], format="csr")
    assert same(one_by_one, expected[:70])
    pairs = list(zip(X[[3]].indices, X[[3]].data))
    row = fitted.model_.predict_row(pairs[::-1], 5)
    assert [label for label, _ in row] == expected[[3]].indices.tolist()


def test_labels_are_numbers_or_names(rows):
    X, Y, _ = rows
    numbers = [row.indices.tolist() for row in (Y[[at]] for at in range(Y.shape[0]))]
    by_number = LabelTree(trees=1).fit(X, numbers)
    assert by_number.classes_.tolist() == list(range(1 + max(map(max, numbers))))
    by_name = LabelTree(trees=1).fit(X, [[f"label {at}" for at in row] for row in numbers])
    assert by_name.classes_[0] == f"label {numbers[0][0]}"
    named = [[f"label {at}" for at in row] for row in numbers]
    assert by_name.score(X, named) > 0.9
    assert by_name.score(X, [["unknown"]] * X.shape[0]) == 0
    frame = pd.DataFrame({"birds": [1, 0], "maps": [0, 1]})
    assert OneVsRest().fit(np.eye(2), frame).classes_.tolist() == ["birds", "maps"]


def test_only_labels_that_are_allowed_are_named(estimator, rows):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    allowed = np.unique(Y.indices)[:40]
    best = fitted.predict_top_k(X, k=3, labels=allowed)
    assert best.nnz and np.isin(best.indices, allowed).all()


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        (np.eye(3), np.eye(2), "X has 3 rows, but Y has 2"),
        (np.eye(2), [[1, 2], [0, 3]], None),
        (np.eye(2), np.array([[0, 1], [2, 0]]), r"Y\[1, 0\] is 2, but an indicator has 0 and 1"),
        (np.eye(2), ["birds", "maps"], r"Y\[0\] is 'birds', but must be a list of labels"),
        (np.eye(2), [["birds"], [3]], r"Y\[1\] has 3 among names"),
        (np.eye(2), [[0], [-1]], r"Y\[1\] has label -1"),
        (np.eye(2), [[0], ["maps"]], r"Y\[1\] has 'maps' among numbers"),
        (np.eye(2), None, "requires y to be passed"),
        (np.array([1.0, 2.0]), [[0], [1]], "Expected 2D array"),
        (np.full((2, 2), np.nan), [[0], [1]], "NaN"),
        (np.array([["a", "b"], ["c", "d"]]), [[0], [1]], "could not convert"),
        (np.zeros((0, 3)), np.zeros((0, 2)), "0 sample"),
    ],
)
def test_wrong_input_is_named(X, Y, message):
    estimator = CraftML(trees=1)
    if message is None:
        estimator.fit(X, Y)
    else:
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, Y)


def test_arrays_that_form_no_matrix_are_named():
    indptr, indices, data = np.array([0, 1]), np.array([5], np.int32), np.ones(1, np.float32)
    model = OneVsRest().fit(np.eye(3), np.eye(3)).model_
    predict = lambda *arrays: model.predict((*arrays, 3), 1, None, None, 1, None)
    with pytest.raises(InputError, match="row 1: column 5 is out of range"):
        predict(indptr, indices, data)
    with pytest.raises(InputError, match="out of range"):
        predict(indptr, np.array([-1], np.int32), data)
    with pytest.raises(InputError, match="row offsets must start at 0"):
        predict(np.array([0, 2]), np.zeros(1, np.int32), data)
    with pytest.raises(InputError, match="indices is of type float64, but must be"):
        predict(indptr, np.zeros(1), data)
    with pytest.raises(InputError, match="data is of type complex128, but must be"):
        predict(indptr, np.zeros(1, np.int32), np.zeros(1, complex))


def test_arrays_give_the_same_as_matrices(estimator, rows):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    for rows in (X[[3]], X[5:9], X[:0]):
        expected = fitted.predict_top_k(rows, k=3)
        found = fitted.predict_arrays(rows.indptr, rows.indices, rows.data, 3)
        for left, right in zip(found, (expected.indptr, expected.indices, expected.data)):
            np.testing.assert_array_equal(left, right)
    narrow = fitted.predict_top_k(X[[3]], beam=1)
    found = fitted.predict_arrays(X[[3]].indptr, X[[3]].indices, X[[3]].data, beam=1)
    np.testing.assert_array_equal(found[2], narrow.data)


def test_calibrated_scores_are_probabilities():
    X, Y, _ = datasets.generate("eurlex-4k", rows=2000)
    gaps = []
    for calibrate in (False, True):
        scores = OneVsRest(calibrate=calibrate).fit(X[:1500], Y[:1500]).predict_scores(X[1500:])
        right = metrics.precision_at_k(Y[1500:], scores, 5)
        best = [scores.data[start:start + 5].mean() for start in scores.indptr[:-1]]
        gaps.append(abs(np.mean(best) - right))
    assert gaps[1] < 0.03 < gaps[0]
    with pytest.raises(InputError, match="calibrate of forest is True, but must be left out"):
        Grove(CraftML(calibrate=True)).fit(X, Y)


@pytest.mark.parametrize(
    "plain",
    [CraftML(trees=5), OneVsRest(), LabelTree(trees=1), Grove(CraftML(trees=5), LabelTree(trees=1))],
    ids=lambda estimator: estimator.algorithm,
)
def test_rare_labels_are_favoured_on_request(plain, tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=2000)
    train, test = slice(0, 1500), slice(1500, 2000)
    tail = clone(plain).set_params(favour="tail")
    plain_score, tail_score = (
        metrics.psp_at_k(
            Y[test], estimator.fit(X[train], Y[train]).predict_top_k(X[test], 3), Y[train], 3
        )
        for estimator in (plain, tail)
    )
    assert tail_score > plain_score
    tail.save(tmp_path / "tail")
    loaded = load(tmp_path / "tail")
    assert loaded.favour == "tail"
    assert clone(loaded).fit(X[train], Y[train]).model_.files() == tail.model_.files()


def test_what_is_favoured_weighs_in_training_unless_it_is_said(rows):
    X, Y, _ = rows
    units = lambda estimator: estimator.fit(X, Y).model_.files()[1:]  # noqa: E731
    assert units(OneVsRest(favour="tail")) == units(OneVsRest(tail_weight=0.5))
    assert units(OneVsRest(favour="tail", tail_weight=0)) == units(OneVsRest())
    with pytest.raises(InputError, match='favour is "head", but must be none or tail'):
        OneVsRest(favour="head").fit(X, Y)
    with pytest.raises(InputError, match="favour of label_tree is 'tail', but must be left out"):
        Grove(label_tree=LabelTree(favour="tail")).fit(X, Y)


def test_the_clusters_of_a_tree_divide_its_labels(rows):
    X, Y, _ = rows
    trees = LabelTree(trees=2, branches=7, leaf=20).fit(X, Y)
    for tree in range(2):
        found = trees.clusters(tree)
        assert len(found) == 7 and min(map(len, found)) > 0
        assert sorted(np.concatenate(found)) == sorted(np.unique(Y.indices))
    with pytest.raises(InputError, match="the model has no label tree 2"):
        trees.clusters(2)


def test_values_of_labels_other_than_one_are_named_once(rows):
    X, Y, _ = rows
    weighted = Y.astype(np.float32)
    weighted.data[:3] = 2, 0.5, 2
    with pytest.warns(UserWarning, match=r"Y has the values 0\.5, 2: a row has every label") as seen:
        found = OneVsRest().fit(X, weighted)
    assert len(seen) == 1 and seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = OneVsRest().fit(X, Y)
    assert found.model_.files() == expected.model_.files()


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(estimator, rows):
    X, Y, _ = rows
    frame = pd.DataFrame(X[:50, :30].toarray()).add_prefix("word ")
    fitted = clone(estimator).fit(frame, Y[:50])
    before, expected = dict(vars(fitted)), fitted.predict_top_k(frame)

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(InputError, match="X has 50 rows, but Y has 5"):
        fitted.fit(X[:50, :10], Y[:5])
    with pytest.raises(RuntimeError, match="enough"):
        fitted.fit(X[:50, :10], Y[:50], progress=stop)
    assert vars(fitted) == before and fitted.n_features_in_ == 30
    assert same(fitted.predict_top_k(frame), expected)
    unfitted = clone(estimator)
    with pytest.raises(InputError):
        unfitted.fit(X, Y[:5])
    with pytest.raises(NotFittedError):
        unfitted.predict(X)
    with pytest.raises(NotFittedError):
        unfitted.predict_arrays(X.indptr, X.indices, X.data)


@pytest.mark.parametrize("favour", ["none", "tail"])
def test_all_labels_above_the_threshold_are_predicted(favour, rows):
    X, Y, _ = rows
    model = OneVsRest(favour=favour).fit(X, Y)
    everything = model.predict_top_k(X[:20], k=Y.shape[1])
    best = np.sort(everything[[0]].data)[::-1]
    assert len(best) > 1000
    for threshold in (0.0, *best[[50, 300, 1000]].tolist()):
        predicted = model.set_params(threshold=threshold).predict(X[:20])
        expected = everything.copy()
        expected.data = (expected.data >= threshold).astype(np.int8)
        expected.eliminate_zeros()
        expected.sort_indices()
        assert same(predicted, expected)


def test_it_works_in_pipelines_and_searches(rows):
    X, Y, _ = rows
    pipeline = make_pipeline(Normalizer(), CraftML(trees=2))
    # Of scikit-learn's helpers, this one takes no sparse labels.
    lists = [row.indices.tolist() for row in (Y[[at]] for at in range(Y.shape[0]))]
    assert cross_val_score(pipeline, X, lists, cv=2).mean() > 0
    search = GridSearchCV(pipeline, {"craftml__trees": np.array([1, 3])}, cv=2, n_jobs=2)
    assert search.fit(X, Y).best_params_["craftml__trees"] in (1, 3)
    assert search.predict(X).shape == Y.shape


def test_a_model_survives_pickle_and_joblib(estimator, rows, tmp_path):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.model_.files() == fitted.model_.files()
    assert same(again.predict_top_k(X), fitted.predict_top_k(X))
    joblib.dump(fitted, tmp_path / "model.joblib")
    assert same(joblib.load(tmp_path / "model.joblib").predict_top_k(X), fitted.predict_top_k(X))
    scores = joblib.Parallel(n_jobs=2)(
        joblib.delayed(fitted.predict_top_k)(part) for part in (X[:150], X[150:])
    )
    assert same(sparse.vstack(scores, format="csr"), fitted.predict_top_k(X))


def test_damaged_bytes_are_refused(rows):
    X, Y, _ = rows
    files = CraftML(trees=1).fit(X, Y).model_.files()
    make = _native.model_from_files
    assert make(files).files() == files
    for damaged in [[], files[:-1], [files[0], *files[2:]], [files[0][:-9], *files[1:]],
                    [files[0], files[1][:-1] + b"\0", *files[2:]]]:
        with pytest.raises(InputError):
            make(damaged)


def test_every_estimator_is_tried():
    assert {type(estimator) for estimator in SMALL} | {Names} == set(BY_ALGORITHM.values())


def test_a_frame_is_predicted_without_a_warning(recwarn):
    table = pd.DataFrame(np.eye(4), columns=list("abcd"))
    model = LabelTree(1).fit(table, [["x"], ["y"], ["x"], ["y"]])
    assert model.predict(table).shape == (4, 2)
    assert not [one for one in recwarn.list if "feature names" in str(one.message)]


def test_labels_that_training_did_not_know_are_not_asked_for():
    model = LabelTree(1).fit(np.eye(2), [["x"], ["y"]])
    with pytest.raises(InputError, match=r"labels\[1\] is 2, but training knew 2 labels"):
        model.predict_top_k(np.eye(2), labels=[0, 2])


def test_numbers_that_are_too_large_are_refused():
    model = LabelTree(1).fit(np.eye(2), [["x"], ["y"]])
    with pytest.raises(InputError, match="k is 2361183241434822606848, but must be at most"):
        model.predict_top_k(np.eye(2), 2**71)
    with pytest.raises(InputError, match="random_state is .*, but must be at most 18446744073709551615"):
        LabelTree(1, random_state=2**64).fit(np.eye(2), [["x"], ["y"]])
