"""Compares labelwood with its peers on any data sets and writes a page on it; see README.md beside this file."""

import argparse
import fcntl
import importlib.metadata
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

import numpy

import differences
import peers_page
import rows
import systems

ROOT = pathlib.Path(__file__).resolve().parent.parent
LABELWOOD = ROOT / "target/release/labelwood"
WORK = ROOT / "target/bench-peers"
PAGES = ROOT / "docs/src"
SETS = ["bibtex", "delicious", "stackex-cs", "cve-libraries", "debian-debtags", "wordnet-hyper3", "yso-finna-en-3plus"]
# Sets with more training rows than this are run once, unless --runs says otherwise.
MANY_ROWS = 100_000
CUTS = [1, 3, 5]
# Threads of the peers that wait give up the processor: by default they spin, which on a busy machine doubles their time.
QUIET = {"OMP_WAIT_POLICY": "passive"}
METRICS = [f"{name}@{k}" for name in ["p", "ndcg", "psp"] for k in CUTS]


class Failed(Exception):
    """A system did not do what it was asked to; the text says why."""


def call(command, limits=None):
    """Runs a command; gives its last line as JSON and the CPU seconds of its process, user and system.

    The limits are CPU seconds and gigabytes.
    """

    def limit():
        seconds, gigabytes = limits
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (gigabytes << 30, gigabytes << 30))

    with open(WORK / "errors.txt", "w+") as errors:
        process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=errors, text=True,
            env=os.environ | QUIET, preexec_fn=limit if limits else None,
        )
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read()
    if process.returncode != 0:
        raise Failed(reason(process.returncode, said, limits))
    lines = output.strip().splitlines()
    return json.loads(lines[-1]) if lines else None, used.ru_utime + used.ru_stime


def reason(code, said, limits):
    """Why a command failed, in a few words."""
    if code == -signal.SIGXCPU:
        return f"more than {limits[0]} CPU seconds"
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("note: ")]
    panics = [after for line, after in zip(lines, lines[1:]) if "panicked at" in line]
    last = (panics or lines[-1:] or [""])[0]
    if "MemoryError" in last or "bad_alloc" in last or "memory allocation" in last:
        return f"more than {limits[1]} GiB of memory" if limits else last
    if code < 0:
        return f"{signal.Signals(-code).name}{': ' if last else ''}{last}"[:120]
    return last[:120] or f"exit code {code}"


def unpack(source, part, target):
    """Writes a part of a set as plain text in the XC repository's format."""
    names = [f"{part}.{form}{ending}" for form in ["txt", "svm", "libsvm"] for ending in ["", ".zst", ".gz"]]
    found = next((source / name for name in names if (source / name).exists()), None)
    if found is None:
        raise SystemExit(f"error: {source} holds no {part}.txt or {part}.svm, plain, .zst or .gz")
    subprocess.run([LABELWOOD, "convert", found, target, "--overwrite", "--quiet"], check=True)


def size(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def train_ours(system, train, test, model, predictions, threads, seed, limits):
    flags = ["--threads", threads, "--quiet"]
    trained, cpu = call(
        [LABELWOOD, "train", train, "--model", model, "--json", *system.flags, "--seed", seed, *flags], limits,
    )
    call([LABELWOOD, "predict", model, test, "--output", predictions, "--top-k", max(CUTS), *flags], limits)
    found, _ = call([LABELWOOD, "evaluate", model, test, "--json", *flags], limits)
    return {
        "fit": trained["cpu_seconds"]["fit"],
        "whole": cpu,
        "memory": trained["peak_rss_bytes"],
        "predict": 1000 * found["cpu_seconds"]["predict"] / found["instances"],
    }


def train_peer(system, train, test, model, predictions, threads, seed, limits):
    task = {"peer": system.peer, "options": system.options, "threads": threads, "seed": seed, "model": str(model)}
    task["predictions"] = str(predictions)
    worker = [sys.executable, ROOT / "bench/worker.py"]
    model.mkdir()
    trained, _ = call([*worker, "train", json.dumps(task | {"rows": str(train)})], limits)
    found, _ = call([*worker, "predict", json.dumps(task | {"rows": str(test)})], limits)
    cpu = trained["cpu_seconds"]
    return {
        "fit": None if system.reads_inside else cpu["fit"],
        "whole": sum(cpu.values()),
        "memory": trained["peak_rss_bytes"],
        "start_memory": trained["start_rss_bytes"],
        "predict": 1000 * found["cpu_seconds"]["predict"] / found["rows"],
    }


def measure(system, data, kind, threads, seed, limits, hits):
    """Trains, predicts and scores once; gives every figure of this run and keeps each row's hits in a file."""
    scratch = WORK / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    model, predictions = scratch / "model", scratch / "predictions.tsv"
    run = train_ours if system.is_ours else train_peer
    train, test = data.train(kind, system.skips_blanks), data.file(kind, "test")
    figures = run(system, train, test, model, predictions, threads, seed, limits)
    truth = ["--train", data.file("raw", "train"), "--per-instance", scratch / "instances.tsv", "--json", "--quiet"]
    scored, _ = call([LABELWOOD, "evaluate", "--predictions", predictions, data.file("raw", "test"), *truth])
    table = numpy.genfromtxt(scratch / "instances.tsv", names=True, delimiter="\t", deletechars="")
    hits.parent.mkdir(parents=True, exist_ok=True)
    numpy.save(hits, numpy.column_stack([table[f"hits@{k}"] for k in CUTS]).astype(numpy.uint8))
    metrics = {name: 100 * scored["metrics"][name] for name in METRICS}
    return figures | {"model": size(model), "metrics": metrics}


class Store:
    """The results, on disk as soon as they are there; one comparison at a time."""

    def __init__(self):
        self.path = WORK / "results.json"
        self.lock = open(WORK / "lock", "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"error: another comparison is running in {WORK}")
        self.results = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, name):
        return self.results.setdefault(name, {"runs": {}})

    def keep(self):
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.results, indent=1))
        fresh.replace(self.path)


def key(system, kind, seed):
    return f"{system} {kind} {seed}"


def hits_file(name, system, kind, seed):
    return WORK / "hits" / name / f"{system}-{kind}-{seed}.npy"


def refused(system, facts):
    """Why a system is not run on a set; empty if it is."""
    if system.most_labels and facts["labels"] > system.most_labels:
        return f"not run with more than {system.most_labels:,} labels"
    return ""


def compare(name, source, args, store):
    """All systems on all kinds of rows of one set, taking turns."""
    data = rows.prepare(source, WORK / "data" / name, unpack)
    found = store.of(name)
    found["facts"] = data.facts
    count = args.runs or (1 if data.facts["instances"]["train"] > MANY_ROWS else 3)
    kinds = [kind for kind in data.folders if kind in args.rows]
    cells = [
        (systems.ALL[system], kind)
        for kind in kinds for system in args.systems if kind not in systems.ALL[system].own
    ]
    for seed in range(1, count + 1):
        for system, kind in cells:
            at = key(system.name, kind, seed)
            earlier = [found["runs"].get(key(system.name, kind, one), {}) for one in range(1, seed)]
            if at in found["runs"] and not (system.name in args.again and at not in args.done):
                continue
            if any("failed" in run for run in earlier):
                continue
            why = refused(system, data.facts)
            try:
                if why:
                    raise Failed(why)
                print(f"{name}: run {seed} of {count}, {system.name}, {kind} rows", file=sys.stderr, flush=True)
                hits = hits_file(name, system.name, kind, seed)
                limits = (args.time_limit, args.memory_limit)
                result = measure(system, data, kind, args.threads, seed, limits, hits)
            except Failed as error:
                result = {"failed": str(error)}
                print(f"{name}: {system.name}, {kind} rows: {error}", file=sys.stderr)
            found["runs"][at] = result
            args.done.add(at)
            store.keep()


def mean(values):
    return sum(values) / len(values)


def spread(values):
    """The standard deviation of the runs."""
    return (sum((value - mean(values)) ** 2 for value in values) / max(len(values) - 1, 1)) ** 0.5


def least(values):
    return min(values) if None not in values else None


def cell(runs):
    """What the table shows of a system's runs: the least cost, the mean accuracy and its spread."""
    failed = [run["failed"] for run in runs if "failed" in run]
    if failed:
        return {"failed": failed[0]}
    figures = {name: least([run[name] for run in runs]) for name in ["fit", "whole", "predict"]}
    figures |= {name: mean([run[name] for run in runs]) for name in ["memory", "model"]}
    metrics = {name: [run["metrics"][name] for run in runs] for name in METRICS}
    figures["metrics"] = {name: [mean(values), spread(values)] for name, values in metrics.items()}
    if "start_memory" in runs[0]:
        figures["start_memory"] = mean([run["start_memory"] for run in runs])
    return figures | {"runs": len(runs)}


def summary(name, found):
    """A set's results as the page needs them."""
    cells, hits = {}, {}
    for system in systems.ALL.values():
        for kind in found["facts"]["empty"]:
            seeds = [seed for seed in range(1, 100) if key(system.name, kind, seed) in found["runs"]]
            if not seeds:
                continue
            cells[f"{system.name} {kind}"] = cell([found["runs"][key(system.name, kind, seed)] for seed in seeds])
            files = [hits_file(name, system.name, kind, seed) for seed in seeds]
            if all(file.exists() for file in files):
                hits[f"{system.name} {kind}"] = numpy.mean([numpy.load(file) for file in files], axis=0)
    return {"facts": found["facts"], "cells": cells, "differences": differences.between(cells, hits, CUTS)}


def conditions(args):
    """What the figures were measured with."""
    model = "unknown processor"
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    packages = {}
    for line in (ROOT / "bench/requirements.txt").read_text().split():
        package = line.split("==")[0]
        try:
            packages[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            packages[package] = "not installed"
    facts = {"processor": model, "cores": os.cpu_count(), "packages": packages}
    return facts | {"threads": args.threads, "seconds": args.time_limit, "gigabytes": args.memory_limit}


def render(folder, figures):
    """Writes the page, its chart and its figures."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(figures, indent=1) + "\n")
    words = (ROOT / "bench/peers.md").read_text()
    (folder / "images/peers.svg").write_text(peers_page.chart(figures))
    (folder / "peers.md").write_text(peers_page.page(words, figures))
    print(f"written: {folder / 'peers.md'}", file=sys.stderr)


def earlier(folder):
    """The sets of the page that is there: those that are not measured now stay as they were."""
    figures = folder / "peers.json"
    return json.loads(figures.read_text())["sets"] if figures.exists() else {}


def in_order(sets):
    return {name: sets[name] for name in sorted(sets, key=lambda name: SETS.index(name) if name in SETS else 0)}


def arguments():
    def several(known):
        def parse(text):
            names = text.split(",")
            for name in names:
                if name not in known:
                    raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(known)}")
            return names
        return parse

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=SETS, type=lambda text: text.split(","), metavar="NAME|FOLDER,..",
                        help="sets of LABELWOOD_DATA by their names, or any folders with train.txt and test.txt")
    parser.add_argument("--systems", default=list(systems.ALL), type=several(systems.ALL), metavar="NAME,..",
                        help=f"some of {', '.join(systems.ALL)}")
    parser.add_argument("--rows", default=list(rows.KINDS), type=several(rows.KINDS), metavar="KIND,..",
                        help=f"some of {', '.join(rows.KINDS)}; those that a set has")
    parser.add_argument("--runs", type=int, help="runs of each system, with the seeds 1, 2, ...; by default three, "
                        f"and one for sets of more than {MANY_ROWS:,} training rows")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--time-limit", type=int, default=600, metavar="CPU SECONDS", help="of one training")
    parser.add_argument("--memory-limit", type=int, default=12, metavar="GIB", help="of one training")
    parser.add_argument("--again", default=[], type=several(systems.ALL), metavar="NAME,..",
                        help="measure these once more, although there are results of them")
    parser.add_argument("--render", action="store_true", help="run nothing; write the page from docs/src/peers.json")
    return parser.parse_args()


def main():
    args = arguments()
    args.done = set()
    if args.render:
        return render(PAGES, json.loads((PAGES / "peers.json").read_text()))
    if not LABELWOOD.exists():
        sys.exit("error: there is no target/release/labelwood: run make release")
    WORK.mkdir(parents=True, exist_ok=True)
    store = Store()
    for given in args.sets:
        if given in SETS:
            if "LABELWOOD_DATA" not in os.environ:
                sys.exit("error: set LABELWOOD_DATA to the folder that holds the sets, each with train.txt and test.txt")
            source = pathlib.Path(os.environ["LABELWOOD_DATA"]) / given
        else:
            source = pathlib.Path(given).resolve()
            if not source.is_dir():
                sys.exit(f"error: {given} is no folder, and none of {', '.join(SETS)}")
        args.done.clear()
        compare(source.name, source, args, store)
    known = {name: found for name, found in store.results.items() if name in SETS}
    others = {name: found for name, found in store.results.items() if name not in SETS}
    for folder, sets in [(PAGES, known), (WORK, others)]:
        if sets:
            fresh = {name: summary(name, found) for name, found in sets.items()}
            render(folder, {"conditions": conditions(args), "sets": in_order(earlier(folder) | fresh)})


if __name__ == "__main__":
    main()
