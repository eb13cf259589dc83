"""What scikit-learn's users expect, and what comes instead where it cannot be."""

import weakref

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.metrics import f1_score, label_ranking_average_precision_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import has_fit_parameter

from labelwood import (
    Grove, InputError, LabelTree, MachineError, OneVsRest, TextTagger, TextVectoriser, datasets, metrics,
)

QUESTIONS = datasets.load_questions()


def test_probabilities_are_there_where_scores_are_some(rows):
    X, Y, _ = rows
    for model in (LabelTree(trees=1, calibrate=True), Grove(label_tree=LabelTree(trees=1))):
        assert hasattr(model, "predict_proba")
        model.fit(X, Y)
        found = model.predict_proba(X)
        assert sparse.issparse(found) and (found != model.predict_scores(X)).nnz == 0
        dense = model.predict_proba(X[:20], dense=True)
        assert isinstance(dense, np.ndarray) and dense.shape == (20, Y.shape[1])
        assert (dense >= found[:20].toarray()).all()
    plain = LabelTree(trees=1)
    for model in (plain, plain.fit(X, Y)):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError) as refused:
            model.predict_proba
        assert "take LabelTree(calibrate=True), or a Grove" in str(refused.value.__cause__)


def test_what_would_fill_memory_is_refused():
    model = OneVsRest(calibrate=True).fit(np.eye(3), np.eye(3))
    wide = sparse.csr_array((90_000_000, 3))
    with pytest.raises(InputError, match="90000000 rows of 3 labels are more than a gigabyte"):
        model.predict_proba(wide, dense=True)
    with pytest.raises(InputError, match="more than a gigabyte"):
        model.decision_function(wide)


def test_a_decision_is_above_zero_where_a_label_is_predicted(rows):
    X, Y, _ = rows
    model = OneVsRest().fit(X, Y)
    decided = model.decision_function(X)
    assert ((decided >= 0) == model.predict(X).toarray()).all()
    assert label_ranking_average_precision_score(Y.toarray(), decided) > 0.9
    assert not hasattr(LabelTree(), "decision_function"), "some labels have no score"


def test_weights_of_rows_are_refused_with_what_to_do_instead():
    tags = [["a"], ["b"], ["c"]]
    for model, given in [
        (OneVsRest(), (np.eye(3), np.eye(3))),
        (TextTagger(OneVsRest(), min_df=1), (["one word", "two words", "more"], tags)),
    ]:
        # `partial_fit` first: it keeps the rows for more.
        for method in (model.partial_fit, model.fit):
            with pytest.raises(InputError, match="sample_weight is not taken.*numpy.repeat"):
                method(*given, sample_weight=[1, 2, 3])
            method(*given, sample_weight=None)
            with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
                method(*given, weights=[1, 2, 3])
    again = np.repeat(np.arange(3), [1, 2, 1])
    assert OneVsRest().fit(np.eye(3)[again], np.eye(3)[again]).model_.label_counts.tolist() == [1, 2, 1]


def test_scikit_learn_sees_that_fit_takes_no_weights():
    for cls in (OneVsRest, LabelTree, Grove, TextTagger):
        assert not has_fit_parameter(cls(), "sample_weight")
        assert "sample_weight" not in cls().get_metadata_routing().fit.requests
    with pytest.raises(ValueError, match="does not support sample weights"):
        MultiOutputClassifier(OneVsRest()).fit(np.eye(3), np.eye(3, dtype=int), sample_weight=[1, 2, 3])


def test_a_score_weighs_rows(rows):
    X, Y, _ = rows
    model = LabelTree(trees=1).fit(X[:200], Y[:200])
    for k in (1, 3):
        plain = model.score(X, Y, k)
        assert model.score(X, Y, k, sample_weight=np.ones(300)) == pytest.approx(plain)
        assert model.score(X, Y, k, sample_weight=[1] * 200 + [0] * 100) == pytest.approx(
            model.score(X[:200], Y[:200], k)
        )
        weights = np.repeat([1, 3], [200, 100])
        again = np.repeat(np.arange(300), weights)
        assert model.score(X, Y, k, sample_weight=weights) == pytest.approx(
            model.score(X[again], Y[again], k)
        )
    for wrong, told in [
        ([1, 2], "a number for each of 300 rows"), (np.zeros(300), "not all of them 0"),
        (-np.ones(300), "at least 0"), ("heavy", "a number for each row"),
    ]:
        with pytest.raises(InputError, match=told):
            model.score(X, Y, sample_weight=wrong)
    tagger = TextTagger(OneVsRest()).fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    found = [tagger.score([text], [tags]) for text, tags in zip(QUESTIONS.test_texts[:8], QUESTIONS.test_tags)]
    weights = np.arange(8)
    assert tagger.score(
        QUESTIONS.test_texts[:8], QUESTIONS.test_tags[:8], sample_weight=weights
    ) == pytest.approx(np.average(found, weights=weights))


def test_output_as_tables_leaves_sparse_rows_alone():
    texts = QUESTIONS.train_texts
    for container in ("pandas", "polars"):
        with config_context(transform_output=container):
            assert sparse.issparse(TextVectoriser().fit_transform(texts))
            assert sparse.issparse(TextVectoriser().fit(texts).transform(texts))
            pipeline = make_pipeline(TextVectoriser(), OneVsRest())
            assert pipeline.fit(texts, QUESTIONS.train_tags).predict(texts[:2]).shape[0] == 2


def test_scikit_learns_validation_takes_lists_and_dense_indicators(rows):
    X, Y, _ = rows
    model = LabelTree(trees=1)
    with pytest.raises(ValueError, match="'y' parameter of cross_val_score must be an array-like"):
        cross_val_score(model, X, Y, cv=2)
    lists = [Y.indices[start:end].tolist() for start, end in zip(Y.indptr, Y.indptr[1:])]
    dense = cross_val_score(model, X, Y.toarray(), cv=2)
    assert dense == pytest.approx(cross_val_score(model, X, lists, cv=2))
    found = cross_val_predict(model, X, Y.toarray(), cv=2)
    assert f1_score(Y.toarray(), found.toarray(), average="micro", zero_division=0) > 0.05


def test_arrays_and_tables_of_pyarrow_are_taken():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    texts = pa.chunked_array([QUESTIONS.train_texts[:200], QUESTIONS.train_texts[200:]])
    tags = pa.array(QUESTIONS.train_tags)
    plain = TextTagger(OneVsRest()).fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    tagger = TextTagger(OneVsRest()).fit(texts, tags)
    assert tagger.model_.files() == plain.model_.files()
    asked = pa.array(QUESTIONS.test_texts)
    assert tagger.predict(asked) == plain.predict(QUESTIONS.test_texts)
    assert tagger.score(asked, pa.array(QUESTIONS.test_tags)) == plain.score(
        QUESTIONS.test_texts, QUESTIONS.test_tags
    )
    X, Y = np.eye(3), np.array([[1, 0], [0, 1], [1, 1]])
    features = pa.table({f"f{at}": X[:, at] for at in range(3)})
    labels = pa.table({"birds": Y[:, 0], "maps": Y[:, 1]})
    expected = OneVsRest().fit(X, pd.DataFrame(Y, columns=["birds", "maps"]))
    assert OneVsRest().fit(features, labels).model_.files() == expected.model_.files()
    assert OneVsRest().fit(X, pa.array([["birds"], ["maps"], ["birds", "maps"]])).classes_.tolist() == [
        "birds", "maps",
    ]
    with pytest.raises(InputError, match="texts is a Table, but must be a list of strings"):
        plain.predict(labels)


def test_messages_are_in_pythons_words(rows, tmp_path):
    X, Y, _ = rows
    model = LabelTree(trees=1).fit(X, Y)
    model.save(tmp_path / "model")
    for use in (
        lambda: model.save(tmp_path / "model"),
        lambda: LabelTree(trees=2).fit(X, Y, folder=tmp_path / "model"),
        lambda: model.update(X, Y),
        lambda: datasets.write(tmp_path / "model" / "manifest.json", X, Y, format="xc"),
    ):
        with pytest.raises((InputError, MachineError)) as refused:
            use()
        assert "=True" in str(refused.value) and " --" not in str(refused.value)
    (tmp_path / "books.csv").write_text("a,b\nx,y\n")
    with pytest.raises(InputError) as refused:
        datasets.read_documents(tmp_path / "books.csv")
    assert " --" not in str(refused.value)


def test_rows_without_any_label_are_refused(estimator):
    with pytest.raises(InputError, match="none of the 3 rows has a label"):
        estimator.fit(np.eye(3), np.zeros((3, 2), int))
    with pytest.raises(InputError, match="none of the 3 .* has a label|no tags"):
        TextTagger(OneVsRest(), min_df=1).fit(["old maps", "maps", "old"], [[], [], []])


def test_rows_are_answered_batch_by_batch(rows):
    X, Y, _ = rows
    model = LabelTree(trees=1).fit(X, Y)
    whole = model.predict_top_k(X, 3)
    taken = []

    def coming():
        for start in range(0, 300, 100):
            taken.append(start)
            yield X[start:start + 100]

    answers = model.predict_batches(coming(), 3, rows=40)
    first = next(answers)
    assert first.shape == (40, Y.shape[1]) and taken == [0], "no more is read than is answered"
    assert (sparse.vstack([first, *answers]) != whole).nnz == 0
    assert (sparse.vstack(list(model.predict_batches(X, 3, rows=7))) != whole).nnz == 0
    allowed = sparse.vstack(list(model.predict_batches(X, 3, labels=[1, 2])))
    assert (allowed != model.predict_top_k(X, 3, labels=[1, 2])).nnz == 0


def test_batches_are_let_go_once_they_are_answered(rows):
    X, _, _ = rows
    model, taken = LabelTree(trees=1, threshold=0.5).fit(*rows[:2]), []

    def coming():
        for start in range(0, 200, 10):
            batch = X[start:start + 10]
            taken.append(weakref.ref(batch))
            yield batch
            del batch

    held = [sum(batch() is not None for batch in taken) for _ in model.predict_batches(coming(), 3)]
    assert len(held) == 20 and max(held) == 1


def test_a_model_of_another_kind_is_refused(rows, tmp_path):
    X, Y, _ = rows
    LabelTree(trees=1).fit(X, Y).save(tmp_path / "model")
    assert isinstance(LabelTree.load(tmp_path / "model"), LabelTree)
    for kind in (OneVsRest, TextTagger):
        with pytest.raises(InputError, match=f"this is a LabelTree, not a {kind.__name__}: take"):
            kind.load(tmp_path / "model")


def test_scorers_are_shown_as_they_are_made():
    assert repr(metrics.scorer("psp@3")) == "scorer('psp@3')"
