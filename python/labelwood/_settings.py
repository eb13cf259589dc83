"""The parameters of the estimators. Made from the library's tables of settings by `make settings`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal


class CraftmlSettings:
    algorithm = "craftml"
    _parameters = """
    Parameters
    ----------
    trees : int, default=30
        Trees, whose scores are averaged (the paper's m_F).
    branches : int, default=10
        Children of a node at most (the paper's k).
    leaf : int, default=10
        A node with fewer instances than this becomes a leaf (the paper's n_leaf).
    sample : int, default=20000
        Instances of a node that its split is learned from, at most (the paper's n_s).
    feature_projection : {"auto", "none", "hashing", "gaussian"}, default="none"
        How features are projected before clustering (the paper's P_x).
    feature_dimensions : int, default=10000
        Dimensions of projected features at most (the paper's d'_x).
    label_projection : {"auto", "none", "hashing", "gaussian"}, default="auto"
        How labels are projected before clustering (the paper's P_y); auto hashes 2,000 labels
        and more.
    label_dimensions : int, default=10000
        Dimensions of projected labels at most (the paper's d'_y).
    diversity : {"sxsy", "sxdy", "dxsy", "dxdy"}, default="sxsy"
        Whether the nodes of a tree share (s) or differ in (d) their projections of features (x)
        and labels (y).
    starts : {"random", "plus-plus"}, default="random"
        How clustering chooses its first centres; plus-plus is k-means++.
    iterations : int, default=2
        Assignment passes of the clustering (the paper's i).
    more_iterations : int, default=3
        Passes that may follow while many instances share no label with any cluster.
    metric : {"cosine", "euclidean", "linear"}, default="cosine"
        What nearness means when an instance chooses a child; linear learns a classifier for
        each, which is slow.
    repel : float, default=0.25
        How strongly a centroid is pushed away from the instances of other clusters that it is
        nearest to, in nodes of 100 instances and more; 0 leaves it the mean of its own.
    weighting : {"auto", "none", "idf"}, default="auto"
        How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances
        with the feature), auto takes it when all values are whole positive numbers.
    keep : float or None, default=None
        Share of a centroid's entries that is kept, the largest first; 1 keeps all. Left open,
        all are kept, and a quarter of them in forests of many gigabytes.
    keep_at_least : int, default=40
        Entries that a centroid keeps at least, whatever keep says.
    precision : {"half", "byte"}, default="byte"
        How centroids are stored: in 8 bits (byte) or in 16 (half).
    beam : int, default=4
        Paths that a prediction follows in a tree at most; 1 is the paper's single path.
    """

    def __init__(
        self,
        trees: int = 30,
        *,
        branches: int = 10,
        leaf: int = 10,
        sample: int = 20000,
        feature_projection: Literal["auto", "none", "hashing", "gaussian"] = "none",
        feature_dimensions: int = 10000,
        label_projection: Literal["auto", "none", "hashing", "gaussian"] = "auto",
        label_dimensions: int = 10000,
        diversity: Literal["sxsy", "sxdy", "dxsy", "dxdy"] = "sxsy",
        starts: Literal["random", "plus-plus"] = "random",
        iterations: int = 2,
        more_iterations: int = 3,
        metric: Literal["cosine", "euclidean", "linear"] = "cosine",
        repel: float = 0.25,
        weighting: Literal["auto", "none", "idf"] = "auto",
        keep: float | None = None,
        keep_at_least: int = 40,
        precision: Literal["half", "byte"] = "byte",
        beam: int = 4,
        calibrate: bool = False,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
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
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose


class LabelTreeSettings:
    algorithm = "label-tree"
    _parameters = """
    Parameters
    ----------
    trees : int, default=3
        Label trees, whose scores are averaged.
    branches : int or None, default=None
        Groups that the labels of a node are divided into, at most; 1 does not divide them. Left
        open, 100, or a fifth of the labels where that is less.
    balanced : bool, default=False
        Whether the groups of a node have the same size.
    collapse : int, default=0
        Levels of groups that are divided again before their node gets children: with 2 branches
        and 3 collapsed levels a node has up to 16 children.
    leaf : int or None, default=None
        A node with at most this many labels is not divided. Left open, as branches.
    depth : int, default=10
        Levels of nodes at most.
    smallest_group : int, default=1
        Groups with fewer labels than this are dissolved, and their labels go to the other
        groups.
    passes : int, default=10
        Passes of the clustering of labels.
    vector_threshold : float, default=0.0
        Entries of a label's vector that are smaller than this are left out before clustering.
    scale_cost : bool, default=False
        Whether a node of few rows has a higher cost: with the logistic loss, the cost is
        multiplied by the number of all rows over that of the node's, as Parabel and omikuji do.
    tail_weight : float or None, default=None
        How much more the positive rows of rare labels count than those of frequent ones: the
        power of their inverse propensity by which they are weighted, 0 for all alike. Left
        open, 0, and 0.5 if rare labels are favoured.
    weight_threshold : float, default=0.1
        Weights that are not larger than this are dropped.
    precision : {"half", "single"}, default="half"
        How weights are stored: in 16 bits (half) or in 32 (single).
    link : {"hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"}, default="squared-hinge"
        How margins become probabilities.
    beam : int, default=10
        Nodes of a level that a prediction follows at most.
    leaf_beam : bool, default=False
        Whether leaves keep to the beam as they do in omikuji: they share it with the nodes of
        later levels, and each names no more labels than it is wide.
    names : int, default=1
        How many rows the names of a label count as, from which it is learned, too, where rows
        are texts; 0 leaves them out.
    weighting : {"auto", "none", "idf"}, default="none"
        How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances
        with the feature), auto takes it when all values are whole positive numbers.
    loss : {"squared-hinge", "hinge", "logistic"}, default="squared-hinge"
        What a wrong or narrow margin costs.
    cost : float, default=1.0
        The weight of the loss against the length of the weights (LIBLINEAR's C).
    positive_weight : float, default=1.0
        The weight of positive rows against negative ones.
    l1 : float, default=0.0
        The weight of the magnitudes of the weights beside half their squares, for a label with
        one row; it grows with the root of the rows. It makes most weights exactly zero; 0
        leaves it out.
    bias : float, default=1.0
        The value of a feature that every row has; 0 for none.
    tolerance : float, default=0.1
        A classifier is done when a pass over all rows finds its gradients within a range of
        this width that holds 0, as in LIBLINEAR; below 1e-5, single precision is the limit.
    iterations : int, default=200
        Passes over the rows at most; by then the weights are used as they are.
    """

    def __init__(
        self,
        trees: int = 3,
        *,
        branches: int | None = None,
        balanced: bool = False,
        collapse: int = 0,
        leaf: int | None = None,
        depth: int = 10,
        smallest_group: int = 1,
        passes: int = 10,
        vector_threshold: float = 0.0,
        scale_cost: bool = False,
        tail_weight: float | None = None,
        weight_threshold: float = 0.1,
        precision: Literal["half", "single"] = "half",
        link: Literal["hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"] = "squared-hinge",
        beam: int = 10,
        leaf_beam: bool = False,
        names: int = 1,
        weighting: Literal["auto", "none", "idf"] = "none",
        loss: Literal["squared-hinge", "hinge", "logistic"] = "squared-hinge",
        cost: float = 1.0,
        positive_weight: float = 1.0,
        l1: float = 0.0,
        bias: float = 1.0,
        tolerance: float = 0.1,
        iterations: int = 200,
        calibrate: bool = False,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.trees = trees
        self.branches = branches
        self.balanced = balanced
        self.collapse = collapse
        self.leaf = leaf
        self.depth = depth
        self.smallest_group = smallest_group
        self.passes = passes
        self.vector_threshold = vector_threshold
        self.scale_cost = scale_cost
        self.tail_weight = tail_weight
        self.weight_threshold = weight_threshold
        self.precision = precision
        self.link = link
        self.beam = beam
        self.leaf_beam = leaf_beam
        self.names = names
        self.weighting = weighting
        self.loss = loss
        self.cost = cost
        self.positive_weight = positive_weight
        self.l1 = l1
        self.bias = bias
        self.tolerance = tolerance
        self.iterations = iterations
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose


class OneVsRestSettings:
    algorithm = "one-vs-rest"
    _parameters = """
    Parameters
    ----------
    tail_weight : float or None, default=None
        How much more the positive rows of rare labels count than those of frequent ones: the
        power of their inverse propensity by which they are weighted, 0 for all alike. Left
        open, 0, and 0.5 if rare labels are favoured.
    weight_threshold : float, default=0.03
        Weights that are not larger than this are dropped.
    precision : {"half", "single"}, default="half"
        How weights are stored: in 16 bits (half) or in 32 (single).
    link : {"hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"}, default="steep-sigmoid"
        How margins become probabilities. The default never saturates where labels are still to
        be told apart, as the hinges do.
    names : int, default=1
        How many rows the names of a label count as, from which it is learned, too, where rows
        are texts; 0 leaves them out.
    weighting : {"auto", "none", "idf"}, default="none"
        How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances
        with the feature), auto takes it when all values are whole positive numbers.
    loss : {"squared-hinge", "hinge", "logistic"}, default="squared-hinge"
        What a wrong or narrow margin costs.
    cost : float, default=0.7
        The weight of the loss against the length of the weights (LIBLINEAR's C).
    positive_weight : float, default=1.0
        The weight of positive rows against negative ones.
    l1 : float, default=0.0
        The weight of the magnitudes of the weights beside half their squares, for a label with
        one row; it grows with the root of the rows. It makes most weights exactly zero; 0
        leaves it out.
    bias : float, default=1.0
        The value of a feature that every row has; 0 for none.
    tolerance : float, default=0.1
        A classifier is done when a pass over all rows finds its gradients within a range of
        this width that holds 0, as in LIBLINEAR; below 1e-5, single precision is the limit.
    iterations : int, default=200
        Passes over the rows at most; by then the weights are used as they are.
    """

    def __init__(
        self,
        *,
        tail_weight: float | None = None,
        weight_threshold: float = 0.03,
        precision: Literal["half", "single"] = "half",
        link: Literal["hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"] = "steep-sigmoid",
        names: int = 1,
        weighting: Literal["auto", "none", "idf"] = "none",
        loss: Literal["squared-hinge", "hinge", "logistic"] = "squared-hinge",
        cost: float = 0.7,
        positive_weight: float = 1.0,
        l1: float = 0.0,
        bias: float = 1.0,
        tolerance: float = 0.1,
        iterations: int = 200,
        calibrate: bool = False,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.tail_weight = tail_weight
        self.weight_threshold = weight_threshold
        self.precision = precision
        self.link = link
        self.names = names
        self.weighting = weighting
        self.loss = loss
        self.cost = cost
        self.positive_weight = positive_weight
        self.l1 = l1
        self.bias = bias
        self.tolerance = tolerance
        self.iterations = iterations
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose


class LabelForestSettings:
    algorithm = "label-forest"
    _fixed = {"trees": 1}
    _parameters = """
    Parameters
    ----------
    submodels : int, default=100
        Submodels, each a label tree over some of the labels (the paper's N).
    rate : float, default=0.1
        Share of all labels that a submodel knows (the paper's r).
    sampling : {"uniform", "partitions", "random-partitions", "random-selection"}, default="uniform"
        How the labels of submodels are drawn: each submodel's on its own (uniform, the paper's
        100U) or all labels in turn (partitions, 10P and 10Px10); the random- forms also learn
        whether a row has any label of a submodel.
    cover : bool, default=True
        Whether labels that no submodel drew are given to one.
    group : int, default=1
        Labels that are drawn together at most, because their rows are alike; 1 draws each
        alone.
    drop_unlabelled : bool, default=False
        Whether a submodel leaves out the rows that have none of its labels. It then takes every
        row for one of its own, and names labels for rows that have others.
    branches : int or None, default=None
        Groups that the labels of a node are divided into, at most; 1 does not divide them. Left
        open, 100, or a fifth of the labels where that is less.
    balanced : bool, default=False
        Whether the groups of a node have the same size.
    collapse : int, default=0
        Levels of groups that are divided again before their node gets children: with 2 branches
        and 3 collapsed levels a node has up to 16 children.
    leaf : int or None, default=None
        A node with at most this many labels is not divided. Left open, as branches.
    depth : int, default=10
        Levels of nodes at most.
    smallest_group : int, default=1
        Groups with fewer labels than this are dissolved, and their labels go to the other
        groups.
    passes : int, default=10
        Passes of the clustering of labels.
    vector_threshold : float, default=0.0
        Entries of a label's vector that are smaller than this are left out before clustering.
    scale_cost : bool, default=False
        Whether a node of few rows has a higher cost: with the logistic loss, the cost is
        multiplied by the number of all rows over that of the node's, as Parabel and omikuji do.
    tail_weight : float or None, default=None
        How much more the positive rows of rare labels count than those of frequent ones: the
        power of their inverse propensity by which they are weighted, 0 for all alike. Left
        open, 0, and 0.5 if rare labels are favoured.
    weight_threshold : float, default=0.05
        Weights that are not larger than this are dropped.
    precision : {"half", "single"}, default="half"
        How weights are stored: in 16 bits (half) or in 32 (single).
    link : {"hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"}, default="squared-hinge"
        How margins become probabilities.
    beam : int, default=10
        Nodes of a level that a prediction follows at most.
    leaf_beam : bool, default=False
        Whether leaves keep to the beam as they do in omikuji: they share it with the nodes of
        later levels, and each names no more labels than it is wide.
    names : int, default=1
        How many rows the names of a label count as, from which it is learned, too, where rows
        are texts; 0 leaves them out.
    weighting : {"auto", "none", "idf"}, default="none"
        How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances
        with the feature), auto takes it when all values are whole positive numbers.
    loss : {"squared-hinge", "hinge", "logistic"}, default="squared-hinge"
        What a wrong or narrow margin costs.
    cost : float, default=1.0
        The weight of the loss against the length of the weights (LIBLINEAR's C).
    positive_weight : float, default=1.0
        The weight of positive rows against negative ones.
    l1 : float, default=0.0
        The weight of the magnitudes of the weights beside half their squares, for a label with
        one row; it grows with the root of the rows. It makes most weights exactly zero; 0
        leaves it out.
    bias : float, default=1.0
        The value of a feature that every row has; 0 for none.
    tolerance : float, default=0.1
        A classifier is done when a pass over all rows finds its gradients within a range of
        this width that holds 0, as in LIBLINEAR; below 1e-5, single precision is the limit.
    iterations : int, default=200
        Passes over the rows at most; by then the weights are used as they are.
    """

    def __init__(
        self,
        submodels: int = 100,
        *,
        rate: float = 0.1,
        sampling: Literal["uniform", "partitions", "random-partitions", "random-selection"] = "uniform",
        cover: bool = True,
        group: int = 1,
        drop_unlabelled: bool = False,
        branches: int | None = None,
        balanced: bool = False,
        collapse: int = 0,
        leaf: int | None = None,
        depth: int = 10,
        smallest_group: int = 1,
        passes: int = 10,
        vector_threshold: float = 0.0,
        scale_cost: bool = False,
        tail_weight: float | None = None,
        weight_threshold: float = 0.05,
        precision: Literal["half", "single"] = "half",
        link: Literal["hinge", "squared-hinge", "cubed-hinge", "sigmoid", "steep-sigmoid"] = "squared-hinge",
        beam: int = 10,
        leaf_beam: bool = False,
        names: int = 1,
        weighting: Literal["auto", "none", "idf"] = "none",
        loss: Literal["squared-hinge", "hinge", "logistic"] = "squared-hinge",
        cost: float = 1.0,
        positive_weight: float = 1.0,
        l1: float = 0.0,
        bias: float = 1.0,
        tolerance: float = 0.1,
        iterations: int = 200,
        calibrate: bool = False,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
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
        self.scale_cost = scale_cost
        self.tail_weight = tail_weight
        self.weight_threshold = weight_threshold
        self.precision = precision
        self.link = link
        self.beam = beam
        self.leaf_beam = leaf_beam
        self.names = names
        self.weighting = weighting
        self.loss = loss
        self.cost = cost
        self.positive_weight = positive_weight
        self.l1 = l1
        self.bias = bias
        self.tolerance = tolerance
        self.iterations = iterations
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose


class FastxmlSettings:
    algorithm = "fastxml"
    _parameters = """
    Parameters
    ----------
    trees : int, default=30
        Trees, whose scores are averaged.
    leaf : int, default=10
        A node with fewer instances than this becomes a leaf.
    cost : float, default=5.0
        The weight of a split's logistic loss against the magnitudes of its weights (the paper's
        C_delta).
    tail_weight : float, default=0.0
        How much more rare labels gain in a ranking, and weigh in a leaf, than frequent ones:
        the power of their inverse propensity; 0 for all alike.
    tail_share : float, default=0.0
        The say that nearness to a label's mean row has in its score, against that of the trees
        (one less the paper's alpha).
    tail_gamma : float, default=30.0
        How fast that nearness falls with the squared distance (the paper's gamma).
    weighting : {"auto", "none", "idf"}, default="auto"
        How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances
        with the feature), auto takes it when all values are whole positive numbers.
    precision : {"half", "byte"}, default="half"
        How the weights of splits are stored: in 8 bits (byte) or in 16 (half).
    """

    def __init__(
        self,
        trees: int = 30,
        *,
        leaf: int = 10,
        cost: float = 5.0,
        tail_weight: float = 0.0,
        tail_share: float = 0.0,
        tail_gamma: float = 30.0,
        weighting: Literal["auto", "none", "idf"] = "auto",
        precision: Literal["half", "byte"] = "half",
        calibrate: bool = False,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.trees = trees
        self.leaf = leaf
        self.cost = cost
        self.tail_weight = tail_weight
        self.tail_share = tail_share
        self.tail_gamma = tail_gamma
        self.weighting = weighting
        self.precision = precision
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose


class NeighboursSettings:
    algorithm = "neighbours"
    _parameters = """
    Parameters
    ----------
    neighbours : int, default=50
        How many of the nearest training rows vote for their labels.
    power : float, default=3.0
        A neighbour's vote weighs its similarity, which is a cosine, to this power: with 0 all
        weigh the same.
    weighting : {"auto", "none", "idf"}, default="auto"
        How feature values are weighted first: idf is ln(1 + value) x ln(instances / instances
        with the feature), auto takes it when all values are whole positive numbers.
    """

    def __init__(
        self,
        *,
        neighbours: int = 50,
        power: float = 3.0,
        weighting: Literal["auto", "none", "idf"] = "auto",
        calibrate: bool = False,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.neighbours = neighbours
        self.power = power
        self.weighting = weighting
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose


class NamesSettings:
    algorithm = "names"
    _parameters = """
    Parameters
    ----------
    smoothing : float, default=2.0
        How many texts' worth the share of texts with a label's name that have the label is held
        to what is usual for names found in that way.
    """

    def __init__(
        self,
        *,
        smoothing: float = 2.0,
        calibrate: bool = False,
        favour: Literal["none", "tail"] = "none",
        random_state: Any = 42,
        threshold: float | Literal["auto"] = "auto",
        min_labels: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.smoothing = smoothing
        self.calibrate = calibrate
        self.favour = favour
        self.random_state = random_state
        self.threshold = threshold
        self.min_labels = min_labels
        self.n_jobs = n_jobs
        self.verbose = verbose


class TextVectoriserSettings:
    _parameters = """
    Parameters
    ----------
    tokens : {"auto", "word", "unicode"}, default="auto"
        What a word is: a run of letters, digits and underscores (word), or what Unicode's rules
        say (unicode). With auto it is a run, but characters of scripts without spaces between
        words, as of Chinese, Japanese and Thai, make terms one by one and in short pieces; and
        where the language of the texts joins words, as German and Finnish do, pieces of 4
        characters of words are terms, too, unless char_ngrams says which.
    min_token : int, default=2
        Words of fewer characters than this are left out.
    lowercase : bool, default=True
        Whether text is put into lower case first.
    stem : {"auto", "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish"} or None, default=None
        The language whose Snowball stemmer cuts the endings off words; auto guesses it from the
        texts, and stems nothing if that is unsure.
    stop_words : str, list of str or None, default=None
        Words that are left out, before stemming: a language, whose most common words are taken;
        auto, which guesses it; or others (for the command, those of a file with one in a line).
    word_ngrams : (int, int) or None, default=(1, 1)
        From how many to how many words in a row make a term; none for terms of characters only.
    char_ngrams : (int, int) or None, default=None
        From how many to how many characters in a row make a term. If there are terms of words
        too, those of characters start with `~`, so that the two never meet.
    char_ngrams_in : {"words", "text"}, default="words"
        Where terms of characters are taken from: within words, with a space on both sides
        (scikit-learn's char_wb), or across the whole text (its char).
    min_df : int or float, default=2
        Terms in fewer documents than this are left out: a number, or a share such as 0.001.
    max_df : int or float, default=1.0
        Terms in more documents than this are left out: a number, or a share such as 0.5.
    max_features : int or None, default=None
        At most this many terms are kept: those that occur most often, then the first in order.
    sublinear_tf : bool, default=True
        Whether a term that occurs n times in a document counts 1 + ln n rather than n.
    idf : bool, default=True
        Whether terms weigh the more the fewer documents have them: by 1 + ln(documents /
        documents with the term).
    smooth_idf : bool, default=True
        Whether both of these numbers of documents are taken one larger than they are.
    hashing : int or None, default=None
        The number of columns to hash terms to. Hashing takes no memory for terms, but columns
        have no names then, and `min_df` and `max_df` have no effect.
    """

    def __init__(
        self,
        *,
        tokens: Literal["auto", "word", "unicode"] = "auto",
        min_token: int = 2,
        lowercase: bool = True,
        stem: Literal["auto", "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish"] | None = None,
        stop_words: str | Iterable[str] | None = None,
        word_ngrams: tuple[int, int] | None = (1, 1),
        char_ngrams: tuple[int, int] | None = None,
        char_ngrams_in: Literal["words", "text"] = "words",
        min_df: int | float = 2,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        sublinear_tf: bool = True,
        idf: bool = True,
        smooth_idf: bool = True,
        hashing: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.tokens = tokens
        self.min_token = min_token
        self.lowercase = lowercase
        self.stem = stem
        self.stop_words = stop_words
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.char_ngrams_in = char_ngrams_in
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.sublinear_tf = sublinear_tf
        self.idf = idf
        self.smooth_idf = smooth_idf
        self.hashing = hashing
        self.n_jobs = n_jobs


class TextTaggerSettings:
    def __init__(
        self,
        estimator: Any = None,
        *,
        tokens: Literal["auto", "word", "unicode"] = "auto",
        min_token: int = 2,
        lowercase: bool = True,
        stem: Literal["auto", "arabic", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hungarian", "italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish", "tamil", "turkish"] | None = None,
        stop_words: str | Iterable[str] | None = None,
        word_ngrams: tuple[int, int] | None = (1, 1),
        char_ngrams: tuple[int, int] | None = None,
        char_ngrams_in: Literal["words", "text"] = "words",
        min_df: int | float = 2,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        sublinear_tf: bool = True,
        idf: bool = True,
        smooth_idf: bool = True,
        hashing: int | None = None,
        vectoriser: Any = None,
        separator: str | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.tokens = tokens
        self.min_token = min_token
        self.lowercase = lowercase
        self.stem = stem
        self.stop_words = stop_words
        self.word_ngrams = word_ngrams
        self.char_ngrams = char_ngrams
        self.char_ngrams_in = char_ngrams_in
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.sublinear_tf = sublinear_tf
        self.idf = idf
        self.smooth_idf = smooth_idf
        self.hashing = hashing
        self.vectoriser = vectoriser
        self.separator = separator
        self.n_jobs = n_jobs
        self.verbose = verbose
