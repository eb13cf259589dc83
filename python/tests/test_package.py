"""What is installed with the package."""

import subprocess
import sys
import textwrap
from importlib.metadata import files

import pytest

import labelwood


def test_the_licences_come_with_it():
    licences = {path.name: path.read_text() for path in files("labelwood") if "licenses" in path.parts}
    assert "MIT License" in licences["LICENSE-MIT"]
    assert "Apache License" in licences["LICENSE-APACHE"]


@pytest.mark.parametrize("module", ["labelwood", "labelwood.compat.omikuji", "labelwood.ray._work"])
def test_scikit_learn_is_not_imported_by_those_who_do_without_it(module):
    if module.startswith("labelwood.ray"):
        pytest.importorskip("ray", reason="Ray is not installed")
    code = f"import {module}, sys; print('sklearn' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout == "False\n"


def test_every_name_is_there_when_it_is_asked_for():
    assert set(labelwood.__all__) <= set(dir(labelwood))
    assert all(getattr(labelwood, name) is not None for name in dir(labelwood))
    assert labelwood.text.TextTagger is labelwood.TextTagger
    with pytest.raises(AttributeError, match="module 'labelwood' has no attribute 'Forest'"):
        labelwood.Forest  # noqa: B018


def test_a_scikit_learn_that_is_too_old_is_refused_in_words_but_the_stand_in_works():
    code = """
        import sklearn
        sklearn.__version__ = "1.3.2"
        from labelwood.compat import omikuji
        omikuji.quiet()
        omikuji.Model.train_on_matrix([[1, 0], [0, 1]], [[0], [1]])
        from labelwood import LabelTree
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    told = "estimators need scikit-learn 1.7 or newer, but 1.3.2 is installed: pip install --upgrade scikit-learn"
    assert told in run.stderr.splitlines()[-1]
