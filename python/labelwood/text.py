"""Text in, tags out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._base import Estimator, WithNames, WithParts, all_or_nothing, asked, clusters, noting_order
from ._errors import InputError
from ._inputs import (
    as_json, in_order, into, is_frame, memory, refuse_halves, storable, threads, whole,
)
from ._progress import Callback, following
from ._settings import TextTaggerSettings, TextVectoriserSettings
from .estimators import Grove, _with_parameters

if TYPE_CHECKING:
    from typing_extensions import Self


#: The tags of a text with their scores, best first.
Best = list[tuple[str, float]]


class _Text(BaseEstimator):
    """The settings of text, and their way to the native part."""

    def _vectoriser(self) -> str:
        names = json.loads(_native.vectoriser_defaults())
        settings = {name: getattr(self, name) for name in names}
        settings["stop_words"] = _stop_words(self.stop_words)
        for name in ("word_ngrams", "char_ngrams"):
            _refuse_more_than_a_pair(name, settings[name])
        return as_json(settings)


@_with_parameters
class TextVectoriser(TextVectoriserSettings, TransformerMixin, _Text):
    """Texts as tf-idf rows, as scikit-learn's ``TfidfVectorizer`` makes them, on all cores.

    With ``tokens="word"`` the defaults are those of ``TfidfVectorizer(sublinear_tf=True, min_df=2)``.
    ``tokens="auto"`` gives other terms where a script has no spaces between words, letters have marks,
    or the language joins words. ``n_jobs`` is the number of threads; None and -1 stand for all.

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
            _texts(texts), self._vectoriser(), threads(self.n_jobs)
        )
        rows = _rows(arrays, vectoriser.columns)
        self.vectoriser_ = vectoriser
        return rows

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """The rows of new texts."""
        check_is_fitted(self)
        arrays = self.vectoriser_.transform(_texts(texts), threads(self.n_jobs))
        return _rows(arrays, self.vectoriser_.columns)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The terms in the order of the columns; with hashing, which has none, numbered columns."""
        check_is_fitted(self)
        if self.hashing is not None:
            name = type(self).__name__.lower()
            return np.array([f"{name}{at}" for at in range(self.vectoriser_.columns)], object)
        return np.array(self.vectoriser_.terms, object)


class TextTagger(TextTaggerSettings, WithNames, WithParts, _Text):
    """Learns from texts and their tags which tags fit a text.

    >>> from labelwood import CraftML, TextTagger, datasets
    >>> questions = datasets.load_questions()
    >>> tagger = TextTagger(CraftML(trees=10))
    >>> tagger = tagger.fit(questions.train_texts, questions.train_tags)
    >>> [(tag, score)] = tagger.predict("Which knitting pattern suits a beginner?", k=1)
    >>> 0 < score <= 1
    True

    How text is read is set as in :class:`TextVectoriser`.

    Parameters
    ----------
    estimator : estimator, optional
        The algorithm and its settings; ``Grove()``, as in the command, by default: all algorithms that
        pay. Its scores are probabilities, as are those of others with ``calibrate=True``.
    separator : str, optional
        What stands between two labels in files that the command reads with the saved model;
        ``"none"`` if a field is one label.
    n_jobs : int or None, default=None
        The number of threads; None and -1 stand for all.
    verbose : int, default=0
        Whether a bar shows the progress.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags

    def fit(
        self,
        texts: Iterable[str],
        tags: Iterable[Iterable[str]],
        *,
        vocabulary: str | os.PathLike[str] | Mapping[str, str | Iterable[str]] | None = None,
        language: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: Callback | None = None,
    ) -> Self:
        """Learns from texts and the tags of each.

        Parameters
        ----------
        texts : list of str
        tags : list of lists of str
            The tags of each text, which are not empty and have no TAB or line break.
        vocabulary : path or mapping, optional
            The names of the tags: a file as for the command's ``--vocabulary`` (lines, a table, or
            SKOS), or the names of each code. Then tags are codes or any of the names, and those that no
            text has can be predicted by name. Without it, tags are their own names.
        language : str, optional
            The language of the vocabulary's names, such as ``"en"``.
        folder, overwrite, progress : optional
            As in :meth:`CraftML.fit`.
        """
        learner, documents = self._learner(), self._documents(texts, tags, vocabulary, language)
        with (
            all_or_nothing(self),
            following(self.verbose, progress, type(self).__name__) as callback,
        ):
            model = _native.Model.train_text(
                learner, self._vectoriser(), *documents, into(folder, overwrite),
                threads(self.n_jobs), callback, memory(),
            )
            self._take(model)
        return self

    def choose_text(
        self,
        texts: Iterable[str],
        tags: Iterable[Iterable[str]],
        *,
        vocabulary: str | os.PathLike[str] | Mapping[str, str | Iterable[str]] | None = None,
        language: str | None = None,
        random_state: int = 42,
    ) -> Self:
        """Sets how text is read to the best of a few ways, as the command's ``--algorithm auto`` does.

        Stems, stop words, pairs of words and pieces of words are tried on at most 20,000 of the texts,
        where the parameters have their defaults. These stay unless another way is surely better.
        ``verbose`` says why.

        >>> from labelwood import TextTagger, datasets
        >>> questions = datasets.load_questions()
        >>> tagger = TextTagger().choose_text(questions.train_texts, questions.train_tags)
        >>> tagger.stem, tagger.stop_words
        ('english', 'english')
        """
        chosen, why = _native.choose_text(
            self._vectoriser(), *self._documents(texts, tags, vocabulary, language),
            whole("random_state", random_state), threads(self.n_jobs),
        )
        if self.verbose:
            print(f"{type(self).__name__}: {why}", file=sys.stderr)
        return self.set_params(**in_python(json.loads(chosen)))

    def _defaults(self):
        return {"estimator": Grove()}

    def _learner(self) -> tuple[str, str, bool, str]:
        """The algorithm, its settings, whether it is calibrated, and which labels it favours."""
        estimator = Grove() if self.estimator is None else self.estimator
        if not isinstance(estimator, Estimator):
            raise InputError(f"estimator is {estimator!r}, but must be one of labelwood's")
        return estimator._learner()

    def _documents(
        self, texts, tags, vocabulary, language
    ) -> tuple[str, list[str], list[list[str]], tuple[str | None, list[str], str | None]]:
        """How files of documents are read, the texts, their tags, and the names of these."""
        if self.separator == "":
            raise InputError("separator is empty, but must stand between two labels, or be None")
        texts, tags = _texts(texts), _tags(tags)
        _refuse_other_numbers(texts, tags)
        for tag in dict.fromkeys(tag for row in tags for tag in row):
            storable(tag, "the tag")
        known = _vocabulary(vocabulary, language)
        return as_json({"separator": self.separator}), texts, tags, known

    def _take(self, model: _native.Model) -> None:
        self.model_ = model
        self.classes_ = np.array(model.label_names, object)

    # A string is several strings to the type checker.
    @overload
    def predict(  # type: ignore[overload-overlap]
        self, texts: str, k: int = ..., *, beam: int | None = ...
    ) -> Best: ...

    @overload
    def predict(
        self, texts: Iterable[str], k: int = ..., *, beam: int | None = ...
    ) -> list[Best]: ...

    def predict(
        self, texts: str | Iterable[str], k: int = 5, *, beam: int | None = None
    ) -> Best | list[Best]:
        """The best ``k`` tags of each text as (tag, score) pairs, best first.

        One text gives one list, several texts a list of lists; that of a text in which no word is known is
        empty.
        """
        check_is_fitted(self)
        if isinstance(texts, str):
            return self.predict([texts], k, beam=beam)[0]
        scores = self.predict_top_k(texts, k, beam=beam)
        pairs = list(zip(self.classes_[scores.indices].tolist(), scores.data.tolist()))
        return [pairs[start:end] for start, end in zip(scores.indptr, scores.indptr[1:])]

    def predict_top_k(
        self, texts: Iterable[str], k: int = 5, *, beam: int | None = None
    ) -> sparse.csr_array:
        """The same as a matrix with a column for each of ``classes_``, each row best first."""
        check_is_fitted(self)
        indptr, indices, data = self.model_.predict_texts(
            _texts(texts), *asked(k, beam), threads(self.n_jobs)
        )
        scores = sparse.csr_array((data, indices, indptr), (len(indptr) - 1, len(self.classes_)))
        return noting_order(scores, "none" if self.estimator is None else self.estimator.favour)

    def transform(self, texts: Iterable[str]) -> sparse.csr_array:
        """The tf-idf rows of texts, as the model sees them."""
        return _rows(self._vectorise(texts), self._columns)

    def _vectorise(self, texts: Iterable[str]):
        check_is_fitted(self)
        return self.model_.vectorise(_texts(texts), threads(self.n_jobs))

    @property
    def _columns(self) -> int:
        return json.loads(self.model_.manifest)["features"]

    def score(self, texts: Iterable[str], tags: Iterable[Iterable[str]], k: int = 1) -> float:
        """Precision at ``k``: the share of the best ``k`` tags that are right."""
        texts, tags = _texts(texts), _tags(tags)
        _refuse_other_numbers(texts, tags)
        k = whole("k", k, least=1)
        found = self.predict_top_k(texts, k)
        predicted = np.split(found.indices, found.indptr[1:-1])
        right = [self.model_.find_labels(row) for row in tags]
        hits = sum(len(set(best) & set(row)) for best, row in zip(predicted, right))
        return hits / (k * len(texts)) if texts else 0.0

    def informative_terms(self, tag: str) -> list[tuple[str, float]]:
        """The terms that tell most about a tag, with their weights, best first."""
        check_is_fitted(self)
        (label,) = self.model_.find_labels([tag])
        if label is None:
            raise InputError(f"{tag!r} is no tag that training knew")
        return self.model_.label_terms(label) or []

    def clusters(self, tree: int = 0) -> list[list[str]]:
        """The tags below each child of a label tree's root: those that it takes for alike."""
        check_is_fitted(self)
        return [self.classes_[labels].tolist() for labels in clusters(self.model_, tree)]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model into a folder, which the command opens, too."""
        check_is_fitted(self)
        self.model_.save(os.fspath(path), overwrite)


def _rows(arrays, columns: int) -> sparse.csr_array:
    indptr, indices, data = arrays
    return sparse.csr_array((data, indices, indptr), (len(indptr) - 1, columns))


def _texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, (str, bytes)):
        raise InputError("texts is one string, but must be a list of them")
    if is_frame(texts) or isinstance(texts, Mapping):
        raise InputError(
            f"texts is a {type(texts).__name__}, but must be a list of strings: hand over one column, "
            'such as table["title"]'
        )
    if not isinstance(texts, Iterable):
        raise InputError(f"texts is {texts!r}, but must be a list of strings")
    texts = list(texts)
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{at}] is {text!r}, but must be a string")
        refuse_halves(f"texts[{at}]", text)
    return texts


def _tags(tags: Iterable[Iterable[str]]) -> list[list[str]]:
    is_wrong = isinstance(tags, (str, bytes, Mapping)) or is_frame(tags)
    if is_wrong or not isinstance(tags, Iterable):
        raise InputError(
            f"tags is a {type(tags).__name__}, but must have a list of tags for each text"
        )
    return [_tags_of(row, at) for at, row in enumerate(tags)]


def _tags_of(row, at: int) -> list[str]:
    if isinstance(row, (str, bytes)) or not hasattr(row, "__iter__"):
        raise InputError(f"tags[{at}] is {row!r}, but must be a list of tags")
    row = in_order(row)
    for tag in row:
        if not isinstance(tag, str):
            raise InputError(f"tags[{at}] has {tag!r}, but tags are strings")
    return row


def _refuse_other_numbers(texts: list[str], tags: list[list[str]]) -> None:
    if len(texts) != len(tags):
        raise InputError(f"{len(texts)} texts, but the tags of {len(tags)}: give each text its tags")


def _refuse_more_than_a_pair(name: str, lengths) -> None:
    """The native part, which names all else, cannot tell how many there were."""
    if isinstance(lengths, (tuple, list, np.ndarray)) and len(lengths) > 2:
        raise InputError(f"{name} is {list(lengths)}, but must be two whole numbers")


def _vocabulary(vocabulary, language) -> tuple[str | None, list[str], str | None]:
    """As the native part takes it: a file, or lines of codes and names, and a language."""
    if language is not None and (vocabulary is None or isinstance(vocabulary, Mapping)):
        raise InputError("language is for the file of a vocabulary: give that, too, or leave it out")
    if not isinstance(vocabulary, Mapping):
        return None if vocabulary is None else os.fspath(vocabulary), [], language
    lines = []
    for code, names in vocabulary.items():
        cells = [code, *([names] if isinstance(names, str) else names)]
        for cell in cells:
            if not isinstance(cell, str):
                raise InputError(f"vocabulary has {cell!r}, but codes and names are strings")
            storable(cell, "of the vocabulary,")
        lines.append("\t".join(cells))
    return None, lines, language


def in_python(settings: dict) -> dict:
    """The settings of text as the parameters have them."""
    words = settings["stop_words"]
    settings["stop_words"] = words["words"] if isinstance(words, dict) else words
    if words == "none":
        settings["stop_words"] = None
    for name in ("word_ngrams", "char_ngrams"):
        settings[name] = settings[name] and tuple(settings[name])
    return settings


def _stop_words(words):
    """As the native part takes them."""
    if words is None:
        return "none"
    if isinstance(words, str):
        return words
    if isinstance(words, Iterable) and not isinstance(words, bytes):
        words = list(words)
        if all(isinstance(word, str) for word in words):
            return {"words": words}
    raise InputError(f"stop_words is {words!r}, but must be a language, auto, a list of words or None")
