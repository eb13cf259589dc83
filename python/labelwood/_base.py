"""What all estimators share."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _native
from ._errors import InputError
from ._inputs import Labels, features, into, threads
from ._progress import Callback, following

#: How many labels of a row have a score, at most, unless a number is given.
MOST = 100
#: Parameters of the constructor that are no settings of the algorithm.
_PLAIN = ("calibrate", "favour", "random_state", "threshold", "n_jobs", "verbose")


@functools.lru_cache
def _empty_row(columns: int) -> sparse.csr_array:
    return sparse.csr_array((1, columns), dtype=np.float32)


class Estimator(BaseEstimator):
    """An algorithm over rows of features. Its settings are those of the command."""

    algorithm: ClassVar[str]
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
    def preset(cls, name: str, **others):
        """An estimator with the settings of a preset, and ``others``."""
        return cls._with_settings(json.loads(_native.preset(cls.algorithm, name)), **others)

    @classmethod
    def _with_settings(cls, settings: dict[str, Any], **others):
        seed = settings.pop("seed")
        settings = {name: _shortest(settings[name]) for name in settings if name not in cls._fixed}
        return cls(**{"random_state": seed, **settings, **others})

    def _learner(self) -> tuple[str, str, bool, str]:
        """The algorithm, its settings, whether it is calibrated, and which labels it favours."""
        calibrate = bool(getattr(self, "calibrate", False))
        return self.algorithm, self._settings(), calibrate, str(self.favour)

    def _settings(self) -> str:
        settings = {name: _plain(value) for name, value in self.get_params(deep=False).items()
                    if name not in _PLAIN}
        settings.update(self._fixed, seed=_seed(self.random_state))
        try:
            return json.dumps(settings, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"a setting is neither a number nor a name: {error}") from error

    def fit(
        self,
        X,
        y,
        *,
        folder: str | os.PathLike | None = None,
        overwrite: bool = False,
        progress: Callback | None = None,
    ):
        """Learns from rows and their labels.

        Parameters
        ----------
        X : sparse matrix, array or DataFrame of shape (rows, features)
            CSR with 32-bit indices and values is used where it lies; everything else is copied.
        y : sparse or dense indicator of shape (rows, labels), or a list of lists
            In lists, labels are names, or numbers from 0.
        folder : str or path, optional
            Where the model is written as it is learned, part by part, as the command does it. A
            training that was stopped goes on where it was when the same rows and settings are given
            again. Without it, a small model is in memory, and one of more than 64 MB in files of
            the system's temporary folder (``TMPDIR``), which are mapped and go with the model.
        overwrite : bool, default=False
            Whether what is in the folder is replaced.
        progress : callable, optional
            Called as ``progress(stage, done, total)``; an exception stops the training.
        """
        if y is None:
            raise InputError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64])
        labels = Labels(y)
        with following(self.verbose, progress, type(self).__name__) as callback:
            model = _native.Model.train(
                self._learner(), features(X), labels.arrays, labels.names,
                into(folder, overwrite), threads(self.n_jobs), callback,
            )
        self._take(model)
        return self

    def _take(self, model: _native.Model) -> None:
        self.model_ = model
        manifest = json.loads(model.manifest)
        self.n_features_in_ = manifest["features"]
        names = model.label_names
        self.classes_ = np.arange(manifest["labels"]) if names is None else np.array(names, object)

    def predict_top_k(
        self,
        X,
        k: int = 5,
        *,
        beam: int | None = None,
        labels: Iterable[int] | None = None,
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
        labels : iterable of int, optional
            The labels that may be named; all by default.
        progress : callable, optional
            As in :meth:`fit`.
        """
        X = self._rows(X)
        allowed = None if labels is None else [int(label) for label in labels]
        arrays = features(X)
        with following(self.verbose, progress, type(self).__name__) as callback:
            indptr, indices, data = self.model_.predict(
                arrays, k, beam, allowed, threads(self.n_jobs), callback
            )
        if X.shape[0] != 1:
            return sparse.csr_array((data, indices, indptr), (X.shape[0], len(self.classes_)))
        # A copy of another row is made without the checks of a new one, which take 20 microseconds.
        row = copy.copy(_empty_row(len(self.classes_)))
        row.data, row.indices, row.indptr = data, indices, indptr
        return row

    def predict_arrays(self, indptr, indices, data, k: int = 5, beam: int | None = None):
        """:meth:`predict_top_k` for those who call it row by row, and count microseconds.

        Takes and gives the three arrays of CSR matrices. Nothing is converted: offsets and indices
        are int32 or int64, values float32 or float64, and the indices of a row must rise; what is
        not so is refused.
        """
        arrays = (indptr, indices, data, self.n_features_in_)
        return self.model_.predict(arrays, k, beam, None, threads(self.n_jobs), None)

    def _rows(self, X):
        """Rows to predict. Of those that are as they should be, the native part checks the rest."""
        if not hasattr(self, "model_"):
            check_is_fitted(self)
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

    def predict_scores(self, X) -> sparse.csr_array:
        """The scores of the likely labels of each row, at most 100: a sparse ``predict_proba``.

        They are probabilities if the estimator is a grove or has ``calibrate=True``: of the labels
        with a score of 0.3, about three in ten are right. Each label has its own, so that those of
        a row need not add up to 1; those of labels that are left out are small. Without
        calibration, scores say no more than which label is likelier.
        """
        return self.predict_top_k(X, MOST)

    def predict(self, X) -> sparse.csr_array:
        """The labels of each row whose score is at least ``threshold``, as an indicator."""
        scores = self.predict_scores(X)
        chosen = scores.data >= self.threshold
        ends = np.concatenate([[0], np.cumsum(chosen)])
        indptr = ends[scores.indptr].astype(scores.indptr.dtype)
        ones = np.ones(indptr[-1], np.int8)
        predicted = sparse.csr_array((ones, scores.indices[chosen], indptr), scores.shape)
        predicted.sort_indices()
        return predicted

    def score(self, X, y, k: int = 1) -> float:
        """Precision at ``k``: the share of the best ``k`` labels that are right."""
        from .metrics import precision_at_k

        scores = self.predict_top_k(X, k)
        return precision_at_k(self._known(y), scores, k)

    def _known(self, Y) -> sparse.csr_array:
        """Labels as an indicator with the columns of training; unknown names come after them."""
        labels = Labels(Y)
        names = self.model_.label_names
        if labels.names is None or names is None or sparse.issparse(Y) or hasattr(Y, "columns"):
            return labels.indicator
        ids = {name: at for at, name in reversed(list(enumerate(names)))}
        places = np.array([ids.setdefault(name, len(ids)) for name in labels.names], np.int32)
        ones = np.ones(len(labels.indices), np.int8)
        rows = (ones, places[labels.indices], labels.indptr)
        known = sparse.csr_array(rows, (len(labels), max(len(ids), len(names))))
        known.sort_indices()
        return known

    def save(self, path: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Writes the model into a folder, which the command opens, too.

        The folder holds either the model that was there before or this one, whenever the
        interpreter is killed.
        """
        check_is_fitted(self)
        self.model_.save(os.fspath(path), overwrite)


def clusters(model: _native.Model, tree: int) -> list[list[int]]:
    """The labels below each child of a label tree's root."""
    found = model.clusters(tree)
    if found is None:
        raise InputError(f"the model has no label tree {tree}: only label trees cluster labels")
    return found


def _plain(value):
    """NumPy's scalars as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _shortest(value):
    """A single-precision number as people write it: 0.1, not 0.10000000149011612."""
    if isinstance(value, float) and float(np.float32(value)) == value:
        return float(str(np.float32(value)))
    return value


def _seed(random_state) -> int:
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise InputError(f"random_state is {random_state}, but must be at least 0")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
