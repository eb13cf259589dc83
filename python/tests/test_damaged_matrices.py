"""Matrices that were changed after SciPy made them, and checked them for the last time."""

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood import LabelTree, datasets, metrics

HUGE = 1_000_000_000


def rows(format="csr", dtype=np.float32):
    """Four rows of two entries each, in a matrix of six columns."""
    dense = np.zeros((4, 6), dtype)
    for row in range(4):
        dense[row, row] = dense[row, row + 2] = 1
    return sparse.csr_array(dense).asformat(format)


def labels():
    return sparse.csr_array(np.eye(4, 3, dtype=np.int8)[[0, 1, 2, 0]])


@pytest.fixture(scope="module")
def fitted():
    return LabelTree(trees=1, n_jobs=1).fit(rows(), labels())


#: What is wrong, and what is said about it.
OFFSETS = [
    (2, HUGE, r"X\.indptr\[2\] is 1000000000, but there are 8 entries"),
    (2, -3, r"X\.indptr\[2\] is -3, but must not be below X\.indptr\[1\], which is 2"),
    (3, 1, r"X\.indptr\[3\] is 1, but must not be below X\.indptr\[2\], which is 4"),
    (0, 1, r"X\.indptr\[0\] is 1, but must be 0"),
    (4, 9, r"X\.indptr\[4\] is 9, but there are 8 entries"),
]


@pytest.mark.parametrize("at, number, message", OFFSETS)
@pytest.mark.parametrize("is_canonical", [True, False])
def test_a_wrong_offset_is_named_before_scipy_follows_it(fitted, tmp_path, at, number, message, is_canonical):
    def damaged():
        X = rows()
        if is_canonical:
            assert X.has_canonical_format
        else:
            X = sparse.csr_array((X.data, X.indices, X.indptr), X.shape)
        X.indptr[at] = number
        return X

    calls = [
        lambda: LabelTree().fit(damaged(), labels()),
        lambda: fitted.predict(damaged()),
        lambda: fitted.predict_top_k(damaged()),
        lambda: fitted.predict_scores(damaged()),
        lambda: fitted.score(damaged(), labels()),
        lambda: datasets.write(tmp_path / "a.txt", damaged(), labels()),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_offsets_too_few_or_of_another_type_are_refused(fitted):
    X = rows()
    X.indptr = X.indptr[:-1]
    with pytest.raises(ValueError, match=r"X\.indptr has 4 numbers, but must have 5"):
        fitted.predict(X)
    X.indptr = np.array([0.0, 2, 4, 6, 8])
    with pytest.raises(ValueError, match=r"X\.indptr is of type float64"):
        fitted.predict(X)
    X = rows()
    X.indices = X.indices[:-2]
    with pytest.raises(ValueError, match=r"X\.indptr\[4\] is 8, but there are 6 entries"):
        fitted.predict(X)
    X = rows()
    X.data = X.data[:-1]
    with pytest.raises(ValueError, match=r"X\.indices has 8 numbers, but X\.data has 7"):
        fitted.predict(X)


def test_wrong_arrays_are_refused_as_they_are(fitted):
    X = rows()
    with pytest.raises(ValueError, match="row|offset|entries"):
        fitted.predict_arrays(np.array([0, 2, HUGE, 6, 8], np.int32), X.indices, X.data)


@pytest.mark.parametrize("format", ["csc", "coo", "bsr"])
@pytest.mark.parametrize("number", [HUGE, -1])
def test_wrong_places_in_other_formats_are_named(fitted, format, number):
    X = rows(format)
    array = "row" if format == "coo" else "indices"
    getattr(X, array)[3] = number
    message = rf"X\.{array}\[3\] is {number}, but must be at least 0 and below"
    for call in [lambda: fitted.predict(X), lambda: LabelTree().fit(X, labels())]:
        with pytest.raises(ValueError, match=message):
            call()
    if format != "coo":
        X = rows(format)
        X.indptr[1] = number
        with pytest.raises(ValueError, match=r"X\.indptr\[1\] is "):
            fitted.predict(X)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_wrong_places_of_labels_are_named(fitted, tmp_path, format):
    def damaged():
        Y = labels().asformat(format)
        (Y.row if format == "coo" else Y.indptr)[2] = HUGE
        return Y

    calls = [
        lambda: LabelTree().fit(rows(), damaged()),
        lambda: fitted.score(rows(), damaged()),
        lambda: datasets.write(tmp_path / "a.txt", rows(), damaged()),
        lambda: metrics.precision_at_k(damaged(), fitted.predict_top_k(rows()), 1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"Y\.(indptr|row)\[2\] is 1000000000"):
            call()


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_wrong_places_of_scores_are_named(dtype):
    scores = rows(dtype=dtype)
    scores.indptr[1] = HUGE
    with pytest.raises(ValueError, match=r"Y_score\.indptr\[1\] is 1000000000"):
        metrics.precision_at_k(rows(), scores, 1)


def test_wrong_places_are_named_before_they_go_to_a_cluster(tmp_path):
    pytest.importorskip("ray")
    import labelwood.ray

    X = rows()
    X.indptr[1] = HUGE
    fitted = LabelTree(trees=1, n_jobs=1).fit(rows(), labels())
    fitted.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"X\.indptr\[1\] is 1000000000"):
        labelwood.ray.predict(tmp_path / "model", X)
