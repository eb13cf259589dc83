"""Progress as a bar: tqdm's where it is installed, else a line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

Callback = Callable[[str, int, int], object]


@contextmanager
def following(verbose: int, callback: Callback | None, what: str):
    """Gives the callback for a piece of work, or none if nobody wants to know."""
    if not verbose:
        yield callback
        return
    bar = _Bar(what)

    def both(stage: str, done: int, total: int) -> None:
        bar.show(stage, done, total)
        if callback is not None:
            callback(stage, done, total)

    try:
        yield both
    finally:
        bar.close()


class _Bar:
    def __init__(self, what: str) -> None:
        self.what = what
        self.stage: str | None = None
        self.tqdm: Any = None

    def show(self, stage: str, done: int, total: int) -> None:
        if stage != self.stage:
            self.close()
            self.stage = stage
            self.tqdm = _tqdm(f"{self.what}: {stage}", total)
        if self.tqdm is not None:
            self.tqdm.total = total
            # Threads report in any order.
            self.tqdm.update(max(0, done - self.tqdm.n))
        else:
            print(f"\r{self.what}: {stage} {done}/{total}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.tqdm is not None:
            self.tqdm.close()
        elif self.stage is not None:
            print(file=sys.stderr)
        self.stage = self.tqdm = None


def _tqdm(description: str, total: int):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, desc=description)
