"""The algorithms as scikit-learn estimators.

The names and defaults of the settings are those of the command and of the Rust library, whose
documentation says more about each. All estimators share these parameters:

calibrate : bool, default=False
    Whether scores become probabilities, at the cost of a second training. A :class:`Grove`'s are
    without, and it has no such parameter.
favour : {"none", "tail"}, default="none"
    Which labels come before others of a better score: "tail" lets rare ones come first, so that
    propensity-scored precision rises while precision falls; see ``tail_weight``.
random_state : int, RandomState or None, default=42
    Every random choice follows from it; the same rows, settings and number give the same model,
    on any number of threads.
threshold : float or "auto", default="auto"
    The score, from 0 to 1, from which :meth:`predict` takes a label; ``threshold_`` is the number. "auto"
    is the one with the best micro-F1 by rows that are held out, which the model keeps: a grove and
    ``calibrate=True`` learn it anyway, others at the cost of a second training on nine tenths of the rows,
    of a part of the trees if there are many, which a number saves. It is 0.5 where there are too few rows. A saved model does not keep a number: set it anew after :func:`labelwood.load`.
min_labels : int, default=0
    How many labels :meth:`predict` gives each row at least, whatever their scores.
n_jobs : int or None, default=None
    The number of threads; None and -1 stand for all.
verbose : int, default=0
    Whether a bar shows the progress.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._base import Estimator, _seed
from ._errors import InputError
from ._inputs import Matrix, flag
from ._mixins import WithParts, clusters
from ._settings import (
    CraftmlSettings,
    FastxmlSettings,
    LabelForestSettings,
    LabelTreeSettings,
    NamesSettings,
    NeighboursSettings,
    OneVsRestSettings,
)


def _with_parameters(cls):
    """Adds the parameters to the documentation of an estimator."""
    cls.__doc__ += cls._parameters
    return cls


@_with_parameters
class CraftML(CraftmlSettings, Estimator):
    """A CRAFTML forest: trees over instances, split by random projections of features and labels.

    >>> from labelwood import CraftML, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> forest = CraftML(trees=5).fit(X, Y)
    >>> best = forest.predict_top_k(X[:2], k=3)
    >>> best.shape
    (2, 3993)
    """


@_with_parameters
class OneVsRest(OneVsRestSettings, Estimator):
    """A linear classifier for every label.

    >>> from labelwood import OneVsRest
    >>> model = OneVsRest().fit([[1, 0], [0, 1]], [["birds"], ["maps"]])
    >>> model.classes_[model.predict_top_k([[0.9, 0.1]], k=1).indices]
    array(['birds'], dtype=object)
    """

    def decision_function(self, X: Matrix) -> NDArray[np.float32]:
        """By how much the score of each label exceeds the threshold: above 0 it is predicted.

        An array with all labels, if it has room in a gigabyte. Other estimators have none: they give
        only some labels a score.
        """
        return self._dense(X) - np.float32(self.threshold_)


@_with_parameters
class LabelTree(LabelTreeSettings, Estimator):
    """Trees of linear classifiers that narrow the labels down (Parabel, Bonsai, PLT, HOMER).

    ``LabelTree.preset("bonsai")`` has the settings of one of these systems.

    >>> from labelwood import LabelTree, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> LabelTree(trees=1).fit(X, Y).score(X, Y) > 0.9
    True
    """

    def clusters(self, tree: int = 0) -> list[np.ndarray]:
        """The labels below each child of a tree's root: those that it takes for alike."""
        check_is_fitted(self)
        return [np.array(labels, np.int32) for labels in clusters(self.model_, tree)]


@_with_parameters
class LabelForest(LabelForestSettings, Estimator):
    """Many label trees, each over some of the labels (Random Label Forests).

    >>> from labelwood import LabelForest, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> forest = LabelForest(submodels=4, rate=0.5).fit(X, Y)
    >>> forest.predict(X).shape
    (300, 3993)
    """


@_with_parameters
class FastXML(FastxmlSettings, Estimator):
    """A forest over instances, each node of which ranks the labels of two sides (FastXML, PfastreXML).

    ``FastXML.preset("pfastrexml")`` cares for rare labels.

    >>> from labelwood import FastXML, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> forest = FastXML(trees=5).fit(X, Y)
    >>> forest.predict_top_k(X[:2], k=3).shape
    (2, 3993)
    """


@_with_parameters
class Neighbours(NeighboursSettings, Estimator):
    """The labels of the training rows that are most like a row.

    >>> from labelwood import Neighbours
    >>> model = Neighbours().fit([[1, 0], [0, 1]], [["birds"], ["maps"]])
    >>> model.classes_[model.predict_top_k([[0.9, 0.1]], k=1).indices]
    array(['birds'], dtype=object)
    """


@_with_parameters
class Names(NamesSettings, Estimator):
    """The labels whose names are in a text, for a :class:`TextTagger`: rows of features have no names.

    >>> from labelwood import Names, TextTagger
    >>> tagger = TextTagger(Names()).fit([], [], vocabulary={"p1": ["birds", "fowl"], "p2": "old maps"})
    >>> [tag for tag, score in tagger.predict("A fowl of the sea")]
    ['birds']
    """


class Grove(WithParts, Estimator):
    """All algorithms that pay, answering together; how their answers are ranked is learned, too.

    Held-out rows decide which of the parts stay, and how many of their trees: ``chosen_`` says what
    was decided. A part is an estimator with its settings, ``None`` for its defaults, or ``"drop"`` to
    leave it out: ``Grove(CraftML(trees=10), neighbours="drop")``, or ``forest__trees=10`` in a search.
    All random choices follow from the grove's own ``random_state``. Scores are probabilities, so that
    there is nothing to calibrate.

    >>> from labelwood import CraftML, Grove, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> Grove(CraftML(trees=4)).fit(X, Y).score(X, Y) > 0.9
    True

    Parameters
    ----------
    forest : CraftML, None or "drop", default=None
        The forest.
    label_tree : LabelTree, None or "drop", default=None
        The label trees.
    one_vs_rest : OneVsRest, None or "drop", default=None
        A classifier for each label; only where labels are few for their rows.
    names : Names, None or "drop", default=None
        The labels whose names are in a text; only in a :class:`TextTagger`.
    neighbours : Neighbours, None or "drop", default=None
        The training rows that are most like a row.
    choose : bool or str, default=True
        Whether held-out rows decide which parts stay; else all stay as they are. A loaded grove has what
        was decided, in words, and keeps its parts.
    """

    algorithm = "grove"

    def __init__(
        self,
        forest: CraftML | Literal["drop"] | None = None,
        label_tree: LabelTree | Literal["drop"] | None = None,
        one_vs_rest: OneVsRest | Literal["drop"] | None = None,
        names: Names | Literal["drop"] | None = None,
        neighbours: Neighbours | Literal["drop"] | None = None,
        *,
        choose: bool | str = True,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.forest = forest
        self.label_tree = label_tree
        self.one_vs_rest = one_vs_rest
        self.names = names
        self.neighbours = neighbours
        self.choose = choose
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _defaults(self):
        return {name: cls() for name, cls in _PARTS.items()}

    def _settings(self) -> str:
        parts, seed = [], _seed(self.random_state)
        for name, default in self._defaults().items():
            part = default if getattr(self, name) is None else getattr(self, name)
            if isinstance(part, str) and part == "drop":
                continue
            if not isinstance(part, type(default)):
                kind = type(default).__name__
                raise InputError(f'{name} is {part!r}, but must be a {kind}, None or "drop"')
            if part.calibrate:
                raise InputError(
                    f"calibrate of {name} is True, but must be left out: the scores of a grove are "
                    "probabilities already"
                )
            if part.favour != "none":
                raise InputError(
                    f"favour of {name} is {part.favour!r}, but must be left out: give it to the grove"
                )
            own = {**json.loads(part._settings()), "seed": seed}
            parts.append({"algorithm": part.algorithm, **own})
        if isinstance(self.choose, str):
            return json.dumps({"parts": parts, "chosen": self.choose})
        return json.dumps({"parts": parts, "choose": flag("choose", self.choose)})

    @classmethod
    def _with_settings(cls, settings, **others):
        found = {part["algorithm"]: dict(part) for part in settings["parts"]}
        parts, seed = {}, {}
        for name, part in _PARTS.items():
            own = found.pop(part.algorithm, None)
            if own is None:
                parts[name] = "drop"
                continue
            del own["algorithm"]
            seed.setdefault("random_state", own["seed"])
            parts[name] = part._with_settings(own)
        if found:
            raise InputError(f"a grove of {', '.join(found)} cannot be opened as an estimator")
        choose = settings.get("chosen") or settings.get("choose", False)
        return cls(**{**parts, "choose": choose, **seed, **others})


#: The parts of a grove by the names of their parameters, in the order in which they are trained.
_PARTS = {
    "forest": CraftML,
    "label_tree": LabelTree,
    "one_vs_rest": OneVsRest,
    "names": Names,
    "neighbours": Neighbours,
}

#: The class of each algorithm.
BY_ALGORITHM = {
    cls.algorithm: cls
    for cls in (Grove, CraftML, LabelTree, OneVsRest, LabelForest, FastXML, Neighbours, Names)
}
