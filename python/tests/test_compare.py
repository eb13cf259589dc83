"""Algorithms side by side: the command's figures, what is taken, and what is refused."""

import json

import numpy as np
import pytest

import labelwood
from labelwood import InputError, LabelTree, TextTagger, datasets, search

QUESTIONS = datasets.load_questions()


def timeless(figures):
    """Figures without what depends on the clock."""
    return {**figures, "systems": [{**one, "costs": None} for one in figures["systems"]]}


def test_figures_of_vectors_are_those_of_the_command(command, tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=200)
    datasets.write(tmp_path / "train.txt", X, Y)
    data = datasets.read(tmp_path / "train.txt")
    given = ("compare", tmp_path / "train.txt", "--algorithms", "neighbours,label-tree:bonsai", "--json", "-q")
    names = ["neighbours", "label-tree:bonsai"]
    for flags, keywords in [(("--holdout", 0.3), {"holdout": 0.3}), (("--folds", 3), {"folds": 3})]:
        found = search.compare(data, algorithms=names, **keywords)
        assert timeless(found.figures) == timeless(json.loads(command(*given, *flags)))
    tested = ("--test", tmp_path / "train.txt", "--seeds", 2, "--seed", 7)
    estimators = {"neighbours": labelwood.Neighbours(), "label-tree:bonsai": LabelTree.preset("bonsai")}
    found = labelwood.compare(data.X, data.Y, algorithms=estimators, test=data, seeds=2, random_state=7)
    assert timeless(found.figures) == timeless(json.loads(command(*given, *tested)))


def test_figures_of_texts_are_those_of_the_command(command, tmp_path):
    command("demo", "--write-corpus", tmp_path / "questions")
    train, test = tmp_path / "questions/train.tsv", tmp_path / "questions/test.tsv"
    names = ["label-tree", "names"]
    held_out = search.compare(QUESTIONS.train_texts, QUESTIONS.train_tags, algorithms=names)
    printed = command("compare", train, "--algorithms", ",".join(names), "--json", "-q")
    assert timeless(held_out.figures) == timeless(json.loads(printed))

    model = TextTagger(LabelTree()).fit(QUESTIONS.train_texts, QUESTIONS.train_tags)
    answers = model.predict(QUESTIONS.test_texts)
    found = search.compare(
        QUESTIONS.train_texts, QUESTIONS.train_tags, algorithms=names,
        test=(QUESTIONS.test_texts, QUESTIONS.test_tags), predictions={"other": answers},
    )
    model.save(tmp_path / "model")
    command("predict", tmp_path / "model", test, "--output", tmp_path / "answers.jsonl")
    printed = command("compare", train, "--test", test, "--algorithms", ",".join(names), "--json", "-q",
                      "--predictions", f"other={tmp_path / 'answers.jsonl'}")
    assert timeless(found.figures) == timeless(json.loads(printed))
    figures = {record["name"]: record["p_at_1"] for record in found.records}
    assert figures["other"] == figures["label-tree"] > figures["names"]


def test_a_comparison_has_tables_a_page_and_a_verdict(tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=120)
    test = datasets.generate("eurlex-4k", rows=40, test=True)
    truth = test.Y.astype(np.float32)
    found = search.compare(
        X, Y, algorithms=["neighbours", LabelTree(trees=1)], test=test, predictions={"the <truth>": truth},
        title="laws & orders",
    )
    best = found.figures["systems"][0]
    assert best["name"] == "the <truth>" and best["figures"]["p_at_1"] == 1.0 and "costs" not in best
    assert found.verdict.startswith("the <truth> is surely ahead of") and found.verdict in str(found)
    assert found.table[0][:2] == ["system", "P@1"] and found.table[1][1] == "100.00"
    assert found.markdown.startswith("| system") and found.latex.startswith("\\begin{tabular}")
    assert found.records[1]["difference"] < 0 < found.records[1]["model"]
    assert "the &lt;truth&gt;" in found.html and "laws &amp; orders" in found.html
    assert found._repr_html_().startswith('<iframe title="labelwood comparison"')
    found.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == found.html


def test_a_comparison_goes_on_in_its_folder_and_ends_in_time(tmp_path):
    X, Y, _ = datasets.generate("eurlex-4k", rows=120)
    names = ["neighbours", "label-tree"]
    first = search.compare(X, Y, algorithms=names, folder=tmp_path / "found")
    calls = []
    again = search.compare(
        X, Y, algorithms=names, folder=tmp_path / "found", budget=1e-9, progress=lambda *call: calls.append(call)
    )
    assert again.figures == first.figures
    with pytest.raises(InputError, match="another comparison is here"):
        search.compare(X, Y, algorithms=names[:1], folder=tmp_path / "found")
    with pytest.raises(InputError, match="time was up too early: 0 of 2 trials"):
        search.compare(X, Y, algorithms=names, budget=1e-9)


def test_labels_by_name_are_those_of_the_test_rows_too():
    X = np.eye(6, 4)
    names = [["a"], ["b"], ["a", "c"], ["b"], ["a"], ["b"]]
    test = (np.eye(4), [["b"], ["new"], ["c", "a"], ["b"]])
    answers = [["b"], ["new", "a"], [("a", 0.5), ("c", 0.2)], []]
    found = search.compare(X, names, algorithms=["neighbours"], test=test, predictions={"other": answers})
    (other,) = [one for one in found.figures["systems"] if one["name"] == "other"]
    assert other["figures"]["p_at_1"] == 0.75
    numbered = search.compare(X, [[0], [1], [0, 2], [1], [0], [1]], algorithms=["neighbours"],
                              test=(np.eye(4), [[1], [3], [2, 0], [1]]))
    (ours,) = [one for one in found.figures["systems"] if one["name"] == "neighbours"]
    assert numbered.figures["systems"][0]["figures"] == ours["figures"]


def refused(match, *arguments, **keywords):
    with pytest.raises(InputError, match=match):
        search.compare(*arguments, **keywords)


def test_what_cannot_be_compared_is_refused():
    X, Y = np.eye(6, 4), [["a"], ["b"], ["a", "c"], ["b"], ["a"], ["b"]]
    names, test = ["neighbours"], (np.eye(4), [["a"]] * 4)
    refused("`forest` is no algorithm: there are grove", X, Y, algorithms=["forest"])
    refused("`bonsai` is no preset of craftml", X, Y, algorithms=["craftml:bonsai"])
    refused("algorithms is 'craftml', but must be a list", X, Y, algorithms="craftml")
    refused("algorithms is empty", X, Y, algorithms=[])
    refused("takes part twice", X, Y, algorithms=["neighbours", "neighbours"])
    refused("leave favour out", X, Y, algorithms=[LabelTree(favour="tail")])
    refused("weight_threshold", X, Y, algorithms=[LabelTree(weight_threshold=-1)])
    refused("holdout is 1.5", X, Y, algorithms=names, holdout=1.5)
    refused("folds is 1, but must be a whole number of at least 2", X, Y, algorithms=names, folds=1)
    refused("tested with one of both", X, Y, algorithms=names, folds=2, test=test)
    refused("all rows are alike", np.ones((3, 2)), Y[:3], algorithms=names)
    refused("predictions are for the rows of test", X, Y, algorithms=names, predictions={"o": []})
    refused("6 rows|give each row its labels", X, Y[:5], algorithms=names)
    refused("test has rows of 3 features, but X of 4", X, Y, algorithms=names, test=(np.eye(3), [["a"]] * 3))
    refused("tagger is for texts", X, Y, algorithms=names, tagger=TextTagger())
    refused("names, those of the other numbers", X, Y, algorithms=names, test=(np.eye(4), [[0]] * 4))
    wrong = {"o": [["a"], ["b"], ["zebra"], []]}
    refused('predictions of o have the label "zebra" in row 2', X, Y, algorithms=names, test=test, predictions=wrong)
    short = {"o": [["a"]]}
    refused("o: 1 row of predictions for 4 rows of data", X, Y, algorithms=names, test=test, predictions=short)
    refused("have 'ab' in row 0, but must have a list of names", X, Y, algorithms=names, test=test,
            predictions={"o": ["ab"] * 4})
    refused("2 texts, but the tags of 1", ["x y", "y z"], [["a"]], algorithms=names)
