"""What happens around the work: threads, signals, forks, progress and messages."""

import logging
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from scipy import sparse

import labelwood
from labelwood import CraftML, LabelForest, LabelTree, MachineError, OneVsRest, datasets

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def python(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )


def test_other_threads_run_while_a_model_is_trained():
    X, Y, _ = datasets.generate("eurlex-4k", rows=2000)
    beats, done = [], threading.Event()

    def beat():
        while not done.is_set():
            beats.append(time.monotonic())
            time.sleep(0.001)

    beating = threading.Thread(target=beat)
    beating.start()
    start = time.monotonic()
    CraftML(trees=10, n_jobs=1).fit(X, Y)
    end = time.monotonic()
    done.set()
    beating.join()
    within = [at for at in beats if start < at < end]
    assert len(within) > 0.1 * (end - start) / 0.01


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot interrupt one process of several")
@pytest.mark.parametrize("name", ["CraftML", "LabelTree", "OneVsRest", "LabelForest", "Grove"])
def test_an_interrupt_stops_a_training_within_a_second(name):
    code = """
        import signal, sys, labelwood
        # Who runs the tests in the background may have it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        X, Y, _ = labelwood.datasets.generate("wiki10-31k", rows=4000)
        print("ready", flush=True)
        try:
            getattr(labelwood, sys.argv[1])().fit(X, Y)
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """
    process = python(code, name)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1.5)
    assert process.poll() is None, "it takes longer than that"
    before = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "stopped\n", process.stderr.read()
    # A second if the machine has nothing else to do.
    assert time.monotonic() - before < 4
    process.wait()


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_may_fork_at_any_time(rows, tmp_path):
    X, Y, _ = rows
    fitted = LabelTree(trees=1).fit(X, Y)
    expected = fitted.predict_top_k(X).data
    fitted.save(tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")

    def works():
        return all(
            (model.predict_top_k(X).data == expected).all()
            and model.predict_top_k(X[:1]).nnz == 5
            and LabelTree(trees=1).fit(X, Y).model_.files() == fitted.model_.files()
            for model in (fitted, loaded)
        )

    assert in_a_child(works), "after a training"
    assert works()
    assert in_a_child(works), "after predictions of one row and of many"


def test_the_scores_of_one_row_are_a_matrix_like_any_other(rows):
    X, Y, _ = rows
    model = LabelTree(trees=1).fit(X, Y)
    together = model.predict_top_k(X[:3])
    alone = [model.predict_top_k(X[[at]]) for at in range(3)]
    for at, row in enumerate(alone):
        row.check_format(full_check=True)
        assert row.shape == (1, Y.shape[1]) and row.dtype == together.dtype
        assert row.indices.dtype == row.indptr.dtype
        assert (row != together[[at]]).nnz == 0
        assert (pickle.loads(pickle.dumps(row)) != row).nnz == 0
    assert (sparse.vstack(alone) != together).nnz == 0
    alone[0].sum_duplicates()
    alone[0].data[:] = 0
    assert alone[1].nnz == 5 and (alone[1].data > 0).all()
    assert (model.predict_top_k(X[[0]]) != together[[0]]).nnz == 0


def in_a_child(works):
    """Whether something works in a process that is forked from this one."""
    child = os.fork()
    if child == 0:
        os._exit(0 if works() else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


@forks
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_that_wait_for_small_calls_change_no_answer_and_no_fork(rows):
    X, Y, _ = rows
    few = X[:60]
    model = CraftML(trees=40).fit(X, Y)
    expected = model.set_params(n_jobs=1).predict_top_k(few)

    def works():
        for n_jobs in (2, 3, None, 1, 2):
            model.set_params(n_jobs=n_jobs)
            for _ in range(5):
                found = model.predict_top_k(few)
                if not (np.array_equal(found.data, expected.data)
                        and np.array_equal(found.indices, expected.indices)):
                    return False
        return True

    before = threads_of_ours()
    assert works()
    if before is not None:
        assert threads_of_ours() > before, "sixty rows are too few to be shared: take more"
    assert in_a_child(works)
    assert works()
    outcomes = []
    callers = [threading.Thread(target=lambda: outcomes.append(works())) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert outcomes == [True] * 4


def threads_of_ours():
    """How many threads of this process are the package's, where the system tells."""
    try:
        tasks = [task / "comm" for task in pathlib.Path("/proc/self/task").iterdir()]
        return sum(name.read_text().startswith("labelwood") for name in tasks)
    except OSError:
        return None


def test_a_killed_interpreter_leaves_the_old_model_or_the_new_one(rows, tmp_path):
    X, Y, _ = rows
    LabelTree(trees=1).fit(X, Y).save(tmp_path / "model")
    code = """
        import sys, labelwood
        X, Y, _ = labelwood.datasets.generate("eurlex-4k", rows=100)
        other = labelwood.CraftML(trees=20).fit(X, Y)
        print("ready", flush=True)
        while True:
            other.save(sys.argv[1], overwrite=True)
    """
    for wait in (0.01, 0.1):
        process = python(code, tmp_path / "model")
        assert process.stdout.readline() == "ready\n", process.stderr.read()
        time.sleep(wait)
        process.kill()
        process.wait()
        assert isinstance(labelwood.load(tmp_path / "model"), (LabelTree, CraftML))


def test_progress_is_reported_and_an_exception_stops_the_work(estimator, rows):
    X, Y, _ = rows
    calls = []
    estimator.fit(X, Y, progress=lambda *call: calls.append(call))
    assert calls and all(0 <= done <= total for _, done, total in calls)
    # Threads report in any order.
    assert any(done == total for _, done, total in calls)
    calls.clear()
    estimator.predict_top_k(X, progress=lambda *call: calls.append(call))
    assert calls[-1] == ("rows", 300, 300)

    def stop(*_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        estimator.fit(X, Y, progress=stop)


def test_verbose_shows_a_bar(rows, capfd):
    X, Y, _ = rows
    CraftML(trees=2, verbose=1).fit(X, Y)
    assert "CraftML: trees" in capfd.readouterr().err
    CraftML(trees=2).fit(X, Y)
    assert capfd.readouterr().err == ""


def test_messages_go_through_logging(rows, caplog):
    X, Y, _ = rows
    with caplog.at_level(logging.INFO, "labelwood"):
        LabelForest(submodels=1, rate=0.1, cover=False).fit(X, Y)
    assert any(
        record.name == "labelwood" and record.levelno == logging.WARNING
        and "no submodel drew" in record.getMessage()
        for record in caplog.records
    )


def test_many_threads_predict_at_once(rows):
    X, Y, _ = rows
    model = OneVsRest().fit(X, Y)
    expected = model.predict_top_k(X[:8]).data
    results = []

    def predict():
        for _ in range(20):
            results.append((model.predict_top_k(X[:8]).data == expected).all())

    threads = [threading.Thread(target=predict) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(results) == 80 and all(results)


def test_more_threads_than_are_of_use_are_refused():
    with pytest.raises(MachineError, match="could not start 100000 threads: at most 1024 are of use"):
        LabelTree(1, n_jobs=100_000).fit(np.eye(2), [["x"], ["y"]])
