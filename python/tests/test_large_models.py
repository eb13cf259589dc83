"""Models that are learned on disk because they are large; here all are."""

import os
import pickle
import subprocess
import sys

import pytest
from conftest import bytes_of
from sklearn.base import clone

import labelwood
from labelwood import _inputs

pytestmark = pytest.mark.skipif(os.name != "posix", reason="they are in memory on this system")


@pytest.fixture
def temporary(monkeypatch, tmp_path):
    """The system's temporary folder, and every model large."""
    monkeypatch.setattr(_inputs, "LARGE_MODEL", 0)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def same(one, other):
    return (one != other).nnz == 0


def test_it_is_the_model_that_is_learned_in_memory(estimator, rows, monkeypatch, tmp_path):
    X, Y, _ = rows
    here = clone(estimator).fit(X, Y)
    here.save(tmp_path / "here")
    monkeypatch.setattr(_inputs, "LARGE_MODEL", 0)
    there = clone(estimator).fit(X, Y)
    there.save(tmp_path / "there")
    assert bytes_of(tmp_path / "there") == bytes_of(tmp_path / "here")


def test_nothing_is_left_behind_and_everything_works(estimator, rows, temporary, tmp_path):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    assert not list(temporary.iterdir())
    expected = fitted.predict_top_k(X)
    assert same(pickle.loads(pickle.dumps(fitted)).predict_top_k(X), expected)
    fitted.save(tmp_path / "model")
    assert same(labelwood.load(tmp_path / "model").predict_top_k(X), expected)


def test_texts_are_learned_there_too(temporary):
    questions = labelwood.datasets.load_questions()
    tagger = labelwood.TextTagger().fit(questions.train_texts, questions.train_tags)
    assert not list(temporary.iterdir())
    assert len(tagger.predict(questions.test_texts[:1])[0]) == 5


def test_a_training_that_is_stopped_leaves_nothing(rows, temporary):
    X, Y, _ = rows

    def stop(stage, done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        labelwood.CraftML(trees=4).fit(X, Y, progress=stop)
    assert not list(temporary.iterdir())


def test_without_a_temporary_folder_it_is_in_memory(estimator, rows, temporary, monkeypatch):
    X, Y, _ = rows
    monkeypatch.setenv("TMPDIR", str(temporary / "missing"))
    assert clone(estimator).fit(X, Y).predict_top_k(X).nnz > 0


def test_without_room_it_is_in_memory_and_says_so(temporary):
    code = """if True:
        import logging, resource
        from labelwood import CraftML, _inputs, datasets
        logging.basicConfig()
        _inputs.LARGE_MODEL = 0
        X, Y, _ = datasets.generate("eurlex-4k", rows=300)
        # As on a full disk, no file can have more bytes than these.
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        print(CraftML(trees=4).fit(X, Y).predict_top_k(X).nnz)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
    assert "the model is learned in memory instead" in done.stderr
    assert not list(temporary.iterdir())
