"""Repeats the experiments of the Random Label Forests paper and writes the guide's page on them; see README.md."""

import pathlib
import statistics
import subprocess
import sys
import tempfile

import trainings
from trainings import LABELWOOD, PAGES, ROOT, array, call, fill, rows_of, table

WORK = ROOT / "target/reproduce-forests"
SETS = ["bibtex", "delicious", "stackex-cs", "cve-libraries"]
LARGE = ["debian-debtags", "wordnet-hyper3", "yso-finna-en-3plus"]
TEN, THREE, ONE = range(1, 11), range(1, 4), range(1, 2)
RATE = 0.1
CUTS = [1, 3, 5]

# The paper's solver ran until the solution was tight.
TIGHT = ["--tolerance", 0.001]
TREE = ["--algorithm", "label-tree", "--preset", "libmultilabel", *TIGHT]
FOREST = ["--algorithm", "label-forest", "--preset", "paper", *TIGHT]
ONE_VS_REST = [
    "--algorithm", "one-vs-rest", "--cost", 1, "--bias", 0, "--weight-threshold", 0, "--precision", "single", *TIGHT,
]
# The same with labelwood's own settings.
OWN_TREE = ["--algorithm", "label-tree", "--trees", 1]
OWN_FOREST = ["--algorithm", "label-forest"]


# A tenth of these sets' labels is less than the paper's 100 clusters: a submodel would not divide them at all.
FEW_LABELS = ["bibtex", "delicious", "stackex-cs"]
FEW_CLUSTERS = ["--branches", 10, "--leaf", 10]


def forest(sampling, submodels=100, rate=RATE, *more):
    return [*FOREST, "--sampling", sampling, "--submodels", submodels, "--rate", rate, *more]


UNIFORM = forest("uniform")
SETTINGS = {
    "tree with all labels": TREE,
    "random 100 partitions": forest("random-partitions", 100, 0.01),
    "random 10 partitions": forest("random-partitions", 10),
    "random label forest 10P": forest("partitions", 10),
    "random 10 partitions x10": forest("random-partitions"),
    "random label forest 10Px10": forest("partitions"),
    "random selection 100": forest("random-selection"),
    "random label forest 100U": UNIFORM,
    "100U, rows without its labels dropped": forest("uniform", 100, RATE, "--drop-unlabelled", "true"),
    "100U, labels drawn in groups of 8": forest("uniform", 100, RATE, "--group", 8),
}
METHODS = {"one-vs-rest": ONE_VS_REST, "tree with all labels": TREE, "random label forest": UNIFORM}
RATES = [0.1, 0.15]
RATED = ["stackex-cs", "cve-libraries"]
# One submodel on its own, as a machine of a cluster trains it; of hardly any label, to tell what the rows take.
ALONE = ["--submodels", 1, "--cover", "false"]
SIZED = {
    "the paper's": (TREE, [*FOREST, *ALONE]),
    "labelwood's own": (OWN_TREE, [*OWN_FOREST, *ALONE]),
}


def job(kind, name, flags, seed):
    if name in FEW_LABELS and ("libmultilabel" in flags or "paper" in flags):
        flags = [*flags, *FEW_CLUSTERS]
    return {"kind": kind, "set": name, "flags": [str(flag) for flag in flags], "seed": seed}


def key(one):
    return " ".join([one["kind"], one["set"], *one["flags"], f"seed {one['seed']}"])


def jobs():
    """Every training of the page. Those whose cost counts come last, for they run alone."""
    found = []

    def add(kind, name, flags, seeds):
        found.extend(job(kind, name, flags, seed) for seed in seeds)

    for name in SETS:
        for flags in METHODS.values():
            add("accuracy", name, flags, TEN)
        for flags in SETTINGS.values():
            add("accuracy", name, flags, THREE)
        add("accuracy", name, OWN_TREE, THREE)
        add("accuracy", name, OWN_FOREST, THREE)
    for name in RATED:
        for rate in RATES:
            add("accuracy", name, forest("uniform", 100, rate), THREE)
    add("accuracy", "wordnet-hyper3", TREE, ONE)
    for rate in RATES:
        add("accuracy", "wordnet-hyper3", forest("uniform", 100, rate), ONE)
    add("accuracy", "wordnet-hyper3", OWN_TREE, ONE)
    add("accuracy", "wordnet-hyper3", OWN_FOREST, ONE)
    for name in SETS + LARGE:
        add("clusters", name, TREE, ONE)
    found.sort(key=lambda one: one["seed"])
    for name in SETS + LARGE:
        for tree, submodel in SIZED.values():
            add("cost", name, tree, ONE)
            add("cost", name, [*submodel, "--rate", RATE], ONE)
            add("cost", name, [*submodel, "--rate", 1e-6], ONE)
    return list({key(one): one for one in found}.values())


def largest_cluster(model):
    """The most labels that the root's clusters have, and how many clusters it has."""
    node = 1 << 31
    parts = [array(path, "children") for path in model.glob("tree-0000-subtree-*.safetensors")]
    labels = [sum(not child & node for child in children) for children in parts]
    return {"largest": max(labels, default=0), "clusters": len(labels), "labels": sum(labels)}


def mapped(name):
    """The training rows of a set in binary form, so that reading them takes no memory that counts."""
    path = WORK / f"{name}.lwd"
    if not path.exists():
        subprocess.run([str(LABELWOOD), "convert", str(rows_of(name, "train")), str(path), "--quiet"], check=True)
    return path


def run(one):
    """One training; gives its figures."""
    rows = mapped(one["set"]) if one["kind"] == "cost" else rows_of(one["set"], "train")
    command = [LABELWOOD, "train", rows, *one["flags"], "--seed", one["seed"], "--threads", 1, "--json", "--quiet"]
    if one["kind"] == "accuracy":
        command += ["--test", rows_of(one["set"], "test")]
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        model = pathlib.Path(folder) / "model"
        found = call(*command, "--model", model)
        result = {"cpu": found["cpu_seconds"]["fit"], "memory": found["peak_rss_bytes"], "model": found["model_bytes"]}
        if one["kind"] == "accuracy":
            result["precision"] = [100 * found["test"]["metrics"][f"p@{k}"] for k in CUTS]
        if one["kind"] == "clusters":
            result["clusters"] = largest_cluster(model)
    return result


class Figures:
    """Looks the page's figures up in the results."""

    def __init__(self, results):
        self.results = results

    def each(self, kind, name, flags, seeds):
        """The runs that have been made."""
        keys = [key(job(kind, name, flags, seed)) for seed in seeds]
        return [self.results[one] for one in keys if one in self.results]

    def precision(self, name, flags, seeds):
        """P@1, P@3 and P@5 of each run."""
        return [run["precision"] for run in self.each("accuracy", name, flags, seeds)]

    def cost(self, name, flags):
        return next(iter(self.each("cost", name, flags, ONE)), None)


def mean(runs):
    return [statistics.fmean(column) for column in zip(*runs)]


def means(runs):
    return " / ".join(f"{value:.2f}" for value in mean(runs))


def spreads(runs):
    """Means and standard deviations."""
    if len(runs) < 2:
        return means(runs)
    return " / ".join(f"{statistics.fmean(column):.2f} ± {statistics.stdev(column):.2f}" for column in zip(*runs))


def gaps(runs, base):
    return " / ".join(f"{one - other:+.2f}" for one, other in zip(mean(runs), mean(base)))


def table_1(figures):
    rows = []
    for name in SETS + LARGE:
        for run in figures.each("clusters", name, TREE, ONE):
            one = run["clusters"]
            share = one["largest"] / one["labels"]
            rows.append([name, f"{one['labels']:,}", one["clusters"], one["largest"], f"{share:.2f}"])
    return [table(["set", "labels with instances", "clusters", "labels of the largest", "share of all"], rows)]


def table_3(figures):
    found = {name: {one: figures.precision(name, flags, THREE) for one, flags in SETTINGS.items()} for name in SETS}
    rows = [[one, *(means(found[name][one]) for name in SETS)] for one in SETTINGS]
    counts = {name: [len(runs) for runs in found[name].values()] for name in SETS}
    rows.append(["runs", *(f"{min(counts[name])} to {max(counts[name])}" for name in SETS)])
    return [table(["setting, P@1 / P@3 / P@5", *SETS], rows)]


def table_4(figures):
    rows = []
    for name in SETS:
        base = figures.precision(name, TREE, TEN)
        for method, flags in METHODS.items():
            found = figures.precision(name, flags, TEN)
            rows.append([f"{name}, {method}", len(found), spreads(found), gaps(found, base)])
    return [table(["set, method", "runs", "P@1 / P@3 / P@5", "against the tree"], rows)]


def own(figures):
    rows = []
    for name, seeds in [*((name, THREE) for name in SETS), ("wordnet-hyper3", ONE)]:
        base, found = figures.precision(name, OWN_TREE, seeds), figures.precision(name, OWN_FOREST, seeds)
        rows.append([name, len(found), spreads(base), spreads(found), gaps(found, base)])
    return [table(["set", "runs", "label-tree, one tree", "label-forest", "forest against tree"], rows)]


def rates(figures):
    rows = []
    for name, seeds in [*((name, THREE) for name in RATED), ("wordnet-hyper3", ONE)]:
        base = figures.precision(name, TREE, seeds)
        rows.append([f"{name}, tree with all labels", len(base), means(base), ""])
        for rate in RATES:
            found = figures.precision(name, forest("uniform", 100, rate), seeds)
            rows.append([f"{name}, r = {rate:g}", len(found), means(found), gaps(found, base)])
    return [table(["set, sample rate", "runs", "P@1 / P@3 / P@5", "against the tree"], rows)]


def megabytes(size):
    return f"{size / 1e6:.1f}"


def costs(figures):
    """Tables 5 and 6: size, time and memory of a submodel against a full tree, with the paper's settings and our own."""
    tables = []
    for title, (tree, submodel) in SIZED.items():
        head = [f"set; {title} settings", "model MB, tree", "submodel", "ratio", "fit CPU s, tree", "submodel", "ratio",
                "peak MB, tree", "submodel", "rows alone", "ratio above the rows"]
        rows = []
        for name in SETS + LARGE:
            whole, part = figures.cost(name, tree), figures.cost(name, [*submodel, "--rate", RATE])
            rest = figures.cost(name, [*submodel, "--rate", 1e-6])
            if not (whole and part and rest):
                continue
            rest = rest["memory"]
            above = f"{(part['memory'] - rest) / (whole['memory'] - rest):.2f}" if whole["memory"] > rest else "-"
            rows.append([
                name, megabytes(whole["model"]), megabytes(part["model"]), f"{part['model'] / whole['model']:.2f}",
                f"{whole['cpu']:.2f}", f"{part['cpu']:.2f}", f"{part['cpu'] / whole['cpu']:.2f}",
                megabytes(whole["memory"]), megabytes(part["memory"]), megabytes(rest), above,
            ])
        tables.append(table(head, rows))
    return tables


def main():
    wanted = {key(one): one for one in jobs()}
    path = WORK / "results.json"
    if "--finished" in sys.argv:
        figures = Figures(trainings.finished(wanted, path))
    else:
        figures = Figures(trainings.run_all(wanted, run, path, alone=lambda one: one["kind"] == "cost"))
    tables = {
        "table-1": table_1(figures), "table-3": table_3(figures), "table-4": table_4(figures), "costs": costs(figures),
        "rates": rates(figures), "own": own(figures),
    }
    (PAGES / "forests.md").write_text(fill((ROOT / "bench/forests.md").read_text(), tables))


if __name__ == "__main__":
    main()
