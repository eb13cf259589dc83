"""What shards cost: plans the training of two sizes of data in 1, 2, 4 and 8 shards, trains them one after another and
merges them, and measures each step.

Writes docs/src/shards.md. Run it with `make shards`; sizes may be given as arguments.
"""

import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMAND = ROOT / "target/release/labelwood"
WORK = ROOT / "target/shards"
PAGE = ROOT / "docs/src/shards.md"
SIZES = [5_000, 20_000]
SHARDS = [1, 2, 4, 8]
# Of so many runs the one that took least CPU counts.
RUNS = 3
ALGORITHMS = {
    "forest": ["--algorithm", "craftml", "--trees", "8"],
    "label trees": ["--algorithm", "label-tree", "--trees", "2"],
}

HEAD = """# What shards cost

`make shards` draws synthetic rows with the shape of Amazon-670K, divides the training of {forest} trees of a forest and of
{trees} label trees into shards, trains these one after another, each in a process of its own with two threads, merges them, and
writes this page. CPU seconds are user and system time. The overhead is that of plan, shards and merge together over `train`
on the same `.lwd` file, each the least of {runs} runs. Memory is the peak of the largest shard, the mapped rows included, which workers on one machine share;
bytes read are those of the rows, which every shard maps once, and bytes written those of its units.

| model | rows | shards | plan CPU s | CPU s of a shard, mean and most | merge CPU s | overhead | peak memory MB | MB read by a shard | MB written by a shard |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""

TAIL = """
## To other sizes

With n rows of e entries and l labels each on average, L labels, T trees and S shards:

- **Bytes read** by a shard are those of the rows: about (8 e + 4 l + 16) n, whatever S is. All workers of one machine read
  them once. For 10⁹ rows of 76 entries and 5.45 labels that is about 650 GB: on a fast disk or a shared file system
  rather than in memory.
- **Memory** of a shard grows with the rows and with the trees that it grows at once, one for each thread, rather than with S. A line
  through the two sizes gives {bytes_per_row:,.0f} bytes a row for the forest in one shard, and {base:.0f} MB beside. If it goes on, 10⁹ rows take {terabytes:.1f} TB, so that this many are trained as parts of
  the rows or on few machines with much memory: shards divide the work and the model, not the rows.
- **CPU** of a tree is n log n, as [Growing with the data](scale.md) shows up to half a million rows; if that goes on, from the {rows:,} rows above to 10⁹ it
  takes {factor:,.0f} times as long, {hours:,.1f} hours of CPU for each tree of the forest. Units are the bound on how many
  workers help: a forest of T trees keeps T workers busy, a label tree one for its root and then as many as the root has
  children, one-vs-rest L / 1024, so 10⁷ labels make 9,766 units.
- **What a shard costs** beyond its units is starting, opening and preparing the rows, and touching its memory for the first
  time: n times a constant, for each of the S shards. It is a smaller part of the whole the more trees a shard has.
  The stages of label trees are processes of their own here, each of which averages the rows of the labels that it groups;
  `train` does so once for all trees.
- **Merge** reads and writes each unit once, so that it grows with the model alone.
- **Coordination** is none: a worker reads `plan.json`, lists one folder, and writes its units.

What two cores cannot show is how a thousand workers share one file system: that all of them start by reading the same file, and
that each unit costs a sync and a rename, is measured here one after another, not at once.
"""


def run(*args: object) -> tuple[float, float]:
    """CPU seconds and the peak memory in MB of a run of the command."""
    process = subprocess.Popen([COMMAND, *map(str, args), "--quiet"])
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"labelwood {' '.join(map(str, args))} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def rows_file(rows: int) -> pathlib.Path:
    data = WORK / f"{rows}.lwd"
    if not data.exists():
        text = WORK / f"{rows}.txt"
        run("generate", "--profile", "amazon-670k", "--instances", rows, "--output", text, "--overwrite")
        run("convert", text, data)
        text.unlink()
    return data


def size(folder: pathlib.Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir() if file.is_file())


def trained(data: pathlib.Path, flags: list[str]) -> float:
    shutil.rmtree(WORK / "trained", ignore_errors=True)
    return run("train", data, *flags, "--threads", 2, "--model", WORK / "trained")[0]


def sharded(data: pathlib.Path, flags: list[str], shards: int) -> dict:
    plan, merged = WORK / "plan", WORK / "merged"
    for folder in (plan, merged):
        shutil.rmtree(folder, ignore_errors=True)
    planned, _ = run("plan", data, *flags, "--threads", 2, "--output", plan, "--shards", shards)
    cpu, memory = [0.0] * shards, 0.0
    for stage in ([1, 2] if "label-tree" in flags else [1]):
        for index in range(shards):
            own, peak = run("shard", "--plan", plan, "--index", index, "--stage", stage, "--threads", 2)
            cpu[index] += own
            memory = max(memory, peak)
    written = size(plan / "units") / shards
    merge, _ = run("merge", "--plan", plan, "--model", merged)
    same = subprocess.run(["diff", "-r", WORK / "trained", merged], capture_output=True).returncode == 0
    if not same:
        sys.exit("the merged model is not the trained one")
    total = planned + sum(cpu) + merge
    return {"plan": planned, "cpu": cpu, "merge": merge, "total": total, "memory": memory, "written": written}


def line(name: str, rows: int, shards: int, data: pathlib.Path, of: dict, whole: float) -> str:
    return (
        f"| {name} | {rows:,} | {shards} | {of['plan']:.2f} | {statistics.mean(of['cpu']):.2f}, {max(of['cpu']):.2f} "
        f"| {of['merge']:.2f} | {of['total'] / whole - 1:+.0%} | {of['memory']:.0f} "
        f"| {data.stat().st_size / 1e6:.0f} | {of['written'] / 1e6:.1f} |\n"
    )


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    WORK.mkdir(parents=True, exist_ok=True)
    table, tree_seconds, peaks = "", 0.0, []
    for name, flags in ALGORITHMS.items():
        for rows in sizes:
            data = rows_file(rows)
            whole = min(trained(data, flags) for _ in range(RUNS))
            if name == "forest":
                tree_seconds = whole / int(flags[-1])
            for shards in SHARDS:
                runs = [sharded(data, flags, shards) for _ in range(RUNS)]
                measured = min(runs, key=lambda of: of["total"])
                if name == "forest" and shards == 1:
                    peaks.append(measured["memory"] * 1e6)
                table += line(name, rows, shards, data, measured, whole)
                print(table.splitlines()[-1], flush=True)
    largest = sizes[-1]
    factor = 1e9 * math.log(1e9) / (largest * math.log(largest))
    counts = {name: int(flags[-1]) for name, flags in ALGORITHMS.items()}
    head = HEAD.format(forest=counts["forest"], trees=counts["label trees"], runs=RUNS)
    slope = (peaks[-1] - peaks[0]) / (sizes[-1] - sizes[0])
    tail = TAIL.format(
        rows=largest,
        factor=factor,
        hours=tree_seconds * factor / 3600,
        bytes_per_row=slope,
        base=(peaks[0] - slope * sizes[0]) / 1e6,
        terabytes=slope * 1e9 / 1e12,
    )
    PAGE.write_text(head + table + tail)


if __name__ == "__main__":
    main()
