"""What is installed with the package."""

import subprocess
import sys
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
