"""The example of a pipeline, on a cluster of its own as for whoever tries it first."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labelwood import CraftML, TextTagger, datasets

pytest.importorskip("ray.data", reason="Ray is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

EXAMPLE = Path(__file__).parents[1] / "examples" / "tag_parquet.py"


@pytest.mark.parametrize("cpus", [1, 2])
def test_the_example_goes_from_parquet_to_parquet(tmp_path, cpus):
    import pyarrow.parquet as pq

    questions = datasets.load_questions()
    texts = questions.test_texts
    tagger = TextTagger(CraftML(trees=4)).fit(questions.train_texts, questions.train_tags)
    tagger.save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    for part in ("one", "two", "three"):
        # The column `labels` is what people gave: it stays, and the tags go elsewhere.
        table = pa.table({"text": texts, "labels": questions.test_tags})
        pq.write_table(table, tmp_path / "in" / f"{part}.parquet")
    subprocess.run(
        [sys.executable, EXAMPLE, "model", "in", "out", "--label-column", "tags"],
        env={**os.environ, "RAY_OVERRIDE_RESOURCES": json.dumps({"CPU": cpus})},
        check=True, cwd=tmp_path, timeout=300,
    )
    tagged = pq.read_table(tmp_path / "out")
    assert tagged.schema.field("tags").type == pa.list_(pa.string())
    found = sorted(zip(*(tagged[name].to_pylist() for name in ("text", "labels", "tags"))))
    tags = [[tag for tag, _ in row] for row in tagger.predict(texts)]
    assert found == sorted(3 * list(zip(texts, questions.test_tags, tags)))
