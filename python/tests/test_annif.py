"""Annif's omikuji backend, over a module ``omikuji`` that only re-exports ours.

What is asked here is what Annif's own ``tests/test_backend_omikuji.py`` asks: settings and their
defaults, the training file, training with and without a cached one, suggestions, and what is refused.
The wheel of Annif 0.57.0 carries that file, and was the model; later distributions do not.
"""

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import textwrap
import types
from pathlib import Path

import pytest

annif = pytest.importorskip("annif", reason="Annif is not installed: pip install annif")

import annif.backend
import annif.corpus
import annif.vocab
from annif.exception import (
    NotInitializedException,
    NotSupportedException,
    OperationFailedException,
)

from labelwood import datasets
from labelwood.compat import omikuji as ours

QUESTIONS = datasets.load_questions()
TAGS = sorted({tag for tags in QUESTIONS.train_tags for tag in tags})
LINE = "Training model with hyper-parameters HyperParam"


def uri(tag):
    return "http://example.org/" + tag.replace(" ", "-")


def words(text):
    """Annif's own analysers first fetch their rules from the network."""
    return re.findall(r"\w\w+", text.lower())


@pytest.fixture(scope="module")
def backend_type(tmp_path_factory):
    """The backend, imported while ``omikuji`` is a module that re-exports ours."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "omikuji.py").write_text("from labelwood.compat.omikuji import *\n")
    names = ("omikuji", "annif.backend.omikuji")
    before = {name: sys.modules.pop(name, None) for name in names}
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        backend = annif.backend.get_backend("omikuji")
        module = sys.modules["annif.backend.omikuji"].omikuji
        assert Path(module.__file__) == folder / "omikuji.py"
        assert module.__version__ == ours.__version__
        yield backend
    finally:
        sys.path.remove(str(folder))
        for name, found in before.items():
            sys.modules.pop(name, None)
            if found is not None:
                sys.modules[name] = found


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """What a backend sees of a project."""
    folder = tmp_path_factory.mktemp("annif")
    vocabulary = annif.vocab.AnnifVocabulary("tags", str(folder))

    path = folder / "tags.tsv"
    path.write_text("".join(f"<{uri(tag)}>\t{tag}\n" for tag in TAGS))
    vocabulary.load_vocabulary(annif.vocab.VocabFileTSV(str(path), "en"))
    return types.SimpleNamespace(
        project_id="tags",
        analyzer=types.SimpleNamespace(tokenize_words=words),
        vocab=vocabulary,
        vocab_lang="en",
        subjects=vocabulary.subjects,
        datadir=str(folder),
        registry=None,
        transform=None,
    )


@pytest.fixture(scope="module")
def folder(project):
    return Path(project.datadir)


@pytest.fixture(scope="module")
def corpus(project, folder):
    lines = [f"{text}\t{' '.join(f'<{uri(tag)}>' for tag in tags)}\n"
             for text, tags in zip(QUESTIONS.train_texts, QUESTIONS.train_tags)]
    (folder / "documents.tsv").write_text("".join(lines))
    return _documents(folder / "documents.tsv", project)


def _documents(path, project):
    return annif.corpus.DocumentFileTSV(str(path), project.subjects)


@pytest.fixture
def backend(backend_type, project):
    return lambda **settings: backend_type("omikuji", settings, project)


def suggest(backend, text):
    [found] = backend.suggest([annif.corpus.Document(text=text)])
    return list(found)


@pytest.fixture(scope="module")
def trained(backend_type, project, folder, corpus):
    # An empty folder in the place of a model is replaced.
    (folder / "omikuji-model").mkdir()
    backend = backend_type("omikuji", {}, project)
    backend.train(corpus)
    return backend


def test_settings_have_their_defaults(backend):
    settings = backend().params
    assert (settings["limit"], settings["min_df"], settings["ngram"]) == (100, 1, 1)
    assert (settings["cluster_k"], settings["max_depth"]) == (2, 20)


def test_nothing_is_suggested_before_training(backend_type, project, tmp_path):
    untrained = types.SimpleNamespace(**{**vars(project), "datadir": str(tmp_path)})
    with pytest.raises(NotInitializedException):
        suggest(backend_type("omikuji", {}, untrained), "anything")


def test_the_training_file_skips_what_has_no_known_subjects_or_words(backend_type, project, tmp_path):
    lines = [f"nothing\t<{uri('no such tag')}>\n", f"knitting\t<{uri('knitting')}>\n",
             "...\t<http://example.org/none>\n", f"...\t<{uri('knitting')}>\n"]
    (tmp_path / "documents.tsv").write_text("".join(lines))
    corpus = _documents(tmp_path / "documents.tsv", project)
    elsewhere = types.SimpleNamespace(**{**vars(project), "datadir": str(tmp_path)})
    backend = backend_type("omikuji", {}, elsewhere)
    texts = (document.text for document in corpus.documents)
    backend._create_train_file(backend.create_vectorizer(texts, {"tokenizer": words}), corpus)
    header, row = (tmp_path / "omikuji-train.txt").read_text().splitlines()
    assert header.split() == ["00000001", "2", str(len(TAGS))]
    label, feature = row.split()
    assert project.subjects[int(label)].labels["en"] == "knitting"
    # The header's padded number is read, and one row is enough.
    model = ours.Model.train_on_data(str(tmp_path / "omikuji-train.txt"))
    assert model.predict([(int(feature.split(":")[0]), 1.0)])[0][0] == int(label)


def test_training_leaves_a_file_and_a_model(trained, folder):
    assert isinstance(trained._model, ours.Model)
    rows, features, labels = map(int, (folder / "omikuji-train.txt").read_text().split("\n")[0].split())
    assert rows == len(QUESTIONS.train_texts) and labels == len(TAGS) and features > 100
    assert (folder / "omikuji-model" / "manifest.json").exists()


def test_suggestions_fit_the_text(trained, backend, project):
    for one in (trained, backend(limit=8)):
        hits = suggest(one, "Which knitting pattern suits a beginner?")
        assert 0 < len(hits) <= (100 if one is trained else 8)
        names = [project.subjects[hit.subject_id].labels["en"] for hit in hits]
        assert "knitting" in names[:2]
        scores = [hit.score for hit in hits]
        assert all(0 <= score <= 1 for score in scores)
    right = [
        bool(hits) and project.subjects[hits[0].subject_id].labels["en"] in tags
        for text, tags in zip(QUESTIONS.test_texts, QUESTIONS.test_tags)
        for hits in [suggest(trained, text)]
    ]
    assert sum(right) > 0.3 * len(right)


def test_a_text_without_known_words_has_no_suggestions(trained, backend):
    assert suggest(backend(limit=8), "j") == []


def test_several_texts_are_suggested_for_at_once(trained, backend):
    documents = [annif.corpus.Document(text=text) for text in [*QUESTIONS.test_texts[:4], "j"]]
    batch = backend(limit=5).suggest(documents)
    assert [len(list(hits)) for hits in batch] == [5, 5, 5, 5, 0]


def test_training_takes_the_cached_file_and_replaces_the_model(trained, backend, folder):
    before = {path.name for path in (folder / "omikuji-model").iterdir()}
    again = backend()
    again.train("cached")
    assert {path.name for path in (folder / "omikuji-model").iterdir()} == before
    assert again._model.n_trees == 3


def test_pairs_of_words_are_features_too(trained, backend, corpus):
    features = trained._model.n_features
    pairs = backend(ngram=2)
    pairs.train(corpus)
    assert pairs._model.n_features > features


def test_settings_reach_the_training(backend, corpus, capfd):
    settings = {"cluster_k": 1, "max_depth": 2, "collapse_every_n_layers": 42,
                "cluster_balanced": "false"}
    backend().train(corpus, settings, jobs=1)
    [line] = [line for line in capfd.readouterr().out.splitlines() if LINE in line]
    for part in ("k: 1,", "max_depth: 2,", "collapse_every_n_layers: 42,", "balanced: false,"):
        assert part in line


def test_nothing_is_learned_from_nothing(backend, project, tmp_path):
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(NotSupportedException):
        backend().train(_documents(tmp_path / "empty.tsv", project))


def test_what_is_no_model_fails(trained, backend, folder):
    kept = folder / "omikuji-model"
    kept.rename(folder / "kept")
    try:
        kept.mkdir()
        (kept / "settings.json").write_text("{}")
        with pytest.raises(OperationFailedException):
            suggest(backend(), "anything")
    finally:
        (kept / "settings.json").unlink()
        kept.rmdir()
        (folder / "kept").rename(kept)


def test_the_path_decides_between_the_stand_in_and_an_omikuji_that_is_installed(tmp_path):
    (tmp_path / "omikuji.py").write_text("from labelwood.compat.omikuji import *\n")
    code = """
        import annif.backend
        annif.backend.get_backend("omikuji")
        import omikuji
        print(omikuji.__file__, omikuji.Model.__module__)
    """

    def found(**environment):
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)], check=True, capture_output=True, text=True,
            cwd=tmp_path.parent, env={**os.environ, **environment},
        )
        return run.stdout.split()[-2:]

    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert found(PYTHONPATH=path) == [str(tmp_path / "omikuji.py"), "labelwood.compat.omikuji"]
    try:
        importlib.metadata.distribution("omikuji")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("omikuji is not installed: pip install annif[omikuji]")
    assert not found()[1].startswith("labelwood")
