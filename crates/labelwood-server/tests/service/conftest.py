"""A running `labelwood serve` with the model of `labelwood demo`."""

import os
import re
import subprocess
from pathlib import Path

import pytest

COMMAND = os.environ.get("LABELWOOD_COMMAND") or str(Path(__file__).parents[4] / "target/debug/labelwood")


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "demo"
    subprocess.run([COMMAND, "demo", "--quiet", "--model", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="session")
def server(model):
    """The address of the server."""
    arguments = ["serve", f"demo={model}", "--port", "0", "--allow-learn", "--no-access-log"]
    with subprocess.Popen([COMMAND, *arguments], stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if found := re.search(r"listening on (http://\S+)/", line):
                break
        else:
            pytest.fail("the server did not start")
        yield found[1]
        process.terminate()
        assert process.wait(30) == 0
