"""The notebook runs, and says what it said when it was last executed."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path):
    matplotlib.use("Agg")
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    names = {}
    for cell in cells:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile("".join(cell["source"]), str(path), "exec"), names)
        streams = [output for output in cell["outputs"] if output["output_type"] == "stream"]
        assert printed.getvalue() == "".join("".join(output["text"]) for output in streams)
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])
