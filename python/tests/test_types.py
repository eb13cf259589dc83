"""The type stubs agree with what is there."""

import subprocess
import sys


def test_the_stubs_of_the_native_part_are_true(tmp_path):
    arguments = [sys.executable, "-m", "mypy.stubtest", "labelwood._native"]
    checked = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
