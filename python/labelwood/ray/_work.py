"""What workers do. They import nothing else of the package, so that they are ready at once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from .. import _native

#: Where the units of a plan lie.
UNITS = "units"


def train_in(folder: str, shard: int, stage: int, rows, cpus: int) -> int:
    """Trains what is missing of a shard, and gives how many units that were."""
    return _native.Plan.open(folder).train(shard, stage, rows, cpus)


def train_apart(files: dict[str, np.ndarray], shard: int, stage: int, rows, cpus: int):
    """Trains a shard of a plan whose files are handed over; gives the new units."""
    with tempfile.TemporaryDirectory(prefix="labelwood-") as folder:
        units = Path(folder, UNITS)
        units.mkdir()
        for name, content in files.items():
            content.tofile(Path(folder, name))
        train_in(folder, shard, stage, rows, cpus)
        known = {Path(name).name for name in files}
        return {path.name: np.fromfile(path, np.uint8) for path in units.glob("*.safetensors")
                if path.name not in known}


class WorkerShare:
    """A worker that has a share of a model open."""

    def __init__(self, path: str, share: int, shares: int, cpus: int) -> None:
        self.share, self.cpus = _native.ModelShare.open(path, share, shares), cpus

    def is_open(self) -> bool:
        return True

    def scores(self, arrays, k: int, beam: int | None) -> np.ndarray:
        return self.share.scores(arrays, k, beam, self.cpus)
