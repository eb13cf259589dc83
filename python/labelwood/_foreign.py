"""A tagger of other parts: any vectoriser with scikit-learn's contract, and any estimator after it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from ._base import Estimator
from ._errors import InputError
from ._inputs import INDICATOR, Labels, as_csr
from ._measured import refuse_wrong_threshold


class Chain:
    """A fitted vectoriser with a fitted estimator, and the names of the labels."""

    def __init__(self, vectoriser: Any, estimator: Any, classes: np.ndarray, rows: int) -> None:
        self.vectoriser = vectoriser
        self.estimator = estimator
        self.classes = classes
        self.rows = rows
        self.counts: list[int] = []

    @staticmethod
    def fit(vectoriser: Any, estimator: Any, texts: list[str], tags: list[list[str]]) -> Chain:
        """Fits copies of both."""
        for part, methods in ((vectoriser, ["fit_transform", "transform"]), (estimator, ["fit"])):
            for method in methods:
                if not hasattr(part, method):
                    raise InputError(f"{part!r} has no {method}, so that it is no part of a tagger")
        vectoriser, estimator, labels = clone(vectoriser), clone(estimator), Labels(tags)
        X = vectoriser.fit_transform(texts)
        if isinstance(estimator, Estimator):
            refuse_wrong_threshold(estimator)
            estimator.fit(X, labels.indicator, label_names=labels.names)
        else:
            # Whatever takes multi-label targets takes them dense.
            estimator.fit(X, labels.indicator.toarray())
        chain = Chain(vectoriser, estimator, np.array(labels.names or [], object), len(labels))
        chain.counts = np.bincount(labels.indices, minlength=labels.count).tolist()
        return chain

    def find(self, names: list[str]) -> list[int | None]:
        """The numbers of the labels of these names."""
        places = {name: at for at, name in enumerate(self.classes.tolist())}
        return [places.get(name) for name in names]

    def top_k(
        self, texts: list[str], k: int, beam: int | None, allowed: list[int] | None
    ) -> sparse.csr_array:
        """The best labels of each text."""
        X = self.vectoriser.transform(texts)
        if isinstance(self.estimator, Estimator):
            return self.estimator.predict_top_k(X, k, beam=beam, labels=allowed)
        if beam is not None:
            raise InputError(f"beam is {beam}, but {type(self.estimator).__name__} knows no beam")
        scores = self._scores(X)
        if allowed is not None:
            kept = np.zeros(scores.shape[1], bool)
            kept[allowed] = True
            scores = np.where(kept, scores, -np.inf)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        data = np.take_along_axis(scores, order, axis=1)
        is_there = np.isfinite(data)
        indptr = np.concatenate([[0], np.cumsum(is_there.sum(axis=1))])
        return sparse.csr_array(
            (data[is_there].astype(np.float32), order[is_there].astype(np.int32), indptr), scores.shape
        )

    def _scores(self, X: Any) -> np.ndarray:
        """The scores of all labels; those that an estimator does not have are what it predicts."""
        if hasattr(self.estimator, "predict_proba"):
            found = self.estimator.predict_proba(X)
            if isinstance(found, list):
                # One array for each label, whose last column is for it being there.
                found = np.column_stack([_last(one, at, self.estimator) for at, one in enumerate(found)])
            return _dense(found)
        if hasattr(self.estimator, "decision_function"):
            return _dense(self.estimator.decision_function(X))
        scores = _dense(self.estimator.predict(X)).astype(np.float32)
        return np.where(scores > 0, scores, -np.inf)

    def indicator(self, texts: list[str]) -> sparse.csr_array:
        """What the estimator itself predicts."""
        found = self.estimator.predict(self.vectoriser.transform(texts))
        return sparse.csr_array(as_csr(found)).astype(INDICATOR)


def _dense(found: Any) -> np.ndarray:
    found = found.toarray() if sparse.issparse(found) else np.asarray(found)
    return found if found.ndim == 2 else found.reshape(-1, 1)


def _last(found: np.ndarray, label: int, estimator: Any) -> np.ndarray:
    """How likely a label is; one that all rows or none of them had has a single column."""
    if found.shape[1] > 1:
        return found[:, 1]
    classes = np.asarray(estimator.classes_[label])
    return np.full(len(found), float(classes[0] == 1))
