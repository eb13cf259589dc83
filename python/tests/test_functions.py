"""What the command can do, as functions: updates, budgets, choices, checks, divisions, smaller models."""

import json
import re

import numpy as np
import pytest
from sklearn.base import clone

import labelwood
from labelwood import (
    CraftML, Grove, InputError, LabelForest, LabelTree, Neighbours, OneVsRest, TextTagger, datasets, search,
)

QUESTIONS = datasets.load_questions()
#: What Python has for each subcommand.
FUNCTIONS = {
    "demo": "datasets.load_questions",
    "train": "LabelTree.fit",
    "tune": "search.tune",
    "compare": "search.compare",
    "inspect": "LabelTree.evaluate",
    "predict": "LabelTree.predict_batches",
    "evaluate": "metrics.evaluate",
    "explain": "LabelTree.explain",
    "update": "LabelTree.update",
    "check": "datasets.check",
    "split": "datasets.split",
    "convert": "shrink",
    "plan": "ray.fit",
    "shard": "ray.fit",
    "merge": "ray.fit",
    "generate": "datasets.generate",
    # What the command alone has: a server, and what a terminal needs.
    "serve": None,
    "completions": None,
    "man": None,
    "help": None,
}


def test_python_has_something_for_every_subcommand(command):
    listed = command("--help").partition("Commands:\n")[2].partition("\n\n")[0]
    names = set(re.findall(r"^  ([a-z-]+)  ", listed, re.MULTILINE))
    assert {"train", "check", "split"} <= names
    assert names - FUNCTIONS.keys() == set(), "say what Python has for it"
    for name, path in FUNCTIONS.items():
        if path is None or path.startswith("ray."):
            continue
        found = labelwood
        for part in path.split("."):
            found = getattr(found, part)
        assert callable(found), name


def test_rows_are_added_as_the_command_adds_them(command, tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=300)
    train, more = tmp_path / "train.txt", tmp_path / "more.txt"
    datasets.write(train, X[:200], Y[:200])
    datasets.write(more, X[200:], Y[200:])
    command("train", train, "--model", tmp_path / "model", "--algorithm", "label-tree", "--trees", 1,
            "--keep-rows")
    command("update", tmp_path / "model", more)
    first, second = datasets.read(train), datasets.read(more)
    model = LabelTree(trees=1, threshold=0.5).fit(first, keep_rows=True).update(second.X, second.Y)
    assert model.model_.files() == labelwood.load(tmp_path / "model").model_.files()
    with pytest.raises(InputError, match="the last update of this model added the same rows.*again=True"):
        model.update(second.X, second.Y)
    model.update(second.X, second.Y, again=True, folder=tmp_path / "again")
    assert labelwood.load(tmp_path / "again").model_.files() == model.model_.files()


def test_rows_may_bring_new_labels():
    model = OneVsRest().fit(np.eye(4), [["a"], ["b"], ["a"], ["b"]], keep_rows=True)
    model.update(np.eye(4)[2:], [["b", "c"], ["c"]])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.model_.label_counts.tolist() == [2, 3, 2]
    numbers = Neighbours().fit(np.eye(4), np.eye(4))
    numbers.update(np.eye(4)[:1], [[5]])
    assert len(numbers.classes_) == 6
    with pytest.raises(InputError, match="Y has 2 columns, but training knew 6 labels"):
        numbers.update(np.eye(4)[:1], [[1, 0]])
    with pytest.raises(InputError, match="training knew only numbers"):
        numbers.update(np.eye(4)[:1], [["x"]])


def test_a_partial_fit_begins_and_goes_on():
    X, Y, _ = datasets.generate("eurlex-4k", rows=200)
    for estimator in (LabelTree(trees=1), CraftML(trees=2), Neighbours()):
        model = clone(estimator).partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:])
        assert json.loads(model.model_.manifest)["instances"] == 200
        assert model.score(X[100:], Y[100:]) > 0.5
    named = OneVsRest().partial_fit(np.eye(3), [["a"], ["b"], ["a"]], classes=["b", "a"])
    assert named.classes_.tolist() == ["b", "a"]
    assert not hasattr(LabelForest(), "partial_fit")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as refused:
        LabelTree(trees=1).fit(X, Y).partial_fit
    assert "fit it with keep_rows=True" in str(refused.value.__cause__)
    with pytest.raises(InputError, match="train it with keep_rows=True"):
        LabelTree(trees=1).fit(X, Y).update(X[:5], Y[:5])


def test_texts_are_added_with_new_tags():
    tagger = TextTagger(Neighbours(), min_df=1).fit(["old maps", "sea birds"], [["maps"], ["birds"]])
    tagger.update(["old owls of the sea"], [["owls", "birds"]])
    assert tagger.classes_.tolist() == ["maps", "birds", "owls"]
    assert "owls" in [tag for tag, _ in tagger.predict("old sea")]
    again = TextTagger(LabelTree(trees=1))
    again.partial_fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    again.partial_fit(QUESTIONS.test_texts, QUESTIONS.test_tags)
    assert json.loads(again.model_.manifest)["instances"] == 540


def test_a_training_stays_within_its_budget(tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=400)
    model = CraftML(trees=200).fit(X, Y, max_model=400_000, folder=tmp_path / "model")
    trees = json.loads(model.model_.manifest)["settings"]["trees"]
    assert 1 <= trees < 200
    assert sum(file.stat().st_size for file in (tmp_path / "model").iterdir()) <= 400_000
    assert model.threshold_ == 0.5, "there is no time for a threshold"
    quick = CraftML(trees=100_000, leaf=2).fit(X, Y, budget=1.0)
    assert json.loads(quick.model_.manifest)["settings"]["trees"] < 100_000
    tagger = TextTagger().fit(QUESTIONS.train_texts, QUESTIONS.train_tags, max_model=2_000_000)
    assert sum(map(len, tagger.model_.files())) <= 2_000_000
    for wrong in ({"budget": 0}, {"budget": "5m"}, {"max_model": 0}, {"max_model": 1.5}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} is "):
            CraftML().fit(X, Y, **wrong)
    with pytest.raises(InputError, match="one-vs-rest"):
        OneVsRest().fit(X, Y, budget=5)


def test_an_algorithm_is_chosen():
    X, Y, _ = datasets.generate("eurlex-4k", rows=100)
    chosen = search.choose(X, Y)
    assert isinstance(chosen.estimator, Grove) and chosen.why[-1] == "so grove is trained"
    few, _ = search.choose(np.random.default_rng(0).random((200, 5)), np.eye(200, 3, dtype=int))
    assert few.fit(np.eye(5), [[0], [1], [2], [0], [1]]) is few
    tagger, why = search.choose(QUESTIONS.train_texts, QUESTIONS.train_tags)
    assert isinstance(tagger, TextTagger) and tagger.estimator is not None and why


def test_settings_are_tuned_as_the_command_tunes_them(command, tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=200)
    keep = ["branches", "cost"]
    start = LabelTree(trees=1, threshold=0.25)
    tuned = search.tune(start, X, Y, keep=keep, folds=2, folder=tmp_path / "tuning")
    assert isinstance(tuned.estimator, LabelTree) and tuned.estimator.threshold == 0.25
    assert tuned.is_finished and len(tuned.table) > 2 and tuned.verdict
    assert search.tune(start, X, Y, keep=keep, folds=2, folder=tmp_path / "tuning")[1:] == tuned[1:]
    for setting in keep:
        assert getattr(tuned.estimator, setting) == getattr(start, setting)
    tagger = search.tune(
        TextTagger(LabelTree(trees=1), stem="english"), QUESTIONS.train_texts, QUESTIONS.train_tags,
        keep=keep, folds=2,
    )
    assert tagger.estimator.stem == "english" and isinstance(tagger.estimator.estimator, LabelTree)
    with pytest.raises(InputError, match='measure is "psp", but must be one of p, p@1'):
        search.tune(start, X, Y, measure="psp")
    with pytest.raises(InputError, match="a TextTagger is tuned with texts"):
        search.tune(TextTagger(), X, Y)
    with pytest.raises(InputError, match="must be one of labelwood's"):
        search.tune("label-tree", X, Y)
    with pytest.raises(InputError, match="no_such"):
        search.tune(LabelTree(trees=1), X, Y, keep=["no_such"], folds=2)


def test_data_are_checked_as_the_command_checks_them(command, tmp_path):
    lines = ["old maps\tmaps", "Old  maps\tmaps", "birds\t", "old maps\towls"]
    (tmp_path / "books.tsv").write_text("\n".join(lines) + "\n")
    theirs = json.loads(command("check", tmp_path / "books.tsv", "--json"))
    texts, _, labels = zip(*(line.partition("\t") for line in lines))
    ours = datasets.check(list(texts), [[label] if label else [] for label in labels])
    assert (ours.n_rows, ours.n_labels) == (theirs["rows"], theirs["labels"])
    named = [(one.name, one.n, [row + 1 for row in one.rows]) for one in ours.findings]
    assert named == [(one["name"], one["count"], one.get("rows", [])) for one in theirs["findings"]]
    assert all(one.text and one.fix and " --" not in one.fix for one in ours.findings)
    rows = datasets.check(np.eye(3)[[0, 1, 1]], [[0], [1], [1]], test=(np.eye(3)[:1], [[0]]))
    assert {finding.name for finding in rows.findings} & {"duplicates"}
    with pytest.raises(InputError, match="2 texts, but the labels of 1"):
        datasets.check(["a", "b"], [["c"]])


def test_rows_are_divided_as_the_command_divides_them(command, tmp_path):
    texts, tags = QUESTIONS.train_texts, QUESTIONS.train_tags
    lines = [f"{text}\t{';'.join(row)}\n" for text, row in zip(texts, tags)]
    (tmp_path / "books.tsv").write_text("".join(lines))
    command("split", tmp_path / "books.tsv", "--seed", 42)
    train, test = datasets.split(texts)
    assert sorted([*train, *test]) == list(range(len(texts))) and len(test) == 87
    assert (tmp_path / "books-test.tsv").read_text() == "".join(lines[at] for at in test)
    X, Y, _ = datasets.generate("eurlex-4k", rows=50)
    authors = [str(at // 5) for at in range(50)]
    train, test = datasets.split(X, test=0.4, by=authors, seed=7)
    assert {authors[at] for at in train}.isdisjoint(authors[at] for at in test)
    with pytest.raises(InputError, match="by has 3 values, but there are 50 rows"):
        datasets.split(X, by=["a", "b", "c"])
    with pytest.raises(InputError, match="test is 2, but must be a share"):
        datasets.split(X, test=2)
    with pytest.raises(InputError, match="there is nothing to divide"):
        datasets.split(["a", "A"])


def test_models_become_smaller_as_the_command_makes_them(command, rows, tmp_path):
    X, Y, _ = rows
    LabelTree(trees=1).fit(X, Y).save(tmp_path / "large")
    before, after = labelwood.shrink(tmp_path / "large", tmp_path / "ours", prune=0.2, values="f16")
    command("convert", tmp_path / "large", tmp_path / "theirs", "--prune", 0.2, "--values", "f16")
    assert after < before
    assert labelwood.load(tmp_path / "ours").model_.files() == labelwood.load(tmp_path / "theirs").model_.files()
    with pytest.raises(InputError, match='values is "f8", but must be one of u8, f16, f32'):
        labelwood.shrink(tmp_path / "large", tmp_path / "x", values="f8")
    with pytest.raises(InputError, match="overwrite=True"):
        labelwood.shrink(tmp_path / "large", tmp_path / "ours", prune=0.2)
