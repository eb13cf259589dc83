"""What each default setting of a forest is worth: one change at a time, on held-out rows of the training parts.

Writes docs/src/choices.md. Needs the sets in LABELWOOD_DATA; run it with `make choices`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ROOT / "target/release/labelwood"
PAGE = ROOT / "docs/src/choices.md"
SETS = ["bibtex", "delicious", "stackex-cs", "cve-libraries", "debian-debtags", "wordnet-hyper3"]
SEEDS = [1, 2]
CHANGES = [
    ("the defaults", []),
    ("--preset compact", ["--preset", "compact"]),
    ("--preset paper", ["--preset", "paper"]),
    ("--weighting none", ["--weighting", "none"]),
    ("--beam 1", ["--beam", "1"]),
    ("--beam 8", ["--beam", "8"]),
    ("--trees 15", ["--trees", "15"]),
    ("--trees 60", ["--trees", "60"]),
    ("--repel 0", ["--repel", "0"]),
    ("--repel 0.5", ["--repel", "0.5"]),
    ("--more-iterations 0", ["--more-iterations", "0"]),
    ("--starts plus-plus", ["--starts", "plus-plus"]),
    ("--feature-projection hashing", ["--feature-projection", "hashing"]),
    ("--label-projection none", ["--label-projection", "none"]),
    ("--branches 6", ["--branches", "6"]),
    ("--branches 16", ["--branches", "16"]),
    ("--leaf 20", ["--leaf", "20"]),
    ("--precision half", ["--precision", "half"]),
    ("--keep 0.3 --keep-at-least 100", ["--keep", "0.3", "--keep-at-least", "100"]),
]

HEAD = """# How the defaults of forests were chosen

`make choices` changes one setting of `--algorithm craftml` at a time and writes this page. A fifth of each set's *training* rows is held out and
the rest is learned; the test rows are not touched. Figures are P@1 / P@3 / P@5 in percent, the mean of seeds
{seeds}, then the CPU seconds of training and the megabytes of the model, of one seed. On the small sets differences of half
a point are noise.
"""


def folds(rows: int, folder: pathlib.Path) -> list[str]:
    """Split files with one column: every fifth row is held out."""
    train, test = folder / "train_split.txt", folder / "test_split.txt"
    train.write_text("".join(f"{row + 1}\n" for row in range(rows) if row % 5 != 2))
    test.write_text("".join(f"{row + 1}\n" for row in range(rows) if row % 5 == 2))
    return ["--train-split", str(train), "--test-split", str(test)]


def measure(data: pathlib.Path, split: list[str], change: list[str], folder: pathlib.Path) -> str:
    results = []
    for seed in SEEDS:
        flags = ["--algorithm", "craftml", *split, *change, "--seed", str(seed), "--model", folder / "model", "--overwrite", "--json"]
        run = subprocess.run([COMMAND, "train", data, *flags], check=True, capture_output=True)
        results.append(json.loads(run.stdout))
    mean = [100 * sum(result["test"]["metrics"][f"p@{k}"] for result in results) / len(results) for k in (1, 3, 5)]
    cpu, size = results[0]["cpu_seconds"]["fit"], results[0]["model_bytes"] / 1e6
    return " / ".join(f"{value:.1f}" for value in mean) + f" · {cpu:.1f} s · {size:.0f} MB"


def main() -> None:
    home = os.environ.get("LABELWOOD_DATA") or sys.exit("LABELWOOD_DATA names no folder of data sets")
    page = HEAD.format(seeds=" and ".join(map(str, SEEDS)))
    for name in SETS:
        data = next(pathlib.Path(home, name).glob("train.txt*"))
        text = subprocess.run([COMMAND, "convert", data, "-", "--to", "xc"], check=True, capture_output=True).stdout
        rows = int(text.split(maxsplit=1)[0])
        page += f"\n## {name}\n\n| change | P@1 / P@3 / P@5 · training · model |\n|---|--:|\n"
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            split = folds(rows, folder)
            for title, change in CHANGES:
                page += f"| `{title}` | {measure(data, split, change, folder)} |\n"
                print(name, page.splitlines()[-1], flush=True)
    PAGE.write_text(page.replace("| `the defaults` |", "| the defaults |"))


if __name__ == "__main__":
    main()
