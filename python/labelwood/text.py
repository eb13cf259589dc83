"""Text in, tags out: the tagger. Its rows of text are made in ``_vectoriser``, its inputs checked in ``_documents``."""

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
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._base import MOST, Estimator, Learner, asked, noting_order
from ._documents import as_tags, as_texts, as_vocabulary, in_python, refuse_other_numbers, rows_of
from ._errors import InputError
from ._foreign import Chain
from ._inputs import (
    INDICATOR, Labels, LabelSets, as_json, bounds, flag, of_arrow, refuse_others, storable, threads, whole,
)
from ._measured import Measured
from ._mixins import WithNames, WithParts, all_or_nothing, clusters, extended, updated_into
from ._progress import Callback, following
from ._settings import TextTaggerSettings
from ._vectoriser import OfText, TextVectoriser
from .estimators import Grove

if TYPE_CHECKING:
    from typing_extensions import Self


#: Why something cannot be done.
_FOREIGN = "the vectoriser or the estimator is not labelwood's"
#: The tags of a text with their scores, best first.
Best = list[tuple[str, float]]


class TextTagger(TextTaggerSettings, WithNames, Measured, WithParts, OfText):
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
        **others: Any,
    ) -> Self:
        """Learns from texts and the tags of each. There is no ``sample_weight``, as in :meth:`CraftML.fit`.

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
        refuse_others("fit", others)
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
        texts, tags = as_texts(texts), as_tags(tags)
        refuse_other_numbers(texts, tags)
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
        model, texts, tags = self._model(), as_texts(texts), as_tags(tags)
        refuse_other_numbers(texts, tags)
        labels, lines = extended(
            Labels(tags), model.label_lines or [], len(self.classes_), model.find_labels
        )
        with self._following(progress) as callback:
            self._take(model.update_texts(
                texts, labels, lines or model.label_lines or [], updated_into(folder, overwrite),
                flag("again", again), self._threads(), callback,
            ))
        return self

    def partial_fit(
        self, texts: Iterable[str], tags: Iterable[Iterable[str]], **others: Any
    ) -> Self:
        """Learns from the first texts, with ``keep_rows``, and adds those of further calls."""
        refuse_others("partial_fit", others)
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
        texts = as_texts(texts)
        vectoriser, arrays = _native.Vectoriser.fit(texts, self._vectoriser(), self._threads())
        return rows_of(arrays, vectoriser.columns)

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
            given if hasattr(of_arrow(given), "shape") else as_tags(given), label_names
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
        texts, tags = as_texts(texts), as_tags(tags)
        refuse_other_numbers(texts, tags)
        for tag in dict.fromkeys(tag for row in tags for tag in row):
            storable(tag, "the tag")
        known = as_vocabulary(vocabulary, language)
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
        texts, allowed, (k, beam) = as_texts(texts), self._allowed(labels), asked(k, beam)
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
            return self.chain_.indicator(as_texts(texts))
        predicted = self._reaching(texts, MOST, whole("min_labels", self._estimator.min_labels))
        predicted.data = np.ones(predicted.nnz, INDICATOR)
        return predicted

    def _reaching(self, texts: Iterable[str], k: int, min_labels: int) -> sparse.csr_array:
        """The tags that reach the threshold, and so many at least, with their scores, best first.

        ``k`` tags are asked for at first, and more where these all reach it.
        """
        with self._following() as callback:
            indptr, indices, data = self.model_.predict_texts(
                as_texts(texts), k, None, None, self._threads(), callback, (self.threshold_, min_labels)
            )
        return sparse.csr_array((data, indices, indptr), (len(indptr) - 1, len(self.classes_)))

    def _looked_at(self, texts: Iterable[str], k: int) -> sparse.csr_array:
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            return self.predict_top_k(texts, k)
        return noting_order(self._reaching(texts, k, k), self._estimator.favour)

    def predict_tags(self, texts: Iterable[str]) -> list[list[str]]:
        """The tags of each text whose score is at least ``threshold_``, best first."""
        found = self.predict_indicator(texts)
        names = self.classes_[found.indices].tolist()
        return [names[start:end] for start, end in zip(found.indptr, found.indptr[1:])]

    def transform(self, texts: Iterable[str]) -> Any:
        """The tf-idf rows of texts, as the model sees them."""
        check_is_fitted(self)
        if not hasattr(self, "model_"):
            return self.chain_.vectoriser.transform(as_texts(texts))
        arrays = self.model_.vectorise(as_texts(texts), self._threads())
        return rows_of(arrays, json.loads(self.model_.manifest)["features"])

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
        """Writes the model into a folder, or one file if ``path`` ends in ``.labelwood``; the command opens both."""
        self._model().save(os.fspath(path), bool(overwrite))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = True) -> Self:
        """:func:`labelwood.load` of a model of text; another is refused."""
        from .persistence import load_as

        return load_as(cls, path, mmap)
