"""What `labelwood train` makes of public sets without any settings, beside omikuji on the same machine.

Sets that have texts are learned from those, with the names of the labels. Writes docs/src/default.md and default.json
beside it. Needs the sets in LABELWOOD_DATA and the packages that `make bench-default` installs.
"""

import json
import os
import pathlib
import shutil
import sys

import peers
import rows
import systems

PAGE = peers.PAGES / "default.md"
SEEDS = [1, 2, 3]
LIMITS = (600, 12)

HEAD = """# The default, measured

What `labelwood train DATA --vocabulary labels.txt` makes of public sets without any further flag, on two threads, beside
[omikuji](https://github.com/tomtung/omikuji) with its defaults. `make bench-default` makes this page. Where a set has texts,
labelwood reads these, and omikuji the tf-idf rows that the set's makers made of them; it cannot read text or names. Accuracy is
the mean of seeds {seeds} on the test rows, in percent; CPU seconds, of the whole command, are the least of as many runs that
take turns; prediction is for all test rows at once, without reading them.

{table}

*ECE* says how far the scores are from [probabilities](algorithms.md#probabilities), and *PSP* counts
[rare labels](algorithms.md#rare-labels) more.

## What was kept

With seed {first}, the training said:

{kept}
"""


def found(source: pathlib.Path, name: str) -> pathlib.Path | None:
    """A file of the set, plain or compressed."""
    return next((source / f"{name}{ending}" for ending in ["", ".zst", ".gz"] if (source / f"{name}{ending}").exists()), None)


def default(source: pathlib.Path, seed: int) -> dict:
    """Trains and tests once, as the command does by itself."""
    train, test = [found(source, f"{part}.tsv") or found(source, f"{part}.txt") for part in ["train", "test"]]
    model = peers.WORK / "scratch" / "default"
    shutil.rmtree(model, ignore_errors=True)
    flags = ["--threads", 2, "--quiet", "--json"]
    labels = found(source, "labels.txt")
    names = ["--vocabulary", labels] if labels else []
    trained, cpu = peers.call([peers.LABELWOOD, "train", train, "--model", model, *names, "--seed", seed, *flags])
    tested, _ = peers.call([peers.LABELWOOD, "evaluate", model, test, *flags])
    return {
        "metrics": {name: 100 * value for name, value in tested["metrics"].items()},
        "cpu": cpu,
        "predict": 1000 * tested["cpu_seconds"]["predict"] / tested["instances"],
        "model": peers.size(model) / 1e6,
        "kept": trained["settings"].get("chosen", ""),
    }


def omikuji(name: str, source: pathlib.Path, seed: int) -> dict:
    data = rows.prepare(source, peers.WORK / "data" / name, peers.unpack)
    hits = peers.WORK / "hits" / name / "default.npy"
    run = peers.measure(systems.ALL["omikuji"], data, "raw", 2, seed, LIMITS, hits)
    return {"metrics": run["metrics"], "cpu": run["whole"], "predict": run["predict"], "model": run["model"] / 1e6}


def line(name: str, system: str, runs: list[dict], other: float | None) -> str:
    def mean(metric: str) -> str:
        values = [run["metrics"].get(metric) for run in runs]
        return "" if None in values else f"{sum(values) / len(values):.1f}"

    cpu = min(run["cpu"] for run in runs)
    relative = f"{cpu / other:.2f}" if other else ""
    accuracy = " | ".join(mean(metric) for metric in ["p@1", "p@3", "p@5", "psp@5", "ece"])
    predict, model = min(run["predict"] for run in runs), sum(run["model"] for run in runs) / len(runs)
    return f"| {name} | {system} | {accuracy} | {cpu:.1f} | {relative} | {predict:.2f} | {model:.0f} |\n"


def main() -> None:
    home = os.environ.get("LABELWOOD_DATA") or sys.exit("error: LABELWOOD_DATA names no folder of data sets")
    (peers.WORK / "scratch").mkdir(parents=True, exist_ok=True)
    store = PAGE.with_suffix(".json")
    results = json.loads(store.read_text()) if store.exists() else {}
    for name in sys.argv[1:] or peers.SETS:
        source, runs = pathlib.Path(home, name), {"labelwood": [], "omikuji": []}
        for seed in SEEDS:
            runs["labelwood"].append(default(source, seed))
            print(name, seed, runs["labelwood"][-1], flush=True)
            # It clears the scratch folder.
            runs["omikuji"].append(omikuji(name, source, seed))
            print(name, seed, runs["omikuji"][-1]["cpu"], flush=True)
        results[name] = runs
        store.write_text(json.dumps(results, indent=1) + "\n")
    table = "| set | system | P@1 | P@3 | P@5 | PSP@5 | ECE | training, CPU s | x omikuji | prediction, CPU ms a row | model, MB |\n"
    table += "|---|---|" + "--:|" * 9 + "\n"
    known = [name for name in peers.SETS if name in results]
    for name in known:
        other = min(run["cpu"] for run in results[name]["omikuji"])
        table += line(name, "labelwood", results[name]["labelwood"], other)
        table += line("", "omikuji", results[name]["omikuji"], None)
    kept = "\n".join(f"- {name}: {results[name]['labelwood'][0]['kept']}" for name in known)
    seeds = ", ".join(map(str, SEEDS))
    PAGE.write_text(HEAD.format(seeds=seeds, table=table.rstrip(), kept=kept, first=SEEDS[0]))


if __name__ == "__main__":
    main()
