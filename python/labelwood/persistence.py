"""Opening saved models."""

from __future__ import annotations

import json
import os
from typing import TypeVar

from . import _native
from ._base import Estimator
from ._documents import in_python
from ._errors import InputError, MissingError
from ._inputs import real
from .estimators import BY_ALGORITHM
from .text import TextTagger


def refuse_missing(path: str | os.PathLike[str]) -> None:
    """Raises if there is nothing where a model should be."""
    if not os.path.exists(path):
        raise MissingError(
            f"{os.fspath(path)}: there is no model here (nothing of that name); give one that `save` or "
            "`train --model` wrote"
        )


T = TypeVar("T", bound="Estimator | TextTagger")


def shrink(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    prune: float | None = None,
    values: str | None = None,
    overwrite: bool = False,
) -> tuple[int, int]:
    """Writes a smaller model, as the command's ``convert``; gives the bytes of both.

    >>> import labelwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> X, Y, _ = labelwood.datasets.generate("eurlex-4k", rows=200)
    >>> labelwood.LabelTree(trees=1).fit(X, Y).save(folder + "/large")
    >>> before, after = labelwood.shrink(folder + "/large", folder + "/small", prune=0.2)
    >>> after < before
    True

    Parameters
    ----------
    source, target : path
        The models; ``target`` becomes one file if it ends in ``.labelwood``.
    prune : float, optional
        Weights of at most this are dropped.
    values : {"u8", "f16", "f32"}, optional
        How the others are stored.
    overwrite : bool, default=False
        Whether a model in ``target`` is replaced.
    """
    prune = None if prune is None else real("prune", prune)
    return _native.shrink(os.fspath(source), os.fspath(target), prune, values, bool(overwrite))


def load_as(kind: type[T], path: str | os.PathLike[str], mmap: bool) -> T:
    """A model of one kind."""
    found = load(path, mmap=mmap)
    if not isinstance(found, kind):
        raise InputError(
            f"{os.fspath(path)}: this is a {type(found).__name__}, not a {kind.__name__}: take "
            f"labelwood.load, or {type(found).__name__}.load"
        )
    return found


def load(path: str | os.PathLike[str], *, mmap: bool = True) -> Estimator | TextTagger:
    """Opens a model's folder or file, whether Python or the command wrote it.

    The estimator has the settings that the model was trained with, every automatic choice made.
    A model of text is a :class:`TextTagger`. What the command does not know is not in the folder:
    ``n_jobs`` and ``verbose`` are the defaults, and there are no names of features
    (``feature_names_in_``). ``threshold`` is "auto": what training learned is in the folder, a number
    that was set is not.

    :meth:`LabelTree.load` and its like open a model of that kind alone, which tells type checkers what
    comes.

    >>> import labelwood, tempfile
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> labelwood.OneVsRest(threshold=0.3).fit([[1, 0], [0, 1]], [["birds"], ["maps"]]).save(folder)
    >>> labelwood.load(folder).set_params(threshold=0.3).classes_
    array(['birds', 'maps'], dtype=object)
    >>> labelwood.OneVsRest.load(folder).classes_.tolist()
    ['birds', 'maps']

    Parameters
    ----------
    path : str or path
        The folder, or the file.
    mmap : bool, default=True
        Whether files are mapped into memory, so that a model is open at once and shared by
        processes; nobody may then change them. Otherwise they are read.
    """
    refuse_missing(path)
    model = _native.Model.open(os.fspath(path), mmap)
    manifest = json.loads(model.manifest)
    algorithm = manifest["algorithm"]
    if algorithm not in BY_ALGORITHM:
        raise InputError(f"{os.fspath(path)}: there is no estimator for `{algorithm}` yet")
    calibrate = {"calibrate": True} if manifest.get("calibrate") else {}
    favour = manifest.get("favour", "none")
    estimator = BY_ALGORITHM[algorithm]._with_settings(
        manifest["settings"], favour=favour, **calibrate
    )
    if not model.reads_text:
        estimator._take(model)
        return estimator
    text = manifest["text"]
    settings = in_python(text["vectoriser"])
    tagger = TextTagger(estimator, separator=text["documents"]["separator"], **settings)
    tagger._take(model)
    return tagger
