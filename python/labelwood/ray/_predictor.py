"""Tagging the texts of a dataset."""

from __future__ import annotations

import os

import numpy as np

from .._errors import InputError
from ..persistence import load
from ..text import TextTagger


class Predictor:
    """Tags the texts of a ``ray.data`` dataset, batch by batch.

    Each actor maps the model, so that those of a machine hold it in memory once::

        documents = ray.data.read_parquet("documents")
        tagged = documents.map_batches(
            labelwood.ray.Predictor,
            fn_constructor_kwargs={"path": "model", "top_k": 5, "text_column": "title"},
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=4),
            num_cpus=0,
        )
        tagged.write_parquet("tagged")

    Actors keep the CPUs that they ask for until the end, and with ``num_cpus=0`` leave them to the
    tasks that read and write files: if actors had all, these would wait for ever.

    Batches may be Arrow tables, DataFrames or dictionaries of arrays; they come back with two more
    columns of lists, best label first. Arrow tables keep the types of lists.

    Parameters
    ----------
    path : str or path
        The folder of a model of text, which all machines see.
    top_k : int, default=5
        How many labels a text gets.
    text_column : str, default="text"
    label_column, score_column : str, default="labels" and "scores"
        What the new columns are called; a batch must not have columns of these names.
    beam : int, optional
        As in ``predict_top_k``.
    n_jobs : int, default=1
        The threads of an actor.
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
        if label_column == score_column:
            raise InputError(
                f"label_column and score_column are both {label_column!r}, but must differ"
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
        for keyword in ("label_column", "score_column"):
            if (name := getattr(self, keyword)) in names:
                raise InputError(
                    f"there is a column {name!r} already: give another name with {keyword}="
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
