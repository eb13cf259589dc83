"""What some estimators have in common: parts, names of labels, more labels than before."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._errors import InputError
from ._explain import Explanation, explained
from ._inputs import Labels, whole


class WithParts:
    """Of an estimator that has others among its parameters, which may be left open."""

    model_: _native.Model

    def _defaults(self) -> dict[str, BaseEstimator]:
        """What stands for parts that are left open."""
        raise NotImplementedError

    @property
    def chosen_(self) -> str | None:
        """Which algorithms of a grove held-out rows kept, and why, in words."""
        check_is_fitted(self)
        return json.loads(self.model_.manifest)["settings"].get("chosen")

    def set_params(self, **params):
        """Sets parameters; ``part__parameter`` sets one of a part, left open or not."""
        for name, part in self._defaults().items():
            is_meant = any(key.startswith(f"{name}__") for key in params)
            if is_meant and params.get(name, getattr(self, name)) is None:
                params[name] = part
        return super().set_params(**params)


class WithNames:
    """Of an estimator whose labels may have names, further ones and ones in other languages.

    A vocabulary brings them along: train with the command and its ``--vocabulary``.
    """

    model_: _native.Model

    def languages(self) -> list[str]:
        """The tags of the languages in which labels have names, the model's own first."""
        check_is_fitted(self)
        return self.model_.languages

    def label_names(self, language: str | None = None) -> list[str] | None:
        """What each label is called, in a language if it has a name there; ``None`` without names."""
        check_is_fitted(self)
        return self.model_.label_names if language is None else self.model_.names_in(language)

    def all_names(self, label: int) -> list[str]:
        """All names of the label with this number, the preferred one first."""
        check_is_fitted(self)
        return self.model_.all_names(whole("label", label))

    def broader(self, label: int) -> list[int]:
        """The numbers of the labels that a vocabulary calls broader than the one with this number."""
        check_is_fitted(self)
        return self.model_.broader(whole("label", label))

    def explain(
        self, row: Any, label: int | str | None = None, *, k: int = 5, most: int = 10
    ) -> Explanation:
        """What speaks for a label of a text or a row, and what against it.

        Parameters
        ----------
        row : str, or a row of features (sparse or dense)
            A text for those that learned from texts.
        label : int or str, optional
            The label, predicted or not, by its number or name; the best ``k`` by default.
        k : int
            How many of the best labels are explained.
        most : int
            How many entries a list has at most.
        """
        check_is_fitted(self)
        labels = [] if label is None else [label]
        return explained(self.model_, row, labels, whole("k", k, least=1), whole("most", most, least=1))


def clusters(model: _native.Model, tree: int) -> list[list[int]]:
    """The labels below each child of a label tree's root."""
    found = model.clusters(whole("tree", tree))
    if found is None:
        raise InputError(f"the model has no label tree {tree}: only label trees cluster labels")
    return found


@contextmanager
def all_or_nothing(estimator: BaseEstimator):
    """Leaves an estimator as it was if it cannot be fitted, whatever stops that."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def extended(
    labels: Labels,
    lines: list[str] | None,
    count: int,
    find: Callable[[list[str]], list[int | None]],
) -> tuple[Any, list[str] | None]:
    """Labels in the columns of a model that has so many, new ones after them, with the names of all."""
    if lines is None or labels.names is None:
        if labels.names is not None and not labels.has_columns:
            raise InputError("Y has names of labels, but training knew only numbers: give numbers")
        if labels.has_columns and labels.count < count:
            raise InputError(
                f"Y has {labels.count} columns, but training knew {count} labels: give a column for "
                "each of them, or lists of labels"
            )
        if lines is not None and labels.count > count:
            raise InputError("Y has labels that training did not know: say with label_names what they are called")
        return labels.arrays, None
    places = find([line.partition("\t")[0] for line in labels.names])
    new = [line for line, place in zip(labels.names, places) if place is None]
    unknown = iter(range(count, count + len(new)))
    moved = labels.placed(
        [next(unknown) if place is None else place for place in places], count + len(new)
    )
    return (moved.indptr, moved.indices, count + len(new)), [*lines, *new]


def updated_into(folder, overwrite: bool) -> tuple[str, bool] | None:
    """The folder that an updated model is written to, if any."""
    return None if folder is None else (os.fspath(folder), bool(overwrite))
