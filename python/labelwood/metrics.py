"""How good predictions are: P@k, recall@k, nDCG@k, their propensity-scored forms, coverage@k and F1.

The true labels are a sparse or dense indicator, or lists of the numbers of labels, as the estimators
take them; with ``classes``, the names of the scores' columns, also lists of names. Those that no
column has count as labels that were missed. The scores are a sparse matrix as ``predict_top_k`` gives it, whose rows name only the
labels that it has entries for, or anything with a score for each label, zeros and negative ones
included. What ``predict_top_k`` of a model with ``favour`` gives is taken in the order of its
entries, as the command does it; after any change to the matrix, scores alone tell the order.

>>> from labelwood import metrics
>>> truth = [[1, 0, 1]]
>>> scores = [[0.1, 0.2, 0.9]]
>>> metrics.precision_at_k(truth, scores, k=1), metrics.precision_at_k(truth, scores, k=2)
(1.0, 0.5)
>>> metrics.recall_at_k([["maps", "cats"]], scores, k=1, classes=["birds", "owls", "maps"])
0.5
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

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
    "scorer",
]


def evaluate(
    Y_true: LabelSets,
    Y_score: Matrix,
    k: int | Iterable[int] = (1, 3, 5),
    *,
    classes: Iterable[str] | None = None,
    label_names: Iterable[str] | None = None,
    Y_train: LabelSets | None = None,
    train_counts: Iterable[int] | None = None,
    train_rows: int | None = None,
    threshold: float | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    psndcg: str = "matlab",
) -> dict[str, float]:
    """All figures by name: ``p@1``, ``recall@1``, ``rprecision@1``, ``ndcg@1``, ``psp@1``, ...

    What training saw tells propensities and the slices ``head_p@1``, ``torso_recall@5`` and so
    on: the labels of the training rows, or how many of them have each label and how many there
    are. Without it, there are no such figures.

    Parameters
    ----------
    Y_true : indicator of shape (rows, labels), or lists of numbers or names of labels
    Y_score : sparse or dense scores of shape (rows, labels)
        In a sparse matrix, a label without an entry is not predicted. In a dense one, all are,
        those with a score of 0 included; of equal scores, the first counts as the better.
    k : int or iterable of int
        The cuts.
    classes : iterable of str, optional
        What the columns of ``Y_score`` are called, such as a model's ``classes_``: labels are then
        found by name, in lists, as the columns of a DataFrame or as ``label_names``.
    label_names : iterable of str, optional
        What the columns or numbers of ``Y_true`` are called, if these are others.
    Y_train : as ``Y_true``, optional
    train_counts : array of shape (labels,), optional
        How many training rows have each label, with ``train_rows``.
    train_rows : int, optional
    threshold : float, optional
        Adds ``precision``, ``recall``, ``micro_f1``, ``macro_f1``, ``sample_f1``, ``labels_per_row`` and
        ``empty_rows`` of all labels with at least this score.
    propensity : (float, float), default=(0.55, 1.5)
        The constants A and B of the propensity model of Jain et al.
    psndcg : {"matlab", "pyxclib"}, default="matlab"
        Which of the two definitions of PSnDCG@k.
    """
    scores = _scores(Y_score)
    columns = _Columns(classes, scores[3])
    truth = columns.place("Y_true", Y_true, label_names)
    if Y_train is not None:
        seen = columns.place("Y_train", Y_train, None)
        train_counts = np.bincount(seen.indices, minlength=seen.shape[1]).tolist()
        train_rows = seen.shape[0]
    training = None
    if train_counts is not None:
        counts = [whole(f"train_counts[{at}]", count) for at, count in enumerate(train_counts)]
        if Y_train is None and len(counts) != scores[3]:
            raise InputError(
                f"train_counts has {len(counts)} numbers, but Y_score has {scores[3]} columns"
            )
        if train_rows is None:
            raise InputError("train_counts needs train_rows, the number of training rows")
        training = whole("train_rows", train_rows), counts
    return _figures(truth, Y_score, scores, cuts(k), training, propensity, psndcg, threshold)


def figures(
    truth: sparse.csr_array,
    scores: sparse.csr_array,
    k: list[int],
    training: tuple[int, list[int]] | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    psndcg: str = "matlab",
    threshold: float | None = None,
) -> dict[str, float]:
    """The same of an indicator whose first columns are those of the scores."""
    return _figures(truth, scores, _scores(scores), k, training, propensity, psndcg, threshold)


def _figures(
    truth, Y_score, scores, k, training, propensity, psndcg, threshold
) -> dict[str, float]:
    if psndcg not in ("matlab", "pyxclib"):
        raise InputError(f"psndcg is {psndcg!r}, but must be matlab or pyxclib")
    rows, counts = (0, []) if training is None else training
    width = max(truth.shape[1], scores[3], len(counts))
    least = None if threshold is None else real("threshold", threshold)

    def measure(scores):
        return _native.evaluate(
            (truth.indptr, truth.indices, width), scores, rows, counts, k, _constants(propensity),
            psndcg == "pyxclib", least,
        )

    found = measure(scores)
    if least is not None and hasattr(Y_score, "best_first"):
        # The scores reach a threshold, not the places that stand for them.
        reaching = measure(_scores(sparse.csr_array(Y_score)))
        found.update({name: reaching[name] for name in _AT_THRESHOLD})
    if training is not None:
        return found
    return {name: value for name, value in found.items() if not name.startswith(_BY_TRAINING)}


#: How the names of figures begin that what training saw tells.
_BY_TRAINING = ("psp@", "psndcg@", "head_", "torso_", "tail_")
#: The figures of labels that reach a threshold.
_AT_THRESHOLD = (
    "precision", "recall", "micro_f1", "macro_f1", "sample_f1", "labels_per_row", "empty_rows",
)


def cuts(k: int | Iterable[int]) -> list[int]:
    """The cuts, one or several."""
    return [whole("k", cut, least=1) for cut in (k if isinstance(k, Iterable) else [k])]


class _Columns:
    """The columns of scores, and after them the labels that have none."""

    def __init__(self, classes: Iterable[str] | None, width: int) -> None:
        self.width = width
        self.places: dict[str, int] | None = None
        if classes is None:
            return
        names = [str(name) for name in classes]
        if len(names) != width:
            raise InputError(f"classes has {len(names)} names, but Y_score has {width} columns")
        # Of labels that share a name, the first is meant.
        self.places = {name: at for at, name in reversed(list(enumerate(names)))}
        self.next = width

    def place(self, name: str, Y: LabelSets, label_names: Iterable[str] | None) -> sparse.csr_array:
        """Labels as an indicator."""
        labels = Labels(Y, label_names)
        if labels.names is not None and not labels.has_columns and self.places is None:
            raise InputError(
                f"{name} has names, but must have the numbers of the columns of scores: say what these are "
                "called with classes=model.classes_"
            )
        if labels.names is None or self.places is None:
            if labels.has_columns and labels.count != self.width:
                raise InputError(
                    f"{name} has {labels.count} columns, but Y_score has {self.width}: give a column for "
                    "each label, or names with classes="
                )
            return labels.indicator
        codes = [line.partition("\t")[0] for line in labels.names]
        for code in codes:
            if code not in self.places:
                self.places[code] = self.next
                self.next += 1
        return labels.placed([self.places[code] for code in codes], self.next)


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


def precision_at_k(
    Y_true: LabelSets, Y_score: Matrix, k: int = 5, *, classes: Iterable[str] | None = None
) -> float:
    """The mean share of the best ``k`` labels that are right."""
    return evaluate(Y_true, Y_score, k, classes=classes)[f"p@{k}"]


def recall_at_k(
    Y_true: LabelSets, Y_score: Matrix, k: int = 5, *, classes: Iterable[str] | None = None
) -> float:
    """The mean share of the right labels that are among the best ``k``."""
    return evaluate(Y_true, Y_score, k, classes=classes)[f"recall@{k}"]


def r_precision_at_k(
    Y_true: LabelSets, Y_score: Matrix, k: int = 5, *, classes: Iterable[str] | None = None
) -> float:
    """As :func:`precision_at_k`, of as many labels as there are right ones, if these are fewer."""
    return evaluate(Y_true, Y_score, k, classes=classes)[f"rprecision@{k}"]


def ndcg_at_k(
    Y_true: LabelSets, Y_score: Matrix, k: int = 5, *, classes: Iterable[str] | None = None
) -> float:
    """The mean normalised discounted cumulative gain of the best ``k`` labels."""
    return evaluate(Y_true, Y_score, k, classes=classes)[f"ndcg@{k}"]


def coverage_at_k(
    Y_true: LabelSets, Y_score: Matrix, k: int = 5, *, classes: Iterable[str] | None = None
) -> float:
    """The share of all true labels that are predicted rightly at least once."""
    return evaluate(Y_true, Y_score, k, classes=classes)[f"coverage@{k}"]


def psp_at_k(
    Y_true: LabelSets,
    Y_score: Matrix,
    Y_train: LabelSets,
    k: int = 5,
    propensity: tuple[float, float] = (0.55, 1.5),
    *,
    classes: Iterable[str] | None = None,
) -> float:
    """Propensity-scored precision: rare labels count more."""
    figures = evaluate(
        Y_true, Y_score, k, classes=classes, Y_train=Y_train, propensity=propensity
    )
    return figures[f"psp@{k}"]


def psndcg_at_k(
    Y_true: LabelSets,
    Y_score: Matrix,
    Y_train: LabelSets,
    k: int = 5,
    propensity: tuple[float, float] = (0.55, 1.5),
    psndcg: str = "matlab",
    *,
    classes: Iterable[str] | None = None,
) -> float:
    """Propensity-scored nDCG."""
    figures = evaluate(
        Y_true, Y_score, k, classes=classes, Y_train=Y_train, propensity=propensity, psndcg=psndcg
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


class Scorer:
    """A figure of an estimator, for scikit-learn's ``scoring``; :func:`scorer` makes it."""

    def __init__(self, figure: str) -> None:
        self.figure = figure

    def __call__(self, estimator: Any, X: Any, y: LabelSets) -> float:
        """The figure for rows, or texts, and their labels."""
        while isinstance(estimator, Pipeline):
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        _, _, cut = self.figure.partition("@")
        figures = estimator.evaluate(X, y, int(cut) if cut.isdecimal() else 1)
        if self.figure not in figures:
            raise InputError(f"figure is {self.figure!r}, but must be one of {', '.join(figures)}")
        return figures[self.figure]

    def __repr__(self) -> str:
        return f"scorer({self.figure!r})"


def scorer(figure: str = "ndcg@5") -> Scorer:
    """What ``GridSearchCV`` and ``cross_val_score`` take as ``scoring``: a figure of :func:`evaluate`.

    It knows what the model was trained on, so that ``"psp@5"`` and ``"tail_p@5"`` are figures, too, as are
    ``"micro_f1"`` and the others at the estimator's threshold. The last step of a pipeline is measured.

    >>> from labelwood import OneVsRest, datasets, metrics
    >>> from sklearn.model_selection import cross_val_score
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=200)
    >>> len(cross_val_score(OneVsRest(), X, Y.toarray(), scoring=metrics.scorer("psp@3"), cv=2))
    2
    """
    return Scorer(figure)
