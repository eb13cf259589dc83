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
    ]
    assert [name.replace("builtins.", "") for name in revealed] == expected, seen
    assert 'Argument 2 to "fit"' in seen, "labels must be given"
