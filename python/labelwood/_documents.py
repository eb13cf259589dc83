"""Texts, tags, vocabularies and settings of text that users hand over, as the native part takes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import numpy as np
from scipy import sparse

from ._errors import InputError
from ._inputs import in_order, is_frame, of_arrow, refuse_halves, storable


def rows_of(arrays, columns: int) -> sparse.csr_array:
    """The three arrays of the native part as a matrix."""
    indptr, indices, data = arrays
    return sparse.csr_array((data, indices, indptr), (len(indptr) - 1, columns))


def as_texts(texts: Iterable[str]) -> list[str]:
    """Texts, each of which is a whole string."""
    if isinstance(texts, (str, bytes)):
        raise InputError("texts is one string, but must be a list of them")
    if is_frame(texts) or isinstance(texts, Mapping):
        raise InputError(
            f"texts is a {type(texts).__name__}, but must be a list of strings: hand over one column, "
            'such as table["title"]'
        )
    if not isinstance(texts, Iterable):
        raise InputError(f"texts is {texts!r}, but must be a list of strings")
    texts = list(of_arrow(texts))
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{at}] is {text!r}, but must be a string")
        refuse_halves(f"texts[{at}]", text)
    return texts


def as_tags(tags: Iterable[Iterable[str]]) -> list[list[str]]:
    """The tags of each text."""
    tags = of_arrow(tags)
    is_wrong = isinstance(tags, (str, bytes, Mapping)) or is_frame(tags)
    if is_wrong or not isinstance(tags, Iterable):
        raise InputError(
            f"tags is a {type(tags).__name__}, but must have a list of tags for each text"
        )
    return [_tags_of(row, at) for at, row in enumerate(tags)]


def _tags_of(row, at: int) -> list[str]:
    if isinstance(row, (str, bytes)) or not hasattr(row, "__iter__"):
        raise InputError(f"tags[{at}] is {row!r}, but must be a list of tags")
    row = in_order(row)
    for tag in row:
        if not isinstance(tag, str):
            raise InputError(f"tags[{at}] has {tag!r}, but tags are strings")
    return row


def refuse_other_numbers(texts: list[str], tags: list[list[str]]) -> None:
    """Every text has its tags."""
    if len(texts) != len(tags):
        raise InputError(f"{len(texts)} texts, but the tags of {len(tags)}: give each text its tags")


def refuse_more_than_a_pair(name: str, lengths) -> None:
    """The native part, which names all else, cannot tell how many there were."""
    if isinstance(lengths, (tuple, list, np.ndarray)) and len(lengths) > 2:
        raise InputError(f"{name} is {list(lengths)}, but must be two whole numbers")


def as_vocabulary(vocabulary, language) -> tuple[str | None, list[str], str | None]:
    """As the native part takes it: a file, or lines of codes and names, and a language."""
    if language is not None and (vocabulary is None or isinstance(vocabulary, Mapping)):
        raise InputError("language is for the file of a vocabulary: give that, too, or leave it out")
    if not isinstance(vocabulary, Mapping):
        return None if vocabulary is None else os.fspath(vocabulary), [], language
    lines = []
    for code, names in vocabulary.items():
        cells = [code, *([names] if isinstance(names, str) else names)]
        for cell in cells:
            if not isinstance(cell, str):
                raise InputError(f"vocabulary has {cell!r}, but codes and names are strings")
            storable(cell, "of the vocabulary,")
        lines.append("\t".join(cells))
    return None, lines, language


def in_python(settings: dict) -> dict:
    """The settings of text as the parameters have them."""
    words = settings["stop_words"]
    settings["stop_words"] = words["words"] if isinstance(words, dict) else words
    if words == "none":
        settings["stop_words"] = None
    for name in ("word_ngrams", "char_ngrams"):
        settings[name] = settings[name] and tuple(settings[name])
    return settings


def as_stop_words(words):
    """As the native part takes them."""
    if words is None:
        return "none"
    if isinstance(words, str):
        return words
    if isinstance(words, Iterable) and not isinstance(words, bytes):
        words = list(words)
        if all(isinstance(word, str) for word in words):
            return {"words": words}
    raise InputError(f"stop_words is {words!r}, but must be a language, auto, a list of words or None")
