"""What an update is worth: trains on seven tenths of the rows, updates with the rest, compares with training on all.

Writes docs/src/updates.md from bench/updates.md. Needs the sets in LABELWOOD_DATA; run it with `make updates`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ROOT / "target/release/labelwood"
WORDS = ROOT / "bench/updates.md"
PAGE = ROOT / "docs/src/updates.md"
SETS = ["bibtex", "stackex-cs", "cve-libraries"]
SEEDS = [1, 2]
# Each algorithm, and whether an update needs the rows.
ALGORITHMS = [("craftml", False), ("grove", False), ("label-tree", True), ("one-vs-rest", True)]


def run(*args: object) -> str:
    return subprocess.run([COMMAND, *map(str, args)], check=True, capture_output=True, text=True).stdout


def divide(data: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes all.txt and its parts first.txt and more.txt: of each ten rows, seven and three."""
    header, *rows = run("convert", data, "-", "--to", "xc").splitlines()
    widths = header.split(maxsplit=1)[1]
    parts = {
        "all": rows,
        "first": [row for at, row in enumerate(rows) if at % 10 < 7],
        "more": [row for at, row in enumerate(rows) if at % 10 >= 7],
    }
    for name, part in parts.items():
        (folder / f"{name}.txt").write_text("\n".join([f"{len(part)} {widths}", *part, ""]))


def measured(model: pathlib.Path, test: pathlib.Path) -> list[float]:
    metrics = json.loads(run("evaluate", model, test, "--json"))["metrics"]
    return [100 * metrics[f"p@{k}"] for k in (1, 3, 5)]


def figures(algorithm: str, needs_rows: bool, seed: int, folder: pathlib.Path, test: pathlib.Path) -> dict:
    def train(name: str) -> pathlib.Path:
        model = folder / name
        flags = ["--algorithm", algorithm, "--seed", seed, "--keep-rows", "--overwrite", "--quiet"]
        run("train", folder / f"{name}.txt", "--model", model, *flags)
        return model

    first = train("first")
    found = {"first": measured(first, test)}
    run("update", first, folder / "more.txt", "--output", folder / "updated", "--overwrite", "--quiet")
    found["updated"] = measured(folder / "updated", test)
    if not needs_rows:
        bare, flags = folder / "bare", ["--algorithm", algorithm, "--seed", seed, "--overwrite", "--quiet"]
        run("train", folder / "first.txt", "--model", bare, *flags)
        run("update", bare, folder / "more.txt", "--quiet")
        found["counted"] = measured(bare, test)
    found["all"] = measured(train("all"), test)
    return found


def mean(results: list[dict], name: str) -> str:
    if name not in results[0]:
        return "-"
    means = [sum(result[name][at] for result in results) / len(results) for at in range(3)]
    return " / ".join(f"{value:.1f}" for value in means)


def main() -> None:
    home = os.environ.get("LABELWOOD_DATA") or sys.exit("LABELWOOD_DATA names no folder of data sets")
    table = "| set | algorithm | 70 % | updated | updated with `--keep-rows` | 100 % |\n|---|---|--:|--:|--:|--:|\n"
    for name in SETS:
        source = pathlib.Path(home, name)
        data, test = (next(source.glob(f"{part}.txt*")) for part in ("train", "test"))
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            divide(data, folder)
            for algorithm, needs_rows in ALGORITHMS:
                results = [figures(algorithm, needs_rows, seed, folder, test) for seed in SEEDS]
                columns = [mean(results, column) for column in ("first", "counted", "updated", "all")]
                table += f"| {name} | {algorithm} | {' | '.join(columns)} |\n"
                print(table.splitlines()[-1], flush=True)
    seeds = " and ".join(map(str, SEEDS))
    PAGE.write_text(WORDS.read_text().replace("{seeds}", seeds).replace("{table}\n", table))


if __name__ == "__main__":
    main()
