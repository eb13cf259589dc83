"""The figures, against values worked out by hand and by scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score

from labelwood import InputError, LabelTree, datasets, metrics

TRUTH = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
SCORES = np.array([[0.9, 0.5, 0.4, 0.0], [0.1, 0.2, 0.3, 0.0], [0.5, 0.0, 0.0, 0.0]])


def test_figures_are_those_worked_out_by_hand():
    assert metrics.precision_at_k(TRUTH, SCORES, 1) == pytest.approx(1 / 3)
    assert metrics.precision_at_k(TRUTH, SCORES, 2) == pytest.approx((1 / 2 + 1 / 2) / 3)
    assert metrics.recall_at_k(TRUTH, SCORES, 2) == pytest.approx((1 / 2 + 1) / 3)
    assert metrics.r_precision_at_k(TRUTH, SCORES, 2) == pytest.approx((1 / 2 + 1) / 3)
    assert metrics.coverage_at_k(TRUTH, SCORES, 2) == pytest.approx(2 / 3)
    ndcg = (1 / (1 + 1 / np.log2(3)) + 1 / np.log2(3)) / 3
    assert metrics.ndcg_at_k(TRUTH, SCORES, 2) == pytest.approx(ndcg)


def test_sparse_and_dense_input_give_the_same():
    scores = SCORES + 0.01
    expected = metrics.evaluate(TRUTH, scores, [1, 3], Y_train=TRUTH)
    forms = (sparse.csr_array, sparse.csc_matrix, sparse.coo_array, np.asarray, np.ndarray.tolist,
             np.asfortranarray, pd.DataFrame)
    for form in forms:
        assert metrics.evaluate(form(TRUTH), form(scores), [1, 3], Y_train=form(TRUTH)) == expected
    counts = metrics.evaluate(
        TRUTH, scores, [1, 3], train_counts=TRUTH.sum(axis=0), train_rows=len(TRUTH)
    )
    assert counts == expected


def test_zeros_are_scores_in_dense_input_and_none_in_sparse_input():
    truth, scores = [[1, 0, 0]], [[0.0, -1.0, -2.0]]
    assert metrics.precision_at_k(truth, scores, 1) == metrics.recall_at_k(truth, scores, 1) == 1
    assert metrics.precision_at_k(truth, sparse.csr_array(scores), 1) == 0
    margins = np.random.default_rng(0).normal(size=(20, 6)).round(1)
    right = (margins == margins.max(axis=1, keepdims=True)) & (np.cumsum(
        margins == margins.max(axis=1, keepdims=True), axis=1) == 1)
    for shift in (0, margins.max(), -margins.max()):
        assert metrics.precision_at_k(right, margins - shift, 1) == 1


def test_ndcg_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    truth = (random.random((50, 20)) < 0.2).astype(int)
    truth[:, 0] = 1
    scores = random.random((50, 20))
    for k in (1, 3, 10):
        assert metrics.ndcg_at_k(truth, scores, k) == pytest.approx(ndcg_score(truth, scores, k=k))


def test_rare_labels_count_more_in_propensity_scored_figures():
    train = np.zeros((100, 2), int)
    train[:, 0] = 1
    train[0, 1] = 1
    weights = metrics.inverse_propensity(train)
    c = (np.log(100) - 1) * 2.5**0.55
    assert weights == pytest.approx([1 + c * 101.5**-0.55, 1 + c * 2.5**-0.55])
    truth, scores = [[1, 1]], [[1.0, 0.5]]
    assert metrics.psp_at_k(truth, scores, train, k=1) == pytest.approx(weights[0] / weights[1])
    assert metrics.psp_at_k(truth, scores, train, k=2) == pytest.approx(1)
    assert metrics.psndcg_at_k(truth, scores, train, k=2) < 1


def test_wrong_input_is_named():
    with pytest.raises(InputError, match="3 rows of predictions for 2 rows of data"):
        metrics.precision_at_k(TRUTH[:2], SCORES)
    with pytest.raises(InputError, match="the cuts k must be"):
        metrics.evaluate(TRUTH, SCORES, [])
    with pytest.raises(InputError, match="k is 2.5, but must be a whole number of at least 1"):
        metrics.precision_at_k(TRUTH, SCORES, 2.5)
    with pytest.raises(InputError, match="Y_score has 1 dimensions"):
        metrics.precision_at_k(TRUTH, SCORES[0])
    with pytest.raises(InputError, match="Y_score has values of type"):
        metrics.precision_at_k(TRUTH, SCORES.astype(str))
    with pytest.raises(InputError, match="a value is not a finite number"):
        metrics.precision_at_k(TRUTH, SCORES * np.nan)
    with pytest.raises(InputError, match="propensity is 3, but must be two numbers"):
        metrics.inverse_propensity(TRUTH, 3)
    with pytest.raises(InputError, match="psndcg is 'other'"):
        metrics.evaluate(TRUTH, SCORES, psndcg="other")
    with pytest.raises(InputError, match="propensity constants a=-1"):
        metrics.inverse_propensity(TRUTH, (-1, 1))


def test_what_a_model_that_favours_the_tail_says_is_taken_in_its_order():
    X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    model = LabelTree(1, favour="tail").fit(X[:200], Y[:200])
    scores = model.predict_top_k(X[200:], 5)
    assert any((np.diff(row) > 0).any() for row in np.split(scores.data, scores.indptr[1:-1]))
    for k in (1, 3, 5):
        assert metrics.precision_at_k(Y[200:], scores, k) == model.score(X[200:], Y[200:], k)
    # Once entries are moved, scores are all that there is.
    changed, alone = scores.copy(), scores.copy()
    scores.sort_indices()
    changed.sort_indices()
    assert metrics.evaluate(Y[200:], scores) == metrics.evaluate(Y[200:], changed)
    assert metrics.evaluate(Y[200:], scores) == metrics.evaluate(Y[200:], alone)


@pytest.mark.parametrize(
    ("truth", "scores"),
    [
        ([[0, 1, 0]], [[1 - 1e-9, 1 - 1e-10, 0.0]]),
        ([[0, 1]], [[2**24, 2**24 + 1]]),
        ([[0, 1]], [[1e300, 2e300]]),
        ([[1, 0, 0]], [[-0.0, 0.0, -1.0]]),
        ([[1, 0, 0]], [[1e-300, 1e-300, -1.0]]),
    ],
)
def test_scores_are_compared_as_they_are(truth, scores):
    assert metrics.precision_at_k(truth, scores, 1) == 1
    as_sparse = sparse.csr_array(np.array(scores))
    if as_sparse.nnz == np.size(scores):
        assert metrics.precision_at_k(truth, as_sparse, 1) == 1
