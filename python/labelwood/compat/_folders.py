"""The folders of models: labelwood's have a ``manifest.json``, omikuji's a ``settings.json``.

After a model is saved, its folder holds no other model, of either kind. Files that belong to no model
stay as they are.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable

from .._errors import InputError

MANIFEST = "manifest.json"
SETTINGS = "settings.json"


def is_omikujis(path: str) -> bool:
    """Whether a folder holds a model that is to be read as omikuji's."""
    names = _names_in(path)
    if SETTINGS not in names or MANIFEST not in names:
        return SETTINGS in names
    if _is_omikujis(_json(path, SETTINGS)):
        raise InputError(
            f"labelwood's {MANIFEST} and omikuji's {SETTINGS} are both there; remove the model that is "
            "not wanted"
        )
    return False


def save_labelwoods(model, path: str) -> None:
    """Saves a model of labelwood's own."""
    names = _names_in(path)
    others = [SETTINGS, *_trees(names)] if _is_omikujis(_json(path, SETTINGS)) else []
    if MANIFEST in names or not names:
        model.save(path, True)
    else:
        # Only folders of a model's own are written to by the library.
        _put(path, lambda folder: model.save(folder, True))
    _remove(path, others)


def save_omikujis(model, path: str) -> None:
    """Saves a model that omikuji wrote, in omikuji's format."""
    settings, manifest = _json(path, SETTINGS), _json(path, MANIFEST)
    if settings is not None and not _is_omikujis(settings):
        raise InputError(f"the {SETTINGS} there is not omikuji's; choose another folder")
    if manifest is not None and not _is_labelwoods(manifest):
        raise InputError(f"the {MANIFEST} there is not labelwood's; choose another folder")
    _put(path, model.save, instead_of=[SETTINGS, *_trees(_names_in(path))])
    if manifest is not None:
        units = [os.path.basename(unit["file"]) for unit in manifest["units"]]
        _remove(path, [MANIFEST, *units])


def _put(path: str, write: Callable[[str], object], instead_of: Iterable[str] = ()) -> None:
    """Puts the files that ``write`` makes in a new folder into one that may hold others.

    The file that makes a model of them goes first and comes last: whoever is interrupted leaves no
    mixture of two models.
    """
    os.makedirs(path, exist_ok=True)
    # Inside, so that files are only renamed then, also where a link leads to another disk.
    with tempfile.TemporaryDirectory(prefix=".labelwood-", dir=path) as around:
        made = os.path.join(around, "model")
        write(made)
        _remove(path, instead_of)
        for name in sorted(os.listdir(made), key=(MANIFEST, SETTINGS).__contains__):
            os.replace(os.path.join(made, name), os.path.join(path, name))


def _remove(path: str, names: Iterable[str]) -> None:
    for name in names:
        try:
            os.remove(os.path.join(path, name))
        except FileNotFoundError:
            pass


def _names_in(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _trees(names: Iterable[str]) -> list[str]:
    """Those that omikuji takes for trees."""
    return [name for name in names if name.startswith("tree") and name.endswith(".cbor")]


def _json(path: str, name: str):
    """What a file holds: none if there is none, false if it is not JSON."""
    try:
        with open(os.path.join(path, name), "rb") as file:
            return json.load(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        return False


def _is_omikujis(settings) -> bool:
    return isinstance(settings, dict) and {"n_features", "classifier_loss_type"} <= settings.keys()


def _is_labelwoods(manifest) -> bool:
    return isinstance(manifest, dict) and {"algorithm", "units"} <= manifest.keys()
