"""How good an estimator is: what those of rows and those of texts have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._errors import InputError
from ._inputs import Labels, LabelSets, real, weights, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: The threshold where training learned none, for lack of rows that could be held out.
_OTHERWISE = 0.5


class Measured:
    """Of an estimator that knows how well it does."""

    model_: _native.Model
    classes_: NDArray[Any]
    threshold: Any

    def predict_top_k(self, X: Any, k: int = 5) -> sparse.csr_array:
        """The best ``k`` labels of each row with their scores."""
        raise NotImplementedError

    def _looked_at(self, X: Any, k: int) -> sparse.csr_array:
        """The best ``k`` labels of each row, and all others that reach the threshold."""
        raise NotImplementedError

    @property
    def threshold_(self) -> float:
        """The score from which a label is predicted: as it was set, or as training learned it."""
        check_is_fitted(self)
        if self.threshold != "auto":
            return threshold(self.threshold)
        learned = self.model_.threshold
        return _OTHERWISE if learned is None else learned

    def evaluate(
        self,
        X: Any,
        y: LabelSets,
        k: int | Iterable[int] = (1, 3, 5),
        *,
        label_names: Iterable[str] | None = None,
        propensity: tuple[float, float] = (0.55, 1.5),
        psndcg: str = "matlab",
    ) -> dict[str, float]:
        """All figures of :func:`labelwood.metrics.evaluate`, by what training saw, and F1 at the threshold.

        Labels are given as in :meth:`fit`. Names, in lists, as the columns of a DataFrame or as
        ``label_names``, are those of training in any order; those that training did not know count as
        labels that were missed.
        """
        from .metrics import cuts, figures

        ks, truth = cuts(k), self._truth(X, y, label_names)
        scores = self._looked_at(X, max([*ks, _ENOUGH]))
        return figures(
            truth, scores, ks, self._seen(), propensity, psndcg, self.threshold_
        )

    def _seen(self) -> tuple[int, list[int]] | None:
        """How many rows training had, and how many of them have each label."""
        manifest = json.loads(self.model_.manifest)
        return manifest["instances"], self.model_.label_counts.tolist()

    def score(
        self,
        X: Any,
        y: LabelSets,
        k: int = 1,
        *,
        label_names: Iterable[str] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Precision at ``k``: the share of the best ``k`` labels that are right.

        Labels are given as in :meth:`evaluate`; those that training did not know are never right. With
        ``sample_weight`` it is the mean over the rows by their weights.
        """
        from .metrics import figures

        truth = self._truth(X, y, label_names)
        scores = self.predict_top_k(X, whole("k", k, least=1))
        if sample_weight is None:
            return figures(truth, scores, [k])[f"p@{k}"]
        named = sparse.csr_array((np.ones(scores.nnz), scores.indices, scores.indptr), scores.shape)
        right = named.multiply(truth[:, : scores.shape[1]]).sum(axis=1)
        return float(np.average(right / k, weights=weights(sample_weight, truth.shape[0])))

    def _truth(self, X: Any, y: LabelSets, label_names: Iterable[str] | None) -> sparse.csr_array:
        """The labels of rows, or texts, of which there must be as many."""
        truth = self._known(y, label_names)
        is_counted = isinstance(X, Sized) and not isinstance(X, str)
        rows = X.shape[0] if hasattr(X, "shape") else len(X) if is_counted else truth.shape[0]
        if rows != truth.shape[0]:
            raise InputError(
                f"{rows} rows or texts, but the labels of {truth.shape[0]}: give each its labels"
            )
        return truth

    def _known(self, Y: LabelSets, label_names: Iterable[str] | None = None) -> sparse.csr_array:
        """Labels as an indicator with the columns of training; unknown names come after them."""
        check_is_fitted(self)
        labels, count = Labels(Y, label_names), len(self.classes_)
        names = self._lines()
        if labels.names is not None and names is not None:
            if labels.names == names:
                return labels.indicator
            found = self._find([line.partition("\t")[0] for line in labels.names])
            unknown = iter(range(count, count + len(found)))
            places = [next(unknown) if place is None else place for place in found]
            return labels.placed(places, count + sum(place >= count for place in places))
        if labels.has_columns and labels.count != count:
            raise InputError(
                f"Y has {labels.count} columns, but training knew {count} labels: give a column for "
                "each of them, or lists of labels"
            )
        if labels.names is not None and not labels.has_columns:
            raise InputError("Y has names of labels, but training knew only numbers: give numbers")
        return labels.indicator

    def _lines(self) -> list[str] | None:
        return self.model_.label_lines

    def _find(self, names: list[str]) -> list[int | None]:
        return self.model_.find_labels(names)

    def _allowed(self, labels: Iterable[int] | Iterable[str] | None) -> list[int] | None:
        """The numbers of the labels that may be named."""
        if labels is None:
            return None
        if isinstance(labels, (str, bytes)):
            raise InputError(f"labels is {labels!r}, but must be a list of names or numbers")
        return [self._label(f"labels[{at}]", label) for at, label in enumerate(labels)]

    def _label(self, name: str, label) -> int:
        if isinstance(label, str):
            (found,) = self._find([label])
            if found is None:
                raise InputError(f"{name} is {label!r}, which is no label that training knew")
            return found
        if whole(name, label) >= len(self.classes_):
            raise InputError(
                f"{name} is {label}, but training knew {len(self.classes_)} labels, counted from 0"
            )
        return int(label)


#: Labels of each row that are looked at where a threshold decides, not a cut.
_ENOUGH = 30


def threshold(value) -> float:
    """A score, which lies between 0 and 1."""
    if not isinstance(value, str) and 0 <= real("threshold", value) <= 1:
        return float(value)
    raise InputError(f'threshold is {value!r}, but must be "auto" or a score from 0 to 1')


def refuse_wrong_threshold(estimator) -> bool:
    """Checks ``threshold`` and ``min_labels``; whether the threshold is to be learned."""
    whole("min_labels", estimator.min_labels)
    if isinstance(estimator.threshold, str) and estimator.threshold == "auto":
        return True
    threshold(estimator.threshold)
    return False
