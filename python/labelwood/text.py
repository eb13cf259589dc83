"""Text in, tags out."""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._base import MOST, Estimator, Learner, asked, clusters, noting_order
from ._errors import InputError
from ._foreign import Chain
from ._inputs import (
    INDICATOR, Labels, LabelSets, as_json, bounds, flag, in_order, is_frame, of_arrow, refuse_halves, storable,
    threads, whole,
)
from ._measured import Measured
from ._mixins import WithNames, WithParts, all_or_nothing, extended, updated_into
from ._progress import Callback, following
from ._settings import TextTaggerSettings, TextVectoriserSettings
from .estimators import Grove, _with_parameters

if TYPE_CHECKING:
    from typing_extensions import Self


#: Why something cannot be done.
_FOREIGN = "the vectoriser or the estimator is not labelwood's"
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
class TextVectoriser(  # type: ignore[call-arg]
    TextVectoriserSettings, TransformerMixin, _Text, auto_wrap_output_keys=None
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


class TextTagger(TextTaggerSettings, WithNames, Measured, WithParts, _Text):
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
        pay. Its scores are probabilities, as are those of others with ``calibrate=True``. Its ``threshold``
        and ``min_labels`` decide what :meth:`predict_tags` gives, and its ``n_jobs`` and ``verbose`` hold
        where the tagger has none. It may also be any other of scikit-learn's kind that takes indicators,
        such as ``OneVsRestClassifier(LogisticRegression())``.
    vectoriser : vectoriser, optional
        What makes rows of texts instead of the settings here: a :class:`TextVectoriser`, or any other with
        ``fit_transform`` and ``transform``. With one that is not labelwood's, or such an estimator, a tagger
        is kept by pickle, and not by :meth:`save`.
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
        keep_rows: bool = False,
        budget: float | None = None,
        max_model: int | None = None,
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
        keep_rows, budget, max_model, folder, overwrite, progress : optional
            As in :meth:`CraftML.fit`.
        """
        if self._is_foreign():
            stated = (vocabulary, language, budget, max_model, folder, progress)
            if any(value is not None for value in stated) or keep_rows:
                raise InputError(f"{_FOREIGN}: only texts and tags are taken")
            return self._fit_chain(texts, tags)
        is_limited = budget is not None or max_model is not None
        learner = self._learner(keep_rows=flag("keep_rows", keep_rows), is_limited=is_limited)
        documents = self._documents(texts, tags, vocabulary, language)
        place = bounds(folder, overwrite, budget, max_model)
        with all_or_nothing(self), self._following(progress) as callback:
            model = _native.Model.train_text(
                learner, self._vectoriser(), *documents, place, self._threads(), callback
            )
            self._take(model)
        return self

    def _fit_chain(self, texts, tags) -> Self:
        texts, tags = _texts(texts), _tags(tags)
        _refuse_other_numbers(texts, tags)
        names = json.loads(_native.vectoriser_defaults())
        own = {name: getattr(self, name) for name in names}
        vectoriser = TextVectoriser(**own, n_jobs=self.n_jobs) if self.vectoriser is None else self.vectoriser
        with all_or_nothing(self):
            chain = Chain.fit(vectoriser, self._estimator, texts, tags)
            if hasattr(self, "model_"):
                del self.model_
            self.chain_, self.classes_ = chain, chain.classes
        return self

    def update(
        self,
        texts: Iterable[str],
        tags: Iterable[Iterable[str]],
        *,
        again: bool = False,
        folder: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        progress: Callback | None = None,
    ) -> Self:
        """Adds texts to what was learned, as :meth:`CraftML.update` adds rows; tags may be new.

        The terms that are known stay the same.
        """
        model, texts, tags = self._model(), _texts(texts), _tags(tags)
        _refuse_other_numbers(texts, tags)
        labels, lines = extended(
            Labels(tags), model.label_lines or [], len(self.classes_), model.find_labels
        )
        with self._following(progress) as callback:
            self._take(model.update_texts(
                texts, labels, lines or model.label_lines or [], updated_into(folder, overwrite),
                flag("again", again), self._threads(), callback,
            ))
        return self

    def partial_fit(self, texts: Iterable[str], tags: Iterable[Iterable[str]]) -> Self:
        """Learns from the first texts, with ``keep_rows``, and adds those of further calls."""
        if not hasattr(self, "model_"):
            return self.fit(texts, tags, keep_rows=True)
        return self.update(texts, tags, again=True)

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

    def _rows_of(self, texts: Iterable[str]) -> sparse.csr_array:
        """The rows of texts, as these settings make them."""
        texts = _texts(texts)
        vectoriser, arrays = _native.Vectoriser.fit(texts, self._vectoriser(), self._threads())
        return _rows(arrays, vectoriser.columns)

    def _defaults(self):
        return {"estimator": Grove()}

    @property
    def _estimator(self) -> Any:
        return Grove() if self.estimator is None else self.estimator

    def _is_foreign(self) -> bool:
        """Whether a part is not labelwood's."""
        is_ours = self.vectoriser is None or isinstance(self.vectoriser, TextVectoriser)
        return not (is_ours and isinstance(self._estimator, Estimator))

    def _vectoriser(self) -> str:
        return super()._vectoriser() if self.vectoriser is None else self.vectoriser._vectoriser()

    def _threads(self) -> int:
        """The tagger's number of threads, else that of its estimator."""
        own = self.n_jobs
        return threads(getattr(self._estimator, "n_jobs", None) if own is None else own)

    def _following(self, progress: Callback | None = None):
        verbose = self.verbose or getattr(self._estimator, "verbose", 0)
        return following(verbose, progress, type(self).__name__)

    @property
    def threshold(self) -> Any:
        """The threshold of the estimator."""
        return getattr(self._estimator, "threshold", "auto")

    def _model(self) -> _native.Model:
        """What was learned, if all parts are labelwood's."""
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            raise InputError(f"{_FOREIGN}: there is no model of labelwood's to ask or to save")
        return self.model_

    def _lines(self) -> list[str] | None:
        return self.model_.label_lines if hasattr(self, "model_") else self.classes_.tolist()

    def _known(
        self, Y: LabelSets, label_names: Iterable[str] | None = None
    ) -> sparse.csr_array:
        given: Any = Y
        return super()._known(
            given if hasattr(of_arrow(given), "shape") else _tags(given), label_names
        )

    def _find(self, names: list[str]) -> list[int | None]:
        own = hasattr(self, "model_")
        return self.model_.find_labels(names) if own else self.chain_.find(names)

    def _seen(self) -> tuple[int, list[int]] | None:
        return super()._seen() if hasattr(self, "model_") else (self.chain_.rows, self.chain_.counts)

    @property
    def threshold_(self) -> float:
        """The score from which a tag is predicted: as it was set, or as training learned it."""
        check_is_fitted(self)
        if hasattr(self, "model_"):
            return super().threshold_
        inner = self.chain_.estimator
        return inner.threshold_ if isinstance(inner, Estimator) else 0.5

    def _learner(self, *, keep_rows: bool = False, is_limited: bool = False) -> Learner:
        """What is learned."""
        if not isinstance(self._estimator, Estimator):
            raise InputError(f"estimator is {self.estimator!r}, but must be one of labelwood's")
        return self._estimator._learner(keep_rows=keep_rows, is_limited=is_limited)

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
        if hasattr(self, "chain_"):
            del self.chain_
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
        self,
        texts: Iterable[str],
        k: int = 5,
        *,
        beam: int | None = None,
        labels: Iterable[int] | Iterable[str] | None = None,
        progress: Callback | None = None,
    ) -> sparse.csr_array:
        """The same as a matrix with a column for each of ``classes_``, each row best first.

        ``labels`` are those that may be named, by name or number; all by default.
        """
        check_is_fitted(self)
        texts, allowed, (k, beam) = _texts(texts), self._allowed(labels), asked(k, beam)
        if not hasattr(self, "model_"):
            return self.chain_.top_k(texts, k, beam, allowed)
        with self._following(progress) as callback:
            indptr, indices, data = self.model_.predict_texts(
                texts, k, beam, allowed, self._threads(), callback
            )
        scores = sparse.csr_array((data, indices, indptr), (len(indptr) - 1, len(self.classes_)))
        return noting_order(scores, self._estimator.favour)

    def predict_scores(self, texts: Iterable[str]) -> sparse.csr_array:
        """The scores of the likely tags of each text, at most 100, as :meth:`CraftML.predict_scores`."""
        return self.predict_top_k(texts, MOST)

    def predict_batches(
        self,
        texts: Iterable[str],
        k: int = 5,
        *,
        rows: int = 10_000,
        beam: int | None = None,
        labels: Iterable[int] | Iterable[str] | None = None,
    ) -> Iterator[sparse.csr_array]:
        """:meth:`predict_top_k` of texts that come one by one, such as the lines of a file.

        Gives the answers for ``rows`` texts at a time; no more of them are in memory.
        """
        check_is_fitted(self)
        if isinstance(texts, (str, bytes)):
            raise InputError("texts is one string, but must be a list of them")
        allowed = None if labels is None else list(self._allowed(labels) or [])
        rows, coming = whole("rows", rows, least=1), iter(texts)
        while batch := list(itertools.islice(coming, rows)):
            yield self.predict_top_k(batch, k, beam=beam, labels=allowed)

    def predict_indicator(self, texts: Iterable[str]) -> sparse.csr_array:
        """The tags of each text whose score is at least ``threshold_``, as an indicator.

        With ``min_labels`` of the estimator, a text has so many at least.
        """
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            return self.chain_.indicator(_texts(texts))
        least = (self.threshold_, whole("min_labels", self._estimator.min_labels))
        with self._following() as callback:
            indptr, indices, _ = self.model_.predict_texts(
                _texts(texts), MOST, None, None, self._threads(), callback, least
            )
        shape = (len(indptr) - 1, len(self.classes_))
        return sparse.csr_array((np.ones(len(indices), INDICATOR), indices, indptr), shape)

    def predict_tags(self, texts: Iterable[str]) -> list[list[str]]:
        """The tags of each text whose score is at least ``threshold_``, best first."""
        found = self.predict_indicator(texts)
        names = self.classes_[found.indices].tolist()
        return [names[start:end] for start, end in zip(found.indptr, found.indptr[1:])]

    def transform(self, texts: Iterable[str]) -> Any:
        """The tf-idf rows of texts, as the model sees them."""
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            return self.chain_.vectoriser.transform(_texts(texts))
        arrays = self.model_.vectorise(_texts(texts), self._threads())
        return _rows(arrays, json.loads(self.model_.manifest)["features"])

    def typical_terms(self, tag: str) -> list[tuple[str, float]]:
        """The terms that the training texts with a tag have more than others, best first, with by how much.

        A term counts as far as it is rare. They follow from the texts alone, and are the same for all algorithms.
        """
        (label,) = self._model().find_labels([tag])
        if label is None:
            raise InputError(f"{tag!r} is no tag that training knew")
        return self._model().label_terms(label) or []

    def clusters(self, tree: int = 0) -> list[list[str]]:
        """The tags below each child of a label tree's root: those that it takes for alike."""
        return [self.classes_[labels].tolist() for labels in clusters(self._model(), tree)]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model into a folder, which the command opens, too."""
        self._model().save(os.fspath(path), bool(overwrite))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = True) -> Self:
        """:func:`labelwood.load` of a model of text; another is refused."""
        from .persistence import load_as

        return load_as(cls, path, mmap)


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
    texts = list(of_arrow(texts))
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{at}] is {text!r}, but must be a string")
        refuse_halves(f"texts[{at}]", text)
    return texts


def _tags(tags: Iterable[Iterable[str]]) -> list[list[str]]:
    tags = of_arrow(tags)
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
