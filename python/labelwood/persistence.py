"""Opening saved models."""

from __future__ import annotations

import json
import os

from . import _native
from ._base import Estimator
from ._errors import InputError, MissingError
from .estimators import BY_ALGORITHM
from .text import TextTagger, in_python


def refuse_missing(path: str | os.PathLike[str]) -> None:
    """Raises if there is nothing where a model should be."""
    if not os.path.exists(path):
        raise MissingError(
            f"{os.fspath(path)}: there is no model here (no such folder); give one that `save` or "
            "`train --model` wrote"
        )


def load(path: str | os.PathLike[str], *, mmap: bool = True) -> Estimator | TextTagger:
    """Opens a model's folder, whether Python or the command wrote it.

    The estimator has the settings that the model was trained with, every automatic choice made.
    A model of text is a :class:`TextTagger`. What the command does not know is not in the folder:
    ``threshold``, ``n_jobs`` and ``verbose`` are the defaults, and there are no names of features
    (``feature_names_in_``).

    >>> import labelwood, tempfile
    >>> folder = tempfile.mkdtemp() + "/model"
    >>> labelwood.OneVsRest(threshold=0.3).fit([[1, 0], [0, 1]], [["birds"], ["maps"]]).save(folder)
    >>> labelwood.load(folder).set_params(threshold=0.3).classes_
    array(['birds', 'maps'], dtype=object)

    Parameters
    ----------
    path : str or path
        The folder.
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
