"""Algorithms side by side, as the command's ``compare`` tries them.

>>> from labelwood import datasets, search
>>> X, Y, _ = datasets.generate("eurlex-4k", rows=200)
>>> found = search.compare(X, Y, algorithms=["neighbours", "label-tree:bonsai"])
>>> [row[0] for row in found.table]
['system', 'neighbours', 'label-tree:bonsai']
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _native
from ._base import Estimator
from ._documents import as_tags, as_texts, refuse_other_numbers
from ._errors import InputError
from ._inputs import (
    MOST_SEED, Labels, LabelSets, Matrix, are_texts, features, memory, of_arrow, of_dataset, real, storable,
    threads, whole,
)
from ._progress import Callback
from .datasets import Dataset
from .metrics import _scores
from .reports import Page
from .text import TextTagger

__all__ = ["Compared", "compare"]

#: Names of algorithms, ``name:preset``, and estimators.
Algorithms = Union[Iterable[Union[str, Estimator]], Mapping[str, Union[str, Estimator]]]


class Compared(Page):
    """What came of a comparison, which a notebook shows as a page.

    Attributes
    ----------
    figures : dict
        Everything, as ``labelwood compare --json`` prints it: ``systems`` has the figures of each, best first,
        in fractions of 1.
    table : list of list of str
        The table with a head of columns; figures are in percent.
    records : list of dict
        A flat dictionary for each system, for ``pandas.DataFrame`` or ``csv.DictWriter``: its name, its
        figures, how far it is from the best with what that lies between, and its costs.
    verdict : str
        Who is surely ahead, in a sentence.
    markdown, latex : str
        The table for other programs; figures that may be the best are bold.
    html : str
        The page that ``labelwood compare --report`` writes. It needs no network and no script.
    """

    _title = "labelwood comparison"

    def __init__(
        self,
        figures: dict[str, Any],
        table: list[list[str]],
        markdown: str,
        latex: str,
        verdict: str,
        page: str,
    ) -> None:
        super().__init__(page)
        self.figures = figures
        self.table = table
        self.markdown = markdown
        self.latex = latex
        self.verdict = verdict

    def __repr__(self) -> str:
        return f"<labelwood.Compared: {self.verdict}>"

    def __str__(self) -> str:
        return f"{self.markdown}\n{self.verdict}"

    @property
    def records(self) -> list[dict[str, Any]]:
        return [
            {"name": system["name"], **system["figures"], **system.get("lead", {}), **system.get("costs", {})}
            for system in self.figures["systems"]
        ]


def compare(
    X: Matrix | Iterable[str] | Dataset,
    y: LabelSets | None = None,
    *,
    algorithms: Algorithms | None = None,
    test: tuple[Any, Any] | Dataset | None = None,
    holdout: float = 0.2,
    folds: int | None = None,
    seeds: int = 1,
    predictions: Mapping[str, Any] | None = None,
    tagger: TextTagger | None = None,
    vocabulary: str | os.PathLike[str] | Mapping[str, str | Iterable[str]] | None = None,
    language: str | None = None,
    budget: float | None = None,
    folder: str | os.PathLike[str] | None = None,
    title: str = "Comparison",
    random_state: int = 42,
    n_jobs: int | None = None,
    progress: Callback | None = None,
) -> Compared:
    """Which algorithm is best for rows, or texts, how sure that is, and what each costs.

    All learn from the same rows and are tested with the same others; equal rows, and texts that are but for case
    and blanks, are on one side. The figures are those of ``labelwood compare`` with the same data.

    Parameters
    ----------
    X, y
        As in ``fit``; texts and their tags, too, or a whole :class:`Dataset`.
    algorithms : iterable or mapping, optional
        Names such as ``"craftml"``, with a preset ``"label-tree:bonsai"``, and estimators with settings. A
        mapping says what each is called. By default all algorithms that suit the rows.
    test : (X, y) or Dataset, optional
        What is tested with; by default a part of ``X``.
    holdout : float, default=0.2
        The share of the rows that is held out, without ``test``.
    folds : int, optional
        Tests with each of so many parts of the rows in turn instead.
    seeds : int, default=1
        Trains each algorithm so often, with seeds from ``random_state`` on; figures are means.
    predictions : mapping of str to predictions, optional
        What other systems predicted for the rows of ``test``: scores with a column for each label of ``y``, as
        ``predict_top_k`` gives them, or for each row the names of labels or (name, score) pairs, best first.
    tagger : TextTagger, optional
        How texts are read. Its estimator does not matter.
    vocabulary, language
        As in :meth:`TextTagger.fit`.
    budget : float, optional
        The seconds after which what is done is compared.
    folder : path, optional
        Where finished trials are kept: the same call goes on with a comparison that was stopped.
    title : str
        That of the page.
    random_state : int, default=42
        Decides which rows are held out, and what is random in training; that of estimators does not matter.
    n_jobs, progress
        As in ``fit``.

    Examples
    --------
    >>> from labelwood import LabelTree, datasets, search
    >>> X, Y, _ = datasets.generate("eurlex-4k", rows=200)
    >>> few = {"one tree": LabelTree(trees=1), "three trees": LabelTree(trees=3)}
    >>> found = search.compare(X, Y, algorithms=few, holdout=0.5)
    >>> found.figures["rows"], sorted(record["name"] for record in found.records)
    (100, ['one tree', 'three trees'])
    """
    X, y, label_names = of_dataset(X, y, None)
    if test is not None:
        if folds is not None:
            raise InputError("folds and test: rows are tested with one of both")
        if not isinstance(test, tuple) or len(test) not in (2, 3):
            raise InputError("test must be (X, y), or a Dataset")
    elif predictions:
        raise InputError("predictions are for the rows of test: hand these over")
    if not 0 < real("holdout", holdout) < 1:
        raise InputError(f"holdout is {holdout!r}, but must be a share of the rows, such as 0.2")
    if budget is not None and real("budget", budget) <= 0:
        raise InputError(f"budget is {budget!r}, but must be a number of seconds above 0")
    seed = whole("random_state", random_state, most=MOST_SEED)
    asked = (
        _contestants(algorithms),
        (float(holdout), None if folds is None else whole("folds", folds, least=2)),
        (whole("seeds", seeds, least=1, most=10_000), seed),
        None if folder is None else os.fspath(folder),
        budget,
        memory(),
        str(title),
    )
    given = {} if predictions is None else predictions
    if not isinstance(given, Mapping):
        raise InputError("predictions must say what each system is called: {'other': predictions}")
    if are_texts(X):
        tagger = TextTagger() if tagger is None else tagger
        if tagger._is_foreign():
            raise InputError("tagger must have a TextVectoriser and an estimator of labelwood")
        how, texts, tags, known = tagger._documents(X, y, vocabulary, language)
        others = [(str(name), _names(name, answers)) for name, answers in given.items()]
        tested = None
        if test is not None:
            tested = as_texts(test[0]), as_tags(test[1])
            refuse_other_numbers(*tested)
        found = _native.compare_texts(
            asked, tagger._vectoriser(), how, known, (texts, tags), tested, others, threads(n_jobs), progress
        )
    else:
        for name, value in [("tagger", tagger), ("vocabulary", vocabulary), ("language", language)]:
            if value is not None:
                raise InputError(f"{name} is for texts, but X has rows")
        labels = Labels(y, label_names)
        rows, names = (features(X), labels.arrays), labels.names
        held_out = None
        if test is not None:
            other = Labels(test[1], test[2] if len(test) > 2 else None)
            arrays, names = _as_labels_of(labels, other, label_names is not None)
            X_test = features(test[0])
            if X_test[3] != rows[0][3]:
                raise InputError(
                    f"test has rows of {X_test[3]} features, but X of {rows[0][3]}: read both with the same n_features"
                )
            held_out = X_test, arrays, None
        others = [(str(name), _answers(name, answers)) for name, answers in given.items()]
        found = _native.compare_rows(asked, (*rows, names), held_out, others, threads(n_jobs), progress)
    figures, table, markdown, latex, verdict, page = found
    return Compared(json.loads(figures), table, markdown, latex, verdict, page)


def _contestants(algorithms: Algorithms | None) -> list[tuple[str, tuple[str, str] | None]]:
    """What takes part: what it is called, and its algorithm with settings unless that tells."""
    if algorithms is None:
        return []
    if isinstance(algorithms, (str, Estimator)):
        raise InputError(f"algorithms is {algorithms!r}, but must be a list of them")
    if isinstance(algorithms, Mapping):
        found = [_contestant(name, one) for name, one in algorithms.items()]
    else:
        found = [_contestant(None, one) for one in algorithms]
    if not found:
        raise InputError("algorithms is empty, but must have one at least")
    return found


def _contestant(name, one) -> tuple[str, tuple[str, str] | None]:
    if isinstance(one, Estimator):
        if one.favour != "none":
            raise InputError(f"algorithms has {one!r}: leave favour out, figures tell of rare labels without it")
        return str(one.algorithm if name is None else name), (one.algorithm, one._settings())
    if not isinstance(one, str):
        raise InputError(f"algorithms has {one!r}, but must have names or labelwood's estimators")
    if name is None:
        return one, None
    algorithm, _, preset = one.partition(":")
    if algorithm not in _native.algorithms():
        raise InputError(f"{algorithm!r} is no algorithm: there are {', '.join(_native.algorithms())}")
    return str(name), (algorithm, _native.preset(algorithm, preset or "default"))


def _as_labels_of(labels: Labels, other: Labels, are_named: bool):
    """Labels to test with in the places of those that were learned, and the names of both."""
    if other.names is None and (labels.names is None or are_named):
        if labels.has_columns and other.has_columns and labels.count != other.count:
            raise InputError(f"test has {other.count} columns of labels, but y has {labels.count}")
        return other.arrays, labels.names
    if labels.names is None or other.names is None:
        raise InputError("the labels of one of y and test are names, those of the other numbers: give both names")
    codes = {line.partition("\t")[0]: at for at, line in enumerate(labels.names)}
    places = [codes.setdefault(line.partition("\t")[0], len(codes)) for line in other.names]
    placed = other.placed(places, len(codes))
    names = labels.names + [code for code, at in codes.items() if at >= len(labels.names)]
    return (placed.indptr, placed.indices, len(codes)), names


def _answers(name: str, answers):
    """Scores, or names of labels, as the native part takes them."""
    if hasattr(answers, "shape"):
        return _scores(answers)
    return _names(name, answers)


def _names(system: str, answers) -> list[list[str]]:
    """The names of labels of each row, best first; pairs have scores besides."""
    if hasattr(answers, "shape") or isinstance(answers, (str, bytes)) or not isinstance(answers, Iterable):
        raise InputError(f"predictions of {system} must have a list of names for each row")
    rows = []
    for at, row in enumerate(of_arrow(answers)):
        if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
            raise InputError(f"predictions of {system} have {row!r} in row {at}, but must have a list of names")
        row = [label[0] if isinstance(label, tuple) else label for label in row]
        for label in row:
            if not isinstance(label, str):
                raise InputError(f"predictions of {system} have {label!r} in row {at}, but names are strings")
        rows.append([storable(label) for label in row])
    return rows
