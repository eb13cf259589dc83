"""Table 2 of the CRAFTML paper, done again with `labelwood compare`; writes the guide's page on it.

See README.md beside this file.
"""

import itertools
import json
import sys

import charts
from trainings import LABELWOOD, PAGES, ROOT, call, fill, percent, rows_of, table

WORK = ROOT / "target/reproduce-table"
# Our systems by the paper's names, in the order of its columns. Nothing here stands for the others.
COLUMNS = {
    "CRAFTML": "craftml:paper",
    "PFastReXML": "fastxml:pfastrexml",
    "FastXML": "fastxml",
    "LPSR": None,
    "PLT": "label-tree:plt",
    "SLEEC": None,
    "AnnexML": None,
    "PDSparse": None,
    "DiSMEC": "one-vs-rest:dismec",
    "PPDSparse": "one-vs-rest:ppdsparse",
}
OTHERS = ["craftml", "label-tree:parabel", "label-tree:bonsai", "label-forest", "neighbours", "grove"]
SETS = ["bibtex", "delicious", "stackex-cs", "cve-libraries", "debian-debtags", "wordnet-hyper3", "yso-finna-en-3plus"]
# What takes too long: hundreds of CPU seconds each on a set with this many labels and rows.
LEFT_OUT = {"yso-finna-en-3plus": ["one-vs-rest:dismec", "one-vs-rest:ppdsparse", "label-forest"]}
# Sets whose features are counts, which nobody has weighted yet.
COUNTS = ["bibtex", "delicious", "stackex-cs"]
FIGURES = ["p_at_1", "p_at_3", "p_at_5"]

# P@1, P@3 and P@5 as published, by the columns.
PUBLISHED = {
    "Mediamill": [
        (85.86, 69.01, 54.65), (83.98, 67.37, 53.02), (84.22, 67.33, 53.04), (83.57, 65.78, 49.97), None,
        (87.82, 73.45, 59.17), None, (83.64, 66.13, 50.90), (84.83, 67.17, 52.80), (84.42, 67.26, 52.78),
    ],
    "bibtex": [
        (65.15, 39.83, 28.99), (63.46, 39.22, 29.14), (63.42, 39.23, 28.86), (62.11, 36.65, 26.53), None,
        (65.08, 39.64, 28.87), None, (62.36, 36.50, 26.50), (63.69, 38.80, 28.30), (63.69, 39.43, 28.67),
    ],
    "delicious": [
        (70.26, 63.98, 59.00), (67.13, 62.33, 58.62), (69.61, 64.12, 59.27), (65.01, 58.96, 53.49), None,
        (67.59, 61.38, 56.56), None, None, None, None,
    ],
    "EURLex-4K": [
        (78.81, 65.21, 53.71), (75.45, 62.70, 52.51), (71.36, 59.90, 50.39), (76.37, 63.36, 52.03), None,
        (79.26, 64.30, 52.33), None, (75.90, 61.16, 50.83), (82.40, 68.50, 57.70), (74.61, 59.56, 48.43),
    ],
    "Wiki10-31K": [
        (85.19, 73.17, 63.27), (83.57, 68.61, 59.10), (83.03, 67.47, 57.76), (72.72, 58.51, 49.50),
        (84.34, 72.34, 62.72), (85.88, 72.98, 62.70), (86.50, 74.28, 64.19), None, (85.20, 74.60, 65.90), None,
    ],
    "WikiLSHTC-325K": [
        (56.57, 34.73, 25.03), (56.05, 36.79, 27.09), (49.75, 33.10, 24.45), (27.44, 16.23, 11.77),
        (45.67, 29.13, 21.95), (54.83, 33.42, 23.85), (63.36, 40.66, 29.79), (60.70, 39.62, 29.20),
        (64.40, 42.50, 31.50), (64.13, 42.10, 31.14),
    ],
    "Delicious-200K": [
        (47.87, 41.28, 38.01), (41.72, 37.83, 35.58), (43.07, 38.66, 36.19), (18.59, 15.43, 14.07),
        (45.37, 38.94, 35.88), (47.85, 42.21, 39.43), (46.66, 40.79, 37.64), (37.69, 30.16, 27.01),
        (45.50, 38.70, 35.50), (45.05, 38.34, 34.90),
    ],
    "Amazon-670K": [
        (37.35, 33.31, 30.62), (39.46, 35.81, 33.05), (36.99, 33.28, 30.53), (28.65, 24.88, 22.37),
        (36.65, 32.12, 28.85), (35.05, 31.25, 28.56), (42.08, 36.65, 32.76), None, (44.70, 39.70, 36.10),
        (43.04, 38.24, 34.94),
    ],
    "AmazonCat-13K": [
        (92.78, 78.48, 63.58), (91.75, 77.97, 63.68), (93.11, 78.20, 63.41), None, (91.47, 75.84, 61.02),
        (90.53, 76.33, 61.52), (93.55, 78.38, 63.32), (87.43, 70.48, 56.70), (93.40, 79.10, 64.10),
        (92.72, 78.14, 63.41),
    ],
}


def published(name):
    """The figures of the paper's columns that it has for a set."""
    return {column: found for column, found in zip(COLUMNS, PUBLISHED[name]) if found}


def compare(name):
    """All our systems on one set. The folder keeps what is finished: a stopped run goes on."""
    systems = [system for system in [*COLUMNS.values(), *OTHERS] if system]
    systems = [system for system in systems if system not in LEFT_OUT.get(name, [])]
    train, test = (rows_of(name, part) for part in ["train", "test"])
    flags = ["--seeds", 1, "--threads", 1, "--output", WORK / name, "--json", "--quiet"]
    found = call(LABELWOOD, "compare", train, "--test", test, "--algorithms", ",".join(systems), *flags)
    _, verdict, lines, _ = (WORK / name / "table.md").read_text().split("\n\n")
    systems = [{key: system[key] for key in ["name", "figures", "costs"]} for system in found["systems"]]
    kept = {"systems": systems, "verdict": verdict, "table": lines.strip()}
    return kept | ({"weighted": weigh(train, test)} if name in COUNTS else {})


def weigh(train, test):
    """The paper's settings for CRAFTML on features that are weighted by their rarity."""
    flags = ["--preset", "paper", "--weighting", "idf", "--threads", 1, "--overwrite", "--json", "--quiet"]
    found = call(LABELWOOD, "train", train, "--test", test, "--algorithm", "craftml", "--model", WORK / "model", *flags)
    return [100 * found["test"]["metrics"][f"p@{k}"] for k in [1, 3, 5]]


def precision(system):
    return [100 * system["figures"][name] for name in FIGURES]


def by_column(found, columns=COLUMNS):
    """Our systems that the paper has, by its names for them."""
    ours = {system["name"]: system for system in found["systems"]}
    return {column: ours[name] for column, name in columns.items() if name in ours}


def paper_table(results):
    """Our figures in the form of the paper's table; its own are beside them on the sets that both have."""
    rows = []
    for name, found in results.items():
        ours = {column: precision(system) for column, system in by_column(found).items()}
        there = {f"{name}, the paper": published(name)} if name in PUBLISHED else {}
        for title, row in (there | {name: ours}).items():
            rows.append([title, *(percent(row[column]) if column in row else "" for column in COLUMNS)])
    return [table(["P@1 / P@3 / P@5", *COLUMNS], rows)]


def weighted(results):
    """What weighting counts by rarity does to the paper's settings."""
    rows = []
    for name, found in results.items():
        if "weighted" in found:
            paper = percent(published(name)["CRAFTML"]) if name in PUBLISHED else ""
            rows.append([name, paper, percent(precision(by_column(found)["CRAFTML"])), percent(found["weighted"])])
    return [table(["set", "the paper", "`craftml --preset paper`", "with `--weighting idf`"], rows)]


def pairs(results):
    """For every two systems of the paper that are here: on how many sets which is ahead, there and here."""
    def means(columns):
        ours = [by_column(found, columns) for found in results.values()]
        return [{column: system["figures"]["mean_p"] for column, system in own.items()} for own in ours]

    paper = [{column: sum(found) for column, found in published(name).items()} for name in PUBLISHED]
    here, default = means(COLUMNS), means(COLUMNS | {"CRAFTML": "craftml"})
    known = [column for column, system in COLUMNS.items() if system]

    def ahead(sets, one, other):
        both = [found for found in sets if one in found and other in found]
        return f"{sum(found[one] > found[other] for found in both)} of {len(both)}"

    rows = [
        [f"{one} before {other}", ahead(paper, one, other), ahead(here, one, other),
         ahead(default, one, other) if one == "CRAFTML" else ""]
        for one, other in itertools.combinations(known, 2)
    ]
    return [table(["order", "the paper's sets", "sets here", "with craftml's defaults"], rows)]


def left_out(results):
    missing = [f"{name}: {', '.join(systems)}" for name, systems in LEFT_OUT.items() if name in results]
    return ["; ".join(missing)]


def chart(results):
    """Mean precision against the CPU seconds of training, a panel for each set. Neighbours take next to none."""
    systems = [system for system in [*COLUMNS.values(), *OTHERS] if system not in [None, "neighbours"]]
    marks = {
        name: charts.mark(str(at), name, charts.COLOURS[0 if name in COLUMNS.values() else 1], name in COLUMNS.values())
        for at, name in enumerate(systems, start=1)
    }
    panels = []
    for name, found in results.items():
        points = [
            (system["costs"]["train_cpu_seconds"], 100 * system["figures"]["mean_p"], marks[system["name"]])
            for system in found["systems"] if system["name"] in marks
        ]
        panels.append(charts.points(name, "CPU seconds of training", "mean of P@1, P@3 and P@5", points[::-1]))
    return charts.draw(panels, list(marks.values()))


def main():
    store = PAGES / "table.json"
    results = json.loads(store.read_text()) if store.exists() else {}
    for name in sys.argv[1:] or SETS:
        print(name, file=sys.stderr, flush=True)
        results[name] = compare(name)
        store.write_text(json.dumps(results, indent=1) + "\n")
    results = {name: results[name] for name in SETS if name in results}
    (PAGES / "images").mkdir(exist_ok=True)
    (PAGES / "images/table.svg").write_text(chart(results))
    places = {
        "table-2": paper_table(results),
        "weighted": weighted(results),
        "pairs": pairs(results),
        "left-out": left_out(results),
        "sets": [part for name, found in results.items() for part in [f"### {name}", found["verdict"], found["table"]]],
    }
    (PAGES / "table.md").write_text(fill((ROOT / "bench/table.md").read_text(), places))


if __name__ == "__main__":
    main()
