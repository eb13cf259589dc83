"""A cluster of two nodes on this machine, and what happens when parts of it are killed."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import bytes_of

from labelwood import (
    CraftML,
    Grove,
    InputError,
    LabelTree,
    MachineError,
    OneVsRest,
    TextTagger,
    datasets,
    load,
)

ray = pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "memory": 2 * 2**30}
#: How long anything may take.
PATIENCE = 240


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    cluster.add_node(**NODE)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def fit(cluster):
    import labelwood.ray

    return labelwood.ray.fit


@pytest.fixture(scope="module")
def long():
    """An estimator of many parts, and rows that take it some seconds."""
    estimator = CraftML(trees=40)
    X, Y, _ = datasets.generate("eurlex-4k", rows=3000)
    return estimator, X, Y


@pytest.fixture(scope="module")
def expected(long, tmp_path_factory):
    folder = tmp_path_factory.mktemp("local") / "model"
    estimator, X, Y = long
    estimator.fit(X, Y, folder=folder)
    return bytes_of(folder)


def until(condition):
    """Waits for something, and gives it."""
    start = time.monotonic()
    while time.monotonic() - start < PATIENCE:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("waited too long")


def workers_of(node, task):
    """The processes of a node that are at work on a task."""
    [raylet] = node.all_processes["raylet"]
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            is_child = f"\nPPid:\t{raylet.process.pid}\n" in status.read_text()
            name = status.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if is_child and name.startswith(b"ray::" + task.encode()):
            found.append(int(status.parent.name))
    return found


def units_in(folder):
    return sorted((folder / "plan" / "units").glob("*.safetensors"))


class Background(threading.Thread):
    """A call that goes on while the test does harm."""

    def __init__(self, call, *arguments, **more):
        super().__init__(daemon=True)
        self.call = lambda: call(*arguments, **more)
        self.error = None
        self.start()

    def run(self):
        try:
            self.call()
        except BaseException as error:
            self.error = error

    def finish(self):
        self.join(PATIENCE)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("shared", [False, True])
def test_every_algorithm_gives_the_bytes_of_local_training(fit, estimator, rows, shared, tmp_path):
    X, Y, _ = rows
    estimator.fit(X, Y, folder=tmp_path / "local")
    steps = []
    fitted = fit(
        estimator, X, Y, folder=tmp_path / "ray", shards=3, shared=shared,
        progress=lambda *step: steps.append(step),
    )
    assert bytes_of(tmp_path / "ray" / "model") == bytes_of(tmp_path / "local")
    assert fitted is estimator and fitted.predict_top_k(X).shape == Y.shape
    stage, done, total = steps[-1]
    assert done == total and stage in ("stage 1 of 1", "stage 2 of 2")
    # The model that is there is none of another training.
    fit(estimator, X, Y, folder=tmp_path / "ray", shared=shared)


def test_files_are_read_where_they_lie(fit, rows, tmp_path):
    X, Y, _ = rows
    path = tmp_path / "rows.lwd"
    datasets.write(path, X, Y)
    LabelTree().fit(X, Y, folder=tmp_path / "local")
    for shared in (False, True):
        folder = tmp_path / f"ray-{shared}"
        fit(LabelTree(), path, folder=folder, shared=shared)
        assert bytes_of(folder / "model") == bytes_of(tmp_path / "local")
        assert not (folder / "plan" / "data.lwd").exists()
    with pytest.raises(InputError, match="leave out y"):
        fit(LabelTree(), path, Y, folder=tmp_path / "ray")


def test_texts_are_tagged_as_locally(fit, tmp_path):
    import labelwood.ray

    questions = datasets.load_questions()
    # Every part of the default, the names of tags among them, and tags that no text has.
    tagger = TextTagger(Grove(CraftML(trees=4)))
    rows = (questions.train_texts, questions.train_tags)
    names = {"vocabulary": {"x:1": ["local history", "town history"], "x:2": ["beekeeping", "bees"]}}
    tagger.fit(*rows, folder=tmp_path / "local", **names)
    fit(tagger, *rows, folder=tmp_path / "ray", **names)
    assert bytes_of(tmp_path / "ray" / "model") == bytes_of(tmp_path / "local")
    fit(tagger, *rows, folder=tmp_path / "ray", **names)
    asked = ["Where do bees live?", *questions.test_texts]
    expected = tagger.predict_top_k(asked)
    assert "beekeeping" in tagger.classes_[expected.indices[:5]]
    for by in ("rows", "model"):
        scores = labelwood.ray.predict(tmp_path / "ray" / "model", asked, batch=30, by=by)
        assert (scores != expected).nnz == 0


def test_a_second_call_goes_on_and_another_training_is_refused(fit, rows, tmp_path):
    X, Y, _ = rows
    steps = []
    fit(CraftML(trees=4, threshold=0.5), X, Y, folder=tmp_path, shards=2)
    units_in(tmp_path)[0].unlink()
    fit(CraftML(trees=4, threshold=0.5), X, Y, folder=tmp_path, progress=lambda *step: steps.append(step[1:]))
    assert steps[0] == (3, 4) and steps[-1] == (4, 4)
    with pytest.raises(InputError, match="for other rows, labels or settings"):
        fit(CraftML(trees=5, threshold=0.5), X, Y, folder=tmp_path)
    fit(CraftML(trees=5, threshold=0.5), X, Y, folder=tmp_path, overwrite=True)
    CraftML(trees=5, threshold=0.5).fit(X, Y, folder=tmp_path / "local")
    assert bytes_of(tmp_path / "model") == bytes_of(tmp_path / "local")


def test_another_model_is_refused_before_any_training(fit, rows, tmp_path):
    X, Y, _ = rows
    steps = []
    fit(CraftML(trees=4, threshold=0.5), X, Y, folder=tmp_path)
    shutil.rmtree(tmp_path / "plan")
    there = bytes_of(tmp_path / "model")
    with pytest.raises(InputError, match="model that is here is of other rows.* overwrite=True"):
        fit(CraftML(trees=5, threshold=0.5), X, Y, folder=tmp_path, progress=lambda *step: steps.append(step))
    assert not steps and bytes_of(tmp_path / "model") == there
    # The training that it is of is still welcome.
    fit(CraftML(trees=4, threshold=0.5), X, Y, folder=tmp_path)
    unfinished = tmp_path / "model.partial"
    unfinished.mkdir()
    (unfinished / "settings.json").write_text("{}")
    with pytest.raises(InputError, match="unfinished model of other rows.* remove it"):
        fit(CraftML(trees=5, threshold=0.5), X, Y, folder=tmp_path, overwrite=True)
    shutil.rmtree(unfinished)
    fit(CraftML(trees=5, threshold=0.5), X, Y, folder=tmp_path, overwrite=True)
    assert len(units_in(tmp_path)) == 5 and bytes_of(tmp_path / "model") != there


def test_what_no_node_can_run_is_refused(fit, rows, tmp_path):
    X, Y, _ = rows
    with pytest.raises(InputError, match="asks for 9 CPUs"):
        fit(CraftML(trees=2), X, Y, folder=tmp_path / "a", cpus=9)
    with pytest.raises(InputError, match="but no machine has both"):
        fit(CraftML(trees=2), X, Y, folder=tmp_path / "b", memory=2**50)
    with pytest.raises(InputError, match="shards is 0"):
        fit(CraftML(trees=2), X, Y, folder=tmp_path / "c", shards=0)
    with pytest.raises(InputError, match="y is missing"):
        fit(CraftML(trees=2), X, folder=tmp_path / "d")


@pytest.mark.parametrize("shared", [False, True])
def test_a_worker_that_is_killed_loses_nothing(cluster, fit, long, expected, shared, tmp_path):
    task = "train_in" if shared else "train_apart"
    call = Background(fit, *long, folder=tmp_path, shards=2, shared=shared)
    victim = until(lambda: workers_of(cluster.head_node, task))[0]
    if shared:
        until(lambda: units_in(tmp_path))
    assert victim in workers_of(cluster.head_node, task)
    os.kill(victim, signal.SIGKILL)
    call.finish()
    assert bytes_of(tmp_path / "model") == expected


@pytest.mark.parametrize("shared", [False, True])
def test_a_node_that_is_killed_loses_nothing(cluster, fit, long, expected, shared, tmp_path):
    node = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    task = "train_in" if shared else "train_apart"
    call = Background(fit, *long, folder=tmp_path, shards=3, shared=shared)
    until(lambda: workers_of(node, task))
    cluster.remove_node(node, allow_graceful=False)
    call.finish()
    assert bytes_of(tmp_path / "model") == expected


@pytest.mark.parametrize("work", ["fit", "tune", "by rows", "by model"])
def test_what_always_dies_is_started_as_often_as_attempts_says(fit, rows, work, tmp_path, monkeypatch):
    import labelwood.ray

    X, Y, _ = rows
    CraftML(trees=2).fit(X, Y, folder=tmp_path / "model")
    started = tmp_path / "started"
    started.mkdir()

    def die(*_):
        (started / str(os.getpid())).touch()
        os.kill(os.getpid(), signal.SIGKILL)

    class Dying:
        def __init__(self, *_):
            pass

        def is_open(self):
            return True

        def scores(self, *_):
            die()

    call = {
        "fit": lambda: fit(CraftML(trees=2), X, Y, folder=tmp_path, shards=1),
        "tune": lambda: labelwood.ray.tune(CraftML(trees=2), [{}], X, Y, folds=2),
        "by rows": lambda: labelwood.ray.predict(tmp_path / "model", X),
        "by model": lambda: labelwood.ray.predict(tmp_path / "model", X, by="model", shares=1),
    }[work]
    monkeypatch.setattr("labelwood.ray._fit.train_apart", die)
    monkeypatch.setattr(
        "labelwood.ray._tune._fold", lambda *given: die() if 0 in given[3] else 0.5
    )
    monkeypatch.setattr("labelwood.ray._predict._predict", die)
    monkeypatch.setattr("labelwood.ray._predict.WorkerShare", Dying)
    with pytest.raises(MachineError, match="a task was lost"):
        call()
    assert len(list(started.iterdir())) == 3


def test_what_finishes_without_its_units_is_started_as_often(fit, rows, tmp_path, monkeypatch):
    X, Y, _ = rows
    started = tmp_path / "started"
    started.mkdir()

    def leave(*_):
        (started / str(time.monotonic_ns())).touch()
        return {}

    monkeypatch.setattr("labelwood.ray._fit.train_apart", leave)
    with pytest.raises(MachineError, match=r"shards \[0\] are still missing after 3 attempts"):
        fit(CraftML(trees=2), X, Y, folder=tmp_path, shards=1)
    assert len(list(started.iterdir())) == 3


DRIVER = """
import sys
import ray
import labelwood.ray
from labelwood import CraftML, datasets
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
X, Y, _ = datasets.generate("eurlex-4k", rows=3000)
labelwood.ray.fit(CraftML(trees=40), X, Y, folder=sys.argv[2], shards=6, shared=sys.argv[3] == "True")
"""


@pytest.mark.parametrize("shared", [False, True])
def test_a_driver_that_is_killed_is_taken_up(cluster, fit, long, expected, shared, tmp_path):
    arguments = [sys.executable, "-c", DRIVER, cluster.address, str(tmp_path), str(shared)]
    driver = subprocess.Popen(arguments, cwd=tmp_path)
    finished = until(lambda: units_in(tmp_path))
    assert driver.poll() is None
    driver.kill()
    driver.wait()
    assert not (tmp_path / "model").exists()
    written = [unit.stat().st_mtime_ns for unit in finished]
    steps = []
    fit(*long, folder=tmp_path, shared=shared, progress=lambda *step: steps.append(step))
    assert bytes_of(tmp_path / "model") == expected
    assert 0 < steps[0][1] < 40
    if shared:
        assert [unit.stat().st_mtime_ns for unit in finished] == written


def test_prediction_by_rows_is_local_prediction(fit, rows, tmp_path):
    import labelwood.ray

    X, Y, _ = rows
    LabelTree().fit(X, Y).save(tmp_path / "model")
    local = load(tmp_path / "model").predict_top_k(X, k=7)
    steps = []
    scores = labelwood.ray.predict(
        tmp_path / "model", X, 7, batch=90, progress=lambda *step: steps.append(step)
    )
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(local, name))
    assert scores.shape == local.shape and steps[-1] == ("predict", 300, 300)
    assert labelwood.ray.predict(tmp_path / "model", X[:0]).shape == (0, Y.shape[1])
    with pytest.raises(InputError, match="must be the path"):
        labelwood.ray.predict(LabelTree(), X)


def test_prediction_by_shares_of_a_model_is_local_prediction(fit, estimator, rows, tmp_path):
    import labelwood.ray

    X, Y, _ = rows
    estimator.fit(X, Y, folder=tmp_path / "model")
    scores = labelwood.ray.predict(tmp_path / "model", X, by="model", batch=130)
    local = estimator.predict_top_k(X)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(local, name))


@pytest.mark.parametrize("by", ["rows", "model"])
def test_rows_that_do_not_fit_the_model_are_refused_as_locally(fit, rows, model_of_text, by, tmp_path):
    import labelwood.ray

    X, Y, _ = rows
    OneVsRest().fit(X, Y, folder=tmp_path / "model")
    with pytest.raises(ValueError, match="X has 100 features, but OneVsRest is expecting 5000"):
        labelwood.ray.predict(tmp_path / "model", X[:, :100], by=by)
    with pytest.raises(ValueError, match="could not convert string to float"):
        labelwood.ray.predict(tmp_path / "model", ["a text"], by=by)
    with pytest.raises(ValueError, match="must be a string"):
        labelwood.ray.predict(model_of_text, np.ones((2, 3)), by=by)
    with pytest.raises(FileNotFoundError, match="there is no model here"):
        labelwood.ray.predict(tmp_path / "nothing", X, by=by)


def test_a_model_is_divided_anew_when_a_node_is_gone(fit, rows, tmp_path, monkeypatch, caplog):
    import labelwood.ray
    from labelwood.ray import _predict

    X, Y, _ = rows
    local = CraftML(trees=4).fit(X, Y, folder=tmp_path / "model").predict_top_k(X)
    # A node that has just died is counted, at first.
    divisions = [3]
    division = _predict._division
    monkeypatch.setattr("labelwood.ray._cluster.QUIET", 2)
    monkeypatch.setattr(
        "labelwood.ray._predict._division",
        lambda *arguments: (divisions.pop(), 0) if divisions else division(*arguments),
    )
    scores = labelwood.ray.predict(tmp_path / "model", X, by="model", batch=130)
    assert (scores != local).nnz == 0
    assert "has room for 2 shares now, and the model has 3: it is divided anew" in caplog.text


def test_shares_that_do_not_fit_at_once_are_refused(fit, rows, tmp_path, monkeypatch):
    import labelwood.ray
    from labelwood.ray import _predict

    X, Y, _ = rows
    local = CraftML(trees=4).fit(X, Y, folder=tmp_path / "model").predict_top_k(X)

    def by_model(nodes, **settings):
        """On nodes of so many CPUs and GiB, as far as the driver knows."""
        resources = [{"CPU": cpus, "memory": memory * 2**30} for cpus, memory in nodes]
        monkeypatch.setattr("labelwood.ray._cluster._machines", lambda: resources)
        return labelwood.ray.predict(tmp_path / "model", X, by="model", **settings)

    with pytest.raises(InputError, match="shares is 3, but the cluster has room for 2 at once"):
        by_model([(3, 2), (3, 2)], shares=3, cpus=2)
    with pytest.raises(InputError, match="room for 2 at once, each with 1 CPUs and 1.50 GiB"):
        by_model([(4, 2), (4, 2)], shares=4, memory=3 * 2**29)
    with pytest.raises(InputError, match="the machines have no room for all shares"):
        by_model([(4, 0), (4, 2**-20)])
    with pytest.raises(InputError, match="asks for 2 CPUs and 0.00 GiB .* no machine has both"):
        by_model([(1, 2), (1, 2)], cpus=2)
    # By default, as many as fit node by node; fewer if these are then small enough for the memory.
    monkeypatch.setattr(
        "labelwood.ray._cluster._machines", lambda: [{"CPU": 3, "memory": 10}, {"CPU": 3, "memory": 10}]
    )
    (tmp_path / "sized").mkdir()
    (tmp_path / "sized" / "unit").write_bytes(bytes(12))
    division = _predict._division
    assert division(tmp_path / "sized", None, 2, 0) == (2, 0)
    assert division(tmp_path / "sized", None, 1, None) == (6, 2)
    (tmp_path / "sized" / "unit").write_bytes(bytes(20))
    assert division(tmp_path / "sized", None, 1, None) == (6, 3)
    # No memory is asked for, so that they fit.
    assert (by_model([(1, 0), (1, 0)], memory=0) != local).nnz == 0


def test_shares_that_wait_for_others_say_so(fit, rows, tmp_path, monkeypatch, caplog):
    import labelwood.ray

    X, Y, _ = rows
    local = CraftML(trees=4).fit(X, Y, folder=tmp_path / "model").predict_top_k(X)
    monkeypatch.setattr("labelwood.ray._cluster.QUIET", 1)
    until(lambda: ray.available_resources().get("CPU") == 2)

    @ray.remote(num_cpus=1)
    class Other:
        def is_there(self):
            return True

    other = Other.remote()
    ray.get(other.is_there.remote())
    found = []
    call = Background(
        lambda: found.append(labelwood.ray.predict(tmp_path / "model", X, by="model"))
    )
    until(lambda: "1 of 2 shares are not open: waiting for 1 CPUs" in caplog.text)
    ray.kill(other)
    call.finish()
    assert (found[0] != local).nnz == 0


def test_four_shares_survive_the_death_of_one(cluster, fit, model_of_text):
    import labelwood.ray

    nodes = [cluster.add_node(**NODE) for _ in range(2)]
    cluster.wait_for_nodes()
    texts = datasets.load_questions().test_texts * 20
    killed = []

    def kill(*_):
        if not killed:
            killed.extend(workers_of(cluster.head_node, "WorkerShare"))
            os.kill(killed[0], signal.SIGKILL)

    found = labelwood.ray.predict(
        model_of_text, texts, by="model", shares=4, batch=100, progress=kill
    )
    assert killed and (found != load(model_of_text).predict_top_k(texts)).nnz == 0
    with pytest.raises(InputError, match="shares is 5, but the cluster has room for 4"):
        labelwood.ray.predict(model_of_text, texts, by="model", shares=5)
    for node in nodes:
        cluster.remove_node(node)


def test_settings_are_compared_by_cross_validation(fit, rows):
    import labelwood.ray

    X, Y, _ = rows
    candidates = [{"trees": 1}, {"trees": 6}]
    table = labelwood.ray.tune(CraftML(), candidates, X, Y, metric="p@1", folds=2)
    assert [row["settings"] for row in table] == candidates[::-1]
    assert table[0]["p@1"] == pytest.approx(np.mean(table[0]["folds"]))
    assert table[0]["p@1"] > table[1]["p@1"]
    with pytest.raises(InputError, match="must be one of p@1"):
        labelwood.ray.tune(CraftML(trees=1), [{}], X, Y, metric="best@1", folds=2)
    with pytest.raises(InputError, match=r"candidates\[1\] sets n_jobs, .* given as cpus"):
        labelwood.ray.tune(CraftML(trees=1), [{}, {"n_jobs": 2}], X, Y)
    with pytest.raises(InputError, match="a figure such as"):
        labelwood.ray.tune(CraftML(trees=1), [{}], X, Y, metric="p")


@pytest.fixture(scope="module")
def model_of_text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text") / "model"
    questions = datasets.load_questions()
    TextTagger(CraftML(trees=4)).fit(questions.train_texts, questions.train_tags).save(folder)
    return folder


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "numpy"])
def test_batches_of_every_kind_get_tags(fit, model_of_text, kind):
    import pyarrow as pa

    import labelwood.ray

    texts = datasets.load_questions().test_texts[:5]
    table = pa.table({"title": texts, "number": range(5)})
    batch = {
        "pyarrow": lambda: table,
        "pandas": table.to_pandas,
        "numpy": lambda: {name: table[name].to_numpy() for name in table.column_names},
    }[kind]()
    predictor = labelwood.ray.Predictor(model_of_text, top_k=3, text_column="title")
    tagged = predictor(batch)
    if kind == "pyarrow":
        tagged = tagged.to_pydict()
    expected = load(model_of_text).predict(texts, k=3)
    pairs = [list(zip(*row)) for row in zip(tagged["labels"], tagged["scores"])]
    assert pairs == expected and list(tagged["number"]) == list(range(5))
    assert "labels" not in (table.column_names if kind == "pyarrow" else batch)
    with pytest.raises(InputError, match="must be one of title, number"):
        labelwood.ray.Predictor(model_of_text)(batch)
    with pytest.raises(InputError, match="column 'labels' already: .* with label_column="):
        predictor(predictor(batch))
    named = labelwood.ray.Predictor(model_of_text, 3, "title", label_column="tags")
    with pytest.raises(InputError, match="column 'scores' already: .* with score_column="):
        named(predictor(batch))
    with pytest.raises(InputError, match="are both 'tags', but must differ"):
        labelwood.ray.Predictor(model_of_text, label_column="tags", score_column="tags")
