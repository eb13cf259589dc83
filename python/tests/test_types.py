"""The types are those of what is there, and users see them."""

import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = Path(__file__).parent.parent / "pyproject.toml"
#: Ray need not be installed, and then its part cannot be imported. Some methods scikit-learn makes, some
#: attributes are made of a table, and a function that remembers takes any arguments by its type.
NOT_OURS = r"""
labelwood\.ray(\..*)?
labelwood\..*\.set_[a-z_]+_request
labelwood\.compat\..*\.HyperParam\..*
labelwood\._base\._empty_row
"""


def run(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=folder
    )


@pytest.mark.parametrize("module", ["labelwood._native", "labelwood"])
def test_the_types_are_true(module, tmp_path):
    arguments = ["--mypy-config-file", str(SETTINGS)]
    if module == "labelwood":
        (tmp_path / "allowed.txt").write_text(NOT_OURS)
        arguments += ["--allowlist", "allowed.txt", "--ignore-unused-allowlist"]
    checked = run(tmp_path, "mypy.stubtest", module, *arguments)
    assert checked.returncode == 0, checked.stdout


def test_users_see_what_methods_give(tmp_path):
    (tmp_path / "user.py").write_text("""
from labelwood import LabelTree, OneVsRest, TextTagger, load, metrics

model = OneVsRest.preset("default").fit([[1.0, 0.0]], [["birds"]])
reveal_type(model)
reveal_type(LabelTree().fit([[1.0, 0.0]], [[0]]).score([[1.0, 0.0]], [[0]]))
tagger = TextTagger().fit(["a text"], [["a tag"]])
reveal_type(tagger)
reveal_type(tagger.predict("a text"))
reveal_type(tagger.predict(["a text"]))
reveal_type(load("folder"))
reveal_type(OneVsRest.load("folder"))
reveal_type(TextTagger.load("folder"))
model.fit(3, None)
""")
    seen = run(tmp_path, "mypy", "user.py", "--ignore-missing-imports").stdout
    revealed = [line.split('"')[1] for line in seen.splitlines() if "Revealed type" in line]
    expected = [
        "labelwood.estimators.OneVsRest",
        "float",
        "labelwood.text.TextTagger",
        "list[tuple[str, float]]",
        "list[list[tuple[str, float]]]",
        "labelwood._base.Estimator | labelwood.text.TextTagger",
        "labelwood.estimators.OneVsRest",
        "labelwood.text.TextTagger",
    ]
    assert [name.replace("builtins.", "") for name in revealed] == expected, seen
    assert 'No overload variant of "fit"' in seen, "labels must be given"


def test_a_page_of_examples_is_strictly_typed(tmp_path):
    (tmp_path / "page.py").write_text("""
from collections.abc import Iterator

from scipy import sparse

from labelwood import CraftML, Grove, LabelTree, OneVsRest, TextTagger, datasets, metrics, search

rows = datasets.read("train.txt")
forest: CraftML = CraftML(trees=10, random_state=7, threshold="auto", min_labels=1).fit(rows)
again: CraftML = CraftML(threshold=0.3).fit(rows.X, rows.Y, label_names=rows.label_names, budget=60.0)
grove = Grove(forest, LabelTree(trees=2), neighbours="drop", favour="tail")
threshold: float = forest.threshold_
figures: dict[str, float] = forest.evaluate(rows.X, rows.Y, 5)
more: CraftML = forest.update(rows.X, [["birds"], ["maps"]])
saved: OneVsRest = OneVsRest.load("model")
best = saved.predict_top_k(rows.X, k=3, labels=["birds"])


def answers(batches: Iterator[object]) -> None:
    for batch in saved.predict_batches([rows.X], rows=100):
        print(batch)


tagger = TextTagger(grove, stem="english")
tags: list[list[str]] = tagger.fit(["old maps"], [["maps"]]).predict_tags(["maps"])
pairs: list[tuple[str, float]] = tagger.predict("maps")
scorer = metrics.scorer("ndcg@5")
shares: dict[str, float] = metrics.evaluate([["maps"]], best, classes=["maps"])
train, test = datasets.split(["old maps", "birds"])
found: list[datasets.Finding] = datasets.check(["old maps"], [["maps"]]).findings
tuned = search.tune(LabelTree(), rows.X, rows.Y, keep=["cost"])
print(tuned.verdict, tuned.is_finished, threshold, figures, more, tags, pairs, scorer, shares, train, test, found)
""")
    checked = run(tmp_path, "mypy", "--strict", "page.py", "--config-file", str(SETTINGS))
    assert checked.returncode == 0, checked.stdout
    (tmp_path / "wrong.py").write_text("""
from labelwood import CraftML, Grove

CraftML(trees="ten")
CraftML(threshold="best")
Grove(forest="none")
CraftML().fit([[1.0]])
""")
    wrong = run(tmp_path, "mypy", "--strict", "wrong.py", "--config-file", str(SETTINGS))
    assert all(f"wrong.py:{line}: error" in wrong.stdout for line in (4, 5, 6, 7)), wrong.stdout
