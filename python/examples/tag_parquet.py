"""Tags the texts of Parquet files on a Ray cluster: python tag_parquet.py MODEL IN OUT

MODEL is the folder of a model of text, IN a Parquet file or a folder of them, OUT a folder for the
same rows with two more columns. All nodes must see them under the same paths.
"""

import argparse
from pathlib import Path

import ray

import labelwood.ray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("documents", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--top-k", type=int, default=5)
    parser.add_argument("--label-column", default="labels", help="a new column's name")
    parser.add_argument("--score-column", default="scores", help="the other's")
    parser.add_argument(
        "--actors", type=int, help="how many work at once, at most; as many as CPUs by default"
    )
    parser.add_argument("--address", default=None, help="the cluster's; a new local one by default")
    arguments = parser.parse_args()

    ray.init(address=arguments.address)
    actors = arguments.actors or max(1, int(ray.cluster_resources().get("CPU", 1)))
    documents = ray.data.read_parquet(str(arguments.documents.absolute()))
    tagged = documents.map_batches(
        labelwood.ray.Predictor,
        fn_constructor_kwargs={
            "path": arguments.model.absolute(),
            "top_k": arguments.top_k,
            "text_column": arguments.text_column,
            "label_column": arguments.label_column,
            "score_column": arguments.score_column,
        },
        batch_format="pyarrow",
        batch_size=1024,
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=actors),
        # Actors keep the CPUs they ask for to the end. If they had all, no file would ever be read.
        num_cpus=0,
    )
    tagged.write_parquet(str(arguments.output.absolute()))


if __name__ == "__main__":
    main()
