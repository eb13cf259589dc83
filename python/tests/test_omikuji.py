"""``labelwood.compat.omikuji`` beside the omikuji package itself."""

import inspect
import json
import os
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import labelwood
from labelwood import datasets, metrics
from labelwood.compat import omikuji as ours

theirs = pytest.importorskip("omikuji")

DOCUMENTS = "4 00000005 00000003\n1,0 1:0.5 0:1.0\n1 1:1\n2 4:0.3 2:1\n0 3:0.2 0:1\n"


@pytest.fixture
def training_file(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(DOCUMENTS)
    return str(path)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    X, Y, _ = datasets.generate("eurlex-4k", rows=600)
    path = tmp_path_factory.mktemp("rows") / "rows.txt"
    datasets.write(path, X, Y)
    return X, Y, str(path)


def pairs(X, row):
    row = X[[row]]
    return list(zip(row.indices, row.data))


def test_the_names_and_arguments_are_the_same():
    assert {"LossType", "Model", "init_logger"} <= set(dir(ours))
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


@pytest.mark.parametrize("name", sorted(ours._FIELDS))
@pytest.mark.parametrize(
    "value", [2, 0, 1, -1, 2.5, "x", None, True, 2**80, np.int64(1), np.float32(0.5)], ids=repr
)
def test_hyper_parameters_take_and_refuse_the_same_values(name, value):
    def outcome(hyper_param):
        try:
            setattr(hyper_param, name, value)
        except (TypeError, OverflowError) as error:
            return type(error)
        return getattr(hyper_param, name)

    expected = outcome(theirs.Model.default_hyper_param())
    found = outcome(ours.Model.default_hyper_param())
    assert found == expected and type(found) is type(expected)


def test_unknown_hyper_parameters_are_refused():
    with pytest.raises(AttributeError, match="has no field 'trees'"):
        ours.Model.default_hyper_param().trees = 3


def test_a_model_is_trained_saved_and_loaded(training_file, tmp_path):
    before = set(tmp_path.iterdir())
    model = ours.Model.train_on_data(training_file, n_threads=None)
    assert set(tmp_path.iterdir()) == before, "training writes nothing"
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


def test_the_hyper_parameters_are_shown_as_there(training_file, capfd):
    def line(omikuji):
        hyper_param = omikuji.Model.default_hyper_param()
        hyper_param.min_branch_size = 10
        hyper_param.linear_eps = 0.05
        hyper_param.cluster_balanced = False
        hyper_param.linear_loss_type = omikuji.LossType.LOG.value
        omikuji.Model.train_on_data(training_file, hyper_param)
        text = capfd.readouterr().out
        heading = "Training model with hyper-parameters HyperParam"
        [line] = [line for line in text.splitlines() if heading in line]
        return line[line.index(heading):]

    assert line(ours) == line(theirs)
    try:
        ours.quiet()
        ours.Model.train_on_data(training_file)
        assert capfd.readouterr().out == ""
    finally:
        ours.init_logger()


@pytest.mark.parametrize(
    "settings",
    [{}, {"cluster_k": 1}, {"collapse_every_n_layers": 50, "max_depth": 3}, {"max_depth": 1},
     {"cluster_k": 100, "cluster_balanced": False}, {"linear_loss_type": 1},
     {"min_branch_size": 2, "cluster_min_size": 0}],
    ids=str,
)
def test_every_kind_of_tree_is_trained(rows, settings):
    X, Y, _ = rows
    hyper_param = ours.Model.default_hyper_param()
    for name, value in settings.items():
        setattr(hyper_param, name, value)
    model = ours.Model.train_on_matrix(X, Y, hyper_param)
    least = 0.4 if hyper_param.linear_loss_type else 0.8
    assert metrics.precision_at_k(Y, model.predict_batch(X), k=1) > least


def test_scores_are_on_the_same_scale(rows):
    X, Y, path = rows
    left = ours.Model.train_on_data(path)
    right = theirs.Model.train_on_data(path)
    top = np.median([[model.predict(pairs(X, row))[0][1] for row in range(200)]
                     for model in (left, right)], axis=1)
    assert top[0] == pytest.approx(top[1], rel=0.1)
    batch = left.predict_batch(X[:5], top_k=3)
    for row in range(5):
        best = left.predict(pairs(X, row), top_k=3)
        assert [label for label, _ in best] == batch[[row]].indices.tolist()
        assert [score for _, score in best] == batch[[row]].data.tolist()


@pytest.mark.parametrize("loss", [0, 1])
def test_folders_that_omikuji_wrote_are_read(rows, tmp_path, loss):
    X, Y, path = rows
    hyper_param = theirs.Model.default_hyper_param()
    hyper_param.min_branch_size, hyper_param.cluster_k = 30, 4
    hyper_param.cluster_balanced, hyper_param.linear_loss_type = False, loss
    right = theirs.Model.train_on_data(path, hyper_param)
    right.save(str(tmp_path / "theirs"))
    left = ours.Model.load(str(tmp_path / "theirs"))
    assert (left.n_features, left.n_trees) == (right.n_features, right.n_trees)
    # Of labels and nodes that are equally probable but for rounding, the beam keeps either.
    agree = [
        [score for _, score in left.predict(pairs(X, row), beam, k)]
        == pytest.approx([score for _, score in right.predict(pairs(X, row), beam, k)], abs=1e-5)
        for row in range(100)
        for beam, k in ((10, 10), (3, 5))
    ]
    assert sum(agree) >= 196
    best = [[model.predict(pairs(X, row))[0][0] for row in range(100)] for model in (left, right)]
    assert sum(map(int.__eq__, *best)) >= 98
    assert left.predict_batch(X[:3]).nnz == 30
    left.save(str(tmp_path / "copy"))
    assert theirs.Model.load(str(tmp_path / "copy")).n_trees == 3
    # A model of ours takes the place of theirs, and the other way round.
    ours.Model.train_on_matrix(X, Y).save(str(tmp_path / "copy"))
    assert "manifest.json" in os.listdir(tmp_path / "copy")
    left.save(str(tmp_path / "copy"))
    assert ours.Model.load(str(tmp_path / "copy")).predict(pairs(X, 0)) == left.predict(pairs(X, 0))


def test_damaged_files_of_omikuji_are_refused(training_file, tmp_path):
    theirs.Model.train_on_data(training_file).save(str(tmp_path / "model"))
    tree, settings = tmp_path / "model" / "tree0.cbor", tmp_path / "model" / "settings.json"
    whole = tree.read_bytes()
    for cut in range(0, len(whole), 7):
        tree.write_bytes(whole[:cut])
        with pytest.raises(RuntimeError, match="tree0.cbor"):
            ours.Model.load(str(tmp_path / "model"))
    random = np.random.default_rng(0)
    for _ in range(200):
        changed = bytearray(whole)
        changed[random.integers(len(whole))] = random.integers(256)
        tree.write_bytes(changed)
        try:
            ours.Model.load(str(tmp_path / "model")).predict([(0, 1.0)])
        except RuntimeError:
            pass
    tree.write_bytes(whole)
    settings.write_text(json.dumps({"n_features": 2**63, "classifier_loss_type": "Hinge"}))
    with pytest.raises(RuntimeError, match="its weights do not fit its nodes"):
        ours.Model.load(str(tmp_path / "model"))
    shutil.rmtree(tmp_path / "model")


def test_what_goes_wrong_is_a_runtime_error_with_the_reason(training_file, tmp_path):
    model = ours.Model.train_on_data(training_file)
    with pytest.raises(RuntimeError, match="Failed to load model from .*: there is no model here|"
                                           "Failed to load model from"):
        ours.Model.load(str(tmp_path / "nothing"))
    with pytest.raises(RuntimeError, match="Failed to load data from .*No such file"):
        ours.Model.train_on_data(str(tmp_path / "nothing.txt"))
    (tmp_path / "bad.txt").write_text("1 2 3\n0 0:x\n")
    with pytest.raises(RuntimeError, match=r"Failed to load data from .*bad.txt:2:5"):
        ours.Model.train_on_data(str(tmp_path / "bad.txt"))
    with pytest.raises(RuntimeError, match="Failed to save model to"):
        model.save(training_file)
    for wrong in [[(9, 1.0)], [(-1, 1.0)], [(1, 1.0), (1, 2.0)]]:
        with pytest.raises(AssertionError, match="Incorrect feature index"):
            model.predict(wrong)
    hyper_param = ours.Model.default_hyper_param()
    hyper_param.n_trees = 0
    with pytest.raises(RuntimeError, match="Failed to train model: trees is 0"):
        ours.Model.train_on_data(training_file, hyper_param)


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
