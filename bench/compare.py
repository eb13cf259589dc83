"""Compares labelwood with its peers on real sets; see README.md beside this file."""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LABELWOOD = ROOT / "target/release/labelwood"
DATA = ROOT / "target/bench-data"
WORK = ROOT / "target/bench-work"
SETS = ["bibtex", "delicious", "stackex-cs", "cve-libraries", "debian-debtags", "wordnet-hyper3", "yso-finna-en-3plus"]
LABEL_TREE = ["--algorithm", "label-tree"]
PRESETS = {
    "labelwood": [],
    "labelwood-paper": ["--preset", "paper"],
    "label-tree": [*LABEL_TREE, "--trees", "1"],
    "label-trees": LABEL_TREE,
    "label-trees-bonsai": [*LABEL_TREE, "--preset", "bonsai"],
}
PEERS = ["omikuji", "napkinxc", "pecos"]


def call(command):
    """Runs a command; gives its standard output and its CPU seconds, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise RuntimeError(reason[0])
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def last_json(text):
    return json.loads(text.strip().splitlines()[-1])


def unpacked(source, name):
    """The training and test file of a set as plain text, unpacked once."""
    parts = []
    for part in ["train", "test"]:
        target = DATA / name / f"{part}.txt"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            packed = [source / name / f"{part}.txt{ending}" for ending in ["", ".zst", ".gz"]]
            found = next((path for path in packed if path.exists()), None)
            if found is None:
                raise RuntimeError(f"there is no {part}.txt, {part}.txt.zst or {part}.txt.gz")
            call([LABELWOOD, "convert", found, target])
        parts.append(target)
    return parts


def size(path):
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def measure(system, train, test, threads, seed):
    """Trains and predicts once; gives every figure of this run."""
    model, predictions = WORK / "model", WORK / "predictions.tsv"
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    if system in PRESETS:
        flags = ["--threads", threads, "--seed", seed, "--quiet"]
        output, cpu = call([LABELWOOD, "train", train, "--model", model, "--json", *PRESETS[system], *flags])
        memory = last_json(output)["peak_rss_bytes"]
        call([LABELWOOD, "predict", model, test, "--output", predictions, "--top-k", 5, "--threads", threads, "--quiet"])
        output, _ = call([LABELWOOD, "evaluate", model, test, "--json", "--threads", threads, "--quiet"])
        found = last_json(output)
        predict = found["cpu_seconds"]["predict"] / found["instances"]
    else:
        worker = [sys.executable, ROOT / "bench/peers.py", system]
        trained = last_json(call([*worker, "train", train, model, threads, seed])[0])
        cpu, memory = trained["cpu_seconds"], trained["peak_rss_bytes"]
        predicted = last_json(call([*worker, "predict", model, test, predictions, threads])[0])
        predict = predicted["cpu_seconds"] / predicted["rows"]
    output, _ = call([LABELWOOD, "evaluate", "--predictions", predictions, test, "--train", train, "--json", "--quiet"])
    metrics = last_json(output)["metrics"]
    return {
        "train_cpu_seconds": cpu,
        "peak_rss_bytes": memory,
        "model_bytes": size(model),
        "predict_cpu_ms_per_row": 1000 * predict,
        **{name: 100 * metrics[name] for name in ["p@1", "p@3", "p@5"]},
    }


def summary(runs):
    """The least cost and the mean accuracy of several runs."""
    least = ["train_cpu_seconds", "predict_cpu_ms_per_row"]
    mean = lambda name: sum(run[name] for run in runs) / len(runs)
    return {name: min(run[name] for run in runs) if name in least else mean(name) for name in runs[0]}


def compare(name, systems, source, runs, threads):
    """All systems on one set, taking turns."""
    train, test = unpacked(source, name)
    found = {system: [] for system in systems}
    failed = {}
    for run in range(runs):
        for system in [system for system in systems if system not in failed]:
            print(f"{name}: run {run + 1} of {runs}, {system}", file=sys.stderr)
            try:
                found[system].append(measure(system, train, test, threads, seed=run + 1))
            except RuntimeError as error:
                failed[system] = str(error)
                print(f"{name}: {system} failed: {error}", file=sys.stderr)
    return {
        "set": name,
        "systems": {system: summary(runs) for system, runs in found.items() if system not in failed},
        "failed": sorted(failed),
    }


def table(result):
    base = result["systems"].get("omikuji", {}).get("train_cpu_seconds")
    lines = [
        f"\n### {result['set']}\n",
        "| system | training, CPU s | times omikuji | peak memory, MB | model, MB | prediction, CPU ms a row | P@1 | P@3 | P@5 |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for system, run in result["systems"].items():
        times = f"{run['train_cpu_seconds'] / base:.2f}" if base else ""
        lines.append(
            f"| {system} | {run['train_cpu_seconds']:.2f} | {times} | {run['peak_rss_bytes'] / 1e6:.0f} "
            f"| {run['model_bytes'] / 1e6:.1f} | {run['predict_cpu_ms_per_row']:.3f} "
            f"| {run['p@1']:.2f} | {run['p@3']:.2f} | {run['p@5']:.2f} |"
        )
    lines += [f"\n{system} did not run on this set." for system in result["failed"]]
    return "\n".join(lines)


def machine():
    model = "unknown processor"
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    return {"processor": model, "cores": os.cpu_count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--systems", nargs="+", default=[*PRESETS, *PEERS], choices=[*PRESETS, *PEERS])
    parser.add_argument("--runs", type=int, default=3, help="runs of each system, with the seeds 1, 2, ...")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "target/compare", help="for NAME.md and NAME.json")
    args = parser.parse_args()
    if "LABELWOOD_DATA" not in os.environ:
        sys.exit("error: set LABELWOOD_DATA to the folder that holds the sets, each with train.txt and test.txt")
    if not LABELWOOD.exists():
        sys.exit("error: there is no target/release/labelwood: run make release")
    facts = machine() | {"threads": args.threads, "runs": args.runs}
    texts = [
        f"{facts['processor']}, {facts['cores']} cores; {args.threads} threads. CPU time is user and system of all "
        f"threads, the least of {args.runs} interleaved runs; accuracy, memory and size are means."
    ]
    results = []
    source = pathlib.Path(os.environ["LABELWOOD_DATA"])
    args.output.parent.mkdir(parents=True, exist_ok=True)
    for name in args.sets:
        results.append(compare(name, args.systems, source, args.runs, args.threads))
        texts.append(table(results[-1]))
        args.output.with_suffix(".json").write_text(json.dumps({"machine": facts, "results": results}, indent=2) + "\n")
        args.output.with_suffix(".md").write_text("\n".join(texts) + "\n")
    print("\n".join(texts))


if __name__ == "__main__":
    main()
