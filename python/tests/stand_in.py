"""Models of omikuji and of its stand-in, for the tests of the latter."""

import os
import pathlib
import shutil

import pytest

from labelwood import datasets
from labelwood.compat import omikuji as ours

#: Rows as omikuji reads them.
DOCUMENTS = "4 00000005 00000003\n1,0 1:0.5 0:1.0\n1 1:1\n2 4:0.3 2:1\n0 3:0.2 0:1\n"


@pytest.fixture(scope="module")
def training_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("documents") / "train.txt"
    path.write_text(DOCUMENTS)
    return str(path)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    X, Y, _ = datasets.generate("eurlex-4k", rows=600)
    path = tmp_path_factory.mktemp("rows") / "rows.txt"
    datasets.write(path, X, Y)
    return X, Y, str(path)


@pytest.fixture(scope="module")
def model(training_file):
    return ours.Model.train_on_data(training_file)


@pytest.fixture(scope="module")
def written(training_file, tmp_path_factory):
    theirs = pytest.importorskip("omikuji")
    folder = tmp_path_factory.mktemp("omikuji") / "model"
    theirs.Model.train_on_data(training_file, n_threads=1).save(str(folder))
    return folder


@pytest.fixture
def omikujis(written, tmp_path):
    """A folder that omikuji wrote."""
    return pathlib.Path(shutil.copytree(written, tmp_path / "omikujis"))


@pytest.fixture(params=["labelwood's", "omikuji's"])
def either(request, model, omikujis):
    """A model of each kind, and what it predicts."""
    model = model if request.param == "labelwood's" else ours.Model.load(str(omikujis))
    return model, model.predict([(0, 1.0), (1, 0.5)])


def settings(omikuji, **values):
    hyper_param = omikuji.Model.default_hyper_param()
    for name, value in values.items():
        setattr(hyper_param, name, value)
    return hyper_param


def listing(folder):
    return sorted(os.listdir(folder))


def pairs(X, row):
    row = X[[row]]
    return list(zip(row.indices, row.data))
