"""What users hand over, as the arrays that the native part takes. Nothing is ever made dense."""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral, Number, Real
from typing import Any, Protocol, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from . import _native
from ._errors import InputError


class Table(Protocol):
    """A sparse matrix or a DataFrame."""

    @property
    def shape(self) -> tuple[int, ...]: ...


#: Rows of numbers.
Matrix = Union[Table, ArrayLike]
#: The labels of rows: an indicator, or lists of names or of numbers.
LabelSets = Union[Matrix, Iterable[Iterable[str]], Iterable[Iterable[int]]]

#: Models of more bytes are learned in a temporary folder: they need not be in memory.
LARGE_MODEL = 64 << 20
#: Labels that are given as numbers in lists are fewer than this, several times as many as the largest
#: public set has. Every number up to the largest takes memory, so that one wrong or huge number, such
#: as an identifier of a catalogue, would take it all.
MOST_NUMBERS = 10_000_000
#: The type of indicators. scikit-learn adds up the columns of what it is given in its own type, so that
#: more than 127 labels are wrong in int8.
INDICATOR = np.dtype(np.int32)
#: The largest seed.
MOST_SEED = 2**64 - 1
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


def whole(name: str, value, least: int = 0, most: int = sys.maxsize) -> int:
    """A whole number that is large enough, and not larger than the native part can count."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} is {value!r}, but must be a whole number of at least {least}")
    if int(value) > most:
        raise InputError(f"{name} is {value!r}, but must be at most {most}")
    return int(value)


def real(name: str, value) -> float:
    """A finite number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}, but must be a finite number")
    return float(value)


def refuse_others(method: str, others: dict[str, Any]) -> None:
    """Refuses arguments that ``method`` does not have, and weights of rows with what to do instead.

    ``sample_weight`` is no parameter of ``fit``, so that scikit-learn's own estimators see that it is not
    taken. None is: it is what they hand over when they were given none.
    """
    if others.pop("sample_weight", None) is not None:
        raise InputError(
            "sample_weight is not taken: all rows weigh the same; give a row several times to give it more "
            "weight, such as X[again] and y[again] with again = numpy.repeat(numpy.arange(rows), times)"
        )
    if others:
        raise TypeError(f"{method}() got an unexpected keyword argument {next(iter(others))!r}")


def weights(sample_weight: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Weights of so many rows: numbers of at least 0, not all of them 0."""
    try:
        found = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must have a number for each row: {error}") from None
    if found.shape != (rows,):
        raise InputError(f"sample_weight has shape {found.shape}, but must have a number for each of {rows} rows")
    if not (np.isfinite(found).all() and (found >= 0).all() and found.any()):
        raise InputError("sample_weight must have numbers of at least 0, not all of them 0")
    return found


def flag(name: str, value) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {value!r}, but must be True or False")
    return bool(value)


def as_json(settings: dict[str, Any]) -> str:
    """Settings as the native part takes them; what they mean is checked there."""
    for name, value in settings.items():
        try:
            json.dumps(value, allow_nan=False, default=_plain)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{name} is {value!r}, but must be a finite number, a name or another value that "
                "its documentation lists"
            ) from error
    return json.dumps(settings, default=_plain)


def _plain(value):
    """NumPy's scalars and arrays as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no setting")


#: Where a model is learned, the seconds and bytes that it may take, and the bytes of memory that there are.
Bounds = tuple[Union[tuple[str, bool], int], Union[float, None], Union[int, None], Union[int, None]]


def bounds(
    folder: str | os.PathLike | None,
    overwrite: bool,
    budget: float | None = None,
    max_model: int | None = None,
) -> Bounds:
    """The folder that a model is learned in, or from what size on it is learned on disk, and its limits."""
    into = LARGE_MODEL if folder is None else (os.fspath(folder), bool(overwrite))
    if budget is not None and real("budget", budget) <= 0:
        raise InputError(f"budget is {budget!r}, but must be a number of seconds above 0")
    if max_model is not None:
        max_model = whole("max_model", max_model, least=1)
    return into, budget, max_model, memory()


def memory() -> int | None:
    """The bytes of memory that the machine, or its container, has, where the system tells."""
    group = _native.group_memory()
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return group
    return machine if group is None else min(machine, group)


def as_csr(X) -> sparse.csr_array | sparse.csr_matrix:
    """A matrix as CSR whose rows are sorted and without repetitions; the same object if it is."""
    X = X if sparse.issparse(X) else np.asarray(X)
    refuse_impossible(X)
    if not sparse.issparse(X):
        return sparse.csr_array(X)
    if X.format != "csr":
        X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def refuse_impossible(X, name: str = "X") -> None:
    """Raises unless an array has two dimensions and, if it is sparse, its entries are where it says.

    SciPy's arrays may have one dimension, which scikit-learn does not expect. And SciPy checks places
    only when it makes a matrix: with one that was changed since it reads and writes other memory, and
    ends the interpreter. The indices of CSR lead nowhere before the native part checks them.
    """
    if X.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {X.ndim}D array instead: give one row for each instance"
        )
    if not sparse.issparse(X):
        return
    rows, columns = X.shape
    if X.format == "coo":
        _native.check_indices(X.row, f"{name}.row", rows)
        _native.check_indices(X.col, f"{name}.col", columns)
        places = {"row": X.row, "col": X.col}
    elif X.format in ("csr", "csc", "bsr"):
        if X.format == "csc":
            rows, columns = columns, rows
        elif X.format == "bsr":
            rows, columns = rows // X.blocksize[0], columns // X.blocksize[1]
        _native.check_offsets(X.indptr, f"{name}.indptr", rows, len(X.indices))
        if X.format != "csr":
            _native.check_indices(X.indices, f"{name}.indices", columns)
        places = {"indices": X.indices}
    else:
        return
    for place, numbers in places.items():
        if len(numbers) != len(X.data):
            raise InputError(
                f"{name}.{place} has {len(numbers)} numbers, but {name}.data has {len(X.data)}: "
                "there must be one for each entry"
            )


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

    ``label_names`` are what labels that are given as numbers or columns are called.

    A sparse or dense indicator has a column for each label; a DataFrame's columns name them. A
    list has the labels of each row, either names or numbers from 0. Lists of one length of at least
    two that hold nothing but 0 and 1 are an indicator, as they are for scikit-learn: as numbers of
    labels they would say that all rows have the same two.

    >>> Labels([["birds"], ["birds", "maps"]]).names
    ['birds', 'maps']
    >>> Labels([[3], [0, 3]]).count
    4
    >>> Labels([[1, 0, 1], [0, 0, 1]]).indices
    array([0, 2, 2], dtype=int32)
    """

    def __init__(self, Y: Any, label_names: Iterable[str] | None = None) -> None:
        #: A line for each label: a code, or a code and names with TABs between them.
        self.names: list[str] | None = None
        #: Whether there was a column for each label.
        self.has_columns = True
        self.count: int = 0
        Y = of_arrow(Y)
        if sparse.issparse(Y):
            self._indicator(Y)
        elif is_frame(Y):
            self.names = [storable(str(name)) for name in columns_of(Y)]
            _refuse_twins("Y has several columns of one name", self.names)
            self._indicator(_of_frame(Y))
        elif hasattr(Y, "__array__") and np.asarray(Y).ndim == 2:
            self._indicator(_ones_and_zeros(np.asarray(Y)))
        else:
            rows = [_labels_of(row, at) for at, row in enumerate(Y)]
            if _are_indicator(rows):
                self._indicator(np.array(rows))
            else:
                self.has_columns = False
                self._lists(rows)
        if label_names is not None:
            self._call(label_names)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def arrays(self):
        """As the native part takes labels."""
        return self.indptr, self.indices, self.count

    @property
    def indicator(self) -> sparse.csr_array:
        """A column for each label."""
        ones = np.ones(len(self.indices), INDICATOR)
        return sparse.csr_array((ones, self.indices, self.indptr), (len(self), self.count))

    def placed(self, places: Sequence[int], count: int) -> sparse.csr_array:
        """The same with each label in another place, of so many."""
        ones = np.ones(len(self.indices), bool)
        moved = np.array(places, np.int32)[self.indices]
        rows = sparse.csr_array((ones, moved, self.indptr), (len(self), count))
        # Several of these labels may be one in their new places.
        rows.sum_duplicates()
        return rows.astype(INDICATOR)

    def _call(self, label_names: Iterable[str]) -> None:
        if isinstance(label_names, (str, bytes)):
            raise InputError(f"label_names is {label_names!r}, but must be a list of names")
        lines = [_line(line, at) for at, line in enumerate(label_names)]
        codes = [line.partition("\t")[0] for line in lines]
        _refuse_twins("label_names has a name twice", codes)
        if self.names is not None and self.has_columns:
            raise InputError("Y has names for its columns: leave label_names out")
        if self.names is not None:
            places = {code: at for at, code in enumerate(codes)}
            for name in self.names:
                if name not in places:
                    raise InputError(f"Y has the label {name!r}, which is not among label_names")
            placed = self.placed([places[name] for name in self.names], len(codes))
            self.indptr, self.indices = placed.indptr, placed.indices
        elif len(lines) < self.count or (self.has_columns and len(lines) != self.count):
            raise InputError(
                f"label_names has {len(lines)} names, but Y has {self.count} labels: give each its name"
            )
        self.names, self.count = lines, len(lines)

    def _indicator(self, Y) -> None:
        _refuse_other_types(Y)
        refuse_impossible(Y, "Y")
        # Other formats add up entries that repeat when they become CSR; each says the same here.
        Y = as_csr(Y) if not sparse.issparse(Y) else Y if Y.format == "csr" else Y.tocoo()
        if Y.dtype.kind == "f" and not np.isfinite(Y.data).all():
            raise InputError("Y contains NaN or infinity, but must be an indicator of 0 and 1")
        if Y.dtype != bool and (others := Y.data[(Y.data != 1) & (Y.data != 0)]).size:
            _warn_of(np.unique(others))
        if Y.format != "csr" or not Y.has_canonical_format or not Y.data.all():
            Y = Y.astype(bool).tocsr()
            Y.sum_duplicates()
            Y.eliminate_zeros()
        self.indptr, self.indices, self.count = Y.indptr, Y.indices, Y.shape[1]

    def _lists(self, rows: list[list]) -> None:
        first = next((label for row in rows for label in row), 0)
        if isinstance(first, str):
            ids: dict[str, int] = {}
            rows = [[ids.setdefault(_name(label, at), len(ids)) for label in row]
                    for at, row in enumerate(rows)]
            self.names, self.count = [storable(name) for name in ids], len(ids)
        else:
            rows = [[_number(label, at) for label in row] for at, row in enumerate(rows)]
            self.count = 1 + max((label for row in rows for label in row), default=-1)
        rows = [sorted(set(row)) for row in rows]
        self.indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        self.indices = np.array([label for row in rows for label in row], np.int32)


def of_dataset(X, y, label_names):
    """What was handed over, taken apart if it is a whole data set with its names."""
    if y is None and all(hasattr(X, name) for name in ("X", "Y", "label_names")):
        return X.X, X.Y, X.label_names if label_names is None else label_names
    return X, y, label_names


def are_texts(X) -> bool:
    """Whether these are texts rather than rows."""
    X = X if hasattr(X, "ndim") and X.ndim != 1 else of_arrow(X)
    is_list = isinstance(X, Iterable) and not is_frame(X) and getattr(X, "ndim", 1) == 1
    return is_list and isinstance(next(iter(X), None), str)


def is_frame(table) -> bool:
    """Whether it is a DataFrame, or a table of pyarrow."""
    return hasattr(table, "columns") and (hasattr(table, "to_numpy") or hasattr(table, "column_names"))


def columns_of(table) -> list:
    """The names of the columns of what :func:`is_frame`."""
    return list(table.column_names if hasattr(table, "column_names") else table.columns)


def of_arrow(value):
    """Arrays of pyarrow as lists; everything else as it is."""
    is_arrow = type(value).__module__.partition(".")[0] == "pyarrow"
    return value.to_pylist() if is_arrow and not is_frame(value) else value


def _of_frame(Y):
    """What a DataFrame holds; a sparse one stays so."""
    if hasattr(Y, "column_names"):
        return _ones_and_zeros(np.column_stack([column.to_numpy() for column in Y.columns]))
    if Y.shape[1] and hasattr(Y, "sparse"):
        if any(dtype.fill_value != 0 for dtype in Y.dtypes):
            raise InputError("Y has sparse columns that are filled with other values than 0")
        return Y.sparse.to_coo()
    table = Y.to_numpy()
    if table.dtype == object and all(getattr(dtype, "kind", "O") in "buif" for dtype in Y.dtypes):
        # Columns of different types, or of pandas' own ones, whose missing values are then refused.
        table = Y.to_numpy(dtype=np.float64, na_value=np.nan)
    return _ones_and_zeros(table)


def _are_indicator(rows: list[list]) -> bool:
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    return all(isinstance(value, (Number, np.bool_)) and value in (0, 1)
               for row in rows for value in row)


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
    return in_order(row)


def in_order(row: Iterable) -> list:
    """What a row has, in an order that is the same in every process; that of a set is not."""
    if not isinstance(row, (set, frozenset)):
        return list(row)
    return sorted(row, key=lambda label: (type(label).__name__, label))


def storable(name: str, what: str = "the label name") -> str:
    """A label's name, if a model, which keeps each in a line of its own, can keep it as it is."""
    if not name or any(character in name for character in "\t\n\r"):
        raise InputError(
            f"{what} {name!r} is empty or has a TAB or a line break, which models cannot keep: "
            "give it another name"
        )
    refuse_halves(f"{what} {name!r}", name)
    return name


def _line(line, at: int) -> str:
    """A label's code, or a code and names with TABs between them."""
    if not isinstance(line, str):
        raise InputError(f"label_names[{at}] is {line!r}, but must be a string")
    storable(line.partition("\t")[0])
    storable(line.replace("\t", " "))
    return line


def _refuse_twins(what: str, names: list[str]) -> None:
    if len(set(names)) == len(names):
        return
    twin = next(name for at, name in enumerate(names) if name in names[:at])
    raise InputError(f"{what}, {twin!r}, so that its labels cannot be told apart: rename them")


def refuse_halves(what: str, text: str) -> None:
    """Refuses a text that ends or begins in the middle of a character, as those cut by others may."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} has half of a surrogate pair, {text[error.start]!r}, at {error.start}, which is "
            'no character: repair it, or replace it with text.encode("utf-8", "replace").decode()'
        ) from None


def _name(label, at: int) -> str:
    if not isinstance(label, str):
        raise InputError(f"Y[{at}] has {label!r} among names: give names only, or numbers only")
    return label


def _number(label, at: int) -> int:
    if isinstance(label, (bool, np.bool_)) or not isinstance(label, Integral):
        raise InputError(f"Y[{at}] has {label!r} among numbers: give names only, or numbers only")
    if not 0 <= int(label) < MOST_NUMBERS:
        raise InputError(
            f"Y[{at}] has label {label}, but numbers of labels go from 0 to {MOST_NUMBERS - 1:,}: give "
            "names as strings instead, or a sparse indicator with a column for each label"
        )
    return int(label)
