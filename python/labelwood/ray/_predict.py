"""Many rows, by all workers."""

from __future__ import annotations

import functools
import json
import logging
import os
from pathlib import Path

import numpy as np
import ray
from scipy import sparse

from .. import _native
from .._base import asked, noting_order
from .._documents import as_texts
from .._errors import InputError
from .._inputs import features, refuse_impossible
from .._progress import Callback
from ..estimators import BY_ALGORITHM
from ..persistence import load, refuse_missing
from ._cluster import (
    AHEAD,
    ONCE,
    each,
    gib,
    refuse_less_than_one,
    refuse_more_than_a_machine_has,
    refuse_without_ray,
    slots,
)
from ._work import WorkerShare

_log = logging.getLogger(__name__)


def predict(
    model: str | os.PathLike,
    X,
    k: int = 5,
    *,
    beam: int | None = None,
    by: str = "rows",
    shares: int | None = None,
    batch: int = 4096,
    cpus: int = 1,
    memory: int | None = None,
    attempts: int = 3,
    progress: Callback | None = None,
) -> sparse.csr_array:
    """The best ``k`` labels of each row with their scores, bit for bit those of ``predict_top_k``.

    Parameters
    ----------
    model : str or path
        The folder of a model, which all machines see under the same path. The workers of a machine map
        it, and so hold it in memory once.
    X : sparse matrix or array of shape (rows, features), or texts for a model of text
    k, beam
        As in ``predict_top_k``.
    by : {"rows", "model"}, default="rows"
        What is shared out: rows, all of which the whole model sees, or the model's trees, submodels
        or blocks of labels, all of which see every row. The second is for models that are larger
        than a machine's memory; the driver combines what the shares say.
    shares : int, optional
        Into how many shares the model is divided; by default as many as the cluster has room for at
        once. All are open together, so more are refused. What counts are the machines that are there:
        a cluster that grows by itself must be asked for machines before.
    batch : int, default=4096
        The rows of a task.
    cpus, memory, attempts, progress
        As in :func:`fit`; progress is in rows. By default no memory is asked for with
        ``by="rows"``, since a mapped model gives way, and the model's size over the number of shares
        with ``by="model"``, where ``attempts`` says how often a share is opened.
    """
    if not isinstance(model, (str, os.PathLike)):
        raise InputError(f"model is {model!r}, but must be the path of a saved model")
    refuse_missing(model)
    if by not in ("rows", "model"):
        raise InputError(f"by is {by!r}, but must be rows or model")
    if sparse.issparse(X):
        refuse_impossible(X)
    refuse_without_ray()
    refuse_less_than_one(batch=batch, cpus=cpus, attempts=attempts)
    k, beam = asked(k, beam)
    X = X.tocsr() if sparse.issparse(X) else X if hasattr(X, "shape") else as_texts(X)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    path = str(Path(model).absolute())
    predicted = _by_rows if by == "rows" else functools.partial(_by_model, shares=shares)
    starts = range(0, max(rows, 1), batch)
    found: dict[int, sparse.csr_array] = {}

    def rows_at(start: int):
        return X[start:start + batch]

    for start, scores in predicted(path, starts, rows_at, k, beam, cpus, memory, attempts):
        found[start] = scores
        if progress is not None:
            progress("predict", sum(some.shape[0] for some in found.values()), rows)
    ordered = [found[start] for start in starts]
    counts = np.concatenate([np.diff(some.indptr) for some in ordered])
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    data = np.concatenate([some.data for some in ordered])
    indices = np.concatenate([some.indices for some in ordered])
    scores = sparse.csr_array((data, indices, indptr), (rows, ordered[0].shape[1]))
    favour = json.loads(_native.manifest(path)).get("favour", "none")
    return noting_order(scores, favour)


def _by_rows(path: str, starts, rows_at, k: int, beam, cpus: int, memory, attempts: int):
    refuse_more_than_a_machine_has(cpus, memory or 0)
    task = ray.remote(_predict).options(num_cpus=cpus, memory=memory, **ONCE)
    return each(
        lambda start: task.remote(path, rows_at(start), k, beam, cpus),
        starts, attempts, AHEAD * slots(cpus),
    )


def _predict(path: str, X, k: int, beam: int | None, cpus: int) -> sparse.csr_array:
    return _model(path, cpus).predict_top_k(X, k, beam=beam)


def _by_model(
    path: str, starts, rows_at, k: int, beam, cpus: int, memory, attempts: int, shares: int | None
):
    if shares is not None:
        refuse_less_than_one(shares=shares)
    combiner = _native.Combiner.open(path)
    left = list(starts)
    while left:
        count, asked = _division(path, shares, cpus, memory)
        divided = _by_shares(
            path, combiner, tuple(left), rows_at, k, beam, cpus, asked, attempts, count,
            may_wait=shares is not None,
        )
        try:
            for start, scores in divided:
                left.remove(start)
                yield start, scores
        except _TooFewLeft as error:
            _log.warning("%s: it is divided anew", error)


def _division(path: str, shares: int | None, cpus: int, memory: int | None) -> tuple[int, int]:
    """Into how many shares a model is divided, and the bytes that each asks for.

    All shares must be open at once, or Ray would wait for ever.
    """
    refuse_more_than_a_machine_has(cpus, memory or 0)
    size = sum(file.stat().st_size for file in Path(path).iterdir()) if memory is None else 0

    def asked(count: int) -> int:
        return size // count if memory is None else memory

    if shares is not None:
        if shares > (room := slots(cpus, asked(shares))):
            raise InputError(
                f"shares is {shares}, but the cluster has room for {room} at once, each with {cpus} CPUs "
                f"and {gib(asked(shares))} of memory on one machine, and all shares must be open: give less "
                "as shares, cpus or memory, or start more machines"
            )
        return shares, asked(shares)
    # Fewer shares, which are larger, may fit where machines have many CPUs and little memory.
    for count in range(slots(cpus), 0, -1):
        if slots(cpus, asked(count)) >= count:
            return count, asked(count)
    raise InputError(
        f"the model has {gib(size)}, and however it is divided, the machines have no room for all shares "
        f"with {cpus} CPUs each: start more machines, or say with memory how many bytes a share asks for"
    )


class _TooFewLeft(Exception):
    """The cluster has lost machines, and has no room for all shares of a model any more."""


def _by_shares(
    path: str, combiner: _native.Combiner, starts, rows_at, k: int, beam, cpus: int, memory: int,
    attempts: int, shares: int, may_wait: bool,
):
    arrays = _arrays(combiner.model)
    stored: dict[int, ray.ObjectRef] = {}

    def store(start: int) -> ray.ObjectRef:
        if start not in stored:
            stored[start] = ray.put(arrays(rows_at(start)))
        return stored[start]

    # Rows that are not as they should be are refused before any worker starts.
    store(starts[0])
    # A call is tried as often as its actor starts, and once it has ended for good, never again.
    retries = {"max_restarts": attempts - 1, "max_task_retries": attempts - 1}
    actor = ray.remote(WorkerShare).options(num_cpus=cpus, memory=memory, **retries)
    actors = [actor.remote(path, share, shares, cpus) for share in range(shares)]
    opened = [one.is_open.remote() for one in actors]

    def look() -> None:
        if shares > (room := slots(cpus, memory)):
            lost = f"the cluster has room for {room} shares now, and the model has {shares}"
            if not may_wait:
                raise _TooFewLeft(lost)
            _log.warning("%s: waiting for another machine", lost)
        elif waiting := ray.wait(opened, num_returns=shares, timeout=0)[1]:
            _log.warning(
                "%d of %d shares are not open: waiting for %d CPUs and %s of memory for each, which "
                "others may use", len(waiting), shares, cpus, gib(memory),
            )

    labels = json.loads(combiner.model.manifest)["labels"]
    said: dict[int, list[np.ndarray]] = {start: [] for start in starts}
    items = [(start, share) for start in starts for share in range(shares)]
    try:
        for (start, _), scores in each(
            lambda item: actors[item[1]].scores.remote(store(item[0]), k, beam),
            items, 1, AHEAD * shares, look,
        ):
            said[start].append(scores)
            if len(said[start]) == shares:
                indptr, indices, data = combiner.combine(said.pop(start), k, beam)
                del stored[start]
                shape = (len(indptr) - 1, labels)
                yield start, sparse.csr_array((data, indices, indptr), shape)
    finally:
        for one in actors:
            ray.kill(one)


def _arrays(model: _native.Model):
    """What makes of rows what the shares of a model take, with the checks of local prediction."""
    if model.reads_text:
        return as_texts
    manifest = json.loads(model.manifest)
    estimator = BY_ALGORITHM[manifest["algorithm"]]._with_settings(manifest["settings"])
    estimator._take(model)
    return lambda X: features(estimator._rows(X))


def _model(path: str, cpus: int):
    """A model that the worker has open, unless it was written anew since."""
    # What changes with the model: the manifest in a folder, or the one file.
    written = next((one for one in (Path(path, "manifest.json"), Path(path)) if one.exists()), None)
    return _opened(path, 0 if written is None else written.stat().st_mtime_ns, cpus)


@functools.lru_cache(maxsize=1)
def _opened(path: str, _written: int, cpus: int):
    return load(path).set_params(n_jobs=cpus)
