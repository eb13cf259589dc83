"""The systems of the comparison: labelwood's algorithms and its peers, each with the settings it runs with.

A new one of ours is one line in OURS; a new peer is a class in worker.py and a line for each of its settings in PEERS.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class System:
    """One line of the tables."""

    name: str
    words: str
    """What its settings are, for the page."""
    flags: tuple = ()
    """The flags of `labelwood train`; peers have none."""
    peer: str = ""
    """The class of worker.py; empty for labelwood."""
    options: dict = dataclasses.field(default_factory=dict)
    own: frozenset = frozenset()
    """The kinds of rows that it makes of raw ones by itself: there is nothing to be learned from feeding it those."""
    reads_inside: bool = False
    """Whether it reads the file while it fits, so that the two cannot be told apart."""
    skips_blanks: bool = False
    """Whether training rows with neither labels nor features are kept from it, because it cannot read them."""
    most_labels: int = 0
    """It is not run on sets with more labels than this; 0 for any number."""
    against: str = ""
    """The system of ours that a peer is set against."""

    @property
    def is_ours(self):
        return not self.peer


SCALES = frozenset(["unit"])
WEIGHS = frozenset(["unit", "weighted"])


def ours(name, flags="", own=SCALES):
    words = f"`labelwood train {flags}`" if flags else "`labelwood train`"
    return System(name, words, flags=tuple(flags.split()), own=own)


OURS = [
    ours("craftml", "--algorithm craftml", own=WEIGHS),
    ours("craftml-paper", "--algorithm craftml --preset paper"),
    ours("label-tree", "--algorithm label-tree --trees 1"),
    ours("label-trees", "--algorithm label-tree"),
    ours("label-trees-bonsai", "--algorithm label-tree --preset bonsai"),
    ours("one-vs-rest", "--algorithm one-vs-rest"),
    ours("label-forest", "--algorithm label-forest"),
    ours("grove", "--algorithm grove"),
]

BONSAI = {"cluster_k": 100, "cluster_balanced": False, "max_depth": 3}
PEERS = [
    System(
        "omikuji", "defaults: three trees", peer="Omikuji", own=SCALES, reads_inside=True, skips_blanks=True,
        against="label-trees",
    ),
    System(
        "omikuji-bonsai", "`cluster_k=100, cluster_balanced=False, max_depth=3`, its README's Bonsai", peer="Omikuji",
        options=BONSAI, own=SCALES, reads_inside=True, skips_blanks=True, against="label-trees-bonsai",
    ),
    System("pecos", "XR-Linear, defaults: one tree", peer="Pecos", against="label-tree"),
    System(
        "pecos-ensemble", "three trees averaged, `nr_splits=32`, negatives `tfn+man`, beam 50, as in its paper's Table 2",
        peer="Pecos", options={"trees": 3, "splits": 32, "negatives": "tfn+man", "beam": 50}, against="label-trees",
    ),
    System("napkinxc", "`PLT`, defaults: one tree", peer="NapkinXc", own=SCALES, against="label-tree"),
    System(
        "napkinxc-ensemble", "`PLT(ensemble=3)`, as in its authors' experiments", peer="NapkinXc",
        options={"ensemble": 3}, own=SCALES, against="label-trees",
    ),
    System(
        "libmultilabel-1-vs-rest", "`train_1vsrest`, defaults", peer="OneVsRest", most_labels=10_000,
        against="one-vs-rest",
    ),
    System(
        "libmultilabel-1-vs-rest-bias", "`train_1vsrest` with `-s 1 -B 1 -e 0.0001`, the options that its authors use",
        peer="OneVsRest", options={"liblinear": "-s 1 -B 1 -e 0.0001"}, most_labels=10_000, against="one-vs-rest",
    ),
    System("libmultilabel-tree", "`train_tree`, defaults: one tree", peer="LabelTree", against="label-tree"),
    System(
        "libmultilabel-trees", "`train_ensemble_tree`, defaults: three trees", peer="LabelTrees", against="label-trees",
    ),
    System(
        "scikit-learn", "`OneVsRestClassifier(LinearSVC())`", peer="ScikitLearn", most_labels=1_000,
        against="one-vs-rest",
    ),
]

ALL = {system.name: system for system in OURS + PEERS}
