"""omikuji's hyper-parameters: their names, types, defaults and limits, and what they mean here.

Values become numbers of C as cffi makes them there, with the same errors, so that an attribute takes
the same values and has the same type when it is read.
"""

from __future__ import annotations

import ctypes
import json
import math
import operator
from collections.abc import Callable
from enum import Enum

import numpy as np

from .. import _native
from .._errors import InputError


class LossType(Enum):
    """What a margin costs: the squared hinge, or the logistic loss."""

    HINGE = 0
    LOG = 1


def as_size(value) -> int:
    """A value as cffi makes it a ``size_t``."""
    if not isinstance(value, int):
        # Other numbers of NumPy's are cut off at the point, even though floats are refused.
        if isinstance(value, float) or not hasattr(type(value), "__int__"):
            raise TypeError("an integer is required")
        value = int(value)
    if value < 0:
        raise OverflowError("can't convert negative number to unsigned")
    if value >= 2**64:
        raise OverflowError("int too big to convert")
    return int(value)


def as_count(value) -> int:
    """A value as cffi makes it a ``uint32_t``."""
    value = as_size(value)
    if value >= 2**32:
        raise OverflowError(f"integer {value} does not fit 'uint32_t'")
    return value


def as_single(value) -> float:
    """A value as cffi makes it a ``float``."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        if not hasattr(value, "__index__"):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        value = operator.index(value)
    return ctypes.c_float(float(value)).value


def _as_flag(value) -> bool:
    value = as_size(value)
    if value > 1:
        raise OverflowError(f"integer {value} does not fit '_Bool'")
    return bool(value)


#: Name, kind and default, in omikuji's order.
FIELDS: dict[str, tuple[Callable, int | float]] = {
    "n_trees": (as_size, 3),
    "min_branch_size": (as_size, 100),
    "max_depth": (as_size, 20),
    "centroid_threshold": (as_single, 0.0),
    "collapse_every_n_layers": (as_size, 0),
    "tree_structure_only": (_as_flag, False),
    "train_trees_1_by_1": (_as_flag, False),
    "linear_loss_type": (as_count, 0),
    "linear_eps": (as_single, 0.1),
    "linear_c": (as_single, 1.0),
    "linear_weight_threshold": (as_single, 0.1),
    "linear_max_iter": (as_count, 20),
    "cluster_k": (as_size, 2),
    "cluster_balanced": (_as_flag, True),
    "cluster_eps": (as_single, 0.0001),
    "cluster_min_size": (as_size, 2),
}

#: What omikuji refuses is below these, or not above 0. NaN is neither.
_LEAST = {
    "n_trees": 1,
    "min_branch_size": 2,
    "centroid_threshold": 0,
    "max_depth": 1,
    "linear_weight_threshold": 0,
    "linear_max_iter": 1,
    "cluster_k": 1,
    "cluster_min_size": 1,
}
_ABOVE_0 = ("linear_eps", "linear_c", "cluster_eps")
#: What label trees take at most. More trees are refused, as omikuji would end the process; more of
#: the others makes no difference that could be seen.
_MOST_TREES = 2**20
_MOST_BRANCHES = 2**16
_MOST_LAYERS = 1000
_MOST = 1e9


class HyperParam:
    """Hyper-parameters; :meth:`Model.default_hyper_param` makes them."""

    __slots__ = (*FIELDS, "seed")

    def __init__(self) -> None:
        for name, (_, default) in FIELDS.items():
            setattr(self, name, default)
        self.seed = 42

    def __setattr__(self, name: str, value) -> None:
        kind = as_size if name == "seed" else FIELDS.get(name, (None,))[0]
        if kind is None:
            raise AttributeError(f"cdata 'struct OMIKUJI_HyperParam' has no field {name!r}")
        object.__setattr__(self, name, kind(value))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}")

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

    def _check(self) -> None:
        """Refuses what omikuji refuses, and what ends the process there."""
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise InputError(f"{name} is {getattr(self, name)}, but must be at least {least}")
        for name in _ABOVE_0:
            if getattr(self, name) <= 0:
                raise InputError(f"{name} is {getattr(self, name)}, but must be above 0")
        if math.isnan(self.linear_c):
            raise InputError("linear_c is nan, but must be a number above 0")
        if self.n_trees > _MOST_TREES:
            raise InputError(f"n_trees is {self.n_trees}, but must be at most {_MOST_TREES}")
        if self.tree_structure_only:
            raise InputError(
                "tree_structure_only is set, but a tree without weights predicts nothing: unset it"
            )

    def _settings(self) -> str:
        """The settings of label trees that mean the same."""
        self._check()
        is_log = self.linear_loss_type == LossType.LOG.value
        settings = json.loads(_native.preset("label-tree", "omikuji"))
        return json.dumps({
            **settings,
            "trees": self.n_trees,
            # There a node of fewer labels is a leaf, here one of at most so many.
            "leaf": self.min_branch_size - 1,
            "depth": min(self.max_depth, _MOST_LAYERS),
            # Nothing is as large as NaN, so that no feature is kept.
            "vector_threshold": _at_most(self.centroid_threshold, if_nan=_MOST),
            "collapse": min(self.collapse_every_n_layers, _MOST_LAYERS),
            "loss": "logistic" if is_log else "squared-hinge",
            "link": "sigmoid" if is_log else "squared-hinge",
            # Nothing is below NaN, so that training never ends early.
            "tolerance": _at_most(self.linear_eps, if_nan=1 / _MOST),
            "cost": min(self.linear_c, _MOST),
            # Nothing is as small as NaN, so that all weights are kept.
            "weight_threshold": _at_most(self.linear_weight_threshold, if_nan=0.0),
            "iterations": self.linear_max_iter,
            "branches": min(self.cluster_k, _MOST_BRANCHES),
            "balanced": self.cluster_balanced,
            "smallest_group": self.cluster_min_size,
            "seed": self.seed,
        })


def _at_most(value: float, if_nan: float) -> float:
    return if_nan if math.isnan(value) else min(value, _MOST)


def _shown(value: int | float) -> str:
    """A value as Rust prints it."""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "NaN"
    single = np.float32(value)
    if value == 0 or math.isinf(value) or 1e-4 <= abs(single) < 1e16:
        return np.format_float_positional(single, trim="0")
    return np.format_float_scientific(single, trim="-", exp_digits=1).replace("e+", "e")
