"""Models in folders: the command and Python open each other's."""

import os
import tarfile

import numpy as np
import pytest
from sklearn.base import clone

import labelwood
from conftest import bytes_of
from labelwood import CraftML, InputError, LabelTree, MachineError, OneVsRest, TextTagger, datasets


def test_a_saved_model_is_the_same_again(estimator, rows, tmp_path):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    fitted.save(tmp_path / "model")
    for mmap in (True, False):
        loaded = labelwood.load(tmp_path / "model", mmap=mmap)
        assert type(loaded) is type(fitted)
        assert loaded.model_.files() == fitted.model_.files()
        left, right = loaded.predict_top_k(X), fitted.predict_top_k(X)
        assert np.array_equal(left.indices, right.indices) and np.array_equal(left.data, right.data)
    loaded.save(tmp_path / "again")
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "model")
    refitted = clone(loaded).fit(X, Y)
    assert refitted.model_.files() == fitted.model_.files()


def test_one_file_is_an_archive_of_the_folder_and_the_same_model(estimator, rows, tmp_path):
    X, Y, _ = rows
    fitted = clone(estimator).fit(X, Y)
    fitted.save(tmp_path / "model")
    fitted.save(tmp_path / "model.labelwood")
    with tarfile.open(tmp_path / "model.labelwood", "r:") as archive:
        members = archive.getmembers()
        packed = {member.name: archive.extractfile(member).read() for member in members}
    assert packed == bytes_of(tmp_path / "model")
    assert members[0].name == "manifest.json"
    assert all(member.mtime == member.uid == 0 and member.offset_data % 512 == 0 for member in members)
    for mmap in (True, False):
        loaded = labelwood.load(tmp_path / "model.labelwood", mmap=mmap)
        assert type(loaded) is type(fitted)
        left, right = loaded.predict_top_k(X), fitted.predict_top_k(X)
        assert np.array_equal(left.indices, right.indices) and np.array_equal(left.data, right.data)
    loaded.save(tmp_path / "again")
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "model")


def test_one_file_follows_the_rules_of_folders(rows, tmp_path):
    X, Y, _ = rows
    path = tmp_path / "model.labelwood"
    few = OneVsRest(threshold=0.5).fit(X[:200], Y[:200], keep_rows=True, folder=path)
    assert path.is_file() and not path.with_name("model.labelwood.partial").exists()
    with pytest.raises(InputError, match="overwrite=True"):
        few.save(path)
    few.update(X[200:], Y[200:], folder=path)
    assert labelwood.load(path).model_.files() == few.model_.files()
    before, after = labelwood.shrink(path, tmp_path / "small.labelwood", prune=0.2)
    assert after < before and (tmp_path / "small.labelwood").is_file()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="model.labelwood: .*copy the model again"):
        labelwood.load(path)
    path.write_text("years of work")
    with pytest.raises(InputError, match="not a model but holds a file"):
        few.save(path, overwrite=True)


def test_the_command_writes_the_same_bytes(estimator, rows, command, tmp_path):
    X, Y, _ = rows
    datasets.write(tmp_path / "train.txt", X, Y)
    flags = []
    for name, value in estimator.get_params().items():
        # The parts of a grove, whose number of label trees has a flag of its own.
        if name in ("forest", "label_tree"):
            continue
        flag = {"forest__trees": "trees", "label_tree__trees": "label-trees"}.get(name, name)
        plain = type(estimator)().get_params().get(name)
        if name == "threshold":
            flags += ["--threshold", value]
        elif value != plain and (plain is not None or flag != name):
            flags += [f"--{flag.replace('_', '-')}", value]
    algorithm = estimator.algorithm
    command("train", tmp_path / "train.txt", "--model", tmp_path / "theirs",
            "--algorithm", algorithm, *flags)
    read = datasets.read(tmp_path / "train.txt")
    clone(estimator).fit(read.X, read.Y).save(tmp_path / "ours")
    assert bytes_of(tmp_path / "ours") == bytes_of(tmp_path / "theirs")
    command("predict", tmp_path / "ours", tmp_path / "train.txt", "--format", "xc",
            "--output", tmp_path / "scores.txt")
    lines = (tmp_path / "scores.txt").read_text().splitlines()[1:]
    best = labelwood.load(tmp_path / "theirs").predict_top_k(read.X, k=5)
    for row, line in enumerate(lines):
        pairs = dict(pair.split(":") for pair in line.split())
        ours = best[[row]]
        assert {str(label) for label in ours.indices} == pairs.keys()
        for label, score in zip(ours.indices, ours.data):
            assert float(pairs[str(label)]) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("calibrated", [[], ["--calibrate"]], ids=["plain", "calibrated"])
def test_models_of_text_go_both_ways(calibrated, command, tmp_path):
    questions = datasets.load_questions()
    lines = [f"{text}\t{';'.join(tags)}\n"
             for text, tags in zip(questions.train_texts, questions.train_tags)]
    (tmp_path / "train.tsv").write_text("".join(lines))
    command("train", tmp_path / "train.tsv", "--model", tmp_path / "theirs", "--trees", 3,
            "--algorithm", "craftml", "--threshold", "auto", *calibrated)
    tagger = TextTagger(CraftML(trees=3, calibrate=bool(calibrated)), separator=";")
    tagger.fit(questions.train_texts, questions.train_tags).save(tmp_path / "ours")
    assert bytes_of(tmp_path / "ours") == bytes_of(tmp_path / "theirs")
    loaded = labelwood.load(tmp_path / "theirs")
    assert isinstance(loaded, TextTagger)
    assert loaded.predict(questions.test_texts) == tagger.predict(questions.test_texts)
    again = clone(loaded).fit(questions.train_texts, questions.train_tags)
    assert again.model_.files() == loaded.model_.files()


def test_the_default_is_that_of_the_command(command, tmp_path):
    questions = datasets.load_questions()
    lines = [f"{text}\t{';'.join(tags)}\n"
             for text, tags in zip(questions.train_texts, questions.train_tags)]
    (tmp_path / "train.tsv").write_text("".join(lines))
    (tmp_path / "more.tsv").write_text("x:1\tlocal history\ttown history\nx:2\tbeekeeping\tbees\n")
    command("train", tmp_path / "train.tsv", "--model", tmp_path / "theirs",
            "--vocabulary", tmp_path / "more.tsv")
    tagger = TextTagger(separator=";")
    known = {"x:1": ["local history", "town history"], "x:2": ["beekeeping", "bees"]}
    for vocabulary in (tmp_path / "more.tsv", known):
        tagger.fit(questions.train_texts, questions.train_tags, vocabulary=vocabulary)
        tagger.save(tmp_path / "ours", overwrite=True)
        assert bytes_of(tmp_path / "ours") == bytes_of(tmp_path / "theirs")
    loaded = labelwood.load(tmp_path / "theirs")
    assert isinstance(loaded.estimator, labelwood.Grove) and loaded.estimator.one_vs_rest == "drop"
    assert loaded.chosen_ == tagger.chosen_ and loaded.chosen_.startswith("kept: craftml, label-tree")
    assert "beekeeping" in [tag for tag, _ in loaded.predict("Where do bees live?")]


def test_a_model_of_whole_fields_is_opened_with_its_separator(command, tmp_path):
    table = "text,labels\n" + 'old lawn,Home & Garden\nold chess,"Toys, Games"\n' * 2
    (tmp_path / "goods.csv").write_text(table)
    command("train", tmp_path / "goods.csv", "--model", tmp_path / "model", "--trees", 1,
            "--label-separator", "none")
    tagger = labelwood.load(tmp_path / "model")
    assert tagger.separator == "none"
    assert tagger.classes_.tolist() == ["Home & Garden", "Toys, Games"]
    tagger.save(tmp_path / "again")
    assert bytes_of(tmp_path / "again") == bytes_of(tmp_path / "model")


def test_a_model_is_learned_into_a_folder(estimator, rows, tmp_path):
    X, Y, _ = rows
    inside = clone(estimator).fit(X, Y)
    inside.save(tmp_path / "saved")

    def stop(stage, done, total):
        if stage != "rows" and done:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        clone(estimator).fit(X, Y, folder=tmp_path / "learned", progress=stop)
    assert not (tmp_path / "learned").exists()
    learned = clone(estimator).fit(X, Y, folder=tmp_path / "learned")
    assert bytes_of(tmp_path / "learned") == bytes_of(tmp_path / "saved")
    assert learned.model_.files() == inside.model_.files()
    other = clone(estimator).set_params(random_state=7)
    with pytest.raises(InputError, match="overwrite"):
        other.fit(X, Y, folder=tmp_path / "learned")
    other.fit(X, Y, folder=tmp_path / "learned", overwrite=True)
    assert labelwood.load(tmp_path / "learned").random_state == 7


def test_a_folder_is_replaced_only_on_request(rows, tmp_path):
    X, Y, _ = rows
    first, second = CraftML(trees=1).fit(X, Y), CraftML(trees=2).fit(X, Y)
    first.save(tmp_path / "model")
    with pytest.raises(InputError, match="a model is already here"):
        second.save(tmp_path / "model")
    second.save(tmp_path / "model", overwrite=True)
    assert labelwood.load(tmp_path / "model").trees == 2
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="this is not a model but holds `thesis.tex`"):
        first.save(tmp_path / "thesis", overwrite=True)


def test_what_is_no_model_is_refused(rows, tmp_path):
    with pytest.raises(InputError, match="there is no model here"):
        labelwood.load(tmp_path)
    X, Y, _ = rows
    LabelTree(trees=1).fit(X, Y).save(tmp_path / "model")
    unit = next((tmp_path / "model").glob("labels-*"))
    unit.write_bytes(unit.read_bytes()[:-1])
    with pytest.raises(InputError, match="the file was cut short or changed"):
        labelwood.load(tmp_path / "model")


def test_faults_of_the_machine_are_os_errors(rows, tmp_path):
    X, Y, _ = rows
    if os.path.exists("/dev/full"):
        with pytest.raises(MachineError, match="/dev/full: No space left") as caught:
            datasets.write("/dev/full", X, Y, format="libsvm", overwrite=True)
        assert isinstance(caught.value, OSError)
    with pytest.raises(MachineError, match="no-such.txt"):
        datasets.read(tmp_path / "no-such.txt")


def test_a_place_that_is_no_folder_is_the_users_fault_as_in_the_command(rows, tmp_path):
    X, Y, _ = rows
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InputError, match=r"could not .* Not a directory"):
        CraftML(trees=1).fit(X, Y).save(file / "model")
    with pytest.raises(InputError, match="Not a directory"):
        datasets.read(file / "rows.txt")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="nothing is denied to root")
def test_a_missing_permission_is_the_users_fault_as_in_the_command(rows, tmp_path):
    X, Y, _ = rows
    secret, closed = tmp_path / "secret.txt", tmp_path / "closed"
    secret.write_text("1 1 1\n0 0:1\n")
    secret.chmod(0)
    closed.mkdir(mode=0o500)
    with pytest.raises(InputError, match="Permission denied"):
        datasets.read(secret)
    with pytest.raises(InputError, match="Permission denied"):
        CraftML(trees=1).fit(X, Y).save(closed / "model")


def test_a_folder_that_is_missing_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no model here"):
        labelwood.load(tmp_path / "none")
    with pytest.raises(InputError, match="there is no model here"):
        labelwood.load(tmp_path)
