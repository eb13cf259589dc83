"""Choosing an algorithm, and settings, and comparing, as the command's ``--algorithm auto``, ``tune`` and ``compare`` do.

All take rows with their labels, or texts with their tags. :func:`choose` and :func:`tune` give an estimator that
is still to be fitted, a :class:`TextTagger` for texts; :func:`compare` gives tables and a page.

>>> from labelwood import LabelTree, datasets, search
>>> X, Y, _ = datasets.generate("eurlex-4k", rows=200)
>>> tuned = search.tune(LabelTree(trees=1), X, Y, keep=["branches", "weight_threshold"], folds=2)
>>> type(tuned.estimator.fit(X, Y)).__name__
'LabelTree'
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from sklearn.base import clone

from . import _native
from ._base import Estimator
from ._errors import InputError
from ._inputs import (
    MOST_SEED, Labels, LabelSets, Matrix, are_texts, features, memory, real, threads, whole,
)
from ._progress import Callback
from .comparison import Compared, compare
from .estimators import BY_ALGORITHM
from .text import TextTagger

__all__ = ["Choice", "Compared", "Tuned", "choose", "compare", "tune"]


class Choice(NamedTuple):
    """An algorithm that suits data."""

    estimator: Any
    """An estimator, still to be fitted."""
    why: list[str]
    """The reasons, in sentences."""


class Tuned(NamedTuple):
    """Settings that suit data."""

    estimator: Any
    """An estimator with the settings, still to be fitted."""
    table: list[list[str]]
    """What was tried in the last round, with a head of columns, best first."""
    verdict: str
    """What another choice gains, and how sure that is."""
    is_finished: bool
    """Whether there was time for all rounds; the same call goes on in its ``folder``."""


def choose(
    X: Matrix | Iterable[str],
    y: LabelSets,
    *,
    random_state: int = 42,
    n_jobs: int | None = None,
) -> Choice:
    """The algorithm that suits rows, or texts, as the command's ``--algorithm auto`` chooses it.

    It is a :class:`Grove`, unless labels are few and one of its parts alone is measurably better. For texts,
    ways to read them are tried first, as :meth:`TextTagger.choose_text` does.
    """
    seed = whole("random_state", random_state, most=MOST_SEED)
    tagger = None
    if are_texts(X):
        texts: Any = X
        tags: Any = y
        tagger = TextTagger(n_jobs=n_jobs).choose_text(texts, tags, random_state=seed)
        X = tagger._rows_of(texts)
    labels = Labels(y)
    algorithm, settings, why = _native.choose_algorithm(
        features(X), labels.arrays, seed, memory(), threads(n_jobs)
    )
    estimator = BY_ALGORITHM[algorithm]._with_settings(json.loads(settings), n_jobs=n_jobs)
    return Choice(estimator if tagger is None else tagger.set_params(estimator=estimator), why)


def tune(
    estimator: Estimator | TextTagger | None,
    X: Matrix | Iterable[str],
    y: LabelSets,
    *,
    keep: Iterable[str] = (),
    measure: str = "p",
    folds: int = 3,
    budget: float | None = None,
    folder: str | os.PathLike[str] | None = None,
    random_state: int = 42,
    n_jobs: int | None = None,
    progress: Callback | None = None,
) -> Tuned:
    """Settings that suit rows, or texts, by cross-validation in rounds, as the command's ``tune`` finds them.

    A few settings are tried on few rows and with few trees. The best third goes on with three times as
    many, until the last round has all. The settings of ``estimator`` stay unless others are surely better.

    Parameters
    ----------
    estimator : estimator or None
        The settings to start from; a :class:`TextTagger` for texts. ``None`` tries several algorithms
        on rows.
    X, y
        As in ``fit``.
    keep : iterable of str
        Settings of the algorithm that are not changed.
    measure : {"p", "p@1", "p@3", "p@5", "ndcg@3", "ndcg@5"}, default="p"
        What settings are ranked by; "p" is the mean of P@1, P@3 and P@5.
    folds : int, default=3
        The folds of the cross-validation.
    budget : float, optional
        The seconds after which the rounds that are done decide.
    folder : path, optional
        Where finished trials are kept: the same call goes on with a tuning that was stopped.
    random_state : int, default=42
        Decides where ``estimator`` is None; else the estimator's own does.
    n_jobs, progress
        As in ``fit``.
    """
    tagger = estimator if isinstance(estimator, TextTagger) else None
    start = estimator if tagger is None else tagger._estimator
    if start is not None and not isinstance(start, Estimator):
        raise InputError(f"estimator is {start!r}, but must be one of labelwood's, or None")
    if are_texts(X) != (tagger is not None):
        raise InputError("a TextTagger is tuned with texts, other estimators with rows")
    if budget is not None and real("budget", budget) <= 0:
        raise InputError(f"budget is {budget!r}, but must be a number of seconds above 0")
    keep = list(keep)
    for name in keep:
        # Settings of a grove's parts have the part's name and a point in front.
        if start is not None and "." not in name and not hasattr(start, name):
            raise InputError(f"keep has {name!r}, which is no setting of a {type(start).__name__}")
    starts = [] if start is None else [(start.algorithm, start._settings())]
    seed = whole("random_state", random_state, most=MOST_SEED)
    place = None if folder is None else os.fspath(folder)
    trials = (starts, keep, measure, whole("folds", folds), place, budget, seed)
    if tagger is not None:
        documents = tagger._documents(X, y, None, None)
        found = _native.tune_texts(
            trials, tagger._vectoriser(), *documents, threads(n_jobs), progress
        )
    else:
        found = _native.tune_rows(trials, features(X), Labels(y).arrays, threads(n_jobs), progress)
    algorithm, settings, table, verdict, is_finished = found
    chosen = BY_ALGORITHM[algorithm]._with_settings(json.loads(settings), **_others(start))
    if tagger is not None:
        chosen = clone(tagger).set_params(estimator=chosen)
    return Tuned(chosen, table, verdict, is_finished)


def _others(start: Estimator | None) -> dict[str, Any]:
    """The parameters that are no settings of the algorithm."""
    if start is None:
        return {}
    names = ("calibrate", "favour", "threshold", "min_labels", "n_jobs", "verbose")
    return {name: getattr(start, name) for name in names if hasattr(start, name)}
