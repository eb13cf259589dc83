"""Extreme multi-label learning: which few of very many labels fit a row of features or a text.

The estimators :class:`CraftML`, :class:`LabelTree`, :class:`OneVsRest`, :class:`LabelForest`,
:class:`FastXML`, :class:`Neighbours` and :class:`Grove` learn from sparse rows, :class:`TextTagger` from texts, and
:class:`Names` finds the names of labels in them. :func:`load` opens a saved model, whether Python or the command ``labelwood`` wrote it.

>>> import labelwood
>>> X, Y, _ = labelwood.datasets.generate("eurlex-4k", rows=200)
>>> model = labelwood.LabelTree().fit(X, Y)
>>> model.predict_top_k(X, k=5).shape
(200, 3993)
"""

from typing import TYPE_CHECKING

from ._errors import InputError, LabelwoodError, MachineError, MissingError
from ._later import later
from ._native import __version__

if TYPE_CHECKING:
    from . import datasets, estimators, metrics, persistence, search, text
    from .comparison import Compared, compare
    from .estimators import (
        CraftML,
        FastXML,
        Grove,
        LabelForest,
        LabelTree,
        Names,
        Neighbours,
        OneVsRest,
    )
    from .persistence import load, shrink
    from .reports import Report, report
    from .text import TextTagger, TextVectoriser

__getattr__, __dir__ = later(
    __name__,
    {
        "Compared": "comparison",
        "CraftML": "estimators",
        "FastXML": "estimators",
        "Grove": "estimators",
        "LabelForest": "estimators",
        "LabelTree": "estimators",
        "Names": "estimators",
        "Neighbours": "estimators",
        "OneVsRest": "estimators",
        "Report": "reports",
        "TextTagger": "text",
        "TextVectoriser": "text",
        "compare": "comparison",
        "datasets": "datasets",
        "estimators": "estimators",
        "load": "persistence",
        "metrics": "metrics",
        "persistence": "persistence",
        "report": "reports",
        "reports": "reports",
        "search": "search",
        "shrink": "persistence",
        "text": "text",
    },
)

__all__ = [
    "Compared",
    "CraftML",
    "FastXML",
    "Grove",
    "InputError",
    "LabelForest",
    "LabelTree",
    "LabelwoodError",
    "MachineError",
    "MissingError",
    "Names",
    "Neighbours",
    "OneVsRest",
    "Report",
    "TextTagger",
    "TextVectoriser",
    "__version__",
    "compare",
    "datasets",
    "load",
    "metrics",
    "report",
    "search",
    "shrink",
]
