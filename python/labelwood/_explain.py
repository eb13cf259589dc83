"""Why a text or a row has its labels."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from scipy import sparse

from . import _native
from ._errors import InputError
from ._inputs import refuse_halves


class Explanation:
    """Why a text or a row has its labels; in a notebook, the text with its words marked.

    >>> from labelwood import LabelTree, TextTagger
    >>> texts = ["old owls", "grey owls", "old atlas", "new atlas"]
    >>> tagger = TextTagger(LabelTree()).fit(texts, [["birds"], ["birds"], ["maps"], ["maps"]])
    >>> why = tagger.explain("an old atlas", "maps")
    >>> why.words("maps")[0][0]
    'atlas'
    """

    def __init__(self, content: str, html: str):
        self._content: dict[str, Any] = json.loads(content)
        self._html = html

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``labelwood explain --to json`` writes it."""
        return self._content

    @property
    def text(self) -> str | None:
        """The text; None for a row of features."""
        return self._content["text"]

    @property
    def labels(self) -> list[dict[str, Any]]:
        """For each label its score, the marks of words, what each part says, and how the score comes about."""
        return self._content["labels"]

    @property
    def note(self) -> str | None:
        """What there is to say if there are no labels."""
        return self._content.get("note")

    def words(self, label: int | str | None = None) -> list[tuple[str, float]]:
        """The words that mean most to a label, or to the first, strongest first: each with what the
        parts of the model make of it. Of rows without text, the numbers of features."""
        if label is None and not self.labels:
            return []
        found = self.labels[0] if label is None else self._find(label)
        words = {mark["term"]: mark["weight"] for mark in found["marks"]}
        for feature in found.get("features", []):
            words[feature["term"] or str(feature["feature"])] = feature["contribution"]
        return sorted(words.items(), key=lambda word: -abs(word[1]))

    def _find(self, label: int | str) -> dict[str, Any]:
        for found in self.labels:
            if label in found["label"].values():
                return found
        raise InputError(f"{label!r} is not among the labels that are explained: ask for it in explain")

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        lines = [] if self.note is None else [self.note]
        for found in self.labels:
            name = found["label"]["name"]
            words = ", ".join(f"{word} {weight:+.2f}" for word, weight in self.words(name)[:5])
            lines.append(f"{name} {found['score']:.2f}: {words or found.get('note', 'no word counts')}")
        return "\n".join(lines)


def explained(
    model: _native.Model, row: Any, labels: list[int | str], k: int, most: int
) -> Explanation:
    """Why a text or a row has these labels, or the best ``k``."""
    known = len(model.label_counts)
    for label in labels:
        is_number = isinstance(label, (int, np.integer)) and not isinstance(label, bool)
        if not is_number and not isinstance(label, str):
            raise InputError(f"label is {label!r}, but must be a number or a name")
        if not isinstance(label, str) and not 0 <= label < known:
            raise InputError(f"label is {label}, but training knew {known} labels, counted from 0")
    numbers = [label if isinstance(label, str) else int(label) for label in labels]
    return Explanation(*_native.explain(model, _source(model, row), numbers, k, most))


def _source(model: _native.Model, row: Any) -> str | list[tuple[int, float]]:
    if isinstance(row, str):
        refuse_halves("row", row)
        return row
    if model.reads_text:
        raise InputError(f"row is a {type(row).__name__}, but must be one text: the model learned from texts")
    try:
        one = sparse.csr_array(row if sparse.issparse(row) else np.atleast_2d(row), copy=True)
    except (TypeError, ValueError) as error:
        raise InputError(f"row is a {type(row).__name__}, but must be one row of numbers") from error
    if one.ndim == 1:
        one = sparse.csr_array(one.reshape((1, -1)))
    if one.shape[0] != 1:
        raise InputError(f"row has {one.shape[0]} rows, but one is explained at a time: give X[0] or X[[0]]")
    one.sum_duplicates()
    if not np.isfinite(one.data).all():
        raise InputError("row has a value that is not finite")
    return list(zip(one.indices.tolist(), one.data.tolist()))
