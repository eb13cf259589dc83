"""The example of a pipeline, on a cluster of its own as for whoever tries it first."""

import subprocess
import sys
from pathlib import Path

import pytest

from labelwood import CraftML, TextTagger, datasets

pytest.importorskip("ray.data", reason="Ray is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

EXAMPLE = Path(__file__).parents[1] / "examples" / "tag_parquet.py"


def test_the_example_goes_from_parquet_to_parquet(tmp_path):
    import pyarrow.parquet as pq

    questions = datasets.load_questions()
    texts = questions.test_texts
    tagger = TextTagger(CraftML(trees=4)).fit(questions.train_texts, questions.train_tags)
    tagger.save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"title": texts}), tmp_path / "in" / "part.parquet")
    subprocess.run(
        [sys.executable, EXAMPLE, "model", "in", "out", "--text-column", "title", "--actors", "1"],
        check=True, cwd=tmp_path, timeout=300,
    )
    tagged = pq.read_table(tmp_path / "out")
    assert tagged.schema.field("labels").type == pa.list_(pa.string())
    found = dict(zip(tagged["title"].to_pylist(), tagged["labels"].to_pylist()))
    for text, expected in zip(texts, tagger.predict(texts)):
        assert found[text] == [tag for tag, _ in expected]
