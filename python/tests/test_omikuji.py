"""``labelwood.compat.omikuji`` beside the omikuji package itself."""

import decimal
import inspect
import io
import math
import os
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from stand_in import listing, pairs, settings

import labelwood
from labelwood import metrics
from labelwood.compat import omikuji as ours
from labelwood.compat._hyper_param import FIELDS

theirs = pytest.importorskip("omikuji")


def outcome(call):
    """What a call gives, or the type of what it raises."""
    try:
        return call()
    except Exception as error:
        return type(error)


def test_the_names_and_arguments_are_the_same():
    assert {"LossType", "Model", "init_logger"} <= set(dir(ours))
    assert ours.__version__.split(".")[:2] == theirs.__version__.split(".")[:2]
    for name in ("load", "save", "predict", "train_on_data", "default_hyper_param",
                 "densify_weights", "init_prediction_thread_pool", "n_features", "n_trees"):
        left, right = getattr(ours.Model, name), getattr(theirs.Model, name)
        if callable(right):
            expected = inspect.signature(right).parameters
            found = inspect.signature(left).parameters
            assert list(found)[: len(expected)] == list(expected)
            assert all(found[key].default == expected[key].default for key in expected)
    assert [loss.name for loss in ours.LossType] == [loss.name for loss in theirs.LossType]
    assert [loss.value for loss in ours.LossType] == [loss.value for loss in theirs.LossType]


def test_hyper_parameters_have_the_same_names_and_defaults():
    left, right = ours.Model.default_hyper_param(), theirs.Model.default_hyper_param()
    names = [name for name in dir(right) if not name.startswith("_")]
    assert len(names) == 16
    for name in names:
        assert getattr(left, name) == getattr(right, name), name
        assert type(getattr(left, name)) is type(getattr(right, name)), name
    assert left.seed == 42


class OnlyIndex:
    def __index__(self):
        return 1


@pytest.mark.parametrize("name", sorted(FIELDS))
@pytest.mark.parametrize(
    "value",
    [2, 0, 1, -1, 2.5, 1e300, "x", None, True, 2**80, np.int64(1), np.float32(0.5), np.array(1.5),
     np.array([1, 2]), decimal.Decimal(1), OnlyIndex()],
    ids=repr,
)
def test_hyper_parameters_take_and_refuse_the_same_values(name, value):
    def read_back(omikuji):
        return outcome(lambda: getattr(settings(omikuji, **{name: value}), name))

    expected, found = read_back(theirs), read_back(ours)
    assert found == expected and type(found) is type(expected)


def test_unknown_hyper_parameters_are_refused():
    with pytest.raises(AttributeError, match="has no field 'trees'"):
        ours.Model.default_hyper_param().trees = 3


def test_a_model_is_trained_saved_and_loaded(training_file, tmp_path):
    beside = os.path.dirname(training_file)
    before = listing(beside)
    model = ours.Model.train_on_data(training_file, n_threads=None)
    assert listing(beside) == before, "training writes nothing"
    assert (model.n_features, model.n_trees) == (5, 3)
    best = model.predict([(0, 1.0), (1, 0.5)])
    assert best[0][0] == 0 and {label for label, _ in best} == {0, 1, 2}
    assert all(type(label) is int and type(score) is float for label, score in best)
    assert [score for _, score in best] == sorted((score for _, score in best), reverse=True)
    model.save(str(tmp_path / "some" / "model"))
    for mmap in (True, False):
        loaded = ours.Model.load(str(tmp_path / "some" / "model"), mmap=mmap)
        assert loaded.predict([(np.int32(1), np.float64(0.5)), (np.int64(0), np.float32(1))]) == best
    assert isinstance(labelwood.load(tmp_path / "some" / "model"), labelwood.LabelTree)
    model.densify_weights(0.05, n_threads=1)
    model.init_prediction_thread_pool(1)
    assert model.predict([(0, 1.0), (1, 0.5)]) == best
    assert model.predict([(0, 1.0)], beam_size=1, top_k=1)[0][0] == 0
    other = ours.Model.default_hyper_param()
    other.n_trees = 1
    ours.Model.train_on_data(training_file, other).save(str(tmp_path / "some" / "model"))
    assert ours.Model.load(str(tmp_path / "some" / "model")).n_trees == 1, "it was replaced"


HEADING = "Training model with hyper-parameters HyperParam"


def shown(text):
    return [line[line.index(HEADING):] for line in text.splitlines() if HEADING in line]


@pytest.mark.parametrize(
    "values",
    [{"min_branch_size": 10, "cluster_balanced": False, "linear_loss_type": 1, "linear_eps": 0.05},
     {"linear_eps": 1e-5, "linear_c": 1e16, "cluster_eps": 2.5e-7},
     {"linear_eps": 1e-4, "linear_c": 123456.789, "centroid_threshold": 9.9e15},
     {"linear_eps": math.inf, "linear_weight_threshold": math.nan, "linear_c": 1e30}],
    ids=str,
)
def test_the_hyper_parameters_are_shown_as_there(training_file, capfd, values):
    lines = []
    for omikuji in (ours, theirs):
        omikuji.Model.train_on_data(training_file, settings(omikuji, **values))
        lines.append(shown(capfd.readouterr().out))
    assert lines[0] == lines[1] and len(lines[0]) == 1


def test_the_line_goes_to_standard_output_itself(training_file, capfd, monkeypatch):
    try:
        ours.quiet()
        ours.Model.train_on_data(training_file)
        assert capfd.readouterr().out == ""
    finally:
        ours.quiet(False)
    closed = io.StringIO()
    closed.close()
    for stdout in (io.StringIO(), closed, None):
        monkeypatch.setattr(sys, "stdout", stdout)
        ours.Model.train_on_data(training_file)
    monkeypatch.undo()
    assert len(shown(capfd.readouterr().out)) == 3


def test_what_was_printed_before_comes_before(training_file):
    code = """
        import os, sys
        from labelwood.compat import omikuji
        print("before")
        omikuji.Model.train_on_data(sys.argv[1])
        print("after")
        sys.stdout.flush()
        os.close(1)
        omikuji.Model.train_on_data(sys.argv[1])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), training_file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    first, line, last = done.stdout.splitlines()
    assert (first, line.startswith(HEADING), last) == ("before", True, "after")
    # The interpreter says at its end that it cannot flush; training did not mind.
    assert "Traceback" not in done.stderr


def test_the_logger_is_initialized_once():
    for omikuji in (theirs, ours):
        with pytest.raises(RuntimeWarning, match="Failed to initialize logger"):
            omikuji.init_logger()


REFUSED = [
    {"n_trees": 0}, {"min_branch_size": 0}, {"min_branch_size": 1}, {"max_depth": 0},
    {"centroid_threshold": -1.0}, {"linear_eps": 0.0}, {"linear_c": 0.0}, {"linear_c": -1.0},
    {"linear_weight_threshold": -1.0}, {"linear_max_iter": 0}, {"cluster_k": 0},
    {"cluster_eps": 0.0}, {"cluster_eps": -1.0}, {"cluster_min_size": 0},
]


@pytest.mark.parametrize("values", REFUSED, ids=str)
def test_what_omikuji_refuses_is_refused_and_named(training_file, capfd, values):
    [(name, value)] = values.items()
    with pytest.raises(RuntimeError, match="Failed to train model"):
        theirs.Model.train_on_data(training_file, settings(theirs, **values))
    capfd.readouterr()
    with pytest.raises(RuntimeError, match=f"Failed to train model: {name} is {value}, but must be"):
        ours.Model.train_on_data(training_file, settings(ours, **values))
    assert capfd.readouterr().out == "", "nothing is shown"


@pytest.mark.parametrize("values", [{"n_trees": 2**40}, {"tree_structure_only": True},
                                    {"linear_c": math.nan}], ids=str)
def test_what_would_end_the_process_is_refused(training_file, values):
    [name] = values
    with pytest.raises(RuntimeError, match=f"Failed to train model: {name} is "):
        ours.Model.train_on_data(training_file, settings(ours, **values))


# One pass over rows in a random order ends anywhere, and omikuji has no seed: the mean of many trees
# is what can be compared. Weights of the bias are never dropped here.
@pytest.mark.parametrize(
    ("values", "within"),
    [({"linear_c": 1e10}, 0.2), ({"linear_c": math.inf}, 0.2), ({"linear_eps": math.inf}, 0.6),
     ({"linear_eps": math.nan}, 0.1), ({"linear_weight_threshold": math.inf}, 0.2),
     ({"linear_weight_threshold": math.nan}, 0.1), ({"cluster_eps": math.nan}, 0.1),
     ({"centroid_threshold": math.nan, "min_branch_size": 2}, 0.2), ({"max_depth": 2**40}, 0.1),
     ({"centroid_threshold": math.inf, "min_branch_size": 2}, 0.2)],
    ids=str,
)
def test_extreme_values_mean_what_they_mean_there(training_file, values, within):
    best = []
    for omikuji in (ours, theirs):
        many = settings(omikuji, n_trees=200, **values)
        model = omikuji.Model.train_on_data(training_file, many, 1)
        best.append(dict(model.predict([(0, 1.0)])))
    assert best[0] == pytest.approx(best[1], abs=within)


@pytest.mark.parametrize(
    "values",
    [{}, {"cluster_k": 1}, {"collapse_every_n_layers": 50, "max_depth": 3}, {"max_depth": 1},
     {"cluster_k": 100, "cluster_balanced": False}, {"linear_loss_type": 1},
     {"cluster_k": 2**40, "min_branch_size": 2}, {"min_branch_size": 2, "cluster_min_size": 1}],
    ids=str,
)
def test_every_kind_of_tree_is_trained(documents, values):
    X, Y, _ = documents
    hyper_param = settings(ours, **values)
    model = ours.Model.train_on_matrix(X, Y, hyper_param)
    assert metrics.precision_at_k(Y, model.predict_batch(X), k=1) > 0.8


def test_leaves_keep_to_the_beam(documents):
    X, _, path = documents
    models = [
        omikuji.Model.train_on_data(path, settings(omikuji, min_branch_size=20))
        for omikuji in (ours, theirs)
    ]
    for beam in (1, 2, 5, 10):
        named = [
            np.mean([len(model.predict(pairs(X, row), beam, 10_000)) for row in range(200)])
            for model in models
        ]
        assert named[0] == pytest.approx(named[1], rel=0.15)


@pytest.mark.parametrize("loss", [0, 1])
def test_scores_are_on_the_same_scale(documents, loss):
    X, Y, path = documents
    left = ours.Model.train_on_data(path, settings(ours, linear_loss_type=loss))
    right = theirs.Model.train_on_data(path, settings(theirs, linear_loss_type=loss))
    top = np.median([[model.predict(pairs(X, row))[0][1] for row in range(200)]
                     for model in (left, right)], axis=1)
    assert top[0] == pytest.approx(top[1], rel=0.1)
    batch = left.predict_batch(X[:5], top_k=3)
    for row in range(5):
        best = left.predict(pairs(X, row), top_k=3)
        assert [label for label, _ in best] == batch[[row]].indices.tolist()
        assert [score for _, score in best] == batch[[row]].data.tolist()


def test_what_goes_wrong_is_a_runtime_error_with_the_reason(training_file, tmp_path):
    model = ours.Model.train_on_data(training_file)
    with pytest.raises(RuntimeError, match="Failed to load model from .*: there is no model here"):
        ours.Model.load(str(tmp_path / "nothing"))
    with pytest.raises(RuntimeError, match="Failed to load data from .*No such file"):
        ours.Model.train_on_data(str(tmp_path / "nothing.txt"))
    (tmp_path / "bad.txt").write_text("1 2 3\n0 0:x\n")
    with pytest.raises(RuntimeError, match=r"Failed to load data from .*bad.txt:2:5"):
        ours.Model.train_on_data(str(tmp_path / "bad.txt"))
    with pytest.raises(RuntimeError, match="Failed to save model to"):
        model.save(training_file)
    for wrong in [[(9, 1.0)], [(-1, 1.0), (0, 1.0)], [(1, 1.0), (1, 2.0)], [(0, 1.0), (5, 1.0)]]:
        with pytest.raises(AssertionError, match="Incorrect feature index"):
            model.predict(wrong)
    with pytest.raises(RuntimeError, match="Failed to load model from"):
        ours.Model.load("a\0b")
    with pytest.raises(ValueError, match="Y is None, but must have the labels of each row"):
        ours.Model.train_on_matrix([[1.0]], None)


CALLS = {
    "predict": [
        ([(0, "1")],), ([(0, None)],), ([(0, 1)],), ([(0, True)],), ([(0, decimal.Decimal(1))],),
        ([(0, np.array(1.0))],), ([(-1, 1.0)],), ([(2**40, 1.0)],), ([(-1, 1.0), (0, 1.0)],),
        ([(0, 1.0), (9, 1.0)],), ([(0, 1.0), (0, 1.0)],), ([(0.0, 1.0)],), ([("0", 1.0)],),
        ([(None, 1.0)],), ([(np.float32(0), 1.0)],), ([(np.float64(0), 1.0)],), ([(True, 1.0)],),
        ([(0, 1.0, 2.0)],), ([0, 1],), ({0: 1.0},), (None,), (np.array([[0, 1.0], [2, 0.5]]),),
        (np.array([[0, 1], [2, 1]]),), ([(0, 1.0)], -1), ([(0, 1.0)], None), ([(0, 1.0)], 2.0),
        ([(0, 1.0)], "2"), ([(0, 1.0)], 2**70), ([(0, 1.0)], 2**63), ([(0, 1.0)], np.int64(10)),
        ([(0, 1.0)], 10, -1), ([(0, 1.0)], 10, None), ([(0, 1.0)], 10, 2.0), ([(0, 1.0)], 10, "2"),
        ([(0, 1.0)], 10, 2**70), ([(0, 1.0)], 10, 0), ([(0, 1.0)], 10, np.int64(1)),
    ],
    "densify_weights": [
        (), (0.05,), (1,), ("x",), (None,), (0.1, 1), (0.1, -1), (0.1, "1"), (0.1, 1.5),
    ],
    "init_prediction_thread_pool": [
        (None,), (0,), (1,), (-1,), (np.int64(2),), (2.0,), ("2",), ("",), (),
    ],
    "save": [(None,), (3,), (b"x",)],
    "load": [(None,), (3,), (b"x",), ("",)],
}


@pytest.mark.parametrize(("name", "arguments"),
                         [(name, call) for name, calls in CALLS.items() for call in calls], ids=repr)
def test_methods_take_and_refuse_the_same_arguments(model, omikujis, name, arguments, tmp_path,
                                                    monkeypatch):
    monkeypatch.chdir(tmp_path)
    right = theirs.Model.load(str(omikujis))
    expected = outcome(lambda: getattr(right, name)(*arguments))
    for left in (model, ours.Model.load(str(omikujis))):
        found = outcome(lambda: getattr(left, name)(*arguments))
        if isinstance(expected, list):
            assert {label for label, _ in found} == {label for label, _ in expected}
            assert all(type(label) is int and type(score) is float for label, score in found)
        else:
            assert found is expected


@pytest.mark.parametrize(
    "arguments",
    [(None, None), (None, 0), (None, -1), (None, True), (None, np.int64(1)), (None, 1.0),
     (None, 1.5), (None, "1"), (None, ""), (3,), ("x",)],
    ids=repr,
)
def test_training_takes_and_refuses_the_same_arguments(training_file, capfd, arguments):
    def trees(omikuji):
        return outcome(lambda: omikuji.Model.train_on_data(training_file, *arguments).n_trees)

    expected = trees(theirs)
    capfd.readouterr()
    assert trees(ours) == expected
    assert len(shown(capfd.readouterr().out)) == (1 if expected == 3 else 0)


@pytest.mark.parametrize("path", [None, 0, b"train.txt"])
def test_paths_of_other_types_are_refused_as_there(path):
    assert outcome(lambda: theirs.Model.train_on_data(path)) is AttributeError
    assert outcome(lambda: ours.Model.train_on_data(path)) is AttributeError


def test_paths_may_be_objects(training_file, tmp_path):
    ours.Model.train_on_data(pathlib.Path(training_file)).save(tmp_path / "model")
    assert ours.Model.load(tmp_path / "model").n_trees == 3


def test_values_that_are_not_finite_are_refused(either):
    either, _ = either
    for value in (math.nan, math.inf, 1e300):
        with pytest.raises(labelwood.InputError, match="not a finite number"):
            either.predict([(0, value)])
        with pytest.raises(labelwood.InputError, match="not a finite number"):
            either.predict_batch([[value, 0, 0, 0, 0]])


@pytest.mark.parametrize(
    "text",
    ["3 3 3\n0,1, 0:1\n1 1:1\n2 2:1\n", "3 3 3\n+0,,1 +0:+1\n1 1:1\n2 2:1",
     "3 3 3\r\n0,1,\r\n1, 1:1\r\n2 2:1\r\n", "4 3 3\n, 0:1\n0 0:1\n1 1:1\n2 2:1\n"],
    ids=repr,
)
@pytest.mark.parametrize("name", ["train.txt", "train.data", "train.svm", "train"])
def test_training_files_are_read_as_there(tmp_path, text, name):
    path = tmp_path / name
    path.write_bytes(text.encode())
    # Names of labels are nothing that omikuji would look for.
    (tmp_path / "labels.txt").write_text("only one\n")
    best = []
    for omikuji in (ours, theirs):
        model = omikuji.Model.train_on_data(str(path), n_threads=1)
        best.append(dict(model.predict([(1, 1.0)])))
    assert best[0] == pytest.approx(best[1], abs=0.1)


def test_what_is_wrong_in_a_training_file_is_named(tmp_path):
    path = tmp_path / "train.txt"
    for text, reason in [
        ("2 2 2\n0, 0:1\n1 x:1\n", r"train.txt:2:3: "),
        ("2 2 2\n0 0:nan\n1 1:1\n", r"train.txt:2:5: `nan` is not a finite"),
        ("2 2 2\n0 0:1\n4000000000 1:1\n", r"label 4000000000 is too large: labels are numbered"),
    ]:
        path.write_text(text)
        with pytest.raises(RuntimeError, match=f"Failed to load data from .*{reason}"):
            ours.Model.train_on_data(str(path))


def test_numbers_beyond_the_header_are_taken_with_a_warning(tmp_path, caplog):
    (tmp_path / "train.txt").write_text("00000002 2 2\n0,7 0:1\n1 1:1\n")
    model = ours.Model.train_on_data(str(tmp_path / "train.txt"))
    assert {label for label, _ in model.predict([(0, 1.0)])} == {0, 1, 7}
    assert any(record.name == "labelwood" for record in caplog.records)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_predicts(training_file, tmp_path):
    code = """
        import os, sys
        from labelwood.compat import omikuji
        omikuji.quiet()
        omikuji.Model.train_on_data(sys.argv[1]).save(sys.argv[2])
        model = omikuji.Model.load(sys.argv[2])
        for _ in range(2):
            child = os.fork()
            if child == 0:
                os._exit(len(model.predict([(0, 1.0)])))
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
            model.predict([(0, 1.0)])
    """
    arguments = [sys.executable, "-c", textwrap.dedent(code), training_file, tmp_path / "model"]
    subprocess.run(arguments, check=True, timeout=120)
