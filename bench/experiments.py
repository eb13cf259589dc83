"""The experiments of the CRAFTML paper: which trainings they take, running them, and looking their figures up."""

import pathlib
import statistics
import tempfile

import trainings
from trainings import LABELWOOD, ROOT, array, call, rows_of

WORK = ROOT / "target/reproduce"
RESULTS = WORK / "results.json"

SETS = ["cve-libraries", "bibtex", "delicious"]
LARGE = ["debian-debtags", "wordnet-hyper3", "yso-finna-en-3plus"]
SIZES = {"cve-libraries": (5124, 4678), "bibtex": (1836, 159), "delicious": (500, 983)}
SEEDS = [1, 2, 3]
TREE_SEEDS = list(range(1, 11))
TIMED_RUNS = 3
TIMED_TREES = [1, 8]

# Figure 1: the feature dimensions, the label dimensions, the seeds.
GRID = {
    "cve-libraries": ([50, 150, 500, 1500, 5124], [10, 30, 100, 300, 1000, 4678], [1, 2]),
    "bibtex": ([30, 100, 300, 900, 1836], [5, 10, 30, 80, 159], [1, 2]),
    "delicious": ([15, 50, 150, 500], [10, 30, 100, 983], [1]),
}
# Figure 2: small dimensions; the large ones are the data's own.
VARIANTS = ["sxsy", "sxdy", "dxsy", "dxdy"]
SMALL = {"cve-libraries": (150, 100), "bibtex": (100, 20), "delicious": (50, 50)}
# Figure 3: trees times feature dimensions.
BUDGETS = {"cve-libraries": (5120, 20480), "bibtex": (1600, 6400), "delicious": (500, 2000)}
TREES = [1, 2, 4, 8, 16, 32, 64, 128]
# Figure 4, and the sample of the clustering.
LEAVES = [5, 10, 20, 50, 100]
SAMPLES = [50, 100, 300, 1000, 3000, 20000]
LARGE_SAMPLES = [300, 1000, 3000, 10000, 20000, 60000]
LARGE_TREES = 10
BRANCHES = [2, 10]
SHAPE_TREES = 5


def dimensions(features, labels):
    return ["--feature-dimensions", features, "--label-dimensions", labels]


def grid_flags(features, labels):
    return ["--diversity", "sxdy", *dimensions(features, labels)]


def no_projection_flags():
    return ["--feature-projection", "none", "--label-projection", "none"]


def variant_flags(variant, size):
    return ["--diversity", variant, *dimensions(*size)]


def budget_steps(name, budget):
    """Trees and feature dimensions that use the budget up, no dimension beyond the data's."""
    steps = [(trees, budget // trees) for trees in TREES]
    return [(trees, width) for trees, width in steps if 10 <= width <= SIZES[name][0]]


def budget_flags(trees, width):
    return ["--trees", trees, "--feature-dimensions", width]


def leaf_flags(trees, leaf):
    return ["--trees", trees, "--leaf", leaf]


def sample_flags(sample, trees):
    return ["--trees", trees, "--sample", sample]


def shape_flags(branches):
    return ["--trees", SHAPE_TREES, "--branches", branches]


def job(kind, name, flags, seed, threads=1):
    return {"kind": kind, "set": name, "flags": [str(flag) for flag in flags], "seed": seed, "threads": threads}


def key(one):
    return " ".join([one["kind"], one["set"], *one["flags"], f"seed {one['seed']}", f"threads {one['threads']}"])


def jobs():
    """Every training of the page. The timed ones come last, for they run alone."""
    found = []

    def add(kind, name, flags, seeds):
        found.extend(job(kind, name, flags, seed) for seed in seeds)

    for name in SETS:
        widths, depths, seeds = GRID[name]
        for width in widths:
            for depth in depths:
                add("accuracy", name, grid_flags(width, depth), seeds)
        add("accuracy", name, no_projection_flags(), SEEDS)
        for variant in VARIANTS:
            for size in [SMALL[name], SIZES[name]]:
                add("accuracy", name, variant_flags(variant, size), SEEDS)
        for budget in BUDGETS[name]:
            for trees, width in budget_steps(name, budget):
                add("accuracy", name, budget_flags(trees, width), SEEDS)
        for leaf in LEAVES:
            add("accuracy", name, leaf_flags(1, leaf), TREE_SEEDS)
            add("accuracy", name, leaf_flags(50, leaf), SEEDS)
        for sample in SAMPLES:
            add("accuracy", name, sample_flags(sample, 50), SEEDS)
    for name in LARGE[1:]:
        for sample in LARGE_SAMPLES:
            add("accuracy", name, sample_flags(sample, LARGE_TREES), [1])
    for name in SETS + LARGE:
        for branches in BRANCHES:
            add("shape", name, shape_flags(branches), [1])
    found.sort(key=lambda one: one["seed"])
    for run in range(1, TIMED_RUNS + 1):
        for name in LARGE:
            for trees in TIMED_TREES:
                for threads in [1, 2]:
                    found.append(job("time", name, ["--trees", trees], run, threads))
    return found


def instances_in_nodes(path):
    """The instances of all nodes of a tree added up, leaves left out."""
    starts, children = array(path, "children_start"), array(path, "children")
    leaves = array(path, "leaf_instances")
    leaf_bit = 1 << 31
    inside = [0] * (len(starts) - 1)
    # Nodes stand in preorder: children come after their parents.
    for node in reversed(range(len(inside))):
        for child in children[starts[node]:starts[node + 1]]:
            inside[node] += leaves[child & ~leaf_bit] if child & leaf_bit else inside[child]
    return sum(inside)


def shape(model):
    """Leaves, nodes and depth of a model's trees, on average."""
    found = call(LABELWOOD, "inspect", model, "--json", "--no-verify")
    trees, instances = found["trees"], found["instances"]
    inside = [instances_in_nodes(path) for path in sorted(model.glob("tree-*.safetensors"))]
    mean = statistics.fmean
    return {
        "per_leaf": mean(instances / tree["leaves"] for tree in trees),
        "nodes": mean(tree["nodes"] for tree in trees),
        "leaves": mean(tree["leaves"] for tree in trees),
        "depth": mean(tree["depth"] for tree in trees),
        "in_node": mean(total / tree["nodes"] for total, tree in zip(inside, trees)),
        "in_any": mean((total + instances) / (tree["nodes"] + tree["leaves"]) for total, tree in zip(inside, trees)),
    }


def run(one):
    """One training; gives its figures."""
    command = [LABELWOOD, "train", rows_of(one["set"], "train"), "--algorithm", "craftml", "--preset", "paper", *one["flags"]]
    command += ["--seed", one["seed"], "--threads", one["threads"], "--json", "--quiet"]
    if one["kind"] == "accuracy":
        command += ["--test", rows_of(one["set"], "test")]
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        model = pathlib.Path(folder) / "model"
        found = call(*command, "--model", model)
        result = {"wall": found["seconds"]["fit"], "cpu": found["cpu_seconds"]["fit"]}
        if one["kind"] == "accuracy":
            result["precision"] = [100 * found["test"]["metrics"][f"p@{k}"] for k in [1, 3, 5]]
        if one["kind"] == "shape":
            result["shape"] = shape(model)
    return result


def all_results():
    """Runs what has not been run yet."""
    wanted = {key(one): one for one in jobs()}
    return trainings.run_all(wanted, run, RESULTS, alone=lambda one: one["kind"] == "time")


class Figures:
    """Looks the page's figures up in the results."""

    def __init__(self, results):
        self.results = results

    def each(self, name, flags, seeds=SEEDS):
        """P@1, P@3 and P@5 of every seed."""
        return [self.results[key(job("accuracy", name, flags, seed))]["precision"] for seed in seeds]

    def precision(self, name, flags, seeds=SEEDS):
        """P@1, P@3 and P@5, each the mean of the seeds."""
        return [statistics.fmean(column) for column in zip(*self.each(name, flags, seeds))]

    def shape(self, name, branches):
        return self.results[key(job("shape", name, shape_flags(branches), 1))]["shape"]

    def time(self, name, trees, threads):
        """The least wall and the least CPU seconds of the timed runs."""
        flags = ["--trees", trees]
        runs = [self.results[key(job("time", name, flags, run, threads))] for run in range(1, TIMED_RUNS + 1)]
        return min(run["wall"] for run in runs), min(run["cpu"] for run in runs)

    def cpu_minutes(self):
        return sum(result["cpu"] for result in self.results.values()) / 60
