"""How good predictions are: P@k, recall@k, nDCG@k, their propensity-scored forms and coverage@k.

The true labels are a sparse or dense indicator, or lists of the numbers of labels, as the estimators
take them. The scores are a sparse matrix as ``predict_top_k`` gives it, whose rows name only the
labels that it has entries for, or anything with a score for each label, zeros and negative ones
included. What ``predict_top_k`` of a model with ``favour`` gives is taken in the order of its
entries, as the command does it; after any change to the matrix, scores alone tell the order.

>>> from labelwood import metrics
>>> truth = [[1, 0, 1]]
>>> scores = [[0.1, 0.2, 0.9]]
>>> metrics.precision_at_k(truth, scores, k=1), metrics.precision_at_k(truth, scores, k=2)
(1.0, 0.5)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import _native
from ._errors import InputError
from ._inputs import Labels, LabelSets, Matrix, features, real, refuse_impossible, whole

__all__ = [
    "coverage_at_k",
    "evaluate",
    "inverse_propensity",
    "ndcg_at_k",
    "precision_at_k",
    "psndcg_at_k",
    "psp_at_k",
    "r_precision_at_k",
    "recall_at_k",
]


def evaluate(
    Y_true: LabelSets,
    Y_score: Matrix,
    k: Iterable[int] = (1, 3, 5),
    *,
    Y_train: LabelSets | None = None,
    train_counts: Iterable[int] | None = None,
    train_rows: int | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    psndcg: str = "matlab",
) -> dict[str, float]:
    """All figures by name: ``p@1``, ``recall@1``, ``rprecision@1``, ``ndcg@1``, ``psp@1``, ...

    What training saw tells propensities and the slices ``head_p@1``, ``torso_recall@5`` and so
    on: the labels of the training rows, or how many of them have each label and how many there
    are. Without it, all labels count as never seen.

    Parameters
    ----------
    Y_true : indicator of shape (rows, labels), or lists of numbers of labels
    Y_score : sparse or dense scores of shape (rows, labels)
        In a sparse matrix, a label without an entry is not predicted. In a dense one, all are,
        those with a score of 0 included; of equal scores, the first counts as the better.
    k : iterable of int
        The cuts.
    Y_train : as ``Y_true``, optional
    train_counts : array of shape (labels,), optional
        How many training rows have each label, with ``train_rows``.
    train_rows : int, optional
    propensity : (float, float), default=(0.55, 1.5)
        The constants A and B of the propensity model of Jain et al.
    psndcg : {"matlab", "pyxclib"}, default="matlab"
        Which of the two definitions of PSnDCG@k.
    """
    if psndcg not in ("matlab", "pyxclib"):
        raise InputError(f"psndcg is {psndcg!r}, but must be matlab or pyxclib")
    truth, scores = _labels("Y_true", Y_true), _scores(Y_score)
    if Y_train is not None:
        training = _labels("Y_train", Y_train)
        train_counts = np.bincount(training.indices, minlength=training.count)
        train_rows = len(training)
    counts = [whole(f"train_counts[{at}]", count)
              for at, count in enumerate([] if train_counts is None else train_counts)]
    width = max(truth.count, scores[3], len(counts))
    indptr, indices, _ = truth.arrays
    return _native.evaluate(
        (indptr, indices, width), scores, whole("train_rows", train_rows or 0), counts,
        [whole("k", cut, least=1) for cut in k], _constants(propensity), psndcg == "pyxclib",
    )


def _labels(name: str, Y) -> Labels:
    labels = Labels(Y)
    if labels.names is not None and not labels.has_columns:
        raise InputError(f"{name} has names, but must have the numbers of the columns of scores")
    return labels


def _scores(Y):
    """Scores as the native part takes them; of dense ones, every one is an entry."""
    if sparse.issparse(Y):
        refuse_impossible(Y, "Y_score")
        Y = _by_place(Y)
        # Large whole numbers are not the same in single precision.
        indptr, indices, data, columns = features(Y.astype(np.float64) if Y.dtype.kind in "ui" else Y)
        return indptr, indices, _single(indptr, data), columns
    Y = np.asarray(Y)
    if Y.ndim != 2:
        raise InputError(f"Y_score has {Y.ndim} dimensions, but must have a row of scores for each row")
    if Y.dtype.kind not in "buif":
        raise InputError(f"Y_score has values of type {Y.dtype}, but must have numbers")
    rows, columns = Y.shape
    indptr = np.arange(rows + 1, dtype=np.int64) * columns
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    return indptr, indices, _single(indptr, np.ascontiguousarray(Y).ravel()), columns


def _by_place(Y):
    """A matrix whose entries have an order of their own, with scores that tell it."""
    order = getattr(Y, "best_first", None)
    if order is None or not np.array_equal(order, Y.indices):
        return Y
    places = np.arange(Y.nnz) - np.repeat(Y.indptr[:-1], np.diff(Y.indptr))
    return sparse.csr_array((-places.astype(np.float32), order, Y.indptr.copy()), Y.shape)


def _single(indptr: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Scores in single precision, as the native part takes them, in the same order in each row."""
    with np.errstate(over="ignore"):
        # Adding nothing makes 0 of -0.
        single = data.astype(np.float32) + np.float32(0)
    if np.array_equal(single, data) or not np.isfinite(data).all():
        return single
    for start, end in zip(indptr, indptr[1:]):
        single[start:end] = np.unique(data[start:end], return_inverse=True)[1]
    return single


def _constants(propensity) -> tuple[float, float]:
    try:
        a, b = propensity
    except (TypeError, ValueError):
        raise InputError(f"propensity is {propensity!r}, but must be two numbers") from None
    return real("propensity[0]", a), real("propensity[1]", b)


def precision_at_k(Y_true: LabelSets, Y_score: Matrix, k: int = 5) -> float:
    """The mean share of the best ``k`` labels that are right."""
    return evaluate(Y_true, Y_score, [k])[f"p@{k}"]


def recall_at_k(Y_true: LabelSets, Y_score: Matrix, k: int = 5) -> float:
    """The mean share of the right labels that are among the best ``k``."""
    return evaluate(Y_true, Y_score, [k])[f"recall@{k}"]


def r_precision_at_k(Y_true: LabelSets, Y_score: Matrix, k: int = 5) -> float:
    """As :func:`precision_at_k`, of as many labels as there are right ones, if these are fewer."""
    return evaluate(Y_true, Y_score, [k])[f"rprecision@{k}"]


def ndcg_at_k(Y_true: LabelSets, Y_score: Matrix, k: int = 5) -> float:
    """The mean normalised discounted cumulative gain of the best ``k`` labels."""
    return evaluate(Y_true, Y_score, [k])[f"ndcg@{k}"]


def coverage_at_k(Y_true: LabelSets, Y_score: Matrix, k: int = 5) -> float:
    """The share of all true labels that are predicted rightly at least once."""
    return evaluate(Y_true, Y_score, [k])[f"coverage@{k}"]


def psp_at_k(
    Y_true: LabelSets,
    Y_score: Matrix,
    Y_train: LabelSets,
    k: int = 5,
    propensity: tuple[float, float] = (0.55, 1.5),
) -> float:
    """Propensity-scored precision: rare labels count more."""
    return evaluate(Y_true, Y_score, [k], Y_train=Y_train, propensity=propensity)[f"psp@{k}"]


def psndcg_at_k(
    Y_true: LabelSets,
    Y_score: Matrix,
    Y_train: LabelSets,
    k: int = 5,
    propensity: tuple[float, float] = (0.55, 1.5),
    psndcg: str = "matlab",
) -> float:
    """Propensity-scored nDCG."""
    figures = evaluate(
        Y_true, Y_score, [k], Y_train=Y_train, propensity=propensity, psndcg=psndcg
    )
    return figures[f"psndcg@{k}"]


def inverse_propensity(
    Y_train: LabelSets, propensity: tuple[float, float] = (0.55, 1.5)
) -> NDArray[np.float64]:
    """How much each label counts in propensity-scored figures."""
    a, b = _constants(propensity)
    if not (a >= 0 and b > 0):
        raise InputError(
            f"propensity constants a={a}, b={b}: both must be finite, a at least 0 and b above 0"
        )
    labels = _labels("Y_train", Y_train)
    counts = np.bincount(labels.indices, minlength=labels.count)
    return np.array(_native.inverse_propensity(len(labels), counts.tolist(), a, b))
