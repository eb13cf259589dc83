"""Labels, however they are given: what is meant is learned, and what cannot be meant is named."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from labelwood import InputError, LabelTree, MachineError, OneVsRest, TextTagger, metrics
from labelwood import _inputs

#: Three rows of three features, and an indicator of four labels.
X = np.eye(3)
Y = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1]])


def files(labels):
    return OneVsRest().fit(X, labels).model_.files()


@pytest.mark.parametrize("label", [2**31 - 1, 10_000_000, 2**70, -1])
def test_a_number_that_no_label_has_is_refused_before_it_takes_memory(label):
    message = rf"Y\[2\] has label {label}, but numbers of labels go from 0 to 9,999,999: give names"
    with pytest.raises(InputError, match=message):
        OneVsRest().fit(X, [[0], [1], [label]])


def test_a_containers_limit_counts_if_it_is_lower(monkeypatch):
    limit = 2**50
    monkeypatch.setattr(_inputs._native, "group_memory", lambda: limit)
    machine = _inputs.memory()
    limit = machine - 1
    assert _inputs.memory() == limit
    limit = None
    assert _inputs.memory() in (machine, None)


def test_more_columns_than_fit_into_memory_are_refused(estimator, monkeypatch):
    wide = sparse.csr_array((np.ones(3), [0, 1, 2], [0, 1, 2, 3]), (3, 100_000))
    monkeypatch.setattr(_inputs, "memory", lambda: 100_000)
    with pytest.raises(MachineError, match="with 100000 labels needs .* GB of memory or more, but this"):
        estimator.fit(X, wide)
    monkeypatch.setattr(_inputs, "memory", lambda: None)
    with pytest.raises(InputError, match="Y has 2147483648 columns, but there may be 2147483647"):
        estimator.fit(X, sparse.csr_array((3, 2**31)))


def test_huge_matrices_and_numbers_do_not_end_the_interpreter():
    code = """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        import numpy as np
        from scipy import sparse
        from labelwood import CraftML, Grove, LabelForest, LabelTree, LabelwoodError, OneVsRest, _inputs
        _inputs.memory = lambda: 4 << 30
        wide = sparse.csr_array((np.ones(3), [0, 1, 2], [0, 1, 2, 3]), (3, 2**31 - 1))
        for estimator in (CraftML(), Grove(), LabelForest(), LabelTree(), OneVsRest()):
            for labels in (wide, [[0], [1], [2**31 - 1]]):
                try:
                    estimator.fit(np.eye(3), labels)
                except LabelwoodError:
                    print("refused")
    """
    pytest.importorskip("resource", reason="this system limits no memory")
    arguments = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.stdout == "refused\n" * 10, done.stderr


@pytest.mark.parametrize("name", ["a\tb", "", "x\ny", "c\r"])
def test_names_that_models_cannot_keep_are_refused_everywhere(name):
    message = "is empty or has a TAB or a line break"
    with pytest.raises(InputError, match=message):
        OneVsRest().fit(X, [["birds"], [name], ["maps"]])
    with pytest.raises(InputError, match=message):
        OneVsRest().fit(X, pd.DataFrame(Y, columns=["birds", name, "maps", "cats"]))
    with pytest.raises(InputError, match=f"the tag .* {message}"):
        TextTagger(min_df=1).fit(["old maps", "birds"], [["maps"], [name]])


def test_a_name_with_half_a_character_is_refused():
    with pytest.raises(InputError, match="the label name 'x.ud83d' has half of a surrogate pair"):
        OneVsRest().fit(X, [["birds"], ["x\ud83d"], ["maps"]])


def test_odd_names_that_models_can_keep_stay_as_they_are():
    odd = [" spaces ", "ünï", "\u2028", "0", "a,b;c"]
    assert OneVsRest().fit(np.eye(5), [[name] for name in odd]).classes_.tolist() == odd
    tagger = TextTagger(min_df=1).fit(["red", "blue", "green", "white", "black"], [[name] for name in odd])
    assert tagger.classes_.tolist() == odd


def test_lists_of_zeros_and_ones_are_an_indicator_as_in_the_metrics():
    expected = files(Y)
    assert files(Y.tolist()) == files(Y.astype(bool).tolist()) == files(Y.astype(float).tolist()) == expected
    assert files([list(row) for row in Y]) == expected
    two = [[1, 0], [0, 1], [1, 0]]
    assert files(two) == files(np.array(two))
    numbers = [[0, 2], [1], [2, 3]]
    assert files(numbers) == expected
    scores = np.arange(12).reshape(3, 4) / 12
    for truth in (Y.tolist(), numbers):
        assert metrics.evaluate(truth, scores) == metrics.evaluate(Y, scores)
    with pytest.raises(InputError, match="Y_true has names, but must have the numbers"):
        metrics.precision_at_k([["birds"], ["maps"], ["cats"]], scores)


def test_the_columns_of_a_frame_may_come_in_any_order(rows):
    X, Y, _ = rows
    common = np.argsort(-Y.sum(axis=0))[:10]
    have_some = np.flatnonzero(Y[:, common].sum(axis=1))
    X, Y = X[have_some], Y[have_some][:, common].toarray()
    frame = pd.DataFrame(Y, columns=[f"label {at}" for at in common])
    model = LabelTree(trees=1).fit(X, frame)
    expected = model.score(X, frame)
    assert expected > 0.9
    assert model.score(X, frame[frame.columns[::-1]]) == expected
    assert model.score(X, frame.rename(columns=lambda name: f"no {name}")) == 0
    assert model.score(X, frame.to_numpy()) == expected
    with pytest.raises(InputError, match="several columns of one name, 'label "):
        model.score(X, pd.concat([frame, frame], axis=1))


def test_labels_to_score_by_must_be_those_of_training():
    by_number = OneVsRest().fit(X, Y)
    with pytest.raises(InputError, match="Y has 3 columns, but training knew 4 labels"):
        by_number.score(X, Y[:, :3])
    with pytest.raises(InputError, match="Y has names of labels, but training knew only numbers"):
        by_number.score(X, [["birds"], ["maps"], ["cats"]])
    assert by_number.score(X, pd.DataFrame(Y)) == by_number.score(X, [[0, 2], [1], [2, 3]]) == 1
    with pytest.raises(InputError, match="Y has several columns of one name, 'birds'"):
        OneVsRest().fit(X, pd.DataFrame(Y, columns=["birds", "birds", "maps", "cats"]))


def test_a_sparse_frame_stays_sparse(monkeypatch):
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(Y), columns=list("abcd"))
    monkeypatch.setattr(pd.DataFrame, "to_numpy", None)
    model = OneVsRest().fit(X, frame)
    assert model.classes_.tolist() == list("abcd") and model.score(X, frame) == 1
    filled = frame.astype(pd.SparseDtype(float, np.nan))
    with pytest.raises(InputError, match="sparse columns that are filled with other values than 0"):
        model.fit(X, filled)


def test_frames_of_every_type_of_numbers_are_indicators():
    frame = pd.DataFrame(Y, columns=list("abcd"))
    expected = files(frame)
    for types in ("Int8", "boolean", "Float32", {"a": bool}, {"a": "Int8", "b": bool, "c": float}):
        assert files(frame.astype(types)) == expected
    missing = frame.astype("Int8")
    missing.iloc[0, 0] = pd.NA
    with pytest.raises(InputError, match="NaN"):
        files(missing)
    with pytest.raises(InputError, match="Unknown label type"):
        files(frame.astype({"a": str}))


def test_repeated_entries_say_the_same_twice(recwarn):
    rows, columns = [0, 0, 1], [0, 0, 1]
    for Y in [
        sparse.coo_array(([1, 1, 1], (rows, columns)), (2, 2)),
        sparse.csr_array(([1, 1, 1], columns, [0, 2, 3]), (2, 2)),
        sparse.csr_array(([1, 0, 1], columns, [0, 2, 3]), (2, 2)),
    ]:
        labels = _inputs.Labels(Y)
        assert labels.indices.tolist() == [0, 1]
        assert labels.indptr.tolist() == [0, 1, 2]
    assert not recwarn.list


def test_the_labels_of_sets_have_one_order():
    """That of a set of strings is another in every process."""
    names = [f"name {at}" for at in range(20)]
    assert _inputs.Labels([set(names), {"a"}]).names == [*sorted(names), "a"]
    assert _inputs.Labels([frozenset({3, 1}), {2}]).indices.tolist() == [1, 3, 2]


def test_one_dimension_is_refused_as_such():
    line = sparse.csr_array(np.ones(3))
    with pytest.raises(InputError, match="Expected 2D array, got 1D array"):
        _inputs.Labels(line)
    with pytest.raises(InputError, match="Expected 2D array, got 1D array"):
        OneVsRest().fit(line, [[0]])
    model = OneVsRest().fit(np.eye(3), [[0], [1], [0]])
    with pytest.raises(InputError, match="Expected 2D array, got 1D array"):
        model.predict_top_k(line)
