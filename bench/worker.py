"""Trains or predicts with one peer, in a process of its own.

    python worker.py train '{"peer": .., "options": .., "rows": .., "model": .., "threads": .., "seed": ..}'
    python worker.py predict '{"peer": .., "options": .., "rows": .., "model": .., "threads": .., "predictions": ..}'

Prints one line of JSON: the CPU seconds (user and system, all threads) of each step, and the peak resident memory.
Starting Python, importing libraries and compiling just in time are not counted: a native command would not pay for them.
"""

import json
import pathlib
import pickle
import sys
import time

import numpy

import rows

TOP_K = 5
BATCH = 1024


def top_of(scores):
    """The best labels of each row of a dense matrix of scores, with their scores."""
    count = min(TOP_K, scores.shape[1])
    best = numpy.argpartition(-scores, count - 1, axis=1)[:, :count]
    return [list(zip(labels, row[labels])) for labels, row in zip(best, scores)]


def pairs_of(matrix):
    """The entries of each row of a sparse matrix as (column, value) pairs."""
    bounds = zip(matrix.indptr, matrix.indptr[1:])
    return [list(zip(matrix.indices[a:b], matrix.data[a:b])) for a, b in bounds]


class Peer:
    """What the peers have in common: matrices in, a pickled model, rows of (label, score) pairs out.

    `fit` gives a model, which `save` writes to a folder and `load` reads again.
    """

    def __init__(self, options, threads, seed):
        self.options, self.threads, self.seed = options, threads, seed

    def read(self, path):
        return rows.read(path)

    def save(self, model, folder):
        with open(folder / "model.pickle", "wb") as file:
            pickle.dump(model, file)

    def load(self, folder):
        with open(folder / "model.pickle", "rb") as file:
            return pickle.load(file)

    def queries(self, x):
        """The rows in the form that `predict` takes."""
        return x

    def in_batches(self, score, x):
        """The best labels of rows whose scores are dense, some rows at a time."""
        return [row for at in range(0, x.shape[0], BATCH) for row in top_of(score(x[at:at + BATCH]))]


class Omikuji(Peer):
    """Partitioned label trees. It has no seed, reads the file itself and predicts row by row."""

    def __init__(self, *settings):
        super().__init__(*settings)
        import omikuji

        self.model = omikuji.Model

    def read(self, path):
        return path

    def fit(self, path):
        settings = self.model.default_hyper_param()
        for name, value in self.options.items():
            setattr(settings, name, value)
        return self.model.train_on_data(str(path), settings, self.threads)

    def save(self, model, folder):
        model.save(str(folder))

    def load(self, folder):
        model = self.model.load(str(folder))
        model.init_prediction_thread_pool(self.threads)
        return model

    def queries(self, x):
        return pairs_of(x)

    def predict(self, model, queries):
        return [model.predict(row, top_k=TOP_K) for row in queries]


class NapkinXc(Peer):
    """Probabilistic label trees. The model is written while it is fitted."""

    def __init__(self, *settings):
        super().__init__(*settings)
        from napkinxc.models import PLT

        self.plt = PLT

    def fit(self, data):
        x, y = data
        labels = [y.indices[a:b].tolist() for a, b in zip(y.indptr, y.indptr[1:])]
        self.plt(str(self.folder), threads=self.threads, seed=self.seed, **self.options).fit(x, labels)

    def save(self, model, folder):
        pass

    def load(self, folder):
        model = self.plt(str(folder), threads=self.threads, **self.options)
        model.load()
        return model

    def predict(self, model, x):
        return model.predict_proba(x, top_k=TOP_K)


class Pecos(Peer):
    """XR-Linear over a hierarchical clustering of the labels."""

    def __init__(self, *settings):
        super().__init__(*settings)
        from pecos.utils.smat_util import CsrEnsembler
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        self.model, self.average = XLinearModel, CsrEnsembler.average
        self.indexer, self.embedding = Indexer, LabelEmbeddingFactory

    def fit(self, data):
        x, y = data
        features = self.embedding.create(y, x, method="pifa")
        settings = {"threads": self.threads}
        if "negatives" in self.options:
            settings |= {"negative_sampling_scheme": self.options["negatives"]}
            settings |= {"pred_kwargs": {"beam_size": self.options["beam"]}}
        splits = {"nr_splits": self.options["splits"]} if "splits" in self.options else {}
        trees = self.options.get("trees", 1)
        models = []
        for tree in range(trees):
            clusters = self.indexer.gen(features, threads=self.threads, seed=trees * self.seed + tree, **splits)
            models.append(self.model.train(x, y, C=clusters, **settings, **splits))
        return models

    def save(self, model, folder):
        for at, tree in enumerate(model):
            tree.save(str(folder / str(at)))

    def load(self, folder):
        trees = range(self.options.get("trees", 1))
        return [self.model.load(str(folder / str(at)), is_predict_only=True) for at in trees]

    def predict(self, model, x):
        # More labels than asked for, so that the average has all of a label's scores.
        few = {"only_topk": TOP_K} if len(model) == 1 else {"beam_size": self.options["beam"]}
        found = [tree.predict(x, threads=self.threads, **few) for tree in model]
        return pairs_of(found[0] if len(found) == 1 else self.average(*found))


class OneVsRest(Peer):
    """LibMultiLabel's one-vs-rest with LIBLINEAR. It takes as many threads as there are cores."""

    def __init__(self, *settings):
        super().__init__(*settings)
        from libmultilabel import linear

        self.linear = linear

    def fit(self, data):
        x, y = data
        return self.linear.train_1vsrest(y, x, options=self.options.get("liblinear", ""), verbose=False)

    def predict(self, model, x):
        return self.in_batches(lambda batch: numpy.asarray(self.linear.predict_values(model, batch)), x)


class LabelTree(OneVsRest):
    """LibMultiLabel's label tree."""

    def __init__(self, *settings):
        super().__init__(*settings)
        from sparsekmeans import ElkanKmeans, LloydKmeans

        # Compiles both, which takes longer than many a training.
        for kmeans in [ElkanKmeans, LloydKmeans]:
            kmeans(n_clusters=2, max_iter=2, random_state=0).fit(rows.sparse.random(20, 5, 0.5, "csr", random_state=0))
        numpy.random.seed(self.seed)

    def fit(self, data):
        x, y = data
        return self.linear.train_tree(y, x, verbose=False)

    def predict(self, model, x):
        return self.in_batches(model.predict_values, x)


class LabelTrees(LabelTree):
    """LibMultiLabel's ensemble of label trees."""

    def fit(self, data):
        x, y = data
        # It seeds its trees with the numbers from here on.
        return self.linear.train_ensemble_tree(y, x, verbose=False, seed=10 * self.seed)


class ScikitLearn(Peer):
    """scikit-learn's one-vs-rest with LIBLINEAR."""

    def __init__(self, *settings):
        super().__init__(*settings)
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC

        self.model = OneVsRestClassifier(LinearSVC(random_state=self.seed))

    def fit(self, data):
        x, y = data
        # It scores labels without instances 0, above most others.
        known = numpy.flatnonzero(y.getnnz(axis=0))
        return known, self.model.fit(x, y[:, known].astype(int))

    def predict(self, model, x):
        known, model = model
        found = self.in_batches(model.decision_function, x)
        return [[(known[label], score) for label, score in row] for row in found]


def write_predictions(path, predicted):
    """Writes `label score`, separated by tabs."""
    with open(path, "w") as file:
        for row in predicted:
            best = sorted(row, key=lambda pair: -pair[1])[:TOP_K]
            file.write("\t".join(f"{label} {score}" for label, score in best) + "\n")


def memory(field):
    """A figure of this process's memory: VmRSS is the present one, VmHWM the peak."""
    status = pathlib.Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


class Clock:
    """CPU seconds since the last look."""

    def __init__(self):
        self.last = time.process_time()

    def look(self):
        self.last, before = time.process_time(), self.last
        return self.last - before


def train(peer, task):
    peer.folder = pathlib.Path(task["model"])
    clock = Clock()
    data = peer.read(task["rows"])
    cpu = {"read": clock.look()}
    model = peer.fit(data)
    cpu["fit"] = clock.look()
    peer.save(model, peer.folder)
    return {"cpu_seconds": cpu | {"save": clock.look()}}


def predict(peer, task):
    x, _ = rows.read(task["rows"])
    model, queries = peer.load(pathlib.Path(task["model"])), peer.queries(x)
    clock = Clock()
    predicted = peer.predict(model, queries)
    cpu = {"predict": clock.look()}
    write_predictions(task["predictions"], predicted)
    return {"cpu_seconds": cpu, "rows": x.shape[0]}


def main():
    step, task = sys.argv[1], json.loads(sys.argv[2])
    # What libraries print must not mix with the result.
    out, sys.stdout = sys.stdout, sys.stderr
    peer = globals()[task["peer"]](task["options"], task["threads"], task["seed"])
    before = memory("VmRSS")
    result = {"train": train, "predict": predict}[step](peer, task)
    print(json.dumps(result | {"start_rss_bytes": before, "peak_rss_bytes": memory("VmHWM")}), file=out)


if __name__ == "__main__":
    main()
