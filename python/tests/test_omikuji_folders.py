"""The folders of ``labelwood.compat.omikuji`` and of the omikuji package."""

import copy
import filecmp
import json
import pickle
import shutil

import numpy as np
import pytest
from stand_in import listing, pairs, settings

from labelwood.compat import omikuji as ours

theirs = pytest.importorskip("omikuji")


@pytest.mark.parametrize("loss", [0, 1])
def test_folders_that_omikuji_wrote_are_read(documents, tmp_path, loss):
    X, Y, path = documents
    values = {"min_branch_size": 30, "cluster_k": 4, "cluster_balanced": False}
    hyper_param = settings(theirs, linear_loss_type=loss, **values)
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
    assert same_files(tmp_path / "theirs", tmp_path / "copy")


def same_files(left, right):
    _, others, failed = filecmp.cmpfiles(left, right, listing(left), shallow=False)
    return listing(left) == listing(right) and not others and not failed


def test_dense_weights_and_many_trees_are_saved_again(training_file, tmp_path):
    right = theirs.Model.train_on_data(training_file, settings(theirs, n_trees=12))
    right.densify_weights(0.0)
    right.save(str(tmp_path / "theirs"))
    assert b"Dense" in (tmp_path / "theirs" / "tree11.cbor").read_bytes()
    ours.Model.load(str(tmp_path / "theirs")).save(str(tmp_path / "copy"))
    assert same_files(tmp_path / "theirs", tmp_path / "copy")


def test_a_model_of_omikujis_outlives_its_folder(omikujis, model, tmp_path):
    loaded = ours.Model.load(str(omikujis))
    best, names = loaded.predict([(0, 1.0)]), listing(omikujis)
    shutil.rmtree(omikujis)
    loaded.save(str(omikujis))
    assert listing(omikujis) == names
    assert ours.Model.load(str(omikujis)).predict([(0, 1.0)]) == best
    # Another model in its place is not what is saved.
    model.save(str(omikujis))
    loaded.save(str(tmp_path / "elsewhere"))
    assert listing(tmp_path / "elsewhere") == names
    assert ours.Model.load(str(tmp_path / "elsewhere")).predict([(0, 1.0)]) == best


@pytest.mark.parametrize("there", ["nothing", "labelwood's", "omikuji's", "both"])
def test_saving_keeps_other_files_and_leaves_no_other_model(either, there, omikujis, training_file,
                                                            tmp_path):
    either, best = either
    folder = tmp_path / "real"
    folder.mkdir()
    if there in ("labelwood's", "both"):
        ours.Model.train_on_data(training_file, settings(ours, n_trees=1)).save(str(folder))
    if there in ("omikuji's", "both"):
        shutil.copytree(omikujis, folder, dirs_exist_ok=True)
        shutil.copy(folder / "tree0.cbor", folder / "tree7.cbor")
    others = {"notes.txt", ".gitkeep"}
    for name in others:
        (folder / name).write_text(name)
    (tmp_path / "link").symlink_to(folder)
    either.save(str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    either.save(str(tmp_path / "clean"))
    assert set(listing(folder)) == set(listing(tmp_path / "clean")) | others
    assert all((folder / name).read_text() == name for name in others)
    assert ours.Model.load(str(folder)).predict([(0, 1.0), (1, 0.5)]) == best
    assert not list(tmp_path.glob("*.partial"))


def test_a_model_is_saved_to_the_current_folder(either, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    either[0].save("")
    assert ours.Model.load(".").predict([(0, 1.0), (1, 0.5)]) == either[1]


def test_files_of_the_same_names_are_no_models(model, omikujis, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "settings.json").write_text('{"name": "mine"}')
    with pytest.raises(RuntimeError, match="the settings.json there is not omikuji's"):
        ours.Model.load(str(omikujis)).save(str(mine))
    assert listing(mine) == ["settings.json"]
    model.save(str(mine))
    assert (mine / "settings.json").read_text() == '{"name": "mine"}'
    assert ours.Model.load(str(mine)).predict([(0, 1.0)]) == model.predict([(0, 1.0)])
    (tmp_path / "manifest.json").write_text("no JSON")
    with pytest.raises(RuntimeError, match="the manifest.json there is not labelwood's"):
        ours.Model.load(str(omikujis)).save(str(tmp_path))
    assert (tmp_path / "manifest.json").read_text() == "no JSON"


def test_a_folder_with_two_models_is_not_loaded(model, omikujis, tmp_path):
    model.save(str(tmp_path / "both"))
    theirs.Model.load(str(omikujis)).save(str(tmp_path / "both"))
    with pytest.raises(RuntimeError, match="manifest.json and omikuji's settings.json are both"):
        ours.Model.load(str(tmp_path / "both"))


@pytest.mark.parametrize("there", ["notes", "labelwood's", "omikuji's"])
def test_a_save_that_fails_changes_nothing(either, there, written, training_file, tmp_path):
    resource = pytest.importorskip("resource")
    folder = tmp_path / "folder"
    if there == "omikuji's":
        shutil.copytree(written, folder)
    elif there == "labelwood's":
        ours.Model.train_on_data(training_file, settings(ours, n_trees=1)).save(str(folder))
    else:
        folder.mkdir()
        (folder / "notes.txt").write_text("notes")
    before = {name: (folder / name).read_bytes() for name in listing(folder)}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(RuntimeError, match="Failed to save model to .*File too large"):
            either[0].save(str(folder))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {name: (folder / name).read_bytes() for name in listing(folder)} == before


def test_every_model_can_be_pickled_and_copied(either):
    either, best = either
    for again in (pickle.loads(pickle.dumps(either)), copy.deepcopy(either)):
        assert again.predict([(0, 1.0), (1, 0.5)]) == best
        assert (again.n_trees, again.n_features) == (either.n_trees, either.n_features)


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


