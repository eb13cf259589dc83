"""The native part: arrays and JSON in, arrays and JSON out. Not for users."""

import os
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Combiner",
    "Model",
    "ModelShare",
    "OmikujiTrees",
    "Plan",
    "Vectoriser",
    "__version__",
    "algorithms",
    "check_indices",
    "check_offsets",
    "check_rows",
    "check_texts",
    "compare_rows",
    "compare_texts",
    "choose_algorithm",
    "choose_text",
    "divide",
    "evaluate",
    "explain",
    "generate",
    "group_memory",
    "inverse_propensity",
    "manifest",
    "model_from_files",
    "preset",
    "presets",
    "profiles",
    "questions",
    "read",
    "read_documents",
    "read_vocabulary",
    "read_omikuji_rows",
    "report",
    "shrink",
    "tune_rows",
    "tune_texts",
    "updates",
    "vectoriser_defaults",
    "write",
]

__version__: str

_Features = tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
_Labels = tuple[NDArray[Any], NDArray[Any], int]
_Rows = tuple[NDArray[Any], NDArray[np.int32], NDArray[Any]]
_Data = tuple[_Rows, int, _Rows, int]
_Wish = tuple[str, int | None, int, bool]
_Learner = tuple[str, str, bool, str, bool, bool]
_Bounds = tuple[tuple[str, bool] | int | None, float | None, int | None, int | None]
_Least = tuple[float, int]
_Trials = tuple[
    Sequence[tuple[str, str]], Sequence[str], str, int, str | None, float | None, int
]
_Tuned = tuple[str, str, list[list[str]], str, bool]
_Handed = tuple[_Features, _Labels, Sequence[str] | None]
_Asked = tuple[
    Sequence[tuple[str, tuple[str, str] | None]],
    tuple[float, int | None],
    tuple[int, int],
    str | None,
    float | None,
    int | None,
    str,
]
_Answers = Sequence[tuple[str, _Features | Sequence[Sequence[str]]]]
_Documents = tuple[Sequence[str], Sequence[Sequence[str]]]
_Compared = tuple[str, list[list[str]], str, str, str, str]
_Vocabulary = tuple[str | None, list[str], str | None]
_Progress = Callable[[str, int, int], object] | None

@final
class Model:
    @staticmethod
    def train(
        learner: _Learner,
        features: _Features,
        labels: _Labels,
        names: Sequence[str] | None,
        bounds: _Bounds,
        threads: int,
        progress: _Progress,
    ) -> Model: ...
    @staticmethod
    def train_text(
        learner: _Learner,
        vectoriser: str,
        documents: str,
        texts: Sequence[str],
        tags: Sequence[Sequence[str]],
        vocabulary: _Vocabulary,
        bounds: _Bounds,
        threads: int,
        progress: _Progress,
    ) -> Model: ...
    @staticmethod
    def open(path: str | os.PathLike[str], map: bool) -> Model: ...
    def files(self) -> list[bytes]: ...
    def save(self, path: str | os.PathLike[str], overwrite: bool) -> None: ...
    def predict(
        self,
        features: _Features,
        k: int,
        beam: int | None,
        allowed: Sequence[int] | None,
        threads: int,
        progress: _Progress,
        least: _Least | None = None,
    ) -> _Rows: ...
    def predict_texts(
        self,
        texts: Sequence[str],
        k: int,
        beam: int | None,
        allowed: Sequence[int] | None,
        threads: int,
        progress: _Progress,
        least: _Least | None = None,
    ) -> _Rows: ...
    def update(
        self,
        features: _Features,
        labels: _Labels,
        names: Sequence[str] | None,
        into: tuple[str, bool] | None,
        again: bool,
        threads: int,
        progress: _Progress,
    ) -> Model: ...
    def update_texts(
        self,
        texts: Sequence[str],
        labels: _Labels,
        names: Sequence[str],
        into: tuple[str, bool] | None,
        again: bool,
        threads: int,
        progress: _Progress,
    ) -> Model: ...
    def predict_row(
        self, pairs: Sequence[tuple[int, float]], k: int, beam: int | None = None
    ) -> list[tuple[int, float]]: ...
    def vectorise(self, texts: Sequence[str], threads: int) -> _Rows: ...
    def clusters(self, tree: int) -> list[list[int]] | None: ...
    def label_terms(self, label: int) -> list[tuple[str, float]] | None: ...
    @property
    def manifest(self) -> str: ...
    @property
    def reads_text(self) -> bool: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def gives_probabilities(self) -> bool: ...
    @property
    def label_counts(self) -> NDArray[np.uint32]: ...
    def find_labels(self, texts: Sequence[str]) -> list[int | None]: ...
    @property
    def label_lines(self) -> list[str] | None: ...
    @property
    def label_names(self) -> list[str] | None: ...
    @property
    def languages(self) -> list[str]: ...
    def names_in(self, language: str) -> list[str]: ...
    def all_names(self, label: int) -> list[str]: ...
    def broader(self, label: int) -> list[int]: ...

@final
class ModelShare:
    @staticmethod
    def open(path: str | os.PathLike[str], index: int, of: int) -> ModelShare: ...
    def scores(
        self, asked: _Features | Sequence[str], k: int, beam: int | None, threads: int
    ) -> NDArray[np.uint8]: ...

@final
class Combiner:
    @staticmethod
    def open(path: str | os.PathLike[str]) -> Combiner: ...
    @property
    def model(self) -> Model: ...
    def combine(self, scores: Sequence[NDArray[np.uint8]], k: int, beam: int | None) -> _Rows: ...

@final
class OmikujiTrees:
    def __new__(cls, files: Sequence[bytes]) -> OmikujiTrees: ...
    def __getnewargs__(self) -> tuple[list[bytes]]: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...
    @staticmethod
    def open(path: str | os.PathLike[str]) -> OmikujiTrees: ...
    def predict(
        self,
        features: _Features,
        k: int,
        beam: int,
        _allowed: Sequence[int] | None,
        threads: int,
        progress: _Progress,
    ) -> _Rows: ...
    def predict_row(
        self, pairs: Sequence[tuple[int, float]], k: int, beam: int
    ) -> list[tuple[int, float]]: ...
    @property
    def manifest(self) -> str: ...

@final
class Plan:
    @staticmethod
    def of_rows(
        wish: _Wish,
        learner: _Learner,
        features: _Features,
        labels: _Labels,
        names: Sequence[str] | None,
        threads: int,
    ) -> Plan: ...
    @staticmethod
    def of_file(wish: _Wish, learner: _Learner, path: str, threads: int) -> Plan: ...
    @staticmethod
    def of_texts(
        wish: _Wish,
        learner: _Learner,
        vectoriser: str,
        documents: str,
        texts: Sequence[str],
        tags: Sequence[Sequence[str]],
        vocabulary: _Vocabulary,
        threads: int,
    ) -> Plan: ...
    @staticmethod
    def open(folder: str | os.PathLike[str]) -> Plan: ...
    @property
    def shards(self) -> list[tuple[list[str], int, float]]: ...
    @property
    def stages(self) -> int: ...
    @property
    def data(self) -> os.PathLike[str]: ...
    def status(
        self,
    ) -> tuple[
        list[str],
        list[str],
        list[os.PathLike[str]],
        list[os.PathLike[str]],
        list[tuple[int, int]],
    ]: ...
    def train(
        self, shard: int, stage: int, rows: tuple[_Features, _Labels] | NDArray[np.uint8] | None, threads: int
    ) -> int: ...
    def merge(self, target: str | os.PathLike[str], overwrite: bool) -> None: ...

@final
class Vectoriser:
    def __new__(cls, params: str, arrays: Sequence[bytes]) -> Vectoriser: ...
    def __getnewargs__(self) -> tuple[str, list[bytes]]: ...
    @staticmethod
    def fit(texts: Sequence[str], params: str, threads: int) -> tuple[Vectoriser, _Rows]: ...
    def transform(self, texts: Sequence[str], threads: int) -> _Rows: ...
    @property
    def columns(self) -> int: ...
    @property
    def terms(self) -> list[str]: ...

def model_from_files(files: Sequence[bytes]) -> Model: ...
def algorithms() -> list[str]: ...
def presets(algorithm: str) -> list[str]: ...
def preset(algorithm: str, preset: str) -> str: ...
def updates(algorithm: str) -> str: ...
def manifest(path: str | os.PathLike[str]) -> str: ...
def group_memory() -> int | None: ...
def check_offsets(indptr: NDArray[Any], name: str, rows: int, entries: int) -> None: ...
def check_indices(indices: NDArray[Any], name: str, limit: int) -> None: ...
def vectoriser_defaults() -> str: ...
def check_rows(rows: _Handed, test: _Handed | None) -> str: ...
def check_texts(documents: str, test: str | None, threads: int) -> str: ...
def divide(
    rows: _Features | Sequence[str], values: Sequence[str] | None, share: float, seed: int
) -> list[bool]: ...
def shrink(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    prune: float | None,
    values: str | None,
    overwrite: bool,
) -> tuple[int, int]: ...
def choose_algorithm(
    features: _Features, labels: _Labels, seed: int, memory: int | None, threads: int
) -> tuple[str, str, list[str]]: ...
def compare_rows(
    asked: _Asked,
    rows: _Handed,
    test: _Handed | None,
    others: _Answers,
    threads: int,
    progress: _Progress,
) -> _Compared: ...
def compare_texts(
    asked: _Asked,
    vectoriser: str,
    documents: str,
    vocabulary: _Vocabulary,
    all: _Documents,
    test: _Documents | None,
    others: _Answers,
    threads: int,
    progress: _Progress,
) -> _Compared: ...
def tune_rows(
    trials: _Trials, features: _Features, labels: _Labels, threads: int, progress: _Progress
) -> _Tuned: ...
def tune_texts(
    trials: _Trials,
    vectoriser: str,
    documents: str,
    texts: Sequence[str],
    tags: Sequence[Sequence[str]],
    vocabulary: _Vocabulary,
    threads: int,
    progress: _Progress,
) -> _Tuned: ...
def choose_text(
    vectoriser: str,
    documents: str,
    texts: Sequence[str],
    tags: Sequence[Sequence[str]],
    vocabulary: _Vocabulary,
    seed: int,
    threads: int,
) -> tuple[str, str]: ...
def read(
    path: str | os.PathLike[str],
    format: str | None,
    lenient: bool,
    features: int,
    labels: int,
    vocabulary: str | os.PathLike[str] | None,
    language: str | None,
    threads: int,
) -> tuple[_Data, list[str] | None]: ...
def write(
    path: str | os.PathLike[str],
    format: str | None,
    features: _Features,
    labels: _Labels,
    names: Sequence[str] | None,
    overwrite: bool,
) -> None: ...
def read_documents(
    path: str | os.PathLike[str],
    format: str | None,
    options: str,
    labels_required: bool,
    threads: int,
) -> list[tuple[str | None, str, list[str]]]: ...
def read_vocabulary(path: str | os.PathLike[str], language: str | None) -> list[str]: ...
def read_omikuji_rows(
    path: str | os.PathLike[str], threads: int
) -> _Data: ...
def questions() -> tuple[list[tuple[str, list[str]]], list[tuple[str, list[str]]]]: ...
def profiles() -> list[str]: ...
def generate(
    profile: str, start: int, rows: int | None, test: bool, seed: int, threads: int
) -> _Data: ...
def evaluate(
    truth: _Labels,
    scores: _Features,
    instances: int,
    counts: Sequence[int],
    at: Sequence[int],
    propensity: tuple[float, float],
    is_pyxclib: bool,
    threshold: float | None,
) -> dict[str, float]: ...
def report(
    truth: _Labels,
    scores: _Features,
    instances: int,
    counts: Sequence[int],
    asked: tuple[Sequence[int], tuple[float, float], bool, float | None, bool, int],
    called: tuple[str, Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
) -> tuple[str, str]: ...
def inverse_propensity(instances: int, counts: Sequence[int], a: float, b: float) -> list[float]: ...
def explain(
    model: Model,
    source: str | Sequence[tuple[int, float]],
    labels: Sequence[int | str],
    k: int,
    most: int,
) -> tuple[str, str]: ...
