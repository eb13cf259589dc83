"""What users hand over, as the arrays that the native part takes. Nothing is ever made dense."""

from __future__ import annotations

import os
import warnings
from numbers import Integral

import numpy as np
from scipy import sparse

from ._errors import InputError

#: Models of more bytes are learned in a temporary folder: they need not be in memory.
LARGE_MODEL = 64 << 20
#: How many values a warning names.
_NAMED = 5
#: How far the caller of `fit` is from where the warning is given.
_CALLER = 5


def threads(n_jobs: int | None) -> int:
    """The number of threads for ``n_jobs``; 0 stands for all."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise InputError(f"n_jobs is {n_jobs!r}, but must be a number of threads, or -1 for all")
    if n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    return int(n_jobs)


def into(folder: str | os.PathLike | None, overwrite: bool) -> tuple[str, bool] | int:
    """The folder that a model is learned in, or from what size on it is learned on disk."""
    return LARGE_MODEL if folder is None else (os.fspath(folder), bool(overwrite))


def as_csr(X) -> sparse.csr_array | sparse.csr_matrix:
    """A matrix as CSR whose rows are sorted and without repetitions; the same object if it is."""
    if not sparse.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise InputError(
                f"Expected 2D array, got {X.ndim}D array instead: give one row for each instance"
            )
        return sparse.csr_array(X)
    if X.format != "csr":
        X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def features(X):
    """A matrix as the native part takes features."""
    X = as_csr(X)
    if X.dtype != np.float32 and X.dtype != np.float64:
        if X.dtype.kind not in "buif":
            raise InputError(f"X has values of type {X.dtype}, but must have numbers")
        X = X.astype(np.float32)
    return X.indptr, X.indices, X.data, X.shape[1]


class Labels:
    """The labels of rows, however they were given.

    A sparse or dense indicator has a column for each label; a DataFrame's columns name them. A
    list has the labels of each row, either names or numbers from 0.
    """

    def __init__(self, Y) -> None:
        self.names: list[str] | None = None
        if sparse.issparse(Y):
            self._indicator(Y)
        elif hasattr(Y, "columns") and hasattr(Y, "to_numpy"):
            self.names = [str(name) for name in Y.columns]
            self._indicator(_ones_and_zeros(Y.to_numpy()))
        elif isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.dtype.kind in "buif":
            self._indicator(_ones_and_zeros(Y))
        elif hasattr(Y, "__array__") and np.asarray(Y).ndim == 2:
            self._indicator(_ones_and_zeros(np.asarray(Y)))
        else:
            self._lists(Y)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def arrays(self):
        """As the native part takes labels."""
        return self.indptr, self.indices, self.count

    @property
    def indicator(self) -> sparse.csr_array:
        """A column for each label."""
        ones = np.ones(len(self.indices), np.int8)
        return sparse.csr_array((ones, self.indices, self.indptr), (len(self), self.count))

    def _indicator(self, Y) -> None:
        _refuse_other_types(Y)
        Y = as_csr(Y)
        if Y.dtype.kind == "f" and not np.isfinite(Y.data).all():
            raise InputError("Y contains NaN or infinity, but must be an indicator of 0 and 1")
        if Y.nnz and not Y.data.all():
            Y = Y.copy()
            Y.eliminate_zeros()
        if Y.dtype != bool and (others := Y.data[Y.data != 1]).size:
            _warn_of(np.unique(others))
        self.indptr, self.indices, self.count = Y.indptr, Y.indices, Y.shape[1]

    def _lists(self, Y) -> None:
        rows = [_labels_of(row, at) for at, row in enumerate(Y)]
        first = next((label for row in rows for label in row), 0)
        if isinstance(first, str):
            ids: dict[str, int] = {}
            rows = [[ids.setdefault(_name(label, at), len(ids)) for label in row]
                    for at, row in enumerate(rows)]
            self.names, self.count = list(ids), len(ids)
        else:
            rows = [[_number(label, at) for label in row] for at, row in enumerate(rows)]
            self.count = 1 + max((label for row in rows for label in row), default=-1)
        rows = [sorted(set(row)) for row in rows]
        self.indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        self.indices = np.array([label for row in rows for label in row], np.int32)


def _warn_of(values: np.ndarray) -> None:
    named = ", ".join(f"{value:g}" for value in values[:_NAMED])
    more = ", ..." if len(values) > _NAMED else ""
    warnings.warn(
        f"Y has the values {named}{more}: a row has every label whose value is not 0, and how large it "
        "is makes no difference",
        stacklevel=_CALLER,
    )


def _refuse_other_types(Y) -> None:
    if Y.dtype.kind not in "buif":
        raise InputError(
            f"Unknown label type: Y has values of type {Y.dtype}, but must be an indicator of 0 and 1"
        )


def _ones_and_zeros(Y: np.ndarray) -> np.ndarray:
    _refuse_other_types(Y)
    if Y.dtype.kind == "f" and not np.isfinite(Y).all():
        raise InputError("Input Y contains NaN or infinity, but must be an indicator of 0 and 1")
    wrong = (Y != 0) & (Y != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"Y[{row}, {column}] is {Y[row, column]}, but an indicator has 0 and 1 only: give lists "
            "of labels, or a column for each label"
        )
    return Y


def _labels_of(row, at: int) -> list:
    if isinstance(row, (str, bytes)) or not hasattr(row, "__iter__"):
        raise InputError(
            f"Y[{at}] is {row!r}, but must be a list of labels: several labels may fit a row"
        )
    return list(row)


def _name(label, at: int) -> str:
    if not isinstance(label, str):
        raise InputError(f"Y[{at}] has {label!r} among names: give names only, or numbers only")
    return label


def _number(label, at: int) -> int:
    if isinstance(label, (bool, np.bool_)) or not isinstance(label, (Integral, np.integer)):
        raise InputError(f"Y[{at}] has {label!r} among numbers: give names only, or numbers only")
    if not 0 <= label < 2**31:
        raise InputError(f"Y[{at}] has label {label}, but labels are numbered from 0 to 2147483647")
    return int(label)
