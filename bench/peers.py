"""Trains or predicts with one peer, in a process of its own.

    python peers.py SYSTEM train TRAIN.txt MODEL THREADS SEED
    python peers.py SYSTEM predict MODEL TEST.txt PREDICTIONS.tsv THREADS

Prints one line of JSON: the CPU seconds (user and system, all threads) of the work, and the peak
resident memory. Starting Python and importing a library are not counted: a native command would
not pay for them.
"""

import json
import pathlib
import sys
import time

TOP_K = 5


def read_rows(path):
    """The rows of an XC file as lists of (feature, value) pairs."""
    with open(path) as file:
        next(file)
        for line in file:
            entries = line.rstrip("\n").split(" ")[1:]
            pairs = (entry.split(":") for entry in entries if entry)
            yield [(int(feature), float(value)) for feature, value in pairs]


def read_matrices(path):
    """Features and labels of an XC file as scipy matrices."""
    import numpy
    from scipy.sparse import csr_matrix

    with open(path) as file:
        rows, features, labels = map(int, next(file).split())
        x, y = ([], [], [0]), ([], [], [0])
        for line in file:
            head, *entries = line.rstrip("\n").split(" ")
            for entry in filter(None, entries):
                feature, value = entry.split(":")
                x[0].append(float(value))
                x[1].append(int(feature))
            x[2].append(len(x[1]))
            y[1].extend(int(label) for label in head.split(",") if label)
            y[2].append(len(y[1]))
    y[0].extend([1.0] * len(y[1]))
    matrix = lambda arrays, columns: csr_matrix(arrays, shape=(rows, columns), dtype=numpy.float32)
    return matrix(x, features), matrix(y, labels)


def write_predictions(path, rows):
    """Writes lists of (label, score) pairs as `label score`, separated by tabs."""
    with open(path, "w") as file:
        for row in rows:
            best = sorted(row, key=lambda pair: -pair[1])[:TOP_K]
            file.write("\t".join(f"{label} {score}" for label, score in best) + "\n")


class Omikuji:
    """Parabel-like trees with omikuji's default settings. It has no seed."""

    def __init__(self):
        import omikuji

        self.library = omikuji

    def train(self, train, model, threads, seed):
        self.library.Model.train_on_data(train, None, threads).save(model)

    def predict(self, model, test, threads):
        model = self.library.Model.load(model)
        rows = list(read_rows(test))
        start = time.process_time()
        predictions = [model.predict(row, top_k=TOP_K) for row in rows]
        return predictions, time.process_time() - start, len(rows)


class NapkinXc:
    """A probabilistic label tree with napkinXC's default settings."""

    def __init__(self):
        from napkinxc import datasets, models

        self.datasets, self.models = datasets, models

    def train(self, train, model, threads, seed):
        x, y = self.datasets.load_libsvm_file(train)
        self.models.PLT(model, threads=threads, seed=seed).fit(x, y)

    def predict(self, model, test, threads):
        x, _ = self.datasets.load_libsvm_file(test)
        model = self.models.PLT(model, threads=threads)
        model.load()
        start = time.process_time()
        predictions = model.predict_proba(x, top_k=TOP_K)
        return predictions, time.process_time() - start, x.shape[0]


class Pecos:
    """XR-Linear over a hierarchical clustering of the labels, with PECOS's default settings.

    Rows are scaled to length 1, as PECOS expects them and the others do themselves.
    """

    def __init__(self):
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel
        from sklearn.preprocessing import normalize

        self.model, self.normalize = XLinearModel, normalize
        self.indexer, self.embedding = Indexer, LabelEmbeddingFactory

    def train(self, train, model, threads, seed):
        x, y = read_matrices(train)
        x = self.normalize(x)
        features = self.embedding.create(y, x, method="pifa")
        clusters = self.indexer.gen(features, threads=threads, seed=seed)
        self.model.train(x, y, C=clusters, threads=threads).save(model)

    def predict(self, model, test, threads):
        x = self.normalize(read_matrices(test)[0])
        model = self.model.load(model)
        start = time.process_time()
        found = model.predict(x, only_topk=TOP_K, threads=threads)
        seconds = time.process_time() - start
        bounds = zip(found.indptr, found.indptr[1:])
        rows = [list(zip(found.indices[a:b], found.data[a:b])) for a, b in bounds]
        return rows, seconds, x.shape[0]


PEERS = {"omikuji": Omikuji, "napkinxc": NapkinXc, "pecos": Pecos}


def peak_memory():
    status = pathlib.Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def main():
    system, task, first, second, *rest = sys.argv[1:]
    peer = PEERS[system]()
    # What libraries print must not mix with the result.
    out, sys.stdout = sys.stdout, sys.stderr
    if task == "train":
        threads, seed = map(int, rest)
        start = time.process_time()
        peer.train(first, second, threads, seed)
        result = {"cpu_seconds": time.process_time() - start}
    else:
        output, threads = rest
        rows, seconds, count = peer.predict(first, second, int(threads))
        write_predictions(output, rows)
        result = {"cpu_seconds": seconds, "rows": count}
    print(json.dumps(result | {"peak_rss_bytes": peak_memory()}), file=out)


if __name__ == "__main__":
    main()
