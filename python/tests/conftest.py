import os
import subprocess

import pytest

from labelwood import CraftML, FastXML, Grove, LabelForest, LabelTree, Neighbours, OneVsRest, datasets

pytest_plugins = ["stand_in"]

#: Each algorithm, small enough for tests.
SMALL = [
    CraftML(trees=4),
    LabelTree(trees=2),
    OneVsRest(),
    LabelForest(submodels=4, rate=0.5),
    FastXML(trees=10),
    Neighbours(),
    Grove(CraftML(trees=4), LabelTree(trees=1)),
]


@pytest.fixture(params=SMALL, ids=lambda estimator: type(estimator).__name__)
def estimator(request):
    return request.param


@pytest.fixture(scope="session")
def rows():
    """Three hundred synthetic rows, whose labels are numbers."""
    return datasets.generate("eurlex-4k", rows=300)


@pytest.fixture(scope="session")
def command():
    """Runs the command that ``make test`` built."""
    path = os.environ.get("LABELWOOD_COMMAND")
    if path is None:
        pytest.skip("LABELWOOD_COMMAND does not say where the built command is")

    def run(*arguments, input=None):
        arguments = [path, *map(str, arguments)]
        return subprocess.run(
            arguments, input=input, check=True, capture_output=True, text=True
        ).stdout

    return run


def bytes_of(folder):
    """The names and bytes of the files in a folder."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
