"""Trains every algorithm on hundreds of small, odd data sets, on 1, 2 and 7 threads.

No run may crash, all thread counts must give the same bytes, trees must stay shallow, and the
model must answer its own rows. Run it with `make torture`; `--sets` and `--seed` try more or others.
"""

import argparse
import concurrent.futures
import filecmp
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALGORITHMS = ["craftml", "label-tree", "one-vs-rest", "label-forest", "neighbours", "fastxml", "grove"]
THREADS = [1, 2, 7]
#: Fewer trees than the defaults: it is the shape of the data that is tried here.
SETTINGS = {
    "craftml": ["--trees", "6"],
    "fastxml": ["--trees", "6", "--preset", "pfastrexml"],
    "label-forest": ["--submodels", "4"],
    "grove": ["--trees", "4"],
}


def unique_labels(draw):
    """A label for every row."""
    words = draw.randint(2, 400)
    return [([draw.randrange(words) for _ in range(draw.randint(1, 6))], [row]) for row in range(draw.randint(1, 400))]


def near_unique(draw):
    """Products, each found by a few queries of its words."""
    words, rows = draw.randint(20, 2000), []
    for product in range(draw.randint(1, 700)):
        own = [draw.randrange(words) for _ in range(5)]
        rows += [(draw.sample(own, 3), [product]) for _ in range(draw.randint(1, 4))]
    return rows


def head_and_unique(draw):
    """One label that all rows have, and one that only a few have."""
    words = draw.randint(5, 1000)
    return [
        ([draw.randrange(words) for _ in range(draw.randint(1, 8))], [0, 1 + row // draw.randint(1, 3)])
        for row in range(draw.randint(2, 1500))
    ]


def repeated(draw):
    """A few rows again and again, some of them with other labels."""
    kinds = [([draw.randrange(30) for _ in range(4)], [draw.randrange(12)]) for _ in range(draw.randint(1, 5))]
    rows = [draw.choice(kinds) for _ in range(draw.randint(1, 500))]
    return [(words, labels if draw.random() < 0.9 else [draw.randrange(12)]) for words, labels in rows]


def empty_rows(draw):
    """Rows without features, without labels, or without either."""
    rows = []
    for _ in range(draw.randint(1, 300)):
        words = [draw.randrange(40) for _ in range(draw.choice([0, 0, 3]))]
        rows.append((words, [draw.randrange(20) for _ in range(draw.choice([0, 1, 2]))]))
    return rows + [([1], [0])]


def one_feature(draw):
    """A single feature of many values."""
    return [([0] * draw.randint(0, 9), [draw.randrange(9)]) for _ in range(draw.randint(1, 400))]


def one_label(draw):
    """A single label, which some rows lack."""
    return [([draw.randrange(50) for _ in range(4)], [0] * draw.randint(0, 1)) for _ in range(draw.randint(1, 400))] + [([1], [0])]


def few_rows(draw):
    """One row, or two, or three."""
    return [([draw.randrange(3) for _ in range(2)], [draw.randrange(3)]) for _ in range(draw.randint(1, 3))]


def many_labels(draw):
    """Thousands of labels for hundreds of rows."""
    labels = draw.randint(1000, 6000)
    return [
        ([draw.randrange(300) for _ in range(8)], [draw.randrange(labels) for _ in range(draw.randint(1, 40))])
        for _ in range(draw.randint(100, 400))
    ]


def long_rows(draw):
    """Rows of thousands of features."""
    return [([draw.randrange(20_000) for _ in range(draw.randint(1, 4000))], [draw.randrange(30)]) for _ in range(draw.randint(2, 40))]


KINDS = [
    unique_labels, near_unique, head_and_unique, repeated, empty_rows,
    one_feature, one_label, few_rows, many_labels, long_rows,
]  # fmt: skip


def write(path, rows):
    """Writes rows in the XC repository's format; repeated words become counts."""
    features = 1 + max((word for words, _ in rows for word in words), default=0)
    labels = 1 + max((label for _, labels in rows for label in labels), default=0)
    with open(path, "w") as file:
        print(len(rows), features, labels, file=file)
        for words, own in rows:
            counts = {word: words.count(word) for word in words}
            print(",".join(map(str, sorted(set(own)))), *(f"{w}:{c}" for w, c in sorted(counts.items())), file=file)


def deepest(command, model):
    """The depth of the deepest forest tree of a model, and the limit for its rows."""
    shown = json.loads(subprocess.run([command, "inspect", model, "--json"], check=True, capture_output=True).stdout)
    limit = 16 + 2 * int(math.log2(max(1, shown["instances"])))
    return max((tree["depth"] for tree in shown["trees"] if "largest_leaf" in tree), default=0), limit


def try_one(command, number, seed):
    """What goes wrong with one data set, as a list of lines."""
    kind, wrong = KINDS[number % len(KINDS)], []
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        folder = pathlib.Path(folder)
        data = folder / "rows.txt"
        write(data, kind(random.Random(f"{seed} {number}")))

        def fail(what, ran):
            lines = ran.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            wrong.append(f"set {number} ({kind.__name__}), {what}: exit {ran.returncode}: {lines[-1]}")

        for algorithm in ALGORITHMS:
            first = folder / f"{algorithm}-{THREADS[0]}"
            for threads in THREADS:
                model, what = folder / f"{algorithm}-{threads}", f"{algorithm} on {threads} threads"
                call = [command, "train", data, "--model", model, "--algorithm", algorithm, "--quiet"]
                call += ["--threads", str(threads), *SETTINGS.get(algorithm, [])]
                ran = subprocess.run(call, capture_output=True)
                if ran.returncode != 0:
                    fail(what, ran)
                elif sorted(os.listdir(model)) != sorted(os.listdir(first)) or not all(
                    filecmp.cmp(first / name, model / name, shallow=False) for name in os.listdir(first)
                ):
                    wrong.append(f"set {number} ({kind.__name__}), {what}: other bytes than on {THREADS[0]}")
            if not first.exists():
                continue
            depth, limit = deepest(command, first)
            if depth > limit:
                wrong.append(f"set {number} ({kind.__name__}), {algorithm}: depth {depth} of at most {limit}")
            asked = subprocess.run([command, "predict", first, data, "--quiet", "--threads", "2"], capture_output=True)
            if asked.returncode != 0:
                fail(f"{algorithm}, predict", asked)
            for threads in THREADS:
                shutil.rmtree(folder / f"{algorithm}-{threads}", ignore_errors=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300, help="how many data sets")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument("--command", default=ROOT / "target/release/labelwood", help="the command to try")
    options = parser.parse_args()
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tries = [pool.submit(try_one, options.command, number, options.seed) for number in range(options.sets)]
        for tried in tries:
            wrong += tried.result()
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{options.sets} data sets, {len(ALGORITHMS)} algorithms, {THREADS} threads: {len(wrong)} failures")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
