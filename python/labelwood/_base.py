"""What all estimators share."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, overload

# Before what is imported from scikit-learn, for which it may be too old.
from . import _versions  # isort: skip  # noqa: F401

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _native
from ._errors import InputError
from ._inputs import (
    INDICATOR,
    MOST_SEED,
    Labels,
    LabelSets,
    Matrix,
    as_json,
    bounds,
    features,
    flag,
    of_dataset,
    refuse_impossible,
    refuse_others,
    threads,
    whole,
)
from ._measured import Measured, refuse_wrong_threshold
from ._mixins import WithNames, all_or_nothing, extended, updated_into
from ._progress import Callback, following

if TYPE_CHECKING:
    from typing_extensions import Self

    from .datasets import Dataset

#: How many labels of a row have a score, at most, unless a number is given. Not fewer than the
#: library ranks anew where some labels are favoured: those are always the labels of the best scores.
MOST = 100
#: Parameters of the constructor that are no settings of the algorithm.
_PLAIN = (
    "calibrate", "favour", "random_state", "threshold", "min_labels", "n_jobs", "verbose",
)
#: The most values of a dense answer: a gigabyte.
_MOST_DENSE = 1 << 28


#: The algorithm, its settings as JSON, whether it is calibrated, which labels it favours, whether it learns
#: a threshold, and whether the model holds its rows.
Learner = tuple[str, str, bool, str, bool, bool]


def _gives_probabilities(estimator: Any) -> bool:
    """Whether there are probabilities; else the reason, as scikit-learn expects it."""
    model = getattr(estimator, "model_", None)
    asked_for = getattr(estimator, "calibrate", True)
    name = type(estimator).__name__
    if model is not None and len(estimator.classes_) == 1:
        raise AttributeError("of a single label scikit-learn expects two columns: take predict_scores")
    if asked_for if model is None else model.gives_probabilities:
        return True
    raise AttributeError(f"the scores are no probabilities: take {name}(calibrate=True), or a Grove")


def _can_be_updated(estimator: Any) -> bool:
    """Whether rows can be added to what is fitted, or will be; else the reason."""
    updates = _native.updates(estimator.algorithm)
    model = getattr(estimator, "model_", None)
    if updates == "always" or (updates == "with rows" and (model is None or holds_rows(model))):
        return True
    name = type(estimator).__name__
    if updates == "never":
        raise AttributeError(f"a {name} cannot be updated: fit it again with all rows")
    raise AttributeError(f"this {name} does not hold its rows: fit it with keep_rows=True")


@functools.lru_cache
def _empty_row(columns: int) -> sparse.csr_array:
    return sparse.csr_array((1, columns), dtype=np.float32)


class Estimator(WithNames, Measured, BaseEstimator):
    """An algorithm over rows of features. Its settings are those of the command."""

    algorithm: ClassVar[str]
    random_state: Any
    favour: Any
    min_labels: int
    n_jobs: int | None
    verbose: int
    #: Settings that have one possible value, and are not shown.
    _fixed: ClassVar[dict[str, Any]] = {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        # Not `estimator_type = "classifier"`: scikit-learn means classes that exclude each other.
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        return tags

    @classmethod
    def presets(cls) -> list[str]:
        """The names of the presets."""
        return _native.presets(cls.algorithm)

    @classmethod
    def preset(cls, name: str, **others: Any) -> Self:
        """An estimator with the settings of a preset, and ``others``."""
        return cls._with_settings(json.loads(_native.preset(cls.algorithm, name)), **others)

    @classmethod
    def _with_settings(cls, settings: dict[str, Any], **others: Any) -> Self:
        seed = settings.pop("seed")
        settings = {name: _shortest(settings[name]) for name in settings if name not in cls._fixed}
        return cls(**{"random_state": seed, **settings, **others})

    def _learner(self, *, keep_rows: bool = False, is_limited: bool = False) -> Learner:
        """What is learned. Within limits there is no time for a threshold."""
        calibrate = flag("calibrate", getattr(self, "calibrate", False))
        learns_threshold = refuse_wrong_threshold(self) and not is_limited
        settings, favour = self._settings(), str(self.favour)
        return self.algorithm, settings, calibrate, favour, learns_threshold, keep_rows

    def _settings(self) -> str:
        settings = {name: value for name, value in self.get_params(deep=False).items()
                    if name not in _PLAIN}
        return as_json({**settings, **self._fixed, "seed": _seed(self.random_state)})

    @overload
    def fit(
        self,
        X: Dataset,
        y: None = ...,
        *,
        label_names: None = ...,
        keep_rows: bool = ...,
        budget: float | None = ...,
        max_model: int | None = ...,
        folder: str | os.PathLike[str] | None = ...,
        overwrite: bool = ...,
        progress: Callback | None = ...,
    ) -> Self: ...

    @overload
    def fit(
        self,
        X: Matrix,
        y: LabelSets,
        *,
        label_names: Iterable[str] | None = ...,
        keep_rows: bool = ...,
        budget: float | None = ...,
        max_model: int | None = ...,
        folder: str | os.PathLike[str] | None = ...,
        overwrite: bool = ...,
        progress: Callback | None = ...,
    ) -> Self: ...

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        label_names: Iterable[str] | None = None,
        keep_rows: bool = False,
        budget: float | None = None,
        max_model: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: Callback | None = None,
        **others: Any,
    ) -> Self:
        """Learns from rows and their labels.

        There is no ``sample_weight``: all rows weigh the same, and one that is to weigh more is given
        several times.

        Parameters
        ----------
        X : sparse matrix, array or DataFrame of shape (rows, features), or Dataset
            CSR with 32-bit indices and values is used where it lies; everything else is copied. What
            :func:`labelwood.datasets.read` gave has the labels, too.
        y : sparse or dense indicator of shape (rows, labels), or a list of lists
            In lists, labels are names, or numbers from 0 to 9,999,999. Names are not empty and have
            no TAB or line break. Lists of one length of at least two that hold only 0 and 1 are an
            indicator. The columns of a DataFrame name the labels.
        label_names : iterable of str, optional
            What the labels are called, one for each column or number of ``y``: a code, or a code and
            names with TABs between them. Predictions, ``classes_`` and the saved model have them.
        keep_rows : bool, default=False
            Whether the model holds the rows, which :meth:`update` of a :class:`LabelTree` or
            :class:`OneVsRest` needs.
        budget : float, optional
            The seconds that the training may take: trees are added while there is time. For
            :class:`Grove`, :class:`CraftML` and :class:`LabelTree`.
        max_model : int, optional
            The bytes that the model may have, likewise.
        folder : str or path, optional
            Where the model is written as it is learned, unit by unit, as the command does it. A
            training that was stopped goes on where it was when the same rows and settings are given
            again. Without it, a small model is in memory, and one of more than 64 MB in files of
            the system's temporary folder (``TMPDIR``), which are mapped and go with the model.
        overwrite : bool, default=False
            Whether what is in the folder is replaced.
        progress : callable, optional
            Called as ``progress(stage, done, total)``; an exception stops the training.
        """
        refuse_others("fit", others)
        X, y, label_names = of_dataset(X, y, label_names)
        if y is None:
            raise InputError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        if sparse.issparse(X):
            refuse_impossible(X)
        with all_or_nothing(self):
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64])
            labels = Labels(y, label_names)
            is_limited = budget is not None or max_model is not None
            learner = self._learner(keep_rows=flag("keep_rows", keep_rows), is_limited=is_limited)
            with following(self.verbose, progress, type(self).__name__) as callback:
                model = _native.Model.train(
                    learner, features(X), labels.arrays, labels.names,
                    bounds(folder, overwrite, budget, max_model), threads(self.n_jobs), callback,
                )
            self._take(model)
        return self

    def update(
        self,
        X: Matrix,
        y: LabelSets,
        *,
        label_names: Iterable[str] | None = None,
        again: bool = False,
        folder: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: Callback | None = None,
    ) -> Self:
        """Adds rows to what was learned, as the command's ``update`` does.

        A forest counts them in its leaves. A model that holds its rows (``keep_rows``) learns again what
        they touch; :class:`LabelTree` and :class:`OneVsRest` need that. Labels may be new: names that
        training did not know, or further numbers.

        Parameters
        ----------
        X, y, label_names
            As in :meth:`fit`. An indicator has the columns of training, and may have more.
        again : bool, default=False
            Whether rows are added that the last update added already.
        folder, overwrite, progress
            As in :meth:`fit`; the folder may be the model's own.
        """
        rows, labels = self._rows(X), self._extended(Labels(y, label_names))
        with following(self.verbose, progress, type(self).__name__) as callback:
            self._take(self.model_.update(
                features(rows), *labels, updated_into(folder, overwrite),
                flag("again", again), threads(self.n_jobs), callback,
            ))
        return self

    @available_if(_can_be_updated)
    def partial_fit(
        self,
        X: Matrix,
        y: LabelSets,
        classes: Iterable[str] | None = None,
        **others: Any,
    ) -> Self:
        """Learns from the first rows, with ``keep_rows``, and adds those of further calls.

        ``classes`` may name all labels in the first call, as ``label_names`` of :meth:`fit`; labels may
        still be new later. The same rows may be given again.
        """
        refuse_others("partial_fit", others)
        if not hasattr(self, "model_"):
            return self.fit(X, y, label_names=classes, keep_rows=True)
        return self.update(X, y, again=True)

    def _extended(self, labels: Labels) -> tuple[Any, list[str] | None]:
        """Labels in the columns of training, new ones after them, with the names of all."""
        lines = self.model_.label_lines
        return extended(labels, lines, len(self.classes_), self.model_.find_labels)

    def _take(self, model: _native.Model) -> None:
        self.model_ = model
        manifest = json.loads(model.manifest)
        self.n_features_in_ = manifest["features"]
        names = model.label_names
        self.classes_ = np.arange(manifest["labels"]) if names is None else np.array(names, object)

    def predict_top_k(
        self,
        X: Matrix,
        k: int = 5,
        *,
        beam: int | None = None,
        labels: Iterable[int] | Iterable[str] | None = None,
        progress: Callback | None = None,
    ) -> sparse.csr_array:
        """The best ``k`` labels of each row with their scores.

        Rows are CSR with a column for each label; the entries of a row stand best first. A row
        has fewer of them when fewer labels have a score.

        Parameters
        ----------
        X : sparse matrix, array or DataFrame of shape (rows, features)
        k : int
            The number of labels.
        beam : int, optional
            How many nodes of a level are followed; the estimator's ``beam`` by default.
        labels : iterable of int or str, optional
            The labels that may be named, by number or name; all by default.
        progress : callable, optional
            As in :meth:`fit`.
        """
        rows = self._rows(X)
        allowed = self._allowed(labels)
        arrays = features(rows)
        with following(self.verbose, progress, type(self).__name__) as callback:
            indptr, indices, data = self.model_.predict(
                arrays, *asked(k, beam), allowed, threads(self.n_jobs), callback
            )
        if rows.shape[0] != 1 or self.favour != "none":
            shape = (rows.shape[0], len(self.classes_))
            return noting_order(sparse.csr_array((data, indices, indptr), shape), self.favour)
        # A copy of another row is made without the checks of a new one, which take 20 microseconds.
        row = copy.copy(_empty_row(len(self.classes_)))
        row.data, row.indices, row.indptr = data, indices, indptr
        return row

    def predict_arrays(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: NDArray[Any],
        k: int = 5,
        beam: int | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]:
        """:meth:`predict_top_k` for those who call it row by row, and count microseconds.

        Takes and gives the three arrays of CSR matrices. Nothing is converted: offsets and indices
        are int32 or int64, values float32 or float64, and the indices of a row must rise; what is
        not so is refused.
        """
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        arrays = (indptr, indices, data, self.n_features_in_)
        return self.model_.predict(arrays, *asked(k, beam), None, threads(self.n_jobs), None)

    def _rows(self, X: Any) -> Any:
        """Rows to predict. Of those that are as they should be, the native part checks the rest."""
        if not hasattr(self, "model_"):
            check_is_fitted(self)
        if sparse.issparse(X):
            refuse_impossible(X)
        if (
            sparse.issparse(X)
            and X.format == "csr"
            and X.dtype in (np.float32, np.float64)
            and X.shape[1] == self.n_features_in_
        ):
            return X
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=False
        )

    def predict_scores(self, X: Matrix) -> sparse.csr_array:
        """The scores of the likely labels of each row, at most 100: a sparse ``predict_proba``.

        They are probabilities if the estimator is a grove or has ``calibrate=True``: of the labels
        with a score of 0.3, about three in ten are right. Each label has its own, so that those of
        a row need not add up to 1; those of labels that are left out are small. Without
        calibration, scores say no more than which label is likelier.
        """
        return self.predict_top_k(X, MOST)

    def predict_batches(
        self,
        batches: Iterable[Matrix],
        k: int = 5,
        *,
        rows: int = 10_000,
        beam: int | None = None,
        labels: Iterable[int] | Iterable[str] | None = None,
    ) -> Iterator[sparse.csr_array]:
        """:meth:`predict_top_k` of rows that come in pieces, such as those of a file too large for memory.

        Gives the answers piece by piece: no more than ``rows`` rows are in work at a time. A matrix is
        one batch, and is cut up as well.
        """
        allowed = None if labels is None else list(self._allowed(labels) or [])
        for batch in [batches] if hasattr(batches, "shape") else batches:
            batch = self._rows(batch)
            for start in range(0, batch.shape[0], whole("rows", rows, least=1)):
                yield self.predict_top_k(batch[start:start + rows], k, beam=beam, labels=allowed)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Matrix, *, dense: bool = False) -> Any:
        """The probabilities of the likely labels of each row; each label has its own.

        They are :meth:`predict_scores`, a sparse matrix, and there are none unless the estimator is a
        :class:`Grove` or has ``calibrate=True``. With ``dense=True`` an array has those of all labels, if
        it has room in a gigabyte; labels that have no score are 0.
        """
        return self._dense(X) if flag("dense", dense) else self.predict_scores(X)

    def _dense(self, X: Matrix) -> NDArray[np.float32]:
        rows, labels = self._rows(X), len(self.classes_)
        if rows.shape[0] * labels > _MOST_DENSE:
            raise InputError(
                f"{rows.shape[0]} rows of {labels} labels are more than a gigabyte: ask for fewer rows at a "
                "time, or take predict_scores, which is sparse"
            )
        return self.predict_top_k(rows, labels).toarray()

    def predict(self, X: Matrix) -> sparse.csr_array:
        """The labels of each row whose score is at least ``threshold``, as an indicator.

        ``threshold_`` is the number that decides; with ``min_labels`` a row has so many labels at least.
        """
        predicted = self._reaching(X, MOST, whole("min_labels", self.min_labels))
        predicted.data = np.ones(predicted.nnz, INDICATOR)
        predicted.sort_indices()
        return predicted

    def _reaching(self, X: Matrix, k: int, min_labels: int) -> sparse.csr_array:
        """The labels that reach the threshold, and so many at least, with their scores, best first.

        ``k`` labels are asked for at first, and more where these all reach it.
        """
        arrays, least = features(self._rows(X)), (self.threshold_, min_labels)
        with following(self.verbose, None, type(self).__name__) as callback:
            indptr, indices, data = self.model_.predict(
                arrays, k, None, None, threads(self.n_jobs), callback, least
            )
        return sparse.csr_array((data, indices, indptr), (len(indptr) - 1, len(self.classes_)))

    def _looked_at(self, X: Matrix, k: int) -> sparse.csr_array:
        return noting_order(self._reaching(X, k, k), self.favour)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model into a folder, or one file if ``path`` ends in ``.labelwood``; the command opens both.

        It is either the model that was there before or this one, whenever the
        interpreter is killed. It holds what the command knows, too, a threshold that was learned
        included: neither ``threshold``, ``min_labels``, ``n_jobs`` and ``verbose`` nor the names of features (``feature_names_in_``), which pickle
        keeps.
        """
        check_is_fitted(self)
        self.model_.save(os.fspath(path), bool(overwrite))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = True) -> Self:
        """:func:`labelwood.load` of a model of this kind; another kind is refused."""
        from .persistence import load_as

        return load_as(cls, path, mmap)


def holds_rows(model: _native.Model) -> bool:
    """Whether a model holds its training rows."""
    return json.loads(model.manifest).get("keep_rows", False)


def noting_order(scores: sparse.csr_array, favour: str) -> sparse.csr_array:
    """Notes the order of the entries if it is not that of the scores; :mod:`labelwood.metrics` asks."""
    if favour != "none":
        scores.best_first = scores.indices.copy()
    return scores


def asked(k, beam) -> tuple[int, int | None]:
    """How many labels, and how many nodes of a level, a prediction is asked for."""
    return whole("k", k), None if beam is None else whole("beam", beam, least=1)


def _shortest(value):
    """A single-precision number as people write it: 0.1, not 0.10000000149011612."""
    if isinstance(value, float) and float(np.float32(value)) == value:
        return float(str(np.float32(value)))
    return value


def _seed(random_state) -> int:
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return whole("random_state", random_state, most=MOST_SEED)
    return int(check_random_state(random_state).randint(2**31))
