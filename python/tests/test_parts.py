"""A tagger of other parts than labelwood's own."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from labelwood import InputError, LabelTree, OneVsRest, TextTagger, TextVectoriser, datasets, metrics

QUESTIONS = datasets.load_questions()
TRAIN, TEST = QUESTIONS.train_texts, QUESTIONS.test_texts


@pytest.mark.parametrize(
    "parts",
    [
        (OneVsRest(), TfidfVectorizer(sublinear_tf=True)),
        (LabelTree(trees=1), HashingVectorizer(n_features=4096)),
        (OneVsRestClassifier(LogisticRegression(C=30)), None),
        (OneVsRestClassifier(LinearSVC()), TextVectoriser(stem="english")),
        (KNeighborsClassifier(3), CountVectorizer()),
    ],
    ids=lambda parts: f"{type(parts[0]).__name__}-{type(parts[1]).__name__}",
)
def test_any_vectoriser_and_any_estimator_make_a_tagger(parts):
    estimator, vectoriser = parts
    tagger = TextTagger(estimator, vectoriser=vectoriser).fit(TRAIN, QUESTIONS.train_tags)
    assert not hasattr(estimator, "classes_"), "what was handed over stays as it was"
    figures = tagger.evaluate(TEST, QUESTIONS.test_tags)
    assert 0.1 < figures["p@1"] == tagger.score(TEST, QUESTIONS.test_tags)
    assert {"psp@5", "micro_f1"} <= figures.keys()
    best = tagger.predict(TEST, k=2)
    assert all(row == sorted(row, key=lambda pair: -pair[1]) for row in best)
    assert len(tagger.predict_tags(TEST)) == len(TEST)
    assert tagger.predict_indicator(TEST).shape == (len(TEST), len(tagger.classes_))
    assert set(tagger.predict_top_k(TEST, labels=["preserving food"]).indices) <= {
        tagger.classes_.tolist().index("preserving food")
    }
    again = pickle.loads(pickle.dumps(tagger))
    assert again.predict(TEST) == tagger.predict(TEST)
    again.fit(TRAIN, QUESTIONS.train_tags)
    for what in (lambda: tagger.save("x"), lambda: tagger.typical_terms("preserving food"),
                 lambda: tagger.update(TEST, QUESTIONS.test_tags), tagger.clusters):
        with pytest.raises(InputError, match="the vectoriser or the estimator is not labelwood's"):
            what()
    with pytest.raises(InputError, match="only texts and tags are taken"):
        tagger.fit(TRAIN, QUESTIONS.train_tags, vocabulary={"a": "b"})


def test_the_vectoriser_of_labelwood_is_the_settings_of_the_tagger():
    own = TextTagger(OneVsRest(), stem="english", min_df=3).fit(TRAIN, QUESTIONS.train_tags)
    handed = TextTagger(OneVsRest(), vectoriser=TextVectoriser(stem="english", min_df=3))
    assert handed.fit(TRAIN, QUESTIONS.train_tags).model_.files() == own.model_.files()
    search = GridSearchCV(handed, {"vectoriser__min_df": [1, 2]}, cv=2, scoring=metrics.scorer("ndcg@3"))
    assert search.fit(TRAIN, QUESTIONS.train_tags).best_params_["vectoriser__min_df"] in (1, 2)


def test_a_tagger_may_change_its_parts():
    tagger = TextTagger(OneVsRest(), vectoriser=CountVectorizer()).fit(TRAIN, QUESTIONS.train_tags)
    tagger.set_params(vectoriser=None).fit(TRAIN, QUESTIONS.train_tags)
    assert tagger.typical_terms("preserving food")
    tagger.set_params(vectoriser=CountVectorizer()).fit(TRAIN, QUESTIONS.train_tags)
    assert not hasattr(tagger, "model_")


def test_what_is_no_part_is_refused():
    for parts, message in [
        ({"estimator": 3}, "3 has no fit, so that it is no part of a tagger"),
        ({"vectoriser": "tfidf"}, "'tfidf' has no fit_transform"),
        ({"estimator": OneVsRest(threshold=2), "vectoriser": CountVectorizer()}, "threshold is 2"),
    ]:
        with pytest.raises(InputError, match=message):
            TextTagger(**parts).fit(TRAIN, QUESTIONS.train_tags)


def test_the_estimators_threads_and_bar_hold_where_the_tagger_has_none(capfd):
    quiet = TextTagger(LabelTree(trees=1, verbose=1, n_jobs=1)).fit(TRAIN, QUESTIONS.train_tags)
    assert "TextTagger" in capfd.readouterr().err
    assert quiet._threads() == 1
    assert clone(quiet).set_params(n_jobs=2)._threads() == 2


def test_the_likely_tags_have_scores():
    tagger = TextTagger(LabelTree(trees=1)).fit(TRAIN, QUESTIONS.train_tags)
    scores = tagger.predict_scores(TEST)
    assert scores.shape == (len(TEST), len(tagger.classes_))
    assert (np.diff(scores.indptr) <= 100).all() and scores.dtype == np.float32


def test_texts_are_tagged_as_they_come():
    tagger = TextTagger(LabelTree(trees=1)).fit(TRAIN, QUESTIONS.train_tags)
    taken = []

    def coming():
        for at, text in enumerate(TEST * 3):
            taken.append(at)
            yield text

    answers = tagger.predict_batches(coming(), k=3, rows=10)
    first = next(answers)
    assert first.shape[0] == 10 and len(taken) == 10, "no more are read than are answered"
    rest = [first, *answers]
    whole = tagger.predict_top_k(TEST * 3, k=3)
    assert np.array_equal(np.concatenate([batch.indices for batch in rest]), whole.indices)
    assert np.array_equal(np.concatenate([batch.data for batch in rest]), whole.data)
    with pytest.raises(InputError, match="texts is one string"):
        next(tagger.predict_batches("a text"))
