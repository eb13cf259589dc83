"""The rows that the systems are compared on: as they come, scaled to length 1, and weighted as labelwood weighs them."""

import dataclasses
import json
import pathlib

import numpy
from scipy import sparse

KINDS = {
    "raw": "as in the file",
    "unit": "each row scaled to length 1",
    "weighted": "ln(1 + value) x idf, then each row scaled to length 1",
}
NAMES = ["train", "test"]


@dataclasses.dataclass
class Rows:
    """A set in all its kinds, each a folder with train.txt and test.txt."""

    folders: dict
    facts: dict

    def file(self, kind, part):
        return self.folders[kind] / f"{part}.txt"

    def train(self, kind, without_blanks):
        """The training rows; without_blanks leaves out those that have neither labels nor features."""
        return self.file(kind, "train-without-blanks" if without_blanks and self.facts["blank"][kind] else "train")


def read(path):
    """Features and labels of an XC file as scipy matrices."""
    with open(path) as file:
        count, features, labels = map(int, next(file).split())
        x, y = ([], [], [0]), ([], [0])
        for line in file:
            head, *entries = line.rstrip("\n").split(" ")
            for entry in filter(None, entries):
                feature, value = entry.split(":")
                x[0].append(float(value))
                x[1].append(int(feature))
            x[2].append(len(x[1]))
            y[0].extend(int(label) for label in head.split(",") if label)
            y[1].append(len(y[0]))
    x = sparse.csr_matrix(x, shape=(count, features), dtype=numpy.float32)
    x.sort_indices()
    y = sparse.csr_matrix((numpy.ones(len(y[0]), numpy.float32), *y), shape=(count, labels))
    return x, y


def write(path, x, y):
    with open(path, "w") as file:
        file.write(f"{x.shape[0]} {x.shape[1]} {y.shape[1]}\n")
        for row in range(x.shape[0]):
            labels = ",".join(map(str, y.indices[y.indptr[row]:y.indptr[row + 1]]))
            span = slice(x.indptr[row], x.indptr[row + 1])
            entries = [f" {feature}:{value:.9g}" for feature, value in zip(x.indices[span], x.data[span])]
            file.write((labels + "".join(entries) or " ") + "\n")


def has_counts(x):
    """Whether labelwood's `--weighting auto` takes the values for counts."""
    return x.nnz > 0 and bool(numpy.all((x.data > 0) & (x.data == numpy.floor(x.data))))


def inverse_frequencies(x):
    """ln(instances / instances with the feature); 0 for a feature that no instance has."""
    counts = numpy.bincount(x.indices, minlength=x.shape[1])
    return numpy.where(counts > 0, numpy.log(x.shape[0] / numpy.maximum(counts, 1)), 0)


def weigh(x, idf):
    x = x.copy()
    x.data = (numpy.sign(x.data) * numpy.log1p(numpy.abs(x.data)) * idf[x.indices]).astype(numpy.float32)
    x.eliminate_zeros()
    return scale(x)


def lengths(x):
    return numpy.sqrt(x.multiply(x).sum(axis=1)).A1


def scale(x):
    length = lengths(x)
    length[length == 0] = 1
    x = x.copy()
    x.data = (x.data / numpy.repeat(length, numpy.diff(x.indptr))).astype(numpy.float32)
    return x


def is_scaled(x):
    length = lengths(x)
    return bool(numpy.all((length == 0) | (numpy.abs(length - 1) < 1e-3)))


def prepare(source, home, unpack):
    """Makes the kinds of a set's rows, once; `unpack(source, part, target)` writes a part as plain text."""
    facts_file = home / "facts.json"
    if not facts_file.exists():
        (home / "raw").mkdir(parents=True, exist_ok=True)
        for part in NAMES:
            unpack(source, part, home / "raw" / f"{part}.txt")
        facts_file.write_text(json.dumps(make_kinds(home)))
    facts = json.loads(facts_file.read_text())
    return Rows({kind: home / kind for kind in facts["empty"]}, facts)


def make_kinds(home):
    raw = {part: read(home / "raw" / f"{part}.txt") for part in NAMES}
    train, labels = raw["train"]
    if raw["test"][0].shape[1] != train.shape[1]:
        # A format without a header does not tell: the peers want as many features as in training.
        raw["test"][0].resize(raw["test"][0].shape[0], train.shape[1])
        write(home / "raw/test.txt", *raw["test"])
    kinds = {"raw": lambda x: x}
    if not is_scaled(train):
        kinds["unit"] = scale
    if has_counts(train):
        idf = inverse_frequencies(train)
        kinds["weighted"] = lambda x: weigh(x, idf)
    empty, blank = {}, {}
    for kind, make in kinds.items():
        (home / kind).mkdir(exist_ok=True)
        made = {part: make(x) for part, (x, _) in raw.items()}
        if kind != "raw":
            for part, (_, y) in raw.items():
                write(home / kind / f"{part}.txt", made[part], y)
        empty[kind] = {part: int((numpy.diff(x.indptr) == 0).sum()) for part, x in made.items()}
        full = (numpy.diff(made["train"].indptr) > 0) | (numpy.diff(labels.indptr) > 0)
        blank[kind] = int((~full).sum())
        if blank[kind]:
            write(home / kind / "train-without-blanks.txt", made["train"][full], labels[full])
    return {
        "instances": {part: raw[part][0].shape[0] for part in NAMES},
        "features": train.shape[1],
        "labels": labels.shape[1],
        "empty": empty,
        "blank": blank,
    }
