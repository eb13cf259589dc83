"""The interface of the omikuji 0.5 package over labelwood's label trees.

``from labelwood.compat import omikuji`` instead of ``import omikuji`` is all that a program has to
change. Names, arguments, defaults, types and errors are those of that package; what differs:

- Two trainings on the same data give the same model; ``hyper_param.seed`` gives others.
- :meth:`Model.save` replaces a model that is in the folder, where omikuji adds its trees to it.
- Folders hold labelwood's files, which the command and :func:`labelwood.load` open. Those that
  omikuji wrote are read, too.
- Errors say why, and a wrong feature is an error where omikuji ends the process.
- With the logistic loss, ``linear_c`` is the same at all nodes, where omikuji multiplies it by the
  number of all rows over that of the node's.
- ``cluster_eps`` and ``train_trees_1_by_1`` have no effect: clustering ends after ten passes, and
  trees share all threads. ``tree_structure_only``, which ends the process there, is refused.

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

import json
import operator
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterable
from enum import Enum

import numpy as np
from scipy import sparse

from .. import _native, datasets
from .._errors import InputError, LabelwoodError
from .._inputs import Labels, features

__all__ = ["LossType", "Model", "init_logger", "quiet"]

_shows_settings = True


class LossType(Enum):
    """What a margin costs: the squared hinge, or the logistic loss."""

    HINGE = 0
    LOG = 1


def quiet() -> None:
    """Trains without the line that shows the hyper-parameters."""
    global _shows_settings
    _shows_settings = False


def init_logger() -> None:
    """Shows the line with the hyper-parameters again, after :func:`quiet`."""
    global _shows_settings
    _shows_settings = True


def _size(value) -> int:
    if isinstance(value, float) or not (hasattr(value, "__index__") or hasattr(value, "__int__")):
        raise TypeError("an integer is required")
    value = operator.index(value) if hasattr(value, "__index__") else int(value)
    if value < 0:
        raise OverflowError("can't convert negative number to unsigned")
    if value >= 2**64:
        raise OverflowError("int too big to convert")
    return value


def _count(value) -> int:
    value = _size(value)
    if value >= 2**32:
        raise OverflowError(f"integer {value} does not fit 'uint32_t'")
    return value


def _flag(value) -> bool:
    value = _size(value)
    if value > 1:
        raise OverflowError(f"integer {value} does not fit '_Bool'")
    return bool(value)


def _single(value) -> float:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        if not hasattr(value, "__index__"):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        value = operator.index(value)
    return struct.unpack("f", struct.pack("f", float(value)))[0]


#: Name, kind and default, in omikuji's order.
_FIELDS = {
    "n_trees": (_size, 3),
    "min_branch_size": (_size, 100),
    "max_depth": (_size, 20),
    "centroid_threshold": (_single, 0.0),
    "collapse_every_n_layers": (_size, 0),
    "tree_structure_only": (_flag, False),
    "train_trees_1_by_1": (_flag, False),
    "linear_loss_type": (_count, 0),
    "linear_eps": (_single, 0.1),
    "linear_c": (_single, 1.0),
    "linear_weight_threshold": (_single, 0.1),
    "linear_max_iter": (_count, 20),
    "cluster_k": (_size, 2),
    "cluster_balanced": (_flag, True),
    "cluster_eps": (_single, 0.0001),
    "cluster_min_size": (_size, 2),
}


class HyperParam:
    """Hyper-parameters; :meth:`Model.default_hyper_param` makes them."""

    __slots__ = (*_FIELDS, "seed")

    def __init__(self) -> None:
        for name, (_, default) in _FIELDS.items():
            setattr(self, name, default)
        self.seed = 42

    def __setattr__(self, name: str, value) -> None:
        kind = _size if name == "seed" else _FIELDS.get(name, (None,))[0]
        if kind is None:
            raise AttributeError(f"cdata 'struct OMIKUJI_HyperParam' has no field {name!r}")
        object.__setattr__(self, name, kind(value))

    def __repr__(self) -> str:
        def of(*names: str) -> str:
            return ", ".join(
                f"{name.split('_', 1)[1]}: {_shown(getattr(self, name))}" for name in names
            )

        loss = "Log" if self.linear_loss_type == LossType.LOG.value else "Hinge"
        linear = of("linear_eps", "linear_c", "linear_weight_threshold", "linear_max_iter")
        cluster = of("cluster_k", "cluster_balanced", "cluster_eps", "cluster_min_size")
        return (
            f"HyperParam {{ n_trees: {self.n_trees}, min_branch_size: {self.min_branch_size}, "
            f"max_depth: {self.max_depth}, centroid_threshold: {_shown(self.centroid_threshold)}, "
            f"collapse_every_n_layers: {self.collapse_every_n_layers}, "
            f"linear: HyperParam {{ loss_type: {loss}, {linear} }}, "
            f"cluster: HyperParam {{ {cluster} }}, "
            f"tree_structure_only: {_shown(self.tree_structure_only)}, "
            f"train_trees_1_by_1: {_shown(self.train_trees_1_by_1)} }}"
        )

    def _settings(self) -> str:
        """The settings of label trees that mean the same."""
        if self.tree_structure_only:
            raise InputError("tree_structure_only is set, but a tree without weights predicts nothing")
        is_log = self.linear_loss_type == LossType.LOG.value
        settings = json.loads(_native.preset("label-tree", "omikuji"))
        return json.dumps({
            **settings,
            "trees": self.n_trees,
            # There a node of fewer labels is a leaf, here one of at most so many.
            "leaf": max(1, self.min_branch_size - 1),
            "depth": max(1, min(self.max_depth, 1000)),
            "vector_threshold": self.centroid_threshold,
            "collapse": min(self.collapse_every_n_layers, 1000),
            "loss": "logistic" if is_log else "squared-hinge",
            "link": "sigmoid" if is_log else "squared-hinge",
            "tolerance": self.linear_eps,
            "cost": self.linear_c,
            "weight_threshold": self.linear_weight_threshold,
            "iterations": max(1, self.linear_max_iter),
            "branches": self.cluster_k,
            "balanced": self.cluster_balanced,
            "smallest_group": max(1, self.cluster_min_size),
            "seed": self.seed,
        })


def _shown(value) -> str:
    """A value as Rust prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return np.format_float_positional(np.float32(value), trim="0")
    return str(value)


class Model:
    """Label trees; :meth:`load` and :meth:`train_on_data` make them."""

    def __init__(self, model, threads: int = 0) -> None:
        self._model = model
        self._threads = threads
        #: The folder of a model that omikuji wrote.
        self._source: str | None = None
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
        try:
            data = datasets.read(data_path, lenient=True, n_jobs=n_threads or None)
        except LabelwoodError as error:
            raise RuntimeError(f"Failed to load data from {data_path}: {error}") from error
        return cls.train_on_matrix(data.X, data.Y, hyper_param, n_threads)

    @classmethod
    def train_on_matrix(
        cls, X, Y, hyper_param: HyperParam | None = None, n_threads: int | None = None
    ) -> Model:
        """Trains on rows and their labels, in any form that the estimators take."""
        hyper_param = HyperParam() if hyper_param is None else hyper_param
        if _shows_settings:
            print(f"Training model with hyper-parameters {hyper_param!r}", flush=True)
        labels = Labels(Y)
        try:
            model = _native.Model.train(
                ("label-tree", hyper_param._settings(), False, "none"), features(X), labels.arrays,
                None, None, max(n_threads or 0, 0), None,
            )
        except LabelwoodError as error:
            raise RuntimeError(f"Failed to train model: {error}") from error
        return cls(model)

    @classmethod
    def load(cls, path: str, mmap: bool = True) -> Model:
        """Loads a model from a folder that :meth:`save` or omikuji 0.5 wrote."""
        if os.path.exists(os.path.join(path, "settings.json")):
            return cls._load_theirs(path)
        try:
            model = _native.Model.open(os.fspath(path), mmap)
            algorithm = json.loads(model.manifest)["algorithm"]
            if algorithm != "label-tree":
                raise InputError(f"it holds a model of {algorithm}, not of label trees")
        except LabelwoodError as error:
            raise RuntimeError(f"Failed to load model from {path}: {error}") from error
        return cls(model)

    @classmethod
    def _load_theirs(cls, path: str) -> Model:
        try:
            model = cls(_native.OmikujiTrees.open(os.fspath(path)))
        except LabelwoodError as error:
            raise RuntimeError(f"Failed to load model from {path}: {error}") from error
        model._source = os.path.abspath(path)
        return model

    def save(self, path: str) -> None:
        """Saves the model to a folder, which is made if need be. A model there is replaced.

        A model that omikuji wrote is saved as a copy of its files.
        """
        try:
            if self._source is not None:
                _replace(path, lambda target: shutil.copytree(self._source, target))
            elif _is_theirs(path):
                _replace(path, lambda target: self._model.save(target, True))
            else:
                self._model.save(os.fspath(path), True)
        except (LabelwoodError, OSError) as error:
            raise RuntimeError(f"Failed to save model to {path}: {error}") from error

    def init_prediction_thread_pool(self, n_threads: int) -> None:
        """Sets the number of threads of :meth:`predict_batch`; 0 stands for all."""
        self._threads = max(n_threads, 0)

    def densify_weights(
        self, max_sparse_density: float = 0.1, n_threads: int | None = None
    ) -> None:
        """Does nothing: weights already lie in the form that is fastest to read."""

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
        pairs = [(operator.index(feature), float(value)) for feature, value in feature_value_pairs]
        n_features = self.n_features
        seen = {feature for feature, _ in pairs}
        right = len(seen) == len(pairs) and all(0 <= feature < n_features for feature in seen)
        assert right, "Incorrect feature index"
        return self._model.predict_row(pairs, top_k, max(beam_size, 1))

    def predict_batch(self, X, beam_size: int = 10, top_k: int = 10) -> sparse.csr_array:
        """The best labels of each row with their scores, each row best first."""
        arrays = features(X)
        assert arrays[3] <= self.n_features, "Incorrect feature index"
        indptr, indices, data = self._model.predict(
            arrays, top_k, max(beam_size, 1), None, self._threads, None
        )
        labels = self._manifest["labels"]
        return sparse.csr_array((data, indices, indptr), (len(indptr) - 1, labels))


def _is_theirs(path: str) -> bool:
    """Whether a folder holds a model of omikuji's and nothing else."""
    try:
        names = os.listdir(path)
    except OSError:
        return False
    known = re.compile(r"settings\.json|tree\d+\.cbor")
    return "settings.json" in names and all(map(known.fullmatch, names))


def _replace(path: str, write: Callable[[str], object]) -> None:
    """Puts a folder that ``write`` makes in the place of one that may hold a model."""
    if os.path.isdir(path) and os.listdir(path) and not _is_theirs(path):
        if not os.path.exists(os.path.join(path, "manifest.json")):
            raise InputError(f"{path}: this is not a model; choose another folder")
    around = os.path.dirname(os.path.abspath(path))
    os.makedirs(around, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=around) as folder:
        write(os.path.join(folder, "new"))
        if os.path.isdir(path):
            os.rename(path, os.path.join(folder, "old"))
        os.rename(os.path.join(folder, "new"), path)
