"""How training grows with the data: draws amazon-670k at several sizes, trains, prints a table.

Writes docs/src/scale.md. Run it with `make scale`.
"""

import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ROOT / "target/release/labelwood"
WORK = ROOT / "target/scale"
PAGE = ROOT / "docs/src/scale.md"
INSTANCES = 490_449
TREES = 4
PARTS = [16, 8, 4, 2, 1]

HEAD = """# Growing with the data

`make scale` draws synthetic rows with the shape of Amazon-670K (135,909 features, 670,091 labels, 76 entries and 5.45
labels a row on average), trains {trees} trees on a part of them and on all, with `--keep 0.25`, and writes this page.
CPU seconds are user and system time of growing the trees, on two threads, {runs}. The last column
divides by n log n, and by its value for the smallest part: below 1, training grows more slowly than n log n.

| rows | CPU s a tree | model MB a tree | peak memory MB | CPU / (n log n) |
|--:|--:|--:|--:|--:|
"""


def measure(rows: int, runs: int) -> dict:
    data, model = WORK / f"{rows}.txt", WORK / f"{rows}.model"
    if not data.exists():
        flags = ["--profile", "amazon-670k", "--instances", str(rows), "--output", str(data)]
        subprocess.run([COMMAND, "generate", *flags, "--quiet"], check=True)
    flags = ["--trees", str(TREES), "--keep", "0.25", "--threads", "2", "--overwrite", "--json"]
    train = [COMMAND, "train", data, "--algorithm", "craftml", "--model", model, *flags]
    results = [json.loads(subprocess.run(train, check=True, capture_output=True).stdout) for _ in range(runs)]
    return min(results, key=lambda result: result["cpu_seconds"]["fit"])


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    WORK.mkdir(parents=True, exist_ok=True)
    table, first = "", None
    for part in PARTS:
        rows = INSTANCES // part
        result = measure(rows, runs)
        cpu = result["cpu_seconds"]["fit"] / TREES
        relative = cpu / (rows * math.log(rows))
        first = first or relative
        table += (
            f"| {rows:,} | {cpu:.2f} | {result['model_bytes'] / TREES / 1e6:.1f} "
            f"| {result['peak_rss_bytes'] / 1e6:.0f} | {relative / first:.2f} |\n"
        )
        print(table.splitlines()[-1], flush=True)
    PAGE.write_text(HEAD.format(trees=TREES, runs="of one run" if runs == 1 else f"the least of {runs} runs") + table)


if __name__ == "__main__":
    main()
