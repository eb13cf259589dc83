"""Many trainings of labelwood: running what has not been run yet, two at a time, and keeping every result."""

import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LABELWOOD = ROOT / "target/release/labelwood"
PAGES = ROOT / "docs/src"


def rows_of(name, part):
    """The file of a set's part, packed or not."""
    if "LABELWOOD_DATA" not in os.environ:
        raise SystemExit("error: set LABELWOOD_DATA to the folder of the data sets")
    folder = pathlib.Path(os.environ["LABELWOOD_DATA"]) / name
    for ending in ["", ".zst", ".gz"]:
        path = folder / f"{part}.txt{ending}"
        if path.exists():
            return path
    raise SystemExit(f"error: {folder} holds no {part}.txt, {part}.txt.zst or {part}.txt.gz")


def call(*command):
    """Runs a command; gives its last line as JSON."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))}\n{done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def array(path, name):
    """One array of a safetensors file, of unsigned numbers."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(length))[name]
        start, end = entry["data_offsets"]
        file.seek(8 + length + start)
        width = {"U8": "B", "U16": "H", "U32": "I", "U64": "Q"}[entry["dtype"]]
        return struct.unpack(f"<{entry['shape'][0]}{width}", file.read(end - start))


def run_all(wanted, run, path, alone):
    """The result of every job by its key; those in the file are not run again, new ones are kept there at once.

    Jobs that must run alone come after the others.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(path.read_text()) if path.exists() else {}
    left = {key: job for key, job in wanted.items() if key not in results}

    def keep(key, result):
        results[key] = result
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(results, indent=1, sort_keys=True))
        fresh.replace(path)
        if sys.stderr.isatty():
            print(f"\r{len(results)} of {len(wanted)} trainings", end="", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        started = {pool.submit(run, job): key for key, job in left.items() if not alone(job)}
        try:
            for done in concurrent.futures.as_completed(started):
                keep(started[done], done.result())
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    for key, job in left.items():
        if alone(job):
            keep(key, run(job))
    return {key: results[key] for key in wanted}


def finished(wanted, path):
    """The results that are there already."""
    results = json.loads(path.read_text()) if path.exists() else {}
    return {key: results[key] for key in wanted if key in results}


def table(head, rows):
    """A table whose first column is text and whose others are figures."""
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, rule, *rows])


def percent(figures):
    return " / ".join(f"{figure:.1f}" for figure in figures)


def fill(words, tables):
    """The words of a page with its tables, each a list, in their places."""
    for name, found in tables.items():
        words = words.replace(f"{{{{{name}}}}}", "\n\n".join(found))
    return words
