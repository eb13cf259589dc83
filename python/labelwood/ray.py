"""Training, prediction and the choice of settings on a Ray cluster: ``pip install labelwood[ray]``.

:func:`fit` shares a training among the cluster's workers and gives byte for byte the model of
``estimator.fit``. :func:`predict` asks a saved model for many rows, :func:`tune` compares settings,
and :class:`Predictor` is for ``ray.data.Dataset.map_batches``. Every node needs the same version of
labelwood. Workers and nodes may be lost at any time: their work is given to others.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import validate_data

try:
    import ray
except ImportError as error:
    raise ImportError("labelwood.ray needs Ray: pip install 'labelwood[ray]'") from error

from . import _native, datasets
from ._base import Estimator
from ._errors import InputError, MachineError
from ._inputs import Labels, features
from ._progress import Callback, following
from .metrics import evaluate
from .persistence import load
from .text import TextTagger, _texts

__all__ = ["Predictor", "fit", "predict", "tune"]

_log = logging.getLogger(__name__)

#: How many pieces of work are handed out for each that the cluster can do at once.
_AHEAD = 2
#: Where the units of a plan lie.
_UNITS = "units"

_Item = TypeVar("_Item")


def fit(
    estimator: Estimator | TextTagger,
    X,
    y=None,
    *,
    folder: str | os.PathLike,
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
        ``.lwd`` file is used where it lies, and with ``shared`` all nodes read it there.
    y : labels as ``estimator.fit`` takes them
        Not for files.
    folder : str or path
        Gets ``plan``, which the commands ``shard``, ``inspect`` and ``merge`` understand, and
        ``model``.
    shards : int, optional
        Into how many tasks each stage is divided; by default as many as the cluster can run at
        once, or as many as the plan in the folder has.
    shared : bool, default=False
        Whether all nodes see the folder under the same path. They then map the rows from there and
        put every finished part there. Otherwise rows go to each node once, through Ray's object
        store, and the parts of a shard come back when it is finished.
    cpus : int, default=1
        The threads of a task.
    memory : int, optional
        The bytes that a task asks for; by default as many as the plan estimates.
    attempts : int, default=3
        How often a task is started whose worker or node is lost.
    overwrite : bool, default=False
        Whether a plan and model of another training in the folder are replaced.
    progress : callable, optional
        Called as ``progress(stage, done, total)`` with numbers of units.
    """
    folder = Path(folder).absolute()
    _refuse_less_than_one(cpus=cpus, attempts=attempts)
    if shards is not None:
        _refuse_less_than_one(shards=shards)
    folder.mkdir(parents=True, exist_ok=True)
    wish = (str(folder / "plan"), shards, _slots(cpus), overwrite)
    plan, rows = _plan(estimator, X, y, wish, cpus)
    asked = max(need for _, need, _ in plan.shards) if memory is None else memory
    _refuse_more_than_a_node_has(cpus, asked)
    options = {"num_cpus": cpus, "memory": asked, "max_retries": attempts - 1}
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
    return estimator


def _plan(estimator, X, y, wish, cpus: int):
    """The plan, and the rows if they are at hand."""
    if isinstance(estimator, TextTagger):
        return _plan_of_texts(estimator, X, y, wish, cpus), None
    if not isinstance(estimator, Estimator):
        raise InputError(f"estimator is {estimator!r}, but must be one of labelwood's")
    learner = (estimator.algorithm, estimator._settings(), estimator._calibrates)
    if isinstance(X, (str, os.PathLike)):
        if y is not None:
            raise InputError("X is a file, which has the labels, too: leave out y")
        return _native.Plan.of_file(wish, learner, os.fspath(X), cpus), None
    if y is None:
        raise InputError("y is missing: give each row its labels, or the path of a file as X")
    X = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float32, np.float64])
    labels = Labels(y)
    rows = (features(X), labels.arrays)
    return _native.Plan.of_rows(wish, learner, *rows, labels.names, cpus), rows


def _plan_of_texts(tagger: TextTagger, X, y, wish, cpus: int):
    if isinstance(X, (str, os.PathLike)):
        documents = datasets.read_documents(X, separator=tagger.separator)
        X, y = [one.text for one in documents], [one.labels for one in documents]
    if y is None:
        raise InputError("y is missing: give each text its tags, or the path of a file as X")
    return _native.Plan.of_texts(
        wish, tagger._learner(), tagger._vectoriser(), *tagger._documents(X, y), cpus
    )


def _rows_of(plan: _native.Plan):
    x, columns, y, labels, _ = _native.read(str(plan.data), False, 0, 0, None, 0)
    return (*x, columns), (*y[:2], labels)


def _train(plan, stage: int, workers, options, attempts: int, progress: Callback | None) -> None:
    """Hands out the shards of a stage until no unit is missing."""
    for _ in range(attempts):
        done, left, total = _left(plan, stage)
        what = f"stage {stage} of {plan.stages}"
        if progress is not None:
            progress(what, done, total)
        if not left:
            return
        submit = workers.start(stage, options)
        for _, result in _each(submit, left, attempts, len(left)):
            done += workers.take(result)
            if progress is not None:
                progress(what, done, total)
    _, left, _ = _left(plan, stage)
    if left:
        raise MachineError(
            f"units of the shards {left} are still missing after {attempts} attempts: look for the "
            "reason in Ray's log, and call fit again to go on"
        )


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
        task = ray.remote(_train_in).options(**options)
        return lambda shard: task.remote(str(self.folder), shard, stage, None, self.cpus)

    def take(self, result: int) -> int:
        return result


class _Apart:
    """Workers that get the plan and the rows from Ray, and give the units back."""

    def __init__(self, folder: Path, cpus: int, rows: ray.ObjectRef) -> None:
        self.folder, self.cpus, self.rows = folder, cpus, rows

    def start(self, stage: int, options) -> Callable[[int], ray.ObjectRef]:
        roots = (self.folder / _UNITS).glob("*-root-*.safetensors") if stage == 2 else ()
        files = ray.put({str(path.relative_to(self.folder)): np.fromfile(path, np.uint8)
                         for path in (self.folder / "plan.json", *roots)})
        task = ray.remote(_train_apart).options(**options)
        return lambda shard: task.remote(files, shard, stage, self.rows, self.cpus)

    def take(self, result: dict[str, np.ndarray]) -> int:
        for name, content in result.items():
            _write(self.folder / _UNITS / name, content)
        return len(result)


def _train_in(folder: str, shard: int, stage: int, rows, cpus: int) -> int:
    return _native.Plan.open(folder).train(shard, stage, rows, cpus)


def _train_apart(files: dict[str, np.ndarray], shard: int, stage: int, rows, cpus: int):
    with tempfile.TemporaryDirectory(prefix="labelwood-") as folder:
        units = Path(folder, _UNITS)
        units.mkdir()
        for name, content in files.items():
            content.tofile(Path(folder, name))
        _train_in(folder, shard, stage, rows, cpus)
        known = {Path(name).name for name in files}
        return {path.name: np.fromfile(path, np.uint8) for path in units.glob("*.safetensors")
                if path.name not in known}


def _write(path: Path, content: np.ndarray) -> None:
    """Writes a file that is either complete or not there."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        file.write(content.data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(file.name, path)


def predict(
    model: str | os.PathLike,
    X,
    k: int = 5,
    *,
    beam: int | None = None,
    by: str = "rows",
    parts: int | None = None,
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
        The folder of a model, which all nodes see under the same path. The workers of a node map
        it, and so hold it in memory once.
    X : sparse matrix or array of shape (rows, features), or texts for a model of text
    k, beam
        As in ``predict_top_k``.
    by : {"rows", "model"}, default="rows"
        What is shared out: rows, all of which the whole model sees, or the model's trees, submodels
        or blocks of labels, all of which see every row. The second is for models that are larger
        than a node's memory; the driver combines what the parts say.
    parts : int, optional
        Into how many parts the model is divided; by default as many as the cluster can run at once.
    batch : int, default=4096
        The rows of a task.
    cpus, memory, attempts, progress
        As in :func:`fit`; progress is in rows. By default no memory is asked for with
        ``by="rows"``, since a mapped model gives way, and the model's size over the number of parts
        with ``by="model"``.
    """
    if not isinstance(model, (str, os.PathLike)):
        raise InputError(f"model is {model!r}, but must be the path of a saved model")
    if by not in ("rows", "model"):
        raise InputError(f"by is {by!r}, but must be rows or model")
    _refuse_less_than_one(batch=batch, cpus=cpus, attempts=attempts)
    X = X.tocsr() if sparse.issparse(X) else X if hasattr(X, "shape") else _texts(X)
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    path = str(Path(model).absolute())
    predicted = _by_rows if by == "rows" else functools.partial(_by_model, parts=parts)
    starts = range(0, max(rows, 1), batch)
    found: dict[int, sparse.csr_array] = {}

    def rows_at(start: int):
        return X[start:start + batch]

    for start, scores in predicted(path, starts, rows_at, k, beam, cpus, memory, attempts):
        found[start] = scores
        if progress is not None:
            progress("predict", sum(part.shape[0] for part in found.values()), rows)
    ordered = [found[start] for start in starts]
    counts = np.concatenate([np.diff(part.indptr) for part in ordered])
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    data = np.concatenate([part.data for part in ordered])
    indices = np.concatenate([part.indices for part in ordered])
    return sparse.csr_array((data, indices, indptr), (rows, ordered[0].shape[1]))


def _by_rows(path: str, starts, rows_at, k: int, beam, cpus: int, memory, attempts: int):
    _refuse_more_than_a_node_has(cpus, memory or 0)
    options = {"num_cpus": cpus, "memory": memory, "max_retries": attempts - 1}
    task = ray.remote(_predict).options(**options)
    return _each(
        lambda start: task.remote(path, rows_at(start), k, beam, cpus),
        starts, attempts, _AHEAD * _slots(cpus),
    )


def _predict(path: str, X, k: int, beam: int | None, cpus: int) -> sparse.csr_array:
    return _model(path, cpus).predict_top_k(X, k, beam=beam)


def _by_model(
    path: str, starts, rows_at, k: int, beam, cpus: int, memory, attempts: int, parts: int | None
):
    slots = _slots(cpus)
    parts = slots if parts is None else parts
    _refuse_less_than_one(parts=parts)
    if parts > slots:
        raise InputError(
            f"parts is {parts}, but the cluster runs {slots} tasks at once: all parts must be open"
        )
    combiner = _native.Combiner.open(path)
    manifest = json.loads(combiner.model.manifest)
    if memory is None:
        memory = sum(file.stat().st_size for file in Path(path).iterdir()) // parts
    _refuse_more_than_a_node_has(cpus, memory)
    retries = {"max_restarts": attempts - 1, "max_task_retries": attempts - 1}
    actor = ray.remote(_Part).options(num_cpus=cpus, memory=memory, **retries)
    actors = [actor.remote(path, part, parts, cpus) for part in range(parts)]
    stored: dict[int, ray.ObjectRef] = {}

    def submit(item: tuple[int, int]) -> ray.ObjectRef:
        start, part = item
        if start not in stored:
            X = rows_at(start)
            if combiner.model.reads_text:
                arrays = (*combiner.model.vectorise(X, 0), manifest["features"])
            else:
                arrays = features(X)
            stored[start] = ray.put(arrays)
        return actors[part].scores.remote(stored[start], k, beam)

    said: dict[int, list[np.ndarray]] = {start: [] for start in starts}
    items = [(start, part) for start in starts for part in range(parts)]
    try:
        for (start, _), scores in _each(submit, items, attempts, _AHEAD * parts):
            said[start].append(scores)
            if len(said[start]) == parts:
                indptr, indices, data = combiner.combine(said.pop(start), k, beam)
                del stored[start]
                shape = (len(indptr) - 1, manifest["labels"])
                yield start, sparse.csr_array((data, indices, indptr), shape)
    finally:
        for one in actors:
            ray.kill(one)


class _Part:
    """A worker that has a part of a model open."""

    def __init__(self, path: str, part: int, parts: int, cpus: int) -> None:
        self.part, self.cpus = _native.ModelPart.open(path, part, parts), cpus

    def scores(self, arrays, k: int, beam: int | None) -> np.ndarray:
        return self.part.scores(arrays, k, beam, self.cpus)


def _model(path: str, cpus: int):
    """A model that the worker has open, unless it was written anew since."""
    manifest = Path(path, "manifest.json")
    return _opened(path, manifest.stat().st_mtime_ns if manifest.exists() else 0, cpus)


@functools.lru_cache(maxsize=1)
def _opened(path: str, _written: int, cpus: int):
    return load(path).set_params(n_jobs=cpus)


def tune(
    estimator: Estimator,
    candidates: Iterable[Mapping[str, Any]],
    X,
    y,
    *,
    metric: str = "ndcg@5",
    folds: int = 3,
    seed: int = 42,
    cpus: int = 1,
    memory: int | None = None,
    attempts: int = 3,
    progress: Callback | None = None,
) -> list[dict[str, Any]]:
    """Compares settings by cross-validation, each fold of each candidate in a task of its own.

    Gives a row for each candidate, best first: ``settings``, the mean of the ``metric`` under its
    name, and the figure of each fold under ``folds``. ``pandas.DataFrame`` makes a table of it.

    Parameters
    ----------
    estimator : estimator
        What all candidates have in common.
    candidates : iterable of dict
        The parameters that are set on it, such as ``sklearn.model_selection.ParameterGrid`` gives
        them.
    X, y
        As in ``estimator.fit``. They are put into the object store, from where each node takes them
        once.
    metric : str, default="ndcg@5"
        A figure of :func:`labelwood.metrics.evaluate`.
    folds, seed
        Into how many parts rows are divided, and how they are shuffled.
    cpus, memory, attempts, progress
        As in :func:`fit`; progress is in tasks. No memory is asked for by default.
    """
    if not isinstance(estimator, Estimator):
        raise InputError(
            f"estimator is {estimator!r}, but must be one for rows: vectorise texts before"
        )
    _refuse_less_than_one(cpus=cpus, attempts=attempts)
    _refuse_more_than_a_node_has(cpus, memory or 0)
    _cut(metric)
    candidates = [dict(candidate) for candidate in candidates]
    indptr, indices, data, columns = features(X)
    X = sparse.csr_array((data, indices, indptr), (len(indptr) - 1, columns))
    Y = Labels(y).indicator
    parts = list(KFold(folds, shuffle=True, random_state=seed).split(X))
    rows = ray.put((X, Y))
    learners = [clone(estimator).set_params(**candidate, n_jobs=cpus) for candidate in candidates]
    options = {"num_cpus": cpus, "memory": memory, "max_retries": attempts - 1}
    task = ray.remote(_fold).options(**options)
    items = [(at, fold) for at in range(len(candidates)) for fold in range(folds)]
    figures = np.zeros((len(candidates), folds))
    for done, ((at, fold), figure) in enumerate(_each(
        lambda item: task.remote(learners[item[0]], rows, *parts[item[1]], metric),
        items, attempts, _AHEAD * _slots(cpus),
    )):
        figures[at, fold] = figure
        if progress is not None:
            progress("tune", done + 1, len(items))
    table = [{"settings": candidate, metric: float(row.mean()), "folds": row.tolist()}
             for candidate, row in zip(candidates, figures)]
    return sorted(table, key=lambda row: -row[metric])


def _cut(metric: str) -> int:
    name, _, k = metric.partition("@")
    if not name or not k.isdecimal() or int(k) < 1:
        raise InputError(f"metric is {metric!r}, but must be a figure such as ndcg@5")
    return int(k)


def _fold(learner: Estimator, rows, train: np.ndarray, test: np.ndarray, metric: str) -> float:
    X, Y = rows
    k = _cut(metric)
    scores = learner.fit(X[train], Y[train]).predict_top_k(X[test], k)
    figures = evaluate(Y[test], scores, [k], Y_train=Y[train])
    if metric not in figures:
        raise InputError(f"metric is {metric!r}, but must be one of {', '.join(figures)}")
    return figures[metric]


class Predictor:
    """Tags the texts of a ``ray.data`` dataset, batch by batch.

    Each actor maps the model, so that those of a node hold it in memory once::

        documents = ray.data.read_parquet("documents")
        tagged = documents.map_batches(
            labelwood.ray.Predictor,
            fn_constructor_kwargs={"path": "model", "top_k": 5, "text_column": "title"},
            batch_format="pyarrow",
            concurrency=4,
        )
        tagged.write_parquet("tagged")

    Batches may be Arrow tables, DataFrames or dictionaries of arrays; they come back with two more
    columns of lists, best label first. Arrow tables keep the types of lists.

    Parameters
    ----------
    path : str or path
        The folder of a model of text, which all nodes see.
    top_k : int, default=5
        How many labels a text gets.
    text_column : str, default="text"
    label_column, score_column : str, default="labels" and "scores"
        What the new columns are called.
    beam : int, optional
        As in ``predict_top_k``.
    n_jobs : int, default=1
        The threads of an actor; ask Ray for as many with ``num_cpus``.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        top_k: int = 5,
        text_column: str = "text",
        *,
        label_column: str = "labels",
        score_column: str = "scores",
        beam: int | None = None,
        n_jobs: int = 1,
    ) -> None:
        model = load(path)
        if not isinstance(model, TextTagger):
            raise InputError(
                f"{os.fspath(path)}: the model was trained on vectors: use labelwood.ray.predict"
            )
        self.model = model.set_params(n_jobs=n_jobs)
        self.top_k, self.beam = top_k, beam
        self.text_column, self.label_column = text_column, label_column
        self.score_column = score_column

    def __call__(self, batch):
        names = batch.column_names if hasattr(batch, "column_names") else list(batch)
        if self.text_column not in names:
            raise InputError(
                f"there is no column {self.text_column!r}: text_column must be one of "
                f"{', '.join(map(str, names))}"
            )
        texts = batch[self.text_column]
        texts = texts.to_pylist() if hasattr(texts, "to_pylist") else list(texts)
        scores = self.model.predict_top_k(
            ["" if text is None else str(text) for text in texts], self.top_k, beam=self.beam
        )
        tags = self.model.classes_[scores.indices]
        return self._with(batch, scores.indptr, tags, scores.data)

    def _with(self, batch, indptr: np.ndarray, tags: np.ndarray, scores: np.ndarray):
        if hasattr(batch, "append_column"):
            import pyarrow as pa

            ends = pa.array(indptr, pa.int32())
            batch = batch.append_column(
                self.label_column, pa.ListArray.from_arrays(ends, pa.array(tags, pa.string()))
            )
            return batch.append_column(
                self.score_column, pa.ListArray.from_arrays(ends, pa.array(scores, pa.float32()))
            )
        batch = batch.assign() if hasattr(batch, "assign") else dict(batch)
        for name, values in ((self.label_column, tags), (self.score_column, scores)):
            column = np.empty(len(indptr) - 1, object)
            column[:] = [values[start:end].tolist() for start, end in zip(indptr, indptr[1:])]
            batch[name] = column
        return batch


def _each(
    submit: Callable[[_Item], ray.ObjectRef], items: Iterable[_Item], attempts: int, window: int
) -> Iterator[tuple[_Item, Any]]:
    """The results of a task for each item as they come; lost ones are handed out again."""
    waiting = [(item, attempts) for item in items][::-1]
    running: dict[ray.ObjectRef, tuple[_Item, int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < window:
                item, left = waiting.pop()
                running[submit(item)] = (item, left)
            [ready, *_], _ = ray.wait(list(running))
            item, left = running.pop(ready)
            try:
                result = ray.get(ready)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except ray.exceptions.RayError as error:
                if left <= 1:
                    raise MachineError(
                        f"a task was lost {attempts} times: {error}; what is finished is kept"
                    ) from error
                _log.warning("a task was lost and is started again: %s", error)
                waiting.append((item, left - 1))
            else:
                yield item, result
    finally:
        for ref in running:
            ray.cancel(ref)


def _slots(cpus: int) -> int:
    """How many tasks the cluster runs at once."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)) // cpus)


def _refuse_less_than_one(**numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise InputError(f"{name} is {number}, but must be at least 1")


def _refuse_more_than_a_node_has(cpus: int, memory: int) -> None:
    """Ray would wait for such a node for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= cpus and node.get("memory", 0) >= memory for node in nodes):
        most = max((node.get("memory", 0) for node in nodes), default=0)
        raise InputError(
            f"a task asks for {cpus} CPUs and {memory / 2**30:.2f} GiB of memory, but no node has both "
            f"(at most {most / 2**30:.2f} GiB): give less as cpus or memory, or start a larger node"
        )
