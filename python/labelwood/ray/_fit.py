"""One training by all workers."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import ray
from scipy import sparse
from sklearn.utils.validation import validate_data

from .. import _native, datasets
from .._base import Estimator, all_or_nothing
from .._errors import InputError, MachineError
from .._inputs import Labels, features, refuse_impossible
from .._progress import Callback, following
from ..text import TextTagger
from ._cluster import (
    ONCE,
    each,
    refuse_less_than_one,
    refuse_more_than_a_machine_has,
    refuse_without_ray,
    slots,
)
from ._work import UNITS, train_apart, train_in

#: What a model's manifest says beside what it was trained with.
_OUTCOME = ("format", "instances", "features", "labels", "model_id", "units")


def fit(
    estimator: Estimator | TextTagger,
    X,
    y=None,
    *,
    folder: str | os.PathLike,
    vocabulary=None,
    language: str | None = None,
    shards: int | None = None,
    shared: bool = False,
    cpus: int = 1,
    memory: int | None = None,
    attempts: int = 3,
    overwrite: bool = False,
    progress: Callback | None = None,
):
    """Learns on the cluster; gives the estimator with the model, which is mapped from the folder.

    Called again with the same folder after whatever happened, it goes on with what is finished.

    Parameters
    ----------
    estimator : estimator
        One of labelwood's, or a :class:`labelwood.TextTagger`. Its ``random_state`` should be a
        number, since nothing can be taken up with another seed.
    X : rows as ``estimator.fit`` takes them, or the path of a file
        A file holds rows with their labels, or for a ``TextTagger`` documents. It is read here; a
        ``.lwd`` file is used where it lies, and with ``shared`` all machines read it there.
    y : labels as ``estimator.fit`` takes them
        Not for files.
    folder : str or path
        Gets ``plan``, which the commands ``shard``, ``inspect`` and ``merge`` understand, and
        ``model``.
    vocabulary, language : optional
        The names of a ``TextTagger``'s tags, as in its ``fit``.
    shards : int, optional
        Into how many tasks each stage is divided; by default as many as the cluster can run at
        once, or as many as the plan in the folder has.
    shared : bool, default=False
        Whether all machines see the folder under the same path. They then map the rows from there and
        put every finished unit there. Otherwise rows go to each machine once, through Ray's object
        store, and the units of a shard come back when it is finished.
    cpus : int, default=1
        The threads of a task.
    memory : int, optional
        The bytes that a task asks for; by default as many as the plan estimates.
    attempts : int, default=3
        How often a task is started, at most, whose worker or machine is lost.
    overwrite : bool, default=False
        Whether a plan and model of another training in the folder are replaced.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` with numbers of units.
    """
    if not isinstance(estimator, (Estimator, TextTagger)):
        raise InputError(f"estimator is {estimator!r}, but must be one of labelwood's")
    refuse_without_ray()
    folder = Path(folder).absolute()
    refuse_less_than_one(cpus=cpus, attempts=attempts)
    if shards is not None:
        refuse_less_than_one(shards=shards)
    known = (vocabulary, language)
    if known != (None, None) and not isinstance(estimator, TextTagger):
        raise InputError("vocabulary and language are for a TextTagger: leave them out")
    with all_or_nothing(estimator):
        _fit(
            estimator, X, y, known, folder, shards, shared, cpus, memory, attempts, overwrite, progress
        )
    return estimator


def _fit(
    estimator, X, y, known, folder: Path, shards: int | None, shared: bool, cpus: int,
    memory: int | None, attempts: int, overwrite: bool, progress: Callback | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    is_new = not (folder / "plan").exists()
    wish = (str(folder / "plan"), shards, max(1, slots(cpus)), overwrite)
    plan, rows = _plan(estimator, X, y, known, wish, cpus)
    try:
        _refuse_another_model(folder, overwrite)
    except InputError:
        # A plan that stayed would be in the way of the training that the model is of.
        if is_new:
            shutil.rmtree(folder / "plan")
        raise
    asked = max(need for _, need, _ in plan.shards) if memory is None else memory
    refuse_more_than_a_machine_has(cpus, asked)
    options = {"num_cpus": cpus, "memory": asked, **ONCE}
    workers: _Shared | _Apart
    if shared:
        workers = _Shared(folder / "plan", cpus)
    else:
        workers = _Apart(folder / "plan", cpus, ray.put(rows or _rows_of(plan)))
    with following(estimator.verbose, progress, type(estimator).__name__) as callback:
        for stage in range(1, plan.stages + 1):
            _train(plan, stage, workers, options, attempts, callback)
    plan.merge(str(folder / "model"), overwrite)
    estimator._take(_native.Model.open(str(folder / "model"), True))


def _plan(estimator, X, y, known, wish, cpus: int):
    """The plan, and the rows if they are at hand."""
    if isinstance(estimator, TextTagger):
        return _plan_of_texts(estimator, X, y, known, wish, cpus), None
    learner = estimator._learner()
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise InputError("X is a file, which has the labels, too: leave out y")
        return _native.Plan.of_file(wish, learner, os.fspath(X), cpus), None
    if y is None:
        raise InputError("y is missing: give each row its labels, or the path of a file as X")
    if sparse.issparse(X):
        refuse_impossible(X)
    X = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float32, np.float64])
    labels = Labels(y)
    rows = (features(X), labels.arrays)
    return _native.Plan.of_rows(wish, learner, *rows, labels.names, cpus), rows


def _plan_of_texts(tagger: TextTagger, X, y, known, wish, cpus: int):
    if isinstance(X, (str, os.PathLike)):
        documents = datasets.read_documents(X, separator=tagger.separator)
        X, y = [one.text for one in documents], [one.labels for one in documents]
    if y is None:
        raise InputError("y is missing: give each text its tags, or the path of a file as X")
    return _native.Plan.of_texts(
        wish, tagger._learner(), tagger._vectoriser(), *tagger._documents(X, y, *known), cpus
    )


def _refuse_another_model(folder: Path, overwrite: bool) -> None:
    """What the merge would refuse after all the work."""
    training = _json(folder / "plan" / "plan.json")["training"]
    unfinished = _json(folder / "model.partial" / "settings.json")
    if unfinished is not None and unfinished.get("training") != training:
        raise InputError(
            f"{folder / 'model.partial'}: an unfinished model of other rows, labels or settings is "
            "here: remove it, or choose another folder"
        )
    there = None if overwrite else _json(folder / "model" / "manifest.json")
    if there is None:
        return
    there = {name: value for name, value in there.items() if name not in _OUTCOME}
    if there != training:
        raise InputError(
            f"{folder / 'model'}: the model that is here is of other rows, labels or settings: choose "
            "another folder, or give overwrite=True"
        )


def _json(path: Path):
    """What is in a file, if there is one; one that is broken agrees with no other."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        return {}


def _rows_of(plan: _native.Plan) -> np.ndarray:
    """The content of the plan's file of rows, which has what names of labels tell, too."""
    return np.fromfile(plan.data, np.uint8)


def _train(plan, stage: int, workers, options, attempts: int, progress: Callback | None) -> None:
    """Hands out the shards of a stage until no unit is missing."""
    what = f"stage {stage} of {plan.stages}"
    start = workers.start(stage, options)
    starts: Counter[int] = Counter()

    def submit(shard: int) -> ray.ObjectRef:
        starts[shard] += 1
        return start(shard)

    while True:
        done, left, total = _left(plan, stage)
        if progress is not None:
            progress(what, done, total)
        if not left:
            return
        spent = max(starts[shard] for shard in left)
        if spent == attempts:
            raise MachineError(
                f"units of the shards {left} are still missing after {attempts} attempts: look for "
                "the reason in Ray's log, and call fit again to go on"
            )
        for _, result in each(submit, left, attempts - spent, len(left)):
            done += workers.take(result)
            if progress is not None:
                progress(what, done, total)


def _left(plan: _native.Plan, stage: int) -> tuple[int, list[int], int]:
    """How many units of a stage are finished, the shards that are not, and how many units it has."""
    finished, missing, _, _, shards = plan.status()
    first = [set(units) for units, _, _ in plan.shards]
    if stage == 1:
        counts = [(len(units - set(missing)), len(units)) for units in first]
    else:
        known = set(finished)
        counts = [(done - len(units & known), every - len(units))
                  for (done, every), units in zip(shards, first)]
    left = [at for at, (done, every) in enumerate(counts) if done < every]
    return sum(done for done, _ in counts), left, sum(every for _, every in counts)


class _Shared:
    """Workers that see the plan's folder."""

    def __init__(self, folder: Path, cpus: int) -> None:
        self.folder, self.cpus = folder, cpus

    def start(self, stage: int, options) -> Callable[[int], ray.ObjectRef]:
        task = ray.remote(train_in).options(**options)
        return lambda shard: task.remote(str(self.folder), shard, stage, None, self.cpus)

    def take(self, result: int) -> int:
        return result


class _Apart:
    """Workers that get the plan and the rows from Ray, and give the units back."""

    def __init__(self, folder: Path, cpus: int, rows: ray.ObjectRef) -> None:
        self.folder, self.cpus, self.rows = folder, cpus, rows

    def start(self, stage: int, options) -> Callable[[int], ray.ObjectRef]:
        roots = (self.folder / UNITS).glob("*-root-*.safetensors") if stage == 2 else ()
        files = ray.put({str(path.relative_to(self.folder)): np.fromfile(path, np.uint8)
                         for path in (self.folder / "plan.json", *roots)})
        task = ray.remote(train_apart).options(**options)
        return lambda shard: task.remote(files, shard, stage, self.rows, self.cpus)

    def take(self, result: dict[str, np.ndarray]) -> int:
        for name, content in result.items():
            _write(self.folder / UNITS / name, content)
        return len(result)


def _write(path: Path, content: np.ndarray) -> None:
    """Writes a file that is either complete or not there."""
    # What a driver that is killed leaves goes with the next merge, as what workers leave.
    hidden = path.with_name(f".{path.name}-{os.getpid()}.unfinished")
    try:
        with open(hidden, "wb") as file:
            file.write(content.data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, path)
    except OSError as error:
        hidden.unlink(missing_ok=True)
        raise MachineError(f"could not write {path}: {error.strerror}") from error
