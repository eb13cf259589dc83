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
threshold : float, default=0.5
    The score from which :meth:`predict` takes a label. A saved model does not keep it: set it anew
    after :func:`labelwood.load`.
n_jobs : int or None, default=None
    The number of threads; None and -1 stand for all.
verbose : int, default=0
    Whether a bar shows the progress.
"""

from __future__ import annotations

import json

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._base import Estimator, WithParts, _seed, clusters
from ._errors import InputError


class CraftML(Estimator):
    """A CRAFTML forest: trees over instances, split by random projections of features and labels.

    >>> from labelwood import CraftML, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> forest = CraftML(trees=5).fit(X, Y)
    >>> best = forest.predict_top_k(X[:2], k=3)
    >>> best.shape
    (2, 3993)

    Parameters
    ----------
    trees : int, default=30
        The number of trees.
    branches : int, default=10
        The most children a node has, 2 to 16.
    leaf : int, default=10
        A node with fewer instances than this becomes a leaf.
    sample : int, default=20000
        How many instances of a node its split is learned from.
    feature_projection, label_projection : {"auto", "none", "hashing", "gaussian"}
        How features and labels are projected before clustering.
    feature_dimensions, label_dimensions : int, default=10000
        The dimensions of projected features and labels, at most.
    diversity : {"sxsy", "sxdy", "dxsy", "dxdy"}, default="sxsy"
        Whether the nodes of a tree share their projections.
    starts : {"random", "plus-plus"}, default="random"
        How clustering chooses its first centres.
    iterations : int, default=2
        Assignment passes of the clustering.
    more_iterations : int, default=3
        Passes that may follow while many instances share no label with any cluster.
    metric : {"cosine", "euclidean", "linear"}, default="cosine"
        What nearness means when an instance chooses a child.
    repel : float, default=0.25
        How strongly a centroid is pushed away from the instances of other clusters.
    weighting : {"auto", "none", "idf"}, default="auto"
        How feature values are weighted before anything else.
    keep : float or None, default=None
        The share of a centroid's entries that is kept; None decides by the size of the forest.
    keep_at_least : int, default=40
        A centroid keeps at least this many entries.
    precision : {"byte", "half"}, default="byte"
        How centroids are stored.
    beam : int, default=4
        How many paths a prediction follows in a tree, at most.
    """

    algorithm = "craftml"

    def __init__(
        self,
        trees=30,
        *,
        branches=10,
        leaf=10,
        sample=20_000,
        feature_projection="none",
        feature_dimensions=10_000,
        label_projection="auto",
        label_dimensions=10_000,
        diversity="sxsy",
        starts="random",
        iterations=2,
        more_iterations=3,
        metric="cosine",
        repel=0.25,
        weighting="auto",
        keep=None,
        keep_at_least=40,
        precision="byte",
        beam=4,
        calibrate=False,
        favour="none",
        random_state=42,
        threshold=0.5,
        n_jobs=None,
        verbose=0,
    ):
        self.trees = trees
        self.branches = branches
        self.leaf = leaf
        self.sample = sample
        self.feature_projection = feature_projection
        self.feature_dimensions = feature_dimensions
        self.label_projection = label_projection
        self.label_dimensions = label_dimensions
        self.diversity = diversity
        self.starts = starts
        self.iterations = iterations
        self.more_iterations = more_iterations
        self.metric = metric
        self.repel = repel
        self.weighting = weighting
        self.keep = keep
        self.keep_at_least = keep_at_least
        self.precision = precision
        self.beam = beam
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose


class OneVsRest(Estimator):
    """A linear classifier for every label.

    >>> from labelwood import OneVsRest
    >>> model = OneVsRest().fit([[1, 0], [0, 1]], [["birds"], ["maps"]])
    >>> model.classes_[model.predict_top_k([[0.9, 0.1]], k=1).indices]
    array(['birds'], dtype=object)

    Parameters
    ----------
    loss : {"squared-hinge", "hinge", "logistic"}, default="squared-hinge"
        What a wrong or narrow margin costs.
    cost : float, default=0.7
        The weight of the loss against the length of the weights (LIBLINEAR's C).
    positive_weight : float, default=1
        The weight of positive rows against negative ones.
    tail_weight : float or None, default=None
        The power of the inverse propensity of a label by which its positive rows are weighted, so
        that rare labels are learned at the expense of frequent ones; 0 for all alike. None is 0,
        and 0.5 for :class:`LabelTree` and :class:`OneVsRest` with ``favour="tail"``.
    bias : float, default=1
        The value of a feature that every row has; 0 for none.
    tolerance : float, default=0.1
        How exactly a classifier is learned, as in LIBLINEAR.
    iterations : int, default=200
        The most passes over the rows.
    weight_threshold : float, default=0.03
        Weights that are not larger than this are dropped.
    precision : {"half", "single"}, default="half"
        How weights are stored.
    link : {"hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"}
        How margins become scores.
    weighting : {"auto", "none", "idf"}, default="none"
        How feature values are weighted before anything else.
    """

    algorithm = "one-vs-rest"

    def __init__(
        self,
        *,
        loss="squared-hinge",
        cost=0.7,
        positive_weight=1.0,
        tail_weight=None,
        bias=1.0,
        tolerance=0.1,
        iterations=200,
        weight_threshold=0.03,
        precision="half",
        link="steep-sigmoid",
        weighting="none",
        calibrate=False,
        favour="none",
        random_state=42,
        threshold=0.5,
        n_jobs=None,
        verbose=0,
    ):
        self.loss = loss
        self.cost = cost
        self.positive_weight = positive_weight
        self.tail_weight = tail_weight
        self.bias = bias
        self.tolerance = tolerance
        self.iterations = iterations
        self.weight_threshold = weight_threshold
        self.precision = precision
        self.link = link
        self.weighting = weighting
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose


class LabelTree(Estimator):
    """Trees of linear classifiers that narrow the labels down (Parabel, Bonsai, PLT, HOMER).

    ``LabelTree.preset("bonsai")`` has the settings of one of these systems.

    >>> from labelwood import LabelTree, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> LabelTree(trees=1).fit(X, Y).score(X, Y) > 0.9
    True

    Parameters
    ----------
    trees : int, default=3
        The number of trees, whose scores are averaged.
    branches : int or None, default=None
        How many groups the labels of a node are divided into, at most; None stands for 100, or a
        fifth of the labels where that is less.
    balanced : bool, default=False
        Whether the groups of a node have the same size.
    collapse : int, default=0
        Levels of groups that are divided again before their node gets children.
    leaf : int or None, default=None
        A node with at most this many labels is not divided; None as for ``branches``.
    depth : int, default=10
        The most levels of nodes.
    smallest_group : int, default=1
        Groups with fewer labels than this are dissolved.
    passes : int, default=10
        Passes of the clustering of labels.
    vector_threshold : float, default=0
        Smaller entries of a label's vector are left out before clustering.
    loss, cost, positive_weight, tail_weight, bias, tolerance, iterations, weight_threshold, \
precision, link
        As in :class:`OneVsRest`.
    scale_cost : bool, default=False
        Whether, with ``loss="logistic"``, the cost of a node is multiplied by the number of all rows
        over that of its own.
    beam : int, default=10
        How many nodes of a level a prediction follows, at most.
    leaf_beam : bool, default=False
        Whether leaves share the beam with the nodes of later levels, and each names as many labels as
        it is wide, at most; omikuji's do.
    weighting : {"auto", "none", "idf"}, default="none"
        How feature values are weighted before anything else.
    """

    algorithm = "label-tree"

    def __init__(
        self,
        trees=3,
        *,
        branches=None,
        balanced=False,
        collapse=0,
        leaf=None,
        depth=10,
        smallest_group=1,
        passes=10,
        vector_threshold=0.0,
        loss="squared-hinge",
        cost=1.0,
        scale_cost=False,
        positive_weight=1.0,
        tail_weight=None,
        bias=1.0,
        tolerance=0.1,
        iterations=200,
        weight_threshold=0.1,
        precision="half",
        link="squared-hinge",
        beam=10,
        leaf_beam=False,
        weighting="none",
        calibrate=False,
        favour="none",
        random_state=42,
        threshold=0.5,
        n_jobs=None,
        verbose=0,
    ):
        self.trees = trees
        self.branches = branches
        self.balanced = balanced
        self.collapse = collapse
        self.leaf = leaf
        self.depth = depth
        self.smallest_group = smallest_group
        self.passes = passes
        self.vector_threshold = vector_threshold
        self.loss = loss
        self.cost = cost
        self.scale_cost = scale_cost
        self.positive_weight = positive_weight
        self.tail_weight = tail_weight
        self.bias = bias
        self.tolerance = tolerance
        self.iterations = iterations
        self.weight_threshold = weight_threshold
        self.precision = precision
        self.link = link
        self.beam = beam
        self.leaf_beam = leaf_beam
        self.weighting = weighting
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose

    def clusters(self, tree: int = 0) -> list[np.ndarray]:
        """The labels below each child of a tree's root: those that it takes for alike."""
        check_is_fitted(self)
        return [np.array(labels, np.int32) for labels in clusters(self.model_, tree)]


class LabelForest(Estimator):
    """Many label trees, each over some of the labels (Random Label Forests).

    >>> from labelwood import LabelForest, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> forest = LabelForest(submodels=4, rate=0.5).fit(X, Y)
    >>> forest.predict(X).shape
    (300, 3993)

    Parameters
    ----------
    submodels : int, default=100
        The number of trees, each over its own labels.
    rate : float, default=0.1
        The share of all labels that a submodel knows.
    sampling : {"uniform", "partitions", "random-partitions", "random-selection"}
        How the labels of a submodel are drawn.
    cover : bool, default=True
        Whether labels that no submodel drew are given to one.
    group : int, default=1
        Labels are drawn in groups of labels that are alike, of at most this many.
    drop_unlabelled : bool, default=False
        Whether a submodel leaves out the rows that have none of its labels.
    branches, balanced, collapse, leaf, depth, smallest_group, passes, vector_threshold, loss, cost, \
scale_cost, positive_weight, tail_weight, bias, tolerance, iterations, weight_threshold, precision, \
link, beam, leaf_beam, weighting
        As in :class:`LabelTree`; ``weight_threshold`` is 0.05 by default.
    """

    algorithm = "label-forest"
    _fixed = {"trees": 1}

    def __init__(
        self,
        submodels=100,
        *,
        rate=0.1,
        sampling="uniform",
        cover=True,
        group=1,
        drop_unlabelled=False,
        branches=None,
        balanced=False,
        collapse=0,
        leaf=None,
        depth=10,
        smallest_group=1,
        passes=10,
        vector_threshold=0.0,
        loss="squared-hinge",
        cost=1.0,
        scale_cost=False,
        positive_weight=1.0,
        tail_weight=None,
        bias=1.0,
        tolerance=0.1,
        iterations=200,
        weight_threshold=0.05,
        precision="half",
        link="squared-hinge",
        beam=10,
        leaf_beam=False,
        weighting="none",
        calibrate=False,
        favour="none",
        random_state=42,
        threshold=0.5,
        n_jobs=None,
        verbose=0,
    ):
        self.submodels = submodels
        self.rate = rate
        self.sampling = sampling
        self.cover = cover
        self.group = group
        self.drop_unlabelled = drop_unlabelled
        self.branches = branches
        self.balanced = balanced
        self.collapse = collapse
        self.leaf = leaf
        self.depth = depth
        self.smallest_group = smallest_group
        self.passes = passes
        self.vector_threshold = vector_threshold
        self.loss = loss
        self.cost = cost
        self.scale_cost = scale_cost
        self.positive_weight = positive_weight
        self.tail_weight = tail_weight
        self.bias = bias
        self.tolerance = tolerance
        self.iterations = iterations
        self.weight_threshold = weight_threshold
        self.precision = precision
        self.link = link
        self.beam = beam
        self.leaf_beam = leaf_beam
        self.weighting = weighting
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose


class Grove(WithParts, Estimator):
    """A CRAFTML forest and label trees that answer together; their blend is learned, too.

    The settings are those of the parts: ``Grove(CraftML(trees=10))``, or ``forest__trees=10`` in a
    search. All random choices follow from the grove's own ``random_state``. Scores are probabilities,
    so that there is nothing to calibrate.

    >>> from labelwood import CraftML, Grove, datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    >>> Grove(CraftML(trees=4)).fit(X, Y).score(X, Y) > 0.9
    True

    Parameters
    ----------
    forest : CraftML or None, default=None
        The settings of the forest; ``CraftML()`` by default.
    label_tree : LabelTree or None, default=None
        The settings of the label trees; ``LabelTree()`` by default.
    """

    algorithm = "grove"

    def __init__(
        self,
        forest=None,
        label_tree=None,
        *,
        favour="none",
        random_state=42,
        threshold=0.5,
        n_jobs=None,
        verbose=0,
    ):
        self.forest = forest
        self.label_tree = label_tree
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _defaults(self):
        return {"forest": CraftML(), "label_tree": LabelTree()}

    def _settings(self) -> str:
        settings, seed = {}, _seed(self.random_state)
        for name, default in self._defaults().items():
            part = default if getattr(self, name) is None else getattr(self, name)
            if not isinstance(part, type(default)):
                raise InputError(f"{name} is {part!r}, but must be a {type(default).__name__}")
            if part.calibrate:
                raise InputError(
                    f"calibrate of {name} is True, but must be left out: the scores of a grove are "
                    "probabilities already"
                )
            if part.favour != "none":
                raise InputError(
                    f"favour of {name} is {part.favour!r}, but must be left out: give it to the grove"
                )
            settings[name] = {**json.loads(part._settings()), "seed": seed}
        return json.dumps(settings)

    @classmethod
    def _with_settings(cls, settings, **others):
        forest, label_tree = dict(settings["forest"]), dict(settings["label_tree"])
        seed = {"random_state": forest["seed"]}
        parts = CraftML._with_settings(forest), LabelTree._with_settings(label_tree)
        return cls(*parts, **{**seed, **others})


#: The class of each algorithm.
BY_ALGORITHM = {cls.algorithm: cls for cls in (CraftML, LabelTree, OneVsRest, LabelForest, Grove)}
