"""Reports on predictions: a page for a browser or a notebook, its numbers, and plots of its curves.

>>> import labelwood
>>> found = labelwood.report([[1, 0], [0, 1]], [[0.9, 0.2], [0.7, 0.4]], names=["maps", "seas"])
>>> found.figures["p@1"]
0.5
>>> "seas" in found.html
True
"""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from . import _native
from ._errors import InputError
from ._inputs import LabelSets, Matrix, real, whole
from .metrics import _constants, _labels, _scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Report", "report"]

# More than a page shows of a text.
_TEXT = 600


def report(
    Y_true: LabelSets,
    Y_score: Matrix,
    k: Iterable[int] = (1, 3, 5),
    *,
    names: Iterable[str] | None = None,
    texts: Iterable[str] | None = None,
    ids: Iterable[object] | None = None,
    title: str = "Predictions",
    threshold: float | None = None,
    Y_train: LabelSets | None = None,
    train_counts: Iterable[int] | None = None,
    train_rows: int | None = None,
    propensity: tuple[float, float] = (0.55, 1.5),
    psndcg: str = "matlab",
    seed: int = 42,
) -> Report:
    """A report on predictions: the page that ``labelwood evaluate --report`` writes.

    It has figures with intervals, curves, the labels that are found best and worst, which label is given
    instead of which, and the rows that the predictions contradict most surely.

    Parameters
    ----------
    Y_true, Y_score, k, Y_train, train_counts, train_rows, propensity, psndcg
        As for :func:`labelwood.metrics.evaluate`. Curves want more labels than the largest cut:
        ``predict_top_k(X, k=30)``.
    names : list of str, optional
        The names of the labels, by their columns.
    texts : list of str, optional
        The texts of the rows, the beginnings of which are shown for some.
    ids : list, optional
        What the rows are called.
    title : str
    threshold : float, optional
        The least score of labels that are given.
    seed : int
        Of the rows that are drawn for intervals.
    """
    if psndcg not in ("matlab", "pyxclib"):
        raise InputError(f"psndcg is {psndcg!r}, but must be matlab or pyxclib")
    truth, (scores, has_scores) = _labels("Y_true", Y_true), _with_scores(Y_score)
    if Y_train is not None:
        training = _labels("Y_train", Y_train)
        train_counts = np.bincount(training.indices, minlength=training.count)
        train_rows = len(training)
    counts = [whole(f"train_counts[{at}]", count)
              for at, count in enumerate([] if train_counts is None else train_counts)]
    width = max(truth.count, scores[3], len(counts))
    indptr, indices, _ = truth.arrays
    asked = (
        [whole("k", cut, least=1) for cut in k], _constants(propensity), psndcg == "pyxclib",
        None if threshold is None else real("threshold", threshold), has_scores, whole("seed", seed),
    )
    rows = len(truth)
    called = (
        str(title),
        _strings("names", names, None),
        _strings("ids", ids, rows),
        _strings("texts", texts, rows),
    )
    page, numbers = _native.report(
        (indptr, indices, width), scores, whole("train_rows", train_rows or 0), counts, asked, called
    )
    return Report(page, json.loads(numbers))


def _with_scores(Y):
    """Scores as the native part takes them, and whether they are scores, not only an order."""
    if getattr(Y, "best_first", None) is None:
        Y = Y if sparse.issparse(Y) else np.asarray(Y)
        if Y.dtype == np.float64:
            Y = Y.astype(np.float32)
    arrays = _scores(Y)
    values = Y.data if sparse.issparse(Y) else Y.ravel()
    return arrays, np.array_equal(np.sort(arrays[2]), np.sort(values.astype(np.float32)))


def _strings(name: str, values: Iterable[object] | None, count: int | None) -> list[str] | None:
    if values is None:
        return None
    if isinstance(values, str):
        raise InputError(f"{name} is a string, but must be a list of them")
    # What is no text, such as half of a character, cannot be shown.
    strings = [str(value)[:_TEXT].encode(errors="replace").decode() for value in values]
    if count is not None and len(strings) != count:
        raise InputError(f"{name} has {len(strings)} entries, but there are {count} rows")
    return strings


class Page:
    """A page of HTML, which a notebook shows and ``save`` writes."""

    _title = "labelwood report"

    def __init__(self, page: str) -> None:
        self.html = page

    def _repr_html_(self) -> str:
        # In a frame, so that the looks of the page and of the notebook do not mix.
        page = html.escape(self.html)
        style = "width: 100%; height: 40rem; border: 1px solid #8884"
        return f'<iframe title="{self._title}" sandbox="" style="{style}" srcdoc="{page}"></iframe>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file; one that is there is replaced."""
        Path(path).write_text(self.html, encoding="utf-8")


class Report(Page):
    """A report on predictions, which a notebook shows as a page.

    Attributes
    ----------
    html : str
        The page. It needs no network and no script.
    figures : dict of str to float
        As :func:`labelwood.metrics.evaluate` gives them, without those of slices.
    intervals : dict of str to (float, float)
        The range of most figures that holds 95 of 100 of those that other rows of the same kind would give.
    curves : dict of str to dict of str to array
        ``by_threshold``, ``precision_against_recall``, ``calibration`` and ``by_frequency``.
    """

    def __init__(self, page: str, numbers: dict[str, Any]) -> None:
        super().__init__(page)
        self.figures: dict[str, float] = numbers["figures"]
        self.intervals = {
            name: (found["from"], found["to"]) for name, found in numbers["intervals"].items()
        }
        self.curves = {name: _columns(points) for name, points in numbers["curves"].items()}

    def __repr__(self) -> str:
        return f"<labelwood.Report: p@1 {self.figures.get('p@1', float('nan')):.3f}>"

    def plot(self, curve: str | None = None, ax: Axes | None = None) -> Axes | Figure:
        """Plots a curve, or all of them; needs matplotlib, which ``pip install labelwood[plot]`` brings.

        Parameters
        ----------
        curve : {"threshold", "recall", "calibration", "frequency"}, optional
            By default all four, in a figure of their own.
        ax : matplotlib Axes, optional
            Where the curve is plotted.

        Returns
        -------
        The axes of the curve, or the figure of all.
        """
        if curve is not None and curve not in _PLOTS:
            raise InputError(f"curve is {curve!r}, but must be one of {', '.join(_PLOTS)}")
        try:
            import matplotlib.pyplot as plt
        except ImportError as missing:
            raise ImportError("plots need matplotlib: pip install 'labelwood[plot]'") from missing
        if curve is not None:
            ax = plt.subplots()[1] if ax is None else ax
            _PLOTS[curve](ax, self.curves)
            return ax
        figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
        for each, one in zip(_PLOTS.values(), axes.flat):
            each(one, self.curves)
        return figure


def _columns(points: list[dict[str, float]]) -> dict[str, np.ndarray]:
    names = points[0].keys() if points else []
    return {name: np.array([point[name] for point in points]) for name in names}


def _plot_threshold(ax, curves) -> None:
    points = curves["by_threshold"]
    for name, style, label in [
        ("precision", "-", "precision"), ("recall", "--", "recall"), ("micro_f1", ":", "F1"),
    ]:
        if points:
            ax.plot(points["threshold"], points[name], style, label=label)
    ax.set(xlabel="least score of a label that is given", ylabel="share", ylim=(0, 1))
    if points:
        ax.legend()


def _plot_recall(ax, curves) -> None:
    points = curves["precision_against_recall"]
    if points:
        ax.plot(points["recall"], points["precision"])
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1))


def _plot_calibration(ax, curves) -> None:
    bins = curves["calibration"]
    ax.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle=":")
    if bins:
        ax.plot(bins["mean_score"], bins["precision"], "o-")
    ax.set(xlabel="score", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))


def _plot_frequency(ax, curves) -> None:
    bands = curves["by_frequency"]
    if bands:
        places = np.arange(len(bands["from"]))
        share = lambda whole: bands["hits"] / np.maximum(bands[whole], 1)  # noqa: E731
        ax.bar(places - 0.2, share("predicted"), 0.38, label="precision")
        ax.bar(places + 0.2, share("support"), 0.38, label="recall")
        ax.set_xticks(places, [str(first) for first in bands["from"]])
        ax.legend()
    ax.set(xlabel="training rows of a label, from", ylabel="share", ylim=(0, 1))


_PLOTS = {
    "threshold": _plot_threshold,
    "recall": _plot_recall,
    "calibration": _plot_calibration,
    "frequency": _plot_frequency,
}
