"""Data sets: files in every format that the command reads, the embedded questions, synthetic rows.

>>> from labelwood import datasets
>>> questions = datasets.load_questions()
>>> len(questions.train_texts), len(questions.test_texts)
(436, 104)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import _native
from ._errors import InputError
from ._inputs import (
    MOST_SEED, Labels, LabelSets, Matrix, are_texts, as_json, features, in_order, of_arrow, of_dataset,
    real, threads, whole,
)

__all__ = [
    "Check",
    "Dataset",
    "Document",
    "Finding",
    "Questions",
    "check",
    "generate",
    "load_questions",
    "profiles",
    "read",
    "read_documents",
    "read_vocabulary",
    "split",
    "write",
]


class Dataset(NamedTuple):
    """Rows with their labels."""

    X: sparse.csr_array
    """The features, a row for each instance."""
    Y: sparse.csr_array
    """The labels, a column for each."""
    label_names: list[str] | None
    """What the labels are called: a code, or a code and names with TABs between them."""


class Document(NamedTuple):
    """A text with its labels."""

    id: str | None
    text: str
    labels: list[str]


class Finding(NamedTuple):
    """Something odd about data."""

    name: str
    """What it is, in a word or two for programs."""
    n: int
    """How many rows, labels or groups of labels it concerns."""
    rows: list[int]
    """The places of the first of the rows, from 0."""
    examples: list[str]
    """Some of the labels."""
    text: str
    """What it is, for people: follows the number."""
    fix: str
    """What to do about it."""


class Check(NamedTuple):
    """What data look like before anything is learned from them."""

    n_rows: int
    """How many rows there are."""
    n_labels: int
    """How many labels they have."""
    labels_per_row: float
    """How many labels a row has, in the mean."""
    language: str | None
    """The language of texts, if it is sure."""
    scripts: list[str]
    """The scripts of texts, the most frequent first."""
    findings: list[Finding]
    """What is odd, what harms most first."""


class Questions(NamedTuple):
    """Questions to a public library's reference desk, with their subjects."""

    train_texts: list[str]
    train_tags: list[list[str]]
    test_texts: list[str]
    test_tags: list[list[str]]


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    lenient: bool = False,
    n_features: int = 0,
    n_labels: int = 0,
    vocabulary: str | os.PathLike[str] | None = None,
    language: str | None = None,
    n_jobs: int | None = None,
) -> Dataset:
    """Reads vectors: ``.txt`` (XC repository format) or ``.svm`` (LIBSVM), also ``.gz`` or ``.zst``.

    ``format`` is ``"xc"``, ``"libsvm"`` or ``"lwd"`` if the file's name does not tell.
    Label names are taken from ``NAME.labels.txt`` or ``labels.txt`` beside the file ``NAME.txt`` unless
    ``vocabulary`` says where they are, as in :func:`read_vocabulary`. ``n_features`` and ``n_labels`` are the least widths, such as
    those of a model.
    With ``lenient``, a header that disagrees with the rows is a warning in the log.
    """
    names = None if vocabulary is None else os.fspath(vocabulary)
    (x, columns, y, labels), lines = _native.read(
        os.fspath(path), format, lenient, whole("n_features", n_features),
        whole("n_labels", n_labels), names, language, threads(n_jobs),
    )
    return Dataset(_csr(x, columns), _csr(y, labels), lines and lines[:labels])


def write(
    path: str | os.PathLike[str],
    X: Matrix | Dataset,
    Y: LabelSets | None = None,
    *,
    label_names: Iterable[str] | None = None,
    format: str | None = None,
    overwrite: bool = False,
) -> None:
    """Writes rows and their labels to a file in the given format, or that which its ending names.

    A whole :class:`Dataset` is taken, too. If the labels have names, as in :meth:`CraftML.fit`, these go into ``train.labels.txt`` beside ``train.txt``, where :func:`read`
    and the command look for them. The file appears when it is complete; one that is there already is
    replaced only with ``overwrite=True``.

    >>> import tempfile
    >>> from labelwood import datasets
    >>> path = tempfile.mkdtemp() + "/train.txt"
    >>> datasets.write(path, [[1.0, 0.0], [0.0, 1.0]], [["birds"], ["maps", "birds"]])
    >>> datasets.read(path).label_names
    ['birds', 'maps']
    """
    X, Y, label_names = of_dataset(X, Y, label_names)
    labels = Labels(Y, label_names)
    _native.write(
        os.fspath(path), format, features(X), labels.arrays, labels.names, bool(overwrite)
    )


def check(
    X: Matrix | Iterable[str] | Dataset,
    y: LabelSets | None = None,
    *,
    test: tuple[Any, Any] | None = None,
    label_names: Iterable[str] | None = None,
    n_jobs: int | None = None,
) -> Check:
    """Looks for what is odd about rows, or texts, and says what to do about it, as the command's ``check``.

    ``test`` has rows, or texts, to test with and their labels: they must be others.

    >>> from labelwood import datasets
    >>> found = datasets.check(["old maps", "Old maps", "birds"], [["maps"], ["maps"], []])
    >>> [(finding.name, finding.rows) for finding in found.findings]
    [('no labels', [2]), ('duplicates', [1]), ('no known word', [2])]
    """
    X, y, label_names = of_dataset(X, y, label_names)
    if are_texts(X):
        lines = _json_lines(X, y)
        others = None if test is None else _json_lines(*test)
        found = json.loads(_native.check_texts(lines, others, threads(n_jobs)))
    else:
        rows = _handed(X, y, label_names)
        others = None if test is None else _handed(*test, label_names)
        found = json.loads(_native.check_rows(rows, others))
    findings = [
        Finding(
            one["name"], one["count"], [row - 1 for row in one.get("rows", [])],
            one.get("examples", []), one["text"], one["fix"],
        )
        for one in found["findings"]
    ]
    return Check(
        found["rows"], found["labels"], found["labels_per_row"], found.get("language"),
        found.get("scripts", []), findings,
    )


def split(
    X: Matrix | Iterable[str] | Dataset,
    *,
    test: float = 0.2,
    by: Iterable[str] | None = None,
    seed: int = 42,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which rows, or texts, to train on and which to test with, as the command's ``split`` divides a file.

    Gives the places of both. About the share ``test`` is to test with; rows that are equal, texts that are
    but for case and blanks, and rows with the same value in ``by``, such as an author, are on one side.

    >>> from labelwood import datasets
    >>> train, test = datasets.split(["Old maps", "birds", "old  maps", "cats"], test=0.5)
    >>> (0 in test) == (2 in test)
    True
    """
    X, _, _ = of_dataset(X, None, None)
    if not 0 < real("test", test) < 1:
        raise InputError(f"test is {test!r}, but must be a share of the rows, such as 0.2")
    given: Any = X
    rows: Any = list(given) if are_texts(given) else features(given)
    values = None if by is None else [str(value) for value in by]
    count = len(rows) if isinstance(rows, list) else len(rows[0]) - 1
    if values is not None and len(values) != count:
        raise InputError(f"by has {len(values)} values, but there are {count} rows: give each its value")
    seed = whole("seed", seed, most=MOST_SEED)
    is_test = np.array(_native.divide(rows, values, float(test), seed), bool)
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _handed(X, y, label_names):
    labels = Labels(y, label_names)
    return features(X), labels.arrays, labels.names


def _json_lines(texts, labels) -> str:
    texts, labels = list(of_arrow(texts)), list(of_arrow(labels))
    if len(texts) != len(labels):
        raise InputError(f"{len(texts)} texts, but the labels of {len(labels)}: give each text its own")
    pairs = zip(texts, labels)
    return "".join(as_json({"text": text, "labels": in_order(row)}) + "\n" for text, row in pairs)


def read_documents(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    text: str | list[str] = "text",
    labels: str | list[str] = "labels",
    id: str | None = None,
    separator: str | None = None,
    labels_required: bool = True,
    n_jobs: int | None = None,
) -> list[Document]:
    """Reads texts with their labels: ``.tsv``, ``.csv`` or ``.jsonl``, also ``.gz`` or ``.zst``.

    ``format`` is ``"tsv"``, ``"csv"`` or ``"jsonl"`` if the file's name does not tell.
    ``text``, ``labels`` and ``id`` name the columns of a table or the keys of JSON objects.
    ``separator`` is what stands between two labels, or ``"none"`` if a field is one label; by default
    the labels tell, as in the command.
    """
    fields = [text] if isinstance(text, str) else list(text)
    options = {"text": fields, "labels": labels, "id": id, "separator": separator}
    documents = _native.read_documents(
        os.fspath(path), format, as_json(options), labels_required, threads(n_jobs)
    )
    return [Document(*document) for document in documents]


def read_vocabulary(path: str | os.PathLike[str], language: str | None = None) -> list[str]:
    """Reads labels with their names, a line for each: a code, or a code and names after TABs.

    ``.txt`` has a label a line, ``.tsv`` and ``.csv`` have columns, and ``.ttl``, ``.nt`` and ``.rdf``
    are SKOS, each also with ``.gz`` or ``.zst``. ``language`` is that of the names, such as ``"en"``,
    if there are several; by default the one that has most of them.
    """
    return _native.read_vocabulary(os.fspath(path), language)


def load_questions() -> Questions:
    """The embedded questions, which need no file: a part to learn from and a part to measure on."""
    train, test = _native.questions()
    (train_texts, train_tags), (test_texts, test_tags) = zip(*train), zip(*test)
    return Questions(list(train_texts), list(train_tags), list(test_texts), list(test_tags))


def profiles() -> list[str]:
    """The names of the shapes that :func:`generate` knows."""
    return _native.profiles()


def generate(
    profile: str,
    rows: int | None = None,
    *,
    start: int = 0,
    test: bool = False,
    seed: int = 42,
    n_jobs: int | None = None,
) -> Dataset:
    """Synthetic rows with the shape of a named public set, as ``labelwood generate`` makes them.

    >>> from labelwood import datasets
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=10)
    >>> X.shape, Y.shape
    ((10, 5000), (10, 3993))

    Parameters
    ----------
    profile : str
        One of :func:`profiles`.
    rows : int, optional
        As many as the public set has, by default. Fewer rows are the first of more.
    start : int
        The number of the first row.
    test : bool
        Whether the rows are those to measure on.
    """
    x, columns, y, labels = _native.generate(
        profile, whole("start", start), None if rows is None else whole("rows", rows), test,
        whole("seed", seed, most=MOST_SEED), threads(n_jobs),
    )
    return Dataset(_csr(x, columns), _csr(y, labels), None)


def _csr(arrays: tuple[np.ndarray, np.ndarray, np.ndarray], columns: int) -> sparse.csr_array:
    indptr, indices, data = arrays
    return sparse.csr_array((data, indices, indptr), (len(indptr) - 1, columns))
