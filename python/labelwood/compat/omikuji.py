"""The interface of the omikuji 0.5 package over labelwood's label trees.

``from labelwood.compat import omikuji`` instead of ``import omikuji`` is all that a program has to
change. Names, arguments, defaults, types and errors are those of that package; what differs:

- Two trainings on the same data give the same model; ``hyper_param.seed`` gives others.
- :meth:`Model.save` replaces a model that is in the folder, where omikuji adds its trees to it.
  Other files stay. A folder with a model of each kind is not loaded.
- Folders hold labelwood's files, which the command and :func:`labelwood.load` open. Those that
  omikuji wrote are read, too, and saved in omikuji's format again.
- Errors say why. What ends the process there is an error here: a single feature that is out of
  range, more than a million trees, ``tree_structure_only``. A ``beam_size`` of 0 counts as 1.
- Values that are NaN or infinite are refused: in predictions with :class:`labelwood.InputError`, where
  omikuji gives all labels the score 1, as it does for a row of zeros.
- ``cluster_eps`` and ``train_trees_1_by_1`` have no effect: clustering ends after ten passes, and
  trees share all threads. A ``linear_c`` above 1e9 counts as 1e9 and a ``cluster_k`` above 65,536 as
  65,536; a ``linear_c`` that is NaN is refused.
- Labels of a score below about 1e-12, which only a large ``linear_c`` leads to, are left out.
- ``linear_weight_threshold`` leaves the bias of a label alone, however small it is.
- Paths may be :class:`pathlib.Path`. Training files may be compressed, repeat features, and have more
  features, or more or fewer rows, than the header says. Labels go up to 2,147,483,646.
- Models can be pickled.

New are :meth:`Model.train_on_matrix`, :meth:`Model.predict_batch`, ``mmap`` of :meth:`Model.load`
and :func:`quiet`.

>>> from labelwood.compat import omikuji
>>> omikuji.quiet()
>>> hyper_param = omikuji.Model.default_hyper_param()
>>> hyper_param.n_trees = 2
>>> model = omikuji.Model.train_on_matrix([[1, 0], [0, 1]], [[0], [1]], hyper_param)
>>> model.n_features, model.n_trees
(2, 2)
>>> [label for label, score in model.predict([(1, 0.5)], top_k=1)]
[1]
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import sys
from collections.abc import Iterable

from scipy import sparse

from .. import _native
from .._errors import InputError, LabelwoodError
from .._inputs import Labels, features
from . import _folders
from ._hyper_param import HyperParam, LossType, as_count, as_single, as_size

__all__ = ["LossType", "Model", "__version__", "init_logger", "quiet"]

#: The version of omikuji whose interface this is.
__version__ = "0.5.2"

_shows_settings = True


def quiet(is_quiet: bool = True) -> None:
    """Trains without the line that shows the hyper-parameters, or with it again."""
    global _shows_settings
    _shows_settings = not is_quiet


def init_logger() -> None:
    """Fails, as it does there: importing the module has done it already."""
    raise RuntimeWarning("Failed to initialize logger: it was initialized when omikuji was imported")


class Model:
    """Label trees; :meth:`load` and :meth:`train_on_data` make them."""

    def __init__(self, model, threads: int = 0) -> None:
        self._model = model
        self._threads = threads
        self._manifest = json.loads(model.manifest)

    @classmethod
    def default_hyper_param(cls) -> HyperParam:
        """Hyper-parameters with omikuji's defaults."""
        return HyperParam()

    @classmethod
    def train_on_data(
        cls, data_path: str, hyper_param: HyperParam | None = None, n_threads: int | None = None
    ) -> Model:
        """Trains on a file in the format of the XC repository.

        Labels and features may come in any order. Numbers beyond those of the header are taken,
        with a warning in the log.
        """
        path, threads = _path(data_path), _threads(n_threads)
        hyper_param = _hyper_param(hyper_param)
        try:
            x, columns, y, labels = _native.read_omikuji_rows(path, threads)
        except LabelwoodError as error:
            raise RuntimeError(f"Failed to load data from {data_path}: {error}") from error
        return cls._train((*x, columns), (*y[:2], labels), hyper_param, threads)

    @classmethod
    def train_on_matrix(
        cls, X, Y, hyper_param: HyperParam | None = None, n_threads: int | None = None
    ) -> Model:
        """Trains on rows and their labels, in any form that the estimators take."""
        threads, hyper_param = _threads(n_threads), _hyper_param(hyper_param)
        if Y is None:
            raise InputError("Y is None, but must have the labels of each row")
        return cls._train(features(X), Labels(Y).arrays, hyper_param, threads)

    @classmethod
    def _train(cls, rows: tuple, labels: tuple, hyper_param: HyperParam, threads: int) -> Model:
        try:
            settings = hyper_param._settings()
            if _shows_settings:
                _show(f"Training model with hyper-parameters {hyper_param!r}\n")
            learner = ("label-tree", settings, False, "none", False, False)
            model = _native.Model.train(
                learner, rows, labels, None, (None, None, None, None), threads, None
            )
        except LabelwoodError as error:
            raise RuntimeError(f"Failed to train model: {error}") from error
        return cls(model)

    @classmethod
    def load(cls, path: str, mmap: bool = True) -> Model:
        """Loads a model from a folder that :meth:`save` or omikuji 0.5 wrote."""
        folder = _path(path) or os.curdir
        try:
            if _folders.is_omikujis(folder):
                return cls(_native.OmikujiTrees.open(folder))
            model = _native.Model.open(folder, mmap)
            algorithm = json.loads(model.manifest)["algorithm"]
            if algorithm != "label-tree":
                raise InputError(f"it holds a model of {algorithm}, not of label trees")
        except (OSError, ValueError) as error:
            raise RuntimeError(f"Failed to load model from {path}: {error}") from error
        return cls(model)

    def save(self, path: str) -> None:
        """Saves the model to a folder, which is made if need be. A model there is replaced.

        A model that omikuji wrote is saved in omikuji's format.
        """
        folder = _path(path) or os.curdir
        is_omikujis = isinstance(self._model, _native.OmikujiTrees)
        save = _folders.save_omikujis if is_omikujis else _folders.save_labelwoods
        try:
            save(self._model, folder)
        except (OSError, ValueError) as error:
            raise RuntimeError(f"Failed to save model to {path}: {error}") from error

    def init_prediction_thread_pool(self, n_threads: int | None) -> None:
        """Sets the number of threads of :meth:`predict_batch`; 0 and None stand for all."""
        self._threads = _threads(n_threads)

    def densify_weights(
        self, max_sparse_density: float = 0.1, n_threads: int | None = None
    ) -> None:
        """Does nothing: weights already lie in the form that is fastest to read."""
        # What is no number is refused as there.
        as_single(max_sparse_density)
        _threads(n_threads)

    @property
    def n_features(self) -> int:
        """The expected dimension of feature vectors."""
        return self._manifest["features"]

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return self._manifest["settings"]["trees"]

    def predict(
        self,
        feature_value_pairs: Iterable[tuple[int, float]],
        beam_size: int = 10,
        top_k: int = 10,
    ) -> list[tuple[int, float]]:
        """The best labels of one row with their scores, best first."""
        pairs = sorted(feature_value_pairs, key=operator.itemgetter(0))
        ids = [feature for feature, _ in pairs]
        last = self.n_features - 1
        if len(ids) == 1:
            assert as_count(ids[0]) <= last, "Incorrect feature index"
        elif ids:
            in_order = all(map(operator.lt, ids, ids[1:]))
            assert in_order and 0 <= ids[0] and ids[-1] <= last, "Incorrect feature index"
        # Most numbers are Python's own; calls for them would take longer than the prediction.
        pairs = [(id if type(id) is int else as_count(id), value) for id, value in pairs]
        return self._model.predict_row(pairs, _length(top_k), _beam(beam_size))

    def predict_batch(self, X, beam_size: int = 10, top_k: int = 10) -> sparse.csr_array:
        """The best labels of each row with their scores, each row best first."""
        arrays = features(X)
        assert arrays[3] <= self.n_features, "Incorrect feature index"
        indptr, indices, data = self._model.predict(
            arrays, _length(top_k), _beam(beam_size), None, self._threads, None
        )
        labels = self._manifest["labels"]
        return sparse.csr_array((data, indices, indptr), (len(indptr) - 1, labels))


def _path(path: str | os.PathLike[str]) -> str:
    if isinstance(path, os.PathLike):
        path = os.fspath(path)
    if not isinstance(path, str):
        raise AttributeError(f"{type(path).__name__!r} object has no attribute 'encode'")
    return path


def _threads(n_threads: int | None) -> int:
    return as_size(max(n_threads or 0, 0))


def _beam(beam_size: int) -> int:
    return max(as_size(beam_size), 1)


def _length(top_k: int) -> int:
    length = operator.index(top_k)
    if length < 0:
        raise ValueError("negative array length")
    return length


def _hyper_param(hyper_param: HyperParam | None) -> HyperParam:
    if hyper_param is None:
        return HyperParam()
    if not isinstance(hyper_param, HyperParam):
        raise TypeError(
            f"hyper_param is {hyper_param!r}, but must be what Model.default_hyper_param() gives"
        )
    return hyper_param


def _show(line: str) -> None:
    """Writes to standard output itself, as Rust does there, whatever ``sys.stdout`` is.

    What the program printed before comes before it. That nothing can be written stops no training.
    """
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.write(1, line.encode())
