"""Repeats the experiments of the CRAFTML paper and writes the guide's page on them; see README.md beside this file."""

import charts
import experiments
from experiments import (
    BRANCHES, BUDGETS, GRID, LARGE, LARGE_SAMPLES, LARGE_TREES, LEAVES, SAMPLES, SETS, SIZES, SMALL,
    TIMED_TREES, TREE_SEEDS, TREES, VARIANTS,
)
from trainings import PAGES, ROOT, fill, percent, table


def figure_1(figures):
    panels, tables = [], []
    for name in SETS:
        widths, depths, seeds = GRID[name]
        found = {
            (width, depth): figures.precision(name, experiments.grid_flags(width, depth), seeds)
            for width in widths for depth in depths
        }
        plain = figures.precision(name, experiments.no_projection_flags())
        shades = charts.SHADES[-len(widths):]
        lines = [
            charts.line(f"d'x {width}", [(depth, found[width, depth][0]) for depth in depths], shade)
            for width, shade in zip(widths, shades)
        ]
        ends = [(depths[0], plain[0]), (depths[-1], plain[0])]
        lines.append(charts.line("no projection", ends, charts.COLOURS[1], dashed=True))
        panels.append(charts.panel(name, "label dimensions d'y", "P@1", lines))
        rows = [[f"d'x {width}", *(percent(found[width, depth]) for depth in depths)] for width in widths]
        rows.append(["no projection", *[""] * (len(depths) - 1), percent(plain)])
        tables.append(table([name, *(f"d'y {depth}" for depth in depths)], rows))
    return panels, tables


def figure_2(figures):
    panels, rows = [], []
    for name in SETS:
        lines = []
        for size, colour, shift in [(SMALL[name], charts.COLOURS[1], -0.12), (SIZES[name], charts.COLOURS[0], 0.12)]:
            each = [figures.each(name, experiments.variant_flags(variant, size)) for variant in VARIANTS]
            mean = [figures.precision(name, experiments.variant_flags(variant, size)) for variant in VARIANTS]
            ranges = [(min(run[0] for run in runs), max(run[0] for run in runs)) for runs in each]
            points = [(at + shift, one[0]) for at, one in enumerate(mean)]
            title = f"({size[0]}, {size[1]})"
            lines.append(charts.line(title, points, colour, ranges=ranges, joined=False))
            rows.append([f"{name} {title}", *map(percent, mean)])
        names = [written(variant) for variant in VARIANTS]
        panels.append(charts.panel(name, "projections, at (d'x, d'y)", "P@1", lines, names=names))
    return panels, [table(["set (d'x, d'y)", *map(written, VARIANTS)], rows)]


def written(variant):
    """A variant as the paper writes it: SxSy."""
    return variant[0].upper() + variant[1] + variant[2].upper() + variant[3]


def figure_3(figures):
    panels, rows = [], []
    for name in SETS:
        lines = []
        for budget, colour in zip(BUDGETS[name], charts.COLOURS):
            steps = experiments.budget_steps(name, budget)
            found = {
                trees: figures.precision(name, experiments.budget_flags(trees, width)) for trees, width in steps
            }
            points = [(trees, found[trees][0]) for trees, _ in steps]
            lines.append(charts.line(f"{budget} dimensions in all", points, colour))
            rows.append([f"{name}, {budget}", *(percent(found[trees]) if trees in found else "" for trees in TREES)])
        panels.append(charts.panel(name, "trees m_F", "P@1", lines))
    return panels, [table(["set, m_F x d'x", *(f"m_F {trees}" for trees in TREES)], rows)]


def figure_4(figures):
    panels, rows = [], []
    for trees, seeds, title in [(1, TREE_SEEDS, "one tree"), (50, experiments.SEEDS, "50 trees")]:
        for name, colour in zip(SETS, charts.COLOURS):
            found = [figures.precision(name, experiments.leaf_flags(trees, leaf), seeds) for leaf in LEAVES]
            points = [(leaf, one[0]) for leaf, one in zip(LEAVES, found)]
            line = charts.line(f"{title}, mean of {len(seeds)} seeds", points, colour)
            panels.append(charts.panel(f"{name}, {title}", "n_leaf", "P@1", [line]))
            rows.append([f"{name}, {title}", *map(percent, found)])
    return panels, [table(["set", *(f"n_leaf {leaf}" for leaf in LEAVES)], rows)]


def samples(figures):
    panels, tables = [], []
    groups = [(SETS, SAMPLES, 50, experiments.SEEDS), (LARGE[1:], LARGE_SAMPLES, LARGE_TREES, [1])]
    for names, sizes, trees, seeds in groups:
        rows = []
        for name in names:
            found = [figures.precision(name, experiments.sample_flags(size, trees), seeds) for size in sizes]
            lines = [
                charts.line(f"P@{k}", [(size, one[at] - found[-1][at]) for size, one in zip(sizes, found)], colour)
                for at, (k, colour) in enumerate(zip([1, 3, 5], charts.COLOURS))
            ]
            panels.append(charts.panel(f"{name}, {trees} trees", "sample n_s", "points against the largest", lines))
            rows.append([name, *map(percent, found)])
        tables.append(table([f"set, {trees} trees", *(f"n_s {size}" for size in sizes)], rows))
    return panels, tables


def shapes(figures):
    head = ["set, k", "n / l_T", "nodes", "leaves", "depth", "instances in a node", "with leaves"]
    rows = [
        ["**paper**, printed k = 2", "2.83 ± 0.41", "", "", "", "24.32 ± 2.61", ""],
    ]
    for branches in BRANCHES:
        for name in SETS + LARGE:
            one = figures.shape(name, branches)
            rows.append([
                f"{name}, {branches}", f"{one['per_leaf']:.2f}", f"{one['nodes']:.0f}", f"{one['leaves']:.0f}",
                f"{one['depth']:.1f}", f"{one['in_node']:.1f}", f"{one['in_any']:.1f}",
            ])
    return [table(head, rows)]


def parallelism(figures):
    head = ["set, trees", "wall, 1 thread", "wall, 2 threads", "speed-up", "CPU, 1 thread", "CPU, 2 threads", "CPU over wall"]
    rows = []
    for name in LARGE:
        for trees in TIMED_TREES:
            (wall_1, cpu_1), (wall_2, cpu_2) = (figures.time(name, trees, threads) for threads in [1, 2])
            rows.append([
                f"{name}, {trees}", f"{wall_1:.2f} s", f"{wall_2:.2f} s", f"{wall_1 / wall_2:.2f}",
                f"{cpu_1:.2f} s", f"{cpu_2:.2f} s", f"{cpu_2 / wall_2:.2f}",
            ])
    return [table(head, rows)]


def main():
    figures = experiments.Figures(experiments.all_results())
    drawn = {"figure-1": figure_1, "figure-2": figure_2, "figure-3": figure_3, "figure-4": figure_4, "samples": samples}
    (PAGES / "images").mkdir(exist_ok=True)
    tables = {"shapes": shapes(figures), "parallelism": parallelism(figures)}
    for name, experiment in drawn.items():
        panels, tables[name] = experiment(figures)
        (PAGES / f"images/reproduction-{name}.svg").write_text(charts.draw(panels))
    (PAGES / "reproduction.md").write_text(fill((ROOT / "bench/reproduction.md").read_text(), tables))


if __name__ == "__main__":
    main()
