"""Extreme multi-label learning: which few of very many labels fit a row of features or a text.

The estimators :class:`CraftML`, :class:`LabelTree`, :class:`OneVsRest`, :class:`LabelForest` and
:class:`Grove` learn from sparse rows, :class:`TextTagger` from texts. :func:`load` opens a saved model, whether
Python or the command ``labelwood`` wrote it.

>>> import labelwood
>>> X, Y, _ = labelwood.datasets.generate("eurlex-4k", rows=200)
>>> model = labelwood.LabelTree().fit(X, Y)
>>> model.predict_top_k(X, k=5).shape
(200, 3993)
"""

from . import datasets, metrics
from ._errors import InputError, LabelwoodError, MachineError, MissingError
from ._native import __version__
from .estimators import CraftML, Grove, LabelForest, LabelTree, OneVsRest
from .persistence import load
from .text import TextTagger, TextVectoriser

__all__ = [
    "CraftML",
    "Grove",
    "InputError",
    "LabelForest",
    "LabelTree",
    "LabelwoodError",
    "MachineError",
    "MissingError",
    "OneVsRest",
    "TextTagger",
    "TextVectoriser",
    "__version__",
    "datasets",
    "load",
    "metrics",
]
