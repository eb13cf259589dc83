"""Data sets: files in every format that the command reads, the embedded questions, synthetic rows.

>>> from labelwood import datasets
>>> questions = datasets.load_questions()
>>> len(questions.train_texts), len(questions.test_texts)
(436, 104)
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from scipy import sparse

from . import _native
from ._inputs import MOST_SEED, Labels, LabelSets, Matrix, as_json, features, threads, whole

__all__ = [
    "Dataset",
    "Document",
    "Questions",
    "generate",
    "load_questions",
    "profiles",
    "read",
    "read_documents",
    "read_vocabulary",
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
    X: Matrix,
    Y: LabelSets,
    *,
    format: str | None = None,
    overwrite: bool = False,
) -> None:
    """Writes rows and their labels to a file in the given format, or that which its ending names.

    If the labels have names, these go into ``train.labels.txt`` beside ``train.txt``, where :func:`read`
    and the command look for them. The file appears when it is complete; one that is there already is
    replaced only with ``overwrite=True``.

    >>> import tempfile
    >>> from labelwood import datasets
    >>> path = tempfile.mkdtemp() + "/train.txt"
    >>> datasets.write(path, [[1.0, 0.0], [0.0, 1.0]], [["birds"], ["maps", "birds"]])
    >>> datasets.read(path).label_names
    ['birds', 'maps']
    """
    labels = Labels(Y)
    _native.write(
        os.fspath(path), format, features(X), labels.arrays, labels.names, bool(overwrite)
    )


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
