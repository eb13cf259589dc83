"""Texts as rows of features."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._documents import as_stop_words, as_texts, refuse_more_than_a_pair, rows_of
from ._inputs import as_json, threads
from ._settings import TextVectoriserSettings
from .estimators import _with_parameters

if TYPE_CHECKING:
    from typing_extensions import Self


class OfText(BaseEstimator):
    """The settings of text, and their way to the native part."""

    def _vectoriser(self) -> str:
        names = json.loads(_native.vectoriser_defaults())
        settings = {name: getattr(self, name) for name in names}
        settings["stop_words"] = as_stop_words(self.stop_words)
        for name in ("word_ngrams", "char_ngrams"):
            refuse_more_than_a_pair(name, settings[name])
        return as_json(settings)


@_with_parameters
class TextVectoriser(  # type: ignore[call-arg]
    TextVectoriserSettings, TransformerMixin, OfText, auto_wrap_output_keys=None
):
    """Texts as tf-idf rows, as scikit-learn's ``TfidfVectorizer`` makes them, on all cores.

    With ``tokens="word"`` the defaults are those of ``TfidfVectorizer(sublinear_tf=True, min_df=2)``.
    ``tokens="auto"`` gives other terms where a script has no spaces between words, letters have marks,
    or the language joins words. ``n_jobs`` is the number of threads; None and -1 stand for all. Rows
    stay sparse, whatever ``set_config(transform_output=...)`` says.

    >>> from labelwood import TextVectoriser
    >>> vectoriser = TextVectoriser()
    >>> vectoriser.fit_transform(["Birds of the sea", "The sea", "Birds"]).shape
    (3, 3)
    >>> vectoriser.get_feature_names_out()
    array(['birds', 'sea', 'the'], dtype=object)
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, texts: Iterable[str], y: object = None) -> Self:
        """Learns the terms and their weights."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: object = None) -> sparse.csr_array:
        """Learns the terms and their weights; gives the rows of the texts."""
        vectoriser, arrays = _native.Vectoriser.fit(
            as_texts(texts), self._vectoriser(), threads(self.n_jobs)
        )
        rows = rows_of(arrays, vectoriser.columns)
        self.vectoriser_ = vectoriser
        return rows

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """The rows of new texts."""
        check_is_fitted(self)
        arrays = self.vectoriser_.transform(as_texts(texts), threads(self.n_jobs))
        return rows_of(arrays, self.vectoriser_.columns)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The terms in the order of the columns; with hashing, which has none, numbered columns."""
        check_is_fitted(self)
        if self.hashing is not None:
            name = type(self).__name__.lower()
            return np.array([f"{name}{at}" for at in range(self.vectoriser_.columns)], object)
        return np.array(self.vectoriser_.terms, object)
