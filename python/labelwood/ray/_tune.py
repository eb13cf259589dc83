"""Settings, compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import ray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from .._base import Estimator
from .._errors import InputError
from .._inputs import Labels, features
from .._progress import Callback
from ..metrics import evaluate
from ._cluster import (
    AHEAD,
    ONCE,
    each,
    refuse_less_than_one,
    refuse_more_than_a_machine_has,
    refuse_without_ray,
    slots,
)


def tune(
    estimator: Estimator,
    candidates: Iterable[Mapping[str, Any]],
    X,
    y,
    *,
    metric: str = "ndcg@5",
    folds: int = 3,
    seed: int = 42,
    cpus: int = 1,
    memory: int | None = None,
    attempts: int = 3,
    progress: Callback | None = None,
) -> list[dict[str, Any]]:
    """Compares settings by cross-validation, each fold of each candidate in a task of its own.

    Gives a row for each candidate, best first: ``settings``, the mean of the ``metric`` under its
    name, and the figure of each fold under ``folds``. ``pandas.DataFrame`` makes a table of it.

    Parameters
    ----------
    estimator : estimator
        What all candidates have in common.
    candidates : iterable of dict
        The parameters that are set on it, such as ``sklearn.model_selection.ParameterGrid`` gives
        them. ``n_jobs`` is not among them, since ``cpus`` says it.
    X, y
        As in ``estimator.fit``. They are put into the object store, from where each machine takes them
        once.
    metric : str, default="ndcg@5"
        A figure of :func:`labelwood.metrics.evaluate`.
    folds, seed
        Into how many folds rows are divided, and how they are shuffled.
    cpus, memory, attempts, progress
        As in :func:`fit`; progress is in tasks. No memory is asked for by default.
    """
    if not isinstance(estimator, Estimator):
        raise InputError(
            f"estimator is {estimator!r}, but must be one for rows: vectorise texts before"
        )
    refuse_without_ray()
    refuse_less_than_one(cpus=cpus, attempts=attempts)
    refuse_more_than_a_machine_has(cpus, memory or 0)
    _cut(metric)
    candidates = [dict(candidate) for candidate in candidates]
    for at, candidate in enumerate(candidates):
        if "n_jobs" in candidate:
            raise InputError(
                f"candidates[{at}] sets n_jobs, but the threads of a task are given as cpus"
            )
    indptr, indices, data, columns = features(X)
    X = sparse.csr_array((data, indices, indptr), (len(indptr) - 1, columns))
    Y = Labels(y).indicator
    if X.shape[0] != Y.shape[0]:
        raise InputError(
            f"X has {X.shape[0]} rows, but Y has {Y.shape[0]}: give each row its labels"
        )
    splits = list(KFold(folds, shuffle=True, random_state=seed).split(X))
    rows = ray.put((X, Y))
    learners = [clone(estimator).set_params(**candidate, n_jobs=cpus) for candidate in candidates]
    task = ray.remote(_fold).options(num_cpus=cpus, memory=memory, **ONCE)
    items = [(at, fold) for at in range(len(candidates)) for fold in range(folds)]
    figures = np.zeros((len(candidates), folds))
    for done, ((at, fold), figure) in enumerate(each(
        lambda item: task.remote(learners[item[0]], rows, *splits[item[1]], metric),
        items, attempts, AHEAD * slots(cpus),
    )):
        figures[at, fold] = figure
        if progress is not None:
            progress("tune", done + 1, len(items))
    table = [{"settings": candidate, metric: float(row.mean()), "folds": row.tolist()}
             for candidate, row in zip(candidates, figures)]
    return sorted(table, key=lambda row: -row[metric])


def _cut(metric: str) -> int:
    name, _, k = metric.partition("@")
    if not name or not k.isdecimal() or int(k) < 1:
        raise InputError(f"metric is {metric!r}, but must be a figure such as ndcg@5")
    return int(k)


def _fold(learner: Estimator, rows, train: np.ndarray, test: np.ndarray, metric: str) -> float:
    X, Y = rows
    k = _cut(metric)
    scores = learner.fit(X[train], Y[train]).predict_top_k(X[test], k)
    figures = evaluate(Y[test], scores, [k], Y_train=Y[train])
    if metric not in figures:
        raise InputError(f"metric is {metric!r}, but must be one of {', '.join(figures)}")
    return figures[metric]
