"""What all estimators share."""

from __future__ import annotations

import copy
import functools
import json
import os
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _native
from ._errors import InputError
from ._explain import Explanation, explained
from ._inputs import (
    MOST_SEED,
    Labels,
    LabelSets,
    Matrix,
    as_json,
    features,
    flag,
    into,
    memory,
    real,
    refuse_impossible,
    threads,
    whole,
)
from ._progress import Callback, following

if TYPE_CHECKING:
    from typing_extensions import Self

#: How many labels of a row have a score, at most, unless a number is given. Not fewer than the
#: library ranks anew where some labels are favoured: those are always the labels of the best scores.
MOST = 100
#: Parameters of the constructor that are no settings of the algorithm.
_PLAIN = ("calibrate", "favour", "random_state", "threshold", "n_jobs", "verbose")


@functools.lru_cache
def _empty_row(columns: int) -> sparse.csr_array:
    return sparse.csr_array((1, columns), dtype=np.float32)


class WithParts:
    """Of an estimator that has others among its parameters, which may be left open."""

    model_: _native.Model

    def _defaults(self) -> dict[str, BaseEstimator]:
        """What stands for parts that are left open."""
        raise NotImplementedError

    @property
    def chosen_(self) -> str | None:
        """Which algorithms of a grove held-out rows kept, and why, in words."""
        check_is_fitted(self)
        return json.loads(self.model_.manifest)["settings"].get("chosen")

    def set_params(self, **params):
        """Sets parameters; ``part__parameter`` sets one of a part, left open or not."""
        for name, part in self._defaults().items():
            is_meant = any(key.startswith(f"{name}__") for key in params)
            if is_meant and params.get(name, getattr(self, name)) is None:
                params[name] = part
        return super().set_params(**params)


class WithNames:
    """Of an estimator whose labels may have names, further ones and ones in other languages.

    A vocabulary brings them along: train with the command and its ``--vocabulary``.
    """

    model_: _native.Model

    def languages(self) -> list[str]:
        """The tags of the languages in which labels have names, the model's own first."""
        check_is_fitted(self)
        return self.model_.languages

    def label_names(self, language: str | None = None) -> list[str] | None:
        """What each label is called, in a language if it has a name there; ``None`` without names."""
        check_is_fitted(self)
        return self.model_.label_names if language is None else self.model_.names_in(language)

    def all_names(self, label: int) -> list[str]:
        """All names of the label with this number, the preferred one first."""
        check_is_fitted(self)
        return self.model_.all_names(whole("label", label))

    def broader(self, label: int) -> list[int]:
        """The numbers of the labels that a vocabulary calls broader than the one with this number."""
        check_is_fitted(self)
        return self.model_.broader(whole("label", label))

    def explain(
        self, row: Any, label: int | str | None = None, *, k: int = 5, most: int = 10
    ) -> Explanation:
        """What speaks for a label of a text or a row, and what against it.

        Parameters
        ----------
        row : str, or a row of features (sparse or dense)
            A text for those that learned from texts.
        label : int or str, optional
            The label, predicted or not, by its number or name; the best ``k`` by default.
        k : int
            How many of the best labels are explained.
        most : int
            How many entries a list has at most.
        """
        check_is_fitted(self)
        labels = [] if label is None else [label]
        return explained(self.model_, row, labels, whole("k", k, least=1), whole("most", most, least=1))


@contextmanager
def all_or_nothing(estimator: BaseEstimator):
    """Leaves an estimator as it was if it cannot be fitted, whatever stops that."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class Estimator(WithNames, BaseEstimator):
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
    def preset(cls, name: str, **others: Any) -> Self:
        """An estimator with the settings of a preset, and ``others``."""
        return cls._with_settings(json.loads(_native.preset(cls.algorithm, name)), **others)

    @classmethod
    def _with_settings(cls, settings: dict[str, Any], **others: Any) -> Self:
        seed = settings.pop("seed")
        settings = {name: _shortest(settings[name]) for name in settings if name not in cls._fixed}
        return cls(**{"random_state": seed, **settings, **others})

    def _learner(self) -> tuple[str, str, bool, str]:
        """The algorithm, its settings, whether it is calibrated, and which labels it favours."""
        calibrate = flag("calibrate", getattr(self, "calibrate", False))
        return self.algorithm, self._settings(), calibrate, str(self.favour)

    def _settings(self) -> str:
        settings = {name: value for name, value in self.get_params(deep=False).items()
                    if name not in _PLAIN}
        return as_json({**settings, **self._fixed, "seed": _seed(self.random_state)})

    def fit(
        self,
        X: Matrix,
        y: LabelSets,
        *,
        folder: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: Callback | None = None,
    ) -> Self:
        """Learns from rows and their labels.

        Parameters
        ----------
        X : sparse matrix, array or DataFrame of shape (rows, features)
            CSR with 32-bit indices and values is used where it lies; everything else is copied.
        y : sparse or dense indicator of shape (rows, labels), or a list of lists
            In lists, labels are names, or numbers from 0 to 9,999,999. Names are not empty and have
            no TAB or line break. Lists of one length of at least two that hold only 0 and 1 are an
            indicator. The columns of a DataFrame name the labels.
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
        if y is None:
            raise InputError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        if sparse.issparse(X):
            refuse_impossible(X)
        with all_or_nothing(self):
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64])
            labels, learner = Labels(y), self._learner()
            real("threshold", self.threshold)
            with following(self.verbose, progress, type(self).__name__) as callback:
                model = _native.Model.train(
                    learner, features(X), labels.arrays, labels.names,
                    into(folder, overwrite), threads(self.n_jobs), callback, memory(),
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
        X: Matrix,
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
        rows = self._rows(X)
        allowed = None
        if labels is not None:
            allowed = [self._label(f"labels[{at}]", label) for at, label in enumerate(labels)]
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

    def _label(self, name: str, label) -> int:
        if whole(name, label) >= len(self.classes_):
            raise InputError(
                f"{name} is {label}, but training knew {len(self.classes_)} labels, counted from 0"
            )
        return int(label)

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

    def predict(self, X: Matrix) -> sparse.csr_array:
        """The labels of each row whose score is at least ``threshold``, as an indicator."""
        arrays = features(self._rows(X))
        threshold = real("threshold", self.threshold)
        with following(self.verbose, None, type(self).__name__) as callback:
            indptr, indices, _ = self.model_.predict(
                arrays, MOST, None, None, threads(self.n_jobs), callback, threshold
            )
        shape = (len(indptr) - 1, len(self.classes_))
        predicted = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape)
        predicted.sort_indices()
        return predicted

    def score(self, X: Matrix, y: LabelSets, k: int = 1) -> float:
        """Precision at ``k``: the share of the best ``k`` labels that are right.

        Labels are given as in :meth:`fit`. Names, in lists or as the columns of a DataFrame, are
        those of training in any order; those that training did not know are never right.
        """
        from .metrics import precision_at_k

        scores = self.predict_top_k(X, k)
        return precision_at_k(self._known(y), scores, k)

    def _known(self, Y: LabelSets) -> sparse.csr_array:
        """Labels as an indicator with the columns of training; unknown names come after them."""
        labels, names, count = Labels(Y), self.model_.label_names, len(self.classes_)
        if labels.names is not None and names is not None:
            return labels.indicator if labels.names == names else _by_name(labels, names)
        if labels.has_columns and labels.count != count:
            raise InputError(
                f"Y has {labels.count} columns, but training knew {count} labels: give a column for "
                "each of them, or lists of labels"
            )
        if labels.names is not None and not labels.has_columns:
            raise InputError("Y has names of labels, but training knew only numbers: give numbers")
        return labels.indicator

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model into a folder, which the command opens, too.

        The folder holds either the model that was there before or this one, whenever the
        interpreter is killed. It holds what the command knows, too: neither ``threshold``,
        ``n_jobs`` and ``verbose`` nor the names of features (``feature_names_in_``), which pickle
        keeps.
        """
        check_is_fitted(self)
        self.model_.save(os.fspath(path), overwrite)


def clusters(model: _native.Model, tree: int) -> list[list[int]]:
    """The labels below each child of a label tree's root."""
    found = model.clusters(whole("tree", tree))
    if found is None:
        raise InputError(f"the model has no label tree {tree}: only label trees cluster labels")
    return found


def noting_order(scores: sparse.csr_array, favour: str) -> sparse.csr_array:
    """Notes the order of the entries if it is not that of the scores; :mod:`labelwood.metrics` asks."""
    if favour != "none":
        scores.best_first = scores.indices.copy()
    return scores


def asked(k, beam) -> tuple[int, int | None]:
    """How many labels, and how many nodes of a level, a prediction is asked for."""
    return whole("k", k), None if beam is None else whole("beam", beam, least=1)


def _by_name(labels: Labels, names: list[str]) -> sparse.csr_array:
    """Labels that have names in the columns of these names; others come after them."""
    given = labels.names or []
    if len(set(given)) < len(given):
        raise InputError("Y has several columns of one name, which cannot be told apart: rename them")
    # Of labels that share a name, the first is meant.
    ids = {name: at for at, name in reversed(list(enumerate(names)))}
    places = [ids.get(name, len(names) + at) for at, name in enumerate(given)]
    ones = np.ones(len(labels.indices), np.int8)
    rows = (ones, np.array(places, np.int32)[labels.indices], labels.indptr)
    known = sparse.csr_array(rows, (len(labels), len(names) + len(given)))
    known.sort_indices()
    return known


def _shortest(value):
    """A single-precision number as people write it: 0.1, not 0.10000000149011612."""
    if isinstance(value, float) and float(np.float32(value)) == value:
        return float(str(np.float32(value)))
    return value


def _seed(random_state) -> int:
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return whole("random_state", random_state, most=MOST_SEED)
    return int(check_random_state(random_state).randint(2**31))
