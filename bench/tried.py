"""Measures what the paper's comparison has and labelwood has not: ML-kNN, LPSR, and neighbours in learned spaces.

Writes docs/src/tried.md. Needs the sets in LABELWOOD_DATA, and numpy and scipy; see README.md beside this file.
"""

import functools
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from scipy import sparse

import differences
import peers
import rows
import spaces
from trainings import PAGES, ROOT, fill, finished, percent, run_all, table

WORK = ROOT / "target/bench-tried"
SETS = ["bibtex", "delicious", "stackex-cs", "cve-libraries", "debian-debtags"]
# Where the slower ones are tried: on larger sets they take minutes.
SMALL = {"clusters": ["bibtex", "stackex-cs"], "ranked": ["bibtex", "stackex-cs", "cve-libraries"]}
CUTS = [1, 3, 5]
# With fewer labels, looking through all of them is quicker than sorting those with a score.
FEW = 2000
NEIGHBOURS = [15, 30, 50, 100, 150]
POWERS = [1, 2, 3, 4, 6]
SHARES = [0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8]


def best(scores, count):
    """The columns of the largest scores of each row, the lower first of equal ones, and their scores."""
    count = min(count, scores.shape[1])
    places = numpy.arange(scores.shape[1])
    keys = (numpy.rint(scores * 2.0**30).astype(numpy.int64) << 20) - places
    found = numpy.argpartition(-keys, count - 1, axis=1)[:, :count]
    order = numpy.argsort(numpy.take_along_axis(-keys, found, 1), axis=1)
    found = numpy.take_along_axis(found, order, 1)
    return found, numpy.take_along_axis(scores, found, 1)


def blocks(count, size=512):
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def nearest(known, asked, count, without_itself=False):
    """For each row that is asked the rows nearest to it, and their cosines."""
    across, found = known.T.tocsr() if sparse.issparse(known) else known.T, []
    for block in blocks(asked.shape[0]):
        cosines = dense(asked[block] @ across).astype(numpy.float64)
        if without_itself:
            cosines[numpy.arange(len(cosines)), numpy.arange(block.start, block.stop)] = -1
        found.append(best(cosines, count))
    return [numpy.vstack(one) for one in zip(*found)]


def votes(near, labels, count, power):
    """The score of each label as `labelwood train --algorithm neighbours` gives it."""
    ids, cosines = (one[:, :count] for one in near)
    shares = numpy.maximum(cosines, 0) / numpy.maximum(cosines[:, :1], 1e-9)
    shares = shares**power * (cosines > 0)
    shares /= numpy.maximum(shares.sum(1, keepdims=True), 1e-9)
    ends = numpy.arange(len(ids) + 1) * ids.shape[1]
    return (sparse.csr_matrix((shares.ravel(), ids.ravel(), ends), (len(ids), labels.shape[0])) @ labels).tocsr()


def precision(scores, truth):
    """P@1, P@3 and P@5 of each row, in fractions of 1; the lower of two labels with equal scores comes first."""
    if truth.shape[1] < FEW or not sparse.issparse(scores):
        scores = sparse.vstack([first(dense(scores[block])) for block in blocks(truth.shape[0])])
    scores = scores.tocoo()
    order = numpy.lexsort((scores.col, -scores.data, scores.row))
    row, column = scores.row[order], scores.col[order]
    rank = numpy.arange(len(row)) - numpy.searchsorted(row, row)
    found = numpy.zeros((truth.shape[0], len(CUTS)))
    for at, cut in enumerate(CUTS):
        named = (rank < cut) & (scores.data[order] > 0)
        answers = sparse.csr_matrix((numpy.ones(named.sum()), (row[named], column[named])), truth.shape)
        found[:, at] = numpy.asarray(answers.multiply(truth).sum(1)).ravel() / cut
    return found


def first(scores):
    """The best scores of each row, as a sparse matrix."""
    ids, values = best(scores, max(CUTS))
    ends = numpy.arange(len(ids) + 1) * ids.shape[1]
    return sparse.csr_matrix((values.ravel(), ids.ravel(), ends), scores.shape)


def mean(found):
    return float(100 * found.mean())


def figures(found, against=None):
    """What is kept of the precision of each row: the means, and the difference to another system's with its interval."""
    kept = {"p": [float(100 * one) for one in found.mean(0)]}
    if against is not None:
        kept["apart"] = differences.interval(found.mean(1), against.mean(1), 1)
    return kept


class Part:
    """Rows to learn from and rows to test with; `given` are as in the files."""

    def __init__(self, given, weighted, labels, asked):
        self.given, self.weighted, self.labels = given, weighted, labels
        self.asked_given, self.asked, self.truth = asked

    @functools.cached_property
    def near(self):
        return nearest(self.weighted, self.asked, max(NEIGHBOURS))

    def ours(self, algorithm, count):
        """The scores that an algorithm of labelwood gives so many labels of each row."""
        return labelwood(algorithm, (self.given, self.labels), (self.asked_given, self.truth), count)


def labelwood(algorithm, learned, asked, count):
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        names = ["train.txt", "test.txt", "model", "answers.npz"]
        train, test, model, answers = (pathlib.Path(folder, name) for name in names)
        rows.write(train, *learned)
        rows.write(test, *asked)
        flags = ["--threads", "1", "--quiet"]
        command = [peers.LABELWOOD, "train", train, "--algorithm", algorithm, "--model", model, *flags]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([peers.LABELWOOD, "predict", model, test, "-k", str(count), "--output", answers, *flags], check=True)
        scores = sparse.load_npz(answers).tocsr()
    scores.resize(asked[1].shape)
    return scores


def parts(name):
    """What settings are chosen with, where a fifth of the training rows is held out, and what is reported."""
    data = rows.prepare(pathlib.Path(os.environ["LABELWOOD_DATA"], name), WORK / "data" / name, peers.unpack)
    (given, labels), (asked, truth) = (rows.read(data.file("raw", part)) for part in rows.NAMES)
    draw = numpy.random.default_rng(7).permutation(given.shape[0])
    fifth = given.shape[0] // 5
    held, rest = numpy.sort(draw[:fifth]), numpy.sort(draw[fifth:])

    def part(given, labels, asked, truth):
        if rows.has_counts(given):
            idf = rows.inverse_frequencies(given)
            weighted = [rows.weigh(one, idf) for one in [given, asked]]
        else:
            weighted = [rows.scale(one) for one in [given, asked]]
        return Part(given, weighted[0], labels, (asked, weighted[1], truth))

    return part(given[rest], labels[rest], given[held], labels[held]), part(given, labels, asked, truth)


def tuned(part, near, powers):
    """The neighbours and the power with the best precision."""
    tried = [(count, power) for count in NEIGHBOURS for power in powers]
    return max(tried, key=lambda one: mean(precision(votes(near, part.labels, *one), part.truth)))


def mixed(part, one, other):
    """The share of the other scores in a mixture that is best."""
    return max(SHARES, key=lambda share: mean(precision(mixture(one, other, share), part.truth)))


def mixture(one, other, share):
    return (one * (1 - share) + other * share).tocsr()


def plain(held, test):
    """Neighbours with the defaults, and with settings chosen on the held-out rows."""
    chosen = tuned(held, held.near, POWERS)
    return chosen, *(precision(votes(test.near, test.labels, *one), test.truth) for one in [(50, 3), chosen])


# ML-kNN


class Counts:
    """For each row and label the posterior of the label, given how many neighbours have it."""

    def __init__(self, near, labels, posterior):
        self.posterior, count = posterior, len(posterior) - 1
        self.counts = how_many(near, labels, count)

    def __getitem__(self, block):
        return numpy.take_along_axis(self.posterior, self.counts[block].toarray().astype(int), 0)


def how_many(near, labels, count):
    """How many of so many neighbours of each row have a label."""
    ids = near[0][:, :count]
    ends = numpy.arange(len(ids) + 1) * count
    neighbours = sparse.csr_matrix((numpy.ones(ids.size), ids.ravel(), ends), (len(ids), labels.shape[0]))
    return (neighbours @ labels).tocsr()


def posteriors(near, labels, count):
    """Of each number of neighbours with a label, how probable the label is: Laplace smoothing of 1, as in the paper."""
    found = how_many(near, labels, count)
    own = found.multiply(labels).tocsr()
    own.eliminate_zeros()
    frequency = numpy.asarray(labels.sum(0)).ravel()
    with_label, without = ([histogram(one, count, labels.shape[1]) for one in [own, found]])
    without -= with_label
    with_label[0] = frequency - with_label[1:].sum(0)
    without[0] = labels.shape[0] - frequency - without[1:].sum(0)
    prior = (1 + frequency) / (2 + labels.shape[0])
    yes = prior * (1 + with_label) / (count + 1 + frequency)
    no = (1 - prior) * (1 + without) / (count + 1 + labels.shape[0] - frequency)
    return numpy.where(frequency > 0, yes / (yes + no), 0)


def histogram(counts, most, width):
    counts, found = counts.tocoo(), numpy.zeros((most + 1, width))
    numpy.add.at(found, (counts.data.astype(int), counts.col), 1)
    return found


def ml_knn(held, test):
    sizes = [5, 10, 15, 20, 30, 50, 100]
    learned = nearest(held.weighted, held.weighted, max(sizes), without_itself=True)

    def scores(part, learned, count):
        return Counts(part.near, part.labels, posteriors(learned, part.labels, count))

    count = max(sizes, key=lambda count: mean(precision(scores(held, learned, count), held.truth)))
    learned = nearest(test.weighted, test.weighted, count, without_itself=True)
    found = precision(scores(test, learned, count), test.truth)
    chosen, default, best = plain(held, test)
    return {
        "plain": figures(default), "tuned": figures(best, default) | {"settings": chosen},
        "ml-knn": figures(found, default) | {"settings": [count]},
        "against tuned": figures(found, best),
    }


# LPSR


class Tree:
    """A tree of rows: each node is divided in two by spherical k-means until it has at most `leaf` rows."""

    def __init__(self, features, leaf):
        self.nodes, random = [], numpy.random.default_rng(3)
        left = [(numpy.arange(features.shape[0]), None)]
        while left:
            ids, above = left.pop()
            if above:
                self.nodes[above[0]][above[1]] = len(self.nodes)
            node = len(self.nodes)
            means, sides = spaces.k_means(features[ids], 2, random) if len(ids) > leaf else (None, numpy.zeros(1))
            if sides.min() == sides.max():
                self.nodes.append(ids)
                continue
            self.nodes.append({"means": means})
            left += [(ids[sides == side], (node, side)) for side in [0, 1]]

    def leaves(self, features):
        """The node of the leaf of each row."""
        found, left = numpy.zeros(features.shape[0], int), [(0, numpy.arange(features.shape[0]))]
        while left:
            node, ids = left.pop()
            if not isinstance(self.nodes[node], dict):
                found[ids] = node
                continue
            sides = numpy.argmax(features[ids] @ self.nodes[node]["means"].T, axis=1)
            left += [(self.nodes[node][side], ids[sides == side]) for side in [0, 1]]
        return found


def only_labels_of_leaves(scores, tree, leaves, labels, count):
    """The scores of the `count` labels that are most frequent among the rows of a row's leaf; none of the others."""
    scores = scores.copy()
    for leaf in numpy.unique(leaves):
        frequency = numpy.asarray(labels[tree.nodes[leaf]].sum(0)).ravel()
        kept = numpy.zeros(len(frequency))
        kept[numpy.argsort(-frequency, kind="stable")[:count]] = 1
        for row in numpy.flatnonzero(leaves == leaf):
            span = slice(scores.indptr[row], scores.indptr[row + 1])
            scores.data[span] *= kept[scores.indices[span]]
    scores.eliminate_zeros()
    return scores


def lpsr(held, test):
    ranked, tried = held.ours("one-vs-rest", held.labels.shape[1]), {}
    for leaf in [300, 1000, 3000]:
        tree = Tree(held.weighted, leaf)
        leaves = tree.leaves(held.asked)
        for count in [20, 50, 100]:
            scores = only_labels_of_leaves(ranked, tree, leaves, held.labels, count)
            tried[leaf, count] = mean(precision(scores, held.truth))
    leaf, count = max(tried, key=tried.get)
    ranked, tree = test.ours("one-vs-rest", test.labels.shape[1]), Tree(test.weighted, leaf)
    leaves = tree.leaves(test.asked)
    alone = precision(ranked, test.truth)
    restricted = precision(only_labels_of_leaves(ranked, tree, leaves, test.labels, count), test.truth)

    tree = Tree(test.weighted, 3000)
    leaves, own, order = tree.leaves(test.asked), [], []
    for leaf_of in numpy.unique(leaves):
        learned, asked = tree.nodes[leaf_of], numpy.flatnonzero(leaves == leaf_of)
        here = (test.given[learned], test.labels[learned]), (test.asked_given[asked], test.truth[asked])
        own.append(labelwood("one-vs-rest", *here, max(CUTS)))
        order.append(asked)
    own = precision(sparse.vstack(own).tocsr()[numpy.argsort(numpy.concatenate(order))], test.truth)
    return {
        "one-vs-rest": figures(alone), "lpsr": figures(restricted, alone) | {"settings": [leaf, count]},
        "own": figures(own, alone),
    }


# Neighbours in a learned space


def learned_spaces(kind, held, test):
    """Neighbours in a space alone, together with plain ones, and with a grove; everything chosen on the held-out rows."""
    learn = spaces.KINDS[kind]
    there = {part: spaces.near(learn, part, max(NEIGHBOURS), nearest) for part in [held, test]}

    def scores(part, chosen):
        return sum(votes(near, part.labels, *chosen) for near in there[part]) / len(there[part])

    tried = [(count, power) for count in NEIGHBOURS for power in [3, 5, 8, 12, 16, 24]]
    chosen = max(tried, key=lambda one: mean(precision(scores(held, one), held.truth)))
    own, near = {part: scores(part, chosen) for part in there}, tuned(held, held.near, POWERS)
    others = {"plain": {part: votes(part.near, part.labels, *near) for part in there}}
    others["grove"] = {part: part.ours("grove", 100) for part in there}
    alone = precision(own[test], test.truth), precision(others["plain"][test], test.truth)
    found = {"alone": figures(*alone) | {"settings": chosen}}
    for name, other in others.items():
        share = mixed(held, other[held], own[held])
        alone = precision(other[test], test.truth)
        together = precision(mixture(other[test], own[test], share), test.truth)
        found |= {name: figures(alone), f"with {name}": figures(together, alone) | {"share": share}}
    return found


METHODS = {"ml-knn": ml_knn, "lpsr": lpsr} | {kind: functools.partial(learned_spaces, kind) for kind in spaces.KINDS}


def run(job):
    name, method = job
    print(name, method, file=sys.stderr, flush=True)
    return METHODS[method](*parts(name))


def apart(one):
    difference, low, high = one["apart"]
    return f"{difference:+.1f} [{low:+.1f}, {high:+.1f}]"


def page(results):
    """The tables of what is there."""
    found = {
        method: {name: results[f"{name} {method}"] for name in SETS if f"{name} {method}" in results}
        for method in METHODS
    }
    ml_knn = [
        [name, percent(one["plain"]["p"]), percent(one["tuned"]["p"]), percent(one["ml-knn"]["p"]),
         one["ml-knn"]["settings"][0], apart(one["ml-knn"]), apart(one["against tuned"])]
        for name, one in found["ml-knn"].items()
    ]
    lpsr = [
        [name, percent(one["one-vs-rest"]["p"]), "{} / {}".format(*one["lpsr"]["settings"]), percent(one["lpsr"]["p"]),
         apart(one["lpsr"]), percent(one["own"]["p"]), apart(one["own"])]
        for name, one in found["lpsr"].items()
    ]
    learned = [
        [f"{name}, {kind}", percent(one["plain"]["p"]), percent(one["alone"]["p"]), apart(one["alone"]),
         apart(one["with plain"]), percent(one["grove"]["p"]), apart(one["with grove"])]
        for name in SETS for kind, one in ((kind, found[kind].get(name)) for kind in spaces.KINDS) if one
    ]
    heads = {
        "ml-knn": ["set", "neighbours", "with chosen settings", "ML-kNN", "its k", "apart from first", "from second"],
        "lpsr": ["set", "one-vs-rest", "rows / labels of a leaf", "LPSR", "apart", "a ranker for each leaf", "apart"],
        "spaces": ["set, space", "neighbours", "in the space", "apart", "both mixed, apart", "grove", "mixed, apart"],
    }
    lines = {"ml-knn": ml_knn, "lpsr": lpsr, "spaces": learned}
    return {name: [table(heads[name], lines[name])] for name in lines}


def main():
    if "LABELWOOD_DATA" not in os.environ:
        raise SystemExit("error: set LABELWOOD_DATA to the folder of the data sets")
    WORK.mkdir(parents=True, exist_ok=True)
    every = {f"{name} {method}": (name, method) for method in METHODS for name in SMALL.get(method, SETS)}
    wanted = {key: job for key, job in every.items() if job[0] in (sys.argv[1:] or SETS)}
    run_all(wanted, run, WORK / "results.json", alone=lambda job: True)
    kept = finished(every, WORK / "results.json")
    (PAGES / "tried.md").write_text(fill((ROOT / "bench/tried.md").read_text(), page(kept)))


if __name__ == "__main__":
    main()
