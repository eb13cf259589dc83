"""Data sets come from files, from the package and from nothing."""

import gzip

import numpy as np
import pytest

from labelwood import InputError, MachineError, datasets


def test_vectors_are_read_and_written(tmp_path):
    text = "2 4 3\n0,2 3:1 0:0.5\n 1:2\n"
    (tmp_path / "rows.txt").write_text(text)
    (tmp_path / "labels.txt").write_text("birds\nQ7\tmaps\ncats\n")
    X, Y, names = datasets.read(tmp_path / "rows.txt")
    assert X.toarray().tolist() == [[0.5, 0, 0, 1], [0, 2, 0, 0]] and X.dtype == np.float32
    assert Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0]]
    assert names == ["birds", "Q7\tmaps", "cats"] == datasets.read_vocabulary(tmp_path / "labels.txt")
    for name in ("again.txt", "again.svm", "again.txt.gz"):
        datasets.write(tmp_path / name, X, Y)
        again = datasets.read(tmp_path / name, n_features=4, n_labels=3)
        assert (again.X != X).nnz == 0 and (again.Y != Y).nnz == 0


@pytest.mark.parametrize("name", ["rows.txt", "rows.svm.gz", "rows.lwd"])
def test_names_of_labels_are_written_with_the_rows(name, tmp_path):
    tags = [["maps", "birds"], ["birds"], []]
    datasets.write(tmp_path / name, np.eye(3), tags)
    read = datasets.read(tmp_path / name)
    assert read.label_names == ["maps", "birds"]
    assert read.Y.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]
    before = (tmp_path / name).read_bytes()
    with pytest.raises(InputError, match=r"the file is already there: give overwrite=True to replace it"):
        datasets.write(tmp_path / name, np.eye(3) * 2, tags)
    assert (tmp_path / name).read_bytes() == before
    datasets.write(tmp_path / name, np.eye(3), tags, overwrite=True)
    if name != "rows.lwd":
        assert (tmp_path / "rows.labels.txt").read_text() == "maps\nbirds\n"
        (tmp_path / name).unlink()
        with pytest.raises(InputError, match="rows.labels.txt: the file is already there: give overwrite=True"):
            datasets.write(tmp_path / name, np.eye(2), [["birds"], ["maps"]])
        datasets.write(tmp_path / name, np.eye(2), [["birds"], ["maps"]], overwrite=True)
        assert datasets.read(tmp_path / name).label_names == ["birds", "maps"]


@pytest.mark.parametrize("name", ["rows.txt", "rows.svm", "rows.lwd"])
def test_rows_without_labels_for_each_are_not_written(name, tmp_path):
    with pytest.raises(InputError, match="X has 3 rows, but Y has 2: give each row its labels"):
        datasets.write(tmp_path / name, np.eye(3), [[0], [1]])
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("format", ["xc", "libsvm", "lwd"])
def test_a_format_is_stated_if_the_name_does_not_tell(format, tmp_path):
    path = tmp_path / "rows.data"
    with pytest.raises(InputError, match="rows.data: the ending does not tell the format"):
        datasets.write(path, np.eye(2), [[0], [1]])
    datasets.write(path, np.eye(2), [["a"], ["b"]], format=format)
    with pytest.raises(InputError, match="rows.data: the ending does not tell the format"):
        datasets.read(path)
    read = datasets.read(path, format=format)
    assert read.X.toarray().tolist() == np.eye(2).tolist() and read.label_names == ["a", "b"]
    with pytest.raises(InputError, match='format is "npz", but must be xc, libsvm or lwd'):
        datasets.read(path, format="npz")
    with pytest.raises(InputError, match='format is "npz", but must be xc, libsvm or lwd'):
        datasets.write(path, np.eye(2), [[0], [1]], format="npz")


def test_errors_of_files_name_the_place(tmp_path):
    (tmp_path / "rows.txt").write_text("1 2 2\n5 0:1\n")
    with pytest.raises(InputError, match=r"rows.txt:2:1: label 5 is out of range"):
        datasets.read(tmp_path / "rows.txt")
    assert datasets.read(tmp_path / "rows.txt", lenient=True).Y.shape == (1, 6)
    for error in (MachineError, FileNotFoundError):
        with pytest.raises(error, match="no-such.txt"):
            datasets.read(tmp_path / "no-such.txt")


def test_documents_are_read_from_every_format(tmp_path):
    (tmp_path / "books.tsv").write_text("old maps\tmaps;old\nbirds\tbirds\n")
    with gzip.open(tmp_path / "books.csv.gz", "wt") as file:
        file.write("title,subjects\nold maps,maps;old\nbirds,birds\n")
    (tmp_path / "books.jsonl").write_text(
        '{"id": "1", "text": "old maps", "labels": ["maps", "old"]}\n{"text": "birds", "labels": ["birds"]}\n'
    )
    tsv = datasets.read_documents(tmp_path / "books.tsv")
    assert [(document.text, document.labels) for document in tsv] == [
        ("old maps", ["maps", "old"]), ("birds", ["birds"])
    ]
    table = datasets.read_documents(tmp_path / "books.csv.gz", text="title", labels="subjects")
    assert table == tsv
    whole = datasets.read_documents(tmp_path / "books.tsv", separator="none")
    assert whole[0].labels == ["maps;old"]
    (tmp_path / "goods.csv").write_text("text,labels\nroses,Home & Garden\n")
    assert datasets.read_documents(tmp_path / "goods.csv")[0].labels == ["Home & Garden"]
    (tmp_path / "books.tsv").rename(tmp_path / "books.tab")
    with pytest.raises(InputError, match="books.tab: the ending does not tell the format"):
        datasets.read_documents(tmp_path / "books.tab")
    assert datasets.read_documents(tmp_path / "books.tab", format="tsv") == tsv
    with pytest.raises(InputError, match='format is "xml", but must be tsv, csv or jsonl'):
        datasets.read_documents(tmp_path / "books.tab", format="xml")
    json = datasets.read_documents(tmp_path / "books.jsonl")
    assert [document.id for document in json] == ["1", None]


def test_rows_are_drawn_anywhere_and_always_the_same():
    whole = datasets.generate("eurlex-4k", rows=20)
    part = datasets.generate("eurlex-4k", rows=5, start=10, n_jobs=1)
    assert (whole.X[10:15] != part.X).nnz == 0 and (whole.Y[10:15] != part.Y).nnz == 0
    test = datasets.generate("eurlex-4k", rows=5, test=True)
    assert (test.X != whole.X[:5]).nnz > 0
    assert "amazon-670k" in datasets.profiles()
    with pytest.raises(InputError, match='profile is "amazon", but must be one of'):
        datasets.generate("amazon")


def test_names_of_labels_that_are_not_there_are_left_out(tmp_path):
    (tmp_path / "train.txt").write_text("2 2 2\n0 0:1\n1 1:1\n")
    (tmp_path / "labels.txt").write_text("birds\nmaps\nsea\n")
    assert datasets.read(tmp_path / "train.txt").label_names == ["birds", "maps"]


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<x:b> skos:prefLabel "birds"@en, "linnut"@fi ; skos:altLabel "fowl"@en .
<x:a> skos:prefLabel "animals"@en .
"""


def test_vocabularies_have_a_line_for_each_label(tmp_path):
    (tmp_path / "v.ttl").write_text(SKOS)
    lines = ["x:a\tanimals", "x:b\tbirds\tfowl"]
    assert datasets.read_vocabulary(tmp_path / "v.ttl") == lines
    finnish = datasets.read_vocabulary(tmp_path / "v.ttl", "fi")
    assert finnish == ["x:a", "x:b\tlinnut"]
    with pytest.raises(InputError, match="no names in the language `sv`, only in `en`, `fi`"):
        datasets.read_vocabulary(tmp_path / "v.ttl", "sv")
    datasets.write(tmp_path / "a.txt", np.eye(2), np.eye(2))
    read = datasets.read(tmp_path / "a.txt", vocabulary=tmp_path / "v.ttl", language="en")
    assert read.label_names == lines
