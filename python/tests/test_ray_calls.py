"""Calls on a cluster that are refused, or fail, as those of one machine do."""

import os
import sys

import numpy as np
import pytest

from labelwood import CraftML, InputError, MachineError, datasets

ray = pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="modes of files are looked at"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def rows():
    X, Y, _ = datasets.generate("eurlex-4k", rows=200)
    return X, Y


@pytest.fixture(scope="module")
def cluster():
    import labelwood.ray

    ray.init(
        num_cpus=2, include_dashboard=False, logging_level="error", object_store_memory=100 * 2**20
    )
    yield labelwood.ray
    ray.shutdown()


def test_without_ray_nothing_is_written(rows, tmp_path):
    import labelwood.ray

    assert not ray.is_initialized()
    folder = tmp_path / "folder"
    with pytest.raises(InputError, match="Ray is not started: call ray.init"):
        labelwood.ray.fit(CraftML(), *rows, folder=folder)
    with pytest.raises(InputError, match="Ray is not started"):
        labelwood.ray.predict(tmp_path, rows[0])
    with pytest.raises(InputError, match="Ray is not started"):
        labelwood.ray.tune(CraftML(), [{}], *rows)
    assert not folder.exists()


def test_others_may_read_a_model_as_the_umask_says(cluster, rows, tmp_path):
    cluster.fit(CraftML(trees=2), *rows, folder=tmp_path)
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    files = [*(tmp_path / "model").iterdir(), *(tmp_path / "plan" / "units").iterdir()]
    assert len(files) > 4
    assert {file.stat().st_mode for file in files} == {plain.stat().st_mode}


def test_a_fit_that_fails_leaves_the_estimator_as_it_was(cluster, rows, tmp_path):
    X, Y = rows
    narrow = X[:, :500]
    forest = CraftML(trees=2).fit(narrow, Y)
    before = forest.predict_top_k(narrow).toarray()

    def stop(*_):
        raise RuntimeError("enough")

    for arguments, error in [
        ((X, Y, {"cpus": 64}), InputError),
        ((X, Y[:100], {}), InputError),
        ((X, Y, {"progress": stop}), RuntimeError),
    ]:
        *given, options = arguments
        with pytest.raises(error):
            cluster.fit(forest, *given, folder=tmp_path / "model", **options)
        assert np.array_equal(forest.predict_top_k(narrow).toarray(), before)


def test_a_unit_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    from labelwood.ray._fit import _write

    taken = tmp_path / "unit.safetensors"
    taken.mkdir()
    with pytest.raises(MachineError, match=f"could not write {taken}: "):
        _write(taken, np.zeros(10, np.uint8))
    assert os.listdir(tmp_path) == [taken.name]


def test_tune_wants_labels_for_each_row(cluster, rows):
    X, Y = rows
    for given in [(X[:100], Y), (X, Y[:100]), (X[:4], [["a"], ["b"]] * 50)]:
        with pytest.raises(InputError, match=r"X has \d+ rows, but Y has \d+: give each row its labels"):
            cluster.tune(CraftML(trees=1), [{}], *given, folds=2)


@pytest.mark.parametrize("by", ["rows", "model"])
def test_prediction_refuses_what_it_refuses_locally(cluster, rows, tmp_path, by):
    X, Y = rows
    forest = CraftML(trees=1).fit(X, Y)
    forest.save(tmp_path / "model")
    for wrong in [{"beam": 0}, {"beam": -1}, {"k": -1}, {"k": 2.5}]:
        with pytest.raises(InputError) as local:
            forest.predict_top_k(X, **wrong)
        with pytest.raises(InputError) as remote:
            cluster.predict(tmp_path / "model", X, by=by, **wrong)
        assert str(remote.value) == str(local.value)


def test_of_several_tasks_that_fail_one_error_is_shown(cluster, rows, capfd):
    X, Y = rows
    with pytest.raises(InputError, match="metric is"):
        cluster.tune(CraftML(trees=1), [{}, {"trees": 2}], X, Y, metric="wrong@5", folds=4)
    ray.get([ray.remote(lambda: None).remote() for _ in range(4)])
    assert "Unhandled error" not in capfd.readouterr().err
